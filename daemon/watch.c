/*
 * watch.c - looks at the list of print jobs that are not over, and asks about
 * those that are missing or have changed.
 */
#include "daemon/watch.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

#ifndef DX_WATCH_LOOK_MS       /* tests build with a short one */
#define DX_WATCH_LOOK_MS 60000 /* between two lists of print jobs */
#endif

struct watched {
  char key[DX_KEY_BYTES]; /* of the print job */
  int id;
  int state; /* as it was listed last; CUPSD_NOT_LISTED at first */
  int new_state;
  bool must_ask;
};

static void add_print(struct watch *w, const struct dx_job *job,
                      const char *cups_id, const struct dx_print *print)
{
  struct watched *more;

  if (cups_id == NULL || print->backend == DX_BACKEND_NONE ||
      print->final != DX_FINAL_NONE)
    return;
  more = reallocarray(w->prints, w->count + 1, sizeof(*more));
  if (more == NULL) {
    dx_job_log(
        DX_LOG_WARNING, job,
        "print job %.20s: not watched until docextractd is restarted: out "
        "of memory",
        cups_id);
    return;
  }
  w->prints = more;
  more += w->count++;
  *more = (struct watched){.id = atoi(cups_id), .state = CUPSD_NOT_LISTED};
  memcpy(more->key, print->key, sizeof(more->key));
}

void watch_add(struct watch *w, const struct dx_job *job)
{
  size_t i;

  if (dx_job_is_finished(job) || job->uuid == NULL)
    return;
  if (dx_job_is_final(job)) /* permit.c asks about that of a job in progress */
    add_print(w, job, job->cups_id, &job->print);
  for (i = 0; i < job->other_count; i++)
    add_print(w, job, job->others[i].cups_id, &job->others[i].print);
}

/* ---- one print job ---- */

/* Reads what cupsd is asked about. */
static enum dx_code read_journal(struct watch *w, const char *key)
{
  struct dx_err err;
  enum dx_code code = dx_spool_load(w->spool, key, &w->job, &err);
  const struct dx_job *job = w->job;
  size_t i;

  if (code != DX_OK && code != DX_E_NOT_FOUND && code != DX_E_DAMAGED)
    dx_log(DX_LOG_WARNING, "job %s: %s", key, err.text);
  if (code != DX_OK)
    return code;
  w->about = (struct dx_job){.cups_id = job->cups_id,
                             .uuid = job->uuid,
                             .user = job->user,
                             .queue = job->queue,
                             .service = job->service};
  memcpy(w->about.key, job->key, DX_KEY_BYTES);
  for (i = 0; i < job->other_count; i++)
    if (strcmp(job->others[i].print.key, key) == 0) {
      w->about.cups_id = job->others[i].cups_id;
      w->about.queue = job->others[i].queue;
    }
  memcpy(w->about.print.key, key, DX_KEY_BYTES);
  return DX_OK;
}

static void forget_print(struct watch *w, size_t at)
{
  w->prints[at] = w->prints[--w->count];
}

static void end_question(struct watch *w)
{
  cupsd_forget(&w->question);
  dx_job_free(&w->job);
}

/* The answer about the current print job: goes on to the next one. */
static void evaluate_answer(struct watch *w, enum dx_answer answer)
{
  struct watched print = w->prints[w->at]; /* `canceled` may add others */

  switch (answer) {
  case DX_ANSWER_NONE:
    w->at = w->count; /* the next look asks about the rest */
    break;
  case DX_ANSWER_CANCELED:
  case DX_ANSWER_NOT_OURS:
    if (w->canceled(w->ctx, print.key))
      forget_print(w, w->at);
    else
      w->at++;
    break;
  case DX_ANSWER_OVER: /* printed again, it would be a new run */
  case DX_ANSWER_UNKNOWN:
    forget_print(w, w->at);
    break;
  default:
    w->prints[w->at].state = print.new_state;
    w->at++;
  }
}

/* False while an answer is to come. */
static bool ask_next(struct watch *w)
{
  enum dx_code code = DX_OK;
  enum dx_answer answer;

  if (!w->prints[w->at].must_ask) {
    w->at++;
    return true;
  }
  if (w->job == NULL)
    code = read_journal(w, w->prints[w->at].key);
  if (code == DX_E_NOT_FOUND || code == DX_E_DAMAGED) {
    forget_print(w, w->at);
    return true;
  }
  if (code != DX_OK) { /* the next look tries again */
    w->at++;
    return true;
  }
  if (!cupsd_answer(w->cupsd, &w->about, &w->question, w->look_ms, &answer))
    return false;
  end_question(w);
  evaluate_answer(w, answer);
  return true;
}

/* ---- a look ---- */

static int by_key(const void *a, const void *b)
{
  const struct watched *x = a, *y = b;

  return strcmp(x->key, y->key);
}

/* A print job may have been added more than once. */
static void unite(struct watch *w)
{
  size_t i, n = 0;

  if (w->count > 0)
    qsort(w->prints, w->count, sizeof(*w->prints), by_key);
  for (i = 0; i < w->count; i++) {
    struct watched *last = n > 0 ? &w->prints[n - 1] : NULL;

    if (last == NULL || strcmp(last->key, w->prints[i].key) != 0)
      w->prints[n++] = w->prints[i];
    else if (last->state == CUPSD_NOT_LISTED)
      last->state = w->prints[i].state;
  }
  w->count = n;
}

static void compare(struct watch *w)
{
  size_t i;

  unite(w);
  for (i = 0; i < w->count; i++) {
    struct watched *print = &w->prints[i];

    print->new_state = cupsd_active_state(w->cupsd, print->id);
    print->must_ask =
        print->new_state == CUPSD_NOT_LISTED ||
        (print->state != CUPSD_NOT_LISTED && print->state != print->new_state);
    if (!print->must_ask)
      print->state = print->new_state;
  }
}

static int64_t end_look(struct watch *w)
{
  w->step = WATCH_RESTS;
  w->look_ms += DX_WATCH_LOOK_MS;
  return w->look_ms;
}

int64_t watch_turn(struct watch *w)
{
  int64_t now = dx_monotonic_ms();

  if (w->count == 0 && w->step == WATCH_RESTS)
    return INT64_MAX;
  if (now < w->look_ms)
    return w->look_ms;
  if (w->step == WATCH_RESTS) {
    w->step = WATCH_LISTS;
    w->look_ms = now;
  }
  if (w->step == WATCH_LISTS) {
    switch (cupsd_active(w->cupsd, w->look_ms)) {
    case CUPSD_LIST_COMES:
      return now + DX_ASK_AGAIN_MS; /* dx_http_run() returns before */
    case CUPSD_LIST_FAILED:
      return end_look(w);
    case CUPSD_LIST_KNOWN:
      break;
    }
    compare(w);
    w->step = WATCH_ASKS;
    w->at = 0;
  }
  while (w->at < w->count)
    if (!ask_next(w))
      return now + DX_ASK_AGAIN_MS;
  return end_look(w);
}

/* ---- start, stop ---- */

void watch_start(struct watch *w, struct cupsd *cupsd, struct dx_spool *spool,
                 watch_canceled *canceled, void *ctx)
{
  *w = (struct watch){
      .cupsd = cupsd, .spool = spool, .canceled = canceled, .ctx = ctx};
}

void watch_stop(struct watch *w)
{
  end_question(w);
  free(w->prints);
  w->prints = NULL;
  w->count = 0;
}
