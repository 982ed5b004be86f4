/*
 * test_rate_limit.c - the shared rate limit, with a clock that the tests set.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "daemon/service/rate_limit.h"

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
  struct dx_rate_limit *a = dx_rate_limit_new(dirfd_, "h", 443, 8);
  struct dx_rate_limit *b = dx_rate_limit_new(dirfd_, "h", 443, 8);
  int64_t at[200];
  int i;

  (void)state;
  for (i = 0; i < 200; i++) {
    if (i % 40 == 39)
      now_ms += 3000; /* no burst after a rest */
    at[i] = next_call(i % 3 == 0 ? a : b, i % 2 ? DX_URGENT : DX_PATIENT);
  }
  for (i = 9; i < 200; i++)
    assert_true(at[i] - at[i - 9] > 1000);
  /* and the rate is used: 8 per second */
  assert_true(at[38] - at[0] <= 38 * 125 + 1);
  dx_rate_limit_free(&a);
  dx_rate_limit_free(&b);
}

static void urgent_calls_book_further_ahead_than_polls(void **state)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(dirfd_, "h", 443, 1);
  struct dx_slot slot;

  (void)state;
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
  dx_rate_limit_free(&limit);
}

static void a_block_is_for_everybody_and_is_not_shortened(void **state)
{
  struct dx_rate_limit *a = dx_rate_limit_new(dirfd_, "h", 443, 8);
  struct dx_rate_limit *b = dx_rate_limit_new(dirfd_, "h", 443, 8);
  struct dx_rate_limit *other = dx_rate_limit_new(dirfd_, "h", 444, 8);
  int64_t begin = now_ms;

  (void)state;
  dx_rate_limit_block(a, 20000);
  dx_rate_limit_block(a, 1000);
  assert_int_equal(next_call(other, DX_URGENT), begin);
  assert_true(next_call(b, DX_URGENT) >= begin + 20000);
  now_ms = begin;
  dx_rate_limit_block(a, 365LL * 86400000);
  assert_true(next_call(b, DX_PATIENT) <= begin + DX_RETRY_AFTER_MAX_MS + 1);
  dx_rate_limit_free(&a);
  dx_rate_limit_free(&b);
  dx_rate_limit_free(&other);
}

static void an_outage_doubles_its_pause_until_it_is_over(void **state)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(dirfd_, "h", 443, 8);
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

static void an_absurd_or_foreign_file_counts_as_empty(void **state)
{
  static const char *const contents[] = {
      "", "rubbish", "-------------- 1 2 3",
      "00000000-0000-0000-0000-000000000000 1e9 999999999 0 0\n"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
    struct dx_rate_limit *limit;
    int64_t begin;

    assert_int_equal(dx_fs_replace(dirfd_, "h_443", contents[i],
                                   strlen(contents[i]), 0600, NULL),
                     DX_OK);
    limit = dx_rate_limit_new(dirfd_, "h", 443, 8);
    begin = now_ms;
    assert_int_equal(next_call(limit, DX_PATIENT), begin);
    dx_rate_limit_free(&limit);
  }
}

static void without_a_file_a_process_has_a_quarter_of_the_rate(void **state)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(-1, "h", 443, 8);
  int64_t first = next_call(limit, DX_URGENT);

  (void)state;
  assert_int_equal(next_call(limit, DX_URGENT) - first, 500);
  dx_rate_limit_free(&limit);
}

/* ---- the edges of booking, and the file ---- */

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
    struct dx_rate_limit *limit =
        dx_rate_limit_new(dirfd_, "edge", (int)i + 1, 1000.0 / rows[i].gap_ms);
    struct dx_slot slot;

    assert_true(dx_rate_limit_book(limit, DX_PATIENT, 0).booked);
    slot = dx_rate_limit_book(limit, rows[i].urgency, rows[i].waited_ms);
    if (slot.booked != rows[i].booked)
      fail_msg("row %zu", i);
    if (slot.booked)
      assert_true(slot.at_ms >= now_ms + rows[i].gap_ms &&
                  slot.at_ms <= now_ms + rows[i].gap_ms + 1);
    dx_rate_limit_free(&limit);
  }
}

static void processes_share_the_limit(void **state)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(dirfd_, "h", 443, 8);
  pid_t child = fork();
  int status, i;

  (void)state;
  if (child == 0) {
    struct dx_rate_limit *mine = dx_rate_limit_new(dirfd_, "h", 443, 8);

    for (i = 0; i < 4; i++)
      if (!dx_rate_limit_book(mine, DX_URGENT, 0).booked)
        _exit(1);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(dx_rate_limit_book(limit, DX_URGENT, 0).at_ms, now_ms + 500);
  dx_rate_limit_free(&limit);
}

