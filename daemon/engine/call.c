/*
 * call.c - what all calls of the engine have in common: the context of a call,
 * its token and slot, and the failures that any call can have.
 */
#include "daemon/engine/engine_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"

/* ---- small things ---- */

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

void engine_wait_for(struct dx_submission *sub, int64_t ms)
{
  run_of(sub)->due_ms = dx_monotonic_ms() + ms;
}

/* ---- failures ---- */

/* Time in which the service could not be reached, failed, requested a pause, or
 * waited for an administrator does not count towards ProcessingLimit. */
void engine_set_away(struct service_state *svc, bool is_away)
{
  int64_t now = dx_monotonic_ms();

  if (svc->away_since_ms != 0)
    svc->away_ms += now - svc->away_since_ms;
  svc->away_since_ms = is_away ? now : 0;
}

int64_t engine_away_ms(const struct service_state *svc)
{
  return svc->away_ms +
         (svc->away_since_ms != 0 ? dx_monotonic_ms() - svc->away_since_ms : 0);
}

void engine_transient(struct call_ctx *ctx, const struct dx_err *err)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  struct service_state *svc = ctx->svc;

  run->tries++;
  svc->failures++;
  engine_wait_for(sub, engine_longer(ctx->response->retry_after_ms,
                                     dx_backoff_ms(run->tries)));
  dx_log(DX_LOG_WARNING, "submission %zu: %s: %s; try %d follows", sub->number,
         dx_code_name(err->code), err->text, run->tries + 1);
  if (svc->down_since_ms == 0)
    svc->down_since_ms = dx_monotonic_ms();
  engine_set_away(svc, err->code == DX_E_NET || err->code == DX_E_SERVER);
  if (svc->failures >= DX_DOWN_AFTER_TRIES)
    dx_rate_limit_down(&svc->host->limit);
  engine_report_problem(ctx->engine, sub->job, DX_NOTE_DOWN, svc->down_since_ms,
                        engine_call_ms(svc, run->due_ms), err);
}

/* The service responds: time counts towards ProcessingLimit. */
static void is_there(struct call_ctx *ctx)
{
  struct service_state *svc = ctx->svc;

  engine_set_away(svc, false);
  if (svc->down_since_ms == 0)
    return;
  svc->down_since_ms = 0;
  engine_note(ctx->engine, ctx->sub->job, DX_NOTE_UP, 0, NULL);
}

void engine_unexpected(struct call_ctx *ctx, const struct dx_err *err)
{
  struct dx_submission *sub = ctx->sub;
  struct polled *polled = ctx->polled;
  int64_t wait;

  polled->unexpected++;
  wait = sub->overdue ? DX_OVERDUE_POLL_MS : dx_backoff_ms(polled->unexpected);
  *ctx->due_ms =
      dx_monotonic_ms() + engine_longer(ctx->response->retry_after_ms, wait);
  if (sub->state == DX_ST_REGISTERED)
    run_of(sub)->ask_first = run_of(sub)->unclear = true;
  dx_log(DX_LOG_WARNING, "submission %zu: %s: %s; try %d follows", sub->number,
         dx_code_name(err->code), err->text, polled->unexpected + 1);
  is_there(ctx);
  dx_utf8_copy(sub->reason, sizeof(sub->reason), err->text);
  engine_report_problem(ctx->engine, sub->job, DX_NOTE_UNEXPECTED,
                        dx_monotonic_ms(),
                        engine_call_ms(ctx->svc, *ctx->due_ms), err);
}

void engine_service_up(struct call_ctx *ctx)
{
  struct service_state *svc = ctx->svc;

  run_of(ctx->sub)->tries = 0;
  svc->failures = 0;
  svc->token_tries = 0;
  ctx->sub->reason[0] = '\0';
  engine_clear_problem(ctx->sub);
  dx_rate_limit_up(&svc->host->limit);
  is_there(ctx);
  if (run_of(ctx->sub)->denials > 0) { /* the time until now does not count */
    run_of(ctx->sub)->denials = 0;
    run_of(ctx->sub)->phase_ms = 0;
    engine_begin_phase(ctx->engine, ctx->sub);
  }
}

static void rate_limited(struct call_ctx *ctx)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  const struct service_state *svc = ctx->svc;

  dx_rate_limit_refused(&svc->host->limit, svc->service->api_rate, ctx->slot.ms,
                        ctx->response->retry_after_ms);
  engine_set_away(ctx->svc, true);
  run->tries++;
  engine_wait_for(sub, engine_longer(ctx->response->retry_after_ms,
                                     dx_backoff_ms(run->tries)));
  engine_note(ctx->engine, sub->job, DX_NOTE_PAUSED, dx_monotonic_ms(), NULL);
}

