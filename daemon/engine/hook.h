/*
 * hook.h - the OnResult hook: running the administrator's program for every
 * submission that has ended, until it succeeds (doc/policy.md, "Results").
 *
 * The journal remembers since when the hook of a submission is due; the job
 * stays in jobs/ until it has succeeded. Nothing waits for a program, and one
 * program runs at a time.
 *
 * Ownership: a program belongs to its hooks; spool and configuration are
 * borrowed. Blocking: the disk. Errors: logged; what could not be done is tried
 * again.
 */
#ifndef DX_HOOK_H
#define DX_HOOK_H

#include "lib/config/config.h"
#include "lib/spool/spool.h"

struct dx_hooks;

/* is_held: the job is in memory, and its journal would be overwritten; its hook
 * waits until it is not. NULL when out of memory. */
struct dx_hooks *dx_hooks_new(struct dx_spool *spool,
                              bool (*is_held)(void *ctx, const char *key),
                              void *ctx);

/* Ends a program that is running; it will be run again. Takes a second at
 * most. */
void dx_hooks_free(struct dx_hooks **hooks);

/* A hook is to be run, now or later. */
bool dx_hooks_is_busy(const struct dx_hooks *hooks);

/* Looks whether job `key` has a hook to be run. */
void dx_hooks_look(struct dx_hooks *hooks, const char *key);

/* Does what is due. Returns when to call it again (monotonic); earlier if
 * dx_hooks_fd() (-1: none) can be read. INT64_MAX: nothing is due. */
int64_t dx_hooks_turn(struct dx_hooks *hooks, const struct dx_config *config);
int dx_hooks_fd(const struct dx_hooks *hooks);

#endif
