/*
 * sweep.c - nothing else deletes a job that it did not receive itself.
 */
#include "lib/spool/sweep.h"

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
#include "lib/spool/spool_internal.h"

#define STAMP_NAME "swept"

struct round {
  struct dx_spool *spool;
  const struct dx_sweep *sweep;
  int64_t until_ms; /* monotonic */
};

/* E_NOT_YET: time ran out; it comes without a message. */
static void log_failure(enum dx_code code, const struct dx_err *err)
{
  if (code != DX_OK && code != DX_E_NOT_FOUND && code != DX_E_BUSY &&
      code != DX_E_NOT_YET)
    dx_log(DX_LOG_WARNING, "%s", err->text);
}

/* The job with its lock, unless this or another process holds it. */
static struct dx_job *take(struct round *r, const char *key)
{
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;
  struct dx_err err;
  enum dx_code code;

  if (r->sweep->is_held != NULL && r->sweep->is_held(r->sweep->ctx, key))
    return NULL;
  code = dx_spool_take(r->spool, key, &job, &holder, &owner, &err);
  if (code != DX_E_DAMAGED) /* `docextract jobs` lists those */
    log_failure(code, &err);
  return job;
}

/* ---- finished/ ---- */

static enum dx_code sweep_finished(void *ctx, const char *key)
{
  struct round *r = ctx;
  struct dx_job *job;
  struct dx_err err;

  if (dx_monotonic_ms() > r->until_ms)
    return DX_E_NOT_YET;
  if (dx_spool_finished_ms(r->spool, key) <= r->sweep->config->keep_jobs_ms)
    return DX_OK;
  job = take(r, key);
  /* Under the lock: it may have come again in the meantime. */
  if (job != NULL && dx_job_is_finished(job) &&
      dx_spool_idle_ms(job) > r->sweep->config->keep_jobs_ms)
    log_failure(dx_spool_remove(r->spool, &job, &err), &err);
  dx_job_free(&job);
  return DX_OK;
}

/* ---- jobs/ ---- */

/* Consumers of the results learn of it. */
static void deliver_manifests(const struct dx_job *job,
                              const struct dx_service *service)
{
  struct dx_err err;
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].state == DX_ST_EXPIRED)
      log_failure(
          dx_manifest_deliver(&job->submissions[i], service->results_dir, &err),
          &err);
}

/* The manifests come first: if we are killed in between, the next sweep writes
 * them again; once the journal says that the job has expired, nobody does. */
static void expire(struct dx_job *job, const struct dx_service *service)
{
  struct dx_err err;
  enum dx_code code;

  job->announces = service->on_result != NULL;
  dx_job_expire(job);
  deliver_manifests(job, service);
  code = dx_job_save(job, &err);
  log_failure(code, &err);
  if (code != DX_OK)
    return;
  dx_log(DX_LOG_WARNING,
         "job %s: expired, its documents are removed; nobody finished it "
         "within KeepUnfinished",
         job->key);
}

static enum dx_code sweep_unfinished(void *ctx, const char *key)
{
  struct round *r = ctx;
  const struct dx_service *service;
  struct dx_job *job;
  struct dx_err err;

  if (dx_monotonic_ms() > r->until_ms)
    return DX_E_NOT_YET;
  job = take(r, key);
  if (job == NULL)
    return DX_OK;
  /* A removed section may come back: its jobs stay. */
  service = dx_config_service(r->sweep->config, job->service);
  if (service != NULL && !dx_job_is_finished(job) &&
      dx_spool_idle_ms(job) > service->keep_unfinished_ms)
    expire(job, service);
  if (!job->dirty)
    log_failure(dx_spool_settle(r->spool, job, &err), &err);
  dx_job_free(&job);
  return DX_OK;
}

/* ---- incoming/ ---- */

/* The lock of a new directory is not touched: its receiver may be about to take
 * it. */
static void sweep_received(struct round *r, const char *name)
{
  char path[DX_JOB_PATH_BYTES];
  struct dx_job *job = dx_job_new();
  struct dx_err err;

  if (job == NULL)
    return;
  (void)snprintf(path, sizeof(path), "incoming/%.32s", name);
  memcpy(job->path, path, sizeof(path));
  job->dirfd = dx_fs_open_dir_at(r->spool->dirfd, path, NULL);
  if (job->dirfd >= 0 && spool_age_ms(job->dirfd, ".") > DX_INCOMING_MIN_MS &&
      spool_lock_job(r->spool, job, NULL, &err) == DX_OK)
    log_failure(dx_fs_remove_tree(r->spool->dirfd, path, &err), &err);
  dx_job_free(&job);
}

static void sweep_incoming(struct round *r)
{
  struct dirent *entry;
  DIR *dir = spool_open_list(r->spool, "incoming", NULL);

  if (dir == NULL)
    return;
  while ((entry = readdir(dir)) != NULL) /* never many */
    if (entry->d_name[0] != '.' && strlen(entry->d_name) <= 32)
      sweep_received(r, entry->d_name);
  (void)closedir(dir);
}

/* ---- when ---- */

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
  int64_t age = spool_age_ms(spool->dirfd, STAMP_NAME);
  struct dx_err err;

  if (age >= 0 && age < DX_SWEEP_GAP_MS)
    return;
  stamp(spool);
  sweep_incoming(&r);
  dx_temp_sweep(spool->dirfd, DX_TEMP_MIN_MS);
  if (age < 0 || age > DX_SWEEP_JUMP_MS)
    return;
  r.until_ms = dx_monotonic_ms() + DX_SWEEP_MS;
  log_failure(dx_spool_each(spool, sweep_unfinished, &r, &err), &err);
  log_failure(dx_spool_each_finished(spool, sweep_finished, &r, &err), &err);
}
