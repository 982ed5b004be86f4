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
#define DX_SWEEP_TURN_MS 5        /* of work before calls are handled */

#define STAMP_NAME "swept"

static void log_failure(enum dx_code code, const struct dx_err *err)
{
  if (code != DX_OK && code != DX_E_NOT_FOUND)
    dx_log(DX_LOG_WARNING, "%s: %s", dx_code_name(err->code), err->text);
}

/* The job may have been freed, or could not be read. */
static void log_failure_of(const char *key, enum dx_code code,
                           const struct dx_err *err)
{
  if (code != DX_OK && code != DX_E_NOT_FOUND)
    dx_log(DX_LOG_WARNING, "job %s: %s: %s", key, dx_code_name(err->code),
           err->text);
}

/* ---- one job ---- */

/* Whether cupsd may run any of its print jobs again. With a uuid, it is one.
 * ASKED: an answer is to come. */
static enum dx_rerun rerun_of(struct dx_sweep *s, const struct dx_job *job)
{
  for (; s->print <= job->other_count; s->print++) {
    const struct dx_other_print *other =
        s->print > 0 ? &job->others[s->print - 1] : NULL;
    const char *id = other == NULL ? job->cups_id : other->cups_id;
    enum dx_rerun its = DX_RERUN_UNKNOWN;

    if (id == NULL || job->uuid == NULL)
      continue;
    if (!s->cupsd_is_silent)
      its = s->rerun(s->rerun_ctx, id, job->uuid, job->user,
                     other == NULL ? job->print.key : other->print.key);
    if (its == DX_RERUN_ASKED)
      return its;
    s->cupsd_is_silent |= its == DX_RERUN_UNKNOWN;
    if (its != DX_RERUN_NO)
      s->its_rerun = its;
    if (its == DX_RERUN_MAY)
      break;
  }
  return s->its_rerun;
}

static struct dx_retention_facts sweep_facts(const struct dx_sweep *s,
                                             const struct dx_job *job)
{
  const struct dx_service *service = dx_config_service(s->config, job->service);

  return (struct dx_retention_facts){
      .finished = dx_job_is_finished(job),
      .awaits_hook = dx_job_awaits_hook(job),
      .is_kept_waiting =
          dx_job_is_kept_waiting(job) || dx_monotonic_ms() < s->expire_ms,
      .idle_ms = dx_spool_idle_ms(job),
      .keep_jobs_ms = s->config->keep_jobs_ms,
      .keep_unfinished_ms = service != NULL ? service->keep_unfinished_ms : 0,
      .rerun = DX_RERUN_UNKNOWN};
}

/* False if an answer of cupsd is to come. */
static bool sweep_job(struct dx_spool *spool, struct dx_sweep *s,
                      const char *key, struct dx_job **job)
{
  struct dx_retention_facts facts = sweep_facts(s, *job);
  char name[DX_RECEIPT_BYTES];
  struct dx_err err;

  if (facts.finished && !facts.awaits_hook &&
      facts.idle_ms > facts.keep_jobs_ms)
    facts.rerun = rerun_of(s, *job);
  if (facts.rerun == DX_RERUN_ASKED)
    return false;
  switch (dx_retention(&facts)) {
  case DX_RETENTION_EXPIRE:
    s->expire(s->ctx, *job);
    *job = NULL;
    return true;
  case DX_RETENTION_CLEAN: /* after a power failure, the next sweep does it */
    if (dx_job_clean(*job))
      log_failure_of(key, dx_job_publish(*job, &err), &err);
    break;
  case DX_RETENTION_REMOVE:
    /* Without the job, the documents of its receipt would be sent again. */
    if (dx_spool_has_receipt(spool, (*job)->key, name))
      break;
    log_failure_of(key, dx_spool_remove(spool, job, &err), &err);
    return true;
  case DX_RETENTION_KEEP:
    break;
  }
  log_failure_of(key, dx_spool_settle(spool, *job, &err), &err);
  return true;
}

/* Of finished/, reads only the old jobs, because there may be many. The job may
 * change while an answer is to come: it is read again then. */
