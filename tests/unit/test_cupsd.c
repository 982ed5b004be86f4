/*
 * test_cupsd.c - how docextractd handles the responses of cupsd, and how often
 * it asks, with a transport and a clock that the test controls.
 */
#include "tests/unit/unit.h"

#include <cups/cups.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/cupsd.h"
#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/spool/spool.h"
#include "tests/unit/ipp.h"
#include "tests/unit/fake_http.h"

#define CALLS_MAX 64
#define CREATED 7

static int64_t now_ms;

static int64_t now(void)
{
  return now_ms;
}

static const struct dx_clock test_clock = {now, now};

/* ---- the transport ---- */

struct dx_http_call {
  bool is_open;
  int op;
  char url[128], unix_socket[64], uri[256], user[64];
  int from; /* first-job-id */
  int64_t timeout_ms;
  dx_http_done *done;
  void *ctx;
};

static struct fake {
  struct dx_http_call calls[CALLS_MAX];
  size_t count;
} fake;

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err)
{
  struct dx_http_call *call = &fake.calls[fake.count++];
  ipp_t *ipp = ipp_read(request->body, request->body_len);
  ipp_attribute_t *from;
  const char *uri;

  (void)http;
  (void)err;
  assert_in_range(fake.count, 1, CALLS_MAX);
  assert_non_null(ipp);
  assert_string_equal(request->method, "POST");
  assert_string_equal(request->content_type, "application/ipp");
  from = ippFindAttribute(ipp, "first-job-id", IPP_TAG_INTEGER);
  uri = ipp_text(ipp, "job-uri");
  if (uri[0] == '\0')
    uri = ipp_text(ipp, "printer-uri");
  *call =
      (struct dx_http_call){.is_open = true,
                            .op = ippGetOperation(ipp),
                            .from = from != NULL ? ippGetInteger(from, 0) : 0,
                            .timeout_ms = request->timeout_ms,
                            .done = request->done,
                            .ctx = request->ctx};
  (void)snprintf(call->url, sizeof(call->url), "%s", request->url);
  (void)snprintf(call->unix_socket, sizeof(call->unix_socket), "%s",
                 request->unix_socket != NULL ? request->unix_socket : "");
  (void)snprintf(call->uri, sizeof(call->uri), "%s", uri);
  (void)snprintf(call->user, sizeof(call->user), "%s",
                 ipp_text(ipp, "requesting-user-name"));
  ippDelete(ipp);
  *ret_call = call;
  return DX_OK;
}

void __wrap_dx_http_cancel(struct dx_http_call **call)
{
  if (*call != NULL)
    (*call)->is_open = false;
  *call = NULL;
}

static size_t asked(int op)
{
  size_t i, n = 0;

  for (i = 0; i < fake.count; i++)
    n += fake.calls[i].op == op;
  return n;
}

/* The first request of this kind without a response. */
static struct dx_http_call *open_call(int op)
{
  size_t i;

  for (i = 0; i < fake.count; i++)
    if (fake.calls[i].is_open && fake.calls[i].op == op)
      return &fake.calls[i];
  fail_msg("cupsd is not asked for operation %x", (unsigned)op);
  return NULL;
}

static void end_call(struct dx_http_call *call, enum dx_code code, int status,
                     ipp_t *ipp)
{
  struct dx_buf bytes = {0};
  struct dx_http_response response = {.err.code = code, .status = status};

  if (ipp != NULL)
    ipp_bytes(ipp, &bytes);
  response.body = dx_buf_text(&bytes);
  response.body_len = bytes.len;
  call->is_open = false;
  call->done(call->ctx, &response);
  dx_buf_release(&bytes);
}

static void respond(int op, ipp_t *ipp)
{
  end_call(open_call(op), DX_OK, 200, ipp);
}

#define JOB IPP_OP_GET_JOB_ATTRIBUTES
#define QUEUE IPP_OP_GET_PRINTER_ATTRIBUTES
#define LIST IPP_OP_GET_JOBS

