/*
 * popup.h - the notifications: one for each print job, updated as its documents
 * end, so that a job with a thousand documents shows only one.
 *
 * They contain the queue and number of the print job, the outcome, and whom to
 * contact, but no data of the document. Notifications that require action stay
 * until the user closes them.
 *
 * Calling sequence: popups_begin() first, popups_end() last; notifications then
 * stay on the screen. Blocking: popups_show() until the desktop responds.
 * Threads: only that of the main loop, which must be running.
 */
#ifndef DX_NOTIFY_POPUP_H
#define DX_NOTIFY_POPUP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/spool/state.h"

/* A submission of a print job has ended. Strings are borrowed for the call. */
struct popup_end {
  const char *key; /* of the job in the spool */
  const char *queue, *id;
  int64_t submission;
  enum dx_state state; /* extracted, refused, or failed */
  int64_t cases;
  const char *sentence; /* why it was not extracted (lib/spool/sentence.h) */
};

void popups_begin(void);
void popups_end(void);

/* Records an end, for popups_show(). The same end may be added again. */
void popups_add(const struct popup_end *end);

/* Shows the ends that were added since the last call. E_IO if the desktop
 * currently shows no notifications: the ends must be added again. */
enum dx_code popups_show(struct dx_err *err) DX_MUST_USE;

#endif
