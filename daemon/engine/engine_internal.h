/*
 * engine_internal.h - shared by the files of the engine only. The file that
 * starts a call contains the callback for its response. The callback changes
 * the job in memory and marks it dirty; engine.c writes the journal before the
 * next step.
 */
#ifndef DX_ENGINE_INTERNAL_H
#define DX_ENGINE_INTERNAL_H

#include <sys/queue.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "daemon/engine/engine.h"
#include "daemon/service/api.h"
#include "lib/spool/counters.h"
#include "lib/spool/results.h"
#include "daemon/service/poll.h"
#include "daemon/service/rate_limit.h"
#include "daemon/service/token.h"

/* The state of a host and port in this process, for all its sections. */
struct host {
  struct dx_rate_limit limit;
  struct dx_latency *latency;
  struct dx_submission *best; /* with the most urgent due call */
  struct slot *connecting;    /* its request has not left yet; NULL: none */
  int calls;                  /* API calls in progress */
};

/* The state of a section in this process. */
struct service_state {
  const struct dx_service *service;
  struct host *host;
  struct dx_token *token;
  struct dx_counters *counters;
  int64_t clock_off_ms; /* its clock minus ours, if far off; else 0 */
  int token_tries;
  int64_t token_failed_ms; /* monotonic: time of the last of them */
  int64_t due_ms;          /* monotonic: no call before this */
  bool needs_admin;        /* until then, or until a job is added */
  int failures;            /* consecutive transient failures */
  int64_t down_since_ms;   /* monotonic; 0: it is up */
  int64_t away_since_ms;   /* see engine_set_away(); 0: available */
  int64_t away_ms;         /* total of earlier such times */
};

/* What an API call occupies, from its start to its end. */
struct slot {
  struct service_state *svc;
  double ms; /* its time, monotonic; 0: none */
};

/* The polling of a source or case by this process. */
struct polled {
  int64_t due_ms;     /* monotonic: no GET before then */
  int64_t wait_ms;    /* the last wait of the schedule */
  int64_t not_yet_ms; /* age at the last "not yet" */
  int absent;         /* consecutive GETs that did not find it */
  int unexpected;     /* consecutive E_UNEXPECTED responses */
};

/* The context of a call in progress. */
struct call_ctx {
  struct dx_engine *engine;
  struct service_state *svc;
  struct dx_submission *sub;
  struct dx_api api;
  struct polled *polled; /* of its source, or of the case being fetched */
  int64_t *due_ms;       /* of the next call: of the submission or the case */
  const struct dx_http_response *response; /* valid until the call ends */
  struct slot slot;                        /* a PUT has none */
  struct dx_temp sink; /* get extract only, like the next two */
  struct dx_sha256 *sha;
  int64_t bytes;
};

/* The progress of a submission in this process; times are monotonic. */
struct run {
  struct dx_http_call *call;
  struct call_ctx ctx; /* of the call */
  struct polled source;
  struct polled *cases;  /* one for each case */
  int64_t due_ms;        /* no step before then */
  int64_t waiting_since; /* for a slot; 0: not waiting */
  int64_t told_ms;       /* failed_at in its last manifest; 0: none */
  int64_t hook_due_ms;   /* when to run OnResult; 0: at once */
  int64_t hook_wait_ms;  /* the last one after a failure */
  int denials;           /* consecutive, to a key other than its creator's */
  int tries;             /* consecutive failures */
  int put_tries;         /* the same for PUTs; reset only by their progress */
  int storage_refusals;  /* counted: refused PUTs, conflicts of creates */
  int64_t put_tried_ms;  /* time of the last counted refusal */
  bool ask_first;        /* a PUT may have arrived: GET the source first */
  bool unclear;          /* and that GET did not show whether it has */
  int64_t short_ms;      /* since then, processed with files missing */
  int64_t pending_ms;    /* since then, it is to be registered again; or 0 */
  int64_t sent_ms;       /* time of the last byte sent; 0: none */
  int64_t phase_ms;      /* start of the wait for the service */
  int64_t away_ms;       /* engine_away_ms() at that time */
  int fd;                /* of the file being sent; -1: none */
  size_t current;        /* index of the file or case in progress */
};

