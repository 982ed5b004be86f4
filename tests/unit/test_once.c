/*
 * test_once.c - a document is extracted once, whichever message is lost, and
 * no job waits forever: doc/policy.md, "Exactly once", and the bounds in
 * "Classes".
 */
#include "tests/unit/engine_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static struct dx_err err;

static void counts(int posts, int puts, int extracts)
{
  assert_int_equal(fixture.count[POST], posts);
  assert_int_equal(fixture.count[PUT], puts);
  assert_int_equal(fixture.count[EXTRACT], extracts);
}

/* The only job had this outcome; no document was processed twice. */
static void ends(enum dx_code code, const char *text)
{
  enum dx_code outcome = fixture_attend(&err);

  if (outcome != code)
    fail_msg("ended as %s: %s", dx_code_name(outcome), err.text);
  if (code != DX_OK && strstr(err.text, text) == NULL)
    fail_msg("'%s' does not say '%s'", err.text, text);
  assert_true(fixture_processed() <= 1);
}

/* ---- a script: what happens to which calls ---- */

static struct script {
  enum dx_call_kind kind;
  int from, to;  /* of its kind, both included */
  size_t source; /* only of this one; 0: of all */
  struct fixture_response response;
} script;

static bool by_script(const struct fixture_call *call,
                      struct fixture_response *ret)
{
  if (call->kind != script.kind || call->nth < script.from ||
      call->nth > script.to ||
      (script.source != 0 && call->source != script.source))
    return false;
  *ret = script.response;
  return true;
}

static int open_stage(void **state)
{
  memset(&script, 0, sizeof(script));
  script.from = 1;
  script.to = INT_MAX;
  script.kind = DX_CALL_HELLO; /* no unexpected response */
  if (fixture_open(state) != 0)
    return -1;
  fixture.odd = by_script;
  return 0;
}

static int open_one(void **state)
{
  int result = open_stage(state);

  if (result == 0)
    (void)fixture_job(1, false);
  return result;
}

static int open_together(void **state)
{
  int result = open_stage(state);

  if (result == 0)
    (void)fixture_job(2, true);
  return result;
}

static void always(enum dx_call_kind kind, int status)
{
  script.kind = kind;
  script.response.status = status;
}

static void lost(enum dx_call_kind kind, int from, int to, bool landed)
{
  script.kind = kind;
  script.from = from;
  script.to = to;
  script.response.code = DX_E_NET;
  script.response.landed = landed;
}

/* docextractd is killed when the n-th upload has ended: what it has learned
 * from that is lost. */
static void kill_after_put(int nth)
{
  while (fixture.count[PUT] < nth || fixture_nth(PUT, nth)->ended_ms == 0)
    fixture_drive(fixture.now_ms + 1);
  assert_int_equal(fixture.count[PUT], nth);
  fixture_restart();
}

/* ---- registering ---- */

/* Its source gets no file, and expires. */
static void registration_interrupted_by_a_crash_is_repeated(void **state)
{
  (void)state;
  fixture.latency_ms = 5000;
  fixture_drive(fixture.now_ms + 2000); /* it is under way */
  counts(1, 0, 0);
  fixture_restart();
  ends(DX_OK, "");
  counts(2, 1, 1);
}

/* The status came, but not the body: truncated, or out of memory. */
static void
a_registration_with_a_truncated_response_counts_as_lost(void **state)
{
  static const enum dx_code cut[] = {DX_E_NET, DX_E_NOMEM};
  size_t i;

  for (i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
    script.kind = POST;
    script.from = script.to = 1;
    script.response.code = cut[i];
    script.response.status = 201;
    script.response.landed = true;
    ends(DX_OK, "");
    counts(2, 1, 1);
    assert_int_equal(fixture.jobs[0]->submissions[0].lost_creates, 1);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_one(state), 0);
  }
}

/* ---- uploading ---- */

/* As the interface says, and whether or not it has arrived: a storage may keep
 * a part of it, and only a 200 shows that the file is whole. */
static void unclear_upload_is_repeated_immediately(void **state)
{
  static const enum dx_call_kind order[] = {POST, PUT, PUT, SOURCE, EXTRACT};
  int landed;
  size_t i;

  for (landed = 0; landed < 2; landed++) {
    lost(PUT, 1, 1, landed);
    ends(DX_OK, "");
    assert_int_equal(fixture.call_count, sizeof(order) / sizeof(order[0]));
    for (i = 0; i < fixture.call_count; i++)
      assert_int_equal(fixture.calls[i].kind, order[i]);
    assert_int_equal(fixture.calls[2].source, 1);
    assert_in_range(fixture_gap_ms(&fixture.calls[1], &fixture.calls[2]), 0,
                    SLACK_MS);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_one(state), 0);
  }
}

static void unclear_upload_is_repeated_until_its_url_expires(void **state)
{
  size_t i;

  (void)state;
  fixture.url_life_s = 100;
  lost(PUT, 1, INT_MAX, false);
  script.source = 1;
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 2);
  assert_in_range(fixture.count[PUT], 6, 9); /* 0, 2, 4, 8, 16, 32 s */
  for (i = 0; fixture.calls[i].kind != SOURCE; i++)
    assert_true(fixture.calls[i].began_ms < FIXTURE_BEGIN_MS + 70 * S);
  assert_in_range(fixture.calls[i].began_ms, FIXTURE_BEGIN_MS + 70 * S,
                  FIXTURE_BEGIN_MS + 130 * S);
}

/* Pending, but nothing is missing: processing will start. */
static void complete_source_gets_no_further_uploads(void **state)
{
  (void)state;
  lost(PUT, 1, 1, true);
  fixture.starting_ms = 25 * MIN;
  kill_after_put(1);
  ends(DX_OK, "");
  counts(1, 1, 1);
}

static void resumed_job_polls_before_it_uploads(void **state)
{
  size_t calls;

  (void)state;
  fixture.latency_ms = 5000;
  fixture_drive(fixture.now_ms + 7000);
  counts(1, 1, 0); /* the PUT is under way */
  calls = fixture.call_count;
  fixture_restart();
  ends(DX_OK, "");
  assert_int_equal(fixture.calls[calls].kind, SOURCE);
  counts(1, 2, 1);
}

static void resumed_job_does_not_repeat_a_finished_upload(void **state)
{
  (void)state;
  lost(PUT, 1, 1, true);
  kill_after_put(1);
  ends(DX_OK, "");
  counts(1, 1, 1);
}

/* The storage responds, so the network is good: its backoff grows. */
static void upload_with_a_response_backs_off(void **state)
{
  static const int statuses[] = {201, 307, 500, 503};
  size_t i;

  for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
    int64_t after_ms = statuses[i] == 201 ? 0 : 1000; /* at once, if unclear */

    always(PUT, statuses[i]);
    script.to = 9;
    script.response.sent_bytes = 2000000;
    ends(DX_OK, "");
    counts(1, 10, 1);
    assert_in_range(fixture_gap_ms(fixture_nth(PUT, 1), fixture_nth(PUT, 2)),
                    after_ms, 2000 + SLACK_MS);
    assert_in_range(fixture_gap_ms(fixture_nth(PUT, 9), fixture_nth(PUT, 10)),
                    30 * S, 60 * S + SLACK_MS);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_one(state), 0);
  }
}

/* The storage, or a proxy before it, responds when it has a part of the file.
 */
static void confirmation_before_the_end_of_the_file_is_none(void **state)
{
  (void)state;
  always(PUT, 200);
  script.to = 1;
  script.response.sent_bytes = 1;
  ends(DX_OK, "");
  counts(1, 2, 1);
  assert_in_range(fixture_gap_ms(fixture_nth(PUT, 1), fixture_nth(PUT, 2)), 0,
                  SLACK_MS);
}

