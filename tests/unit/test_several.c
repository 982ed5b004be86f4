/*
 * test_several.c - several documents of one service: what is wrong with one of
 * them does not delay the others, and what is wrong with the service ends none
 * (doc/policy.md, "Who is to blame", "Breakers").
 */
#include "tests/unit/engine_fixture.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct dx_err err;

/* Adds a job to the engine that runs. */
static struct dx_job *arrive(struct dx_job *job)
{
  fixture_add(job);
  return job;
}

static void begin_again(void)
{
  assert_int_equal(fixture_close(NULL), 0);
  assert_int_equal(fixture_open(NULL), 0);
}

static int calls_of(const char *name, enum dx_call_kind kind)
{
  size_t i;
  int n = 0;

  for (i = 0; i < fixture.call_count; i++)
    n += fixture.calls[i].kind == kind &&
         strcmp(fixture.calls[i].name, name) == 0;
  return n;
}

/* The nth call of this kind about this document, from 1; NULL: none. */
static const struct fixture_call *nth_of(const char *name,
                                         enum dx_call_kind kind, int nth)
{
  size_t i;

  for (i = 0; i < fixture.call_count; i++)
    if (fixture.calls[i].kind == kind &&
        strcmp(fixture.calls[i].name, name) == 0 && --nth == 0)
      return &fixture.calls[i];
  return NULL;
}

static bool is_bad(const char *name)
{
  return strncmp(name, "bad", 3) == 0;
}

static bool is_extracted(const struct dx_job *job)
{
  return job->submissions[0].state == DX_ST_EXTRACTED;
}

static int extracted(void)
{
  int i, n = 0;

  for (i = 0; i < fixture.job_count; i++)
    n += is_extracted(fixture.jobs[i]);
  return n;
}

/* ---- creates are lost, polls succeed ---- */

static int64_t until_ms; /* of what the service does wrong */

static bool loses_creates(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  ret->code = DX_E_NET;
  ret->landed = true;
  return call->kind == POST && call->nth > 3 && call->began_ms < until_ms;
}

/* An unfilled source is not processed, but each create costs one. */
static void lost_creates_pause_for_all_while_polls_go_on(void **state)
{
  const struct fixture_call *last = NULL;
  int64_t from_ms, lost = 0;
  int i, polls, polls_alone;

  (void)state;
  fixture.processing_ms = 90 * MIN;
  (void)fixture_job(3, false);
  fixture_drive(FIXTURE_BEGIN_MS + 60 * MIN);
  polls_alone = fixture.count[SOURCE];
  begin_again();
  fixture.odd = loses_creates;
  fixture.processing_ms = 90 * MIN;
  until_ms = FIXTURE_BEGIN_MS + 60 * MIN;
  for (i = 0; i < 20; i++)
    (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 5 * MIN);
  from_ms = fixture.now_ms;
  fixture_drive(until_ms);
  polls = fixture.count[SOURCE];
  for (i = 1; i <= fixture.count[POST]; i++) {
    const struct fixture_call *call = fixture_nth(POST, i);

    if (call->began_ms < from_ms)
      continue;
    if (last != NULL)
      assert_in_range(fixture_gap_ms(last, call), MIN, MIN + SLACK_MS);
    last = call;
    lost++;
  }
  assert_in_range(lost, 53, 56);
  /* As for three sources without any trouble; the schedule is random. */
  assert_in_range(polls, polls_alone * 7 / 10, polls_alone * 2);
  assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 3);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(extracted(), 20);
  assert_int_equal(fixture_processed(), 20);
  /* The first 20 at once, and then 5, 10, 20, 40 s, ... */
  assert_in_range(fixture.count[POST], 20 + 5 + 60, 20 + 12 + 66);
}

static bool fails_creates(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  ret->status = 502;
  return call->kind == POST && call->began_ms < until_ms;
}

/* What waited for the outage is due when it is over. */
static void all_are_due_when_a_breaker_closes(void **state)
{
  int64_t closed_ms = 0;
  int i;

  (void)state;
  fixture.odd = fails_creates;
  until_ms = FIXTURE_BEGIN_MS + 30 * MIN;
  for (i = 0; i < 20; i++)
    (void)fixture_job(1, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(extracted(), 20);
  for (i = 1; closed_ms == 0; i++)
    if (fixture_nth(POST, i)->status == 201)
      closed_ms = fixture_nth(POST, i)->ended_ms;
  assert_true(closed_ms < until_ms + MIN + SLACK_MS);
  assert_true(fixture.now_ms < closed_ms + 15 * S);
}

/* ---- too many calls ---- */

static bool refuses_polls(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  ret->status = 429;
  return call->kind == SOURCE && call->began_ms < until_ms;
}

/* Although each create that succeeds ends the backoff of the rate limit. */
static void refused_polls_are_probed_while_creates_succeed(void **state)
{
  int i, polls;

  (void)state;
  fixture.odd = refuses_polls;
  until_ms = FIXTURE_BEGIN_MS + 35 * MIN;
  for (i = 0; i < 10; i++)
    (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 5 * MIN);
  polls = fixture.count[SOURCE];
  for (i = 0; i < 30; i++) {
    (void)arrive(fixture_job(1, false));
    fixture_drive(fixture.now_ms + MIN);
  }
  assert_int_equal(fixture.count[POST], 40);
  assert_in_range(fixture.count[SOURCE] - polls, 25, 35);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(extracted(), 40);
  assert_true(fixture.now_ms < until_ms + 2 * MIN + 15 * S);
}

static struct fixture_response refusal;

static bool refuses_the_other(const struct fixture_call *call,
                              struct fixture_response *ret)
{
  *ret = refusal;
  return call->kind != PUT &&
         strcmp(fixture.jobs[call->job - 1]->service, "other") == 0;
}

static struct dx_job *to_other(struct dx_job *job)
{
  free(job->service);
  job->service = strdup("other");
  return job;
}

static void arrive_at_other(void)
{
  (void)arrive(to_other(fixture_job(1, false)));
}

/* The pauses are those of the host, but after each of them the calls of a
 * section that is not refused come first. At most three of its steps wait. */
static void refused_section_does_not_hold_up_another(void **state)
{
  static const struct fixture_response refusals[] = {
      {.status = 503, .retry_after = "30"},
      {.status = 429, .retry_after = "30"},
      {.status = 429},
  };
  static const int counts[] = {1, 10};
  size_t i, k;
  int n;

  (void)state;
  for (i = 0; i < COUNT(refusals); i++)
    for (k = 0; k < COUNT(counts); k++) {
      begin_again();
      fixture.service_count = 2;
      fixture.processing_ms = 5 * S;
      fixture.odd = refuses_the_other;
      refusal = refusals[i];
      fixture_begin();
      for (n = 0; n < counts[k]; n++)
        arrive_at_other();
      fixture_drive(fixture.now_ms + 5 * MIN);
      for (n = 0; n < 10; n++) {
        const struct dx_job *job = arrive(fixture_job(1, false));
        int64_t from_ms = fixture.now_ms;
        while (!is_extracted(job) && fixture.now_ms < from_ms + 60 * MIN)
          fixture_drive(fixture.now_ms + S);
        assert_true(fixture.now_ms <= from_ms + 120 * S);
        arrive_at_other();
      }
      assert_int_equal(extracted(), 10);
    }
}

/* Its create is due at the end of each pause, and would come before the polls
 * of the other section, for ever. */
static void refused_section_has_no_precedence(void **state)
{
  const struct dx_job *job;

  (void)state;
  fixture.service_count = 2;
  fixture.processing_ms = 5 * S;
  fixture.odd = refuses_the_other;
  refusal = (struct fixture_response){.status = 503, .retry_after = "120"};
  fixture_begin();
  arrive_at_other();
  fixture_drive(FIXTURE_BEGIN_MS + MIN);
  job = arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 7 * MIN);
  assert_true(is_extracted(job));
}

