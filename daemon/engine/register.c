/*
 * register.c - create source (doc/policy.md, "Exactly once").
 */
#include "daemon/engine/engine_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/service/signed_url.h"

#define DX_UNFILLED_MAX 8 /* sources without all files, for one storage */

/* ---- the sources that there are ---- */

struct source {
  RB_ENTRY(source) node;
  struct dx_submission *sub; /* NULL: what is looked for */
  uint64_t number;           /* of the submission in this process */
  char *id;
};

static int register_compare(const struct source *a, const struct source *b)
{
  int by_id = strcmp(a->id, b->id);

  if (by_id != 0)
    return by_id;
  return a->number < b->number ? -1 : a->number > b->number;
}

/* RB_GENERATE_STATIC needs a macro that glibc's headers conflict with. */
RB_GENERATE_INTERNAL(sources, source, node, register_compare, static inline)

void engine_forget_source(struct dx_engine *engine, struct dx_submission *sub)
{
  struct source *source = run_of(sub)->reg.source;

  if (source == NULL)
    return;
  RB_REMOVE(sources, &engine->sources, source);
  free(source->id);
  free(source);
  run_of(sub)->reg.source = NULL;
}

enum dx_code engine_keep_source(struct dx_engine *engine,
                                struct dx_submission *sub, const char *id,
                                struct dx_err *err)
{
  struct source *source = calloc(1, sizeof(*source));

  if (source != NULL)
    *source = (struct source){
        .sub = sub, .number = run_of(sub)->id, .id = strdup(id)};
  if (source == NULL || source->id == NULL) {
    free(source);
    return dx_fail_nomem(err);
  }
  engine_forget_source(engine, sub);
  run_of(sub)->reg.source = source;
  (void)RB_INSERT(sources, &engine->sources, source);
  return DX_OK;
}

/* ---- create source ---- */

static enum dx_code register_take(struct dx_engine *engine,
                                  struct dx_submission *sub,
                                  const struct dx_service *service,
                                  struct dx_created *created, int64_t wait_ms,
                                  struct dx_err *err)
{
  size_t i;

  if (engine_keep_source(engine, sub, created->source_id, err) != DX_OK ||
      dx_submission_set_place(sub, service->name, service->base_url,
                              service->token_key_id, err) != DX_OK)
    return err->code;
  engine_apply(sub, DX_EV_ACCEPTED);
  free(sub->source_id);
  sub->source_id = created->source_id;
  created->source_id = NULL;
  for (i = 0; i < sub->file_count; i++) {
    sub->files[i].url = created->urls[i];
    created->urls[i] = NULL;
  }
  sub->url_until_ms = dx_wall_ms() + created->lifetime_ms;
  /* The first PUT follows at once: one journal write covers both. */
  if (engine_urls_are_valid(sub))
    sub->files[0].put = DX_PUT_SENDING;
  run_of(sub)->reg.rejections = (struct dx_rejections){0};
  run_of(sub)->reg.losses = 0;
  engine_begin_upload(sub);
  engine_begin_poll(sub, wait_ms);
  engine_wait(sub, 0, WAIT_NONE);
  return DX_OK;
}

static void register_lost(struct dx_submission *sub)
{
  sub->lost_creates++;
  sub->job->behind = true;
  dx_submission_log(DX_LOG_WARNING, sub,
                    "the response to a registration was lost "
                    "(%" PRId64 " in all)",
                    sub->lost_creates);
}

void engine_check_storage(const struct dx_engine *engine,
                          struct service_state *svc)
{
  const struct dx_err *why = NULL;
  size_t i, unfilled = 0;

  for (i = 0; i < engine->config->service_count; i++) {
    const struct service_state *other = &engine->services[i];

    if (other->host != svc->host ||
        strcasecmp(other->storage, svc->storage) != 0)
      continue;
    unfilled += other->unfilled;
    if (other->upload.code != DX_OK)
      why = &other->upload;
  }
  svc->may_create = unfilled < DX_UNFILLED_MAX;
  svc->why_not = svc->may_create ? NULL : why;
}

/* True if the request was sent, and no valid response rules out that a source
 * was created. */
static bool register_may_be_lost(const struct dx_http_response *response,
                                 enum dx_code code)
{
  enum dx_class cls = dx_class_of(code);

