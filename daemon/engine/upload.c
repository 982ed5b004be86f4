/*
 * upload.c - uploads the files of a source (doc/policy.md, "Exactly once",
 * "Uploads").
 */
#include "daemon/engine/engine_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <strings.h>

#define DX_REFUSED_PUT_TRIES 3 /* then a refusal is final */
#define DX_REFUSED_PUT_GAP_MS 10000
#define DX_PUT_PROGRESS_BYTES 1048576 /* interrupted after more: n = 0 */

void engine_begin_upload(struct dx_submission *sub)
{
  struct run *run = run_of(sub);

  run->upload.refusals = 0;
  run->upload.sent_ms = 0;
  run->upload.repeats = 0;
}

void engine_resume_upload(struct dx_submission *sub)
{
  bool all_put = true;
  size_t i;

  for (i = 0; i < sub->file_count; i++) {
    if (sub->files[i].put != DX_PUT_NONE) /* not known when: assume now */
      run_of(sub)->upload.sent_ms = dx_monotonic_ms();
    if (sub->files[i].put != DX_PUT_DONE)
      all_put = false;
  }
  if (sub->state == DX_ST_REGISTERED && all_put)
    engine_apply(sub, DX_EV_PUT_ALL); /* other versions may leave this state */
  if (sub->state == DX_ST_REGISTERED)
    engine_poll_first(sub);
}

static struct dx_file *upload_next_file(struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < sub->file_count; i++)
    if (sub->files[i].put != DX_PUT_DONE)
      return &sub->files[i];
  return NULL;
}

static void upload_progress(void *arg, int64_t sent)
{
  struct call *call = arg;

  call->sent_bytes = sent;
  engine_news(call->engine, call->sub->job)->progress = true;
}

void engine_put_landed(struct dx_engine *engine, struct dx_submission *sub)
{
  struct run *run = run_of(sub);

  run->upload.tries = 0;
  engine_clear_problem(engine, sub);
}

static void upload_report(struct call *call, const struct dx_err *err)
{
  engine_report_problem(call->engine, call->sub, true,
                        run_of(call->sub)->due_ms, err);
  call->svc->upload = *err;
}

/* The storage works, also for other sections. What waits to be registered again
 * because of it is due. */
static void upload_works(struct call *call)
{
  struct dx_engine *engine = call->engine;
  size_t i;

  for (i = 0; i < engine->config->service_count; i++) {
    struct service_state *svc = &engine->services[i];

    if (svc->host != call->svc->host ||
        strcasecmp(svc->storage, call->svc->storage) != 0)
      continue;
    if (call->svc->upload.code != DX_OK || svc->upload.code != DX_OK)
      engine_resume(engine, svc, CALLS_CREATE, WAIT_STORAGE);
    if (svc != call->svc)
      svc->upload.code = DX_OK;
  }
  call->svc->upload.code = DX_OK;
}

/* A confirmation may come before the file: libcurl then stops, without an error
 * if the connection is to be closed. The storage has only a part of it. */
static enum dx_code upload_judge(const struct call *call, struct dx_err *err)
{
  const struct dx_http_response *response = call->response;
  const struct dx_submission *sub = call->sub;
  const struct dx_document *document =
      &sub->job->documents[sub->files[call->item].document];
  enum dx_code code = dx_judge(DX_CALL_PUT, response, err);

  if (code != DX_OK || response->sent_bytes >= document->entry.length)
    return code;
  return dx_fail(err, DX_E_UNCLEAR, response->status,
                 "the storage confirmed an upload after %" PRId64 " of %" PRId64
                 " bytes",
                 response->sent_bytes, document->entry.length);
}

static enum dx_code upload_done(struct call *call)
{
  const struct dx_http_response *response = call->response;
  struct dx_submission *sub = call->sub;
  struct run *run = run_of(sub);
  int64_t now = dx_monotonic_ms();
  struct dx_err err;
  enum dx_code code = upload_judge(call, &err);
  bool is_refusal =
      code == DX_E_GONE || code == DX_E_TOO_BIG || code == DX_E_REFUSED;
  bool is_unclear = response->err.code != DX_OK || code == DX_E_UNCLEAR;
  bool is_first = run->upload.tries == 0; /* after a success */
  bool counts;
  int64_t wait_ms;

