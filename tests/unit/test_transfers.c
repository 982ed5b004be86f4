/*
 * test_transfers.c - the print jobs that docextractd observes in cupsd: which
 * lists it requests, and what it makes of them. With a spool, and with
 * responses and a clock of the test. The rule itself: test_transfer.c.
 */
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/transfers.h"
#include "lib/base/clock.h"
#include "tests/unit/fake_http.h"
#include "tests/unit/ipp.h"

#define MIN_MS 60000
#define DAY_MS 86400000LL
#define QUEUES IPP_OP_CUPS_GET_PRINTERS
#define JOBS IPP_OP_GET_JOBS

static int64_t now_ms;

static int64_t now(void)
{
  return now_ms;
}

static const struct dx_clock test_clock = {now, now};

/* ---- the transport: one call at a time ---- */

static struct dx_http_call {
  bool is_open;
  int op, from;
  dx_http_done *done;
  void *ctx;
} call;

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err)
{
  ipp_t *ipp = ipp_read(request->body, request->body_len);
  ipp_attribute_t *from =
      ippFindAttribute(ipp, "first-job-id", IPP_TAG_INTEGER);

  (void)http;
  (void)err;
  assert_false(call.is_open);
  call = (struct dx_http_call){.is_open = true,
                               .op = ippGetOperation(ipp),
                               .from = ippGetInteger(from, 0),
                               .done = request->done,
                               .ctx = request->ctx};
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

static void respond(int op, ipp_t *ipp) /* NULL: a failure */
{
  struct dx_buf bytes = {0};
  struct dx_http_response response = {.status = 200};

  assert_true(call.is_open);
  assert_int_equal(call.op, op);
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

/* ---- print jobs ---- */

struct row {
  int id, state, documents;
  const char *queue;
  bool is_incoming, has_end_sheet;
};

static int64_t created_ms; /* all of them */

static ipp_t *list_of(const struct row *rows, size_t count)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);
  size_t i;

  for (i = 0; i < count; i++) {
    const struct row *r = &rows[i];
    static const char *const sheets[] = {"none", "standard"};
    char uri[64];

    (void)snprintf(uri, sizeof(uri), "ipp://localhost/printers/%s", r->queue);
    if (i > 0)
      ippAddSeparator(response);
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_INTEGER, "job-id", r->id);
    ipp_add_uri(response, IPP_TAG_JOB, "job-uuid", "urn:1");
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_INTEGER, "time-at-creation",
                  (int)(created_ms / 1000));
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_ENUM, "job-state", r->state);
    ipp_add_uri(response, IPP_TAG_JOB, "job-printer-uri", uri);
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_INTEGER, "number-of-documents",
                  r->documents);
    ippAddString(response, IPP_TAG_JOB, IPP_TAG_KEYWORD, "job-state-reasons",
                 NULL, r->is_incoming ? "job-incoming" : "none");
    if (r->has_end_sheet)
      ippAddStrings(response, IPP_TAG_JOB, IPP_TAG_NAME, "job-sheets", 2, NULL,
                    sheets);
  }
  return response;
}

static const char *chart_uri; /* the device of the queue "chart" */
static int timeout_s;         /* MultipleOperationTimeout; 0: none */

static ipp_t *queues(void)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);

  ippAddString(response, IPP_TAG_PRINTER, IPP_TAG_NAME, "printer-name", NULL,
               "chart");
  ipp_add_uri(response, IPP_TAG_PRINTER, "device-uri", chart_uri);
  ippAddInteger(response, IPP_TAG_PRINTER, IPP_TAG_INTEGER,
                "multiple-operation-time-out", timeout_s);
  ippAddSeparator(response);
  ippAddString(response, IPP_TAG_PRINTER, IPP_TAG_NAME, "printer-name", NULL,
               "paper");
  ipp_add_uri(response, IPP_TAG_PRINTER, "device-uri", "lpd://paper");
  return response;
}

/* ---- docextractd ---- */

static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool;
static struct cupsd cupsd;
static struct transfers t;
static struct dx_service service = {.name = "default"};
static const struct dx_config config = {
    .services = &service, .service_count = 1, .keep_jobs_ms = 7 * DAY_MS};
static struct dx_err err;
static int canceled;
static bool cancel_fails;

