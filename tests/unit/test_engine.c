/*
 * test_engine.c - the path of a job through the engine: which calls in which
 * order, what is in the results directory, jobs with several documents, jobs
 * that are resumed, and jobs that must wait for permission.
 */
#include "tests/unit/engine_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"

static void document_is_extracted_once(void **state)
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
static void extracted_job_makes_no_more_calls(void **state)
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
static void storage_problem_is_cleared(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture.odd = first_put_is_lost;
  fixture.processing_ms = 60000;
  fixture_drive(fixture.now_ms + 30000);
  assert_int_equal(fixture.notes[DX_NOTE_DOWN], 1);
  assert_int_equal(fixture.notes[DX_NOTE_UP], 1);
  assert_string_equal(dx_line(dx_job_problem(job)->text), "");
  (void)fixture_drive_to_end();
  assert_int_equal(fixture.count[DX_CALL_PUT], 2);
}

/* From the commit on; each ordering that is needed, and none twice. */
static void document_costs_few_fsyncs(void **state)
{
  int before;

  (void)state;
  (void)fixture_job(1, false);
  before = fixture.syncs;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.syncs - before, 12);
}

/* Each further case costs the same: its result stored and delivered. They share
 * the journal. */
static void case_costs_few_fsyncs(void **state)
{
  int before;

  (void)state;
  (void)fixture_job(1, false);
  fixture.case_count = 4;
  before = fixture.syncs;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.syncs - before, 12 + 3 * 3);
}

static bool journal_says(struct dx_job *job, const char *word)
{
  struct dx_buf text = {0};
  struct dx_err err;
  bool says;

  assert_int_equal(dx_job_open_dir(job, &err), DX_OK);
  assert_int_equal(dx_fs_read(job->dirfd, "job.json", 65536, &text, &err),
                   DX_OK);
  says = strstr(dx_buf_text(&text), word) != NULL;
  dx_buf_release(&text);
  return says;
}

