/*
 * test_poll.c - the poll schedule: what is predicted from times that were seen,
 * when it is polled, what is learned from that, and the file in which it is
 * kept. Properties rather than numbers, which may be tuned.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/service/schedule.h"
#include "lib/base/history.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct dx_poll_forecast nothing = {0, DX_POLL_SPREAD};

/* ---- times to learn from, the same at every run ---- */

static uint64_t seed;

static int set_up(void **state)
{
  (void)state;
  seed = 88172645463325252ULL;
  return 0;
}

static double uniform(void)
{
  seed ^= seed >> 12;
  seed ^= seed << 25;
  seed ^= seed >> 27;
  return (double)((seed * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

static double lognormal(double median, double sigma)
{
  double r = sqrt(-2 * log(1 - uniform()));

  return median * exp(sigma * r * cos(2 * acos(-1) * uniform()));
}

static double by_pages(int pages)
{
  return 10000 * pow(pages, 0.8);
}

/* As if it had been polled continuously. */
static void see(struct dx_poll_history *h, int pages, double ms)
{
  dx_poll_learn(h, pages, (int64_t)(0.99 * ms), (int64_t)(1.01 * ms));
}

static void see_by_pages(struct dx_poll_history *h, int count, double sigma,
                         double factor)
{
  int i;

  for (i = 0; i < count; i++) {
    int pages = 1 + (int)(40 * uniform());

    see(h, pages, factor * lognormal(by_pages(pages), sigma));
  }
}

/* Within a factor of it. */
static void assert_near(double got, double want, double factor)
{
  if (!(got > want / factor && got < want * factor))
    fail_msg("%g is not near %g", got, want);
}

static double median_of(const struct dx_poll_history *h, int pages)
{
  return dx_poll_predict(h, pages).median_ms;
}

/* ---- prediction ---- */

static void few_times_give_no_prediction(void **state)
{
  struct dx_poll_history h = {.seen = 0};
  int i;

  (void)state;
  for (i = 0; i < DX_POLL_KNOWN_FROM; i++) {
    assert_true(median_of(&h, 3) <= 0);
    see(&h, 3, 30000);
  }
  assert_near(median_of(&h, 3), 30000, 1.1);
}

static void times_that_grow_with_pages_are_predicted(void **state)
{
  struct dx_poll_history h = {.seen = 0};
  int pages;

  (void)state;
  see_by_pages(&h, 200, 0.3, 1);
  for (pages = 1; pages <= 40; pages++)
    assert_near(median_of(&h, pages), by_pages(pages), 1.3);
  assert_near(dx_poll_predict(&h, 10).spread, 0.3, 1.3);
}

static void irrelevant_pages_hardly_change_the_prediction(void **state)
{
  struct dx_poll_history with = {.seen = 0}, without = {.seen = 0};
  int i;

  (void)state;
  for (i = 0; i < 200; i++) {
    double ms = lognormal(30000, 0.6);

    see(&with, 1 + (int)(40 * uniform()), ms);
    see(&without, 0, ms);
  }
  for (i = 1; i <= 40; i++)
    assert_near(median_of(&with, i), median_of(&without, 0), 1.7);
  assert_near(dx_poll_predict(&with, 7).spread, 0.6, 1.7);
}

/* As for the cases of a source. */
static void prediction_without_pages_is_the_median(void **state)
{
  struct dx_poll_history h = {.seen = 0};
  int i;

  (void)state;
  for (i = 0; i < 100; i++)
    see(&h, 0, lognormal(5000, 0.3));
  assert_near(median_of(&h, 0), 5000, 1.2);
  assert_near(median_of(&h, 10), 5000, 1.2);
}

static void equal_page_numbers_give_no_slope(void **state)
{
  struct dx_poll_history h = {.seen = 0};
  int i;

  (void)state;
  for (i = 0; i < 100; i++)
    see(&h, 3, lognormal(30000, 0.3));
  assert_near(median_of(&h, 3), 30000, 1.2);
  assert_near(median_of(&h, 300), 30000, 1.2);
}

static void prediction_is_limited_to_the_pages_seen(void **state)
{
  struct dx_poll_history h = {.seen = 0};

  (void)state;
  see_by_pages(&h, 200, 0.1, 1);
  assert_near(median_of(&h, 100000), by_pages(40), 1.2);
}

static void outliers_have_little_effect(void **state)
{
  struct dx_poll_history h = {.seen = 0};
  int i;

  (void)state;
  for (i = 0; i < 200; i++) {
    int pages = 1 + (int)(40 * uniform());
    double ms = lognormal(by_pages(pages), 0.2);

    see(&h, pages, i % 4 == 0 ? ms * 100 : ms);
  }
  for (i = 1; i <= 40; i++)
    assert_near(median_of(&h, i), by_pages(i), 2);
}

/* The service was down while the first chart was processed. */
static void first_time_may_be_an_outlier(void **state)
{
  struct dx_poll_history h = {.seen = 0};
  int i;

  (void)state;
  see(&h, 1, 3000000);
  for (i = 0; i < 9; i++)
    see(&h, 1, 30000);
  assert_near(median_of(&h, 1), 30000, 2);
}

static void change_of_speed_is_followed(void **state)
{
  static const double factors[] = {0.3, 3};
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(factors); i++) {
    struct dx_poll_history h = {.seen = 0};

    see_by_pages(&h, 200, 0.3, 1);
    see_by_pages(&h, 20, 0.3, factors[i]);
    assert_near(median_of(&h, 5), factors[i] * by_pages(5), 1.6);
    assert_near(median_of(&h, 30), factors[i] * by_pages(30), 1.6);
  }
}

/* What takes less time with more pages, or still more than in proportion. */
static void slope_has_a_minimum_and_a_maximum(void **state)
{
  struct dx_poll_history less = {.seen = 0}, more = {.seen = 0};
  int i;

  (void)state;
  for (i = 0; i < 100; i++) {
    int pages = 1 + i % 10;

    see(&less, pages, 100000.0 / pages);
    see(&more, pages, 1000.0 * pages * pages);
  }
  assert_near(median_of(&less, 1), median_of(&less, 10), 1.01);
  assert_near(10 * median_of(&more, 1), median_of(&more, 10), 1.01);
}

/* ---- learning ---- */

static void learn_often(struct dx_poll_history *h, int64_t low, int64_t high)
{
  int i;

  for (i = 0; i < 200; i++)
    dx_poll_learn(h, 1, low, high);
}

static void narrow_interval_counts_as_its_middle(void **state)
{
  struct dx_poll_history h = {.seen = 0};

  (void)state;
  learn_often(&h, 20000, 24000);
  assert_near(median_of(&h, 1), 22000, 1.01);
}

static void wide_interval_limits_the_prediction(void **state)
{
  struct dx_poll_history h = {.seen = 0};

  (void)state;
  learn_often(&h, 29700, 30300);
  learn_often(&h, 1000, 100000);
  assert_near(median_of(&h, 1), 30000, 1.01);
  learn_often(&h, 50000, 100000);
  assert_near(median_of(&h, 1), 50000, 1.01);
  learn_often(&h, 1000, 10000);
  assert_near(median_of(&h, 1), 10000, 1.01);
}

/* How much earlier is not known, so it is polled earlier and earlier. */
static void time_found_at_the_first_poll_is_halved(void **state)
{
  struct dx_poll_history h = {.seen = 0};
  int i;

  (void)state;
  for (i = 0; i < 50; i++)
    see(&h, 1, 30000);
  for (i = 0; i < 50; i++) {
    struct dx_poll_forecast f = dx_poll_predict(&h, 1);

    dx_poll_learn(&h, 1, 0, dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 0, 0, 0.5));
  }
  assert_true(median_of(&h, 1) < 5000);
}

/* After an outage, polls wait for other calls: what they find done has not
 * taken that long. */
static void late_first_poll_shows_nothing(void **state)
{
  struct dx_poll_history h = {.seen = 0}, before;
  int i;

  (void)state;
  for (i = 0; i < 50; i++)
    see(&h, 1, 30000);
  before = h;
  for (i = 0; i < 50; i++)
    dx_poll_learn(&h, 1, 0, 600000);
  assert_memory_equal(&h, &before, sizeof(h));
}

/* And not how much longer the documents take that have more pages. */
static void first_poll_does_not_make_the_prediction_longer(void **state)
{
  static const int64_t times_ms[] = {1000, 20000, 600000};
  struct dx_poll_history h;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(times_ms) / sizeof(times_ms[0]); i++) {
    double before;

    h = (struct dx_poll_history){.seen = 0};
    see_by_pages(&h, 200, 0.3, 1);
    before = median_of(&h, 4000);
    dx_poll_learn(&h, 4000, 0, times_ms[i]);
    assert_true(median_of(&h, 4000) <= before);
  }
}

