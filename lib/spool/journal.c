/*
 * journal.c - job.json: the only place where a journal is written or read.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/spool/job.h"

#define JOURNAL_NAME "job.json"
#define JOURNAL_SCHEMA 1

/* ---- the fields ---- */

#define X(name, word, ...) word,
static const char *const kinds[] = {DX_KINDS(X)};
static const char *const reasons[] = {DX_REASONS(X)};
static const char *const put_words[] = {DX_PUTS(X)};
static const char *const case_states[] = {DX_CASE_STATES(X)};
static const char *const states[] = {DX_STATES(X)};
static const char *const backends[] = {DX_BACKENDS(X)};
static const char *const finals[] = {DX_FINALS(X)};
#undef X

/* The type of a field in memory. */
enum type {
  CHARS,   /* char[] */
  TEXT,    /* char *; NULL if it is not there */
  NAME,    /* char *; always there */
  FLAG,    /* bool */
  NUMBER,  /* int, not negative */
  COUNT,   /* int64_t, not negative */
  PLACE,   /* size_t, from 0; from 1 in the journal */
  TIME,    /* int64_t, wall ms; 0: null */
  TIME_MS, /* the same, with milliseconds, to list jobs of the same second in
              order */
  WORD,    /* an enum */
  CODE,    /* enum dx_code; DX_OK: null */
  OBJECT,  /* a struct */
  LIST     /* a pointer to structs */
};

/* A field, for its writer and its reader. */
struct field {
  const char *name;
  enum type type;
  bool is_shown; /* only for display: a mistake in it does not make the job
                    damaged */
  size_t at, size;
  const char *const *words;   /* WORD: `count` of them */
  size_t count;               /* LIST: how many items it may have */
  size_t count_at;            /* LIST: the offset of their number */
  const struct field *fields; /* OBJECT, LIST: up to one without a name */
};

#define ROW(s, n, t, member, bytes, ...)                                   \
  {                                                                        \
    .name = n, .type = t, .at = offsetof(struct s, member), .size = bytes, \
    __VA_ARGS__                                                            \
  }
#define SIZE_OF(s, member) sizeof(((struct s *)NULL)->member)
#define FIELD(s, type, name, member, ...) \
  ROW(s, name, type, member, SIZE_OF(s, member), __VA_ARGS__)
#define WORDS(s, list, name, member)          \
  FIELD(s, WORD, name, member, .words = list, \
        .count = sizeof(list) / sizeof((list)[0]))
#define ITEMS(s, list, most, name, member, number)                  \
  ROW(s, name, LIST, member, SIZE_OF(s, member[0]), .fields = list, \
      .count = most, .count_at = offsetof(struct s, number))
#define END      \
  {              \
    .name = NULL \
  }

static const struct field document_fields[] = {
    WORDS(dx_document, kinds, "kind", entry.kind),
    FIELD(dx_document, CHARS, "type", entry.type),
    FIELD(dx_document, CHARS, "origin", entry.origin),
    FIELD(dx_document, CHARS, "name", entry.name),
    FIELD(dx_document, NUMBER, "pages", entry.pages),
    FIELD(dx_document, FLAG, "together", entry.together),
    FIELD(dx_document, COUNT, "bytes", entry.length),
    FIELD(dx_document, CHARS, "sha256", entry.sha256),
    WORDS(dx_document, reasons, "reason", entry.reason),
    FIELD(dx_document, CHARS, "reason_text", entry.reason_text),
    END};

static const struct field file_fields[] = {
    FIELD(dx_file, PLACE, "document", document),
    WORDS(dx_file, put_words, "put", put), FIELD(dx_file, TEXT, "url", url),
    END};

static const struct field case_fields[] = {
    FIELD(dx_case, NAME, "id", id),
    WORDS(dx_case, case_states, "state", state),
    FIELD(dx_case, COUNT, "bytes", bytes),
    FIELD(dx_case, CHARS, "sha256", sha256),
    FIELD(dx_case, FLAG, "empty", is_empty),
    END};