/* ---- one document ---- */

static bool spoils_a_result(const struct fixture_call *call,
                            struct fixture_response *ret)
{
  ret->status = 200;
  ret->body = "<html>";
  return call->kind == EXTRACT && is_bad(call->name);
}

/* Not even on a quiet host, for hours. */
static void one_bad_result_delays_no_other(void **state)
{
  int64_t arrived_ms, alone_ms;
  struct dx_job *job;
  int i;

  (void)state;
  (void)fixture_job(1, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  alone_ms = fixture.now_ms - FIXTURE_BEGIN_MS;
  begin_again();
  fixture.odd = spoils_a_result;
  (void)fixture_named("bad.pdf");
  (void)fixture_named("bad2.pdf");
  fixture_begin();
  for (i = 0; i < 24; i++) {
    fixture_drive(fixture.now_ms + 10 * MIN);
    job = arrive(fixture_job(1, false));
    arrived_ms = fixture.now_ms;
    while (!is_extracted(job))
      fixture_drive(fixture.now_ms + 10);
    assert_in_range(fixture.now_ms - arrived_ms, 0, alone_ms + S);
  }
  assert_int_equal(fixture.notes[DX_NOTE_DOWN], 0);
  fixture.odd = NULL;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(extracted(), 26);
}

static int bad_status;

static bool rejects_the_bad(const struct fixture_call *call,
                            struct fixture_response *ret)
{
  ret->status = bad_status;
  return call->kind == POST && is_bad(call->name);
}

/* After three attempts, and ten minutes, if others are accepted. */
static void rejected_document_is_refused_if_others_are_accepted(void **state)
{
  static const int statuses[] = {400, 402, 407, 409, 418, 421, 423, 426, 451};
  const struct dx_submission *bad;
  struct dx_job *job;
  char text[32];
  size_t k;
  int i;

  (void)state;
  for (k = 0; k < COUNT(statuses); k++) {
    begin_again();
    bad_status = statuses[k];
    fixture.odd = rejects_the_bad;
    bad = &fixture_named("bad.pdf")->submissions[0];
    fixture_begin();
    for (i = 0; i < 20; i++) {
      fixture_drive(fixture.now_ms + MIN);
      if (dx_state_is_final(bad->state))
        break;
      job = arrive(fixture_job(1, false));
      fixture_drive(fixture.now_ms + 5 * S);
      assert_true(is_extracted(job));
      assert_int_equal(bad->problem.code, DX_E_REJECTED);
    }
    assert_int_equal(bad->state, DX_ST_FAILED);
    assert_int_equal(bad->code, DX_E_REFUSED);
    (void)snprintf(text, sizeof(text), "responded with %d", bad_status);
    assert_non_null(strstr(dx_line(bad->reason), text));
    /* At 0, 30 s, 90 s, 3.5, 7.5, and 15.5 min. */
    assert_int_equal(calls_of("bad.pdf", POST), 6);
    assert_in_range(nth_of("bad.pdf", POST, 6)->began_ms,
                    FIXTURE_BEGIN_MS + 10 * MIN, FIXTURE_BEGIN_MS + 16 * MIN);
    assert_int_equal(extracted(), fixture.job_count - 1);
  }
}

/* Alone, it may be the installation: it is tried every ten minutes. */
static void rejected_document_waits_if_no_other_is_accepted(void **state)
{
  const struct dx_submission *bad;

  (void)state;
  bad_status = 400;
  fixture.odd = rejects_the_bad;
  (void)fixture_job(1, false); /* accepted before */
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  bad = &arrive(fixture_named("bad.pdf"))->submissions[0];
  fixture_drive(fixture.now_ms + FIXTURE_DAY_MS);
  assert_int_equal(bad->state, DX_ST_STORED);
  assert_in_range(calls_of("bad.pdf", POST), 144, 150);
  (void)arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 10 * MIN + S);
  assert_int_equal(bad->state, DX_ST_FAILED);
}

