/*
 * cupsd.c - queries about print jobs: one per job, each with up to three steps.
 * The last one looks at the list of jobs that are not over, which all queries
 * share.
 */
#include "daemon/cupsd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/spool.h"

#define ACTIVE_VALID_MS 5000 /* jobs that are not over */
#define ALL_VALID_MS 60000   /* all jobs, for one sweep */
#define JOBS_MAX 200000      /* upper bound of a list */

#define HTTP_OK 200
#define HTTP_UNAUTHORIZED 401
#define HTTP_FORBIDDEN 403

struct listed {
  int id;
  char *uuid; /* NULL: hidden, or not requested */
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

static void on_page(void *ctx, const struct dx_http_response *response);

static bool ask_page(struct cupsd_list *list, int from, int64_t timeout_ms)
{
  struct dx_buf bytes = {0};

  return cupsd_post(list->cupsd,
                    dx_print_jobs_request(list->is_all, from, &bytes), &bytes,
                    timeout_ms, on_page, list, &list->call);
}

static void on_page(void *ctx, const struct dx_http_response *response)
{
  struct cupsd_list *list = ctx;
  int last_id = list->last_id;
  bool ok = cupsd_is_ok(response) &&
            dx_print_jobs_read(response->body, response->body_len, list->each,
                               list->ctx, &list->last_id);
  bool has_more = ok && list->is_all && list->last_id != last_id;

  list->call = NULL;
  if (!has_more || !ask_page(list, list->last_id + 1, CUPSD_LIST_TIMEOUT_MS))
    list->end(list->ctx, response, ok && !has_more);
}

bool cupsd_ask_list(struct cupsd_list *list, int from, int64_t timeout_ms)
{
  list->last_id = 0;
  return ask_page(list, from, timeout_ms);
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

/* ---- the lists ---- */

static void forget_jobs(struct cupsd_jobs *jobs)
{
  while (jobs->count > 0)
    free(jobs->jobs[--jobs->count].uuid);
  free(jobs->jobs);
  jobs->jobs = NULL;
}

static void add_job(void *ctx, const struct dx_print_job *job)
{
  struct cupsd_jobs *jobs = ctx;
  struct listed *more = NULL;

  if (!job->may_run_again || jobs->is_cut)
    return;
  if (jobs->count < JOBS_MAX)
    more = reallocarray(jobs->jobs, jobs->count + 1, sizeof(*more));
  jobs->is_cut = more == NULL;
  if (jobs->is_cut)
    return;
  jobs->jobs = more;
  more[jobs->count++] =
      (struct listed){job->id, job->uuid != NULL ? strdup(job->uuid) : NULL};
}

static const struct listed *job_by_id(const struct cupsd_jobs *jobs, int id)
{
  size_t i;

  for (i = 0; i < jobs->count; i++)
    if (jobs->jobs[i].id == id)
      return &jobs->jobs[i];
  return NULL;
}

/* Requests the list, unless that is in progress. */
static bool ask_jobs(struct cupsd_jobs *jobs, int64_t timeout_ms)
{
  if (jobs->list.call != NULL)
    return true;
  forget_jobs(jobs);
  jobs->asked_ms = dx_monotonic_ms();
  jobs->known_ms = 0;
  jobs->is_cut = false;
  return cupsd_ask_list(&jobs->list, 1, timeout_ms);
}

static void evaluate(struct question *q);

static void on_jobs(void *ctx, const struct dx_http_response *response, bool ok)
{
  struct cupsd_jobs *jobs = ctx;
  struct cupsd *cupsd = jobs->list.cupsd;
  bool is_known = ok && !jobs->is_cut;
  struct question *q;

  jobs->known_ms = is_known ? jobs->asked_ms : 0;
  TAILQ_FOREACH (q, &cupsd->questions, link)
    if (q->step == NEEDS_ACTIVE && jobs == &cupsd->active) {
      if (is_known) /* it may request the list again */
        evaluate(q);
      else /* the list may be private */
        set_answer(q, response->err.code == DX_OK
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

/* Looks at the device URI of the queue that has the job. With another section
 * of this spool, cupsd runs the job again, as in another queue. */
static void set_place(void *ctx, const struct dx_queue *queue)
{
  struct question *q = ctx;
  const struct dx_job *job = q->about;
  bool is_same =
      job->queue == NULL || strcasecmp(job->queue, q->job.queue) == 0;
  char section[DX_SECTION_BYTES];
  bool is_ours = cupsd_is_ours(q->cupsd, queue->uri, section);

  if (is_same && strcmp(section, job->service) == 0)
    q->place = DX_PLACE_SAME; /* even if its section is missing: it waits */
  else if (is_ours)
    q->place = DX_PLACE_OTHER;
  else
    q->place = is_same ? DX_PLACE_CHANGED : DX_PLACE_NOT_OURS;
}

/* Evaluates cupsd's answers about the job and its queue, with the list of jobs
 * that are not over if that is known; otherwise requests it. */
static void evaluate(struct question *q)
{
  struct cupsd_jobs *active = &q->cupsd->active;

  /* After a crash of cupsd, a job that is over may stay "pending" forever. Such
   * a job is in no list. */
  if (q->job.answer != DX_ANSWER_ACTIVE || q->place == DX_PLACE_NOT_OURS ||
      (is_valid(active->known_ms, ACTIVE_VALID_MS) &&
       job_by_id(active, atoi(q->about->cups_id)) != NULL)) {
    set_answer(q, dx_answer_at(q->job.answer, q->place));
  } else if (active->known_ms >= q->asked_ms) {
    set_answer(q, DX_ANSWER_OVER);
  } else {
    q->step = NEEDS_ACTIVE;
    if (dx_monotonic_ms() >= q->until_ms || !ask_jobs(active, DX_ASK_CUPSD_MS))
      set_answer(q, DX_ANSWER_NONE);
  }
}

static void start_next(struct cupsd *cupsd);

static void on_queue(void *ctx, const struct dx_http_response *response)
{
  struct question *q = ctx;
  int timeout_s;

  q->call = NULL;
  (void)dx_queues_read(response->body, response->body_len, set_place, q,
                       &timeout_s);
  if (response->err.code == DX_OK) /* even without a URI */
    evaluate(q);
  else
    set_answer(q, DX_ANSWER_NONE);
  start_next(q->cupsd);
}

static void on_job(void *ctx, const struct dx_http_response *response)
{
  struct question *q = ctx, *other;
  struct cupsd *cupsd = q->cupsd;
  struct dx_buf bytes = {0};
  char key[DX_KEY_BYTES];

  q->call = NULL;
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
  else if (q->job.queue[0] == '\0' || q->job.is_class)
    evaluate(q); /* the device URI of a class would be file:///dev/null */
  else if (!cupsd_post(cupsd, dx_queues_request(q->job.queue, &bytes), &bytes,
                       q->until_ms - dx_monotonic_ms(), on_queue, q, &q->call))
    set_answer(q, DX_ANSWER_NONE);
  start_next(cupsd);
}

/* Starts the next waiting query, unless one is in progress: cupsd processes
 * them one by one, and may not respond. */
static void start_next(struct cupsd *cupsd)
{
  struct question *q;

  TAILQ_FOREACH (q, &cupsd->questions, link)
    if (q->step == ASKS)
      return;
  TAILQ_FOREACH (q, &cupsd->questions, link) {
    struct dx_buf bytes = {0};

    if (q->step != IN_LINE)
      continue;
    q->job = (struct dx_print_job){.answer = DX_ANSWER_NONE};
    q->place = DX_PLACE_SAME;
    q->asked_ms = dx_monotonic_ms();
    q->until_ms = q->asked_ms + DX_ASK_CUPSD_MS;
    q->step = ASKS;
    if (cupsd_post(
            cupsd,
            dx_print_job_request(q->about->cups_id, q->about->user, &bytes),
            &bytes, DX_ASK_CUPSD_MS, on_job, q, &q->call))
      return;
    set_answer(q, DX_ANSWER_NONE);
  }
}

/* ---- the interface ---- */

void cupsd_forget(struct question *q)
{
  struct cupsd *cupsd = q->cupsd;

  if (cupsd == NULL)
    return;
  TAILQ_REMOVE(&cupsd->questions, q, link);
  dx_http_cancel(&q->call);
  *q = (struct question){.cupsd = NULL};
  start_next(cupsd);
}

bool cupsd_answer(struct cupsd *cupsd, const struct dx_job *job,
                  struct question *q, int64_t since_ms,
                  enum dx_answer *ret_answer)
{
  if (job->cups_id == NULL || job->uuid == NULL) {
    *ret_answer = DX_ANSWER_UNKNOWN; /* it cannot be looked up */
    return true;
  }
  if (q->cupsd == NULL) {
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
    start_next(cupsd);
  }
  return false;
}

enum dx_rerun cupsd_may_rerun(void *ctx, const char *cups_id, const char *uuid)
{
  struct cupsd *cupsd = ctx;
  struct cupsd_jobs *all = &cupsd->all;
  const struct listed *job;

  if (!is_valid(all->known_ms, ALL_VALID_MS)) {
    if (!is_valid(all->asked_ms, DX_ASK_AGAIN_MS))
      (void)ask_jobs(all, CUPSD_LIST_TIMEOUT_MS);
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
  *cupsd = (struct cupsd){
      .http = http,
      .config = config,
      .active.list = {cupsd, false, add_job, on_jobs, &cupsd->active, 0, NULL},
      .all.list = {cupsd, true, add_job, on_jobs, &cupsd->all, 0, NULL}};
  TAILQ_INIT(&cupsd->questions);
}

void cupsd_stop(struct cupsd *cupsd)
{
  dx_http_cancel(&cupsd->active.list.call);
  dx_http_cancel(&cupsd->all.list.call);
  forget_jobs(&cupsd->active);
  forget_jobs(&cupsd->all);
}
