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

#define ACTIVE_VALID_MS 5000  /* jobs that are not over */
#define ANSWER_VALID_MS 5000  /* of a question: then it is asked again */
#define LIST_TIMEOUT_MS 10000 /* of a page that nothing waits for */
#ifndef LIST_LIMIT            /* tests/fuzz builds with a small one */
#define LIST_LIMIT 100        /* jobs of a page */
#endif
#define LIST_TRIES 3    /* if it changes between two pages */
#define LIST_GAPS 100   /* jobs that are skipped; more: not a list */
#define LIST_MAX 200000 /* upper bound of a list */

#define HTTP_OK 200
#define HTTP_UNAUTHORIZED 401
#define HTTP_FORBIDDEN 403

struct listed {
  int id, state;
};

struct question {
  TAILQ_ENTRY(question) link;
  struct cupsd *cupsd;
  struct question **owner;    /* its pointer to this */
  const struct dx_job *about; /* borrowed; has an id and a uuid */
  enum question_step { ANSWERED, IN_LINE, ASKS, NEEDS_ACTIVE } step;
  int64_t asked_ms; /* monotonic: last query */
  int64_t answered_ms;
  int64_t until_ms; /* deadline of the query */
  bool is_alone;    /* its queue and the list do not matter */
  struct dx_http_call *call;
  struct dx_print_job job;
  enum dx_place place;
  enum dx_answer answer; /* of asked_ms, when ANSWERED */
};

struct cupsd_rerun {
  struct dx_job about; /* with copies of what a question needs */
  struct question *question;
  int64_t since_ms;
};

/* ---- sending ---- */

/* Sends a request, and releases its bytes. False if there is none (is_request),
 * no time, or no memory; then `done` is not called. */
static bool post(struct cupsd *cupsd, bool is_request, struct dx_buf *bytes,
                 int64_t timeout_ms, dx_http_done *done, dx_http_log *log,
                 void *ctx, struct dx_http_call **ret_call)
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
                                    .log = log,
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
  return response->err.code == DX_OK && response->status == HTTP_OK;
}

/* True for a response of cupsd that is larger than one may be. */
static bool is_too_large(const struct dx_http_response *response)
{
  return response->err.code == DX_E_RESPONSE && response->status == HTTP_OK;
}

static bool is_valid(int64_t asked_ms, int64_t valid_ms)
{
  return asked_ms != 0 && dx_monotonic_ms() - asked_ms < valid_ms;
}

/* ---- the end of a question ---- */

static struct questions *list_of(struct cupsd *cupsd, enum question_step step)
{
  return step == IN_LINE ? &cupsd->line : &cupsd->others;
}

static void set_step(struct question *q, enum question_step step)
{
  struct cupsd *cupsd = q->cupsd;
  struct questions *from = list_of(cupsd, q->step), *to = list_of(cupsd, step);

  if (from != to) {
    TAILQ_REMOVE(from, q, link);
    TAILQ_INSERT_TAIL(to, q, link);
  }
  if (cupsd->asked == q)
    cupsd->asked = NULL;
  if (step == ASKS)
    cupsd->asked = q;
  q->step = step;
}

static void set_answer(struct question *q, enum dx_answer answer)
{
  q->answer = answer;
  q->answered_ms = dx_monotonic_ms();
  q->cupsd->answers++;
  set_step(q, ANSWERED);
  dx_job_log(DX_LOG_DEBUG, q->about, "cupsd: print job %.20s: %s",
             q->about->cups_id, dx_answer_word(answer));
}

static void log_call(void *ctx, const char *line)
{
  const struct question *q = ctx;

  dx_job_log(DX_LOG_DEBUG, q->about, "%s", line);
}

/* ---- the list ---- */

static void on_page(void *ctx, const struct dx_http_response *response);

/* A page begins with the last job of the one before it: otherwise, the list has
 * changed, and another job may be missing. */
static bool ask_page(struct cupsd *cupsd)
{
  struct cupsd_list *list = &cupsd->active;
  struct dx_buf bytes = {0};
  int overlap = list->last_id != 0;

  return post(cupsd,
              dx_print_jobs_request(list->index - overlap,
                                    list->limit + overlap, &bytes),
              &bytes, list->timeout_ms, on_page, NULL, cupsd, &list->call);
}

static void begin_list(struct cupsd_list *list)
{
  list->count = 0;
  list->gaps = 0;
  list->index = 1;
  list->limit = LIST_LIMIT;
  list->last_id = 0;
}

/* Requests the list, unless that is in progress. */
static bool ask_list(struct cupsd *cupsd, int64_t timeout_ms)
{
  struct cupsd_list *list = &cupsd->active;

  if (list->call != NULL)
    return true;
  list->asked_ms = dx_monotonic_ms();
  list->known_ms = 0;
  list->timeout_ms = timeout_ms;
  list->tries = 0;
  begin_list(list);
  return ask_page(cupsd);
}