/* Another section, of the same host, shows nothing. */
static void create_of_another_section_is_no_evidence(void **state)
{
  const struct dx_submission *bad;
  int i;

  (void)state;
  bad_status = 400;
  fixture.service_count = 2;
  fixture.odd = rejects_the_bad;
  bad = &fixture_named("bad.pdf")->submissions[0];
  fixture_begin();
  for (i = 0; i < 10; i++) {
    fixture_drive(fixture.now_ms + 6 * MIN);
    arrive_at_other();
  }
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(extracted(), 10);
  assert_int_equal(bad->state, DX_ST_STORED);
}

/* ---- the installation ---- */

static bool rejects_all(const struct fixture_call *call,
                        struct fixture_response *ret)
{
  ret->status = bad_status;
  return call->kind == POST && call->began_ms < until_ms;
}

/* Nothing ends, and nothing is to be enabled afterwards. */
static void rejections_of_all_end_nothing(void **state)
{
  static const int statuses[] = {404, 403, 302, 405, 402, 407,
                                 421, 426, 451, 400, 409, 423};
  static const int64_t times[] = {40 * S, 20 * MIN};
  static const int charts[] = {1, 2, 20};
  size_t i, k, m;
  int n;

  (void)state;
  for (i = 0; i < COUNT(statuses); i++)
    for (k = 0; k < COUNT(times); k++)
      for (m = 0; m < COUNT(charts); m++) {
        begin_again();
        bad_status = statuses[i];
        print_message("status %d\n", bad_status); /* if it fails */
        until_ms = FIXTURE_BEGIN_MS + times[k];
        fixture.odd = rejects_all;
        for (n = 0; n < charts[m]; n++)
          (void)fixture_job(1, false);
        fixture_drive(until_ms);
        assert_int_equal(fixture.ended, 0);
        assert_int_equal(fixture.count[PUT], 0);
        for (n = 0; n < charts[m]; n++)
          if (!dx_problem_needs_admin(dx_job_problem(fixture.jobs[n])))
            fail_msg("%d: chart %d of %d: '%s'", bad_status, n, charts[m],
                     dx_line(dx_job_problem(fixture.jobs[n])->text));
        assert_int_equal(fixture_drive_to_end(), DX_OK);
        assert_int_equal(extracted(), charts[m]);
        assert_true(fixture.now_ms <= until_ms + 10 * MIN + 15 * S);
        if (fixture.count[POST] > 30 + charts[m])
          fail_msg("%d: %d creates for %d charts", bad_status,
                   fixture.count[POST], charts[m]);
      }
}

/* 30 s, doubling to 10 min, each time by the one that was tried longest ago. */
static void rejected_section_is_tried_by_one_at_a_time(void **state)
{
  static const int64_t waits[] = {30 * S,  MIN,     2 * MIN,
                                  4 * MIN, 8 * MIN, 10 * MIN};
  char name[FIXTURE_NAME_BYTES];
  int i, first = 3;

  (void)state;
  bad_status = 404;
  until_ms = INT64_MAX;
  fixture.odd = rejects_all;
  for (i = 0; i < 10; i++) {
    (void)snprintf(name, sizeof(name), "c%d.pdf", i);
    (void)fixture_named(name);
  }
  fixture_drive(FIXTURE_BEGIN_MS + 2 * 60 * MIN);
  assert_in_range(fixture.count[POST], 2 + 5 + 10, 2 + 5 + 11);
  for (i = first; i <= fixture.count[POST]; i++)
    assert_in_range(
        fixture_gap_ms(fixture_nth(POST, i - 1), fixture_nth(POST, i)),
        waits[i - first < 5 ? i - first : 5],
        waits[i - first < 5 ? i - first : 5] + SLACK_MS);
  for (i = 1; i + 10 <= fixture.count[POST]; i++)
    assert_string_equal(fixture_nth(POST, i)->name,
                        fixture_nth(POST, i + 10)->name);
  for (i = 2; i <= 10; i++)
    assert_string_not_equal(fixture_nth(POST, 1)->name,
                            fixture_nth(POST, i)->name);
}

static char told[4096]; /* by hello */

static void tell(void *ctx, const char *line)
{
  size_t len = strlen(ctx);

  (void)snprintf(told + len, sizeof(told) - len, "%s\n", line);
}

static void check_hello(const char *line)
{
  told[0] = '\0';
  assert_int_equal(dx_engine_hello(fixture.engine, "default", tell, told, &err),
                   DX_OK);
  while (strstr(told, "\ndone ") == NULL && strstr(told, "\nerror ") == NULL)
    fixture_run(1000);
  if (strstr(told, line) == NULL)
    fail_msg("no '%s' in: %s", line, told);
}

/* A single chart may be rejected because of itself. */
static void hello_fails_while_the_section_is_rejected(void **state)
{
  (void)state;
  bad_status = 403;
  until_ms = FIXTURE_BEGIN_MS + MIN;
  fixture.odd = rejects_all;
  (void)fixture_job(1, false);
  fixture_drive(fixture.now_ms + 5 * S);
  check_hello("\ndone ");
  (void)arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 40 * S);
  check_hello("\nerror E_");
  check_hello(" the service rejects documents, although this test succeeds: ");
  check_hello("; then run: docextract retry --all\n");
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  check_hello("\ndone ");
}

static void hello_says_once_that_results_cannot_be_written(void **state)
{
  const char *dir = fixture.service.results_dir;
  struct dx_job *job;

  (void)state;
  fixture.service.results_dir = "/nonexistent/results";
  job = fixture_job(1, false);
  fixture_drive(fixture.now_ms + 5 * S);
  assert_non_null(dx_job_problem(job)->text);
  check_hello("\nerror E_IO results cannot be written; see the warning\n");
  assert_null(strstr(told, "although this test succeeds"));
  fixture.service.results_dir = dir;
}

/* A bad document does not keep the others waiting for ever. */
static bool rejects_all_and_then_the_bad(const struct fixture_call *call,
                                         struct fixture_response *ret)
{
  return rejects_all(call, ret) || rejects_the_bad(call, ret);
}

