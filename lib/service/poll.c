/*
 * poll.c - the poll schedule; its numbers are in policy.h.
 */
#include "lib/service/poll.h"

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

static double known(double median, double age, double last, double random)
{
  double step = clamp(DX_POLL_STEP_PART * median, DX_POLL_STEP_MIN_MS,
                      DX_POLL_STEP_MAX_MS);

  if (age <= 0 && last <= 0)
    return fmax(DX_POLL_FIRST_MS, DX_POLL_FIRST_PART * median);
  if (age > DX_POLL_OVERDUE_PART * median)
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

int64_t dx_poll_wait_ms(const struct dx_poll_history *history,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random)
{
  double wait;

  if (phase == DX_PHASE_EXTRACT && last_ms <= 0 && age_ms <= 0)
    return 0; /* the first GET goes out as soon as the source is complete */
  if (history->seen >= DX_POLL_KNOWN_FROM)
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
  double weight = fmax(DX_POLL_WEIGHT_MIN, 1.0 / ((double)history->seen + 1));
  double mean = log(fmax(history->median_ms, 1));
  double target;

  if (low <= 0) /* done at the first poll: all we know is "not longer" */
    target =
        history->seen > 0 ? fmin(mean, log(high)) - DX_POLL_EARLIER : log(high);
  else if (high / low <= DX_POLL_NARROW || history->seen == 0)
    target = (log(low) + log(high)) / 2;
  else
    target = clamp(mean, log(low), log(high));
  history->median_ms = exp(mean + weight * (target - mean));
  if (history->seen == 0)
    history->median_ms = exp(target);
  if (history->seen < INT64_MAX) /* a file may say anything */
    history->seen++;
}