struct page {
  struct cupsd_list *list;
  int count; /* without the last job of the page before */
  bool has_changed, is_cut;
};

static void add_job(void *ctx, int id, int state)
{
  struct page *page = ctx;
  struct cupsd_list *list = page->list;
  struct listed *more;

  if (list->last_id != 0 && page->count == 0) { /* it is known already */
    page->has_changed = id != list->last_id;
    list->last_id = 0;
    return;
  }
  page->count++;
  if (page->has_changed || page->is_cut)
    return;
  more = list->count < LIST_MAX
             ? reallocarray(list->jobs, list->count + 1, sizeof(*more))
             : NULL;
  page->is_cut = more == NULL;
  if (page->is_cut)
    return;
  list->jobs = more;
  more[list->count++] = (struct listed){id, state};
}

static void end_list(struct cupsd *cupsd,
                     const struct dx_http_response *response, bool is_known);

/* A page that is too large, or that cannot be read. */
static bool ask_less(struct cupsd *cupsd)
{
  struct cupsd_list *list = &cupsd->active;

  if (list->limit > 1) {
    list->limit /= 2;
    return ask_page(cupsd);
  }
  if (!list->was_told)
    dx_log(DX_LOG_WARNING,
           "cupsd: a print job has more attributes than can be read, and is "
           "ignored in the list of print jobs; its client has sent them");
  list->was_told = true;
  list->gaps++;
  list->index++;
  list->last_id = 0;
  return list->gaps <= LIST_GAPS && ask_page(cupsd);
}

static void on_page(void *ctx, const struct dx_http_response *response)
{
  struct cupsd *cupsd = ctx;
  struct cupsd_list *list = &cupsd->active;
  struct page page = {.list = list, .has_changed = list->last_id != 0};
  bool is_refused = false, goes_on;

  list->call = NULL;
  if (is_too_large(response) ||
      (is_ok(response) &&
       !dx_print_jobs_read(response->body, response->body_len, add_job, &page,
                           &is_refused) &&
       !is_refused)) {
    goes_on = ask_less(cupsd);
  } else if (!is_ok(response) || is_refused || page.is_cut) {
    goes_on = false;
  } else if (page.has_changed) {
    begin_list(list);
    goes_on = ++list->tries < LIST_TRIES && ask_page(cupsd);
  } else if (page.count == 0) {
    end_list(cupsd, response, true);
    return;
  } else {
    list->index += page.count;
    list->last_id = list->jobs[list->count - 1].id;
    list->limit = list->limit < LIST_LIMIT / 2 ? 2 * list->limit : LIST_LIMIT;
    goes_on = ask_page(cupsd);
  }
  if (!goes_on)
    end_list(cupsd, response, false);
}

static int by_id(const void *a, const void *b)
{
  const struct listed *x = a, *y = b;

  return (x->id > y->id) - (x->id < y->id);
}

static const struct listed *job_by_id(const struct cupsd_list *list, int id)
{
  const struct listed key = {.id = id};

  return list->count > 0
             ? bsearch(&key, list->jobs, list->count, sizeof(key), by_id)
             : NULL;
}

static void evaluate(struct question *q);

static void end_list(struct cupsd *cupsd,
                     const struct dx_http_response *response, bool is_known)
{
  struct cupsd_list *list = &cupsd->active;
  struct question *q;

  list->known_ms = is_known ? list->asked_ms : 0;
  list->was_told &= list->gaps > 0;
  if (list->count > 0)
    qsort(list->jobs, list->count, sizeof(*list->jobs), by_id);
  TAILQ_FOREACH (q, &cupsd->others, link)
    if (q->step == NEEDS_ACTIVE) {
      if (is_known) /* it may request the list again */
        evaluate(q);
      else /* the list may be private */
        set_answer(q, response->err.code == DX_OK
                          ? dx_answer_at(DX_ANSWER_ACTIVE, q->place)
                          : DX_ANSWER_NONE);
    }
}

/* True if a queue with this device URI belongs to this spool; with its section.
 */
static bool is_ours(const struct cupsd *cupsd, const char *uri,
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
  bool is_known = is_ours(q->cupsd, queue->uri, section);

  if (is_same && strcmp(section, job->service) == 0)
    q->place = DX_PLACE_SAME; /* even if its section is missing: it waits */
  else if (is_known)
    q->place = DX_PLACE_OTHER;
  else
    q->place = is_same ? DX_PLACE_CHANGED : DX_PLACE_NOT_OURS;
}

/* Evaluates cupsd's answers about the job and its queue, with the list of jobs
 * that are not over if that is known; otherwise requests it. */
