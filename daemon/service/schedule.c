/*
 * schedule.c - predicts how long a document will take, and when to poll. The
 * statistics are robust: medians are hardly affected if less than half of the
 * times are outliers.
 */
#include "daemon/service/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/history.h"
#include "lib/base/policy.h"

static double clamp(double value, double least, double most)
{
  return value < least ? least : value > most ? most : value;
}

/* One time, as logarithms; newer times have more weight. */
struct point {
  double pages, time, weight;
};

struct weighted {
  double value, weight;
};

/* The times with at least that many pages, newest first. */
static size_t points_of(const struct dx_poll_history *history, int least_pages,
                        struct point points[DX_POLL_TIMES])
{
  size_t count = 0, i;

  for (i = 0; i < history->count; i++) {
    const struct dx_poll_time *t = &history->times[i];

    if (t->pages >= least_pages)
      points[count++] =
          (struct point){log(fmax(t->pages, 1)), log(fmax((double)t->ms, 1)),
                         exp2(-(double)i / DX_POLL_HALF_LIFE)};
  }
  return count;
}

/* Compares the first members: pages, or values. */
static int by_first(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The weighted median; sorts the values. 0 if there are none. */
static double median(struct weighted *values, size_t count)
{
  double all = 0, sum = 0;
  size_t i;

  qsort(values, count, sizeof(*values), by_first);
  for (i = 0; i < count; i++)
    all += values[i].weight;
  for (i = 0; i < count; i++) {
    sum += values[i].weight;
    if (sum >= all / 2)
      return values[i].value;
  }
  return 0;
}

/* The median of the slopes between pairs of points (Theil and Sen), but only of
 * distant pairs: each has one point of the lower half and one of the upper
 * half. Sorts the points. */
static double slope_of(struct point *points, size_t count)
{
  struct weighted slopes[DX_POLL_TIMES];
  size_t half = count / 2, used = 0, i;

  qsort(points, count, sizeof(*points), by_first);
  for (i = 0; i < half; i++) {
    const struct point *a = &points[i], *b = &points[i + count - half];
    double pages = b->pages - a->pages;

    if (pages > 0)
      slopes[used++] = (struct weighted){(b->time - a->time) / pages, pages};
  }
  return used >= DX_POLL_KNOWN_FROM ? median(slopes, used) : 0;
}

/* The median difference between consecutive times: if the speed of the service
 * changes, that affects only one difference. */
static double roughness_of(const struct point *points, size_t count,
                           double slope)
{
  struct weighted steps[DX_POLL_TIMES];
  size_t i;

  for (i = 0; i + 1 < count; i++)
    steps[i] =
        (struct weighted){fabs(points[i].time - points[i + 1].time -
                               slope * (points[i].pages - points[i + 1].pages)),
                          1};
  return median(steps, count - 1);
}

/* The times are assumed to be level + slope * pages, in logarithms. */
struct dx_poll_forecast dx_poll_predict(const struct dx_poll_history *history,
                                        int pages)
{
  struct dx_poll_forecast forecast = {0, DX_POLL_SPREAD};
  struct point points[DX_POLL_TIMES], sorted[DX_POLL_TIMES];
  struct weighted rest[DX_POLL_TIMES];
  size_t count = points_of(history, 1, points), i;
  double x = log(fmax(pages, 1)), slope = 0, level, spread, n;

  if (history->count < DX_POLL_KNOWN_FROM)
    return forecast;
  if (pages > 0 && count >= DX_POLL_LINE_FROM) {
    memcpy(sorted, points, count * sizeof(*points));
    slope = slope_of(sorted, count);
    /* Do not extrapolate beyond the recorded range. */
    x = clamp(x, sorted[0].pages, sorted[count - 1].pages);
    if (roughness_of(points, count, slope) >
        DX_POLL_LINE_PART * roughness_of(points, count, 0))
      slope = 0;
  } else {
    count = points_of(history, 0, points);
  }
  for (i = 0; i < count; i++)
    rest[i] = (struct weighted){points[i].time - slope * points[i].pages,
                                points[i].weight};
  level = median(rest, count);
  for (i = 0; i < count; i++)
    rest[i].value = fabs(rest[i].value - level);
  spread = DX_POLL_SPREAD_OF_MAD * median(rest, count);
  n = (double)count; /* few times tell little about the spread */
  forecast.median_ms = clamp(exp(level + slope * x), 1, DX_POLL_MEDIAN_MAX_MS);
  forecast.spread = clamp((n * spread + DX_POLL_KNOWN_FROM * DX_POLL_SPREAD) /
                              (n + DX_POLL_KNOWN_FROM),
                          DX_POLL_SPREAD_MIN, DX_POLL_SPREAD_MAX);
  return forecast;
}

/* ---- learning ---- */

void dx_poll_learn(struct dx_poll_history *history, int pages,
                   int64_t not_yet_ms, int64_t done_ms)
{
  double high = clamp((double)done_ms, 1, DX_POLL_MEDIAN_MAX_MS);
  double low = fmin((double)not_yet_ms, high), ms;
  double median = dx_poll_predict(history, pages).median_ms;

  if (low <= 0)
    ms = high * DX_POLL_EARLIER;
  else if (high / low <= DX_POLL_NARROW || median <= 0)
    ms = sqrt(low * high);
  else
    ms = clamp(median, low, high);
  if (history->count < DX_POLL_TIMES)
    history->count++;
  memmove(&history->times[1], &history->times[0],
          (history->count - 1) * sizeof(history->times[0]));
  history->times[0].pages = (int)clamp(pages, 0, DX_POLL_PAGES_MAX);
  history->times[0].ms = (int64_t)fmax(ms, 1);
}

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
    if (age > median * exp(DX_POLL_OVERDUE_SPREADS * spread))
      step = fmin(fmax(last, step) * DX_POLL_GROWTH, DX_POLL_MAX_MS);
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

#define TIMES_VERSION "docextract-times 4\n"
#define SUFFIX "_times"

/* False if it is not what dx_poll_learn() makes. */
static bool schedule_is_plausible(const struct dx_poll_history *history)
{
  size_t i;

  for (i = 0; i < history->count; i++)
    if (i == DX_POLL_TIMES || history->times[i].pages < 0 ||
        history->times[i].pages > DX_POLL_PAGES_MAX ||
        history->times[i].ms < 1 ||
        history->times[i].ms > DX_POLL_MEDIAN_MAX_MS)
      return false;
  return true;
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
