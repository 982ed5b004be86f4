/*
 * journal.c - job.json: the only place where a journal is written or read.
 */
#include <errno.h>
#include <fcntl.h>
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

static const char *const put_words[DX_PUT_COUNT] = {
#define X(name, word) [DX_PUT_##name] = word,
    DX_PUTS(X)
#undef X
};

static const char *const case_words[DX_CASE_STATE_COUNT] = {
#define X(name, word) [DX_CASE_##name] = word,
    DX_CASE_STATES(X)
#undef X
};

/* ---- writing ---- */

static struct dx_json *document_json(const void *owner, size_t i)
{
  const struct dx_job *job = owner;
  const struct dx_entry *e = &job->documents[i].entry;
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json, json != NULL &&
                dx_json_put_string(json, "kind", dx_kind_word(e->kind)) &&
                dx_json_put_string(json, "type", e->type) &&
                dx_json_put_string(json, "origin", e->origin) &&
                dx_json_put_string(json, "name", e->name) &&
                dx_json_put_int(json, "pages", e->pages) &&
                dx_json_put_bool(json, "together", e->together) &&
                dx_json_put_int(json, "bytes", e->length) &&
                dx_json_put_string(json, "sha256", e->sha256) &&
                dx_json_put_string(json, "reason", dx_reason_word(e->reason)) &&
                dx_json_put_string(json, "reason_text", e->reason_text));
}

static struct dx_json *file_json(const void *owner, size_t i)
{
  const struct dx_submission *sub = owner;
  const struct dx_file *f = &sub->files[i];
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json, json != NULL &&
                dx_json_put_int(json, "document", (int64_t)f->document + 1) &&
                dx_json_put_string(json, "put", put_words[f->put]) &&
                dx_json_put_string(json, "url", f->url));
}

static struct dx_json *case_json(const void *owner, size_t i)
{
  const struct dx_submission *sub = owner;
  const struct dx_case *c = &sub->cases[i];
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json, json != NULL && dx_json_put_string(json, "id", c->id) &&
                dx_json_put_string(json, "state", case_words[c->state]) &&
                dx_json_put_int(json, "bytes", c->bytes) &&
                dx_json_put_string(json, "sha256", c->sha256) &&
                dx_json_put_bool(json, "empty", c->is_empty));
}

static bool put_code(struct dx_json *json, const char *name, enum dx_code code)
{
  return dx_json_put_string(json, name,
                            code != DX_OK ? dx_code_name(code) : NULL);
}

static bool put_times(struct dx_json *json, const struct dx_submission *sub)
{
  return dx_json_put_time(json, "registered_at", sub->registered_at) &&
         dx_json_put_time(json, "uploaded_at", sub->uploaded_at) &&
         dx_json_put_time(json, "complete_at", sub->complete_at) &&
         dx_json_put_time(json, "extracted_at", sub->extracted_at) &&
         dx_json_put_time(json, "delivered_at", sub->delivered_at) &&
         dx_json_put_time(json, "failed_at", sub->failed_at);
}

static struct dx_json *submission_json(const void *owner, size_t i)
{
  const struct dx_job *job = owner;
  const struct dx_submission *sub = &job->submissions[i];
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json,
      json != NULL &&
          dx_json_put_string(json, "state", dx_state_word(sub->state)) &&
          dx_json_put_string(json, "source_id", sub->source_id) &&
          dx_json_put_string(json, "section", sub->section) &&
          dx_json_put_string(json, "base_url", sub->base_url) &&
          dx_json_put_string(json, "key_id", sub->key_id) &&
          dx_json_put_bool(json, "registering", sub->registering) &&
          dx_json_put_int(json, "url_until_ms", sub->url_until_ms) &&
          dx_json_put_int(json, "lost_creates", sub->lost_creates) &&
          dx_json_put_int(json, "start_overs", sub->start_overs) &&
          dx_json_put_int(json, "reregistrations", sub->reregistrations) &&
          dx_json_put_bool(json, "put_again", sub->put_again) &&
          dx_json_put_bool(json, "verify", sub->verify) &&
          dx_json_put_int(json, "announce_ms", sub->announce_ms) &&
          put_code(json, "code", sub->code) &&
          dx_json_put_string(json, "reason", sub->reason) &&
          put_times(json, sub) &&
          dx_json_put_list(json, "files", sub, sub->file_count, file_json) &&
          dx_json_put_list(json, "cases", sub, sub->case_count, case_json));
}

