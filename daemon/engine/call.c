/*
 * call.c - what all calls share: their slot and token, their start and end, and
 * the failures that any call can have.
 */
#include "daemon/engine/engine_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/utf8.h"

#define DX_CLOCK_SKEW_MAX_S 86400 /* above: ignore the server's time */

/* ---- when the service is available ---- */

static void call_set_away(struct service_state *svc, bool is_away)
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

/* When a call that is due at due_ms can be made: after the pauses of the
 * service and of its host. */
static int64_t call_ms(const struct service_state *svc, int64_t due_ms)
{
  due_ms = engine_longer(due_ms, svc->due_ms);
  return engine_longer(due_ms, svc->host->limit.pause.until_ms);
}

/* The service responds: time counts towards ProcessingLimit. */
static void call_is_answered(struct call *call)
{
  struct service_state *svc = call->svc;

  call_set_away(svc, false);
  if (svc->down_since_ms == 0)
    return;
  svc->down_since_ms = 0;
  dx_log(DX_LOG_INFO, "service '%s' is reachable again", svc->service->name);
  engine_note(call->engine, call->sub->job, DX_NOTE_UP, 0, NULL);
}

void engine_service_up(struct call *call)
{
  struct service_state *svc = call->svc;

  run_of(call->sub)->tries = 0;
  call->polled->unexpected = 0;
  svc->failures = 0;
  svc->token_tries = 0;
  call->sub->reason[0] = '\0';
  engine_clear_problem(call->sub);
  dx_rate_limit_up(&svc->host->limit);
  call_is_answered(call);
}

/* ---- failures ---- */

int64_t engine_back_off(struct call *call, int *tries, int64_t least_ms,
                        const struct dx_err *err)
{
  ++*tries;
  dx_log(DX_LOG_WARNING, "submission %zu: %s: %s; try %d follows",
         call->sub->number, dx_code_name(err->code), err->text, *tries + 1);
  return engine_longer(engine_longer(least_ms, call->response->retry_after_ms),
                       dx_backoff_ms(*tries));
}

/* Counts towards "down" (doc/policy.md, "Classes"). */
void engine_transient(struct call *call, const struct dx_err *err)
{
  struct run *run = run_of(call->sub);
  struct service_state *svc = call->svc;

  svc->failures++;
  engine_wait_for(call->sub, engine_back_off(call, &run->tries, 0, err));
  if (svc->down_since_ms == 0) {
    svc->down_since_ms = dx_monotonic_ms();
    dx_log(DX_LOG_WARNING,
           "service '%s' cannot be reached: %s: %s; retrying until it responds",
           svc->service->name, dx_code_name(err->code), err->text);
  }
  call_set_away(svc, err->code == DX_E_NET || err->code == DX_E_SERVER);
  if (svc->failures >= DX_DOWN_AFTER_TRIES)
    dx_rate_limit_down(&svc->host->limit);
  engine_report_problem(call->engine, call->sub->job, DX_NOTE_DOWN,
                        svc->down_since_ms, call_ms(svc, run->due_ms), err);
}

void engine_unexpected(struct call *call, const struct dx_err *err)
{
  struct dx_submission *sub = call->sub;
  int64_t now = dx_monotonic_ms();

  call->polled->due_ms =
      now + engine_back_off(call, &call->polled->unexpected,
                            sub->overdue ? DX_OVERDUE_POLL_MS : 0, err);
  call_is_answered(call);
  dx_utf8_copy(sub->reason, sizeof(sub->reason), err->text);
  engine_report_problem(call->engine, sub->job, DX_NOTE_UNEXPECTED, now,
                        call_ms(call->svc, call->polled->due_ms), err);
}

/* Makes all calls of the service wait for an administrator. An upload gets a
 * wait of its own, because svc->due_ms delays only API calls. */
