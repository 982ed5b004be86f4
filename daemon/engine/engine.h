/*
 * engine.h - moves jobs forward: one job or a thousand, in one thread, by
 * events (doc/architecture.md, "Life of a document"; doc/policy.md).
 *
 * Every step: save the journal if memory is ahead of it, do what the state asks
 * for, then apply the response in memory. Nothing that cannot be undone starts
 * while the journal is behind. Waits use the monotonic clock.
 *
 * Calling sequence: new, add jobs (locked, with a journal), then
 * dx_engine_run() until the observer's `ended` was called for the jobs of
 * interest. dx_engine_stop() aborts all calls at once; the progress so far is
 * in the journals.
 *
 * Ownership: jobs stay the caller's and must live until `ended` or the end of
 * the engine; config, spool, and http are borrowed.
 * Blocking: dx_engine_run() at most timeout_ms, and for the disk.
 */
#ifndef DX_ENGINE_H
#define DX_ENGINE_H

#include <stdint.h>

#include "lib/config/config.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"
#include "daemon/service/http.h"

struct dx_engine;

enum dx_note_kind {
  DX_NOTE_UPLOADING,  /* done of total bytes, all documents together */
  DX_NOTE_WAITING,    /* for the extraction; since_ms */
  DX_NOTE_DOWN,       /* the service cannot be reached; since_ms, text */
  DX_NOTE_UP,         /* it can be reached again */
  DX_NOTE_UNEXPECTED, /* a response that cannot be right; text; retried */
  DX_NOTE_PAUSED,     /* the service asked for fewer calls */
  DX_NOTE_TOKEN,      /* refused or not available; text; retried */
  DX_NOTE_ADMIN,      /* somebody must fix the configuration; text */
  DX_NOTE_LOCAL,      /* a failure here; text; retried every minute */
  DX_NOTE_LOCAL_OVER
};

struct dx_note {
  enum dx_note_kind kind;
  int64_t done, total;
  int64_t since_ms;  /* monotonic */
  enum dx_code code; /* of the failure; DX_OK when there is none */
  const char *text;  /* its text, for the administrator; "" */
};

struct dx_observer {
  void (*note)(void *ctx, struct dx_job *job, const struct dx_note *note);
  /* The engine is done with the job: dx_job_outcome() says what became of it.
   * Called once per job. */
  void (*ended)(void *ctx, struct dx_job *job);
  /* Called before a source is created for the job: false delays that by
   * DX_ASK_AGAIN_MS, or forever if the job was canceled. NULL: always true. */
  bool (*may_create)(void *ctx, struct dx_job *job);
  void *ctx;
};

struct dx_engine *dx_engine_new(const struct dx_config *config,
                                struct dx_spool *spool, struct dx_http *http,
                                const struct dx_observer *observer);
void dx_engine_free(struct dx_engine **engine); /* aborts calls, no `ended` */

/* E_CONFIG if the job's service is not in the config, or its BaseURL was
 * changed while a source is under way. */
enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_job *job,
                           struct dx_err *err) DX_MUST_USE;

/* One turn of the event loop: does what is due, then waits for the next event,
 * at most timeout_ms, or until one of the descriptors can be read. The first
 * one is the request to stop: it also ends the wait for a TokenCommand. */
enum dx_code dx_engine_run(struct dx_engine *engine, int64_t timeout_ms,
                           const int *wake, size_t wake_count,
                           struct dx_err *err) DX_MUST_USE;

/* Aborts everything under way, without waiting for the network, and releases
 * all jobs. */
void dx_engine_stop(struct dx_engine *engine);

#endif
