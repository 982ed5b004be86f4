/*
 * test_engine.c - a job on its way through the engine, with a transport and
 * clocks that the test turns: no network, no waiting.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/engine.h"
#include "lib/fs.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define RESULT "{\"results\":{\"status\":\"complete\",\"value\":1.50}}"

/* ---- clocks ---- */

static int64_t now_ms;

static int64_t boot_ms(void)
{
  return now_ms;
}

static int64_t wall_ms(void)
{
  return 1700000000000 + now_ms;
}

static const struct dx_clock turned = {boot_ms, wall_ms};

/* ---- a transport that answers by a list ---- */

static struct dx_http_request waiting; /* the one that was started last */
static bool is_waiting;
static char asked[1000]; /* a line a request, in their order */
static int polls;        /* of the source */

static enum dx_code fake_start(struct dx_http *http,
                               const struct dx_http_request *r,
                               struct dx_http_call **ret, struct dx_err *err)
{
  size_t len = strlen(asked);

  (void)err;
  assert_false(is_waiting); /* one document: one thing at a time */
  (void)snprintf(asked + len, sizeof(asked) - len, "%s %s\n", r->method,
                 r->url);
  assert_int_equal(r->bearer != NULL, strcmp(r->method, "PUT") != 0);
  waiting = *r;
  is_waiting = true;
  *ret = (struct dx_http_call *)(void *)http;
  return DX_OK;
}

static void fake_cancel(struct dx_http *http, struct dx_http_call *call)
{
  (void)http;
  (void)call;
  is_waiting = false;
}

static void answer(int status, const char *body)
{
  struct dx_http_request r = waiting;
  struct dx_http_answer a;

  memset(&a, 0, sizeof(a));
  a.status = status;
  a.body = body;
  a.body_len = strlen(body);
  a.date_ms = wall_ms();
  a.retry_after_ms = -1;
  a.sent_bytes = r.body_bytes;
  a.was_sent = true;
  is_waiting = false;
  r.done(r.ctx, &a);
}

static void answer_as_the_service(void)
{
  size_t len = strlen(asked);

  if (strncmp(waiting.method, "PUT", 3) == 0) {
    answer(200, "");
  } else if (strcmp(waiting.method, "POST") == 0) {
    answer(201, "{\"results\":{\"id\":\"S1\",\"upload_urls\":[{\"url\":"
                "\"https://s.example/o\"}]}}");
  } else if (len > 9 && strcmp(asked + len - 9, "/extract\n") == 0) {
    assert_int_equal(write(waiting.sink_fd, RESULT, strlen(RESULT)),
                     (ssize_t)strlen(RESULT));
    answer(200, "");
  } else {
    answer(200, ++polls < 3 ? "{\"results\":{\"status\":\"processing\"}}"
                            : "{\"results\":{\"status\":\"complete\","
                              "\"case_ids\":[\"C1\"]}}");
  }
}

static enum dx_code fake_run(struct dx_http *http, int64_t timeout_ms,
                             const int *wake, size_t wake_count,
                             struct dx_err *err)
{
  (void)http;
  (void)wake;
  (void)wake_count;
  (void)err;
  if (is_waiting)
    answer_as_the_service();
  else
    now_ms += timeout_ms > 0 ? timeout_ms : 1;
  return DX_OK;
}

static const struct dx_http_ops fake_ops = {fake_start, fake_cancel, fake_run,
                                            NULL};

/* ---- one job ---- */

static char dir[32], results[48], token_path[48];
static struct dx_spool spool;
static struct dx_err err;
static int ended;

static int start(void **state)
{
  (void)state;
  now_ms = 1000000;
  asked[0] = '\0';
  is_waiting = false;
  polls = 0;
  ended = 0;
  dx_clock_use(&turned);
  (void)strcpy(dir, "/tmp/dx-engine-XXXXXX");
  if (mkdtemp(dir) == NULL)
    return -1;
  (void)snprintf(results, sizeof(results), "%s/results", dir);
  (void)snprintf(token_path, sizeof(token_path), "%s/token", dir);
  if (mkdir(results, 0700) < 0 || dx_spool_open(dir, &spool, &err) != DX_OK)
    return -1;
  return dx_fs_replace(spool.dirfd, "token", "TOKEN\n", 6, 0600, &err) == DX_OK
             ? 0
             : -1;
}

