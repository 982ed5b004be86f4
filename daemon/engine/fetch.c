/*
 * fetch.c - a submission that was uploaded: polling its status, fetching its
 * results, delivering them (doc/policy.md, "Exactly once",
 * "Poll schedule").
 */
#include "daemon/engine/engine_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/results.h"
#include "daemon/service/poll.h"

/* ---- get source ---- */

/* The pages of a case are not known. */
static int pages_of(const struct dx_submission *sub, enum dx_phase phase)
{
  return phase == DX_PHASE_SOURCE ? engine_pages(sub) : 0;
}

/* By the schedule; hourly once it is overdue. */
static int64_t next_poll_ms(struct call_ctx *ctx, enum dx_phase phase,
                            int64_t age_ms, int64_t last_ms)
{
  struct dx_poll_forecast forecast =
      dx_latency_predict(ctx->svc->latency, phase, pages_of(ctx->sub, phase));

  if (ctx->sub->overdue)
    return DX_OVERDUE_POLL_MS;
  return dx_poll_wait_ms(&forecast, phase, engine_longer(age_ms, 1), last_ms,
                         dx_random_unit());
}

/* Something was found ready, but not by the last poll, at not_yet_ms after its
 * phase began: for the poll schedule, and for `docextract metrics`. */
static void found_ready(struct call_ctx *ctx, enum dx_phase phase,
                        int64_t not_yet_ms)
{
  int64_t age_ms = dx_monotonic_ms() - run_of(ctx->sub)->phase_ms;
  struct dx_counts one = {0};

  dx_latency_learn(ctx->svc->latency, phase, pages_of(ctx->sub, phase),
                   not_yet_ms, age_ms);
  one.found[phase] = 1;
  one.late_ms[phase] = age_ms - not_yet_ms;
  dx_counters_add(ctx->svc->counters, &one);
}

static void poll_later(struct call_ctx *ctx, int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  int64_t age;

  if (sub->state == DX_ST_REGISTERED)
    run->ask_first = run->unclear = true;
  engine_begin_phase(ctx->engine, sub);
  age = dx_monotonic_ms() - run->phase_ms;
  run->not_yet_ms = age;
  run->wait_ms = next_poll_ms(ctx, DX_PHASE_SOURCE, age, run->wait_ms);
  engine_wait_for(sub, engine_longer(run->wait_ms, retry_after_ms));
  engine_note(ctx->engine, sub->job, DX_NOTE_WAITING, run->phase_ms, NULL);
}

/* The service failed to extract it: starts over from creation, a few times. */
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

/*
 * Registers again only when it is certain that nothing will come of the first
 * source: its URLs have expired or it is gone, and two responses, far enough
 * apart, said that files are missing.
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
  if (run->pending_seen == 0) {
    run->pending_seen = 1;
    run->pending_ms = now;
  }
  if (now - run->pending_ms < DX_REREGISTER_GAP_MS) {
    run->due_ms = run->pending_ms + DX_REREGISTER_GAP_MS;
    return;
  }
  if (sub->reregistrations >= DX_REREGISTRATIONS_MAX) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE, reason);
    return;
  }
  sub->reregistrations++;
  run->pending_seen = 0;
  engine_wait_for(sub, DX_REREGISTER_WAIT_MS);
  engine_apply(sub, DX_EV_REREGISTER);
}

/* Not every PUT got a 200. */
static void registered_pending(struct call_ctx *ctx, bool missing,
                               int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);

  if (!missing) {
    poll_later(ctx, retry_after_ms); /* it will turn to processing */
    return;
  }
  if (!engine_put_is_due(sub)) {
    check_before_reregistering(sub, "its upload URL expired repeatedly");
    return;
  }
  run->ask_first = false; /* PUT again to the same URL */
  if (run->unclear) {     /* the wait starts again */
    run->unclear = sub->overdue = false;
    run->phase_ms = 0;
  }
}

