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
  int index, limit; /* of a list */
  int64_t timeout_ms;
  dx_http_done *done;
  void *ctx;
};

static struct fake {
  struct dx_http_call calls[CALLS_MAX];
  size_t count;
} fake;

static int number_in(ipp_t *ipp, const char *name)
{
  return ippGetInteger(ippFindAttribute(ipp, name, IPP_TAG_INTEGER), 0);
}

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err)
{
  struct dx_http_call *call = &fake.calls[fake.count++];
  ipp_t *ipp = ipp_read(request->body, request->body_len);
  const char *uri;

  (void)http;
  (void)err;
  assert_in_range(fake.count, 1, CALLS_MAX);
  assert_non_null(ipp);
  assert_string_equal(request->method, "POST");
  assert_string_equal(request->content_type, "application/ipp");
  uri = ipp_text(ipp, "job-uri");
  if (uri[0] == '\0')
    uri = ipp_text(ipp, "printer-uri");
  *call = (struct dx_http_call){.is_open = true,
                                .op = ippGetOperation(ipp),
                                .index = number_in(ipp, "first-index"),
                                .limit = number_in(ipp, "limit"),
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

/* cupsd sends more than a response may have. */
static void respond_too_much(int op)
{
  end_call(open_call(op), DX_E_RESPONSE, 200, NULL);
}

#define JOB IPP_OP_GET_JOB_ATTRIBUTES
#define QUEUE IPP_OP_GET_PRINTER_ATTRIBUTES
#define LIST IPP_OP_GET_JOBS

/* A list of one page, and the one behind it, which begins with its last job. */
static void respond_list(const struct ipp_listed *jobs, size_t count)
{
  respond(LIST, ipp_jobs(jobs, count));
  if (count > 0)
    respond(LIST, ipp_jobs(&jobs[count - 1], 1));
}

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
static struct question *question, *other_questions[CALLS_MAX];

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

static const struct ipp_listed listed_17 = {17, IPP_JSTATE_PENDING};

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

static void job_without_a_uuid_cannot_be_looked_up(void **state)
{
  (void)state;
  free(job.uuid);
  job.uuid = NULL;
  expect(DX_ANSWER_UNKNOWN);
  assert_int_equal(fake.count, 0);
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
  respond_list(NULL, 0);
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
  static const struct ipp_listed other = {18, IPP_JSTATE_HELD};

  (void)state;
  ask_pending();
  respond_list(&other, 1);
  expect(DX_ANSWER_OVER);
}

static void recent_list_proves_that_jobs_are_active(void **state)
{
  (void)state;
  ask_pending();
  respond_list(&listed_17, 1);
  expect(DX_ANSWER_ACTIVE);
  now_ms += DX_ASK_AGAIN_MS;
  ask_pending();
  expect(DX_ANSWER_ACTIVE);
  assert_int_equal(asked(LIST), 2); /* pages */
}

/* It may have been printed since. */
static void old_list_does_not_prove_that_a_job_is_over(void **state)
{
  (void)state;
  ask_pending();
  respond_list(NULL, 0);
  expect(DX_ANSWER_OVER);
  now_ms += DX_ASK_AGAIN_MS;
  ask_pending();
  respond_list(&listed_17, 1);
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

/* The user may have canceled the print job meanwhile. */
static void old_answer_is_not_used(void **state)
{
  enum dx_answer answer;
  int64_t since = now_ms;

  (void)state;
  ask();
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  now_ms += 60000;
  assert_false(cupsd_answer(&cupsd, &job, &question, since, &answer));
  assert_int_equal(asked(JOB), 2);
  respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
  assert_true(cupsd_answer(&cupsd, &job, &question, since, &answer));
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
  respond_list(NULL, 0);
  for (i = 2; i < 7; i++)
    assert_false(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], 0, &answer));
  respond_list(NULL, 0);
  for (i = 0; i < 7; i++) {
    assert_true(
        cupsd_answer(&cupsd, &others[i], &other_questions[i], 0, &answer));
    assert_int_equal(answer, DX_ANSWER_OVER);
  }
  assert_int_equal(asked(LIST), 2);
}

/* It answers the earlier queries. */
static void list_that_is_older_than_a_query_does_not_answer_it(void **state)
{
  static const struct ipp_listed second = {2, IPP_JSTATE_PENDING};
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
  respond_list(&second, 1);
  assert_true(
      cupsd_answer(&cupsd, &others[1], &other_questions[1], 0, &answer));
  assert_int_equal(answer, DX_ANSWER_ACTIVE);
  assert_false(
      cupsd_answer(&cupsd, &others[0], &other_questions[0], 0, &answer));
  respond_list(&second, 1);
  assert_true(
      cupsd_answer(&cupsd, &others[0], &other_questions[0], 0, &answer));
  assert_int_equal(answer, DX_ANSWER_OVER);
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

/* However many queries wait: docextractd exits at once. */
static void nothing_is_asked_after_the_stop(void **state)
{
  size_t i, before;

  (void)state;
  ask_for_many(10);
  before = fake.count;
  cupsd_stop(&cupsd);
  for (i = 0; i < 10; i++)
    cupsd_forget(&other_questions[i]);
  assert_int_equal(fake.count, before);
  for (i = 0; i < fake.count; i++)
    assert_false(fake.calls[i].is_open);
}

static void job_with_unusual_attributes_is_hidden(void **state)
{
  enum dx_answer answer;

  (void)state;
  ask_for_many(2);
  respond_too_much(JOB);
  assert_true(
      cupsd_answer(&cupsd, &others[0], &other_questions[0], 0, &answer));
  assert_int_equal(answer, DX_ANSWER_HIDDEN);
  respond(JOB, job_at("classes/all", IPP_JSTATE_HELD)); /* of the other one */
  assert_true(
      cupsd_answer(&cupsd, &others[1], &other_questions[1], 0, &answer));
  assert_int_equal(answer, DX_ANSWER_HELD);
}

/* ---- the pages of the list ---- */

#define PAGE_MAX 100

static void respond_page(int from, int count)
{
  static struct ipp_listed jobs[2 * PAGE_MAX];
  int i;

  assert_in_range(count, 0, 2 * PAGE_MAX);
  for (i = 0; i < count; i++)
    jobs[i] = (struct ipp_listed){from + i, IPP_JSTATE_HELD};
  respond(LIST, ipp_jobs(jobs, (size_t)count));
}

static void expect_page(int index, int limit)
{
  assert_int_equal(open_call(LIST)->index, index);
  assert_int_equal(open_call(LIST)->limit, limit);
}

static void begin_pages(void)
{
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_COMES);
  expect_page(1, PAGE_MAX);
}

/* Sorted by priority: job 900 is before the others. */
static void list_is_read_page_by_page(void **state)
{
  static const struct ipp_listed first[] = {{900, IPP_JSTATE_HELD},
                                            {3, IPP_JSTATE_PENDING}};
  static const struct ipp_listed second[] = {
      {3, IPP_JSTATE_PENDING}, {8, IPP_JSTATE_PROCESSING}, {5, 0}};

  (void)state;
  begin_pages();
  respond(LIST, ipp_jobs(first, 2));
  expect_page(2, PAGE_MAX + 1);
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_COMES);
  respond(LIST, ipp_jobs(second, 3));
  expect_page(4, PAGE_MAX + 1);
  respond(LIST, ipp_jobs(&second[2], 1));
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_KNOWN);
  assert_int_equal(cupsd_active_state(&cupsd, 900), IPP_JSTATE_HELD);
  assert_int_equal(cupsd_active_state(&cupsd, 3), IPP_JSTATE_PENDING);
  assert_int_equal(cupsd_active_state(&cupsd, 8), IPP_JSTATE_PROCESSING);
  assert_int_equal(cupsd_active_state(&cupsd, 5), 0);
  assert_int_equal(cupsd_active_state(&cupsd, 4), CUPSD_NOT_LISTED);
  assert_int_equal(asked(LIST), 3);
}

