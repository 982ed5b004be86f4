/*
 * schedule.h - when to poll next: pure functions of history, pages, age, and a
 * random number (doc/policy.md, "Poll schedule").
 *
 * Units: milliseconds. `random` is in [0, 1).
 */
#ifndef DX_SCHEDULE_H
#define DX_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/policy.h"

/* One recorded processing time. */
struct dx_poll_time {
  int32_t pages; /* 0: not known */
  int64_t ms;
};

/* Newest first. */
struct dx_poll_history {
  struct dx_poll_time times[DX_POLL_TIMES];
  size_t count;
};

struct dx_poll_forecast {
  double median_ms; /* 0: not known yet */
  double spread;    /* standard deviation of the logarithm */
};

/* Predicts the time for a document with that many pages (0: not known). */
struct dx_poll_forecast dx_poll_predict(const struct dx_poll_history *history,
                                        int pages);

/*
 * How long to wait until the next poll.
 *
 * age_ms   since the phase began (0: not polled yet)
 * last_ms  the previous result of this function; 0 the first time
 */
int64_t dx_poll_wait_ms(const struct dx_poll_forecast *forecast,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random);

/*
 * Records that a phase took longer than not_yet_ms (0: the first poll already
 * found it done) and at most done_ms. If the history is full, the oldest time
 * is removed.
 */
void dx_poll_learn(struct dx_poll_history *history, int pages,
                   int64_t not_yet_ms, int64_t done_ms);

/* The recorded times of a host, in memory and in one small file
 * (lib/base/history.h), which dx_latency_learn() writes. */
struct dx_latency;

/* history_dirfd: SpoolDir/history, borrowed; -1: no file. NULL when out of
 * memory. */
struct dx_latency *dx_latency_new(int history_dirfd, const char *host,
                                  int port);
void dx_latency_free(struct dx_latency **latency); /* takes NULL */

/* dx_poll_predict() and dx_poll_learn() with the recorded times. */
struct dx_poll_forecast dx_latency_predict(const struct dx_latency *latency,
                                           enum dx_phase phase, int pages);
void dx_latency_learn(struct dx_latency *latency, enum dx_phase phase,
                      int pages, int64_t not_yet_ms, int64_t done_ms);

#endif
