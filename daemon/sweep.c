/*
 * sweep.c - the only code that deletes jobs because of their age.
 */
#include "daemon/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

#define DX_SWEEP_JUMP_MS 86400000 /* more: clock jump, or host was off */
#define DX_SWEEP_MS 2000          /* of one sweep, at most */

#define STAMP_NAME "swept"

struct round {
  struct dx_spool *spool;
  const struct dx_sweep *sweep;
  int64_t until_ms; /* monotonic */
};

static void log_failure(enum dx_code code, const struct dx_err *err)
{
  if (code != DX_OK && code != DX_E_NOT_FOUND)
    dx_log(DX_LOG_WARNING, "%s: %s", dx_code_name(err->code), err->text);
}

/* ---- one job ---- */

/* Whether cupsd may run any of its print jobs again. With a uuid, it is one. */
static enum dx_rerun rerun_of(const struct dx_sweep *sweep,
                              const struct dx_job *job)
{
  enum dx_rerun rerun = DX_RERUN_NO, other;
  size_t i;

  for (i = 0; rerun != DX_RERUN_MAY && i <= job->other_count; i++) {
    const char *id = i == 0 ? job->cups_id : job->others[i - 1].cups_id;

    if (id == NULL || job->uuid == NULL)
      continue;
    other = sweep->rerun(sweep->rerun_ctx, id, job->uuid);
    rerun = other != DX_RERUN_NO ? other : rerun;
  }
  return rerun;
}

static enum dx_retention retention_of(const struct dx_sweep *sweep,
                                      const struct dx_job *job)
{
  const struct dx_service *service =
      dx_config_service(sweep->config, job->service);
  struct dx_retention_facts facts = {
      .finished = dx_job_is_finished(job),
      .awaits_hook = dx_job_awaits_hook(job),
      .idle_ms = dx_spool_idle_ms(job),
      .keep_jobs_ms = sweep->config->keep_jobs_ms,
      .keep_unfinished_ms = service != NULL ? service->keep_unfinished_ms : 0,
      .rerun = DX_RERUN_UNKNOWN};

  if (facts.finished && !facts.awaits_hook)
    facts.rerun = rerun_of(sweep, job);
  return dx_retention(&facts);
}

static void sweep_job(struct round *r, struct dx_job **job)
{
  char name[DX_RECEIPT_BYTES];
  struct dx_err err;

  switch (retention_of(r->sweep, *job)) {
  case DX_RETENTION_EXPIRE:
    r->sweep->expire(r->sweep->ctx, *job);
    *job = NULL;
    return;
  case DX_RETENTION_CLEAN:
    if (dx_job_clean(*job))
      log_failure(dx_job_save(*job, &err), &err);
    break;
  case DX_RETENTION_REMOVE:
    /* Without the job, the documents of its receipt would be sent again. */
    if (dx_spool_has_receipt(r->spool, (*job)->key, name))
      break;
    log_failure(dx_spool_remove(r->spool, job, &err), &err);
    return;
  case DX_RETENTION_KEEP:
    break;
  }
  log_failure(dx_spool_settle(r->spool, *job, &err), &err);
}

/* Sweeps jobs/, or finished/, until the time is over. Of finished/, reads only
 * the old jobs, because there may be many. */
static void sweep_part(struct round *r, enum dx_spool_part part)
{
  struct dx_err err;
  char *keys = dx_spool_names(r->spool, part, &err);
  struct dx_job *job = NULL, *held;
  enum dx_code code;
  const char *key;

  if (keys == NULL)
    log_failure(err.code, &err);
  for (key = keys;
       keys != NULL && *key != '\0' && dx_monotonic_ms() <= r->until_ms;
       key = dx_next_name(key)) {
    if (part == DX_SPOOL_FINISHED &&
        dx_spool_finished_ms(r->spool, key) <= r->sweep->config->keep_jobs_ms)
      continue;
    held = r->sweep->held(r->sweep->ctx, key);
    if (held != NULL) {
      if (retention_of(r->sweep, held) == DX_RETENTION_EXPIRE)
        r->sweep->expire(r->sweep->ctx, held);
      continue;
    }
    code = dx_spool_load(r->spool, key, &job, &err);
    if (code != DX_E_DAMAGED) /* `docextract jobs` lists those */
      log_failure(code, &err);
    if (job != NULL)
      sweep_job(r, &job);
    dx_job_free(&job);
  }
  free(keys);
}

void dx_spool_sweep(struct dx_spool *spool, const struct dx_sweep *sweep)
{
  struct round r = {.spool = spool, .sweep = sweep};
  int64_t age = INT64_MAX; /* milliseconds since the last sweep */
  struct stat st;
  size_t i;
  int fd;

  if (fstatat(spool->dirfd, STAMP_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
    age = dx_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
  if (age >= 0 && age < DX_SWEEP_GAP_MS)
    return;
  fd = openat(spool->dirfd, STAMP_NAME,
              O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 || futimens(fd, NULL) < 0)
    dx_log(DX_LOG_WARNING, "cannot touch '%s': %s", STAMP_NAME,
           strerror(errno));
  if (fd >= 0)
    (void)close(fd);
  dx_spool_sweep_incoming(spool);
  dx_temp_sweep(spool->dirfd, DX_TEMP_MIN_MS);
  /* In ResultsDir, only files that no consumer reads. */
  for (i = 0; i < sweep->config->service_count; i++) {
    fd = dx_fs_open_dir(AT_FDCWD, sweep->config->services[i].results_dir, NULL);
    if (fd < 0)
      continue;
    dx_temp_sweep(fd, DX_TEMP_MIN_MS);
    (void)close(fd);
  }
  if (age < 0 || age > DX_SWEEP_JUMP_MS)
    return;
  r.until_ms = dx_monotonic_ms() + DX_SWEEP_MS;
  sweep_part(&r, DX_SPOOL_JOBS);
  sweep_part(&r, DX_SPOOL_FINISHED);
  dx_spool_sweep_aliases(spool, r.until_ms);
}