static void call_needs_admin(struct call *call, const struct dx_err *err)
{
  struct dx_engine *engine = call->engine;
  struct service_state *svc = call->svc;
  struct dx_drive *drive;
  size_t i;

  svc->due_ms = dx_monotonic_ms() + DX_ADMIN_RETRY_MS;
  svc->needs_admin = true;
  engine_log_admin(svc->service->name, err);
  call_set_away(svc, true);
  if (call->slot.ms == 0)
    engine_wait_for(call->sub, DX_ADMIN_RETRY_MS);
  TAILQ_FOREACH (drive, &engine->drives, link) {
    struct dx_job *job = drive->job;

    for (i = 0; i < job->submission_count; i++)
      if (!dx_state_is_final(job->submissions[i].state) &&
          engine_section_of(engine, &job->submissions[i]) == svc) {
        engine_report_problem(engine, job, DX_NOTE_ADMIN, dx_monotonic_ms(),
                              svc->due_ms, err);
        break;
      }
  }
}

/* Tokens are signed with the time of the service if our clock is far off. */
static void call_forget_token(struct service_state *svc, int64_t date_ms)
{
  int64_t off = date_ms - dx_wall_ms();

  dx_token_forget(&svc->token);
  if (date_ms >= 0)
    svc->clock_off_ms = llabs(off) > DX_CLOCK_SKEW_S * 1000LL ? off : 0;
}

void engine_renew_token(struct call *call)
{
  call_is_answered(call);
  call_forget_token(call->svc, call->response->date_ms);
}

/* Tries are made after 0, 5, and 30 s. Concurrent calls with the same refused
 * token count as one try. */
static void call_token_refused(struct call *call, const struct dx_err *err,
                               int64_t date_ms)
{
  struct service_state *svc = call->svc;
  int64_t now = dx_monotonic_ms();
  char clock[48] = "";
  struct dx_err full;

  if (svc->token_tries > 0 && (int64_t)call->slot.ms < svc->token_failed_ms)
    return;
  call_forget_token(svc, date_ms);
  svc->token_tries++;
  svc->token_failed_ms = now;
  dx_log(DX_LOG_WARNING, "%s: %s; try %d of %d", dx_code_name(err->code),
         err->text, svc->token_tries, DX_TOKEN_TRIES);
  if (svc->token_tries < DX_TOKEN_TRIES) {
    svc->due_ms =
        now + (svc->token_tries == 1 ? DX_TOKEN_TRY_2_MS : DX_TOKEN_TRY_3_MS);
    engine_report_problem(call->engine, call->sub->job, DX_NOTE_TOKEN, now,
                          call_ms(svc, svc->due_ms), err);
    return;
  }
  if (svc->clock_off_ms != 0)
    (void)snprintf(clock, sizeof(clock), ", clock off by %" PRId64 " s",
                   svc->clock_off_ms / 1000);
  (void)dx_fail(&full, err->code, 0, "%s; service '%s', key id '%s'%s",
                err->text, svc->service->name,
                engine_key_id(svc->service->token_key_id), clock);
  call_needs_admin(call, &full);
}

void engine_failed(struct call *call, const struct dx_err *err)
{
  struct service_state *svc = call->svc;
  struct run *run = run_of(call->sub);
  int64_t retry_after_ms = call->response->retry_after_ms;

  switch (dx_class_of(err->code)) {
  case DX_CL_NOT_YET: /* not sent: remains due, and gets a new slot */
    break;
  case DX_CL_RATE:
    dx_rate_limit_refused(&svc->host->limit, svc->service->api_rate,
                          call->slot.ms, retry_after_ms);
    call_set_away(svc, true);
    run->tries++;
    engine_wait_for(call->sub,
                    engine_longer(retry_after_ms, dx_backoff_ms(run->tries)));
    engine_report_problem(call->engine, call->sub->job, DX_NOTE_PAUSED,
                          dx_monotonic_ms(), call_ms(svc, run->due_ms), err);
    break;
  case DX_CL_TOKEN:
    call_token_refused(call, err, call->response->date_ms);
    break;
  case DX_CL_CONFIG:
    call_needs_admin(call, err);
    break;
  case DX_CL_LOCAL:
    engine_local_failure(call->engine, call->sub->job, err);
    break;
  case DX_CL_REFUSED:
    dx_submission_end(call->sub, DX_EV_FAIL, err->code, err->text);
    break;
  default:
    engine_transient(call, err);
    break;
  }
}

