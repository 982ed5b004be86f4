/*
 * test_engine.c - the way of a job through the engine: what is asked in which
 * order, what lies in the results folder, what happens to more than one
 * document, and to a job that is taken up again.
 */
#include "tests/unit/engine_stage.h"

#include <stdio.h>
#include <unistd.h>

static void a_document_goes_the_whole_way_once(void **state)
{
  static const enum dx_call_kind order[] = {DX_CALL_CREATE, DX_CALL_PUT,
                                            DX_CALL_SOURCE, DX_CALL_SOURCE,
                                            DX_CALL_EXTRACT};
  size_t i;

  (void)state;
  (void)stage_job(1, false);
  stage.processing_ms = 3000;
  assert_int_equal(stage_drive_to_end(), DX_OK);
  assert_int_equal(stage.call_count, sizeof(order) / sizeof(order[0]));
  for (i = 0; i < stage.call_count; i++)
    assert_int_equal(stage.calls[i].kind, order[i]);
  assert_int_equal(stage_result_count(), 2);
  assert_true(stage_result_holds("S1-S1C1.json",
                                 "{\"results\":{\"status\":\"complete\","
                                 "\"id\":\"S1C1\",\"value\":1.50}}\n"));
  assert_true(stage_result_holds("S1.job.json", "\"extracted\""));
}

/* The journal knows: nothing is asked, nothing is dropped a second time. */
static void an_extracted_job_asks_nothing_more(void **state)
{
  char name[100];
  size_t calls;

  (void)state;
  (void)stage_job(1, false);
  (void)stage_drive_to_end();
  (void)snprintf(name, sizeof(name), "%s/S1-S1C1.json", stage.results);
  assert_int_equal(unlink(name), 0); /* its consumer took it */
  calls = stage.call_count;
  stage_restart();
  (void)stage_drive_to_end();
  assert_int_equal(stage.call_count, calls);
  assert_int_equal(access(name, F_OK), -1);
}

static bool first_put_is_lost(const struct stage_call *call,
                              struct stage_answer *ret)
{
  ret->code = DX_E_NET;
  ret->landed = true;
  return call->kind == DX_CALL_PUT && call->nth == 1;
}

/* The queue shows what is wrong; it must not go on when all is well again. */
static void a_complaint_about_the_storage_is_taken_back(void **state)
{
  struct dx_job *job = stage_job(1, false);

  (void)state;
  stage.odd = first_put_is_lost;
  stage.processing_ms = 60000;
  stage_drive(stage.now_ms + 30000);
  assert_int_equal(stage.notes[DX_NOTE_DOWN], 1);
  assert_int_equal(stage.notes[DX_NOTE_UP], 1);
  assert_string_equal(job->message, "");
  (void)stage_drive_to_end();
  assert_int_equal(stage.count[DX_CALL_PUT], 1);
}

int main(void)
{
#define ON_STAGE(test) \
  cmocka_unit_test_setup_teardown(test, stage_open, stage_close)
  const struct CMUnitTest tests[] = {
      ON_STAGE(a_document_goes_the_whole_way_once),
      ON_STAGE(an_extracted_job_asks_nothing_more),
      ON_STAGE(a_complaint_about_the_storage_is_taken_back),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
