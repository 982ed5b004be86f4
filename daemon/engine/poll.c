/*
 * poll.c - polls an uploaded source: when, what its responses mean, and
 * ProcessingLimit (doc/policy.md, "Exactly once", "Poll schedule").
 */
#include "daemon/engine/engine_internal.h"

#include <inttypes.h>
#include <string.h>

#define DX_REREGISTER_GAP_MS 60000 /* between the two GETs, and after a PUT */
#define DX_STUCK_MS 60000          /* all PUT, still pending: PUT again */
#define DX_STUCK_DOUBLINGS 6       /* of that time, with each repetition */
#define DX_FILES_LATE_MS 60000     /* a counter of files may lag */
#define DX_GONE_WAIT_MS 60000      /* a new source or case may appear late */

/* ---- the wait for the service ---- */

void engine_begin_poll(struct dx_submission *sub, int64_t wait_ms)
{
  struct run *run = run_of(sub);

  memset(&run->poll, 0, sizeof(run->poll));
  run->poll.source.due_ms = dx_monotonic_ms() + wait_ms;
  sub->overdue = false; /* it was the source before */
}

void engine_poll_first(struct dx_submission *sub)
{
  run_of(sub)->poll.arrival = ARRIVAL_POSSIBLE;
}

static enum dx_phase poll_phase(const struct dx_submission *sub)
{
  return sub->state == DX_ST_COMPLETE ? DX_PHASE_EXTRACT : DX_PHASE_SOURCE;
}

/* True if the submission waits for the service. */
static bool poll_is_waiting(const struct dx_submission *sub)
{
  return sub->state == DX_ST_UPLOADED || sub->state == DX_ST_PROCESSING ||
         sub->state == DX_ST_COMPLETE ||
         (sub->state == DX_ST_REGISTERED &&
          run_of(sub)->poll.arrival == ARRIVAL_UNCLEAR);
}

/* The pages of all documents of a source; 0 when its cases are polled, whose
 * pages are not known. */
static int64_t poll_pages(const struct dx_submission *sub)
{
  int64_t pages = 0;
  size_t i;

  for (i = 0; sub->state != DX_ST_COMPLETE && i < sub->file_count; i++)
    pages += sub->job->documents[sub->files[i].document].entry.pages;
  return pages;
}

static int64_t poll_schedule(const struct service_state *svc,
                             const struct dx_submission *sub, int64_t age_ms,
                             int64_t last_ms)
{
  enum dx_phase phase = poll_phase(sub);
  struct dx_poll_forecast forecast =
      dx_poll_predict(&svc->host->latency.of[phase], poll_pages(sub));

  return dx_poll_wait_ms(&forecast, phase, age_ms, last_ms, dx_random_unit());
}

void engine_begin_phase(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);
  struct dx_polled *source = &run->poll.source;
  struct service_state *svc = engine_section_of(engine, sub);
  int64_t now = dx_monotonic_ms();

  if (run->poll.phase_ms != 0 || !poll_is_waiting(sub))
    return;
  run->poll.phase_ms = now;
  run->poll.away_ms = engine_away_ms(svc);
  source->wait_ms = 0;
  source->not_yet_ms = 0;
  if (sub->state == DX_ST_UPLOADED && !sub->verify) {
    source->wait_ms = poll_schedule(svc, sub, 0, 0);
    source->due_ms = engine_longer(source->due_ms, now + source->wait_ms);
  }
  engine_news(engine, sub->job)->progress = true;
}

int64_t engine_limit_ms(struct dx_engine *engine, struct dx_submission *sub)
{
  const struct run *run = run_of(sub);
  const struct service_state *svc = engine_service_of(engine, sub, NULL);

  if (svc == NULL || run->poll.is_denied || run->poll.phase_ms == 0 ||
      sub->overdue || !poll_is_waiting(sub))
    return INT64_MAX;
  return run->poll.phase_ms + engine_away_ms(svc) - run->poll.away_ms +
         svc->service->processing_limit_ms + 1;
}