static bool sweep_key(struct dx_spool *spool, struct dx_sweep *s,
                      const char *key)
{
  struct dx_retention_facts facts;
  struct dx_job *job = NULL, *held;
  struct dx_err err;
  enum dx_code code;
  bool is_done = true;

  if (s->part == DX_SPOOL_FINISHED &&
      dx_spool_finished_ms(spool, key) <= s->config->keep_jobs_ms)
    return true;
  held = s->held(s->ctx, key);
  if (held != NULL) {
    facts = sweep_facts(s, held);
    if (dx_retention(&facts) == DX_RETENTION_EXPIRE)
      s->expire(s->ctx, held);
    return true;
  }
  code = dx_spool_load(spool, key, &job, &err);
  if (code != DX_E_DAMAGED) /* `docextract jobs` lists those */
    log_failure_of(key, code, &err);
  else if (s->part == DX_SPOOL_JOBS)
    s->damaged(s->ctx, key);
  if (job != NULL)
    is_done = sweep_job(spool, s, key, &job);
  dx_job_free(&job);
  return is_done;
}

/* ---- a sweep ---- */

static void close_part(struct dx_sweep *s)
{
  if (s->dir != NULL)
    (void)closedir(s->dir);
  s->dir = NULL;
}

/* Parts that cannot be read are skipped. */
static void begin_part(struct dx_spool *spool, struct dx_sweep *s,
                       enum dx_spool_part part)
{
  struct dx_err err;

  close_part(s);
  s->key[0] = '\0';
  for (s->part = part; s->part <= DX_SPOOL_ALIASES; s->part++) {
    s->dir = dx_spool_open_part(spool, s->part, &err);
    if (s->dir != NULL)
      return;
    log_failure(err.code, &err);
  }
}

/* The next key, unless an answer was awaited for this one. False at the end of
 * the part. */
static bool next_key(struct dx_sweep *s)
{
  struct dx_err err;

  if (s->key[0] != '\0')
    return true;
  s->print = 0;
  s->its_rerun = DX_RERUN_NO;
  if (dx_spool_next_key(s->dir, s->key, &err) == DX_OK)
    return true;
  s->key[0] = '\0';
  log_failure(err.code, &err);
  return false;
}

/* What is swept at once. False if no jobs are to be swept now. */
static bool begin_sweep(struct dx_spool *spool, struct dx_sweep *s)
{
  int64_t age = INT64_MAX; /* milliseconds since the last sweep */
  struct stat st;
  size_t i;
  int fd;

  if (fstatat(spool->dirfd, STAMP_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
    age = dx_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
  if (age >= 0 && age < DX_SWEEP_GAP_MS)
    return false;
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
  for (i = 0; i < s->config->service_count; i++) {
    fd = dx_fs_open_dir(AT_FDCWD, s->config->services[i].results_dir, NULL);
    if (fd < 0)
      continue;
    dx_temp_sweep(fd, DX_TEMP_MIN_MS);
    (void)close(fd);
  }
  if (age >= 0 && age <= DX_SWEEP_JUMP_MS)
    return true;
  s->expire_ms = dx_monotonic_ms() + DX_SWEEP_JUMP_MS;
  return false;
}

bool dx_sweep_is_active(const struct dx_sweep *s)
{
  return s->dir != NULL;
}

void dx_sweep_stop(struct dx_sweep *s)
{
  close_part(s);
}

int64_t dx_spool_sweep(struct dx_spool *spool, struct dx_sweep *s)
{
  int64_t until_ms = dx_monotonic_ms() + DX_SWEEP_TURN_MS;

  if (!dx_sweep_is_active(s)) {
    if (!begin_sweep(spool, s))
      return DX_SWEEP_GAP_MS;
    s->cupsd_is_silent = false;
    begin_part(spool, s, DX_SPOOL_JOBS);
  }
  while (dx_sweep_is_active(s)) {
    if (!next_key(s)) {
      begin_part(spool, s, s->part + 1);
      continue;
    }
    if (s->part == DX_SPOOL_ALIASES)
      dx_spool_sweep_alias(spool, s->key);
    else if (!sweep_key(spool, s, s->key))
      return DX_ASK_AGAIN_MS;
    s->key[0] = '\0';
    if (dx_monotonic_ms() > until_ms)
      return 0;
  }
  dx_log(DX_LOG_DEBUG, "the spool is swept");
  return DX_SWEEP_GAP_MS;
}