/* A clock that was set, or a phase without length, must not spoil it. */
static void absurd_times_do_no_harm(void **state)
{
  static const int64_t times[][2] = {
      {0, 0}, {-5, -5},       {5, 5},         {0, -1},
      {9, 3}, {0, INT64_MAX}, {INT64_MAX, 1}, {INT64_MIN, INT64_MAX}};
  static const int pages[] = {0, -1, 1, INT32_MAX};
  struct dx_poll_history h = {.seen = 0};
  size_t i;

  (void)state;
  for (i = 0; i < 300; i++) {
    struct dx_poll_forecast f;
    int64_t wait;

    dx_poll_learn(&h, pages[i % 3], times[i % 8][0], times[i % 8][1]);
    f = dx_poll_predict(&h, pages[i % 4]);
    assert_true(f.median_ms >= 0 && f.median_ms <= DX_POLL_MEDIAN_MAX_MS);
    assert_true(f.spread >= DX_POLL_SPREAD_MIN);
    assert_true(f.spread <= DX_POLL_SPREAD_MAX);
    wait = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 0, 0, 0.5);
    assert_true(wait >= 2000 && wait <= 86400000);
  }
}

/* ---- the schedule ---- */

/* Age and last wait; the waits for random numbers of 0, 0.5 and 0.999. All in
 * milliseconds. */
