/*
 * announce.h - OnResult: running the administrator's program for every
 * submission that has ended, until it succeeds (doc/policy.md, "Results").
 *
 * The journal remembers since when a submission is to be announced, in the same
 * write that says that it ended; the job stays in jobs/ until that is done. So
 * a crash forgets nothing, and repeats at most one run. While a program runs
 * the lock of its job is not held: nobody waits for it, not even a print job.
 * One program runs at a time, for all processes of a spool.
 *
 * docextractd has an announcer in its event loop. Where docextractd does not
 * run, whoever ended a job calls dx_announce_now().
 *
 * Ownership: a program belongs to its announcer; spool and configuration are
 * borrowed. Blocking: the disk; for a program only in dx_announce_now().
 * Errors: logged; what could not be done is tried again.
 */
#ifndef DX_ANNOUNCE_H
#define DX_ANNOUNCE_H

#include "lib/config/config.h"
#include "lib/spool/spool.h"

/* Releases a job (or NULL) that this process has ended. True if it is to be
 * announced; docextractd, if it runs, looks at it at once. */
bool dx_announce_release(struct dx_spool *spool, struct dx_job **job);

struct dx_announcer;

/* is_held: jobs that this process holds, which are not looked at; may be NULL.
 * NULL when out of memory. */
struct dx_announcer *
dx_announcer_new(struct dx_spool *spool,
                 bool (*is_held)(void *ctx, const char *key), void *ctx);

/* Ends a program that is running; it will be run again. Takes a second at
 * most. */
void dx_announcer_free(struct dx_announcer **announcer);

/* Looks whether job `key` is to be announced. */
void dx_announcer_look(struct dx_announcer *announcer, const char *key);

/* Does what is due. Returns when to call it again (monotonic); earlier if
 * dx_announcer_fd() (-1: none) can be read. */
int64_t dx_announcer_turn(struct dx_announcer *announcer,
                          const struct dx_config *config);
int dx_announcer_fd(const struct dx_announcer *announcer);

/*
 * Runs what is due in the whole spool, and waits for it; what fails is left to
 * whoever comes by next. If another process is at it, that one does it all.
 * Returns early when stop_fd (-1: none) can be read.
 */
void dx_announce_now(struct dx_spool *spool, const struct dx_config *config,
                     int stop_fd);

#endif
