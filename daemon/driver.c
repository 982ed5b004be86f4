/*
 * driver.c - takes jobs that were handed over, and ends them.
 */
#include "daemon/driver.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"

#define LOOK_MS 600000    /* events may be lost; waiting jobs are retried */
#define LOOK_SOON_MS 1000 /* the lock on one of our jobs is about to go */

/* ---- the list ---- */

static struct dx_job *find(struct driver *driver, const char *key)
{
  size_t i;

  for (i = 0; i < driver->count; i++)
    if (strcmp(driver->jobs[i]->key, key) == 0)
      return driver->jobs[i];
  return NULL;
}

static bool add(struct driver *driver, struct dx_job *job)
{
  struct dx_job **jobs;

  if (driver->count == driver->room) {
    size_t room = driver->room != 0 ? 2 * driver->room : 64;

    jobs = realloc(driver->jobs, room * sizeof(struct dx_job *));
    if (jobs == NULL)
      return false;
    driver->jobs = jobs;
    driver->room = room;
  }
  driver->jobs[driver->count++] = job;
  return true;
}

static void release(struct driver *driver, struct dx_job *job)
{
  size_t i;

  for (i = 0; i < driver->count; i++)
    if (driver->jobs[i] == job) {
      driver->jobs[i] = driver->jobs[--driver->count];
      break;
    }
  dx_job_free(&job);
}

/* ---- what the engine reports ---- */

static void on_note(void *ctx, struct dx_job *job, const struct dx_note *note)
{
  struct driver *driver = ctx;

  switch (note->kind) {
  case DX_NOTE_DOWN:
    if (!driver->is_down)
      dx_log(DX_LOG_WARNING,
             "service '%s' cannot be reached: %s; retrying until it responds",
             job->service, note->text);
    driver->is_down = true;
    break;
  case DX_NOTE_UP:
    if (driver->is_down)
      dx_log(DX_LOG_INFO, "service '%s' is reachable again", job->service);
    driver->is_down = false;
    break;
  case DX_NOTE_ADMIN:
    dx_log(DX_LOG_ERROR,
           "service '%s': %s; its jobs wait and are retried every 10 minutes "
           "and when the configuration changes",
           job->service, note->text);
    break;
  default:
    break;
  }
}

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

/* `docextract retry` needs the documents of a failed job; nobody needs those of
 * a canceled one. */
static bool keeps_documents(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].state != DX_ST_EXTRACTED &&
        job->submissions[i].code != DX_E_CANCELED)
      return true;
  return false;
}

static void on_ended(void *ctx, struct dx_job *job)
{
  struct dx_err err;

  log_outcome(job);
  if (!keeps_documents(job) && dx_job_delete_documents(job, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
  if (dx_job_is_final(job) && !job->dirty)
    dx_spool_cancel_done(job);
  release(ctx, job);
}

/* ---- taking ---- */

static void look_soon(struct driver *driver)
{
  int64_t at = dx_monotonic_ms() + LOOK_SOON_MS;

  if (at < driver->look_ms)
    driver->look_ms = at;
}

static void drive(struct driver *driver, struct dx_job *job)
{
  struct dx_err err;

  if (dx_spool_cancel_is_asked(job))
    dx_job_cancel(job);
  if (dx_engine_add(driver->engine, job, &err) != DX_OK) {
    dx_log(DX_LOG_ERROR, "job %s: %s", job->key, err.text);
    dx_job_set_message(job, err.text);
    if (job->dirty && dx_job_save(job, &err) != DX_OK)
      dx_log(DX_LOG_WARNING, "job %s: %s", job->key, err.text);
    release(driver, job);
  }
}

static void take(struct driver *driver, const char *key)
{
  struct dx_job *job = NULL;
  pid_t holder = 0;
  enum dx_owner owner;
  struct dx_err err;
  enum dx_code code =
      dx_spool_take(driver->spool, key, &job, &holder, &owner, &err);

  if (code == DX_E_BUSY)
    look_soon(driver);
  else if (code != DX_OK && code != DX_E_NOT_FOUND)
    dx_log(DX_LOG_ERROR, "job %s: %s", key, err.text);
  if (code != DX_OK)
    return;
  if (job->owner != DX_OWNER_DAEMON || dx_job_is_final(job) ||
      !add(driver, job)) {
    dx_job_free(&job);
    return;
  }
  dx_log(DX_LOG_DEBUG, "job %s: taken", key);
  drive(driver, job);
}

/* Is it ours to take? Its journal says so, and no lock is needed. */
static bool is_ours(struct driver *driver, const char *key)
{
  struct dx_job *job = NULL;
  pid_t holder;
  struct dx_err err;
  enum dx_code code = dx_spool_peek(driver->spool, key, &job, &holder, &err);
  bool ours;

  if (code != DX_OK)
    return code == DX_E_DAMAGED; /* taking it moves it to damaged/ */
  ours = job->owner == DX_OWNER_DAEMON && !dx_job_is_final(job);
  dx_job_free(&job);
  return ours;
}

void driver_look(void *ctx, const char *key)
{
  struct driver *driver = ctx;
  struct dx_job *job;

  if (!dx_is_key(key))
    return;
  job = find(driver, key);
  if (job == NULL && is_ours(driver, key))
    take(driver, key);
  else if (job != NULL && dx_spool_cancel_is_asked(job))
    dx_job_cancel(job); /* the engine sees that in its next turn */
}

static enum dx_code look_at(void *ctx, const char *key)
{
  driver_look(ctx, key);
  return DX_OK;
}

void driver_look_through(struct driver *driver)
{
  struct dx_err err;

  if (dx_monotonic_ms() < driver->look_ms)
    return;
  driver->look_ms = dx_monotonic_ms() + LOOK_MS;
  if (dx_spool_each(driver->spool, look_at, driver, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s", err.text);
}

/* ---- start, stop, reload ---- */

static struct dx_engine *engine_for(struct driver *driver,
                                    const struct dx_config *config)
{
  const struct dx_observer observer = {on_note, on_ended, driver};

  return dx_engine_new(config, driver->spool, driver->http, &observer);
}

enum dx_code driver_start(struct driver *driver, struct dx_config *config,
                          struct dx_err *err)
{
  driver->config = config;
  driver->engine = engine_for(driver, config);
  return driver->engine != NULL ? DX_OK : dx_fail_nomem(err);
}

void driver_stop(struct driver *driver)
{
  dx_engine_free(&driver->engine);
  while (driver->count > 0)
    release(driver, driver->jobs[0]);
  free(driver->jobs);
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
  for (i = driver->count; i > 0; i--) /* drive() may release this one */
    drive(driver, driver->jobs[i - 1]);
  driver->look_ms = 0; /* jobs without a service may have one now */
  return DX_OK;
}
