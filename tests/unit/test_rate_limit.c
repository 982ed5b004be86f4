/*
 * test_rate_limit.c - the rate limit, with a clock that the tests set.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/service/rate_limit.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"

#define PAUSE_FILE "h_443_pause"

static int64_t now_ms = 1000000;

static int64_t fake_ms(void)
{
  return now_ms;
}

static const struct dx_clock fake = {fake_ms, fake_ms};
static char dir[TEMP_DIR_BYTES];
static int dirfd_ = -1;

static int start(void **state)
{
  (void)state;
  dx_clock_use(&fake);
  if (temp_dir_make(dir) < 0)
    return -1;
  dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
  return dirfd_ < 0 ? -1 : 0;
}

static int stop(void **state)
{
  (void)state;
  (void)close(dirfd_);
  dx_clock_use(NULL);
  return temp_dir_remove(dir);
}

static struct dx_rate_limit new_limit(double rate)
{
  struct dx_rate_limit limit;

  dx_rate_limit_init(&limit, dirfd_, "h", 443);
  dx_rate_limit_hold(&limit, rate);
  return limit;
}

static void wait_until(int64_t at_ms)
{
  now_ms = at_ms > now_ms ? at_ms : now_ms;
}

/* Begins the next call in its slot, up to late_ms too late, and connects for
 * connect_ms; returns when it leaves. Its response comes at once. */
static int64_t call(struct dx_rate_limit *limit, double rate, int late_ms,
                    int connect_ms)
{
  wait_until(dx_rate_limit_next_ms(limit));
  now_ms += late_ms;
  (void)dx_rate_limit_take(limit, rate);
  now_ms += connect_ms;
  dx_rate_limit_answered(limit, dx_rate_limit_leave(limit, rate));
  return now_ms;
}

static int64_t next_call(struct dx_rate_limit *limit)
{
  return call(limit, 8, 0, 0);
}

#define CALLS 4000

/* In a closed second; the clock of the service may be rounded, too. */
static void at_most_nine_are_in_a_second(const int64_t at[CALLS])
{
  size_t i;

  for (i = 9; i < CALLS; i++)
    if (at[i] - at[i - 9] < DX_RATE_WINDOW_MS)
      fail_msg("ten calls in %d ms", (int)(at[i] - at[i - 9]));
}

/* Whatever the disk and the connections are like. */
static void at_most_nine_calls_are_in_any_second(void **state)
{
  static const struct {
    double rate;
    int late_ms, connect_ms; /* at most */
  } rows[] = {{8, 1, 1},      {8, 140, 1},   {8, 60, 160},
              {8, 200, 1000}, {8.5, 60, 60}, {8.5, 140, 9},
              {9, 1, 1},      {9, 100, 100}, {9, 1, 140}};
  int64_t at[CALLS];
  size_t i, k;

  (void)state;
  srand(7);
  for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
    struct dx_rate_limit limit = new_limit(rows[k].rate);

    for (i = 0; i < CALLS; i++) {
      if (i % 40 == 39)
        now_ms += 3000; /* no burst after a rest */
      at[i] = call(&limit, rows[k].rate, rand() % (rows[k].late_ms + 1),
                   rand() % (rows[k].connect_ms + 1));
    }
    at_most_nine_are_in_a_second(at);
  }
}

static int by_time(const void *a, const void *b)
{
  const int64_t *one = a, *other = b;

  return (*one > *other) - (*one < *other);
}

/* Some take DX_RATE_ARRIVE_MS, and others no time; some have no response. */
static void at_most_nine_calls_arrive_in_any_second(void **state)
{
  static const double rates[] = {8, 8.5, 9};
  static int64_t arrived[CALLS], answered[CALLS];
  size_t i, j, k;

  (void)state;
  srand(7);
  for (k = 0; k < sizeof(rates) / sizeof(rates[0]); k++) {
    struct dx_rate_limit limit = new_limit(rates[k]);

    for (i = 0; i < CALLS; i++) {
      int64_t ready_ms = now_ms + (rand() % 3 == 0 ? rand() % 400 : 0);

      for (; now_ms < ready_ms || now_ms < dx_rate_limit_next_ms(&limit);
           now_ms++)
        for (j = i < 20 ? 0 : i - 20; j < i; j++)
          if (answered[j] == now_ms)
            dx_rate_limit_answered(&limit, j);
      (void)dx_rate_limit_take(&limit, rates[k]);
      assert_int_equal(dx_rate_limit_leave(&limit, rates[k]), i);
      arrived[i] = now_ms + (rand() % 2 == 0 ? rand() % 101 : 0);
      answered[i] =
          rand() % 10 == 0 ? 0 : arrived[i] + 1 + rand() % (1 << rand() % 12);
    }
    qsort(arrived, CALLS, sizeof(arrived[0]), by_time);
    at_most_nine_are_in_a_second(arrived);
  }
}

