/*
 * test_engine.c - the path of a job through the engine: which calls in which
 * order, what is in the results directory, jobs with several documents, and
 * jobs that are resumed.
 */
#include "tests/unit/engine_fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"

static void a_document_is_extracted_once(void **state)
{
  static const enum dx_call_kind order[] = {DX_CALL_CREATE, DX_CALL_PUT,
                                            DX_CALL_SOURCE, DX_CALL_SOURCE,
                                            DX_CALL_EXTRACT};
  size_t i;

  (void)state;
  (void)fixture_job(1, false);
  fixture.processing_ms = 3000;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.call_count, sizeof(order) / sizeof(order[0]));
  for (i = 0; i < fixture.call_count; i++)
    assert_int_equal(fixture.calls[i].kind, order[i]);
  assert_int_equal(fixture_result_count(), 2);
  assert_true(fixture_result_holds("S1-S1C1.json",
                                   "{\"results\":{\"status\":\"complete\","
                                   "\"id\":\"S1C1\",\"value\":1.50}}\n"));
  assert_true(fixture_result_holds("S1.job.json", "\"extracted\""));
}

/* By its journal: nothing is fetched or delivered a second time. */
static void an_extracted_job_makes_no_more_calls(void **state)
{
  char name[100];
  size_t calls;

  (void)state;
  (void)fixture_job(1, false);
  (void)fixture_drive_to_end();
  (void)snprintf(name, sizeof(name), "%s/S1-S1C1.json", fixture.results);
  assert_int_equal(unlink(name), 0); /* its consumer took it */
  calls = fixture.call_count;
  fixture_restart();
  (void)fixture_drive_to_end();
  assert_int_equal(fixture.call_count, calls);
  assert_int_equal(access(name, F_OK), -1);
}

static bool first_put_is_lost(const struct fixture_call *call,
                              struct fixture_response *ret)
{
  ret->code = DX_E_NET;
  ret->landed = true;
  return call->kind == DX_CALL_PUT && call->nth == 1;
}

/* The queue shows what is wrong, but no longer once it works again. */
static void a_problem_with_the_storage_is_cleared(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture.odd = first_put_is_lost;
  fixture.processing_ms = 60000;
  fixture_drive(fixture.now_ms + 30000);
  assert_int_equal(fixture.notes[DX_NOTE_DOWN], 1);
  assert_int_equal(fixture.notes[DX_NOTE_UP], 1);
  assert_string_equal(job->message, "");
  (void)fixture_drive_to_end();
  assert_int_equal(fixture.count[DX_CALL_PUT], 1);
}

/* From the commit on; each ordering that is needed, and none twice. */
static void a_document_costs_few_fsyncs(void **state)
{
  int before;

  (void)state;
  (void)fixture_job(1, false);
  before = fixture.syncs;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.syncs - before, 13);
}

/* Each further case costs the same: its result stored, delivered, and one
 * journal for both. */
static void a_case_costs_few_fsyncs(void **state)
{
  int before;

  (void)state;
  (void)fixture_job(1, false);
  fixture.case_count = 4;
  before = fixture.syncs;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.syncs - before, 13 + 3 * 5);
}

static bool journal_says(const struct dx_job *job, const char *word)
{
  struct dx_buf text = {0};
  struct dx_err err;
  bool says;

  assert_int_equal(dx_fs_read(job->dirfd, "job.json", 65536, &text, &err),
                   DX_OK);
  says = strstr(dx_buf_text(&text), word) != NULL;
  dx_buf_release(&text);
  return says;
}

/* What a GET reports waits for the next write, but not for long. */
static void the_journal_is_never_far_behind(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture.processing_ms = 60 * S;
  while (job->submissions[0].state != DX_ST_PROCESSING)
    fixture_drive(fixture.now_ms + 100);
  assert_false(journal_says(job, "\"processing\""));
  fixture_drive(fixture.now_ms + 1100);
  assert_true(journal_says(job, "\"processing\""));
}

/* ---- more than one document ---- */

static bool refuses_the_second(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  ret->status = 400;
  return call->kind == DX_CALL_CREATE && call->nth == 2;
}

/* What is final for one document does not affect the others. */
static void one_refused_document_does_not_stop_the_others(void **state)
{
  struct dx_job *job = fixture_job(3, false);
  struct dx_err err;

  (void)state;
  fixture.odd = refuses_the_second;
  assert_int_equal(fixture_drive_to_end(), DX_E_REFUSED);
  (void)dx_job_outcome(job, &err);
  assert_non_null(strstr(err.text, "2 of 3 documents extracted; document 2"));
  assert_int_equal(fixture_processed(), 2);
  assert_int_equal(fixture_result_count(), 5); /* two, three manifests */
  assert_int_equal(fixture.count[DX_CALL_CREATE], 3);
}

