/*
 * test_watch.c - how docextractd notices that the print job of a failed job is
 * canceled: what it requests from cupsd, and what it makes of the responses.
 * With a spool, and with responses and a clock of the test.
 */
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/watch.h"
#include "lib/base/clock.h"
#include "tests/unit/fake_http.h"
#include "tests/unit/ipp.h"

#define MIN_MS 60000
#define LIST IPP_OP_GET_JOBS
#define JOB IPP_OP_GET_JOB_ATTRIBUTES
#define QUEUE IPP_OP_GET_PRINTER_ATTRIBUTES
#define CREATED 7

static int64_t now_ms;

static int64_t now(void)
{
  return now_ms;
}

static const struct dx_clock test_clock = {now, now};

/* ---- the transport: one call at a time ---- */

static struct dx_http_call {
  bool is_open;
  int op;
  char uri[64];
  dx_http_done *done;
  void *ctx;
} call;

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err)
{
  ipp_t *ipp = ipp_read(request->body, request->body_len);

  (void)http;
  (void)err;
  assert_false(call.is_open);
  call = (struct dx_http_call){.is_open = true,
                               .op = ippGetOperation(ipp),
                               .done = request->done,
                               .ctx = request->ctx};
  (void)snprintf(call.uri, sizeof(call.uri), "%s", ipp_text(ipp, "job-uri"));
  ippDelete(ipp);
  *ret_call = &call;
  return DX_OK;
}

void __wrap_dx_http_cancel(struct dx_http_call **at)
{
  if (*at != NULL)
    (*at)->is_open = false;
  *at = NULL;
}

static size_t pages, questions; /* that were requested */

static void respond(int op, ipp_t *ipp) /* NULL: a failure */
{
  struct dx_buf bytes = {0};
  struct dx_http_response response = {.status = 200};

  assert_true(call.is_open);
  assert_int_equal(call.op, op);
  pages += op == LIST;
  questions += op == JOB;
  if (ipp != NULL)
    ipp_bytes(ipp, &bytes);
  else
    response.err.code = DX_E_NET;
  response.body = dx_buf_text(&bytes);
  response.body_len = bytes.len;
  call.is_open = false;
  call.done(call.ctx, &response);
  dx_buf_release(&bytes);
}

/* ---- docextractd ---- */

static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool;
static struct cupsd cupsd;
static struct watch w;
static struct dx_service service = {.name = "default"};
static const struct dx_config config = {.services = &service,
                                        .service_count = 1};
static struct dx_err err;
static char canceled[DX_KEY_BYTES];
static bool cancel_fails;

static bool on_canceled(void *ctx, const char *key)
{
  (void)ctx;
  (void)strcpy(canceled, key);
  return !cancel_fails;
}

static int start(void **state)
{
  (void)state;
  now_ms = 1700000000000;
  dx_clock_use(&test_clock);
  call.is_open = false;
  pages = questions = 0;
  canceled[0] = '\0';
  cancel_fails = false;
  if (temp_dir_make(dir) < 0 || dx_spool_open(dir, &spool, &err) != DX_OK)
    return -1;
  cupsd_start(&cupsd, NULL, &config);
  watch_start(&w, &cupsd, &spool, on_canceled, NULL);
  return 0;
}

static int stop(void **state)
{
  (void)state;
  watch_stop(&w);
  cupsd_stop(&cupsd);
  dx_clock_use(NULL);
  dx_spool_close(&spool);
  return temp_dir_remove(dir);
}

/* A job of print job `id`, in this state, and, unless that is NULL, of an
 * earlier one. It is stored, and watched. */
static void add_job(const char *id, const char *earlier, enum dx_state its)
{
  struct dx_job *job = NULL;
  char file[DX_FILE_NAME_BYTES], *name;

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  job->documents = calloc(1, sizeof(*job->documents));
  job->document_count = 1;
  job->documents[0].entry.kind = DX_KIND_DOCUMENT;
  (void)snprintf(job->documents[0].entry.sha256,
                 sizeof(job->documents[0].entry.sha256), "%064d", atoi(id));
  dx_document_file(0, file);
  assert_int_equal(dx_fs_write(job->dirfd, file, "", 0, 0600, true, &err),
                   DX_OK);
  job->service = strdup("default");
  job->base_url = strdup("https://a");
  job->queue = strdup("chart");
  job->cups_id = strdup(id);
  job->uuid = strdup("urn:1");
  job->user = strdup("ann");
  assert_true(dx_spool_key("urn:1", id, CREATED, job->key));
  dx_print_begin(&job->print);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  dx_job_free(&job);
  name = dx_spool_names(&spool, DX_SPOOL_RECEIVED, &err);
  assert_int_equal(dx_spool_load(&spool, name, &job, &err), DX_OK);
  free(name);
  if (earlier != NULL) {
    free(job->others);
    job->others = calloc(1, sizeof(*job->others));
    job->other_count = 1;
    job->others[0].queue = strdup("chart");
    job->others[0].cups_id = strdup(earlier);
    dx_print_begin(&job->others[0].print);
    assert_true(
        dx_spool_key("urn:1", earlier, CREATED, job->others[0].print.key));
  }
  job->submissions[0].state = its;
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  if (earlier != NULL) {
    char alias[64];

    assert_int_equal(dx_spool_add_aliases(&spool, job, &err), DX_OK);
    (void)snprintf(alias, sizeof(alias), "aliases/%s",
                   job->others[0].print.key);
    assert_int_equal(symlinkat(job->key, spool.dirfd, alias), 0);
  }
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  watch_add(&w, job);
  dx_job_free(&job);
}

