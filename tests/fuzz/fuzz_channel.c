/*
 * fuzz_channel.c - a line of the control socket, and a note in it.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct dx_message message;
  int64_t number;
  size_t i;

  if (dx_message_parse((const char *)data, size, &message, NULL) != DX_OK)
    return 0;
  HOLDS(message.verb < DX_VERB_COUNT && message.count <= DX_CHANNEL_WORDS);
  HOLDS(dx_utf8_is_plain(message.text));
  for (i = 0; i < message.count; i++) {
    HOLDS(message.words[i][0] != '\0' && strchr(message.words[i], ' ') == NULL);
    (void)dx_message_number(&message, i, &number);
  }
  if (message.verb == DX_VERB_NOTE)
    check_note(&message);
  if (message.verb == DX_VERB_END || message.verb == DX_VERB_ERROR)
    (void)dx_message_outcome(&message, NULL);
  return 0;
}
