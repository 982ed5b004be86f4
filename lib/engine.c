/*
 * engine.c - what comes next for a job, and what an answer changes. Knows the
 * policy's waits and bounds; what an answer means is api.c's, which state may
 * follow is states.c's.
 */
#include "lib/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/api.h"
#include "lib/clock.h"
#include "lib/drop.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/pace.h"
#include "lib/policy.h"
#include "lib/poll.h"
#include "lib/times.h"
#include "lib/token.h"

#define NEVER INT64_MAX

/* What one process knows of a service. */
struct link {
  const struct dx_service *service;
  struct dx_token *token;
  struct dx_pace *pace;
  struct dx_times *times;
  int64_t server_offset_ms; /* their clock minus ours, when it is far off */
  int token_tries;
  int64_t token_failed_ms; /* boot time of the last of them */
  int64_t due_ms;          /* boot time: no call before */
  int calls;               /* of the API, under way */
  int failures;            /* transient ones in a row */
  int64_t down_since_ms;   /* boot time; 0: it is up */
  int64_t away_since_ms;   /* not reached, in trouble or asking for a pause */
  int64_t away_ms;         /* the same before that, in all */
  struct dx_slot slot;     /* booked for the most urgent call */
  int64_t slot_ask_ms;     /* ask for a slot again then */
};

struct dx_engine {
  const struct dx_config *config;
  struct dx_spool *spool;
  struct dx_http *http;
  struct dx_observer observer;
  struct link *links; /* one a service of the config */
  struct dx_job **jobs;
  size_t job_count, job_room;
  int puts; /* under way */
};

/* The context of a call: where its answer belongs. */
struct call_ctx {
  struct dx_engine *engine;
  struct link *link;
  struct dx_submission *sub;
  int64_t slot_ms;     /* boot time of its slot; 0: none, a PUT */
  struct dx_temp sink; /* of a result */
};

/* ---- small things ---- */

static void note(struct dx_engine *engine, struct dx_job *job,
                 enum dx_note_kind kind, int64_t since_ms, const char *text)
{
  struct dx_note n = {
      .kind = kind, .since_ms = since_ms, .text = text != NULL ? text : ""};

  engine->observer.note(engine->observer.ctx, job, &n);
}

/* The same about something that is wrong: whoever looks at the job later
 * reads it in its record. */
static void complain(struct dx_engine *engine, struct dx_job *job,
                     enum dx_note_kind kind, int64_t since_ms, const char *text)
{
  note(engine, job, kind, since_ms, text);
  dx_job_set_message(job, text);
}

/* docextractd waits for what would end a print job. */
static bool is_patient(const struct dx_job *job)
{
  return job->owner == DX_OWNER_COLLECTOR;
}

static struct link *link_of(struct dx_engine *engine, const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < engine->config->service_count; i++)
    if (strcmp(engine->links[i].service->name, job->service) == 0)
      return &engine->links[i];
  return NULL;
}

static int64_t backoff_ms(int tries)
{
  double most = ldexp(DX_BACKOFF_FIRST_MS, tries < 10 ? tries : 10);

  return (int64_t)(fmin(most, DX_BACKOFF_MAX_MS) *
                   (0.5 + dx_random_unit() / 2));
}

static void wait_for(struct dx_submission *sub, int64_t ms)
{
  sub->run.due_ms = dx_boot_ms() + ms;
}

