/*
 * job.c - jobs in memory: planning, transitions, outcome. The journal's
 * format is in journal.c.
 */
#include "lib/spool/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/utf8.h"

struct dx_job *dx_job_new(void)
{
  struct dx_job *job = calloc(1, sizeof(*job));

  if (job == NULL)
    return NULL;
  job->spool_dirfd = job->dirfd = -1;
  return job;
}

enum dx_code dx_job_open_dir(struct dx_job *job, struct dx_err *err)
{
  struct dx_err why = {.code = DX_OK};

  if (job->dirfd < 0)
    job->dirfd = dx_fs_open_dir(job->spool_dirfd, job->path, &why);
  if (why.code != DX_OK && err != NULL)
    *err = why;
  return why.code;
}

void dx_job_close_dir(struct dx_job *job)
{
  if (job->dirfd >= 0)
    (void)close(job->dirfd);
  job->dirfd = -1;
}

static void free_cases(struct dx_case *cases, size_t count)
{
  size_t i;

  for (i = 0; i < count; i++)
    free(cases[i].id);
  free(cases);
}

void dx_job_free(struct dx_job **job)
{
  if (*job == NULL)
    return;
  dx_fields_release(dx_job_fields, *job);
  dx_job_close_dir(*job);
  free(*job);
  *job = NULL;
}

static bool is_hex(const char *text, size_t len)
{
  return strspn(text, "0123456789abcdef") == len;
}

bool dx_is_key(const char *text)
{
  return is_hex(text, DX_KEY_BYTES - 1) && text[DX_KEY_BYTES - 1] == '\0';
}

bool dx_key_of(struct dx_buf *text, char key[DX_KEY_BYTES])
{
  char sum[DX_SHA256_HEX_BYTES];
  bool ok = dx_buf_ok(text);

  if (ok) {
    dx_sha256_of(text->data, text->len, sum);
    (void)snprintf(key, DX_KEY_BYTES, "%.32s", sum);
  }
  dx_buf_release(text);
  return ok;
}

bool dx_is_receipt_name(const char *text)
{
  const char *run = text + DX_KEY_BYTES;

  return is_hex(text, DX_KEY_BYTES - 1) && run[-1] == '.' && dx_is_run(run);
}

bool dx_is_receipt_of(const char *name, const char *key)
{
  return strncmp(name, key, DX_KEY_BYTES - 1) == 0;
}

bool dx_is_run(const char *text)
{
  return is_hex(text, DX_RUN_BYTES - 1) && text[DX_RUN_BYTES - 1] == '\0';
}

/* ---- planning ---- */

static void refuse_for(struct dx_submission *sub,
                       const struct dx_document *document)
{
  const struct dx_entry *entry = &document->entry;
  char why[DX_WHY_BYTES];

  dx_entry_why(entry, why);
  if (entry->kind == DX_KIND_MISSING)
    dx_submission_end(sub, DX_EV_REFUSE, DX_E_MISSING,
                      "it did not arrive because printing was interrupted; "
                      "print it again");
  else
    dx_submission_end(sub, DX_EV_REFUSE, DX_E_DOCUMENT, why);
  sub->failed_at = 0; /* docextractd sets it, with the manifest */
}

enum dx_code dx_job_plan(struct dx_job *job, struct dx_err *err)
{
  struct dx_submission *sub = NULL;
  size_t i;

  for (; job->submission_count > 0; job->submission_count--)
    dx_fields_release(dx_submission_fields,
                      &job->submissions[job->submission_count - 1]);
  free(job->submissions);
  job->together = false;
  for (i = 0; i < job->document_count; i++) {
    const struct dx_entry *entry = &job->documents[i].entry;

    if (entry->kind == DX_KIND_SHEET || entry->kind == DX_KIND_MISSING)
      continue;
    job->together = entry->together;
    break;
  }
  job->submissions = calloc(job->document_count + 1, sizeof(*job->submissions));
  if (job->submissions == NULL)
    return dx_fail_nomem(err);
  for (i = 0; i < job->document_count; i++) {
    const struct dx_document *document = &job->documents[i];

    if (document->entry.kind == DX_KIND_SHEET)
      continue;
    if (sub == NULL || !job->together) {
      sub = &job->submissions[job->submission_count++];
      sub->job = job;
      sub->number = job->submission_count;
      sub->files =
          calloc(job->together ? job->document_count : 1, sizeof(*sub->files));
      if (sub->files == NULL)
        return dx_fail_nomem(err);
    }
    sub->files[sub->file_count++].document = i;
    /* An incomplete chart is not sent: one bad document refuses all. */
    if (document->entry.kind != DX_KIND_DOCUMENT && sub->state == DX_ST_STORED)
      refuse_for(sub, document);
  }
  job->dirty = true;
  return DX_OK;
}

