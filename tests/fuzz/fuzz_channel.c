/*
 * fuzz_channel.c - the control socket: what arrives at one end, by either side,
 * in pieces; a line that is read is sent and read again, and so is any text.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/control/channel.h"

static void check_note(const struct dx_message *message)
{
  char line[DX_CHANNEL_LINE_BYTES];
  struct dx_message again;
  struct dx_note note, same;
  bool here, still_here;

  if (dx_note_parse(message, &note, &here, NULL) != DX_OK)
    return;
  dx_note_format(&note, here, line);
  HOLDS(dx_message_parse(line, strlen(line), &again, NULL) == DX_OK);
  HOLDS(dx_note_parse(&again, &same, &still_here, NULL) == DX_OK);
  HOLDS(same.kind == note.kind && same.code == note.code &&
        same.done == note.done && same.total == note.total &&
        still_here == here);
}

static void check_message(const struct dx_message *message)
{
  int64_t number;
  size_t i;

  HOLDS(message->verb < DX_VERB_COUNT && message->count <= DX_CHANNEL_WORDS);
  HOLDS(dx_utf8_is_plain(message->text));
  for (i = 0; i < message->count; i++) {
    HOLDS(message->words[i][0] != '\0' &&
          strchr(message->words[i], ' ') == NULL);
    (void)dx_message_number(message, i, &number);
  }
  if (message->verb == DX_VERB_NOTE)
    check_note(message);
  if (message->verb == DX_VERB_END || message->verb == DX_VERB_ERROR)
    (void)dx_message_outcome(message, NULL);
}

static void connect_both(struct dx_channel *a, struct dx_channel *b)
{
  int fds[2];

  HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   fds) == 0);
  *a = (struct dx_channel)DX_CHANNEL_OF(fds[0]);
  *b = (struct dx_channel)DX_CHANNEL_OF(fds[1]);
}

/* What is sent is one line, and arrives, without control characters. */
static void send_text(const char *text)
{
  struct dx_channel from, to;
  struct dx_message message;

  connect_both(&from, &to);
  HOLDS(dx_channel_send(&from, NULL, "line %s", text) == DX_OK);
  HOLDS(dx_channel_read(&to, &message, NULL) == DX_OK);
  HOLDS(message.verb == DX_VERB_LINE);
  if (dx_utf8_is_plain(text) && strlen(text) < DX_CHANNEL_LINE_BYTES / 2)
    HOLDS(strcmp(message.text, text) == 0);
  HOLDS(dx_channel_read(&to, &message, NULL) == DX_E_NOT_YET);
  dx_channel_close(&from);
  dx_channel_close(&to);
}

/* Both pieces arrive in one turn, or one after the other: the same lines. */
static size_t receive(const uint8_t *data, size_t size, size_t piece)
{
  struct dx_channel from, to;
  struct dx_message message;
  enum dx_code code = DX_E_NOT_YET;
  size_t at = 0, len, lines = 0;

  connect_both(&from, &to);
  while (at < size && code == DX_E_NOT_YET) {
    len = size - at < piece ? size - at : piece;
    HOLDS(send(from.fd, data + at, len, MSG_NOSIGNAL) == (ssize_t)len);
    at += len;
    while ((code = dx_channel_read(&to, &message, NULL)) == DX_OK) {
      check_message(&message);
      lines++;
    }
  }
  HOLDS(code == DX_E_NOT_YET || code == DX_E_RESPONSE || code == DX_E_NET);
  dx_channel_close(&from);
  dx_channel_close(&to);
  return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  struct dx_message message;
  char *text;

  if (size > 16384) /* what a socket takes at once */
    return 0;
  if (dx_message_parse((const char *)data, size, &message, NULL) == DX_OK)
    check_message(&message);
  HOLDS(receive(data, size, size > 0 ? size : 1) ==
        receive(data, size, 1 + size / 3));
  text = fuzz_rest(&in);
  send_text(text);
  free(text);
  return 0;
}
