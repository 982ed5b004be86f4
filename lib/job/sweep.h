/*
 * sweep.h - removing what nobody needs from the spool, at most once an hour,
 * whoever comes by first.
 *
 *   incoming/   directories that nobody received into for a minute
 *   finished/   job files of which nothing was heard for KeepJobs
 *   jobs/       what a crash left: a finished job that was not moved; a job
 *               that nobody did anything about for KeepUnfinished becomes
 *               `expired`, and its documents go
 *
 * A wall clock that jumped must not make everything old at once: after more
 * than a day without a sweep nothing but incoming/ is touched, and the next
 * sweep decides.
 *
 * Blocking: the disk, at most DX_SWEEP_MS. Failures are logged, not reported.
 */
#ifndef DX_SWEEP_H
#define DX_SWEEP_H

#include "lib/config/config.h"
#include "lib/job/spool.h"

struct dx_sweep {
  const struct dx_config *config; /* KeepJobs, and each KeepUnfinished */
  /* Jobs that this process holds: looking at a lock would lose it. May be
   * NULL. */
  bool (*is_held)(void *ctx, const char *key);
  void *ctx;
};

void dx_spool_sweep(struct dx_spool *spool, const struct dx_sweep *sweep);

#endif
