/*
 * ending.c - the only exit of the backend, and the only table from error class
 * to exit status (doc/policy.md, "Print jobs").
 */
#include "backend/backend.h"

#include <cups/backend.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "daemon/engine/announce.h"
#include "lib/spool/failures.h"
#include "lib/print/print_job.h"
#include "lib/spool/sentence.h"
#include "lib/spool/sweep.h"

#define ASK_MS 1800      /* a cupsd that is stopping kills us anyway */
#define CANCELED_MS 1000 /* two seconds in all, from SIGTERM to the end */

/* Never 1, 2 or 6: the queue's error policy, a password dialog, and a job
 * that is aborted after a few tries. */
static const int exit_status[DX_CL_COUNT] = {
    [DX_CL_DONE] = CUPS_BACKEND_OK,
    [DX_CL_NOT_YET] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_TRANSIENT] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_RATE] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_TOKEN] = CUPS_BACKEND_STOP,
    [DX_CL_REFUSED] = CUPS_BACKEND_HOLD,
    [DX_CL_CONFIG] = CUPS_BACKEND_STOP,
    [DX_CL_GONE] = CUPS_BACKEND_HOLD,
    [DX_CL_LOCAL] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_OVERDUE] = CUPS_BACKEND_HOLD,
    [DX_CL_STOPPED] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_INTERNAL] = CUPS_BACKEND_HOLD,
};

int backend_exit_status(enum dx_class cls)
{
  return exit_status[cls];
}

static bool was_anything_sent(const struct dx_job *job)
{
  size_t i;

  for (i = 0; job != NULL && i < job->submission_count; i++)
    if (job->submissions[i].source_id != NULL)
      return true;
  return false;
}

/* OnDocumentError may cancel a job with a refused document instead. */
static int status_of(const struct backend *b, enum dx_code code)
{
  if ((code == DX_E_DOCUMENT || code == DX_E_MISSING ||
       code == DX_E_TOO_MANY) &&
      b->conf != NULL && b->conf->on_document_error == DX_ON_ERROR_CANCEL &&
      !was_anything_sent(b->job))
    return CUPS_BACKEND_CANCEL;
  return backend_exit_status(dx_class_of(code));
}