/* ---- print jobs that are sent again ---- */

enum dx_code dx_job_set_content(struct dx_job *job, struct dx_err *err)
{
  struct dx_buf text = {0};
  size_t i;

  job->content[0] = '\0';
  if (job->uuid == NULL || job->user == NULL)
    return DX_OK;
  /* With NUL between them, different values never give the same bytes. */
  dx_buf_add(&text, job->uuid, strlen(job->uuid) + 1);
  dx_buf_add(&text, job->user, strlen(job->user) + 1);
  dx_buf_add(&text, job->service, strlen(job->service) + 1);
  for (i = 0; i < job->document_count; i++) {
    const struct dx_entry *e = &job->documents[i].entry;

    dx_buf_printf(&text, "%d %d %s %s\n", (int)e->kind, (int)e->together,
                  e->type, e->sha256);
  }
  return dx_key_of(&text, job->content) ? DX_OK : dx_fail_nomem(err);
}

/* The place of a print job among the others; their number if it is not. */
static size_t place_of_print(const struct dx_job *job, const char *key)
{
  size_t i = 0;

  while (i < job->other_count && strcmp(job->others[i].print.key, key) != 0)
    i++;
  return i;
}

bool dx_job_has_print(const struct dx_job *job, const char *key)
{
  return strcmp(job->key, key) == 0 || strcmp(job->print.key, key) == 0 ||
         place_of_print(job, key) < job->other_count;
}

static void exchange_print(struct dx_job *job, struct dx_other_print *other)
{
  const struct dx_other_print current = {
      .queue = job->queue, .cups_id = job->cups_id, .print = job->print};

  job->queue = other->queue;
  job->cups_id = other->cups_id;
  job->print = other->print;
  *other = current;
}

enum dx_code dx_job_begin_print(struct dx_job *job, const char *key,
                                struct dx_err *err)
{
  size_t i = place_of_print(job, key), last = job->other_count;
  struct dx_other_print other = {.print.key = ""}, *others;

  if (strcmp(job->print.key, key) == 0)
    return DX_OK;
  if (i < last) {
    other = job->others[i];
    last--;
    memmove(&job->others[i], &job->others[i + 1],
            (last - i) * sizeof(*job->others));
  } else {
    others = reallocarray(job->others, last + 1, sizeof(*others));
    if (others == NULL)
      return dx_fail_nomem(err);
    job->others = others;
    job->other_count++;
  }
  job->others[last] = other;
  exchange_print(job, &job->others[last]);
  return DX_OK;
}

bool dx_job_cancel_other_print(struct dx_job *job, const char *key)
{
  size_t i = place_of_print(job, key);

  if (i == job->other_count)
    return false;
  job->others[i].print.final = DX_FINAL_CANCELED;
  job->dirty = true;
  return true;
}

bool dx_job_next_print(struct dx_job *job)
{
  size_t i = job->other_count;

  while (i > 0 && job->others[i - 1].print.final == DX_FINAL_CANCELED)
    i--;
  if (i == 0)
    return false;
  job->print.final = DX_FINAL_CANCELED;
  exchange_print(job, &job->others[i - 1]);
  job->dirty = true;
  return true;
}

/* True if it changes. A problem that is replaced by another one, such as the
 * next failure of the same call, began with the first one. */
static bool set_problem(struct dx_problem *problem, enum dx_code code,
                        const char *text, int64_t retry_at)
{
  bool had_one = problem->text != NULL;

  if (problem->code == code && strcmp(dx_line(problem->text), text) == 0 &&
      problem->retry_at == retry_at)
    return false;
  if (text[0] == '\0')
    problem->since_at = 0;
  else if (!had_one)
    problem->since_at = dx_wall_ms();
  problem->code = code;
  dx_line_set(&problem->text, DX_ERR_TEXT_BYTES, text);
  problem->retry_at = retry_at;
  problem->is_of_storage = false;
  return true;
}