void engine_check_limit(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);
  struct service_state *svc = engine_service_of(engine, sub, NULL);
  const char *reason = dx_line(sub->reason); /* of the last response */
  struct dx_err err;
  int64_t from_ms;

  if (svc == NULL || run->poll.is_denied || run->poll.phase_ms == 0 ||
      !poll_is_waiting(sub) || (sub->overdue && run->call == NULL))
    return;
  /* Time in which the service was unavailable does not count. If the submission
   * is already overdue, the limit applies to this call alone. */
  from_ms = sub->overdue
                ? (int64_t)run->call->slot.ms
                : run->poll.phase_ms + engine_away_ms(svc) - run->poll.away_ms;
  if (dx_monotonic_ms() - from_ms <= svc->service->processing_limit_ms)
    return;
  if (run->call != NULL) {
    /* A slow response does not trigger the stall timeout. Other cases then come
     * first. */
    dx_submission_log(DX_LOG_WARNING, sub,
                      "a response is not complete after ProcessingLimit");
    run->call->polled->due_ms =
        dx_monotonic_ms() + engine_overdue_wait_ms(svc, sub);
    engine_abort_call(sub);
  }
  if (sub->overdue)
    return;
  sub->overdue = true;
  dx_breaker_drop(&svc->failing, run->id); /* the next one may start over */
  (void)dx_fail(&err, DX_E_OVERDUE, 0, ENGINE_OVERDUE_TEXT "%s%s%s",
                reason[0] != '\0' ? " (" : "", reason,
                reason[0] != '\0' ? ")" : "");
  dx_submission_set_problem(sub, err.code, err.text, 0);
  engine_tell_problem(engine, sub->job);
}

/* ---- what any GET can find ---- */

/* The service is up. The time in which it denied the source does not count. */
static void poll_up(struct call *call)
{
  struct run *run = run_of(call->sub);

  engine_service_up(call);
  if (run->poll.is_denied) {
    run->poll.is_denied = false;
    run->poll.phase_ms = 0;
    engine_begin_phase(call->engine, call->sub);
  }
}

/* Records the time for the poll schedule and for `docextract metrics`. */
void engine_poll_ready(struct call *call)
{
  const struct dx_submission *sub = call->sub;
  int64_t age_ms = dx_monotonic_ms() - run_of(sub)->poll.phase_ms;
  int64_t not_yet_ms = call->polled->not_yet_ms;
  struct host *host = call->svc->host;
  const struct dx_rate_limit *limit = &host->limit;
  enum dx_phase phase = poll_phase(sub);
  struct dx_counts *counts = &call->svc->counters.counts;

  dx_poll_learn(&host->latency.of[phase], poll_pages(sub), not_yet_ms, age_ms);
  if (phase == DX_PHASE_EXTRACT) /* soon after the other one: one write */
    dx_latency_write(limit->history_dirfd, limit->host, limit->port,
                     &host->latency);
  counts->found[phase]++;
  counts->late_ms[phase] += age_ms - not_yet_ms;
  poll_up(call);
}

/* Schedules the next poll. */
static void poll_later(struct call *call)
{
  struct dx_submission *sub = call->sub;
  struct dx_polled *polled = call->polled;
  struct run *run = run_of(sub);
  int64_t now = dx_monotonic_ms();

  if (sub->state == DX_ST_REGISTERED)
    run->poll.arrival = ARRIVAL_UNCLEAR;
  engine_begin_phase(call->engine, sub);
  polled->not_yet_ms = now - run->poll.phase_ms;
  polled->wait_ms =
      sub->overdue
          ? engine_overdue_wait_ms(call->svc, sub)
          : poll_schedule(call->svc, sub, engine_longer(polled->not_yet_ms, 1),
                          polled->wait_ms);
  polled->due_ms =
      now + engine_longer(polled->wait_ms, call->response->retry_after_ms);
  engine_news(call->engine, sub->job)->progress = true;
}

/*
 * Registers again only if the first source will certainly not be processed: its
 * URLs have expired or it is gone, and two checks, DX_REREGISTER_GAP_MS apart,
 * found files missing. A slow response may show what was the case when its call
 * began.
 */
static void poll_reregister(struct call *call)
{
  struct dx_submission *sub = call->sub;
  struct run *run = run_of(sub);
  int64_t began_ms = (int64_t)call->slot.ms, left = 0;

  if (run->upload.sent_ms != 0)
    left = run->upload.sent_ms + DX_REREGISTER_GAP_MS - began_ms;
  if (left <= 0 && run->poll.pending_ms == 0)
    run->poll.pending_ms = dx_monotonic_ms();
  if (left <= 0)
    left = run->poll.pending_ms + DX_REREGISTER_GAP_MS - began_ms;
  if (left > 0) {
    engine_wait(sub, left, WAIT_NONE);
    return;
  }
  dx_breaker_drop(&call->svc->failing, run->id); /* the next may start over */
  sub->reregistrations++;
  engine_wait(sub, dx_blame_reregister_wait_ms(sub->reregistrations),
              WAIT_STORAGE);
  engine_apply(sub, DX_EV_REREGISTER);
}

/* Not found: a new source or case may not be visible yet. Later, one with our
 * files is missing because of the service, or of what is between us. */
static void poll_gone(struct call *call, const struct dx_err *err)
{
  struct dx_submission *sub = call->sub;
  bool is_case = sub->state == DX_ST_COMPLETE;
  int64_t age =
      dx_wall_ms() - (is_case ? sub->complete_at : sub->registered_at);
  bool is_new = age >= 0 && age < DX_GONE_WAIT_MS;
  struct dx_err not_yet = *err; /* no reason to call an administrator */

  not_yet.code = DX_E_UNEXPECTED;
  if (is_new && is_case)
    poll_later(call);
  else if (is_new)
    engine_transient(call, 0, &not_yet);
  else if (!is_case && (sub->state == DX_ST_REGISTERED || sub->verify))
    poll_reregister(call);
  else
    engine_rejected(call, true, err);
}

