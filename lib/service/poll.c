/*
 * poll.c - the poll schedule; every number is in doc/policy.md, "Poll
 * schedule", and was found by simulation with lognormal processing times.
 */
#include "lib/service/poll.h"

#include <math.h>

#define KNOWN_FROM 5 /* seen */

static double jitter(double wait, double part, double random)
{
  return wait * (1 + part * (2 * random - 1));
}

static double clamp(double value, double least, double most)
{
  return value < least ? least : value > most ? most : value;
}

static double known(double median, double age, double last, double random)
{
  double step = clamp(0.14 * median, 1000, 20000);

  if (age <= 0 && last <= 0)
    return fmax(2000, 0.45 * median);
  if (age > 2.5 * median)
    step = fmin(fmax(last, step) * 1.25, 60000);
  return jitter(step, 0.05, random);
}

static double unknown(double age, double last, double random)
{
  double most = age > 300000 ? 60000 : 15000;

  if (last <= 0)
    return 2000;
  return jitter(fmin(last * 1.25, most), 0.1, random);
}

int64_t dx_poll_wait_ms(const struct dx_poll_history *history,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random)
{
  double wait;

  if (phase == DX_PHASE_EXTRACT && last_ms <= 0 && age_ms <= 0)
    return 0; /* the first GET goes out as soon as the source is complete */
  if (history->seen >= KNOWN_FROM)
    wait = known(history->median_ms, (double)age_ms, (double)last_ms, random);
  else
    wait = unknown((double)age_ms, (double)last_ms, random);
  return (int64_t)wait;
}

void dx_poll_learn(struct dx_poll_history *history, int64_t not_yet_ms,
                   int64_t done_ms)
{
  double low = (double)not_yet_ms;
  double high = fmax((double)done_ms, 1);
  double weight = fmax(0.1, 1.0 / ((double)history->seen + 1));
  double mean = log(fmax(history->median_ms, 1));
  double target;

  if (low <= 0) /* done at the first poll: all we know is "not longer" */
    target = history->seen > 0 ? fmin(mean, log(high)) - 0.1 : log(high);
  else if (high / low <= 1.6 || history->seen == 0)
    target = (log(low) + log(high)) / 2;
  else
    target = clamp(mean, log(low), log(high));
  history->median_ms = exp(mean + weight * (target - mean));
  if (history->seen == 0)
    history->median_ms = exp(target);
  history->seen++;
}