/* After nine more calls, its time no longer counts. */
static void late_response_counts_for_no_other_call(void **state)
{
  struct dx_rate_limit limit = new_limit(9);
  uint64_t first = dx_rate_limit_leave(&limit, 9);
  int64_t left_ms;
  int i;

  (void)state;
  for (i = 0; i < 8; i++)
    (void)call(&limit, 9, 0, 0);
  wait_until(dx_rate_limit_next_ms(&limit));
  (void)dx_rate_limit_take(&limit, 9);
  (void)dx_rate_limit_leave(&limit, 9);
  left_ms = now_ms;
  dx_rate_limit_answered(&limit, first);
  for (i = 0; i < 8; i++)
    (void)call(&limit, 9, 0, 0);
  assert_true(dx_rate_limit_next_ms(&limit) >=
              left_ms + DX_RATE_ARRIVE_MS + DX_RATE_WINDOW_MS);
}

/* A call that begins late does not delay those after it. */
static void rate_of_eight_is_used(void **state)
{
  struct dx_rate_limit limit = new_limit(8);
  int64_t at[CALLS];
  size_t i;

  (void)state;
  for (i = 0; i < CALLS; i++)
    at[i] = call(&limit, 8, i % 5 == 0 ? 90 : 0, 0);
  at_most_nine_are_in_a_second(at);
  assert_true(at[CALLS - 1] - at[0] <= (CALLS - 1) * 125 + 1);
}

/* Each call waits for one or two fsyncs of 15 ms, or for none. */
static void slow_disk_does_not_lower_a_rate_of_nine(void **state)
{
  struct dx_rate_limit limit = new_limit(9);
  int64_t at[CALLS];
  size_t i;

  (void)state;
  srand(7);
  for (i = 0; i < CALLS; i++)
    at[i] = call(&limit, 9, rand() % 31, 0);
  at_most_nine_are_in_a_second(at);
  assert_true((at[CALLS - 1] - at[0]) * 9 <= (int64_t)(CALLS * 1000 / 0.96));
}

/* Killed after any number of calls, and started again at once, while the last
 * calls are on their way. */
static void restarts_in_a_loop_keep_the_limit(void **state)
{
  static const double rates[] = {8, 8.5, 9};
  int64_t at[CALLS];
  size_t count, first, k;

  (void)state;
  srand(7);
  for (k = 0; k < sizeof(rates) / sizeof(rates[0]); k++) {
    for (count = 0; count < CALLS; now_ms += rand() % 50) {
      struct dx_rate_limit limit = new_limit(rates[k]);
      int calls = rand() % 12, burst = rand() % 10, i;

      first = count;
      for (; calls > 0 && count < CALLS; calls--)
        at[count++] = call(&limit, rates[k], rand() % 150, rand() % 150);
      for (i = 0; i < burst && count < CALLS; i++) /* they catch up */
        at[count++] = call(&limit, rates[k], i == 0 ? 100 : 0, 0);
      for (; first < count; first++)
        if (at[first] >= now_ms - DX_RATE_ARRIVE_MS)
          at[first] += rand() % (DX_RATE_ARRIVE_MS + 1);
    }
    qsort(at, CALLS, sizeof(at[0]), by_time);
    at_most_nine_are_in_a_second(at);
  }
}

static void first_call_comes_a_gap_after_the_start(void **state)
{
  struct dx_rate_limit limit = new_limit(8);

  (void)state;
  assert_int_equal(dx_rate_limit_next_ms(&limit), now_ms + 205);
  dx_rate_limit_hold(&limit, 2); /* another section of the host */
  assert_int_equal(dx_rate_limit_next_ms(&limit), now_ms + 500);
  dx_rate_limit_hold(&limit, 8);
  assert_int_equal(dx_rate_limit_next_ms(&limit), now_ms + 500);
  limit = new_limit(9);
  assert_int_equal(dx_rate_limit_next_ms(&limit), now_ms + 317);
}

static void each_call_is_followed_by_the_gap_of_its_section(void **state)
{
  struct dx_rate_limit limit = new_limit(8);
  int64_t at = next_call(&limit);

  (void)state;
  assert_int_equal(dx_rate_limit_next_ms(&limit), at + 125);
  at = call(&limit, 2, 0, 0);
  assert_int_equal(dx_rate_limit_next_ms(&limit), at + 500);
}

