/*
 * note.h - progress notes of the engine about a job, and the line `note` in
 * which docextractd sends them to the backend or command that attends
 * (channel.h).
 *
 * Ownership: the text is borrowed. Blocking: never.
 */
#ifndef DX_NOTE_H
#define DX_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/channel.h"

/* kind, word */
#define DX_NOTES(X)                                                            \
  X(UPLOADING, "uploading")   /* done of total bytes, all documents */         \
  X(WAITING, "waiting")       /* for the extraction; since_ms */               \
  X(OVERDUE, "overdue")       /* ProcessingLimit has passed; still waiting */  \
  X(DOWN, "down")             /* the service is unreachable; since_ms, text */ \
  X(UP, "up")                 /* it is reachable again */                      \
  X(UNEXPECTED, "unexpected") /* an invalid response; text */                  \
  X(PAUSED, "paused")         /* rate limit of the service */                  \
  X(TOKEN, "token")           /* refused or not available; text; retried */    \
  X(ADMIN, "admin")           /* the configuration must be fixed; text */      \
  X(LOCAL, "local")           /* a failure here; text; retried each minute */  \
  X(LOCAL_OVER, "local-over")

enum dx_note_kind {
#define X(name, word) DX_NOTE_##name,
  DX_NOTES(X)
#undef X
      DX_NOTE_COUNT
};

struct dx_note {
  enum dx_note_kind kind;
  int64_t done, total;
  int64_t since_ms;  /* monotonic; 0: unknown */
  enum dx_code code; /* of the failure; DX_OK when there is none */
  const char *text;  /* its text, for the administrator; "" */
};

/* Formats the line, without its newline. here: not all documents have been
 * uploaded. */
void dx_note_format(const struct dx_note *note, bool here,
                    char line[DX_CHANNEL_LINE_BYTES]);

/* Parses a message with the verb NOTE; the text belongs to the message.
 * E_RESPONSE. */
enum dx_code dx_note_parse(const struct dx_message *message,
                           struct dx_note *ret_note, bool *ret_here,
                           struct dx_err *err) DX_MUST_USE;

#endif
