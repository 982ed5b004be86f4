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

static struct dx_rate_limit *new_limit(double rate)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(dirfd_, "h", 443, rate);

  assert_non_null(limit);
  return limit;
}

/* When the next call may go out, waiting as the engine would. */
static int64_t next_call(struct dx_rate_limit *limit, enum dx_urgency urgency)
{
  int64_t since = now_ms;

  for (;;) {
    struct dx_slot slot = dx_rate_limit_book(limit, urgency, now_ms - since);

    assert_true(slot.at_ms >= now_ms);
    now_ms = slot.at_ms;
    if (slot.booked)
      return now_ms;
  }
}

static void at_most_nine_calls_are_in_any_closed_second(void **state)
{
  struct dx_rate_limit *limits[] = {new_limit(8), NULL};
  int64_t at[200];
  int i;

  (void)state;
  limits[1] = dx_rate_limit_share(limits[0], 8); /* of another section */
  for (i = 0; i < 200; i++) {
    if (i % 40 == 39)
      now_ms += 3000; /* no burst after a rest */
    at[i] = next_call(limits[i % 3 == 0], i % 2 ? DX_URGENT : DX_PATIENT);
  }
  for (i = 9; i < 200; i++)
    assert_true(at[i] - at[i - 9] > 1000);
  /* and the rate is used: 8 per second */
  assert_true(at[38] - at[0] <= 38 * 125 + 1);
  dx_rate_limit_free(&limits[0]);
  dx_rate_limit_free(&limits[1]);
}

/* Killed after any number of calls, and started again at once. */
static void restarts_in_a_loop_keep_the_limit(void **state)
{
  int64_t at[400];
  size_t count = 0, i;

  (void)state;
  srand(7);
  while (count < 400) {
    struct dx_rate_limit *limit = new_limit(8);
    int calls = rand() % 4;

    for (; calls > 0 && count < 400; calls--)
      at[count++] = next_call(limit, DX_URGENT);
    now_ms += rand() % 50;
    dx_rate_limit_free(&limit);
  }
  for (i = 9; i < 400; i++)
    assert_true(at[i] - at[i - 9] > 1000);
}

static void the_first_call_comes_a_gap_after_the_start(void **state)
{
  struct dx_rate_limit *limit = new_limit(8), *slower;
  int64_t begin = now_ms;

  (void)state;
  slower = dx_rate_limit_share(limit, 2);
  assert_int_equal(dx_rate_limit_book(limit, DX_URGENT, 0).at_ms, begin + 500);
  /* each call is followed by the gap of its own section */
  assert_int_equal(dx_rate_limit_book(slower, DX_URGENT, 0).at_ms, begin + 625);
  assert_int_equal(dx_rate_limit_book(limit, DX_URGENT, 0).at_ms, begin + 1125);
  dx_rate_limit_free(&slower);
  dx_rate_limit_free(&limit);
  limit = new_limit(8);
  begin = now_ms;
  assert_int_equal(next_call(limit, DX_URGENT), begin + 125);
  dx_rate_limit_free(&limit);
}

static void urgent_calls_book_further_ahead_than_polls(void **state)
{
  struct dx_rate_limit *limit = new_limit(1);
  struct dx_slot slot;

  (void)state;
  now_ms += 1000;
  assert_true(dx_rate_limit_book(limit, DX_PATIENT, 0).booked); /* now */
  slot = dx_rate_limit_book(limit, DX_PATIENT, 0);
  assert_false(slot.booked); /* a second ahead is too far */
  assert_true(slot.at_ms > now_ms && slot.at_ms <= now_ms + 751);
  assert_true(
      dx_rate_limit_book(limit, DX_PATIENT, 3000).booked);     /* waited long */
  assert_true(dx_rate_limit_book(limit, DX_URGENT, 0).booked); /* 2 s ahead */
  assert_true(dx_rate_limit_book(limit, DX_URGENT, 0).booked); /* 3 s ahead */
  assert_false(
      dx_rate_limit_book(limit, DX_URGENT, 9000).booked); /* never more */
  /* but for a call that comes alone */
  assert_int_equal(dx_rate_limit_book_any(limit), now_ms + 4000);
  assert_int_equal(dx_rate_limit_book_any(limit), now_ms + 5000);
  dx_rate_limit_free(&limit);
}

