/*
 * engine.c - the event loop: jobs come and go, and a turn performs what is due
 * of all of them.
 */
#include "daemon/engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

#define DX_ARRIVAL_GAP_MS 30000 /* a new job tries a paused section */
#define DX_STOP_MS 1000         /* for journals, at the end */
#define DX_UNFILLED_TRIES 20    /* of an upload */
#define DX_HOLD_MS 3600000      /* a job rests only until some time */

/* ---- jobs begin and end ---- */

/* Aborts all calls of a job, or only those of final submissions. */
static void engine_abort_calls(struct dx_job *job, bool all)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (all || dx_state_is_final(job->submissions[i].state))
      engine_abort_call(&job->submissions[i]);
}

/* The caller writes its journal, if necessary. */
static void engine_release_job(struct dx_engine *engine, struct dx_job *job)
{
  struct dx_drive *drive = job->drive;
  size_t i;

  engine_abort_calls(job, true);
  for (i = 0; i < job->submission_count; i++) {
    engine_drop_start_over(engine, &job->submissions[i]);
    engine_forget_source(engine, &job->submissions[i]);
  }
  engine_rouse(drive);
  TAILQ_REMOVE(&engine->roused, drive, turn);
  TAILQ_REMOVE(&engine->drives, drive, link);
  if (drive->has_news)
    TAILQ_REMOVE(&engine->news, drive, told);
  free(drive->runs);
  *drive = (struct dx_drive){.job = job};
}

static bool engine_has(const struct dx_job *job)
{
  return job->drive != NULL && job->drive->engine != NULL;
}

/* The number of a submission, which it also has after it was released and added
 * again: for the breakers, it is still the same document. The key of a job is a
 * hash. */
static uint64_t engine_id_of(const struct dx_submission *sub)
{
  const char *key = sub->job->key;
  size_t len = strlen(key), last = len < 13 ? len : 13;

  return (strtoull(key + len - last, NULL, 16) << 12) + sub->number;
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
                                int stop_fd)
{
  struct dx_engine *engine =
      calloc(1, sizeof(*engine) +
                    config->service_count * sizeof(struct service_state));
  size_t i, call_count;

  if (engine == NULL)
    return NULL;
  engine->hosts = calloc(config->service_count + 1, sizeof(*engine->hosts));
  TAILQ_INIT(&engine->drives);
  TAILQ_INIT(&engine->roused);
  TAILQ_INIT(&engine->news);
  RB_INIT(&engine->resting);
  engine->config = config;
  engine->spool = spool;
  engine->http = http;
  engine->stop_fd = stop_fd;
  engine->hook.fd = -1;
  engine->hook.said_fd = -1;
  call_count = DX_PUTS_AT_ONCE + DX_CALLS_AT_ONCE * (config->service_count + 1);
  engine->calls = calloc(call_count, sizeof(*engine->calls));
  for (i = 0; engine->calls != NULL && i < call_count; i++)
    LIST_INSERT_HEAD(&engine->spare_calls, &engine->calls[i], spare);
  if (engine->hosts == NULL || engine->calls == NULL)
    dx_engine_free(&engine);
  for (i = 0; engine != NULL && i < config->service_count; i++) {
    const struct dx_service *service = &config->services[i];
    struct service_state *svc = &engine->services[i];

    svc->service = service;
    svc->host = engine_find_host(engine, service);
    RB_INIT(&svc->line);
    svc->token = (struct dx_token){.service = service, .stop_fd = stop_fd};
    (void)dx_storage_last(spool->history_dirfd, service->name, svc->storage);
    dx_counters_begin(&svc->counters, spool->history_dirfd, service->name);
  }
  return engine;
}

