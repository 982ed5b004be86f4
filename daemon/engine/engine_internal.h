/*
 * engine_internal.h - what only the files of the engine share. The response to
 * a call goes to a callback in the file that started it, which applies it in
 * memory and marks the job dirty; engine.c saves the journal before the next
 * step.
 */
#ifndef DX_ENGINE_INTERNAL_H
#define DX_ENGINE_INTERNAL_H

#include "lib/base/digest.h"
#include "lib/base/fs.h"
#include "daemon/engine/engine.h"
#include "daemon/service/api.h"
#include "lib/spool/counters.h"
#include "daemon/service/poll.h"
#include "daemon/service/rate_limit.h"
#include "daemon/service/token.h"

/* What this process knows about a service. */
struct service_state {
  const struct dx_service *service;
  struct dx_submission *best; /* whose call is the most urgent that is due */
  struct dx_token *token;
  struct dx_rate_limit *rate_limit;
  struct dx_latency *latency;
  struct dx_counters *counters;
  int64_t clock_off_ms; /* its clock minus ours, when it is far off */
  int token_tries;
  int64_t token_failed_ms; /* monotonic; when the last of them failed */
  int64_t due_ms;          /* monotonic: no call before */
  bool needs_admin;        /* until then, unless a job comes */
  int calls;               /* of the API, under way */
  int failures;            /* transient ones in a row */
  int64_t down_since_ms;   /* monotonic; 0: it is up */
  int64_t away_since_ms;   /* not reached, failing, or asking for a pause */
  int64_t away_ms;         /* the total before that */
  struct dx_slot slot;     /* booked for the most urgent call */
  int64_t slot_ask_ms;     /* ask for a slot again then */
  int64_t prepared_ms;     /* monotonic: until then ResultsDir is probed only */
};

/* How a source, or a case, is polled by this process. */
struct polled {
  int64_t due_ms;     /* monotonic: no GET before then */
  int64_t wait_ms;    /* the last wait of the schedule */
  int64_t not_yet_ms; /* age at the last "not yet" */
  int absent;         /* GETs in a row that did not find it */
  int unexpected;     /* responses in a row that could not be right */
};

/* A call under way: where its response belongs. */
struct call_ctx {
  struct dx_engine *engine;
  struct service_state *svc;
  struct dx_submission *sub;
  struct dx_api api;
  struct polled *polled; /* its source, or the case that is fetched */
  int64_t *due_ms;       /* of these */
  const struct dx_http_response *response; /* until the call ends */
  int64_t slot_ms;     /* of its slot, monotonic; 0: none, a PUT */
  struct dx_temp sink; /* of a result, like what follows */
  struct dx_result_check *check;
  struct dx_sha256 *sha;
  int64_t bytes;
};

/* How far a submission is, in this process; times are monotonic. */
struct run {
  struct dx_http_call *call;
  struct call_ctx ctx; /* of the call */
  struct polled source;
  struct polled *cases;  /* one for each case */
  int64_t due_ms;        /* nothing happens before then */
  int64_t waiting_since; /* for a slot; 0: not waiting */
  int64_t may_create_ms; /* the observer need not be asked until then */
  bool told;             /* it failed, and its manifest says so */
  int denials;           /* in a row, to a key that did not create it */
  int tries;             /* failed ones in a row */
  int put_tries;         /* the same for PUTs, whatever a GET in between says */
  int storage_refusals;  /* that count */
  int64_t put_tried_ms;  /* when the last one of these was */
  bool ask_first;        /* a PUT may have landed: GET the source */
  bool unclear;          /* and that GET did not say whether it has */
  int64_t short_ms;      /* processed with files missing since then */
  int pending_seen;      /* GETs that count towards registering again */
  int64_t pending_ms;    /* when the first one was */
  int64_t sent_ms;       /* when the last byte was sent; 0: none was */
  int64_t phase_ms;      /* start of the wait for the service */
  int64_t away_ms;       /* engine_away_ms() at that time */
  int fd;                /* of the file being sent; -1: none */
  size_t current;        /* index of the file or case under way */
};

/* A job while the engine drives it. */
struct dx_drive {
  int64_t due_ms;   /* after a local failure: next try; monotonic */
  int64_t late_ms;  /* the job is behind: published then; monotonic */
  int64_t ask_ms;   /* nothing is sent before then: the observer said wait */
  struct run *runs; /* one for each submission */
};

