/*
 * test_counters.c - counters that all processes of this host share.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/spool/counters.h"

static char dir[TEMP_DIR_BYTES];
static int dirfd_ = -1;

static int start(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0)
    return -1;
  dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return dirfd_ >= 0 ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  (void)close(dirfd_);
  return temp_dir_remove(dir);
}

static void add(const char *service, enum dx_class class, int64_t n)
{
  struct dx_counters *counters = dx_counters_new(dirfd_, service);
  struct dx_counts one = {0};

  assert_non_null(counters);
  one.calls[class] = n;
  one.extraction_ms = n;
  dx_counters_add(counters, &one);
  dx_counters_free(&counters);
}

static struct dx_counts counts_of(const char *service)
{
  struct dx_counters *counters = dx_counters_new(dirfd_, service);
  struct dx_counts counts;

  assert_non_null(counters);
  dx_counters_read(counters, &counts);
  dx_counters_free(&counters);
  return counts;
}

static void they_begin_at_0_and_grow(void **state)
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

static void services_do_not_share_them(void **state)
{
  (void)state;
  add("a.b", DX_CL_DONE, 1);
  add("a-b", DX_CL_DONE, 2);
  assert_int_equal(counts_of("a.b").calls[DX_CL_DONE], 1);
  assert_int_equal(counts_of("a-b").calls[DX_CL_DONE], 2);
}

static void processes_do(void **state)
{
  int i, k;

  (void)state;
  for (i = 0; i < 4; i++)
    if (fork() == 0) {
      for (k = 0; k < 100; k++)
        add("a", DX_CL_DONE, 1);
      _exit(0);
    }
  while (wait(NULL) > 0)
    ;
  assert_int_equal(counts_of("a").calls[DX_CL_DONE], 400);
}

/* Of another version, cut short, or nonsense. */
static void a_damaged_file_begins_again(void **state)
{
  static const char *const texts[] = {"", "x\n", "3 1 2 3\n", "19 1 2\n",
                                      "19 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 "
                                      "-1 -1 -1 -1 -1 -1 -1\n"};
  size_t i;
  int fd;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    fd = openat(dirfd_, "a_counts", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                0600);
    assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
    (void)close(fd);
    assert_int_equal(counts_of("a").calls[DX_CL_DONE], 0);
    add("a", DX_CL_DONE, 7);
    assert_int_equal(counts_of("a").calls[DX_CL_DONE], 7);
  }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
  const struct CMUnitTest tests[] = {
      CASE(they_begin_at_0_and_grow),
      CASE(services_do_not_share_them),
      CASE(processes_do),
      CASE(a_damaged_file_begins_again),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
