/*
 * engine.c - the event loop: determines the next step of each submission, and
 * which call is sent next under the rate limit.
 */
#include "daemon/engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DX_PUTS_AT_ONCE 4       /* uploads of one process */
#define DX_CALLS_AT_ONCE 16     /* to one host; 8 a second, 2 s each */
#define DX_JOURNAL_LATE_MS 1000 /* to collect changes that need no fsync */

#define NEVER INT64_MAX

/* ---- what comes next ---- */

enum step {
  STEP_NONE,
  STEP_CREATE,
  STEP_PUT,
  STEP_SOURCE,
  STEP_EXTRACT,
  STEP_DELIVER
};

/* Pure: the next step in this state, and when it is due (monotonic). */
static enum step engine_next_step(struct dx_submission *sub, int64_t *ret_due)
{
  const struct run *run = run_of(sub);
  int64_t ask_ms = sub->job->drive->ask_ms;
  int64_t source_ms = run->poll.source.due_ms;
  struct dx_case *c;
  size_t i;

  *ret_due = run->due_ms;
  switch (sub->state) {
  case DX_ST_STORED:
    *ret_due = engine_longer(engine_longer(run->due_ms, source_ms), ask_ms);
    return STEP_CREATE;
  case DX_ST_REGISTERED:
    if (!run->poll.ask_first && engine_urls_are_valid(sub)) {
      *ret_due = engine_longer(run->due_ms, ask_ms);
      return STEP_PUT;
    }
    /* fall through */
  case DX_ST_UPLOADED:
  case DX_ST_PROCESSING:
    *ret_due = engine_longer(run->due_ms, source_ms);
    return STEP_SOURCE;
  case DX_ST_COMPLETE:
    c = engine_next_case(sub);
    for (i = 0; i < sub->case_count; i++)
      if (sub->cases[i].state == DX_CASE_STORED)
        return STEP_DELIVER;
    if (c == NULL)
      return STEP_DELIVER;
    *ret_due = engine_longer(c->polled.due_ms, run->due_ms);
    return STEP_EXTRACT;
  default:
    *ret_due = NEVER;
    return STEP_NONE;
  }
}

static bool engine_is_urgent(struct dx_submission *sub)
{
  int64_t due;

  return engine_next_step(sub, &due) != STEP_SOURCE;
}

/* Starts the selected call, or a test, if the next slot has come; returns when
 * to check again. A request leaves when its connection is ready. Only one
 * connects at a time: otherwise several could leave at the same moment. */
static int64_t engine_send_best(struct dx_engine *engine, struct host *host)
{
  int64_t now = dx_monotonic_ms(), due = dx_rate_limit_next_ms(&host->limit);
  struct hello *hello = engine_hello_waits(engine, host, due);
  struct dx_submission *best = host->best;
  enum step step;

  if ((best == NULL && hello == NULL) || host->connecting != NULL ||
      host->calls >= DX_CALLS_AT_ONCE)
    return NEVER; /* an event ends the wait */
  if (now < due)
    return due;
  if (hello != NULL) {
    engine_hello_call(hello);
    return now;
  }
  step = engine_next_step(best, &due);
  if (best->job->dirty || step == STEP_NONE || due > now)
    return now; /* a call to another host changed the job */
  /* Asks for permission only now: a thousand may be waiting. */
  if (step == STEP_CREATE)
    engine_create(engine, best);
  else if (step == STEP_SOURCE)
    engine_get_source(engine, best);
  else
    engine_get_extract(engine, best);
  return dx_monotonic_ms(); /* more calls may be due */
}

/* Aborts all calls of a job, or only those of final submissions. */
static void engine_abort_calls(struct dx_job *job, bool all)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (all || dx_state_is_final(job->submissions[i].state))
      engine_abort_call(&job->submissions[i]);
}

/* Delivers the manifests of failures, then writes the journal. False after a
 * failure, which is reported. */
static bool engine_save_job(struct dx_engine *engine, struct dx_job *job,
                            bool durably)
{
  struct dx_err err;
  enum dx_code code = engine_tell_failures(engine, job, &err);

  if (code == DX_OK)
    code = engine_write(engine, job, durably, &err);
  if (code == DX_OK)
    return true;
  job->dirty = true;
  engine_local_failure(engine, job, &err);
  return false;
}