/* The state of a job in the engine. */
struct dx_drive {
  int64_t due_ms;    /* after a local failure: next try; monotonic */
  int64_t late_ms;   /* if the job is behind: when to publish; monotonic */
  int64_t ask_ms;    /* no permission: nothing is sent before then */
  struct run runs[]; /* one for each submission */
};

static inline int64_t engine_longer(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static inline struct run *run_of(const struct dx_submission *sub)
{
  return &sub->job->drive->runs[sub->number - 1];
}

/* The program of OnResult that runs, and its submission: its job may be changed
 * meanwhile. */
struct hook {
  pid_t pid; /* 0: none */
  int fd;    /* pidfd; -1: none */
  char key[DX_KEY_BYTES];
  size_t number;
  int64_t hook_ms;  /* of the submission, when the program was started */
  int64_t until_ms; /* monotonic: the next signal */
  bool was_told;    /* SIGTERM was sent */
};

struct dx_engine {
  const struct dx_config *config;
  struct dx_spool *spool;
  struct dx_http *http;
  struct dx_observer observer;
  struct dx_job **jobs;
  size_t job_count;
  size_t next_job; /* the next turn starts with it */
  int puts;        /* in progress */
  int stop_fd;
  LIST_HEAD(, hello) hellos;
  struct hook hook;
  struct dx_submission *hook_best; /* whose OnResult has been due longest */
  struct host *hosts;
  size_t host_count;
  struct service_state services[]; /* one per service of the config */
};

/* ---- engine.c: the event loop ---- */

/* For the poll schedule: the pages of all its documents, at most
 * DX_POLL_PAGES_MAX; 0 when its cases are polled, whose pages are not known. */
int engine_pages(const struct dx_submission *sub);

/* Starts timing the wait for the service, if the submission waits for it. */
void engine_begin_phase(struct dx_engine *engine, struct dx_submission *sub);

/* Asks the observer for permission for the next step. */
bool engine_may_send(struct dx_engine *engine, struct dx_submission *sub);

/* ---- report.c: notifying the observer, waiting, stopping ---- */

/* Notifies the observer. err: NULL if there is none. */
void engine_note(struct dx_engine *engine, struct dx_job *job,
                 enum dx_note_kind kind, int64_t since_ms,
                 const struct dx_err *err);
/* The same for a problem, which is also recorded in the journal. err: NULL if
 * it is solved. due_ms: the time of the next try, monotonic; 0: no automatic
 * retry. */
void engine_report_problem(struct dx_engine *engine, struct dx_job *job,
                           enum dx_note_kind kind, int64_t since_ms,
                           int64_t due_ms, const struct dx_err *err);
/* When a call that is due at due_ms can be made: after the pauses of the
 * service and of its host. */
int64_t engine_call_ms(const struct service_state *svc, int64_t due_ms);
/* Reports that ProcessingLimit has passed. */
void engine_overdue(struct dx_engine *engine, struct dx_submission *sub);
/* Clears the message of the job, unless the submission is overdue. */
void engine_clear_problem(struct dx_submission *sub);
/* After a failure on this computer, the whole job waits for a minute. */
void engine_local_failure(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err);
/* Makes all calls of the service wait for an administrator. */
void engine_needs_admin(struct call_ctx *ctx, const struct dx_err *err);
/* The same for one submission; the others continue. */
void engine_sub_needs_admin(struct dx_engine *engine, struct dx_submission *sub,
                            const struct dx_err *err);
/* Applies an event. If the state table does not permit it, the job is
 * halted. */
void engine_apply(struct dx_submission *sub, enum dx_event event);
/* Delivers the manifests of failed submissions, then writes the journal with
 * `write`: dx_job_save() or dx_job_publish(). False after a local failure. */
bool engine_write(struct dx_engine *engine, struct dx_job *job,
                  enum dx_code (*write)(struct dx_job *, struct dx_err *));

/* ---- call.c: what all calls have in common ---- */

/* A section of the configuration; NULL if there is none of that name. */
struct service_state *engine_service_named(struct dx_engine *engine,
                                           const char *name);
/* The service of its source, or of the source to create. NULL if it is not
 * configured. */
struct service_state *engine_section_of(struct dx_engine *engine,
                                        const struct dx_submission *sub);
/* The same; also NULL if BaseURL has changed since the source was created. */
struct service_state *engine_service_of(struct dx_engine *engine,
                                        const struct dx_submission *sub,
                                        struct dx_err *err);
void engine_wait_for(struct dx_submission *sub, int64_t ms);
/* For how long, in total, this process found the service unavailable. */
int64_t engine_away_ms(const struct service_state *svc);
void engine_set_away(struct service_state *svc, bool is_away);
/* A transient failure that counts towards "down" (doc/policy.md, "Classes"). */
void engine_transient(struct call_ctx *ctx, const struct dx_err *err);
/* Handles E_UNEXPECTED. */
void engine_unexpected(struct call_ctx *ctx, const struct dx_err *err);
/* For `docextract metrics`. */
void engine_count_call(const struct call_ctx *ctx, enum dx_code code);
void engine_count_manifest(struct dx_engine *engine,
                           const struct dx_submission *sub);
/* To be called after any valid response: the service is up. */
void engine_service_up(struct call_ctx *ctx);
/* Handles a failed call of any kind by the class of err->code. */
void engine_failed(struct call_ctx *ctx, const struct dx_err *err);
/* True if the service denies the source, and another key than the current one
 * created it. After DX_TOKEN_TRIES tries with new tokens, the submission waits
 * for an administrator. */
bool engine_is_denied(struct call_ctx *ctx, enum dx_code code);
struct call_ctx *engine_begin_call(struct dx_engine *engine,
                                   struct dx_submission *sub,
                                   dx_http_done *done);
/* To be called first in the `done` of a call. */
struct call_ctx *engine_got(void *arg, const struct dx_http_response *response);
void engine_end_call(struct call_ctx *ctx);
/* An API call begins now. */
void engine_take_slot(struct slot *slot, struct service_state *svc);
/* The connection of the call is ready. False if the request must not leave. */
bool engine_leave_in_slot(struct slot *slot);
/* The call has ended. A slot that was not taken is accepted. */
void engine_release_slot(struct slot *slot);
/* Takes the slot of an API call, and gets its token. If there is no token,
 * handles the failure, ends the call, and returns false. */
bool engine_get_token(struct call_ctx *ctx);
/* Handles the outcome of starting a call; unless it is DX_OK, ends the call. */
void engine_started(struct call_ctx *ctx, enum dx_code code,
                    const struct dx_err *err);

/* ---- on_result.c: OnResult ---- */

/* Handles the program that runs, if any; returns when to call it again, or
 * earlier if hook.fd is readable. */
int64_t engine_hook_turn(struct dx_engine *engine);
/* Starts the program for a submission; no other program runs. */
void engine_hook_start(struct dx_engine *engine, struct dx_submission *sub);
/* Ends the running program, which will be run again. Takes at most a second. */
void engine_hook_stop(struct dx_engine *engine);

/* ---- hello.c: `docextract hello` ---- */

/* The test that waits for a slot of this host, which comes at due_ms; NULL:
 * none. */
struct hello *engine_hello_waits(struct dx_engine *engine,
                                 const struct host *host, int64_t due_ms);
void engine_hello_call(struct hello *hello);
/* Ends all tests with an error. */
void engine_end_hellos(struct dx_engine *engine);

/* ---- upload.c: registering and uploading ---- */

/* True if the URLs are valid for long enough to start an upload. */
bool engine_put_is_due(const struct dx_submission *sub);
/* Counts a POST whose response was lost. */
void engine_create_lost(struct dx_submission *sub);
/* Asks for permission, and checks that results can be delivered. */
void engine_create(struct dx_engine *engine, struct dx_submission *sub);
/* Notes that the storage has the file, even if its response was lost. */
void engine_put_landed(struct call_ctx *ctx);
void engine_put_file(struct dx_engine *engine, struct dx_submission *sub);

/* ---- fetch.c: polling, fetching, delivering ---- */

void engine_get_source(struct dx_engine *engine, struct dx_submission *sub);
/* Resets the polling of all cases; false when out of memory. */
bool engine_begin_cases(struct dx_submission *sub);
/* The waiting case that is due first; NULL if none is waiting. */
struct dx_case *engine_next_case(struct dx_submission *sub);
void engine_get_extract(struct dx_engine *engine, struct dx_submission *sub);
/* Delivers the stored results and, when all are delivered, the manifest; false
 * after a local failure. */
bool engine_deliver(struct dx_engine *engine, struct dx_submission *sub);

#endif