static const struct field submission_fields[] = {
    WORDS(dx_submission, states, "state", state),
    FIELD(dx_submission, TEXT, "source_id", source_id),
    FIELD(dx_submission, TEXT, "section", section),
    FIELD(dx_submission, TEXT, "base_url", base_url),
    FIELD(dx_submission, TEXT, "key_id", key_id),
    FIELD(dx_submission, FLAG, "registering", registering),
    FIELD(dx_submission, COUNT, "url_until_ms", url_until_ms),
    FIELD(dx_submission, COUNT, "lost_creates", lost_creates),
    FIELD(dx_submission, COUNT, "start_overs", start_overs),
    FIELD(dx_submission, COUNT, "reregistrations", reregistrations),
    FIELD(dx_submission, FLAG, "put_again", put_again),
    FIELD(dx_submission, FLAG, "verify", verify),
    FIELD(dx_submission, COUNT, "hook_ms", hook_ms),
    FIELD(dx_submission, CODE, "code", code),
    FIELD(dx_submission, CHARS, "reason", reason),
    FIELD(dx_submission, TIME, "registered_at", registered_at),
    FIELD(dx_submission, TIME, "uploaded_at", uploaded_at),
    FIELD(dx_submission, TIME, "complete_at", complete_at),
    FIELD(dx_submission, TIME, "extracted_at", extracted_at),
    FIELD(dx_submission, TIME, "delivered_at", delivered_at),
    FIELD(dx_submission, TIME, "failed_at", failed_at),
    ITEMS(dx_submission, file_fields, DX_DOCUMENTS_MAX, "files", files,
          file_count),
    ITEMS(dx_submission, case_fields, DX_CASES_MAX, "cases", cases, case_count),
    END};

static const struct field print_fields[] = {
    FIELD(dx_print, CHARS, "run", run),
    FIELD(dx_print, TEXT, "cupsd", cupsd),
    WORDS(dx_print, backends, "backend", backend),
    WORDS(dx_print, finals, "final", final),
    FIELD(dx_print, FLAG, "known_later", known_later),
    FIELD(dx_print, FLAG, "decided", decided),
    FIELD(dx_print, FLAG, "undecided", undecided),
    FIELD(dx_print, COUNT, "unclear_ms", unclear_ms),
    END};

static const struct field job_fields[] = {
    FIELD(dx_job, CHARS, "key", key),
    FIELD(dx_job, NAME, "service", service),
    FIELD(dx_job, NAME, "base_url", base_url),
    FIELD(dx_job, TEXT, "queue", queue),
    FIELD(dx_job, TEXT, "id", cups_id),
    FIELD(dx_job, TEXT, "uuid", uuid),
    FIELD(dx_job, TEXT, "user", user),
    FIELD(dx_job, TEXT, "title", title),
    FIELD(dx_job, TEXT, "host", host),
    FIELD(dx_job, OBJECT, "print", print, .fields = print_fields),
    FIELD(dx_job, TIME_MS, "received_at", received_at),
    FIELD(dx_job, FLAG, "together", together),
    FIELD(dx_job, FLAG, "seen", seen),
    FIELD(dx_job, CHARS, "message", message, .is_shown = true),
    FIELD(dx_job, CODE, "message_code", message_code, .is_shown = true),
    FIELD(dx_job, TIME, "retry_at", retry_at),
    ITEMS(dx_job, document_fields, DX_DOCUMENTS_MAX, "documents", documents,
          document_count),
    ITEMS(dx_job, submission_fields, DX_DOCUMENTS_MAX, "submissions",
          submissions, submission_count),
    END};

/* ---- writing ---- */

static void put_fields(struct dx_json_out *out, const struct field *fields,
                       const void *from);