/* True if the service denies the source, and another key than the current one
 * created it: the submission waits for an administrator. */
static bool poll_is_denied(struct call *call, enum dx_code code)
{
  struct dx_submission *sub = call->sub;
  struct run *run = run_of(sub);
  const struct dx_service *service = call->svc->service;
  const char *made_with = engine_key_id(sub->key_id);
  const char *in_use = engine_key_id(service->token_key_id);
  struct dx_err err;

  if ((code != DX_E_GONE && code != DX_E_TOKEN) ||
      strcmp(made_with, in_use) == 0)
    return false;
  run->poll.is_denied = true;
  (void)dx_fail(&err, DX_E_DENIED, 0,
                "the source was created with key id '%s', and the service "
                "denies access with key id '%s': if the new key belongs to "
                "another account, restore the old key until the job has ended; "
                "service '%s'",
                made_with, in_use, service->name);
  engine_rejected(call, false, &err);
  return true;
}

void engine_poll_failed(struct call *call, enum dx_code code,
                        const struct dx_err *err)
{
  struct run *run = run_of(call->sub);

  if (poll_is_denied(call, code))
    return;
  if (code == DX_E_NOT_YET) {
    poll_up(call);
    poll_later(call);
  } else if (code == DX_E_GONE) {
    poll_gone(call, err);
  } else if (code == DX_E_UNEXPECTED ||
             (code == DX_E_RESPONSE && call->response->status != 0)) {
    if (call->sub->state == DX_ST_REGISTERED)
      run->poll.arrival = ARRIVAL_UNCLEAR;
    engine_unexpected(call, err);
  } else {
    engine_failed(call, err);
    call->polled->due_ms = dx_monotonic_ms(); /* other cases come first */
  }
}

/* ---- get source ---- */

/* The service failed to extract the source: starts again with create source. */
static void poll_start_over(struct call *call)
{
  struct dx_submission *sub = call->sub;
  struct service_state *svc = call->svc;
  int64_t now = dx_wall_ms(), wait_ms;
  struct dx_failure failure;
  struct dx_err err;

  if (sub->failing_since == 0)
    sub->failing_since = now;
  (void)dx_breaker_fail(&svc->failing, &engine_failing_rule, run_of(sub)->id,
                        dx_monotonic_ms());
  failure = (struct dx_failure){.start_overs = sub->start_overs,
                                .is_general = dx_breaker_is_open(&svc->failing),
                                .other_was_extracted =
                                    svc->extracted_at > sub->failing_since};
  wait_ms = dx_blame_failed_wait_ms(&failure);
  if (!dx_submission_is_here(sub)) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                      "the service failed to extract it; release the job "
                      "to send it again");
  } else if (wait_ms < 0) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                      "the service failed to extract it, several times");
  } else {
    sub->start_overs++;
    engine_apply(sub, DX_EV_SEEN_FAILED);
    engine_wait(sub, wait_ms, WAIT_START_OVER);
    (void)dx_fail(
        &err, DX_E_UNEXPECTED, 0,
        "the service failed to extract it, %" PRId64 " time%s, and %s",
        sub->start_overs, sub->start_overs == 1 ? "" : "s",
        failure.is_general ? "fails for other documents, too: one at a time is "
                             "sent again"
                           : "it is sent again");
    engine_report_problem(call->engine, sub, false,
                          failure.is_general ? 0 : run_of(sub)->due_ms, &err);
  }
}

/* Handles pending_upload, before or after the last PUT returned 200. */
static void poll_seen_pending(struct call *call, const struct dx_source *source)
{
  struct dx_submission *sub = call->sub;
  struct run *run = run_of(sub);
  bool missing = source->expected < 0 || source->uploaded < 0 ||
                 source->uploaded < source->expected;
  bool are_valid = engine_urls_are_valid(sub);
  /* A storage may confirm a file that it does not store. */
  bool stuck = dx_monotonic_ms() - run->upload.sent_ms >
               (int64_t)DX_STUCK_MS << run->upload.repeats;
  bool can_put_again = are_valid && dx_submission_is_here(sub);
  size_t i;

  engine_apply(sub, DX_EV_SEEN_PENDING);
  if (sub->state == DX_ST_REGISTERED && missing && are_valid) {
    if (run->poll.arrival == ARRIVAL_UNCLEAR) { /* the wait starts again */
      sub->overdue = false;
      run->poll.phase_ms = 0;
    }
    run->poll.arrival = ARRIVAL_NONE; /* PUT again to the same URL */
    run->poll.pending_ms = 0;
  } else if (sub->state == DX_ST_UPLOADED && missing && can_put_again &&
             (sub->verify || stuck)) {
    /* Upload again to the same source, with the same URLs. */
    engine_apply(sub, DX_EV_PUT_AGAIN);
    for (i = 0; i < sub->file_count; i++)
      sub->files[i].put = DX_PUT_SENDING;
    run->poll.pending_ms = 0;
    engine_wait(sub, 0, WAIT_NONE);
    if (run->upload.repeats < DX_STUCK_DOUBLINGS)
      run->upload.repeats++;
  } else if (!are_valid && (sub->state == DX_ST_REGISTERED
                                ? missing
                                : sub->state == DX_ST_UPLOADED && sub->verify &&
                                      source->uploaded <= 0)) {
    poll_reregister(call);
  } else {
    poll_later(call); /* the service will process it */
  }
}

