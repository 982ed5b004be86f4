/*
 * test_permit.c - what docextractd does with what the attending backend
 * reports, when it asks cupsd, and what it does with the answers, with a cupsd,
 * clients, and a clock that the test controls. The table of what may be sent:
 * test_permission.c.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/manager.h"
#include "lib/base/clock.h"
#include "lib/base/policy.h"

static int64_t now_ms;

static int64_t now(void)
{
  return now_ms;
}

static const struct dx_clock test_clock = {now, now};

/* ---- what permit.c and attend.c call ---- */

static struct fake {
  enum dx_answer answer, answer_about_18;
  int64_t answered_ms; /* -1: cupsd has not answered yet */
  int asked, forgotten, woken, held;
} fake;

bool cupsd_answer(struct cupsd *cupsd, const struct dx_job *job,
                  struct question **question, int64_t since_ms,
                  enum dx_answer *ret_answer)
{
  (void)cupsd;
  (void)question;
  fake.asked++;
  *ret_answer =
      strcmp(job->cups_id, "18") == 0 ? fake.answer_about_18 : fake.answer;
  return fake.answered_ms >= since_ms;
}

void cupsd_forget(struct question **question)
{
  (void)question;
  fake.forgotten++;
}

struct dx_note dx_engine_problem(const struct dx_job *of)
{
  (void)of;
  return (struct dx_note){.kind = DX_NOTE_UP, .text = ""};
}

bool dx_engine_progress(const struct dx_job *of, struct dx_note *ret_note)
{
  (void)of;
  (void)ret_note;
  return false;
}

void dx_engine_wake(struct dx_job *job)
{
  (void)job;
  fake.woken++;
}

void dx_engine_hold(struct dx_job *of)
{
  (void)of;
  fake.held++;
}

void control_send(struct client *client, const char *format, ...)
{
  (void)client;
  (void)format;
}

void client_close(struct client *client)
{
  client->is_gone = true;
}

/* ---- a job of one document, and its attendant ---- */

static struct dx_spool spool;
static struct manager manager;
static struct managed managed;
static struct client client;
static struct dx_job *job;

static int begin(void **state)
{
  (void)state;
  now_ms = 1000000;
  dx_clock_use(&test_clock);
  fake = (struct fake){.answered_ms = -1};
  manager = (struct manager){.spool = &spool, .receipts_ms = INT64_MAX};
  client = (struct client){.manager = &manager};
  job = dx_job_new();
  job->submissions = calloc(1, sizeof(*job->submissions));
  job->submission_count = 1;
  job->submissions[0].job = job;
  job->cups_id = strdup("17");
  job->print.backend = DX_BACKEND_LEFT;
  managed = (struct managed){.manager = &manager, .job = job};
  LIST_INSERT_HEAD(&manager.jobs, &managed, link);
  attend_reset(&managed);
  fake.woken = 0;
  return 0;
}

static int end(void **state)
{
  (void)state;
  LIST_INIT(&manager.jobs);
  dx_job_free(&job);
  dx_clock_use(NULL);
  return 0;
}

static void attend(void)
{
  job->print.backend = DX_BACKEND_ATTENDS;
  managed.attendant = &client;
  client.managed = &managed;
}

/* Its name, as of a cupsd of an earlier boot. */
static void end_cupsd(void)
{
  job->print.cupsd = strdup("1 1 earlier");
}

/* From now on, cupsd has just answered this. */
static void answer(enum dx_answer it)
{
  fake.answer = it;
  fake.answered_ms = now_ms;
}

/* What the engine finds after it has asked. It sends nothing before the journal
 * is written. */
static enum dx_permission asks(void)
{
  (void)permit_ask(&manager, &managed);
  if (job->submissions[0].state == DX_ST_CANCELED)
    return DX_MAY_CANCEL;
  if (job->print.undecided)
    return DX_MAY_ASK;
  return managed.drive.permit.until_ms > now_ms && !job->dirty ? DX_MAY_SEND
                                                               : DX_MAY_WAIT;
}

static void expect(enum dx_permission permission)
{
  managed.drive.permit.until_ms = 0; /* it was used */
  assert_int_equal(asks(), permission);
}

static bool may_leave(void)
{
  return managed.drive.permit.stands;
}

/* ---- the attendant ---- */

static void is_sent_while_a_backend_attends(void **state)
{
  (void)state;
  attend();
  expect(DX_MAY_SEND);
  assert_true(may_leave());
  assert_int_equal(fake.asked, 0);
}