/* Otherwise, after a crash, it would be fetched again with other bytes. */
static void result_is_delivered_after_its_digest_is_saved(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture.case_count = 4;
  fixture_begin();
  while (fixture_result_count() == 0)
    fixture_drive(fixture.now_ms + 1);
  assert_true(journal_says(job, job->submissions[0].cases[0].sha256));
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

/* Results that arrive slowly are delivered meanwhile. */
static void first_case_does_not_wait_for_the_last(void **state)
{
  (void)state;
  (void)fixture_job(1, false);
  fixture.case_count = 4;
  fixture.latency_ms = 800;
  while (fixture.count[EXTRACT] < 4)
    fixture_drive(fixture.now_ms + 100);
  assert_in_range(fixture_result_count(), 1, 3);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

/* Neither delivery nor the journal holds up the next call. */
static void many_cases_are_fetched_at_the_rate(void **state)
{
  int64_t begun_ms;

  (void)state;
  (void)fixture_job(1, false);
  fixture.case_count = 40;
  while (fixture.count[EXTRACT] == 0)
    fixture_drive(fixture.now_ms + 10);
  begun_ms = fixture.now_ms;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[EXTRACT], 40);
  assert_in_range(fixture.now_ms - begun_ms, 4 * S, 6 * S);
}

/* What a GET reports waits for the next write, but not for long. */
static void journal_is_written_within_its_delay(void **state)
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

/* A large one is written less often. */
static void large_journal_has_a_longer_delay(void **state)
{
  struct dx_job *job = fixture_job(150, false);

  (void)state;
  fixture.processing_ms = 10 * MIN;
  while (fixture.count[PUT] < 150)
    fixture_drive(fixture.now_ms + S);
  fixture_drive(fixture.now_ms + 5 * S);
  assert_in_range(job->journal_bytes, 100000, 199999);
  while (job->behind)
    fixture_drive(fixture.now_ms + 10);
  while (!job->behind)
    fixture_drive(fixture.now_ms + 10);
  fixture_drive(fixture.now_ms + 1900);
  assert_true(job->behind);
  fixture_drive(fixture.now_ms + 200);
  assert_false(job->behind);
}

/* No odd response: each upload that begins is in the journal. */
static bool count_in_journal(const struct fixture_call *call,
                             struct fixture_response *ret)
{
  struct dx_buf text = {0};
  struct dx_err err;
  const char *at;
  int begun = 0;

  (void)ret;
  if (call->kind != PUT)
    return false;
  assert_int_equal(dx_job_open_dir(fixture.jobs[0], &err), DX_OK);
  assert_int_equal(
      dx_fs_read(fixture.jobs[0]->dirfd, "job.json", 1 << 20, &text, &err),
      DX_OK);
  for (at = dx_buf_text(&text); (at = strstr(at, "\"state\":\t\"")) != NULL;
       at++)
    begun += strncmp(at + 10, "stored", 6) != 0;
  assert_true(begun >= call->nth);
  dx_buf_release(&text);
  return false;
}

/* At the rate of the calls, hardly two responses arrive at the same time. */
static void documents_of_a_large_job_share_the_journal(void **state)
{
  struct dx_job *job = fixture_job(300, false);
  int64_t begun_ms = fixture.now_ms;

  (void)state;
  fixture.odd = count_in_journal;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_in_range(job->journal_bytes, 300000, 390000);
  assert_int_equal(fixture.count[PUT], 300);
  assert_in_range(fixture.saves, 100, 240); /* one in half a second */
  assert_in_range(fixture.now_ms - begun_ms, 0, 125 * S);
}

static void take_75_ms(void)
{
  fixture.now_ms += 75;
}

static int unsaved; /* at the first registration */

static bool count_unsaved(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  int i;

  (void)ret;
  for (i = 0; call->kind == POST && call->nth == 1 && i < fixture.job_count;
       i++)
    unsaved += fixture.jobs[i]->dirty;
  return false;
}

#define SLOW_JOBS 8

/* The first job's, while the journals of the others are to be written. */
static void slow_disk_delays_no_call(void **state)
{
  int i;

  (void)state;
  for (i = 0; i < SLOW_JOBS; i++)
    (void)fixture_job(1, false);
  fixture.odd = count_unsaved;
  fixture.on_sync = take_75_ms;
  fixture_begin();
  for (i = 1; i < SLOW_JOBS; i++)
    fixture.jobs[i]->dirty = true;
  unsaved = 0;
  (void)fixture_drive_to_end();
  assert_in_range(unsaved, 1, SLOW_JOBS);
  assert_int_equal(fixture_processed(), SLOW_JOBS);
}

static void take_a_second(void)
{
  fixture.now_ms += 1000;
}

/* As after a restore, of thousands. */
static void slow_disk_does_not_delay_the_end(void **state)
{
  int i, unwritten = 0;

  (void)state;
  for (i = 0; i < SLOW_JOBS; i++)
    (void)fixture_job(1, false);
  fixture.on_sync = take_a_second;
  fixture_begin();
  for (i = 0; i < SLOW_JOBS; i++)
    fixture.jobs[i]->dirty = true;
  dx_engine_free(&fixture.engine);
  for (i = 0; i < SLOW_JOBS; i++)
    unwritten += fixture.jobs[i]->dirty;
  assert_int_equal(unwritten, SLOW_JOBS - 1);
}

/* ---- more than one document ---- */

static bool refuses_the_second(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  ret->status = 415;
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

static void slow_upload_does_not_delay_the_others(void **state)
{
  (void)state;
  fixture.odd = refuses_the_storage_of_one;
  (void)fixture_job(2, false);
  fixture_drive(fixture.now_ms + 60000);
  assert_int_equal(fixture.count[DX_CALL_EXTRACT], 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 2);
}

static bool slow_storage(const struct fixture_call *call,
                         struct fixture_response *ret)
{
  ret->landed = true;
  ret->took_ms = 20 * S;
  return call->kind == PUT;
}

static void uploads_leave_no_descriptor_open(void **state)
{
  size_t before;

  (void)state;
  (void)fixture_job(3, false);
  fixture_begin();
  before = count_entries(AT_FDCWD, "/proc/self/fd");
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  /* The engine has released the job, which has a directory. */
  assert_true(count_entries(AT_FDCWD, "/proc/self/fd") <= before);
}

/* Its checksum was that of the file. */
static void document_that_is_replaced_by_a_link_is_not_sent(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture_begin();
  assert_int_equal(unlinkat(job->dirfd, "document-0001", 0), 0);
  assert_int_equal(symlinkat("/etc/hostname", job->dirfd, "document-0001"), 0);
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(fixture.count[PUT], 0);
  assert_true(fixture.notes[DX_NOTE_LOCAL] > 0);
}

static void four_documents_are_uploaded_at_once(void **state)
{
  (void)state;
  fixture.odd = slow_storage;
  (void)fixture_job(6, false);
  fixture_drive(fixture.now_ms + 10 * S);
  assert_int_equal(fixture.count[PUT], 4);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[PUT], 6);
}

static bool is_not_the_service(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  ret->status = 404;
  return call->kind == DX_CALL_CREATE && call->nth == 3;
}

/* A rejection pauses its submission only. */
static void one_rejected_create_does_not_stop_the_others(void **state)
{
  struct dx_job *job = fixture_job(4, false);
  const struct fixture_call *rejected;

  (void)state;
  fixture.odd = is_not_the_service;
  fixture.latency_ms = 1000;
  assert_int_equal(fixture_attend(NULL), DX_E_PROTOCOL);
  fixture_drive(fixture.now_ms + 20 * S);
  assert_int_equal(fixture_processed(), 3);
  assert_int_equal(dx_job_problem(job)->code, DX_E_PROTOCOL);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 4);
  assert_int_equal(fixture_result_count(), 8);
  rejected = fixture_nth(POST, 3);
  assert_in_range(fixture_gap_ms(rejected, fixture_nth(POST, 5)), 30 * S,
                  30 * S + SLACK_MS);
}

