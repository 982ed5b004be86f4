/*
 * latency.h - how long the service takes, as far as this host has seen: the
 * history of the poll schedule (daemon/service/poll.h), one small file per API
 * host and port next to that of its rate limit, shared by all processes. Of the
 * last documents it has the number of pages and the time, nothing else
 * (doc/policy.md, "Poll schedule").
 *
 * A file that cannot be opened or read is no error: this process then learns
 * for itself. One of another version counts as empty.
 *
 * Blocking: see lib/base/shared.h.
 */
#ifndef DX_LATENCY_H
#define DX_LATENCY_H

#include "daemon/service/poll.h"

struct dx_latency;

/* dirfd: SpoolDir/pace, borrowed. NULL when out of memory. */
struct dx_latency *dx_latency_new(int dirfd, const char *host, int port);
void dx_latency_free(struct dx_latency **latency);

/* dx_poll_predict() from what was known at new() or the last learn(). */
struct dx_poll_forecast dx_latency_predict(const struct dx_latency *latency,
                                           enum dx_phase phase, int pages);

/* dx_poll_learn() on what all processes have learned by now. */
void dx_latency_learn(struct dx_latency *latency, enum dx_phase phase,
                      int pages, int64_t not_yet_ms, int64_t done_ms);

#endif