/* The first time at once, and then with the shortest backoff. */
static void unclear_upload_that_makes_progress_is_retried_soon(void **state)
{
  int i;

  (void)state;
  lost(PUT, 1, 9, false);
  script.response.sent_bytes = 2000000;
  ends(DX_OK, "");
  counts(1, 10, 1);
  assert_in_range(fixture_gap_ms(fixture_nth(PUT, 1), fixture_nth(PUT, 2)), 0,
                  SLACK_MS);
  for (i = 2; i < 10; i++)
    assert_in_range(
        fixture_gap_ms(fixture_nth(PUT, i), fixture_nth(PUT, i + 1)), 1000,
        2000 + SLACK_MS);
}

static bool refuses_two_of_three_puts(const struct fixture_call *call,
                                      struct fixture_response *ret)
{
  ret->status = 415;
  return call->kind == PUT && call->nth % 3 != 0;
}

/* Three refusals of one file are final, but not of several files. */
static void refusals_of_each_file_are_counted(void **state)
{
  (void)state;
  fixture.odd = refuses_two_of_three_puts;
  ends(DX_OK, "");
  counts(1, 6, 1);
}

/* ---- registering again ---- */

/* Between two registrations: two polls of the first source 60 s apart, the
 * first one 60 s after the last byte, and wait_ms more. */
static void check_reregistration(size_t source, int64_t wait_ms)
{
  const struct fixture_call *post = NULL, *put = NULL, *last = NULL;
  int64_t first_ms = 0;
  size_t i;

  for (i = 0; i < fixture.call_count && post == NULL; i++) {
    const struct fixture_call *call = &fixture.calls[i];

    if (call->kind == POST && call->nth > (int)source)
      post = call;
    else if (call->kind == PUT && call->source == source)
      put = call;
    else if (call->kind == SOURCE && call->source == source) {
      last = call;
      if (first_ms == 0 &&
          (put == NULL || call->began_ms >= put->ended_ms + MIN))
        first_ms = call->began_ms;
    }
  }
  assert_non_null(post);
  assert_non_null(last);
  assert_int_not_equal(first_ms, 0);
  assert_true(last->began_ms - first_ms >= MIN);
  assert_in_range(fixture_gap_ms(last, post), wait_ms, wait_ms + SLACK_MS);
}

/* All of them: 30 s, doubling to 10 min. */
static void check_reregistrations(void)
{
  static const int64_t waits[] = {30 * S,  MIN,     2 * MIN,
                                  4 * MIN, 8 * MIN, 10 * MIN};
  size_t source, most = sizeof(waits) / sizeof(waits[0]) - 1;

  assert_int_equal(fixture.jobs[0]->submissions[0].reregistrations,
                   fixture.count[POST] - 1);
  for (source = 1; source < (size_t)fixture.count[POST]; source++)
    check_reregistration(source, waits[source - 1 < most ? source - 1 : most]);
}

static void expired_url_leads_to_one_reregistration(void **state)
{
  size_t i;

  (void)state;
  fixture.url_life_s = 300;
  always(PUT, 500);
  script.source = 1;
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 2);
  check_reregistration(1, 30 * S);
  for (i = 0; i < fixture.call_count; i++) /* at least 30 s are left */
    if (fixture.calls[i].kind == PUT && fixture.calls[i].source == 1)
      assert_true(fixture.calls[i].began_ms < FIXTURE_BEGIN_MS + 271 * S);
}

static bool polls_are_slow(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  ret->landed = true;
  ret->took_ms = 20 * S;
  return call->kind == SOURCE || by_script(call, ret);
}

/* A response shows what was the case when the call began. */
static void slow_responses_do_not_shorten_the_wait(void **state)
{
  (void)state;
  fixture.url_life_s = 120;
  fixture.odd = polls_are_slow;
  lost(PUT, 1, INT_MAX, false);
  script.source = 1;
  ends(DX_OK, "");
  check_reregistration(1, 30 * S);
}

/* The storage reports it late: it must not be sent a second time. */
static void upload_reported_late_is_not_registered_again(void **state)
{
  (void)state;
  fixture.url_life_s = 100;
  fixture.visible_ms = 150 * S;
  lost(PUT, 1, INT_MAX, true);
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 1);
  assert_int_equal(fixture_processed(), 1);
}

/* After a crash the time of the last byte is not known: it counts as now. */
static void resumed_job_polls_twice_before_it_registers_again(void **state)
{
  (void)state;
  fixture.url_life_s = 20;
  fixture.visible_ms = 100 * S;
  lost(PUT, 1, INT_MAX, true);
  fixture_drive(fixture.now_ms + 12 * S);
  assert_true(fixture.count[PUT] > 1);
  fixture_restart();
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 1);
  assert_int_equal(fixture_processed(), 1);
}

/* 30 s before, or half of its life. */
static void nothing_is_uploaded_to_a_url_about_to_expire(void **state)
{
  static const int64_t rows[][2] = {{4, 2},   {20, 10}, {58, 29},
                                    {60, 30}, {62, 32}, {300, 270}};
  const struct fixture_call *last;
  size_t i, k;

  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    fixture.url_life_s = rows[i][0];
    ends(DX_OK, "");
    counts(1, 1, 1);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_one(state), 0);
    fixture.url_life_s = rows[i][0];
    always(PUT, 500);
    script.source = 1;
    ends(DX_OK, "");
    last = NULL;
    for (k = 0; k < fixture.call_count; k++)
      if (fixture.calls[k].kind == PUT && fixture.calls[k].source == 1)
        last = &fixture.calls[k];
    assert_non_null(last);
    assert_true(last->began_ms < FIXTURE_BEGIN_MS + rows[i][1] * S + SLACK_MS);
    check_reregistration(1, 30 * S);
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_one(state), 0);
  }
}

/* The message for the administrator names the storage until the document is
 * uploaded. */
static bool names_the_storage(const struct fixture_call *call,
                              struct fixture_response *ret)
{
  const struct dx_submission *sub = &fixture.jobs[0]->submissions[0];

  if (fixture.count[PUT] > 1 &&
      (sub->state == DX_ST_STORED || sub->state == DX_ST_REGISTERED))
    assert_true(sub->problem.is_of_storage);
  return by_script(call, ret);
}

/* Three refusals, at least 10 s apart, and then another source. */
static void storage_that_denies_access_for_a_day_ends_nothing(void **state)
{
  (void)state;
  always(PUT, 403);
  fixture.odd = names_the_storage;
  fixture_drive(fixture.now_ms + FIXTURE_DAY_MS);
  assert_int_equal(fixture.ended, 0);
  /* about 13 minutes each, in the end */
  assert_in_range(fixture.count[POST], 105, 120);
  assert_in_range(fixture.count[PUT], 3 * fixture.count[POST] - 3,
                  3 * fixture.count[POST]);
  script.to = 0;
  ends(DX_OK, "");
  check_reregistrations();
}

static void storage_that_fails_for_a_day_ends_nothing(void **state)
{
  (void)state;
  always(PUT, 302);
  fixture.odd = names_the_storage;
  fixture_drive(fixture.now_ms + FIXTURE_DAY_MS);
  assert_int_equal(fixture.ended, 0);
  /* as long as the URLs last, and about 13 minutes */
  assert_in_range(fixture.count[POST], 50, 60);
  script.to = 0;
  ends(DX_OK, "");
  check_reregistrations();
}