static void bad_document_does_not_keep_its_section_paused(void **state)
{
  int i;

  (void)state;
  bad_status = 400;
  until_ms = FIXTURE_BEGIN_MS + 60 * MIN;
  fixture.odd = rejects_all_and_then_the_bad;
  (void)fixture_named("bad.pdf");
  (void)fixture_named("bad2.pdf");
  for (i = 0; i < 6; i++)
    (void)fixture_job(1, false);
  fixture_drive(until_ms + 30 * MIN);
  assert_int_equal(extracted(), 6);
  assert_int_equal(fixture_drive_to_end(), DX_E_REFUSED);
}

/* At most every 30 s, however many arrive. */
static void arriving_documents_cause_few_attempts(void **state)
{
  int i, before;

  (void)state;
  bad_status = 403;
  until_ms = INT64_MAX;
  fixture.odd = rejects_all;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 60 * MIN);
  before = fixture.count[POST];
  for (i = 0; i < 24; i++) {
    (void)arrive(fixture_job(1, false));
    fixture_drive(fixture.now_ms + 5 * S);
  }
  assert_in_range(fixture.count[POST] - before, 4, 5); /* in two minutes */
  for (i = before + 1; i < fixture.count[POST]; i++)
    assert_in_range(
        fixture_gap_ms(fixture_nth(POST, i), fixture_nth(POST, i + 1)), 30 * S,
        35 * S + SLACK_MS);
  fixture.odd = NULL; /* solved: the next one shows it */
  (void)arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 35 * S);
  assert_int_equal(extracted(), fixture.job_count);
}

static void hurried_job_is_tried_immediately(void **state)
{
  static const int statuses[] = {404, 403, 400, 503};
  int64_t now_ms;
  size_t i;
  int charts, n;

  (void)state;
  for (i = 0; i < COUNT(statuses); i++)
    for (charts = 1; charts <= 6; charts += 5) {
      begin_again();
      bad_status = statuses[i];
      print_message("status %d\n", bad_status); /* if it fails */
      until_ms = INT64_MAX;
      fixture.odd = rejects_all;
      for (n = 1; n < charts; n++)
        (void)fixture_job(1, false);
      (void)fixture_named("hurried.pdf");
      fixture_drive(FIXTURE_BEGIN_MS + 60 * MIN);
      n = fixture.count[POST];
      now_ms = fixture.now_ms;
      dx_engine_hurry(fixture.engine, fixture.jobs[charts - 1]);
      fixture_drive(now_ms + SLACK_MS);
      assert_int_equal(fixture.count[POST], n + 1);
      assert_string_equal(fixture_nth(POST, n + 1)->name, "hurried.pdf");
      dx_engine_hurry(fixture.engine, fixture.jobs[charts - 1]);
      fixture.odd = NULL;
      fixture_drive(now_ms + 10 * S);
      assert_int_equal(extracted(), charts);
    }
}

static enum dx_code first_failure, then_failure;

static bool fails_in_two_ways(const struct fixture_call *call,
                              struct fixture_response *ret)
{
  ret->code = call->began_ms < until_ms ? first_failure : then_failure;
  ret->not_sent = true;
  return true;
}

/* For ten minutes in the first way. */
static void fail_in_two_ways(enum dx_code first, enum dx_code then)
{
  first_failure = first;
  then_failure = then;
  fixture.odd = fails_in_two_ways;
  until_ms = FIXTURE_BEGIN_MS + 10 * MIN;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
}

/* The probe shows nothing about the outage, and the only document that is left
 * does not pause its section. */
static void probe_that_is_rejected_has_the_waits_of_a_rejection(void **state)
{
  int before;

  (void)state;
  fail_in_two_ways(DX_E_NET, DX_E_CERT);
  fixture_drive(FIXTURE_BEGIN_MS + 5 * MIN);
  dx_job_end(fixture.jobs[1], DX_EV_CANCEL);
  dx_engine_wake(fixture.jobs[1]);
  fixture_drive(until_ms);
  before = fixture.count[POST];
  fixture_drive(until_ms + 60 * MIN);
  assert_in_range(fixture.count[POST] - before, 8, 10);
}

/* And that of a failure, after rejections. */
static void probe_that_is_cut_off_has_the_waits_of_a_failure(void **state)
{
  int before;

  (void)state;
  fail_in_two_ways(DX_E_CERT, DX_E_NET);
  fixture_drive(until_ms);
  (void)arrive(fixture_job(1, false)); /* was never rejected */
  before = fixture.count[POST];
  fixture_drive(until_ms + 60 * MIN);
  assert_in_range(fixture.count[POST] - before, 50, 130);
}

/* The create of one document always fails, and those of all others for some
 * time. */
static int64_t from_ms;
static bool is_down_or_bad(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  ret->status = call->began_ms < from_ms && !is_bad(call->name) ? 403 : 503;
  return call->kind == POST &&
         (is_bad(call->name) || call->began_ms < until_ms);
}

/* One that always fails in one section delays neither another section that was
 * down, nor those of its own that were rejected. */
static void document_that_always_fails_is_not_the_only_probe(void **state)
{
  (void)state;
  fixture.odd = is_down_or_bad;
  from_ms = FIXTURE_BEGIN_MS + 3 * MIN;
  until_ms = FIXTURE_BEGIN_MS + 10 * MIN;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture_drive(from_ms);
  (void)arrive(fixture_named("bad.pdf"));
  fixture_drive(until_ms + 15 * MIN);
  assert_int_equal(extracted(), 2);
}

static void document_that_always_fails_delays_no_other_section(void **state)
{
  (void)state;
  fixture.service_count = 2;
  fixture.odd = is_down_or_bad;
  from_ms = 0;
  until_ms = FIXTURE_BEGIN_MS + 10 * MIN;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture_begin();
  (void)arrive(to_other(fixture_named("bad.pdf")));
  fixture_drive(until_ms + 5 * MIN);
  assert_int_equal(extracted(), 2);
}

/* ---- GETs are rejected ---- */