static const struct {
  int64_t age, last;
  int64_t want[3];
} rows[] = {
    /* not known: 2 s, then 1.25-fold up to 15 s, 10 % around it */
    {0, 0, {2000, 2000, 2000}},
    {2000, 2000, {2250, 2500, 2749}},
    {4000, 2000, {2250, 2500, 2749}},
    {40000, 12000, {13500, 15000, 16497}},
    {200000, 15000, {13500, 15000, 16497}},
    {300000, 15000, {13500, 15000, 16497}},
    /* after 5 min: up to 60 s */
    {300001, 15000, {16875, 18750, 20621}},
    {3000000, 60000, {54000, 60000, 65988}},
};

static void without_history_the_schedule_is_as_documented(void **state)
{
  static const double randoms[3] = {0, 0.5, 0.999};
  size_t i, k;

  (void)state;
  for (i = 0; i < COUNT(rows); i++)
    for (k = 0; k < 3; k++) {
      int64_t got = dx_poll_wait_ms(&nothing, DX_PHASE_SOURCE, rows[i].age,
                                    rows[i].last, randoms[k]);

      if (llabs(got - rows[i].want[k]) > 1) /* rounding */
        fail_msg("row %zu, random %g: %lld", i, randoms[k], (long long)got);
    }
}

static void without_history_polling_starts_at_two_seconds(void **state)
{
  const struct dx_poll_forecast none = nothing;
  int64_t wait = 0, age = 0;
  int i;

  (void)state;
  wait = dx_poll_wait_ms(&none, DX_PHASE_SOURCE, 0, 0, 0.5);
  assert_int_equal(wait, 2000);
  for (i = 0; i < 30; i++) {
    int64_t next;

    age += wait;
    next = dx_poll_wait_ms(&none, DX_PHASE_SOURCE, age, wait, 0.5);
    assert_true(next >= wait || next == 15000);
    assert_true(next <= (age > 300000 ? 60000 : 15000));
    assert_true(next <= wait * 5 / 4 + 1);
    wait = next;
  }
}

