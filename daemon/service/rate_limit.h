/*
 * rate_limit.h - fewer than ten calls in any second to one host and port
 * (doc/policy.md, "Rate limit").
 *
 * The time of the next slot, the times at which the last nine calls have
 * arrived, and the end of a pause are kept in memory; the pause is also stored
 * in a small file (lib/base/history.h). All sections with that host and port
 * share one struct dx_rate_limit, and each slot is followed by a gap of
 * 1/APIRate of its section, or by a longer one after the service has refused
 * calls: other hosts may use the same account.
 *
 * Calling sequence: init, while docextractd.lock is held; hold, for each
 * section. For each call: when dx_rate_limit_next_ms() has come, take; when the
 * connection is ready, dx_rate_limit_leave(), before the next call takes its
 * slot; when the service has responded, dx_rate_limit_answered().
 *
 * Ownership: the struct contains no pointers of its own; history_dirfd and host
 * are borrowed. Blocking: the disk, when a pause begins or ends.
 */
#ifndef DX_RATE_LIMIT_H
#define DX_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/history.h"

#define DX_RATE_CALLS 9        /* at most, in any DX_RATE_WINDOW_MS */
#define DX_RATE_WINDOW_MS 1005 /* a second, because clocks are rounded */
#define DX_RATE_ARRIVE_MS 100  /* time that a call takes, at most */
#define DX_RATE_LATE_MS 100    /* calls after a late one catch up */
/* After refused calls (429): found by simulation, tests/bench/hosts.c. */
#define DX_RATE_CUT 0.7         /* of the rate remains */
#define DX_RATE_CUT_GAP_MS 1000 /* between two cuts */
#define DX_RATE_GROWTH 0.1      /* per second, each second */
#define DX_RATE_MIN 0.05        /* per second */

struct dx_rate_limit {
  int history_dirfd;
  const char *host;
  int port;
  double next_ms; /* the next free slot, monotonic */
  /* When the last calls had arrived, at the latest; a ring. */
  int64_t arrived_ms[DX_RATE_CALLS];
  uint64_t calls;  /* that have left */
  double cut_rate; /* calls per second after the last cut; it grows since */
  int64_t cut_ms;  /* time of that cut, monotonic; 0: none */
  int refusals;    /* cuts since the last call that was not refused */
  struct dx_pause pause;
};

/* history_dirfd: SpoolDir/history; -1: a pause ends with the process. */
void dx_rate_limit_init(struct dx_rate_limit *limit, int history_dirfd,
                        const char *host, int port);

/* No call for 1/rate from now, and for longer at high rates: the previous
 * process may have made calls shortly before it ended. rate: calls per second.
 */
void dx_rate_limit_hold(struct dx_rate_limit *limit, double rate);

/* When the next call may begin, monotonic; it may be in the past. */
int64_t dx_rate_limit_next_ms(const struct dx_rate_limit *limit);

/* Takes the slot for a call that begins now; returns its time. If the call is
 * late, the next ones catch up, by at most DX_RATE_LATE_MS. */
double dx_rate_limit_take(struct dx_rate_limit *limit, double rate);

/* The connection is ready, and the request leaves now; returns the number of
 * the call. Until its response, it counts as one that arrives DX_RATE_ARRIVE_MS
 * from now. */
uint64_t dx_rate_limit_leave(struct dx_rate_limit *limit, double rate);

/* The service has responded to this call: it has arrived. */
void dx_rate_limit_answered(struct dx_rate_limit *limit, uint64_t call);

/*
 * The service refused a call that took its slot at slot_ms because there were
 * too many. Cuts the rate, at most once a second, and once for all calls that
 * were in progress. Blocks all calls for retry_after_ms; if calls before and
 * after a cut were refused, at least for a backoff.
 */
void dx_rate_limit_refused(struct dx_rate_limit *limit, double rate,
                           double slot_ms, int64_t retry_after_ms);

/* The backoff before attempt `tries` + 1: U(.5,1) * min(60 s, 2^tries s). */
int64_t dx_backoff_ms(int tries);

/* True during a block. */
bool dx_rate_limit_is_blocked(const struct dx_rate_limit *limit);

/* For `docextract metrics`: no call succeeds. dx_rate_limit_up(), after a valid
 * response, ends this and a series of refusals; it is cheap if the service was
 * up. */
void dx_rate_limit_down(struct dx_rate_limit *limit);
void dx_rate_limit_up(struct dx_rate_limit *limit);

#endif