/* ---- transitions ---- */

/* What entering a state implies. */
static void enter(struct dx_submission *sub, enum dx_state from)
{
  bool was_final = dx_state_is_final(from);
  int64_t now = dx_wall_ms();
  size_t i;

  if (dx_state_is_final(sub->state) || was_final) /* it was about the past */
    (void)set_problem(&sub->problem, DX_OK, "", 0);
  sub->verify =
      was_final && !dx_state_is_final(sub->state) && sub->state != DX_ST_STORED;
  sub->failed_at = 0;
  if (sub->state == DX_ST_STORED || sub->verify) { /* a retry */
    sub->complete_at = 0;
    sub->extracted_at = 0;
    sub->code = DX_OK;
    dx_line_set(&sub->reason, DX_WHY_BYTES, "");
  }
  switch (sub->state) {
  case DX_ST_STORED:
    for (i = 0; i < sub->file_count; i++) {
      dx_text_release(&sub->files[i].url);
      sub->files[i].put = DX_PUT_NONE;
    }
    dx_text_release(&sub->source_id);
    dx_text_release(&sub->section);
    dx_text_release(&sub->base_url);
    dx_text_release(&sub->key_id);
    free_cases(sub->cases, sub->case_count);
    sub->cases = NULL;
    sub->case_count = 0;
    sub->url_until_ms = 0;
    sub->registered_at = 0;
    sub->uploaded_at = 0;
    break;
  case DX_ST_REGISTERED:
    if (from == DX_ST_STORED)
      sub->registered_at = now;
    break;
  case DX_ST_UPLOADED:
  case DX_ST_PROCESSING:
  case DX_ST_COMPLETE:
    if (sub->verify) /* the PUTs may have landed */
      break;
    for (i = 0; i < sub->file_count; i++) /* those without a response, too */
      sub->files[i].put = DX_PUT_DONE;
    if (sub->uploaded_at == 0)
      sub->uploaded_at = now;
    if (sub->state == DX_ST_COMPLETE)
      sub->complete_at = now;
    break;
  case DX_ST_EXTRACTED:
    if (sub->extracted_at == 0)
      sub->extracted_at = now;
    sub->delivered_at = now;
    break;
  default: /* not successful */
    sub->failed_at = now;
    break;
  }
}

/* ---- lines of the log ---- */

/* number: of a submission; 0: none. */
static void log_about(enum dx_log_level level, const struct dx_job *job,
                      const char *section, size_t number, const char *format,
                      va_list args)
{
  char text[DX_LOG_LINE_BYTES], submission[40] = "";

  (void)vsnprintf(text, sizeof(text), format, args);
  if (number > 0)
    (void)snprintf(submission, sizeof(submission), ", submission %zu", number);
  dx_log(level, "job %s%s%s%s%s: %s", job->key,
         section != NULL ? ", service '" : "", section != NULL ? section : "",
         section != NULL ? "'" : "", submission, text);
}

void dx_job_log(enum dx_log_level level, const struct dx_job *job,
                const char *format, ...)
{
  va_list args;

  va_start(args, format);
  log_about(level, job, job->service, 0, format, args);
  va_end(args);
}

void dx_submission_log(enum dx_log_level level, const struct dx_submission *sub,
                       const char *format, ...)
{
  va_list args;

  va_start(args, format);
  log_about(level, sub->job, dx_submission_section(sub), sub->number, format,
            args);
  va_end(args);
}

enum dx_code dx_submission_apply(struct dx_submission *sub, enum dx_event event,
                                 struct dx_err *err)
{
  enum dx_state from = sub->state;
  enum dx_state to;
  enum dx_code code = dx_state_next(from, event, &to, err);