void dx_engine_free(struct dx_engine **engine_at)
{
  struct dx_engine *engine = *engine_at;
  int64_t until = dx_monotonic_ms() + DX_STOP_MS;
  struct dx_job *job;
  size_t i;

  if (engine == NULL)
    return;
  dx_engine_cancel_hello(engine, NULL);
  engine_hook_stop(engine);
  while (!TAILQ_EMPTY(&engine->drives)) {
    job = TAILQ_FIRST(&engine->drives)->job;
    /* Thousands of waiting jobs may be behind: the service or the next try will
     * report the same again. After a restore, thousands must be saved: the next
     * process notices the same again, as after a crash. */
    if (dx_job_must_be_saved(job) && dx_monotonic_ms() < until)
      (void)engine_save_job(engine, job, true);
    engine_release_job(engine, job);
  }
  for (i = 0; i < engine->config->service_count; i++) {
    dx_token_forget(&engine->services[i].token);
    (void)dx_counters_save(&engine->services[i].counters, true);
  }
  free(engine->hosts);
  free(engine->calls);
  free(engine);
  *engine_at = NULL;
}

enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_drive *drive,
                           struct dx_job *job, struct dx_err *err)
{
  struct service_state *svc;
  bool was_saved = !dx_job_must_be_saved(job);
  size_t i, k;

  *drive = (struct dx_drive){
      .engine = engine,
      .job = job,
      .number = ++engine->last_number,
      .runs = calloc(job->submission_count, sizeof(*drive->runs))};
  if (drive->runs == NULL) {
    drive->engine = NULL;
    return dx_fail_nomem(err);
  }
  job->drive = drive;
  TAILQ_INSERT_TAIL(&engine->drives, drive, link);
  TAILQ_INSERT_TAIL(&engine->roused, drive, turn);
  job->has_hook = false;
  if (!job->print.undecided) /* the engine reports again what is wrong */
    dx_job_set_problem(job, DX_OK, "", 0);
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    run_of(sub)->id = engine_id_of(sub);
    run_of(sub)->tried_ms = dx_monotonic_ms();
    if (sub->source_id != NULL &&
        engine_keep_source(engine, sub, sub->source_id, err) != DX_OK) {
      engine_release_job(engine, job);
      return err->code;
    }
    svc = engine_section_of(engine, sub);
    if (svc == NULL)
      continue;
    job->has_hook = job->has_hook || svc->service->on_result != NULL;
    /* The problem may have been solved. */
    dx_breaker_hurry(&svc->rejected[CALLS_CREATE], DX_ARRIVAL_GAP_MS,
                     dx_monotonic_ms());
    if (sub->state == DX_ST_STORED && sub->start_overs > 0)
      (void)dx_breaker_fail(&svc->failing, &engine_failing_rule,
                            run_of(sub)->id, dx_monotonic_ms());
  }
  /* A crash or an exit may have interrupted any step. */
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    sub->overdue = false;
    for (k = 0; k < sub->case_count; k++)
      sub->cases[k].polled = (struct dx_polled){0};
    engine_resume_deliver(sub, was_saved);
    engine_resume_upload(sub);
  }
  engine_tell_problem(engine, job);
  return DX_OK;
}

void dx_engine_hurry(struct dx_engine *engine, struct dx_job *job)
{
  int64_t now = dx_monotonic_ms();
  struct service_state *svc;
  size_t i, k;

  if (!engine_has(job))
    return;
  engine_rouse_resting(engine); /* the breakers change */
  engine_rouse(job->drive);
  job->drive->due_ms = job->drive->due_ms != 0 ? now : 0;
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];
    struct run *run = run_of(sub);

    svc = engine_section_of(engine, sub);
    if (svc == NULL || dx_state_is_final(sub->state))
      continue;
    for (k = 0; k < CALLS_COUNT; k++) {
      dx_breaker_hurry(&svc->rejected[k], 0, now);
      dx_breaker_hurry(&svc->outage[k], 0, now);
      svc->host->probed_ms[k] = 0;
    }
    dx_breaker_hurry(&svc->failing, 0, now);
    run->tried_ms = 0; /* its call is the probe */
    run->due_ms = run->poll.source.due_ms = 0;
    for (k = 0; k < sub->case_count; k++)
      sub->cases[k].polled.due_ms = 0;
  }
}

