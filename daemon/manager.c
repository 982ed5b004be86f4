/*
 * manager.c - the list of active jobs: receipts become jobs, jobs go to the
 * engine, and those that have ended are released.
 */
#include "daemon/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/merge.h"

#define DX_RECEIPTS_LOOK_MS 30000 /* between two scans of received/ */

#define BUSY_MS 100 /* between tries to merge during a call */

/* ---- the list ---- */

struct managed *manager_find(struct manager *manager, const char *key)
{
  struct managed *managed;

  LIST_FOREACH (managed, &manager->jobs, link)
    if (dx_job_has_print(managed->job, key))
      break;
  return managed;
}

struct dx_job *manager_job(void *ctx, const char *key)
{
  const struct managed *managed = manager_find(ctx, key);

  return managed != NULL ? managed->job : NULL;
}

bool manager_is_busy(const struct manager *manager)
{
  return !LIST_EMPTY(&manager->jobs);
}

/* Schedules the loading of jobs that are not in memory. */
static void load_later(struct manager *manager)
{
  int64_t at = dx_monotonic_ms() + DX_LOCAL_RETRY_MS;

  manager->load_ms = at < manager->load_ms ? at : manager->load_ms;
}

/* Adds a job to the list, but not to the engine. */
static struct managed *enlist(struct manager *manager, struct dx_job *job,
                              struct dx_err *err)
{
  struct managed *managed = calloc(1, sizeof(*managed));

  if (managed == NULL) {
    dx_job_free(&job);
    (void)dx_fail_nomem(err);
    load_later(manager);
    return NULL;
  }
  managed->job = job;
  managed->is_new = !dx_job_is_final(job);
  LIST_INSERT_HEAD(&manager->jobs, managed, link);
  return managed;
}

void manager_drop(struct manager *manager, struct managed *managed)
{
  struct client *client;

  LIST_FOREACH (client, &manager->clients, link) {
    client->managed = client->managed == managed ? NULL : client->managed;
    client->waits = client->waits == managed ? NULL : client->waits;
  }
  LIST_REMOVE(managed, link);
  /* NOLINTNEXTLINE(*-core.NullDereference): no client makes it NULL */
  if (dx_job_awaits_hook(managed->job)) /* it was not released */
    load_later(manager);
  cupsd_forget(&managed->question);
  dx_job_free(&managed->job);
  free(managed);
}

/* ---- the end of a job ---- */

/* Removes the documents of what has ended. If that fails, the job is loaded
 * again a little later. */
static void manager_settle(struct manager *manager, struct managed *managed)
{
  struct dx_job *job = managed->job;
  struct dx_err err;

  if (dx_spool_settle(manager->spool, job, &err) == DX_OK)
    return;
  dx_log(DX_LOG_WARNING, "job %s: %s: %s", job->key, dx_code_name(err.code),
         err.text);
  load_later(manager);
}

/* Notifies the clients that wait for the job, when its documents are deleted:
 * a user may look for them. */
static void manager_end(struct manager *manager, struct managed *managed)
{
  manager_settle(manager, managed);
  attend_over(manager, managed);
}

static void on_ended(void *ctx, struct dx_job *job)
{
  struct manager *manager = ctx;
  struct managed *managed = manager_find(manager, job->key);
  size_t i, cases = 0;
  struct dx_err err;

  for (i = 0; i < job->submission_count; i++)
    cases += job->submissions[i].case_count;
  if (dx_job_outcome(job, &err) == DX_OK)
    dx_log(DX_LOG_INFO, "job %s: extracted %zu case%s", job->key, cases,
           cases == 1 ? "" : "s");
  else
    dx_log(DX_LOG_ERROR, "job %s: %s: %s; see: docextract jobs", job->key,
           dx_code_name(err.code), err.text);
  manager_end(manager, managed);
}

static void on_released(void *ctx, struct dx_job *job)
{
  struct managed *managed = manager_find(ctx, job->key);

  if (strncmp(job->path, "jobs/", 5) == 0) /* its OnResult was pending */
    manager_settle(ctx, managed);
  manager_drop(ctx, managed);
}

static void on_saved(void *ctx, struct dx_job *job)
{
  const struct manager *manager = ctx;

  status_tell(manager->status, job);
}

