/*
 * engine_fixture.c - the service in memory, the transport, and the clocks of
 * engine_fixture.h. Of lib/ it uses only what parses a header.
 */
#include "tests/unit/engine_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "tests/unit/fake_http.h"

#define API "https://a.example"
#define STORAGE "https://s.example"
#define WALL_MS 1700000000000LL
#define CALLS_AT_ONCE 64
#define BODY_BYTES (2048 + 20 * FIXTURE_CASES_MAX)
#define FOUR_WEEKS_MS (28 * FIXTURE_DAY_MS)

struct fixture fixture;

/* ---- clocks ---- */

static int64_t boot_ms(void)
{
  return fixture.now_ms;
}

static int64_t wall_ms(void)
{
  return WALL_MS + fixture.now_ms;
}

static const struct dx_clock turned = {boot_ms, wall_ms};

/* The power stays on here, and syncing a thousand journals takes long. */
int fsync(int fd)
{
  struct stat st;

  fixture.syncs++;
  if (fixture.on_sync != NULL)
    fixture.on_sync();
  if (fstat(fd, &st) < 0)
    return -1;
  if (fixture.failing_syncs == 0 || !S_ISDIR(st.st_mode))
    return 0;
  fixture.failing_syncs--;
  errno = EIO;
  return -1;
}

/* ---- the service ---- */

struct source {
  size_t files, job;
  int64_t landed_ms[FIXTURE_FILES_MAX]; /* 0: not yet */
  int64_t made_ms;
  int64_t full_ms;        /* the last file is visible; 0: files are missing */
  bool fails, is_decided; /* whether it fails */
  char name[FIXTURE_NAME_BYTES];
};
static struct source sources[FIXTURE_SOURCES_MAX];
static size_t source_count;
static struct fixture_call calls[FIXTURE_CALLS_MAX];
/* The source that has all the files of a job, and has not failed; 0: none. */
static size_t processed[FIXTURE_JOBS_MAX + 1];
static int ignored_puts, failing; /* that many so far */

static int64_t life_ms(void)
{
  return 1000 * (fixture.url_life_s != 0 ? fixture.url_life_s : 900);
}

static int64_t complete_ms(const struct source *s)
{
  return s->full_ms + fixture.starting_ms + fixture.processing_ms;
}

static size_t seen_count(const struct source *s)
{
  size_t i, n = 0;

  for (i = 0; i < s->files; i++)
    n += s->landed_ms[i] != 0 &&
         fixture.now_ms >= s->landed_ms[i] + fixture.visible_ms;
  return n;
}

static bool all_landed(const struct source *s)
{
  size_t i;

  for (i = 0; i < s->files; i++)
    if (s->landed_ms[i] == 0)
      return false;
  return true;
}

static void add_url(char *text, size_t number, size_t file)
{
  size_t len = strlen(text);
  time_t now = (time_t)((wall_ms() + fixture.clock_off_ms) / 1000);
  char date[32];
  struct tm tm;

  assert_non_null(gmtime_r(&now, &tm));
  (void)strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm);
  len += (size_t)snprintf(text + len, BODY_BYTES - len,
                          "%s{\"url\":\"" STORAGE "/S%zu/%zu",
                          file > 1 ? "," : "", number, file);
  if (fixture.url_life_s != 0)
    len +=
        (size_t)snprintf(text + len, BODY_BYTES - len,
                         "?X-Amz-Date=%s&X-Amz-Expires=%lld&X-Amz-Signature=x",
                         date, (long long)fixture.url_life_s);
  (void)snprintf(text + len, BODY_BYTES - len, "\"}");
}

static int make_source(const struct fixture_call *call, const char *request,
                       char *body)
{
  struct source *s = &sources[source_count++];
  const char *p = request;
  size_t i;

  assert_true(source_count <= FIXTURE_SOURCES_MAX);
  memset(s, 0, sizeof(*s));
  s->made_ms = fixture.now_ms;
  s->job = call->job;
  for (; (p = strstr(p, "content_type")) != NULL; p++)
    s->files++;
  memcpy(s->name, call->name, sizeof(s->name));
  s->fails = failing++ < fixture.failing;
  (void)snprintf(body, BODY_BYTES,
                 "{\"status\":201,\"results\":{\"id\":\"S%zu\","
                 "\"upload_urls\":[",
                 source_count);
  for (i = 1; i <= s->files; i++)
    add_url(body, source_count, i);
  (void)strcat(body, "]}}");
  return 201;
}

