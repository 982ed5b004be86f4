/*
 * test_poll.c - the poll schedule as tables: history, age, last wait, and
 * random number in; wait out. And what is learned from a wait.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/service/latency.h"

/* median and how many were seen; age and last wait; the waits for random
 * numbers of 0, 0.5 and 0.999. All in milliseconds. */
static const struct {
  double median;
  int64_t seen;
  int64_t age, last;
  int64_t want[3];
} rows[] = {
    /* not known: 2 s, then 1.25-fold up to 15 s, 10 % around it */
    {0, 0, 0, 0, {2000, 2000, 2000}},
    {0, 0, 2000, 2000, {2250, 2500, 2749}},
    {0, 0, 4000, 2000, {2250, 2500, 2749}},
    {0, 0, 40000, 12000, {13500, 15000, 16497}},
    {0, 0, 200000, 15000, {13500, 15000, 16497}},
    {0, 0, 300000, 15000, {13500, 15000, 16497}},
    /* after 5 min up to 60 s */
    {0, 0, 300001, 15000, {16875, 18750, 20621}},
    {0, 0, 3000000, 60000, {54000, 60000, 65988}},
    /* four seen are not enough */
    {30000, 4, 0, 0, {2000, 2000, 2000}},
    /* known: 0.45 of the median first, never below 2 s */
    {30000, 5, 0, 0, {13500, 13500, 13500}},
    {3000, 5, 0, 0, {2000, 2000, 2000}},
    {600000, 5, 0, 0, {270000, 270000, 270000}},
    /* then 0.14 of it, 5 % around, within 1 s and 20 s */
    {30000, 5, 13500, 13500, {3990, 4200, 4409}},
    {30000, 5, 14000, 13500, {3990, 4200, 4409}},
    {30000, 5, 40000, 4200, {3990, 4200, 4409}},
    {30000, 99, 74999, 4200, {3990, 4200, 4409}},
    {3000, 5, 2000, 2000, {950, 1000, 1049}},
    {600000, 5, 270000, 270000, {19000, 20000, 20998}},
    /* past 2.5 medians the step grows by 1.25 up to 60 s */
    {30000, 5, 75001, 4200, {4987, 5250, 5511}},
    {30000, 5, 80000, 8000, {9500, 10000, 10499}},
    {30000, 5, 900000, 59000, {57000, 60000, 62994}},
};

static void the_schedule_is_as_documented(void **state)
{
  static const double randoms[3] = {0, 0.5, 0.999};
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (k = 0; k < 3; k++) {
      const struct dx_poll_history history = {rows[i].median, rows[i].seen};
      int64_t got = dx_poll_wait_ms(&history, DX_PHASE_SOURCE, rows[i].age,
                                    rows[i].last, randoms[k]);

      if (llabs(got - rows[i].want[k]) > 1) /* a rounding */
        fail_msg("row %zu, random %g: %lld", i, randoms[k], (long long)got);
    }
}