static void grouped_documents_are_one_source(void **state)
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

/* Of a source of many files, only the first one waits for the journal: it shows
 * that bytes may have been sent. */
static void files_of_a_source_share_the_journal(void **state)
{
  (void)state;
  (void)fixture_job(4, true);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[PUT], 4);
  assert_int_equal(fixture.saves, 7);
}

/* ---- more than one case ---- */

/* A slow case does not delay fetching and delivering the others; the manifest
 * follows the last one. */
static void slow_case_does_not_delay_the_others(void **state)
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

static void manifest_has_the_time_of_the_last_result(void **state)
{
  const struct dx_submission *sub;
  char text[64] = "\"extracted_at\":\t\"";

  (void)state;
  fixture.case_ms[0] = 2 * MIN;
  sub = &fixture_job(1, false)->submissions[0];
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_true(sub->extracted_at > sub->complete_at + MIN);
  dx_format_time(sub->extracted_at, text + strlen(text));
  assert_true(fixture_result_holds("S1.job.json", text));
}

static void source_without_cases_is_extracted(void **state)
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

/* The fixture checks the rate. */
static void slow_connections_keep_the_rate_limit(void **state)
{
  static const struct {
    double rate;
    int64_t accept_ms;
  } rows[] = {{9, 30}, {9, 99}, {8, 301}, {8, 3000}, {2, 900}, {0.1, 290}};
  size_t i;

  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    fixture.service.api_rate = rows[i].rate;
    fixture.accept_ms = rows[i].accept_ms;
    (void)fixture_job(10, false);
    assert_int_equal(fixture_drive_to_end(), DX_OK);
    assert_int_equal(fixture_processed(), 10);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(fixture_open(state), 0);
  }
}

static void set_service(struct dx_job *job, const char *service)
{
  free(job->service);
  job->service = strdup(service);
}

static void two_sections_of_a_host_keep_the_rate_limit_together(void **state)
{
  (void)state;
  fixture.service_count = 2;
  (void)fixture_job(25, false);
  set_service(fixture_job(25, false), "other");
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 50);
}

/* While the connection of another job is being established. */
static void job_that_waits_longest_is_sent_first(void **state)
{
  int i;

  (void)state;
  fixture.accept_ms = 2 * S;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture_begin();
  fixture_drive(fixture.now_ms + S);
  (void)fixture_job(1, false);
  fixture_add(fixture.jobs[2]);
  fixture_drive(fixture.now_ms + MIN);
  for (i = 0; i < 3; i++)
    assert_int_equal(fixture.jobs[i]->submissions[0].source_id[1], '1' + i);
}

static void attended_create_comes_before_polls_of_another_section(void **state)
{
  struct dx_job *job;

  (void)state;
  fixture.service_count = 2;
  fixture.processing_ms = 10 * MIN;
  (void)fixture_job(50, false);
  while (fixture.count[SOURCE] < 20)
    fixture_drive(fixture.now_ms + 1);
  job = fixture_job(1, false);
  set_service(job, "other");
  job->attended = true;
  fixture_add(job);
  fixture_drive(fixture.now_ms + SLACK_MS);
  assert_true(job->submissions[0].state != DX_ST_STORED);
}

/* Printed to one queue, released in another one: what was registered stays, and
 * its results go where they were to go. */
static void job_may_have_sources_of_two_sections(void **state)
{
  struct dx_job *job = fixture_job(2, false);
  char results[sizeof(fixture.results) + 8];
  struct dx_err err;

  (void)state;
  (void)snprintf(results, sizeof(results), "%s-other", fixture.results);
  assert_int_equal(mkdir(results, 0700), 0);
  fixture.other.results_dir = results;
  fixture.service_count = 2;
  fixture.processing_ms = 20 * S;
  fixture.latency_ms = 100;
  fixture_begin();
  while (job->submissions[0].state != DX_ST_UPLOADED)
    fixture_drive(fixture.now_ms + 1);
  dx_engine_free(&fixture.engine);
  assert_int_equal(job->submissions[1].state, DX_ST_STORED);
  set_service(job, "other");
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  job = fixture.jobs[0];
  assert_string_equal(job->submissions[0].section, "default");
  assert_string_equal(job->submissions[1].section, "other");
  assert_int_equal(fixture_processed(), 2);
  assert_int_equal(fixture_result_count(), 2);
}

/* ---- permission ---- */

static enum dx_permission answer; /* from the question `answer_from` on */
static int answer_from, answer_to;

static enum dx_permission answers(struct dx_job *job)
{
  assert_ptr_equal(job, fixture.jobs[0]);
  return fixture.asked >= answer_from && fixture.asked <= answer_to
             ? answer
             : DX_MAY_SEND;
}

/* Every answer from the nth question on is `permission`. */
static void answer_with(enum dx_permission permission, int nth)
{
  answer = permission;
  answer_from = nth;
  answer_to = INT_MAX;
  fixture.may_send = answers;
}

