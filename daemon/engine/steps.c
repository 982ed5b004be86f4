/*
 * steps.c - performs the due steps of one job, and determines when its journal
 * is written.
 */
#include "daemon/engine/engine_internal.h"

/* A large journal is written less often: these times apply to each part of it.
 */
#define DX_JOURNAL_PART_BYTES 98304
#define DX_JOURNAL_GAP_MS 250   /* between writes that steps wait for */
#define DX_JOURNAL_LATE_MS 1000 /* to collect other changes, and once more */

void engine_drop_start_over(struct dx_engine *engine,
                            const struct dx_submission *sub)
{
  struct service_state *svc = engine_section_of(engine, sub);

  if (svc != NULL)
    dx_breaker_drop(&svc->failing, run_of(sub)->id);
}

bool engine_save_job(struct dx_engine *engine, struct dx_job *job, bool durably)
{
  struct dx_err err;
  enum dx_code code = engine_tell_failures(engine, job, &err);

  if (code == DX_OK)
    code = durably ? dx_job_save(job, &err) : dx_job_publish(job, &err);
  job->drive->written_ms = dx_monotonic_ms();
  if (code == DX_OK) {
    engine_news(engine, job)->saved = true;
    return true;
  }
  job->dirty = true; /* no step follows before this is written */
  engine_local_failure(engine, job, &err);
  return false;
}

/* Performs the due step of a submission; returns when to check again. */
static int64_t engine_run_submission(struct dx_engine *engine,
                                     struct dx_submission *sub, int64_t now)
{
  struct run *run = run_of(sub);
  struct service_state *svc;
  struct dx_err err;
  int64_t due;
  enum step step;

  if (run->call != NULL || sub->unsaved)
    return NEVER;
  if (dx_state_is_final(sub->state)) {
    engine_drop_start_over(engine, sub);
    due = engine_hook_ms(sub);
    if (due > now)
      return due;
    engine_consider_hook(engine, sub);
    run->is_candidate = true;
    return NEVER;
  }
  svc = engine_service_of(engine, sub, &err);
  if (svc == NULL) {
    if (now >= run->due_ms)
      engine_sub_needs_admin(engine, sub, &err);
    return run->due_ms;
  }
  engine_begin_phase(engine, sub);
  if ((run->upload.tries > 0 || sub->problem.is_of_storage) &&
      (sub->state == DX_ST_PROCESSING || sub->state == DX_ST_COMPLETE))
    engine_put_landed(engine, sub);
  step = engine_next_step(sub, &due);
  if (step == STEP_NONE)
    return NEVER;
  if (due > now && (step == STEP_PUT || step == STEP_DELIVER))
    return due;
  if ((step == STEP_CREATE || step == STEP_PUT) &&
      !dx_submission_is_here(sub)) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_MISSING, /* final */
                      "its document is no longer in the spool; release the "
                      "job, or send the document again");
  } else if (step == STEP_PUT) {
    engine_consider_put(engine, sub, now);
  } else if (step == STEP_DELIVER) {
    engine_deliver(engine, sub);
    return now; /* the next step may be due */
  } else {
    due = engine_consider(engine, svc, sub, step, due, now);
    run->is_candidate = due == NEVER;
    return due;
  }
  return NEVER;
}

/* True if more results will be fetched at once: the journal can wait for them,
 * and is written once for all. */
static bool engine_fetches_more(const struct dx_job *job, int64_t now)
{
  const struct dx_case *c;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    if (sub->state != DX_ST_COMPLETE)
      continue;
    c = engine_next_case(sub);
    if (c != NULL &&
        engine_longer(c->polled.due_ms, run_of(sub)->due_ms) <= now)
      return true;
  }
  return false;
}

static int64_t engine_journal_parts(const struct dx_job *job)
{
  return (int64_t)(job->journal_bytes / DX_JOURNAL_PART_BYTES);
}

/* The earliest time for the next write: those of several documents share one.
 */
static int64_t engine_journal_ms(const struct dx_job *job)
{
  return job->drive->written_ms + DX_JOURNAL_GAP_MS * engine_journal_parts(job);
}

/* True if a step waits for the next write. */
static bool engine_is_awaited(const struct dx_job *job, int64_t now)
{
  size_t i;

  for (i = 0; job->unsaved && i < job->submission_count; i++)
    if (job->submissions[i].unsaved)
      return true;
  return job->unsaved && !engine_fetches_more(job, now);
}

/* When the journal is to be written; NEVER: nothing has changed. What no step
 * waits for is collected for a while, so that one write covers several changes.
 */
static int64_t engine_journal_due(struct dx_job *job, int64_t now)
{
  struct dx_drive *drive = job->drive;

  if (!job->behind)
    drive->late_ms = 0;
  else if (drive->late_ms == 0)
    drive->late_ms = now + DX_JOURNAL_LATE_MS +
                     DX_JOURNAL_LATE_MS * engine_journal_parts(job);
  if (job->dirty) /* after a failure, when the job continues */
    return engine_longer(now, drive->due_ms);
  if (engine_is_awaited(job, now))
    return engine_journal_ms(job);
  return job->behind ? engine_longer(drive->late_ms, engine_journal_ms(job))
                     : NEVER;
}

/* Performs the due steps of a job; returns when the next one is due. */
static int64_t engine_run_steps(struct dx_engine *engine, struct dx_job *job,
                                int64_t now)
{
  int64_t next = NEVER, due;
  size_t i;

  if (job->drive->due_ms != 0) {
    job->drive->due_ms = 0;
    dx_job_set_problem(job, DX_OK, "", 0);
    engine_tell_problem(engine, job);
  }
  for (i = 0; i < job->submission_count; i++) {
    due = engine_run_submission(engine, &job->submissions[i], now);
    next = due < next ? due : next;
    due = engine_limit_ms(engine, &job->submissions[i]);
    next = due < next ? due : next;
    if (job->drive->due_ms > now)
      return job->drive->due_ms;
  }
  return next;
}

int64_t engine_run_job(struct dx_engine *engine, struct dx_job *job)
{
  int64_t now = dx_monotonic_ms(), next, due;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    run_of(&job->submissions[i])->is_candidate = false;
    run_of(&job->submissions[i])->line = NULL;
  }
  if (engine_journal_due(job, now) <= now) {
    job->drive->late_ms = 0;
    (void)engine_save_job(engine, job, dx_job_must_be_saved(job));
  }
  next = now < job->drive->due_ms ? job->drive->due_ms
                                  : engine_run_steps(engine, job, now);
  due = engine_journal_due(job, now);
  return due < next ? due : next;
}