static void case_is_polled_immediately_and_then_like_a_source(void **state)
{
  const struct dx_poll_forecast none = nothing, known = {30000, 0.6};

  (void)state;
  assert_int_equal(dx_poll_wait_ms(&none, DX_PHASE_EXTRACT, 0, 0, 0.5), 0);
  assert_int_equal(dx_poll_wait_ms(&known, DX_PHASE_EXTRACT, 0, 0, 0.5), 0);
  assert_int_equal(dx_poll_wait_ms(&none, DX_PHASE_EXTRACT, 10, 0, 0.5), 2000);
  assert_int_equal(dx_poll_wait_ms(&none, DX_PHASE_EXTRACT, 2010, 2000, 0.5),
                   2500);
  assert_int_equal(dx_poll_wait_ms(&known, DX_PHASE_EXTRACT, 2010, 2000, 0.5),
                   dx_poll_wait_ms(&known, DX_PHASE_SOURCE, 2010, 2000, 0.5));
}

/* Half of them are done at the median: the first poll comes before it, and the
 * wider the spread, the earlier, and the fewer come then. */
static void spread_determines_first_poll_and_interval(void **state)
{
  static const double spreads[] = {0.1, 0.2, 0.4, 0.6, 1};
  int64_t first_before = INT64_MAX, step_before = 0;
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(spreads); i++) {
    const struct dx_poll_forecast f = {60000, spreads[i]};
    int64_t first = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 0, 0, 0.5);
    int64_t step = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, first, first, 0.5);

    assert_true(first < first_before && first < 60000 && first > 60000 / 5);
    assert_true(step > step_before && step < first);
    first_before = first;
    step_before = step;
  }
}

/* As simulated, and as it was before pages were known. */
static void with_a_spread_of_six_tenths_it_is_half_of_the_median(void **state)
{
  const struct dx_poll_forecast f = {30000, 0.6};

  (void)state;
  assert_near((double)dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 0, 0, 0.5), 13500,
              1.01);
  assert_near((double)dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 14000, 13500, 0.5),
              4200, 1.01);
  assert_near((double)dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 70000, 4200, 0.5),
              4200, 1.01);
  assert_near((double)dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 76000, 4200, 0.5),
              5250, 1.01);
}

/* Documents become faster while the first poll is awaited: it took that long
 * only because of what was known then. */
static void wait_for_the_first_poll_does_not_grow(void **state)
{
  const struct dx_poll_forecast f = {20000, 0.1};
  int64_t next = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 28000, 28000, 0.5);

  (void)state;
  assert_near((double)next, 1423, 1.01);
  next = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, 28000 + next, next, 0.5);
  assert_near((double)next, 1779, 1.01);
}

/* Whatever was learned, and however old it is. */
static void every_wait_has_a_minimum_and_a_maximum(void **state)
{
  static const double medians[] = {0, 1, 1000, 30000, 1e7, 86400000};
  static const double spreads[] = {DX_POLL_SPREAD_MIN, DX_POLL_SPREAD_MAX};
  size_t i, k;
  int64_t age;

  (void)state;
  for (i = 0; i < COUNT(medians); i++)
    for (k = 0; k < COUNT(spreads); k++)
      for (age = 1; age < 1000000000; age *= 10) {
        const struct dx_poll_forecast f = {medians[i], spreads[k]};
        int64_t wait = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, age, 1, 0.0);

        assert_true(wait >= (medians[i] > 0 ? 950 : 1));
        wait = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, age, 10000000, 0.999);
        assert_true(wait <= 66000);
      }
}

/* Mean lag by mean time, and polls; history of its own. */
static void simulate(bool with_pages, double *ret_lag, double *ret_polls)
{
  struct dx_poll_history h = {.seen = 0};
  double lag = 0, all = 0, polls = 0;
  int i;

  for (i = 0; i < 600; i++) {
    int pages = 1 + (int)(40 * uniform());
    int known = with_pages ? pages : 0;
    double ms = lognormal(by_pages(pages), 0.3);
    struct dx_poll_forecast f = dx_poll_predict(&h, known);
    int64_t at = 0, low = 0, wait = 0;

    do {
      low = at;
      wait = dx_poll_wait_ms(&f, DX_PHASE_SOURCE, at, wait, uniform());
      at += wait;
      polls += i >= 200;
    } while ((double)at < ms);
    dx_poll_learn(&h, known, low, at);
    lag += i >= 200 ? (double)at - ms : 0;
    all += i >= 200 ? ms : 0;
  }
  *ret_lag = lag / all;
  *ret_polls = polls / 400;
}