/* ---- slots ---- */

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
  slot->call = dx_rate_limit_leave(&host->limit, slot->svc->service->api_rate);
  dx_log(DX_LOG_DEBUG, "sending a request at %" PRId64 " ms",
         dx_monotonic_ms());
  return true;
}

void engine_release_slot(struct slot *slot,
                         const struct dx_http_response *response)
{
  if (slot->ms == 0)
    return;
  if (response != NULL && response->status != 0)
    dx_rate_limit_answered(&slot->svc->host->limit, slot->call);
  slot->ms = 0;
  slot->svc->host->calls--;
  if (slot->svc->host->connecting == slot)
    slot->svc->host->connecting = NULL;
}

/* ---- a call begins and ends ---- */

static void call_end(struct call *call)
{
  call->http = NULL;
  if (call->fd >= 0) {
    (void)close(call->fd);
    call->engine->puts--;
  }
  engine_release_slot(&call->slot, call->response);
  dx_temp_discard(&call->sink);
  dx_sha256_free(&call->sha);
}

static void call_done(void *arg, const struct dx_http_response *response)
{
  struct call *call = arg;

  call->response = response;
  call->http = NULL;
  call->svc->counters.counts.calls[dx_class_of(call->done(call))]++;
  call_end(call);
}

struct call *engine_begin_call(struct dx_engine *engine,
                               struct dx_submission *sub,
                               enum dx_code (*done)(struct call *call))
{
  struct run *run = run_of(sub);
  struct service_state *svc = engine_section_of(engine, sub);

  run->call = (struct call){.engine = engine,
                            .svc = svc,
                            .sub = sub,
                            .api = {.http = engine->http,
                                    .service = svc->service,
                                    .done = call_done,
                                    .ctx = &run->call,
                                    .call = &run->call.http},
                            .done = done,
                            .polled = &run->poll.source,
                            .fd = -1,
                            .sink = DX_TEMP_NONE};
  return &run->call;
}

void engine_send_put(struct call *call,
                     enum dx_code (*start)(struct call *, struct dx_err *))
{
  struct dx_err err;
  enum dx_code code = start(call, &err);

  if (code == DX_OK)
    return;
  if (dx_class_of(code) == DX_CL_CONFIG)
    call_needs_admin(call, &err);
  else
    engine_local_failure(call->engine, call->sub->job, &err);
  call_end(call);
}

static bool call_ready(void *arg)
{
  struct call *call = arg;

  return engine_leave_in_slot(&call->slot);
}

void engine_send(struct call *call,
                 enum dx_code (*start)(struct call *, struct dx_err *))
{
  struct service_state *svc = call->svc;
  int64_t off_ms = svc->clock_off_ms;
  struct dx_err err;

  /* A single response must not cause tokens for the distant future. */
  if (llabs(off_ms) > DX_CLOCK_SKEW_MAX_S * 1000LL)
    off_ms = 0;
  engine_take_slot(&call->slot, svc);
  run_of(call->sub)->waiting_since = 0;
  call->api.ready = call_ready;
  if (dx_token_get(&svc->token, off_ms, &call->api.token, &err) == DX_OK) {
    engine_send_put(call, start);
    return;
  }
  if (dx_class_of(err.code) == DX_CL_TOKEN)
    call_token_refused(call, &err, -1);
  else if (err.code != DX_E_STOPPED) /* a request to stop */
    engine_local_failure(call->engine, call->sub->job, &err);
  call_end(call);
}

void engine_abort_call(struct dx_submission *sub)
{
  struct call *call = &run_of(sub)->call;

  if (call->http == NULL)
    return;
  dx_http_cancel(&call->http);
  call_end(call);
}
