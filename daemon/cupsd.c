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

#define CALLS_MAX 4           /* at once; cupsd processes them one by one */
#define SHARED_VALID_MS 5000  /* device URIs, jobs that are not over */
#define LIST_VALID_MS 60000   /* all jobs, for one sweep */
#define LIST_TIMEOUT_MS 10000 /* cupsd reads a file for each job */
#define JOBS_MAX 200000       /* upper bound of a list */

#define HTTP_OK 200
#define HTTP_UNAUTHORIZED 401
#define HTTP_FORBIDDEN 403

/* The state of a query. */
enum step { ANSWERED, IN_LINE, JOB, QUEUE, ACTIVE };

struct question {
  struct question *next;
  struct cupsd *cupsd;
  const struct dx_job *about; /* borrowed; has an id and a uuid */
  enum step step;
  int64_t asked_ms; /* monotonic: last query */
  int64_t until_ms; /* deadline of the query */
  struct dx_http_call *call;
  struct dx_print_job job;
  enum dx_answer answer; /* of asked_ms, when ANSWERED */
  bool tell;
};

/* A queue of cupsd, and its device URI. */
struct queue {
  struct queue *next;
  struct cupsd *cupsd;
  char name[DX_QUEUE_BYTES];
  int64_t asked_ms;
  struct dx_http_call *call;
  struct dx_buf uri; /* "": it has none */
};

struct listed {
  int id;
  char *uuid; /* NULL: hidden, or not requested */
};

/* A list of print jobs. */
struct list {
  struct cupsd *cupsd;
  enum dx_print_jobs which;
  int64_t asked_ms, known_ms; /* known_ms: asked_ms of what is in it; 0: none */
  struct dx_http_call *call;
  struct listed *jobs; /* the last complete list */
  size_t count;
  struct listed *fresh; /* the list being received */
  size_t fresh_count;
  int last_id;
  bool is_whole;
};

struct cupsd {
  struct dx_http *http;
  struct cupsd_ops ops;
  struct question *questions; /* the newest last */
  struct queue *queues;
  struct list active, all;
  size_t calls; /* of questions in step JOB */
};

static void move_on(struct question *q);
static void start_line(struct cupsd *cupsd);

/* ---- sending ---- */

