/*
 * ending.c - the only exit of the backend, and the table of exit statuses by
 * error class (doc/policy.md, "Print jobs").
 */
#include "backend/backend.h"

#include <cups/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/print/print_job.h"
#include "lib/spool/sentence.h"

#define ASK_MS 1800 /* longer waits are useless: cupsd kills us */

/* 1, 2, 4, and 6 are not used: they apply the error policy of the queue, open a
 * password dialog, stop the queue, or abort the job after a few tries. */
static const int exit_status[DX_CL_COUNT] = {
    [DX_CL_DONE] = CUPS_BACKEND_OK,
    [DX_CL_NOT_YET] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_TRANSIENT] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_RATE] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_TOKEN] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_REFUSED] = CUPS_BACKEND_HOLD,
    [DX_CL_CONFIG] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_GONE] = CUPS_BACKEND_HOLD,
    [DX_CL_LOCAL] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_OVERDUE] = CUPS_BACKEND_HOLD,
    [DX_CL_STOPPED] = CUPS_BACKEND_RETRY_CURRENT,
    [DX_CL_INTERNAL] = CUPS_BACKEND_HOLD,
};

/* With OnDocumentError, a job with a refused document, of which nothing was
 * sent, may be canceled instead. */
static int status_of(const struct backend *b, enum dx_code code)
{
  if ((code == DX_E_DOCUMENT || code == DX_E_MISSING ||
       code == DX_E_TOO_MANY) &&
      b->conf != NULL && b->conf->on_document_error == DX_ON_ERROR_CANCEL &&
      (b->job == NULL || /* else it has no submissions until it is stored */
       dx_job_count(b->job, DX_ST_REFUSED) == b->job->submission_count))
    return CUPS_BACKEND_CANCEL;
  return exit_status[dx_class_of(code)];
}

static void report_failure(const struct backend *b, enum dx_code code,
                           const struct dx_err *err)
{
  bool runs_again = status_of(b, code) == CUPS_BACKEND_RETRY_CURRENT;
  char what[DX_SENTENCE_BYTES], text[DX_SENTENCE_BYTES];
  struct dx_err full = *err;

  full.code = code;
  dx_advise(&full);
  if (b->sentence[0] != '\0')
    (void)snprintf(what, sizeof(what), "%s", b->sentence);
  else
    dx_sentence(code, NULL, what);
  (void)snprintf(text, sizeof(text), runs_again ? DX_SAY_NOT_READY : "%s",
                 what);
  status_failure(text, "%s: %s", dx_code_name(code), full.text);
}

/* Also reports other jobs for which the administrator must act, and whose print
 * jobs have ended. */
static void report_success(const struct backend *b)
{
  const char *text = b->overdue ? DX_SAY_OVERDUE
                     : b->sent  ? DX_SAY_LEFT_SENT
                     : b->stuck ? DX_SAY_LEFT_STUCK
                                : DX_SAY_LEFT_STORED;
  char failures[DX_SENTENCE_BYTES] = "", undecided[DX_SENTENCE_BYTES] = "";

  if (!b->left)
    text = b->sentence;
  if (b->failures > 0)
    (void)snprintf(failures, sizeof(failures), DX_SAY_FAILURES, b->failures,
                   b->failures == 1 ? "chart" : "charts");
  if (b->undecided > 0)
    (void)snprintf(undecided, sizeof(undecided), DX_SAY_UNDECIDED, b->undecided,
                   b->undecided == 1 ? "chart" : "charts",
                   b->undecided == 1 ? "is" : "are");
  if (b->failures + b->undecided == 0)
    status_say("INFO", "%s", text);
  else
    status_say("INFO", "%s. " DX_SENTENCE_ADMIN "%s%s%s", text, failures,
               b->failures > 0 && b->undecided > 0 ? "; " : "", undecided);
  /* cupsd clears the message of a completed job unless something above INFO
   * was printed. An empty warning changes no message and is not logged. */
  status_say("WARNING", "%s", "");
}

void backend_end(struct backend *b, enum dx_code code, const struct dx_err *err)
{
  struct dx_print_job job;
  int status;

  if (code != DX_E_STOPPED)
    backend_drain(b);
  status = status_of(b, code);
  /* The job was not committed: cupsd sends it again. */
  if (b->job != NULL && strncmp(b->job->path, "incoming/", 9) == 0)
    dx_spool_discard(&b->spool, &b->job);
  /*
   * After a SIGTERM before all documents have arrived: if the job is held or
   * its queue disabled, cupsd keeps the rest of the job only if the signal
   * kills the backend. If the job is canceled, cupsd 2.4 ends a job with
   * several documents, and frees its queue, only if the backend exits with a
   * failure. If the signal is not from cupsd, being killed would count as
   * success.
   */
  if (!b->eof && term_came()) {
    if (!term_is_from_cupsd())
      exit(CUPS_BACKEND_RETRY_CURRENT);
    dx_print_job_ask(b->job_id, b->uuid, b->user, ASK_MS, NULL, &job);
    if (job.answer == DX_ANSWER_CANCELED)
      exit(CUPS_BACKEND_CANCEL);
    term_die();
  }
  term_eof();
  if (code == DX_OK)
    report_success(b);
  else if (code != DX_E_STOPPED)
    report_failure(b, code, err);
  else if (b->sentence[0] != '\0')
    /* Held, canceled, or moved: cupsd ignores INFO lines now. */
    status_say("WARNING", "%s", b->sentence);
  status_end(b->left && b->overdue ? DX_E_OVERDUE : code, b->failures > 0,
             b->undecided > 0);
  dx_job_free(&b->job);
  dx_spool_close(&b->spool);
  dx_config_free(&b->config);
  free(b->uuid);
  free(b->host);
  free(b->queue);
  free(b->cupsd_name);
  exit(status);
}