/* ---- cupsd ---- */

/* The list of a look; 0: cupsd does not have the print job. */
static void look_and_list(int id, int job_state)
{
  const struct ipp_listed listed = {id, job_state};

  now_ms += MIN_MS;
  (void)watch_turn(&w);
  respond(LIST, ipp_jobs(&listed, job_state != 0));
  if (job_state != 0) /* the page behind it begins with the last job */
    respond(LIST, ipp_jobs(&listed, 1));
  (void)watch_turn(&w);
}

static void say_about_job(const char *queue, int job_state)
{
  respond(JOB, ipp_job("urn:1", CREATED, job_state, queue, NULL));
  (void)watch_turn(&w);
}

static bool was_canceled(const char *id)
{
  char key[DX_KEY_BYTES];

  assert_true(dx_spool_key("urn:1", id, CREATED, key));
  return strcmp(canceled, key) == 0;
}

#define HELD IPP_JSTATE_HELD
#define CANCELED IPP_JSTATE_CANCELED

/* ---- looks ---- */

static void cupsd_is_not_asked_without_a_failed_job(void **state)
{
  (void)state;
  assert_true(watch_turn(&w) == INT64_MAX);
  add_job("1", NULL, DX_ST_STORED);
  add_job("2", NULL, DX_ST_EXTRACTED);
  assert_true(watch_turn(&w) == INT64_MAX);
  assert_false(call.is_open);
}

static void one_list_a_minute_is_enough_while_nothing_changes(void **state)
{
  int i;

  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  for (i = 0; i < 5; i++) {
    look_and_list(7, HELD);
    assert_int_equal(watch_turn(&w), now_ms + MIN_MS);
    assert_false(call.is_open);
  }
  assert_int_equal(pages, 10);
  assert_int_equal(questions, 0);
}

static void job_that_is_no_longer_listed_is_asked_about(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  look_and_list(7, HELD);
  look_and_list(0, 0);
  assert_string_equal(call.uri, "ipp://localhost/jobs/7");
  say_about_job(NULL, CANCELED);
  assert_true(was_canceled("7"));
  assert_true(watch_turn(&w) == INT64_MAX); /* nothing is left to watch */
}

/* docextractd was not running when it was canceled. */
static void job_that_was_never_listed_is_asked_about(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_REFUSED);
  look_and_list(0, 0);
  say_about_job(NULL, CANCELED);
  assert_true(was_canceled("7"));
}

/* It was moved to another printer, and is printed there. */
static void job_whose_state_changes_is_asked_about(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  look_and_list(7, HELD);
  look_and_list(7, IPP_JSTATE_PROCESSING);
  respond(JOB, ipp_job("urn:1", CREATED, IPP_JSTATE_PROCESSING,
                       "ipp://localhost/printers/paper", NULL));
  respond(QUEUE, ipp_queue("lpd://paper"));
  (void)watch_turn(&w);
  assert_true(was_canceled("7"));
}

static void job_that_is_still_there_is_watched_on(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  look_and_list(7, IPP_JSTATE_PROCESSING);
  look_and_list(7, HELD);
  say_about_job(NULL, HELD);
  assert_string_equal(canceled, "");
  look_and_list(7, HELD);
  assert_int_equal(questions, 1);
  look_and_list(0, 0);
  say_about_job(NULL, CANCELED);
  assert_true(was_canceled("7"));
}

/* It is over, or another print job has its number. */
static void job_that_is_gone_is_no_longer_watched(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  look_and_list(0, 0);
  say_about_job(NULL, IPP_JSTATE_COMPLETED);
  assert_true(watch_turn(&w) == INT64_MAX);
  add_job("8", NULL, DX_ST_FAILED);
  look_and_list(0, 0);
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  (void)watch_turn(&w);
  assert_true(watch_turn(&w) == INT64_MAX);
  assert_string_equal(canceled, "");
}

