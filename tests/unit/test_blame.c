/*
 * test_blame.c - when a rejection or a failed extraction is about the document,
 * and how long its submission waits: doc/policy.md, "Who is to blame".
 */
#include "tests/unit/unit.h"

#include "daemon/engine/blame.h"

#define S 1000LL
#define MIN 60000LL
#define HOUR 3600000LL

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- rejected creates ---- */

static void first_rejection_is_remembered(void **state)
{
  struct dx_rejections rejections = {0};

  (void)state;
  dx_blame_count(&rejections, 5000);
  assert_int_equal(rejections.count, 1);
  assert_int_equal(rejections.first_ms, 5000);
  dx_blame_count(&rejections, 9000);
  dx_blame_count(&rejections, 12000);
  assert_int_equal(rejections.count, 3);
  assert_int_equal(rejections.first_ms, 5000);
}

static void document_is_the_reason_if_others_are_accepted(void **state)
{
  static const struct {
    struct dx_rejections rejections;
    int64_t accepted_ms, now_ms;
    bool is_document;
  } rows[] = {
      /* another was accepted, three attempts, ten minutes */
      {{3, 1000}, 1001, 1000 + 10 * MIN, true},
      {{9, 1000}, 1000 + 10 * MIN, 1000 + 60 * MIN, true},
      /* none, or only before the first rejection */
      {{3, 1000}, 0, 1000 + 10 * MIN, false},
      {{9, 1000}, 999, 1000 + 60 * MIN, false},
      {{9, 1000}, 1000, 1000 + 60 * MIN, false},
      /* too few */
      {{0, 0}, 1001, 10 * MIN, false},
      {{1, 1000}, 1001, 1000 + 60 * MIN, false},
      {{2, 1000}, 1001, 1000 + 60 * MIN, false},
      /* too early */
      {{3, 1000}, 1001, 1000 + 10 * MIN - 1, false},
      {{99, 1000}, 1001, 1000 + MIN, false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(rows); i++)
    if (dx_blame_document(&rows[i].rejections, rows[i].accepted_ms,
                          rows[i].now_ms) != rows[i].is_document)
      fail_msg("row %zu", i);
}

/* ---- waits that double ---- */

static int64_t rejected(int64_t n)
{
  return dx_blame_rejected_wait_ms((int)n);
}

static int64_t lost(int64_t n)
{
  return dx_blame_lost_wait_ms((int)n);
}

static void waits_double_up_to_a_limit(void **state)
{
  static const struct {
    const char *name;
    int64_t (*wait_ms)(int64_t n);
    int64_t expected_ms[9]; /* n = 1, 2, ... */
  } rows[] = {
      {"rejected",
       rejected,
       {30 * S, MIN, 2 * MIN, 4 * MIN, 8 * MIN, 10 * MIN, 10 * MIN, 10 * MIN,
        10 * MIN}},
      {"lost", lost, {5 * S, 10 * S, 20 * S, 40 * S, MIN, MIN, MIN, MIN, MIN}},
      {"registered again",
       dx_blame_reregister_wait_ms,
       {30 * S, MIN, 2 * MIN, 4 * MIN, 8 * MIN, 10 * MIN, 10 * MIN, 10 * MIN,
        10 * MIN}},
  };
  size_t i, k;

  (void)state;
  for (i = 0; i < COUNT(rows); i++) {
    for (k = 0; k < COUNT(rows[i].expected_ms); k++)
      if (rows[i].wait_ms((int64_t)k + 1) != rows[i].expected_ms[k])
        fail_msg("%s, %zu: %lld", rows[i].name, k + 1,
                 (long long)rows[i].wait_ms((int64_t)k + 1));
    /* After a year of failures. */
    assert_int_equal(rows[i].wait_ms(1000000), rows[i].expected_ms[8]);
  }
}

/* ---- failed ---- */

static void failed_source_starts_over_for_a_while(void **state)
{
  static const struct {
    struct dx_failure
        failure; /* start_overs, is_general, other_was_extracted */
    int64_t wait_ms;
  } rows[] = {
      /* nothing else was extracted: it may be the service */
      {{0, false, false}, 5 * S},
      {{1, false, false}, 30 * S},
      {{2, false, false}, 120 * S},
      {{3, false, false}, 10 * MIN},
      {{4, false, false}, HOUR},
      {{5, false, false}, 4 * HOUR},
      {{6, false, false}, -1},
      {{99, false, false}, -1},
      /* another was: it is the document */
      {{0, false, true}, 5 * S},
      {{1, false, true}, 30 * S},
      {{2, false, true}, 120 * S},
      {{3, false, true}, -1},
      {{4, false, true}, -1},
      {{6, false, true}, -1},
      /* sources of several fail: none ends */
      {{0, true, false}, 5 * S},
      {{3, true, false}, 10 * MIN},
      {{6, true, false}, 4 * HOUR},
      {{99, true, false}, 4 * HOUR},
      {{3, true, true}, 10 * MIN},
      {{99, true, true}, 4 * HOUR},
  };
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(rows); i++)
    if (dx_blame_failed_wait_ms(&rows[i].failure) != rows[i].wait_ms)
      fail_msg("row %zu: %lld", i,
               (long long)dx_blame_failed_wait_ms(&rows[i].failure));
}

/* ---- overdue ---- */

static void overdue_source_is_polled_after_a_tenth_of_its_age(void **state)
{
  static const struct {
    int64_t age_ms, limit_ms, wait_ms;
  } rows[] = {
      {30 * MIN, 30 * MIN, 3 * MIN},
      {2 * HOUR, 30 * MIN, 12 * MIN},
      {10 * HOUR - 10, 30 * MIN, HOUR - 1},
      {10 * HOUR, 30 * MIN, HOUR},
      {1000 * HOUR, 30 * MIN, HOUR},
      /* at least ProcessingLimit, for example if the clock was set back */
      {0, 30 * MIN, 3 * MIN},
      {-1000 * HOUR, 30 * MIN, 3 * MIN},
      {100 * S, 60 * S, 10 * S},
      {0, 48 * HOUR, HOUR},
  };
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(rows); i++)
    if (dx_overdue_wait_ms(rows[i].age_ms, rows[i].limit_ms) != rows[i].wait_ms)
      fail_msg("row %zu: %lld", i,
               (long long)dx_overdue_wait_ms(rows[i].age_ms, rows[i].limit_ms));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_rejection_is_remembered),
      cmocka_unit_test(document_is_the_reason_if_others_are_accepted),
      cmocka_unit_test(waits_double_up_to_a_limit),
      cmocka_unit_test(failed_source_starts_over_for_a_while),
      cmocka_unit_test(overdue_source_is_polled_after_a_tenth_of_its_age),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