static void engine_release_job(struct dx_engine *engine, struct dx_job *job)
{
  engine_abort_calls(job, true);
  if (job->dirty || job->behind)
    (void)engine_save_job(engine, job, true);
  TAILQ_REMOVE(&engine->drives, job->drive, link);
  free(job->drive);
  job->drive = NULL;
}

/* Performs the due step of a submission; returns when to check again. */
static int64_t engine_run_submission(struct dx_engine *engine,
                                     struct dx_submission *sub, int64_t now)
{
  struct run *run = run_of(sub);
  struct service_state *svc;
  struct dx_submission *best;
  struct dx_err err;
  int64_t due;
  enum step step;

  if (run->call.http != NULL)
    return NEVER;
  if (dx_state_is_final(sub->state)) {
    due = engine_hook_ms(sub);
    if (due > now)
      return due;
    /* The OnResult that has been due longest is run, one at a time. */
    if (engine->hook.pid == 0 &&
        (engine->hook_best == NULL || due < engine_hook_ms(engine->hook_best)))
      engine->hook_best = sub;
    return NEVER;
  }
  svc = engine_service_of(engine, sub, &err);
  if (svc == NULL) {
    if (now >= run->due_ms)
      engine_sub_needs_admin(engine, sub, &err);
    return run->due_ms;
  }
  engine_begin_phase(engine, sub);
  if (run->upload.tries > 0 &&
      (sub->state == DX_ST_PROCESSING || sub->state == DX_ST_COMPLETE))
    engine_put_landed(engine, sub);
  step = engine_next_step(sub, &due);
  if (due > now)
    return due;
  if ((step == STEP_CREATE || step == STEP_PUT) &&
      !dx_submission_is_here(sub)) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_MISSING, /* final */
                      "its document is no longer in the spool; release the "
                      "job, or send the document again");
  } else if (step == STEP_PUT) {
    /* The manifest of another submission that failed now comes first. */
    if (engine->puts < DX_PUTS_AT_ONCE && !sub->job->dirty)
      engine_put_file(engine, sub);
  } else if (step == STEP_DELIVER) {
    engine_deliver(engine, sub);
  } else if (svc->due_ms > now) {
    return svc->due_ms;
  } else { /* the most urgent of the API calls that are due is sent */
    best = svc->host->best;
    if (run->waiting_since == 0)
      run->waiting_since = now;
    if (best == NULL || engine_is_urgent(sub) > engine_is_urgent(best) ||
        (engine_is_urgent(sub) == engine_is_urgent(best) &&
         run->waiting_since < run_of(best)->waiting_since))
      svc->host->best = sub;
  }
  return NEVER;
}

/* Performs the due steps of a job; returns when to check again. */
static int64_t engine_run_job(struct dx_engine *engine, struct dx_job *job)
{
  int64_t late_ms = job->drive->late_ms, now = dx_monotonic_ms();
  int64_t next = NEVER, due;
  size_t i;

  if (now < job->drive->due_ms) { /* until then, users see the problem */
    if (!job->dirty && job->behind && late_ms != 0)
      (void)engine_save_job(engine, job, false);
    return job->drive->due_ms;
  }
  /* The journal is written if the next step requires it, or if it has been
   * behind for DX_JOURNAL_LATE_MS, so that one write covers several changes. */
  job->drive->late_ms = 0;
  if (job->dirty)
    (void)engine_save_job(engine, job, true);
  else if (job->behind && late_ms != 0 && now >= late_ms)
    (void)engine_save_job(engine, job, false);
  else if (job->behind)
    next = job->drive->late_ms =
        late_ms != 0 ? late_ms : now + DX_JOURNAL_LATE_MS;
  if (job->dirty)
    return job->drive->due_ms;
  if (job->drive->due_ms != 0) {
    job->drive->due_ms = 0;
    engine_report_problem(engine, job, DX_NOTE_LOCAL_OVER, 0, 0, NULL);
  }
  for (i = 0; i < job->submission_count; i++) {
    due = engine_run_submission(engine, &job->submissions[i], now);
    next = due < next ? due : next;
    if (job->dirty || (job->behind && job->drive->late_ms == 0))
      next = now; /* first write the journal, or schedule the write */
    if (job->drive->due_ms > now)
      return job->drive->due_ms;
  }
  return next;
}

