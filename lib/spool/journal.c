/*
 * journal.c - job.json: the only place where a journal is written or read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/spool/job.h"

#define JOURNAL_NAME "job.json"
#define JOURNAL_SCHEMA 2 /* 1: 1.0, without DX_BACKEND_HELD */

/* ---- the fields ---- */

static const char *const put_words[] = {DX_PUTS(DX_WORD_OF_ROW)};
static const char *const case_states[] = {DX_CASE_STATES(DX_WORD_OF_ROW)};
static const char *const states[] = {DX_STATES(DX_WORD_OF_ROW)};
static const char *const backends[] = {DX_BACKENDS(DX_WORD_OF_ROW)};
static const char *const finals[] = {DX_FINALS(DX_WORD_OF_ROW)};

_Static_assert(offsetof(struct dx_document, entry) == 0,
               "the fields of a document are those of its entry");

static const struct dx_field file_fields[] = {
    DX_FIELD(dx_file, PLACE, "document", document),
    DX_FIELD_WORDS(dx_file, put_words, "put", put),
    DX_FIELD(dx_file, TEXT, "url", url), DX_FIELDS_END};

static const struct dx_field case_fields[] = {
    DX_FIELD(dx_case, NAME, "id", id),
    DX_FIELD_WORDS(dx_case, case_states, "state", state),
    DX_FIELD(dx_case, COUNT, "bytes", bytes),
    DX_FIELD(dx_case, CHARS, "sha256", sha256),
    DX_FIELD(dx_case, FLAG, "empty", is_empty),
    DX_FIELDS_END};

const struct dx_field dx_submission_fields[] = {
    DX_FIELD_WORDS(dx_submission, states, "state", state),
    DX_FIELD(dx_submission, TEXT, "source_id", source_id),
    DX_FIELD(dx_submission, TEXT, "section", section),
    DX_FIELD(dx_submission, TEXT, "base_url", base_url),
    DX_FIELD(dx_submission, TEXT, "key_id", key_id),
    DX_FIELD(dx_submission, COUNT, "url_until_ms", url_until_ms),
    DX_FIELD(dx_submission, COUNT, "lost_creates", lost_creates),
    DX_FIELD(dx_submission, COUNT, "start_overs", start_overs),
    DX_FIELD(dx_submission, COUNT, "reregistrations", reregistrations),
    DX_FIELD(dx_submission, TIME, "failing_since", failing_since,
             .is_added = true),
    DX_FIELD(dx_submission, FLAG, "verify", verify),
    DX_FIELD(dx_submission, COUNT, "hook_ms", hook_ms),
    DX_FIELD(dx_submission, CODE, "code", code),
    DX_FIELD(dx_submission, LINE, "reason", reason, .count = DX_WHY_BYTES),
    DX_FIELD(dx_submission, TIME, "registered_at", registered_at),
    DX_FIELD(dx_submission, TIME, "uploaded_at", uploaded_at),
    DX_FIELD(dx_submission, TIME, "complete_at", complete_at),
    DX_FIELD(dx_submission, TIME, "extracted_at", extracted_at),
    DX_FIELD(dx_submission, TIME, "delivered_at", delivered_at),
    DX_FIELD(dx_submission, TIME, "failed_at", failed_at),
    DX_FIELD(dx_submission, LINE, "message", problem.text,
             .count = DX_ERR_TEXT_BYTES, .is_shown = true),
    DX_FIELD(dx_submission, CODE, "message_code", problem.code,
             .is_shown = true),
    DX_FIELD(dx_submission, TIME, "message_since", problem.since_at,
             .is_shown = true),
    DX_FIELD(dx_submission, TIME, "retry_at", problem.retry_at,
             .is_shown = true),
    DX_FIELD(dx_submission, FLAG, "message_of_storage", problem.is_of_storage,
             .is_shown = true),
    DX_FIELD_ITEMS(dx_submission, file_fields, DX_DOCUMENTS_MAX, "files", files,
                   file_count),
    DX_FIELD_ITEMS(dx_submission, case_fields, DX_CASES_MAX, "cases", cases,
                   case_count),
    DX_FIELDS_END};

static const struct dx_field print_fields[] = {
    DX_FIELD(dx_print, CHARS, "key", key),
    DX_FIELD(dx_print, CHARS, "run", run),
    DX_FIELD(dx_print, TEXT, "cupsd", cupsd),
    DX_FIELD_WORDS(dx_print, backends, "backend", backend),
    DX_FIELD_WORDS(dx_print, finals, "final", final),
    DX_FIELD(dx_print, FLAG, "known_later", known_later),
    DX_FIELD(dx_print, FLAG, "decided", decided),
    DX_FIELD(dx_print, FLAG, "undecided", undecided),
    DX_FIELD(dx_print, COUNT, "unclear_ms", unclear_ms),
    DX_FIELDS_END};