static int64_t longer(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* ---- trouble ---- */

/* Local trouble stops the whole job for a minute and loses nothing. */
static void local_trouble(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err)
{
  dx_log(DX_LOG_ERROR, "%s; trying again in %d s", err->text,
         DX_LOCAL_RETRY_MS / 1000);
  job->due_ms = dx_boot_ms() + DX_LOCAL_RETRY_MS;
  complain(engine, job, DX_NOTE_LOCAL, dx_boot_ms(), err->text);
}

/* Nothing more is done for this job. */
static void halt(struct dx_job *job, const struct dx_err *err)
{
  if (job->halt.code == DX_OK)
    job->halt = *err;
}

/* An administrator must act: a print job ends, a handed-over one waits, and
 * so does the whole service. */
static void needs_admin(struct call_ctx *ctx, const struct dx_err *err)
{
  struct dx_job *job = ctx->sub->job;

  if (!is_patient(job)) {
    halt(job, err);
    return;
  }
  ctx->link->due_ms = dx_boot_ms() + DX_ADMIN_RETRY_MS;
  wait_for(ctx->sub, DX_ADMIN_RETRY_MS);
  complain(ctx->engine, job, DX_NOTE_ADMIN, dx_boot_ms(), err->text);
}

/* An event that the table does not know here is a broken promise of the
 * service or of ours: the job stops before it does harm. */
static void apply(struct dx_submission *sub, enum dx_event event)
{
  struct dx_err err;

  if (dx_submission_apply(sub, event, &err) != DX_OK)
    halt(sub->job, &err);
}

/* All is well again, except that it may take long. */
static void set_well(struct dx_submission *sub)
{
  dx_job_set_message(sub->job,
                     sub->run.overdue && !dx_state_is_final(sub->state)
                         ? "the extraction takes longer than ProcessingLimit"
                         : "");
}

/* ProcessingLimit is about a service that works: the time in which it was
 * not reached, had trouble or wanted a pause does not count. */
static void set_away(struct link *link, bool is_away)
{
  int64_t now = dx_boot_ms();

  if (link->away_since_ms != 0)
    link->away_ms += now - link->away_since_ms;
  link->away_since_ms = is_away ? now : 0;
}

static int64_t away_ms(const struct link *link)
{
  return link->away_ms +
         (link->away_since_ms != 0 ? dx_boot_ms() - link->away_since_ms : 0);
}

/* The service is not reached, or has trouble: after some tries in a row all
 * processes of this host keep still for a while (policy.md, class T). */
static void transient(struct call_ctx *ctx, const struct dx_err *err,
                      int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct link *link = ctx->link;

  sub->run.tries++;
  link->failures++;
  wait_for(sub, longer(retry_after_ms, backoff_ms(sub->run.tries)));
  dx_log(DX_LOG_WARNING, "submission %zu: %s; try %d follows", sub->number,
         err->text, sub->run.tries + 1);
  if (link->down_since_ms == 0)
    link->down_since_ms = dx_boot_ms();
  set_away(link, err->code == DX_E_NET || err->code == DX_E_SERVER);
  if (link->failures >= DX_DOWN_AFTER_TRIES) {
    dx_pace_down(link->pace);
    link->slot.booked = false; /* it may lie in the pause */
  }
  complain(ctx->engine, sub->job, DX_NOTE_DOWN, link->down_since_ms, err->text);
}

/* Any answer with a meaning: the service is there. */
static void it_answers(struct call_ctx *ctx)
{
  struct link *link = ctx->link;

  ctx->sub->run.tries = 0;
  link->failures = 0;
  link->token_tries = 0;
  set_away(link, false);
  set_well(ctx->sub);
  dx_pace_up(link->pace); /* another process may have found it away */
  if (link->down_since_ms == 0)
    return;
  link->down_since_ms = 0;
  note(ctx->engine, ctx->sub->job, DX_NOTE_UP, 0, NULL);
}

static void rate_limited(struct call_ctx *ctx, int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  int64_t wait;

  sub->run.tries++;
  wait = longer(retry_after_ms, backoff_ms(sub->run.tries));
  dx_pace_block(ctx->link->pace, wait);
  ctx->link->slot.booked = false; /* it may lie in the pause */
  set_away(ctx->link, true);
  wait_for(sub, 0); /* the pace keeps everybody still */
  note(ctx->engine, sub->job, DX_NOTE_PAUSED, dx_boot_ms(), NULL);
}

/* Signs with their time when ours is far off theirs. */
static void learn_offset(struct link *link, int64_t date_ms)
{
  int64_t off = date_ms - dx_wall_ms();

  if (date_ms < 0)
    return;
  link->server_offset_ms =
      off > DX_CLOCK_SKEW_S * 1000 || off < -DX_CLOCK_SKEW_S * 1000 ? off : 0;
}

/* Tries at 0, 5 and 30 s. Calls that were under way with the token that was
 * refused already count as one with it. */
static void token_trouble(struct call_ctx *ctx, const struct dx_err *err,
                          int64_t date_ms)
{
  struct link *link = ctx->link;
  int64_t now = dx_boot_ms();
  struct dx_err full;

  if (link->token_tries > 0 && ctx->slot_ms < link->token_failed_ms)
    return;
  dx_token_forget(link->token);
  learn_offset(link, date_ms);
  link->token_tries++;
  link->token_failed_ms = now;
  dx_log(DX_LOG_WARNING, "%s; try %d of %d", err->text, link->token_tries,
         DX_TOKEN_TRIES);
  if (link->token_tries < DX_TOKEN_TRIES) {
    link->due_ms =
        now + (link->token_tries == 1 ? DX_TOKEN_TRY_2_MS : DX_TOKEN_TRY_3_MS);
    complain(ctx->engine, ctx->sub->job, DX_NOTE_TOKEN, now, err->text);
    return;
  }
  (void)dx_fail(&full, err->code, 0,
                "%s; service '%s', key id '%s', clock off by %" PRId64 " s",
                err->text, link->service->name,
                link->service->token_key_id != NULL
                    ? link->service->token_key_id
                    : "none",
                link->server_offset_ms / 1000);
  needs_admin(ctx, &full);
}

/* What every call has in common: true if the verdict was one of those. */
static bool common_verdict(struct call_ctx *ctx, enum dx_verdict verdict,
                           const struct dx_http_answer *answer,
                           const struct dx_err *err)
{
  switch (verdict) {
  case DX_V_TRANSIENT:
  case DX_V_UNTIL_EXPIRY:
    transient(ctx, err, answer->retry_after_ms);
    return true;
  case DX_V_RATE:
    rate_limited(ctx, answer->retry_after_ms);
    return true;
  case DX_V_TOKEN:
    token_trouble(ctx, err, answer->date_ms);
    return true;
  case DX_V_CONFIG:
    needs_admin(ctx, err);
    return true;
  case DX_V_LOCAL:
    local_trouble(ctx->engine, ctx->sub->job, err);
    return true;
  case DX_V_NOT_SENT: /* it is due still, and takes a slot anew */
    return true;
  case DX_V_REFUSED:
    dx_submission_end(ctx->sub, DX_EV_FAIL, err->code, err->text);
    return true;
  default:
    return false;
  }
}

/* ---- a call begins and ends ---- */

/* NULL when memory is out: the job waits then. */
static struct call_ctx *ctx_new(struct dx_engine *engine,
                                struct dx_submission *sub)
{
  struct call_ctx *ctx = calloc(1, sizeof(*ctx));
  struct dx_err err;

  if (ctx == NULL) {
    (void)dx_fail_nomem(&err);
    local_trouble(engine, sub->job, &err);
    return NULL;
  }
  ctx->engine = engine;
  ctx->link = link_of(engine, sub->job);
  ctx->sub = sub;
  ctx->sink.fd = -1;
  return ctx;
}

static void ctx_free(struct call_ctx *ctx)
{
  struct dx_submission *sub = ctx->sub;

  sub->run.call = NULL;
  sub->run.sink = NULL;
  if (sub->run.fd >= 0) {
    (void)close(sub->run.fd);
    sub->run.fd = -1;
    ctx->engine->puts--;
  }
  if (ctx->slot_ms != 0)
    ctx->link->calls--;
  dx_temp_drop(&ctx->sink);
  free(ctx);
}

/*
 * The connection stands. Connecting may have taken so long that the slot went
 * by, and others with it: sent now, they would all leave in one moment.
 */
static int64_t ready(void *arg)
{
  struct call_ctx *ctx = arg;
  int64_t now = dx_boot_ms();
  struct dx_slot slot;

  if (dx_pace_is_blocked(ctx->link->pace))
    return -1; /* by another process, since the slot was booked */
  if (now - ctx->slot_ms > DX_PACE_LATE_MS) {
    slot = dx_pace_book(ctx->link->pace, DX_URGENT, 0);
    if (!slot.booked)
      return -1;
    ctx->slot_ms = slot.at_ms;
  }
  dx_log(DX_LOG_DEBUG, "sending in the slot of %" PRId64 " ms", ctx->slot_ms);
  return ctx->slot_ms > now ? ctx->slot_ms - now : 0;
}

/* The token for the next call; on trouble the submission waits or halts. */
static bool get_api(struct call_ctx *ctx, struct dx_api *api)
{
  struct dx_err err;

  ctx->slot_ms = dx_boot_ms();
  ctx->link->calls++;
  api->http = ctx->engine->http;
  api->service = ctx->link->service;
  api->token = NULL;
  api->ready = ready;
  if (dx_token_get(ctx->link->token, ctx->link->server_offset_ms, &api->token,
                   &err) == DX_OK)
    return true;
  if (dx_class_of(err.code) == DX_CL_TOKEN)
    token_trouble(ctx, &err, -1);
  else if (err.code != DX_E_STOPPED) /* else the caller knows */
    local_trouble(ctx->engine, ctx->sub->job, &err);
  return false;
}

static void started(struct call_ctx *ctx, enum dx_code code, struct dx_err *err)
{
  if (code == DX_OK) {
    ctx->sub->run.sink = ctx;
    return;
  }
  if (dx_class_of(code) == DX_CL_CONFIG)
    needs_admin(ctx, err);
  else
    local_trouble(ctx->engine, ctx->sub->job, err);
  ctx_free(ctx);
}

static bool save(struct dx_engine *engine, struct dx_job *job)
{
  struct dx_err err;

  if (dx_job_save(job, &err) == DX_OK)
    return true;
  job->dirty = true; /* nothing is begun before this is written */
  local_trouble(engine, job, &err);
  return false;
}

/* ---- create source ---- */

static bool put_is_due(const struct dx_submission *sub)
{
  return dx_wall_ms() + DX_URL_MARGIN_MS < sub->url_until_ms;
}

static void take_created(struct dx_submission *sub, struct dx_created *created)
{
  size_t i;

  apply(sub, DX_EV_ACCEPTED);
  free(sub->source_id);
  sub->source_id = created->source_id;
  created->source_id = NULL;
  for (i = 0; i < sub->file_count; i++) {
    sub->files[i].url = created->urls[i];
    created->urls[i] = NULL;
    sub->files[i].put = DX_PUT_NONE;
  }
  sub->url_until_ms = dx_wall_ms() + created->lifetime_ms;
  /* The first PUT follows at once: one write of the journal serves both. */
  if (put_is_due(sub))
    sub->files[0].put = DX_PUT_SENDING;
  sub->run.due_ms = 0;
  sub->run.soft_tries = 0;
  sub->run.absent = 0;
  sub->run.pending_seen = 0;
  sub->run.sent_ms = 0;
  sub->run.ask_first = false;
  sub->run.phase_ms = 0;
}

/* A POST whose answer is lost left an orphan, which expires by itself. */
static void post_lost(struct dx_submission *sub)
{
  sub->registering = false;
  sub->job->dirty = true;
  sub->posts_lost++;
  dx_log(DX_LOG_WARNING,
         "submission %zu: the answer to a registration was "
         "lost (%" PRId64 " of %d)",
         sub->number, sub->posts_lost, DX_LOST_POSTS_MAX);
  if (sub->posts_lost > DX_LOST_POSTS_MAX)
    dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                      "the service did not answer to several registrations");
}

