/*
 * upload.c - registering and uploading a submission (doc/policy.md, "Exactly
 * once", "Uploads").
 */
#include "daemon/engine/engine_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- create source ---- */

bool engine_put_is_due(const struct dx_submission *sub)
{
  return dx_wall_ms() + DX_URL_MARGIN_MS < sub->url_until_ms;
}

static enum dx_code take_created(struct dx_submission *sub,
                                 const struct dx_service *service,
                                 struct dx_created *created, struct dx_err *err)
{
  struct run *run = run_of(sub);
  size_t i;

  if (dx_submission_set_place(sub, service->name, service->base_url,
                              service->token_key_id, err) != DX_OK)
    return err->code;
  engine_apply(sub, DX_EV_ACCEPTED);
  free(sub->source_id);
  sub->source_id = created->source_id;
  created->source_id = NULL;
  for (i = 0; i < sub->file_count; i++) {
    sub->files[i].url = created->urls[i];
    created->urls[i] = NULL;
    sub->files[i].put = DX_PUT_NONE;
  }
  sub->url_until_ms = dx_wall_ms() + created->lifetime_ms;
  /* The first PUT follows at once: one journal write covers both. */
  if (engine_put_is_due(sub))
    sub->files[0].put = DX_PUT_SENDING;
  run->due_ms = 0;
  run->storage_refusals = 0;
  run->source = (struct polled){0};
  run->short_ms = 0;
  run->pending_ms = 0;
  run->sent_ms = 0;
  run->ask_first = false;
  run->unclear = false;
  run->phase_ms = 0;
  return DX_OK;
}

void engine_create_lost(struct dx_submission *sub)
{
  sub->registering = false;
  sub->job->dirty = true;
  sub->lost_creates++;
  dx_log(DX_LOG_WARNING,
         "submission %zu: the response to a registration was "
         "lost (%" PRId64 " of %d)",
         sub->number, sub->lost_creates, DX_LOST_CREATES_MAX);
  if (sub->lost_creates > DX_LOST_CREATES_MAX)
    dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                      "the service did not respond to several registrations");
}

/* True if the request was sent, and no valid response rules out that a source
 * was created. */
static bool may_be_registered(const struct dx_http_response *response,
                              enum dx_code code)
{
  enum dx_class cls = dx_class_of(code);

  return response->was_sent &&
         (cls == DX_CL_LOCAL ||
          (cls == DX_CL_TRANSIENT &&
           (response->code != DX_OK || code == DX_E_RESPONSE ||
            code == DX_E_UNEXPECTED)));
}

/* Two submissions with the same source would overwrite each other's files. */
static enum dx_code check_source_is_new(const struct dx_engine *engine,
                                        const struct dx_submission *sub,
                                        const struct dx_service *service,
                                        const char *source_id,
                                        struct dx_err *err)
{
  size_t i, k;

  for (i = 0; i < engine->job_count; i++) {
    const struct dx_job *job = engine->jobs[i];

    for (k = 0; k < job->submission_count; k++) {
      const struct dx_submission *other = &job->submissions[k];

      if (other != sub && other->base_url != NULL && other->source_id != NULL &&
          strcmp(other->source_id, source_id) == 0 &&
          strcmp(other->base_url, service->base_url) == 0)
        return dx_fail(err, DX_E_UNEXPECTED, 0,
                       "the response to 'create source' has the id of the "
                       "source of another document");
    }
  }
  return DX_OK;
}