static void permission_is_requested_before_each_source_and_upload(void **state)
{
  (void)state;
  (void)fixture_job(2, false);
  answer_with(DX_MAY_SEND, 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.asked, 4);
  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(fixture_open(state), 0);
  (void)fixture_job(2, true);
  answer_with(DX_MAY_SEND, 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.asked, 3);
}

/* Queried every second, and continues when permitted. */
static void nothing_is_created_without_permission(void **state)
{
  static const enum dx_permission waits[] = {DX_MAY_WAIT, DX_MAY_ASK};
  size_t i;

  for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
    (void)fixture_job(1, false);
    answer_with(waits[i], 1);
    fixture_drive(fixture.now_ms + MIN);
    assert_int_equal(fixture.call_count, 0);
    assert_in_range(fixture.asked, 55, 62);
    answer_to = 0;
    assert_int_equal(fixture_drive_to_end(), DX_OK);
    assert_int_equal(fixture.count[POST], 1);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(fixture_open(state), 0);
  }
}

/* Although the source is there; what was uploaded is still fetched. */
static void nothing_is_uploaded_without_permission(void **state)
{
  (void)state;
  (void)fixture_job(2, false);
  answer_with(DX_MAY_WAIT, 4); /* two sources, one upload */
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(fixture.count[PUT], 1);
  assert_int_equal(fixture.count[EXTRACT], 1);
  answer_to = 0;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[PUT], 2);
  assert_int_equal(fixture_processed(), 2);
}

/* It may wait for longer than its URL lasts: one more source, and no more. */
static void delayed_upload_gets_a_new_source_once(void **state)
{
  (void)state;
  fixture.url_life_s = 300;
  (void)fixture_job(1, false);
  answer_with(DX_MAY_WAIT, 2);
  fixture_drive(fixture.now_ms + 60 * MIN);
  assert_int_equal(fixture.count[POST], 1);
  assert_int_equal(fixture.count[PUT], 0);
  answer_to = 0;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 2);
  assert_int_equal(fixture.count[PUT], 1);
}

static void canceled_job_is_not_sent(void **state)
{
  static const int posts[] = {0, 1};
  size_t i;

  for (i = 0; i < 2; i++) {
    (void)fixture_job(1, false);
    answer_with(DX_MAY_CANCEL, (int)i + 1);
    assert_int_equal(fixture_drive_to_end(), DX_E_CANCELED);
    assert_int_equal(fixture.count[POST], posts[i]);
    assert_int_equal(fixture.count[PUT], 0);
    assert_int_equal(fixture.jobs[0]->submissions[0].state, DX_ST_CANCELED);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(fixture_open(state), 0);
  }
}

/* Two sources and one upload; the second upload is not permitted. */
static void what_was_sent_of_a_canceled_held_print_job_is_fetched(void **state)
{
  (void)state;
  (void)fixture_job(2, false);
  answer_with(DX_MAY_CANCEL_UNSENT, 4);
  assert_int_equal(fixture_drive_to_end(), DX_E_CANCELED);
  assert_int_equal(fixture.count[PUT], 1);
  assert_int_equal(fixture.count[EXTRACT], 1);
  assert_int_equal(dx_job_count(fixture.jobs[0], DX_ST_EXTRACTED), 1);
  assert_int_equal(dx_job_count(fixture.jobs[0], DX_ST_CANCELED), 1);
}

/* Its response would come for something that is over. */
static void calls_in_progress_are_aborted_with_their_job(void **state)
{
  (void)state;
  fixture.latency_ms = 0;
  (void)fixture_job(2, false);
  answer_with(DX_MAY_CANCEL, 2);
  assert_int_equal(fixture_drive_to_end(), DX_E_CANCELED);
  assert_int_equal(fixture.count[POST], 1);
}

static enum dx_permission cancels_during_a_create(struct dx_job *job)
{
  const struct fixture_call *second;

  (void)job;
  if (fixture.count[POST] < 2)
    return DX_MAY_SEND;
  second = fixture_nth(POST, 2);
  if (second->ended_ms != 0)
    return DX_MAY_SEND;
  fixture.now_ms = second->began_ms + fixture.latency_ms; /* a slow disk */
  return DX_MAY_CANCEL_UNSENT;
}

/* Its response has arrived when its document is canceled, as another one asks.
 */
static void
create_that_ends_with_its_document_does_not_halt_the_job(void **state)
{
  (void)state;
  fixture.latency_ms = 1 * S; /* until then, the next call asks */
  (void)fixture_job(6, false);
  fixture.may_send = cancels_during_a_create;
  assert_int_equal(fixture_drive_to_end(), DX_E_CANCELED);
  assert_false(fixture.jobs[0]->is_halted);
  assert_int_equal(fixture.count[POST], 2);
  assert_in_range(dx_job_count(fixture.jobs[0], DX_ST_CANCELED), 5, 6);
  assert_int_equal(dx_job_count(fixture.jobs[0], DX_ST_EXTRACTED),
                   6 - dx_job_count(fixture.jobs[0], DX_ST_CANCELED));
}

