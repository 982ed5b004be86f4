/*
 * engine.h - processes all jobs in one thread, driven by events
 * (doc/architecture.md, "Life of a document"; doc/policy.md).
 *
 * Before each step that cannot be undone, the journal is written, and the
 * caller must have permitted it (struct dx_permit). Jobs that wait for an
 * administrator, or take longer than ProcessingLimit, are reported and retried;
 * the engine does not end them.
 *
 * Calling sequence: new, add jobs (with a journal); then, in each turn of the
 * event loop, dx_engine_turn(), dx_engine_news() until it returns NULL, and
 * dx_http_run(). The engine calls nothing of its caller: what has happened to a
 * job is its news. dx_engine_free() aborts all calls at once, and ends a
 * program of OnResult within a second; the progress is in the journals.
 *
 * `docextract hello` performs the steps of a job in the same process, from the
 * spool to the service, as the same user and with the same network and
 * restrictions as real jobs. The command performs the steps that need the
 * rights of its caller. A test changes no job, and makes one call, which counts
 * toward the rate limit, and whose response can begin or end a pause.
 *
 * Ownership: jobs and drives belong to the caller, and must exist until the
 * news `released`, dx_engine_remove(), or dx_engine_free(); config, spool, and
 * http are borrowed.
 * Blocking: dx_engine_turn() waits for the disk and a TokenCommand.
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

/* Whether a create or an upload of a job may be sent. The caller writes it, and
 * calls dx_engine_wake() if that permits anything. The engine reads it twice:
 * when it begins a request, and when the connection is up and the request would
 * leave. */
struct dx_permit {
  int64_t until_ms; /* a request may begin before then: monotonic; 0: none may.
                       Unless it is INT64_MAX, it is for one request. */
  /* Nothing leaves while something from there is unread, which may withdraw it;
   * NULL: none. */
  const struct dx_channel *heard;
  bool stands; /* what has begun may leave: nothing has been learned that
                  forbids it */
};

/* What has happened to a job since it was taken last. */
struct dx_news {
  bool saved;    /* its journal was written */
  bool problem;  /* dx_engine_problem() may have changed */
  bool progress; /* dx_engine_progress() has changed */
  /* A request cannot begin without a permission: drive->asking. It asks again
   * after dx_engine_wake(), or after DX_ASK_AGAIN_MS unless the caller responds
   * with dx_engine_hold(). */
  bool asks;
  /* All submissions are final, or the job was halted; dx_job_outcome() returns
   * its outcome. The engine keeps the job while OnResult is pending. */
  bool ended;
  bool released; /* the last news of a job: the engine has released it */
};

/* What the engine knows about a job: a part of the structure of the caller, who
 * uses only `permit` and, with the news `asks`, `asking`. Zeros before it is
 * added. */
struct dx_drive {
  struct dx_permit permit;
  struct dx_submission *asking; /* the last one that waits for a permission */
  TAILQ_ENTRY(dx_drive) told;   /* in engine->news, if has_news */
  struct dx_news news;
  bool has_news;
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
  int64_t written_ms; /* when the journal was written last; monotonic */
  int64_t ask_ms;     /* no permission: nothing is sent before then */
  struct run *runs;   /* one for each submission */
};

/* stop_fd: becomes readable when the process is to stop, which ends the wait
 * for a TokenCommand; -1: none. NULL when out of memory. */
struct dx_engine *dx_engine_new(const struct dx_config *config,
                                struct dx_spool *spool, struct dx_http *http,
                                int stop_fd);
/* Aborts all calls without waiting for the network, and releases all jobs
 * without news. */
void dx_engine_free(struct dx_engine **engine);

/* drive: borrowed like the job, and what job->drive is from now on. If the
 * configuration does not contain the section and BaseURL of a job, the job is
 * added, but waits for an administrator. E_NOMEM. */
enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_drive *drive,
                           struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/* Tries everything that waits for the service again at once, as soon as the
 * rate limit permits: the administrator asks for it. */
void dx_engine_hurry(struct dx_engine *engine, struct dx_job *job);

/* The permission of the job has changed, or may be given now, or submissions
 * were ended: their calls are aborted, and the next turn begins what is
 * permitted, or asks again. */
void dx_engine_wake(struct dx_job *job);
/* The job asks no more until dx_engine_wake(), which is certain to follow when
 * its permission changes: thousands may wait for a decision. */
void dx_engine_hold(struct dx_job *job);

/* What is wrong with a job, for its user: DX_NOTE_UP if nothing is. The text
 * belongs to the job. */
struct dx_note dx_engine_problem(const struct dx_job *job);
/* How far it is; false if there is nothing to tell. */
bool dx_engine_progress(const struct dx_job *job, struct dx_note *ret_note);

/* Writes the journal of a job now, after the manifests of its failures. False
 * after a failure, which is reported; the engine tries again. */
bool dx_engine_save(struct dx_engine *engine, struct dx_job *job);

/* Writes the journal of a job and releases the job, without news. E_BUSY if a
 * call of the job is in progress; E_IO if the journal cannot be written, which
 * is reported. */
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

/* Performs all due steps. Returns when to call it again, at the latest:
 * monotonic. Before that, call it whenever dx_http_run() returns. */
int64_t dx_engine_turn(struct dx_engine *engine);

/* Takes the news of a job; NULL when there are no more. Call it after each
 * turn, until then, before anything else is done with a job. */
struct dx_job *dx_engine_news(struct dx_engine *engine,
                              struct dx_news *ret_news);

/* Adds the descriptors that dx_http_run() is to watch, too, and returns the
 * number of all. */
size_t dx_engine_fds(const struct dx_engine *engine, int *fds, size_t count);

#endif