static void evaluate(struct question *q)
{
  const struct cupsd_list *active = &q->cupsd->active;

  /* After a crash of cupsd, a job that is over may stay "pending" forever. Such
   * a job is in no list. */
  if (q->job.answer != DX_ANSWER_ACTIVE || q->place == DX_PLACE_NOT_OURS ||
      (is_valid(active->known_ms, ACTIVE_VALID_MS) &&
       job_by_id(active, atoi(q->about->cups_id)) != NULL)) {
    set_answer(q, dx_answer_at(q->job.answer, q->place));
  } else if (active->known_ms >= q->asked_ms) {
    set_answer(q, active->gaps > 0 ? dx_answer_at(DX_ANSWER_ACTIVE, q->place)
                                   : DX_ANSWER_OVER);
  } else {
    set_step(q, NEEDS_ACTIVE);
    if (dx_monotonic_ms() >= q->until_ms ||
        !ask_list(q->cupsd, DX_ASK_CUPSD_MS))
      set_answer(q, DX_ANSWER_NONE);
  }
}

static void start_next(struct cupsd *cupsd);

static void on_queue(void *ctx, const struct dx_http_response *response)
{
  struct question *q = ctx;

  q->call = NULL;
  (void)dx_queues_read(response->body, response->body_len, set_place, q);
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
  else if (is_too_large(response)) /* because of its client */
    q->job.answer = DX_ANSWER_HIDDEN;
  else if (is_ok(response))
    dx_print_job_read(response->body, response->body_len, q->about->uuid,
                      &q->job);
  else /* the queries in the line would fail, too */
    while ((other = TAILQ_FIRST(&cupsd->line)) != NULL)
      set_answer(other, DX_ANSWER_NONE);
  if (!dx_print_job_is_known(&q->job))
    set_answer(q, q->job.answer);
  else if (!dx_spool_key(q->about->uuid, q->about->cups_id,
                         q->job.time_at_creation, key) ||
           strcmp(key, q->about->print.key) != 0)
    set_answer(q, DX_ANSWER_UNKNOWN); /* another job with the same id */
  else if (q->is_alone)
    set_answer(q, q->job.answer);
  else if (q->job.queue[0] == '\0' || q->job.is_class)
    evaluate(q); /* the device URI of a class would be file:///dev/null */
  else if (!post(cupsd, dx_queues_request(q->job.queue, &bytes), &bytes,
                 q->until_ms - dx_monotonic_ms(), on_queue, log_call, q,
                 &q->call))
    set_answer(q, DX_ANSWER_NONE);
  start_next(cupsd);
}

/* Starts the next waiting query, unless one is in progress: cupsd processes
 * them one by one, and may not respond. */
static void start_next(struct cupsd *cupsd)
{
  struct question *q;

  while (cupsd->asked == NULL && (q = TAILQ_FIRST(&cupsd->line)) != NULL) {
    struct dx_buf bytes = {0};

    q->job =
        (struct dx_print_job){.answer = DX_ANSWER_NONE, .may_run_again = true};
    q->place = DX_PLACE_SAME;
    q->asked_ms = dx_monotonic_ms();
    q->until_ms = q->asked_ms + DX_ASK_CUPSD_MS;
    set_step(q, ASKS);
    if (!post(cupsd,
              dx_print_job_request(q->about->cups_id, q->about->user, &bytes),
              &bytes, DX_ASK_CUPSD_MS, on_job, log_call, q, &q->call))
      set_answer(q, DX_ANSWER_NONE);
  }
}

/* ---- the interface ---- */

/* Sets *question, unless there is one; false when out of memory. */
static bool begin_question(struct cupsd *cupsd, const struct dx_job *job,
                           struct question **question)
{
  struct question *q = *question;

  if (q != NULL)
    return true;
  q = calloc(1, sizeof(*q));
  if (q == NULL)
    return false;
  q->cupsd = cupsd;
  q->owner = question;
  q->about = job;
  TAILQ_INSERT_TAIL(&cupsd->others, q, link);
  *question = q;
  return true;
}

void cupsd_forget(struct question **question)
{
  struct question *q = *question;
  struct cupsd *cupsd;

  if (q == NULL)
    return;
  cupsd = q->cupsd;
  dx_http_cancel(&q->call);
  set_step(q, ANSWERED);
  TAILQ_REMOVE(&cupsd->others, q, link);
  free(q);
  *question = NULL;
  start_next(cupsd); /* if this one was asked */
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
  if (!begin_question(cupsd, job, question))
    return false;
  q = *question;
  if (q->step != ANSWERED)
    return false;
  if (q->asked_ms != 0 && q->asked_ms >= since_ms &&
      is_valid(q->answered_ms, ANSWER_VALID_MS)) {
    *ret_answer = q->answer;
    return true;
  }
  if (!is_valid(q->asked_ms, DX_ASK_AGAIN_MS)) {
    set_step(q, IN_LINE);
    q->asked_ms = dx_monotonic_ms();
    start_next(cupsd);
  }
  return false;
}