/* ---- the interface ---- */

/* The host of a section. */
static struct host *engine_find_host(struct dx_engine *engine,
                                     const struct dx_service *service)
{
  int dirfd = engine->spool->history_dirfd;
  struct host *host = engine->hosts, *end = host + engine->host_count;

  while (host < end && (strcmp(host->limit.host, service->host) != 0 ||
                        host->limit.port != service->port))
    host++;
  if (host == end) {
    dx_rate_limit_init(&host->limit, dirfd, service->host, service->port);
    dx_latency_read(dirfd, service->host, service->port, &host->latency);
    engine->host_count++;
  }
  dx_rate_limit_hold(&host->limit, service->api_rate);
  return host;
}

struct dx_engine *dx_engine_new(const struct dx_config *config,
                                struct dx_spool *spool, struct dx_http *http,
                                const struct dx_observer *observer, int stop_fd)
{
  struct dx_engine *engine =
      calloc(1, sizeof(*engine) +
                    config->service_count * sizeof(struct service_state));
  size_t i;

  if (engine == NULL)
    return NULL;
  engine->hosts = calloc(config->service_count + 1, sizeof(*engine->hosts));
  TAILQ_INIT(&engine->drives);
  engine->config = config;
  engine->spool = spool;
  engine->http = http;
  engine->observer = *observer;
  engine->stop_fd = stop_fd;
  engine->hook.fd = -1;
  if (engine->hosts == NULL)
    dx_engine_free(&engine);
  for (i = 0; engine != NULL && i < config->service_count; i++) {
    const struct dx_service *service = &config->services[i];
    struct service_state *svc = &engine->services[i];

    svc->service = service;
    svc->host = engine_find_host(engine, service);
    svc->token = (struct dx_token){.service = service, .stop_fd = stop_fd};
    dx_counters_begin(&svc->counters, spool->history_dirfd, service->name);
  }
  return engine;
}

void dx_engine_free(struct dx_engine **engine_at)
{
  struct dx_engine *engine = *engine_at;
  size_t i;

  if (engine == NULL)
    return;
  dx_engine_cancel_hello(engine, NULL);
  engine_hook_stop(engine);
  while (!TAILQ_EMPTY(&engine->drives))
    engine_release_job(engine, TAILQ_FIRST(&engine->drives)->job);
  for (i = 0; i < engine->config->service_count; i++) {
    dx_token_forget(&engine->services[i].token);
    (void)dx_counters_save(&engine->services[i].counters, true);
  }
  free(engine->hosts);
  free(engine);
  *engine_at = NULL;
}

enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_job *job,
                           struct dx_err *err)
{
  struct service_state *svc;
  bool was_dirty = job->dirty;
  size_t i, k;

  job->drive = calloc(1, sizeof(*job->drive) +
                             job->submission_count * sizeof(struct run));
  if (job->drive == NULL)
    return dx_fail_nomem(err);
  job->drive->job = job;
  TAILQ_INSERT_TAIL(&engine->drives, job->drive, link);
  /* When a job is printed or retried, the problem may have been fixed: the
   * service is called at once. */
  job->has_hook = false;
  for (i = 0; i < job->submission_count; i++) {
    svc = engine_section_of(engine, &job->submissions[i]);
    if (svc == NULL)
      continue;
    if (svc->needs_admin)
      svc->due_ms = 0;
    svc->needs_admin = false;
    job->has_hook = job->has_hook || svc->service->on_result != NULL;
  }
  /* A crash or an exit may have interrupted any step. */
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    sub->overdue = false;
    for (k = 0; k < sub->case_count; k++)
      sub->cases[k].polled = (struct dx_polled){0};
    engine_resume_deliver(sub, was_dirty);
    if (sub->registering)
      engine_register_lost(sub);
    engine_resume_upload(sub);
  }
  return DX_OK;
}

void dx_engine_wake(struct dx_job *job)
{
  if (job->drive != NULL)
    job->drive->ask_ms = 0; /* every turn checks all jobs */
}

bool dx_engine_save(struct dx_engine *engine, struct dx_job *job)
{
  return engine_save_job(engine, job, true);
}

