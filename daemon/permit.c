/*
 * permit.c - whether a document may be sent: what the attendant has reported,
 * and what cupsd answers; lib/spool/permission.h decides.
 */
#include "daemon/manager.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/print/print_job.h"

/* ---- facts ---- */

/* As in the journal, but BROKEN if the backend should attend and is not
 * connected. */
static struct dx_print print_of(const struct managed *managed)
{
  struct dx_print print = managed->job->print;

  if (print.backend == DX_BACKEND_ATTENDS && managed->attendant == NULL)
    print.backend = DX_BACKEND_BROKEN;
  return print;
}

static struct dx_permission_facts permit_facts(const struct managed *managed,
                                               enum dx_answer answer)
{
  return (struct dx_permission_facts){
      .print = print_of(managed),
      .stopping = managed->attendant != NULL && managed->attendant->is_stopping,
      .answer = answer,
      /* A backend disconnects when its cupsd ends, and knows it better: in a
       * container, the unit of docextractd sees another boot id. */
      .cupsd_gone = managed->attendant == NULL &&
                    dx_cupsd_is_gone(managed->job->print.cupsd),
      .now_ms = dx_wall_ms()};
}

/* ---- what the engine reads ---- */

/* A response of cupsd permits one request, and soon: what it said may change. A
 * backend that attends permits all of them; but none leaves before what it has
 * sent was read. */
static void give(struct managed *managed, bool is_answer)
{
  const struct client *attendant = managed->attendant;

  managed->drive.permit = (struct dx_permit){
      .until_ms = is_answer ? dx_monotonic_ms() + DX_ASK_AGAIN_MS : INT64_MAX,
      .stands = true};
  if (attendant != NULL && managed->job->print.backend == DX_BACKEND_ATTENDS)
    managed->drive.permit.heard = &attendant->channel;
}

/* ---- what was learned ---- */

static const char *const undecided_text =
    "it is unknown whether the print job is still wanted; nothing more is sent "
    "until a decision is made";

static void set_undecided(struct managed *managed, bool is_undecided)
{
  struct dx_job *job = managed->job;

  if (job->print.undecided == is_undecided &&
      (!is_undecided || job->problem.text != NULL))
    return;
  job->print.undecided = is_undecided;
  dx_job_set_problem(job, is_undecided ? DX_E_JOB : DX_OK,
                     is_undecided ? undecided_text : "", 0);
  if (is_undecided)
    dx_job_log(DX_LOG_WARNING, job, "%s", undecided_text);
  job->dirty = true;
  attend_tell_problem(managed);
}

/* What cupsd does not keep is in the journal before anything follows from it.
 * Since when the print job is unclear need not be durable: every waiting job
 * learns it when cupsd is away. */
static void learn(struct dx_job *job, enum dx_answer answer, bool gone,
                  int64_t now)
{
  const struct dx_print before = job->print, *print = &job->print;

  if (!dx_print_learn(&job->print, answer, gone, now))
    return;
  job->behind = true;
  if (print->final != before.final || print->decided != before.decided ||
      print->known_later != before.known_later)
    job->dirty = true;
}

static enum dx_permission decide(struct managed *managed,
                                 struct dx_permission_facts facts)
{
  struct dx_job *job = managed->job;
  enum dx_permission permission;

  learn(job, facts.answer, facts.cupsd_gone, facts.now_ms);
  facts.print = print_of(managed);
  permission = dx_permission(&facts);
  managed->waits = permission == DX_MAY_WAIT || permission == DX_MAY_ASK;
  if (permission != DX_MAY_SEND)
    managed_withdraw(managed);
  set_undecided(managed, permission == DX_MAY_ASK);
  dx_job_log(DX_LOG_DEBUG, job, "cupsd: %s, backend: %s: %s",
             dx_answer_word(facts.answer), dx_backend_word(facts.print.backend),
             dx_permission_word(permission));
  return permission;
}

/* permit_turn() asks about its print job. */
static bool is_watched(const struct managed *managed)
{
  const struct dx_print *print = &managed->job->print;

  return !managed->job->ended && managed->attendant == NULL &&
         print->backend != DX_BACKEND_NONE && print->final == DX_FINAL_NONE;
}

/* Asks less and less often. */
static void ask_later(struct managed *managed)
{
  managed->watch_ms = dx_monotonic_ms() + managed->watch_gap_ms;
  managed->watch_gap_ms *= 2;
  if (managed->watch_gap_ms > DX_WATCH_MAX_MS)
    managed->watch_gap_ms = DX_WATCH_MAX_MS;
}

/* The print job was canceled. True if a client has sent it more than once, and
 * not all of them were canceled: another one counts now. */