/* ---- the question of the sweep ---- */

static void forget_rerun(struct cupsd *cupsd)
{
  struct cupsd_rerun *rerun = cupsd->rerun;

  if (rerun == NULL)
    return;
  cupsd_forget(&rerun->question);
  free(rerun->about.cups_id);
  free(rerun->about.uuid);
  free(rerun->about.user);
  free(rerun);
  cupsd->rerun = NULL;
}

/* False when out of memory. */
static bool begin_rerun(struct cupsd *cupsd, const char *cups_id,
                        const char *uuid, const char *user, const char *key)
{
  struct cupsd_rerun *rerun = calloc(1, sizeof(*rerun));

  cupsd->rerun = rerun;
  if (rerun == NULL)
    return false;
  rerun->since_ms = dx_monotonic_ms();
  rerun->about.cups_id = strdup(cups_id);
  rerun->about.uuid = strdup(uuid);
  rerun->about.user = user != NULL ? strdup(user) : NULL;
  (void)snprintf(rerun->about.print.key, DX_KEY_BYTES, "%s", key);
  memcpy(rerun->about.key, rerun->about.print.key, DX_KEY_BYTES);
  return rerun->about.cups_id != NULL && rerun->about.uuid != NULL &&
         (user == NULL || rerun->about.user != NULL);
}

enum dx_rerun cupsd_may_rerun(void *ctx, const char *cups_id, const char *uuid,
                              const char *user, const char *key)
{
  struct cupsd *cupsd = ctx;
  enum dx_rerun may = DX_RERUN_UNKNOWN;
  struct cupsd_rerun *rerun;
  enum dx_answer answer;

  if (cupsd->rerun != NULL && strcmp(cupsd->rerun->about.print.key, key) != 0)
    forget_rerun(cupsd);
  if (cupsd->rerun == NULL && !begin_rerun(cupsd, cups_id, uuid, user, key)) {
    forget_rerun(cupsd);
    return DX_RERUN_UNKNOWN;
  }
  rerun = cupsd->rerun;
  if (!begin_question(cupsd, &rerun->about, &rerun->question)) {
    forget_rerun(cupsd);
    return DX_RERUN_UNKNOWN;
  }
  rerun->question->is_alone = true;
  if (!cupsd_answer(cupsd, &rerun->about, &rerun->question, rerun->since_ms,
                    &answer))
    return DX_RERUN_ASKED;
  if (answer == DX_ANSWER_UNKNOWN)
    may = DX_RERUN_NO;
  else if (answer != DX_ANSWER_NONE)
    may = rerun->question->job.may_run_again ? DX_RERUN_MAY : DX_RERUN_NO;
  forget_rerun(cupsd);
  return may;
}

/* ---- the list, for others ---- */

enum cupsd_list_step cupsd_active(struct cupsd *cupsd, int64_t since_ms)
{
  const struct cupsd_list *active = &cupsd->active;

  if (active->known_ms != 0 && active->known_ms >= since_ms)
    return CUPSD_LIST_KNOWN;
  if (active->call == NULL && active->asked_ms >= since_ms)
    return CUPSD_LIST_FAILED;
  return ask_list(cupsd, LIST_TIMEOUT_MS) ? CUPSD_LIST_COMES
                                          : CUPSD_LIST_FAILED;
}

int cupsd_active_state(const struct cupsd *cupsd, int id)
{
  const struct listed *job = job_by_id(&cupsd->active, id);

  return job != NULL ? job->state : CUPSD_NOT_LISTED;
}

void cupsd_start(struct cupsd *cupsd, struct dx_http *http,
                 const struct dx_config *config)
{
  *cupsd = (struct cupsd){.http = http, .config = config};
  TAILQ_INIT(&cupsd->line);
  TAILQ_INIT(&cupsd->others);
}

void cupsd_stop(struct cupsd *cupsd)
{
  struct question *q, *next;

  /* Not one by one, with cupsd_forget(): then cupsd would be asked the next
   * question after each. */
  TAILQ_CONCAT(&cupsd->others, &cupsd->line, link);
  for (q = TAILQ_FIRST(&cupsd->others); q != NULL; q = next) {
    next = TAILQ_NEXT(q, link);
    dx_http_cancel(&q->call);
    *q->owner = NULL;
    free(q);
  }
  TAILQ_INIT(&cupsd->others);
  cupsd->asked = NULL;
  forget_rerun(cupsd);
  dx_http_cancel(&cupsd->active.call);
  free(cupsd->active.jobs);
  cupsd->active = (struct cupsd_list){.jobs = NULL};
}