static void failing_storage_is_not_tried_faster_with_a_new_source(void **state)
{
  int first = 0, i;

  (void)state;
  fixture.url_life_s = 300;
  always(PUT, 500);
  fixture_drive(FIXTURE_BEGIN_MS + 11 * MIN);
  assert_int_equal(fixture.count[POST], 2);
  for (i = 1; i < fixture.count[PUT] && first == 0; i++)
    if (fixture_nth(PUT, i)->source == 2)
      first = i;
  assert_int_not_equal(first, 0);
  assert_true(fixture_gap_ms(fixture_nth(PUT, first),
                             fixture_nth(PUT, first + 1)) >= 30 * S);
  assert_int_equal(fixture.notes[DX_NOTE_UP], 0);
}

static void url_reported_as_expired_is_not_retried(void **state)
{
  (void)state;
  always(PUT, 403);
  script.source = 1;
  script.response.body = "<Message>Request has expired</Message>";
  ends(DX_OK, "");
  counts(2, 2, 1);
  check_reregistration(1, 30 * S);
}

static void url_is_known_as_expired_after_a_crash(void **state)
{
  (void)state;
  always(PUT, 403);
  script.source = 1;
  script.response.body = "<Message>Request has expired</Message>";
  while (fixture.count[PUT] == 0 || fixture_nth(PUT, 1)->ended_ms == 0)
    fixture_drive(fixture.now_ms + 1);
  fixture_drive(fixture.now_ms + 100); /* the journal is written */
  fixture_restart();
  assert_int_equal(fixture.jobs[0]->submissions[0].url_until_ms, 0);
}

/* One "not found" may be wrong, and an upload may have landed. */
static void source_gone_before_the_upload_is_polled_twice(void **state)
{
  (void)state;
  script.kind = SOURCE;
  script.source = 1;
  script.response.status = 404;
  fixture.latency_ms = 2000;
  fixture_drive(fixture.now_ms + 3000); /* the PUT is under way */
  counts(1, 1, 0);
  dx_engine_free(&fixture.engine);
  fixture.now_ms += 10 * MIN;
  fixture_restart();
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 2);
  check_reregistration(1, 30 * S);
}

static void all_files_of_a_group_are_sent_to_the_new_source(void **state)
{
  static const size_t files[] = {1, 2};
  size_t i, n = 0;

  (void)state;
  fixture.url_life_s = 300;
  always(PUT, 500);
  script.source = 1;
  script.from = 2; /* the first file lands */
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 2);
  for (i = 0; i < fixture.call_count; i++)
    if (fixture.calls[i].kind == PUT && fixture.calls[i].source == 2)
      assert_int_equal(fixture.calls[i].item, files[n++]);
  assert_int_equal(n, 2);
}

/* ---- uploaded, and nothing happens ---- */

static void forgotten_files_are_uploaded_again_once(void **state)
{
  (void)state;
  fixture.ignored_puts = 1;
  ends(DX_OK, "");
  counts(1, 2, 1);
  assert_in_range(fixture_gap_ms(fixture_nth(PUT, 1), fixture_nth(PUT, 2)), MIN,
                  MIN + 17 * S);
}

/* Uploaded after 60 s, 2 min, 4 min, while the URL is valid. */
static void forgotten_files_are_uploaded_while_the_url_is_valid(void **state)
{
  (void)state;
  fixture.ignored_puts = INT_MAX;
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  counts(1, 4, 0);
  assert_in_range(fixture.now_ms - FIXTURE_BEGIN_MS, 30 * MIN, 32 * MIN);
}

static void expired_url_is_not_uploaded_to_again(void **state)
{
  (void)state;
  fixture.ignored_puts = INT_MAX;
  fixture.url_life_s = 85; /* after 60 s, less than 30 s are left */
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  counts(1, 1, 0);
}

static void restarted_job_continues_waiting(void **state)
{
  (void)state;
  fixture.processing_ms = 40 * MIN;
  ends(DX_E_OVERDUE, "");
  fixture_restart();
  ends(DX_OK, "");
  counts(1, 1, 1);
}

/* ---- failed ---- */

/* Alone: the reason may be the service. */
static void failed_source_is_started_over_for_hours(void **state)
{
  static const int64_t waits[] = {5 * S,    30 * S,   120 * S,
                                  10 * MIN, 60 * MIN, 240 * MIN};
  int i;

  (void)state;
  fixture.failing = 6;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  counts(7, 7, 1);
  for (i = 0; i < 6; i++)
    assert_in_range(
        fixture_gap_ms(fixture_nth(SOURCE, i + 1), fixture_nth(POST, i + 2)),
        waits[i], waits[i] + SLACK_MS);
}

static void source_that_fails_seven_times_has_failed(void **state)
{
  (void)state;
  fixture.failing = INT_MAX;
  assert_int_equal(fixture_drive_to_end(), DX_E_FAILED);
  counts(7, 7, 0);
  assert_true(fixture_result_holds("S7.job.json", "\"failed\""));
  assert_int_equal(fixture_result_count(), 1);
}

/* ---- gone ---- */

/* It does not end; the administrator sees why. */
static void is_gone_for(int64_t ms)
{
  const struct dx_submission *sub = &fixture.jobs[0]->submissions[0];

  fixture_drive(fixture.now_ms + ms);
  assert_int_equal(fixture.ended, 0);
  assert_int_equal(sub->problem.code, DX_E_GONE);
  assert_non_null(strstr(dx_line(sub->problem.text), "responded with 4"));
}

/* 30 s, doubling to 10 min, once it is no longer new. */
static void check_rejections(enum dx_call_kind kind, int64_t new_until_ms)
{
  static const int64_t waits[] = {30 * S,  MIN,     2 * MIN,
                                  4 * MIN, 8 * MIN, 10 * MIN};
  size_t n = 0, most = sizeof(waits) / sizeof(waits[0]) - 1;
  int i;

  for (i = 1; i < fixture.count[kind]; i++) {
    const struct fixture_call *call = fixture_nth(kind, i);

    if (call->ended_ms < new_until_ms)
      continue;
    assert_in_range(fixture_gap_ms(call, fixture_nth(kind, i + 1)), waits[n],
                    waits[n] + SLACK_MS);
    n += n < most;
  }
  assert_int_equal(n, most);
}

static void missing_uploaded_source_waits_for_the_administrator(void **state)
{
  (void)state;
  always(SOURCE, 404);
  is_gone_for(2 * 60 * MIN);
  counts(1, 1, 0);
  script.to = 0;
  ends(DX_OK, "");
  counts(1, 1, 1);
  check_rejections(SOURCE, FIXTURE_BEGIN_MS + MIN);
}

/* Its source seems to be created in the future. */
static void
missing_source_is_found_missing_after_the_clock_was_set_back(void **state)
{
  (void)state;
  always(SOURCE, 404);
  fixture_drive(fixture.now_ms + 2 * S);
  fixture.jobs[0]->submissions[0].registered_at += 30 * FIXTURE_DAY_MS;
  is_gone_for(2 * 60 * MIN);
  script.to = 0;
  ends(DX_OK, "");
  check_rejections(SOURCE, FIXTURE_BEGIN_MS + 2 * S);
}

static void source_not_found_once_is_polled_again(void **state)
{
  (void)state;
  fixture.processing_ms = 5 * MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 2 * MIN);
  always(SOURCE, 410);
  script.from = script.to = fixture.count[SOURCE] + 1;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_in_range(fixture_gap_ms(fixture_nth(SOURCE, script.to),
                                 fixture_nth(SOURCE, script.to + 1)),
                  30 * S, 30 * S + SLACK_MS);
}

static bool every_other_is_not_found(const struct fixture_call *call,
                                     struct fixture_response *ret)
{
  ret->status = 404;
  return call->kind != PUT && call->kind != POST && call->nth % 2 == 0;
}

