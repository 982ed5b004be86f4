/*
 * cupsd.c - queries about print jobs: one per job, each with up to three steps.
 * All queries share two kinds of data, each requested once: the device URIs of
 * queues, and the jobs that are not over.
 */
#include "daemon/cupsd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/print/print_job.h"
#include "lib/spool/spool.h"

#define CALLS_MAX 4          /* at once; cupsd processes them one by one */
#define SHARED_VALID_MS 5000 /* device URIs, jobs that are not over */
#define LIST_VALID_MS 60000  /* all jobs, for one sweep */
#define JOBS_MAX 200000      /* upper bound of a list */

#define HTTP_OK 200
#define HTTP_UNAUTHORIZED 401
#define HTTP_FORBIDDEN 403

struct question {
  TAILQ_ENTRY(question) link;
  struct cupsd *cupsd;
  const struct dx_job *about; /* borrowed; has an id and a uuid */
  enum { ANSWERED, IN_LINE, ASKS_JOB, NEEDS_SHARED } step;
  int64_t asked_ms; /* monotonic: last query */
  int64_t until_ms; /* deadline of the query */
  struct dx_http_call *call;
  struct dx_print_job job;
  enum dx_place place;
  struct shared *needs;  /* when NEEDS_SHARED */
  enum dx_answer answer; /* of asked_ms, when ANSWERED */
};

struct listed {
  int id;
  char *uuid; /* NULL: hidden, or not requested */
};

/* The device URI of a queue, or a list of print jobs. */
struct shared {
  struct shared *next;
  enum kind { QUEUE, ACTIVE, ALL } kind;
  char queue[DX_QUEUE_BYTES]; /* its name; "" for a list */
  int64_t asked_ms, known_ms; /* known_ms: asked_ms of what is in it; 0: none */
  struct cupsd_list list;     /* of a queue: only cupsd and call */
  char uri[sizeof(((struct dx_queue *)NULL)->uri)]; /* "": it has none */
  struct listed *jobs;
  size_t count;
  bool is_cut; /* not all jobs fit into the list */
};

/* ---- sending ---- */

bool cupsd_post(struct cupsd *cupsd, bool is_request, struct dx_buf *bytes,
                int64_t timeout_ms, dx_http_done *done, void *ctx,
                struct dx_http_call **ret_call)
{
  struct dx_cupsd_address address;
  struct dx_http_request request = {.method = "POST",
                                    .content_type = "application/ipp",
                                    .body = bytes->data,
                                    .body_len = bytes->len,
                                    .body_fd = -1,
                                    .timeout_ms = timeout_ms,
                                    .scope = DX_SCOPE_LINK,
                                    .done = done,
                                    .ctx = ctx};
  struct dx_err err;
  char url[DX_CUPSD_HOST_BYTES + 32];
  bool ok;

  dx_cupsd_address(&address);
  if (address.port == 0)
    (void)snprintf(url, sizeof(url), "http://localhost/");
  else
    (void)snprintf(url, sizeof(url),
                   strchr(address.host, ':') != NULL && address.host[0] != '['
                       ? "http://[%s]:%d/"
                       : "http://%s:%d/",
                   address.host, address.port);
  request.url = url;
  request.unix_socket = address.port == 0 ? address.host : NULL;
  ok = is_request && timeout_ms > 0 &&
       dx_http_start(cupsd->http, &request, ret_call, &err) == DX_OK;
  dx_buf_release(bytes);
  return ok;
}

bool cupsd_is_ok(const struct dx_http_response *response)
{
  return response->err.code == DX_OK && response->status == HTTP_OK;
}

bool cupsd_ask_page(struct cupsd_list *list, int from, int64_t timeout_ms)
{
  struct dx_buf bytes = {0};

  return cupsd_post(list->cupsd,
                    dx_print_jobs_request(list->is_all, from, &bytes), &bytes,
                    timeout_ms, list->done, list->ctx, &list->call);
}

enum cupsd_page cupsd_read_page(struct cupsd_list *list,
                                const struct dx_http_response *response)
{
  int last_id = list->last_id;

  list->call = NULL;
  if (!cupsd_is_ok(response) ||
      !dx_print_jobs_read(response->body, response->body_len, list->each,
                          list->ctx, &list->last_id))
    return CUPSD_PAGE_BAD;
  if (!list->is_all || list->last_id == last_id)
    return CUPSD_PAGE_LAST;
  return cupsd_ask_page(list, list->last_id + 1, CUPSD_LIST_TIMEOUT_MS)
             ? CUPSD_PAGE_MORE
             : CUPSD_PAGE_BAD;
}