/* A job ends between two pages: the next job would be missing. */
static void list_that_changes_meanwhile_is_read_again(void **state)
{
  int i;

  (void)state;
  begin_pages();
  respond_page(1, 100);
  respond_page(102, 5);
  expect_page(1, PAGE_MAX);
  respond_page(2, 100);
  respond_page(101, 6);
  respond_page(106, 1);
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_KNOWN);
  assert_int_equal(cupsd_active_state(&cupsd, 1), CUPSD_NOT_LISTED);
  assert_int_equal(cupsd_active_state(&cupsd, 106), IPP_JSTATE_HELD);
  now_ms++;
  begin_pages();
  for (i = 0; i < 3; i++) {
    respond_page(1, 100);
    respond_page(0, 0);
  }
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_FAILED);
}

static void job_that_is_too_large_for_a_list_is_skipped(void **state)
{
  int limit;

  (void)state;
  begin_pages();
  for (limit = PAGE_MAX; limit > 1; limit /= 2) {
    expect_page(1, limit);
    respond_too_much(LIST);
  }
  expect_page(1, 1);
  respond_page(1, 1);
  expect_page(1, 2 + 1);
  respond_too_much(LIST);
  expect_page(1, 1 + 1);
  respond_too_much(LIST); /* it is the second one */
  expect_page(3, 1);
  respond_page(3, 1);
  expect_page(3, 2 + 1);
  respond_page(3, 3);
  expect_page(5, 4 + 1);
  respond_page(5, 1);
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_KNOWN);
  assert_int_equal(cupsd_active_state(&cupsd, 1), IPP_JSTATE_HELD);
  assert_int_equal(cupsd_active_state(&cupsd, 2), CUPSD_NOT_LISTED);
  assert_int_equal(cupsd_active_state(&cupsd, 5), IPP_JSTATE_HELD);
}