  if (response->sent_bytes > 0)
    run->upload.sent_ms = now;
  /* The interface specifies that the same URL is retried until it expires, so a
   * refusal by the storage counts only after several tries. */
  if (is_refusal && (run->upload.refusals == 0 ||
                     now - run->upload.refused_ms >= DX_REFUSED_PUT_GAP_MS)) {
    run->upload.refusals++;
    run->upload.refused_ms = now;
  }
  counts = is_refusal && run->upload.refusals >= DX_REFUSED_PUT_TRIES;
  if (code == DX_OK) {
    sub->files[call->item].put = DX_PUT_DONE;
    sub->job->behind = true; /* a resumed job calls get source first */
    sub->job->drive->late_ms = now;
    engine_put_landed(call->engine, sub);
    upload_works(call);
    run->upload.refusals = 0;
    run->rejections = 0;
    engine_wait(sub, 0, WAIT_NONE);
    if (upload_next_file(sub) == NULL)
      engine_apply(sub, DX_EV_PUT_ALL);
  } else if (code == DX_E_EXPIRED || (code == DX_E_GONE && counts)) {
    sub->url_until_ms = 0; /* it is registered again */
    dx_submission_mark(sub);
    engine_wait(sub, 0, WAIT_NONE);
    upload_report(call, &err);
  } else if (counts) {
    dx_submission_end(sub, DX_EV_FAIL, err.code, err.text);
  } else if (!is_refusal && dx_class_of(code) != DX_CL_TRANSIENT) {
    engine_failed(call, &err);
  } else {
    /* The storage may be another host: its failures never pause the API. Even
     * if the file may have arrived, it is uploaded to the same URL again: a
     * storage may keep a part of it, and only a 200 shows that it is whole. */
    if (response->err.code != DX_OK &&
        response->sent_bytes > DX_PUT_PROGRESS_BYTES)
      run->upload.tries = 0;
    wait_ms = engine_back_off(
        call, &run->upload.tries,
        run->upload.refusals > 0 ? DX_REFUSED_PUT_GAP_MS : 0, &err);
    /* The first time, at once. */
    if (is_unclear && is_first)
      wait_ms = 0;
    engine_wait(sub, wait_ms, WAIT_NONE);
    upload_report(call, &err);
  }
  return code;
}

static enum dx_code upload_start(struct call *call, struct dx_err *err)
{
  struct dx_job *job = call->sub->job;
  const struct dx_file *file = &call->sub->files[call->item];
  const struct dx_entry *e = &job->documents[file->document].entry;
  char name[DX_FILE_NAME_BYTES];

  if (dx_job_open_dir(job, err) != DX_OK)
    return err->code;
  dx_document_file(file->document, name);
  call->fd = openat(job->dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (call->fd < 0)
    return dx_fail_sys(err, errno, "open", name);
  call->engine->puts++;
  return dx_api_put(&call->api, file->url, e->type, call->fd, e->length,
                    upload_progress, err);
}

void engine_put_file(struct dx_engine *engine, struct dx_submission *sub)
{
  struct dx_file *file = upload_next_file(sub);
  struct call *call;

  if (!dx_submission_is_put(sub)) { /* first the journal */
    file->put = DX_PUT_SENDING;
    dx_submission_mark(sub);
    return;
  }
  if (file->put == DX_PUT_NONE) { /* a resumed job calls get source first */
    file->put = DX_PUT_SENDING;
    sub->job->behind = true;
  }
  if (!engine_may_send(engine, sub))
    return;
  call = engine_begin_call(engine, sub, CALLS_NONE, upload_done);
  call->item = (size_t)(file - sub->files);
  engine_send_put(call, upload_start);
}
