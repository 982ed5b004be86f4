/*
 * engine.c - the event loop: determines the next step of each submission, and
 * which call is sent next under the rate limit.
 */
#include "daemon/engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DX_JOURNAL_LATE_MS 1000 /* to collect changes; again for each: */
#define DX_JOURNAL_LATE_BYTES 98304
#define DX_ARRIVAL_GAP_MS 30000 /* a new job tries a paused section */
#define DX_STOP_MS 1000         /* for journals, at the end */

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
      if (dx_case_can_be_delivered(&sub->cases[i]))
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

/* ---- which call is sent next ---- */

/* The open breakers that hold back the next API call; returns their number. */
#define GATES_MAX 3
static size_t engine_gates(struct service_state *svc,
                           const struct dx_submission *sub,
                           struct dx_breaker *gates[GATES_MAX])
{
  enum calls kind = engine_next_calls(sub);
  struct dx_breaker *all[] = {&svc->outage[kind], &svc->rejected[kind],
                              &svc->failing};
  bool starts_over = kind == CALLS_CREATE && sub->start_overs > 0;
  size_t i, n = 0;

  for (i = 0; i < GATES_MAX; i++)
    if (dx_breaker_is_open(all[i]) &&
        (all[i] != &svc->failing ||
         (starts_over && all[i]->probe != run_of(sub)->id)))
      gates[n++] = all[i];
  return n;
}

/* Which of two submissions makes the probe: one that was not rejected, because
 * a rejection may be about the document; else the one whose last call was
 * longer ago. */
static bool engine_is_earlier(const struct dx_submission *a,
                              const struct dx_submission *b)
{
  if (b == NULL || run_of(a)->rejections != run_of(b)->rejections)
    return b == NULL || run_of(a)->rejections < run_of(b)->rejections;
  return run_of(a)->tried_ms < run_of(b)->tried_ms;
}

/* A probe does not wait until it is due, unless it waits for something else
 * than the open breakers. */
static bool engine_probes_when_due(const struct service_state *svc,
                                   const struct dx_submission *sub)
{
  enum calls kind = engine_next_calls(sub);

  switch (run_of(sub)->wait) {
  case WAIT_ADMIN:
    return !dx_breaker_is_open(&svc->rejected[kind]);
  case WAIT_START_OVER:
    return !dx_breaker_is_open(&svc->failing);
  default:
    return false;
  }
}

/* Why a submission that has made no call itself is held back; NULL: nothing is
 * wrong. */
static void engine_hold_back(struct dx_engine *engine,
                             struct dx_submission *sub, bool is_of_storage,
                             const struct dx_err *err)
{
  if (sub->problem.text != NULL || err == NULL)
    return;
  engine_report_problem(engine, sub, is_of_storage, 0, err);
  run_of(sub)->is_held_back = true;
}

/* The problem of the calls that a breaker holds back. */
static const struct dx_err *engine_trouble(const struct service_state *svc,
                                           enum calls kind)
{
  if (dx_breaker_is_open(&svc->rejected[kind]))
    return &svc->denial[kind];
  return dx_breaker_is_open(&svc->outage[kind]) ? &svc->lost[kind] : NULL;
}

/* A section that was asked to slow down has no precedence: its calls would come
 * first after each pause of the host, and cause another one. */
static enum dx_order engine_order(const struct service_state *svc,
                                  const struct dx_submission *sub,
                                  enum step step)
{
  if (sub->job->attended && !svc->is_refused)
    return DX_ORDER_ATTENDED;
  if (step == STEP_CREATE)
    return DX_ORDER_CREATE;
  return sub->overdue ? DX_ORDER_OVERDUE : DX_ORDER_RESULT;
}

static bool engine_polls(const struct dx_submission *sub)
{
  return sub->state != DX_ST_STORED && sub->state != DX_ST_COMPLETE;
}

/* Of two submissions of a section that are due, in the same class. Documents
 * are registered in the order in which they were printed. Of attended jobs,
 * polls come last, which halves the time to the results of 100 print jobs. */
static bool engine_comes_before(const struct dx_submission *a,
                                const struct dx_submission *b,
                                enum dx_order order)
{
  if (order == DX_ORDER_CREATE && a->job->received_at != b->job->received_at)
    return a->job->received_at < b->job->received_at;
  if (order == DX_ORDER_ATTENDED && engine_polls(a) != engine_polls(b))
    return engine_polls(b);
  return run_of(a)->waiting_since < run_of(b)->waiting_since;
}