static void create_done(void *arg, const struct dx_http_answer *answer)
{
  struct call_ctx *ctx = arg;
  struct dx_submission *sub = ctx->sub;
  struct dx_created created;
  struct dx_err err;
  enum dx_verdict verdict;

  sub->run.call = NULL;
  verdict = dx_read_create(answer, sub->file_count, &created, &err);
  sub->job->dirty = true;
  if (answer->was_sent && (verdict == DX_V_LOCAL ||
                           (verdict == DX_V_TRANSIENT &&
                            (answer->status == 0 || err.code == DX_E_ANSWER))))
    post_lost(sub); /* it may have been registered */
  sub->registering = false;
  if (verdict == DX_V_DONE) {
    it_answers(ctx);
    take_created(sub, &created);
    sub->run.poll_ms = dx_boot_ms() + answer->retry_after_ms;
  } else if (verdict == DX_V_THEN_REFUSED) {
    if (++sub->run.soft_tries >= DX_CONFLICT_TRIES)
      dx_submission_end(sub, DX_EV_FAIL, err.code, err.text);
    else
      transient(ctx, &err, answer->retry_after_ms);
  } else {
    (void)common_verdict(ctx, verdict, answer, &err);
  }
  dx_created_release(&created);
  ctx_free(ctx);
}