static bool rejects_gets(const struct fixture_call *call,
                         struct fixture_response *ret)
{
  ret->status = bad_status;
  return (call->kind == SOURCE || call->kind == EXTRACT) &&
         call->began_ms >= FIXTURE_BEGIN_MS + 2 * MIN &&
         call->began_ms < until_ms;
}

/* It was uploaded, and nothing is uploaded again. */
static void rejected_polls_end_nothing(void **state)
{
  static const int statuses[] = {404, 410, 403, 302, 405};
  static const int charts[] = {1, 2, 20};
  size_t i, m;
  int n;

  (void)state;
  for (i = 0; i < COUNT(statuses); i++)
    for (m = 0; m < COUNT(charts); m++) {
      begin_again();
      bad_status = statuses[i];
      print_message("status %d\n", bad_status); /* if it fails */
      until_ms = FIXTURE_BEGIN_MS + 22 * MIN;
      fixture.odd = rejects_gets;
      fixture.processing_ms = 5 * MIN;
      for (n = 0; n < charts[m]; n++)
        (void)fixture_job(1, false);
      fixture_drive(until_ms);
      assert_int_equal(fixture.ended, 0);
      assert_int_equal(fixture_drive_to_end(), DX_OK);
      assert_int_equal(extracted(), charts[m]);
      assert_int_equal(fixture.count[POST], charts[m]);
      assert_int_equal(fixture.count[PUT], charts[m]);
      assert_true(fixture.now_ms <= until_ms + 10 * MIN + 15 * S);
      assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 0);
    }
}

/* ---- failed ---- */

static bool always_fails(const char *name, int64_t at_ms)
{
  (void)at_ms;
  return is_bad(name);
}

/* Others are extracted: it is the document. */
static void failed_document_has_failed_after_three_start_overs(void **state)
{
  static const int64_t waits[] = {5 * S, 30 * S, 120 * S};
  const struct dx_submission *bad;
  int i;

  (void)state;
  fixture.fails = always_fails;
  bad = &fixture_named("bad.pdf")->submissions[0];
  fixture_begin();
  fixture_drive(fixture.now_ms + 20 * S);
  (void)arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 10 * MIN);
  assert_int_equal(extracted(), 1);
  assert_int_equal(bad->state, DX_ST_FAILED);
  assert_int_equal(bad->code, DX_E_FAILED);
  assert_int_equal(calls_of("bad.pdf", POST), 4);
  assert_int_equal(calls_of("bad.pdf", PUT), 4);
  for (i = 0; i < 3; i++)
    assert_in_range(fixture_gap_ms(nth_of("bad.pdf", SOURCE, i + 1),
                                   nth_of("bad.pdf", POST, i + 2)),
                    waits[i], waits[i] + SLACK_MS);
}

/* What was extracted before its first failure shows nothing. */
static void earlier_extraction_is_no_evidence(void **state)
{
  const struct dx_submission *bad;

  (void)state;
  fixture.fails = always_fails;
  (void)fixture_job(1, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  bad = &arrive(fixture_named("bad.pdf"))->submissions[0];
  fixture_drive(fixture.now_ms + 60 * MIN);
  assert_int_equal(bad->state, DX_ST_STORED);
  assert_int_equal(calls_of("bad.pdf", POST), 5); /* the next after an hour */
  (void)arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 60 * MIN);
  assert_int_equal(bad->state, DX_ST_FAILED);
  assert_int_equal(calls_of("bad.pdf", POST), 6);
}

static bool fails_until(const char *name, int64_t at_ms)
{
  (void)name;
  return at_ms < until_ms;
}

/* An outage of the extraction: one at a time starts over, 10 min doubling to
 * 4 h, and none ends. */
static void outage_of_the_extraction_ends_nothing(void **state)
{
  int64_t failing_from_ms;
  int i, posts;

  (void)state;
  fixture.fails = fails_until;
  until_ms = FIXTURE_BEGIN_MS + 8 * 60 * MIN;
  for (i = 0; i < 12; i++)
    (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 5 * MIN);
  /* Each one once; the first to fail may start over before the second. */
  assert_in_range(fixture.count[POST], 12, 13);
  failing_from_ms = fixture_nth(SOURCE, 1)->ended_ms;
  posts = fixture.count[POST];
  fixture_drive(until_ms);
  assert_int_equal(fixture.ended, 0);
  /* after 10, 30, 70, 150, 310 min, and then after 4 h */
  assert_in_range(fixture.count[POST], posts + 5, posts + 5);
  assert_true(fixture_nth(POST, posts + 1)->began_ms - failing_from_ms >=
              10 * MIN);
  for (i = 0; i < 12; i++)
    assert_string_not_equal(dx_line(dx_job_problem(fixture.jobs[i])->text), "");
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(extracted(), 12);
  /* The first extraction makes all others due. */
  assert_true(fixture_nth(EXTRACT, 1)->ended_ms < until_ms + 241 * MIN);
  assert_true(fixture.now_ms < fixture_nth(EXTRACT, 1)->ended_ms + 30 * S);
}

/* The two sources that come first end as failed, after the limit. The one that
 * starts over first hangs. */
static bool third_source_hangs(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  ret->body =
      "{\"results\":{\"status\":\"processing\",\"expected_file_count\":1,"
      "\"uploaded_file_count\":1}}";
  return call->kind == SOURCE && call->source == 3;
}

static void source_that_hangs_does_not_hold_up_the_other(void **state)
{
  (void)state;
  fixture.fails = fails_until;
  fixture.odd = third_source_hangs;
  fixture.processing_ms = 40 * MIN; /* overdue after 30 */
  until_ms = FIXTURE_BEGIN_MS + 60 * MIN;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 6 * 60 * MIN);
  assert_true(fixture.count[POST] >= 4);
  assert_int_equal(extracted(), 1);
}

static bool second_try_is_gone(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  ret->status = 404;
  return call->kind == SOURCE && call->source == 3;
}

