/*
 * status.c - requests and responses of the status socket.
 */
#include "lib/control/status.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/spool/sentence.h"

/* ---- requests ---- */

/* The words of a request: what is between single blanks. */
struct words {
  const char *at[3];
  size_t len[3];
  size_t count;
};

static bool split(const char *line, size_t len, struct words *words)
{
  size_t i, start = 0;

  words->count = 0;
  for (i = 0; i <= len; i++) {
    if (i < len && line[i] > ' ' && line[i] <= '~')
      continue;
    if (i == start || words->count == 3 || (i < len && line[i] != ' '))
      return false;
    words->at[words->count] = line + start;
    words->len[words->count++] = i - start;
    start = i + 1;
  }
  return true;
}

static bool copy_word(const struct words *words, size_t i, char *text,
                      size_t size)
{
  if (words->len[i] >= size)
    return false;
  memcpy(text, words->at[i], words->len[i]);
  text[words->len[i]] = '\0';
  return true;
}

/* A name in the results directory, which cannot lead out of it. */
static bool is_file_name(const char *name)
{
  return name[0] != '.' && strchr(name, '/') == NULL;
}

static bool read_arguments(const struct words *words,
                           struct dx_status_request *request)
{
  char option[DX_TIME_BYTES] = "";
  size_t count = words->count - 1;

  if (request->kind == DX_STATUS_SHOW)
    return count == 2 &&
           copy_word(words, 1, request->key, sizeof(request->key)) &&
           dx_is_key(request->key) &&
           copy_word(words, 2, request->name, sizeof(request->name)) &&
           is_file_name(request->name);
  if (count == 0)
    return true;
  if (count > 1 || !copy_word(words, 1, option, sizeof(option)))
    return false;
  if (request->kind == DX_STATUS_JOBS)
    return request->all = strcmp(option, "all") == 0;
  if (request->kind != DX_STATUS_WATCH)
    return false;
  request->since_ms = dx_parse_time(option);
  return request->since_ms >= 0;
}

enum dx_code dx_status_parse(const char *line, size_t len,
                             struct dx_status_request *ret_request,
                             struct dx_err *err)
{
  static const char *const kinds[] = {
#define X(name, word) word,
      DX_STATUS_REQUESTS(X)
#undef X
  };
  struct words words;
  char kind[16];
  int i = DX_STATUS_COUNT;

  *ret_request = (struct dx_status_request){.since_ms = -1};
  if (split(line, len, &words) && copy_word(&words, 0, kind, sizeof(kind)))
    for (i = 0; i < DX_STATUS_COUNT && strcmp(kind, kinds[i]) != 0; i++)
      ;
  ret_request->kind = (enum dx_status_request_kind)i;
  if (i < DX_STATUS_COUNT && read_arguments(&words, ret_request))
    return DX_OK;
  return dx_fail(err, DX_E_ARG, 0, "not a request of the status socket");
}

/* ---- responses ---- */

struct dx_json *dx_status_job_json(struct dx_job *job, bool for_admin)
{
  struct dx_json *line = dx_json_object(), *child;
  size_t i, k;
  bool ok;

  for (i = 0; i < job->submission_count; i++)
    for (k = 0; k < job->submissions[i].file_count; k++)
      if (job->submissions[i].files[k].url !=
          NULL) /* it still shows that there is one */
        explicit_bzero(job->submissions[i].files[k].url,
                       strlen(job->submissions[i].files[k].url));
  if (!for_admin)
    dx_job_reword(job);
  child = dx_job_json(job);
  ok = line != NULL && child != NULL && dx_json_put_take(line, "job", &child);
  dx_json_free(&child);
  return dx_json_made_take(line, ok);
}

int64_t dx_submission_ended_at(const struct dx_submission *sub)
{
  if (!dx_state_is_final(sub->state))
    return 0;
  if (sub->state != DX_ST_EXTRACTED)
    return sub->failed_at != 0 ? sub->failed_at : sub->job->received_at;
  if (sub->delivered_at != 0)
    return sub->delivered_at;
  return sub->extracted_at != 0 ? sub->extracted_at : sub->complete_at;
}

struct dx_json *dx_status_end_json(const struct dx_submission *sub,
                                   bool for_admin)
{
  struct dx_json *json = dx_json_object();
  const struct dx_job *job = sub->job;
  bool good = sub->state == DX_ST_EXTRACTED;
  char sentence[DX_SENTENCE_BYTES];
  const char *message = for_admin ? sub->reason : sentence;

  dx_submission_sentence(sub, sentence);
  return dx_json_made_take(
      json,
      json != NULL && dx_json_put_string(json, "key", job->key) &&
          dx_json_put_int(json, "submission", (int64_t)sub->number) &&
          dx_json_put_string(json, "user", job->user) &&
          dx_json_put_string(json, "queue", job->queue) &&
          dx_json_put_string(json, "id", job->cups_id) &&
          dx_json_put_string(json, "state", dx_state_word(sub->state)) &&
          dx_json_put_string(json, "reason_code",
                             good ? NULL : dx_submission_reason_code(sub)) &&
          dx_json_put_string(json, "sentence", good ? NULL : sentence) &&
          dx_json_put_string(json, "message", good ? NULL : message) &&
          dx_json_put_int(json, "cases", (int64_t)sub->case_count) &&
          dx_json_put_int(json, "job_documents",
                          (int64_t)job->document_count) &&
          dx_json_put_time(json, "ended_at", dx_submission_ended_at(sub)));
}

struct dx_json *dx_status_error_json(const struct dx_err *err)
{
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json, json != NULL &&
                dx_json_put_string(json, "error", dx_code_name(err->code)) &&
                dx_json_put_string(json, "message", err->text));
}

enum dx_code dx_status_read_job(const struct dx_json *line,
                                struct dx_job **ret_job, struct dx_err *err)
{
  struct dx_job *job = dx_job_new();
  enum dx_code code;

  if (job == NULL)
    return dx_fail_nomem(err);
  code = dx_job_read_json(job, dx_json_get(line, "job"), err);
  if (code == DX_E_DAMAGED)
    code = dx_fail(err, DX_E_RESPONSE, 0,
                   "docextractd's response is not understood; it may be of "
                   "another version");
  if (code == DX_OK)
    *ret_job = job;
  else
    dx_job_free(&job);
  return code;
}