static void create(struct dx_engine *engine, struct dx_submission *sub)
{
  struct dx_job *job = sub->job;
  struct call_ctx *ctx = ctx_new(engine, sub);
  struct dx_api_file *files = calloc(sub->file_count, sizeof(*files));
  struct dx_api api;
  struct dx_err err;
  size_t i;

  if (ctx == NULL || files == NULL) {
    (void)dx_fail_nomem(&err);
    local_trouble(engine, job, &err);
    free(ctx);
    free(files);
    return;
  }
  for (i = 0; i < sub->file_count; i++) {
    const struct dx_entry *e = &job->documents[sub->files[i].document].entry;

    files[i] = (struct dx_api_file){e->type, e->name};
  }
  sub->registering = true;
  if (!get_api(ctx, &api) || !save(engine, job)) {
    sub->registering = false;
    ctx_free(ctx);
  } else {
    started(ctx,
            dx_api_create(&api, files, sub->file_count, create_done, ctx,
                          &sub->run.call, &err),
            &err);
    if (sub->run.call == NULL) { /* nothing left this machine */
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

/* The storage took it, whether or not its answer came. */
static void put_landed(struct call_ctx *ctx)
{
  struct dx_submission *sub = ctx->sub;

  if (sub->run.put_tries > 0)
    note(ctx->engine, sub->job, DX_NOTE_UP, 0, NULL);
  set_well(sub);
  sub->run.put_tries = 0;
}

static void put_succeeded(struct call_ctx *ctx)
{
  struct dx_submission *sub = ctx->sub;

  sub->files[sub->run.current].put = DX_PUT_DONE;
  sub->job->dirty = true;
  put_landed(ctx);
  sub->run.soft_tries = 0;
  sub->run.due_ms = 0;
  put_progress(ctx, 0);
  if (next_file(sub) == NULL)
    apply(sub, DX_EV_PUT_ALL);
}

/* The storage refuses: the interface says to try the same URL until it
 * expires, so a refusal counts only after some tries. */
static bool refusal_counts(struct dx_submission *sub)
{
  int64_t now = dx_boot_ms();

  if (sub->run.soft_tries == 0 ||
      now - sub->run.put_tried_ms >= DX_REFUSED_PUT_GAP_MS) {
    sub->run.soft_tries++;
    sub->run.put_tried_ms = now;
  }
  return sub->run.soft_tries >= DX_REFUSED_PUT_TRIES;
}

static void expire_urls(struct dx_submission *sub)
{
  sub->url_until_ms = 0;
  sub->job->dirty = true;
  sub->run.due_ms = 0;
  sub->run.pending_seen = 0;
}

/* A PUT is another host's trouble: it waits alone, and never blocks the API. */
static void put_failed(struct call_ctx *ctx, const struct dx_err *err,
                       const struct dx_http_answer *answer)
{
  struct dx_submission *sub = ctx->sub;
  int64_t wait;

  if (answer->sent_bytes > DX_PUT_PROGRESS_BYTES)
    sub->run.put_tries = 0;
  sub->run.put_tries++;
  wait = longer(answer->retry_after_ms, backoff_ms(sub->run.put_tries));
  if (sub->run.soft_tries > 0)
    wait = longer(wait, DX_REFUSED_PUT_GAP_MS);
  wait_for(sub, wait);
  dx_log(DX_LOG_WARNING, "submission %zu: %s; uploading again", sub->number,
         err->text);
  complain(ctx->engine, sub->job, DX_NOTE_DOWN, dx_boot_ms(), err->text);
}

static void put_done(void *arg, const struct dx_http_answer *answer)
{
  struct call_ctx *ctx = arg;
  struct dx_submission *sub = ctx->sub;
  struct dx_err err;
  enum dx_verdict verdict;

  sub->run.call = NULL;
  if (answer->sent_bytes > 0)
    sub->run.sent_ms = dx_boot_ms();
  verdict = dx_read_put(answer, &err);
  switch (verdict) {
  case DX_V_DONE:
    put_succeeded(ctx);
    break;
  case DX_V_EXPIRED:
    expire_urls(sub);
    break;
  case DX_V_THEN_EXPIRED:
    if (refusal_counts(sub))
      expire_urls(sub);
    else
      put_failed(ctx, &err, answer);
    break;
  case DX_V_THEN_REFUSED:
    if (refusal_counts(sub))
      dx_submission_end(sub, DX_EV_FAIL, err.code, err.text);
    else
      put_failed(ctx, &err, answer);
    break;
  case DX_V_CONFIG:
  case DX_V_LOCAL:
    (void)common_verdict(ctx, verdict, answer, &err);
    break;
  default:
    /* Without an answer, or with an odd success, it may have landed. */
    sub->run.ask_first = answer->code != DX_OK || verdict == DX_V_ASK;
    put_failed(ctx, &err, answer);
    break;
  }
  ctx_free(ctx);
}

static void put_file(struct dx_engine *engine, struct dx_submission *sub)
{
  struct dx_file *file = next_file(sub);
  const struct dx_entry *e = &sub->job->documents[file->document].entry;
  char name[DX_FILE_NAME_BYTES];
  struct call_ctx *ctx;
  struct dx_api api;
  struct dx_err err;

  if (file->put == DX_PUT_NONE) {
    file->put = DX_PUT_SENDING;
    if (!save(engine, sub->job))
      return;
  }
  ctx = ctx_new(engine, sub);
  if (ctx == NULL)
    return;
  dx_document_file(file->document, name);
  sub->run.current = (size_t)(file - sub->files);
  sub->run.fd =
      openat(sub->job->dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (sub->run.fd < 0) {
    (void)dx_fail_sys(&err, errno, "open", name);
    local_trouble(engine, sub->job, &err);
    ctx_free(ctx);
    return;
  }
  engine->puts++;
  api = (struct dx_api){engine->http, ctx->link->service, NULL, NULL};
  started(ctx,
          dx_api_put(&api, file->url, e->type, sub->run.fd, e->length,
                     put_progress, put_done, ctx, &sub->run.call, &err),
          &err);
}

/* ---- get source ---- */

/* By the schedule; once an hour when nobody can expect it any more. */
static int64_t next_poll_ms(struct call_ctx *ctx, enum dx_phase phase,
                            int64_t age_ms, int64_t last_ms)
{
  if (ctx->sub->run.overdue)
    return DX_OVERDUE_POLL_MS;
  return dx_poll_wait_ms(dx_times_history(ctx->link->times, phase), phase,
                         longer(age_ms, 1), last_ms, dx_random_unit());
}

static void poll_later(struct call_ctx *ctx, int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  int64_t age = dx_boot_ms() - sub->run.phase_ms;

  sub->run.not_yet_ms = age;
  sub->run.wait_ms = next_poll_ms(ctx, DX_PHASE_SOURCE, age, sub->run.wait_ms);
  wait_for(sub, longer(sub->run.wait_ms, retry_after_ms));
  note(ctx->engine, sub->job, DX_NOTE_WAITING, sub->run.phase_ms, NULL);
}

/* The service could not do it: begin anew from creation, some times. */
static void start_over(struct call_ctx *ctx)
{
  static const int64_t waits[DX_START_OVER_MAX] = {
      DX_START_OVER_1_MS, DX_START_OVER_2_MS, DX_START_OVER_3_MS};
  struct dx_submission *sub = ctx->sub;
  size_t i;

  for (i = 0; i < sub->file_count; i++)
    if (!sub->job->documents[sub->files[i].document].is_here) {
      dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                        "the service failed to extract it; release the job "
                        "to send it again");
      return;
    }
  if (sub->start_overs >= DX_START_OVER_MAX) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED,
                      "the service failed to extract it, several times");
    return;
  }
  wait_for(sub, waits[sub->start_overs]);
  sub->start_overs++;
  apply(sub, DX_EV_SEEN_FAILED);
}

/*
 * Registering anew while the first source is known is allowed only when it is
 * certain that nothing will be made of it: its URLs have expired, or it is
 * gone, and two looks, far enough apart, found that files are missing.
 */
static void look_before_anew(struct dx_submission *sub, const char *reason)
{
  int64_t now = dx_boot_ms();

  if (sub->run.sent_ms != 0 && now - sub->run.sent_ms < DX_ANEW_GAP_MS) {
    sub->run.due_ms = sub->run.sent_ms + DX_ANEW_GAP_MS;
    return;
  }
  if (sub->run.pending_seen == 0) {
    sub->run.pending_seen = 1;
    sub->run.pending_ms = now;
  }
  if (now - sub->run.pending_ms < DX_ANEW_GAP_MS) {
    sub->run.due_ms = sub->run.pending_ms + DX_ANEW_GAP_MS;
    return;
  }
  if (sub->anews >= DX_ANEW_MAX) {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE, reason);
    return;
  }
  sub->anews++;
  sub->run.pending_seen = 0;
  wait_for(sub, DX_ANEW_WAIT_MS);
  apply(sub, DX_EV_ANEW);
}

