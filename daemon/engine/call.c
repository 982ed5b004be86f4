/*
 * call.c - what all calls share: their slot and token, their start and end, and
 * the failures that any call can have.
 */
#include "daemon/engine/engine_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/utf8.h"

#define DX_CLOCK_SKEW_MAX_S 86400 /* above: ignore the server's time */
#define DX_TOKEN_RENEW_MS 5000    /* after its first rejection */

/* An outage is that of everybody; a rejection is of the section if it hits a
 * second submission. */
static const struct dx_breaker_rule engine_outage_rule = {5, 5000, 60000,
                                                          60000};
static const struct dx_breaker_rule engine_admin_rule = {2, 30000, 600000,
                                                         60000};

/* ---- when the service is available ---- */

/* Only polls show that: creates may fail, or succeed, meanwhile. */
static void call_set_away(const struct call *call, bool is_away)
{
  struct service_state *svc = call->svc;
  int64_t now = dx_monotonic_ms();

  if (call->kind != CALLS_GET)
    return;
  if (svc->away_since_ms != 0)
    svc->away_ms += now - svc->away_since_ms;
  svc->away_since_ms = is_away ? now : 0;
}

int64_t engine_away_ms(const struct service_state *svc)
{
  return svc->away_ms +
         (svc->away_since_ms != 0 ? dx_monotonic_ms() - svc->away_since_ms : 0);
}

/* When a call that is due at due_ms can be made: after a pause of its host. */
static int64_t call_ms(const struct service_state *svc, int64_t due_ms)
{
  return engine_longer(due_ms, svc->host->limit.pause.until_ms);
}

void engine_service_up(struct call *call)
{
  struct run *run = run_of(call->sub);

  run->tries = 0;
  run->rejections = 0;
  run->has_new_token = false;
  call->polled->unexpected = 0;
  dx_line_set(&call->sub->reason, DX_WHY_BYTES, "");
  if (!call->sub->problem.is_of_storage) /* only an upload ends that one */
    engine_clear_problem(call->engine, call->sub);
  call_set_away(call, false); /* time counts towards ProcessingLimit */
}

/* ---- breakers ---- */

/* What the end of a call shows about all calls of its kind. */
enum verdict { SHOWS_NOTHING, SHOWS_OUTAGE, SHOWS_SERVICE };

/* No response, 5xx, 408, 425, 429, and a success of create source that is not
 * understood; any other response is one of the service. */
static enum verdict call_verdict(const struct call *call, enum dx_code code)
{
  const struct dx_http_response *response = call->response;
  enum dx_class cls = dx_class_of(code);
  int status = response->status;

  if (cls == DX_CL_LOCAL || cls == DX_CL_STOPPED || code == DX_E_NOT_SENT)
    return SHOWS_NOTHING;
  if (status == 0)
    return cls == DX_CL_TRANSIENT ? SHOWS_OUTAGE : SHOWS_NOTHING;
  if (response->err.code == DX_E_NET || (status >= 500 && status < 600) ||
      status == 408 || status == 425 || status == 429)
    return SHOWS_OUTAGE; /* also a truncated body */
  if (call->kind == CALLS_CREATE && status < 300 && code != DX_OK)
    return SHOWS_OUTAGE;
  return SHOWS_SERVICE;
}

/* For `docextract metrics`: the third failure in a row, of any call. */
static void call_count_up(struct host *host, bool has_succeeded)
{
  host->failures = has_succeeded ? 0 : host->failures + 1;
  if (has_succeeded)
    dx_rate_limit_up(&host->limit);
  else if (host->failures == DX_DOWN_AFTER_TRIES)
    dx_rate_limit_down(&host->limit);
}

/* The breaker of calls of this kind has opened. */
static void call_opened(const struct call *call,
                        const struct dx_breaker *breaker)
{
  dx_log(DX_LOG_WARNING,
         "service '%s': %s fail for several documents, and pause for %" PRId64
         " s: %s",
         call->svc->service->name,
         call->kind == CALLS_CREATE ? "registrations" : "polls",
         breaker->pause_ms / 1000, dx_line(call->sub->problem.text));
  engine_rouse_all(call->engine); /* they show it, and may probe */
}

static void call_copy_problem(struct dx_err *trouble,
                              const struct dx_submission *sub)
{
  (void)dx_fail(trouble, sub->problem.code, 0, "%s",
                dx_line(sub->problem.text));
}

