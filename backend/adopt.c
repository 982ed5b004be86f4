/*
 * adopt.c - other jobs of the same service that have lost their driver: a
 * backend that waits for its own goes on with them, as long as it waits and
 * docextractd does not run. The next one adopts what it does not finish.
 */
#include "backend/backend.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/adopt.h"
#include "daemon/engine/announce.h"

#define ADOPTED_MAX 64 /* two descriptors each */

static struct {
  struct dx_job *jobs[ADOPTED_MAX];
  size_t count;
  int64_t look_ms; /* monotonic */
} adopted;

struct look {
  struct backend *b;
  struct dx_engine *engine;
};

static void add(struct dx_engine *engine, struct dx_job *job)
{
  struct dx_err err;

  if (dx_engine_add(engine, job, &err) != DX_OK) {
    dx_log(DX_LOG_WARNING, "job %s: %s", job->key, err.text);
    dx_job_free(&job);
    return;
  }
  adopted.jobs[adopted.count++] = job;
}

static enum dx_code look_at(void *ctx, const char *key)
{
  struct look *look = ctx;
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code;
  size_t i;

  if (adopted.count == ADOPTED_MAX || term_came())
    return DX_E_NOT_YET;
  if (strcmp(key, look->b->job->key) == 0)
    return DX_OK;
  for (i = 0; i < adopted.count; i++)
    if (strcmp(key, adopted.jobs[i]->key) == 0)
      return DX_OK;
  code = dx_spool_adopt(&look->b->spool, key, look->b->service, &job, &err);
  if (code != DX_OK && code != DX_E_DAMAGED) /* that is for a person */
    dx_log(DX_LOG_WARNING, "job %s: %s", key, err.text);
  if (job != NULL)
    add(look->engine, job);
  return DX_OK;
}

void adopt_look(struct backend *b, struct dx_engine *engine)
{
  struct look look = {b, engine};
  struct dx_err err;

  if (dx_monotonic_ms() < adopted.look_ms ||
      dx_spool_daemon(b->spool.dirfd) != 0)
    return;
  adopted.look_ms = dx_monotonic_ms() + DX_ADOPT_LOOK_MS;
  if (dx_spool_each(&b->spool, look_at, &look, &err) == DX_E_IO)
    dx_log(DX_LOG_WARNING, "%s", err.text);
}

void adopt_ended(struct backend *b, struct dx_job *job)
{
  struct dx_err err;
  size_t i;

  for (i = 0; i < adopted.count; i++)
    if (adopted.jobs[i] == job)
      break;
  if (i == adopted.count)
    return; /* our own */
  adopted.jobs[i] = adopted.jobs[--adopted.count];
  if (!job->dirty && dx_spool_settle(&b->spool, job, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "job %s: %s", job->key, err.text);
  if (dx_announce_release(&b->spool, &job))
    b->announces = true;
}

void adopt_release(void)
{
  while (adopted.count > 0)
    dx_job_free(&adopted.jobs[--adopted.count]);
}