static void calls_catch_up_a_tenth_of_a_second(void **state)
{
  struct dx_rate_limit limit = new_limit(8);
  int64_t at = call(&limit, 8, 0, 90);

  (void)state;
  assert_int_equal(dx_rate_limit_next_ms(&limit), at + 35);
  at = call(&limit, 8, 0, 3000); /* a slow connection */
  assert_int_equal(dx_rate_limit_next_ms(&limit), at + 25);
  at = call(&limit, 8, 0, 0);
  assert_int_equal(dx_rate_limit_next_ms(&limit), at + 125);
}

static void pause_is_not_shortened(void **state)
{
  struct dx_rate_limit limit = new_limit(8);
  int64_t begin = now_ms;

  (void)state;
  dx_rate_limit_refused(&limit, 8, (double)now_ms, 20000);
  dx_rate_limit_refused(&limit, 8, (double)now_ms, 1000);
  assert_true(dx_rate_limit_is_blocked(&limit));
  assert_int_equal(dx_rate_limit_next_ms(&limit), begin + 20000);
  assert_true(next_call(&limit) >= begin + 20000);
  assert_false(dx_rate_limit_is_blocked(&limit));
}

/* ---- refused calls ---- */

/* The gap after a call that begins in time; the first one is late. */
static int64_t next_gap(struct dx_rate_limit *limit)
{
  int64_t at;

  (void)next_call(limit);
  at = next_call(limit);
  return dx_rate_limit_next_ms(limit) - at;
}

static void refuse(struct dx_rate_limit *limit, int64_t slot_ms)
{
  dx_rate_limit_refused(limit, 8, (double)slot_ms, 0);
}

static void refused_call_cuts_the_rate_which_grows_again(void **state)
{
  struct dx_rate_limit limit = new_limit(8);

  (void)state;
  refuse(&limit, next_call(&limit));
  assert_false(dx_rate_limit_is_blocked(&limit));
  assert_in_range(dx_rate_limit_next_ms(&limit) - now_ms, 178, 180);
  now_ms += 10000;
  assert_in_range(next_gap(&limit), 148, 153); /* 6.6 a second */
  now_ms += 14000;
  assert_in_range(next_gap(&limit), 125, 126);
  now_ms += 86400000;
  assert_int_equal(next_gap(&limit), 125); /* never above APIRate */
}

static void calls_that_were_in_progress_count_once(void **state)
{
  struct dx_rate_limit limit = new_limit(8);
  int64_t first = next_call(&limit), second = next_call(&limit);

  (void)state;
  now_ms += 200;
  refuse(&limit, first);
  now_ms += 2000;
  refuse(&limit, second);
  assert_in_range(next_gap(&limit), 168, 174); /* 5.8 a second */
  assert_false(dx_rate_limit_is_blocked(&limit));
}

static void rate_is_cut_at_most_once_a_second(void **state)
{
  struct dx_rate_limit limit = new_limit(8);

  (void)state;
  refuse(&limit, next_call(&limit));
  refuse(&limit, next_call(&limit));
  assert_in_range(next_gap(&limit), 170, 180);
}

static void refusals_in_a_row_are_a_pause_for_all_calls(void **state)
{
  struct dx_rate_limit limit = new_limit(8);
  int64_t most = 1000, at;
  int i;

  (void)state;
  refuse(&limit, next_call(&limit));
  for (i = 0; i < 8; i++) {
    now_ms += DX_RATE_CUT_GAP_MS;
    at = next_call(&limit);
    refuse(&limit, at);
    most = 2 * most < DX_BACKOFF_MAX_MS ? 2 * most : DX_BACKOFF_MAX_MS;
    assert_true(dx_rate_limit_is_blocked(&limit));
    assert_in_range(dx_rate_limit_next_ms(&limit) - at, most / 2, most);
  }
  dx_rate_limit_up(&limit);
  now_ms += DX_BACKOFF_MAX_MS;
  refuse(&limit, next_call(&limit));
  assert_false(dx_rate_limit_is_blocked(&limit));
}

static void rate_has_a_minimum(void **state)
{
  struct dx_rate_limit limit = new_limit(0.1);
  int i;

  (void)state;
  for (i = 0; i < 20; i++) {
    dx_rate_limit_refused(&limit, 0.1, (double)call(&limit, 0.1, 0, 0), 0);
    now_ms += DX_RATE_CUT_GAP_MS;
    dx_rate_limit_up(&limit);
  }
  assert_true(dx_rate_limit_next_ms(&limit) - now_ms <= 20000);
}

/* ---- what a restart leaves ---- */

