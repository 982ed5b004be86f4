/*
 * rate_limit.c - the slots of a host, and its pauses.
 */
#include "daemon/service/rate_limit.h"

#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/policy.h"

void dx_rate_limit_init(struct dx_rate_limit *limit, int history_dirfd,
                        const char *host, int port)
{
  *limit = (struct dx_rate_limit){
      .history_dirfd = history_dirfd, .host = host, .port = port};
  dx_pause_read(history_dirfd, host, port, &limit->pause);
}

int64_t dx_backoff_ms(int tries)
{
  double most = ldexp(DX_BACKOFF_FIRST_MS, tries < 10 ? tries : 10);

  return (int64_t)(fmin(most, DX_BACKOFF_MAX_MS) *
                   (0.5 + dx_random_unit() / 2));
}

/* The rate now: up to that of the section, it grows since the last cut. */
static double current_rate(const struct dx_rate_limit *limit, double rate)
{
  double since_s = (double)(dx_monotonic_ms() - limit->cut_ms) / 1000;

  if (limit->cut_ms == 0)
    return rate;
  return fmin(rate, limit->cut_rate + since_s * DX_RATE_GROWTH);
}

/* The slot after that of a call at call_ms. */
static double next_slot(const struct dx_rate_limit *limit, double rate,
                        double call_ms)
{
  return fmax(limit->next_ms, call_ms + 1000 / current_rate(limit, rate));
}

void dx_rate_limit_hold(struct dx_rate_limit *limit, double rate)
{
  /* The times of the previous calls are unknown. Ten calls of two processes are
   * nine gaps apart, minus what the first process may have caught up. */
  double spare_ms = DX_RATE_CALLS * 1000 / rate - DX_RATE_LATE_MS,
         hold_ms = fmax(0, DX_RATE_WINDOW_MS + DX_RATE_ARRIVE_MS - spare_ms);

  limit->next_ms = next_slot(limit, rate, (double)dx_monotonic_ms() + hold_ms);
}

int64_t dx_rate_limit_next_ms(const struct dx_rate_limit *limit)
{
  int64_t window_ms = limit->arrived_ms[limit->calls % DX_RATE_CALLS] +
                      DX_RATE_WINDOW_MS,
          pause_ms = limit->pause.until_ms;

  return (int64_t)ceil(fmax(
      limit->next_ms, (double)(window_ms > pause_ms ? window_ms : pause_ms)));
}

double dx_rate_limit_take(struct dx_rate_limit *limit, double rate)
{
  double slot_ms =
      fmax(limit->next_ms, (double)dx_monotonic_ms() - DX_RATE_LATE_MS);

  limit->next_ms = next_slot(limit, rate, slot_ms);
  return slot_ms;
}

uint64_t dx_rate_limit_leave(struct dx_rate_limit *limit, double rate)
{
  int64_t now = dx_monotonic_ms();

  limit->next_ms = next_slot(limit, rate, (double)(now - DX_RATE_LATE_MS));
  limit->arrived_ms[limit->calls % DX_RATE_CALLS] = now + DX_RATE_ARRIVE_MS;
  return limit->calls++;
}

void dx_rate_limit_answered(struct dx_rate_limit *limit, uint64_t call)
{
  int64_t now = dx_monotonic_ms();
  int64_t *arrived_ms = &limit->arrived_ms[call % DX_RATE_CALLS];

  if (limit->calls - call <= DX_RATE_CALLS && now < *arrived_ms)
    *arrived_ms = now;
}

static void save(const struct dx_rate_limit *limit)
{
  dx_pause_write(limit->history_dirfd, limit->host, limit->port, &limit->pause);
}

static void block(struct dx_rate_limit *limit, int64_t wait_ms)
{
  int64_t until;

  if (wait_ms <= 0)
    return;
  until = dx_monotonic_ms() + wait_ms;
  if (until <= limit->pause.until_ms)
    return;
  limit->pause.until_ms = until;
  save(limit);
}

void dx_rate_limit_refused(struct dx_rate_limit *limit, double rate,
                           double slot_ms, int64_t retry_after_ms)
{
  int64_t now = dx_monotonic_ms(), backoff_ms = 0;

  if (limit->cut_ms == 0 || (slot_ms >= (double)limit->cut_ms &&
                             now - limit->cut_ms >= DX_RATE_CUT_GAP_MS)) {
    limit->cut_rate =
        fmax(current_rate(limit, rate) * DX_RATE_CUT, DX_RATE_MIN);
    limit->cut_ms = now;
    limit->refusals++;
    limit->next_ms = next_slot(limit, rate, (double)now);
  }
  if (limit->refusals > 1)
    backoff_ms = dx_backoff_ms(limit->refusals - 1);
  block(limit, retry_after_ms > backoff_ms ? retry_after_ms : backoff_ms);
}

bool dx_rate_limit_is_blocked(const struct dx_rate_limit *limit)
{
  return limit->pause.until_ms > dx_monotonic_ms();
}

void dx_rate_limit_down(struct dx_rate_limit *limit)
{
  limit->pause.is_down = 1;
  save(limit);
}

void dx_rate_limit_up(struct dx_rate_limit *limit)
{
  limit->refusals = 0;
  if (!limit->pause.is_down)
    return;
  limit->pause.is_down = 0;
  save(limit);
}