/* ---- memory ---- */

static bool has_no_memory;

void *__real_reallocarray(void *array, size_t count, size_t size);
void *__wrap_reallocarray(void *array, size_t count, size_t size);

void *__wrap_reallocarray(void *array, size_t count, size_t size)
{
  return has_no_memory ? NULL : __real_reallocarray(array, count, size);
}

/* ---- the job ---- */

static struct cupsd cupsd;
static struct dx_job job, others[CALLS_MAX];
static struct question question, other_questions[CALLS_MAX];

static struct dx_service services[] = {{.name = "default"}, {.name = "second"}};
static const struct dx_config config = {.services = services,
                                        .service_count = 2};

static char *text(const char *value)
{
  char *copy = strdup(value);

  assert_non_null(copy);
  return copy;
}

static void make_job(struct dx_job *it, int id)
{
  char number[16];

  (void)snprintf(number, sizeof(number), "%d", id);
  memset(it, 0, sizeof(*it));
  it->cups_id = text(number);
  it->uuid = text("urn:1");
  it->user = text("ann");
  it->queue = text("chart");
  it->service = text("default");
  assert_true(dx_spool_key(it->uuid, it->cups_id, CREATED, it->key));
  memcpy(it->print.key, it->key, sizeof(it->key));
}

static void free_job(struct dx_job *it)
{
  free(it->cups_id);
  free(it->uuid);
  free(it->user);
  free(it->queue);
  free(it->service);
  memset(it, 0, sizeof(*it));
}

static int begin(void **state)
{
  (void)state;
  now_ms = 1000000;
  dx_clock_use(&test_clock);
  memset(&fake, 0, sizeof(fake));
  make_job(&job, 17);
  cupsd_start(&cupsd, NULL, &config);
  return 0;
}

static int end(void **state)
{
  size_t i;

  (void)state;
  cupsd_forget(&question);
  for (i = 0; i < CALLS_MAX; i++)
    cupsd_forget(&other_questions[i]);
  cupsd_stop(&cupsd);
  free_job(&job);
  for (i = 0; i < CALLS_MAX; i++)
    free_job(&others[i]);
  for (i = 0; i < fake.count; i++)
    assert_false(fake.calls[i].is_open);
  dx_clock_use(NULL);
  return 0;
}

static void ask(void)
{
  enum dx_answer answer;

  assert_false(cupsd_answer(&cupsd, &job, &question, now_ms, &answer));
}

static void expect(enum dx_answer expected)
{
  enum dx_answer answer = DX_ANSWER_COUNT;

  assert_true(cupsd_answer(&cupsd, &job, &question, 0, &answer));
  assert_string_equal(dx_answer_word(answer), dx_answer_word(expected));
}

static ipp_t *job_at(const char *queue, int state)
{
  char uri[128];

  (void)snprintf(uri, sizeof(uri), "ipp://localhost/%s", queue);
  return ipp_job("urn:1", CREATED, state, uri, NULL);
}

static const struct ipp_listed listed_17 = {17, NULL, 0, false};

/* ---- answers ---- */

static void every_state_has_an_answer(void **state)
{
  static const struct {
    ipp_jstate_t state;
    enum dx_answer answer;
  } rows[] = {{IPP_JSTATE_HELD, DX_ANSWER_HELD},
              {IPP_JSTATE_STOPPED, DX_ANSWER_HELD},
              {IPP_JSTATE_CANCELED, DX_ANSWER_CANCELED},
              {IPP_JSTATE_ABORTED, DX_ANSWER_OVER},
              {IPP_JSTATE_COMPLETED, DX_ANSWER_OVER}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ask();
    respond(JOB, job_at("printers/chart", (int)rows[i].state));
    respond(QUEUE, ipp_queue("docextract://default"));
    expect(rows[i].answer);
    now_ms += DX_ASK_AGAIN_MS;
  }
}

