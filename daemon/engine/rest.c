/*
 * rest.c - the jobs that a turn of the event loop need not look at: thousands
 * may wait during an outage. A job rests until a time, or in the line of its
 * section until it is the next one to be registered; engine_rouse() ends its
 * rest when something has changed. A job at rest has no open descriptor.
 */
#include "daemon/engine/engine_internal.h"

static int rest_compare_times(const struct dx_drive *a,
                              const struct dx_drive *b)
{
  if (a->rest_ms != b->rest_ms)
    return a->rest_ms < b->rest_ms ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

/* Documents are registered in the order in which they were printed. */
static int rest_compare_ages(const struct dx_drive *a, const struct dx_drive *b)
{
  if (a->job->received_at != b->job->received_at)
    return a->job->received_at < b->job->received_at ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

/* RB_GENERATE_STATIC needs a macro that glibc's headers conflict with. */
RB_GENERATE_INTERNAL(times, dx_drive, node, rest_compare_times, static inline)
RB_GENERATE_INTERNAL(ages, dx_drive, node, rest_compare_ages, static inline)

void engine_rouse(struct dx_drive *drive)
{
  struct dx_engine *engine = drive->engine;

  drive->next_ms = 0;
  if (drive->rest == DX_REST_NONE)
    return;
  if (drive->rest == DX_REST_UNTIL)
    RB_REMOVE(times, &engine->resting, drive);
  else
    RB_REMOVE(ages, &drive->line->line, drive);
  drive->rest = DX_REST_NONE;
  TAILQ_INSERT_TAIL(&engine->roused, drive, turn);
}

void engine_rouse_all(struct dx_engine *engine)
{
  struct dx_drive *drive;

  TAILQ_FOREACH (drive, &engine->drives, link)
    engine_rouse(drive);
}

void engine_rouse_resting(struct dx_engine *engine)
{
  struct dx_drive *drive;

  while ((drive = RB_MIN(times, &engine->resting)) != NULL)
    engine_rouse(drive);
}

int64_t engine_rouse_due(struct dx_engine *engine, int64_t now)
{
  struct dx_drive *drive;
  size_t i;

  for (i = 0; i < engine->config->service_count; i++)
    if ((drive = RB_MIN(ages, &engine->services[i].line)) != NULL)
      engine_rouse(drive);
  while ((drive = RB_MIN(times, &engine->resting)) != NULL &&
         drive->rest_ms <= now)
    engine_rouse(drive);
  return drive != NULL ? drive->rest_ms : INT64_MAX;
}

/* It waits for its first call: what holds it back also holds back all others
 * in its line. After a failed call, or source, an open breaker chooses by more
 * than age. */
static bool rest_is_new(const struct dx_submission *sub)
{
  const struct run *run = run_of(sub);

  return sub->state == DX_ST_STORED && run->tries == 0 &&
         run->rejections == 0 && sub->start_overs == 0;
}

/* The section in whose line the job waits: that of all its documents, which are
 * new, except for those that have ended. NULL: it has something else to do. */
static struct service_state *rest_line(const struct dx_job *job)
{
  struct service_state *line = NULL;
  size_t i;

  if (job->behind)
    return NULL;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    const struct run *run = run_of(sub);

    if (dx_state_is_final(sub->state))
      continue;
    if (run->line == NULL || !rest_is_new(sub) ||
        (line != NULL && run->line != line))
      return NULL;
    line = run->line;
  }
  return line;
}

/* A turn counts the sources that are to be filled, and aborts the calls of jobs
 * that were canceled. */
static bool rest_must_be_looked_at(const struct dx_job *job)
{
  size_t i;

  if (job->attended || dx_job_must_be_saved(job) || job->is_halted)
    return true;
  for (i = 0; i < job->submission_count; i++)
    if (run_of(&job->submissions[i])->call != NULL ||
        job->submissions[i].state == DX_ST_REGISTERED)
      return true;
  return false;
}

static bool rest_is_candidate(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (run_of(&job->submissions[i])->is_candidate)
      return true;
  return false;
}

void engine_rest(struct dx_drive *drive, int64_t now)
{
  struct dx_engine *engine = drive->engine;
  struct dx_job *job = drive->job;
  struct service_state *line;
  int64_t next_ms = drive->next_ms;

  /* A turn that ends early does not look at it again, although a call of it may
   * have ended since then. */
  drive->next_ms = 0;
  if (next_ms <= now || rest_must_be_looked_at(job))
    return;
  line = rest_line(job);
  if (line != NULL) {
    drive->rest = DX_REST_IN_LINE;
    drive->line = line;
    (void)RB_INSERT(ages, &line->line, drive);
  } else if (next_ms != INT64_MAX && !rest_is_candidate(job)) {
    drive->rest = DX_REST_UNTIL;
    drive->rest_ms = next_ms;
    (void)RB_INSERT(times, &engine->resting, drive);
  } else {
    return;
  }
  TAILQ_REMOVE(&engine->roused, drive, turn);
  dx_job_close_dir(job);
}
