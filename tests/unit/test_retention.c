/*
 * test_retention.c - how long a job stays in the spool.
 */
#include "tests/unit/unit.h"

#include "lib/spool/retention.h"

#define DAY (24 * 60 * 60 * INT64_C(1000))

static struct dx_retention_facts finished(int64_t days, enum dx_rerun rerun)
{
  return (struct dx_retention_facts){.finished = true,
                                     .idle_ms = days * DAY,
                                     .keep_jobs_ms = 7 * DAY,
                                     .keep_unfinished_ms = 30 * DAY,
                                     .rerun = rerun};
}

static enum dx_retention of(struct dx_retention_facts facts)
{
  return dx_retention(&facts);
}

static void test_unfinished(void **state)
{
  struct dx_retention_facts facts = finished(30, DX_RERUN_NO);

  (void)state;
  facts.finished = false;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_KEEP);
  facts.idle_ms++;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_EXPIRE);
  facts.keep_unfinished_ms = 0; /* its section may come back */
  assert_int_equal(dx_retention(&facts), DX_RETENTION_KEEP);
}

/* A release after that would send everything a second time. */
static void test_print_job_may_run_again(void **state)
{
  (void)state;
  assert_int_equal(of(finished(7, DX_RERUN_NO)), DX_RETENTION_KEEP);
  assert_int_equal(of(finished(8, DX_RERUN_NO)), DX_RETENTION_REMOVE);
  assert_int_equal(of(finished(8, DX_RERUN_MAY)), DX_RETENTION_KEEP);
  assert_int_equal(of(finished(8, DX_RERUN_UNKNOWN)), DX_RETENTION_KEEP);
}

static void test_personal_data(void **state)
{
  struct dx_retention_facts facts = finished(31, DX_RERUN_MAY);

  (void)state;
  assert_int_equal(of(finished(30, DX_RERUN_MAY)), DX_RETENTION_KEEP);
  assert_int_equal(of(facts), DX_RETENTION_CLEAN);
  assert_int_equal(of(finished(31, DX_RERUN_UNKNOWN)), DX_RETENTION_CLEAN);
  assert_int_equal(of(finished(31, DX_RERUN_NO)), DX_RETENTION_REMOVE);
  facts.rerun = DX_RERUN_NO;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_REMOVE);
}

/* A finished record stays whole for KeepJobs, even if KeepUnfinished is less,
 * and not for ever if its section is gone. */
static void test_limits(void **state)
{
  struct dx_retention_facts facts = finished(7, DX_RERUN_MAY);

  (void)state;
  facts.keep_unfinished_ms = DAY;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_KEEP);
  facts.idle_ms++;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_CLEAN);
  facts.keep_unfinished_ms = 0;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_CLEAN);
}

/* Neither a chart that the service, or an administrator, keeps waiting, nor the
 * record of one whose OnResult is pending. */
static void what_still_waits_is_kept(void **state)
{
  struct dx_retention_facts facts = finished(31, DX_RERUN_NO);

  (void)state;
  facts.awaits_hook = true;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_KEEP);
  facts.awaits_hook = facts.finished = false;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_EXPIRE);
  facts.is_kept_waiting = true;
  assert_int_equal(dx_retention(&facts), DX_RETENTION_KEEP);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unfinished),
      cmocka_unit_test(test_print_job_may_run_again),
      cmocka_unit_test(test_personal_data),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(what_still_waits_is_kept),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
