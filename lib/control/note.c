/*
 * note.c - formats and parses the line `note`.
 */
#include "lib/control/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "lib/base/words.h"

static const char *const kinds[] = {DX_NOTES(DX_WORD_OF_ROW)};

void dx_note_format(const struct dx_note *note, bool here,
                    char line[DX_CHANNEL_LINE_BYTES])
{
  int64_t age = note->since_ms != 0 ? dx_monotonic_ms() - note->since_ms : -1;
  char whole[2 * DX_CHANNEL_LINE_BYTES];

  (void)snprintf(whole, sizeof(whole),
                 "note %s %s %d %" PRId64 " %" PRId64 " %" PRId64 " %s",
                 kinds[note->kind], dx_code_name(note->code), here, note->done,
                 note->total, age, note->text);
  dx_utf8_make_valid(whole);
  dx_utf8_copy(line, DX_CHANNEL_LINE_BYTES, whole);
}

enum dx_code dx_note_parse(const struct dx_message *message,
                           struct dx_note *ret_note, bool *ret_here,
                           struct dx_err *err)
{
  int64_t here, age;
  int kind = 0;

  *ret_note = (struct dx_note){.text = message->text};
  while (kind < DX_NOTE_COUNT && strcmp(message->words[0], kinds[kind]) != 0)
    kind++;
  ret_note->kind = (enum dx_note_kind)kind;
  ret_note->code = dx_code_by_name(message->words[1]);
  if (kind == DX_NOTE_COUNT || ret_note->code == DX_CODE_COUNT ||
      !dx_message_number(message, 2, &here) || here < 0 || here > 1 ||
      !dx_message_number(message, 3, &ret_note->done) ||
      !dx_message_number(message, 4, &ret_note->total) ||
      !dx_message_number(message, 5, &age) || age < -1 || age > INT64_MAX / 2)
    return dx_fail(err, DX_E_RESPONSE, 0,
                   "docextractd's note is not understood; it may be of another "
                   "version");
  ret_note->since_ms = age >= 0 ? dx_monotonic_ms() - age : 0;
  *ret_here = here == 1;
  return DX_OK;
}
