/*
 * adopt.c - the rules of adoption, and the one place that applies them.
 */
#include "lib/spool/adopt.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

/* ---- the rules ---- */

static bool is_sent(const struct dx_job *job)
{
  return dx_job_count(job, DX_ST_STORED) == 0 &&
         dx_job_count(job, DX_ST_REGISTERED) == 0;
}

bool dx_adoption_needs_cupsd(const struct dx_job *job)
{
  return job->owner == DX_OWNER_CUPS && !dx_job_is_finished(job);
}

static enum dx_adoption of_print_job(const struct dx_job *job,
                                     enum dx_print_job_state state)
{
  switch (state) {
  case DX_PJ_CANCELED:
    return DX_ADOPT_CANCEL;
  case DX_PJ_OVER:
  case DX_PJ_UNKNOWN:
    return DX_ADOPT_DRIVE;
  case DX_PJ_WAITING:
    return DX_ADOPT_LEAVE;
  default: /* held or not known: go on only with what the service has */
    return is_sent(job) ? DX_ADOPT_DRIVE : DX_ADOPT_LEAVE;
  }
}

enum dx_adoption dx_adoption_of(const struct dx_job *job,
                                enum dx_print_job_state state)
{
  enum dx_adoption adoption = DX_ADOPT_DRIVE;

  if (dx_job_is_finished(job))
    return DX_ADOPT_SETTLE;
  if (job->owner == DX_OWNER_COMMAND)
    return DX_ADOPT_LEAVE;
  if (dx_adoption_needs_cupsd(job))
    adoption = of_print_job(job, state);
  if (adoption == DX_ADOPT_DRIVE && dx_job_is_final(job))
    return DX_ADOPT_LEAVE;
  return adoption;
}

/* When cupsd last responded, or was first asked; and until when it is not asked
 * again because it did not: there may be many jobs to ask about. */
static int64_t seen_ms, silent_until_ms;

static enum dx_print_job_state no_response(int64_t now)
{
  return now - seen_ms > DX_CUPSD_GONE_MS ? DX_PJ_UNKNOWN : DX_PJ_NOBODY;
}

enum dx_print_job_state dx_ask_cupsd(const struct dx_job *job)
{
  struct dx_print_job print_job;
  int64_t now = dx_monotonic_ms();

  if (job->cups_id == NULL || job->uuid == NULL)
    return DX_PJ_OVER;
  if (seen_ms == 0)
    seen_ms = now;
  if (now < silent_until_ms)
    return no_response(now);
  dx_print_job_ask(job->cups_id, job->uuid, DX_ASK_CUPSD_MS, NULL, &print_job);
  now = dx_monotonic_ms();
  if (print_job.state != DX_PJ_NOBODY) {
    seen_ms = now;
    return print_job.state;
  }
  silent_until_ms = now + DX_ASK_VALID_MS;
  return no_response(now);
}

/* ---- applying them ---- */

static enum dx_print_job_state ask_or_cancel(struct dx_job *job)
{
  enum dx_print_job_state state = dx_ask_cupsd(job);

  if (state == DX_PJ_CANCELED)
    dx_job_cancel(job);
  return state;
}

bool dx_adopted_may_create(struct dx_job *job)
{
  enum dx_print_job_state state = ask_or_cancel(job);

  return state == DX_PJ_OVER || state == DX_PJ_UNKNOWN ||
         state == DX_PJ_WAITING;
}

bool dx_orphan_may_create(struct dx_job *job)
{
  enum dx_print_job_state state = ask_or_cancel(job);

  return state != DX_PJ_CANCELED && state != DX_PJ_HELD;
}

static enum dx_adoption ask(const struct dx_job *job)
{
  return dx_adoption_of(job, dx_adoption_needs_cupsd(job) ? dx_ask_cupsd(job)
                                                          : DX_PJ_OVER);
}

/* Without its lock: a backend that starts must not find it locked while cupsd
 * is asked. */
static enum dx_code look(struct dx_spool *spool, const char *key,
                         const char *service, enum dx_adoption *ret_adoption,
                         struct dx_err *err)
{
  struct dx_job *job = NULL;
  pid_t holder;
  enum dx_code code = dx_spool_peek(spool, key, &job, &holder, err);

  *ret_adoption = DX_ADOPT_LEAVE;
  if (code == DX_OK && holder == 0 &&
      (service == NULL || strcmp(job->service, service) == 0))
    *ret_adoption = ask(job);
  dx_job_free(&job);
  return code;
}

static enum dx_code cancel(struct dx_spool *spool, struct dx_job *job,
                           struct dx_err *err)
{
  enum dx_code code;

  dx_job_cancel(job);
  dx_job_set_message(job, DX_OK, "");
  code = dx_job_save(job, err);
  if (code == DX_OK)
    code = dx_spool_settle(spool, job, err);
  if (code == DX_OK)
    dx_log(DX_LOG_INFO, "job %s: canceled with its print job", job->key);
  return code;
}

/* Under the lock, by what the journal says now. */
static enum dx_code claim(struct dx_spool *spool, struct dx_job **job,
                          enum dx_adoption was, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (was == DX_ADOPT_CANCEL && dx_adoption_needs_cupsd(*job)) {
    code = cancel(spool, *job, err);
  } else if (was == DX_ADOPT_SETTLE && dx_job_is_finished(*job)) {
    code = dx_spool_settle(spool, *job, err);
  } else if (was == DX_ADOPT_DRIVE &&
             dx_adoption_of(*job, DX_PJ_OVER) == DX_ADOPT_DRIVE) {
    if ((*job)->owner == DX_OWNER_DAEMON)
      return DX_OK;
    dx_log(DX_LOG_INFO, "job %s: adopted, because no other process drives it",
           (*job)->key);
    (*job)->owner = DX_OWNER_DAEMON;
    code = dx_job_save(*job, err);
    if (code == DX_OK || code == DX_E_UNSYNCED)
      return DX_OK;
  }
  dx_job_free(job);
  return code;
}

enum dx_code dx_spool_adopt(struct dx_spool *spool, const char *key,
                            const char *service, struct dx_job **ret_job,
                            struct dx_err *err)
{
  enum dx_adoption was;
  enum dx_owner owner;
  pid_t holder;
  enum dx_code code = look(spool, key, service, &was, err);

  *ret_job = NULL;
  if (code == DX_OK && was != DX_ADOPT_LEAVE) {
    code = dx_spool_take(spool, key, ret_job, &holder, &owner, err);
    if (code == DX_OK)
      code = claim(spool, ret_job, was, err);
  }
  return code == DX_E_NOT_FOUND || code == DX_E_BUSY ? DX_OK : code;
}