/* Releases the bytes. */
static bool post(struct cupsd *cupsd, bool is_request, struct dx_buf *bytes,
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

static bool is_ok(const struct dx_http_response *response)
{
  return response->code == DX_OK && response->status == HTTP_OK;
}

/* ---- the end of a question ---- */

static void set_answer(struct question *q, enum dx_answer answer)
{
  q->answer = answer;
  q->step = ANSWERED;
  q->tell = true;
  dx_log(DX_LOG_DEBUG, "cupsd: print job %.20s: %s", q->about->cups_id,
         dx_answer_word(answer));
}

/* If one query fails, all waiting queries fail, too. */
static void fail_line(struct cupsd *cupsd)
{
  struct question *q;

  for (q = cupsd->questions; q != NULL; q = q->next)
    if (q->step == IN_LINE)
      set_answer(q, DX_ANSWER_NONE);
}

/* The callback may start another query, which changes the list: the loop starts
 * over. */
static void tell(struct cupsd *cupsd)
{
  struct question *q = cupsd->questions;

  while (q != NULL) {
    if (q->tell) {
      q->tell = false;
      cupsd->ops.answered(cupsd->ops.ctx, q->about->key);
      q = cupsd->questions;
    } else {
      q = q->next;
    }
  }
}

/* ---- device URIs of queues ---- */

static struct queue *queue_by_name(struct cupsd *cupsd, const char *name)
{
  struct queue *queue;

  for (queue = cupsd->queues; queue != NULL; queue = queue->next)
    if (strcasecmp(queue->name, name) == 0)
      return queue;
  queue = calloc(1, sizeof(*queue));
  if (queue == NULL)
    return NULL;
  queue->cupsd = cupsd;
  (void)snprintf(queue->name, sizeof(queue->name), "%s", name);
  queue->next = cupsd->queues;
  cupsd->queues = queue;
  return queue;
}

static void on_queue(void *ctx, const struct dx_http_response *response)
{
  struct queue *queue = ctx;
  struct cupsd *cupsd = queue->cupsd;
  bool responded = response->code == DX_OK; /* even without a URI */
  struct question *q;

  queue->call = NULL;
  dx_buf_release(&queue->uri);
  if (!responded)
    queue->asked_ms = 0;
  else if (!dx_queue_read(response->body, response->body_len, &queue->uri))
    dx_buf_release(&queue->uri);
  for (q = cupsd->questions; q != NULL; q = q->next) {
    if (q->step != QUEUE || strcasecmp(q->job.queue, queue->name) != 0)
      continue;
    if (responded)
      move_on(q);
    else
      set_answer(q, DX_ANSWER_NONE);
  }
  tell(cupsd);
}

static bool is_valid(int64_t asked_ms, int64_t valid_ms)
{
  return asked_ms != 0 && dx_monotonic_ms() - asked_ms < valid_ms;
}

/* Returns the device URI, "" if there is none; NULL: `q` waits for it, or has
 * failed. */
static const char *uri_for(struct question *q)
{
  struct queue *queue = queue_by_name(q->cupsd, q->job.queue);
  struct dx_buf bytes = {0};

  q->step = QUEUE;
  if (queue != NULL && queue->call != NULL)
    return NULL;
  if (queue != NULL && is_valid(queue->asked_ms, SHARED_VALID_MS))
    return dx_buf_text(&queue->uri);
  if (queue != NULL &&
      post(q->cupsd, dx_queue_request(queue->name, &bytes), &bytes,
           q->until_ms - dx_monotonic_ms(), on_queue, queue, &queue->call)) {
    queue->asked_ms = dx_monotonic_ms();
    return NULL;
  }
  set_answer(q, DX_ANSWER_NONE);
  return NULL;
}

/* ---- lists of jobs ---- */

static void free_jobs(struct listed **jobs, size_t *count)
{
  size_t i;

  for (i = 0; i < *count; i++)
    free((*jobs)[i].uuid);
  free(*jobs);
  *jobs = NULL;
  *count = 0;
}

static void add_job(void *ctx, const struct dx_listed_job *job)
{
  struct list *list = ctx;
  struct listed *more;

  if (job->id > list->last_id)
    list->last_id = job->id;
  if (!job->may_run_again || !list->is_whole)
    return;
  more = reallocarray(list->fresh, list->fresh_count + 1, sizeof(*more));
  list->is_whole = more != NULL && list->fresh_count < JOBS_MAX;
  if (more == NULL)
    return;
  list->fresh = more;
  more += list->fresh_count++;
  more->id = job->id;
  more->uuid = job->uuid != NULL ? strdup(job->uuid) : NULL;
}

static const struct listed *job_by_id(const struct list *list, int id)
{
  size_t i;

  for (i = 0; i < list->count; i++)
    if (list->jobs[i].id == id)
      return &list->jobs[i];
  return NULL;
}

static void on_list(void *ctx, const struct dx_http_response *response);

static bool ask_page(struct list *list)
{
  struct dx_buf bytes = {0};
  bool is_all = list->which == DX_PRINT_JOBS_ALL;

  return post(list->cupsd,
              dx_print_jobs_request(list->which, list->last_id + 1, &bytes),
              &bytes, is_all ? LIST_TIMEOUT_MS : DX_ASK_CUPSD_MS, on_list, list,
              &list->call);
}

static bool ask_list(struct list *list)
{
  if (list->call != NULL)
    return true;
  free_jobs(&list->fresh, &list->fresh_count);
  list->last_id = 0;
  list->is_whole = true;
  list->asked_ms = dx_monotonic_ms();
  return ask_page(list);
}

/* Continues the queries that wait for the list of active jobs; `otherwise` is
 * their answer if there is no list. */
static void after_active(struct cupsd *cupsd, enum dx_answer otherwise)
{
  struct question *q;

  for (q = cupsd->questions; q != NULL; q = q->next)
    if (q->step == ACTIVE) {
      if (cupsd->active.known_ms != 0)
        move_on(q);
      else
        set_answer(q, otherwise);
    }
}

static void on_list(void *ctx, const struct dx_http_response *response)
{
  struct list *list = ctx;
  struct cupsd *cupsd = list->cupsd;
  bool is_all = list->which == DX_PRINT_JOBS_ALL;
  int last_id = list->last_id;

  list->call = NULL;
  if (!is_ok(response) ||
      !dx_print_jobs_read(response->body, response->body_len, add_job, list))
    list->is_whole = false;
  /* cupsd returns at most 500 jobs at once: continue until there are none. */
  if (is_all && list->is_whole && list->last_id > last_id) {
    if (ask_page(list))
      return;
    list->is_whole = false;
  }
  list->known_ms = list->is_whole ? list->asked_ms : 0;
  free_jobs(&list->jobs, &list->count);
  list->jobs = list->fresh;
  list->count = list->fresh_count;
  list->fresh = NULL;
  list->fresh_count = 0;
  if (!is_all)
    after_active(cupsd,
                 response->code == DX_OK ? DX_ANSWER_ACTIVE : DX_ANSWER_NONE);
  else
    cupsd->ops.answered(cupsd->ops.ctx, NULL);
  tell(cupsd);
}

/* After a crash of cupsd, a job that is over may stay "pending" forever. Such a
 * job is in no list. */
static void look_if_listed(struct question *q)
{
  struct list *active = &q->cupsd->active;
  int id = atoi(q->about->cups_id);

  if (is_valid(active->known_ms, SHARED_VALID_MS) &&
      job_by_id(active, id) != NULL)
    set_answer(q, DX_ANSWER_ACTIVE);
  else if (active->known_ms >= q->asked_ms)
    set_answer(q, DX_ANSWER_OVER);
  else if (dx_monotonic_ms() < q->until_ms && ask_list(active))
    q->step = ACTIVE;
  else
    set_answer(q, DX_ANSWER_NONE);
}

/* ---- a question, step by step ---- */

static bool is_the_job(const struct question *q)
{
  char key[DX_KEY_BYTES];

  return dx_spool_key(q->about->uuid, q->about->cups_id,
                      q->job.time_at_creation, key) &&
         strcmp(key, q->about->key) == 0;
}

/* Whether the job was moved or its printer changed; NOT_ASKED: neither. */
static enum dx_answer answer_of_printer(const struct question *q,
                                        const char *uri)
{
  bool is_its_own =
      q->about->queue == NULL || strcasecmp(q->about->queue, q->job.queue) == 0;
  bool is_ours;

  if (uri[0] == '\0')
    return DX_ANSWER_NOT_ASKED;
  is_ours = q->cupsd->ops.is_ours(q->cupsd->ops.ctx, uri);
  if (is_its_own)
    return is_ours ? DX_ANSWER_NOT_ASKED : DX_ANSWER_CHANGED;
  return is_ours ? DX_ANSWER_OTHER_QUEUE : DX_ANSWER_NOT_OURS;
}

/* Evaluates cupsd's answer about the job. The device URI of a class is not
 * used: cupsd returns file:///dev/null. */
static void move_on(struct question *q)
{
  enum dx_answer answer = DX_ANSWER_NOT_ASKED;

  if (q->job.queue[0] != '\0' && !q->job.is_class) {
    const char *uri = uri_for(q);

    if (uri == NULL)
      return;
    answer = answer_of_printer(q, uri);
  }
  if (answer != DX_ANSWER_NOT_ASKED)
    set_answer(q, answer);
  else if (q->job.answer == DX_ANSWER_ACTIVE)
    look_if_listed(q);
  else
    set_answer(q, q->job.answer);
}

static void on_job(void *ctx, const struct dx_http_response *response)
{
  struct question *q = ctx;
  struct cupsd *cupsd = q->cupsd;

  q->call = NULL;
  cupsd->calls--;
  if (response->status == HTTP_UNAUTHORIZED ||
      response->status == HTTP_FORBIDDEN)
    q->job.answer = DX_ANSWER_HIDDEN;
  else if (is_ok(response))
    dx_print_job_read(response->body, response->body_len, q->about->uuid,
                      &q->job);
  else
    fail_line(cupsd);
  if (!dx_print_job_is_known(&q->job))
    set_answer(q, q->job.answer);
  else if (!is_the_job(q))
    set_answer(q, DX_ANSWER_UNKNOWN);
  else
    move_on(q);
  start_line(cupsd);
  tell(cupsd);
}

static void start(struct question *q)
{
  struct dx_buf bytes = {0};

  q->job = (struct dx_print_job){.answer = DX_ANSWER_NONE};
  q->asked_ms = dx_monotonic_ms();
  q->until_ms = q->asked_ms + DX_ASK_CUPSD_MS;
  q->step = JOB;
  if (post(q->cupsd,
           dx_print_job_request(q->about->cups_id, q->about->user, &bytes),
           &bytes, DX_ASK_CUPSD_MS, on_job, q, &q->call))
    q->cupsd->calls++;
  else
    set_answer(q, DX_ANSWER_NONE);
}

static void start_line(struct cupsd *cupsd)
{
  struct question *q;

  for (q = cupsd->questions; q != NULL && cupsd->calls < CALLS_MAX; q = q->next)
    if (q->step == IN_LINE)
      start(q);
}

/* ---- questions ---- */

void cupsd_forget(struct question **question)
{
  struct question *q = *question, **at;

  if (q == NULL)
    return;
  for (at = &q->cupsd->questions; *at != q; at = &(*at)->next)
    ;
  *at = q->next;
  dx_http_cancel(&q->call);
  if (q->step == JOB) {
    q->cupsd->calls--;
    start_line(q->cupsd);
  }
  free(q);
  *question = NULL;
}

static struct question *add_question(struct cupsd *cupsd,
                                     const struct dx_job *job)
{
  struct question *q = calloc(1, sizeof(*q)), **at;

  if (q == NULL)
    return NULL;
  q->cupsd = cupsd;
  q->about = job;
  for (at = &cupsd->questions; *at != NULL; at = &(*at)->next)
    ;
  *at = q;
  return q;
}

bool cupsd_answer(struct cupsd *cupsd, const struct dx_job *job,
                  struct question **question, int64_t since_ms,
                  enum dx_answer *ret_answer)
{
  struct question *q;

  if (job->cups_id == NULL || job->uuid == NULL) {
    *ret_answer = DX_ANSWER_UNKNOWN; /* it cannot be looked up */
    return true;
  }
  if (*question == NULL)
    *question = add_question(cupsd, job);
  q = *question;
  if (q == NULL || q->step != ANSWERED)
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

bool cupsd_has(struct cupsd *cupsd, const char *cups_id, const char *uuid,
               bool *ret_known)
{
  const struct listed *job;

  *ret_known = is_valid(cupsd->all.known_ms, LIST_VALID_MS);
  if (!*ret_known) {
    if (!is_valid(cupsd->all.asked_ms, DX_ASK_AGAIN_MS))
      (void)ask_list(&cupsd->all);
    return false;
  }
  job = cups_id != NULL ? job_by_id(&cupsd->all, atoi(cups_id)) : NULL;
  return job != NULL &&
         (job->uuid == NULL || uuid == NULL || strcmp(job->uuid, uuid) == 0);
}

/* ---- the beginning and the end ---- */

struct cupsd *cupsd_new(struct dx_http *http, const struct cupsd_ops *ops)
{
  struct cupsd *cupsd = calloc(1, sizeof(*cupsd));

  if (cupsd == NULL)
    return NULL;
  cupsd->http = http;
  cupsd->ops = *ops;
  cupsd->active.cupsd = cupsd->all.cupsd = cupsd;
  cupsd->active.which = DX_PRINT_JOBS_NOT_OVER;
  cupsd->all.which = DX_PRINT_JOBS_ALL;
  return cupsd;
}

static void release_list(struct list *list)
{
  dx_http_cancel(&list->call);
  free_jobs(&list->jobs, &list->count);
  free_jobs(&list->fresh, &list->fresh_count);
}

void cupsd_free(struct cupsd **cupsd)
{
  struct queue *queue;

  if (*cupsd == NULL)
    return;
  while ((queue = (*cupsd)->queues) != NULL) {
    (*cupsd)->queues = queue->next;
    dx_http_cancel(&queue->call);
    dx_buf_release(&queue->uri);
    free(queue);
  }
  release_list(&(*cupsd)->active);
  release_list(&(*cupsd)->all);
  free(*cupsd);
  *cupsd = NULL;
}