/* To the millisecond: many print at the same time, and are listed in order. */
static bool put_received(struct dx_json *json, int64_t at)
{
  char text[DX_TIME_BYTES];

  dx_format_exact_time(at, text);
  return dx_json_put_string(json, "received_at", at != 0 ? text : NULL);
}

static bool put_print(struct dx_json *root, const struct dx_print *print)
{
  struct dx_json *json = dx_json_object();
  bool ok =
      json != NULL && dx_json_put_string(json, "run", print->run) &&
      dx_json_put_string(json, "cupsd", print->cupsd) &&
      dx_json_put_string(json, "backend", dx_backend_word(print->backend)) &&
      dx_json_put_string(json, "final", dx_final_word(print->final)) &&
      dx_json_put_bool(json, "known_later", print->known_later) &&
      dx_json_put_bool(json, "decided", print->decided) &&
      dx_json_put_bool(json, "undecided", print->undecided) &&
      dx_json_put_int(json, "unclear_ms", print->unclear_ms) &&
      dx_json_put_take(root, "print", &json);

  dx_json_free(&json);
  return ok;
}

struct dx_json *dx_job_json(const struct dx_job *job)
{
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json, json != NULL && dx_json_put_int(json, "schema", JOURNAL_SCHEMA) &&
                dx_json_put_string(json, "key", job->key) &&
                dx_json_put_string(json, "service", job->service) &&
                dx_json_put_string(json, "base_url", job->base_url) &&
                dx_json_put_string(json, "queue", job->queue) &&
                dx_json_put_string(json, "id", job->cups_id) &&
                dx_json_put_string(json, "uuid", job->uuid) &&
                dx_json_put_string(json, "user", job->user) &&
                dx_json_put_string(json, "title", job->title) &&
                dx_json_put_string(json, "host", job->host) &&
                put_print(json, &job->print) &&
                put_received(json, job->received_at) &&
                dx_json_put_bool(json, "together", job->together) &&
                dx_json_put_bool(json, "seen", job->seen) &&
                dx_json_put_string(json, "message", job->message) &&
                put_code(json, "message_code", job->message_code) &&
                dx_json_put_time(json, "retry_at", job->retry_at) &&
                dx_json_put_list(json, "documents", job, job->document_count,
                                 document_json) &&
                dx_json_put_list(json, "submissions", job,
                                 job->submission_count, submission_json));
}

enum dx_code dx_job_publish(struct dx_job *job, struct dx_err *err)
{
  struct dx_json *json = dx_job_json(job);
  char *text = json != NULL ? dx_json_print(json, true) : NULL;
  enum dx_code code;

