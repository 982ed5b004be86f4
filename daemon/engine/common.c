/*
 * common.c - what all steps share: sections, permission, waits, news, and
 * problems.
 */
#include "daemon/engine/engine_internal.h"

#include <string.h>

#include "lib/spool/sentence.h"

/* ---- sections ---- */

struct service_state *engine_service_named(struct dx_engine *engine,
                                           const char *name)
{
  size_t i;

  for (i = 0; i < engine->config->service_count; i++)
    if (strcmp(engine->services[i].service->name, name) == 0)
      return &engine->services[i];
  return NULL;
}

struct service_state *engine_section_of(struct dx_engine *engine,
                                        const struct dx_submission *sub)
{
  return engine_service_named(engine, dx_submission_section(sub));
}

struct service_state *engine_service_of(struct dx_engine *engine,
                                        const struct dx_submission *sub,
                                        struct dx_err *err)
{
  struct service_state *svc = engine_section_of(engine, sub);
  const char *name = dx_submission_section(sub);

  if (svc == NULL)
    (void)dx_fail(err, DX_E_CONFIG, 0,
                  "there is no section <Service %s> in '%s': restore it, or, "
                  "if it was renamed, run 'docextract retry %s --service NAME'",
                  name, engine->config->path, sub->job->key);
  else if (sub->base_url != NULL &&
           strcmp(sub->base_url, svc->service->base_url) != 0)
    (void)dx_fail(err, DX_E_CONFIG, 0,
                  "BaseURL of <Service %s> was changed while a document is in "
                  "progress: restore it until the job has ended, or cancel the "
                  "job with: docextract cancel %s; it was '%s'",
                  name, sub->job->key, sub->base_url);
  else
    return svc;
  return NULL;
}

const char *engine_key_id(const char *key_id)
{
  return key_id != NULL ? key_id : "none";
}

/* ---- the job ---- */

bool engine_may_send(struct dx_engine *engine, struct dx_submission *sub)
{
  struct dx_drive *drive = sub->job->drive;
  int64_t now = dx_monotonic_ms();

  engine_rouse(drive);
  if (now < drive->permit.until_ms) {
    if (drive->permit.until_ms != NEVER)
      drive->permit.until_ms = 0;
    drive->ask_ms = 0;
    drive->asking = NULL;
    return true;
  }
  drive->asking = sub;
  engine_news(engine, sub->job)->asks = true;
  if (drive->ask_ms != 0) { /* it has asked in vain: others need not wait */
    dx_breaker_drop(&engine_section_of(engine, sub)->failing, run_of(sub)->id);
    run_of(sub)->waiting_since = 0;
  }
  drive->ask_ms = now + DX_ASK_AGAIN_MS;
  return false;
}

void engine_apply(struct dx_submission *sub, enum dx_event event)
{
  struct dx_err err;

  if (dx_submission_apply(sub, event, &err) == DX_OK || sub->job->is_halted)
    return;
  dx_job_set_problem(sub->job, err.code, err.text, 0);
  sub->job->is_halted = true;
}

/* ---- waits ---- */

void engine_wait(struct dx_submission *sub, int64_t ms, enum wait wait)
{
  run_of(sub)->due_ms = dx_monotonic_ms() + ms;
  run_of(sub)->wait = wait;
}

enum calls engine_next_calls(const struct dx_submission *sub)
{
  if (dx_state_is_final(sub->state))
    return CALLS_NONE;
  return sub->state == DX_ST_STORED ? CALLS_CREATE : CALLS_GET;
}

void engine_resume(struct dx_engine *engine, const struct service_state *svc,
                   enum calls kind, enum wait wait)
{
  struct dx_drive *drive;
  size_t i;

  TAILQ_FOREACH (drive, &engine->drives, link) {
    engine_rouse(drive);
    for (i = 0; i < drive->job->submission_count; i++) {
      struct dx_submission *sub = &drive->job->submissions[i];
      struct run *run = run_of(sub);

      if (engine_section_of(engine, sub) != svc ||
          engine_next_calls(sub) != kind)
        continue;
      if (run->wait == wait)
        engine_wait(sub, 0, WAIT_NONE);
      if (run->is_held_back) {
        run->is_held_back = false;
        engine_clear_problem(engine, sub);
      }
    }
  }
}

int64_t engine_overdue_wait_ms(const struct service_state *svc,
                               const struct dx_submission *sub)
{
  /* It is not known whether it was uploaded, if it is not. */
  int64_t from_ms =
      sub->uploaded_at != 0 ? sub->uploaded_at : sub->registered_at;

  return dx_overdue_wait_ms(dx_wall_ms() - from_ms,
                            svc->service->processing_limit_ms);
}

/* ---- news and problems ---- */

struct dx_news *engine_news(struct dx_engine *engine, struct dx_job *job)
{
  struct dx_drive *drive = job->drive;

  if (!drive->has_news)
    TAILQ_INSERT_TAIL(&engine->news, drive, told);
  drive->has_news = true;
  return &drive->news;
}

/* The first rejection of a token, which may be because of its age: the next
 * token shows whether an administrator must act. */
static bool is_of_first_token(const struct dx_job *job,
                              const struct dx_problem *problem)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    if (&sub->problem == problem)
      return run_of(sub)->has_new_token && run_of(sub)->rejections == 0;
  }
  return false;
}

