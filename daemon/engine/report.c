/*
 * report.c - reports to the observer and the journal, and makes jobs wait or
 * stop.
 */
#include "daemon/engine/engine_internal.h"

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

int64_t engine_call_ms(const struct service_state *svc, int64_t due_ms)
{
  due_ms = engine_longer(due_ms, svc->due_ms);
  return engine_longer(due_ms, svc->host->limit.pause.until_ms);
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
  dx_job_set_retry(job, full.code, full.text, due_ms);
  job->drive->late_ms = dx_monotonic_ms(); /* at once: users are waiting */
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

/* An upload gets a wait of its own, because svc->due_ms delays only API
 * calls. */
void engine_needs_admin(struct call_ctx *ctx, const struct dx_err *err)
{
  struct dx_engine *engine = ctx->engine;
  struct service_state *svc = ctx->svc;
  size_t i, k;

  svc->due_ms = dx_monotonic_ms() + DX_ADMIN_RETRY_MS;
  svc->needs_admin = true;
  engine_set_away(svc, true);
  if (ctx->slot.ms == 0)
    engine_wait_for(ctx->sub, DX_ADMIN_RETRY_MS);
  for (i = 0; i < engine->job_count; i++) {
    struct dx_job *job = engine->jobs[i];

    for (k = 0; k < job->submission_count; k++)
      if (!dx_state_is_final(job->submissions[k].state) &&
          engine_section_of(engine, &job->submissions[k]) == svc) {
        engine_report_problem(engine, job, DX_NOTE_ADMIN, dx_monotonic_ms(),
                              svc->due_ms, err);
        break;
      }
  }
}

void engine_sub_needs_admin(struct dx_engine *engine, struct dx_submission *sub,
                            const struct dx_err *err)
{
  engine_wait_for(sub, DX_ADMIN_RETRY_MS);
  engine_report_problem(engine, sub->job, DX_NOTE_ADMIN, dx_monotonic_ms(),
                        run_of(sub)->due_ms, err);
}

void engine_apply(struct dx_submission *sub, enum dx_event event)
{
  struct dx_err err;

  if (dx_submission_apply(sub, event, &err) != DX_OK &&
      sub->job->halt.code == DX_OK)
    sub->job->halt = err;
}

#define OVERDUE_TEXT "the extraction is taking longer than ProcessingLimit"

void engine_overdue(struct dx_engine *engine, struct dx_submission *sub)
{
  const char *reason = sub->reason; /* of the last response */
  struct dx_err err;

  sub->overdue = true;
  engine_clear_problem(sub);
  (void)dx_fail(&err, DX_E_OVERDUE, 0, OVERDUE_TEXT "%s%s%s",
                reason[0] != '\0' ? " (" : "", reason,
                reason[0] != '\0' ? ")" : "");
  engine_note(engine, sub->job, DX_NOTE_OVERDUE, run_of(sub)->phase_ms, &err);
}

void engine_clear_problem(struct dx_submission *sub)
{
  if (sub->overdue && !dx_state_is_final(sub->state))
    dx_job_set_message(sub->job, DX_E_OVERDUE, OVERDUE_TEXT);
  else
    dx_job_set_message(sub->job, DX_OK, "");
}

bool engine_write(struct dx_engine *engine, struct dx_job *job,
                  enum dx_code (*write)(struct dx_job *, struct dx_err *))
{
  enum dx_code code = DX_OK;
  struct dx_err err;
  size_t i;

  for (i = 0; code == DX_OK && i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];
    struct service_state *svc = engine_section_of(engine, sub);

    if (!dx_state_is_final(sub->state) || sub->state == DX_ST_EXTRACTED ||
        (sub->failed_at != 0 && run_of(sub)->told_ms == sub->failed_at))
      continue;
    if (sub->state == DX_ST_CANCELED && job->print.final == DX_FINAL_CANCELED) {
      /* If the print job was canceled in CUPS, there is no manifest; files that
       * were delivered remain (docextract-results(5)). */
      sub->hook_ms = 0;
    } else if (svc != NULL) { /* otherwise, its directory is not known */
      code = dx_results_prepare(svc->service->results_dir, &err);
      if (sub->failed_at == 0)
        sub->failed_at = dx_wall_ms();
      if (code == DX_OK)
        code = dx_manifest_deliver(sub, svc->service->results_dir, &err);
      if (code == DX_OK)
        engine_count_manifest(engine, sub);
    }
    if (code == DX_OK)
      run_of(sub)->told_ms = sub->failed_at;
  }
  if (code == DX_OK)
    code = write(job, &err);
  if (code == DX_OK) {
    if (engine->observer.saved != NULL)
      engine->observer.saved(engine->observer.ctx, job);
    return true;
  }
  job->dirty = true; /* no step starts before this is written */
  engine_local_failure(engine, job, &err);
  return false;
}