/* A breaker of the section has closed, or the token is evidently good: sections
 * of the same host, and other calls, probably work again, too. */
static void call_hurry_others(const struct call *call)
{
  struct dx_engine *engine = call->engine;
  const struct host *host = call->svc->host;
  int64_t now = dx_monotonic_ms();
  size_t i, k;

  for (i = 0; i < engine->config->service_count; i++)
    for (k = 0; engine->services[i].host == host && k < CALLS_COUNT; k++)
      dx_breaker_hurry(&engine->services[i].outage[k], 0, now);
  for (k = 0; k < CALLS_COUNT; k++)
    dx_breaker_hurry(&call->svc->rejected[k], 0, now);
}

static void call_close(const struct call *call, struct dx_breaker *breaker,
                       enum wait wait)
{
  if (!dx_breaker_succeed(breaker))
    return;
  dx_log(DX_LOG_INFO, "service '%s': %s succeed again",
         call->svc->service->name,
         call->kind == CALLS_CREATE ? "registrations" : "polls");
  call->svc->host->probed_ms[call->kind] = 0;
  engine_resume(call->engine, call->svc, call->kind, wait);
  call_hurry_others(call);
}

/* Tells the breakers of the section. */
static void call_judge(struct call *call, enum dx_code code)
{
  struct service_state *svc = call->svc;
  struct host *host = svc->host;
  enum dx_class cls = dx_class_of(code);
  enum verdict verdict = call_verdict(call, code);
  struct dx_breaker *outage;

  if (call->kind == CALLS_NONE)
    return;
  outage = &svc->outage[call->kind];
  if (verdict != SHOWS_NOTHING)
    svc->is_refused = cls == DX_CL_RATE;
  if (verdict == SHOWS_OUTAGE || call->was_rejected)
    call_count_up(host, false);
  else if (cls == DX_CL_DONE || cls == DX_CL_NOT_YET)
    call_count_up(host, true);
  if (verdict == SHOWS_OUTAGE) {
    call_copy_problem(&svc->lost[call->kind], call->sub);
    if (dx_breaker_fail(outage, &engine_outage_rule, run_of(call->sub)->id,
                        dx_monotonic_ms()))
      call_opened(call, outage);
    /* What concerns a single document delays no other section. */
    if (dx_breaker_is_open(outage))
      host->probed_ms[call->kind] = dx_monotonic_ms();
  }
  if (verdict != SHOWS_SERVICE)
    return;
  call_close(call, outage, WAIT_OUTAGE);
  if (!call->was_rejected && cls != DX_CL_RATE && cls != DX_CL_CONFIG &&
      cls != DX_CL_TOKEN)
    call_close(call, &svc->rejected[call->kind], WAIT_ADMIN);
}

/* ---- failures ---- */

int64_t engine_back_off(struct call *call, int *tries, int64_t least_ms,
                        const struct dx_err *err)
{
  ++*tries;
  dx_submission_log(DX_LOG_WARNING, call->sub, "%s: %s; try %d follows",
                    dx_code_name(err->code), err->text, *tries + 1);
  return engine_longer(engine_longer(least_ms, call->response->retry_after_ms),
                       dx_backoff_ms(*tries));
}

void engine_transient(struct call *call, int64_t least_ms,
                      const struct dx_err *err)
{
  struct run *run = run_of(call->sub);
  struct service_state *svc = call->svc;

  engine_wait(call->sub, engine_back_off(call, &run->tries, least_ms, err),
              WAIT_OUTAGE);
  call_set_away(call, err->code == DX_E_NET || err->code == DX_E_SERVER);
  engine_report_problem(call->engine, call->sub, call->kind == CALLS_NONE,
                        call_ms(svc, run->due_ms), err);
}

void engine_unexpected(struct call *call, const struct dx_err *err)
{
  struct dx_submission *sub = call->sub;
  int64_t now = dx_monotonic_ms();

  call->polled->due_ms =
      now + engine_back_off(
                call, &call->polled->unexpected,
                sub->overdue ? engine_overdue_wait_ms(call->svc, sub) : 0, err);
  call_set_away(call, false); /* time counts towards ProcessingLimit */
  dx_line_set(&sub->reason, DX_WHY_BYTES, err->text);
  engine_report_problem(call->engine, sub, call->kind == CALLS_NONE,
                        call_ms(call->svc, call->polled->due_ms), err);
}

