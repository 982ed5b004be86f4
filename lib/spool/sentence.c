/*
 * sentence.c - the rows of sentence.h, and sentences about whole jobs.
 */
#include "lib/spool/sentence.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"

const struct dx_state_reason_row dx_state_reasons[DX_SR_COUNT] = {
    {"", ""},
#define X(name, keyword, text) {keyword, text},
    DX_STATE_REASONS(X)
#undef X
};

const struct dx_code_row dx_code_rows[DX_CODE_COUNT] = {
#define X(name, reason_code, state_reason, sentence, advice) \
  [DX_##name] = {reason_code, DX_SR_##state_reason, sentence, advice},
    DX_CODE_SENTENCES(X)
#undef X
};

#define X(name, reason_code, state_reason, sentence, advice) +1
_Static_assert(0 DX_CODE_SENTENCES(X) == DX_CODE_COUNT,
               "every code has a sentence");
#undef X

void dx_advise(struct dx_err *err)
{
  const char *advice = dx_code_rows[err->code].advice;

  if (advice[0] != '\0')
    (void)dx_fail_advice(err, "%s", advice);
}

void dx_sentence(enum dx_code code, const char *clause,
                 char text[DX_SENTENCE_BYTES])
{
  bool is_admins = dx_code_rows[code].advice[0] != '\0';

  (void)snprintf(text, DX_SENTENCE_BYTES, "%s%s",
                 is_admins ? DX_SENTENCE_ADMIN : "",
                 clause != NULL ? clause : dx_code_rows[code].sentence);
  text[0] = (char)toupper((unsigned char)text[0]);
}

/* ---- jobs ---- */

/* The filter's text describes the problem of a document in plain words, or has
 * the name of a directive, which only the administrator understands. */
static const char *clause_of_refusal(const struct dx_entry *entry)
{
  switch (entry->reason) {
  case DX_REASON_RAW:
  case DX_REASON_TOO_LARGE:
  case DX_REASON_NO_SEPARATOR:
  case DX_REASON_TOO_SLOW:
  case DX_REASON_SANDBOX:
  case DX_REASON_TROUBLE:
    return dx_reason_text(entry->reason);
  default:
    return entry->reason_text[0] != '\0' ? entry->reason_text
                                         : dx_reason_text(entry->reason);
  }
}

/* For a refused document, the text of the filter is more exact than that of the
 * code. For an expired one, the text of overdue would say that it is still in
 * progress. */
static const char *clause_of(const struct dx_submission *sub)
{
  size_t i;

  if (sub->state == DX_ST_EXPIRED)
    return DX_SAY_EXPIRED;
  for (i = 0; sub->code == DX_E_DOCUMENT && i < sub->file_count; i++) {
    const struct dx_entry *entry =
        &sub->job->documents[sub->files[i].document].entry;

    if (entry->kind == DX_KIND_REFUSED)
      return clause_of_refusal(entry);
  }
  return dx_code_rows[sub->code].sentence;
}

void dx_submission_sentence(const struct dx_submission *sub,
                            char text[DX_SENTENCE_BYTES])
{
  char clause[DX_SENTENCE_BYTES];

  (void)snprintf(clause, sizeof(clause),
                 sub->job->together && sub->file_count > 1 ? DX_SAY_TOGETHER
                                                           : "%s",
                 clause_of(sub));
  dx_sentence(sub->code, clause, text);
}

static void extracted(const struct dx_job *job, char text[DX_SENTENCE_BYTES])
{
  size_t i, k, cases = 0, empty = 0;
  int n;

  for (i = 0; i < job->submission_count; i++) {
    cases += job->submissions[i].case_count;
    for (k = 0; k < job->submissions[i].case_count; k++)
      empty += job->submissions[i].cases[k].is_empty;
  }
  n = snprintf(text, DX_SENTENCE_BYTES, DX_SAY_EXTRACTED, cases,
               cases == 1 ? "" : "s");
  if (empty > 0 && empty == cases)
    (void)snprintf(text + n, DX_SENTENCE_BYTES - (size_t)n, DX_SAY_NOTHING_IN,
                   cases == 1 ? "it" : "them");
  else if (empty > 0)
    (void)snprintf(text + n, DX_SENTENCE_BYTES - (size_t)n,
                   DX_SAY_NOTHING_IN_SOME, empty);
}

/* ---- jobs in progress ---- */

void dx_wait_sentence(enum dx_code code, bool is_here,
                      char text[DX_SENTENCE_BYTES])
{
  const char *place = is_here ? DX_SAY_HERE : DX_SAY_THERE;
  enum dx_class cls = dx_class_of(code);
  char what[DX_SENTENCE_BYTES];

  /* These may be final, but not while it is in progress. */
  if (cls == DX_CL_GONE || code == DX_E_REFUSED || code == DX_E_TOO_BIG) {
    code = DX_E_UNEXPECTED;
    cls = DX_CL_TRANSIENT;
  }
  dx_sentence(code, NULL, what);
  if (cls == DX_CL_TRANSIENT || cls == DX_CL_RATE)
    (void)snprintf(text, DX_SENTENCE_BYTES,
                   cls == DX_CL_RATE  ? DX_SAY_PAUSED
                   : code == DX_E_NET ? DX_SAY_DOWN
                                      : DX_SAY_RETRYING,
                   place, dx_code_rows[code].sentence);
  else
    (void)snprintf(text, DX_SENTENCE_BYTES,
                   cls == DX_CL_DONE      ? "%s"
                   : cls == DX_CL_TOKEN   ? DX_SAY_ADMIN
                   : cls == DX_CL_CONFIG  ? DX_SAY_ADMIN
                   : cls == DX_CL_LOCAL   ? DX_SAY_LOCAL
                   : cls == DX_CL_OVERDUE ? DX_SAY_OVERDUE
                                          : "%s",
                   cls != DX_CL_DONE ? what
                   : is_here         ? DX_SAY_HERE
                                     : DX_SAY_WAITING);
}

/* Of a job in progress. If its print job was stopped, held, or moved, the last
 * failed try does not matter: nothing is sent until the print job continues. */
static void sentence_of_status(const struct dx_job *job,
                               char text[DX_SENTENCE_BYTES])
{
  bool is_here = dx_job_is_here(job);
  enum dx_code code =
      dx_job_is_undecided(job) ? DX_E_JOB : dx_job_problem(job)->code;

  dx_wait_sentence(code, is_here, text);
  if (job->print.backend == DX_BACKEND_ENDED &&
      job->print.final == DX_FINAL_NONE && !job->print.decided &&
      !dx_job_is_undecided(job))
    (void)snprintf(text, DX_SENTENCE_BYTES, "%s",
                   is_here ? DX_SAY_INTERRUPTED : DX_SAY_LEFT_SENT);
  else if (code == DX_OK && (job->print.backend == DX_BACKEND_LEFT ||
                             job->print.backend == DX_BACKEND_HELD))
    (void)snprintf(text, DX_SENTENCE_BYTES, "%s",
                   is_here ? DX_SAY_LEFT_STORED : DX_SAY_LEFT_SENT);
}

/* ---- the status of a job ---- */

/* A job without documents, or a halted one, has no failed submission. */
void dx_job_sentence(const struct dx_job *job, char text[DX_SENTENCE_BYTES])
{
  const struct dx_submission *wrong = dx_job_first_missing(job);
  enum dx_code code = dx_job_outcome(job, NULL);
  bool is_final = dx_job_is_final(job);
  char clause[DX_SENTENCE_BYTES];

  if (code == DX_OK) {
    extracted(job, text);
    return;
  }
  if (job->is_halted || wrong == NULL) {
    dx_sentence(code, NULL, text);
    return;
  }
  /* The failure is why CUPS holds the print job, so it comes first. */
  if (!is_final && (job->print.backend != DX_BACKEND_HELD ||
                    dx_job_is_undecided(job) || !dx_job_has_failed(job))) {
    sentence_of_status(job, text);
    return;
  }
  if (job->together && wrong->file_count > 1) {
    dx_submission_sentence(wrong, text);
    return;
  }
  if (job->submission_count == 1)
    (void)snprintf(clause, sizeof(clause), DX_SAY_NOT_EXTRACTED,
                   clause_of(wrong));
  else
    (void)snprintf(clause, sizeof(clause),
                   is_final ? DX_SAY_SOME : DX_SAY_SOME "; " DX_SAY_REST,
                   dx_job_count(job, DX_ST_EXTRACTED), job->submission_count,
                   wrong->number, clause_of(wrong));
  dx_sentence(code, clause, text);
}

/* The text for the user who printed replaces the one for the administrator. */
static void reword(struct dx_problem *problem)
{
  char text[DX_SENTENCE_BYTES] = "";

  if (problem->code != DX_OK)
    dx_sentence(problem->code, NULL, text);
  dx_line_set(&problem->text, DX_SENTENCE_BYTES, text);
  problem->code = DX_OK;
}

void dx_job_reword(struct dx_job *job)
{
  char text[DX_SENTENCE_BYTES] = "";
  size_t i;

  reword(&job->problem);
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    reword(&sub->problem);
    /* Not needed while it is in progress, because of the job's message, and if
     * it was canceled, because of its state. */
    text[0] = '\0';
    if (dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED &&
        sub->state != DX_ST_CANCELED)
      dx_submission_sentence(sub, text);
    dx_line_set(&sub->reason, DX_SENTENCE_BYTES, text);
  }
  for (i = 0; i < job->document_count; i++)
    job->documents[i].entry.reason_text[0] = '\0';
}

const char *dx_submission_reason_code(const struct dx_submission *sub)
{
  switch (sub->state) {
  case DX_ST_CANCELED:
    return "canceled";
  case DX_ST_EXPIRED:
    return "expired";
  default:
    return dx_code_rows[sub->code].reason_code;
  }
}