/* `ended`, with the answer of cupsd, follows. */
static void nothing_is_sent_while_the_backend_stops(void **state)
{
  (void)state;
  attend();
  client.is_stopping = true;
  expect(DX_MAY_WAIT);
  assert_false(may_leave());
  assert_int_equal(fake.asked, 0);
  attend_release(&managed, DX_BACKEND_BROKEN);
  now_ms++;
  answer(DX_ANSWER_CANCELED);
  expect(DX_MAY_CANCEL);
}

/* docextractd was started again. */
static void cupsd_is_asked_until_a_backend_has_connected(void **state)
{
  (void)state;
  job->print.backend = DX_BACKEND_ATTENDS;
  answer(DX_ANSWER_ACTIVE);
  expect(DX_MAY_WAIT);
  assert_int_equal(fake.asked, 1);
  answer(DX_ANSWER_OVER);
  now_ms += DX_WATCH_FIRST_MS;
  fake.answered_ms = now_ms;
  (void)permit_turn(&manager);
  job->dirty = false;
  expect(DX_MAY_SEND);
  assert_true(may_leave());
}

static void attendant_knows_better_whether_its_cupsd_is_gone(void **state)
{
  (void)state;
  attend();
  end_cupsd();
  expect(DX_MAY_SEND);
  assert_int_equal(fake.asked, 0);
  attend_release(&managed, DX_BACKEND_BROKEN);
  expect(DX_MAY_WAIT);
  assert_int_equal(fake.asked, 1);
}

/* Between the choice of a call and the request. */
static void request_does_not_leave_after_a_change(void **state)
{
  (void)state;
  attend();
  expect(DX_MAY_SEND);
  assert_true(may_leave());
  assert_ptr_equal(managed.drive.permit.heard, /* it may say `stopping` */
                   &client.channel);
  attend_release(&managed, DX_BACKEND_LEFT);
  assert_false(may_leave());
  answer(DX_ANSWER_ACTIVE);
  expect(DX_MAY_SEND);
  assert_true(may_leave());
  assert_null(managed.drive.permit.heard); /* no backend attends */
  permit_learn(&managed, DX_ANSWER_HELD);
  assert_false(may_leave());
}

/* Otherwise, two documents of a job withdraw the permissions of each other. */
static void permission_lasts_while_another_document_asks(void **state)
{
  (void)state;
  job->print.backend = DX_BACKEND_BROKEN;
  job->print.final = DX_FINAL_OVER;
  answer(DX_ANSWER_OVER);
  expect(DX_MAY_SEND);
  now_ms++;
  expect(DX_MAY_WAIT); /* for an answer of its own */
  assert_true(may_leave());
  now_ms += DX_ASK_CUPSD_MS;
  answer(DX_ANSWER_CANCELED);
  expect(DX_MAY_CANCEL);
  assert_false(may_leave());
}

static void nothing_is_sent_before_the_journal_is_written(void **state)
{
  (void)state;
  attend();
  job->print.undecided = true; /* it is not, because a backend attends again */
  expect(DX_MAY_WAIT);
  assert_false(job->print.undecided);
  assert_true(job->dirty);
}

/* Every waiting job learns that cupsd is away: thousands of journals. */
static void absence_of_cupsd_need_not_be_durable(void **state)
{
  (void)state;
  job->print.backend = DX_BACKEND_BROKEN;
  answer(DX_ANSWER_NONE);
  expect(DX_MAY_WAIT);
  assert_int_not_equal(job->print.unclear_ms, 0);
  assert_true(job->behind);
  assert_false(job->dirty);
}

/* What was asked before it may no longer be true. */
static void answers_from_before_a_new_attendant_do_not_count(void **state)
{
  (void)state;
  attend();
  answer(DX_ANSWER_CANCELED);
  attend_release(&managed, DX_BACKEND_LEFT);
  now_ms++;
  expect(DX_MAY_WAIT);
}

/* ---- cupsd ---- */

static void answer_is_written_before_anything_is_sent(void **state)
{
  (void)state;
  answer(DX_ANSWER_OVER);
  expect(DX_MAY_WAIT);
  assert_true(job->dirty);
  assert_int_equal(job->print.final, DX_FINAL_OVER);
  job->dirty = false;
  expect(DX_MAY_SEND);
}

