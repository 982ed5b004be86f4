/*
 * rate.h - the rate limit: so many calls in any second.
 *
 * Threads: any number; one lock inside.
 */
#ifndef SIM_RATE_H
#define SIM_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct sim_rate;

/* `per_second` 0: no limit. NULL when memory runs out. */
struct sim_rate *sim_rate_new(int64_t per_second);

/* Whether a call at this time is let through; those that are count. */
bool sim_rate_take(struct sim_rate *r, int64_t now_ns);

void sim_rate_free(struct sim_rate *r);

#endif