  if (code != DX_OK) {
    dx_submission_log(DX_LOG_ERROR, sub, "%s is not possible in state %s",
                      dx_event_word(event), dx_state_word(from));
    return code;
  }
  if (from != to || event == DX_EV_RETRY) {
    dx_submission_log(DX_LOG_DEBUG, sub, "%s, %s -> %s", dx_event_word(event),
                      dx_state_word(from), dx_state_word(to));
    sub->state = to;
    enter(sub, from);
    if (!dx_state_is_final(to))
      sub->job->seen = false; /* its new outcome is unacknowledged */
    else if (sub->job->has_hook)
      dx_submission_call_hook(sub);
    if (event == DX_EV_RETRY || event == DX_EV_VERIFY) { /* by a user */
      sub->lost_creates = 0;
      sub->start_overs = 0;
      sub->failing_since = 0;
      sub->reregistrations = 0;
    }
    /* The service will report these again: a resumed job whose upload may have
     * landed starts with a GET. */
    if (event == DX_EV_PUT_ALL || event == DX_EV_SEEN_PENDING ||
        event == DX_EV_SEEN_PROCESSING || event == DX_EV_SEEN_COMPLETE)
      sub->job->behind = true;
    else
      dx_submission_mark(sub);
  }
  return DX_OK;
}

void dx_submission_mark(struct dx_submission *sub)
{
  sub->unsaved = sub->job->unsaved = sub->job->behind = true;
}

void dx_submission_call_hook(struct dx_submission *sub)
{
  sub->hook_ms = dx_wall_ms();
  dx_submission_mark(sub);
}

void dx_submission_end_hook(struct dx_submission *sub)
{
  char name[DX_FILE_NAME_BYTES];

  sub->hook_ms = 0;
  dx_submission_set_problem(sub, DX_OK, "", 0);
  dx_submission_mark(sub);
  dx_hook_file(sub, name);
  if (dx_job_open_dir(sub->job, NULL) != DX_OK ||
      dx_fs_remove(sub->job->dirfd, name, NULL) != DX_OK)
    dx_log(DX_LOG_DEBUG, "cannot remove '%s'", name); /* it is tried again */
}

bool dx_job_acknowledge_hooks(struct dx_job *job)
{
  bool any = false;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    if (sub->hook_ms == 0 || !dx_state_is_final(sub->state) ||
        sub->problem.text == NULL)
      continue;
    dx_submission_end_hook(sub);
    any = true;
  }
  return any;
}

bool dx_submission_is_put(const struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < sub->file_count; i++)
    if (sub->files[i].put != DX_PUT_NONE)
      return true;
  return false;
}

bool dx_submission_needs_verify(const struct dx_submission *sub)
{
  return (sub->state == DX_ST_FAILED || sub->state == DX_ST_EXPIRED) &&
         sub->source_id != NULL && dx_submission_is_put(sub);
}

const char *dx_submission_section(const struct dx_submission *sub)
{
  return sub->section != NULL ? sub->section : sub->job->service;
}

bool dx_submission_is_here(const struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < sub->file_count; i++)
    if (!sub->job->documents[sub->files[i].document].is_here)
      return false;
  return true;
}

enum dx_code dx_submission_retry(struct dx_submission *sub, struct dx_err *err)
{
  return dx_submission_apply(
      sub, dx_submission_needs_verify(sub) ? DX_EV_VERIFY : DX_EV_RETRY, err);
}

void dx_submission_end(struct dx_submission *sub, enum dx_event event,
                       enum dx_code code, const char *reason)
{
  if (dx_submission_apply(sub, event, NULL) != DX_OK)
    return;
  sub->code = code;
  dx_line_set(&sub->reason, DX_WHY_BYTES, reason);
}

static void end_unless_settled(struct dx_submission *sub, enum dx_event event)
{
  bool cancels = event == DX_EV_CANCEL;

  if (!dx_state_is_settled(sub->state))
    dx_submission_end(sub, event, cancels ? DX_E_CANCELED : DX_E_OVERDUE,
                      cancels ? "canceled"
                              : "it was not finished within KeepUnfinished");
}

void dx_job_end(struct dx_job *job, enum dx_event event)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    end_unless_settled(&job->submissions[i], event);
  job->is_copy = false;
}