/* An API call is the next step, due at due_ms. Selects the one that comes first
 * of those that are due; or, if breakers hold it back, the one whose last call
 * was longest ago, due or not. Returns when to check again. */
static int64_t engine_consider(struct dx_engine *engine,
                               struct service_state *svc,
                               struct dx_submission *sub, enum step step,
                               int64_t due_ms, int64_t now)
{
  struct dx_breaker *gates[GATES_MAX];
  size_t i, count = engine_gates(svc, sub, gates);
  struct run *run = run_of(sub);
  struct host *host = svc->host;
  enum dx_order order = engine_order(svc, sub, step);
  enum calls kind = engine_next_calls(sub);
  const struct dx_breaker *outage = &svc->outage[kind];
  int64_t probe_ms = step == STEP_CREATE ? sub->job->drive->ask_ms : 0;

  run->line = due_ms <= now ? svc : NULL;
  if (step == STEP_CREATE && !svc->may_create) {
    engine_hold_back(engine, sub, true, svc->why_not);
    return NEVER;
  }
  if (count > 0) {
    engine_hold_back(engine, sub, false, engine_trouble(svc, kind));
    if (engine_probes_when_due(svc, sub))
      probe_ms = engine_longer(probe_ms, run->due_ms);
    for (i = 0; i < count; i++)
      probe_ms = engine_longer(probe_ms, dx_breaker_next_ms(gates[i]));
    /* Sections of a host do not probe it more often than one would. */
    if (dx_breaker_is_open(outage) && host->probed_ms[kind] != 0)
      probe_ms =
          engine_longer(probe_ms, host->probed_ms[kind] + outage->pause_ms);
    if (probe_ms > now)
      return probe_ms;
    if (engine_is_earlier(sub, host->probe)) {
      host->probe = sub;
      host->probe_ms = engine_longer(probe_ms, host->limit.pause.until_ms);
    }
    return NEVER;
  }
  if (due_ms > now)
    return due_ms;
  if (run->waiting_since == 0)
    run->waiting_since = now;
  if (svc->best[order] == NULL ||
      engine_comes_before(sub, svc->best[order], order))
    svc->best[order] = sub;
  if (host->oldest == NULL ||
      run->waiting_since < run_of(host->oldest)->waiting_since)
    host->oldest = sub;
  return NEVER;
}

/* The call to send; NULL: none is due. A probe comes after the calls that were
 * due before it: if a section is asked to pause again and again, its probes
 * would otherwise take the first slot after each pause of the host from the
 * other sections, which take turns. */
static struct dx_submission *engine_pick(struct dx_engine *engine,
                                         const struct host *host)
{
  struct dx_submission *oldest = host->oldest;
  struct service_state *svc, *first[DX_ORDER_COUNT] = {NULL};
  bool due[DX_ORDER_COUNT];
  enum dx_order order;
  size_t i;

  if (host->probe != NULL)
    return oldest != NULL && run_of(oldest)->waiting_since <= host->probe_ms
               ? oldest
               : host->probe;
  for (i = 0; i < engine->config->service_count; i++) {
    svc = &engine->services[i];
    for (order = 0; svc->host == host && order < DX_ORDER_COUNT; order++)
      if (svc->best[order] != NULL &&
          (first[order] == NULL ||
           svc->served[order] < first[order]->served[order]))
        first[order] = svc;
  }
  for (order = 0; order < DX_ORDER_COUNT; order++)
    due[order] = first[order] != NULL;
  order = dx_order_next(host->slots, due);
  return order == DX_ORDER_COUNT ? NULL : first[order]->best[order];
}

/* The call of a submission has taken a slot. */
static void engine_served(struct dx_engine *engine,
                          const struct dx_submission *sub, enum dx_order order)
{
  struct service_state *svc = engine_section_of(engine, sub);

  svc->served[order] = ++svc->host->slots;
}

/* Starts the selected call, or a test, if the next slot has come; returns when
 * to check again. A request leaves when its connection is ready. Only one
 * connects at a time: otherwise several could leave at the same moment. */
