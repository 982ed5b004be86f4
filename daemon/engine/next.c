/*
 * next.c - what comes next: the step of a submission, and which of the steps
 * that are due comes first. In each turn, steps.c offers the submissions one
 * after the other, and then one call is started for each host, and one upload
 * and one OnResult for all.
 */
#include "daemon/engine/engine_internal.h"

#include <string.h>

enum step engine_next_step(struct dx_submission *sub, int64_t *ret_due)
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
    if (run->poll.arrival == ARRIVAL_NONE && engine_urls_are_valid(sub)) {
      *ret_due = engine_longer(run->due_ms, ask_ms);
      return STEP_PUT;
    }
    /* fall through */
  case DX_ST_UPLOADED:
  case DX_ST_PROCESSING:
    *ret_due = engine_longer(run->due_ms, source_ms);
    return STEP_SOURCE;
  case DX_ST_COMPLETE:
    for (i = 0; i < sub->case_count; i++)
      if (dx_case_can_be_delivered(&sub->cases[i]))
        return STEP_DELIVER;
    c = engine_next_case(sub);
    if (c != NULL) {
      *ret_due = engine_longer(c->polled.due_ms, run->due_ms);
      return STEP_EXTRACT;
    }
    for (i = 0; i < sub->case_count; i++)
      if (sub->cases[i].state != DX_CASE_DELIVERED)
        return STEP_NONE; /* its digest is to be saved first */
    return STEP_DELIVER;  /* the manifest */
  default:
    *ret_due = NEVER;
    return STEP_NONE;
  }
}

/* ---- which call is sent next ---- */

#define PROBE_GAP 8 /* calls between two probes, if others are due */

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

/* Which of two submissions makes the probe: one that an administrator retries;
 * else the one that has failed less often, because a failure may be about the
 * document; else the one whose last call was longer ago. */
static bool engine_is_earlier(const struct dx_submission *a,
                              const struct dx_submission *b)
{
  const struct run *run = run_of(a), *other;

  if (b == NULL)
    return true;
  other = run_of(b);
  if ((run->tried_ms == 0) != (other->tried_ms == 0))
    return run->tried_ms == 0;
  if (run->rejections + run->tries != other->rejections + other->tries)
    return run->rejections + run->tries < other->rejections + other->tries;
  return run->tried_ms < other->tried_ms;
}

/* A probe does not wait until it is due, unless it waits for something else
 * than the open breakers. */