static void earlier_print_job_of_an_active_job_is_watched(void **state)
{
  (void)state;
  add_job("8", "7", DX_ST_STORED);
  look_and_list(8, HELD);
  assert_string_equal(call.uri, "ipp://localhost/jobs/7");
  say_about_job(NULL, CANCELED);
  assert_true(was_canceled("7"));
  assert_true(watch_turn(&w) == INT64_MAX);
}

static void job_that_is_added_twice_is_asked_about_once(void **state)
{
  struct dx_job *job = NULL;
  char key[DX_KEY_BYTES];

  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  look_and_list(7, HELD);
  assert_true(dx_spool_key("urn:1", "7", CREATED, key));
  assert_int_equal(dx_spool_load(&spool, key, &job, &err), DX_OK);
  watch_add(&w, job);
  dx_job_free(&job);
  look_and_list(7, HELD);
  assert_int_equal(questions, 0);
  look_and_list(0, 0);
  say_about_job(NULL, CANCELED);
  assert_int_equal(questions, 1);
  assert_true(watch_turn(&w) == INT64_MAX);
}

/* ---- failures ---- */

static void look_without_an_answer_is_repeated(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  now_ms += MIN_MS;
  (void)watch_turn(&w);
  respond(LIST, NULL);
  assert_int_equal(watch_turn(&w), now_ms + MIN_MS);
  look_and_list(0, 0);
  respond(JOB, NULL);
  assert_int_equal(watch_turn(&w), now_ms + MIN_MS);
  look_and_list(0, 0);
  say_about_job(NULL, CANCELED);
  assert_true(was_canceled("7"));
}

/* Each question would take a second. */
static void silent_cupsd_is_asked_once_in_a_look(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  add_job("8", NULL, DX_ST_FAILED);
  look_and_list(0, 0);
  respond(JOB, NULL);
  assert_int_equal(watch_turn(&w), now_ms + MIN_MS);
  assert_int_equal(questions, 1);
  look_and_list(0, 0);
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  (void)watch_turn(&w);
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  (void)watch_turn(&w);
  assert_true(watch_turn(&w) == INT64_MAX);
}

static void cancellation_is_repeated_until_it_succeeds(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  cancel_fails = true;
  look_and_list(0, 0);
  say_about_job(NULL, CANCELED);
  cancel_fails = false;
  canceled[0] = '\0';
  look_and_list(0, 0);
  say_about_job(NULL, CANCELED);
  assert_true(was_canceled("7"));
}

static void removed_record_is_no_longer_watched(void **state)
{
  struct dx_job *job = NULL;
  char key[DX_KEY_BYTES];

  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  assert_true(dx_spool_key("urn:1", "7", CREATED, key));
  assert_int_equal(dx_spool_load(&spool, key, &job, &err), DX_OK);
  assert_int_equal(dx_spool_remove(&spool, &job, &err), DX_OK);
  dx_job_free(&job);
  look_and_list(0, 0);
  assert_false(call.is_open);
  assert_true(watch_turn(&w) == INT64_MAX);
}

/* ---- the journal of a job that changes during the look ---- */

static void job_that_is_added_during_a_look_waits_for_the_next(void **state)
{
  (void)state;
  add_job("7", NULL, DX_ST_FAILED);
  look_and_list(0, 0);
  add_job("8", NULL, DX_ST_FAILED);
  say_about_job(NULL, CANCELED);
  assert_true(was_canceled("7"));
  assert_false(call.is_open);
  look_and_list(8, HELD);
  assert_int_equal(questions, 1);
}

#define WATCHED(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
  const struct CMUnitTest tests[] = {
      WATCHED(cupsd_is_not_asked_without_a_failed_job),
      WATCHED(one_list_a_minute_is_enough_while_nothing_changes),
      WATCHED(job_that_is_no_longer_listed_is_asked_about),
      WATCHED(job_that_was_never_listed_is_asked_about),
      WATCHED(job_whose_state_changes_is_asked_about),
      WATCHED(job_that_is_still_there_is_watched_on),
      WATCHED(job_that_is_gone_is_no_longer_watched),
      WATCHED(earlier_print_job_of_an_active_job_is_watched),
      WATCHED(job_that_is_added_twice_is_asked_about_once),
      WATCHED(look_without_an_answer_is_repeated),
      WATCHED(silent_cupsd_is_asked_once_in_a_look),
      WATCHED(cancellation_is_repeated_until_it_succeeds),
      WATCHED(removed_record_is_no_longer_watched),
      WATCHED(job_that_is_added_during_a_look_waits_for_the_next),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