void dx_engine_wake(struct dx_job *job)
{
  if (!engine_has(job))
    return;
  /* A response may have arrived already: it is no longer about anything. */
  engine_abort_calls(job, false);
  job->drive->ask_ms = 0;
  engine_rouse(job->drive);
  /* The next turn begins with it: a permission does not last. */
  TAILQ_REMOVE(&job->drive->engine->roused, job->drive, turn);
  TAILQ_INSERT_HEAD(&job->drive->engine->roused, job->drive, turn);
}

void dx_engine_hold(struct dx_job *job)
{
  enum step step;
  int64_t due;
  size_t i;

  if (!engine_has(job))
    return;
  job->drive->ask_ms = dx_monotonic_ms() + DX_HOLD_MS;
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    step = engine_next_step(sub, &due);
    if (run_of(sub)->call != NULL || (step != STEP_CREATE && step != STEP_PUT))
      continue;
    engine_drop_start_over(job->drive->engine, sub); /* others need not wait */
    run_of(sub)->waiting_since = 0;
  }
}

bool dx_engine_save(struct dx_engine *engine, struct dx_job *job)
{
  if (engine_has(job))
    engine_rouse(job->drive);
  return engine_save_job(engine, job, true);
}

enum dx_code dx_engine_remove(struct dx_engine *engine, struct dx_job *job)
{
  size_t i;

  if (!engine_has(job))
    return DX_OK;
  for (i = 0; i < job->submission_count; i++)
    if (run_of(&job->submissions[i])->call != NULL)
      return DX_E_BUSY;
  if ((dx_job_must_be_saved(job) || job->behind) &&
      !engine_save_job(engine, job, true))
    return DX_E_IO;
  engine_release_job(engine, job);
  return DX_OK;
}

/* Jobs that have ended or were halted are news, and released, unless their
 * OnResult is pending; true if there were any. */
static bool engine_reap(struct dx_engine *engine)
{
  struct dx_drive *drive = TAILQ_FIRST(&engine->roused);
  bool any = false, is_over;
  struct dx_news news;
  size_t i;

  while (drive != NULL) {
    struct dx_job *job = drive->job;

    drive = TAILQ_NEXT(drive, turn);
    is_over = !dx_job_must_be_saved(job);
    if (is_over && !job->is_halted)
      for (i = 0; i < job->submission_count; i++) {
        engine_check_limit(engine, &job->submissions[i]);
        is_over = is_over && dx_state_is_final(job->submissions[i].state);
      }
    if (is_over && !job->ended) {
      job->ended = true;
      engine_rouse(job->drive); /* OnResult is due */
      engine_news(engine, job)->ended = true;
      any = true;
    }
    if (!is_over || (!job->is_halted && dx_job_awaits_hook(job)))
      continue;
    if (dx_job_must_be_saved(job) || job->behind)
      (void)engine_save_job(engine, job, true);
    news = *engine_news(engine, job);
    engine_release_job(engine, job);
    *engine_news(engine, job) = news;
    job->drive->news.released = true;
    any = true;
  }
  return any;
}

/* It has a source that lacks files and waits for them, or will have one. If the
 * storage does not take this file, it may take others: after a time, this one
 * does not count. */
static bool engine_is_unfilled(const struct dx_submission *sub)
{
  const struct run *run = run_of(sub);

  if (run->call != NULL && run->call->kind == CALLS_CREATE)
    return true;
  return sub->state == DX_ST_REGISTERED &&
         run->upload.tries < DX_UNFILLED_TRIES &&
         run->poll.arrival != ARRIVAL_UNCLEAR && !run->poll.is_denied &&
         (run->rejections == 0 || run->poll.arrival == ARRIVAL_NONE);
}