static void cupsd_is_asked_before_each_step(void **state)
{
  (void)state;
  answer(DX_ANSWER_ACTIVE);
  expect(DX_MAY_SEND);
  now_ms++;
  expect(DX_MAY_WAIT);
  now_ms += DX_ASK_CUPSD_MS;
  fake.answered_ms = now_ms - 1; /* since it was asked */
  expect(DX_MAY_SEND);
}

static void job_without_a_print_job_is_sent(void **state)
{
  (void)state;
  job->print.backend = DX_BACKEND_NONE;
  expect(DX_MAY_SEND);
  assert_int_equal(fake.asked, 0);
}

/* Neither a backend nor cupsd knows what was sent since the copy. */
static void copy_is_not_sent_whatever_others_answer(void **state)
{
  (void)state;
  job->is_copy = true;
  answer(DX_ANSWER_ACTIVE);
  expect(DX_MAY_WAIT);
  job->print.backend = DX_BACKEND_NONE;
  expect(DX_MAY_WAIT);
  job->print.decided = true; /* before the copy was made */
  expect(DX_MAY_WAIT);
  attend();
  expect(DX_MAY_WAIT);
  assert_int_equal(fake.asked, 0);
  assert_int_equal(fake.held, 4); /* it asks again after a decision */
}

static void decision_is_requested_until_cupsd_knows_the_print_job(void **state)
{
  (void)state;
  job->print.backend = DX_BACKEND_BROKEN;
  answer(DX_ANSWER_UNKNOWN);
  expect(DX_MAY_ASK);
  assert_true(job->print.undecided);
  assert_true(job->dirty);
  assert_int_equal(job->problem.code, DX_E_JOB);
  now_ms += DX_WATCH_FIRST_MS;
  answer(DX_ANSWER_HELD);
  (void)permit_turn(&manager);
  expect(DX_MAY_WAIT);
  assert_false(job->print.undecided);
  assert_int_equal(job->problem.code, DX_OK);
  assert_string_equal(dx_line(job->problem.text), "");
}

/* `docextract jobs` reads the journal, which is written when a job is looked
 * at. This one rests until something wakes it. */
static void change_of_mind_is_written_at_once(void **state)
{
  static const enum dx_answer answers[] = {DX_ANSWER_CHANGED, DX_ANSWER_ACTIVE};
  size_t i;

  (void)state;
  job->print.backend = DX_BACKEND_ENDED;
  answer(DX_ANSWER_ACTIVE);
  expect(DX_MAY_WAIT);
  for (i = 0; i < 2; i++) {
    fake.woken = 0;
    job->dirty = false; /* it is written */
    now_ms += DX_WATCH_MAX_MS;
    answer(answers[i]);
    (void)permit_turn(&manager);
    assert_true(job->dirty);
    assert_int_equal(fake.woken, 1);
    job->dirty = false;
    now_ms += DX_WATCH_MAX_MS;
    answer(answers[i]);
    (void)permit_turn(&manager);
    assert_int_equal(fake.woken, 1);
  }
}

/* The message of a full disk may have replaced it. */
static void reason_for_a_decision_is_shown_again(void **state)
{
  (void)state;
  job->print.backend = DX_BACKEND_ENDED;
  answer(DX_ANSWER_CHANGED);
  expect(DX_MAY_ASK);
  dx_job_set_problem(job, DX_OK, "", 0);
  now_ms += DX_WATCH_MAX_MS;
  answer(DX_ANSWER_CHANGED);
  (void)permit_turn(&manager);
  assert_int_equal(job->problem.code, DX_E_JOB);
}

static void decision_to_request_is_written_at_once(void **state)
{
  (void)state;
  job->print.backend = DX_BACKEND_ENDED;
  answer(DX_ANSWER_CHANGED);
  assert_true(permit_ask(&manager, &managed));
  job->dirty = false;
  assert_false(permit_ask(&manager, &managed));
}

/* A client has sent the print job twice; the backend of the later one attends,
 * then breaks. */
