/*
 * failures.c - counting and marking jobs that failed behind somebody's back.
 */
#include "lib/spool/failures.h"

#include <string.h>

#include "lib/base/log.h"

struct failures {
  struct dx_spool *spool;
  const char *queue; /* NULL: any */
  size_t count;
  struct dx_err *err;
};

bool dx_job_is_unseen_failure(const struct dx_job *job)
{
  return job->print.backend == DX_BACKEND_LEFT && !job->seen &&
         dx_job_is_final(job) && !dx_job_is_finished(job);
}

static bool is_one(const struct failures *f, const struct dx_job *job)
{
  return dx_job_is_unseen_failure(job) &&
         (f->queue == NULL ||
          (job->queue != NULL && strcmp(job->queue, f->queue) == 0));
}

static enum dx_code count(void *ctx, const char *key)
{
  struct failures *f = ctx;
  struct dx_job *job = NULL;

  if (dx_spool_load(f->spool, key, &job, NULL) == DX_OK)
    f->count += is_one(f, job);
  dx_job_free(&job);
  return DX_OK;
}

size_t dx_spool_unseen_failures(struct dx_spool *spool, const char *queue)
{
  struct dx_err err;
  struct failures f = {spool, queue, 0, NULL};

  if (dx_spool_each(spool, count, &f, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
  return f.count;
}

static enum dx_code mark(void *ctx, const char *key)
{
  struct failures *f = ctx;
  struct dx_job *job = NULL;
  enum dx_code code = DX_OK;

  if (dx_spool_load(f->spool, key, &job, NULL) == DX_OK && is_one(f, job)) {
    job->seen = true;
    code = dx_job_save(job, f->err);
    f->count += code == DX_OK;
  }
  dx_job_free(&job);
  return code;
}

enum dx_code dx_spool_see_failures(struct dx_spool *spool, size_t *ret_count,
                                   struct dx_err *err)
{
  struct failures f = {spool, NULL, 0, err};
  enum dx_code code = dx_spool_each(spool, mark, &f, err);

  *ret_count = f.count;
  return code;
}