/* It is not a list. */
static void list_of_which_nothing_can_be_read_ends(void **state)
{
  int i;

  (void)state;
  begin_pages();
  for (i = 0; cupsd_active(&cupsd, now_ms) == CUPSD_LIST_COMES; i++) {
    fake.count = 0;
    assert_in_range(i, 0, 2 * PAGE_MAX);
    fake.calls[0].done(fake.calls[0].ctx,
                       &(struct dx_http_response){.status = 200, .body = ""});
  }
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_FAILED);
}

static void page_that_cannot_be_read_is_like_one_that_is_too_large(void **state)
{
  (void)state;
  begin_pages();
  end_call(open_call(LIST), DX_OK, 200, NULL);
  expect_page(1, PAGE_MAX / 2);
  respond_page(1, 0);
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_KNOWN);
}

static void list_with_a_gap_does_not_prove_that_a_job_is_over(void **state)
{
  int limit;

  (void)state;
  ask_pending();
  for (limit = PAGE_MAX; limit >= 1; limit /= 2)
    respond_too_much(LIST);
  respond_page(1, 0);
  expect(DX_ANSWER_ACTIVE);
}

static void list_that_fails_is_ignored(void **state)
{
  (void)state;
  begin_pages();
  respond_page(1, 100);
  end_call(open_call(LIST), DX_E_NET, 0, NULL);
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_FAILED);
  now_ms++;
  begin_pages();
  respond(LIST, ipp_status(IPP_STATUS_ERROR_NOT_AUTHORIZED));
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_FAILED);
  now_ms++;
  begin_pages();
  has_no_memory = true;
  respond_page(1, 100);
  has_no_memory = false;
  assert_int_equal(cupsd_active(&cupsd, now_ms), CUPSD_LIST_FAILED);
}

/* ---- the question of the sweep ---- */

static enum dx_rerun rerun_of(const struct dx_job *it)
{
  return cupsd_may_rerun(&cupsd, it->cups_id, it->uuid, it->user,
                         it->print.key);
}

