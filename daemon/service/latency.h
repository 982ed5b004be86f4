/*
 * latency.h - how long the service takes, as far as this spool has seen: the
 * history of the poll schedule (daemon/service/poll.h), in memory and in one
 * small file per API host and port (lib/base/history.h). Of the last documents
 * it has the number of pages and the time, nothing else (doc/policy.md, "Poll
 * schedule").
 *
 * Blocking: the disk, without an fsync.
 */
#ifndef DX_LATENCY_H
#define DX_LATENCY_H

#include "daemon/service/poll.h"

struct dx_latency;

/* history_dirfd: SpoolDir/history, borrowed; -1: nothing outlives the process.
 * NULL when out of memory. */
struct dx_latency *dx_latency_new(int history_dirfd, const char *host,
                                  int port);

/* The same one, for another section with that host and port; to be freed as
 * often as it was shared. */
struct dx_latency *dx_latency_share(struct dx_latency *latency);
void dx_latency_free(struct dx_latency **latency); /* takes NULL */

/* dx_poll_predict() and dx_poll_learn() on what was seen. */
struct dx_poll_forecast dx_latency_predict(const struct dx_latency *latency,
                                           enum dx_phase phase, int pages);
void dx_latency_learn(struct dx_latency *latency, enum dx_phase phase,
                      int pages, int64_t not_yet_ms, int64_t done_ms);

#endif
