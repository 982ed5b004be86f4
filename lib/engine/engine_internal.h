/*
 * engine_parts.h - what the files of the engine share, and nobody else may
 * include. engine.c turns the wheel: which submission is due for what.
 * engine_call.c knows what all calls have in common: their context, token,
 * slot, and every trouble that is not about one kind of call. engine_upload.c
 * registers and uploads; engine_fetch.c asks, fetches and drops.
 *
 * A step is begun by one of the functions that start a call; its answer comes
 * to a callback in the same file, which takes it into memory and marks the
 * job dirty. The wheel saves before the next step.
 */
#ifndef DX_ENGINE_PARTS_H
#define DX_ENGINE_PARTS_H

#include "lib/base/fs.h"
#include "lib/engine/engine.h"
#include "lib/service/api.h"
#include "lib/service/latency.h"
#include "lib/service/rate_limit.h"
#include "lib/service/token.h"

/* What one process knows of a service. */
struct service_state {
  const struct dx_service *service;
  struct dx_token *token;
  struct dx_rate_limit *pace;
  struct dx_latency *times;
  int64_t server_offset_ms; /* their clock minus ours, when it is far off */
  int token_tries;
  int64_t token_failed_ms; /* monotonic of the last of them */
  int64_t due_ms;          /* monotonic: no call before */
  int calls;               /* of the API, under way */
  int failures;            /* transient ones in a row */
  int64_t down_since_ms;   /* monotonic; 0: it is up */
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
  struct service_state *services; /* one a service of the config */
  struct dx_job **jobs;
  size_t job_count, job_room;
  int puts; /* under way */
};

/* The context of a call: where its answer belongs. */
struct call_ctx {
  struct dx_engine *engine;
  struct service_state *svc;
  struct dx_submission *sub;
  int64_t slot_ms;     /* monotonic of its slot; 0: none, a PUT */
  struct dx_temp sink; /* of a result */
};

/* ---- engine_call.c: what all calls have in common ---- */

/* Tells the observer. text: NULL for none. */
void engine_note(struct dx_engine *engine, struct dx_job *job,
                 enum dx_note_kind kind, int64_t since_ms, const char *text);
/* The same about something that is wrong: whoever looks at the job later
 * reads it in its record. */
void engine_report_problem(struct dx_engine *engine, struct dx_job *job,
                           enum dx_note_kind kind, int64_t since_ms,
                           const char *text);
/* docextractd waits for what would end a print job. */
bool engine_is_patient(const struct dx_job *job);
struct service_state *engine_service_of(struct dx_engine *engine,
                                        const struct dx_job *job);
int64_t engine_backoff_ms(int tries);
void engine_wait_for(struct dx_submission *sub, int64_t ms);
int64_t engine_longer(int64_t a, int64_t b);
/* Local trouble stops the whole job for a minute and loses nothing. */
void engine_local_failure(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err);
/* An event that the table does not know here is a broken promise of the
 * service or of ours: the job stops before it does harm. */
void engine_apply(struct dx_submission *sub, enum dx_event event);
/* All is well again, except that it may take long. */
void engine_set_well(struct dx_submission *sub);
/* How long the service was away while this process looked: that is no
 * processing time. */
int64_t engine_away_ms(const struct service_state *svc);
/* The service is not reached, or has trouble: after some tries in a row all
 * processes of this host keep still for a while (doc/policy.md, "Classes"). */
void engine_transient(struct call_ctx *ctx, const struct dx_err *err,
                      int64_t retry_after_ms);
/* Any answer with a meaning: the service is there. */
void engine_service_up(struct call_ctx *ctx);
/* What any call can meet that did not succeed: by the class of err->code. */
void engine_failed(struct call_ctx *ctx,
                   const struct dx_http_response *response,
                   const struct dx_err *err);
/* NULL when memory is out: the job waits then. */
struct call_ctx *engine_ctx_new(struct dx_engine *engine,
                                struct dx_submission *sub);
void engine_ctx_free(struct call_ctx *ctx);
/* The token for the next call; on trouble the submission waits or halts. */
bool engine_get_api(struct call_ctx *ctx, struct dx_api *api);
/* What starting the call gave: on trouble the context ends here. */
void engine_started(struct call_ctx *ctx, enum dx_code code,
                    struct dx_err *err);
/* Writes the journal; local trouble if that fails. */
bool engine_save(struct dx_engine *engine, struct dx_job *job);

/* ---- engine_upload.c: registering and uploading ---- */

/* The URLs last long enough to begin an upload. */
bool engine_put_is_due(const struct dx_submission *sub);
/* A POST whose answer is lost left an orphan, which expires by itself. */
void engine_create_lost(struct dx_submission *sub);
/* Each starts a call; its answer comes to a callback there. */
void engine_create(struct dx_engine *engine, struct dx_submission *sub);
/* The storage took it, whether or not its answer came. */
void engine_put_landed(struct call_ctx *ctx);
void engine_put_file(struct dx_engine *engine, struct dx_submission *sub);

/* ---- engine_fetch.c: asking, fetching, dropping ---- */

void engine_get_source(struct dx_engine *engine, struct dx_submission *sub);
/* The waiting case that is due first; NULL when none waits. */
struct dx_case *engine_next_case(struct dx_submission *sub);
void engine_get_extract(struct dx_engine *engine, struct dx_submission *sub);
/* Everything that can be put into the results directory now; false on trouble.
 */
bool engine_deliver(struct dx_engine *engine, struct dx_submission *sub);
bool engine_has_stored(const struct dx_submission *sub);

#endif
