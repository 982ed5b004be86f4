/*
 * times.h - how long the service takes, as far as this host has seen: the
 * history of the poll schedule (lib/poll.h), one small file per API host and
 * port beside its pace file, shared by all processes. It holds two medians
 * and two counts, nothing of any document (policy.md, "Poll schedule").
 *
 * A file that cannot be opened or read is no trouble: this process learns for
 * itself then.
 *
 * Blocking: see lib/shared.h.
 */
#ifndef DX_TIMES_H
#define DX_TIMES_H

#include "lib/poll.h"

struct dx_times;

/* dirfd: SpoolDir/pace, borrowed. NULL when memory is out. */
struct dx_times *dx_times_new(int dirfd, const char *host, int port);
void dx_times_free(struct dx_times **times);

/* What is known; lives as long as *times. As of new() or the last learn(). */
const struct dx_poll_history *dx_times_history(const struct dx_times *times,
                                               enum dx_phase phase);

/* dx_poll_learn() on what all processes have learned by now. */
void dx_times_learn(struct dx_times *times, enum dx_phase phase,
                    int64_t not_yet_ms, int64_t done_ms);

#endif