static void seen_pending(struct call_ctx *ctx, const struct dx_source *source,
                         int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  bool missing = source->expected < 0 || source->uploaded < 0 ||
                 source->uploaded < source->expected;
  size_t i;

  apply(sub, DX_EV_SEEN_PENDING);
  if (sub->state == DX_ST_REGISTERED && !missing) {
    poll_later(ctx, retry_after_ms); /* it will turn to processing */
    sub->run.ask_first = true;
  } else if (sub->state == DX_ST_REGISTERED && !put_is_due(sub)) {
    look_before_anew(sub, "its upload address expired again and again");
  } else if (sub->state == DX_ST_REGISTERED) {
    sub->run.ask_first = false; /* PUT again, to the same URL */
  } else if (missing && !sub->put_again && put_is_due(sub) &&
             sub->state == DX_ST_UPLOADED &&
             dx_boot_ms() - sub->run.phase_ms > DX_STUCK_MS) {
    apply(sub, DX_EV_PUT_AGAIN);
    sub->put_again = true;
    for (i = 0; i < sub->file_count; i++)
      sub->files[i].put = DX_PUT_SENDING;
  } else {
    poll_later(ctx, retry_after_ms);
  }
}

static void seen_complete(struct call_ctx *ctx, const struct dx_source *source,
                          int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  struct dx_err err;

  if (dx_submission_set_cases(sub, source->case_ids, source->case_count,
                              &err) != DX_OK) {
    local_trouble(ctx->engine, sub->job, &err);
    return;
  }
  if (sub->run.phase_ms != 0)
    dx_times_learn(ctx->link->times, DX_PHASE_SOURCE, sub->run.not_yet_ms,
                   dx_boot_ms() - sub->run.phase_ms);
  apply(sub, DX_EV_SEEN_COMPLETE);
  sub->run.phase_ms = 0;
  wait_for(sub, longer(retry_after_ms, 0));
}

/* Not found: a young source may show late; one that took our files and is
 * gone is for people to look into. */
static void source_gone(struct call_ctx *ctx, const struct dx_err *err,
                        int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  int64_t age = dx_wall_ms() - sub->registered_at;

  if (age >= 0 && age < DX_GONE_WAIT_MS) {
    transient(ctx, err, retry_after_ms);
  } else if (sub->state != DX_ST_REGISTERED) {
    if (++sub->run.absent >= 2)
      dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE,
                        "uploaded, but the service no longer knows it");
    else
      wait_for(sub, DX_GONE_WAIT_MS);
  } else {
    look_before_anew(sub, "the service forgets it again and again");
  }
}

static void source_read(struct call_ctx *ctx, const struct dx_source *source,
                        int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;

  it_answers(ctx);
  sub->run.absent = 0;
  switch (source->status) {
  case DX_SOURCE_PENDING:
    seen_pending(ctx, source, retry_after_ms);
    break;
  case DX_SOURCE_PROCESSING:
    put_landed(ctx);
    apply(sub, DX_EV_SEEN_PROCESSING);
    poll_later(ctx, retry_after_ms);
    break;
  case DX_SOURCE_COMPLETE:
    put_landed(ctx);
    seen_complete(ctx, source, retry_after_ms);
    break;
  case DX_SOURCE_FAILED:
    start_over(ctx);
    break;
  default:
    dx_log(DX_LOG_WARNING, "submission %zu: unknown status of the source",
           sub->number);
    poll_later(ctx, retry_after_ms);
    break;
  }
}

static void source_done(void *arg, const struct dx_http_answer *answer)
{
  struct call_ctx *ctx = arg;
  struct dx_source source;
  struct dx_err err;
  enum dx_verdict verdict;

  ctx->sub->run.call = NULL;
  verdict = dx_read_source(answer, &source, &err);
  if (verdict == DX_V_DONE) {
    source_read(ctx, &source, answer->retry_after_ms);
  } else if (verdict == DX_V_NOT_YET) {
    it_answers(ctx);
    poll_later(ctx, answer->retry_after_ms);
  } else if (verdict == DX_V_GONE) {
    source_gone(ctx, &err, answer->retry_after_ms);
  } else {
    (void)common_verdict(ctx, verdict, answer, &err);
  }
  dx_source_release(&source);
  ctx_free(ctx);
}

static void get_source(struct dx_engine *engine, struct dx_submission *sub)
{
  struct call_ctx *ctx = ctx_new(engine, sub);
  struct dx_api api;
  struct dx_err err;

  if (ctx == NULL)
    return;
  if (!get_api(ctx, &api)) {
    ctx_free(ctx);
    return;
  }
  started(ctx,
          dx_api_source(&api, sub->source_id, source_done, ctx, &sub->run.call,
                        &err),
          &err);
}

/* ---- get extract ---- */

/* The waiting case that is due first; NULL when none waits. */
static struct dx_case *next_case(struct dx_submission *sub)
{
  struct dx_case *best = NULL;
  size_t i;

  for (i = 0; i < sub->case_count; i++)
    if (sub->cases[i].state == DX_CASE_WAITING &&
        (best == NULL || sub->cases[i].due_ms < best->due_ms))
      best = &sub->cases[i];
  return best;
}

/* Checks what came without changing a byte of it, then puts it in place. */
static enum dx_code store_result(struct call_ctx *ctx, struct dx_case *c,
                                 struct dx_err *err)
{
  struct stat st;
  enum dx_code code = DX_OK;
  char *text;