static void on_note(void *ctx, struct dx_job *job, const struct dx_note *note)
{
  attend_note(manager_find(ctx, job->key), note);
}

static enum dx_permission on_may_send(void *ctx, struct dx_job *job)
{
  const struct manager *manager = ctx;

  if (!dx_spool_sync(manager->spool))
    return DX_MAY_WAIT;
  return permit_ask(ctx, manager_find(ctx, job->key));
}

/* ---- jobs for the engine ---- */

bool manager_drive(struct manager *manager, struct managed *managed)
{
  const struct dx_job *job = managed->job;
  bool is_over = dx_job_is_final(job) && !job->dirty;
  struct dx_err err;
  size_t i;

  /* If a document was refused when it was received, the engine must still write
   * its manifest. */
  for (i = 0; is_over && i < job->submission_count; i++)
    is_over = job->submissions[i].state != DX_ST_REFUSED ||
              job->submissions[i].failed_at != 0;
  managed->job->ended = is_over;
  if (is_over)
    manager_end(manager, managed);
  if (is_over && !dx_job_awaits_hook(job)) {
    manager_drop(manager, managed);
    return true;
  }
  attend_reset(managed);
  if (dx_engine_add(manager->engine, managed->job, &err) == DX_OK)
    return true;
  dx_log(DX_LOG_ERROR, "job %s: %s", job->key, err.text);
  manager_drop(manager, managed);
  load_later(manager);
  return false;
}

enum dx_code manager_take(struct manager *manager, struct dx_job *job,
                          struct dx_err *err)
{
  struct managed *managed = enlist(manager, job, err);

  if (managed == NULL)
    return err->code;
  attend_picked_up(manager, managed);
  return manager_drive(manager, managed) ? DX_OK : dx_fail_nomem(err);
}

/* ---- receipts ---- */

enum dx_code manager_borrow(struct manager *manager, const char *key,
                            struct managed **ret_managed, struct dx_err *err)
{
  struct managed *managed = manager_find(manager, key);
  struct dx_job *job = NULL;
  enum dx_code code = DX_OK;

  *ret_managed = managed;
  if (managed != NULL)
    code = dx_engine_remove(manager->engine, managed->job);
  if (code == DX_E_BUSY)
    return dx_fail(err, DX_E_BUSY, 0,
                   "a call to the service is in progress for this job; try "
                   "again in a minute");
  if (managed != NULL)
    return code == DX_OK ? DX_OK
                         : dx_fail(err, code, 0, "%s", managed->job->message);
  code = dx_spool_load(manager->spool, key, &job, err);
  if (code != DX_OK)
    return code;
  *ret_managed = enlist(manager, job, err);
  return *ret_managed != NULL ? DX_OK : err->code;
}

/* Merges a receipt into the job of the same print job. If the documents differ
 * from those that were sent, the job is not changed. After a local failure,
 * both are loaded again, and the merge is repeated before the job continues. */
static enum dx_code merge(struct manager *manager, struct dx_job **receipt,
                          struct dx_err *err)
{
  struct managed *managed;
  enum dx_code code = manager_borrow(manager, (*receipt)->key, &managed, err);

  if (code != DX_OK)
    return code;
  code = dx_job_merge(manager->spool, managed->job, receipt, err);
  if (code == DX_OK) {
    cupsd_forget(&managed->question); /* it may be about another print job */
    managed->is_new = !dx_job_is_final(managed->job);
    attend_picked_up(manager, managed);
  }
  if (code != DX_OK && code != DX_E_CHANGED) {
    manager_drop(manager, managed);
    dx_job_free(receipt);
  } else {
    (void)manager_drive(manager, managed);
  }
  return code;
}

/* True if the backend of another print job, which was the same one, attends the
 * job. The receipt waits: if it were merged, both backends would take the job
 * from each other. */
static bool is_attended(struct manager *manager, const struct dx_job *receipt)
{
  const struct managed *managed = manager_find(manager, receipt->key);

  return managed != NULL && managed->attendant != NULL &&
         strcmp(managed->job->print.key, receipt->print.key) != 0;
}