/* Sane except for the boot id. */
static void times_of_another_boot_are_ignored(void **state)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(dirfd_, "h", 443, 8);
  int fd = openat(dirfd_, "h_443", O_RDWR | O_CLOEXEC);

  (void)state;
  dx_rate_limit_block(limit, 20000);
  assert_false(dx_rate_limit_book(limit, DX_URGENT, 0).booked);
  assert_int_equal(pwrite(fd, "00000000-0000-0000-0000-000000000000", 36, 0),
                   36);
  assert_true(dx_rate_limit_book(limit, DX_URGENT, 0).booked);
  (void)close(fd);
  dx_rate_limit_free(&limit);
}

/* The right boot id, but one absurd number. */
static void one_absurd_number_empties_the_file(void **state)
{
  static const char *const numbers[] = {
      "nan 0 0 0", "inf 0 0 0",    "-5 0 0 0",       "99999999 0 0 0",
      "0 0 0 -1",  "0 0 0 300001", "0 99999999 0 0", "0 0 0",
  };
  char boot_id[DX_BOOT_ID_BYTES];
  size_t i;

  (void)state;
  dx_boot_id(boot_id);
  for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    struct dx_rate_limit *limit;
    char text[200];
    int64_t begin;

    (void)snprintf(text, sizeof(text), "%s %s\n", boot_id, numbers[i]);
    assert_int_equal(
        dx_fs_replace(dirfd_, "h_443", text, strlen(text), 0600, NULL), DX_OK);
    limit = dx_rate_limit_new(dirfd_, "h", 443, 8);
    begin = now_ms;
    assert_int_equal(next_call(limit, DX_PATIENT), begin);
    dx_rate_limit_down(limit); /* the doubling starts again */
    assert_false(dx_rate_limit_book(limit, DX_URGENT, 0).booked);
    now_ms += DX_DOWN_FIRST_MS;
    assert_true(dx_rate_limit_book(limit, DX_URGENT, 0).booked);
    dx_rate_limit_free(&limit);
  }
}

static void a_planted_link_is_not_written_through(void **state)
{
  struct dx_buf text = {0};
  struct dx_rate_limit *limit;
  int64_t first;

  (void)state;
  assert_int_equal(dx_fs_replace(dirfd_, "target", "precious", 8, 0600, NULL),
                   DX_OK);
  assert_int_equal(symlinkat("target", dirfd_, "h_443"), 0);
  limit = dx_rate_limit_new(dirfd_, "h", 443, 8);
  first = next_call(limit, DX_URGENT);
  assert_int_equal(next_call(limit, DX_URGENT) - first, 500);
  assert_int_equal(dx_fs_read(dirfd_, "target", 100, &text, NULL), DX_OK);
  assert_string_equal(dx_buf_text(&text), "precious");
  dx_buf_release(&text);
  dx_rate_limit_free(&limit);
}

static void no_host_name_leaves_the_directory(void **state)
{
  static char huge[2000];
  const char *const hosts[] = {"../dx-rate-x", "/tmp/dx-rate-y", "::1", "..",
                               huge};
  size_t i;

  (void)state;
  memset(huge, '/', sizeof(huge) - 1);
  for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
    struct dx_rate_limit *limit = dx_rate_limit_new(dirfd_, hosts[i], 443, 8);
    int64_t first = next_call(limit, DX_URGENT);

    /* not a quarter of the rate: it has its file */
    assert_int_equal(next_call(limit, DX_URGENT) - first, 125);
    assert_int_equal(count_entries(dirfd_, "."), i + 1);
    dx_rate_limit_free(&limit);
  }
}

int main(void)
{
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      WITH_DIRECTORY(at_most_nine_calls_are_in_any_closed_second),
      WITH_DIRECTORY(urgent_calls_book_further_ahead_than_polls),
      WITH_DIRECTORY(a_block_is_for_everybody_and_is_not_shortened),
      WITH_DIRECTORY(an_outage_doubles_its_pause_until_it_is_over),
      WITH_DIRECTORY(an_absurd_or_foreign_file_counts_as_empty),
      WITH_DIRECTORY(without_a_file_a_process_has_a_quarter_of_the_rate),
      WITH_DIRECTORY(how_far_ahead_a_call_books_grows_with_its_wait),
      WITH_DIRECTORY(processes_share_the_limit),
      WITH_DIRECTORY(times_of_another_boot_are_ignored),
      WITH_DIRECTORY(one_absurd_number_empties_the_file),
      WITH_DIRECTORY(a_planted_link_is_not_written_through),
      WITH_DIRECTORY(no_host_name_leaves_the_directory),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
