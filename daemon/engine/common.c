/*
 * common.c - what all steps share: sections, permission, notes and problems,
 * waits, and the journal.
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
  const struct dx_observer *observer = &engine->observer;
  struct dx_job *job = sub->job;

  switch (observer->may_send(observer->ctx, job)) {
  case DX_MAY_SEND:
    return true;
  case DX_MAY_CANCEL:
    dx_job_end(job, DX_EV_CANCEL);
    return false;
  default: /* calls in progress continue */
    job->drive->ask_ms = dx_monotonic_ms() + DX_ASK_AGAIN_MS;
    return false;
  }
}

void engine_apply(struct dx_submission *sub, enum dx_event event)
{
  struct dx_err err;

  if (dx_submission_apply(sub, event, &err) != DX_OK &&
      sub->job->halt.code == DX_OK)
    sub->job->halt = err;
}

void engine_wait_for(struct dx_submission *sub, int64_t ms)
{
  run_of(sub)->due_ms = dx_monotonic_ms() + ms;
}

enum dx_code engine_write(struct dx_engine *engine, struct dx_job *job,
                          bool durably, struct dx_err *err)
{
  enum dx_code code =
      durably ? dx_job_save(job, err) : dx_job_publish(job, err);

  if (code == DX_OK)
    engine->observer.saved(engine->observer.ctx, job);
  else
    job->dirty = true; /* no step starts before this is written */
  return code;
}

/* ---- notes and problems ---- */

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
  if (due_ms != 0) /* users are shown the wall clock */
    due_ms += dx_wall_ms() - dx_monotonic_ms();
  dx_job_set_message(job, full.code, full.text, due_ms);
  job->drive->late_ms = dx_monotonic_ms(); /* at once: users are waiting */
}

void engine_clear_problem(struct dx_submission *sub)
{
  if (sub->overdue && !dx_state_is_final(sub->state))
    dx_job_set_message(sub->job, DX_E_OVERDUE, ENGINE_OVERDUE_TEXT, 0);
  else
    dx_job_set_message(sub->job, DX_OK, "", 0);
}

void engine_local_failure(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err)
{
  dx_log(DX_LOG_ERROR, "%s: %s; trying again in %d s", dx_code_name(err->code),
         err->text, DX_LOCAL_RETRY_MS / 1000);
  job->drive->due_ms = dx_monotonic_ms() + DX_LOCAL_RETRY_MS;
  engine_report_problem(engine, job, DX_NOTE_LOCAL, dx_monotonic_ms(),
                        job->drive->due_ms, err);
}

void engine_log_admin(const char *section, const struct dx_err *err)
{
  dx_log(DX_LOG_ERROR,
         "service '%s': %s: %s; its jobs wait and are retried every 10 minutes "
         "and when the configuration changes",
         section, dx_code_name(err->code), err->text);
}

void engine_sub_needs_admin(struct dx_engine *engine, struct dx_submission *sub,
                            const struct dx_err *err)
{
  engine_wait_for(sub, DX_ADMIN_RETRY_MS);
  engine_log_admin(dx_submission_section(sub), err);
  engine_report_problem(engine, sub->job, DX_NOTE_ADMIN, dx_monotonic_ms(),
                        run_of(sub)->due_ms, err);
}