/* How a problem is shown to the user who printed; UP: not at all. */
static enum dx_note_kind problem_kind(const struct dx_job *job,
                                      const struct dx_problem *problem)
{
  switch (dx_class_of(problem->code)) {
  case DX_CL_LOCAL:
    return DX_NOTE_LOCAL;
  case DX_CL_RATE:
    return DX_NOTE_PAUSED;
  case DX_CL_TOKEN:
    return is_of_first_token(job, problem) ? DX_NOTE_TOKEN : DX_NOTE_ADMIN;
  case DX_CL_CONFIG:
    return DX_NOTE_ADMIN;
  case DX_CL_OVERDUE:
    return DX_NOTE_OVERDUE;
  case DX_CL_GONE:
    return dx_problem_needs_admin(problem) ? DX_NOTE_ADMIN : DX_NOTE_DOWN;
  case DX_CL_TRANSIENT:
    return problem->code == DX_E_UNEXPECTED || problem->code == DX_E_RESPONSE
               ? DX_NOTE_UNEXPECTED
               : DX_NOTE_DOWN;
  default: /* a decision is needed, or OnResult failed */
    return problem->code == DX_E_JOB ? DX_NOTE_ADMIN : DX_NOTE_UP;
  }
}

struct dx_note dx_engine_problem(const struct dx_job *job)
{
  const struct dx_problem *problem = dx_job_problem(job);
  struct dx_note note = {.kind = problem_kind(job, problem),
                         .code = problem->code,
                         .text = dx_line(problem->text)};

  if (problem->since_at != 0)
    note.since_ms = dx_monotonic_ms() - (dx_wall_ms() - problem->since_at);
  return note;
}

bool dx_engine_progress(const struct dx_job *job, struct dx_note *ret_note)
{
  int64_t done = 0, total = 0, since_ms = NEVER;
  bool uploads = false;
  size_t i, k;

  for (i = 0; i < job->document_count; i++)
    if (job->documents[i].entry.kind == DX_KIND_DOCUMENT)
      total += job->documents[i].entry.length;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    const struct run *run = run_of(sub);

    for (k = 0; k < sub->file_count; k++)
      if (sub->files[k].put == DX_PUT_DONE)
        done += job->documents[sub->files[k].document].entry.length;
    if (run->call != NULL && run->call->kind == CALLS_NONE) {
      uploads = true;
      done += run->call->sent_bytes;
    }
    if (run->poll.phase_ms != 0 && run->poll.phase_ms < since_ms &&
        !dx_state_is_final(sub->state))
      since_ms = run->poll.phase_ms;
  }
  *ret_note = uploads ? (struct dx_note){.kind = DX_NOTE_UPLOADING,
                                         .done = done,
                                         .total = total,
                                         .text = ""}
                      : (struct dx_note){.kind = DX_NOTE_WAITING,
                                         .since_ms = since_ms,
                                         .text = ""};
  return uploads || (since_ms != NEVER && dx_job_problem(job)->text == NULL);
}

void engine_tell_problem(struct dx_engine *engine, struct dx_job *job)
{
  engine_news(engine, job)->problem = true;
}

static int64_t wall_of(int64_t due_ms)
{
  return due_ms != 0 ? due_ms + dx_wall_ms() - dx_monotonic_ms() : 0;
}

void engine_report_problem(struct dx_engine *engine, struct dx_submission *sub,
                           bool is_of_storage, int64_t due_ms,
                           const struct dx_err *err)
{
  struct dx_err full = *err;

  if (dx_state_is_final(sub->state))
    return;
  dx_advise(&full);
  run_of(sub)->is_held_back = false;
  dx_submission_set_problem(sub, full.code, full.text, wall_of(due_ms));
  sub->problem.is_of_storage = is_of_storage;
  sub->job->drive->late_ms = dx_monotonic_ms(); /* users are waiting */
  engine_tell_problem(engine, sub->job);
}

void engine_clear_problem(struct dx_engine *engine, struct dx_submission *sub)
{
  bool is_overdue = sub->overdue && !dx_state_is_final(sub->state);
  bool had_one = sub->problem.text != NULL;

  if (is_overdue && sub->problem.code == DX_E_OVERDUE)
    return; /* it remains, and was told */
  dx_submission_set_problem(sub, is_overdue ? DX_E_OVERDUE : DX_OK,
                            is_overdue ? ENGINE_OVERDUE_TEXT : "", 0);
  if (had_one)
    engine_tell_problem(engine, sub->job);
}

void engine_local_failure(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err)
{
  struct dx_err full = *err;

  dx_job_log(DX_LOG_ERROR, job, "%s: %s; trying again in %d s",
             dx_code_name(err->code), err->text, DX_LOCAL_RETRY_MS / 1000);
  dx_advise(&full);
  job->drive->due_ms = dx_monotonic_ms() + DX_LOCAL_RETRY_MS;
  dx_job_set_problem(job, full.code, full.text, wall_of(job->drive->due_ms));
  job->drive->late_ms = dx_monotonic_ms();
  engine_tell_problem(engine, job);
}

void engine_log_admin(const struct dx_submission *sub, const struct dx_err *err)
{
  dx_submission_log(DX_LOG_ERROR, sub,
                    "%s: %s; retried at least every 10 minutes, and "
                    "when the configuration changes",
                    dx_code_name(err->code), err->text);
}

void engine_sub_needs_admin(struct dx_engine *engine, struct dx_submission *sub,
                            const struct dx_err *err)
{
  engine_wait(sub, DX_ADMIN_RETRY_MS, WAIT_ADMIN);
  engine_log_admin(sub, err);
  engine_report_problem(engine, sub, false, run_of(sub)->due_ms, err);
}