static void uploaded_pending(struct call_ctx *ctx,
                             const struct dx_source *source, bool missing,
                             int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  bool stuck = dx_monotonic_ms() - run->phase_ms > DX_STUCK_MS;
  bool can_put_again = engine_put_is_due(sub) && dx_submission_is_here(sub);
  size_t i;

  for (i = 0; i < sub->file_count; i++)
    if (sub->files[i].url == NULL)
      can_put_again = false;
  if (missing && can_put_again && (sub->verify || (stuck && !sub->put_again))) {
    /* To the same source, with the same URLs. */
    engine_apply(sub, DX_EV_PUT_AGAIN);
    for (i = 0; i < sub->file_count; i++)
      sub->files[i].put = DX_PUT_SENDING;
    run->due_ms = 0;
    sub->put_again = stuck;
  } else if (sub->verify && source->uploaded <= 0 && !engine_put_is_due(sub)) {
    check_before_reregistering(sub, "its upload URL expired repeatedly");
  } else {
    poll_later(ctx, retry_after_ms);
  }
}

static void seen_pending(struct call_ctx *ctx, const struct dx_source *source,
                         int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  bool missing = source->expected < 0 || source->uploaded < 0 ||
                 source->uploaded < source->expected;

  engine_apply(sub, DX_EV_SEEN_PENDING);
  if (sub->state == DX_ST_REGISTERED)
    registered_pending(ctx, missing, retry_after_ms);
  else if (sub->state == DX_ST_UPLOADED)
    uploaded_pending(ctx, source, missing, retry_after_ms);
  else
    poll_later(ctx, retry_after_ms);
}

static void seen_complete(struct call_ctx *ctx, const struct dx_source *source,
                          int64_t retry_after_ms)
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
    found_ready(ctx, DX_PHASE_SOURCE, run->not_yet_ms);
  engine_apply(sub, DX_EV_SEEN_COMPLETE);
  run->phase_ms = 0;
  engine_wait_for(sub, engine_longer(retry_after_ms, 0));
}

/* Not found: a new source may appear late; one that has our files and is gone
 * is for a person to look into. */
static void source_gone(struct call_ctx *ctx, const struct dx_err *err,
                        int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  int64_t age = dx_wall_ms() - sub->registered_at;

  if (age >= 0 && age < DX_GONE_WAIT_MS) {
    engine_transient(ctx, err, retry_after_ms);
  } else if (sub->state != DX_ST_REGISTERED && !sub->verify) {
    if (++run->absent >= 2)
      dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE,
                        "uploaded, but the service no longer knows it");
    else
      engine_wait_for(sub, DX_GONE_WAIT_MS);
  } else {
    check_before_reregistering(sub, "the service lost it repeatedly");
  }
}

static void source_read(struct call_ctx *ctx, const struct dx_source *source,
                        int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);

  engine_service_up(ctx);
  run->absent = 0;
  run->unexpected = 0;
  switch (source->status) {
  case DX_SOURCE_PENDING:
    seen_pending(ctx, source, retry_after_ms);
    break;
  case DX_SOURCE_PROCESSING:
    engine_put_landed(ctx);
    engine_apply(sub, DX_EV_SEEN_PROCESSING);
    poll_later(ctx, retry_after_ms);
    break;
  case DX_SOURCE_COMPLETE:
    engine_put_landed(ctx);
    seen_complete(ctx, source, retry_after_ms);
    break;
  case DX_SOURCE_FAILED:
    start_over(ctx);
    break;
  default:
    dx_log(DX_LOG_WARNING, "submission %zu: the source has an unknown status",
           sub->number);
    poll_later(ctx, retry_after_ms);
    break;
  }
}