static void source_is_not_gone(bool (*odd)(const struct fixture_call *call,
                                           struct fixture_response *ret))
{
  fixture.processing_ms = 10 * MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 2 * MIN);
  fixture.odd = odd;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  counts(1, 1, 1);
}

static void source_found_between_checks_is_not_gone(void **state)
{
  (void)state;
  source_is_not_gone(every_other_is_not_found);
}

static bool conflicts_between(const struct fixture_call *call,
                              struct fixture_response *ret)
{
  static const int statuses[] = {404, 409, 423, 404, 202};

  ret->status = statuses[call->nth % 5];
  return call->kind == SOURCE && fixture.now_ms < FIXTURE_BEGIN_MS + 9 * MIN;
}

/* The service knows it. */
static void source_with_conflict_between_checks_is_not_gone(void **state)
{
  (void)state;
  source_is_not_gone(conflicts_between);
}

static void case_found_between_checks_is_not_gone(void **state)
{
  (void)state;
  fixture.case_ms[0] = 10 * MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 2 * MIN);
  fixture.odd = every_other_is_not_found;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[PUT], 1);
}

static void missing_case_waits_for_the_administrator(void **state)
{
  (void)state;
  always(EXTRACT, 404);
  is_gone_for(2 * 60 * MIN);
  script.to = 0;
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 1);
  check_rejections(EXTRACT, fixture_nth(SOURCE, 1)->ended_ms + MIN);
}

static void two_cases_not_found_once_are_polled_again(void **state)
{
  (void)state;
  fixture.case_count = 2;
  fixture.case_ms[0] = fixture.case_ms[1] = 2 * MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 100 * S);
  script.kind = EXTRACT;
  script.response.status = 404;
  script.from = fixture.count[EXTRACT] + 1;
  script.to = fixture.count[EXTRACT] + 2;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture_result_count(), 3);
}

/* ---- results that are too large ---- */

/* The result of the fixture has 59 bytes. */
static void result_at_the_limit_is_delivered(void **state)
{
  (void)state;
  fixture.service.max_result_bytes = 59;
  ends(DX_OK, "");
}

static void result_over_the_limit_is_not_delivered(void **state)
{
  (void)state;
  fixture.service.max_result_bytes = 58;
  fixture_drive(fixture.now_ms + MIN);
  assert_non_null(strstr(fixture.note_text, "larger than MaxResultSize"));
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  assert_int_equal(fixture_result_count(), 0);
}

/* After the first one, there is not enough space for the second. */
static bool fills_the_job(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  (void)ret;
  if (call->kind == EXTRACT && call->item == 2)
    fixture.jobs[0]->submissions[0].cases[0].bytes = DX_RESULTS_MAX_BYTES - 9;
  return false;
}

static void results_of_a_job_are_limited_together(void **state)
{
  (void)state;
  fixture.case_count = 2;
  fixture.odd = fills_the_job;
  fixture_drive(fixture.now_ms + MIN);
  assert_non_null(strstr(fixture.note_text, "larger than 4G in all"));
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  assert_int_equal(fixture_result_count(), 1);
}

/* ---- a response to a GET that cannot be right ---- */

/* Overdue, with its source; the next docextractd polls it again. */
static void overdue_and_resumed(void)
{
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  if (script.response.status > 200)
    assert_non_null(strstr(err.text, "the service responded"));
  assert_in_range(fixture.now_ms - FIXTURE_BEGIN_MS, 30 * MIN, 32 * MIN);
  script.to = 0; /* the service works again */
  fixture_restart();
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 1);
  assert_int_equal(fixture.count[PUT], 1);
}

static void implausible_status_changes_nothing(void **state)
{
  static const enum dx_call_kind kinds[] = {SOURCE, EXTRACT};
  static const int statuses[] = {400, 413, 415, 422, 418, 999};
  size_t i, k;

  for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    for (k = 0; k < sizeof(statuses) / sizeof(statuses[0]); k++) {
      always(kinds[i], statuses[k]);
      overdue_and_resumed();
      assert_int_equal(fixture_close(state), 0);
      assert_int_equal(open_one(state), 0);
    }
}

/* The upload may have landed, but no response says so. */
static void unclear_upload_is_polled_until_the_limit(void **state)
{
  (void)state;
  lost(PUT, 1, 1, true);
  kill_after_put(1);
  always(SOURCE, 422);
  script.response.code = DX_OK;
  script.from = 1;
  script.to = INT_MAX;
  overdue_and_resumed();
}

static void
a_source_that_never_starts_is_waited_for_until_the_limit(void **state)
{
  (void)state;
  lost(PUT, 1, 1, true);
  kill_after_put(1);
  fixture.starting_ms = 40 * MIN;
  overdue_and_resumed();
}

static bool away_once_then_odd(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  ret->status = call->nth == 1 ? 503 : 422;
  return call->kind == SOURCE;
}

/* The last response was good. */
static void earlier_problem_is_no_reason(void **state)
{
  (void)state;
  always(SOURCE, 422);
  script.to = 1;
  fixture.processing_ms = 40 * MIN;
  ends(DX_E_OVERDUE, "");
  assert_null(strstr(err.text, "("));
}

/* The service responds: the time counts. */
static void unexpected_responses_do_not_count_as_outage(void **state)
{
  int i;

  (void)state;
  fixture.odd = away_once_then_odd;
  ends(DX_E_OVERDUE, "");
  assert_in_range(fixture.now_ms - FIXTURE_BEGIN_MS, 30 * MIN, 32 * MIN);
  for (i = 2; i < fixture.count[SOURCE]; i++)
    assert_in_range(
        fixture_gap_ms(fixture_nth(SOURCE, i), fixture_nth(SOURCE, i + 1)), S,
        60 * S + SLACK_MS);
}

static void unexpected_responses_about_one_do_not_delay_the_others(void **state)
{
  (void)state;
  (void)fixture_job(2, false);
  always(SOURCE, 400);
  script.source = 1;
  fixture.processing_ms = 20 * S;
  fixture_drive(fixture.now_ms + 2 * MIN);
  assert_int_equal(fixture.count[EXTRACT], 2);
  assert_int_equal(fixture.notes[DX_NOTE_DOWN], 0);
  assert_non_null(
      strstr(dx_line(dx_job_problem(fixture.jobs[0])->text), "400"));
  script.to = 0;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_string_equal(dx_line(dx_job_problem(fixture.jobs[0])->text), "");
}

/* At most an hour; and that is told once. */
static void overdue_job_is_polled_after_a_tenth_of_its_age(void **state)
{
  int64_t uploaded_ms, age_ms, wait_ms;
  int i, polls = 0;

  (void)state;
  always(SOURCE, 400);
  fixture_drive(FIXTURE_BEGIN_MS + FIXTURE_DAY_MS);
  uploaded_ms = fixture_nth(PUT, 1)->ended_ms;
  for (i = 1; i < fixture.count[SOURCE]; i++) {
    const struct fixture_call *call = fixture_nth(SOURCE, i);

    age_ms = call->ended_ms - uploaded_ms;
    if (age_ms < 31 * MIN)
      continue;
    wait_ms = age_ms < 600 * MIN ? age_ms / 10 : 60 * MIN;
    assert_in_range(fixture_gap_ms(call, fixture_nth(SOURCE, i + 1)), wait_ms,
                    wait_ms + SLACK_MS);
    polls++;
  }
  assert_in_range(polls, 42, 48);
  assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 1);
  script.to = 0;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  counts(1, 1, 1);
}

/* Byte by byte, so that it never stalls. */
static void slow_response_is_canceled_at_the_limit(void **state)
{
  static const enum dx_call_kind kinds[] = {SOURCE, EXTRACT};
  size_t i;

  for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    script.kind = kinds[i];
    script.to = 1;
    script.response.landed = true;
    script.response.took_ms = FIXTURE_DAY_MS;
    overdue_and_resumed();
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_one(state), 0);
  }
}

