/*
 * test_clock.c - lib/base/clock.c, and Retry-After of daemon/service/http.c:
 * parsing times.
 */
#include "tests/unit/unit.h"

#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "daemon/service/http.h"

#define NOON 1769860800000 /* 2026-01-31T12:00:00Z */
#define NOON_HTTP "Sat, 31 Jan 2026 12:00:00 GMT"

struct time_row {
  const char *text;
  int64_t ms;
};

static int64_t fake_wall_ms;

static int64_t fake_boot(void)
{
  return 42;
}

static int64_t fake_wall(void)
{
  return fake_wall_ms;
}

static const struct dx_clock fake = {fake_boot, fake_wall};

static int use_real_clock(void **state)
{
  (void)state;
  dx_clock_use(NULL);
  return 0;
}

/* Walks a table; the output names a wrong row. */
static void check_times(const struct time_row *rows, size_t count,
                        int64_t (*parse)(const char *))
{
  size_t i;

  for (i = 0; i < count; i++) {
    if (parse(rows[i].text) != rows[i].ms)
      print_error("'%s'\n", rows[i].text);
    assert_int_equal(parse(rows[i].text), rows[i].ms);
  }
}

static void times_are_written_in_utc(void **state)
{
  static const struct time_row rows[] = {
      {"2026-01-31T12:00:00Z", NOON},
      {"2026-01-31T12:00:00Z", NOON + 999},
      {"1970-01-01T00:00:00Z", 0},
      {"2024-02-29T23:59:59Z", 1709251199000},
      {"9999-12-31T23:59:59Z", 253402300799000},
  };
  char text[DX_TIME_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    dx_format_time(rows[i].ms, text);
    assert_string_equal(text, rows[i].text);
  }
}

static void exact_times_are_formatted(void **state)
{
  char text[DX_TIME_BYTES];

  (void)state;
  dx_format_exact_time(NOON + 7, text);
  assert_string_equal(text, "2026-01-31T12:00:00.007Z");
  assert_int_equal(dx_parse_time(text), NOON + 7);
}

static void rfc_3339_times_are_parsed(void **state)
{
  static const struct time_row rows[] = {
      {"2026-01-31T12:00:00Z", NOON},
      {"2026-01-31t12:00:00z", NOON},
      {"2026-01-31 12:00:00Z", NOON},
      {"2026-01-31T12:00:00.5Z", NOON + 500},
      {"2026-01-31T12:00:00.02Z", NOON + 20},
      {"2026-01-31T12:00:00.123456789Z", NOON + 123},
      {"2026-01-31T12:00:00+00:00", NOON},
      {"2026-01-31T14:00:00+02:00", NOON},
      {"2026-01-31T06:30:00-05:30", NOON},
      {"2026-02-01T01:00:00.25+13:00", NOON + 250},
      {"1970-01-01T00:00:00Z", 0},
      {"2016-12-31T23:59:60Z", 1483228800000},
  };

  (void)state;
  check_times(rows, sizeof(rows) / sizeof(rows[0]), dx_parse_time);
}

static void invalid_rfc_3339_times_are_rejected(void **state)
{
  static const struct time_row rows[] = {
      {"", -1},
      {"2026", -1},
      {"2026-01-31", -1},
      {"2026-01-31T", -1},
      {"2026-01-31T12:00", -1},
      {"2026-01-31T12:00:00", -1},
      {"2026-01-31T12:00:00ZZ", -1},
      {"2026-01-31T12:00:00 Z", -1},
      {"2026-01-31T12:00:00.Z", -1},
      {"2026-01-31T12:00:00+2", -1},
      {"2026-01-31T12:00:00+0200", -1},
      {"2026-01-31T12:00:00+02:00x", -1},
      {"2026-01-31T12:00:00+24:00", -1},
      {"2026-01-31T12:00:00+00:60", -1},
      {"2026-01-31T12:00:00+-2:00", -1},
      {"2026-01-31T12:00:00*02:00", -1},
      {"2026-01-31x12:00:00Z", -1},
      {"2026-13-01T12:00:00Z", -1},
      {"2026-00-01T12:00:00Z", -1},
      {"2026-01-32T12:00:00Z", -1},
      {"2026-01-31T24:00:00Z", -1},
      {"2026-01-31T12:60:00Z", -1},
      {"2026-1-31T12:00:00Z", -1},
      {"2026-01-31T1:00:00Z", -1},
      {" 2026-01-31T12:00:00Z", -1},
      {"2026-01-31T12:00:+1Z", -1},
      {NOON_HTTP, -1},
      {"1769860800", -1},
      {"1969-12-31T23:59:59Z", -1},
      {"9999-12-31T23:59:60Z", -1},
      {"9999-12-31T23:59:59-00:01", -1},
      {"1970-01-01T00:00:00+00:01", -1},
      {"0000-01-01T00:00:00Z", -1},
  };

  (void)state;
  check_times(rows, sizeof(rows) / sizeof(rows[0]), dx_parse_time);
}