static void without_history_polling_starts_at_two_seconds(void **state)
{
  const struct dx_poll_history none = {0, 0};
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

static void a_case_is_polled_at_once_and_then_like_a_source(void **state)
{
  const struct dx_poll_history none = {0, 0}, known = {30000, 5},
                               well = {30000, 9};

  (void)state;
  assert_int_equal(dx_poll_wait_ms(&none, DX_PHASE_EXTRACT, 0, 0, 0.5), 0);
  assert_int_equal(dx_poll_wait_ms(&known, DX_PHASE_EXTRACT, 0, 0, 0.5), 0);
  assert_int_equal(dx_poll_wait_ms(&well, DX_PHASE_EXTRACT, 0, 0, 0.5), 0);
  assert_int_equal(dx_poll_wait_ms(&none, DX_PHASE_EXTRACT, 10, 0, 0.5), 2000);
  assert_int_equal(dx_poll_wait_ms(&none, DX_PHASE_EXTRACT, 2010, 2000, 0.5),
                   2500);
  assert_int_equal(dx_poll_wait_ms(&known, DX_PHASE_EXTRACT, 2010, 2000, 0.5),
                   4200);
}

/* Whatever was learned, and however old it is. */
static void every_wait_has_a_minimum_and_a_maximum(void **state)
{
  static const double medians[] = {0, 1, 1000, 30000, 1e7, 1e12};
  size_t i;
  int64_t seen, age;

  (void)state;
  for (i = 0; i < sizeof(medians) / sizeof(medians[0]); i++)
    for (seen = 0; seen < 10; seen += 5)
      for (age = 1; age < 1000000000; age *= 10) {
        const struct dx_poll_history history = {medians[i], seen};
        int64_t wait = dx_poll_wait_ms(&history, DX_PHASE_SOURCE, age, 1, 0.0);

        assert_true(wait >= (seen ? 950 : 1));
        wait = dx_poll_wait_ms(&history, DX_PHASE_SOURCE, age, 10000000, 0.999);
        assert_true(wait <= 66000);
      }
}

/* median and how many before; took longer than, was done by; after. */
static const struct {
  double median;
  int64_t seen, not_yet, done;
  double want;
} lessons[] = {
    /* the first one: the middle of the logarithms */
    {0, 0, 10000, 40000, 20000},
    {0, 0, 0, 8000, 8000},
    /* known well (hi/lo up to 1.6): its middle, by its weight */
    {10000, 1, 20000, 31250, 15811.4},  /* sqrt(10000 * 25000) */
    {10000, 3, 40000, 40000, 14142.1},  /* a quarter of the way */
    {10000, 99, 40000, 40000, 11487.0}, /* never less than a tenth */
    /* imprecise: no change if the median lies within */
    {10000, 1, 5000, 20000, 10000},
    /* else towards the nearer end, by its weight */
    {10000, 1, 20000, 80000, 14142.1},
    {40000, 1, 5000, 10000, 20000},
    /* done at the first poll: a little lower */
    {10000, 1, 0, 50000, 9512.3}, /* exp(-0.05) */
    {10000, 9, 0, 50000, 9900.5},
    {40000, 1, 0, 10000, 19024.6},
};

static void samples_are_weighted(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(lessons) / sizeof(lessons[0]); i++) {
    struct dx_poll_history h = {lessons[i].median, lessons[i].seen};

    dx_poll_learn(&h, lessons[i].not_yet, lessons[i].done);
    if (fabs(h.median_ms - lessons[i].want) > 0.1)
      fail_msg("row %zu: %.1f", i, h.median_ms);
    assert_int_equal(h.seen, lessons[i].seen + 1);
  }
}

static void the_median_is_learned(void **state)
{
  struct dx_poll_history h = {0, 0};
  int i;

  (void)state;
  for (i = 0; i < 40; i++)
    dx_poll_learn(&h, 27000, 33000);
  assert_true(h.median_ms > 28000 && h.median_ms < 32000);
  assert_int_equal(h.seen, 40);
  dx_poll_learn(&h, 1000, 100000); /* no news */
  assert_true(h.median_ms > 28000 && h.median_ms < 32000);
  for (i = 0; i < 60; i++)
    dx_poll_learn(&h, 0, 5000); /* done at the first poll: poll earlier */
  assert_true(h.median_ms < 5001);
}

/* A clock that was set, or a phase without length, must not spoil it. */
static void absurd_times_are_ignored(void **state)
{
  static const int64_t times[][2] = {{0, 0}, {-5, -5}, {5, 5}, {0, -1}};
  struct dx_poll_history h = {0, 0};
  size_t i;

  (void)state;
  for (i = 0; i < 40; i++) {
    dx_poll_learn(&h, times[i % 4][0], times[i % 4][1]);
    assert_true(isfinite(h.median_ms) && h.median_ms > 0);
  }
}

/* As a file says that nobody of ours has written. */
static void an_endless_count_stays_a_count(void **state)
{
  static const char text[] = "source 30000 9223372036854775807\n"
                             "extract 5000 9223372036854775806\n";
  char dir[] = "/var/tmp/dx-poll-XXXXXX", path[64];
  struct dx_latency *latency;
  int dirfd, fd, phase, round;

  (void)state;
  assert_non_null(mkdtemp(dir));
  (void)snprintf(path, sizeof(path), "%s/a_443_times", dir);
  dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
  (void)close(fd);
  for (round = 0; round < 3; round++) {
    latency = dx_latency_new(dirfd, "a", 443);
    for (phase = 0; phase < DX_PHASE_COUNT; phase++) {
      const struct dx_poll_history *h =
          dx_latency_history(latency, (enum dx_phase)phase);

      assert_true(h->seen >= INT64_MAX - 1);
      assert_true(h->median_ms > 3000 && h->median_ms < 50000);
      dx_latency_learn(latency, (enum dx_phase)phase, 20000, 21000);
      assert_true(h->seen >= INT64_MAX - 1);
    }
    dx_latency_free(&latency);
  }
  (void)close(dirfd);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_schedule_is_as_documented),
      cmocka_unit_test(without_history_polling_starts_at_two_seconds),
      cmocka_unit_test(a_case_is_polled_at_once_and_then_like_a_source),
      cmocka_unit_test(every_wait_has_a_minimum_and_a_maximum),
      cmocka_unit_test(samples_are_weighted),
      cmocka_unit_test(the_median_is_learned),
      cmocka_unit_test(absurd_times_are_ignored),
      cmocka_unit_test(an_endless_count_stays_a_count),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
