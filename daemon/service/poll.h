/*
 * poll.h - when to ask again: pure functions of history, pages, age and a
 * random number (doc/policy.md, "Poll schedule").
 *
 * Units: milliseconds. `random` is in [0, 1).
 */
#ifndef DX_POLL_H
#define DX_POLL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/policy.h"

/* One time seen. */
struct dx_poll_time {
  int32_t pages; /* 0: not known */
  int64_t ms;
};

/* The newest first. */
struct dx_poll_history {
  struct dx_poll_time times[DX_POLL_TIMES];
  size_t count;
};

struct dx_poll_forecast {
  double median_ms; /* 0: too little was seen to know */
  double spread;    /* standard deviation of the logarithm */
};

/* What is known about a document of that many pages (0: not known). */
struct dx_poll_forecast dx_poll_predict(const struct dx_poll_history *history,
                                        int pages);

/*
 * How long to wait until the next poll.
 *
 * age_ms   since the phase began (0: nothing was asked yet)
 * last_ms  what this function gave before; 0 the first time
 */
int64_t dx_poll_wait_ms(const struct dx_poll_forecast *forecast,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random);

/*
 * Learns that a phase took longer than not_yet_ms (0: the first poll already
 * found it done) and at most done_ms. The oldest time is forgotten.
 */
void dx_poll_learn(struct dx_poll_history *history, int pages,
                   int64_t not_yet_ms, int64_t done_ms);

/* What this spool has seen of a host, in memory and in one small file
 * (lib/base/history.h), which learning writes. */
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
