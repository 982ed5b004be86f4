/*
 * fetch.c - polls an uploaded submission, and fetches and delivers its results
 * (doc/policy.md, "Exactly once", "Poll schedule").
 */
#include "daemon/engine/engine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- polling ---- */

static enum dx_phase phase_of(const struct dx_submission *sub)
{
  return sub->state == DX_ST_COMPLETE ? DX_PHASE_EXTRACT : DX_PHASE_SOURCE;
}

/* Ready now, but not at the last poll: records both times for the poll schedule
 * and for `docextract metrics`. */
static void found_ready(struct call_ctx *ctx)
{
  int64_t age_ms = dx_monotonic_ms() - run_of(ctx->sub)->phase_ms;
  int64_t not_yet_ms = ctx->polled->not_yet_ms;
  enum dx_phase phase = phase_of(ctx->sub);
  struct dx_counts one = {0};

  dx_latency_learn(ctx->svc->host->latency, phase, engine_pages(ctx->sub),
                   not_yet_ms, age_ms);
  one.found[phase] = 1;
  one.late_ms[phase] = age_ms - not_yet_ms;
  dx_counters_add(ctx->svc->counters, &one);
}

/* Schedules the next poll; hourly if the submission is overdue. */
static void poll_later(struct call_ctx *ctx)
{
  struct dx_submission *sub = ctx->sub;
  struct polled *polled = ctx->polled;
  struct run *run = run_of(sub);
  enum dx_phase phase = phase_of(sub);
  struct dx_poll_forecast forecast;
  int64_t now;

  if (sub->state == DX_ST_REGISTERED)
    run->ask_first = run->unclear = true;
  engine_begin_phase(ctx->engine, sub);
  now = dx_monotonic_ms();
  forecast =
      dx_latency_predict(ctx->svc->host->latency, phase, engine_pages(sub));
  polled->not_yet_ms = now - run->phase_ms;
  polled->wait_ms = sub->overdue
                        ? DX_OVERDUE_POLL_MS
                        : dx_poll_wait_ms(&forecast, phase,
                                          engine_longer(polled->not_yet_ms, 1),
                                          polled->wait_ms, dx_random_unit());
  *ctx->due_ms =
      now + engine_longer(polled->wait_ms, ctx->response->retry_after_ms);
  engine_note(ctx->engine, sub->job, DX_NOTE_WAITING, run->phase_ms, NULL);
}

/*
 * Registers again only if the first source will certainly not be processed: its
 * URLs have expired or it is gone, and two checks, DX_REREGISTER_GAP_MS apart,
 * found files missing.
 */
static void check_before_reregistering(struct dx_submission *sub,
                                       const char *reason)
{
  struct run *run = run_of(sub);
  int64_t now = dx_monotonic_ms();

  if (run->sent_ms != 0 && now - run->sent_ms < DX_REREGISTER_GAP_MS) {
    run->due_ms = run->sent_ms + DX_REREGISTER_GAP_MS;
    return;
  }
  if (run->pending_ms == 0)
    run->pending_ms = now;
  if (now - run->pending_ms < DX_REREGISTER_GAP_MS) {
    run->due_ms = run->pending_ms + DX_REREGISTER_GAP_MS;
    return;
  }
  if (sub->reregistrations >= DX_REREGISTRATIONS_MAX) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE, reason);
    return;
  }
  sub->reregistrations++;
  run->pending_ms = 0;
  engine_wait_for(sub, DX_REREGISTER_WAIT_MS);
  engine_apply(sub, DX_EV_REREGISTER);
}

/* Not found: a new source or case may not be visible yet. If one with our files
 * is still not found at the second try, the submission fails. */
static void poll_gone(struct call_ctx *ctx, const struct dx_err *err)
{
  struct dx_submission *sub = ctx->sub;
  bool is_case = sub->state == DX_ST_COMPLETE;
  int64_t age =
      dx_wall_ms() - (is_case ? sub->complete_at : sub->registered_at);
  bool is_new = age >= 0 && age < DX_GONE_WAIT_MS;

  if (is_new && is_case)
    poll_later(ctx);
  else if (is_new)
    engine_transient(ctx, err);
  else if (!is_case && (sub->state == DX_ST_REGISTERED || sub->verify))
    check_before_reregistering(sub, "the service lost it repeatedly");
  else if (++ctx->polled->absent >= 2)
    dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE,
                      "uploaded, but the service no longer has it");
  else
    *ctx->due_ms = dx_monotonic_ms() + DX_GONE_WAIT_MS;
}

