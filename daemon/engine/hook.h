/*
 * hook.h - the OnResult hook: runs the administrator's program for each
 * submission that has ended, until it succeeds, for at most a day
 * (doc/policy.md, "Results").
 *
 * The journal records since when the hook of a submission is due; until it is
 * done, the job stays in jobs/. One program runs at a time, in the background.
 *
 * Ownership: the running program belongs to its dx_hooks; spool and
 * configuration are borrowed. Blocking: the disk. Errors are logged, and the
 * step is retried.
 */
#ifndef DX_HOOK_H
#define DX_HOOK_H

#include "lib/config/config.h"
#include "lib/spool/spool.h"

struct dx_hooks;

/* is_held: true if the job is in memory, so that its journal would be
 * overwritten; its hook waits until the job is released. NULL when out of
 * memory. */
struct dx_hooks *dx_hooks_new(struct dx_spool *spool,
                              bool (*is_held)(void *ctx, const char *key),
                              void *ctx);

/* Ends a running program, which will be run again. Takes at most a second. */
void dx_hooks_free(struct dx_hooks **hooks);

/* True if a hook is to be run, now or later. */
bool dx_hooks_is_busy(const struct dx_hooks *hooks);

/* Checks whether job `key` has hooks to run, and lists them. */
void dx_hooks_look(struct dx_hooks *hooks, const char *key);

/* Performs what is due. Returns when to call it again (monotonic; INT64_MAX:
 * nothing is due), or earlier if dx_hooks_fd() (-1: none) is readable. */
int64_t dx_hooks_turn(struct dx_hooks *hooks, const struct dx_config *config);
int dx_hooks_fd(const struct dx_hooks *hooks);

#endif
