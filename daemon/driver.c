/*
 * driver.c - the list of the jobs that are driven: receipts become jobs, jobs
 * go to the engine, and what is over is let go.
 */
#include "daemon/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/merge.h"
#include "lib/spool/retention.h"

#define BUSY_MS 100 /* for a call of a job that is to be merged */

/* ---- the list ---- */

struct driven *driver_find(struct driver *driver, const char *key)
{
  size_t i;

  for (i = 0; i < driver->count; i++)
    if (strcmp(driver->jobs[i]->job->key, key) == 0)
      return driver->jobs[i];
  return NULL;
}

bool driver_holds(void *ctx, const char *key)
{
  return driver_find(ctx, key) != NULL;
}

bool driver_is_busy(const struct driver *driver)
{
  return driver->count > 0 || dx_announcer_is_busy(driver->announcer);
}

/* What is in jobs/, and not in memory. */
static void load_later(struct driver *driver)
{
  int64_t at = dx_monotonic_ms() + DX_LOCAL_RETRY_MS;

  driver->load_ms = at < driver->load_ms ? at : driver->load_ms;
}

/* Listed, and not yet the engine's. */
static struct driven *enlist(struct driver *driver, struct dx_job *job,
                             struct dx_err *err)
{
  struct driven *driven = calloc(1, sizeof(*driven));
  /* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
  struct driven **jobs =
      reallocarray(driver->jobs, driver->count + 1, sizeof(*jobs));

  if (jobs != NULL)
    driver->jobs = jobs;
  if (driven == NULL || jobs == NULL) {
    free(driven);
    dx_job_free(&job);
    (void)dx_fail_nomem(err);
    load_later(driver);
    return NULL;
  }
  driven->job = job;
  driven->is_new = !dx_job_is_final(job);
  driver->jobs[driver->count++] = driven;
  return driven;
}

/* With its job, which is no longer driven. */
static void drop(struct driver *driver, struct driven *driven)
{
  struct session *s;
  size_t i;

  for (s = driver->sessions; s != NULL; s = s->next) {
    s->driven = s->driven == driven ? NULL : s->driven;
    s->waits = s->waits == driven ? NULL : s->waits;
  }
  for (i = 0; i < driver->count; i++)
    if (driver->jobs[i] == driven) {
      driver->jobs[i] = driver->jobs[--driver->count];
      break;
    }
  cupsd_forget(&driven->question);
  dx_job_free(&driven->job);
  free(driven);
}

/* ---- the end of a job ---- */

static void log_outcome(const struct dx_job *job)
{
  size_t i, cases = 0;
  struct dx_err err;

  for (i = 0; i < job->submission_count; i++)
    cases += job->submissions[i].case_count;
  if (dx_job_outcome(job, &err) == DX_OK)
    dx_log(DX_LOG_INFO, "job %s: extracted %zu case%s", job->key, cases,
           cases == 1 ? "" : "s");
  else
    dx_log(DX_LOG_ERROR, "job %s: %s; see: docextract jobs", job->key,
           err.text);
}

/* The clients that wait for the job are told, and its documents are removed. If
 * that fails, the job is loaded again a little later. */
static void let_go(struct driver *driver, struct driven *driven)
{
  struct dx_job *job = driven->job;
  char key[DX_KEY_BYTES];
  struct dx_err err;

  memcpy(key, job->key, sizeof(key));
  attend_over(driven);
  verbs_canceled(driver, driven);
  if (dx_job_is_final(job) && !job->dirty &&
      dx_spool_settle(driver->spool, job, &err) != DX_OK) {
    dx_log(DX_LOG_WARNING, "job %s: %s", key, err.text);
    load_later(driver);
  }
  drop(driver, driven);
  dx_announcer_look(driver->announcer, key);
}

static void on_ended(void *ctx, struct dx_job *job)
{
  struct driver *driver = ctx;

  log_outcome(job);
  let_go(driver, driver_find(driver, job->key));
}

void driver_saved(void *ctx, struct dx_job *job)
{
  const struct driver *driver = ctx;

  status_tell(driver->status, job);
}

/* ---- jobs for the engine ---- */

bool driver_save(struct driver *driver, struct driven *driven)
{
  struct dx_err err;

  if (dx_job_save(driven->job, &err) == DX_OK) {
    status_tell(driver->status, driven->job);
    return true;
  }
  dx_log(DX_LOG_ERROR, "job %s: %s", driven->job->key, err.text);
  driven->job->dirty = true;
  dx_engine_wake(driver->engine, driven->job);
  return false;
}

/* A document was refused when it was received, and its manifest is not written:
 * that is the engine's. */
static bool has_untold(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].state == DX_ST_REFUSED &&
        job->submissions[i].failed_at == 0)
      return true;
  return false;
}

