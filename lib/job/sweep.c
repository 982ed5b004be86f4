/*
 * sweep.c - removing what nobody needs from the spool; nothing else deletes a
 * job that it did not receive itself.
 */
#include "lib/job/sweep.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/job/spool_internal.h"

/* A job that nobody runs again unless we keep it, or of which that is not
 * clear. What was never committed is nobody's job. */
static bool must_stay(struct dx_spool *spool, struct dx_job *job)
{
  enum dx_code code;

  if (strncmp(job->path, "incoming/", 9) == 0)
    return false;
  code = dx_job_load(job, NULL);
  if (code == DX_E_DAMAGED)
    spool_set_aside(spool, job);
  if (code != DX_OK)
    return code != DX_E_NOT_FOUND;
  return job->owner != DX_OWNER_CUPS && !dx_job_is_final(job);
}

/* It goes if it is old under the lock too, and nobody needs it. The lock may
 * have been made just now, by us: the directory's own time says nothing here.
 */
static void remove_dir(struct dx_spool *spool, const char *path,
                       int64_t keep_ms)
{
  struct dx_job *job = dx_job_new();
  struct dx_err err;

  if (job == NULL)
    return;
  (void)snprintf(job->path, sizeof(job->path), "%s", path);
  if (spool_open_job(spool, job, &err) == DX_OK &&
      spool_lock_job(spool, job, NULL, &err) == DX_OK &&
      spool_age_ms(job->dirfd, "job.json") > keep_ms &&
      !must_stay(spool, job)) {
    dx_log(DX_LOG_DEBUG, "sweeping '%s'", job->path);
    if (dx_fs_remove_tree(spool->dirfd, job->path, &err) != DX_OK)
      dx_log(DX_LOG_WARNING, "%s", err.text);
  }
  dx_job_free(&job);
}

/*
 * The lock of a young directory is not touched: its owner may be about to take
 * it, and would ask us to leave. What a killed writer left there goes all the
 * same: a result or signed URLs may be in it.
 */
static void sweep_dir(struct dx_spool *spool, const char *parent,
                      const char *name, int64_t keep_ms)
{
  char path[DX_JOB_PATH_BYTES];
  int dirfd;

  (void)snprintf(path, sizeof(path), "%s/%.32s", parent, name);
  dirfd = dx_fs_open_dir_at(spool->dirfd, path, NULL);
  if (dirfd < 0)
    return;
  if (spool_age_ms(dirfd, ".") > keep_ms &&
      spool_age_ms(dirfd, "job.json") > keep_ms)
    remove_dir(spool, path, keep_ms);
  else
    dx_temp_sweep(dirfd, DX_TEMP_MIN_MS);
  (void)close(dirfd);
}

static void sweep_list(struct dx_spool *spool, const char *parent,
                       int64_t keep_ms)
{
  struct dirent *entry;
  DIR *dir = spool_open_list(spool, parent, NULL);

  if (dir == NULL)
    return;
  while ((entry = readdir(dir)) != NULL)
    if (entry->d_name[0] != '.' && strlen(entry->d_name) <= 32)
      sweep_dir(spool, parent, entry->d_name, keep_ms);
  (void)closedir(dir);
}

void dx_spool_sweep(struct dx_spool *spool, int64_t keep_ms)
{
  /* A minute: its receiver may not have taken the lock yet. */
  sweep_list(spool, "incoming", DX_INCOMING_MIN_MS);
  sweep_list(spool, "jobs", keep_ms);
  dx_temp_sweep(spool->dirfd, DX_TEMP_MIN_MS);
}