static void put_field(struct dx_json_out *out, const struct field *f,
                      const char *from)
{
  const void *at = from + f->at;
  char time[DX_TIME_BYTES];
  size_t i, count;

  switch (f->type) {
  case CHARS:
    dx_json_put_string(out, f->name, at);
    break;
  case TEXT:
  case NAME:
    dx_json_put_string(out, f->name, *(char *const *)at);
    break;
  case FLAG:
    dx_json_put_bool(out, f->name, *(const bool *)at);
    break;
  case NUMBER:
    dx_json_put_int(out, f->name, *(const int *)at);
    break;
  case COUNT:
    dx_json_put_int(out, f->name, *(const int64_t *)at);
    break;
  case PLACE:
    dx_json_put_int(out, f->name, (int64_t) * (const size_t *)at + 1);
    break;
  case TIME:
    dx_json_put_time(out, f->name, *(const int64_t *)at);
    break;
  case TIME_MS:
    dx_format_exact_time(*(const int64_t *)at, time);
    dx_json_put_string(out, f->name, *(const int64_t *)at != 0 ? time : NULL);
    break;
  case WORD:
    dx_json_put_string(out, f->name, f->words[*(const unsigned *)at]);
    break;
  case CODE:
    dx_json_put_string(out, f->name,
                       *(const enum dx_code *)at != DX_OK
                           ? dx_code_name(*(const enum dx_code *)at)
                           : NULL);
    break;
  case OBJECT:
    dx_json_open(out, f->name, '{');
    put_fields(out, f->fields, at);
    dx_json_close(out, '}');
    break;
  case LIST:
    count = *(const size_t *)(const void *)(from + f->count_at);
    dx_json_open(out, f->name, '[');
    for (i = 0; i < count; i++) {
      dx_json_open(out, NULL, '{');
      put_fields(out, f->fields, *(char *const *)at + i * f->size);
      dx_json_close(out, '}');
    }
    dx_json_close(out, ']');
    break;
  }
}

static void put_fields(struct dx_json_out *out, const struct field *fields,
                       const void *from)
{
  for (; fields->name != NULL; fields++)
    put_field(out, fields, from);
}

void dx_job_put(const struct dx_job *job, struct dx_json_out *out,
                const char *name)
{
  dx_json_open(out, name, '{');
  dx_json_put_int(out, "schema", JOURNAL_SCHEMA);
  put_fields(out, job_fields, job);
  dx_json_close(out, '}');
}

enum dx_code dx_job_publish(struct dx_job *job, struct dx_err *err)
{
  struct dx_json_out out = {.pretty = true};
  enum dx_code code;

  dx_job_put(job, &out, NULL);
  code = dx_buf_ok(&out.text)
             ? dx_fs_write(job->dirfd, JOURNAL_NAME, out.text.data,
                           out.text.len, 0600, false, err)
             : dx_fail_nomem(err);
  dx_buf_release(&out.text);
  if (code == DX_OK)
    job->behind = false;
  return code;
}

enum dx_code dx_job_save(struct dx_job *job, struct dx_err *err)
{
  enum dx_code code = dx_job_publish(job, err);

  if (code == DX_OK)
    code = dx_fs_sync_name(job->dirfd, JOURNAL_NAME, err);
  if (code == DX_OK)
    job->dirty = false;
  return code;
}

/* ---- reading ---- */

static bool get_fields(const struct cJSON *json, const struct field *fields,
                       void *to);

static bool get_list(const struct cJSON *list, const struct field *f, char *to)
{
  size_t *count = (void *)(to + f->count_at);
  const struct cJSON *item = dx_json_first(list);
  char *items;

  if (list == NULL || dx_json_count(list) > f->count)
    return false;
  items = calloc(dx_json_count(list) + 1, f->size);
  *(char **)(void *)(to + f->at) = items;
  for (; items != NULL && item != NULL; item = dx_json_next(item))
    if (!get_fields(item, f->fields, items + f->size * (*count)++))
      return false;
  return items != NULL;
}