enum dx_code driver_drive(struct driver *driver, struct driven *driven,
                          struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (dx_job_is_final(driven->job) && !driven->job->dirty &&
      !has_untold(driven->job)) {
    let_go(driver, driven);
    return DX_OK;
  }
  permit_watch(driven);
  code = dx_engine_add(driver->engine, driven->job, err);
  if (code != DX_OK) {
    drop(driver, driven);
    load_later(driver);
  }
  return code;
}

enum dx_code driver_take(struct driver *driver, struct dx_job *job,
                         struct dx_err *err)
{
  struct driven *driven = enlist(driver, job, err);

  if (driven == NULL)
    return err->code;
  attend_picked_up(driver, driven);
  return driver_drive(driver, driven, err);
}

/* ---- receipts ---- */

static enum dx_code take_new(struct driver *driver, struct dx_job *receipt,
                             bool is_unsynced, struct dx_err *err)
{
  struct driven *driven = enlist(driver, receipt, err);

  if (driven == NULL)
    return err->code;
  dx_log(DX_LOG_DEBUG, "job %s: received", receipt->key);
  driven->is_unsynced = is_unsynced;
  attend_picked_up(driver, driven);
  return is_unsynced ? DX_OK : driver_drive(driver, driven, err);
}

/* Nothing may rely on a job that a power failure would take away. */
static void sync_jobs(struct driver *driver)
{
  struct dx_err err;
  size_t i;

  for (i = driver->count; i > 0; i--) {
    struct driven *driven = driver->jobs[i - 1];

    if (!driven->is_unsynced ||
        dx_spool_pick_up(driver->spool, driven->job, &err) != DX_OK)
      continue;
    driven->is_unsynced = false;
    if (driver_drive(driver, driven, &err) != DX_OK)
      dx_log(DX_LOG_ERROR, "%s", err.text);
  }
}

/* The job of a receipt, out of the engine's hands; E_BUSY as long as a call of
 * it is under way. */
static enum dx_code borrow(struct driver *driver, const char *key,
                           struct driven **ret_driven, struct dx_err *err)
{
  struct driven *driven = driver_find(driver, key);
  struct dx_job *job = NULL;
  enum dx_code code;

  *ret_driven = driven;
  if (driven != NULL)
    return dx_engine_remove(driver->engine, driven->job) == DX_OK
               ? DX_OK
               : dx_fail(err, DX_E_BUSY, 0, "a call of the job is under way");
  code = dx_spool_load(driver->spool, key, &job, err);
  if (code != DX_OK)
    return code;
  *ret_driven = enlist(driver, job, err);
  return *ret_driven != NULL ? DX_OK : err->code;
}

/* The same print job again. Other documents than were sent leave the job as it
 * was; after a failure here the merge is repeated with both loaded again, and
 * until then nothing is done with the job. */
static enum dx_code merge(struct driver *driver, struct dx_job **receipt,
                          struct dx_err *err)
{
  struct driven *driven;
  struct dx_err drive_err;
  enum dx_code code = borrow(driver, (*receipt)->key, &driven, err);

  if (code != DX_OK)
    return code;
  code = dx_job_merge(driver->spool, driven->job, receipt, err);
  if (code == DX_OK) {
    driven->is_new = !dx_job_is_final(driven->job);
    attend_picked_up(driver, driven);
  }
  if (code != DX_OK && code != DX_E_CHANGED && code != DX_E_BUSY) {
    drop(driver, driven);
    dx_job_free(receipt);
  } else if (driver_drive(driver, driven, &drive_err) != DX_OK) {
    dx_log(DX_LOG_ERROR, "%s", drive_err.text);
  }
  return code;
}

/* What cannot be read may have been sent: only a person can say that it was
 * not. */
static enum dx_code damaged(const char *key, struct dx_err *err)
{
  struct dx_err why = *err;

  return dx_fail(err, DX_E_JOB, 0,
                 "%s, and its documents may have been sent already; "
                 "'docextract cancel %s' moves it out of the way, and "
                 "releasing the job sends them again",
                 why.text, key);
}

/* Nothing of the receipt will be sent: CUPS keeps the print job, and its next
 * run brings another one. */
static enum dx_code refuse(struct driver *driver, struct dx_job **receipt,
                           const char *name, struct dx_err *err)
{
  attend_refused(driver, name, true, err);
  dx_log(DX_LOG_ERROR, "job %s: %s", (*receipt)->key, err->text);
  dx_spool_discard(driver->spool, receipt);
  return err->code;
}