static void boot_id_is_read_from_the_kernel(void **state)
{
  char id[DX_BOOT_ID_BYTES], again[DX_BOOT_ID_BYTES];
  size_t i;

  (void)state;
  dx_boot_id(id);
  dx_boot_id(again);
  assert_string_equal(id, again);
  assert_int_equal(strlen(id), 36);
  for (i = 0; i < 36; i++)
    assert_non_null(strchr(
        i == 8 || i == 13 || i == 18 || i == 23 ? "-" : "0123456789abcdef",
        id[i]));
}

static void clocks_can_be_set_and_restored(void **state)
{
  int64_t before, wall;

  (void)state;
  fake_wall_ms = NOON;
  dx_clock_use(&fake);
  assert_int_equal(dx_monotonic_ms(), 42);
  assert_int_equal(dx_wall_ms(), NOON);
  dx_clock_use(NULL);
  wall = dx_wall_ms();
  /* time() lags behind by up to a tick of the kernel. */
  assert_in_range(time(NULL) - wall / 1000 + 1, 0, 60);
  before = dx_monotonic_ms();
  assert_true(before > 0 && before < wall);
  assert_true(dx_monotonic_ms() >= before);
}

static void retry_after_is_parsed_as_documented(void **state)
{
  static const struct {
    const char *value;
    int64_t date_ms;
    int64_t ms;
  } rows[] = {
      {"0", -1, 0},
      {"1", -1, 1000},
      {"7", NOON, 7000},
      {"120", -1, 120000},
      {" 7 ", -1, 7000},
      {"+3", -1, 3000},
      {"1.5", -1, 1500},
      {".25", -1, 250},
      {"0.0", -1, 0},
      {"-1", -1, 0},
      {"-0.5", -1, 0},
      {"-3", NOON, 0},
      {"3599", -1, 3599000},
      {"3600", -1, DX_RETRY_AFTER_MAX_MS},
      {"86400", -1, DX_RETRY_AFTER_MAX_MS},
      {"99999", NOON, DX_RETRY_AFTER_MAX_MS},
      {"99999999999999999999999999", -1, DX_RETRY_AFTER_MAX_MS},
      {NOON_HTTP, NOON - 90000, 90000},
      {NOON_HTTP, NOON, 0},
      {NOON_HTTP, NOON + 90000, 0},
      {NOON_HTTP, 0, DX_RETRY_AFTER_MAX_MS},
      {NOON_HTTP, -1, 20000}, /* our clock */
      {"", -1, -1},
      {" ", -1, -1},
      {"-", -1, -1},
      {"1 2", -1, -1},
      {"1.2.3", -1, -1},
      {"0x10", -1, -1},
      {"1e3", -1, -1},
      {"inf", -1, -1},
      {"nan", -1, -1},
      {"soon", -1, -1},
      {"5s", -1, -1},
      {"5 s", -1, -1},
      {"Saturday, 31-Jan-26 12:00:00 GMT", NOON - 1000, 1000},
      {"Sat Jan 31 12:00:00 2026", NOON - 1000, 1000},
      {"Sat, 31 Xxx 2026 12:00:00 GMT", -1, -1},
      {"Wed, 01 Jan 2000000000 00:00:00 GMT", -1, -1},
  };
  size_t i;

  (void)state;
  fake_wall_ms = NOON - 20000;
  dx_clock_use(&fake);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int64_t ms = dx_retry_after_ms(rows[i].value, rows[i].date_ms);

    if (ms != rows[i].ms)
      print_error("'%s'\n", rows[i].value);
    assert_int_equal(ms, rows[i].ms);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times_are_written_in_utc),
      cmocka_unit_test(exact_times_are_formatted),
      cmocka_unit_test(rfc_3339_times_are_parsed),
      cmocka_unit_test(invalid_rfc_3339_times_are_rejected),
      cmocka_unit_test(boot_id_is_read_from_the_kernel),
      cmocka_unit_test_teardown(clocks_can_be_set_and_restored, use_real_clock),
      cmocka_unit_test_teardown(retry_after_is_parsed_as_documented,
                                use_real_clock),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