static void how_far_ahead_a_call_books_grows_with_its_wait(void **state)
{
  static const struct {
    int gap_ms; /* to the next free slot */
    enum dx_urgency urgency;
    int64_t waited_ms;
    bool booked;
  } rows[] = {
      {250, DX_PATIENT, 0, true},        {251, DX_PATIENT, 0, false},
      {500, DX_PATIENT, 1000, true},     {501, DX_PATIENT, 1000, false},
      {3000, DX_PATIENT, 11000, true},   {3000, DX_PATIENT, 10990, false},
      {3001, DX_PATIENT, 900000, false}, {3000, DX_URGENT, 0, true},
      {3001, DX_URGENT, 0, false},       {3001, DX_URGENT, 900000, false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_rate_limit *limit = new_limit(1000.0 / rows[i].gap_ms);
    struct dx_slot slot =
        dx_rate_limit_book(limit, rows[i].urgency, rows[i].waited_ms);

    if (slot.booked != rows[i].booked)
      fail_msg("row %zu", i);
    if (slot.booked)
      assert_true(slot.at_ms >= now_ms + rows[i].gap_ms &&
                  slot.at_ms <= now_ms + rows[i].gap_ms + 1);
    dx_rate_limit_free(&limit);
  }
}

static void a_block_is_not_shortened_and_at_most_an_hour(void **state)
{
  struct dx_rate_limit *limit = new_limit(8);
  int64_t begin = now_ms;

  (void)state;
  dx_rate_limit_block(limit, 20000);
  dx_rate_limit_block(limit, 1000);
  assert_true(dx_rate_limit_is_blocked(limit));
  assert_int_equal(dx_rate_limit_book_any(limit), begin + 20000);
  assert_true(next_call(limit, DX_URGENT) >= begin + 20000);
  assert_false(dx_rate_limit_is_blocked(limit));
  begin = now_ms;
  dx_rate_limit_block(limit, 365LL * 86400000);
  assert_true(next_call(limit, DX_PATIENT) <=
              begin + DX_RETRY_AFTER_MAX_MS + 1);
  dx_rate_limit_free(&limit);
}

static void an_outage_doubles_its_pause_until_it_is_over(void **state)
{
  struct dx_rate_limit *limit = new_limit(8);
  int64_t want = DX_DOWN_FIRST_MS;
  int i;

  (void)state;
  for (i = 0; i < 9; i++) {
    int64_t begin = now_ms;

    dx_rate_limit_down(limit);
    dx_rate_limit_down(limit); /* at the same time: counts once */
    assert_true(next_call(limit, DX_URGENT) - begin >= want);
    assert_true(now_ms - begin <= want + 200);
    want = 2 * want < DX_DOWN_MAX_MS ? 2 * want : DX_DOWN_MAX_MS;
  }
  dx_rate_limit_up(limit);
  want = now_ms;
  dx_rate_limit_down(limit);
  assert_true(next_call(limit, DX_URGENT) - want <= DX_DOWN_FIRST_MS + 200);
  dx_rate_limit_free(&limit);
}

/* ---- what a restart leaves ---- */

static void a_pause_outlives_the_process(void **state)
{
  struct dx_rate_limit *limit = new_limit(8);
  int64_t begin = now_ms;

  (void)state;
  dx_rate_limit_block(limit, 20000);
  dx_rate_limit_free(&limit);
  limit = dx_rate_limit_new(dirfd_, "h", 444, 8); /* not this one's */
  assert_false(dx_rate_limit_is_blocked(limit));
  dx_rate_limit_free(&limit);
  limit = new_limit(8);
  assert_true(next_call(limit, DX_URGENT) >= begin + 20000);
  dx_rate_limit_free(&limit);
}

static void so_does_an_outage(void **state)
{
  struct dx_rate_limit *limit = new_limit(8);
  int64_t begin;

  (void)state;
  dx_rate_limit_down(limit);
  dx_rate_limit_free(&limit);
  limit = new_limit(8);
  now_ms += DX_DOWN_FIRST_MS;
  begin = now_ms;
  dx_rate_limit_down(limit); /* the doubling goes on */
  assert_true(next_call(limit, DX_URGENT) >= begin + 2LL * DX_DOWN_FIRST_MS);
  dx_rate_limit_up(limit);
  dx_rate_limit_free(&limit);
  limit = new_limit(8);
  begin = now_ms;
  dx_rate_limit_down(limit); /* and so does its end */
  assert_true(next_call(limit, DX_URGENT) < begin + DX_DOWN_FIRST_MS + 200);
  dx_rate_limit_free(&limit);
}

static void put(const char *boot_id, const char *numbers)
{
  char text[200];

  (void)snprintf(text, sizeof(text), "docextract-pause 1\n%s %s\n", boot_id,
                 numbers);
  assert_int_equal(
      dx_fs_replace(dirfd_, PAUSE_FILE, text, strlen(text), 0600, NULL), DX_OK);
}

static bool is_blocked_by_file(void)
{
  struct dx_rate_limit *limit = new_limit(8);
  bool is_blocked = dx_rate_limit_is_blocked(limit);

  dx_rate_limit_free(&limit);
  return is_blocked;
}

/* The right boot id, but one absurd number; or another boot. */
static void an_absurd_or_foreign_file_counts_as_empty(void **state)
{
  static const char *const numbers[] = {
      "nan 0",    "-5 0",           "99999999 0", "1020000 -1",
      "1020000 ", "1020000 300001", "",           "1020000 x",
  };
  char boot_id[DX_BOOT_ID_BYTES];
  size_t i;

  (void)state;
  now_ms = 1000000;
  dx_boot_id(boot_id);
  put(boot_id, "1020000 5000");
  assert_true(is_blocked_by_file());
  put("00000000-0000-0000-0000-000000000000", "1020000 5000");
  assert_false(is_blocked_by_file());
  for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    put(boot_id, numbers[i]);
    if (is_blocked_by_file())
      fail_msg("row %zu", i);
  }
}

