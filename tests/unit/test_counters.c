/*
 * test_counters.c - the counters of docextractd, and the files in history/.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/history.h"
#include "lib/spool/counters.h"

static char dir[TEMP_DIR_BYTES];
static int dirfd_ = -1;
static int64_t now_ms = 1000000;

static int64_t fake_ms(void)
{
  return now_ms;
}

static const struct dx_clock fake = {fake_ms, fake_ms};

static int start(void **state)
{
  (void)state;
  dx_clock_use(&fake);
  if (temp_dir_make(dir) < 0)
    return -1;
  dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return dirfd_ >= 0 ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  dx_clock_use(NULL);
  (void)close(dirfd_);
  return temp_dir_remove(dir);
}

static void add_to(struct dx_counters *counters, enum dx_class class, int64_t n)
{
  struct dx_counts *counts = &counters->counts;

  counts->calls[class] += n;
  counts->extraction_ms += n;
}

/* A docextractd that starts, counts, and ends. */
static void add(const char *service, enum dx_class class, int64_t n)
{
  struct dx_counters counters;

  dx_counters_begin(&counters, dirfd_, service);
  add_to(&counters, class, n);
  (void)dx_counters_save(&counters, true);
}

static struct dx_counts counts_of(const char *service)
{
  struct dx_counts counts;

  dx_counts_read(dirfd_, service, &counts);
  return counts;
}

static void counters_start_at_0_and_grow(void **state)
{
  (void)state;
  assert_int_equal(counts_of("a").calls[DX_CL_DONE], 0);
  add("a", DX_CL_DONE, 1);
  add("a", DX_CL_INTERNAL, 3);
  add("a", DX_CL_DONE, INT64_C(4000000000000));
  assert_int_equal(counts_of("a").calls[DX_CL_DONE], INT64_C(4000000000001));
  assert_int_equal(counts_of("a").calls[DX_CL_INTERNAL], 3);
  assert_int_equal(counts_of("a").calls[DX_CL_RATE], 0);
  assert_int_equal(counts_of("a").extraction_ms, INT64_C(4000000000004));
}

static void services_have_separate_counters(void **state)
{
  (void)state;
  add("a.b", DX_CL_DONE, 1);
  add("a-b", DX_CL_DONE, 2);
  assert_int_equal(counts_of("a.b").calls[DX_CL_DONE], 1);
  assert_int_equal(counts_of("a-b").calls[DX_CL_DONE], 2);
}

static void changes_of_five_seconds_are_written_together(void **state)
{
  struct dx_counters begun, *counters = &begun;

  (void)state;
  dx_counters_begin(counters, dirfd_, "a");
  assert_int_equal(dx_counters_save(counters, false), INT64_MAX);
  add_to(counters, DX_CL_DONE, 1);
  assert_int_equal(dx_counters_save(counters, false), now_ms + 5000);
  now_ms += 10;
  add_to(counters, DX_CL_DONE, 1);
  assert_int_equal(dx_counters_save(counters, false), now_ms + 4990);
  assert_int_equal(counts_of("a").calls[DX_CL_DONE], 0);
  now_ms += 4990;
  assert_int_equal(dx_counters_save(counters, false), INT64_MAX);
  assert_int_equal(counts_of("a").calls[DX_CL_DONE], 2);
  add_to(counters, DX_CL_DONE, 1); /* the next one, too */
  assert_int_equal(dx_counters_save(counters, false), now_ms + 5000);
}

#define COUNTS_VERSION "docextract-counts 2\n"

/* Of another version or length, or with values that no counter has. */
static void damaged_file_counts_as_empty(void **state)
{
  static const struct {
    const char *version;
    int64_t number;
    size_t bytes;
  } rows[] = {{"", 0, 0},
              {"docextract-counts 1\n", 1, sizeof(struct dx_counts)},
              {COUNTS_VERSION, 1, sizeof(struct dx_counts) - 1},
              {COUNTS_VERSION, 1, sizeof(struct dx_counts) + 1},
              {COUNTS_VERSION, -1, sizeof(struct dx_counts)},
              {COUNTS_VERSION, INT64_MAX, sizeof(struct dx_counts)}};
  size_t i, k, len;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char text[1024] = "";

    len = strlen(rows[i].version);
    memcpy(text, rows[i].version, len);
    for (k = 0; k < sizeof(struct dx_counts); k += sizeof(int64_t))
      memcpy(text + len + k, &rows[i].number, sizeof(int64_t));
    assert_int_equal(dx_fs_write(dirfd_, "a_counts", text, len + rows[i].bytes,
                                 0600, false, NULL),
                     DX_OK);
    assert_int_equal(counts_of("a").calls[DX_CL_DONE], 0);
    add("a", DX_CL_DONE, 7);
    assert_int_equal(counts_of("a").calls[DX_CL_DONE], 7);
  }
}

/* ---- the files ---- */

static void host_name_does_not_escape_the_directory(void **state)
{
  static char huge[2000];
  const char *const hosts[] = {"../dx-rate-x", "/tmp/dx-rate-y", "::1", "..",
                               huge};
  const struct dx_pause pause = {now_ms, 1};
  size_t i;

  (void)state;
  memset(huge, '/', sizeof(huge) - 1);
  for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
    struct dx_pause read;

    dx_pause_write(dirfd_, hosts[i], 443, &pause);
    dx_pause_read(dirfd_, hosts[i], 443, &read);
    assert_int_equal(read.is_down, 1);
    assert_int_equal(count_entries(dirfd_, "."), i + 1);
  }
}

static void planted_link_is_not_followed(void **state)
{
  const struct dx_pause pause = {now_ms, 1};
  struct dx_buf text = {0};
  size_t i;

  (void)state;
  assert_int_equal(
      dx_fs_write(dirfd_, "target", "precious", 8, 0600, false, NULL), DX_OK);
  assert_int_equal(symlinkat("target", dirfd_, "h_443_pause"), 0);
  assert_int_equal(symlinkat("target", dirfd_, ".h_443_pause"), 0);
  for (i = 0; i < 2; i++) /* the first fails, and removes one of them */
    dx_pause_write(dirfd_, "h", 443, &pause);
  assert_int_equal(dx_fs_read(dirfd_, "target", 100, &text, NULL), DX_OK);
  assert_string_equal(dx_buf_text(&text), "precious");
  dx_buf_release(&text);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
  const struct CMUnitTest tests[] = {
      CASE(counters_start_at_0_and_grow),
      CASE(services_have_separate_counters),
      CASE(changes_of_five_seconds_are_written_together),
      CASE(damaged_file_counts_as_empty),
      CASE(host_name_does_not_escape_the_directory),
      CASE(planted_link_is_not_followed),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