static int take_file(const struct fixture_call *call, char *body)
{
  struct source *s = &sources[call->source - 1];

  if (fixture.now_ms > s->made_ms + life_ms()) {
    (void)strcpy(body, "<Code>AccessDenied</Code><Message>Request has expired"
                       "</Message>");
    return 403;
  }
  if (ignored_puts < fixture.ignored_puts) {
    ignored_puts++;
    return 200;
  }
  if (s->landed_ms[call->item - 1] == 0)
    s->landed_ms[call->item - 1] = fixture.now_ms;
  if (all_landed(s) && s->full_ms == 0) {
    s->full_ms = fixture.now_ms + fixture.visible_ms;
    processed[s->job] = call->source;
  }
  return 200;
}

static bool has_failed(struct source *s)
{
  if (!s->is_decided && fixture.fails != NULL)
    s->fails = s->fails || fixture.fails(s->name, complete_ms(s));
  s->is_decided = true;
  if (s->fails)
    processed[s->job] = 0;
  return s->fails;
}

static const char *status_word(struct source *s)
{
  if (s->full_ms == 0 || fixture.now_ms < s->full_ms + fixture.starting_ms)
    return "pending_upload";
  if (fixture.now_ms < complete_ms(s))
    return "processing";
  return has_failed(s) ? "failed" : "complete";
}

static int show_source(const struct fixture_call *call, char *body)
{
  struct source *s = &sources[call->source - 1];
  const char *word = status_word(s);
  bool complete = strcmp(word, "complete") == 0;
  size_t i, count = fixture.case_count;
  int len;

  if (fixture.cases != NULL)
    count = fixture.cases(s->name);
  len = snprintf(body, BODY_BYTES,
                 "{\"results\":{\"id\":\"S%zu\",\"status\":\"%s\","
                 "\"expected_file_count\":%zu,\"uploaded_file_count\":%zu,"
                 "\"case_ids\":%s",
                 call->source, word, s->files, seen_count(s),
                 complete ? "[" : "null}}");
  for (i = 1; complete && i <= count; i++)
    len += snprintf(body + len, (size_t)(BODY_BYTES - len), "%s\"S%zuC%zu\"",
                    i > 1 ? "," : "", call->source, i);
  if (complete)
    (void)snprintf(body + len, (size_t)(BODY_BYTES - len), "]}}");
  return 200;
}

static int show_case(const struct fixture_call *call, char *body)
{
  const struct source *s = &sources[call->source - 1];

  if (fixture.now_ms < complete_ms(s) + fixture.case_ms[call->item - 1])
    return 204;
  (void)snprintf(body, BODY_BYTES,
                 "{\"results\":{\"status\":\"complete\",\"id\":\"S%zuC%zu\","
                 "\"value\":1.50}}\n",
                 call->source, call->item);
  return 200;
}

static int serve(const struct fixture_call *call, const char *request,
                 char *body)
{
  body[0] = '\0';
  switch (call->kind) {
  case DX_CALL_CREATE:
    return make_source(call, request, body);
  case DX_CALL_PUT:
    return take_file(call, body);
  case DX_CALL_SOURCE:
    return show_source(call, body);
  case DX_CALL_HELLO:
    (void)strcpy(body, "{\"results\":{\"auth_info\":\"Hello\"}}");
    return 200;
  default:
    return show_case(call, body);
  }
}

int fixture_processed(void)
{
  size_t i;
  int n = 0;

  for (i = 0; i < source_count; i++)
    n += sources[i].full_ms != 0;
  return n;
}

int fixture_unfilled(void)
{
  size_t i;
  int n = 0;

  for (i = 0; i < source_count; i++)
    n += !all_landed(&sources[i]) &&
         fixture.now_ms < sources[i].made_ms + life_ms();
  return n;
}

/* ---- the transport ---- */

/* A request under way; lib/ sees only its address. */
struct way {
  bool used, sent, is_odd;
  struct dx_http_request request;
  char *body;    /* of the request */
  size_t number; /* in fixture.calls */
  int64_t due_ms;
  struct fixture_response odd;
};
static struct way ways[CALLS_AT_ONCE];