static void query_names_the_owner_of_the_job(void **state)
{
  (void)state;
  ask();
  assert_string_equal(open_call(JOB)->user, "ann");
  assert_string_equal(open_call(JOB)->uri, "ipp://localhost/jobs/17");
}

static void query_goes_to_the_address_of_cupsd(void **state)
{
  static const struct {
    const char *server, *url, *unix_socket;
  } rows[] = {{"/run/a.sock", "http://localhost/", "/run/a.sock"},
              {"127.0.0.1:8631", "http://127.0.0.1:8631/", ""},
              {"[::1]:8632", "http://[::1]:8632/", ""},
              {"fe80::a:8633", "http://[fe80::a]:8633/", ""}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(setenv("CUPS_SERVER", rows[i].server, 1), 0);
    ask();
    assert_string_equal(open_call(JOB)->url, rows[i].url);
    assert_string_equal(open_call(JOB)->unix_socket, rows[i].unix_socket);
    respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
    now_ms += DX_ASK_AGAIN_MS;
  }
  assert_int_equal(unsetenv("CUPS_SERVER"), 0);
}

static void answer_depends_on_the_printer(void **state)
{
  static const struct {
    const char *section, *queue, *uri; /* section: of the job */
    enum dx_answer held, over;         /* if the job is held; if it is over */
  } rows[] = {
      {"default", "printers/chart", "docextract://default", DX_ANSWER_HELD,
       DX_ANSWER_OVER},
      {"default", "printers/CHART", "docextract://default/", DX_ANSWER_HELD,
       DX_ANSWER_OVER},
      {"default", "printers/chart", "docextract://second",
       DX_ANSWER_OTHER_QUEUE, DX_ANSWER_OVER},
      {"default", "printers/chart", "docextract://gone", DX_ANSWER_CHANGED,
       DX_ANSWER_OVER},
      {"default", "printers/chart", "lpd://paper", DX_ANSWER_CHANGED,
       DX_ANSWER_OVER},
      {"default", "printers/other", "docextract://default/",
       DX_ANSWER_OTHER_QUEUE, DX_ANSWER_OVER},
      {"default", "printers/other", "docextract://second",
       DX_ANSWER_OTHER_QUEUE, DX_ANSWER_OVER},
      {"default", "printers/other", "docextract://gone", DX_ANSWER_NOT_OURS,
       DX_ANSWER_NOT_OURS},
      {"default", "printers/paper", "lpd://paper", DX_ANSWER_NOT_OURS,
       DX_ANSWER_NOT_OURS},
      {"default", "printers/gone", NULL, DX_ANSWER_HELD, DX_ANSWER_OVER},
      /* The section is renamed, with and without the queue. */
      {"gone", "printers/chart", "docextract://second", DX_ANSWER_OTHER_QUEUE,
       DX_ANSWER_OVER},
      {"gone", "printers/chart", "docextract://gone", DX_ANSWER_HELD,
       DX_ANSWER_OVER},
  };
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    free(job.service);
    job.service = text(rows[i].section);
    for (k = 0; k < 2; k++) {
      now_ms += DX_ASK_AGAIN_MS;
      ask();
      respond(JOB, job_at(rows[i].queue,
                          k == 0 ? IPP_JSTATE_HELD : IPP_JSTATE_COMPLETED));
      respond(QUEUE, rows[i].uri != NULL
                         ? ipp_queue(rows[i].uri)
                         : ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
      expect(k == 0 ? rows[i].held : rows[i].over);
    }
  }
}

static void ask_at_another_queue(void)
{
  ask();
  respond(JOB, job_at("printers/other", IPP_JSTATE_PENDING));
  respond(QUEUE, ipp_queue("docextract://default"));
}

static void
pending_job_of_another_queue_that_is_not_listed_is_over(void **state)
{
  (void)state;
  ask_at_another_queue();
  respond(LIST, ipp_jobs(NULL, 0));
  expect(DX_ANSWER_OVER);
}

