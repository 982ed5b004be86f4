/*
 * rate_limit.h - fewer than ten calls in any second (doc/policy.md, "Rate
 * limit").
 *
 * The time of the next free slot, and the end of a pause, in memory; only the
 * pause also in a small file (lib/base/history.h). The first slot is no earlier
 * than 1/APIRate after dx_rate_limit_new(), which is called with
 * docextractd.lock held.
 *
 * Blocking: the disk, when a pause begins or ends.
 */
#ifndef DX_RATE_LIMIT_H
#define DX_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Creating and fetching results go before polls: finishing what is ready
 * halves the mean lag when much is under way. */
enum dx_urgency { DX_URGENT, DX_PATIENT };

struct dx_rate_limit;

/* history_dirfd: SpoolDir/history, borrowed; -1: a pause ends with the process.
 * rate: calls per second. NULL when out of memory. */
struct dx_rate_limit *dx_rate_limit_new(int history_dirfd, const char *host,
                                        int port, double rate);

/* The limit of another section with the same host and port: they share their
 * slots, and each call is followed by a gap of 1/rate of its own section.
 * Freed like any other. */
struct dx_rate_limit *dx_rate_limit_share(struct dx_rate_limit *other,
                                          double rate);
void dx_rate_limit_free(struct dx_rate_limit **limit); /* takes NULL */

struct dx_slot {
  bool booked;   /* true: the call may be sent at `at`; false: ask at `at` */
  int64_t at_ms; /* monotonic */
};

/*
 * Books the next slot if it is near enough: 0.25 s plus a quarter of the
 * time waited already, at most 3 s; urgent calls 3 s from the start.
 */
struct dx_slot dx_rate_limit_book(struct dx_rate_limit *limit,
                                  enum dx_urgency urgency, int64_t waited_ms);

/* Books the next slot, however far away it is, and returns its time: for a call
 * that must not be missed, and comes alone. During a pause, when it ends. */
int64_t dx_rate_limit_book_any(struct dx_rate_limit *limit);

/* Nothing is sent for wait_ms from now (at most 1 h); never shortens a longer
 * block. */
void dx_rate_limit_block(struct dx_rate_limit *limit, int64_t wait_ms);

/* True during such a block; when it ends, monotonic. */
bool dx_rate_limit_is_blocked(const struct dx_rate_limit *limit);
int64_t dx_rate_limit_blocked_ms(const struct dx_rate_limit *limit);

/* The service cannot be reached: blocks for 5 s, doubling to 300 s as long as
 * that lasts. dx_rate_limit_up() ends it; cheap when nothing was wrong. */
void dx_rate_limit_down(struct dx_rate_limit *limit);
void dx_rate_limit_up(struct dx_rate_limit *limit);

#endif
