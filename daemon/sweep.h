/*
 * sweep.h - removes from the spool what is no longer needed, at most once an
 * hour.
 *
 *   incoming/   directories that no backend has written to for a minute
 *   jobs/       leftovers of a crash: finished jobs are moved; a job that was
 *               not finished within KeepUnfinished is passed on to expire
 *   finished/   according to retention.h
 *   aliases/    links to jobs that are in neither of these directories
 *
 * A jump of the wall clock must not make everything old at once: if the last
 * sweep was more than a day ago, only temporary files are swept, and jobs the
 * next time; and no job expires within a day, so that there is time to correct
 * the clock.
 *
 * cupsd is asked about each record that may be removed, so that a sweep takes
 * several turns of the event loop.
 *
 * Blocking: the disk; a turn ends after DX_SWEEP_TURN_MS, with the record that
 * it has begun, which is one fsync at most. Failures are logged, not reported.
 */
#ifndef DX_SWEEP_H
#define DX_SWEEP_H

#include "lib/config/config.h"
#include "lib/spool/retention.h"
#include "lib/spool/spool.h"

struct dx_sweep {
  const struct dx_config *config; /* KeepJobs, and each KeepUnfinished */
  /* A job in memory, whose journal the sweep must not write; else NULL. */
  struct dx_job *(*held)(void *ctx, const char *key);
  /* The journal of a job in jobs/ cannot be read. */
  void (*damaged)(void *ctx, const char *key);
  /* A job was not finished within KeepUnfinished. Takes it, unless it is in
   * memory. */
  void (*expire)(void *ctx, struct dx_job *job);
  void *ctx;
  /* May cupsd run the print job with this key again? ASKED: call again later.
   * user: NULL if it is not known. */
  enum dx_rerun (*rerun)(void *rerun_ctx, const char *cups_id, const char *uuid,
                         const char *user, const char *key);
  void *rerun_ctx;
  int64_t expire_ms; /* monotonic: no job expires before then; kept between two
                        configurations */
  /* Of a sweep in progress; zeros at first. */
  enum dx_spool_part part;
  DIR *dir;               /* of this part; NULL: no sweep */
  char key[DX_KEY_BYTES]; /* that an answer is awaited for; else "" */
  size_t print; /* of this key: the next one that cupsd is asked about */
  enum dx_rerun its_rerun; /* as far as it has answered */
  bool cupsd_is_silent;
};

/* Sweeps, or continues. Returns when to call it again, in milliseconds: at once
 * (0), after the next event, but at least then, or after DX_SWEEP_GAP_MS. */
int64_t dx_spool_sweep(struct dx_spool *spool, struct dx_sweep *sweep);

/* True between two calls of one sweep. */
bool dx_sweep_is_active(const struct dx_sweep *sweep);

/* Ends a sweep; accepts zeros. */
void dx_sweep_stop(struct dx_sweep *sweep);

#endif