static int64_t engine_send_best(struct dx_engine *engine, struct host *host)
{
  int64_t now = dx_monotonic_ms(), due = dx_rate_limit_next_ms(&host->limit);
  struct hello *hello = engine_hello_waits(engine, host, due);
  struct dx_submission *best = engine_pick(engine, host);
  enum dx_order order;
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
  if (best->job->dirty || (due > now && best != host->probe) ||
      (step != STEP_CREATE && step != STEP_SOURCE && step != STEP_EXTRACT))
    return now; /* a call to another host changed the job */
  order = engine_order(engine_section_of(engine, best), best, step);
  /* Asks for permission only now: a thousand may be waiting. */
  if (step == STEP_CREATE)
    engine_create(engine, best);
  else if (step == STEP_SOURCE)
    engine_get_source(engine, best);
  else
    engine_get_extract(engine, best);
  if (run_of(best)->call != NULL)
    engine_served(engine, best, order);
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

/* The submission does not start over any more. */
static void engine_drop_start_over(struct dx_engine *engine,
                                   const struct dx_submission *sub)
{
  struct service_state *svc = engine_section_of(engine, sub);

  if (svc != NULL)
    dx_breaker_drop(&svc->failing, run_of(sub)->id);
}

/* The caller writes its journal, if necessary. */
static void engine_release_job(struct dx_engine *engine, struct dx_job *job)
{
  size_t i;

  engine_abort_calls(job, true);
  for (i = 0; i < job->submission_count; i++)
    engine_drop_start_over(engine, &job->submissions[i]);
  engine_rouse(job->drive);
  TAILQ_REMOVE(&engine->roused, job->drive, turn);
  TAILQ_REMOVE(&engine->drives, job->drive, link);
  free(job->drive);
  job->drive = NULL;
}

/* Selects the upload that has been due longest; first, one of an attended job.
 */
static void engine_consider_put(struct dx_engine *engine,
                                struct dx_submission *sub, int64_t now)
{
  const struct dx_submission *best = engine->put_best;
  struct run *run = run_of(sub);

  if (run->waiting_since == 0)
    run->waiting_since = now;
  if (best == NULL || sub->job->attended > best->job->attended ||
      (sub->job->attended == best->job->attended &&
       run->waiting_since < run_of(best)->waiting_since))
    engine->put_best = sub;
}

/* Starts the selected upload, if any; returns when to check again. If another
 * submission of its job has failed now, its manifest comes first. */
static int64_t engine_put_best(struct dx_engine *engine)
{
  struct dx_submission *best = engine->put_best;

  if (best == NULL || engine->puts >= DX_PUTS_AT_ONCE)
    return NEVER; /* an event ends the wait */
  if (!best->job->dirty && best->job->drive->due_ms == 0)
    engine_put_file(engine, best);
  return dx_monotonic_ms();
}

/* Performs the due step of a submission; returns when to check again. */
static int64_t engine_run_submission(struct dx_engine *engine,
                                     struct dx_submission *sub, int64_t now)
{
  struct run *run = run_of(sub);
  struct service_state *svc;
  struct dx_err err;
  int64_t due;
  enum step step;

  if (run->call != NULL)
    return NEVER;
  if (dx_state_is_final(sub->state)) {
    engine_drop_start_over(engine, sub);
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
  if ((run->upload.tries > 0 || sub->problem.is_of_storage) &&
      (sub->state == DX_ST_PROCESSING || sub->state == DX_ST_COMPLETE))
    engine_put_landed(engine, sub);
  step = engine_next_step(sub, &due);
  if (due > now && (step == STEP_PUT || step == STEP_DELIVER))
    return due;
  if ((step == STEP_CREATE || step == STEP_PUT) &&
      !dx_submission_is_here(sub)) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_MISSING, /* final */
                      "its document is no longer in the spool; release the "
                      "job, or send the document again");
  } else if (step == STEP_PUT) {
    engine_consider_put(engine, sub, now);
  } else if (step == STEP_DELIVER) {
    engine_deliver(engine, sub);
  } else {
    due = engine_consider(engine, svc, sub, step, due, now);
    run->is_candidate = due == NEVER;
    return due;
  }
  return NEVER;
}

/* True if more results will be fetched at once: the journal can wait for them,
 * and is written once for all. */
static bool engine_fetches_more(const struct dx_job *job, int64_t now)
{
  const struct dx_case *c;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    if (sub->state != DX_ST_COMPLETE)
      continue;
    c = engine_next_case(sub);
    if (c != NULL &&
        engine_longer(c->polled.due_ms, run_of(sub)->due_ms) <= now)
      return true;
  }
  return false;
}