  dx_json_free(&json);
  if (text == NULL)
    return dx_fail_nomem(err);
  code = dx_fs_publish(job->dirfd, JOURNAL_NAME, text, strlen(text), 0600, err);
  explicit_bzero(text, strlen(text)); /* signed URLs are in it */
  free(text);
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

static bool get_text(const struct dx_json *json, const char *name,
                     char **ret_text)
{
  const char *text = dx_json_string(dx_json_get(json, name));

  *ret_text = text != NULL ? strdup(text) : NULL;
  return text == NULL || *ret_text != NULL;
}

static bool get_chars(const struct dx_json *json, const char *name, char *text,
                      size_t size)
{
  const char *value = dx_json_string(dx_json_get(json, name));

  if (value == NULL || strlen(value) >= size)
    return false;
  memcpy(text, value, strlen(value) + 1);
  return true;
}

static bool get_flag(const struct dx_json *json, const char *name, bool *ret)
{
  return dx_json_bool(dx_json_get(json, name), ret);
}

static bool get_count(const struct dx_json *json, const char *name,
                      int64_t *ret_count)
{
  return dx_json_int(dx_json_get(json, name), ret_count) && *ret_count >= 0;
}

/* The index of the word in the table; -1 if it is not there. */
static int get_word(const struct dx_json *json, const char *name,
                    const char *const *words, int count)
{
  const char *word = dx_json_string(dx_json_get(json, name));
  int i;

  for (i = 0; word != NULL && i < count; i++)
    if (strcmp(word, words[i]) == 0)
      return i;
  return -1;
}

static bool get_time(const struct dx_json *json, const char *name,
                     int64_t *ret_ms)
{
  const struct dx_json *value = dx_json_get(json, name);
  const char *text = dx_json_string(value);

  *ret_ms = text != NULL ? dx_parse_time(text) : 0;
  return dx_json_is_null(value) || (text != NULL && *ret_ms >= 0);
}

static bool read_document(const struct dx_json *json,
                          struct dx_document *document)
{
  struct dx_entry *e = &document->entry;
  char word[64];
  int64_t pages;

  if (!get_chars(json, "kind", word, sizeof(word)))
    return false;
  e->kind = dx_kind_by_word(word);
  if (!get_chars(json, "reason", word, sizeof(word)))
    return false;
  e->reason = dx_reason_by_word(word);
  if (!get_count(json, "pages", &pages) || pages > INT32_MAX)
    return false;
  e->pages = (int)pages;
  return e->kind != DX_KIND_COUNT && e->reason != DX_REASON_COUNT &&
         get_chars(json, "type", e->type, sizeof(e->type)) &&
         get_chars(json, "origin", e->origin, sizeof(e->origin)) &&
         get_chars(json, "name", e->name, sizeof(e->name)) &&
         get_chars(json, "sha256", e->sha256, sizeof(e->sha256)) &&
         get_chars(json, "reason_text", e->reason_text,
                   sizeof(e->reason_text)) &&
         get_flag(json, "together", &e->together) &&
         get_count(json, "bytes", &e->length);
}

static bool read_documents(const struct dx_json *list, struct dx_job *job)
{
  const struct dx_json *item;
  size_t count = dx_json_count(list);

  if (list == NULL || count > DX_DOCUMENTS_MAX)
    return false;
  job->documents = calloc(count + 1, sizeof(*job->documents));
  if (job->documents == NULL)
    return false;
  for (item = dx_json_first(list); item != NULL; item = dx_json_next(item))
    if (!read_document(item, &job->documents[job->document_count++]))
      return false;
  return true;
}

static bool read_file(const struct dx_json *json, const struct dx_job *job,
                      struct dx_file *file)
{
  int put = get_word(json, "put", put_words, DX_PUT_COUNT);
  int64_t document;

  if (put < 0 || !dx_json_int(dx_json_get(json, "document"), &document) ||
      document < 1 || (uint64_t)document > job->document_count)
    return false;
  file->document = (size_t)document - 1;
  file->put = (enum dx_put)put;
  return get_text(json, "url", &file->url);
}

/* DX_CODE_COUNT if the word is not known. */
static enum dx_code get_code(const struct dx_json *json, const char *name)
{
  const char *word = dx_json_string(dx_json_get(json, name));

  return word != NULL ? dx_code_by_name(word) : DX_OK;
}

static bool read_case(const struct dx_json *json, struct dx_case *c)
{
  int state = get_word(json, "state", case_words, DX_CASE_STATE_COUNT);

  if (state < 0)
    return false;
  c->state = (enum dx_case_state)state;
  return get_text(json, "id", &c->id) && c->id != NULL &&
         get_count(json, "bytes", &c->bytes) &&
         get_chars(json, "sha256", c->sha256, sizeof(c->sha256)) &&
         get_flag(json, "empty", &c->is_empty);
}

static bool read_files_and_cases(const struct dx_json *json,
                                 struct dx_submission *sub)
{
  const struct dx_json *files = dx_json_get(json, "files");
  const struct dx_json *cases = dx_json_get(json, "cases");
  const struct dx_json *item;

