/*
 * rate_limit.h - fewer than ten calls in any second (doc/policy.md, "Rate
 * limit").
 *
 * The next free slot and the end of a pause are kept in memory; the pause is
 * also stored in a small file (lib/base/history.h). The first slot is at least
 * 1/APIRate after dx_rate_limit_new(), which is called while docextractd.lock
 * is held.
 *
 * Blocking: the disk, when a pause begins or ends.
 */
#ifndef DX_RATE_LIMIT_H
#define DX_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Create source and get extract have priority over polls: with many jobs in
 * progress, this halves the mean lag. */
enum dx_urgency { DX_URGENT, DX_PATIENT };

struct dx_rate_limit;

/* history_dirfd: SpoolDir/history; -1: a pause ends with the process. host:
 * both are borrowed until all shares are freed. rate: calls per second. NULL
 * when out of memory. */
struct dx_rate_limit *dx_rate_limit_new(int history_dirfd, const char *host,
                                        int port, double rate);

/* The limit of another section with the same host and port: they share their
 * slots, and after each call there is a gap of 1/rate of its section. Freed
 * separately. */
struct dx_rate_limit *dx_rate_limit_share(struct dx_rate_limit *other,
                                          double rate);
void dx_rate_limit_free(struct dx_rate_limit **limit); /* takes NULL */

struct dx_slot {
  bool booked;   /* true: send the call at at_ms; false: ask again at at_ms */
  int64_t at_ms; /* monotonic */
};

/*
 * Books the next slot if it is near enough: at most 0.25 s plus a quarter of
 * waited_ms ahead, up to 3 s; for an urgent call, always up to 3 s.
 */
struct dx_slot dx_rate_limit_book(struct dx_rate_limit *limit,
                                  enum dx_urgency urgency, int64_t waited_ms);

/* Books the next slot at any distance, and returns its time: for a single call
 * that must be made. During a pause, this is the end of the pause. */
int64_t dx_rate_limit_book_any(struct dx_rate_limit *limit);

/* Blocks all calls for wait_ms from now (at most 1 h); never shortens a longer
 * block. */
void dx_rate_limit_block(struct dx_rate_limit *limit, int64_t wait_ms);

/* True during a block; the end of the last block, monotonic. */
bool dx_rate_limit_is_blocked(const struct dx_rate_limit *limit);
int64_t dx_rate_limit_blocked_ms(const struct dx_rate_limit *limit);

/* The service cannot be reached: blocks for 5 s, then for twice as long each
 * time, up to 300 s. dx_rate_limit_up() resets this time; it is cheap if the
 * service was up. */
void dx_rate_limit_down(struct dx_rate_limit *limit);
void dx_rate_limit_up(struct dx_rate_limit *limit);

#endif