static void pause_outlives_the_process(void **state)
{
  struct dx_rate_limit limit = new_limit(8);
  int64_t begin = now_ms;

  (void)state;
  dx_rate_limit_refused(&limit, 8, (double)now_ms, 20000);
  dx_rate_limit_init(&limit, dirfd_, "h", 444); /* not this one's */
  assert_false(dx_rate_limit_is_blocked(&limit));
  limit = new_limit(8);
  assert_true(next_call(&limit) >= begin + 20000);
}

static void outage_outlives_the_process(void **state)
{
  struct dx_rate_limit limit = new_limit(8);

  (void)state;
  dx_rate_limit_down(&limit);
  assert_false(dx_rate_limit_is_blocked(&limit));
  limit = new_limit(8);
  assert_int_equal(limit.pause.is_down, 1);
  dx_rate_limit_up(&limit);
  limit = new_limit(8);
  assert_int_equal(limit.pause.is_down, 0);
}

/* As dx_pause_write() writes it, but with any boot id. */
static void put(const char *boot_id, int64_t until_ms, int64_t is_down)
{
  static const char version[] = "docextract-pause 3\n";
  char text[128] = "";
  int64_t numbers[] = {until_ms, is_down};
  size_t len = strlen(version);

  memcpy(text, version, len);
  memcpy(text + len, boot_id, strlen(boot_id));
  memcpy(text + len + 40, numbers, sizeof(numbers));
  assert_int_equal(dx_fs_write(dirfd_, PAUSE_FILE, text,
                               len + 40 + sizeof(numbers), 0600, false, NULL),
                   DX_OK);
}

static bool is_blocked_by_file(void)
{
  struct dx_rate_limit limit = new_limit(8);
  bool is_blocked = dx_rate_limit_is_blocked(&limit);

  return is_blocked;
}

/* The right boot id, but one absurd number; or another boot. */
static void absurd_or_foreign_file_counts_as_empty(void **state)
{
  static const struct {
    int64_t until_ms, is_down;
  } rows[] = {{-5, 0},       {99999999, 0}, {INT64_MAX, 0},
              {1020000, -1}, {1020000, 2},  {1020000, INT64_MIN}};
  char boot_id[DX_BOOT_ID_BYTES];
  size_t i;

  (void)state;
  now_ms = 1000000;
  dx_boot_id(boot_id);
  put(boot_id, 1020000, 1);
  assert_true(is_blocked_by_file());
  put("00000000-0000-0000-0000-000000000000", 1020000, 1);
  assert_false(is_blocked_by_file());
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    put(boot_id, rows[i].until_ms, rows[i].is_down);
    if (is_blocked_by_file())
      fail_msg("row %zu", i);
  }
}

static void without_a_directory_a_pause_ends_with_the_process(void **state)
{
  struct dx_rate_limit limit;

  (void)state;
  dx_rate_limit_init(&limit, -1, "h", 443);
  dx_rate_limit_refused(&limit, 8, (double)now_ms, 20000);
  assert_true(dx_rate_limit_is_blocked(&limit));
  dx_rate_limit_init(&limit, -1, "h", 443);
  assert_false(dx_rate_limit_is_blocked(&limit));
}

int main(void)
{
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      WITH_DIRECTORY(at_most_nine_calls_are_in_any_second),
      WITH_DIRECTORY(at_most_nine_calls_arrive_in_any_second),
      WITH_DIRECTORY(late_response_counts_for_no_other_call),
      WITH_DIRECTORY(rate_of_eight_is_used),
      WITH_DIRECTORY(slow_disk_does_not_lower_a_rate_of_nine),
      WITH_DIRECTORY(restarts_in_a_loop_keep_the_limit),
      WITH_DIRECTORY(first_call_comes_a_gap_after_the_start),
      WITH_DIRECTORY(each_call_is_followed_by_the_gap_of_its_section),
      WITH_DIRECTORY(calls_catch_up_a_tenth_of_a_second),
      WITH_DIRECTORY(pause_is_not_shortened),
      WITH_DIRECTORY(refused_call_cuts_the_rate_which_grows_again),
      WITH_DIRECTORY(calls_that_were_in_progress_count_once),
      WITH_DIRECTORY(rate_is_cut_at_most_once_a_second),
      WITH_DIRECTORY(refusals_in_a_row_are_a_pause_for_all_calls),
      WITH_DIRECTORY(rate_has_a_minimum),
      WITH_DIRECTORY(pause_outlives_the_process),
      WITH_DIRECTORY(outage_outlives_the_process),
      WITH_DIRECTORY(absurd_or_foreign_file_counts_as_empty),
      WITH_DIRECTORY(without_a_directory_a_pause_ends_with_the_process),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