/* Handles any code but DX_OK. */
static void poll_failed(struct call_ctx *ctx, enum dx_code code,
                        const struct dx_err *err)
{
  if (engine_is_denied(ctx, code)) {
    ctx->polled->absent = 0;
  } else if (code == DX_E_NOT_YET) {
    engine_service_up(ctx);
    ctx->polled->unexpected = 0;
    poll_later(ctx);
  } else if (code == DX_E_GONE) {
    poll_gone(ctx, err);
  } else if (code == DX_E_UNEXPECTED) {
    engine_unexpected(ctx, err);
  } else {
    engine_failed(ctx, err);
    *ctx->due_ms = run_of(ctx->sub)->due_ms; /* other cases come first */
  }
}

/* ---- get source ---- */

/* The service failed to extract the source: starts again with create source, up
 * to DX_START_OVER_MAX times. */
static void start_over(struct call_ctx *ctx)
{
  static const int64_t waits[DX_START_OVER_MAX] = {
      DX_START_OVER_1_MS, DX_START_OVER_2_MS, DX_START_OVER_3_MS};
  struct dx_submission *sub = ctx->sub;

  if (!dx_submission_is_here(sub)) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                      "the service failed to extract it; release the job "
                      "to send it again");
  } else if (sub->start_overs >= DX_START_OVER_MAX) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                      "the service failed to extract it, several times");
  } else {
    engine_wait_for(sub, waits[sub->start_overs]);
    sub->start_overs++;
    engine_apply(sub, DX_EV_SEEN_FAILED);
  }
}

/* Handles pending_upload, before or after the last PUT returned 200. */
static void seen_pending(struct call_ctx *ctx, const struct dx_source *source)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  bool missing = source->expected < 0 || source->uploaded < 0 ||
                 source->uploaded < source->expected;
  bool is_due = engine_put_is_due(sub);
  bool stuck = dx_monotonic_ms() - run->phase_ms > DX_STUCK_MS;
  bool can_put_again = is_due && dx_submission_is_here(sub);
  size_t i;

  engine_apply(sub, DX_EV_SEEN_PENDING);
  for (i = 0; i < sub->file_count; i++)
    if (sub->files[i].url == NULL)
      can_put_again = false;
  if (sub->state == DX_ST_REGISTERED && missing && is_due) {
    run->ask_first = false; /* PUT again to the same URL */
    if (run->unclear) {     /* the wait starts again */
      run->unclear = sub->overdue = false;
      run->phase_ms = 0;
    }
  } else if (sub->state == DX_ST_UPLOADED && missing && can_put_again &&
             (sub->verify || (stuck && !sub->put_again))) {
    /* Upload again to the same source, with the same URLs. */
    engine_apply(sub, DX_EV_PUT_AGAIN);
    for (i = 0; i < sub->file_count; i++)
      sub->files[i].put = DX_PUT_SENDING;
    run->due_ms = 0;
    sub->put_again = stuck;
  } else if (!is_due && (sub->state == DX_ST_REGISTERED
                             ? missing
                             : sub->state == DX_ST_UPLOADED && sub->verify &&
                                   source->uploaded <= 0)) {
    check_before_reregistering(sub, "its upload URL expired repeatedly");
  } else {
    poll_later(ctx); /* the service will process it */
  }
}

static void seen_complete(struct call_ctx *ctx, const struct dx_source *source)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  struct dx_err err;

  if (dx_submission_set_cases(sub, source->case_ids, source->case_count,
                              &err) != DX_OK ||
      !engine_begin_cases(sub)) {
    (void)dx_fail_nomem(&err);
    engine_local_failure(ctx->engine, sub->job, &err);
    return;
  }
  if (run->phase_ms != 0)
    found_ready(ctx);
  engine_apply(sub, DX_EV_SEEN_COMPLETE);
  run->phase_ms = 0;
  engine_wait_for(sub, engine_longer(ctx->response->retry_after_ms, 0));
}

/*
 * Rejects a response if the service is processing, or has completed, fewer
 * files than were registered: an incomplete chart must not be delivered. The
 * counter of the service may be late for DX_FILES_LATE_MS.
 */
static enum dx_code check_files(struct call_ctx *ctx,
                                const struct dx_source *source,
                                struct dx_err *err)
{
  const struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  int64_t registered = (int64_t)sub->file_count;
  int64_t expected = source->expected >= 0 ? source->expected : registered;
  int64_t uploaded = source->uploaded >= 0 ? source->uploaded : expected;
  int64_t now = dx_monotonic_ms();