/* The service extracts sources of this section: those that failed for several
 * submissions start over. */
static void poll_seen_extraction(struct call *call)
{
  struct service_state *svc = call->svc;

  svc->extracted_at = dx_wall_ms();
  call->sub->failing_since = 0;
  if (dx_breaker_succeed(&svc->failing))
    engine_resume(call->engine, svc, CALLS_CREATE, WAIT_START_OVER);
}

static void poll_seen_complete(struct call *call)
{
  struct dx_submission *sub = call->sub;
  struct run *run = run_of(sub);

  if (run->poll.phase_ms != 0)
    engine_poll_ready(call);
  engine_apply(sub, DX_EV_SEEN_COMPLETE);
  run->poll.phase_ms = 0;
  engine_wait(sub, engine_longer(call->response->retry_after_ms, 0), WAIT_NONE);
  poll_seen_extraction(call);
}

/*
 * Rejects a response if the service is processing, or has completed, fewer
 * files than were registered: an incomplete chart must not be delivered. The
 * counter of the service may be late for DX_FILES_LATE_MS.
 */
static enum dx_code poll_check_files(const struct dx_submission *sub,
                                     const struct dx_source *source,
                                     struct dx_err *err)
{
  struct run *run = run_of(sub);
  int64_t registered = (int64_t)sub->file_count;
  int64_t expected = source->expected >= 0 ? source->expected : registered;
  int64_t uploaded = source->uploaded >= 0 ? source->uploaded : expected;
  int64_t now = dx_monotonic_ms();

  if ((source->status != DX_SOURCE_PROCESSING &&
       source->status != DX_SOURCE_COMPLETE) ||
      (expected >= registered && uploaded >= expected)) {
    run->poll.short_ms = 0;
    return DX_OK;
  }
  if (run->poll.short_ms == 0)
    run->poll.short_ms = now;
  if (now - run->poll.short_ms < DX_FILES_LATE_MS)
    return DX_E_NOT_YET;
  return dx_fail(err, DX_E_UNEXPECTED, 0,
                 "the service reports %" PRId64 " of %" PRId64
                 " files, but does not wait for the others",
                 uploaded < expected ? uploaded : expected,
                 expected > registered ? expected : registered);
}

static enum dx_code source_done(struct call *call)
{
  struct dx_submission *sub = call->sub;
  struct dx_source source;
  struct dx_err err;
  enum dx_code code =
      dx_read_source(call->response, sub->source_id, &source, &err);

  if (code == DX_OK)
    code = poll_check_files(sub, &source, &err);
  if (code == DX_OK && source.status == DX_SOURCE_COMPLETE)
    code =
        dx_submission_set_cases(sub, source.case_ids, source.case_count, &err);
  if (code != DX_OK) {
    engine_poll_failed(call, code, &err);
    dx_source_release(&source);
    return code;
  }
  poll_up(call);
  switch (source.status) {
  case DX_SOURCE_PENDING:
    poll_seen_pending(call, &source);
    break;
  case DX_SOURCE_COMPLETE:
    poll_seen_complete(call);
    break;
  case DX_SOURCE_FAILED:
    poll_start_over(call);
    break;
  case DX_SOURCE_PROCESSING:
    engine_apply(sub, DX_EV_SEEN_PROCESSING);
    poll_later(call);
    break;
  default:
    dx_submission_log(DX_LOG_WARNING, sub, "the source has an unknown status");
    poll_later(call);
    break;
  }
  dx_source_release(&source);
  return DX_OK;
}

static enum dx_code source_start(struct call *call, struct dx_err *err)
{
  return dx_api_call(&call->api, DX_CALL_SOURCE, call->sub->source_id, NULL,
                     err);
}

void engine_get_source(struct dx_engine *engine, struct dx_submission *sub)
{
  engine_send(engine_begin_call(engine, sub, CALLS_GET, source_done),
              source_start);
}