static void other_queue_is_found_despite_a_private_list(void **state)
{
  (void)state;
  ask_at_another_queue();
  end_call(open_call(LIST), DX_OK, 401, NULL);
  expect(DX_ANSWER_OTHER_QUEUE);
}

/* cupsd says file:///dev/null of a class, which is none of ours. */
static void device_uri_of_a_class_is_not_queried(void **state)
{
  (void)state;
  ask();
  respond(JOB, job_at("classes/all", IPP_JSTATE_HELD));
  expect(DX_ANSWER_HELD);
  assert_int_equal(asked(QUEUE), 0);
}

static void private_printer_is_ignored(void **state)
{
  (void)state;
  ask();
  respond(JOB, job_at("printers/paper", IPP_JSTATE_HELD));
  end_call(open_call(QUEUE), DX_OK, 401, NULL);
  expect(DX_ANSWER_HELD);
}

static void ask_pending(void)
{
  ask();
  respond(JOB, job_at("classes/all", IPP_JSTATE_PENDING));
}

static void unlisted_pending_job_is_over(void **state)
{
  static const struct ipp_listed other = {18, NULL, 0, false};

  (void)state;
  ask_pending();
  respond(LIST, ipp_jobs(&other, 1));
  expect(DX_ANSWER_OVER);
}

static void recent_list_proves_that_jobs_are_active(void **state)
{
  (void)state;
  ask_pending();
  respond(LIST, ipp_jobs(&listed_17, 1));
  expect(DX_ANSWER_ACTIVE);
  now_ms += DX_ASK_AGAIN_MS;
  ask_pending();
  expect(DX_ANSWER_ACTIVE);
  assert_int_equal(asked(LIST), 1);
}

/* It may have been printed since. */
static void old_list_does_not_prove_that_a_job_is_over(void **state)
{
  (void)state;
  ask_pending();
  respond(LIST, ipp_jobs(NULL, 0));
  expect(DX_ANSWER_OVER);
  now_ms += DX_ASK_AGAIN_MS;
  ask_pending();
  respond(LIST, ipp_jobs(&listed_17, 1));
  expect(DX_ANSWER_ACTIVE);
}

static void private_list_is_ignored(void **state)
{
  (void)state;
  ask_pending();
  end_call(open_call(LIST), DX_OK, 401, NULL);
  expect(DX_ANSWER_ACTIVE);
}

static void hidden_job_is_reported_as_hidden(void **state)
{
  (void)state;
  ask();
  respond(JOB, ipp_job(NULL, 0, 0, "ipp://localhost/printers/paper", NULL));
  expect(DX_ANSWER_HIDDEN);
  now_ms += DX_ASK_AGAIN_MS;
  ask();
  end_call(open_call(JOB), DX_OK, 401, NULL);
  expect(DX_ANSWER_HIDDEN);
  assert_int_equal(asked(QUEUE), 0);
}

static void missing_job_is_unknown(void **state)
{
  (void)state;
  ask();
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  expect(DX_ANSWER_UNKNOWN);
}

static void other_job_with_the_same_number_is_ignored(void **state)
{
  (void)state;
  ask();
  respond(JOB, ipp_job("urn:2", CREATED, IPP_JSTATE_CANCELED, NULL, NULL));
  expect(DX_ANSWER_UNKNOWN);
  now_ms += DX_ASK_AGAIN_MS;
  ask();
  respond(JOB, ipp_job("urn:1", CREATED + 1, IPP_JSTATE_CANCELED, NULL, NULL));
  expect(DX_ANSWER_UNKNOWN);
}

/* ---- no answer ---- */