/* Fewer than ten calls in any second. */
static void check_rate(void)
{
  size_t i;
  int n = 0;

  for (i = fixture.call_count; i-- > 0;) {
    const struct fixture_call *call = &fixture.calls[i];

    if (call->began_ms < fixture.now_ms - 1000)
      break;
    n += call->kind != DX_CALL_PUT;
  }
  if (n > 9)
    fail_msg("%d calls within a second", n);
}

static void read_url(const struct dx_http_request *r, struct fixture_call *call)
{
  if (r->only_connects)
    call->kind = DX_CALL_PUT;
  else if (sscanf(r->url, STORAGE "/S%zu/%zu", &call->source, &call->item) == 2)
    call->kind = DX_CALL_PUT;
  else if (sscanf(r->url, API "/v1/patient_case/S%zuC%zu/extract",
                  &call->source, &call->item) == 2)
    call->kind = DX_CALL_EXTRACT;
  else if (sscanf(r->url, API "/v1/source/S%zu", &call->source) == 1)
    call->kind = DX_CALL_SOURCE;
  else if (strcmp(r->url, API "/v1/source") == 0)
    call->kind = DX_CALL_CREATE;
  else if (strcmp(r->url, API "/auth/hello") == 0)
    call->kind = DX_CALL_HELLO;
  else
    fail_msg("unexpected call of %s", r->url);
  assert_true(call->source <= source_count);
}

/* The first job with a document of that name, from 1; 0: none. */
static size_t job_named(const char *name)
{
  size_t i = 0, count = (size_t)fixture.job_count;

  /* Most are named after their number. */
  if (sscanf(name, "chart-%zu", &i) == 1 && i >= 1 && i <= count &&
      strcmp(fixture.jobs[i - 1]->documents[0].entry.name, name) == 0)
    return i;
  for (i = 0; i < count; i++)
    if (strcmp(fixture.jobs[i]->documents[0].entry.name, name) == 0)
      return i + 1;
  return 0;
}

/* Which document a call is about. */
static void read_name(const struct dx_http_request *r,
                      struct fixture_call *call)
{
  const char *name;

  if (call->kind == DX_CALL_HELLO || r->only_connects)
    return;
  if (call->kind != DX_CALL_CREATE) {
    const struct source *s = &sources[call->source - 1];

    call->job = s->job;
    memcpy(call->name, s->name, sizeof(call->name));
    return;
  }
  name = strstr(r->body, "\"file_name\":\"");
  assert_non_null(name);
  assert_int_equal(sscanf(name, "\"file_name\":\"%31[^\"]", call->name), 1);
  call->job = job_named(call->name);
}

/* Every call but a PUT has the token. */
static void check_bearer(const struct dx_http_request *r,
                         const struct fixture_call *call)
{
  if (call->kind == DX_CALL_PUT) {
    assert_string_equal(r->method, "PUT");
    assert_null(r->bearer);
    return;
  }
  assert_string_equal(r->method, call->kind == DX_CALL_CREATE ||
                                         call->kind == DX_CALL_HELLO
                                     ? "POST"
                                     : "GET");
  assert_non_null(r->bearer);
  (void)snprintf(fixture.bearer, sizeof(fixture.bearer), "%s", r->bearer);
}

static int64_t accepted_ms(void)
{
  int64_t every = fixture.accept_ms > 0 ? fixture.accept_ms : 1;

  return (fixture.now_ms + every - 1) / every * every;
}

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *r,
                                  struct dx_http_call **ret, struct dx_err *err)
{
  struct fixture_call *call = &fixture.calls[fixture.call_count];
  struct way *way = ways;

  (void)http;
  (void)err;
  while (way->used)
    way++;
  assert_true(way < ways + CALLS_AT_ONCE);
  assert_true(fixture.call_count < FIXTURE_CALLS_MAX);
  memset(way, 0, sizeof(*way));
  memset(call, 0, sizeof(*call));
  read_url(r, call);
  read_name(r, call);
  check_bearer(r, call);
  call->nth = ++fixture.count[call->kind];
  call->began_ms = fixture.now_ms;
  way->used = true;
  way->request = *r;
  way->body = r->body != NULL ? strndup(r->body, r->body_len) : NULL;
  way->number = fixture.call_count++;
  way->is_odd = fixture.odd != NULL && fixture.odd(call, &way->odd);
  call->is_odd = way->is_odd;
  way->due_ms = accepted_ms();
  if (way->is_odd && way->odd.not_sent)
    way->due_ms += way->odd.took_ms;
  check_rate();
  *ret = (struct dx_http_call *)(void *)way;
  return DX_OK;
}