static const struct dx_field other_fields[] = {
    DX_FIELD(dx_other_print, TEXT, "queue", queue),
    DX_FIELD(dx_other_print, TEXT, "id", cups_id),
    DX_FIELD(dx_other_print, OBJECT, "print", print, .fields = print_fields),
    DX_FIELDS_END};

const struct dx_field dx_job_fields[] = {
    DX_FIELD(dx_job, CHARS, "key", key),
    DX_FIELD(dx_job, NAME, "service", service),
    DX_FIELD(dx_job, NAME, "base_url", base_url),
    DX_FIELD(dx_job, TEXT, "queue", queue),
    DX_FIELD(dx_job, TEXT, "id", cups_id),
    DX_FIELD(dx_job, TEXT, "uuid", uuid),
    DX_FIELD(dx_job, TEXT, "user", user),
    DX_FIELD(dx_job, TEXT, "title", title),
    DX_FIELD(dx_job, TEXT, "host", host),
    DX_FIELD(dx_job, OBJECT, "print", print, .fields = print_fields),
    DX_FIELD_ITEMS(dx_job, other_fields, DX_PRINT_JOBS_MAX, "other_prints",
                   others, other_count),
    DX_FIELD(dx_job, CHARS, "content", content),
    DX_FIELD(dx_job, TIME_MS, "received_at", received_at),
    DX_FIELD(dx_job, FLAG, "together", together),
    DX_FIELD(dx_job, FLAG, "seen", seen),
    DX_FIELD(dx_job, FLAG, "copy", is_copy, .is_added = true),
    DX_FIELD(dx_job, CHARS, "file_id", file_id, .is_added = true),
    DX_FIELD(dx_job, LINE, "message", problem.text, .count = DX_ERR_TEXT_BYTES,
             .is_shown = true),
    DX_FIELD(dx_job, CODE, "message_code", problem.code, .is_shown = true),
    DX_FIELD(dx_job, TIME, "retry_at", problem.retry_at, .is_shown = true),
    DX_FIELD_ITEMS(dx_job, dx_entry_fields, DX_DOCUMENTS_MAX, "documents",
                   documents, document_count),
    DX_FIELD_ITEMS(dx_job, dx_submission_fields, DX_DOCUMENTS_MAX,
                   "submissions", submissions, submission_count),
    DX_FIELDS_END};

/* ---- writing ---- */

/* Of DX_JOURNAL_MAX_BYTES; the rest is for everything else. */
#define CASES_MAX_BYTES (DX_JOURNAL_MAX_BYTES / 2)
#define CASE_BYTES 192 /* of a delivered one, besides its id */

bool dx_job_cases_fit(const struct dx_job *job)
{
  size_t i, k, total = 0;
  const char *at;

  for (i = 0; i < job->submission_count; i++)
    for (k = 0; k < job->submissions[i].case_count; k++) {
      total += CASE_BYTES;
      for (at = job->submissions[i].cases[k].id; *at != '\0'; at++)
        total += (unsigned char)*at < ' '    ? 6 /* as written: \uXXXX */
                 : *at == '"' || *at == '\\' ? 2
                                             : 1;
    }
  return total <= CASES_MAX_BYTES;
}

void dx_job_put(const struct dx_job *job, struct dx_json_out *out,
                const char *name)
{
  dx_json_open(out, name, '{');
  dx_json_put_int(out, "schema", JOURNAL_SCHEMA);
  dx_fields_put(out, dx_job_fields, job);
  dx_json_close(out, '}');
}

enum dx_code dx_job_publish(struct dx_job *job, struct dx_err *err)
{
  struct dx_json_out out = {.pretty = true};
  struct dx_temp temp = DX_TEMP_NONE;
  enum dx_code code = dx_job_open_dir(job, err);

  if (code == DX_OK)
    code = dx_temp_begin(&temp, job->dirfd, JOURNAL_NAME, err);
  if (code == DX_OK) {
    dx_fs_file_id(temp.fd, job->file_id);
    dx_job_put(job, &out, NULL);
    job->journal_bytes = out.text.len;
    code = dx_buf_ok(&out.text)
               ? dx_fs_write_all(temp.fd, out.text.data, out.text.len,
                                 JOURNAL_NAME, err)
               : dx_fail_nomem(err);
  }
  if (code == DX_OK)
    code = dx_temp_publish(&temp, 0600, DX_PUBLISH_OVER, err);
  dx_temp_discard(&temp);
  dx_buf_release(&out.text);
  if (code == DX_OK)
    job->behind = false;
  return code;
}

