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

#include "lib/base/json.h"

void popups_begin(void);
void popups_end(void);

/*
 * Records an end, a line of `watch` (lib/control/status.h), for popups_show().
 * The same end may be added again. False if it is not shown: jobs of other
 * users, which members of the group docextract receive, too; canceled ones,
 * which the user canceled or was asked about; expired ones, which failed weeks
 * ago.
 */
bool popups_add(const struct dx_json *line);

/* Shows the ends that were added since the last call. False, and logged, if the
 * desktop currently shows no notifications: the ends must be added again. */
bool popups_show(void);

#endif
