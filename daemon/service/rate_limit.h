/*
 * rate_limit.h - fewer than ten calls in any second, across all processes of
 * this host (doc/policy.md, "Rate limit").
 *
 * One small file per API host and port in SpoolDir/pace, locked while it is
 * read and written, holds the time of the next free slot (generic cell rate
 * algorithm, burst 1) and `blocked until`, one field for 429 and outages.
 * Times in it are monotonic; its first field is the boot id, and a file of
 * another boot counts as empty. An absurd file is reset under its lock. If it
 * cannot be opened at all, the process keeps to a quarter of the rate by itself
 * and logs that once.
 *
 * A slot is booked at most a little ahead: slots of processes that die are
 * lost, and booking far ahead would leak most of the rate.
 *
 * Blocking: for the lock, which is held for microseconds.
 */
#ifndef DX_RATE_LIMIT_H
#define DX_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Creating and fetching results go before polls: finishing what is ready
 * halves the mean lag when much is under way. */
enum dx_urgency { DX_URGENT, DX_PATIENT };

struct dx_rate_limit;

/* dirfd: SpoolDir/pace, the directory of the files; borrowed. rate: calls per
 * second. */
struct dx_rate_limit *dx_rate_limit_new(int dirfd, const char *host, int port,
                                        double rate);
void dx_rate_limit_free(struct dx_rate_limit **limit);

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

/* No process sends anything for wait_ms from now (at most 1 h); never shortens
 * a longer block. */
void dx_rate_limit_block(struct dx_rate_limit *limit, int64_t wait_ms);

/* True during such a block; when it ends, monotonic. */
bool dx_rate_limit_is_blocked(struct dx_rate_limit *limit);
int64_t dx_rate_limit_blocked_ms(struct dx_rate_limit *limit);

/* True after dx_rate_limit_down(), until dx_rate_limit_up(). */
bool dx_rate_limit_is_down(struct dx_rate_limit *limit);

/* The service cannot be reached: blocks for 5 s, doubling to 300 s as long as
 * that lasts. dx_rate_limit_up() ends it; cheap when nothing was wrong. */
void dx_rate_limit_down(struct dx_rate_limit *limit);
void dx_rate_limit_up(struct dx_rate_limit *limit);

#endif