static void timeout_at_any_step_is_no_answer(void **state)
{
  (void)state;
  ask();
  assert_int_equal(open_call(JOB)->timeout_ms, DX_ASK_CUPSD_MS);
  end_call(open_call(JOB), DX_E_NET, 0, NULL);
  expect(DX_ANSWER_NONE);
  now_ms += DX_ASK_AGAIN_MS;
  ask();
  respond(JOB, job_at("printers/chart", IPP_JSTATE_PENDING));
  end_call(open_call(QUEUE), DX_E_NET, 0, NULL);
  expect(DX_ANSWER_NONE);
  now_ms += DX_ASK_AGAIN_MS;
  ask_pending();
  end_call(open_call(LIST), DX_E_NET, 0, NULL);
  expect(DX_ANSWER_NONE);
}

static void all_steps_share_one_second(void **state)
{
  (void)state;
  ask();
  now_ms += 600;
  respond(JOB, job_at("printers/chart", IPP_JSTATE_PENDING));
  assert_int_equal(open_call(QUEUE)->timeout_ms, DX_ASK_CUPSD_MS - 600);
  now_ms += 400;
  respond(QUEUE, ipp_queue("docextract://default"));
  expect(DX_ANSWER_NONE);
}

/* ---- how often ---- */

static void job_is_queried_at_most_once_a_second(void **state)
{
  enum dx_answer answer;

  (void)state;
  ask();
  ask();
  assert_int_equal(asked(JOB), 1);
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  now_ms += DX_ASK_AGAIN_MS - 1;
  assert_false(cupsd_answer(&cupsd, &job, &question, now_ms, &answer));
  assert_int_equal(asked(JOB), 1);
  now_ms++;
  assert_false(cupsd_answer(&cupsd, &job, &question, now_ms, &answer));
  assert_int_equal(asked(JOB), 2);
}

static void recent_answer_is_reused(void **state)
{
  enum dx_answer answer;
  int64_t since = now_ms;

  (void)state;
  ask();
  now_ms += 300;
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  assert_true(cupsd_answer(&cupsd, &job, &question, since, &answer));
  assert_false(cupsd_answer(&cupsd, &job, &question, since + 1, &answer));
}

static void ask_for_many(size_t count)
{
  enum dx_answer answer;
  size_t i;

  for (i = 0; i < count; i++) {
    make_job(&others[i], (int)i + 1);
    assert_false(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], now_ms, &answer));
  }
}

static void one_query_is_in_progress_at_a_time(void **state)
{
  enum dx_answer answer;
  size_t i;

  (void)state;
  ask_for_many(10);
  for (i = 0; i < 10; i++) {
    assert_int_equal(asked(JOB), i + 1);
    respond(JOB, job_at("printers/chart", IPP_JSTATE_HELD));
    assert_int_equal(asked(JOB), i + 1);
    respond(QUEUE, ipp_queue("lpd://paper"));
    assert_true(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], 0, &answer));
    assert_int_equal(answer, DX_ANSWER_CHANGED);
  }
}

/* The list is older than all queries but the first: they wait for the next. */
static void list_is_requested_again_for_later_queries(void **state)
{
  enum dx_answer answer;
  size_t i;

  (void)state;
  ask_for_many(7);
  for (i = 0; i < 7; i++) {
    now_ms += 10;
    respond(JOB, job_at("printers/chart", IPP_JSTATE_PENDING));
    respond(QUEUE, ipp_queue("docextract://default"));
  }
  respond(LIST, ipp_jobs(NULL, 0));
  for (i = 2; i < 7; i++)
    assert_false(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], 0, &answer));
  respond(LIST, ipp_jobs(NULL, 0));
  for (i = 0; i < 7; i++) {
    assert_true(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], 0, &answer));
    assert_int_equal(answer, DX_ANSWER_OVER);
  }
  assert_int_equal(asked(LIST), 2);
}

/* Meanwhile its jobs are forgotten, which proves nothing about earlier queries.
 */
