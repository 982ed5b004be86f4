/*
 * schedule.h - when to poll next: pure functions of history, pages, age, and a
 * random number (doc/policy.md, "Poll schedule"); and the file of the history.
 *
 * Units: milliseconds. `random` is in [0, 1).
 */
#ifndef DX_SCHEDULE_H
#define DX_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/policy.h"

/* Found by simulation with lognormal times, tests/bench/lag.c. M: their median,
 * SPREAD: the standard deviation of their logarithm. */
#define DX_POLL_KNOWN_FROM 5        /* times; fewer are not used */
#define DX_POLL_FIRST_MS 2000       /* few documents are done earlier */
#define DX_POLL_FIRST_SPREADS 1.33  /* below the median; a tenth is earlier */
#define DX_POLL_STEP_PART 0.18      /* of M, times the root of SPREAD */
#define DX_POLL_STEP_MIN_MS 1000    /* all jobs share the rate limit */
#define DX_POLL_STEP_MAX_MS 20000   /* a user is waiting */
#define DX_POLL_JITTER 0.05         /* of the step: jobs do not poll together */
#define DX_POLL_OVERDUE_SPREADS 1.5 /* above M, whose prediction was bad */
#define DX_POLL_GROWTH 1.25         /* of the step, when overdue or M unknown */
#define DX_POLL_MAX_MS 60000        /* to which the step grows */
#define DX_POLL_BLIND_MAX_MS 15000  /* M unknown: at first to this only, */
#define DX_POLL_BLIND_MS 300000     /* for this long: most are done by then */
#define DX_POLL_BLIND_JITTER 0.1    /* of the step, which is a guess */
/* Predicting M and SPREAD from the last "not yet" and the first "done" of other
 * documents; differences are those of logarithms. */
#define DX_POLL_NARROW 1.6  /* done/not yet: up to this, use the middle */
#define DX_POLL_EARLIER 0.5 /* of the first poll, if that found it done */
#define DX_POLL_SEEN_MAX 9  /* a difference counts as 1/10 of it, or more */
#define DX_POLL_DIFFERENCE_MAX 0.7     /* of an outlier: a factor of two */
#define DX_POLL_SPREAD 0.6             /* while little has been seen */
#define DX_POLL_SPREAD_MIN 0.1         /* times are known only to one step */
#define DX_POLL_SPREAD_MAX 1.0         /* more: it changed, or there are two */
#define DX_POLL_SPREAD_OF_MEAN 1.25    /* by the mean difference */
#define DX_POLL_MEDIAN_MAX_MS 86400000 /* longer times count as this */

/* What is known from earlier documents, as a line through logarithms; zeros at
 * first. */
struct dx_poll_history {
  double pages;      /* the mean */
  double most_pages; /* of one document */
  double level;      /* the time for the mean */
  double slope;      /* by pages */
  double spread;
  int64_t seen; /* times; the count ends at DX_POLL_SEEN_MAX */
};

struct dx_poll_forecast {
  double median_ms; /* 0: not known yet */
  double spread;    /* standard deviation of the logarithm */
};

/* Predicts the time for a document with that many pages (0: not known). */
struct dx_poll_forecast dx_poll_predict(const struct dx_poll_history *history,
                                        int64_t pages);

/*
 * How long to wait until the next poll.
 *
 * age_ms   since the phase began (0: not polled yet)
 * last_ms  the previous result of this function; 0 the first time
 */
int64_t dx_poll_wait_ms(const struct dx_poll_forecast *forecast,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random);

/* Learns that a phase took longer than not_yet_ms (0: the first poll already
 * found it done) and at most done_ms. */
void dx_poll_learn(struct dx_poll_history *history, int64_t pages,
                   int64_t not_yet_ms, int64_t done_ms);

/* The history of a host, in memory and in one small file
 * (lib/base/history.h). history_dirfd: SpoolDir/history; -1: no file. */
struct dx_latency {
  struct dx_poll_history of[DX_PHASE_COUNT];
};
void dx_latency_read(int history_dirfd, const char *host, int port,
                     struct dx_latency *ret_latency);
void dx_latency_write(int history_dirfd, const char *host, int port,
                      const struct dx_latency *latency);

#endif