  if (fstat(ctx->sink.fd, &st) < 0)
    return dx_fail_sys(err, errno, "look at", "result");
  if (st.st_size == 0)
    return dx_fail(err, DX_E_ANSWER, 0, "the result is empty");
  text =
      mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, ctx->sink.fd, 0);
  if (text == MAP_FAILED)
    return dx_fail_sys(err, errno, "map", "result");
  if (!dx_check_result(text, (size_t)st.st_size, err))
    code = err->code;
  else if (!dx_sha256_of(text, (size_t)st.st_size, c->sha256))
    code = dx_fail_nomem(err);
  (void)munmap(text, (size_t)st.st_size);
  if (code == DX_OK)
    code = dx_temp_commit(&ctx->sink, 0600, err);
  if (code != DX_OK)
    return code;
  c->bytes = st.st_size;
  c->state = DX_CASE_STORED;
  ctx->sub->extracted_at = dx_wall_ms();
  ctx->sub->job->dirty = true;
  return DX_OK;
}

static void case_later(struct call_ctx *ctx, struct dx_case *c,
                       int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  int64_t age = dx_boot_ms() - sub->run.phase_ms;

  c->not_yet_ms = age;
  c->wait_ms = next_poll_ms(ctx, DX_PHASE_EXTRACT, age, c->wait_ms);
  c->due_ms = dx_boot_ms() + longer(c->wait_ms, retry_after_ms);
  note(ctx->engine, sub->job, DX_NOTE_WAITING, sub->run.phase_ms, NULL);
}

static void case_gone(struct call_ctx *ctx, struct dx_case *c,
                      int64_t retry_after_ms)
{
  struct dx_submission *sub = ctx->sub;
  int64_t age = dx_wall_ms() - sub->complete_at;

  if (age >= 0 && age < DX_GONE_WAIT_MS)
    case_later(ctx, c, retry_after_ms);
  else if (++c->absent >= 2)
    dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE,
                      "uploaded, but the service no longer knows it");
  else
    c->due_ms = dx_boot_ms() + DX_GONE_WAIT_MS;
}

static void extract_done(void *arg, const struct dx_http_answer *answer)
{
  struct call_ctx *ctx = arg;
  struct dx_submission *sub = ctx->sub;
  struct dx_case *c = &sub->cases[sub->run.current];
  struct dx_err err;
  enum dx_verdict verdict;

  sub->run.call = NULL;
  verdict = dx_read_extract(answer, &err);
  if (verdict == DX_V_DONE) {
    enum dx_code code = store_result(ctx, c, &err);

    if (code == DX_OK) {
      dx_times_learn(ctx->link->times, DX_PHASE_EXTRACT, c->not_yet_ms,
                     dx_boot_ms() - sub->run.phase_ms);
      it_answers(ctx);
    } else if (dx_class_of(code) == DX_CL_TRANSIENT) {
      transient(ctx, &err, answer->retry_after_ms);
    } else {
      local_trouble(ctx->engine, sub->job, &err);
    }
  } else if (verdict == DX_V_NOT_YET) {
    it_answers(ctx);
    c->absent = 0;
    case_later(ctx, c, answer->retry_after_ms);
  } else if (verdict == DX_V_GONE) {
    case_gone(ctx, c, answer->retry_after_ms);
  } else {
    (void)common_verdict(ctx, verdict, answer, &err);
  }
  ctx_free(ctx);
}

static void get_extract(struct dx_engine *engine, struct dx_submission *sub)
{
  struct dx_case *c = next_case(sub);
  struct call_ctx *ctx = ctx_new(engine, sub);
  char name[DX_FILE_NAME_BYTES];
  struct dx_api api;
  struct dx_err err;

  if (ctx == NULL)
    return;
  sub->run.current = (size_t)(c - sub->cases);
  dx_result_file(sub, sub->run.current, name);
  if (dx_temp_begin(&ctx->sink, sub->job->dirfd, name, &err) != DX_OK) {
    local_trouble(engine, sub->job, &err);
    ctx_free(ctx);
  } else if (!get_api(ctx, &api)) {
    ctx_free(ctx);
  } else {
    started(ctx,
            dx_api_extract(&api, c->id, ctx->sink.fd, extract_done, ctx,
                           &sub->run.call, &err),
            &err);
  }
}

/* ---- dropping ---- */

/* Everything that can be put into the results folder now; false on trouble. */
static bool deliver(struct dx_engine *engine, struct dx_submission *sub)
{
  const char *dir = link_of(engine, sub->job)->service->results_dir;
  struct dx_err err;
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sub->case_count; i++) {
    if (sub->cases[i].state != DX_CASE_STORED)
      continue;
    code = dx_drop_result(sub, i, dir, &err);
    if (code == DX_E_DAMAGED) {
      /* The stored copy is not what came: fetch it again. */
      sub->cases[i].state = DX_CASE_WAITING;
      sub->job->dirty = true;
      return true;
    }
    if (code == DX_OK) {
      sub->cases[i].state = DX_CASE_DROPPED;
      sub->job->dirty = true;
    }
  }
  if (code == DX_OK && next_case(sub) == NULL) {
    code = dx_drop_manifest(sub, dir, &err);
    if (code == DX_OK) {
      apply(sub, DX_EV_DELIVERED);
      set_well(sub);
    }
  }
  if (code != DX_OK)
    local_trouble(engine, sub->job, &err);
  return code == DX_OK;
}

static bool has_stored(const struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < sub->case_count; i++)
    if (sub->cases[i].state == DX_CASE_STORED)
      return true;
  return false;
}

/* ---- what comes next ---- */

enum step {
  STEP_NONE,
  STEP_CREATE,
  STEP_PUT,
  STEP_SOURCE,
  STEP_EXTRACT,
  STEP_DELIVER
};

/* Pure: what the state asks for, and when (boot time). */
static enum step next_step(struct dx_submission *sub, int64_t *ret_due)
{
  struct dx_case *c;

  *ret_due = sub->run.due_ms;
  switch (sub->state) {
  case DX_ST_STORED:
    return STEP_CREATE;
  case DX_ST_REGISTERED:
    if (!sub->run.ask_first && put_is_due(sub))
      return STEP_PUT;
    /* fall through */
  case DX_ST_UPLOADED:
  case DX_ST_PROCESSING:
    *ret_due = longer(sub->run.due_ms, sub->run.poll_ms);
    return STEP_SOURCE;
  case DX_ST_COMPLETE:
    c = next_case(sub);
    if (c == NULL || has_stored(sub))
      return STEP_DELIVER;
    *ret_due = longer(c->due_ms, sub->run.due_ms);
    return STEP_EXTRACT;
  default:
    *ret_due = NEVER;
    return STEP_NONE;
  }
}