/* Tokens are signed with the time of the service if our clock is far off. */
static void call_forget_token(struct service_state *svc, int64_t date_ms)
{
  int64_t off = date_ms - dx_wall_ms();

  dx_token_forget(&svc->token);
  if (date_ms >= 0)
    svc->clock_off_ms = llabs(off) > DX_CLOCK_SKEW_S * 1000LL ? off : 0;
}

/* The first rejection of a token may be because of its age, or of our clock:
 * the next one is new. Later ones are about the installation, and so is any
 * while the section pauses. */
static bool call_is_first_token(struct call *call, const struct dx_err *err)
{
  return dx_class_of(err->code) == DX_CL_TOKEN &&
         !run_of(call->sub)->has_new_token &&
         (call->kind == CALLS_NONE ||
          (!dx_breaker_is_open(&call->svc->rejected[call->kind]) &&
           !dx_breaker_is_open(&call->svc->outage[call->kind])));
}

void engine_rejected(struct call *call, bool is_of_section,
                     const struct dx_err *err)
{
  struct dx_submission *sub = call->sub;
  struct service_state *svc = call->svc;
  struct run *run = run_of(sub);
  int64_t now = dx_monotonic_ms(), wait_ms;
  bool is_token = dx_class_of(err->code) == DX_CL_TOKEN;
  bool is_first = call_is_first_token(call, err);
  char clock[48] = "";
  struct dx_err full = *err;

  if (is_token || err->code == DX_E_DENIED) {
    call_forget_token(svc,
                      call->response != NULL ? call->response->date_ms : -1);
    if (svc->clock_off_ms != 0)
      (void)snprintf(clock, sizeof(clock), ", clock off by %" PRId64 " s",
                     svc->clock_off_ms / 1000);
    (void)dx_fail(&full, err->code, err->sys_errno,
                  "%s; service '%s', key id '%s'%s", err->text,
                  svc->service->name, engine_key_id(svc->service->token_key_id),
                  clock);
  }
  call->was_rejected = is_of_section;
  dx_breaker_drop(&svc->failing, run->id); /* the next one may start over */
  run->has_new_token = run->has_new_token || is_first;
  wait_ms = is_first ? DX_TOKEN_RENEW_MS
                     : dx_blame_rejected_wait_ms(++run->rejections);
  if (call->response != NULL)
    wait_ms = engine_longer(wait_ms, call->response->retry_after_ms);
  engine_wait(sub, wait_ms, WAIT_ADMIN);
  if (is_of_section)
    call_set_away(call, true);
  engine_report_problem(call->engine, sub, call->kind == CALLS_NONE,
                        call_ms(svc, run->due_ms), &full);
  engine_log_admin(sub, &full);
  if (call->kind == CALLS_NONE)
    svc->upload = full;
  if (!is_of_section || is_first || call->kind == CALLS_NONE)
    return;
  call_copy_problem(&svc->denial[call->kind], sub);
  if (dx_breaker_fail(&svc->rejected[call->kind], &engine_admin_rule, run->id,
                      now))
    call_opened(call, &svc->rejected[call->kind]);
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
    call_set_away(call, true);
    run->tries++;
    engine_wait(call->sub,
                engine_longer(retry_after_ms, dx_backoff_ms(run->tries)),
                WAIT_RATE);
    engine_report_problem(call->engine, call->sub, call->kind == CALLS_NONE,
                          call_ms(svc, run->due_ms), err);
    break;
  case DX_CL_TOKEN:
  case DX_CL_CONFIG:
    engine_rejected(call, true, err);
    break;
  case DX_CL_LOCAL:
    engine_local_failure(call->engine, call->sub->job, err);
    break;
  case DX_CL_REFUSED:
    dx_submission_end(call->sub, DX_EV_FAIL, err->code, err->text);
    break;
  default:
    engine_transient(call, 0, err);
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

bool engine_leave_in_slot(struct slot *slot, const struct dx_submission *sub)
{
  static const char text[] = "sending a request at %" PRId64 " ms";
  struct host *host = slot->svc->host;

  if (host->connecting == slot)
    host->connecting = NULL;
  if (dx_rate_limit_is_blocked(&host->limit))
    return false; /* the pause began while connecting */
  slot->call = dx_rate_limit_leave(&host->limit, slot->svc->service->api_rate);
  if (sub != NULL)
    dx_submission_log(DX_LOG_DEBUG, sub, text, dx_monotonic_ms());
  else
    dx_log(DX_LOG_DEBUG, text, dx_monotonic_ms());
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
  if (call->fd >= 0) {
    (void)close(call->fd);
    call->engine->puts--;
  }
  engine_release_slot(&call->slot, call->response);
  if (call->kind != CALLS_NONE) {
    if (dx_breaker_is_open(&call->svc->outage[call->kind]) ||
        dx_breaker_is_open(&call->svc->rejected[call->kind]))
      engine_rouse_resting(
          call->engine); /* one of them may be the next probe */
    dx_breaker_drop(&call->svc->outage[call->kind], run_of(call->sub)->id);
    dx_breaker_drop(&call->svc->rejected[call->kind], run_of(call->sub)->id);
  }
  /* Without a source, it shows nothing about whether sources fail. */
  if (call->kind == CALLS_CREATE && call->sub->source_id == NULL)
    dx_breaker_drop(&call->svc->failing, run_of(call->sub)->id);
  dx_temp_discard(&call->sink);
  dx_sha256_free(&call->sha);
  LIST_INSERT_HEAD(&call->engine->spare_calls, call, spare);
}

static void call_done(void *arg, const struct dx_http_response *response)
{
  struct call *call = arg;
  enum dx_code code;

  call->response = response;
  run_of(call->sub)->call = NULL;
  code = call->done(call);
  call->svc->counters.counts.calls[dx_class_of(code)]++;
  call_judge(call, code);
  call_end(call);
}

static void call_log(void *ctx, const char *line)
{
  const struct call *call = ctx;

  dx_submission_log(DX_LOG_DEBUG, call->sub, "%s", line);
}

/* The connection is up. A PUT has no slot; a GET needs no permission. */
static bool call_ready(void *arg)
{
  struct call *call = arg;
  const struct dx_permit *permit = &call->sub->job->drive->permit;

  if (call->kind != CALLS_GET &&
      (!permit->stands ||
       (permit->heard != NULL && dx_channel_has_unread(permit->heard))))
    return false;
  return call->kind == CALLS_NONE ||
         engine_leave_in_slot(&call->slot, call->sub);
}

struct call *engine_begin_call(struct dx_engine *engine,
                               struct dx_submission *sub, enum calls kind,
                               enum dx_code (*done)(struct call *call))
{
  struct run *run = run_of(sub);
  struct service_state *svc = engine_section_of(engine, sub);
  struct call *call = LIST_FIRST(&engine->spare_calls);

  assert(call != NULL); /* next.c begins no more than there are */
  LIST_REMOVE(call, spare);
  engine_rouse(sub->job->drive);
  run->waiting_since = 0;
  *call = (struct call){.engine = engine,
                        .svc = svc,
                        .sub = sub,
                        .kind = kind,
                        .api = {.http = engine->http,
                                .service = svc->service,
                                .log = call_log,
                                .ready = call_ready,
                                .done = call_done,
                                .ctx = call,
                                .call = &call->http},
                        .done = done,
                        .polled = &run->poll.source,
                        .fd = -1,
                        .sink = DX_TEMP_NONE};
  return call;
}

void engine_send_put(struct call *call,
                     enum dx_code (*start)(struct call *, struct dx_err *))
{
  struct dx_err err;
  enum dx_code code = start(call, &err);

  if (code == DX_OK) {
    run_of(call->sub)->call = call;
    return;
  }
  if (dx_class_of(code) == DX_CL_CONFIG)
    engine_rejected(call, true, &err);
  else
    engine_local_failure(call->engine, call->sub->job, &err);
  call_end(call);
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
  run_of(call->sub)->tried_ms = dx_monotonic_ms();
  dx_breaker_begin(&svc->outage[call->kind], run_of(call->sub)->id,
                   dx_monotonic_ms());
  dx_breaker_begin(&svc->rejected[call->kind], run_of(call->sub)->id,
                   dx_monotonic_ms());
  if (dx_token_get(&svc->token, off_ms, &call->api.token, &err) == DX_OK) {
    engine_send_put(call, start);
    return;
  }
  if (dx_class_of(err.code) == DX_CL_TOKEN)
    engine_rejected(call, true, &err);
  else if (err.code != DX_E_STOPPED) /* a request to stop */
    engine_local_failure(call->engine, call->sub->job, &err);
  call_end(call);
}

void engine_abort_call(struct dx_submission *sub)
{
  struct call *call = run_of(sub)->call;

  if (call == NULL)
    return;
  run_of(sub)->call = NULL;
  dx_http_cancel(&call->http);
  call_end(call);
}