static bool on_canceled(void *ctx, const char *key)
{
  (void)ctx;
  assert_true(dx_is_key(key));
  canceled++;
  return !cancel_fails;
}

static int start(void **state)
{
  (void)state;
  now_ms = created_ms = 1700000000000;
  dx_clock_use(&test_clock);
  call.is_open = false;
  canceled = 0;
  cancel_fails = false;
  chart_uri = "docextract://default";
  timeout_s = 300;
  if (temp_dir_make(dir) < 0 || dx_spool_open(dir, &spool, &err) != DX_OK)
    return -1;
  cupsd_start(&cupsd, NULL, &config);
  transfers_start(&t, &cupsd, &config, &spool, on_canceled, NULL);
  return 0;
}

static int stop(void **state)
{
  (void)state;
  transfers_stop(&t);
  cupsd_stop(&cupsd);
  dx_clock_use(NULL);
  dx_spool_close(&spool);
  return temp_dir_remove(dir);
}

/* The next look, up to the list of print jobs. */
static void begin_look(void)
{
  now_ms += MIN_MS;
  assert_int_equal(transfers_turn(&t), now_ms + MIN_MS);
  respond(QUEUES, queues());
}

/* It finds these. */
static void look_at(const struct row *rows, size_t count)
{
  respond(JOBS, list_of(rows, count));
  if (count > 0)
    respond(JOBS, list_of(NULL, 0));
}

static void look(const struct row *rows, size_t count)
{
  begin_look();
  look_at(rows, count);
}

static void look_at_one(struct row row)
{
  look(&row, 1);
}

static const struct row incoming = {7,    IPP_JSTATE_HELD, 1, "chart", true,
                                    false};
static const struct row completed = {
    7, IPP_JSTATE_COMPLETED, 1, "chart", false, false};

static enum dx_transfer status(void)
{
  assert_int_equal(t.all.count, 1);
  return t.all.jobs[0].status;
}

/* The file has all that counts. */
static void restart(void)
{
  transfers_stop(&t);
  transfers_start(&t, &cupsd, &config, &spool, on_canceled, NULL);
}

/* ---- tests ---- */

static void stalled_job_is_shown_until_it_grows(void **state)
{
  struct row more = incoming;

  (void)state;
  look_at_one(incoming);
  assert_int_equal(call.from, 8); /* the last page */
  assert_int_equal(status(), DX_TRANSFER_NONE);
  look_at_one(incoming);
  assert_int_equal(status(), DX_TRANSFER_STALLED);
  assert_int_equal(transfers_acknowledge(&t), 0); /* it may still grow */
  more.documents = 2;
  more.queue = "Chart"; /* as the client has written it */
  look_at_one(more);
  assert_int_equal(status(), DX_TRANSFER_NONE);
}

/* The memory of this process is not written with it. */
static void file_has_no_other_bytes(void **state)
{
  const char *service_name;
  size_t i;

  (void)state;
  look_at_one(incoming);
  service_name = t.all.jobs[0].service;
  for (i = strlen("default"); i < sizeof(t.all.jobs[0].service); i++)
    assert_int_equal(service_name[i], 0);
}

/* Nothing of it was stored. */
static void job_that_ended_unseen_is_lost_once(void **state)
{
  (void)state;
  look_at_one(incoming);
  look_at_one(completed);
  assert_int_equal(status(), DX_TRANSFER_LOST);
  restart();
  assert_int_equal(transfers_acknowledge(&t), 1);
  restart();
  assert_int_equal(status(), DX_TRANSFER_NONE);
  look_at_one(completed);
  assert_int_equal(t.all.count, 0);
  look_at_one(completed); /* checked: below next_id */
  assert_int_equal(t.all.count, 0);
  begin_look();
  assert_int_equal(call.from, 7); /* if it is gone, cupsd has begun again */
}

static void lost_job_is_shown_for_the_time_of_keep_jobs(void **state)
{
  (void)state;
  look_at_one(incoming);
  look_at_one(completed);
  now_ms += 7 * DAY_MS - MIN_MS;
  look_at_one(completed);
  assert_int_equal(status(), DX_TRANSFER_LOST);
  look_at_one(completed);
  assert_int_equal(t.all.count, 0);
}

