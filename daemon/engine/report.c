/*
 * report.c - what the engine reports to the observer and the journal, and the
 * ways in which a whole job waits or stops.
 */
#include "daemon/engine/engine_internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"

void engine_note(struct dx_engine *engine, struct dx_job *job,
                 enum dx_note_kind kind, int64_t since_ms,
                 const struct dx_err *err)
{
  struct dx_note n = {.kind = kind,
                      .since_ms = since_ms,
                      .code = err != NULL ? err->code : DX_OK,
                      .text = err != NULL ? err->text : ""};

  engine->observer.note(engine->observer.ctx, job, &n);
}

/* What is due on the monotonic clock, for people who read a wall clock. A pause
 * of the service, or of this host, may be longer. */
static int64_t retry_at(struct dx_engine *engine, const struct dx_job *job,
                        int64_t due_ms)
{
  const struct service_state *svc = engine_service_of(engine, job);

  if (due_ms == 0)
    return 0;
  due_ms = engine_longer(due_ms, svc->due_ms);
  due_ms = engine_longer(due_ms, dx_rate_limit_blocked_ms(svc->rate_limit));
  return dx_wall_ms() + due_ms - dx_monotonic_ms();
}

void engine_report_problem(struct dx_engine *engine, struct dx_job *job,
                           enum dx_note_kind kind, int64_t since_ms,
                           int64_t due_ms, const struct dx_err *err)
{
  struct dx_err full = {.code = DX_OK};

  if (err != NULL) {
    full = *err;
    dx_advise(&full);
  }
  engine_note(engine, job, kind, since_ms, err != NULL ? &full : NULL);
  dx_job_set_retry(job, full.code, full.text, retry_at(engine, job, due_ms));
  job->drive->late_ms = dx_monotonic_ms(); /* people wait for it */
}

void engine_local_failure(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err)
{
  dx_log(DX_LOG_ERROR, "%s; trying again in %d s", err->text,
         DX_LOCAL_RETRY_MS / 1000);
  job->drive->due_ms = dx_monotonic_ms() + DX_LOCAL_RETRY_MS;
  engine_report_problem(engine, job, DX_NOTE_LOCAL, dx_monotonic_ms(),
                        job->drive->due_ms, err);
}

static void halt(struct dx_job *job, const struct dx_err *err)
{
  if (job->halt.code == DX_OK)
    job->halt = *err;
}

/* Also jobs other than that of the call: a queue does not wait behind a job
 * that its backend has adopted. */
static void halt_print_jobs(struct call_ctx *ctx, const struct dx_err *err)
{
  struct dx_engine *engine = ctx->engine;
  size_t i;

  for (i = 0; i < engine->job_count; i++)
    if (!engine_is_patient(engine->jobs[i]) &&
        engine_service_of(engine, engine->jobs[i]) == ctx->svc)
      halt(engine->jobs[i], err);
}

void engine_needs_admin(struct call_ctx *ctx, const struct dx_err *err)
{
  struct dx_job *job = ctx->sub->job;
  struct dx_err full = *err;

  dx_advise(&full);
  halt_print_jobs(ctx, &full);
  if (!engine_is_patient(job))
    return;
  ctx->svc->due_ms = dx_monotonic_ms() + DX_ADMIN_RETRY_MS;
  engine_wait_for(ctx->sub, DX_ADMIN_RETRY_MS);
  engine_report_problem(ctx->engine, job, DX_NOTE_ADMIN, dx_monotonic_ms(),
                        run_of(ctx->sub)->due_ms, &full);
}

void engine_apply(struct dx_submission *sub, enum dx_event event)
{
  struct dx_err err;

  if (dx_submission_apply(sub, event, &err) != DX_OK)
    halt(sub->job, &err);
}

void engine_clear_problem(struct dx_submission *sub)
{
  if (sub->overdue && !dx_state_is_final(sub->state))
    dx_job_set_message(sub->job, DX_E_OVERDUE,
                       "the extraction takes longer than ProcessingLimit");
  else
    dx_job_set_message(sub->job, DX_OK, "");
}

static bool saved(struct dx_engine *engine, struct dx_job *job,
                  enum dx_code code, const struct dx_err *err)
{
  if (code == DX_OK)
    return true;
  job->dirty = true; /* nothing starts before this is written */
  engine_local_failure(engine, job, err);
  return false;
}

bool engine_save(struct dx_engine *engine, struct dx_job *job)
{
  struct dx_err err;

  return saved(engine, job, dx_job_save(job, &err), &err);
}

bool engine_publish(struct dx_engine *engine, struct dx_job *job)
{
  struct dx_err err;

  return saved(engine, job, dx_job_publish(job, &err), &err);
}