/* The one that starts over waits for an administrator. */
static void source_that_is_gone_does_not_hold_up_the_other(void **state)
{
  (void)state;
  fixture.fails = fails_until;
  fixture.odd = second_try_is_gone;
  until_ms = FIXTURE_BEGIN_MS + 5 * MIN;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 3 * 60 * MIN);
  assert_int_equal(extracted(), 1);
}

/* What an administrator retries is still the same document. */
static void document_that_fails_again_is_not_two(void **state)
{
  struct dx_job *job;

  (void)state;
  fixture.fails = always_fails;
  job = fixture_named("bad.pdf");
  fixture_begin();
  while (job->submissions[0].start_overs == 0)
    fixture_drive(fixture.now_ms + S);
  assert_int_equal(dx_engine_remove(fixture.engine, job), DX_OK);
  fixture_add(job);
  while (job->submissions[0].start_overs == 1)
    fixture_drive(fixture.now_ms + S);
  assert_null(strstr(dx_line(job->submissions[0].problem.text), "other"));
}

/* Those that start over are older, and wait for hours. */
static void failed_documents_do_not_hold_up_new_ones(void **state)
{
  int i, posts;

  (void)state;
  fixture.fails = always_fails;
  (void)fixture_named("bad.pdf");
  (void)fixture_named("bad2.pdf");
  (void)fixture_named("bad3.pdf");
  fixture_drive(FIXTURE_BEGIN_MS + 5 * MIN);
  posts = fixture.count[POST];
  fixture.processing_ms = 5 * MIN;
  for (i = 0; i < 5; i++)
    (void)arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 10 * S);
  assert_int_equal(fixture.count[POST], posts + 5);
}

/* However often each one is tried. */
static void days_without_extraction_end_nothing(void **state)
{
  (void)state;
  fixture.fails = fails_until;
  until_ms = FIXTURE_BEGIN_MS + 4 * FIXTURE_DAY_MS;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture_drive(until_ms);
  assert_int_equal(fixture.ended, 0);
  assert_true(fixture.jobs[0]->submissions[0].start_overs > 6);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(extracted(), 2);
}

/* ---- no more sources than can be filled ---- */

static int most_unfilled;
static int64_t slow_put_ms;

static bool uploads_slowly(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  int n = fixture_unfilled() + (call->kind == POST);

  if (n > most_unfilled)
    most_unfilled = n;
  ret->landed = true;
  ret->took_ms = slow_put_ms;
  return call->kind == PUT;
}

/* Creates outrun uploads otherwise, and their URLs expire. */
static void few_sources_are_unfilled(void **state)
{
  (void)state;
  fixture.odd = uploads_slowly;
  fixture.url_life_s = 90;
  fixture.processing_ms = 5 * S;
  most_unfilled = 0;
  slow_put_ms = 4 * S; /* one a second */
  (void)fixture_job(100, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 100);
  assert_int_equal(most_unfilled, 8);
  assert_int_equal(fixture.count[POST], 100);
  assert_int_equal(fixture.count[PUT], 100);
  assert_true(fixture.now_ms < FIXTURE_BEGIN_MS + 120 * S);
}

/* A section of the same host, with the same storage. */
static void sections_of_a_host_share_the_unfilled_sources(void **state)
{
  (void)state;
  fixture.service_count = 2;
  fixture.odd = uploads_slowly;
  slow_put_ms = 0;
  (void)fixture_job(1, false); /* so that both storages are known */
  (void)to_other(fixture_job(1, false));
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  slow_put_ms = 4 * S;
  most_unfilled = 0;
  (void)arrive(fixture_job(30, false));
  (void)arrive(to_other(fixture_job(30, false)));
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 62);
  assert_int_equal(most_unfilled, 8);
}

static bool rejects_eight(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  ret->status = 400;
  return call->kind == PUT && call->job <= 8;
}

/* However long their URLs are valid. */
static void
documents_that_the_storage_rejects_do_not_hold_up_others(void **state)
{
  int i;

  (void)state;
  fixture.url_life_s = 86400;
  fixture.odd = rejects_eight;
  for (i = 0; i < 13; i++)
    (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 30 * MIN);
  assert_int_equal(extracted(), 5);
}

static bool eight_stall(const struct fixture_call *call,
                        struct fixture_response *ret)
{
  ret->code = DX_E_NET;
  ret->took_ms = MIN;
  return call->kind == PUT && call->job <= 8;
}

/* Its uploads may take all places only once. */
static void storage_that_stalls_does_not_delay_another(void **state)
{
  int i;

  (void)state;
  fixture.service_count = 2;
  fixture.odd = eight_stall;
  for (i = 0; i < 8; i++)
    (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 5 * MIN);
  arrive_at_other();
  fixture_drive(fixture.now_ms + 10 * S);
  assert_int_equal(extracted(), 1);
}

static struct fixture_response storage;

static bool stores_nothing(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  *ret = storage;
  return call->kind == PUT;
}

static void last_document_says(enum dx_code code, const char *text)
{
  const struct dx_problem *problem;
  struct dx_job *last = NULL;
  int i;

  fixture.odd = stores_nothing;
  for (i = 0; i < 11; i++)
    last = fixture_job(1, false);
  problem = &last->submissions[0].problem;
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(fixture.count[POST], 8);
  assert_int_equal(last->submissions[0].state, DX_ST_STORED);
  assert_int_equal(problem->code, code);
  assert_non_null(strstr(dx_line(problem->text), text));
  assert_string_equal(dx_line(dx_job_problem(last)->text),
                      dx_line(problem->text));
  fixture.odd = NULL;
  while (fixture_unfilled() == 8) /* until an upload succeeds */
    fixture_drive(fixture.now_ms + S);
  assert_string_equal(dx_line(problem->text), "");
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_processed(), 11);
}