static enum dx_permission cancels_with_a_full_disk(struct dx_job *job)
{
  (void)job;
  if (fixture.asked < 3) /* one source, one upload */
    return DX_MAY_SEND;
  fixture.failing_syncs = 1;
  return DX_MAY_CANCEL;
}

static bool uploads_slowly(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  ret->took_ms = 5 * S;
  ret->landed = true;
  return call->kind == PUT;
}

/* Although that cannot be recorded yet. */
static void upload_is_aborted_with_its_job(void **state)
{
  (void)state;
  (void)fixture_job(2, false);
  fixture.odd = uploads_slowly;
  fixture.may_send = cancels_with_a_full_disk;
  assert_int_equal(fixture_drive_to_end(), DX_E_CANCELED);
  assert_int_equal(fixture.count[PUT], 1);
  assert_int_equal(fixture_nth(PUT, 1)->status, 0);
  assert_int_equal(fixture.notes[DX_NOTE_LOCAL], 1);
}

static int64_t allowed_ms;

static enum dx_permission allows(struct dx_job *job)
{
  (void)job;
  allowed_ms = fixture.now_ms;
  return DX_MAY_SEND;
}

static bool is_allowed_at_that_moment(const struct fixture_call *call,
                                      struct fixture_response *ret)
{
  (void)ret;
  if (call->kind == POST || call->kind == PUT)
    assert_in_range(call->began_ms - allowed_ms, 0, 1); /* a turn */
  return false;
}

/* However many documents wait for a slot. */
static void permission_is_used_immediately(void **state)
{
  (void)state;
  (void)fixture_job(20, false);
  fixture.may_send = allows;
  fixture.odd = is_allowed_at_that_moment;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

/* While the first create, and the first upload, connect. */
static bool permission_ends(const struct fixture_call *call,
                            struct fixture_response *ret)
{
  (void)ret;
  if ((call->kind == POST || call->kind == PUT) && call->nth == 1)
    fixture.jobs[0]->drive->permit.stands = false;
  return false;
}

static void request_that_may_not_leave_asks_again(void **state)
{
  (void)state;
  (void)fixture_job(1, false);
  fixture.odd = permission_ends;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.asked, 4);
  assert_false(fixture_nth(POST, 1)->was_sent);
  assert_false(fixture_nth(PUT, 1)->was_sent);
  assert_true(fixture_nth(PUT, 2)->was_sent);
  assert_int_equal(fixture.count[PUT], 2);
}