/* The clocks of waiting start with the first look at a state. */
static void begin_phase(struct dx_engine *engine, struct dx_submission *sub)
{
  struct link *link = link_of(engine, sub->job);
  int64_t now = dx_boot_ms();

  if (sub->run.phase_ms != 0 ||
      (sub->state != DX_ST_UPLOADED && sub->state != DX_ST_PROCESSING &&
       sub->state != DX_ST_COMPLETE))
    return;
  sub->run.phase_ms = now;
  sub->run.away_ms = away_ms(link);
  sub->run.wait_ms = 0;
  sub->run.not_yet_ms = 0;
  if (sub->state == DX_ST_UPLOADED) {
    sub->run.wait_ms =
        dx_poll_wait_ms(dx_times_history(link->times, DX_PHASE_SOURCE),
                        DX_PHASE_SOURCE, 0, 0, dx_random_unit());
    sub->run.due_ms = now + sub->run.wait_ms;
  }
  note(engine, sub->job, DX_NOTE_WAITING, now, NULL);
}

/* A submission ended badly: consumers shall know too. */
static void finish_failed(struct dx_engine *engine, struct dx_submission *sub)
{
  struct link *link = link_of(engine, sub->job);
  struct dx_err err;

  if (dx_drop_manifest(sub, link->service->results_dir, &err) != DX_OK)
    dx_log(DX_LOG_WARNING,
           "the manifest of a failed submission could not be "
           "dropped: %s",
           err.text);
}

static void look_at_limit(struct dx_engine *engine, struct dx_submission *sub)
{
  struct link *link = link_of(engine, sub->job);
  int64_t away = away_ms(link) - sub->run.away_ms;

  if (sub->run.overdue || sub->run.call != NULL || sub->run.phase_ms == 0 ||
      (sub->state != DX_ST_UPLOADED && sub->state != DX_ST_PROCESSING &&
       sub->state != DX_ST_COMPLETE) ||
      dx_boot_ms() - sub->run.phase_ms - away <=
          link->service->processing_limit_ms)
    return;
  sub->run.overdue = true;
  set_well(sub);
}

/* Longer than ProcessingLimit: nobody waits for it here. */
static bool is_given_up(const struct dx_submission *sub)
{
  return sub->run.overdue && !is_patient(sub->job);
}

static void step_local(struct dx_engine *engine, struct dx_submission *sub,
                       enum step step)
{
  if (step == STEP_PUT && engine->puts < DX_PUTS_AT_ONCE)
    put_file(engine, sub);
  else if (step == STEP_DELIVER)
    (void)deliver(engine, sub);
}

static void step_api(struct dx_engine *engine, struct dx_submission *sub,
                     enum step step)
{
  sub->run.waiting_since = 0;
  if (step == STEP_CREATE)
    create(engine, sub);
  else if (step == STEP_SOURCE)
    get_source(engine, sub);
  else
    get_extract(engine, sub);
}

/* The most urgent API call of a service that is due. */
struct candidate {
  struct dx_submission *sub;
  enum step step;
  bool urgent;
};

static void consider(struct candidate *best, struct dx_submission *sub,
                     enum step step, int64_t now)
{
  bool urgent = step != STEP_SOURCE;

  if (sub->run.waiting_since == 0)
    sub->run.waiting_since = now;
  if (best->sub != NULL &&
      (best->urgent > urgent ||
       (best->urgent == urgent &&
        best->sub->run.waiting_since <= sub->run.waiting_since)))
    return;
  best->sub = sub;
  best->step = step;
  best->urgent = urgent;
}

/* Sends the best call when its slot has come; returns when to look again. */
static int64_t pace_link(struct dx_engine *engine, struct link *link,
                         const struct candidate *best)
{
  int64_t now = dx_boot_ms();

  if (best->sub == NULL || link->calls >= DX_CALLS_AT_ONCE)
    return NEVER; /* an answer wakes us */
  if (now < link->due_ms)
    return link->due_ms;
  if (link->slot.booked && now - link->slot.at_ms > DX_PACE_LATE_MS)
    link->slot.booked = false;
  if (!link->slot.booked) {
    if (now < link->slot_ask_ms)
      return link->slot_ask_ms;
    link->slot = dx_pace_book(link->pace, best->urgent ? DX_URGENT : DX_PATIENT,
                              now - best->sub->run.waiting_since);
    if (!link->slot.booked) {
      link->slot_ask_ms = link->slot.at_ms;
      return link->slot.at_ms;
    }
    now = dx_boot_ms();
  }
  if (now < link->slot.at_ms)
    return link->slot.at_ms;
  link->slot.booked = false;
  step_api(engine, best->sub, best->step);
  return dx_boot_ms(); /* there may be more */
}

static void job_ended(struct dx_engine *engine, struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];
    struct call_ctx *ctx = sub->run.sink;

    if (sub->run.call != NULL) {
      dx_http_cancel(engine->http, &sub->run.call);
      ctx_free(ctx);
    }
    if (dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED)
      finish_failed(engine, sub);
  }
  if (job->dirty)
    (void)save(engine, job);
  job->ended = true;
}

/* True when the engine has nothing more to do for the job. */
static bool is_over(struct dx_engine *engine, struct dx_job *job)
{
  bool all = true;
  size_t i;

  if (job->halt.code != DX_OK)
    return true;
  for (i = 0; i < job->submission_count; i++) {
    look_at_limit(engine, &job->submissions[i]);
    if (!dx_state_is_final(job->submissions[i].state) &&
        !is_given_up(&job->submissions[i]))
      all = false;
  }
  return all;
}

/* One look at a job; returns when the next one is worth it. */
static int64_t drive(struct dx_engine *engine, struct dx_job *job,
                     struct candidate *best)
{
  int64_t now = dx_boot_ms();
  int64_t next = NEVER;
  size_t i;

