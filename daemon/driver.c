/*
 * driver.c - takes jobs that were handed over or lost their driver, and
 * finishes them.
 */
#include "daemon/driver.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/adopt.h"

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

static void on_ended(void *ctx, struct dx_job *job)
{
  struct driver *driver = ctx;
  char key[DX_KEY_BYTES];
  struct dx_err err;

  log_outcome(job);
  memcpy(key, job->key, sizeof(key));
  if (dx_job_is_final(job) && !job->dirty) {
    dx_spool_cancel_done(job);
    if (dx_spool_settle(driver->spool, job, &err) != DX_OK)
      dx_log(DX_LOG_WARNING, "job %s: %s", job->key, err.text);
  }
  release(driver, job);
  dx_announcer_look(driver->announcer, key);
}

/* A print job that was canceled while it was handed over is not submitted. */
static bool on_create(void *ctx, struct dx_job *job)
{
  (void)ctx;
  return dx_adopted_may_create(job);
}

/* ---- taking ---- */

static void drive(struct driver *driver, struct dx_job *job)
{
  struct dx_err err;

  if (dx_spool_cancel_is_asked(job))
    dx_job_cancel(job);
  if (dx_engine_add(driver->engine, job, &err) != DX_OK) {
    if (strcmp(job->message, err.text) != 0) /* it is tried again and again */
      dx_log(DX_LOG_ERROR, "job %s: %s", job->key, err.text);
    dx_job_set_message(job, err.code, err.text);
    if ((job->dirty || job->behind) && dx_job_save(job, &err) != DX_OK)
      dx_log(DX_LOG_WARNING, "job %s: %s", job->key, err.text);
    release(driver, job);
  }
}

/* The job is ours already, or no other process drives it. One that cannot be
 * read is a person's to look at: `docextract jobs` lists it. */
static void take(struct driver *driver, const char *key)
{
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code = dx_spool_adopt(driver->spool, key, NULL, &job, &err);

  if (code != DX_OK && code != DX_E_DAMAGED)
    dx_log(DX_LOG_ERROR, "job %s: %s", key, err.text);
  if (job == NULL)
    return;
  if (!add(driver, job)) {
    dx_job_free(&job);
    return;
  }
  dx_log(DX_LOG_DEBUG, "job %s: taken", key);
  drive(driver, job);
}

void driver_look(void *ctx, const char *key)
{
  struct driver *driver = ctx;
  struct dx_job *job;

  if (!dx_is_key(key))
    return;
  job = find(driver, key);
  if (job == NULL) {
    take(driver, key);
    dx_announcer_look(driver->announcer, key);
  } else if (dx_spool_cancel_is_asked(job)) {
    dx_job_cancel(job); /* the engine sees it at its next turn */
  }
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
  driver->look_ms = dx_monotonic_ms() + DX_ADOPT_LOOK_MS;
  if (dx_spool_each(driver->spool, look_at, driver, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s", err.text);
}

bool driver_holds(void *ctx, const char *key)
{
  return find(ctx, key) != NULL;
}

/* ---- start, stop, reload ---- */

static struct dx_engine *engine_for(struct driver *driver,
                                    const struct dx_config *config)
{
  const struct dx_observer observer = {.note = on_note,
                                       .ended = on_ended,
                                       .may_create = on_create,
                                       .ctx = driver};

  return dx_engine_new(config, driver->spool, driver->http, &observer);
}

enum dx_code driver_start(struct driver *driver, struct dx_config *config,
                          struct dx_err *err)
{
  driver->config = config;
  driver->engine = engine_for(driver, config);
  driver->announcer = dx_announcer_new(driver->spool, driver_holds, driver);
  return driver->engine != NULL && driver->announcer != NULL
             ? DX_OK
             : dx_fail_nomem(err);
}

int64_t driver_announce(struct driver *driver)
{
  return dx_announcer_turn(driver->announcer, driver->config);
}

void driver_stop(struct driver *driver)
{
  dx_announcer_free(&driver->announcer);
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