/* What the backend has sent may be that its print job is canceled. */
static void nothing_leaves_before_the_backend_is_heard(void **state)
{
  struct dx_channel backend;
  int ends[2];
  char byte;

  (void)state;
  (void)fixture_job(1, false);
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  assert_int_equal(write(ends[1], "s", 1), 1);
  backend = (struct dx_channel)DX_CHANNEL_OF(ends[0]);
  fixture.heard = &backend;
  fixture_drive(fixture.now_ms + 10 * S);
  assert_true(fixture.count[POST] > 0);
  assert_false(fixture_nth(POST, fixture.count[POST])->was_sent);
  assert_int_equal(read(ends[0], &byte, 1), 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  (void)close(ends[0]);
  (void)close(ends[1]);
}

/* If its print job is canceled then, what was sent goes on. */
static void document_that_was_sent_does_not_ask(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture.processing_ms = 20 * S;
  fixture_begin();
  while (job->submissions[0].state != DX_ST_UPLOADED)
    fixture_drive(fixture.now_ms + 1);
  assert_null(job->drive->asking);
}

/* What cupsd said may have changed since then. */
static void permission_that_is_not_used_ends(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture_begin();
  job->drive->permit =
      (struct dx_permit){.until_ms = fixture.now_ms, .stands = true};
  answer_with(DX_MAY_WAIT, 1);
  fixture_drive(fixture.now_ms + 10 * S);
  assert_int_equal(fixture.count[POST], 0);
}

static void unwritten_journal_withholds_what_is_permitted(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture_begin();
  job->drive->permit =
      (struct dx_permit){.until_ms = INT64_MAX, .stands = true};
  job->dirty = true; /* what cupsd has said, for example */
  fixture.failing_syncs = 1;
  fixture_drive(fixture.now_ms + 10 * S);
  assert_int_equal(fixture.count[POST], 0);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

static void woken_job_requests_permission_immediately(void **state)
{
  struct dx_job *job = fixture_job(1, false);
  int64_t now_ms;

  (void)state;
  answer_with(DX_MAY_WAIT, 1);
  fixture_drive(fixture.now_ms + SLACK_MS);
  assert_int_equal(fixture.asked, 1);
  answer_to = 0;
  now_ms = fixture.now_ms;
  dx_engine_wake(job);
  fixture_drive(now_ms + SLACK_MS);
  assert_int_equal(fixture.count[PUT], 1);
}

static void job_can_be_released_between_calls(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture.latency_ms = 1000;
  fixture.processing_ms = 60 * S;
  fixture_drive(fixture.now_ms + 500);
  assert_int_equal(dx_engine_remove(fixture.engine, job), DX_E_BUSY);
  while (dx_engine_remove(fixture.engine, job) == DX_E_BUSY)
    fixture_drive(fixture.now_ms + 1);
  assert_false(job->dirty || job->behind);
  fixture_drive(fixture.now_ms + 10 * MIN);
  assert_int_equal(fixture.ended, 0);
  assert_int_equal(fixture.count[EXTRACT], 0);
  assert_int_equal(dx_engine_remove(fixture.engine, job), DX_OK);
  fixture_add(job);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 1);
}

/* Otherwise, the caller would lose what only this process knows. */
static void job_is_not_released_without_its_journal(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture_begin();
  job->behind = true;
  fixture.failing_syncs = 1;
  assert_int_equal(dx_engine_remove(fixture.engine, job), DX_E_IO);
  fixture.failing_syncs = 1; /* now it is dirty */
  assert_int_equal(dx_engine_remove(fixture.engine, job), DX_E_IO);
  assert_int_equal(dx_engine_remove(fixture.engine, job), DX_OK);
  assert_false(job->dirty);
}

/* When docextractd stops: of a job that waits, only its message may have
 * changed, and there may be thousands. What was sent is in the journal. */
static void stop_writes_only_what_must_be_durable(void **state)
{
  struct dx_job *waits = fixture_job(1, false), *sent = fixture_job(1, false);

  (void)state;
  fixture_begin();
  dx_submission_set_problem(&waits->submissions[0], DX_E_NET, "away", 0);
  dx_submission_set_problem(&sent->submissions[0], DX_E_NET, "away", 0);
  assert_true(waits->behind);
  sent->dirty = true;
  dx_engine_free(&fixture.engine);
  assert_false(journal_says(waits, "away"));
  assert_true(journal_says(sent, "away"));
  assert_false(sent->dirty);
}

/* For example, because its transition was not possible. */
static void halted_job_is_released_with_its_on_result(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  fixture_begin();
  dx_job_set_problem(job, DX_E_STATE, "not possible", 0);
  job->is_halted = true;
  job->submissions[0].hook_ms = 1;
  fixture_drive(fixture.now_ms + S);
  assert_int_equal(fixture.ended, 1);
  assert_null(job->drive->engine);
}

/* ---- what failed ---- */

static bool refuses_all(const struct fixture_call *call,
                        struct fixture_response *ret)
{
  ret->status = 415;
  return call->kind == POST;
}

#define FAILED "00000000000000000000000000000001-1.job.json"

static bool kills; /* between the manifest and the journal */

static void check_order(void)
{
  bool is_there = fixture_result_holds(FAILED, "\"failed\"");
  bool says = journal_says(fixture.jobs[0], "\"failed\"");

  if (says && !is_there)
    _exit(1);
  if (kills && is_there && !says)
    _exit(0);
}

static void failure_has_a_manifest_before_the_journal_records_it(void **state)
{
  int status = -1;
  pid_t pid;

  (void)state;
  (void)fixture_job(1, false);
  fixture.odd = refuses_all;
  pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    kills = true;
    fixture.on_sync = check_order;
    (void)fixture_drive_to_end();
    _exit(2);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_true(fixture_result_holds(FAILED, "\"failed\""));
  fixture_restart();
  assert_false(dx_job_is_final(fixture.jobs[0]));
  assert_int_equal(fixture_drive_to_end(), DX_E_REFUSED);
  assert_int_equal(fixture_result_count(), 1);
}

static bool refuses_the_first(const struct fixture_call *call,
                              struct fixture_response *ret)
{
  ret->status = 415;
  return call->kind == DX_CALL_CREATE && call->nth == 1;
}

/* A consumer that has taken the manifest away does not get it again when
 * docextractd is started again, while the other document is in progress. */
static void failure_is_reported_once(void **state)
{
  char name[120];

  (void)state;
  (void)fixture_job(2, false);
  fixture.odd = refuses_the_first;
  fixture.processing_ms = MIN;
  while (fixture.count[SOURCE] == 0)
    fixture_drive(fixture.now_ms + 100);
  (void)snprintf(name, sizeof(name), "%s/" FAILED, fixture.results);
  assert_int_equal(unlink(name), 0);
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_E_REFUSED);
  assert_int_equal(access(name, F_OK), -1);
  assert_int_equal(fixture_result_count(), 2); /* of the other document */
}

static char aside[80]; /* the results directory, while a file is there */