static bool use_other(struct managed *managed)
{
  if (!dx_job_next_print(managed->job))
    return false;
  dx_job_log(DX_LOG_INFO, managed->job,
             "a print job of it was canceled, but print job %.20s was not",
             managed->job->cups_id);
  cupsd_forget(&managed->question);
  attend_release(managed, DX_BACKEND_BROKEN);
  return true;
}

static bool cancels(enum dx_permission permission)
{
  return permission == DX_MAY_CANCEL || permission == DX_MAY_CANCEL_UNSENT;
}

/* Applies a decision. True if it changes what the engine does next. */
static bool apply(struct managed *managed, enum dx_permission permission,
                  bool is_answer)
{
  struct dx_job *job = managed->job;

  if (permission == DX_MAY_SEND)
    give(managed, is_answer);
  else if (!cancels(permission))
    return false;
  else if (!use_other(managed)) {
    dx_job_log(DX_LOG_INFO, job, "canceled with its print job");
    if (permission == DX_MAY_CANCEL)
      dx_job_end(job, DX_EV_CANCEL);
    else
      dx_job_cancel_unsent(job, managed->drive.asking);
    dx_job_set_problem(job, DX_OK, "", 0);
  }
  dx_engine_wake(job);
  return true;
}

/* What has waited longest is not known before all are loaded. */
static bool can_be_given(const struct manager *manager,
                         const struct managed *managed)
{
  return dx_spool_sync(manager->spool) &&
         (!manager_is_loading(manager) || managed->attendant != NULL);
}

/* Something else wakes the job: for a copy, the decision of the administrator,
 * because neither a backend nor cupsd knows what was sent of it; otherwise,
 * what permit_turn() learns. */
static bool is_woken(const struct managed *managed)
{
  return managed->job->is_copy ||
         (managed->asked_ms == 0 && managed->waits && is_watched(managed));
}

bool permit_ask(struct manager *manager, struct managed *managed)
{
  struct dx_job *job = managed->job;
  enum dx_permission permission;
  struct dx_permission_facts facts;
  bool is_asked;

  if (is_woken(managed)) {
    dx_engine_hold(job);
    return false;
  }
  if (!can_be_given(manager, managed))
    return false;
  if (job->print.backend == DX_BACKEND_NONE)
    return apply(managed, DX_MAY_SEND, false);
  facts = permit_facts(managed, DX_ANSWER_NOT_ASKED);
  is_asked = dx_permission_needs_answer(&facts);
  if (is_asked) {
    if (managed->asked_ms == 0 && managed->waits &&
        dx_monotonic_ms() < managed->watch_ms)
      return false;
    if (managed->asked_ms == 0)
      managed->asked_ms = dx_monotonic_ms();
    listed_as_watched(managed);
    if (!cupsd_answer(&manager->cupsd, job, &managed->question,
                      managed->asked_ms, &facts.answer))
      return false;
  }
  managed->asked_ms = 0;
  permission = decide(managed, facts);
  if (managed->waits)
    ask_later(managed);
  return apply(managed, permission, is_asked) || job->dirty;
}

void permit_learn(struct managed *managed, enum dx_answer answer)
{
  enum dx_permission permission =
      decide(managed, permit_facts(managed, answer));

  if (cancels(permission))
    (void)apply(managed, permission, true);
  else if (!managed->waits || managed->job->dirty)
    /* What is sent needs an answer of its own. A job at rest is not saved. */
    dx_engine_wake(managed->job);
}

/* ---- watching print jobs that no backend attends ---- */

int64_t permit_turn(struct manager *manager)
{
  int64_t now = dx_monotonic_ms(), next = INT64_MAX;
  struct managed *managed = LIST_FIRST(&manager->watched), *after;
  enum dx_answer answer;

  for (; managed != NULL; managed = after) {
    after = LIST_NEXT(managed, watched);
    if (managed->asked_ms != 0 &&
        cupsd_answer(&manager->cupsd, managed->job, &managed->question,
                     managed->asked_ms, &answer))
      dx_engine_wake(managed->job); /* it asks again */
    if (managed->asked_ms == 0 && !is_watched(managed))
      listed_as_unwatched(managed);
    if (!is_watched(managed))
      continue;
    if (managed->watch_ms <= now &&
        cupsd_answer(&manager->cupsd, managed->job, &managed->question,
                     managed->watch_ms, &answer)) {
      ask_later(managed);
      permit_learn(managed, answer);
    }
    if (is_watched(managed)) {
      /* It is still due if cupsd was asked, or cannot be asked yet. */
      int64_t due =
          managed->watch_ms > now ? managed->watch_ms : now + DX_ASK_AGAIN_MS;

      next = due < next ? due : next;
    }
  }
  return next;
}