static void knowing_the_pages_saves_calls_and_lag(void **state)
{
  double lag, polls, plain_lag, plain_polls;

  (void)state;
  simulate(true, &lag, &polls);
  simulate(false, &plain_lag, &plain_polls);
  assert_true(lag < 0.07 && polls < 6);
  assert_true(lag * polls < 0.7 * plain_lag * plain_polls);
}

/* ---- the file ---- */

struct file {
  char dir[64], path[96];
  int dirfd;
};

static void begin_file(struct file *f)
{
  (void)strcpy(f->dir, "/var/tmp/dx-poll-XXXXXX");
  assert_non_null(mkdtemp(f->dir));
  (void)snprintf(f->path, sizeof(f->path), "%s/a_443_times", f->dir);
  f->dirfd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(f->dirfd >= 0);
}

static void end_file(const struct file *f)
{
  (void)close(f->dirfd);
  assert_int_equal(unlink(f->path), 0);
  assert_int_equal(rmdir(f->dir), 0);
}

static void put_file(const struct file *f, const char *text, size_t len)
{
  int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  assert_int_equal(write(fd, text, len), (ssize_t)len);
  (void)close(fd);
}

static size_t get_file(const struct file *f, char text[16384])
{
  int fd = open(f->path, O_RDONLY | O_CLOEXEC);
  ssize_t len = read(fd, text, 16384);

  (void)close(fd);
  assert_true(len > 0 && len < 16384);
  return (size_t)len;
}

static double predicted(const struct file *f, enum dx_phase phase, int pages)
{
  struct dx_latency latency;

  dx_latency_read(f->dirfd, "a", 443, &latency);
  return dx_poll_predict(&latency.of[phase], pages).median_ms;
}

static void learn(const struct file *f, int count)
{
  struct dx_latency latency;
  int i;

  dx_latency_read(f->dirfd, "a", 443, &latency);
  for (i = 0; i < count; i++) {
    int pages = i % 2 == 0 ? 1 : 10;

    dx_poll_learn(&latency.of[DX_PHASE_SOURCE], pages, 9900 * pages,
                  10100 * pages);
    dx_latency_write(f->dirfd, "a", 443, &latency);
  }
}

static void history_is_read_by_the_next_process(void **state)
{
  char text[16384];
  struct file f;
  size_t length;

  (void)state;
  begin_file(&f);
  learn(&f, 64);
  length = get_file(&f, text);
  assert_near(predicted(&f, DX_PHASE_SOURCE, 1), 10000, 1.5);
  assert_near(predicted(&f, DX_PHASE_SOURCE, 10), 100000, 1.5);
  assert_true(predicted(&f, DX_PHASE_EXTRACT, 1) <= 0);
  learn(&f, 500);
  assert_int_equal(get_file(&f, text), length);
  assert_near(predicted(&f, DX_PHASE_SOURCE, 1), 10000, 1.5);
  end_file(&f);
}

static void file_of_another_format_counts_as_empty(void **state)
{
  static const char *const texts[] = {"", "docextract-times 5\n",
                                      "docextract-times 5\n1 30000\n1 30000\n",
                                      "docextract-times 6\n", "\n\n\n"};
  struct file f;
  size_t i;

  (void)state;
  begin_file(&f);
  for (i = 0; i < COUNT(texts); i++) {
    put_file(&f, texts[i], strlen(texts[i]));
    assert_true(predicted(&f, DX_PHASE_SOURCE, 1) <= 0);
    learn(&f, 64);
    assert_near(predicted(&f, DX_PHASE_SOURCE, 1), 10000, 1.5);
  }
  end_file(&f);
}