  if ((source->status != DX_SOURCE_PROCESSING &&
       source->status != DX_SOURCE_COMPLETE) ||
      (expected >= registered && uploaded >= expected)) {
    run->short_ms = 0;
    return DX_OK;
  }
  if (run->short_ms == 0)
    run->short_ms = now;
  if (now - run->short_ms < DX_FILES_LATE_MS)
    return DX_E_NOT_YET;
  return dx_fail(err, DX_E_UNEXPECTED, 0,
                 "the service reports %" PRId64 " of %" PRId64
                 " files, but does not wait for the others",
                 uploaded < expected ? uploaded : expected,
                 expected > registered ? expected : registered);
}

static void source_done(void *arg, const struct dx_http_response *response)
{
  struct call_ctx *ctx = engine_got(arg, response);
  struct dx_submission *sub = ctx->sub;
  struct dx_source source;
  struct dx_err err;
  enum dx_code code;

  code = dx_read_source(response, sub->source_id, &source, &err);
  if (code == DX_OK)
    code = check_files(ctx, &source, &err);
  engine_count_call(ctx, code);
  if (code != DX_OK) {
    poll_failed(ctx, code, &err);
  } else {
    engine_service_up(ctx);
    ctx->polled->absent = ctx->polled->unexpected = 0;
    if (source.status == DX_SOURCE_PROCESSING ||
        source.status == DX_SOURCE_COMPLETE)
      engine_put_landed(ctx);
    if (source.status == DX_SOURCE_PENDING) {
      seen_pending(ctx, &source);
    } else if (source.status == DX_SOURCE_COMPLETE) {
      seen_complete(ctx, &source);
    } else if (source.status == DX_SOURCE_FAILED) {
      start_over(ctx);
    } else {
      if (source.status == DX_SOURCE_PROCESSING)
        engine_apply(sub, DX_EV_SEEN_PROCESSING);
      else
        dx_log(DX_LOG_WARNING,
               "submission %zu: the source has an unknown status", sub->number);
      poll_later(ctx);
    }
  }
  dx_source_release(&source);
  engine_end_call(ctx);
}

void engine_get_source(struct dx_engine *engine, struct dx_submission *sub)
{
  struct call_ctx *ctx = engine_begin_call(engine, sub, source_done);
  struct dx_err err;

  if (engine_get_token(ctx))
    engine_started(
        ctx, dx_api_call(&ctx->api, DX_CALL_SOURCE, sub->source_id, NULL, &err),
        &err);
}

/* ---- get extract ---- */

bool engine_begin_cases(struct dx_submission *sub)
{
  struct run *run = run_of(sub);

  free(run->cases);
  run->cases = calloc(sub->case_count + 1, sizeof(*run->cases));
  return run->cases != NULL;
}

struct dx_case *engine_next_case(struct dx_submission *sub)
{
  const struct polled *cases = run_of(sub)->cases;
  size_t best = sub->case_count;
  size_t i;

  for (i = 0; i < sub->case_count; i++)
    if (sub->cases[i].state == DX_CASE_WAITING &&
        (best == sub->case_count || cases[i].due_ms < cases[best].due_ms))
      best = i;
  return best < sub->case_count ? &sub->cases[best] : NULL;
}

/* Writes a result as it is received, and limits its size. */
static enum dx_code take_piece(void *arg, const char *bytes, size_t len,
                               struct dx_err *err)
{
  struct call_ctx *ctx = arg;
  const struct dx_job *job = ctx->sub->job;
  int64_t most = ctx->svc->service->max_result_bytes;
  int64_t total = ctx->bytes + (int64_t)len; /* of the job */
  char size[DX_SIZE_TEXT_BYTES];
  enum dx_code code;
  size_t i, k;

  ctx->bytes = total;
  if (ctx->bytes > most)
    return dx_fail(err, DX_E_RESPONSE, 0,
                   "the result is larger than MaxResultSize (%s)",
                   dx_size_text(most, size));
  for (i = 0; i < job->submission_count; i++)
    for (k = 0; k < job->submissions[i].case_count; k++)
      if (job->submissions[i].cases[k].state != DX_CASE_WAITING)
        total += job->submissions[i].cases[k].bytes;
  if (total > DX_RESULTS_MAX_BYTES)
    return dx_fail(err, DX_E_RESPONSE, 0,
                   "the results of the job are larger than %s in all",
                   dx_size_text(DX_RESULTS_MAX_BYTES, size));
  code = dx_fs_write_all(ctx->sink.fd, bytes, len, "result", err);
  if (code == DX_OK)
    dx_sha256_add(ctx->sha, bytes, len);
  return code;
}