static bool engine_probes_when_due(const struct service_state *svc,
                                   const struct dx_submission *sub)
{
  enum calls kind = engine_next_calls(sub);

  switch (run_of(sub)->wait) {
  case WAIT_OUTAGE:
  case WAIT_RATE:
    return !dx_breaker_is_open(&svc->outage[kind]);
  case WAIT_ADMIN:
    return !dx_breaker_is_open(&svc->rejected[kind]);
  case WAIT_START_OVER:
    return !dx_breaker_is_open(&svc->failing);
  case WAIT_STORAGE:
    return true;
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

/* The call may find nothing: the source, or the case, may not be ready yet. */
static bool engine_polls(struct dx_submission *sub)
{
  const struct dx_case *c = engine_next_case(sub);

  if (sub->state == DX_ST_COMPLETE)
    return c != NULL && c->polled.due_ms != 0; /* it was asked for before */
  return sub->state != DX_ST_STORED;
}

/* A create, or the first try to get the first result of a source. Those of a
 * source with thousands of cases must not hold up all others. */
static bool engine_is_prompt(const struct dx_submission *sub)
{
  return sub->state == DX_ST_STORED ||
         (sub->state == DX_ST_COMPLETE &&
          sub->cases[0].state == DX_CASE_WAITING &&
          sub->cases[0].polled.due_ms == 0);
}

/* Of two submissions of a section that are due, in the same class. Unattended
 * documents are registered in the order in which they were printed. That polls
 * do not come first almost halves the time to the results of 100 print jobs. */
static bool engine_comes_before(const struct dx_submission *a,
                                const struct dx_submission *b,
                                enum dx_order order)
{
  if (order == DX_ORDER_CREATE && a->job->received_at != b->job->received_at)
    return a->job->received_at < b->job->received_at;
  if (engine_is_prompt(a) != engine_is_prompt(b))
    return engine_is_prompt(a);
  return run_of(a)->waiting_since < run_of(b)->waiting_since;
}

int64_t engine_consider(struct dx_engine *engine, struct service_state *svc,
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
    if (engine_is_earlier(sub, host->probe))
      host->probe = sub;
    return NEVER;
  }
  if (due_ms > now)
    return due_ms;
  if (run->waiting_since == 0)
    run->waiting_since = now;
  if (svc->best[order] == NULL ||
      engine_comes_before(sub, svc->best[order], order))
    svc->best[order] = sub;
  return NEVER;
}

/* The call to send; NULL: none is due. A probe does not come at once: if a
 * section is asked to pause again and again, its probes would otherwise take
 * the first slot after each pause of the host from the other sections. */
static struct dx_submission *engine_pick(struct dx_engine *engine,
                                         const struct host *host)
{
  struct service_state *svc, *first[DX_ORDER_COUNT] = {NULL};
  bool due[DX_ORDER_COUNT], polls;
  enum dx_order order;
  size_t i;

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
  polls = due[DX_ORDER_RESULT] &&
          engine_polls(first[DX_ORDER_RESULT]->best[DX_ORDER_RESULT]);
  order = dx_order_next(host->slots, due, polls);
  if (order == DX_ORDER_COUNT ||
      (host->probe != NULL && host->slots - host->probed >= PROBE_GAP))
    return host->probe;
  return first[order]->best[order];
}

/* The call of a submission has taken a slot. */
static void engine_served(struct dx_engine *engine,
                          const struct dx_submission *sub, enum dx_order order)
{
  struct service_state *svc = engine_section_of(engine, sub);

  svc->served[order] = ++svc->host->slots;
  if (sub == svc->host->probe)
    svc->host->probed = svc->host->slots;
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

void engine_consider_put(struct dx_engine *engine, struct dx_submission *sub,
                         int64_t now)
{
  const struct dx_submission *best = engine->put_best;
  struct run *run = run_of(sub);

  if (run->waiting_since == 0)
    run->waiting_since = now;
  /* A storage that does not respond occupies a place for a minute: one is for
   * what has not failed yet. */
  if (run->upload.tries > 0 && engine->puts >= DX_PUTS_AT_ONCE - 1)
    return;
  if (best == NULL || sub->job->attended > best->job->attended ||
      (sub->job->attended == best->job->attended &&
       run->waiting_since < run_of(best)->waiting_since))
    engine->put_best = sub;
}

/* Starts the selected upload, if any; returns when to check again. */
static int64_t engine_put_best(struct dx_engine *engine)
{
  struct dx_submission *best = engine->put_best;

  if (best == NULL || engine->puts >= DX_PUTS_AT_ONCE)
    return NEVER; /* an event ends the wait */
  if (!best->job->dirty && best->job->drive->due_ms == 0)
    engine_put_file(engine, best);
  return dx_monotonic_ms();
}

void engine_consider_hook(struct dx_engine *engine, struct dx_submission *sub)
{
  if (engine->hook.pid == 0 &&
      (engine->hook_best == NULL ||
       engine_hook_ms(sub) < engine_hook_ms(engine->hook_best)))
    engine->hook_best = sub;
}

/* ---- a turn ---- */

void engine_forget_choice(struct dx_engine *engine)
{
  size_t i;

  engine->hook_best = NULL;
  engine->put_best = NULL;
  for (i = 0; i < engine->host_count; i++)
    engine->hosts[i].probe = NULL;
  for (i = 0; i < engine->config->service_count; i++)
    memset(engine->services[i].best, 0, sizeof(engine->services[i].best));
}

int64_t engine_start_chosen(struct dx_engine *engine)
{
  int64_t next = NEVER, when;
  size_t i;

  if (engine->hook_best != NULL) {
    engine_hook_start(engine, engine->hook_best);
    next = dx_monotonic_ms();
  }
  when = engine_put_best(engine);
  next = when < next ? when : next;
  for (i = 0; i < engine->host_count; i++) {
    when = engine_send_best(engine, &engine->hosts[i]);
    next = when < next ? when : next;
  }
  return next;
}