void dx_job_cancel_unsent(struct dx_job *job,
                          const struct dx_submission *asking)
{
  size_t i, k;

  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];
    bool is_put = true; /* every file, because the source waits for all */

    for (k = 0; k < sub->file_count; k++)
      is_put = is_put && sub->files[k].put != DX_PUT_NONE;
    if (sub == asking || !dx_permission_keeps(sub->state, is_put))
      end_unless_settled(sub, DX_EV_CANCEL);
  }
}

/* True if there was a text. */
static bool clear(char *text)
{
  bool was_there = text[0] != '\0';

  text[0] = '\0';
  return was_there;
}

static bool clear_line(char **line)
{
  bool was_there = *line != NULL;

  dx_text_release(line);
  return was_there;
}

bool dx_job_clean(struct dx_job *job)
{
  bool changed = job->user != NULL || job->title != NULL || job->host != NULL;
  size_t i;

  dx_text_release(&job->user);
  dx_text_release(&job->title);
  dx_text_release(&job->host);
  changed |= clear_line(&job->problem.text);
  for (i = 0; i < job->document_count; i++) {
    changed |= clear(job->documents[i].entry.name);
    changed |= clear(job->documents[i].entry.reason_text);
  }
  for (i = 0; i < job->submission_count; i++) {
    changed |= clear_line(&job->submissions[i].reason);
    changed |= clear_line(&job->submissions[i].problem.text);
  }
  job->dirty |= changed;
  return changed;
}

/* Replaces texts with copies of these values, which may be NULL; all, or none.
 */
static enum dx_code set_texts(char **const *texts, const char *const *values,
                              size_t count, struct dx_err *err)
{
  char *copies[3] = {NULL};
  size_t i;

  for (i = 0; i < count; i++)
    if (values[i] != NULL && (copies[i] = strdup(values[i])) == NULL) {
      while (i > 0)
        free(copies[--i]);
      return dx_fail_nomem(err);
    }
  for (i = 0; i < count; i++) {
    free(*texts[i]);
    *texts[i] = copies[i];
  }
  return DX_OK;
}

enum dx_code dx_submission_set_place(struct dx_submission *sub,
                                     const char *section, const char *base_url,
                                     const char *key_id, struct dx_err *err)
{
  char **const texts[] = {&sub->section, &sub->base_url, &sub->key_id};
  const char *const values[] = {section, base_url, key_id};

  dx_submission_mark(sub);
  return set_texts(texts, values, 3, err);
}

enum dx_code dx_job_set_service(struct dx_job *job, const char *service,
                                const char *base_url, struct dx_err *err)
{
  char **const texts[] = {&job->service, &job->base_url};
  const char *const values[] = {service, base_url};

  job->dirty = true;
  return set_texts(texts, values, 2, err);
}

/* ---- problems ---- */

void dx_job_set_problem(struct dx_job *job, enum dx_code code, const char *text,
                        int64_t retry_at)
{
  if (!job->is_halted && set_problem(&job->problem, code, text, retry_at))
    job->behind = true;
}

void dx_submission_set_problem(struct dx_submission *sub, enum dx_code code,
                               const char *text, int64_t retry_at)
{
  if (set_problem(&sub->problem, code, text, retry_at))
    sub->job->behind = true;
}

bool dx_problem_needs_admin(const struct dx_problem *problem)
{
  enum dx_class cls = dx_class_of(problem->code);

  return cls == DX_CL_CONFIG || cls == DX_CL_TOKEN ||
         (problem->code == DX_E_GONE && !problem->is_of_storage);
}

bool dx_job_is_kept_waiting(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_problem *problem = &job->submissions[i].problem;
    enum dx_class cls = dx_class_of(problem->code);

    if (cls == DX_CL_TRANSIENT || cls == DX_CL_RATE || cls == DX_CL_GONE ||
        dx_problem_needs_admin(problem))
      return true;
  }
  return false;
}

/* Something of a copy could be sent. What the service has is only fetched. */
static bool is_undecided_copy(const struct dx_job *job)
{
  return job->is_copy &&
         (dx_job_is_here(job) || dx_job_count(job, DX_ST_FAILED) > 0);
}

