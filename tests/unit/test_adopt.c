/*
 * test_adopt.c - who drives a job next: every owner, state of a submission, and
 * state of the print job.
 */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "lib/spool/adopt.h"

static enum dx_adoption adoption_of(enum dx_owner owner, enum dx_state state,
                                    enum dx_print_job_state print_job)
{
  struct dx_submission sub = {.state = state};
  struct dx_job job = {
      .owner = owner, .submissions = &sub, .submission_count = 1};

  return dx_adoption_of(&job, print_job);
}

/* One letter per state of the print job, in their order: L leave, C cancel,
 * D drive, S settle. */
static const struct {
  enum dx_state state;
  const char *letters;
} table[] = {
    /*                  nobody unknown waiting held canceled over */
    {DX_ST_STORED, "LDLLCD"},   {DX_ST_REGISTERED, "LDLLCD"},
    {DX_ST_UPLOADED, "DDLDCD"}, {DX_ST_PROCESSING, "DDLDCD"},
    {DX_ST_COMPLETE, "DDLDCD"}, {DX_ST_FAILED, "LLLLCL"},
    {DX_ST_REFUSED, "LLLLCL"},  {DX_ST_EXTRACTED, "SSSSSS"},
    {DX_ST_CANCELED, "SSSSSS"}, {DX_ST_EXPIRED, "SSSSSS"},
};

static void a_print_job_is_adopted_if_no_backend_will_run(void **state)
{
  size_t i;
  int p;

  (void)state;
  assert_int_equal(sizeof(table) / sizeof(table[0]), DX_ST_COUNT);
  for (i = 0; i < DX_ST_COUNT; i++)
    for (p = 0; p < DX_PJ_COUNT; p++) {
      enum dx_adoption is = adoption_of(DX_OWNER_CUPS, table[i].state,
                                        (enum dx_print_job_state)p);

      if ("LCDS"[is] != table[i].letters[p])
        fail_msg("%s, print job %s: %c", dx_state_word(table[i].state),
                 dx_print_job_word((enum dx_print_job_state)p), "LCDS"[is]);
    }
}

static void a_handed_over_job_is_driven_whatever_cupsd_says(void **state)
{
  int p;

  (void)state;
  for (p = 0; p < DX_PJ_COUNT; p++) {
    assert_int_equal(
        adoption_of(DX_OWNER_DAEMON, DX_ST_STORED, (enum dx_print_job_state)p),
        DX_ADOPT_DRIVE);
    assert_int_equal(
        adoption_of(DX_OWNER_DAEMON, DX_ST_FAILED, (enum dx_print_job_state)p),
        DX_ADOPT_LEAVE);
  }
}

static void a_job_of_the_command_is_left_to_retry(void **state)
{
  int s;

  (void)state;
  for (s = 0; s < DX_ST_COUNT; s++)
    assert_int_equal(
        adoption_of(DX_OWNER_COMMAND, (enum dx_state)s, DX_PJ_UNKNOWN),
        dx_state_is_settled((enum dx_state)s) ? DX_ADOPT_SETTLE
                                              : DX_ADOPT_LEAVE);
}

static void one_unsent_document_makes_the_job_wait_for_cupsd(void **state)
{
  struct dx_submission subs[2] = {{.state = DX_ST_PROCESSING},
                                  {.state = DX_ST_STORED}};
  struct dx_job job = {
      .owner = DX_OWNER_CUPS, .submissions = subs, .submission_count = 2};

  (void)state;
  assert_int_equal(dx_adoption_of(&job, DX_PJ_HELD), DX_ADOPT_LEAVE);
  subs[1].state = DX_ST_FAILED;
  assert_int_equal(dx_adoption_of(&job, DX_PJ_HELD), DX_ADOPT_DRIVE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_print_job_is_adopted_if_no_backend_will_run),
      cmocka_unit_test(a_handed_over_job_is_driven_whatever_cupsd_says),
      cmocka_unit_test(a_job_of_the_command_is_left_to_retry),
      cmocka_unit_test(one_unsent_document_makes_the_job_wait_for_cupsd),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