static inline int64_t engine_longer(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static inline struct run *run_of(const struct dx_submission *sub)
{
  return &sub->job->drive->runs[sub->number - 1];
}

struct dx_engine {
  const struct dx_config *config;
  struct dx_spool *spool;
  struct dx_http *http;
  struct dx_observer observer;
  struct service_state *services; /* one per service of the config */
  struct dx_job **jobs;
  size_t job_count;
  size_t next_job; /* where the last turn ended */
  int puts;        /* under way */
};

/* ---- engine.c: the event loop ---- */

/* Of all its documents, as far as the poll schedule cares. */
int engine_pages(const struct dx_submission *sub);

/* Starts the clocks of waiting, once only the service can go on. */
void engine_begin_phase(struct dx_engine *engine, struct dx_submission *sub);

/* Asks the observer whether the next step may be taken. */
bool engine_may_send(struct dx_engine *engine, struct dx_submission *sub);

/* ---- report.c: notifying the observer, waiting, stopping ---- */

/* Notifies the observer. err: NULL if there is none. */
void engine_note(struct dx_engine *engine, struct dx_job *job,
                 enum dx_note_kind kind, int64_t since_ms,
                 const struct dx_err *err);
/* The same for a problem: its text, with the advice of its code, also goes to
 * the journal, for `docextract jobs`. err: NULL if it is over. due_ms: when it
 * is tried again, monotonic; 0: not by itself. */
void engine_report_problem(struct dx_engine *engine, struct dx_job *job,
                           enum dx_note_kind kind, int64_t since_ms,
                           int64_t due_ms, const struct dx_err *err);
/* The same time, unless the service, or this host, pauses for longer. */
int64_t engine_call_ms(const struct service_state *svc, int64_t due_ms);
/* ProcessingLimit has passed. */
void engine_overdue(struct dx_engine *engine, struct dx_submission *sub);
/* The problem is gone; the submission may still be overdue. */
void engine_clear_problem(struct dx_submission *sub);
/* A failure on this machine stops the whole job for a minute. */
void engine_local_failure(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err);
/* An administrator must act: the whole service waits. */
void engine_needs_admin(struct call_ctx *ctx, const struct dx_err *err);
/* The same for one submission; the others go on. */
void engine_sub_needs_admin(struct dx_engine *engine, struct dx_submission *sub,
                            const struct dx_err *err);
/* An event that the table does not list stops the job before it does harm. */
void engine_apply(struct dx_submission *sub, enum dx_event event);
/* Writes the journal, after the manifests of what has failed; false after a
 * local failure. */
bool engine_save(struct dx_engine *engine, struct dx_job *job);
bool engine_publish(struct dx_engine *engine, struct dx_job *job);

/* ---- call.c: what all calls have in common ---- */

/* Of its source, or where one will be created. NULL: not configured. */
struct service_state *engine_section_of(struct dx_engine *engine,
                                        const struct dx_submission *sub);
/* The same; NULL also if its BaseURL is not that of the source any more. */
struct service_state *engine_service_of(struct dx_engine *engine,
                                        const struct dx_submission *sub,
                                        struct dx_err *err);
int64_t engine_backoff_ms(int tries);
void engine_wait_for(struct dx_submission *sub, int64_t ms);
/* How long this process has seen the service away. */
int64_t engine_away_ms(const struct service_state *svc);
void engine_set_away(struct service_state *svc, bool is_away);
/* doc/policy.md, "Classes": a transient failure, one that counts towards
 * "down". */
void engine_transient(struct call_ctx *ctx, const struct dx_err *err);
/* E_UNEXPECTED. */
void engine_unexpected(struct call_ctx *ctx, const struct dx_err *err);
/* For `docextract metrics`: the response to a call; a manifest was written. */
void engine_count_call(const struct call_ctx *ctx, enum dx_code code);
void engine_count_manifest(struct dx_engine *engine,
                           const struct dx_submission *sub);
/* Any valid response: the service is up. */
void engine_service_up(struct call_ctx *ctx);
/* What any call can fail with, by the class of err->code. */
void engine_failed(struct call_ctx *ctx, const struct dx_err *err);
/* True if the service denies a source to another key than the one that created
 * it: after a few tries with fresh tokens it waits for an administrator. */
bool engine_is_denied(struct call_ctx *ctx, enum dx_code code);
struct call_ctx *engine_begin_call(struct dx_engine *engine,
                                   struct dx_submission *sub,
                                   dx_http_done *done);
/* The first thing that `done` of a call does. */
struct call_ctx *engine_got(void *arg, const struct dx_http_response *response);
void engine_end_call(struct call_ctx *ctx);
/* Gets the token of a call to the API, and counts it; without one it ends, and
 * the submission waits or halts. */
bool engine_get_token(struct call_ctx *ctx);
/* Takes the outcome of starting a call, and ends it unless DX_OK. */
void engine_started(struct call_ctx *ctx, enum dx_code code,
                    const struct dx_err *err);

/* ---- upload.c: registering and uploading ---- */

/* The URLs are valid for long enough to start an upload. */
bool engine_put_is_due(const struct dx_submission *sub);
/* A POST whose response was lost may have left a source, which expires. */
void engine_create_lost(struct dx_submission *sub);
/* As engine_may_send(), and whether results can be delivered; a yes is valid
 * for DX_ASK_VALID_MS. */
bool engine_may_create(struct dx_engine *engine, struct dx_submission *sub);
void engine_create(struct dx_engine *engine, struct dx_submission *sub);
/* The storage has the file, whether or not its response arrived. */
void engine_put_landed(struct call_ctx *ctx);
void engine_put_file(struct dx_engine *engine, struct dx_submission *sub);

/* ---- fetch.c: polling, fetching, delivering ---- */

void engine_get_source(struct dx_engine *engine, struct dx_submission *sub);
/* Starts over with all cases; false when out of memory. */
bool engine_begin_cases(struct dx_submission *sub);
/* The waiting case that is due first; NULL if none is waiting. */
struct dx_case *engine_next_case(struct dx_submission *sub);
void engine_get_extract(struct dx_engine *engine, struct dx_submission *sub);
/* Whether ResultsDir can be used. */
enum dx_code engine_prepare_results(struct service_state *svc,
                                    struct dx_err *err);
/* Delivers everything that can be delivered; false if that failed. */
bool engine_deliver(struct dx_engine *engine, struct dx_submission *sub);

#endif