/* Tokens are signed with the time of the service if our clock is far off. */
static void learn_offset(struct service_state *svc, int64_t date_ms)
{
  int64_t off = date_ms - dx_wall_ms();

  if (date_ms < 0)
    return;
  svc->clock_off_ms = llabs(off) > DX_CLOCK_SKEW_S * 1000LL ? off : 0;
}

static const char *id_or_none(const char *key_id)
{
  return key_id != NULL ? key_id : "none";
}

/* Tries are made after 0, 5, and 30 s. Concurrent calls with the same refused
 * token count as one try. */
static void token_refused(struct call_ctx *ctx, const struct dx_err *err,
                          int64_t date_ms)
{
  struct service_state *svc = ctx->svc;
  int64_t now = dx_monotonic_ms();
  char clock[48] = "";
  struct dx_err full;

  if (svc->token_tries > 0 && (int64_t)ctx->slot.ms < svc->token_failed_ms)
    return;
  dx_token_forget(svc->token);
  learn_offset(svc, date_ms);
  svc->token_tries++;
  svc->token_failed_ms = now;
  dx_log(DX_LOG_WARNING, "%s: %s; try %d of %d", dx_code_name(err->code),
         err->text, svc->token_tries, DX_TOKEN_TRIES);
  if (svc->token_tries < DX_TOKEN_TRIES) {
    svc->due_ms =
        now + (svc->token_tries == 1 ? DX_TOKEN_TRY_2_MS : DX_TOKEN_TRY_3_MS);
    engine_report_problem(ctx->engine, ctx->sub->job, DX_NOTE_TOKEN, now,
                          engine_call_ms(svc, svc->due_ms), err);
    return;
  }
  if (svc->clock_off_ms != 0)
    (void)snprintf(clock, sizeof(clock), ", clock off by %" PRId64 " s",
                   svc->clock_off_ms / 1000);
  (void)dx_fail(&full, err->code, 0, "%s; service '%s', key id '%s'%s",
                err->text, svc->service->name,
                id_or_none(svc->service->token_key_id), clock);
  engine_needs_admin(ctx, &full);
}

bool engine_is_denied(struct call_ctx *ctx, enum dx_code code)
{
  struct run *run = run_of(ctx->sub);
  struct dx_submission *sub = ctx->sub;
  const char *made_with = id_or_none(sub->key_id);
  const char *in_use = id_or_none(ctx->svc->service->token_key_id);
  struct dx_err err;

  if ((code != DX_E_GONE && code != DX_E_TOKEN) ||
      strcmp(made_with, in_use) == 0)
    return false;
  is_there(ctx);
  learn_offset(ctx->svc, ctx->response->date_ms);
  dx_token_forget(ctx->svc->token);
  if (++run->denials < DX_TOKEN_TRIES) {
    engine_wait_for(sub,
                    run->denials == 1 ? DX_TOKEN_TRY_2_MS : DX_TOKEN_TRY_3_MS);
    return true;
  }
  (void)dx_fail(&err, DX_E_GONE, 0,
                "the source was created with key id '%s', and the service "
                "denies access with key id '%s': if the new key belongs to "
                "another account, restore the old key until the job has ended; "
                "service '%s'",
                made_with, in_use, ctx->svc->service->name);
  engine_sub_needs_admin(ctx->engine, sub, &err);
  return true;
}

void engine_failed(struct call_ctx *ctx, const struct dx_err *err)
{
  switch (dx_class_of(err->code)) {
  case DX_CL_NOT_YET: /* not sent: remains due, and gets a new slot */
    break;
  case DX_CL_RATE:
    rate_limited(ctx);
    break;
  case DX_CL_TOKEN:
    token_refused(ctx, err, ctx->response->date_ms);
    break;
  case DX_CL_CONFIG:
    engine_needs_admin(ctx, err);
    break;
  case DX_CL_LOCAL:
    engine_local_failure(ctx->engine, ctx->sub->job, err);
    break;
  case DX_CL_REFUSED:
    dx_submission_end(ctx->sub, DX_EV_FAIL, err->code, err->text);
    break;
  default:
    engine_transient(ctx, err);
    break;
  }
}

/* ---- counting ---- */