enum dx_code manager_pick_up(struct manager *manager, const char *name,
                             struct dx_err *err)
{
  struct dx_job *receipt = NULL;
  bool is_refused;
  int64_t again_ms;
  struct dx_err why;
  enum dx_code code = dx_spool_load(manager->spool, name, &receipt, err);

  if (code == DX_E_NOT_FOUND)
    return code;
  if (code == DX_OK)
    code = transfers_hold(&manager->transfers, receipt, err);
  if (code == DX_OK)
    code = dx_spool_pick_up(manager->spool, receipt, err);
  if (code == DX_OK) {
    dx_log(DX_LOG_DEBUG, "job %s: received", receipt->key);
    /* NOLINTNEXTLINE(*-unix.Malloc) */
    return manager_take(manager, receipt, err);
  }
  if (code == DX_E_EXISTS && is_attended(manager, receipt)) {
    dx_job_free(&receipt);
    return dx_fail(err, DX_E_BUSY, 0, "its first print job is in progress");
  }
  if (code == DX_E_EXISTS)
    code = merge(manager, &receipt, err);
  if (code == DX_OK) /* NOLINTNEXTLINE(*-unix.Malloc): the merge took it */
    return DX_OK;
  if (code == DX_E_DAMAGED && receipt != NULL) {
    /* A job that cannot be read may have been sent: only the administrator can
     * decide to send it again. */
    why = *err;
    code = dx_fail(err, DX_E_JOB, 0,
                   "%s, and its documents may have been sent already; to send "
                   "them again, run 'docextract cancel %s', then release the "
                   "print job",
                   why.text, receipt->key);
  }
  is_refused = receipt != NULL && dx_class_of(code) != DX_CL_LOCAL;
  if (code != DX_E_BUSY) {
    dx_log(DX_LOG_ERROR, "job %.32s: %s: %s", name, dx_code_name(err->code),
           err->text);
    attend_refused(manager, name, is_refused, err);
  }
  if (is_refused) { /* the next run of the print job creates another one */
    dx_spool_discard(manager->spool, &receipt);
  } else {
    again_ms =
        dx_monotonic_ms() + (code == DX_E_BUSY ? BUSY_MS : DX_LOCAL_RETRY_MS);
    if (again_ms < manager->receipts_ms)
      manager->receipts_ms = again_ms;
  }
  dx_job_free(&receipt);
  return code;
}

void manager_pick_up_all(struct manager *manager, const char *others_of)
{
  int64_t until = dx_monotonic_ms() + DX_TURN_MS;
  struct dx_err err;
  char *names = dx_spool_names(manager->spool, DX_SPOOL_RECEIVED, &err);
  enum dx_code code = names != NULL ? DX_OK : DX_E_NOMEM;
  const char *name;

  for (name = names; code != DX_E_NOMEM && *name != '\0';
       name = dx_next_name(name)) {
    if (others_of != NULL &&
        (!dx_is_receipt_of(name, others_of) || strcmp(name, others_of) == 0))
      continue;
    code = manager_pick_up(manager, name, &err);
    if (others_of == NULL && code == DX_OK && dx_monotonic_ms() >= until) {
      manager->receipts_ms = 0;
      break;
    }
  }
  if (code == DX_E_NOMEM)
    dx_log(DX_LOG_ERROR, "%s: %s", dx_code_name(err.code), err.text);
  free(names);
}

/* Loads the jobs that are not in memory. One that cannot be read is left to the
 * administrator: `docextract jobs` lists it. */
static enum dx_code load_all(struct manager *manager, struct dx_err *err)
{
  char *keys = dx_spool_names(manager->spool, DX_SPOOL_JOBS, err);
  enum dx_code code = keys != NULL ? DX_OK : err->code;
  char name[DX_RECEIPT_BYTES];
  struct dx_job *job = NULL;
  const char *key;

  manager->load_ms = INT64_MAX;
  for (key = keys; key != NULL && *key != '\0' && code != DX_E_NOMEM;
       key = dx_next_name(key)) {
    if (manager_find(manager, key) != NULL)
      continue;
    if (dx_spool_has_receipt(manager->spool, key, name)) {
      load_later(manager); /* unless it is picked up before */
      continue;
    }
    code = dx_spool_load(manager->spool, key, &job, err);
    if (code == DX_OK) {
      dx_temp_sweep(job->dirfd, 0); /* of a docextractd that was killed */
      code = manager_take(manager, job, err);
    }
    if (code != DX_OK && code != DX_E_DAMAGED)
      dx_log(DX_LOG_ERROR, "job %s: %s: %s", key, dx_code_name(err->code),
             err->text);
  }
  free(keys);
  return keys == NULL || code == DX_E_NOMEM ? code : DX_OK;
}

