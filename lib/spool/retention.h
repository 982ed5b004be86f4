/*
 * retention.h - how long a job stays in the spool. Pure: no files, no clock.
 *
 * A record whose print job cupsd may run again stays: it alone knows what was
 * extracted, and without it everything would be sent a second time.
 */
#ifndef DX_RETENTION_H
#define DX_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

enum dx_retention {
  DX_RETENTION_KEEP,
  DX_RETENTION_EXPIRE, /* it was not finished: it becomes `expired`, which its
                          manifests say, and its documents are removed */
  DX_RETENTION_CLEAN,  /* everything personal is removed; key, digests, source
                          ids and outcome stay */
  DX_RETENTION_REMOVE
};

/* May cupsd run its print job again: is it held, or job-preserved? */
enum dx_rerun {
  DX_RERUN_NO,
  DX_RERUN_MAY,
  DX_RERUN_UNKNOWN, /* cupsd did not say */
};

struct dx_retention_facts {
  bool finished;   /* dx_job_is_finished(), and no hook is pending */
  bool cleaned;    /* nothing personal is left in it */
  int64_t idle_ms; /* since the journal was written */
  int64_t keep_jobs_ms;
  int64_t keep_unfinished_ms; /* of its section; 0: the section is gone, and may
                                 come back */
  enum dx_rerun rerun;
};

enum dx_retention dx_retention(const struct dx_retention_facts *facts);

#endif