static bool is_valid(int64_t asked_ms, int64_t valid_ms)
{
  return asked_ms != 0 && dx_monotonic_ms() - asked_ms < valid_ms;
}

/* ---- the end of a question ---- */

static void set_answer(struct question *q, enum dx_answer answer)
{
  q->answer = answer;
  q->step = ANSWERED;
  dx_log(DX_LOG_DEBUG, "cupsd: print job %.20s: %s", q->about->cups_id,
         dx_answer_word(answer));
}

/* ---- shared data ---- */

static void move_on(struct question *q);
static void on_shared(void *ctx, const struct dx_http_response *response);
static void add_job(void *ctx, const struct dx_print_job *job);

/* NULL when out of memory. */
static struct shared *shared_of(struct cupsd *cupsd, enum kind kind,
                                const char *queue)
{
  struct shared *s;

  for (s = cupsd->shared; s != NULL; s = s->next)
    if (s->kind == kind && strcasecmp(s->queue, queue) == 0)
      return s;
  s = calloc(1, sizeof(*s));
  if (s == NULL)
    return NULL;
  s->list.cupsd = cupsd;
  s->list.is_all = kind == ALL;
  s->list.each = add_job;
  s->list.done = on_shared;
  s->list.ctx = s;
  s->kind = kind;
  (void)snprintf(s->queue, sizeof(s->queue), "%s", queue);
  s->next = cupsd->shared;
  cupsd->shared = s;
  return s;
}

static void forget_jobs(struct shared *s)
{
  while (s->count > 0)
    free(s->jobs[--s->count].uuid);
  free(s->jobs);
  s->jobs = NULL;
}

static void add_job(void *ctx, const struct dx_print_job *job)
{
  struct shared *s = ctx;
  struct listed *jobs = NULL;

  if (!job->may_run_again || s->is_cut)
    return;
  if (s->count < JOBS_MAX)
    jobs = reallocarray(s->jobs, s->count + 1, sizeof(*jobs));
  s->is_cut = jobs == NULL;
  if (s->is_cut)
    return;
  s->jobs = jobs;
  jobs[s->count++] =
      (struct listed){job->id, job->uuid != NULL ? strdup(job->uuid) : NULL};
}

static const struct listed *job_by_id(const struct shared *s, int id)
{
  size_t i;

  for (i = 0; i < s->count; i++)
    if (s->jobs[i].id == id)
      return &s->jobs[i];
  return NULL;
}

/* Requests the data, unless that is in progress. */
static bool ask_shared(struct shared *s, int64_t timeout_ms)
{
  struct dx_buf bytes = {0};

  if (s->list.call != NULL)
    return true;
  s->asked_ms = dx_monotonic_ms();
  s->list.last_id = 0;
  s->is_cut = false;
  if (s->kind != QUEUE)
    return cupsd_ask_page(&s->list, 1, timeout_ms);
  return cupsd_post(s->list.cupsd, dx_queue_request(s->queue, &bytes), &bytes,
                    timeout_ms, on_shared, s, &s->list.call);
}

static void keep_uri(void *ctx, const struct dx_queue *queue)
{
  struct shared *s = ctx;

  memcpy(s->uri, queue->uri, sizeof(s->uri));
}

static void on_shared(void *ctx, const struct dx_http_response *response)
{
  struct shared *s = ctx;
  int timeout_s;
  struct cupsd *cupsd = s->list.cupsd;
  enum cupsd_page page;
  bool is_known;
  struct question *q;

  if (s->kind == QUEUE) {
    s->list.call = NULL;
    is_known = response->err.code == DX_OK; /* even without a URI */
    s->uri[0] = '\0';
    (void)dx_queues_read(response->body, response->body_len, keep_uri, s,
                         &timeout_s);
  } else {
    if (s->list.last_id == 0)
      forget_jobs(s);
    page = cupsd_read_page(&s->list, response);
    if (page == CUPSD_PAGE_MORE)
      return;
    is_known = page == CUPSD_PAGE_LAST && !s->is_cut;
  }
  s->known_ms = is_known ? s->asked_ms : 0;
  TAILQ_FOREACH (q, &cupsd->questions, link)
    if (q->step == NEEDS_SHARED && q->needs == s) {
      if (is_known)
        move_on(q);
      else /* a list may be private */
        set_answer(q, s->kind == ACTIVE && response->err.code == DX_OK
                          ? dx_answer_at(DX_ANSWER_ACTIVE, q->place)
                          : DX_ANSWER_NONE);
    }
}