/* It is tried again, and the results of the other cases come in between. */
static void slow_response_for_a_case_does_not_block_the_others(void **state)
{
  (void)state;
  fixture.case_count = 3;
  script.kind = EXTRACT;
  script.to = 3;
  script.response.landed = true;
  script.response.took_ms = FIXTURE_DAY_MS;
  fixture_drive(FIXTURE_BEGIN_MS + 31 * MIN);
  counts(1, 1, 2); /* the first was canceled, the second started */
  fixture_drive(FIXTURE_BEGIN_MS + 5 * 60 * MIN);
  assert_int_equal(fixture_result_count(), 4);
  assert_int_equal(fixture.ended, 1);
  assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 1);
}

static bool odd_first_case(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  ret->status = call->source == 1 ? 422 : 200;
  ret->body = call->source == 1 ? NULL : "<html>";
  return call->kind == EXTRACT && call->item == 1;
}

static void one_unexpected_case_does_not_delay_the_others(void **state)
{
  (void)state;
  fixture.odd = odd_first_case;
  fixture.case_count = 3;
  (void)fixture_job(1, false);
  fixture_drive(fixture.now_ms + 2 * MIN);
  assert_int_equal(fixture_result_count(), 4);
}

static bool unclear_for_20_min(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  bool first_put = call->kind == PUT && call->nth == 1;

  ret->code = first_put ? DX_E_NET : DX_OK;
  ret->status = first_put ? 0 : 422;
  return first_put ||
         (call->kind == SOURCE && call->began_ms < FIXTURE_BEGIN_MS + 20 * MIN);
}

/* What is uploaded this late may take as long as any other. */
static void limit_starts_again_with_an_upload(void **state)
{
  (void)state;
  fixture.odd = unclear_for_20_min;
  fixture.url_life_s = 3600;
  fixture.processing_ms = 20 * MIN;
  kill_after_put(1);
  ends(DX_OK, "");
  counts(1, 2, 1);
  assert_true(fixture_nth(PUT, 2)->began_ms > FIXTURE_BEGIN_MS + 20 * MIN);
}

static void resumed_job_is_polled_by_the_schedule(void **state)
{
  struct dx_job *job = fixture.jobs[0];
  int before;

  (void)state;
  fixture.processing_ms = FIXTURE_DAY_MS;
  ends(DX_E_OVERDUE, "");
  while (dx_engine_remove(fixture.engine, job) == DX_E_BUSY)
    fixture_drive(fixture.now_ms + 1);
  fixture_add(job);
  before = fixture.count[SOURCE];
  fixture_drive(fixture.now_ms + 10 * MIN);
  assert_true(fixture.count[SOURCE] >= before + 5);
}

static bool unclear_for_40_min(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  (void)unclear_for_20_min(call, ret);
  return (call->kind == PUT && call->nth == 1) ||
         (call->kind == SOURCE && call->began_ms < FIXTURE_BEGIN_MS + 40 * MIN);
}

static void upload_after_the_limit_is_polled_by_the_schedule(void **state)
{
  (void)state;
  fixture.odd = unclear_for_40_min;
  fixture.url_life_s = 3 * 3600;
  fixture.processing_ms = 5 * MIN;
  kill_after_put(1);
  ends(DX_E_OVERDUE, "");
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  counts(1, 2, 1);
  /* The age of an upload that is not known is that of its source. */
  assert_in_range(fixture_nth(PUT, 2)->began_ms, FIXTURE_BEGIN_MS + 40 * MIN,
                  FIXTURE_BEGIN_MS + 45 * MIN);
  assert_in_range(fixture.now_ms - fixture_nth(PUT, 2)->ended_ms, 5 * MIN,
                  7 * MIN);
}

/* ---- a response belongs to its request ---- */

#define COMPLETE(more) "{\"results\":{\"status\":\"complete\"" more "}}"

/* Until the limit: nothing is delivered or sent again, the source is kept. */
static void never_believed(void **state, enum dx_call_kind kind,
                           const char *body)
{
  script.kind = kind;
  script.to = INT_MAX;
  script.response.status = 200;
  script.response.body = body;
  overdue_and_resumed();
  assert_int_equal(fixture_result_count(), 2);
  assert_true(fixture_result_holds("S1-S1C1.json", "\"S1C1\""));
  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(open_one(state), 0);
}

static void status_of_another_source_is_not_used(void **state)
{
  static const char *const bodies[] = {
      COMPLETE(",\"id\":\"S2\",\"case_ids\":[\"S1C1\"]"),
      COMPLETE(",\"id\":\"S1 \",\"case_ids\":[\"S1C1\"]"),
      COMPLETE(",\"id\":1,\"case_ids\":[\"S1C1\"]"),
      COMPLETE(",\"id\":\"S1\\u0000\",\"case_ids\":[\"S1C1\"]"),
      "{\"results\":{\"status\":\"failed\",\"id\":\"S2\"}}",
      "{\"results\":{\"status\":\"processing\",\"id\":\"s1\"}}",
  };
  size_t i;

  for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
    never_believed(state, SOURCE, bodies[i]);
}

static void invalid_list_of_cases_is_not_used(void **state)
{
  static const char *const bodies[] = {
      COMPLETE(",\"case_ids\":[\"S1C1\",\"S1C1\"]"),
      COMPLETE(",\"case_ids\":[\"S1C2\",\"S1C1\",\"S1C2\"]"),
      COMPLETE(",\"case_ids\":[\"S1C1\\u0000\"]"),
      COMPLETE(",\"case_ids\":[\"S1C1\",\"S1C1\\u0000x\"]"),
      COMPLETE(",\"case_ids\":[\"\\u0000S1C1\"]"),
  };
  size_t i;

  for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
    never_believed(state, SOURCE, bodies[i]);
}

/* The journal could not be read again. */
static void cases_that_do_not_fit_in_the_journal_wait(void **state)
{
  enum { AT_ONCE = 10000 };
  static char texts[AT_ONCE][8];
  char *ids[AT_ONCE];
  struct dx_job *job = fixture_job(28, false);
  size_t i, count = AT_ONCE;

  (void)state;
  for (i = 0; i < AT_ONCE; i++) {
    (void)snprintf(texts[i], sizeof(texts[i]), "%zu", i);
    ids[i] = texts[i];
  }
  for (i = 1; i < job->submission_count; i++) {
    while (dx_submission_set_cases(&job->submissions[i], ids, count, &err) !=
               DX_OK &&
           count > 0)
      count /= 2;
    job->submissions[i].state = DX_ST_EXTRACTED;
  }
  assert_int_equal(count, 0);
  fixture_begin();
  assert_int_equal(fixture_attend(&err), DX_E_OVERDUE);
  assert_non_null(strstr(err.text, "too many cases together"));
  assert_int_equal(job->submissions[0].case_count, 0);
  assert_int_equal(fixture.count[EXTRACT], 1); /* of the other job */
}

static void result_of_another_case_is_not_delivered(void **state)
{
  static const char *const bodies[] = {
      COMPLETE(",\"id\":\"S1C2\""),
      COMPLETE(",\"id\":\"S1C1\\u0000\""),
      COMPLETE(",\"id\":[\"S1C1\"]"),
      COMPLETE(",\"id\":\"S1C1\",\"source_id\":\"S2\""),
      COMPLETE(",\"id\":\"S1C1\",\"source_id\":\"S1\\u0000\""),
      COMPLETE(",\"source_id\":7"),
  };
  size_t i;

  for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
    never_believed(state, EXTRACT, bodies[i]);
}