const struct dx_problem *dx_job_problem(const struct dx_job *job)
{
  static char text[] =
      "it was restored from a backup, or copied, and may have been sent since; "
      "nothing more is sent until a decision is made";
  static const struct dx_problem of_copy = {.text = text, .code = DX_E_JOB};
  const struct dx_problem *best = &job->problem;
  bool is_final = dx_job_is_final(job);
  size_t i;

  if (is_undecided_copy(job))
    return &of_copy;
  if (best->text != NULL)
    return best;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_problem *problem = &job->submissions[i].problem;
    bool is_worse =
        dx_problem_needs_admin(problem) && !dx_problem_needs_admin(best);
    bool is_milder =
        !dx_problem_needs_admin(problem) && dx_problem_needs_admin(best);

    /* OnResult is run when all have ended. */
    if (dx_state_is_final(job->submissions[i].state) && !is_final)
      continue;
    if (problem->text != NULL && !is_milder &&
        (is_worse || best->text == NULL || problem->since_at > best->since_at))
      best = problem;
  }
  return best;
}

enum dx_code dx_submission_set_cases(struct dx_submission *sub,
                                     char *const *ids, size_t count,
                                     struct dx_err *err)
{
  struct dx_case *before = sub->cases, *c;
  size_t i, k, count_before = sub->case_count;
  enum dx_code code = DX_OK;

  sub->case_count = 0;
  sub->cases = calloc(count + 1, sizeof(*sub->cases));
  if (sub->cases == NULL)
    code = dx_fail_nomem(err);
  for (i = 0; code == DX_OK && i < count; i++) {
    c = &sub->cases[i];
    /* Delivered by an earlier attempt, which failed because of another case. A
     * consumer may have read it, so it must not change. */
    for (k = 0; k < count_before; k++)
      if (before[k].state == DX_CASE_DELIVERED &&
          strcmp(before[k].id, ids[i]) == 0)
        *c = before[k];
    c->id = strdup(ids[i]);
    if (c->id != NULL)
      sub->case_count++;
    else
      code = dx_fail_nomem(err);
  }
  if (code == DX_OK && !dx_job_cases_fit(sub->job))
    code = dx_fail(err, DX_E_RESPONSE, 0,
                   "the documents of the print job have too many cases "
                   "together: send this one as a job of its own");
  if (code != DX_OK) {
    free_cases(sub->cases, sub->case_count);
    sub->cases = before;
    sub->case_count = count_before;
    return code;
  }
  free_cases(before, count_before);
  sub->job->behind = true;
  return DX_OK;
}

/* ---- files of a job ---- */

void dx_document_file(size_t index, char name[DX_FILE_NAME_BYTES])
{
  (void)snprintf(name, DX_FILE_NAME_BYTES, "document-%04zu", index + 1);
}

void dx_result_file(const struct dx_submission *sub, size_t index,
                    char name[DX_FILE_NAME_BYTES])
{
  (void)snprintf(name, DX_FILE_NAME_BYTES, "result-%04zu-%05zu.json",
                 sub->number, index + 1);
}

void dx_hook_file(const struct dx_submission *sub,
                  char name[DX_FILE_NAME_BYTES])
{
  (void)snprintf(name, DX_FILE_NAME_BYTES, "on-result-%04zu", sub->number);
}

enum dx_code dx_job_delete_documents(struct dx_job *job, struct dx_err *err)
{
  enum dx_code code = dx_job_open_dir(job, err);
  char name[DX_FILE_NAME_BYTES];
  size_t i, k;

  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    dx_hook_file(sub, name);
    if (code == DX_OK && sub->hook_ms == 0)
      code = dx_fs_remove(job->dirfd, name, err);
    if (!dx_state_is_settled(sub->state))
      continue;
    for (k = 0; code == DX_OK && k < sub->file_count; k++) {
      dx_document_file(sub->files[k].document, name);
      code = dx_fs_remove(job->dirfd, name, err);
      job->documents[sub->files[k].document].is_here = false;
    }
    for (k = 0; code == DX_OK && k < sub->case_count; k++) {
      dx_result_file(sub, k, name);
      code = dx_fs_remove(job->dirfd, name, err);
    }
  }
  return code;
}

/* ---- outcome ---- */

bool dx_job_needs_admin(const struct dx_job *job)
{
  return !dx_job_is_final(job) && dx_problem_needs_admin(dx_job_problem(job));
}