bool cupsd_is_ours(const struct cupsd *cupsd, const char *uri,
                   char ret_section[DX_SECTION_BYTES])
{
  return dx_section_of_uri(uri, ret_section) &&
         dx_config_service(cupsd->config, ret_section) != NULL;
}

/* ---- a question, step by step ---- */

/* Makes the question wait for shared data; NULL: out of memory, or of time. */
static void wait_for(struct question *q, struct shared *s, int64_t timeout_ms)
{
  q->step = NEEDS_SHARED;
  q->needs = s;
  if (s == NULL || !ask_shared(s, timeout_ms))
    set_answer(q, DX_ANSWER_NONE);
}

/* uri: the device URI of the queue that has the job. With another section of
 * this spool, cupsd runs the job again, as in another queue. */
static enum dx_place place_of(const struct question *q, const char *uri)
{
  const struct dx_job *job = q->about;
  bool is_same =
      job->queue == NULL || strcasecmp(job->queue, q->job.queue) == 0;
  char section[DX_SECTION_BYTES];
  bool is_ours = cupsd_is_ours(q->cupsd, uri, section);

  if (is_same && strcmp(section, job->service) == 0)
    return DX_PLACE_SAME; /* even if its section is missing: the job waits */
  if (is_ours)
    return DX_PLACE_OTHER;
  return is_same ? DX_PLACE_CHANGED : DX_PLACE_NOT_OURS;
}

/* Evaluates cupsd's answer about the job, with the shared data that is known;
 * requests what is missing. */
static void move_on(struct question *q)
{
  struct cupsd *cupsd = q->cupsd;
  int64_t left_ms = q->until_ms - dx_monotonic_ms();
  struct shared *s;

  /* The device URI of a class is not used: cupsd returns file:///dev/null. */
  if (q->job.queue[0] != '\0' && !q->job.is_class) {
    s = shared_of(cupsd, QUEUE, q->job.queue);
    if (s == NULL || !is_valid(s->known_ms, SHARED_VALID_MS)) {
      wait_for(q, s, left_ms);
      return;
    }
    if (s->uri[0] != '\0')
      q->place = place_of(q, s->uri);
  }
  if (q->job.answer != DX_ANSWER_ACTIVE || q->place == DX_PLACE_NOT_OURS) {
    set_answer(q, dx_answer_at(q->job.answer, q->place));
    return;
  }
  /* After a crash of cupsd, a job that is over may stay "pending" forever. Such
   * a job is in no list. */
  s = shared_of(cupsd, ACTIVE, "");
  if (s != NULL && is_valid(s->known_ms, SHARED_VALID_MS) &&
      job_by_id(s, atoi(q->about->cups_id)) != NULL)
    set_answer(q, dx_answer_at(DX_ANSWER_ACTIVE, q->place));
  else if (s != NULL && s->known_ms >= q->asked_ms)
    set_answer(q, DX_ANSWER_OVER);
  else
    wait_for(q, left_ms > 0 ? s : NULL, DX_ASK_CUPSD_MS);
}

static void start_line(struct cupsd *cupsd);

static void on_job(void *ctx, const struct dx_http_response *response)
{
  struct question *q = ctx, *other;
  struct cupsd *cupsd = q->cupsd;
  char key[DX_KEY_BYTES];

  q->call = NULL;
  cupsd->is_silent = response->err.code != DX_OK;
  if (response->status == HTTP_UNAUTHORIZED ||
      response->status == HTTP_FORBIDDEN)
    q->job.answer = DX_ANSWER_HIDDEN;
  else if (cupsd_is_ok(response))
    dx_print_job_read(response->body, response->body_len, q->about->uuid,
                      &q->job);
  else /* the queries in the line would fail, too */
    TAILQ_FOREACH (other, &cupsd->questions, link)
      if (other->step == IN_LINE)
        set_answer(other, DX_ANSWER_NONE);
  if (!dx_print_job_is_known(&q->job))
    set_answer(q, q->job.answer);
  else if (!dx_spool_key(q->about->uuid, q->about->cups_id,
                         q->job.time_at_creation, key) ||
           strcmp(key, q->about->print.key) != 0)
    set_answer(q, DX_ANSWER_UNKNOWN); /* another job with the same id */
  else
    move_on(q);
  start_line(cupsd);
}