/* Older versions of the service may not send them. */
static void absent_ids_are_accepted(void **state)
{
  (void)state;
  script.kind = EXTRACT;
  script.response.status = 200;
  script.response.body = COMPLETE(",\"id\":null");
  ends(DX_OK, "");
  counts(1, 1, 1);
}

/* Another document gets the source of the first one. */
static void offer_the_first_source(void)
{
  script.kind = POST;
  script.from = script.to = 2;
  script.response.status = 201;
  script.response.body = "{\"results\":{\"id\":\"S1\",\"upload_urls\":"
                         "[{\"url\":\"https://s.example/S1/1\"}]}}";
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

static void source_of_another_document_is_not_uploaded_to(void **state)
{
  (void)state;
  (void)fixture_job(1, false);
  offer_the_first_source();
  counts(3, 2, 2);
  assert_int_equal(fixture.jobs[1]->submissions[0].lost_creates, 1);
  assert_string_equal(fixture.jobs[1]->submissions[0].source_id, "S2");
  assert_int_equal(fixture_processed(), 2);
  assert_int_equal(fixture_result_count(), 4);
}

/* It is known from its journal. */
static void source_of_another_document_is_known_after_a_restart(void **state)
{
  struct dx_job *other;

  (void)state;
  fixture.processing_ms = 10 * MIN;
  kill_after_put(1);
  other = fixture_job(1, false);
  fixture_add(other);
  offer_the_first_source();
  assert_int_equal(other->submissions[0].lost_creates, 1);
  assert_string_equal(other->submissions[0].source_id, "S2");
  assert_int_equal(fixture_processed(), 2);
}

/* Another service may use the same ids. */
static void source_may_have_the_id_of_one_of_another_service(void **state)
{
  struct dx_submission *other = &fixture_job(1, false)->submissions[0];

  (void)state;
  other->source_id = strdup("S1");
  other->state = DX_ST_UPLOADED;
  assert_int_equal(dx_submission_set_place(other, "default",
                                           "https://b.example", NULL, &err),
                   DX_OK);
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(fixture.jobs[0]->submissions[0].state, DX_ST_EXTRACTED);
  counts(1, 1, 1);
}

static void source_id_with_a_nul_is_rejected(void **state)
{
  (void)state;
  script.kind = POST;
  script.from = script.to = 1;
  script.response.status = 201;
  script.response.body = "{\"results\":{\"id\":\"S1\\u0000\",\"upload_urls\":"
                         "[{\"url\":\"https://s.example/S1/1\"}]}}";
  ends(DX_OK, "");
  assert_int_equal(fixture.count[POST], 2);
  assert_int_equal(fixture.jobs[0]->submissions[0].lost_creates, 1);
}

/* Half a chart is worse than none, whatever the service calls it. */
static void fewer_files_than_were_uploaded_are_not_extracted(void **state)
{
  static const char *const bodies[] = {
      COMPLETE(",\"id\":\"S1\",\"expected_file_count\":2,"
               "\"uploaded_file_count\":1,\"case_ids\":[\"S1C1\"]"),
      COMPLETE(",\"expected_file_count\":1,\"uploaded_file_count\":1,"
               "\"case_ids\":[\"S1C1\"]"),
      COMPLETE(",\"uploaded_file_count\":1,\"case_ids\":[\"S1C1\"]"),
      "{\"results\":{\"status\":\"processing\",\"expected_file_count\":2,"
      "\"uploaded_file_count\":1}}",
  };
  size_t i;

  for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_together(state), 0);
    script.kind = SOURCE;
    script.response.status = 200;
    script.response.body = bodies[i];
    ends(DX_E_OVERDUE, "files");
    counts(1, 2, 0);
    assert_int_equal(fixture_result_count(), 0);
    script.to = 0;
    fixture_restart();
    ends(DX_OK, "");
    counts(1, 2, 1);
  }
}

/* docextractd was killed within an upload, and the file really is missing: the
 * upload is repeated. */
static void missing_files_do_not_count_as_uploaded(void **state)
{
  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(open_together(state), 0);
  lost(PUT, 2, 2, false);
  kill_after_put(2);
  memset(&script.response, 0, sizeof(script.response));
  script.kind = SOURCE;
  script.from = 1;
  script.to = 20;
  script.response.status = 200;
  script.response.body = COMPLETE(",\"uploaded_file_count\":1,"
                                  "\"case_ids\":[\"S1C1\"]");
  ends(DX_OK, "");
  counts(1, 3, 1);
}

/* Counters may be late. */
static void files_counted_late_are_waited_for_by_the_schedule(void **state)
{
  int i;

  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(open_together(state), 0);
  script.kind = SOURCE;
  script.to = 5;
  script.response.status = 200;
  script.response.body = COMPLETE(",\"uploaded_file_count\":1,"
                                  "\"case_ids\":[\"S1C1\"]");
  ends(DX_OK, "");
  counts(1, 2, 1);
  assert_int_equal(fixture.notes[DX_NOTE_UNEXPECTED], 0);
  for (i = 1; i < 5; i++)
    assert_in_range(
        fixture_gap_ms(fixture_nth(SOURCE, i), fixture_nth(SOURCE, i + 1)),
        1800, 16500);
}

static bool is_short_twice(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  ret->status = 200;
  ret->body = "{\"results\":{\"status\":\"processing\","
              "\"expected_file_count\":2,\"uploaded_file_count\":1}}";
  return call->kind == SOURCE &&
         (call->nth == 1 ||
          (fixture.now_ms > FIXTURE_BEGIN_MS + 3 * MIN &&
           fixture.now_ms < FIXTURE_BEGIN_MS + 3 * MIN + 30 * S));
}

static void each_late_counter_has_its_time(void **state)
{
  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(open_together(state), 0);
  fixture.odd = is_short_twice;
  fixture.processing_ms = 5 * MIN;
  ends(DX_OK, "");
  assert_int_equal(fixture.notes[DX_NOTE_UNEXPECTED], 0);
}

/* ---- retried by the administrator, after an upload ---- */

/* docextract retry, or a print job that is released; the odd responses are
 * over. Returns the number of calls until then. */
static size_t ask_again(void)
{
  struct dx_job *job = fixture.jobs[0];

  script.to = 0;
  dx_engine_free(&fixture.engine);
  if (job->submissions[0].problem.code == DX_E_GONE)
    job->submissions[0].verify = true; /* as daemon/verbs.c does */
  else
    assert_int_equal(dx_submission_retry(&job->submissions[0], &err), DX_OK);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  fixture_restart();
  return fixture.call_count;
}

static void uploaded_and_gone(void)
{
  always(SOURCE, 404);
  is_gone_for(5 * MIN);
}

/* Two looks before it is registered again, a minute apart. */
static void check_looks(size_t from)
{
  const struct fixture_call *first = &fixture.calls[from], *last = first;
  size_t i;

  for (i = from; fixture.calls[i].kind == SOURCE; i++)
    last = &fixture.calls[i];
  assert_int_equal(fixture.calls[i].kind, POST);
  assert_true(fixture_gap_ms(first, last) >= MIN);
}

static void uploaded_source_is_polled_first_on_retry(void **state)
{
  int64_t asked_ms;
  size_t from;

  (void)state;
  uploaded_and_gone();
  from = ask_again();
  asked_ms = fixture.now_ms;
  fixture_drive(fixture.now_ms + S); /* and after a crash, too */
  fixture_restart();
  ends(DX_OK, "");
  assert_int_equal(fixture.calls[from].kind, SOURCE);
  assert_in_range(fixture.calls[from].began_ms - asked_ms, 0, SLACK_MS);
  counts(1, 1, 1);
  assert_true(fixture_result_holds("S1.job.json", "\"extracted\""));
}