void engine_count_call(const struct call_ctx *ctx, enum dx_code code)
{
  struct dx_counts one = {0};

  one.calls[dx_class_of(code)] = 1;
  dx_counters_add(ctx->svc->counters, &one);
}

void engine_count_manifest(struct dx_engine *engine,
                           const struct dx_submission *sub)
{
  const struct service_state *svc = engine_section_of(engine, sub);
  int64_t since_upload_ms = dx_wall_ms() - sub->uploaded_at;
  bool failed = dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED;
  struct dx_counts one = {.failed = failed, .extracted = !failed};

  if (!failed && sub->uploaded_at != 0 && since_upload_ms > 0)
    one.extraction_ms = since_upload_ms;
  dx_counters_add(svc->counters, &one);
}

/* ---- a call begins and ends ---- */

struct call_ctx *engine_begin_call(struct dx_engine *engine,
                                   struct dx_submission *sub,
                                   dx_http_done *done)
{
  struct run *run = run_of(sub);
  struct service_state *svc = engine_section_of(engine, sub);

  run->ctx = (struct call_ctx){.engine = engine,
                               .svc = svc,
                               .sub = sub,
                               .api = {.http = engine->http,
                                       .service = svc->service,
                                       .done = done,
                                       .ctx = &run->ctx,
                                       .call = &run->call},
                               .polled = &run->source,
                               .due_ms = &run->due_ms,
                               .sink = DX_TEMP_NONE};
  return &run->ctx;
}

struct call_ctx *engine_got(void *arg, const struct dx_http_response *response)
{
  struct call_ctx *ctx = arg;

  ctx->response = response;
  run_of(ctx->sub)->call = NULL;
  return ctx;
}

void engine_end_call(struct call_ctx *ctx)
{
  struct run *run = run_of(ctx->sub);

  run->call = NULL;
  if (run->fd >= 0) {
    (void)close(run->fd);
    run->fd = -1;
    ctx->engine->puts--;
  }
  engine_release_slot(&ctx->slot);
  dx_temp_discard(&ctx->sink);
  dx_sha256_free(&ctx->sha);
}

void engine_take_slot(struct slot *slot, struct service_state *svc)
{
  slot->svc = svc;
  slot->ms = dx_rate_limit_take(&svc->host->limit, svc->service->api_rate);
  svc->host->calls++;
  svc->host->connecting = slot;
}

bool engine_leave_in_slot(struct slot *slot)
{
  struct host *host = slot->svc->host;

  host->connecting = NULL;
  if (dx_rate_limit_is_blocked(&host->limit))
    return false; /* the pause began while connecting */
  dx_rate_limit_leave(&host->limit, slot->svc->service->api_rate, slot->ms);
  dx_log(DX_LOG_DEBUG, "sending a request at %" PRId64 " ms",
         dx_monotonic_ms());
  return true;
}

void engine_release_slot(struct slot *slot)
{
  if (slot->ms == 0)
    return;
  slot->ms = 0;
  slot->svc->host->calls--;
  if (slot->svc->host->connecting == slot)
    slot->svc->host->connecting = NULL;
}

static bool ready(void *arg)
{
  struct call_ctx *ctx = arg;

  return engine_leave_in_slot(&ctx->slot);
}

bool engine_get_token(struct call_ctx *ctx)
{
  int64_t off_ms = ctx->svc->clock_off_ms;
  struct dx_err err;

  /* A single response must not cause tokens for the distant future. */
  if (llabs(off_ms) > DX_CLOCK_SKEW_MAX_S * 1000LL)
    off_ms = 0;
  engine_take_slot(&ctx->slot, ctx->svc);
  run_of(ctx->sub)->waiting_since = 0;
  ctx->api.ready = ready;
  if (dx_token_get(ctx->svc->token, off_ms, &ctx->api.token, &err) == DX_OK)
    return true;
  if (dx_class_of(err.code) == DX_CL_TOKEN)
    token_refused(ctx, &err, -1);
  else if (err.code != DX_E_STOPPED) /* a request to stop */
    engine_local_failure(ctx->engine, ctx->sub->job, &err);
  engine_end_call(ctx);
  return false;
}

void engine_started(struct call_ctx *ctx, enum dx_code code,
                    const struct dx_err *err)
{
  if (code == DX_OK)
    return;
  if (dx_class_of(code) == DX_CL_CONFIG)
    engine_needs_admin(ctx, err);
  else
    engine_local_failure(ctx->engine, ctx->sub->job, err);
  engine_end_call(ctx);
}