  if (now < job->due_ms)
    return job->due_ms;
  if (job->dirty && !save(engine, job))
    return job->due_ms;
  if (job->due_ms != 0) {
    job->due_ms = 0;
    complain(engine, job, DX_NOTE_LOCAL_OVER, 0, "");
  }
  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];
    int64_t due;
    enum step step;

    if (sub->run.call != NULL || is_given_up(sub))
      continue;
    begin_phase(engine, sub);
    step = next_step(sub, &due);
    if (step == STEP_NONE)
      continue;
    if (due > now)
      next = due < next ? due : next;
    else if (step == STEP_PUT || step == STEP_DELIVER)
      step_local(engine, sub, step);
    else
      consider(best, sub, step, now);
    if (job->dirty)
      next = now; /* save, then look again */
    if (job->due_ms > now)
      return job->due_ms;
  }
  return next;
}

/* ---- outside ---- */

struct dx_engine *dx_engine_new(const struct dx_config *config,
                                struct dx_spool *spool, struct dx_http *http,
                                const struct dx_observer *observer)
{
  struct dx_engine *engine = calloc(1, sizeof(*engine));
  size_t i;

  if (engine == NULL)
    return NULL;
  engine->config = config;
  engine->spool = spool;
  engine->http = http;
  engine->observer = *observer;
  engine->links = calloc(config->service_count + 1, sizeof(*engine->links));
  for (i = 0; engine->links != NULL && i < config->service_count; i++) {
    struct link *link = &engine->links[i];

    link->service = &config->services[i];
    link->token = dx_token_new(link->service);
    link->pace = dx_pace_new(spool->pace_dirfd, link->service->host,
                             link->service->port, link->service->api_rate);
    link->times = dx_times_new(spool->pace_dirfd, link->service->host,
                               link->service->port);
    if (link->token == NULL || link->pace == NULL || link->times == NULL)
      break;
  }
  if (engine->links == NULL || i < config->service_count)
    dx_engine_free(&engine);
  return engine;
}

void dx_engine_free(struct dx_engine **engine_at)
{
  struct dx_engine *engine = *engine_at;
  size_t i;

  if (engine == NULL)
    return;
  dx_engine_stop(engine);
  for (i = 0; engine->links != NULL && i < engine->config->service_count; i++) {
    dx_token_free(&engine->links[i].token);
    dx_pace_free(&engine->links[i].pace);
    dx_times_free(&engine->links[i].times);
  }
  free(engine->links);
  free(engine->jobs);
  free(engine);
  *engine_at = NULL;
}

/* What a crash or an exit may have left half done. */
static void resume(struct dx_submission *sub)
{
  size_t i;

  memset(&sub->run, 0, sizeof(sub->run));
  sub->run.fd = -1;
  if (sub->registering)
    post_lost(sub);
  if (sub->state == DX_ST_REGISTERED)
    sub->run.ask_first = true;
  for (i = 0; i < sub->file_count; i++)
    if (sub->files[i].put != DX_PUT_NONE)
      sub->run.sent_ms = dx_boot_ms(); /* nobody knows: it counts as now */
}

enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_job *job,
                           struct dx_err *err)
{
  struct link *link = link_of(engine, job);
  struct dx_job **jobs;
  enum dx_code code;
  size_t i;

  if (link == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "service '%s' is not in '%s'; add a section <Service %s>",
                   job->service, engine->config->path, job->service);
  code = dx_job_follow(job, link->service->base_url, err);
  if (code != DX_OK)
    return code;
  if (engine->job_count == engine->job_room) {
    size_t room = engine->job_room != 0 ? 2 * engine->job_room : 16;

    jobs = realloc(engine->jobs, room * sizeof(struct dx_job *));
    if (jobs == NULL)
      return dx_fail_nomem(err);
    engine->jobs = jobs;
    engine->job_room = room;
  }
  for (i = 0; i < job->submission_count; i++)
    resume(&job->submissions[i]);
  engine->jobs[engine->job_count++] = job;
  return DX_OK;
}

/* Tells of jobs that are over, and forgets them; whether there were any. */
static bool reap(struct dx_engine *engine)
{
  bool any = false;
  size_t i = 0;

  while (i < engine->job_count) {
    struct dx_job *job = engine->jobs[i];

    if (job->dirty || !is_over(engine, job)) {
      i++;
      continue;
    }
    job_ended(engine, job);
    engine->jobs[i] = engine->jobs[--engine->job_count];
    engine->observer.ended(engine->observer.ctx, job);
    any = true;
  }
  return any;
}

static int64_t turn(struct dx_engine *engine)
{
  int64_t next = NEVER;
  size_t i, k;

  for (k = 0; k < engine->config->service_count; k++) {
    struct link *link = &engine->links[k];
    struct candidate best = {NULL, STEP_NONE, false};
    int64_t when;

    for (i = 0; i < engine->job_count; i++) {
      if (link_of(engine, engine->jobs[i]) != link)
        continue;
      when = drive(engine, engine->jobs[i], &best);
      next = when < next ? when : next;
    }
    when = pace_link(engine, link, &best);
    next = when < next ? when : next;
  }
  return next;
}

enum dx_code dx_engine_run(struct dx_engine *engine, int64_t timeout_ms,
                           const int *wake, size_t wake_count,
                           struct dx_err *err)
{
  int64_t next, wait;
  bool any;
  size_t i;

  for (i = 0; i < engine->config->service_count; i++)
    dx_token_wake_by(engine->links[i].token, wake_count > 0 ? wake[0] : -1);
  any = reap(engine); /* what the last answers ended begins nothing new */
  next = turn(engine);
  any = reap(engine) || any;
  wait = next == NEVER ? timeout_ms : next - dx_boot_ms();
  if (any || wait < 0)
    wait = 0; /* the caller has something to think about */
  if (wait > timeout_ms)
    wait = timeout_ms;
  return dx_http_run(engine->http, wait, wake, wake_count, err);
}

void dx_engine_stop(struct dx_engine *engine)
{
  size_t i, k;

  for (i = 0; i < engine->job_count; i++) {
    struct dx_job *job = engine->jobs[i];

    for (k = 0; k < job->submission_count; k++) {
      struct dx_submission *sub = &job->submissions[k];
      struct call_ctx *ctx = sub->run.sink;

      if (sub->run.call == NULL)
        continue;
      dx_http_cancel(engine->http, &sub->run.call);
      ctx_free(ctx);
    }
    if (job->dirty)
      (void)save(engine, job);
  }
  engine->job_count = 0;
}
