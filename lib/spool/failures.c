/*
 * failures.c - counting and marking jobs that failed behind somebody's back.
 */
#include "lib/spool/failures.h"

#include <string.h>

#include "lib/base/log.h"

struct failures {
  struct dx_spool *spool;
  const char *queue;         /* NULL: any */
  const struct dx_job *held; /* NULL: none */
  size_t count;
  struct dx_err *err;
};

bool dx_job_is_unseen_failure(const struct dx_job *job)
{
  return job->owner == DX_OWNER_DAEMON && !job->seen && dx_job_is_final(job) &&
         !dx_job_is_finished(job);
}

static bool is_one(const struct failures *f, const struct dx_job *job)
{
  return dx_job_is_unseen_failure(job) &&
         (f->queue == NULL ||
          (job->queue != NULL && strcmp(job->queue, f->queue) == 0));
}

static bool look(const struct failures *f, const char *key)
{
  struct dx_job *job = NULL;
  pid_t holder;
  bool is;

  if (f->held != NULL && strcmp(f->held->key, key) == 0)
    return false;
  is = dx_spool_peek(f->spool, key, &job, &holder, NULL) == DX_OK &&
       holder == 0 && is_one(f, job);
  dx_job_free(&job);
  return is;
}

static enum dx_code count(void *ctx, const char *key)
{
  struct failures *f = ctx;

  f->count += look(f, key);
  return DX_OK;
}

size_t dx_spool_unseen_failures(struct dx_spool *spool, const char *queue,
                                const struct dx_job *held)
{
  struct dx_err err;
  struct failures f = {spool, queue, held, 0, NULL};

  if (dx_spool_each(spool, count, &f, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
  return f.count;
}

static enum dx_code mark(void *ctx, const char *key)
{
  struct failures *f = ctx;
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;
  enum dx_code code;

  if (!look(f, key))
    return DX_OK;
  code = dx_spool_take(f->spool, key, &job, &holder, &owner, f->err);
  if (code == DX_OK && is_one(f, job)) {
    job->seen = true;
    code = dx_job_save(job, f->err);
    f->count += code == DX_OK;
  }
  dx_job_free(&job);
  return code == DX_E_NOT_FOUND || code == DX_E_BUSY ? DX_OK : code;
}

enum dx_code dx_spool_see_failures(struct dx_spool *spool, size_t *ret_count,
                                   struct dx_err *err)
{
  struct failures f = {spool, NULL, NULL, 0, err};
  enum dx_code code = dx_spool_each(spool, mark, &f, err);

  *ret_count = f.count;
  return code;
}
