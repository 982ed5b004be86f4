/*
 * poll.c - the poll schedule; its numbers are in policy.h. What to expect is
 * predict.c's business.
 */
#include "daemon/service/poll.h"

#include <math.h>

#include "lib/base/policy.h"

static double jitter(double wait, double part, double random)
{
  return wait * (1 + part * (2 * random - 1));
}

static double clamp(double value, double least, double most)
{
  return value < least ? least : value > most ? most : value;
}

/* The wider the spread, the earlier the first may be done, and the longer the
 * intervals at which each poll costs the same. */
static double known(const struct dx_poll_forecast *forecast, double age,
                    double last, double random)
{
  double median = forecast->median_ms, spread = forecast->spread;
  double step = clamp(DX_POLL_STEP_PART * sqrt(spread) * median,
                      DX_POLL_STEP_MIN_MS, DX_POLL_STEP_MAX_MS);

  if (age <= 0 && last <= 0)
    return fmax(DX_POLL_FIRST_MS,
                median * exp(-DX_POLL_FIRST_SPREADS * spread));
  if (age > median * exp(DX_POLL_OVERDUE_SPREADS * spread))
    step = fmin(fmax(last, step) * DX_POLL_GROWTH, DX_POLL_MAX_MS);
  return jitter(step, DX_POLL_JITTER, random);
}

static double unknown(double age, double last, double random)
{
  double most = age > DX_POLL_BLIND_MS ? DX_POLL_MAX_MS : DX_POLL_BLIND_MAX_MS;

  if (last <= 0)
    return DX_POLL_FIRST_MS;
  return jitter(fmin(last * DX_POLL_GROWTH, most), DX_POLL_BLIND_JITTER,
                random);
}

int64_t dx_poll_wait_ms(const struct dx_poll_forecast *forecast,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random)
{
  double wait;

  if (phase == DX_PHASE_EXTRACT && last_ms <= 0 && age_ms <= 0)
    return 0; /* the first GET goes out as soon as the source is complete */
  if (forecast->median_ms > 0)
    wait = known(forecast, (double)age_ms, (double)last_ms, random);
  else
    wait = unknown((double)age_ms, (double)last_ms, random);
  return (int64_t)wait;
}
