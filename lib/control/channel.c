/*
 * channel.c - lines of the control socket, and one end of a connection.
 */
#include "lib/control/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/base/words.h"

#define DX_CHANNEL_GREETING_MS 5000 /* to connect, and be greeted */

/* ---- lines ---- */

static const struct {
  const char *word;
  size_t words;
  bool has_text;
} verbs[] = {
#define X(name, word, words, has_text) {word, words, has_text},
    DX_CLIENT_VERBS(X) DX_SERVER_VERBS(X) DX_STATUS_VERBS(X)
#undef X
};

/* Cuts the first word off *rest, printable ASCII up to a blank or the end;
 * *rest becomes NULL after the last one. NULL: there is none. */
static char *channel_take_word(char **rest)
{
  char *word = *rest, *end = word;

  if (word == NULL)
    return NULL;
  while (*end > ' ' && *end <= '~')
    end++;
  if (end == word || (*end != ' ' && *end != '\0'))
    return NULL;
  *rest = *end == ' ' ? end + 1 : NULL;
  *end = '\0';
  return word;
}

/* Parses message->line in place. */
static bool channel_read_line(struct dx_message *message)
{
  char *rest = message->line;
  const char *word = channel_take_word(&rest);
  int i = 0;

  while (i < DX_VERB_COUNT &&
         (word == NULL || strcmp(word, verbs[i].word) != 0))
    i++;
  message->verb = (enum dx_verb)i;
  if (i == DX_VERB_COUNT)
    return false;
  for (; message->count < verbs[i].words; message->count++)
    if ((message->words[message->count] = channel_take_word(&rest)) == NULL)
      return false;
  if (rest != NULL)
    message->text = rest;
  return rest == NULL || verbs[i].has_text;
}

enum dx_code dx_message_parse(const char *line, size_t len,
                              struct dx_message *ret_message,
                              struct dx_err *err)
{
  ret_message->verb = DX_VERB_COUNT;
  ret_message->count = 0;
  ret_message->text = "";
  if (len < sizeof(ret_message->line) && memchr(line, '\0', len) == NULL) {
    memcpy(ret_message->line, line, len);
    ret_message->line[len] = '\0';
    if (dx_utf8_is_plain(ret_message->line) && channel_read_line(ret_message))
      return DX_OK;
  }
  return dx_fail(err, DX_E_ARG, 0, "not a line of the control socket");
}

bool dx_message_number(const struct dx_message *message, size_t i,
                       int64_t *ret_number)
{
  const char *word = message->words[i];
  char *end;
  long long number;

  if (word[0] == '+')
    return false;
  errno = 0;
  number = strtoll(word, &end, 10);
  if (errno != 0 || end == word || *end != '\0')
    return false;
  *ret_number = number;
  return true;
}

static enum dx_code not_understood(struct dx_err *err)
{
  return dx_fail(err, DX_E_RESPONSE, 0,
                 "docextractd's response is not understood; it may be of "
                 "another version: restart docextractd");
}

enum dx_code dx_message_outcome(const struct dx_message *message,
                                struct dx_err *err)
{
  enum dx_code code = dx_code_by_name(message->words[0]);

  if (code == DX_CODE_COUNT)
    return not_understood(err);
  return dx_fail(err, code, 0, "%s", message->text);
}

static const char *const note_kinds[] = {DX_NOTES(DX_WORD_OF_ROW)};

void dx_note_format(const struct dx_note *note, bool here,
                    char line[DX_CHANNEL_LINE_BYTES])
{
  int64_t age = note->since_ms != 0 ? dx_monotonic_ms() - note->since_ms : -1;

  (void)snprintf(line, DX_CHANNEL_LINE_BYTES,
                 "note %s %s %d %" PRId64 " %" PRId64 " %" PRId64 " %s",
                 note_kinds[note->kind], dx_code_name(note->code), here,
                 note->done, note->total, age, note->text);
}

enum dx_code dx_note_parse(const struct dx_message *message,
                           struct dx_note *ret_note, bool *ret_here,
                           struct dx_err *err)
{
  int64_t here, age;
  size_t kind = dx_word_index(note_kinds, DX_NOTE_COUNT, message->words[0]);

