/*
 * sweep.c - the only code that deletes jobs because of their age.
 */
#include "daemon/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/results.h"

#define STAMP_NAME "swept"

struct round {
  struct dx_spool *spool;
  const struct dx_sweep *sweep;
  int64_t until_ms; /* monotonic */
};

/* E_NOT_YET: out of time; there is no message. */
static void log_failure(enum dx_code code, const struct dx_err *err)
{
  if (code != DX_OK && code != DX_E_NOT_FOUND && code != DX_E_NOT_YET)
    dx_log(DX_LOG_WARNING, "%s", err->text);
}

/* Returns the job, unless it is in memory or cannot be read. */
static struct dx_job *load(struct round *r, const char *key)
{
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code;

  if (r->sweep->is_held != NULL && r->sweep->is_held(r->sweep->ctx, key))
    return NULL;
  code = dx_spool_load(r->spool, key, &job, &err);
  if (code != DX_E_DAMAGED) /* `docextract jobs` lists those */
    log_failure(code, &err);
  return job;
}

/* ---- one job ---- */

/* The manifests are written first: after a crash the next sweep writes them
 * again, which it does not do when the journal contains "expired". */
static void expire(const struct dx_sweep *sweep, struct dx_job *job,
                   const struct dx_service *service)
{
  struct dx_err err;
  enum dx_code code;
  size_t i;

  job->has_hook = service->on_result != NULL;
  dx_job_expire(job);
  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].state == DX_ST_EXPIRED)
      log_failure(
          dx_manifest_deliver(&job->submissions[i], service->results_dir, &err),
          &err);
  code = dx_job_save(job, &err);
  log_failure(code, &err);
  if (code != DX_OK)
    return;
  sweep->saved(sweep->ctx, job);
  dx_log(DX_LOG_WARNING,
         "job %s: expired, its documents are removed; it was not finished "
         "within KeepUnfinished",
         job->key);
}

static enum dx_retention retention(const struct round *r,
                                   const struct dx_job *job,
                                   const struct dx_service *service)
{
  struct dx_retention_facts facts = {
      .finished = dx_job_is_finished(job) && !dx_job_awaits_hook(job),
      .cleaned = dx_job_is_clean(job),
      .idle_ms = dx_spool_idle_ms(job),
      .keep_jobs_ms = r->sweep->config->keep_jobs_ms,
      .keep_unfinished_ms = service != NULL ? service->keep_unfinished_ms : 0,
  };

  if (!facts.finished)
    facts.rerun = DX_RERUN_UNKNOWN;
  else if (job->cups_id == NULL || job->uuid == NULL)
    facts.rerun = DX_RERUN_NO; /* not a print job */
  else
    facts.rerun = r->sweep->rerun(r->sweep->ctx, job->cups_id, job->uuid);
  return dx_retention(&facts);
}

static void sweep_job(struct round *r, struct dx_job **job)
{
  const struct dx_service *service =
      dx_config_service(r->sweep->config, (*job)->service);
  struct dx_err err;

  switch (retention(r, *job, service)) {
  case DX_RETENTION_EXPIRE:
    expire(r->sweep, *job, service);
    break;
  case DX_RETENTION_CLEAN:
    dx_job_clean(*job);
    log_failure(dx_job_save(*job, &err), &err);
    break;
  case DX_RETENTION_REMOVE:
    log_failure(dx_spool_remove(r->spool, job, &err), &err);
    return;
  case DX_RETENTION_KEEP:
    break;
  }
  log_failure(dx_spool_settle(r->spool, *job, &err), &err);
}

static enum dx_code sweep_one(void *ctx, const char *key)
{
  struct round *r = ctx;
  struct dx_job *job;

  if (dx_monotonic_ms() > r->until_ms)
    return DX_E_NOT_YET;
  job = load(r, key);
  if (job != NULL)
    sweep_job(r, &job);
  dx_job_free(&job);
  return DX_OK;
}

/* Reads only the old jobs, because there may be many. */
static enum dx_code sweep_finished(void *ctx, const char *key)
{
  struct round *r = ctx;

  if (dx_spool_finished_ms(r->spool, key) <= r->sweep->config->keep_jobs_ms)
    return dx_monotonic_ms() > r->until_ms ? DX_E_NOT_YET : DX_OK;
  return sweep_one(ctx, key);
}

/* ---- when ---- */

/* Milliseconds since the last sweep; INT64_MAX: not known. */
static int64_t stamp_age_ms(struct dx_spool *spool)
{
  struct stat st;

  if (fstatat(spool->dirfd, STAMP_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return INT64_MAX;
  return dx_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
}

static void stamp(struct dx_spool *spool)
{
  int fd = openat(spool->dirfd, STAMP_NAME,
                  O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

  if (fd < 0 || futimens(fd, NULL) < 0)
    dx_log(DX_LOG_WARNING, "cannot touch '%s': %s", STAMP_NAME,
           strerror(errno));
  if (fd >= 0)
    (void)close(fd);
}

void dx_spool_sweep(struct dx_spool *spool, const struct dx_sweep *sweep)
{
  struct round r = {.spool = spool, .sweep = sweep};
  int64_t age = stamp_age_ms(spool);
  struct dx_err err;
  size_t i;

  if (age >= 0 && age < DX_SWEEP_GAP_MS)
    return;
  stamp(spool);
  dx_spool_sweep_incoming(spool);
  dx_temp_sweep(spool->dirfd, DX_TEMP_MIN_MS);
  for (i = 0; i < sweep->config->service_count; i++)
    dx_results_sweep(sweep->config->services[i].results_dir);
  if (age < 0 || age > DX_SWEEP_JUMP_MS)
    return;
  r.until_ms = dx_monotonic_ms() + DX_SWEEP_MS;
  log_failure(dx_spool_each(spool, DX_SPOOL_JOBS, sweep_one, &r, &err), &err);
  log_failure(dx_spool_each(spool, DX_SPOOL_FINISHED, sweep_finished, &r, &err),
              &err);
}