static enum dx_code postpone(struct driver *driver, const char *name,
                             struct dx_err *err)
{
  int64_t wait = err->code == DX_E_BUSY ? BUSY_MS : DX_LOCAL_RETRY_MS;
  int64_t at = dx_monotonic_ms() + wait;

  if (err->code != DX_E_BUSY) {
    dx_log(DX_LOG_ERROR, "%s", err->text);
    attend_refused(driver, name, false, err);
  }
  driver->receipts_ms = at < driver->receipts_ms ? at : driver->receipts_ms;
  return err->code;
}

enum dx_code driver_pick_up(struct driver *driver, const char *name,
                            struct dx_err *err)
{
  struct dx_job *receipt = NULL;
  char key[DX_KEY_BYTES];
  enum dx_code code =
      dx_spool_load_received(driver->spool, name, &receipt, err);

  if (code == DX_E_NOT_FOUND)
    return code;
  if (code == DX_OK)
    code = dx_spool_pick_up(driver->spool, receipt, err);
  if (code == DX_OK ||
      code == DX_E_UNSYNCED) /* NOLINTNEXTLINE(*-unix.Malloc) */
    return take_new(driver, receipt, code == DX_E_UNSYNCED, err);
  if (code == DX_E_EXISTS) {
    memcpy(key, receipt->key, sizeof(key));
    code = merge(driver, &receipt, err);
    if (code == DX_E_DAMAGED)
      code = damaged(key, err);
  }
  /* NOLINTNEXTLINE(*-unix.Malloc): the merge took it */
  if (code != DX_OK && receipt != NULL && dx_class_of(code) != DX_CL_LOCAL)
    code = refuse(driver, &receipt, name, err);
  else if (code != DX_OK)
    code = postpone(driver, name, err);
  dx_job_free(&receipt);
  return code;
}

static bool is_of_job(const char *receipt, const char *key)
{
  return strncmp(receipt, key, DX_KEY_BYTES - 1) == 0;
}

struct search {
  const char *key;
  char *name;
};

static enum dx_code match_receipt(void *ctx, const char *name)
{
  struct search *search = ctx;

  if (!is_of_job(name, search->key))
    return DX_OK;
  (void)snprintf(search->name, DX_RECEIPT_BYTES, "%s", name);
  return DX_E_EXISTS; /* ends the search */
}

bool driver_has_receipt(struct driver *driver, const char *key,
                        char ret_name[DX_RECEIPT_BYTES])
{
  struct search search = {key, ret_name};

  return dx_spool_each(driver->spool, DX_SPOOL_RECEIVED, match_receipt, &search,
                       NULL) == DX_E_EXISTS;
}

struct others {
  struct driver *driver;
  const char *name;
};

static enum dx_code look_at_other(void *ctx, const char *name)
{
  const struct others *others = ctx;
  struct dx_err err;

  return is_of_job(name, others->name) && strcmp(name, others->name) != 0 &&
                 driver_pick_up(others->driver, name, &err) == DX_E_NOMEM
             ? DX_E_NOMEM
             : DX_OK;
}