/* For how long changes are collected: a large journal is written less often. */
static int64_t engine_journal_late_ms(const struct dx_job *job)
{
  return DX_JOURNAL_LATE_MS *
         (1 + (int64_t)(job->journal_bytes / DX_JOURNAL_LATE_BYTES));
}

/* Performs the due steps of a job; returns when the next one is due. */
static int64_t engine_run_steps(struct dx_engine *engine, struct dx_job *job)
{
  int64_t late_ms = job->drive->late_ms, now = dx_monotonic_ms();
  int64_t next = NEVER, due;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    run_of(&job->submissions[i])->is_candidate = false;
    run_of(&job->submissions[i])->line = NULL;
  }
  if (now < job->drive->due_ms) { /* until then, users see the problem */
    if (!job->dirty && job->behind && late_ms != 0)
      (void)engine_save_job(engine, job, false);
    return job->drive->due_ms;
  }
  /* The journal is written if the next step requires it, or if it has been
   * behind for a while, so that one write covers several changes. */
  job->drive->late_ms = 0;
  if (job->dirty || (job->unsaved && !engine_fetches_more(job, now)))
    (void)engine_save_job(engine, job, true);
  else if (job->behind && late_ms != 0 && now >= late_ms)
    (void)engine_save_job(engine, job, job->unsaved);
  else if (job->behind)
    next = job->drive->late_ms =
        late_ms != 0 ? late_ms : now + engine_journal_late_ms(job);
  if (job->dirty)
    return job->drive->due_ms;
  if (job->drive->due_ms != 0) {
    job->drive->due_ms = 0;
    dx_job_set_problem(job, DX_OK, "", 0);
    engine_tell_problem(engine, job);
  }
  for (i = 0; i < job->submission_count; i++) {
    due = engine_run_submission(engine, &job->submissions[i], now);
    next = due < next ? due : next;
    due = engine_limit_ms(engine, &job->submissions[i]);
    next = due < next ? due : next;
    if (job->dirty || (job->behind && job->drive->late_ms == 0))
      next = now; /* first write the journal, or schedule the write */
    if (job->drive->due_ms > now)
      return job->drive->due_ms;
  }
  return next;
}