static void mark_saved(struct dx_job *job)
{
  size_t i, k;

  for (i = 0; i < job->submission_count; i++) {
    job->submissions[i].unsaved = false;
    for (k = 0; k < job->submissions[i].case_count; k++)
      job->submissions[i].cases[k].unsaved = false;
  }
  job->dirty = job->unsaved = false;
}

enum dx_code dx_job_save(struct dx_job *job, struct dx_err *err)
{
  enum dx_code code = dx_job_publish(job, err);

  if (code == DX_OK)
    code = dx_fs_sync_name(job->dirfd, JOURNAL_NAME, err);
  if (code == DX_OK)
    mark_saved(job);
  return code;
}

/* ---- reading ---- */

/* False for a source without an id or its place, or a file without a URL before
 * the URLs expire, which are never written. */
static bool is_plausible(const struct dx_submission *sub)
{
  size_t i;

  if (sub->source_id != NULL && (sub->source_id[0] == '\0' ||
                                 sub->section == NULL || sub->base_url == NULL))
    return false;
  if (dx_state_is_sent(sub->state) && sub->source_id == NULL)
    return false;
  for (i = 0; i < sub->file_count; i++)
    if (sub->files[i].document >= sub->job->document_count ||
        (sub->url_until_ms != 0 && sub->files[i].url == NULL))
      return false;
  return sub->file_count > 0;
}

/* It becomes part of a path. */
static bool is_key_or_none(const char *text)
{
  return text[0] == '\0' || dx_is_key(text);
}

static bool read_job(const struct cJSON *json, struct dx_job *job)
{
  size_t i;

  if (!dx_fields_get(json, dx_job_fields, job) || !dx_is_key(job->key) ||
      !is_key_or_none(job->print.key) || !is_key_or_none(job->content) ||
      (job->print.run[0] != '\0' && !dx_is_run(job->print.run)))
    return false;
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    sub->job = job;
    sub->number = i + 1;
    if (!is_plausible(sub))
      return false;
  }
  return true;
}

enum dx_code dx_job_read_json(struct dx_job *job, const struct cJSON *json,
                              struct dx_err *err)
{
  int64_t schema = 0;

  (void)dx_json_int(dx_json_get(json, "schema"), &schema);
  if (schema > JOURNAL_SCHEMA)
    return dx_fail(err, DX_E_DAMAGED, 0,
                   "the job file was written by a newer docextract: install "
                   "that version again");
  errno = 0; /* out of memory does not mean damaged */
  if (schema > 0 && read_job(json, job))
    return DX_OK;
  if (errno == ENOMEM)
    return dx_fail_nomem(err);
  return dx_fail(err, DX_E_DAMAGED, 0, "the job file is damaged");
}

/* Since the journal was copied, the job may have been registered or uploaded:
 * the source that it knows is asked about first. */
static void become_copy(struct dx_job *job)
{
  size_t i, k;

  job->is_copy = true;
  job->dirty = true;
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    for (k = 0; sub->state == DX_ST_REGISTERED && k < sub->file_count; k++)
      if (sub->files[k].put == DX_PUT_NONE)
        sub->files[k].put = DX_PUT_SENDING;
  }
}

enum dx_code dx_job_load(struct dx_job *job, struct dx_err *err)
{
  struct dx_buf text = {0};
  struct cJSON *json = NULL;
  char name[DX_FILE_NAME_BYTES];
  struct stat st;
  enum dx_code code = DX_OK;
  size_t i;
  int fd = dx_fs_open_file(job->dirfd, JOURNAL_NAME, &code, err);

  if (fd < 0)
    return code;
  code = dx_fs_read_fd(fd, JOURNAL_NAME, DX_JOURNAL_MAX_BYTES, &text, err);
  if (code != DX_OK) {
    (void)close(fd);
    dx_buf_release(&text);
    return code;
  }
  errno = 0;
  json = dx_json_parse(dx_buf_text(&text), text.len, NULL);
  code = json == NULL && errno == ENOMEM ? dx_fail_nomem(err)
                                         : dx_job_read_json(job, json, err);
  for (i = 0; code == DX_OK && i < job->document_count; i++) {
    dx_document_file(i, name);
    job->documents[i].is_here =
        job->documents[i].entry.kind == DX_KIND_DOCUMENT &&
        fstatat(job->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) && st.st_size == job->documents[i].entry.length;
  }
  if (code == DX_OK && job->print.backend == DX_BACKEND_ATTENDS)
    job->print.backend = DX_BACKEND_BROKEN;
  if (code == DX_OK && !dx_job_is_finished(job) &&
      dx_fs_is_copy(fd, job->file_id))
    become_copy(job);
  (void)close(fd);
  dx_json_free(&json);
  dx_buf_release(&text);
  return code;
}