static int stop(void **state)
{
  (void)state;
  dx_spool_close(&spool);
  dx_clock_use(NULL);
  return dx_fs_remove_tree(AT_FDCWD, dir, &err) == DX_OK ? 0 : -1;
}

static struct dx_job *committed(void)
{
  struct dx_job *job = NULL;
  struct dx_entry *e;
  int fd;

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  job->documents = calloc(1, sizeof(*job->documents));
  job->document_count = 1;
  job->documents[0].is_here = true;
  e = &job->documents[0].entry;
  (void)strcpy(e->type, "application/pdf");
  (void)strcpy(e->origin, "application/pdf");
  (void)strcpy(e->name, "chart.pdf");
  e->pages = 1;
  e->length = 3;
  (void)dx_sha256_of("PDF", 3, e->sha256);
  fd = dx_spool_create_document(job, 0, &err);
  assert_int_equal(write(fd, "PDF", 3), 3);
  (void)close(fd);
  job->service = strdup("default");
  job->base_url = strdup("https://a.example");
  (void)strcpy(job->key, KEY);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  return job;
}

static void on_note(void *ctx, struct dx_job *job, const struct dx_note *note)
{
  (void)ctx;
  (void)job;
  (void)note;
}

static void on_end(void *ctx, struct dx_job *job)
{
  (void)ctx;
  (void)job;
  ended++;
}

/* Drives the job until the engine has no more to do for it. */
static void drive(struct dx_job *job)
{
  static char name[] = "default", base[] = "https://a.example",
              host[] = "a.example";
  struct dx_service service = {.name = name,
                               .base_url = base,
                               .host = host,
                               .port = 443,
                               .token = DX_TOKEN_FILE,
                               .token_file = token_path,
                               .api_rate = 8,
                               .processing_limit_ms = 1800000,
                               .results_dir = results};
  struct dx_config config = {.services = &service, .service_count = 1};
  const struct dx_observer observer = {on_note, on_end, NULL};
  struct dx_http http = {&fake_ops};
  struct dx_engine *engine = dx_engine_new(&config, &spool, &http, &observer);
  int turns;

  assert_non_null(engine);
  assert_int_equal(dx_engine_add(engine, job, &err), DX_OK);
  for (turns = 0; !ended && turns < 1000; turns++)
    assert_int_equal(dx_engine_run(engine, 60000, NULL, 0, &err), DX_OK);
  dx_engine_free(&engine);
  assert_int_equal(ended, 1);
}

static void a_document_goes_the_whole_way_once(void **state)
{
  struct dx_job *job = committed();
  struct dx_buf text = {0};
  int fd = open(results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  (void)state;
  drive(job);
  assert_string_equal(asked, "POST https://a.example/v1/source\n"
                             "PUT https://s.example/o\n"
                             "GET https://a.example/v1/source/S1\n"
                             "GET https://a.example/v1/source/S1\n"
                             "GET https://a.example/v1/source/S1\n"
                             "GET https://a.example/v1/patient_case/C1/extract"
                             "\n");
  assert_int_equal(dx_job_outcome(job, &err), DX_OK);
  assert_int_equal(dx_fs_read(fd, "S1-C1.json", 1000, &text, &err), DX_OK);
  assert_string_equal(dx_buf_text(&text), RESULT);
  dx_buf_release(&text);
  assert_int_equal(dx_fs_read(fd, "S1.job.json", 10000, &text, &err), DX_OK);
  assert_non_null(strstr(dx_buf_text(&text), "extracted"));
  dx_buf_release(&text);
  (void)close(fd);
  dx_job_free(&job);
}

/* The journal knows: nothing is asked, nothing is dropped a second time. */
static void an_extracted_job_asks_nothing_more(void **state)
{
  struct dx_job *job = committed();
  enum dx_owner owner;
  pid_t holder;
  char name[80];

  (void)state;
  drive(job);
  dx_job_free(&job);
  (void)snprintf(name, sizeof(name), "%s/S1-C1.json", results);
  assert_int_equal(unlink(name), 0); /* its consumer took it */
  asked[0] = '\0';
  ended = 0;
  assert_int_equal(dx_spool_take(&spool, KEY, &job, &holder, &owner, &err),
                   DX_OK);
  drive(job);
  assert_string_equal(asked, "");
  assert_int_equal(access(name, F_OK), -1);
  dx_job_free(&job);
}

int main(void)
{
#define IN_SPOOL(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      IN_SPOOL(a_document_goes_the_whole_way_once),
      IN_SPOOL(an_extracted_job_asks_nothing_more),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
