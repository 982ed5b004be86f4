/*
 * deliver.c - delivers results and manifests (doc/policy.md, "Results").
 */
#include "daemon/engine/engine_internal.h"

#include <fcntl.h>

/* For `docextract metrics`. */
static void deliver_count(struct dx_engine *engine,
                          const struct dx_submission *sub)
{
  int64_t since_upload_ms = dx_wall_ms() - sub->uploaded_at;
  bool failed = dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED;
  struct dx_counts *counts = &engine_section_of(engine, sub)->counters.counts;

  counts->failed += failed;
  counts->extracted += !failed;
  if (!failed && sub->uploaded_at != 0 && since_upload_ms > 0)
    counts->extraction_ms += since_upload_ms;
}

/* Delivers the results that are stored, for one turn. */
static enum dx_code deliver_results(struct dx_submission *sub, const char *dir,
                                    struct dx_err *err)
{
  enum dx_code code = dx_fs_make_dir(AT_FDCWD, dir, DX_RESULTS_DIR_MODE, err);
  int64_t until = dx_monotonic_ms() + DX_TURN_MS;
  size_t i;

  for (i = 0;
       code == DX_OK && i < sub->case_count && dx_monotonic_ms() <= until;
       i++) {
    if (!dx_case_can_be_delivered(&sub->cases[i]))
      continue;
    code = dx_result_deliver(sub, i, dir, err);
    if (code == DX_OK) { /* not durable: it may be delivered again */
      sub->cases[i].state = DX_CASE_DELIVERED;
      sub->job->behind = true;
    }
    if (code ==
        DX_E_DAMAGED) { /* the stored copy was changed: fetch it again */
      sub->cases[i].state = DX_CASE_WAITING;
      dx_submission_mark(sub);
      code = DX_OK;
    }
  }
  return code;
}

void engine_deliver(struct dx_engine *engine, struct dx_submission *sub)
{
  const char *dir = engine_section_of(engine, sub)->service->results_dir;
  struct dx_err err;
  enum dx_code code = deliver_results(sub, dir, &err);
  size_t done = 0;

  if (code == DX_E_TAKEN) { /* only the administrator can decide which one */
    dx_submission_end(sub, DX_EV_FAIL, code, err.text);
    return;
  }
  while (done < sub->case_count && sub->cases[done].state == DX_CASE_DELIVERED)
    done++;
  if (code == DX_OK && done == sub->case_count) {
    code = dx_manifest_deliver(sub, dir, NULL, &err);
    if (code == DX_OK) {
      deliver_count(engine, sub);
      engine_apply(sub, DX_EV_DELIVERED);
      engine_clear_problem(engine, sub);
    }
  }
  if (code != DX_OK)
    engine_local_failure(engine, sub->job, &err);
}

/* ---- failures ---- */

static enum dx_code deliver_failure(struct dx_engine *engine,
                                    struct dx_submission *sub,
                                    struct dx_err *err)
{
  const struct service_state *svc = engine_section_of(engine, sub);
  enum dx_code code = DX_OK;

  if (sub->state == DX_ST_CANCELED &&
      sub->job->print.final == DX_FINAL_CANCELED) {
    /* If the print job was canceled in CUPS, there is no manifest; files that
     * were delivered remain (docextract-results(5)). */
    dx_submission_end_hook(sub);
  } else if (svc != NULL) { /* otherwise, its directory is not known */
    if (sub->failed_at == 0)
      sub->failed_at = dx_wall_ms();
    code = dx_results_prepare(svc->service->results_dir, err);
    if (code == DX_OK)
      code = dx_manifest_deliver(sub, svc->service->results_dir, NULL, err);
    if (code == DX_OK)
      deliver_count(engine, sub);
  }
  if (code == DX_OK)
    run_of(sub)->deliver.told_ms = sub->failed_at;
  return code;
}

enum dx_code engine_tell_failures(struct dx_engine *engine, struct dx_job *job,
                                  struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    if (dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED &&
        (sub->failed_at == 0 || run_of(sub)->deliver.told_ms != sub->failed_at))
      code = deliver_failure(engine, sub, err);
  }
  return code;
}

void engine_resume_deliver(struct dx_submission *sub, bool was_saved)
{
  if (!dx_state_is_final(sub->state) || sub->state == DX_ST_EXTRACTED)
    return;
  if (was_saved && sub->failed_at != 0) {
    run_of(sub)->deliver.told_ms = sub->failed_at;
    return;
  }
  dx_submission_mark(sub); /* it may have no manifest yet */
  if (sub->job->has_hook && sub->hook_ms == 0)
    dx_submission_call_hook(sub);
}
