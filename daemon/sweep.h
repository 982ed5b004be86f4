/*
 * sweep.h - removing from the spool what is no longer needed, at most once an
 * hour.
 *
 *   incoming/   directories that no backend has written to for a minute
 *   jobs/       what a crash left: finished jobs are moved; a job that was not
 *               did anything about within KeepUnfinished becomes `expired`,
 *               which its manifests say, and its documents are removed
 *   finished/   what retention.h says
 *
 * A wall clock that jumps must not make everything old at once: after more than
 * a day without a sweep only incoming/ is swept, the rest the next time.
 *
 * Blocking: the disk, at most DX_SWEEP_MS. Failures are logged, not reported.
 */
#ifndef DX_SWEEP_H
#define DX_SWEEP_H

#include "lib/config/config.h"
#include "lib/spool/retention.h"
#include "lib/spool/spool.h"

struct dx_sweep {
  const struct dx_config *config; /* KeepJobs, and each KeepUnfinished */
  /* Jobs that are in memory, and whose journal is therefore written by others
   * than the sweep. May be NULL. */
  bool (*is_held)(void *ctx, const char *key);
  /* May cupsd run that print job again? */
  enum dx_rerun (*rerun)(void *ctx, const char *cups_id, const char *uuid);
  /* The journal of a job was written. */
  void (*saved)(void *ctx, struct dx_job *job);
  void *ctx;
};

void dx_spool_sweep(struct dx_spool *spool, const struct dx_sweep *sweep);

#endif