static void create_done(void *arg, const struct dx_http_response *response)
{
  struct call_ctx *ctx = engine_got(arg, response);
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  struct dx_created created;
  struct dx_err err;
  enum dx_code code;

  code = dx_read_create(response, ctx->svc->service, sub->file_count, &created,
                        &err);
  if (code == DX_OK)
    code = check_source_is_new(ctx->engine, sub, ctx->svc->service,
                               created.source_id, &err);
  if (code == DX_OK)
    code = take_created(sub, ctx->svc->service, &created, &err);
  engine_count_call(ctx, code);
  sub->job->dirty = true;
  if (may_be_registered(response, code))
    engine_create_lost(sub);
  sub->registering = false;
  if (code == DX_OK) {
    engine_service_up(ctx);
    run->source.due_ms = dx_monotonic_ms() + response->retry_after_ms;
  } else if (code == DX_E_CONFLICT) {
    if (++run->storage_refusals >= DX_CONFLICT_TRIES)
      dx_submission_end(sub, DX_EV_FAIL, DX_E_REFUSED, err.text);
    else
      engine_transient(ctx, &err);
  } else if (code != DX_E_UNEXPECTED) {
    engine_failed(ctx, &err);
  } else if (!dx_state_is_final(sub->state)) {
    engine_unexpected(ctx, &err);
  }
  dx_created_release(&created);
  engine_end_call(ctx);
}

void engine_create(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);
  struct dx_job *job = sub->job;
  struct call_ctx *ctx = engine_begin_call(engine, sub, create_done);
  struct dx_api_file *files;
  struct dx_err err;
  size_t i;

  /* Extractions are paid for: check first that results can be delivered. */
  if (dx_results_prepare(ctx->svc->service->results_dir, &err) != DX_OK) {
    engine_local_failure(engine, job, &err);
    return;
  }
  if (!engine_may_send(engine, sub))
    return;
  files = calloc(sub->file_count, sizeof(*files));
  if (files == NULL) {
    (void)dx_fail_nomem(&err);
    engine_local_failure(engine, job, &err);
    return;
  }
  for (i = 0; i < sub->file_count; i++) {
    const struct dx_entry *e = &job->documents[sub->files[i].document].entry;

    files[i] = (struct dx_api_file){e->type, e->name};
  }
  if (engine_get_token(ctx)) {
    sub->registering = true;
    /* Nothing is processed before a file arrives: if a power failure undoes
     * this write, the unused source expires. */
    if (engine_write(engine, job, dx_job_publish))
      engine_started(
          ctx, dx_api_create(&ctx->api, files, sub->file_count, &err), &err);
    else
      engine_end_call(ctx);
    if (run->call == NULL) { /* nothing was sent */
      sub->registering = false;
      job->dirty = true;
    }
  }
  free(files);
}

/* ---- PUT ---- */

static struct dx_file *next_file(struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < sub->file_count; i++)
    if (sub->files[i].put != DX_PUT_DONE)
      return &sub->files[i];
  return NULL;
}

static void put_progress(void *arg, int64_t sent)
{
  struct call_ctx *ctx = arg;
  struct dx_job *job = ctx->sub->job;
  struct dx_note n = {.kind = DX_NOTE_UPLOADING, .text = ""};
  size_t i;

  for (i = 0; i < job->document_count; i++)
    if (job->documents[i].entry.kind == DX_KIND_DOCUMENT)
      n.total += job->documents[i].entry.length;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    size_t k;

    for (k = 0; k < sub->file_count; k++)
      if (sub->files[k].put == DX_PUT_DONE)
        n.done += job->documents[sub->files[k].document].entry.length;
  }
  n.done += sent;
  ctx->engine->observer.note(ctx->engine->observer.ctx, job, &n);
}

void engine_put_landed(struct call_ctx *ctx)
{
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);

  if (run->put_tries > 0)
    engine_note(ctx->engine, sub->job, DX_NOTE_UP, 0, NULL);
  engine_clear_problem(sub);
  run->put_tries = 0;
}

