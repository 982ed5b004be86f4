/*
 * fetch.c - get extract: fetches the result of each case (doc/policy.md,
 * "Results").
 */
#include "daemon/engine/engine_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct dx_case *engine_next_case(struct dx_submission *sub)
{
  struct dx_case *best = NULL, *c = sub->cases, *end = c + sub->case_count;

  for (; c < end; c++)
    if (c->state == DX_CASE_WAITING &&
        (best == NULL || c->polled.due_ms < best->polled.due_ms))
      best = c;
  return best;
}

/* Limits the size of this result and of those that are stored. */
static enum dx_code fetch_check_total(const struct call *call,
                                      struct dx_err *err)
{
  const struct dx_job *job = call->sub->job;
  char size[DX_SIZE_TEXT_BYTES];
  int64_t total = call->bytes;
  size_t i, k;

  for (i = 0; i < job->submission_count; i++)
    for (k = 0; k < job->submissions[i].case_count; k++)
      if (job->submissions[i].cases[k].state != DX_CASE_WAITING)
        total += job->submissions[i].cases[k].bytes;
  if (total <= DX_RESULTS_MAX_BYTES)
    return DX_OK;
  return dx_fail(err, DX_E_RESPONSE, 0,
                 "the results of the job are larger than %s in all",
                 dx_size_text(DX_RESULTS_MAX_BYTES, size));
}

/* Writes a result as it is received, and limits its size. */
static enum dx_code fetch_take_piece(void *arg, const char *bytes, size_t len,
                                     struct dx_err *err)
{
  struct call *call = arg;
  int64_t most = call->svc->service->max_result_bytes;
  char size[DX_SIZE_TEXT_BYTES];
  enum dx_code code;

  call->bytes += (int64_t)len;
  if (call->bytes > most)
    return dx_fail(err, DX_E_RESPONSE, 0,
                   "the result is larger than MaxResultSize (%s)",
                   dx_size_text(most, size));
  code = dx_fs_write_all(call->sink.fd, bytes, len, "result", err);
  if (code == DX_OK)
    dx_sha256_add(call->sha, bytes, len);
  return code;
}

/* Checks the result that was written. */
static enum dx_code fetch_check(struct call *call, const char *case_id,
                                bool *ret_is_empty, struct dx_err *err)
{
  int fd = dup(call->sink.fd);
  FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
  enum dx_code code;

  if (in == NULL) {
    code = dx_fail_sys(err, errno, "read", "result");
    if (fd >= 0)
      (void)close(fd);
    return code;
  }
  rewind(in);
  code = dx_check_result(in, call->response, call->sub->source_id, case_id,
                         ret_is_empty, err);
  if (ferror(in))
    code = dx_fail(err, DX_E_IO, 0, "cannot read the result");
  (void)fclose(in);
  return code;
}

static enum dx_code fetch_done(struct call *call)
{
  struct dx_submission *sub = call->sub;
  struct dx_case *c = &sub->cases[call->item];
  struct dx_err err;
  bool is_empty = false;
  enum dx_code code = dx_judge(DX_CALL_EXTRACT, call->response, &err);

  if (code == DX_OK)
    code = fetch_check_total(call, &err);
  if (code == DX_OK)
    code = fetch_check(call, c->id, &is_empty, &err);
  if (code == DX_OK) /* the journal write that follows fsyncs the directory */
    code = dx_temp_publish(&call->sink, 0600, DX_PUBLISH_OVER, &err);
  if (code != DX_OK) {
    engine_poll_failed(call, code, &err);
    return code;
  }
  dx_sha256_end(call->sha, c->sha256);
  c->bytes = call->bytes;
  c->is_empty = is_empty;
  c->state = DX_CASE_STORED;
  c->unsaved = true;
  sub->extracted_at = dx_wall_ms();
  sub->job->behind = sub->job->unsaved = true;
  engine_poll_ready(call);
  return code;
}

static enum dx_code fetch_start(struct call *call, struct dx_err *err)
{
  const struct dx_submission *sub = call->sub;
  char name[DX_FILE_NAME_BYTES];
  enum dx_code code = dx_job_open_dir(sub->job, err);

  if (code == DX_OK)
    code = dx_fs_check_free(sub->job->dirfd, err);
  dx_result_file(sub, call->item, name);
  call->sha = dx_sha256_new();
  if (code == DX_OK && call->sha == NULL)
    code = dx_fail_nomem(err);
  if (code == DX_OK)
    code = dx_temp_begin(&call->sink, sub->job->dirfd, name, err);
  if (code == DX_OK)
    code = dx_api_call(&call->api, DX_CALL_EXTRACT, sub->cases[call->item].id,
                       fetch_take_piece, err);
  return code;
}

void engine_get_extract(struct dx_engine *engine, struct dx_submission *sub)
{
  struct call *call = engine_begin_call(engine, sub, CALLS_GET, fetch_done);

  call->item = (size_t)(engine_next_case(sub) - sub->cases);
  call->polled = &sub->cases[call->item].polled;
  engine_send(call, fetch_start);
}
