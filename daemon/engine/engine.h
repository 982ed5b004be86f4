/*
 * engine.h - processes all jobs in one thread, driven by events
 * (doc/architecture.md, "Life of a document"; doc/policy.md).
 *
 * Before each step that cannot be undone, the journal is written, and the
 * observer must give its permission. Jobs that wait for an administrator, or
 * take longer than ProcessingLimit, are reported and retried; the engine does
 * not end them.
 *
 * Calling sequence: new, add jobs (with a journal), dx_engine_run() repeatedly;
 * `ended` is called for a job when all its submissions are final, or after an
 * internal error, unless job->ended is set, and `released` when OnResult has
 * been run. dx_engine_free() aborts all calls at once, and ends a program of
 * OnResult within a second; the progress is in the journals.
 *
 * `docextract hello` performs the steps of a job in the same process, from the
 * spool to the service, as the same user and with the same network and
 * restrictions as real jobs. The command performs the steps that need the
 * rights of its caller. A test changes no job, and makes one call, which counts
 * toward the rate limit, and whose response can begin or end a pause.
 *
 * Ownership: jobs and drives belong to the caller, and must exist until
 * `released`, dx_engine_remove(), or dx_engine_free(); config, spool, and http
 * are borrowed.
 * Blocking: dx_engine_run() waits at most timeout_ms for events, and also for
 * the disk and a TokenCommand.
 */
#ifndef DX_ENGINE_H
#define DX_ENGINE_H

#include <bsd/sys/tree.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/config/config.h"
#include "lib/control/channel.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"
#include "daemon/service/http.h"
#include "daemon/service/rate_limit.h"

struct dx_engine;

/* Whether a turn looks at a job; see rest.c. */
enum dx_rest {
  DX_REST_NONE,   /* it does */
  DX_REST_UNTIL,  /* not before rest_ms */
  DX_REST_IN_LINE /* only when it is the first */
};

/* What the engine knows about a job: a part of the structure of the caller, who
 * does not use its members. Zeros before it is added. */
struct dx_drive {
  TAILQ_ENTRY(dx_drive) link;
  TAILQ_ENTRY(dx_drive) turn; /* in engine->roused */
  RB_ENTRY(dx_drive) node;    /* in engine->resting, or in a line */
  struct dx_engine *engine;   /* NULL: it is not in the engine */
  struct dx_job *job;
  uint64_t number; /* of the drive */
  enum dx_rest rest;
  int64_t rest_ms;            /* UNTIL: monotonic */
  struct service_state *line; /* IN_LINE: of this section */
  int64_t next_ms; /* when to look at it again; 0: this turn has not looked at
                      it, or something has changed since then */
  int64_t due_ms;  /* after a local failure: next try; monotonic */
  int64_t late_ms; /* if the job is behind: when to publish; monotonic */
  int64_t written_ms;     /* when the journal was written last; monotonic */
  int64_t ask_ms;         /* no permission: nothing is sent before then */
  enum dx_note_kind told; /* the last problem, if has_told */
  bool has_told;
  struct run *runs; /* one for each submission */
};

/* These functions must not add or remove jobs, but `released` may free the job.
 */
struct dx_observer {
  void (*note)(void *ctx, struct dx_job *job, const struct dx_note *note);
  /* All submissions are final, or the job was halted; dx_job_outcome() returns
   * its outcome. The engine keeps the job while OnResult is pending. */
  void (*ended)(void *ctx, struct dx_job *job);
  /* The last call for a job: the engine has released it. */
  void (*released)(void *ctx, struct dx_job *job);
  /* Called before each step that cannot be undone: creating a source, and the
   * first byte of each upload. After WAIT or ASK, it is called again after
   * DX_ASK_AGAIN_MS or dx_engine_wake(). After CANCEL, the engine cancels the
   * job; after CANCEL_UNSENT, what was not sent. */
  enum dx_permission (*may_send)(void *ctx, struct dx_job *job);
  /* Called after SEND, when the connection is up and the request leaves. False
   * if anything has changed since: it is not sent, and `may_send` is called
   * again. */
  bool (*may_still_send)(void *ctx, struct dx_job *job);
  /* Called after the journal was written. */
  void (*saved)(void *ctx, struct dx_job *job);
  void *ctx;
};

/* stop_fd: becomes readable when the process is to stop, which ends the wait
 * for a TokenCommand; -1: none. NULL when out of memory. */
struct dx_engine *dx_engine_new(const struct dx_config *config,
                                struct dx_spool *spool, struct dx_http *http,
                                const struct dx_observer *observer,
                                int stop_fd);
/* Aborts all calls without waiting for the network, and releases all jobs
 * without calling the observer. */
void dx_engine_free(struct dx_engine **engine);

/* drive: borrowed like the job, and what job->drive is from now on. If the
 * configuration does not contain the section and BaseURL of a job, the job is
 * added, but waits for an administrator. E_NOMEM. */
enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_drive *drive,
                           struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/* Tries everything that waits for the service again at once, as soon as the
 * rate limit permits: the administrator asks for it. */
void dx_engine_hurry(struct dx_engine *engine, struct dx_job *job);

/* Notifies the observer again of what is wrong with the job, if anything. */
void dx_engine_tell(struct dx_engine *engine, struct dx_job *job);

/* Discards the last result of `may_send` for the job: the next turn calls it
 * again if needed. */
void dx_engine_wake(struct dx_job *job);

/* Writes the journal of a job now, after the manifests of its failures. False
 * after a failure, which is reported; the engine tries again. */
bool dx_engine_save(struct dx_engine *engine, struct dx_job *job);

/* Writes the journal of a job and releases the job, without calling `released`.
 * E_BUSY if a call of the job is in progress; E_IO if the journal cannot be
 * written, which is reported. */
enum dx_code dx_engine_remove(struct dx_engine *engine,
                              struct dx_job *job) DX_MUST_USE;

/* Receives the next line for the client of a test: `line TEXT` for each step
 * ("ok" or "FAILED", its name, and a result), for the greeting, and for
 * problems that will occur later ("warning: ..."); `slow TEXT` before a wait;
 * at last `done` or `error CODE TEXT`. Must not call the engine. */
typedef void dx_hello_tell(void *ctx, const char *line);

/* Begins to test a section. Performs the first steps at once, and the others
 * when the service has responded. ctx: for `tell`, and the name of the test.
 * E_CONFIG: there is no such section; E_NOMEM. */
enum dx_code dx_engine_hello(struct dx_engine *engine, const char *service,
                             dx_hello_tell *tell, void *ctx,
                             struct dx_err *err) DX_MUST_USE;
/* Ends the tests with this ctx, if any, or all (NULL), without calling `tell`.
 */
void dx_engine_cancel_hello(struct dx_engine *engine, const void *ctx);

/* One turn of the event loop: performs all due steps, then waits at most
 * timeout_ms for the next event, or until a descriptor in `wake` is readable.
 */
enum dx_code dx_engine_run(struct dx_engine *engine, int64_t timeout_ms,
                           const int *wake, size_t wake_count,
                           struct dx_err *err) DX_MUST_USE;

#endif
