/*
 * permit.c - whether a document may be sent: an attendant answers, or cupsd
 * does, and lib/spool/permission.h decides.
 */
#include "daemon/driver.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/print/print_job.h"

static bool is_gone(const struct dx_job *job)
{
  return job->print.cupsd != NULL && dx_cupsd_is_gone(job->print.cupsd);
}

/* ---- the attendant ---- */

/* SEND, or WAIT for its answer; ASK: it does not answer. */
static enum dx_permission ask_attendant(struct driven *driven)
{
  int64_t now = dx_monotonic_ms();

  if (driven->may_yes) {
    driven->may_yes = false;
    driven->may_ms = 0;
    return DX_MAY_SEND;
  }
  if (driven->may_ms == 0) {
    driven->may_ms = now;
    driven->may_number++;
    control_send(driven->attendant->client, "may %lld",
                 (long long)driven->may_number);
    return DX_MAY_WAIT;
  }
  return now - driven->may_ms < DX_MAY_MS ? DX_MAY_WAIT : DX_MAY_ASK;
}

/* A `no` is not used: what it means is said by `ended`, which follows, or by
 * the end of the connection. */
void permit_reply(struct driven *driven, int64_t number, bool yes)
{
  if (number != driven->may_number || driven->may_ms == 0)
    return;
  driven->may_yes = yes;
}

/* ---- cupsd ---- */

static const char *const undecided_text =
    "it is not known whether the print job is still wanted, so it waits";

static void set_undecided(struct driven *driven, bool is_undecided)
{
  struct dx_job *job = driven->job;

  if (job->print.undecided == is_undecided)
    return;
  job->print.undecided = is_undecided;
  dx_job_set_message(job, is_undecided ? DX_E_JOB : DX_OK,
                     is_undecided ? undecided_text : "");
  if (is_undecided)
    dx_log(DX_LOG_WARNING, "job %s: %s", job->key, undecided_text);
  job->dirty = true;
}

/* backend: how it stands at the moment. */
static enum dx_permission decide(struct driven *driven, enum dx_answer answer,
                                 enum dx_backend backend)
{
  struct dx_job *job = driven->job;
  int64_t now = dx_wall_ms();
  bool gone = is_gone(job);
  struct dx_permission_facts facts;
  enum dx_permission permission;

  if (dx_print_learn(&job->print, answer, gone, now))
    job->dirty = true;
  facts = dx_print_facts(&job->print, answer, gone, now);
  facts.backend = backend;
  permission = dx_permission(&facts);
  set_undecided(driven, permission == DX_MAY_ASK);
  dx_log(DX_LOG_DEBUG, "job %s: cupsd: %s, backend: %s: %s", job->key,
         dx_answer_word(answer), dx_backend_word(backend),
         dx_permission_word(permission));
  return permission;
}

static enum dx_permission
ask_cupsd(struct driver *driver, struct driven *driven, enum dx_backend backend)
{
  enum dx_answer answer = DX_ANSWER_NOT_ASKED;
  struct dx_permission_facts facts = dx_print_facts(
      &driven->job->print, answer, is_gone(driven->job), dx_wall_ms());

  facts.backend = backend;
  if (dx_permission_needs_answer(&facts)) {
    if (driven->asked_ms == 0)
      driven->asked_ms = dx_monotonic_ms();
    if (!cupsd_answer(driver->cupsd, driven->job, &driven->question,
                      driven->asked_ms, &answer))
      return DX_MAY_WAIT;
  }
  driven->asked_ms = 0;
  return decide(driven, answer, backend);
}

enum dx_permission permit_ask(void *ctx, struct dx_job *job)
{
  struct driver *driver = ctx;
  struct driven *driven = driver_find(driver, job->key);
  enum dx_permission permission = DX_MAY_ASK;
  enum dx_backend backend = job->print.backend;

  if (backend == DX_BACKEND_NONE)
    return DX_MAY_SEND;
  if (backend == DX_BACKEND_ATTENDS) {
    if (driven->attendant != NULL)
      permission = ask_attendant(driven);
    if (permission != DX_MAY_ASK) {
      if (permission == DX_MAY_SEND)
        set_undecided(driven, false);
      /* The journal first. */
      return job->dirty ? DX_MAY_WAIT : permission;
    }
    backend = DX_BACKEND_BROKEN;
  }
  permission = ask_cupsd(driver, driven, backend);
  return job->dirty && permission == DX_MAY_SEND ? DX_MAY_WAIT : permission;
}

void permit_learn(struct driver *driver, struct driven *driven,
                  enum dx_answer answer)
{
  enum dx_permission permission =
      decide(driven, answer, driven->job->print.backend);

  if (permission == DX_MAY_CANCEL) {
    dx_log(DX_LOG_INFO, "job %s: canceled with its print job",
           driven->job->key);
    dx_job_cancel(driven->job);
    dx_job_set_message(driven->job, DX_OK, "");
  }
  dx_engine_wake(driver->engine, driven->job);
}

/* ---- watching print jobs that nobody attends ---- */

static bool is_watched(const struct driven *driven)
{
  const struct dx_print *print = &driven->job->print;

  return driven->attendant == NULL && print->backend != DX_BACKEND_NONE &&
         print->final == DX_FINAL_NONE;
}

void permit_watch(struct driven *driven)
{
  driven->may_ms = 0;
  driven->may_yes = false;
  driven->asked_ms = 0;
  driven->watch_gap_ms = DX_WATCH_FIRST_MS;
  driven->watch_ms = dx_monotonic_ms();
}

static void look(struct driver *driver, struct driven *driven, int64_t now)
{
  enum dx_answer answer;

  if (!cupsd_answer(driver->cupsd, driven->job, &driven->question,
                    driven->watch_ms, &answer))
    return;
  driven->watch_ms = now + driven->watch_gap_ms;
  driven->watch_gap_ms = 2 * driven->watch_gap_ms < DX_WATCH_MAX_MS
                             ? 2 * driven->watch_gap_ms
                             : DX_WATCH_MAX_MS;
  permit_learn(driver, driven, answer);
}

int64_t permit_turn(struct driver *driver)
{
  int64_t now = dx_monotonic_ms(), next = INT64_MAX;
  size_t i;

  for (i = 0; i < driver->count; i++) {
    struct driven *driven = driver->jobs[i];

    if (!is_watched(driven))
      continue;
    if (driven->watch_ms <= now)
      look(driver, driven, now);
    if (is_watched(driven) && driven->watch_ms > now && driven->watch_ms < next)
      next = driven->watch_ms;
  }
  return next;
}

/* The engine asks again, and so does permit_turn(). */
void permit_answered(void *ctx, const char *key)
{
  struct driver *driver = ctx;
  struct driven *driven = key != NULL ? driver_find(driver, key) : NULL;

  if (driven != NULL)
    dx_engine_wake(driver->engine, driven->job);
}