void __wrap_dx_http_cancel(struct dx_http_call **call)
{
  struct way *way = (struct way *)(void *)*call;

  if (way == NULL)
    return;
  *call = NULL;
  fixture.calls[way->number].ended_ms = fixture.now_ms;
  free(way->body);
  way->used = false;
}

static void fill(const struct way *way, char *body, struct dx_http_response *a)
{
  const struct fixture_response *odd = &way->odd;
  const struct fixture_call *call = &fixture.calls[way->number];

  if (way->is_odd && odd->real != NULL) {
    *a = *odd->real;
    return;
  }
  memset(a, 0, sizeof(*a));
  a->was_resolved = a->was_connected = true;
  a->date_ms = wall_ms() + fixture.clock_off_ms;
  a->retry_after_ms = -1;
  a->sent_bytes = way->request.body_bytes;
  a->was_sent = way->sent;
  if (way->is_odd && odd->sent_bytes != 0)
    a->sent_bytes = odd->sent_bytes;
  if ((!way->is_odd || odd->landed) && !way->request.only_connects)
    a->status = serve(call, way->body, body);
  if (way->is_odd && odd->status != 0)
    a->status = odd->status;
  if (way->is_odd && odd->body != NULL)
    (void)snprintf(body, BODY_BYTES, "%s", odd->body);
  if (way->is_odd && odd->retry_after != NULL)
    a->retry_after_ms = dx_retry_after_ms(odd->retry_after, a->date_ms);
  if (way->is_odd && odd->code != DX_OK) {
    (void)dx_fail(&a->err, odd->code, 0, "network failure");
    a->status = odd->status; /* may have come before the failure */
    a->date_ms = -1;
    a->sent_bytes = way->sent ? a->sent_bytes : 0;
    body[0] = '\0';
  }
}

static void finish(struct way *way, struct dx_http_response *a, char *body)
{
  struct dx_http_request r = way->request;
  struct fixture_call *call = &fixture.calls[way->number];

  if (a->status == 200 && a->err.code == DX_OK && r.sink != NULL) {
    const char *bytes = a->body != NULL ? a->body : body;

    (void)r.sink(r.ctx, bytes, strlen(bytes), &a->err);
    a->body = "";
    a->body_len = 0;
  }
  if (a->body == NULL) {
    a->body = body;
    a->body_len = strlen(body);
  }
  call->status = a->status;
  call->ended_ms = fixture.now_ms;
  free(way->body);
  way->used = false;
  r.done(r.ctx, a);
}

static void note_sent(struct fixture_call *call)
{
  size_t other = processed[call->job];

  call->began_ms = fixture.now_ms;
  call->was_sent = true;
  if (call->kind == DX_CALL_PUT && other != 0 && other != call->source)
    fixture.second_uploads++;
}

/* The connection is ready: may the request be sent? */
static void try_to_send(struct way *way)
{
  static char body[BODY_BYTES];
  struct dx_http_response a;

  body[0] = '\0';
  if (way->is_odd && way->odd.not_sent) { /* there was no connection */
    fill(way, body, &a);
    finish(way, &a, body);
    return;
  }
  if (way->request.ready == NULL || way->request.ready(way->request.ctx)) {
    way->sent = true;
    note_sent(&fixture.calls[way->number]);
    check_rate();
    way->due_ms = fixture.now_ms + fixture.latency_ms +
                  (way->is_odd ? way->odd.took_ms : 0);
  } else {
    memset(&a, 0, sizeof(a));
    (void)dx_fail(&a.err, DX_E_NOT_SENT, 0, "given up");
    a.date_ms = a.retry_after_ms = -1;
    finish(way, &a, body);
  }
}