  return response->was_sent &&
         (cls == DX_CL_LOCAL ||
          (cls == DX_CL_TRANSIENT &&
           (response->err.code != DX_OK || code == DX_E_RESPONSE ||
            code == DX_E_UNEXPECTED)));
}

/* Two submissions with the same source would overwrite each other's files. */
static enum dx_code register_check_is_new(const struct call *call,
                                          const struct dx_created *created,
                                          struct dx_err *err)
{
  struct source key = {.id = created->source_id}, *source;

  for (source = RB_NFIND(sources, &call->engine->sources, &key);
       source != NULL && strcmp(source->id, created->source_id) == 0;
       source = RB_NEXT(sources, &call->engine->sources, source)) {
    const struct dx_submission *other = source->sub;

    /* It may have another source since then. */
    if (other != call->sub && other->base_url != NULL &&
        other->source_id != NULL &&
        strcmp(other->source_id, created->source_id) == 0 &&
        strcmp(other->base_url, call->svc->service->base_url) == 0)
      return dx_fail(err, DX_E_UNEXPECTED, 0,
                     "the response to 'create source' has the id of the "
                     "source of another document");
  }
  return DX_OK;
}

/* For engine_check_storage(), and `docextract hello`. */
static void register_note_storage(struct service_state *svc,
                                  const struct dx_submission *sub)
{
  int dirfd = svc->host->limit.history_dirfd;

  dx_storage_note(dirfd, svc->service->name,
                  sub->files[sub->file_count - 1].url);
  (void)dx_storage_last(dirfd, svc->service->name, svc->storage);
}

static enum dx_code register_done(struct call *call)
{
  const struct dx_service *service = call->svc->service;
  const struct dx_http_response *response = call->response;
  struct dx_submission *sub = call->sub;
  struct run *run = run_of(sub);
  int64_t now = dx_monotonic_ms();
  struct dx_created created;
  struct dx_err err;
  enum dx_code code;

  code = dx_read_create(response, service, sub->file_count, &created, &err);
  if (code == DX_OK)
    code = register_check_is_new(call, &created, &err);
  if (code == DX_OK)
    code = register_take(call->engine, sub, service, &created,
                         response->retry_after_ms, &err);
  if (code == DX_E_REJECTED)
    dx_blame_count(&run->reg.rejections, now);
  if (code == DX_OK) {
    call->svc->accepted_ms = now;
    register_note_storage(call->svc, sub);
    engine_service_up(call);
  } else if (register_may_be_lost(response, code)) {
    register_lost(sub);
    if (dx_class_of(code) == DX_CL_LOCAL)
      engine_failed(call, &err);
    else
      engine_transient(call, dx_blame_lost_wait_ms(++run->reg.losses), &err);
  } else if (code == DX_E_REJECTED &&
             dx_blame_document(&run->reg.rejections, call->svc->accepted_ms,
                               now)) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_REFUSED, err.text);
  } else {
    engine_failed(call, &err);
  }
  dx_created_release(&created);
  return code;
}

static enum dx_code register_start(struct call *call, struct dx_err *err)
{
  struct dx_submission *sub = call->sub;
  struct dx_job *job = sub->job;
  struct dx_api_file *files = calloc(sub->file_count, sizeof(*files));
  enum dx_code code;
  size_t i;

  if (files == NULL)
    return dx_fail_nomem(err);
  for (i = 0; i < sub->file_count; i++) {
    const struct dx_entry *e = &job->documents[sub->files[i].document].entry;

    files[i] = (struct dx_api_file){e->type, e->name};
  }
  code = dx_api_create(&call->api, files, sub->file_count, err);
  free(files);
  return code;
}

void engine_create(struct dx_engine *engine, struct dx_submission *sub)
{
  struct service_state *svc = engine_section_of(engine, sub);
  struct dx_err err;

  if (!engine_may_send(engine, sub))
    return;
  /* Extractions are paid for: check first that results can be delivered. */
  if (dx_results_prepare(svc->service->results_dir, &err) != DX_OK) {
    engine_local_failure(engine, sub->job, &err);
    return;
  }
  if (sub->start_overs > 0)
    dx_breaker_begin(&svc->failing, run_of(sub)->id, dx_monotonic_ms());
  engine_send(engine_begin_call(engine, sub, CALLS_CREATE, register_done),
              register_start);
}