static bool get_field(const struct cJSON *value, const struct field *f,
                      char *to)
{
  const char *text = dx_json_string(value);
  void *at = to + f->at;
  enum dx_code code;
  int64_t number;
  unsigned i;

  switch (f->type) {
  case CHARS:
    if (text == NULL || strlen(text) >= f->size)
      return false;
    memcpy(at, text, strlen(text) + 1);
    return true;
  case TEXT:
  case NAME:
    *(char **)at = text != NULL ? strdup(text) : NULL;
    return *(char **)at != NULL || (text == NULL && f->type == TEXT);
  case FLAG:
    return dx_json_bool(value, at);
  case NUMBER:
    if (!dx_json_int(value, &number) || number < 0 || number > INT_MAX)
      return false;
    *(int *)at = (int)number;
    return true;
  case COUNT:
    return dx_json_int(value, at) && *(int64_t *)at >= 0;
  case PLACE:
    if (!dx_json_int(value, &number) || number < 1)
      return false;
    *(size_t *)at = (size_t)number - 1;
    return true;
  case TIME:
  case TIME_MS:
    *(int64_t *)at = text != NULL ? dx_parse_time(text) : 0;
    return dx_json_is_null(value) || (text != NULL && *(int64_t *)at >= 0);
  case WORD:
    for (i = 0; text != NULL && i < f->count; i++)
      if (strcmp(text, f->words[i]) == 0) {
        *(unsigned *)at = i;
        return true;
      }
    return false;
  case CODE:
    code = text != NULL ? dx_code_by_name(text) : DX_OK;
    if (code != DX_CODE_COUNT)
      *(enum dx_code *)at = code;
    return code != DX_CODE_COUNT;
  case OBJECT:
    return get_fields(value, f->fields, at);
  default: /* LIST */
    return get_list(value, f, to);
  }
}

static bool get_fields(const struct cJSON *json, const struct field *fields,
                       void *to)
{
  for (; fields->name != NULL; fields++)
    if (!get_field(dx_json_get(json, fields->name), fields, to) &&
        !fields->is_shown)
      return false;
  return true;
}

/* False for a source without an id or its place, or a registered file without
 * its URL, which are never written. */
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
        (sub->state == DX_ST_REGISTERED && sub->files[i].url == NULL))
      return false;
  return sub->file_count > 0;
}

static bool read_job(const struct cJSON *json, struct dx_job *job)
{
  size_t i;

  if (!get_fields(json, job_fields, job) || !dx_is_key(job->key) ||
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

static void look_for_documents(struct dx_job *job)
{
  char name[DX_FILE_NAME_BYTES];
  struct stat st;
  size_t i;

  for (i = 0; i < job->document_count; i++) {
    dx_document_file(i, name);
    job->documents[i].is_here =
        job->documents[i].entry.kind == DX_KIND_DOCUMENT &&
        fstatat(job->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) && st.st_size == job->documents[i].entry.length;
  }
}

enum dx_code dx_job_read_json(struct dx_job *job, const struct cJSON *json,
                              struct dx_err *err)
{
  int64_t schema = 0;

  (void)dx_json_int(dx_json_get(json, "schema"), &schema);
  if (schema > JOURNAL_SCHEMA)
    return dx_fail(err, DX_E_DAMAGED, 0,
                   "the job file was written by a newer docextract");
  errno = 0; /* out of memory does not mean damaged */
  if (schema > 0 && read_job(json, job))
    return DX_OK;
  if (errno == ENOMEM)
    return dx_fail_nomem(err);
  return dx_fail(err, DX_E_DAMAGED, 0, "the job file is damaged");
}

enum dx_code dx_job_load(struct dx_job *job, struct dx_err *err)
{
  struct dx_buf text = {0};
  struct cJSON *json = NULL;
  enum dx_code code;
  size_t i;

  code = dx_fs_read(job->dirfd, JOURNAL_NAME, DX_JOURNAL_MAX_BYTES, &text, err);
  if (code != DX_OK) {
    dx_buf_release(&text);
    return code;
  }
  errno = 0;
  json = dx_json_parse(dx_buf_text(&text), text.len, NULL);
  code = json == NULL && errno == ENOMEM ? dx_fail_nomem(err)
                                         : dx_job_read_json(job, json, err);
  for (i = 0; code == DX_OK && i < job->submission_count; i++)
    job->submissions[i].told_end_at =
        dx_submission_ended_at(&job->submissions[i]);
  if (code == DX_OK) {
    look_for_documents(job);
    if (job->print.backend == DX_BACKEND_ATTENDS)
      job->print.backend = DX_BACKEND_BROKEN;
  }
  dx_json_free(&json);
  dx_buf_release(&text);
  return code;
}