/*
 * The service is processing, or has completed, fewer files than were
 * registered: its counter may be late, but half a chart is worse than none.
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
  struct call_ctx *ctx = arg;
  struct run *run = run_of(ctx->sub);
  struct dx_source source;
  struct dx_err err;
  enum dx_code code;

  run->call = NULL;
  code = dx_read_source(response, ctx->sub->source_id, &source, &err);
  if (code == DX_OK)
    code = check_files(ctx, &source, &err);
  engine_count_call(ctx, code);
  if (code == DX_OK) {
    source_read(ctx, &source, response->retry_after_ms);
  } else if (code == DX_E_NOT_YET) {
    engine_service_up(ctx);
    run->unexpected = 0;
    poll_later(ctx, response->retry_after_ms);
  } else if (engine_is_denied(ctx, response, code)) {
    run->absent = 0;
  } else if (code == DX_E_GONE) {
    source_gone(ctx, &err, response->retry_after_ms);
  } else if (code == DX_E_UNEXPECTED) {
    engine_unexpected(ctx, &err, response->retry_after_ms, &run->unexpected,
                      &run->due_ms);
  } else {
    engine_failed(ctx, response, &err);
  }
  dx_source_release(&source);
  engine_end_call(ctx);
}

void engine_get_source(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);
  struct call_ctx *ctx = engine_begin_call(engine, sub);
  struct dx_api api;
  struct dx_err err;

  if (!engine_get_api(ctx, &api)) {
    engine_end_call(ctx);
    return;
  }
  engine_started(
      ctx,
      dx_api_source(&api, sub->source_id, source_done, ctx, &run->call, &err),
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
  const struct case_run *cases = run_of(sub)->cases;
  size_t best = sub->case_count;
  size_t i;

  for (i = 0; i < sub->case_count; i++)
    if (sub->cases[i].state == DX_CASE_WAITING &&
        (best == sub->case_count || cases[i].due_ms < cases[best].due_ms))
      best = i;
  return best < sub->case_count ? &sub->cases[best] : NULL;
}

/* A result is checked while it is written, so that neither its size nor its
 * content costs memory. */
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
  code = dx_result_check_add(ctx->check, bytes, len, err);
  if (code == DX_OK)
    code = dx_fs_write_all(ctx->sink.fd, bytes, len, "result", err);
  if (code == DX_OK && !dx_sha256_add(ctx->sha, bytes, len))
    code = dx_fail_nomem(err);
  return code;
}

/* Commits the result. */
static enum dx_code store_result(struct call_ctx *ctx, struct dx_case *c,
                                 struct dx_err *err)
{
  enum dx_code code =
      dx_result_check_end(ctx->check, ctx->sub->source_id, c->id, err);

  if (code == DX_OK) /* the journal, which follows, fsyncs the directory */
    code = dx_temp_publish(&ctx->sink, 0600, err);
  if (code != DX_OK)
    return code;
  dx_sha256_end(ctx->sha, c->sha256);
  c->bytes = ctx->bytes;
  c->is_empty = dx_result_check_is_empty(ctx->check);
  c->state = DX_CASE_STORED;
  ctx->sub->extracted_at = dx_wall_ms();
  ctx->sub->job->dirty = true;
  return DX_OK;
}

static void case_later(struct call_ctx *ctx, struct case_run *c,
                       int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  int64_t age = dx_monotonic_ms() - run->phase_ms;

  c->not_yet_ms = age;
  c->wait_ms = next_poll_ms(ctx, DX_PHASE_EXTRACT, age, c->wait_ms);
  c->due_ms = dx_monotonic_ms() + engine_longer(c->wait_ms, retry_after_ms);
  engine_note(ctx->engine, sub->job, DX_NOTE_WAITING, run->phase_ms, NULL);
}

static void case_gone(struct call_ctx *ctx, struct case_run *c,
                      int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  int64_t age = dx_wall_ms() - sub->complete_at;

  if (age >= 0 && age < DX_GONE_WAIT_MS)
    case_later(ctx, c, retry_after_ms);
  else if (++c->absent >= 2)
    dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE,
                      "uploaded, but the service no longer knows it");
  else
    c->due_ms = dx_monotonic_ms() + DX_GONE_WAIT_MS;
}