  *ret_note =
      (struct dx_note){.kind = (enum dx_note_kind)kind, .text = message->text};
  ret_note->code = dx_code_by_name(message->words[1]);
  if (kind == DX_NOTE_COUNT || ret_note->code == DX_CODE_COUNT ||
      !dx_message_number(message, 2, &here) || here < 0 || here > 1 ||
      !dx_message_number(message, 3, &ret_note->done) ||
      !dx_message_number(message, 4, &ret_note->total) ||
      !dx_message_number(message, 5, &age) || age < -1 || age > INT64_MAX / 2)
    return not_understood(err);
  ret_note->since_ms = age >= 0 ? dx_monotonic_ms() - age : 0;
  *ret_here = here == 1;
  return DX_OK;
}

/* ---- one end ---- */

bool dx_channel_has_unread(const struct dx_channel *channel)
{
  struct pollfd fd = {.fd = channel->fd, .events = POLLIN};

  return poll(&fd, 1, 0) != 0;
}

bool dx_channel_is_behind(const struct dx_channel *channel)
{
  return channel->out.len > 0;
}

void dx_channel_close(struct dx_channel *channel)
{
  if (channel->fd >= 0)
    (void)close(channel->fd);
  channel->fd = -1;
  channel->in_len = 0;
  dx_buf_release(&channel->out);
}

void dx_channel_flush(struct dx_channel *channel)
{
  struct dx_buf *out = &channel->out;
  ssize_t n;

  if (out->len == 0)
    return;
  n = send(channel->fd, out->data, out->len, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n < 0) /* closed; dx_channel_read() reports why */
    n = (ssize_t)out->len;
  out->len -= (size_t)n;
  memmove(out->data, out->data + n, out->len + 1);
}

enum dx_code dx_channel_send_list(struct dx_channel *channel,
                                  struct dx_err *err, const char *format,
                                  va_list args)
{
  char whole[2 * DX_CHANNEL_LINE_BYTES], line[DX_CHANNEL_LINE_BYTES];

  (void)vsnprintf(whole, sizeof(whole), format, args);
  dx_utf8_make_valid(whole);
  dx_utf8_copy(line, sizeof(line), whole);
  if (channel->out.len + strlen(line) >= DX_CHANNEL_BACKLOG_BYTES)
    return dx_fail(err, DX_E_NET, 0, "the other process does not read");
  dx_buf_printf(&channel->out, "%s\n", line);
  if (channel->out.failed)
    return dx_fail_nomem(err);
  dx_channel_flush(channel);
  return DX_OK;
}

enum dx_code dx_channel_send(struct dx_channel *channel, struct dx_err *err,
                             const char *format, ...)
{
  enum dx_code code;
  va_list args;

  va_start(args, format);
  code = dx_channel_send_list(channel, err, format, args);
  va_end(args);
  return code;
}

/* Receives what has arrived. */
static enum dx_code receive(struct dx_channel *channel, struct dx_err *err)
{
  size_t room = sizeof(channel->in) - channel->in_len;
  ssize_t n;

  if (room == 0)
    return not_understood(err); /* the line is too long */
  n = recv(channel->fd, channel->in + channel->in_len, room, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return dx_fail(err, DX_E_NOT_YET, errno, "docextractd does not respond");
  if (n <= 0)
    return dx_fail(err, DX_E_NET, n < 0 ? errno : 0,
                   "the connection to docextractd was lost");
  channel->in_len += (size_t)n;
  return DX_OK;
}

enum dx_code dx_channel_await(struct dx_channel *channel, int timeout_ms,
                              struct dx_message *ret_message,
                              struct dx_err *err)
{
  int64_t until_ms = dx_monotonic_ms() + timeout_ms, left_ms;
  enum dx_code code = DX_OK;
  const char *end;
  size_t len;

