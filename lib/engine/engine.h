/*
 * engine.h - moves jobs forward: one job or a thousand, in one thread, by
 * events (doc/architecture.md, "The way of a document"; doc/policy.md).
 *
 * Every step is: save the journal if memory is ahead of it, then do what the
 * state asks for, then take the response into memory. Nothing that cannot be
 * undone is begun while the journal is behind. Waits are on the monotonic
 * clock.
 *
 * Calling sequence: new, add jobs (locked, with a journal), then
 * dx_engine_run() until the observer's `ended` came for the jobs of interest.
 * dx_engine_stop() ends all calls at once; journals are as far as they got.
 *
 * Ownership: jobs stay the caller's and must outlive their `ended` or the
 * engine; config, spool and http are borrowed.
 * Blocking: run waits at most timeout_ms, and for the disk.
 */
#ifndef DX_ENGINE_H
#define DX_ENGINE_H

#include <stdint.h>

#include "lib/config/config.h"
#include "lib/job/job.h"
#include "lib/job/spool.h"
#include "lib/service/http.h"

struct dx_engine;

enum dx_note_kind {
  DX_NOTE_UPLOADING,  /* done of total bytes, all documents together */
  DX_NOTE_WAITING,    /* for the extraction; since_ms */
  DX_NOTE_DOWN,       /* the service cannot be reached; since_ms, text */
  DX_NOTE_UP,         /* and now it can */
  DX_NOTE_UNEXPECTED, /* a response that cannot be right; text; tried again */
  DX_NOTE_PAUSED,     /* asked for fewer calls */
  DX_NOTE_TOKEN,      /* refused or not made; tried again; text */
  DX_NOTE_ADMIN,      /* somebody must fix the configuration; text */
  DX_NOTE_LOCAL,      /* a failure here; text; tried again every minute */
  DX_NOTE_LOCAL_OVER
};

struct dx_note {
  enum dx_note_kind kind;
  int64_t done, total;
  int64_t since_ms; /* monotonic */
  const char *text; /* for the person; "" when there is none */
};

struct dx_observer {
  void (*note)(void *ctx, struct dx_job *job, const struct dx_note *note);
  /* The job needs nothing more from the engine: dx_job_outcome() says what
   * became of it. Called once a job. */
  void (*ended)(void *ctx, struct dx_job *job);
  /* Asked before a source is created for the job: false puts it off for
   * DX_ASK_AGAIN_MS, or forever if the job was canceled. NULL: always true. */
  bool (*may_create)(void *ctx, struct dx_job *job);
  void *ctx;
};

struct dx_engine *dx_engine_new(const struct dx_config *config,
                                struct dx_spool *spool, struct dx_http *http,
                                const struct dx_observer *observer);
void dx_engine_free(struct dx_engine **engine); /* ends calls, no `ended` */

/* E_CONFIG if the job's service is not in the config, or its BaseURL is
 * another than the one of a source that is under way. */
enum dx_code dx_engine_add(struct dx_engine *engine, struct dx_job *job,
                           struct dx_err *err) DX_MUST_USE;

/* One round of the event loop: does what is due, then waits for the next event,
 * at most timeout_ms, or until one of the descriptors can be read. The first of
 * them is the one that asks to stop: it also ends the wait for a TokenCommand.
 */
enum dx_code dx_engine_run(struct dx_engine *engine, int64_t timeout_ms,
                           const int *wake, size_t wake_count,
                           struct dx_err *err) DX_MUST_USE;

/* Ends everything under way now, without waiting for the network, and lets
 * go of all jobs. */
void dx_engine_stop(struct dx_engine *engine);

#endif