static void take_results_away(void)
{
  int fd;

  (void)snprintf(aside, sizeof(aside), "%s-aside", fixture.results);
  assert_int_equal(rename(fixture.results, aside), 0);
  fd = open(fixture.results, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  (void)close(fd);
}

static void bring_results_back(void)
{
  assert_int_equal(unlink(fixture.results), 0);
  assert_int_equal(rename(aside, fixture.results), 0);
}

static bool refuses_and_takes_results_away(const struct fixture_call *call,
                                           struct fixture_response *ret)
{
  if (call->kind == POST)
    take_results_away();
  return refuses_all(call, ret);
}

/* Its manifest is as little lost as a result. */
static void failure_waits_for_the_results_directory(void **state)
{
  (void)state;
  (void)fixture_job(1, false);
  fixture.odd = refuses_and_takes_results_away;
  fixture_drive(fixture.now_ms + 10 * MIN);
  assert_int_equal(fixture.ended, 0);
  assert_in_range(fixture.notes[DX_NOTE_LOCAL], 9, 11);
  assert_false(journal_says(fixture.jobs[0], "\"failed\""));
  bring_results_back();
  assert_int_equal(fixture_drive_to_end(), DX_E_REFUSED);
  assert_int_equal(fixture_result_count(), 1);
  assert_string_equal(dx_line(dx_job_problem(fixture.jobs[0])->text), "");
}

static bool takes_results_away_once(const struct fixture_call *call,
                                    struct fixture_response *ret)
{
  (void)ret;
  if (call->kind == POST && fixture.count[DX_CALL_CREATE] == 1)
    take_results_away();
  return false;
}

/* A result that cannot be delivered is not paid for. */
static void nothing_is_created_until_results_can_be_written(void **state)
{
  (void)state;
  (void)fixture_job(2, false);
  take_results_away();
  fixture_drive(fixture.now_ms + 10 * MIN);
  assert_int_equal(fixture.call_count, 0);
  assert_in_range(fixture.notes[DX_NOTE_LOCAL], 9, 11);
  bring_results_back();
  fixture.odd = takes_results_away_once;
  fixture_drive(fixture.now_ms + 10 * MIN);
  assert_int_equal(fixture.count[DX_CALL_CREATE], 1);
  bring_results_back();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[DX_CALL_CREATE], 2);
}

static bool is_full, is_unreadable;

enum dx_code __real_dx_fs_check_free(int dirfd, struct dx_err *err);
enum dx_code __wrap_dx_fs_check_free(int dirfd, struct dx_err *err);
enum dx_code __wrap_dx_fs_check_free(int dirfd, struct dx_err *err)
{
  return is_full ? dx_fail(err, DX_E_SPACE, ENOSPC, "full")
                 : __real_dx_fs_check_free(dirfd, err);
}

enum dx_code __real_dx_check_result(FILE *in,
                                    const struct dx_http_response *response,
                                    const char *source_id, const char *case_id,
                                    bool *ret_is_empty, struct dx_err *err);
enum dx_code __wrap_dx_check_result(FILE *in,
                                    const struct dx_http_response *response,
                                    const char *source_id, const char *case_id,
                                    bool *ret_is_empty, struct dx_err *err);
/* Reading a directory fails, as reading from a broken disk does. */
enum dx_code __wrap_dx_check_result(FILE *in,
                                    const struct dx_http_response *response,
                                    const char *source_id, const char *case_id,
                                    bool *ret_is_empty, struct dx_err *err)
{
  if (is_unreadable)
    assert_true(dup2(fixture.spool.dirfd, fileno(in)) >= 0);
  is_unreadable = false;
  return __real_dx_check_result(in, response, source_id, case_id, ret_is_empty,
                                err);
}

static void result_is_not_fetched_to_a_full_disk(void **state)
{
  (void)state;
  (void)fixture_job(1, false);
  is_full = true;
  fixture_drive(fixture.now_ms + 10 * MIN);
  is_full = false;
  assert_int_equal(fixture.count[DX_CALL_EXTRACT], 0);
  assert_true(fixture.notes[DX_NOTE_LOCAL] > 0);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[DX_CALL_EXTRACT], 1);
}

/* The problem is here, not at the service. */
static void result_that_cannot_be_read_back_is_fetched_again(void **state)
{
  (void)state;
  (void)fixture_job(1, false);
  is_unreadable = true;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.notes[DX_NOTE_LOCAL], 1);
  assert_int_equal(fixture.count[DX_CALL_EXTRACT], 2);
}

/* With `docextract cancel`: a manifest reports it. */
static void cancel_in_cups_leaves_no_manifest(void **state)
{
  static char program[] = "/bin/true";
  struct dx_job *job;
  int in_cups;

  for (in_cups = 0; in_cups < 2; in_cups++) {
    fixture.service.on_result = program;
    job = fixture_job(1, false);
    job->print.final = in_cups ? DX_FINAL_CANCELED : DX_FINAL_NONE;
    answer_with(DX_MAY_CANCEL, 1);
    assert_int_equal(fixture_drive_to_end(), DX_E_CANCELED);
    assert_int_equal(fixture_result_count(), !in_cups);
    assert_int_equal(dx_job_awaits_hook(job), !in_cups);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(fixture_open(state), 0);
  }
}