/* Not of print jobs that are held, or whose section must be restored, or that
 * cannot go on here: they must not block the others. No job with such a source
 * rests. */
static void engine_count_unfilled(struct dx_engine *engine)
{
  int64_t now = dx_monotonic_ms();
  const struct dx_drive *drive;
  struct service_state *svc;
  size_t i;

  for (i = 0; i < engine->config->service_count; i++)
    engine->services[i].unfilled = 0;
  TAILQ_FOREACH (drive, &engine->roused, turn)
    for (i = 0; now >= drive->ask_ms && drive->due_ms == 0 &&
                i < drive->job->submission_count;
         i++)
      if (engine_is_unfilled(&drive->job->submissions[i]) &&
          (svc = engine_service_of(engine, &drive->job->submissions[i],
                                   NULL)) != NULL)
        svc->unfilled++;
}

/* Those in the lines show why no more sources are created. */
static void engine_check_storages(struct dx_engine *engine)
{
  size_t i;

  engine_count_unfilled(engine);
  for (i = 0; i < engine->config->service_count; i++) {
    struct service_state *svc = &engine->services[i];
    bool was_held_back = svc->why_not != NULL;

    engine_check_storage(engine, svc);
    if (svc->why_not != NULL && !was_held_back)
      engine_rouse_all(engine);
  }
}

/* Each job may write its journal. On a slow disk, a turn may therefore end
 * before all jobs are processed, so that no call is late; the next turn
 * continues. */
static int64_t engine_run_all(struct dx_engine *engine)
{
  int64_t now = dx_monotonic_ms(), until = now + DX_TURN_MS;
  int64_t next = engine_hook_turn(engine), when;
  struct dx_drive *drive = NULL, *last;
  size_t i;

  engine_forget_choice(engine);
  when = engine_rouse_due(engine, now);
  next = when < next ? when : next;
  engine_check_storages(engine);
  last = TAILQ_LAST(&engine->roused, roused);
  while (drive != last) {
    if (drive != NULL && dx_monotonic_ms() >= until) {
      next = until < next ? until : next;
      break;
    }
    drive = TAILQ_FIRST(&engine->roused);
    TAILQ_REMOVE(&engine->roused, drive, turn);
    TAILQ_INSERT_TAIL(&engine->roused, drive, turn);
    drive->next_ms = engine_run_job(engine, drive->job);
    next = drive->next_ms < next ? drive->next_ms : next;
  }
  when = engine_start_chosen(engine);
  next = when < next ? when : next;
  for (i = 0; i < engine->config->service_count; i++) {
    when = dx_counters_save(&engine->services[i].counters, false);
    next = when < next ? when : next;
  }
  return next;
}

int64_t dx_engine_turn(struct dx_engine *engine)
{
  struct dx_drive *drive, *after;
  int64_t next, now;
  bool any;

  any = engine_reap(engine); /* jobs ended by the last responses */
  next = engine_run_all(engine);
  any = engine_reap(engine) || any;
  now = dx_monotonic_ms();
  for (drive = TAILQ_FIRST(&engine->roused); drive != NULL; drive = after) {
    after = TAILQ_NEXT(drive, turn);
    engine_rest(drive, now);
  }
  return any ? now : next;
}

struct dx_job *dx_engine_news(struct dx_engine *engine,
                              struct dx_news *ret_news)
{
  struct dx_drive *drive = TAILQ_FIRST(&engine->news);

  if (drive == NULL)
    return NULL;
  TAILQ_REMOVE(&engine->news, drive, told);
  *ret_news = drive->news;
  drive->news = (struct dx_news){.saved = false};
  drive->has_news = false;
  return drive->job;
}

size_t dx_engine_fds(const struct dx_engine *engine, int *fds, size_t count)
{
  if (engine->hook.fd >= 0)
    fds[count++] = engine->hook.fd;
  if (engine->hook.said_fd >= 0)
    fds[count++] = engine->hook.said_fd;
  return count;
}