/* They have another BaseURL, and wait for an administrator. */
static void sources_that_are_not_filled_do_not_stop_others(void **state)
{
  int i;

  (void)state;
  storage = (struct fixture_response){.status = 503};
  fixture.odd = stores_nothing;
  for (i = 0; i < 8; i++)
    (void)fixture_job(1, false);
  fixture_drive(fixture.now_ms + 10 * S);
  assert_int_equal(fixture_unfilled(), 8);
  for (i = 0; i < 8; i++) {
    free(fixture.jobs[i]->submissions[0].base_url);
    fixture.jobs[i]->submissions[0].base_url = strdup("https://old.example");
  }
  fixture.odd = NULL;
  (void)arrive(fixture_job(1, false));
  fixture_drive(fixture.now_ms + 2 * MIN);
  assert_int_equal(extracted(), 1);
}

/* Those after the eighth make no call, and their users must know why. */
static void storage_that_fails_is_the_problem_of_those_that_wait(void **state)
{
  storage = (struct fixture_response){.status = 302};
  last_document_says(DX_E_SERVER, "302");
  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(fixture_open(state), 0);
  storage = (struct fixture_response){.code = DX_E_CERT, .not_sent = true};
  last_document_says(DX_E_CERT, "run 'docextract hello'");
}

/* ---- a backlog ---- */

#define BACKLOG 300 /* 38 s of creates alone, at 8 calls a second */

/* Shortly after an outage, during which this many documents were printed. */
static void begin_with_backlog(void)
{
  int i;

  fixture.processing_ms = 5 * S;
  for (i = 0; i < BACKLOG; i++)
    (void)fixture_job(1, false);
  fixture_begin();
  fixture_drive(FIXTURE_BEGIN_MS + 20 * S);
  assert_in_range(fixture.count[POST], 10, BACKLOG / 2);
}

static int64_t time_to_result_ms(struct dx_job *job)
{
  int64_t begin_ms = fixture.now_ms;

  while (!is_extracted(job) && fixture.now_ms < begin_ms + 30 * MIN)
    fixture_drive(fixture.now_ms + S);
  return fixture.now_ms - begin_ms;
}

/* Results come while most of a backlog is still to be registered. */
static void first_results_do_not_wait_for_the_last_create(void **state)
{
  (void)state;
  begin_with_backlog();
  assert_true(extracted() > fixture.count[POST] / 2);
}

static void attended_document_does_not_wait_for_a_backlog(void **state)
{
  struct dx_job *job;

  (void)state;
  begin_with_backlog();
  job = fixture_job(1, false);
  job->attended = true;
  assert_true(time_to_result_ms(arrive(job)) <= fixture.processing_ms + 15 * S);
}

/* Its uploads do not wait for those of the backlog, either. */
static void attended_upload_comes_first(void **state)
{
  struct dx_job *job;

  (void)state;
  fixture.odd = uploads_slowly;
  slow_put_ms = 8 * S; /* one in two seconds */
  begin_with_backlog();
  job = fixture_named("now.pdf");
  job->attended = true;
  (void)arrive(job);
  fixture_drive(fixture.now_ms + MIN);
  assert_non_null(nth_of("now.pdf", PUT, 1));
  assert_true(nth_of("now.pdf", PUT, 1)->began_ms -
                  nth_of("now.pdf", POST, 1)->ended_ms <=
              2 * S + SLACK_MS);
}

static void section_does_not_wait_for_the_backlog_of_another(void **state)
{
  struct dx_job *job;

  (void)state;
  fixture.service_count = 2;
  begin_with_backlog();
  arrive_at_other();
  job = fixture.jobs[fixture.job_count - 1];
  assert_true(time_to_result_ms(job) <= fixture.processing_ms + 15 * S);
}

static void backlog_is_registered_in_the_order_of_printing(void **state)
{
  char name[FIXTURE_NAME_BYTES];
  int i;

  (void)state;
  for (i = 0; i < 40; i++) /* the last in the spool was printed first */
    fixture_job(1, false)->received_at = FIXTURE_BEGIN_MS - i * S;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  for (i = 1; i <= 40; i++) {
    (void)snprintf(name, sizeof(name), "chart-%d.pdf", 41 - i);
    assert_string_equal(fixture_nth(POST, i)->name, name);
  }
}

/* Attended or not, everything else goes on. */
static void attended_documents_let_others_through(void **state)
{
  int i;

  (void)state;
  for (i = 0; i < 200; i++)
    fixture_job(1, false)->attended = i >= 5;
  fixture_begin();
  fixture_drive(FIXTURE_BEGIN_MS + 20 * S);
  assert_true(extracted() < 100);
  for (i = 0; i < 5; i++)
    assert_true(is_extracted(fixture.jobs[i]));
}

static size_t many_cases(const char *name)
{
  return strcmp(name, "many.pdf") == 0 ? FIXTURE_CASES_MAX : 1;
}

static bool first_result_is_lost(const struct fixture_call *call,
                                 struct fixture_response *ret)
{
  *ret = (struct fixture_response){.code = DX_E_NET};
  return call->kind == EXTRACT && call->nth == 1;
}

/* The first result of a source comes before polls, but others do not. */
static void polls_wait_for_one_result_of_each_source(bool is_lost)
{
  struct dx_job *job;
  int i, before;

  fixture.odd = is_lost ? first_result_is_lost : NULL;
  fixture.cases = many_cases;
  fixture.processing_ms = 5 * S;
  job = fixture_named("many.pdf");
  for (i = 0; i < FIXTURE_CASES_MAX; i++) /* five seconds of calls */
    (void)fixture_job(1, false);
  fixture_begin();
  while (job->submissions[0].state != DX_ST_COMPLETE)
    fixture_drive(fixture.now_ms + S / 4);
  before = fixture.count[SOURCE];
  while (!is_extracted(job))
    fixture_drive(fixture.now_ms + S / 4);
  assert_in_range(fixture.count[SOURCE] - before, FIXTURE_CASES_MAX / 2, 400);
}

static void source_of_many_cases_lets_polls_through(void **state)
{
  polls_wait_for_one_result_of_each_source(false);
  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(fixture_open(state), 0);
  polls_wait_for_one_result_of_each_source(true);
}

static size_t three_cases(const char *name)
{
  (void)name;
  return 3;
}