static bool refuses_the_storage_of_one(const struct fixture_call *call,
                                       struct fixture_response *ret)
{
  ret->status = 500;
  return call->kind == DX_CALL_PUT && call->source == 1 && call->nth < 12;
}

static void a_slow_upload_does_not_delay_the_others(void **state)
{
  (void)state;
  fixture.odd = refuses_the_storage_of_one;
  (void)fixture_job(2, false);
  fixture_drive(fixture.now_ms + 60000);
  assert_int_equal(fixture.count[DX_CALL_EXTRACT], 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 2);
}

static bool is_not_the_service(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  ret->status = 404;
  return call->kind == DX_CALL_CREATE && call->nth == 3;
}

/* What stops the queue ends the job and its calls at once; resumed, it
 * continues from there. */
static void a_wrong_base_url_stops_the_whole_job(void **state)
{
  (void)state;
  fixture.odd = is_not_the_service;
  fixture.latency_ms = 1000;
  (void)fixture_job(4, false);
  assert_int_equal(fixture_drive_to_end(), DX_E_PROTOCOL);
  assert_true(fixture.now_ms < FIXTURE_BEGIN_MS + 3000);
  assert_int_equal(fixture_processed(), 0);
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 4);
  assert_int_equal(fixture_result_count(), 8);
}

static void documents_that_belong_together_are_one_source(void **state)
{
  (void)state;
  (void)fixture_job(2, true);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[DX_CALL_CREATE], 1);
  assert_int_equal(fixture.count[DX_CALL_PUT], 2);
  assert_int_equal(fixture_processed(), 1);
  assert_int_equal(fixture_result_count(), 2);
  assert_true(fixture_result_holds("S1.job.json", "\"document\":\t2"));
}

/* ---- more than one case ---- */

/* A slow case does not delay fetching and delivering the others; the manifest
 * follows the last one. */
static void a_slow_case_does_not_delay_the_others(void **state)
{
  (void)state;
  fixture.case_count = 3;
  fixture.case_ms[1] = 600000;
  (void)fixture_job(1, false);
  fixture_drive(fixture.now_ms + 60000);
  assert_true(fixture_result_holds("S1-S1C1.json", "S1C1"));
  assert_true(fixture_result_holds("S1-S1C3.json", "S1C3"));
  assert_int_equal(fixture_result_count(), 2);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_result_count(), 4);
  assert_true(fixture_result_holds("S1-S1C2.json", "S1C2"));
  assert_true(fixture_result_holds("S1.job.json", "S1C2"));
}

/* What was fetched before a crash is not fetched again. */
static void only_the_missing_cases_are_fetched_after_a_crash(void **state)
{
  size_t i, before;

  (void)state;
  fixture.case_count = 3;
  fixture.case_ms[1] = 600000;
  (void)fixture_job(1, false);
  fixture_drive(fixture.now_ms + 60000);
  before = fixture.call_count;
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  for (i = before; i < fixture.call_count; i++) {
    assert_int_equal(fixture.calls[i].kind, DX_CALL_EXTRACT);
    assert_int_equal(fixture.calls[i].item, 2);
  }
  assert_int_equal(fixture_result_count(), 4);
}

static void a_source_without_cases_is_extracted(void **state)
{
  (void)state;
  fixture.case_count = 0;
  (void)fixture_job(1, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[DX_CALL_EXTRACT], 0);
  assert_int_equal(fixture_result_count(), 1);
}

/* The fixture checks the rate. */
static void many_documents_keep_the_rate_limit(void **state)
{
  (void)state;
  fixture.processing_ms = 5000;
  (void)fixture_job(50, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 50);
  assert_int_equal(fixture_result_count(), 100);
  /* at 8 a second: 50 to create, 50 to fetch, some polls */
  assert_in_range(fixture.now_ms - FIXTURE_BEGIN_MS, 12000, 60000);
}

int main(void)
{
#define ON_STAGE(test) \
  cmocka_unit_test_setup_teardown(test, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
      ON_STAGE(a_document_is_extracted_once),
      ON_STAGE(an_extracted_job_makes_no_more_calls),
      ON_STAGE(a_problem_with_the_storage_is_cleared),
      ON_STAGE(a_document_costs_few_fsyncs),
      ON_STAGE(a_case_costs_few_fsyncs),
      ON_STAGE(the_journal_is_never_far_behind),
      ON_STAGE(one_refused_document_does_not_stop_the_others),
      ON_STAGE(a_slow_upload_does_not_delay_the_others),
      ON_STAGE(a_wrong_base_url_stops_the_whole_job),
      ON_STAGE(documents_that_belong_together_are_one_source),
      ON_STAGE(a_slow_case_does_not_delay_the_others),
      ON_STAGE(only_the_missing_cases_are_fetched_after_a_crash),
      ON_STAGE(a_source_without_cases_is_extracted),
      ON_STAGE(many_documents_keep_the_rate_limit),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