bool dx_job_awaits_hook(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].hook_ms != 0)
      return true;
  return false;
}

static bool are_all(const struct dx_job *job, bool (*are)(enum dx_state state))
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (!are(job->submissions[i].state))
      return false;
  return true;
}

bool dx_job_is_final(const struct dx_job *job)
{
  return are_all(job, dx_state_is_final);
}

int64_t dx_job_ended_at(const struct dx_job *job)
{
  int64_t at, last = 0;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    at = sub->state == DX_ST_EXTRACTED ? sub->delivered_at : sub->failed_at;
    /* 0 if it was refused, and its manifest is not written yet. */
    if (!dx_state_is_final(sub->state) || at == 0)
      return 0;
    last = at > last ? at : last;
  }
  return last;
}

bool dx_job_is_finished(const struct dx_job *job)
{
  return are_all(job, dx_state_is_settled);
}

size_t dx_job_count(const struct dx_job *job, enum dx_state state)
{
  size_t i, n = 0;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].state == state)
      n++;
  return n;
}

bool dx_job_is_here(const struct dx_job *job)
{
  return dx_job_count(job, DX_ST_STORED) + dx_job_count(job, DX_ST_REGISTERED) >
         0;
}

const struct dx_submission *dx_job_first_missing(const struct dx_job *job)
{
  const struct dx_submission *in_progress = NULL;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    if (dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED)
      return sub;
    if (sub->state != DX_ST_EXTRACTED && in_progress == NULL)
      in_progress = sub;
  }
  return in_progress;
}

bool dx_job_has_failed(const struct dx_job *job)
{
  return dx_job_count(job, DX_ST_FAILED) + dx_job_count(job, DX_ST_REFUSED) > 0;
}

enum dx_code dx_job_outcome(const struct dx_job *job, struct dx_err *err)
{
  const struct dx_submission *wrong = dx_job_first_missing(job);
  size_t good = dx_job_count(job, DX_ST_EXTRACTED);

  if (job->is_halted)
    return dx_fail(err, job->problem.code, 0, "%s", dx_line(job->problem.text));
  if (job->submission_count == 0)
    return dx_fail(err, DX_E_MISSING, 0, "nothing to submit");
  if (wrong == NULL)
    return DX_OK;
  if (!dx_state_is_final(wrong->state))
    return dx_fail(err, DX_E_STOPPED, 0, "stopped before the end");
  if (job->together && wrong->file_count > 1)
    return dx_fail(err, wrong->code, 0,
                   "nothing was extracted, the documents belong together: %s",
                   dx_line(wrong->reason));
  return dx_fail(err, wrong->code, 0,
                 "%zu of %zu documents extracted; document %zu: %s", good,
                 job->submission_count, wrong->number, dx_line(wrong->reason));
}

enum dx_state dx_job_state(const struct dx_job *job)
{
  static const enum dx_state order[] = {
      DX_ST_STORED,     DX_ST_REGISTERED, DX_ST_UPLOADED,
      DX_ST_PROCESSING, DX_ST_COMPLETE,   DX_ST_FAILED,
      DX_ST_REFUSED,    DX_ST_EXPIRED,    DX_ST_CANCELED};
  size_t i;

  for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
    if (dx_job_count(job, order[i]) > 0)
      return order[i];
  return DX_ST_EXTRACTED;
}

bool dx_job_is_unseen_failure(const struct dx_job *job)
{
  return job->print.backend == DX_BACKEND_LEFT && !job->seen &&
         dx_job_is_final(job) && !dx_job_is_finished(job);
}

bool dx_job_is_in_cups(const struct dx_job *job)
{
  const struct dx_print *print = &job->print;

  return job->cups_id != NULL && print->final == DX_FINAL_NONE &&
         print->backend != DX_BACKEND_NONE && print->backend != DX_BACKEND_LEFT;
}

bool dx_job_is_undecided(const struct dx_job *job)
{
  return is_undecided_copy(job) ||
         (job->print.undecided && !dx_job_is_final(job));
}

const char *dx_job_status(const struct dx_job *job)
{
  return dx_job_is_undecided(job) ? DX_STATUS_UNDECIDED
                                  : dx_state_word(dx_job_state(job));
}
