/*
 * transfers.c - observes the print jobs of our queues in cupsd, to find those
 * that do not arrive completely; lib/spool/transfer.h decides. While a job is
 * incoming, no backend runs, so cupsd is asked at regular intervals: one list
 * of queues, and one of print jobs, from the oldest observed one on.
 */
#include "daemon/transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

#ifndef DX_TRANSFER_LOOK_MS        /* tests build with a short one */
#define DX_TRANSFER_LOOK_MS 60000  /* between two lists of print jobs */
#define DX_TRANSFER_STALL_MS 60000 /* without a further document */
#endif

/* ---- one print job ---- */

/* True also if that cannot be determined: a job must not be shown as lost. */
static bool transfers_is_stored(const struct transfers *t, const char *key)
{
  char name[DX_RECEIPT_BYTES];
  struct dx_job *job = NULL;
  enum dx_code code = dx_spool_load(t->spool, key, &job, NULL);

  dx_job_free(&job);
  return code != DX_E_NOT_FOUND || dx_spool_has_receipt(t->spool, key, name);
}

static void transfers_update(struct transfers *t, struct dx_transfer_job *job,
                             enum dx_print_phase phase, int documents,
                             int64_t now_ms)
{
  const struct dx_transfer_facts facts = {
      .phase = phase,
      .documents = documents,
      .is_stored = phase >= DX_PRINT_ENDED && transfers_is_stored(t, job->key),
      .now_ms = now_ms,
      .stall_ms = DX_TRANSFER_STALL_MS,
      .timeout_ms =
          t->all.timeout_s > 0 ? t->all.timeout_s * INT64_C(1000) : INT64_MAX};

  if (dx_transfer_update(job, &facts) && job->status != DX_TRANSFER_NONE)
    dx_log(DX_LOG_WARNING, "print job %s-%d: %s: %s", job->queue, job->id,
           dx_transfer_word(job->status), dx_transfer_sentence(job->status));
}

/* The observed job with this key, or a new one; NULL if there are too many. */
static struct dx_transfer_job *transfers_find(struct transfers *t,
                                              const char *key)
{
  struct dx_transfer_job *job = t->all.jobs, *end = job + t->all.count;

  while (job < end && strcmp(job->key, key) != 0)
    job++;
  if (job == t->all.jobs + DX_TRANSFERS_MAX)
    return NULL;
  if (job == end) {
    *job = (struct dx_transfer_job){.phase = DX_PRINT_ACTIVE};
    memcpy(job->key, key, DX_KEY_BYTES);
  }
  return job;
}

/* Nothing is left to observe or to show. A backend that has outlived cupsd may
 * store a job that seemed lost. */
static bool transfers_is_done(struct transfers *t,
                              const struct dx_transfer_job *job)
{
  return job->phase >= DX_PRINT_CANCELED &&
         (job->status == DX_TRANSFER_NONE ||
          t->now_ms - job->status_at_ms > t->config->keep_jobs_ms ||
          (job->status == DX_TRANSFER_LOST &&
           transfers_is_stored(t, job->key)));
}

static void transfers_see(void *ctx, const struct dx_print_job *listed)
{
  struct transfers *t = ctx;
  const struct our_queue *queue = t->queues, *end = queue + t->queue_count;
  bool was_checked = listed->phase >= DX_PRINT_CANCELED &&
                     (t->all.next_id == 0 || listed->id < t->all.next_id);
  struct dx_transfer_job *job;
  char id[24], key[DX_KEY_BYTES];
  bool is_new, is_moved;

  (void)snprintf(id, sizeof(id), "%d", listed->id);
  if (listed->uuid == NULL ||
      !dx_spool_key(listed->uuid, id, listed->time_at_creation, key))
    return;
  while (queue < end && strcasecmp(queue->name, listed->queue) != 0)
    queue++;
  job = transfers_find(t, key);
  is_new = job != NULL && job->id == 0;
  if (job == NULL || (is_new && (queue == end || was_checked)))
    return;
  if (!is_new && job->phase >= DX_PRINT_CANCELED &&
      listed->phase >= DX_PRINT_CANCELED)
    return; /* it may be acknowledged */
  if (is_new) {
    job->id = listed->id;
    job->seen_at_ms = listed->time_at_creation * 1000;
    t->all.count++;
  }
  is_moved = queue == end && strcasecmp(listed->queue, job->queue) != 0;
  if (queue == end && !is_moved && listed->phase < DX_PRINT_CANCELED) {
    job->seen_at_ms = t->now_ms; /* its queue may become ours again */
    return;
  }
  if (queue != end) {
    memcpy(job->queue, queue->name, sizeof(job->queue));
    memcpy(job->service, queue->service, sizeof(job->service));
  }
  if ((is_moved || listed->phase == DX_PRINT_CANCELED) &&
      !t->canceled(t->ctx, key)) {
    job->seen_at_ms = t->now_ms;
    return;
  }
  if (queue == end) {
    transfers_update(t, job, DX_PRINT_CANCELED, 0, t->now_ms);
    return;
  }
  transfers_update(t, job, listed->phase,
                   listed->documents - listed->has_end_sheet, t->now_ms);
  if (is_new && transfers_is_done(t, job)) /* it is the last one */
    t->all.count--;
}

/* ---- a look ---- */