static ipp_t *completed(bool is_preserved)
{
  ipp_t *response = job_at("printers/chart", IPP_JSTATE_COMPLETED);

  ippAddBoolean(response, IPP_TAG_JOB, "job-preserved", is_preserved);
  return response;
}

/* Neither its queue nor the list of print jobs is requested. */
static void sweep_asks_about_one_print_job(void **state)
{
  static const struct {
    int kind;
    enum dx_rerun may;
  } rows[] = {{0, DX_RERUN_NO},  {1, DX_RERUN_MAY},    {2, DX_RERUN_MAY},
              {3, DX_RERUN_NO},  {4, DX_RERUN_NO},     {5, DX_RERUN_MAY},
              {6, DX_RERUN_MAY}, {7, DX_RERUN_UNKNOWN}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(rerun_of(&job), DX_RERUN_ASKED);
    assert_int_equal(rerun_of(&job), DX_RERUN_ASKED);
    assert_string_equal(open_call(JOB)->user, "ann");
    switch (rows[i].kind) {
    case 0:
    case 1:
      respond(JOB, completed(rows[i].kind == 1));
      break;
    case 2:
      respond(JOB, job_at("printers/chart", IPP_JSTATE_PENDING));
      break;
    case 3:
      respond(JOB, ipp_status(IPP_STATUS_ERROR_NOT_FOUND));
      break;
    case 4: /* another one has its number */
      respond(JOB, ipp_job("urn:2", CREATED, IPP_JSTATE_HELD, NULL, NULL));
      break;
    case 5: /* it may be that one */
      respond(JOB, ipp_job(NULL, 0, 0, NULL, NULL));
      break;
    case 6:
      respond_too_much(JOB);
      break;
    default:
      end_call(open_call(JOB), DX_E_NET, 0, NULL);
    }
    assert_int_equal(rerun_of(&job), rows[i].may);
    assert_int_equal(asked(JOB), i + 1); /* and no answer is used twice */
  }
  assert_int_equal(asked(QUEUE) + asked(LIST), 0);
}

static void sweep_can_ask_about_another_print_job(void **state)
{
  (void)state;
  make_job(&others[0], 18);
  assert_int_equal(rerun_of(&job), DX_RERUN_ASKED);
  assert_int_equal(rerun_of(&others[0]), DX_RERUN_ASKED);
  assert_string_equal(open_call(JOB)->uri, "ipp://localhost/jobs/18");
  respond(JOB, completed(true));
  assert_int_equal(rerun_of(&others[0]), DX_RERUN_MAY);
  assert_int_equal(rerun_of(&job), DX_RERUN_ASKED);
}

#define WITH_CUPSD(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH_CUPSD(every_state_has_an_answer),
      WITH_CUPSD(job_without_a_uuid_cannot_be_looked_up),
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
      WITH_CUPSD(old_answer_is_not_used),
      WITH_CUPSD(one_query_is_in_progress_at_a_time),
      WITH_CUPSD(list_is_requested_again_for_later_queries),
      WITH_CUPSD(list_that_is_older_than_a_query_does_not_answer_it),
      WITH_CUPSD(silent_cupsd_delays_no_job),
      WITH_CUPSD(canceled_query_is_removed_from_the_queue),
      WITH_CUPSD(nothing_is_asked_after_the_stop),
      WITH_CUPSD(job_with_unusual_attributes_is_hidden),
      WITH_CUPSD(list_is_read_page_by_page),
      WITH_CUPSD(list_that_changes_meanwhile_is_read_again),
      WITH_CUPSD(job_that_is_too_large_for_a_list_is_skipped),
      WITH_CUPSD(list_of_which_nothing_can_be_read_ends),
      WITH_CUPSD(page_that_cannot_be_read_is_like_one_that_is_too_large),
      WITH_CUPSD(list_with_a_gap_does_not_prove_that_a_job_is_over),
      WITH_CUPSD(list_that_fails_is_ignored),
      WITH_CUPSD(sweep_asks_about_one_print_job),
      WITH_CUPSD(sweep_can_ask_about_another_print_job),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