/* Checks the result that was written. */
static enum dx_code check_received(struct call_ctx *ctx, const char *case_id,
                                   bool *ret_is_empty, struct dx_err *err)
{
  int fd = dup(ctx->sink.fd);
  FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
  enum dx_code code;

  if (in == NULL) {
    code = dx_fail_sys(err, errno, "read", "result");
    if (fd >= 0)
      (void)close(fd);
    return code;
  }
  rewind(in);
  code = dx_check_result(in, ctx->sub->source_id, case_id, ret_is_empty, err);
  if (ferror(in))
    code = dx_fail(err, DX_E_IO, 0, "cannot read the result");
  (void)fclose(in);
  return code;
}

static void extract_done(void *arg, const struct dx_http_response *response)
{
  struct call_ctx *ctx = engine_got(arg, response);
  struct dx_submission *sub = ctx->sub;
  struct dx_case *c = &sub->cases[run_of(sub)->current];
  struct dx_err err;
  bool is_empty;
  enum dx_code code = dx_judge(DX_CALL_EXTRACT, response, &err);

  if (code == DX_OK)
    code = check_received(ctx, c->id, &is_empty, &err);
  if (code == DX_OK) /* the journal write that follows fsyncs the directory */
    code = dx_temp_publish(&ctx->sink, 0600, false, &err);
  engine_count_call(ctx, code);
  if (code == DX_E_NOT_YET)
    ctx->polled->absent = 0; /* the service knows the case */
  if (code == DX_OK) {
    dx_sha256_end(ctx->sha, c->sha256);
    c->bytes = ctx->bytes;
    c->is_empty = is_empty;
    c->state = DX_CASE_STORED;
    sub->extracted_at = dx_wall_ms();
    sub->job->dirty = true;
    found_ready(ctx);
    engine_service_up(ctx);
  } else {
    poll_failed(ctx, code, &err);
  }
  engine_end_call(ctx);
}

void engine_get_extract(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);
  struct dx_case *c = engine_next_case(sub);
  struct call_ctx *ctx = engine_begin_call(engine, sub, extract_done);
  int dirfd = sub->job->dirfd;
  char name[DX_FILE_NAME_BYTES];
  struct dx_err err;
  enum dx_code code = dx_fs_check_free(dirfd, &err);

  run->current = (size_t)(c - sub->cases);
  ctx->polled = &run->cases[run->current];
  ctx->due_ms = &ctx->polled->due_ms;
  dx_result_file(sub, run->current, name);
  ctx->sha = dx_sha256_new();
  if (ctx->sha == NULL)
    code = dx_fail_nomem(&err);
  if (code == DX_OK)
    code = dx_temp_begin(&ctx->sink, dirfd, name, &err);
  if (code != DX_OK) {
    engine_local_failure(engine, sub->job, &err);
    engine_end_call(ctx);
  } else if (engine_get_token(ctx)) {
    engine_started(
        ctx, dx_api_call(&ctx->api, DX_CALL_EXTRACT, c->id, take_piece, &err),
        &err);
  }
}

/* ---- delivering ---- */

bool engine_deliver(struct dx_engine *engine, struct dx_submission *sub)
{
  const char *dir = engine_section_of(engine, sub)->service->results_dir;
  struct dx_err err;
  enum dx_code code = dx_results_prepare(dir, &err);
  size_t i;

  for (i = 0; code == DX_OK && i < sub->case_count; i++) {
    if (sub->cases[i].state != DX_CASE_STORED)
      continue;
    code = dx_result_deliver(sub, i, dir, &err);
    if (code == DX_E_DAMAGED) {
      /* The stored copy was changed: fetch it again. */
      sub->cases[i].state = DX_CASE_WAITING;
      sub->job->dirty = true;
      return true;
    }
    if (code ==
        DX_E_TAKEN) { /* only the administrator can decide which is correct */
      dx_submission_end(sub, DX_EV_FAIL, code, err.text);
      return true;
    }
    if (code == DX_OK) { /* not durable: it may be delivered again */
      sub->cases[i].state = DX_CASE_DELIVERED;
      sub->job->behind = true;
    }
  }
  if (code == DX_OK && engine_next_case(sub) == NULL) {
    code = dx_manifest_deliver(sub, dir, &err);
    if (code == DX_OK) {
      engine_count_manifest(engine, sub);
      engine_apply(sub, DX_EV_DELIVERED);
      engine_clear_problem(sub);
    }
  }
  if (code != DX_OK)
    engine_local_failure(engine, sub->job, &err);
  return code == DX_OK;
}