static void list_that_is_requested_again_is_empty_until_it_comes(void **state)
{
  static const struct ipp_listed second = {2, NULL, 0, false};
  enum dx_answer answer;

  (void)state;
  ask_for_many(2);
  now_ms += DX_ASK_AGAIN_MS / 2;
  respond(JOB, job_at("classes/all", IPP_JSTATE_HELD));
  respond(JOB, job_at("classes/all", IPP_JSTATE_PENDING));
  now_ms += DX_ASK_AGAIN_MS / 2;
  assert_false(
      cupsd_answer(&cupsd, &others[0], &other_questions[0], now_ms, &answer));
  respond(JOB, job_at("classes/all", IPP_JSTATE_PENDING));
  respond(LIST, ipp_jobs(&second, 1)); /* older than the first query */
  assert_false(
      cupsd_answer(&cupsd, &others[1], &other_questions[1], 0, &answer));
  respond(LIST, ipp_jobs(&second, 1));
  assert_true(
      cupsd_answer(&cupsd, &others[1], &other_questions[1], 0, &answer));
  assert_int_equal(answer, DX_ANSWER_ACTIVE);
}

/* Queries all jobs again; the first query is the one that is sent. */
static void query_many_again(size_t count)
{
  enum dx_answer answer;
  size_t i;

  now_ms += DX_ASK_AGAIN_MS;
  for (i = 0; i < count; i++)
    assert_false(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], now_ms, &answer));
}

static void silent_cupsd_delays_no_job(void **state)
{
  enum dx_answer answer;
  size_t i;

  (void)state;
  ask_for_many(10);
  end_call(open_call(JOB), DX_E_NET, 0, NULL);
  for (i = 0; i < 10; i++) {
    assert_true(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], 0, &answer));
    assert_int_equal(answer, DX_ANSWER_NONE);
  }
  assert_int_equal(asked(JOB), 1);
  query_many_again(10);
  assert_int_equal(asked(JOB), 2);
}

static void canceled_query_is_removed_from_the_queue(void **state)
{
  size_t i;

  (void)state;
  ask_for_many(10);
  for (i = 0; i < 4; i++)
    cupsd_forget(&other_questions[i]);
  assert_int_equal(asked(JOB), 5);
}

/* ---- the list for the sweep ---- */

static void list_contains_jobs_that_may_run_again(void **state)
{
  static const struct ipp_listed first[] = {
      {1, "urn:1", IPP_JSTATE_COMPLETED, true},
      {2, "urn:2", IPP_JSTATE_COMPLETED, false},
      {3, NULL, 0, false}};
  static const struct ipp_listed second = {501, "urn:501", IPP_JSTATE_HELD,
                                           false};

  (void)state;
  assert_int_equal(cupsd_may_rerun(&cupsd, "1", "urn:1"), DX_RERUN_UNKNOWN);
  respond(LIST, ipp_jobs(first, 3));
  assert_int_equal(open_call(LIST)->from, 4);
  respond(LIST, ipp_jobs(&second, 1));
  respond(LIST, ipp_jobs(NULL, 0));
  assert_int_equal(cupsd_may_rerun(&cupsd, "1", "urn:1"), DX_RERUN_MAY);
  assert_int_equal(cupsd_may_rerun(&cupsd, "1", "urn:other"), DX_RERUN_NO);
  assert_int_equal(cupsd_may_rerun(&cupsd, "2", "urn:2"), DX_RERUN_NO);
  /* it may be that one */
  assert_int_equal(cupsd_may_rerun(&cupsd, "3", "urn:3"), DX_RERUN_MAY);
  assert_int_equal(cupsd_may_rerun(&cupsd, "501", "urn:501"), DX_RERUN_MAY);
  assert_int_equal(cupsd_may_rerun(&cupsd, "502", "urn:502"), DX_RERUN_NO);
  assert_int_equal(asked(LIST), 3);
}