static void move_on(struct way *way)
{
  static char body[BODY_BYTES]; /* not on the stack: cases may be many */
  struct dx_http_response a;

  if (!way->sent) {
    try_to_send(way);
    return;
  }
  body[0] = '\0';
  fill(way, body, &a);
  finish(way, &a, body);
}

enum dx_code __wrap_dx_http_run(struct dx_http *http, int64_t timeout_ms,
                                const int *wake, size_t wake_count,
                                struct dx_err *err)
{
  struct way *first = NULL;
  size_t i;

  (void)http;
  (void)wake;
  (void)wake_count;
  (void)err;
  for (i = 0; i < CALLS_AT_ONCE; i++)
    if (ways[i].used && (first == NULL || ways[i].due_ms < first->due_ms))
      first = &ways[i];
  if (first == NULL || first->due_ms > fixture.now_ms + timeout_ms) {
    fixture.now_ms += timeout_ms > 0 ? timeout_ms : 1;
    return DX_OK;
  }
  if (first->due_ms > fixture.now_ms)
    fixture.now_ms = first->due_ms;
  move_on(first);
  return DX_OK;
}

/* ---- setting it up ---- */

static struct dx_err err;
static char config_path[] = "docextract.conf";
static struct dx_service sections[2];
static struct dx_config config = {.services = sections, .path = config_path};

static void set_service(void)
{
  static char name[] = "default", base[] = API, host[] = "a.example";
  static char other[] = "other";

  fixture.service = (struct dx_service){.name = name,
                                        .base_url = base,
                                        .host = host,
                                        .port = 443,
                                        .token = DX_TOKEN_FILE,
                                        .token_file = fixture.token_path,
                                        .api_rate = 8,
                                        .processing_limit_ms = 1800000,
                                        .max_result_bytes = 1048576,
                                        .results_dir = fixture.results};
  fixture.other = fixture.service;
  fixture.other.name = other;
  fixture.service_count = 1;
}

int fixture_open(void **state)
{
  (void)state;
  memset(&fixture, 0, sizeof(fixture));
  memset(ways, 0, sizeof(ways));
  memset(processed, 0, sizeof(processed));
  fixture.calls = calls;
  source_count = 0;
  ignored_puts = failing = 0;
  fixture.now_ms = FIXTURE_BEGIN_MS;
  fixture.latency_ms = 20;
  fixture.case_count = 1;
  dx_clock_use(&turned);
  if (temp_dir_make_in_memory(fixture.dir) < 0)
    return -1;
  (void)snprintf(fixture.results, sizeof(fixture.results), "%s/results",
                 fixture.dir);
  (void)snprintf(fixture.token_path, sizeof(fixture.token_path), "%s/token",
                 fixture.dir);
  set_service();
  if (mkdir(fixture.results, 0700) < 0 ||
      dx_spool_open(fixture.dir, &fixture.spool, &err) != DX_OK)
    return -1;
  return dx_fs_write(fixture.spool.dirfd, "token", "TOKEN\n", 6, 0600, false,
                     &err) == DX_OK
             ? 0
             : -1;
}

int fixture_close(void **state)
{
  (void)state;
  dx_engine_free(&fixture.engine);
  while (fixture.job_count > 0)
    dx_job_free(&fixture.jobs[--fixture.job_count]);
  dx_clock_use(NULL);
  if (fixture.dir[0] == '\0')
    return 0;
  dx_spool_close(&fixture.spool);
  if (temp_dir_remove(fixture.dir) < 0)
    return -1;
  fixture.dir[0] = '\0';
  return 0;
}

static void add_document(struct dx_job *job, size_t i, bool together,
                         const char *name)
{
  struct dx_entry *e = &job->documents[i].entry;
  char file[DX_FILE_NAME_BYTES];

  dx_document_file(i, file);
  job->documents[i].is_here = true;
  (void)strcpy(e->type, "application/pdf");
  (void)strcpy(e->origin, "application/pdf");
  (void)strcpy(e->name, name);
  e->pages = 1;
  e->length = 3;
  e->together = together;
  dx_sha256_of("PDF", 3, e->sha256);
  assert_int_equal(dx_fs_write(job->dirfd, file, "PDF", 3, 0600, true, &err),
                   DX_OK);
}