static void extract_done(void *arg, const struct dx_http_response *response)
{
  struct call_ctx *ctx = arg;
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  struct dx_case *c = &sub->cases[run->current];
  struct case_run *c_run = case_run_of(sub, c);
  struct dx_err err;
  enum dx_code code;

  run->call = NULL;
  code = dx_judge(DX_CALL_EXTRACT, response, &err);
  if (code == DX_OK)
    code = store_result(ctx, c, &err);
  engine_count_call(ctx, code);
  if (engine_is_denied(ctx, response, code)) {
    c_run->absent = 0;
    engine_end_call(ctx);
    return;
  }
  switch (code) {
  case DX_OK:
    found_ready(ctx, DX_PHASE_EXTRACT, c_run->not_yet_ms);
    engine_service_up(ctx);
    break;
  case DX_E_NOT_YET:
    engine_service_up(ctx);
    c_run->absent = c_run->unexpected = 0;
    case_later(ctx, c_run, response->retry_after_ms);
    break;
  case DX_E_GONE:
    case_gone(ctx, c_run, response->retry_after_ms);
    break;
  case DX_E_UNEXPECTED:
    engine_unexpected(ctx, &err, response->retry_after_ms, &c_run->unexpected,
                      &c_run->due_ms);
    break;
  default:
    engine_failed(ctx, response, &err);
    c_run->due_ms = run->due_ms; /* other cases come first */
    break;
  }
  engine_end_call(ctx);
}

void engine_get_extract(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);
  struct dx_case *c = engine_next_case(sub);
  struct call_ctx *ctx = engine_begin_call(engine, sub);
  int dirfd = sub->job->dirfd;
  char name[DX_FILE_NAME_BYTES];
  struct dx_api api;
  struct dx_err err;
  enum dx_code code = dx_fs_check_free(dirfd, &err);

  run->current = (size_t)(c - sub->cases);
  dx_result_file(sub, run->current, name);
  ctx->check = dx_result_check_new();
  ctx->sha = dx_sha256_new();
  if (ctx->check == NULL || ctx->sha == NULL)
    code = dx_fail_nomem(&err);
  if (code == DX_OK)
    code = dx_temp_begin(&ctx->sink, dirfd, name, &err);
  if (code == DX_OK && engine_get_api(ctx, &api)) {
    engine_started(ctx,
                   dx_api_extract(&api, c->id, take_piece, extract_done, ctx,
                                  &run->call, &err),
                   &err);
    return;
  }
  if (code != DX_OK)
    engine_local_failure(engine, sub->job, &err);
  engine_end_call(ctx);
}

/* ---- delivering ---- */

/* The directory may be large: it is written to for every document, but not read
 * for every one. */
enum dx_code engine_prepare_results(struct service_state *svc,
                                    struct dx_err *err)
{
  enum dx_code code;

  if (dx_monotonic_ms() < svc->prepared_ms) {
    code = dx_fs_probe(svc->service->results_dir, err);
    if (code != DX_OK)
      svc->prepared_ms = 0;
    return code;
  }
  code = dx_results_prepare(svc->service->results_dir, err);
  if (code == DX_OK)
    svc->prepared_ms = dx_monotonic_ms() + DX_LOCAL_RETRY_MS;
  return code;
}

bool engine_can_deliver(struct dx_engine *engine, struct dx_submission *sub)
{
  struct dx_err err;
  enum dx_code code =
      engine_prepare_results(engine_section_of(engine, sub), &err);

  if (code != DX_OK)
    engine_local_failure(engine, sub->job, &err);
  return code == DX_OK;
}

bool engine_deliver(struct dx_engine *engine, struct dx_submission *sub)
{
  struct service_state *svc = engine_section_of(engine, sub);
  const char *dir = svc->service->results_dir;
  struct dx_err err;
  enum dx_code code = DX_OK;
  size_t i;

  if (!engine_can_deliver(engine, sub))
    return false;
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
    if (code == DX_E_TAKEN) { /* only a person knows which one is right */
      dx_submission_end(sub, DX_EV_FAIL, code, err.text);
      return true;
    }
    if (code == DX_OK) { /* delivering the same bytes again does no harm */
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
  if (code != DX_OK) {
    svc->prepared_ms = 0;
    engine_local_failure(engine, sub->job, &err);
  }
  return code == DX_OK;
}

bool engine_has_stored(const struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < sub->case_count; i++)
    if (sub->cases[i].state == DX_CASE_STORED)
      return true;
  return false;
}