static void job_that_cupsd_has_forgotten_is_lost(void **state)
{
  (void)state;
  look_at_one(incoming);
  look(NULL, 0);
  assert_int_equal(status(), DX_TRANSFER_LOST);
}

static void failed_look_changes_nothing(void **state)
{
  (void)state;
  look_at_one(incoming);
  begin_look();
  respond(JOBS, NULL);
  assert_int_equal(status(), DX_TRANSFER_NONE);
  now_ms += MIN_MS;
  (void)transfers_turn(&t);
  respond(QUEUES, NULL);
  assert_false(call.is_open);
}

/* The list begins with the oldest job that is not over. */
static void only_new_jobs_and_open_ones_are_listed(void **state)
{
  static const struct row rows[] = {
      {3, IPP_JSTATE_HELD, 1, "chart", true, false},
      {5, IPP_JSTATE_HELD, 1, "chart", true, false},
      {3, IPP_JSTATE_COMPLETED, 1, "chart", false, false},
      {5, IPP_JSTATE_HELD, 1, "chart", true, false},
      {9, IPP_JSTATE_COMPLETED, 1, "paper", false, false}};

  (void)state;
  begin_look();
  assert_int_equal(call.from, 1);
  look_at(rows, 2);
  begin_look();
  assert_int_equal(call.from, 3);
  look_at(rows + 2, 3);
  assert_int_equal(t.all.count, 2); /* one is lost, but over */
  begin_look();
  assert_int_equal(call.from, 5);
}

static void jobs_of_other_queues_are_not_observed(void **state)
{
  struct row paper = incoming;

  (void)state;
  paper.queue = "paper";
  look_at_one(paper);
  look_at_one(paper);
  assert_int_equal(t.all.count, 0);
  assert_int_equal(t.queue_count, 1);
}

/* The administrator may change it back. */
static void job_of_a_changed_queue_is_not_lost(void **state)
{
  (void)state;
  look_at_one(incoming);
  chart_uri = "lpd://paper";
  look_at_one(incoming);
  assert_int_equal(status(), DX_TRANSFER_NONE);
  assert_int_equal(canceled, 0);
}

/* Although it is no longer listed, and its record was purged. */
static void without_a_timeout_no_job_is_incomplete(void **state)
{
  struct row started = incoming;

  (void)state;
  timeout_s = 0;
  look_at_one(incoming);
  started.state = IPP_JSTATE_PROCESSING;
  started.is_incoming = false;
  look_at_one(started);
  assert_int_equal(status(), DX_TRANSFER_NONE);
}

static void incomplete_job_stays_incomplete(void **state)
{
  (void)state;
  look_at_one(incoming);
  look_at_one(completed);
  t.all.jobs[0].status = DX_TRANSFER_INCOMPLETE;
  look(NULL, 0);
  assert_int_equal(status(), DX_TRANSFER_INCOMPLETE);
}

static void moved_or_canceled_job_is_reported(void **state)
{
  struct row row = incoming;

  (void)state;
  look_at_one(incoming);
  row.queue = "paper";
  look_at_one(row);
  assert_int_equal(canceled, 1);
  assert_int_equal(t.all.count, 0);
  row = incoming;
  row.id = 20;
  look_at_one(row);
  row.state = IPP_JSTATE_CANCELED;
  look_at_one(row);
  assert_int_equal(canceled, 2);
  assert_int_equal(t.all.count, 0);
}

/* Also one that was canceled before the first look. */
static void report_is_repeated_until_it_succeeds(void **state)
{
  struct row row = incoming;

  (void)state;
  look_at_one(incoming);
  row.queue = "paper";
  cancel_fails = true;
  look_at_one(row);
  look_at_one(row);
  assert_int_equal(canceled, 2);
  cancel_fails = false;
  look_at_one(row);
  assert_int_equal(canceled, 3);
  assert_int_equal(t.all.count, 0);
  row = incoming;
  row.id = 20;
  row.state = IPP_JSTATE_CANCELED;
  cancel_fails = true;
  look_at_one(row);
  assert_string_equal(t.all.jobs[0].queue, "chart");
  cancel_fails = false;
  look_at_one(row);
  assert_int_equal(canceled, 5);
  assert_int_equal(t.all.count, 0);
}