/* `docextract jobs` lists what the log has, until somebody has fixed it. */
static void leave_message(struct dx_job *job, const struct dx_err *full)
{
  struct dx_err err;

  if (job == NULL || dx_job_is_final(job))
    return;
  dx_job_set_message(job, full->code, full->text);
  if (job->behind && dx_job_publish(job, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
}

/* For the administrator: what went wrong, and what has to be done. */
static void admin_text(const struct backend *b, enum dx_code code,
                       const struct dx_err *err, struct dx_err *ret_full)
{
  *ret_full = *err;
  ret_full->code = code;
  dx_advise(ret_full);
  if (status_of(b, code) == CUPS_BACKEND_STOP)
    (void)dx_fail(ret_full, code, 0, "%s; when it is fixed, run: cupsenable %s",
                  ret_full->text, b->queue != NULL ? b->queue : "QUEUE");
}

/* For the person who printed: what went wrong, and what to do about it. */
static void person_text(const struct backend *b, enum dx_code code,
                        char text[DX_SENTENCE_BYTES])
{
  char what[DX_SENTENCE_BYTES];

  if (b->has_outcome)
    dx_job_sentence(b->job, what);
  else
    dx_sentence(code, NULL, what);
  (void)snprintf(text, DX_SENTENCE_BYTES,
                 dx_class_of(code) == DX_CL_LOCAL          ? DX_SAY_LOCAL
                 : status_of(b, code) == CUPS_BACKEND_STOP ? DX_SAY_STOPPED
                                                           : "%s",
                 what);
}

static void report_failure(struct backend *b, enum dx_code code,
                           const struct dx_err *err)
{
  char log[DX_ERR_TEXT_BYTES + 32], text[DX_SENTENCE_BYTES];
  struct dx_err full;

  admin_text(b, code, err, &full);
  person_text(b, code, text);
  (void)snprintf(log, sizeof(log), "%s: %s", dx_code_name(code), full.text);
  status_failure(log, text);
  if (!b->handed_over)
    leave_message(b->job, &full);
}

/* What became of the job. */
static void success_text(const struct backend *b, char text[DX_SENTENCE_BYTES])
{
  const char *known = NULL;

  if (b->handed_before)
    known = DX_SAY_HANDED_BEFORE;
  else if (b->uploaded)
    known = DX_SAY_HANDED_SENT;
  else if (b->handed_over)
    known = DX_SAY_HANDED_STORED;
  else if (b->nothing_new)
    known = DX_SAY_NOTHING_NEW;
  if (known != NULL)
    (void)snprintf(text, DX_SENTENCE_BYTES, "%s", known);
  else
    dx_job_sentence(b->job, text);
}

/* Also reports failures of other jobs that had been handed over. */
static void report_success(const struct backend *b, size_t failures)
{
  char text[DX_SENTENCE_BYTES];

  success_text(b, text);
  if (failures == 0)
    status_info("%s", text);
  else
    status_info(DX_SAY_FAILURES, text, failures,
                failures == 1 ? "chart" : "charts");
  status_keep();
}

static void report(struct backend *b, enum dx_code code, size_t failures,
                   const struct dx_err *err)
{
  if (code == DX_OK)
    report_success(b, failures);
  else if (code != DX_E_STOPPED)
    report_failure(b, code, err);
}

/* cupsd would run the job again at once; SIGTERM ends the wait. */
static void wait_a_minute(void)
{
  struct pollfd fd = {.fd = term_wake_fd(), .events = POLLIN};

  if (!term_came())
    (void)poll(&fd, 1, DX_LOCAL_RETRY_MS);
}

/*
 * SIGTERM while the job is driven: if it was canceled, nobody wants what is
 * here. A cupsd that is stopping does not wait for us to ask; nothing is lost.
 */
static void look_if_canceled(struct backend *b)
{
  struct dx_print_job job;
  struct dx_err err;

  if (b->job == NULL || b->handed_over)
    return;
  dx_print_job_ask(b->job_id, b->uuid, CANCELED_MS, NULL, &job);
  if (job.state != DX_PJ_CANCELED)
    return;
  dx_job_cancel(b->job);
  dx_job_set_message(b->job, DX_OK, "");
  if (dx_job_save(b->job, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s", err.text);
}

/* Canceled while it was handed over: docextractd has no print job to ask about
 * once everything is uploaded. */
static void pass_on_cancel(struct backend *b)
{
  struct dx_print_job job;
  struct dx_err err;

  if (!b->uploaded || !term_came())
    return;
  dx_print_job_ask(b->job_id, b->uuid, CANCELED_MS, NULL, &job);
  if (job.state == DX_PJ_CANCELED &&
      dx_spool_ask_cancel(&b->spool, b->key, &err) != DX_OK)
    dx_log(DX_LOG_INFO, "the cancel came too late: %s", err.text);
}

/* Removes what was received but not committed: cupsd sends it again. */
static void discard_received(struct backend *b)
{
  if (b->job != NULL && strncmp(b->job->path, "incoming/", 9) == 0)
    dx_spool_discard(&b->spool, &b->job);
}

/*
 * Removes only what is settled of a committed job. CUPS may have lost its own
 * copy by now, or may never run us again.
 */
static void leave_spool(struct backend *b)
{
  const struct dx_sweep sweep = {.config = b->config};
  struct dx_err err;

  if (b->job != NULL && !b->job->dirty && !b->handed_over &&
      dx_spool_settle(&b->spool, b->job, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s", err.text);
  if (dx_announce_release(&b->spool, &b->job))
    b->announces = true;
  if (b->spool_is_open && !term_came())
    dx_spool_sweep(&b->spool, &sweep);
  if (b->spool_is_open)
    dx_spool_close(&b->spool);
}

/*
 * SIGTERM before all documents have arrived. Held or disabled: the rest of the
 * job is kept only if the backend is killed by the signal. Canceled: cupsd 2.4
 * ends a job with several documents, and frees its queue, only if the backend
 * exits with a failure. Not from cupsd: being killed would count as success.
 */
static void leave_before_eof(struct backend *b)
{
  struct dx_print_job job;

  if (!term_is_from_cupsd())
    exit(CUPS_BACKEND_RETRY_CURRENT);
  dx_print_job_ask(b->job_id, b->uuid, ASK_MS, NULL, &job);
  if (job.state == DX_PJ_CANCELED)
    exit(CUPS_BACKEND_CANCEL);
  term_die();
}

void backend_end(struct backend *b, enum dx_code code, const struct dx_err *err)
{
  size_t failures = 0;
  int status;

  if (code != DX_E_STOPPED)
    backend_drain(b);
  status = status_of(b, code);
  discard_received(b);
  if (!b->eof && term_came())
    leave_before_eof(b);
  term_eof();
  if (code == DX_E_STOPPED)
    look_if_canceled(b);
  pass_on_cancel(b);
  if (b->spool_is_open && b->queue != NULL && code != DX_E_STOPPED)
    failures = dx_spool_unseen_failures(&b->spool, b->queue, b->job);
  report(b, code, failures, err);
  status_end(code, failures > 0);
  if (dx_class_of(code) == DX_CL_LOCAL)
    wait_a_minute();
  leave_spool(b);
  if (b->announces)
    announce_detached(b);
  dx_config_free(&b->config);
  free(b->uuid);
  free(b->host);
  free(b->queue);
  exit(status);
}
