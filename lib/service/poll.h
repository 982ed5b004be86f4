/*
 * poll.h - when to ask again: pure functions of history, age and a random
 * number (doc/policy.md, "Poll schedule").
 *
 * For processing times with median M the best schedule is nearly "wait, then
 * ask at a constant interval". M is learned per service and phase.
 *
 * Units: milliseconds. `random` is in [0, 1).
 */
#ifndef DX_POLL_H
#define DX_POLL_H

#include <stdint.h>

enum dx_phase { DX_PHASE_SOURCE, DX_PHASE_EXTRACT, DX_PHASE_COUNT };

struct dx_poll_history {
  double median_ms; /* of the processing times seen; meaningless if seen = 0 */
  int64_t seen;     /* how many went into it */
};

/*
 * How long to wait until the next poll.
 *
 * age_ms   since the phase began (0: nothing was asked yet)
 * last_ms  what this function gave before; 0 the first time
 */
int64_t dx_poll_wait_ms(const struct dx_poll_history *history,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random);

/*
 * Learns that a phase took longer than not_yet_ms (0: the first poll already
 * found it done) and at most done_ms.
 */
void dx_poll_learn(struct dx_poll_history *history, int64_t not_yet_ms,
                   int64_t done_ms);

#endif