/* The backend has refused it: the engine has nothing to do but to tell. */
/* As the administrator cancels a stored job. */
static void job_that_ended_before_it_was_added_gets_a_manifest(void **state)
{
  struct dx_job *job = fixture_job(1, false);

  (void)state;
  dx_job_end(job, DX_EV_EXPIRE);
  (void)fixture_drive_to_end();
  assert_true(fixture_result_holds(FAILED, "\"failed\""));
}

static void earlier_refusal_gets_a_manifest(void **state)
{
  struct dx_job *job = fixture_job(1, false);
  struct dx_err err;

  (void)state;
  dx_submission_end(&job->submissions[0], DX_EV_REFUSE, DX_E_DOCUMENT, "why");
  job->submissions[0].failed_at = 0; /* as dx_job_plan() does */
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(fixture_drive_to_end(), DX_E_DOCUMENT);
  assert_true(fixture_result_holds(FAILED, "\"failed\""));
}

int main(void)
{
#define ON_STAGE(test) \
  cmocka_unit_test_setup_teardown(test, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
      ON_STAGE(document_is_extracted_once),
      ON_STAGE(extracted_job_makes_no_more_calls),
      ON_STAGE(storage_problem_is_cleared),
      ON_STAGE(document_costs_few_fsyncs),
      ON_STAGE(case_costs_few_fsyncs),
      ON_STAGE(first_case_does_not_wait_for_the_last),
      ON_STAGE(result_is_delivered_after_its_digest_is_saved),
      ON_STAGE(many_cases_are_fetched_at_the_rate),
      ON_STAGE(journal_is_written_within_its_delay),
      ON_STAGE(large_journal_has_a_longer_delay),
      ON_STAGE(documents_of_a_large_job_share_the_journal),
      ON_STAGE(slow_disk_delays_no_call),
      ON_STAGE(slow_disk_does_not_delay_the_end),
      ON_STAGE(one_refused_document_does_not_stop_the_others),
      ON_STAGE(slow_upload_does_not_delay_the_others),
      ON_STAGE(uploads_leave_no_descriptor_open),
      ON_STAGE(document_that_is_replaced_by_a_link_is_not_sent),
      ON_STAGE(four_documents_are_uploaded_at_once),
      ON_STAGE(one_rejected_create_does_not_stop_the_others),
      ON_STAGE(grouped_documents_are_one_source),
      ON_STAGE(files_of_a_source_share_the_journal),
      ON_STAGE(slow_case_does_not_delay_the_others),
      ON_STAGE(only_the_missing_cases_are_fetched_after_a_crash),
      ON_STAGE(manifest_has_the_time_of_the_last_result),
      ON_STAGE(source_without_cases_is_extracted),
      ON_STAGE(many_documents_keep_the_rate_limit),
      ON_STAGE(slow_connections_keep_the_rate_limit),
      ON_STAGE(two_sections_of_a_host_keep_the_rate_limit_together),
      ON_STAGE(job_that_waits_longest_is_sent_first),
      ON_STAGE(attended_create_comes_before_polls_of_another_section),
      ON_STAGE(job_may_have_sources_of_two_sections),
      ON_STAGE(permission_is_requested_before_each_source_and_upload),
      ON_STAGE(nothing_is_created_without_permission),
      ON_STAGE(nothing_is_uploaded_without_permission),
      ON_STAGE(delayed_upload_gets_a_new_source_once),
      ON_STAGE(canceled_job_is_not_sent),
      ON_STAGE(what_was_sent_of_a_canceled_held_print_job_is_fetched),
      ON_STAGE(calls_in_progress_are_aborted_with_their_job),
      ON_STAGE(create_that_ends_with_its_document_does_not_halt_the_job),
      ON_STAGE(upload_is_aborted_with_its_job),
      ON_STAGE(permission_is_used_immediately),
      ON_STAGE(request_that_may_not_leave_asks_again),
      ON_STAGE(nothing_leaves_before_the_backend_is_heard),
      ON_STAGE(document_that_was_sent_does_not_ask),
      ON_STAGE(permission_that_is_not_used_ends),
      ON_STAGE(unwritten_journal_withholds_what_is_permitted),
      ON_STAGE(woken_job_requests_permission_immediately),
      ON_STAGE(job_can_be_released_between_calls),
      ON_STAGE(halted_job_is_released_with_its_on_result),
      ON_STAGE(job_is_not_released_without_its_journal),
      ON_STAGE(stop_writes_only_what_must_be_durable),
      ON_STAGE(failure_has_a_manifest_before_the_journal_records_it),
      ON_STAGE(failure_is_reported_once),
      ON_STAGE(failure_waits_for_the_results_directory),
      ON_STAGE(nothing_is_created_until_results_can_be_written),
      ON_STAGE(result_is_not_fetched_to_a_full_disk),
      ON_STAGE(result_that_cannot_be_read_back_is_fetched_again),
      ON_STAGE(cancel_in_cups_leaves_no_manifest),
      ON_STAGE(job_that_ended_before_it_was_added_gets_a_manifest),
      ON_STAGE(earlier_refusal_gets_a_manifest),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