/* Nothing of it is believed. */
static void file_with_an_absurd_value_counts_as_empty(void **state)
{
  static const struct dx_poll_history absurd[] = {
      {-1, 3, 9, 0.5, 0.3, 9},     {4, 3, 9, 0.5, 0.3, 9},
      {2, 99, 9, 0.5, 0.3, 9},     {NAN, 3, 9, 0.5, 0.3, 9},
      {2, 3, -1, 0.5, 0.3, 9},     {2, 3, 99, 0.5, 0.3, 9},
      {2, 3, NAN, 0.5, 0.3, 9},    {2, 3, 9, -1, 0.3, 9},
      {2, 3, 9, 2, 0.3, 9},        {2, 3, 9, 0.5, -1, 9},
      {2, 3, 9, 0.5, 0, 9},        {2, 3, 9, 0.5, 2, 9},
      {2, 3, 9, 0.5, INFINITY, 9}, {2, 3, 9, 0.5, 0.3, 1000},
      {2, 3, 9, 0.5, 0.3, -1}};
  static const struct dx_poll_history good = {2, 3, 9, 0.5, 0.3, 9};
  struct dx_latency latency = {.of = {good, good}};
  struct file f;
  size_t i;

  (void)state;
  begin_file(&f);
  dx_latency_write(f.dirfd, "a", 443, &latency);
  assert_true(predicted(&f, DX_PHASE_SOURCE, 1) > 0);
  for (i = 0; i < COUNT(absurd); i++) {
    latency.of[DX_PHASE_EXTRACT] = absurd[i];
    dx_latency_write(f.dirfd, "a", 443, &latency);
    if (predicted(&f, DX_PHASE_SOURCE, 1) > 0)
      fail_msg("row %zu", i);
  }
  end_file(&f);
}

/* Every byte of it, in turn, and every end. */
static void damaged_file_does_no_harm(void **state)
{
  static const char bytes[] = {'9', '-', 'x', '\n', '\0'};
  char text[16384];
  struct file f;
  size_t len, i;

  (void)state;
  begin_file(&f);
  learn(&f, 64);
  len = get_file(&f, text);
  for (i = 0; i < len; i += 7) {
    char was = text[i];
    double ms;

    text[i] = bytes[i % sizeof(bytes)];
    put_file(&f, text, i % 2 ? len : i);
    ms = predicted(&f, DX_PHASE_SOURCE, 1);
    assert_true(ms >= 0 && ms <= 86400000);
    text[i] = was;
  }
  end_file(&f);
}

#define POLL_TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
  const struct CMUnitTest tests[] = {
      POLL_TEST(few_times_give_no_prediction),
      POLL_TEST(times_that_grow_with_pages_are_predicted),
      POLL_TEST(irrelevant_pages_hardly_change_the_prediction),
      POLL_TEST(prediction_without_pages_is_the_median),
      POLL_TEST(equal_page_numbers_give_no_slope),
      POLL_TEST(prediction_is_limited_to_the_pages_seen),
      POLL_TEST(outliers_have_little_effect),
      POLL_TEST(first_time_may_be_an_outlier),
      POLL_TEST(change_of_speed_is_followed),
      POLL_TEST(slope_has_a_minimum_and_a_maximum),
      POLL_TEST(narrow_interval_counts_as_its_middle),
      POLL_TEST(wide_interval_limits_the_prediction),
      POLL_TEST(time_found_at_the_first_poll_is_halved),
      POLL_TEST(late_first_poll_shows_nothing),
      POLL_TEST(first_poll_does_not_make_the_prediction_longer),
      POLL_TEST(absurd_times_do_no_harm),
      POLL_TEST(without_history_the_schedule_is_as_documented),
      POLL_TEST(without_history_polling_starts_at_two_seconds),
      POLL_TEST(case_is_polled_immediately_and_then_like_a_source),
      POLL_TEST(spread_determines_first_poll_and_interval),
      POLL_TEST(with_a_spread_of_six_tenths_it_is_half_of_the_median),
      POLL_TEST(wait_for_the_first_poll_does_not_grow),
      POLL_TEST(every_wait_has_a_minimum_and_a_maximum),
      POLL_TEST(knowing_the_pages_saves_calls_and_lag),
      POLL_TEST(history_is_read_by_the_next_process),
      POLL_TEST(file_of_another_format_counts_as_empty),
      POLL_TEST(file_with_an_absurd_value_counts_as_empty),
      POLL_TEST(damaged_file_does_no_harm),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