void driver_pick_up_others(struct driver *driver, const char *name)
{
  struct others others = {driver, name};
  struct dx_err err;

  if (dx_spool_each(driver->spool, DX_SPOOL_RECEIVED, look_at_other, &others,
                    &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s", err.text);
}

struct look {
  struct driver *driver;
  int64_t until_ms; /* monotonic */
};

/* Picking up syncs directories. On a slow disk the rest is left to the next
 * turn, so that calls are not late. */
static enum dx_code look_at_receipt(void *ctx, const char *name)
{
  const struct look *look = ctx;
  struct dx_err err;
  enum dx_code code = driver_pick_up(look->driver, name, &err);

  if (code == DX_E_NOMEM)
    return code;
  if (code != DX_OK || dx_monotonic_ms() < look->until_ms)
    return DX_OK;
  look->driver->receipts_ms = 0;
  return DX_E_BUSY;
}

/* A backend that was killed before it could connect leaves one. */
static void look_at_receipts(struct driver *driver)
{
  int64_t now = dx_monotonic_ms();
  struct look look = {driver, now + DX_TURN_MS};
  struct dx_err err;
  enum dx_code code;

  if (now < driver->receipts_ms)
    return;
  driver->receipts_ms = now + DX_RECEIPTS_LOOK_MS;
  sync_jobs(driver);
  code = dx_spool_each(driver->spool, DX_SPOOL_RECEIVED, look_at_receipt, &look,
                       &err);
  if (code != DX_OK && code != DX_E_BUSY)
    dx_log(DX_LOG_ERROR, "%s", err.text);
}

/* One that cannot be read is a person's to look at: `docextract jobs` lists
 * it. */
static enum dx_code load(void *ctx, const char *key)
{
  struct driver *driver = ctx;
  char name[DX_RECEIPT_BYTES];
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code;

  if (driver_find(driver, key) != NULL || driver_has_receipt(driver, key, name))
    return DX_OK;
  code = dx_spool_load(driver->spool, key, &job, &err);
  if (code == DX_OK)
    code = driver_take(driver, job, &err);
  if (code != DX_OK && code != DX_E_DAMAGED)
    dx_log(DX_LOG_ERROR, "job %s: %s", key, err.text);
  return code == DX_E_NOMEM ? code : DX_OK;
}

static enum dx_code load_all(struct driver *driver, struct dx_err *err)
{
  driver->load_ms = INT64_MAX;
  return dx_spool_each(driver->spool, DX_SPOOL_JOBS, load, driver, err);
}

int64_t driver_turn(struct driver *driver)
{
  struct dx_err err;
  int64_t next, due;

  verbs_turn(driver);
  look_at_receipts(driver);
  if (dx_monotonic_ms() >= driver->load_ms && load_all(driver, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s", err.text);
  next = driver->receipts_ms < driver->load_ms ? driver->receipts_ms
                                               : driver->load_ms;
  due = permit_turn(driver);
  next = due < next ? due : next;
  due = dx_announcer_turn(driver->announcer, driver->config);
  return due < next ? due : next;
}

/* The sweep leaves jobs in memory alone. A removed section may come back: its
 * jobs stay. */
void driver_expire(struct driver *driver)
{
  size_t i;

  for (i = 0; i < driver->count; i++) {
    struct dx_job *job = driver->jobs[i]->job;
    const struct dx_service *service =
        dx_config_service(driver->config, job->service);
    const struct dx_retention_facts facts = {
        .idle_ms = dx_spool_idle_ms(job),
        .keep_unfinished_ms =
            service != NULL ? service->keep_unfinished_ms : 0};

    if (driver->jobs[i]->attendant != NULL ||
        dx_retention(&facts) != DX_RETENTION_EXPIRE)
      continue;
    dx_log(DX_LOG_WARNING,
           "job %s: expired, its documents are removed; nobody finished it "
           "within KeepUnfinished",
           job->key);
    dx_job_expire(job);
    dx_engine_wake(driver->engine, job);
  }
}

/* ---- start, stop, reload ---- */

/* The device URIs that the driver's queues have: docextract://SERVICE. */
static bool is_ours(void *ctx, const char *device_uri)
{
  const struct driver *driver = ctx;

  return strncmp(device_uri, "docextract://", 13) == 0 &&
         dx_config_service(driver->config, device_uri + 13) != NULL;
}

static struct dx_engine *engine_for(struct driver *driver,
                                    const struct dx_config *config)
{
  const struct dx_observer observer = {.note = attend_note,
                                       .ended = on_ended,
                                       .may_send = permit_ask,
                                       .saved = driver_saved,
                                       .ctx = driver};

  return dx_engine_new(config, driver->spool, driver->http, &observer);
}

enum dx_code driver_start(struct driver *driver, struct dx_config *config,
                          struct dx_err *err)
{
  const struct cupsd_ops ops = {is_ours, permit_answered, driver};

  driver->config = config;
  driver->engine = engine_for(driver, config);
  driver->announcer = dx_announcer_new(driver->spool, driver_holds, driver);
  driver->cupsd = cupsd_new(driver->http, &ops);
  if (driver->engine == NULL || driver->announcer == NULL ||
      driver->cupsd == NULL)
    return dx_fail_nomem(err);
  look_at_receipts(driver); /* a merge that was begun ends first */
  return load_all(driver, err);
}

void driver_stop(struct driver *driver)
{
  dx_announcer_free(&driver->announcer);
  dx_engine_free(&driver->engine);
  while (driver->count > 0)
    drop(driver, driver->jobs[0]);
  cupsd_free(&driver->cupsd);
  free(driver->jobs);
  driver->jobs = NULL;
  dx_config_free(&driver->config);
}

enum dx_code driver_reload(struct driver *driver, struct dx_config *config,
                           struct dx_err *err)
{
  struct dx_engine *engine = engine_for(driver, config);
  size_t i;

  if (engine == NULL) {
    dx_config_free(&config);
    return dx_fail_nomem(err);
  }
  dx_engine_free(&driver->engine);
  dx_config_free(&driver->config);
  driver->engine = engine;
  driver->config = config;
  driver->is_down = false;
  for (i = driver->count; i > 0; i--) /* driver_drive() may remove this one */
    if (driver_drive(driver, driver->jobs[i - 1], err) != DX_OK)
      dx_log(DX_LOG_ERROR, "%s", err->text);
  return DX_OK;
}