static void put_done(void *arg, const struct dx_http_response *response)
{
  struct call_ctx *ctx = engine_got(arg, response);
  struct dx_submission *sub = ctx->sub;
  struct run *run = run_of(sub);
  int64_t wait, now = dx_monotonic_ms();
  bool is_refusal, counts;
  struct dx_err err, why;
  enum dx_code code;

  if (response->sent_bytes > 0)
    run->sent_ms = now;
  code = dx_judge(DX_CALL_PUT, response, &err);
  engine_count_call(ctx, code);
  is_refusal =
      code == DX_E_GONE || code == DX_E_TOO_BIG || code == DX_E_REFUSED;
  /* The interface specifies that the same URL is retried until it expires, so a
   * refusal by the storage counts only after several tries. */
  if (is_refusal && (run->storage_refusals == 0 ||
                     now - run->put_tried_ms >= DX_REFUSED_PUT_GAP_MS)) {
    run->storage_refusals++;
    run->put_tried_ms = now;
  }
  counts = is_refusal && run->storage_refusals >= DX_REFUSED_PUT_TRIES;
  if (code == DX_OK) {
    sub->files[run->current].put = DX_PUT_DONE;
    sub->job->behind = true; /* a resumed job calls get source first */
    sub->job->drive->late_ms = now;
    engine_put_landed(ctx);
    run->storage_refusals = 0;
    run->due_ms = 0;
    put_progress(ctx, 0);
    if (next_file(sub) == NULL)
      engine_apply(sub, DX_EV_PUT_ALL);
  } else if (code == DX_E_EXPIRED || (code == DX_E_GONE && counts)) {
    sub->url_until_ms = 0;
    sub->job->dirty = true;
    run->due_ms = 0;
    run->pending_ms = 0;
  } else if (counts) {
    dx_submission_end(sub, DX_EV_FAIL, err.code, err.text);
  } else if (!is_refusal && dx_class_of(code) != DX_CL_TRANSIENT) {
    engine_failed(ctx, &err);
  } else {
    /* If there is no response, or an unclear one, the file may have arrived. */
    if (!is_refusal)
      run->ask_first = response->code != DX_OK || code == DX_E_UNCLEAR;
    /* The storage may be another host: its failures never pause the API. */
    if (response->sent_bytes > DX_PUT_PROGRESS_BYTES)
      run->put_tries = 0;
    run->put_tries++;
    wait =
        engine_longer(response->retry_after_ms, dx_backoff_ms(run->put_tries));
    if (run->storage_refusals > 0)
      wait = engine_longer(wait, DX_REFUSED_PUT_GAP_MS);
    engine_wait_for(sub, wait);
    why = err;
    (void)dx_fail(&err, code, why.sys_errno, DX_STORAGE_PREFIX "%s", why.text);
    dx_log(DX_LOG_WARNING, "submission %zu: %s: %s; uploading again",
           sub->number, dx_code_name(err.code), err.text);
    engine_report_problem(ctx->engine, sub->job, DX_NOTE_DOWN, now, run->due_ms,
                          &err);
  }
  engine_end_call(ctx);
}

void engine_put_file(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);
  struct dx_file *file = next_file(sub);
  const struct dx_entry *e = &sub->job->documents[file->document].entry;
  char name[DX_FILE_NAME_BYTES];
  struct call_ctx *ctx;
  struct dx_err err;

  if (file->put == DX_PUT_NONE) {
    file->put = DX_PUT_SENDING;
    if (!engine_write(engine, sub->job, dx_job_save))
      return;
  }
  if (!engine_may_send(engine, sub))
    return;
  ctx = engine_begin_call(engine, sub, put_done);
  dx_document_file(file->document, name);
  run->current = (size_t)(file - sub->files);
  run->fd = openat(sub->job->dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (run->fd < 0) {
    (void)dx_fail_sys(&err, errno, "open", name);
    engine_local_failure(engine, sub->job, &err);
    engine_end_call(ctx);
    return;
  }
  engine->puts++;
  engine_started(ctx,
                 dx_api_put(&ctx->api, file->url, e->type, run->fd, e->length,
                            put_progress, &err),
                 &err);
}
