/*
 * announce.h - OnResult: running the administrator's program for every
 * submission that has ended, until it succeeds (doc/policy.md, "Results").
 *
 * The journal remembers since when a submission is to be announced; the job
 * stays in jobs/ until that is done. Nothing waits for a program, and one
 * program runs at a time.
 *
 * Ownership: a program belongs to its announcer; spool and configuration are
 * borrowed. Blocking: the disk. Errors: logged; what could not be done is tried
 * again.
 */
#ifndef DX_ANNOUNCE_H
#define DX_ANNOUNCE_H

#include "lib/config/config.h"
#include "lib/spool/spool.h"

struct dx_announcer;

/* is_held: the job is in somebody's memory, who would overwrite its journal; it
 * waits until it is not. NULL when out of memory. */
struct dx_announcer *
dx_announcer_new(struct dx_spool *spool,
                 bool (*is_held)(void *ctx, const char *key), void *ctx);

/* Ends a program that is running; it will be run again. Takes a second at
 * most. */
void dx_announcer_free(struct dx_announcer **announcer);

/* OnResult is to be run, now or later. */
bool dx_announcer_is_busy(const struct dx_announcer *announcer);

/* Looks whether job `key` is to be announced. */
void dx_announcer_look(struct dx_announcer *announcer, const char *key);

/* Does what is due. Returns when to call it again (monotonic); earlier if
 * dx_announcer_fd() (-1: none) can be read. INT64_MAX: nothing is due. */
int64_t dx_announcer_turn(struct dx_announcer *announcer,
                          const struct dx_config *config);
int dx_announcer_fd(const struct dx_announcer *announcer);

#endif
