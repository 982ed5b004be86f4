/*
 * engine.h - moves jobs forward: one job or a thousand, in one thread, by
 * events (doc/architecture.md, "Life of a document"; doc/policy.md).
 *
 * Nothing that cannot be undone starts while the journal is behind, or without
 * the observer's permission. The engine gives no job up by itself: what an
 * administrator must fix, and what takes longer than ProcessingLimit, is noted
 * and tried again.
 *
 * Calling sequence: new, add jobs (with a journal), dx_engine_run() again and
 * again; `ended` is called for a job when all of it is final. dx_engine_free()
 * aborts all calls at once; the progress so far is in the journals.
 *
 * Ownership: jobs stay the caller's and must live until `ended`,
 * dx_engine_remove(), or the end of the engine; config, spool, and http are
 * borrowed.
 * Blocking: dx_engine_run() at most timeout_ms, and for the disk.
 */
#ifndef DX_ENGINE_H
#define DX_ENGINE_H

#include <stdint.h>

#include "lib/config/config.h"
#include "lib/control/note.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"
#include "daemon/service/http.h"
#include "daemon/service/rate_limit.h"

struct dx_engine;

/* None of these may add or remove jobs, but `ended` may free the job. */
struct dx_observer {
  void (*note)(void *ctx, struct dx_job *job, const struct dx_note *note);
  /* The engine is done with the job: dx_job_outcome() has its outcome.
   * Called once per job. */
  void (*ended)(void *ctx, struct dx_job *job);
  /* Asked before each step that cannot be taken back: creating a source, and
   * the first byte of each upload. WAIT and ASK: it is asked again after
   * DX_ASK_AGAIN_MS, or dx_engine_wake(). CANCEL: the engine cancels the job.
   * SEND is valid for DX_ASK_VALID_MS before a source is created, which must
   * await its turn; an upload starts at once. NULL: always SEND. */
  enum dx_permission (*may_send)(void *ctx, struct dx_job *job);
  /* The journal was written. NULL: not wanted. */
  void (*saved)(void *ctx, struct dx_job *job);
  void *ctx;
};

/* NULL when out of memory. */
struct dx_engine *dx_engine_new(const struct dx_config *config,
                                struct dx_spool *spool, struct dx_http *http,
                                const struct dx_observer *observer);
/* Aborts everything under way, without waiting for the network, and releases
 * all jobs without `ended`. */
void dx_engine_free(struct dx_engine **engine);

/* A job whose section, or whose BaseURL, is not in the configuration (any more)
 * is added, too, and waits for an administrator. E_NOMEM. */
enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_job *job,
                           struct dx_err *err) DX_MUST_USE;

/* Asks `may_send` about the job again at the next turn, if it had to wait. */
void dx_engine_wake(struct dx_engine *engine, struct dx_job *job);

/* Lets go of a job, with its journal written, without `ended`. E_BUSY while a
 * call of it is under way, or its journal cannot be written. */
enum dx_code dx_engine_remove(struct dx_engine *engine,
                              struct dx_job *job) DX_MUST_USE;

/* The rate limit of a section's host, which every call must keep. It lives as
 * long as the engine. NULL: there is no such section. */
struct dx_rate_limit *dx_engine_rate_limit(struct dx_engine *engine,
                                           const char *service);

/* One turn of the event loop: does what is due, then waits for the next event,
 * at most timeout_ms, or until one of the descriptors can be read. The first
 * one is the request to stop: it also ends the wait for a TokenCommand. */
enum dx_code dx_engine_run(struct dx_engine *engine, int64_t timeout_ms,
                           const int *wake, size_t wake_count,
                           struct dx_err *err) DX_MUST_USE;

#endif