static void other_print_job_counts_if_one_is_canceled(void **state)
{
  (void)state;
  job->others = calloc(1, sizeof(*job->others));
  job->other_count = 1;
  job->others[0].cups_id = strdup("18");
  job->others[0].print.backend = DX_BACKEND_ATTENDS; /* no longer */
  attend();
  attend_release(&managed, DX_BACKEND_BROKEN);
  answer(DX_ANSWER_CANCELED);
  fake.answer_about_18 = DX_ANSWER_OVER;
  expect(DX_MAY_WAIT); /* it asks again */
  assert_true(fake.woken > 0);
  expect(DX_MAY_WAIT); /* until that is written */
  assert_int_equal(job->print.backend, DX_BACKEND_BROKEN);
  assert_string_equal(job->cups_id, "18");
  assert_true(job->dirty);
  assert_null(managed.attendant);
  assert_null(client.managed);
  assert_int_equal(fake.forgotten, 1); /* the question is about the first */
  job->dirty = false;
  expect(DX_MAY_SEND);
  fake.answer_about_18 = DX_ANSWER_CANCELED;
  expect(DX_MAY_CANCEL);
}

static void job_is_canceled_with_its_print_job(void **state)
{
  (void)state;
  dx_job_set_problem(job, DX_E_NET, "trying again", 1);
  permit_learn(&managed, DX_ANSWER_CANCELED);
  assert_int_equal(job->submissions[0].state, DX_ST_CANCELED);
  assert_string_equal(dx_line(job->problem.text), "");
  assert_int_equal(fake.woken, 1);
}

/* With the document of `submissions[0]` in this state. */
static void cancel_held(enum dx_state state, enum dx_put put)
{
  struct dx_submission *sub = &job->submissions[0];

  if (sub->files == NULL) {
    sub->files = calloc(1, sizeof(*sub->files));
    sub->file_count = 1;
  }
  sub->state = state;
  sub->files[0].put = put;
  job->print.backend = DX_BACKEND_HELD;
  job->print.final = DX_FINAL_NONE;
  permit_learn(&managed, DX_ANSWER_CANCELED);
  assert_int_equal(job->print.final, DX_FINAL_CANCELED);
}

static void what_was_sent_goes_on_if_a_held_print_job_is_canceled(void **state)
{
  static const struct {
    enum dx_state state;
    enum dx_put put;
    bool goes_on;
  } rows[] = {{DX_ST_STORED, DX_PUT_NONE, false},
              {DX_ST_REGISTERED, DX_PUT_NONE, false},
              {DX_ST_REGISTERED, DX_PUT_SENDING, true}, /* it may be there */
              {DX_ST_UPLOADED, DX_PUT_DONE, true},
              {DX_ST_PROCESSING, DX_PUT_DONE, true},
              {DX_ST_COMPLETE, DX_PUT_DONE, true},
              {DX_ST_FAILED, DX_PUT_DONE, false},
              {DX_ST_REFUSED, DX_PUT_NONE, false}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    cancel_held(rows[i].state, rows[i].put);
    assert_int_equal(job->submissions[0].state,
                     rows[i].goes_on ? rows[i].state : DX_ST_CANCELED);
  }
}

/* The source waits for both of them, and the second is not sent. */
static void half_of_a_submission_does_not_go_on(void **state)
{
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  sub->files = calloc(2, sizeof(*sub->files));
  sub->file_count = 2;
  cancel_held(DX_ST_REGISTERED, DX_PUT_DONE);
  assert_int_equal(sub->state, DX_ST_CANCELED);
}

static void canceled_held_print_job_is_not_watched(void **state)
{
  (void)state;
  cancel_held(DX_ST_PROCESSING, DX_PUT_DONE);
  assert_int_equal(permit_turn(&manager), INT64_MAX);
  answer(DX_ANSWER_CANCELED);
  job->dirty = false;
  managed.drive.asking = &job->submissions[0];
  expect(DX_MAY_CANCEL); /* its source has no file: to be sent again */
  job->submissions[0].state = DX_ST_PROCESSING;
  answer(DX_ANSWER_ACTIVE);
  expect(DX_MAY_WAIT); /* for the new run */
}

/* ---- watching ---- */

static void cupsd_is_asked_less_often_with_time(void **state)
{
  int64_t gap_ms = DX_WATCH_FIRST_MS;
  int i;

  (void)state;
  assert_int_equal(permit_turn(&manager), now_ms + DX_ASK_AGAIN_MS);
  for (i = 0; i < 10; i++) {
    answer(DX_ANSWER_ACTIVE);
    assert_int_equal(permit_turn(&manager), now_ms + gap_ms);
    assert_int_equal(fake.woken, i + 1);
    now_ms += gap_ms - 1;
    assert_int_equal(permit_turn(&manager), now_ms + 1);
    assert_int_equal(fake.woken, i + 1);
    now_ms++;
    gap_ms = 2 * gap_ms < DX_WATCH_MAX_MS ? 2 * gap_ms : DX_WATCH_MAX_MS;
  }
}