/* Not the job sheet at the end, which cupsd counts. */
static void sheet_is_not_a_document(void **state)
{
  struct row row = {7, IPP_JSTATE_PROCESSING, 3, "chart", false, true};

  (void)state;
  look_at_one(row);
  assert_int_equal(t.all.count, 1);
  assert_int_equal(t.all.jobs[0].documents, 2);
}

/* CUPS has started it without its last document; its job sheet is no document.
 */
static void incomplete_receipt_is_refused(void **state)
{
  struct dx_job *receipt = NULL;
  int i;

  (void)state;
  for (i = 0; i < 6; i++) /* longer than MultipleOperationTimeout */
    look_at_one(incoming);
  assert_int_equal(dx_spool_receive(&spool, &receipt, &err), DX_OK);
  receipt->documents = calloc(2, sizeof(*receipt->documents));
  receipt->document_count = 2;
  receipt->documents[1].entry.kind = DX_KIND_SHEET;
  receipt->received_at = now_ms;
  receipt->service = strdup("default");
  receipt->base_url = strdup("https://a");
  memcpy(receipt->key, t.all.jobs[0].key, sizeof(receipt->key));
  memcpy(receipt->print.key, t.all.jobs[0].key, sizeof(receipt->key));
  assert_int_equal(dx_job_plan(receipt, &err), DX_OK);
  assert_int_equal(transfers_hold(&t, receipt, &err), DX_OK);
  assert_int_equal(receipt->submissions[0].state, DX_ST_REFUSED);
  assert_int_equal(receipt->submissions[0].code, DX_E_INCOMPLETE);
  assert_int_equal(receipt->submissions[0].failed_at, 0);
  assert_false(receipt->dirty); /* it was saved */
  restart();
  assert_int_equal(dx_job_plan(receipt, &err), DX_OK);
  assert_int_equal(transfers_hold(&t, receipt, &err), DX_OK);
  assert_int_equal(receipt->submissions[0].state, DX_ST_STORED); /* released */
  dx_job_free(&receipt);
}

/* Further ones are not observed, and do no harm. */
static void number_of_jobs_is_limited(void **state)
{
  static struct row rows[DX_TRANSFERS_MAX + 2];
  int i;

  (void)state;
  for (i = 0; i < DX_TRANSFERS_MAX + 2; i++) {
    rows[i] = incoming;
    rows[i].id = i + 1;
  }
  look(rows, DX_TRANSFERS_MAX + 2);
  assert_int_equal(t.all.count, DX_TRANSFERS_MAX);
  /* Those that are over at once need no place. */
  for (i = 0; i <= DX_TRANSFERS_MAX; i++)
    rows[i].state = IPP_JSTATE_CANCELED;
  look(rows, DX_TRANSFERS_MAX + 2);
  assert_int_equal(t.all.count, 0);
  for (i = 0; i < DX_TRANSFERS_MAX + 2; i++)
    rows[i].id += 1000;
  look(rows, DX_TRANSFERS_MAX + 2);
  assert_int_equal(t.all.count, 1);
}

#define OBSERVED(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
  const struct CMUnitTest tests[] = {
      OBSERVED(stalled_job_is_shown_until_it_grows),
      OBSERVED(file_has_no_other_bytes),
      OBSERVED(job_that_ended_unseen_is_lost_once),
      OBSERVED(lost_job_is_shown_for_the_time_of_keep_jobs),
      OBSERVED(job_that_cupsd_has_forgotten_is_lost),
      OBSERVED(failed_look_changes_nothing),
      OBSERVED(only_new_jobs_and_open_ones_are_listed),
      OBSERVED(jobs_of_other_queues_are_not_observed),
      OBSERVED(job_of_a_changed_queue_is_not_lost),
      OBSERVED(incomplete_job_stays_incomplete),
      OBSERVED(without_a_timeout_no_job_is_incomplete),
      OBSERVED(moved_or_canceled_job_is_reported),
      OBSERVED(report_is_repeated_until_it_succeeds),
      OBSERVED(sheet_is_not_a_document),
      OBSERVED(incomplete_receipt_is_refused),
      OBSERVED(number_of_jobs_is_limited),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