  sub->files = calloc(dx_json_count(files) + 1, sizeof(*sub->files));
  sub->cases = calloc(dx_json_count(cases) + 1, sizeof(*sub->cases));
  if (sub->files == NULL || sub->cases == NULL || files == NULL ||
      cases == NULL)
    return false;
  for (item = dx_json_first(files); item != NULL; item = dx_json_next(item))
    if (!read_file(item, sub->job, &sub->files[sub->file_count++]))
      return false;
  for (item = dx_json_first(cases); item != NULL; item = dx_json_next(item))
    if (!read_case(item, &sub->cases[sub->case_count++]))
      return false;
  return true;
}

static bool read_submission(const struct dx_json *json,
                            struct dx_submission *sub)
{
  char word[32];

  if (!get_chars(json, "state", word, sizeof(word)))
    return false;
  sub->state = dx_state_by_word(word);
  sub->code = get_code(json, "code");
  if (sub->state == DX_ST_COUNT || sub->code == DX_CODE_COUNT)
    return false;
  return get_flag(json, "verify", &sub->verify) &&
         get_text(json, "source_id", &sub->source_id) &&
         get_text(json, "section", &sub->section) &&
         get_text(json, "base_url", &sub->base_url) &&
         get_text(json, "key_id", &sub->key_id) &&
         get_flag(json, "registering", &sub->registering) &&
         get_flag(json, "put_again", &sub->put_again) &&
         dx_json_int(dx_json_get(json, "url_until_ms"), &sub->url_until_ms) &&
         get_count(json, "lost_creates", &sub->lost_creates) &&
         get_count(json, "start_overs", &sub->start_overs) &&
         get_count(json, "reregistrations", &sub->reregistrations) &&
         get_chars(json, "reason", sub->reason, sizeof(sub->reason)) &&
         get_time(json, "registered_at", &sub->registered_at) &&
         get_time(json, "uploaded_at", &sub->uploaded_at) &&
         get_time(json, "complete_at", &sub->complete_at) &&
         get_time(json, "extracted_at", &sub->extracted_at) &&
         get_time(json, "delivered_at", &sub->delivered_at) &&
         get_time(json, "failed_at", &sub->failed_at) &&
         get_count(json, "announce_ms", &sub->announce_ms) &&
         read_files_and_cases(json, sub);
}

/* We never write a source without an id and its place, or a registered file
 * without its URL. */
static bool is_plausible(const struct dx_submission *sub)
{
  size_t i;

  if (sub->source_id != NULL && (sub->source_id[0] == '\0' ||
                                 sub->section == NULL || sub->base_url == NULL))
    return false;
  if (dx_state_is_sent(sub->state) && sub->source_id == NULL)
    return false;
  for (i = 0; i < sub->file_count; i++)
    if (sub->state == DX_ST_REGISTERED && sub->files[i].url == NULL)
      return false;
  return sub->file_count > 0;
}

static bool read_submissions(const struct dx_json *list, struct dx_job *job)
{
  const struct dx_json *item;
  size_t count = dx_json_count(list);

  if (list == NULL || count > DX_DOCUMENTS_MAX)
    return false;
  job->submissions = calloc(count + 1, sizeof(*job->submissions));
  if (job->submissions == NULL)
    return false;
  for (item = dx_json_first(list); item != NULL; item = dx_json_next(item)) {
    struct dx_submission *sub = &job->submissions[job->submission_count++];

    sub->job = job;
    sub->number = job->submission_count;
    if (!read_submission(item, sub) || !is_plausible(sub))
      return false;
  }
  return true;
}

/* What is only shown does not make a job damaged. */
static void read_message(const struct dx_json *json, struct dx_job *job)
{
  (void)get_chars(json, "message", job->message, sizeof(job->message));
  job->message_code = get_code(json, "message_code");
  if (job->message_code == DX_CODE_COUNT)
    job->message_code = DX_OK;
}

static bool read_print(const struct dx_json *json, struct dx_print *print)
{
  char backend[16], final[16];

  if (!get_chars(json, "backend", backend, sizeof(backend)) ||
      !get_chars(json, "final", final, sizeof(final)))
    return false;
  print->backend = dx_backend_by_word(backend);
  print->final = dx_final_by_word(final);
  return print->backend != DX_BACKEND_COUNT && print->final != DX_FINAL_COUNT &&
         get_chars(json, "run", print->run, sizeof(print->run)) &&
         (print->run[0] == '\0' || dx_is_run(print->run)) &&
         get_text(json, "cupsd", &print->cupsd) &&
         get_flag(json, "known_later", &print->known_later) &&
         get_flag(json, "decided", &print->decided) &&
         get_flag(json, "undecided", &print->undecided) &&
         get_count(json, "unclear_ms", &print->unclear_ms);
}

static bool read_job(const struct dx_json *json, struct dx_job *job)
{
  int64_t schema;

  if (!dx_json_int(dx_json_get(json, "schema"), &schema) || schema < 1 ||
      schema > JOURNAL_SCHEMA)
    return false;
  read_message(json, job);
  return get_chars(json, "key", job->key, sizeof(job->key)) &&
         dx_is_key(job->key) && get_text(json, "service", &job->service) &&
         job->service != NULL && get_text(json, "base_url", &job->base_url) &&
         job->base_url != NULL && get_text(json, "queue", &job->queue) &&
         get_text(json, "id", &job->cups_id) &&
         get_text(json, "uuid", &job->uuid) &&
         get_text(json, "user", &job->user) &&
         get_text(json, "title", &job->title) &&
         get_text(json, "host", &job->host) &&
         get_time(json, "received_at", &job->received_at) &&
         get_time(json, "retry_at", &job->retry_at) &&
         read_print(dx_json_get(json, "print"), &job->print) &&
         get_flag(json, "together", &job->together) &&
         get_flag(json, "seen", &job->seen) &&
         read_documents(dx_json_get(json, "documents"), job) &&
         read_submissions(dx_json_get(json, "submissions"), job);
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

/* errno is ENOMEM if that was the reason. */
static enum dx_code unreadable(const struct dx_json *json, struct dx_err *err)
{
  int64_t schema;

  if (errno == ENOMEM)
    return dx_fail_nomem(err);
  if (dx_json_int(dx_json_get(json, "schema"), &schema) &&
      schema > JOURNAL_SCHEMA)
    return dx_fail(err, DX_E_DAMAGED, 0,
                   "the job file was written by a newer docextract");
  return dx_fail(err, DX_E_DAMAGED, 0, "the job file is damaged");
}

static enum dx_code read_whole(const struct dx_json *json, struct dx_job *job,
                               struct dx_err *err)
{
  return read_job(json, job) ? DX_OK : unreadable(json, err);
}

enum dx_code dx_job_read_json(struct dx_job *job, const struct dx_json *json,
                              struct dx_err *err)
{
  errno = 0; /* out of memory does not mean damaged */
  return read_whole(json, job, err);
}

enum dx_code dx_job_load(struct dx_job *job, struct dx_err *err)
{
  struct dx_buf text = {.secret = true};
  struct dx_json *json = NULL;
  enum dx_code code;

  code = dx_fs_read(job->dirfd, JOURNAL_NAME, DX_JOURNAL_MAX_BYTES, &text, err);
  if (code != DX_OK) {
    dx_buf_release(&text);
    return code;
  }
  errno = 0; /* out of memory does not mean damaged */
  json = dx_json_parse(dx_buf_text(&text), text.len, NULL);
  code = read_whole(json, job, err);
  if (code == DX_OK) {
    look_for_documents(job);
    if (job->print.backend == DX_BACKEND_ATTENDS)
      job->print.backend = DX_BACKEND_BROKEN;
  }
  dx_json_free(&json);
  dx_buf_release(&text);
  return code;
}