enum dx_code dx_engine_remove(struct dx_engine *engine, struct dx_job *job)
{
  size_t i;

  if (job->drive == NULL)
    return DX_OK;
  for (i = 0; i < job->submission_count; i++)
    if (run_of(&job->submissions[i])->call.http != NULL)
      return DX_E_BUSY;
  if ((job->dirty || job->behind) && !engine_save_job(engine, job, true))
    return DX_E_IO;
  engine_release_job(engine, job);
  return DX_OK;
}

/* Reports jobs that have ended or were halted, and releases them, unless their
 * OnResult is pending; true if there were any. */
static bool engine_reap(struct dx_engine *engine)
{
  struct dx_drive *drive = TAILQ_FIRST(&engine->drives);
  bool any = false, is_over;
  size_t i;

  while (drive != NULL) {
    struct dx_job *job = drive->job;

    drive = TAILQ_NEXT(drive, link);
    is_over = !job->dirty;
    if (is_over && job->halt.code == DX_OK)
      for (i = 0; i < job->submission_count; i++) {
        engine_check_limit(engine, &job->submissions[i]);
        is_over = is_over && dx_state_is_final(job->submissions[i].state);
      }
    if (is_over && !job->ended) {
      job->ended = true;
      engine->observer.ended(engine->observer.ctx, job);
      any = true;
    }
    if (!is_over || (job->halt.code == DX_OK && dx_job_awaits_hook(job)))
      continue;
    engine_release_job(engine, job);
    engine->observer.released(engine->observer.ctx, job);
    any = true;
  }
  return any;
}

/* Each job may write its journal. On a slow disk, a turn may therefore end
 * before all jobs are processed, so that no call is late; the next turn
 * continues. */
static int64_t engine_run_all(struct dx_engine *engine)
{
  int64_t now = dx_monotonic_ms(), until = now + DX_TURN_MS;
  int64_t next = engine_hook_turn(engine), when;
  struct dx_drive *drive = NULL, *last = TAILQ_LAST(&engine->drives, drives);
  size_t i;

  engine->hook_best = NULL;
  for (i = 0; i < engine->host_count; i++)
    engine->hosts[i].best = NULL;
  while (drive != last) {
    if (drive != NULL && dx_monotonic_ms() >= until) {
      next = until < next ? until : next;
      break;
    }
    drive = TAILQ_FIRST(&engine->drives);
    TAILQ_REMOVE(&engine->drives, drive, link);
    TAILQ_INSERT_TAIL(&engine->drives, drive, link);
    when = engine_run_job(engine, drive->job);
    next = when < next ? when : next;
  }
  if (engine->hook_best != NULL) {
    engine_hook_start(engine, engine->hook_best);
    next = now;
  }
  for (i = 0; i < engine->host_count; i++) {
    when = engine_send_best(engine, &engine->hosts[i]);
    next = when < next ? when : next;
  }
  for (i = 0; i < engine->config->service_count; i++) {
    when = dx_counters_save(&engine->services[i].counters, false);
    next = when < next ? when : next;
  }
  return next;
}

enum dx_code dx_engine_run(struct dx_engine *engine, int64_t timeout_ms,
                           const int *wake, size_t wake_count,
                           struct dx_err *err)
{
  const struct dx_drive *drive;
  int64_t next, wait;
  int fds[DX_HTTP_WAKE_MAX];
  bool any;
  size_t i;

  assert(wake_count < DX_HTTP_WAKE_MAX);
  any = engine_reap(engine); /* jobs ended by the last responses */
  next = engine_run_all(engine);
  any = engine_reap(engine) || any;
  TAILQ_FOREACH (drive, &engine->drives, link) /* canceled in this turn */
    engine_abort_calls(drive->job, false);
  wait = next == NEVER ? timeout_ms : next - dx_monotonic_ms();
  if (any || wait < 0)
    wait = 0; /* the caller has something to do */
  if (wait > timeout_ms)
    wait = timeout_ms;
  for (i = 0; i < wake_count; i++)
    fds[i] = wake[i];
  if (engine->hook.fd >= 0)
    fds[wake_count++] = engine->hook.fd;
  return dx_http_run(engine->http, wait, fds, wake_count, err);
}