static struct dx_job *make_job(size_t documents, bool together,
                               const char *name)
{
  struct dx_job *job = NULL;
  size_t i;

  assert_true(fixture.job_count < FIXTURE_JOBS_MAX);
  assert_int_equal(dx_spool_receive(&fixture.spool, &job, &err), DX_OK);
  job->documents = calloc(documents, sizeof(*job->documents));
  assert_non_null(job->documents);
  job->document_count = documents;
  for (i = 0; i < documents; i++)
    add_document(job, i, together, name);
  job->service = strdup("default");
  job->base_url = strdup(API);
  (void)snprintf(job->key, sizeof(job->key), "%032d", fixture.job_count + 1);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  assert_int_equal(dx_spool_commit(&fixture.spool, job, &err), DX_OK);
  assert_int_equal(dx_spool_pick_up(&fixture.spool, job, &err), DX_OK);
  fixture.jobs[fixture.job_count++] = job;
  return job;
}

struct dx_job *fixture_job(size_t documents, bool together)
{
  char name[FIXTURE_NAME_BYTES];

  (void)snprintf(name, sizeof(name), "chart-%d.pdf", fixture.job_count + 1);
  return make_job(documents, together, name);
}

struct dx_job *fixture_named(const char *name)
{
  return make_job(1, false, name);
}

static struct dx_drive drives[FIXTURE_JOBS_MAX];
static bool told[FIXTURE_JOBS_MAX]; /* of a problem */

/* A problem that is over is told once. */
static void tell_problem(const struct dx_job *job)
{
  const struct dx_note note = dx_engine_problem(job);
  bool *is_told = &told[job->drive - drives];

  if (note.kind != DX_NOTE_UP || *is_told)
    fixture.notes[note.kind]++;
  *is_told = note.kind != DX_NOTE_UP;
  if (note.kind == DX_NOTE_ADMIN || note.kind == DX_NOTE_OVERDUE)
    fixture.admin = note.code;
  if (note.text[0] != '\0')
    (void)snprintf(fixture.note_text, sizeof(fixture.note_text), "%s",
                   note.text);
}

/* As docextractd does; by default, with an answer of cupsd that permits it. */
static void answer(struct dx_job *job)
{
  enum dx_permission permission = DX_MAY_SEND;

  fixture.asked++;
  if (fixture.may_send != NULL)
    permission = fixture.may_send(job);
  switch (permission) {
  case DX_MAY_SEND:
    job->drive->permit =
        (struct dx_permit){.until_ms = fixture.now_ms + DX_ASK_AGAIN_MS,
                           .heard = fixture.heard,
                           .stands = true};
    break;
  case DX_MAY_CANCEL:
    dx_job_end(job, DX_EV_CANCEL);
    break;
  case DX_MAY_CANCEL_UNSENT:
    dx_job_cancel_unsent(job, job->drive->asking);
    break;
  default:
    return;
  }
  dx_engine_wake(job);
}

/* True if permission was asked for. */
static bool take_news(void)
{
  struct dx_news news;
  struct dx_job *job;
  bool any_asks = false;

  while ((job = dx_engine_news(fixture.engine, &news)) != NULL) {
    fixture.saves += news.saved;
    fixture.ended += news.ended;
    if (news.problem)
      tell_problem(job);
    if (news.asks)
      answer(job);
    any_asks = any_asks || news.asks;
  }
  return any_asks;
}

int64_t fixture_turn(void)
{
  int64_t next_ms = dx_engine_turn(fixture.engine);

  return take_news() ? fixture.now_ms : next_ms;
}

void fixture_run(int64_t most_ms)
{
  int64_t next_ms = fixture_turn(), wait_ms = most_ms;

  if (next_ms < fixture.now_ms + most_ms)
    wait_ms = next_ms > fixture.now_ms ? next_ms - fixture.now_ms : 0;
  assert_int_equal(dx_http_run(NULL, wait_ms, NULL, 0, &err), DX_OK);
}

void fixture_add(struct dx_job *job)
{
  int i = 0;

  while (fixture.jobs[i] != job)
    assert_true(++i < fixture.job_count);
  assert_int_equal(dx_engine_add(fixture.engine, &drives[i], job, &err), DX_OK);
}