static void incomplete_list_is_ignored(void **state)
{
  static const struct ipp_listed first = {1, "urn:1", IPP_JSTATE_HELD, false};

  (void)state;
  (void)cupsd_may_rerun(&cupsd, "1", "urn:1");
  respond(LIST, ipp_jobs(&first, 1));
  end_call(open_call(LIST), DX_E_NET, 0, NULL);
  assert_int_equal(cupsd_may_rerun(&cupsd, "1", "urn:1"), DX_RERUN_UNKNOWN);
  assert_int_equal(asked(LIST), 2); /* a second after the last one, at least */
}

/* Neither is one that memory has no room for; the next one is requested. */
static void list_that_does_not_fit_is_ignored(void **state)
{
  static const struct ipp_listed first = {1, "urn:1", IPP_JSTATE_HELD, false};

  (void)state;
  (void)cupsd_may_rerun(&cupsd, "2", "urn:2");
  has_no_memory = true;
  respond(LIST, ipp_jobs(&first, 1));
  has_no_memory = false;
  respond(LIST, ipp_jobs(NULL, 0));
  assert_int_equal(cupsd_may_rerun(&cupsd, "2", "urn:2"), DX_RERUN_UNKNOWN);
  now_ms += DX_ASK_AGAIN_MS;
  (void)cupsd_may_rerun(&cupsd, "2", "urn:2");
  respond(LIST, ipp_jobs(NULL, 0));
  assert_int_equal(cupsd_may_rerun(&cupsd, "2", "urn:2"), DX_RERUN_NO);
}

static void list_expires(void **state)
{
  (void)state;
  (void)cupsd_may_rerun(&cupsd, "1", "urn:1");
  respond(LIST, ipp_jobs(NULL, 0));
  assert_int_equal(cupsd_may_rerun(&cupsd, "1", "urn:1"), DX_RERUN_NO);
  now_ms += 60000;
  assert_int_equal(cupsd_may_rerun(&cupsd, "1", "urn:1"), DX_RERUN_UNKNOWN);
  assert_int_equal(asked(LIST), 2);
}

#define WITH_CUPSD(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH_CUPSD(every_state_has_an_answer),
      WITH_CUPSD(query_names_the_owner_of_the_job),
      WITH_CUPSD(query_goes_to_the_address_of_cupsd),
      WITH_CUPSD(answer_depends_on_the_printer),
      WITH_CUPSD(pending_job_of_another_queue_that_is_not_listed_is_over),
      WITH_CUPSD(other_queue_is_found_despite_a_private_list),
      WITH_CUPSD(device_uri_of_a_class_is_not_queried),
      WITH_CUPSD(private_printer_is_ignored),
      WITH_CUPSD(unlisted_pending_job_is_over),
      WITH_CUPSD(recent_list_proves_that_jobs_are_active),
      WITH_CUPSD(old_list_does_not_prove_that_a_job_is_over),
      WITH_CUPSD(private_list_is_ignored),
      WITH_CUPSD(hidden_job_is_reported_as_hidden),
      WITH_CUPSD(missing_job_is_unknown),
      WITH_CUPSD(other_job_with_the_same_number_is_ignored),
      WITH_CUPSD(timeout_at_any_step_is_no_answer),
      WITH_CUPSD(all_steps_share_one_second),
      WITH_CUPSD(job_is_queried_at_most_once_a_second),
      WITH_CUPSD(recent_answer_is_reused),
      WITH_CUPSD(one_query_is_in_progress_at_a_time),
      WITH_CUPSD(list_is_requested_again_for_later_queries),
      WITH_CUPSD(list_that_is_requested_again_is_empty_until_it_comes),
      WITH_CUPSD(silent_cupsd_delays_no_job),
      WITH_CUPSD(canceled_query_is_removed_from_the_queue),
      WITH_CUPSD(list_contains_jobs_that_may_run_again),
      WITH_CUPSD(incomplete_list_is_ignored),
      WITH_CUPSD(list_that_does_not_fit_is_ignored),
      WITH_CUPSD(list_expires),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