static void without_a_directory_a_pause_ends_with_the_process(void **state)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(-1, "h", 443, 8);

  (void)state;
  dx_rate_limit_block(limit, 20000);
  assert_true(dx_rate_limit_is_blocked(limit));
  dx_rate_limit_free(&limit);
  limit = dx_rate_limit_new(-1, "h", 443, 8);
  assert_false(dx_rate_limit_is_blocked(limit));
  dx_rate_limit_free(&limit);
}

int main(void)
{
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      WITH_DIRECTORY(at_most_nine_calls_are_in_any_closed_second),
      WITH_DIRECTORY(restarts_in_a_loop_keep_the_limit),
      WITH_DIRECTORY(the_first_call_comes_a_gap_after_the_start),
      WITH_DIRECTORY(urgent_calls_book_further_ahead_than_polls),
      WITH_DIRECTORY(how_far_ahead_a_call_books_grows_with_its_wait),
      WITH_DIRECTORY(a_block_is_not_shortened_and_at_most_an_hour),
      WITH_DIRECTORY(an_outage_doubles_its_pause_until_it_is_over),
      WITH_DIRECTORY(a_pause_outlives_the_process),
      WITH_DIRECTORY(so_does_an_outage),
      WITH_DIRECTORY(an_absurd_or_foreign_file_counts_as_empty),
      WITH_DIRECTORY(without_a_directory_a_pause_ends_with_the_process),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