void fixture_begin(void)
{
  int i;

  dx_engine_free(&fixture.engine);
  sections[0] = fixture.service;
  sections[1] = fixture.other;
  config.spool_dir = fixture.dir;
  config.service_count = fixture.service_count;
  fixture.ended = 0;
  fixture.engine = dx_engine_new(&config, &fixture.spool, NULL, -1);
  assert_non_null(fixture.engine);
  for (i = 0; i < fixture.job_count; i++)
    fixture_add(fixture.jobs[i]);
  (void)take_news(); /* what was wrong before */
}

void fixture_restart(void)
{
  int i;

  dx_engine_free(&fixture.engine);
  for (i = 0; i < fixture.job_count; i++) {
    char key[DX_KEY_BYTES];

    memcpy(key, fixture.jobs[i]->key, sizeof(key));
    dx_job_free(&fixture.jobs[i]);
    assert_int_equal(dx_spool_load(&fixture.spool, key, &fixture.jobs[i], &err),
                     DX_OK);
  }
  fixture_begin();
}

static void drive(int64_t until_ms, bool attends)
{
  int turns;

  if (fixture.engine == NULL)
    fixture_begin();
  fixture.admin = DX_OK;
  for (turns = 0;
       fixture.ended < fixture.job_count && fixture.now_ms < until_ms &&
       !(attends && fixture.admin != DX_OK);
       turns++) {
    int64_t most = until_ms - fixture.now_ms;

    assert_true(turns < 1000000);
    fixture_run(most < 60000 ? most : 60000);
  }
}

void fixture_drive(int64_t until_ms)
{
  drive(until_ms, false);
}

enum dx_code fixture_attend(struct dx_err *ret_err)
{
  drive(fixture.now_ms + FOUR_WEEKS_MS, true);
  if (fixture.admin != DX_OK)
    return dx_fail(ret_err, fixture.admin, 0, "%s", fixture.note_text);
  assert_int_equal(fixture.ended, fixture.job_count);
  return dx_job_outcome(fixture.jobs[0], ret_err);
}

enum dx_code fixture_drive_to_end(void)
{
  fixture_drive(fixture.now_ms + FOUR_WEEKS_MS);
  assert_int_equal(fixture.ended, fixture.job_count);
  return dx_job_outcome(fixture.jobs[0], NULL);
}

/* ---- inspecting it ---- */

const struct fixture_call *fixture_nth(enum dx_call_kind kind, int nth)
{
  size_t i;

  for (i = 0; i < fixture.call_count; i++)
    if (fixture.calls[i].kind == kind && fixture.calls[i].nth == nth)
      return &fixture.calls[i];
  fail_msg("there was no call %d of kind %d", nth, (int)kind);
  return NULL;
}

int64_t fixture_gap_ms(const struct fixture_call *a,
                       const struct fixture_call *b)
{
  return b->began_ms - a->ended_ms;
}

int fixture_calls_between(int64_t from_ms, int64_t to_ms)
{
  size_t i;
  int n = 0;

  for (i = 0; i < fixture.call_count; i++)
    n += fixture.calls[i].began_ms >= from_ms &&
         fixture.calls[i].began_ms < to_ms;
  return n;
}

bool fixture_result_holds(const char *name, const char *text)
{
  struct dx_buf content = {0};
  int fd = open(fixture.results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool holds = dx_fs_read(fd, name, 100000, &content, NULL) == DX_OK &&
               strstr(dx_buf_text(&content), text) != NULL;

  dx_buf_release(&content);
  (void)close(fd);
  return holds;
}

void fixture_take_results(void)
{
  char aside[80];
  int fd;

  (void)snprintf(aside, sizeof(aside), "%s-aside", fixture.results);
  assert_int_equal(rename(fixture.results, aside), 0);
  fd = open(fixture.results, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  (void)close(fd);
}

void fixture_give_results(void)
{
  char aside[80];

  (void)snprintf(aside, sizeof(aside), "%s-aside", fixture.results);
  assert_int_equal(unlink(fixture.results), 0);
  assert_int_equal(rename(aside, fixture.results), 0);
}

int fixture_result_count(void)
{
  DIR *dir = opendir(fixture.results);
  const struct dirent *entry;
  int n = 0;

  assert_non_null(dir);
  while ((entry = readdir(dir)) != NULL)
    n += entry->d_name[0] != '.';
  (void)closedir(dir);
  return n;
}