static void missing_source_is_registered_again_on_retry(void **state)
{
  size_t from;

  (void)state;
  fixture.ignored_puts = 1;
  uploaded_and_gone();
  from = ask_again();
  script.to = INT_MAX;
  script.source = 1;
  fixture_drive(fixture.now_ms + 30 * S);
  fixture_restart(); /* it is remembered why it is asked */
  ends(DX_OK, "");
  counts(2, 2, 1);
  check_looks(from);
}

static void
source_without_a_file_is_uploaded_while_its_url_is_valid(void **state)
{
  (void)state;
  always(PUT, 413);
  ends(DX_E_TOO_BIG, "too large");
  counts(1, 3, 0);
  (void)ask_again();
  ends(DX_OK, "");
  counts(1, 4, 1);
}

static void uploaded_files_may_be_forgotten_on_retry_too(void **state)
{
  (void)state;
  always(PUT, 413);
  ends(DX_E_TOO_BIG, "too large");
  (void)ask_again();
  fixture.ignored_puts = 1;
  ends(DX_OK, "");
  counts(1, 5, 1);
}

static void
what_has_no_file_is_registered_again_when_it_has_expired(void **state)
{
  size_t from;

  (void)state;
  fixture.url_life_s = 300;
  always(PUT, 413);
  ends(DX_E_TOO_BIG, "too large");
  fixture.now_ms += 10 * MIN;
  from = ask_again();
  ends(DX_OK, "");
  counts(2, 4, 1);
  check_looks(from);
}

static void failed_source_is_started_over_on_retry(void **state)
{
  size_t from;

  (void)state;
  fixture.failing = 7;
  assert_int_equal(fixture_drive_to_end(), DX_E_FAILED);
  counts(7, 7, 0);
  from = ask_again();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.calls[from].kind, SOURCE);
  counts(8, 8, 1);
}

/* The source has one of two files, and may begin with that one. */
static void source_with_a_file_is_not_registered_again(void **state)
{
  assert_int_equal(fixture_close(state), 0);
  assert_int_equal(open_together(state), 0);
  fixture.url_life_s = 300;
  fixture.ignored_puts = 1;
  uploaded_and_gone();
  fixture.now_ms += 10 * MIN;
  (void)ask_again();
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  counts(1, 2, 0);
  fixture_restart();
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  counts(1, 2, 0);
}

/* After it was processing, "gone" again waits for the administrator. */
static void
source_that_disappears_after_a_poll_waits_for_the_administrator(void **state)
{
  (void)state;
  fixture.processing_ms = 20 * MIN;
  uploaded_and_gone();
  (void)ask_again();
  fixture_drive(fixture.now_ms + MIN);
  script.to = INT_MAX;
  is_gone_for(20 * MIN);
  counts(1, 1, 0);
}

static void submission_without_an_upload_is_registered_immediately(void **state)
{
  size_t from;

  (void)state;
  always(POST, 415);
  ends(DX_E_REFUSED, "responded with 415");
  from = ask_again();
  ends(DX_OK, "");
  assert_int_equal(fixture.calls[from].kind, POST);
  counts(2, 1, 1);
}

static void lose_document(void)
{
  char path[200];

  (void)snprintf(path, sizeof(path), "%s/%s/document-0001", fixture.dir,
                 fixture.jobs[0]->path);
  assert_int_equal(unlink(path), 0);
  fixture.jobs[0]->documents[0].is_here = false;
}

static void results_are_fetched_without_the_document(void **state)
{
  (void)state;
  uploaded_and_gone();
  lose_document();
  (void)ask_again();
  ends(DX_OK, "");
  counts(1, 1, 1);
}

static void missing_document_is_not_registered(void **state)
{
  (void)state;
  uploaded_and_gone();
  lose_document();
  (void)ask_again();
  script.to = INT_MAX;
  ends(DX_E_MISSING, "no longer in the spool");
  counts(1, 1, 0);
}

/* A minute of pending_upload, and nothing to upload again. */
static void nothing_is_uploaded_again_without_its_document(void **state)
{
  (void)state;
  fixture.ignored_puts = 1;
  fixture_drive(fixture.now_ms + 5 * S);
  counts(1, 1, 0);
  lose_document();
  ends(DX_E_OVERDUE, "longer than ProcessingLimit");
  counts(1, 1, 0);
}

static void failed_source_without_its_document_has_failed(void **state)
{
  (void)state;
  fixture.failing = 1;
  fixture.processing_ms = MIN;
  fixture_drive(fixture.now_ms + 5 * S);
  counts(1, 1, 0);
  lose_document();
  ends(DX_E_FAILED, "failed to extract it; release the job to send it again");
  counts(1, 1, 0);
}

/* The journal of another version, or one that was edited. */
static void journal_with_all_uploads_done_continues(void **state)
{
  (void)state;
  fixture.ignored_puts = 1;
  fixture_drive(fixture.now_ms + 5 * S);
  counts(1, 1, 0);
  dx_engine_free(&fixture.engine);
  fixture.jobs[0]->submissions[0].state = DX_ST_REGISTERED;
  assert_int_equal(dx_job_save(fixture.jobs[0], &err), DX_OK);
  fixture_restart();
  ends(DX_OK, "");
  counts(1, 2, 1);
}

/* ---- results ---- */

static bool takes_results(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  (void)ret;
  if (call->kind == EXTRACT && call->nth == 1)
    fixture_take_results();
  return false;
}

/* A failing results directory is no reason to fetch a second time. */
static void stored_result_is_not_fetched_twice(void **state)
{
  (void)state;
  fixture.odd = takes_results;
  fixture_drive(fixture.now_ms + 10 * MIN);
  counts(1, 1, 1);
  assert_in_range(fixture.notes[DX_NOTE_LOCAL], 9, 11);
  fixture_restart();
  fixture_drive(fixture.now_ms + 10 * MIN);
  fixture_give_results();
  ends(DX_OK, "");
  counts(1, 1, 1);
  assert_int_equal(fixture_result_count(), 2);
}

static void stored_result_that_was_changed_is_fetched_again(void **state)
{
  int64_t given_ms;
  int fd;

  (void)state;
  fixture.odd = takes_results;
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(dx_job_open_dir(fixture.jobs[0], NULL), DX_OK);
  fd = openat(fixture.jobs[0]->dirfd, "result-0001-00001.json",
              O_WRONLY | O_TRUNC | O_CLOEXEC);
  assert_int_equal(close(fd), 0);
  fixture_give_results();
  given_ms = fixture.now_ms;
  ends(DX_OK, "");
  counts(1, 1, 2);
  assert_int_equal(fixture_result_count(), 2);
  assert_in_range(fixture.now_ms - given_ms, 0, MIN + 2 * S); /* at once */
}

/* What cannot be delivered is not paid for. */
static void nothing_is_sent_without_a_results_directory(void **state)
{
  (void)state;
  fixture_take_results();
  fixture_drive(fixture.now_ms + 10 * MIN);
  counts(0, 0, 0);
  assert_in_range(fixture.notes[DX_NOTE_LOCAL], 9, 11);
  assert_int_equal(unlink(fixture.results), 0); /* it is created again */
  ends(DX_OK, "");
  counts(1, 1, 1);
  assert_int_equal(fixture_result_count(), 2);
}

static bool fails_a_sync(const struct fixture_call *call,
                         struct fixture_response *ret)
{
  (void)ret;
  if (call->kind == EXTRACT && call->nth == 1)
    fixture.failing_syncs = 1;
  return false;
}

/* It is there; what is tried again is its journal, which syncs the same
 * directory. Nothing is delivered before. */