/* Starts as many of the waiting queries as may be in progress. */
static void start_line(struct cupsd *cupsd)
{
  size_t calls = 0;
  struct question *q;

  TAILQ_FOREACH (q, &cupsd->questions, link)
    calls += q->step == ASKS_JOB;
  TAILQ_FOREACH (q, &cupsd->questions, link) {
    struct dx_buf bytes = {0};

    if (q->step != IN_LINE || calls >= (cupsd->is_silent ? 1 : CALLS_MAX))
      continue;
    q->job = (struct dx_print_job){.answer = DX_ANSWER_NONE};
    q->place = DX_PLACE_SAME;
    q->asked_ms = dx_monotonic_ms();
    q->until_ms = q->asked_ms + DX_ASK_CUPSD_MS;
    q->step = ASKS_JOB;
    if (cupsd_post(
            cupsd,
            dx_print_job_request(q->about->cups_id, q->about->user, &bytes),
            &bytes, DX_ASK_CUPSD_MS, on_job, q, &q->call))
      calls++;
    else
      set_answer(q, DX_ANSWER_NONE);
  }
}

/* ---- the interface ---- */

void cupsd_forget(struct question **question)
{
  struct question *q = *question;

  if (q == NULL)
    return;
  TAILQ_REMOVE(&q->cupsd->questions, q, link);
  dx_http_cancel(&q->call);
  if (q->step == ASKS_JOB)
    start_line(q->cupsd);
  free(q);
  *question = NULL;
}

bool cupsd_answer(struct cupsd *cupsd, const struct dx_job *job,
                  struct question **question, int64_t since_ms,
                  enum dx_answer *ret_answer)
{
  struct question *q = *question;

  if (job->cups_id == NULL || job->uuid == NULL) {
    *ret_answer = DX_ANSWER_UNKNOWN; /* it cannot be looked up */
    return true;
  }
  if (q == NULL) {
    q = *question = calloc(1, sizeof(*q));
    if (q == NULL)
      return false;
    q->cupsd = cupsd;
    q->about = job;
    TAILQ_INSERT_TAIL(&cupsd->questions, q, link);
  }
  if (q->step != ANSWERED)
    return false;
  if (q->asked_ms != 0 && q->asked_ms >= since_ms) {
    *ret_answer = q->answer;
    return true;
  }
  if (!is_valid(q->asked_ms, DX_ASK_AGAIN_MS)) {
    q->step = IN_LINE;
    q->asked_ms = dx_monotonic_ms();
    start_line(cupsd);
  }
  return false;
}

enum dx_rerun cupsd_may_rerun(void *ctx, const char *cups_id, const char *uuid)
{
  struct cupsd *cupsd = ctx;
  struct shared *all = shared_of(cupsd, ALL, "");
  const struct listed *job;

  if (all == NULL || !is_valid(all->known_ms, LIST_VALID_MS)) {
    if (all != NULL && !is_valid(all->asked_ms, DX_ASK_AGAIN_MS))
      (void)ask_shared(all, CUPSD_LIST_TIMEOUT_MS);
    return DX_RERUN_UNKNOWN;
  }
  job = job_by_id(all, atoi(cups_id));
  return job != NULL && (job->uuid == NULL || strcmp(job->uuid, uuid) == 0)
             ? DX_RERUN_MAY
             : DX_RERUN_NO;
}

void cupsd_start(struct cupsd *cupsd, struct dx_http *http,
                 const struct dx_config *config)
{
  *cupsd = (struct cupsd){.http = http, .config = config};
  TAILQ_INIT(&cupsd->questions);
}

void cupsd_stop(struct cupsd *cupsd)
{
  struct shared *s;

  while ((s = cupsd->shared) != NULL) {
    cupsd->shared = s->next;
    dx_http_cancel(&s->list.call);
    forget_jobs(s);
    free(s);
  }
}