/* Performs the due steps of a job; returns when to check again. */
static int64_t engine_run_job(struct dx_engine *engine, struct dx_job *job)
{
  int64_t next = engine_run_steps(engine, job), late_ms = job->drive->late_ms;

  /* A problem that was found now is to be published before the next step. */
  return !job->dirty && job->behind && late_ms != 0 && late_ms < next ? late_ms
                                                                      : next;
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
  size_t i, call_count;

  if (engine == NULL)
    return NULL;
  engine->hosts = calloc(config->service_count + 1, sizeof(*engine->hosts));
  TAILQ_INIT(&engine->drives);
  TAILQ_INIT(&engine->roused);
  RB_INIT(&engine->resting);
  engine->config = config;
  engine->spool = spool;
  engine->http = http;
  engine->observer = *observer;
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
     * report the same again. After a restore, thousands may be dirty: the next
     * process notices the same again, as after a crash. */
    if (job->dirty && dx_monotonic_ms() < until)
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
  job->drive->engine = engine;
  job->drive->job = job;
  job->drive->number = ++engine->last_id;
  TAILQ_INSERT_TAIL(&engine->drives, job->drive, link);
  TAILQ_INSERT_TAIL(&engine->roused, job->drive, turn);
  job->has_hook = false;
  if (!job->print.undecided) /* the engine reports again what is wrong */
    dx_job_set_problem(job, DX_OK, "", 0);
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    run_of(sub)->id = ++engine->last_id;
    run_of(sub)->tried_ms = dx_monotonic_ms();
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
    engine_resume_deliver(sub, was_dirty);
    if (sub->registering)
      engine_register_lost(sub);
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

  if (job->drive == NULL)
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

void dx_engine_tell(struct dx_engine *engine, struct dx_job *job)
{
  if (job->drive == NULL)
    return;
  job->drive->has_told = false;
  engine_tell_problem(engine, job);
}

void dx_engine_wake(struct dx_job *job)
{
  if (job->drive == NULL)
    return;
  job->drive->ask_ms = 0;
  engine_rouse(job->drive);
}

bool dx_engine_save(struct dx_engine *engine, struct dx_job *job)
{
  if (job->drive != NULL)
    engine_rouse(job->drive);
  return engine_save_job(engine, job, true);
}

enum dx_code dx_engine_remove(struct dx_engine *engine, struct dx_job *job)
{
  size_t i;

  if (job->drive == NULL)
    return DX_OK;
  for (i = 0; i < job->submission_count; i++)
    if (run_of(&job->submissions[i])->call != NULL)
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
  struct dx_drive *drive = TAILQ_FIRST(&engine->roused);
  bool any = false, is_over;
  size_t i;

  while (drive != NULL) {
    struct dx_job *job = drive->job;

    drive = TAILQ_NEXT(drive, turn);
    is_over = !job->dirty;
    if (is_over && !job->is_halted)
      for (i = 0; i < job->submission_count; i++) {
        engine_check_limit(engine, &job->submissions[i]);
        is_over = is_over && dx_state_is_final(job->submissions[i].state);
      }
    if (is_over && !job->ended) {
      job->ended = true;
      engine_rouse(job->drive); /* OnResult is due */
      engine->observer.ended(engine->observer.ctx, job);
      any = true;
    }
    if (!is_over || (!job->is_halted && dx_job_awaits_hook(job)))
      continue;
    if (job->dirty || job->behind)
      (void)engine_save_job(engine, job, true);
    engine_release_job(engine, job);
    engine->observer.released(engine->observer.ctx, job);
    any = true;
  }
  return any;
}

/* It has a source that lacks files, or will have one. */
static bool engine_is_unfilled(const struct dx_submission *sub)
{
  const struct call *call = run_of(sub)->call;

  return sub->state == DX_ST_REGISTERED ||
         (call != NULL && call->kind == CALLS_CREATE);
}

/* Not of print jobs that are held: they must not block the others. No job with
 * such a source rests. */
static void engine_count_unfilled(struct dx_engine *engine)
{
  int64_t now = dx_monotonic_ms();
  const struct dx_drive *drive;
  struct service_state *svc;
  size_t i;

  for (i = 0; i < engine->config->service_count; i++)
    engine->services[i].unfilled = 0;
  TAILQ_FOREACH (drive, &engine->roused, turn)
    for (i = 0; now >= drive->ask_ms && i < drive->job->submission_count; i++)
      if (engine_is_unfilled(&drive->job->submissions[i]) &&
          (svc = engine_section_of(engine, &drive->job->submissions[i])) !=
              NULL)
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

  engine->hook_best = NULL;
  engine->put_best = NULL;
  for (i = 0; i < engine->host_count; i++)
    engine->hosts[i].oldest = engine->hosts[i].probe = NULL;
  for (i = 0; i < engine->config->service_count; i++)
    memset(engine->services[i].best, 0, sizeof(engine->services[i].best));
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
  if (engine->hook_best != NULL) {
    engine_hook_start(engine, engine->hook_best);
    next = now;
  }
  when = engine_put_best(engine);
  next = when < next ? when : next;
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
  struct dx_drive *drive, *after;
  int64_t now, next, wait;
  int fds[DX_HTTP_WAKE_MAX];
  bool any;
  size_t i;

  assert(wake_count + 2 <= DX_HTTP_WAKE_MAX);
  any = engine_reap(engine); /* jobs ended by the last responses */
  next = engine_run_all(engine);
  any = engine_reap(engine) || any;
  now = dx_monotonic_ms();
  for (drive = TAILQ_FIRST(&engine->roused); drive != NULL; drive = after) {
    after = TAILQ_NEXT(drive, turn);
    engine_abort_calls(drive->job, false); /* canceled in this turn */
    engine_rest(drive, now);
  }
  wait = next == NEVER ? timeout_ms : next - dx_monotonic_ms();
  if (any || wait < 0)
    wait = 0; /* the caller has something to do */
  if (wait > timeout_ms)
    wait = timeout_ms;
  for (i = 0; i < wake_count; i++)
    fds[i] = wake[i];
  if (engine->hook.fd >= 0)
    fds[wake_count++] = engine->hook.fd;
  if (engine->hook.said_fd >= 0)
    fds[wake_count++] = engine->hook.said_fd;
  return dx_http_run(engine->http, wait, fds, wake_count, err);
}