static void result_that_may_not_be_durable_is_not_fetched_twice(void **state)
{
  (void)state;
  fixture.odd = fails_a_sync;
  ends(DX_OK, "");
  counts(1, 1, 1);
  assert_int_equal(fixture.failing_syncs, 0);
  assert_int_equal(fixture.notes[DX_NOTE_LOCAL], 1);
  assert_int_equal(fixture_result_count(), 2);
}

/* After a power failure, only the journal knows that the source may have the
 * file. */
static bool looks_into_the_journal(const struct fixture_call *call,
                                   struct fixture_response *ret)
{
  struct dx_job *stored = NULL;

  (void)ret;
  if (call->kind != PUT)
    return false;
  assert_int_equal(
      dx_spool_load(&fixture.spool, fixture.jobs[0]->key, &stored, &err),
      DX_OK);
  assert_non_null(stored->submissions[0].source_id);
  assert_true(dx_submission_is_put(&stored->submissions[0]));
  dx_job_free(&stored);
  return false;
}

static void journal_knows_an_upload_before_it_begins(void **state)
{
  (void)state;
  fixture.odd = looks_into_the_journal;
  ends(DX_OK, "");
  assert_int_equal(fixture.count[PUT], fixture.jobs[0]->document_count);
}

/* ---- what is run ---- */

#define ONCE(test) \
  cmocka_unit_test_setup_teardown(test, open_one, fixture_close)

static const struct CMUnitTest sending[] = {
    ONCE(registration_interrupted_by_a_crash_is_repeated),
    ONCE(a_registration_with_a_truncated_response_counts_as_lost),
    ONCE(unclear_upload_is_repeated_immediately),
    ONCE(confirmation_before_the_end_of_the_file_is_none),
    ONCE(unclear_upload_is_repeated_until_its_url_expires),
    ONCE(complete_source_gets_no_further_uploads),
    ONCE(resumed_job_polls_before_it_uploads),
    ONCE(resumed_job_does_not_repeat_a_finished_upload),
    ONCE(upload_with_a_response_backs_off),
    ONCE(unclear_upload_that_makes_progress_is_retried_soon),
    cmocka_unit_test_setup_teardown(refusals_of_each_file_are_counted,
                                    open_together, fixture_close),
    ONCE(expired_url_leads_to_one_reregistration),
    ONCE(slow_responses_do_not_shorten_the_wait),
    ONCE(upload_reported_late_is_not_registered_again),
    ONCE(resumed_job_polls_twice_before_it_registers_again),
    ONCE(nothing_is_uploaded_to_a_url_about_to_expire),
    ONCE(storage_that_denies_access_for_a_day_ends_nothing),
    ONCE(storage_that_fails_for_a_day_ends_nothing),
    ONCE(failing_storage_is_not_tried_faster_with_a_new_source),
    ONCE(url_reported_as_expired_is_not_retried),
    ONCE(url_is_known_as_expired_after_a_crash),
    ONCE(source_gone_before_the_upload_is_polled_twice),
    cmocka_unit_test_setup_teardown(
        all_files_of_a_group_are_sent_to_the_new_source, open_together,
        fixture_close),
    cmocka_unit_test_setup_teardown(journal_knows_an_upload_before_it_begins,
                                    open_together, fixture_close),
};

static const struct CMUnitTest waiting[] = {
    ONCE(forgotten_files_are_uploaded_again_once),
    ONCE(forgotten_files_are_uploaded_while_the_url_is_valid),
    ONCE(expired_url_is_not_uploaded_to_again),
    ONCE(restarted_job_continues_waiting),
    ONCE(failed_source_is_started_over_for_hours),
    ONCE(source_that_fails_seven_times_has_failed),
    ONCE(missing_uploaded_source_waits_for_the_administrator),
    ONCE(missing_source_is_found_missing_after_the_clock_was_set_back),
    ONCE(source_not_found_once_is_polled_again),
    ONCE(source_found_between_checks_is_not_gone),
    ONCE(source_with_conflict_between_checks_is_not_gone),
    ONCE(case_found_between_checks_is_not_gone),
    ONCE(missing_case_waits_for_the_administrator),
    ONCE(two_cases_not_found_once_are_polled_again),
};

static const struct CMUnitTest responses[] = {
    ONCE(implausible_status_changes_nothing),
    ONCE(unclear_upload_is_polled_until_the_limit),
    ONCE(a_source_that_never_starts_is_waited_for_until_the_limit),
    ONCE(unexpected_responses_do_not_count_as_outage),
    ONCE(unexpected_responses_about_one_do_not_delay_the_others),
    ONCE(overdue_job_is_polled_after_a_tenth_of_its_age),
    ONCE(slow_response_is_canceled_at_the_limit),
    ONCE(slow_response_for_a_case_does_not_block_the_others),
    ONCE(one_unexpected_case_does_not_delay_the_others),
    ONCE(each_late_counter_has_its_time),
    ONCE(limit_starts_again_with_an_upload),
    ONCE(upload_after_the_limit_is_polled_by_the_schedule),
    ONCE(earlier_problem_is_no_reason),
    ONCE(resumed_job_is_polled_by_the_schedule),
};

static const struct CMUnitTest identity[] = {
    ONCE(status_of_another_source_is_not_used),
    ONCE(invalid_list_of_cases_is_not_used),
    ONCE(cases_that_do_not_fit_in_the_journal_wait),
    ONCE(result_of_another_case_is_not_delivered),
    ONCE(absent_ids_are_accepted),
    ONCE(source_of_another_document_is_not_uploaded_to),
    ONCE(source_of_another_document_is_known_after_a_restart),
    ONCE(source_may_have_the_id_of_one_of_another_service),
    ONCE(source_id_with_a_nul_is_rejected),
    ONCE(fewer_files_than_were_uploaded_are_not_extracted),
    ONCE(missing_files_do_not_count_as_uploaded),
    ONCE(files_counted_late_are_waited_for_by_the_schedule),
};

static const struct CMUnitTest retrying[] = {
    ONCE(uploaded_source_is_polled_first_on_retry),
    ONCE(missing_source_is_registered_again_on_retry),
    ONCE(source_without_a_file_is_uploaded_while_its_url_is_valid),
    ONCE(uploaded_files_may_be_forgotten_on_retry_too),
    ONCE(what_has_no_file_is_registered_again_when_it_has_expired),
    ONCE(failed_source_is_started_over_on_retry),
    ONCE(source_with_a_file_is_not_registered_again),
    ONCE(source_that_disappears_after_a_poll_waits_for_the_administrator),
    ONCE(submission_without_an_upload_is_registered_immediately),
    ONCE(results_are_fetched_without_the_document),
    ONCE(missing_document_is_not_registered),
    ONCE(nothing_is_uploaded_again_without_its_document),
    ONCE(failed_source_without_its_document_has_failed),
    ONCE(journal_with_all_uploads_done_continues),
};

static const struct CMUnitTest results[] = {
    ONCE(stored_result_is_not_fetched_twice),
    ONCE(stored_result_that_was_changed_is_fetched_again),
    ONCE(nothing_is_sent_without_a_results_directory),
    ONCE(result_that_may_not_be_durable_is_not_fetched_twice),
    ONCE(result_at_the_limit_is_delivered),
    ONCE(result_over_the_limit_is_not_delivered),
    ONCE(results_of_a_job_are_limited_together),
};

int main(void)
{
  int failed = cmocka_run_group_tests(sending, NULL, NULL);

  failed += cmocka_run_group_tests(waiting, NULL, NULL);
  failed += cmocka_run_group_tests(responses, NULL, NULL);
  failed += cmocka_run_group_tests(identity, NULL, NULL);
  failed += cmocka_run_group_tests(retrying, NULL, NULL);
  failed += cmocka_run_group_tests(results, NULL, NULL);
  return failed;
}