/* Otherwise, those that were registered would not be finished for an hour. */
static void no_more_are_registered_than_can_be_fetched(void **state)
{
  int most = 0, unfinished;

  (void)state;
  fixture.cases = three_cases;
  begin_with_backlog();
  while (extracted() < BACKLOG) {
    fixture_drive(fixture.now_ms + S);
    unfinished = fixture.count[POST] - extracted();
    most = unfinished > most ? unfinished : most;
  }
  assert_in_range(most, 10, BACKLOG / 3);
}

static bool loses_polls_of_the_other(const struct fixture_call *call,
                                     struct fixture_response *ret)
{
  *ret = (struct fixture_response){.code = DX_E_NET};
  return call->kind == SOURCE && call->began_ms < until_ms &&
         strcmp(fixture.jobs[call->job - 1]->service, "other") == 0;
}

/* When a section has failed, its probes take turns with the others' calls. */
static void probe_does_not_wait_for_a_backlog(void **state)
{
  int i;

  (void)state;
  fixture.service_count = 2;
  fixture.processing_ms = 5 * S;
  fixture.odd = loses_polls_of_the_other;
  until_ms = FIXTURE_BEGIN_MS + 2 * MIN;
  fixture_begin();
  for (i = 0; i < 8; i++)
    arrive_at_other();
  fixture_drive(until_ms);
  for (i = 0; i < BACKLOG; i++)
    (void)arrive(fixture_job(1, false));
  assert_true(time_to_result_ms(fixture.jobs[7]) <= 75 * S); /* 60 s: a pause */
  assert_true(extracted() < BACKLOG);
}

static long open_descriptors(void)
{
  DIR *dir = opendir("/proc/self/fd");
  long count = 0;

  assert_non_null(dir);
  while (readdir(dir) != NULL)
    count++;
  assert_int_equal(closedir(dir), 0);
  return count;
}

/* A hospital has more waiting charts in an outage than a process may have open
 * files. */
static void waiting_documents_have_no_open_descriptors(void **state)
{
  long before = open_descriptors();
  int i;

  (void)state;
  bad_status = 503;
  until_ms = FIXTURE_BEGIN_MS + 30 * MIN;
  fixture.odd = rejects_all;
  for (i = 0; i < 100; i++)
    (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 20 * MIN);
  assert_in_range(open_descriptors() - before, 0, 20);
  fixture_drive(until_ms + 10 * MIN);
  assert_int_equal(extracted(), 100);
}

static void write_slowly(void)
{
  fixture.now_ms += 2 * DX_TURN_MS;
}

/* Each turn then ends before it has looked at all. */
static void slow_disk_keeps_no_document_waiting(void **state)
{
  int i;

  (void)state;
  fixture.on_sync = write_slowly;
  for (i = 0; i < 20; i++)
    (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 2 * MIN);
  assert_int_equal(extracted(), 20);
}

int main(void)
{
#define SEVERAL(test) \
  cmocka_unit_test_setup_teardown(test, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
      SEVERAL(lost_creates_pause_for_all_while_polls_go_on),
      SEVERAL(all_are_due_when_a_breaker_closes),
      SEVERAL(refused_polls_are_probed_while_creates_succeed),
      SEVERAL(refused_section_does_not_hold_up_another),
      SEVERAL(refused_section_has_no_precedence),
      SEVERAL(one_bad_result_delays_no_other),
      SEVERAL(rejected_document_is_refused_if_others_are_accepted),
      SEVERAL(rejected_document_waits_if_no_other_is_accepted),
      SEVERAL(create_of_another_section_is_no_evidence),
      SEVERAL(rejections_of_all_end_nothing),
      SEVERAL(rejected_section_is_tried_by_one_at_a_time),
      SEVERAL(hello_fails_while_the_section_is_rejected),
      SEVERAL(hello_says_once_that_results_cannot_be_written),
      SEVERAL(bad_document_does_not_keep_its_section_paused),
      SEVERAL(arriving_documents_cause_few_attempts),
      SEVERAL(hurried_job_is_tried_immediately),
      SEVERAL(probe_that_is_rejected_has_the_waits_of_a_rejection),
      SEVERAL(probe_that_is_cut_off_has_the_waits_of_a_failure),
      SEVERAL(document_that_always_fails_is_not_the_only_probe),
      SEVERAL(document_that_always_fails_delays_no_other_section),
      SEVERAL(rejected_polls_end_nothing),
      SEVERAL(failed_document_has_failed_after_three_start_overs),
      SEVERAL(earlier_extraction_is_no_evidence),
      SEVERAL(outage_of_the_extraction_ends_nothing),
      SEVERAL(source_that_hangs_does_not_hold_up_the_other),
      SEVERAL(source_that_is_gone_does_not_hold_up_the_other),
      SEVERAL(document_that_fails_again_is_not_two),
      SEVERAL(days_without_extraction_end_nothing),
      SEVERAL(few_sources_are_unfilled),
      SEVERAL(documents_that_the_storage_rejects_do_not_hold_up_others),
      SEVERAL(storage_that_stalls_does_not_delay_another),
      SEVERAL(sections_of_a_host_share_the_unfilled_sources),
      SEVERAL(sources_that_are_not_filled_do_not_stop_others),
      SEVERAL(storage_that_fails_is_the_problem_of_those_that_wait),
      SEVERAL(first_results_do_not_wait_for_the_last_create),
      SEVERAL(attended_document_does_not_wait_for_a_backlog),
      SEVERAL(attended_upload_comes_first),
      SEVERAL(section_does_not_wait_for_the_backlog_of_another),
      SEVERAL(backlog_is_registered_in_the_order_of_printing),
      SEVERAL(attended_documents_let_others_through),
      SEVERAL(source_of_many_cases_lets_polls_through),
      SEVERAL(no_more_are_registered_than_can_be_fetched),
      SEVERAL(probe_does_not_wait_for_a_backlog),
      SEVERAL(failed_documents_do_not_hold_up_new_ones),
      SEVERAL(waiting_documents_have_no_open_descriptors),
      SEVERAL(slow_disk_keeps_no_document_waiting),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