  dx_channel_flush(channel);
  while ((end = memchr(channel->in, '\n', channel->in_len)) == NULL) {
    struct pollfd wanted = {.fd = channel->fd, .events = POLLIN};

    code = receive(channel, err);
    left_ms = timeout_ms < 0 ? -1 : until_ms - dx_monotonic_ms();
    if (code == DX_E_NOT_YET && (left_ms > 0 || timeout_ms < 0)) {
      if (dx_channel_is_behind(channel))
        wanted.events |= POLLOUT;
      (void)poll(&wanted, 1, (int)left_ms);
      dx_channel_flush(channel);
    } else if (code != DX_OK) {
      return code;
    }
  }
  len = (size_t)(end - channel->in);
  code = dx_message_parse(channel->in, len, ret_message, NULL);
  channel->in_len -= len + 1;
  memmove(channel->in, end + 1, channel->in_len);
  return code == DX_OK ? DX_OK : not_understood(err);
}

enum dx_code dx_channel_read(struct dx_channel *channel,
                             struct dx_message *ret_message, struct dx_err *err)
{
  return dx_channel_await(channel, 0, ret_message, err);
}

/* ---- connecting ---- */

void dx_channel_address(int dirfd, const char *name,
                        struct sockaddr_un *ret_address)
{
  char dir[32] = "";

  if (dirfd != AT_FDCWD)
    (void)snprintf(dir, sizeof(dir), "/proc/self/fd/%d/", dirfd);
  *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
  (void)snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "%s%s",
                 dir, name);
}

static enum dx_code connect_to(struct dx_channel *channel, int spool_dirfd,
                               const char *spool_dir, struct dx_err *err)
{
  const struct timeval limit = {.tv_sec = DX_CHANNEL_GREETING_MS / 1000};
  struct sockaddr_un address;

  dx_channel_address(spool_dirfd, DX_CHANNEL_NAME, &address);
  channel->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (channel->fd < 0 || setsockopt(channel->fd, SOL_SOCKET, SO_SNDTIMEO,
                                    &limit, sizeof(limit)) < 0)
    return dx_fail_sys(err, errno, "open", "socket");
  if (connect(channel->fd, (const struct sockaddr *)&address, sizeof(address)) <
      0) {
    if (errno == ENOENT || errno == ECONNREFUSED)
      return dx_fail(err, DX_E_NOT_FOUND, errno, DX_NOT_RUNNING);
    if (errno == EAGAIN || errno == EINTR) /* its queue is full */
      return dx_fail(err, DX_E_BUSY, errno, "docextractd does not respond");
    return dx_fail_sys(err, errno, "connect to docextractd in", spool_dir);
  }
  if (fcntl(channel->fd, F_SETFL, O_NONBLOCK) < 0)
    return dx_fail_sys(err, errno, "open", "socket");
  return DX_OK;
}

static enum dx_code await_greeting(struct dx_channel *channel,
                                   struct dx_err *err)
{
  struct dx_message message;
  int64_t protocol;
  enum dx_code code =
      dx_channel_await(channel, DX_CHANNEL_GREETING_MS, &message, err);

  if (code == DX_E_NOT_YET || code == DX_E_NET)
    return dx_fail(err, DX_E_BUSY, 0, "docextractd does not respond");
  if (code != DX_OK)
    return code;
  if (message.verb == DX_VERB_ERROR)
    return dx_message_outcome(&message, err);
  if (message.verb != DX_VERB_GREETING ||
      !dx_message_number(&message, 0, &protocol))
    return not_understood(err);
  if (protocol != DX_CHANNEL_VERSION)
    return dx_fail(err, DX_E_STATE, 0,
                   "docextractd is of version %.31s, and this program of "
                   "version %s; restart docextractd",
                   message.words[1], PACKAGE_VERSION);
  return DX_OK;
}

enum dx_code dx_channel_open(int spool_dirfd, const char *spool_dir,
                             struct dx_channel *ret_channel, struct dx_err *err)
{
  enum dx_code code;

  *ret_channel = (struct dx_channel)DX_CHANNEL_NONE;
  code = connect_to(ret_channel, spool_dirfd, spool_dir, err);
  if (code == DX_OK)
    code = await_greeting(ret_channel, err);
  if (code != DX_OK)
    dx_channel_close(ret_channel);
  return code;
}