/* Each second, the engine wants to send. */
static void held_print_job_is_asked_about_less_often_with_time(void **state)
{
  int asked_in_a_minute = 0, i;

  (void)state;
  job->print.backend = DX_BACKEND_ENDED;
  answer(DX_ANSWER_HELD);
  for (i = 0; i < 600; i++) {
    expect(DX_MAY_WAIT);
    fake.asked = 0;
    fake.answered_ms = now_ms;
    (void)permit_turn(&manager);
    asked_in_a_minute += i >= 540 ? fake.asked : 0;
    now_ms += 1000;
  }
  assert_int_equal(asked_in_a_minute, 1);
  assert_int_equal(fake.held, 599);
  assert_int_equal(fake.woken, 0);
  answer(DX_ANSWER_OVER);
  now_ms += DX_WATCH_MAX_MS;
  fake.answered_ms = now_ms;
  (void)permit_turn(&manager);
  assert_int_equal(fake.woken, 1);
  assert_int_equal(job->print.final, DX_FINAL_OVER);
  job->dirty = false;
  expect(DX_MAY_SEND);
}

static void only_open_print_jobs_without_an_attendant_are_watched(void **state)
{
  (void)state;
  answer(DX_ANSWER_OVER);
  assert_int_equal(permit_turn(&manager), INT64_MAX); /* that is the last one */
  job->print.final = DX_FINAL_NONE;
  job->ended = true;
  assert_int_equal(permit_turn(&manager), INT64_MAX);
  job->ended = false;
  job->print.backend = DX_BACKEND_NONE;
  assert_int_equal(permit_turn(&manager), INT64_MAX);
  attend();
  assert_int_equal(permit_turn(&manager), INT64_MAX);
  assert_int_equal(fake.asked, 1);
}

/* Whatever it has waited for may not matter any more. */
static void job_without_its_attendant_is_woken(void **state)
{
  (void)state;
  attend();
  attend_release(&managed, DX_BACKEND_BROKEN);
  assert_int_equal(fake.woken, 1);
}

/* It is asked for a step, and answers while no step is due. */
static void answer_wakes_the_job(void **state)
{
  (void)state;
  managed.watch_ms = INT64_MAX;
  expect(DX_MAY_WAIT);
  (void)permit_turn(&manager);
  assert_int_equal(fake.woken, 0);
  answer(DX_ANSWER_ACTIVE);
  (void)permit_turn(&manager);
  assert_int_equal(fake.woken, 1);
}

#define WITH_JOB(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH_JOB(is_sent_while_a_backend_attends),
      WITH_JOB(nothing_is_sent_while_the_backend_stops),
      WITH_JOB(cupsd_is_asked_until_a_backend_has_connected),
      WITH_JOB(attendant_knows_better_whether_its_cupsd_is_gone),
      WITH_JOB(request_does_not_leave_after_a_change),
      WITH_JOB(permission_lasts_while_another_document_asks),
      WITH_JOB(nothing_is_sent_before_the_journal_is_written),
      WITH_JOB(absence_of_cupsd_need_not_be_durable),
      WITH_JOB(answers_from_before_a_new_attendant_do_not_count),
      WITH_JOB(answer_is_written_before_anything_is_sent),
      WITH_JOB(cupsd_is_asked_before_each_step),
      WITH_JOB(job_without_a_print_job_is_sent),
      WITH_JOB(copy_is_not_sent_whatever_others_answer),
      WITH_JOB(decision_is_requested_until_cupsd_knows_the_print_job),
      WITH_JOB(change_of_mind_is_written_at_once),
      WITH_JOB(reason_for_a_decision_is_shown_again),
      WITH_JOB(decision_to_request_is_written_at_once),
      WITH_JOB(other_print_job_counts_if_one_is_canceled),
      WITH_JOB(job_is_canceled_with_its_print_job),
      WITH_JOB(what_was_sent_goes_on_if_a_held_print_job_is_canceled),
      WITH_JOB(half_of_a_submission_does_not_go_on),
      WITH_JOB(canceled_held_print_job_is_not_watched),
      WITH_JOB(cupsd_is_asked_less_often_with_time),
      WITH_JOB(held_print_job_is_asked_about_less_often_with_time),
      WITH_JOB(only_open_print_jobs_without_an_attendant_are_watched),
      WITH_JOB(job_without_its_attendant_is_woken),
      WITH_JOB(answer_wakes_the_job),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
