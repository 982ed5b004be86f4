/*
 * failures.c - counting and marking jobs that failed behind somebody's back.
 */
#include "lib/spool/failures.h"

#include <string.h>

#include "lib/base/log.h"

struct failures {
  struct dx_spool *spool;
  const char *queue; /* NULL: any */
  bool marks;        /* as seen */
  size_t count;
  struct dx_err *err;
};

bool dx_job_is_unseen_failure(const struct dx_job *job)
{
  return job->print.backend == DX_BACKEND_LEFT && !job->seen &&
         dx_job_is_final(job) && !dx_job_is_finished(job);
}

static enum dx_code look_at(void *ctx, const char *key)
{
  struct failures *f = ctx;
  struct dx_job *job = NULL;
  enum dx_code code = DX_OK;

  if (dx_spool_load(f->spool, key, &job, NULL) == DX_OK &&
      dx_job_is_unseen_failure(job) &&
      (f->queue == NULL ||
       (job->queue != NULL && strcmp(job->queue, f->queue) == 0))) {
    job->seen = true;
    if (f->marks)
      code = dx_job_save(job, f->err);
    f->count += code == DX_OK;
  }
  dx_job_free(&job);
  return code;
}

size_t dx_spool_unseen_failures(struct dx_spool *spool, const char *queue)
{
  struct dx_err err;
  struct failures f = {.spool = spool, .queue = queue};

  if (dx_spool_each(spool, DX_SPOOL_JOBS, look_at, &f, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
  return f.count;
}

enum dx_code dx_spool_see_failures(struct dx_spool *spool, size_t *ret_count,
                                   struct dx_err *err)
{
  struct failures f = {.spool = spool, .marks = true, .err = err};
  enum dx_code code = dx_spool_each(spool, DX_SPOOL_JOBS, look_at, &f, err);

  *ret_count = f.count;
  return code;
}