int64_t manager_turn(struct manager *manager)
{
  int64_t now = dx_monotonic_ms(), next, due;
  struct dx_err err;

  if (now >= manager->receipts_ms) { /* some backends were killed */
    manager->receipts_ms = now + DX_RECEIPTS_LOOK_MS;
    manager_pick_up_all(manager, NULL);
  }
  if (now >= manager->load_ms && load_all(manager, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s: %s", dx_code_name(err.code), err.text);
  next = manager->receipts_ms < manager->load_ms ? manager->receipts_ms
                                                 : manager->load_ms;
  due = permit_turn(manager);
  next = due < next ? due : next;
  due = transfers_turn(&manager->transfers);
  next = due < next ? due : next;
  due = attend_turn(manager);
  return due < next ? due : next;
}

void manager_expire(void *ctx, struct dx_job *job)
{
  struct manager *manager = ctx;
  struct managed *managed = manager_find(manager, job->key);
  struct dx_err err;

  if (managed != NULL && managed->attendant != NULL)
    return;
  dx_log(DX_LOG_WARNING,
         "job %s: expired, its documents are removed; it was not finished "
         "within KeepUnfinished",
         job->key);
  dx_job_end(job, DX_EV_EXPIRE);
  if (managed == NULL && manager_take(manager, job, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s: %s", dx_code_name(err.code), err.text);
  else if (managed != NULL && job->ended &&
           dx_engine_remove(manager->engine, job) == DX_OK)
    (void)manager_drive(manager, managed);
}

/* permit.c asks only about the current print job of a job in progress. */
static bool on_canceled(void *ctx, const char *key)
{
  struct manager *manager = ctx;
  struct managed *managed = manager_find(manager, key);
  struct dx_err err;
  enum dx_code code;

  if (managed != NULL && !managed->job->ended) {
    (void)dx_job_cancel_other_print(managed->job, key);
    return true;
  }
  code = manager_borrow(manager, key, &managed, &err);
  if (code != DX_OK)
    return code == DX_E_NOT_FOUND || code == DX_E_DAMAGED;
  if (!dx_job_is_finished(managed->job)) {
    if (strcmp(managed->job->print.key, key) == 0)
      permit_learn(managed, DX_ANSWER_CANCELED);
    else if (dx_job_cancel_other_print(managed->job, key))
      code = dx_job_save(managed->job, &err);
    if (code != DX_OK)
      dx_log(DX_LOG_WARNING, "job %s: %s", managed->job->key, err.text);
  }
  (void)manager_drive(manager, managed);
  return code == DX_OK;
}

/* ---- start, stop ---- */

enum dx_code manager_start(struct manager *manager, struct dx_config *config,
                           struct dx_err *err)
{
  const struct dx_observer observer = {.note = on_note,
                                       .ended = on_ended,
                                       .released = on_released,
                                       .may_send = on_may_send,
                                       .saved = on_saved,
                                       .ctx = manager};

  manager->config = config;
  manager->engine = dx_engine_new(config, manager->spool, manager->http,
                                  &observer, manager->stop_fd);
  cupsd_start(&manager->cupsd, manager->http, config);
  transfers_start(&manager->transfers, &manager->cupsd, config, manager->spool,
                  on_canceled, manager);
  if (manager->engine == NULL)
    return dx_fail_nomem(err);
  manager_pick_up_all(manager, NULL); /* completes an interrupted merge first */
  return load_all(manager, err);
}

void manager_stop(struct manager *manager)
{
  struct managed *managed, *next;

  dx_engine_free(&manager->engine);
  for (managed = LIST_FIRST(&manager->jobs); managed != NULL; managed = next) {
    next = LIST_NEXT(managed, link);
    manager_drop(manager, managed);
  }
  transfers_stop(&manager->transfers);
  cupsd_stop(&manager->cupsd);
  dx_config_free(&manager->config);
}
