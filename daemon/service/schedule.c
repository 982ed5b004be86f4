/*
 * schedule.c - predicts how long a document will take, and when to poll. Times
 * and pages are compared by their logarithms, because they differ by factors.
 */
#include "daemon/service/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/history.h"
#include "lib/base/policy.h"

static double clamp(double value, double least, double most)
{
  return value < least ? least : value > most ? most : value;
}

static double schedule_log(double value)
{
  return log(clamp(value, 1, DX_POLL_MEDIAN_MAX_MS));
}

/* ---- the prediction ---- */

/* More pages than any seen so far count as that many: the line may not go on
 * there. */
static double schedule_predict(const struct dx_poll_history *history,
                               double pages)
{
  return history->level +
         history->slope * (fmin(pages, history->most_pages) - history->pages);
}

struct dx_poll_forecast dx_poll_predict(const struct dx_poll_history *history,
                                        int64_t pages)
{
  double ms = exp(schedule_predict(history, schedule_log((double)pages)));

  if (history->seen < DX_POLL_KNOWN_FROM)
    return (struct dx_poll_forecast){0, DX_POLL_SPREAD};
  return (struct dx_poll_forecast){clamp(ms, 1, DX_POLL_MEDIAN_MAX_MS),
                                   history->spread};
}

/* The logarithm of the time that a document took, of which only limits are
 * known. */
static double schedule_time(int64_t not_yet_ms, int64_t done_ms, bool is_first,
                            double predicted)
{
  double high = schedule_log((double)done_ms);
  double low = fmin(schedule_log((double)not_yet_ms), high);

  if (not_yet_ms <= 0)
    return fmax(high + log(DX_POLL_EARLIER), 0);
  return is_first || high - low <= log(DX_POLL_NARROW)
             ? (low + high) / 2
             : clamp(predicted, low, high);
}

/* Corrects the line by a part of the difference between time and prediction, as
 * a normalized LMS filter does; the first differences count more, as in a mean.
 * The difference is limited, so that outliers have little effect, but not among
 * the first times: if the very first one is an outlier, the others correct it.
 * More pages never take less time, nor more than in proportion. */
void dx_poll_learn(struct dx_poll_history *history, int64_t pages,
                   int64_t not_yet_ms, int64_t done_ms)
{
  bool is_first = history->seen == 0;
  double limit =
      history->seen < DX_POLL_KNOWN_FROM ? INFINITY : DX_POLL_DIFFERENCE_MAX;
  double part = 1.0 / (double)(history->seen + 1);
  double x = schedule_log((double)pages), offset, predicted, time, difference,
         spread;

  /* More pages than before: how long they take is known only if it was not
   * done at the first poll. */
  if (is_first || not_yet_ms > 0)
    history->most_pages = fmax(history->most_pages, x);
  x = fmin(x, history->most_pages);
  predicted = schedule_predict(history, x);
  time = schedule_time(not_yet_ms, done_ms, is_first, predicted);
  /* A first poll that finds it done does not show that it took longer: other
   * calls may have delayed the poll. */
  if (!is_first && not_yet_ms <= 0 && time > predicted)
    return;
  difference = clamp(time - predicted, -limit, limit);
  offset = is_first ? 0 : x - history->pages;
  history->slope =
      clamp(history->slope + part * difference * offset / (1 + offset * offset),
            0, 1);
  history->pages += part * (x - history->pages);
  /* At the new mean of the pages, the line is higher. */
  history->level =
      clamp(history->level + part * difference + history->slope * part * offset,
            0, log(DX_POLL_MEDIAN_MAX_MS));
  spread = clamp(DX_POLL_SPREAD_OF_MEAN * fabs(difference), DX_POLL_SPREAD_MIN,
                 DX_POLL_SPREAD_MAX);
  history->spread +=
      part * ((is_first ? DX_POLL_SPREAD : spread) - history->spread);
  if (history->seen < DX_POLL_SEEN_MAX)
    history->seen++;
}

/* ---- when to poll ---- */

/* If the median is known, a wider spread makes the first poll earlier, because
 * the document may be done earlier, and the intervals longer (doc/policy.md).
 */
int64_t dx_poll_wait_ms(const struct dx_poll_forecast *forecast,
                        enum dx_phase phase, int64_t age_ms, int64_t last_ms,
                        double random)
{
  double median = forecast->median_ms, spread = forecast->spread;
  double age = (double)age_ms, last = (double)last_ms, step, jitter;
  bool is_first = age_ms <= 0 && last_ms <= 0;

  if (phase == DX_PHASE_EXTRACT && is_first)
    return 0; /* the first GET is sent as soon as the source is complete */
  if (median > 0) {
    if (is_first)
      return (int64_t)fmax(DX_POLL_FIRST_MS,
                           median * exp(-DX_POLL_FIRST_SPREADS * spread));
    step = clamp(DX_POLL_STEP_PART * sqrt(spread) * median, DX_POLL_STEP_MIN_MS,
                 DX_POLL_STEP_MAX_MS);
    /* The wait for the first poll is not a step that grows: the prediction may
     * have become shorter meanwhile. */
    if (age > median * exp(DX_POLL_OVERDUE_SPREADS * spread))
      step = fmin((2 * last > age ? step : fmax(last, step)) * DX_POLL_GROWTH,
                  DX_POLL_MAX_MS);
    jitter = DX_POLL_JITTER;
  } else {
    if (last_ms <= 0)
      return DX_POLL_FIRST_MS;
    step =
        fmin(last * DX_POLL_GROWTH,
             age_ms > DX_POLL_BLIND_MS ? DX_POLL_MAX_MS : DX_POLL_BLIND_MAX_MS);
    jitter = DX_POLL_BLIND_JITTER;
  }
  return llround(step * (1 + jitter * (2 * random - 1)));
}

/* ---- the file of times ---- */

#define TIMES_VERSION "docextract-times 5\n"
#define SUFFIX "_times"

/* False if it is not what dx_poll_learn() makes. */
static bool schedule_is_plausible(const struct dx_poll_history *history)
{
  const double log_max = log(DX_POLL_MEDIAN_MAX_MS);

  return history->pages >= 0 && history->pages <= history->most_pages &&
         history->most_pages <= log_max && history->level >= 0 &&
         history->level <= log_max && history->slope >= 0 &&
         history->slope <= 1 &&
         history->spread >= (history->seen > 0 ? DX_POLL_SPREAD_MIN : 0) &&
         history->spread <= DX_POLL_SPREAD_MAX && history->seen >= 0 &&
         history->seen <= DX_POLL_SEEN_MAX;
}

void dx_latency_read(int history_dirfd, const char *host, int port,
                     struct dx_latency *ret_latency)
{
  char name[DX_HISTORY_NAME_BYTES];
  size_t i;

  dx_history_name(host, port, SUFFIX, name);
  (void)dx_history_read(history_dirfd, name, TIMES_VERSION, ret_latency,
                        sizeof(*ret_latency));
  for (i = 0; i < DX_PHASE_COUNT; i++)
    if (!schedule_is_plausible(&ret_latency->of[i]))
      memset(ret_latency, 0, sizeof(*ret_latency));
}

void dx_latency_write(int history_dirfd, const char *host, int port,
                      const struct dx_latency *latency)
{
  char name[DX_HISTORY_NAME_BYTES];

  dx_history_name(host, port, SUFFIX, name);
  dx_history_write(history_dirfd, name, TIMES_VERSION, latency,
                   sizeof(*latency));
}
