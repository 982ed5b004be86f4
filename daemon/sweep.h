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
 * next time.
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
  /* A job in memory, whose journal the sweep must not write; else NULL. */
  struct dx_job *(*held)(void *ctx, const char *key);
  /* A job was not finished within KeepUnfinished. Takes it, unless it is in
   * memory. */
  void (*expire)(void *ctx, struct dx_job *job);
  void *ctx;
  /* May cupsd run that print job again? */
  enum dx_rerun (*rerun)(void *rerun_ctx, const char *cups_id,
                         const char *uuid);
  void *rerun_ctx;
};

void dx_spool_sweep(struct dx_spool *spool, const struct dx_sweep *sweep);

#endif