/* After an error, the next look begins again. */
static void transfers_end_look(void *ctx,
                               const struct dx_http_response *response, bool ok)
{
  struct transfers *t = ctx;
  int i, before = t->all.count;
  int next_id = t->list.last_id > 0 ? t->list.last_id + 1 : 0;

  (void)response;
  if (!ok)
    return;
  for (i = before; i-- > 0;) {
    struct dx_transfer_job *job = &t->all.jobs[i];

    if (job->seen_at_ms != t->now_ms && job->phase < DX_PRINT_CANCELED)
      transfers_update(t, job, DX_PRINT_UNKNOWN, job->documents, t->now_ms);
    if (transfers_is_done(t, job))
      *job = t->all.jobs[--t->all.count];
  }
  if (before == 0 && next_id == t->all.next_id)
    return; /* nothing has changed */
  t->all.next_id = next_id;
  dx_transfers_write(t->spool->history_dirfd, &t->all);
}

static void transfers_add_queue(void *ctx, const struct dx_queue *from)
{
  struct transfers *t = ctx;
  struct our_queue queue = {.name = ""}, *more;

  if (!cupsd_is_ours(t->list.cupsd, from->uri, queue.service))
    return;
  memcpy(queue.name, from->name, sizeof(queue.name));
  more = reallocarray(t->queues, t->queue_count + 1, sizeof(queue));
  if (more == NULL)
    return;
  t->queues = more;
  t->queues[t->queue_count++] = queue;
}

/* If the last known job is not listed again, cupsd counts from 1 again: then
 * next_id becomes 0. */
static void transfers_on_queues(void *ctx,
                                const struct dx_http_response *response)
{
  struct transfers *t = ctx;
  int i, from = t->all.next_id > 0 ? t->all.next_id - 1 : 1;

  t->list.call = NULL;
  t->now_ms = dx_wall_ms();
  t->queue_count = 0;
  if (!cupsd_is_ok(response) ||
      !dx_queues_read(response->body, response->body_len, transfers_add_queue,
                      t, &t->all.timeout_s))
    return;
  for (i = 0; i < t->all.count; i++)
    if (t->all.jobs[i].phase < DX_PRINT_CANCELED && t->all.jobs[i].id < from)
      from = t->all.jobs[i].id;
  if (t->queue_count > 0 || t->all.count > 0)
    (void)cupsd_ask_list(&t->list, from, CUPSD_LIST_TIMEOUT_MS);
}

/* ---- the interface ---- */

int64_t transfers_turn(struct transfers *t)
{
  int64_t now = dx_monotonic_ms();
  struct dx_buf bytes = {0};

  if (now >= t->look_ms) {
    t->look_ms = now + DX_TRANSFER_LOOK_MS;
    if (t->list.call == NULL)
      (void)cupsd_post(t->list.cupsd, dx_queues_request(NULL, &bytes), &bytes,
                       CUPSD_LIST_TIMEOUT_MS, transfers_on_queues, t,
                       &t->list.call);
  }
  return t->look_ms;
}

enum dx_code transfers_hold(struct transfers *t, struct dx_job *receipt,
                            struct dx_err *err)
{
  struct dx_transfer_job *job = transfers_find(t, receipt->print.key), after;
  int count = (int)receipt->document_count;
  enum dx_code code = DX_OK;
  size_t i;

  if (job == NULL || job == t->all.jobs + t->all.count)
    return DX_OK;
  /* cupsd counts the job sheet at the end only later. */
  if (count > 0 && receipt->documents[count - 1].entry.kind == DX_KIND_SHEET)
    count--;
  after = *job;
  transfers_update(t, &after, DX_PRINT_ACTIVE, count, receipt->received_at);
  for (i = 0; after.must_hold && i < receipt->submission_count; i++) {
    struct dx_submission *sub = &receipt->submissions[i];

    if (sub->state != DX_ST_STORED)
      continue;
    dx_submission_end(sub, DX_EV_REFUSE, DX_E_INCOMPLETE,
                      "CUPS started the print job without its last document, "
                      "which had not arrived in time");
    sub->failed_at = 0; /* the engine sets it, with the manifest */
  }
  if (after.must_hold)
    code = dx_job_save(receipt, err);
  if (code != DX_OK)
    return code;
  after.must_hold = false;
  after.seen_at_ms = job->seen_at_ms; /* a look may be in progress */
  *job = after;
  dx_transfers_write(t->spool->history_dirfd, &t->all);
  return DX_OK;
}

size_t transfers_acknowledge(struct transfers *t)
{
  size_t count = 0;
  int i;

  for (i = 0; i < t->all.count; i++)
    if (t->all.jobs[i].status > DX_TRANSFER_STALLED) {
      t->all.jobs[i].status = DX_TRANSFER_NONE;
      count++;
    }
  if (count > 0)
    dx_transfers_write(t->spool->history_dirfd, &t->all);
  return count;
}

void transfers_start(struct transfers *t, struct cupsd *cupsd,
                     const struct dx_config *config, struct dx_spool *spool,
                     transfers_canceled *canceled, void *ctx)
{
  *t = (struct transfers){
      .list = {cupsd, true, transfers_see, transfers_end_look, t, 0, NULL},
      .config = config,
      .spool = spool,
      .canceled = canceled,
      .ctx = ctx,
      .look_ms = dx_monotonic_ms() + DX_TRANSFER_LOOK_MS};
  dx_transfers_read(spool->history_dirfd, &t->all);
}

void transfers_stop(struct transfers *t)
{
  dx_http_cancel(&t->list.call);
  free(t->queues);
}
