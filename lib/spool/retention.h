/*
 * retention.h - how long a job stays in the spool. Pure: no files, no clock.
 *
 * A record stays while cupsd may run its print job again: without the record,
 * extracted documents would be sent again.
 */
#ifndef DX_RETENTION_H
#define DX_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

enum dx_retention {
  DX_RETENTION_KEEP,
  DX_RETENTION_EXPIRE, /* it was not finished: it becomes `expired`, also in its
                          manifests, and its documents are removed */
  DX_RETENTION_CLEAN,  /* personal data is removed; key, digests, source ids,
                          and outcome stay */
  DX_RETENTION_REMOVE
};

/* May cupsd run its print job again: is it held, or job-preserved? */
enum dx_rerun {
  DX_RERUN_NO,
  DX_RERUN_MAY,
  DX_RERUN_UNKNOWN, /* cupsd did not answer */
  DX_RERUN_ASKED    /* its answer is to come; not for dx_retention() */
};

struct dx_retention_facts {
  bool finished;    /* dx_job_is_finished() */
  bool awaits_hook; /* dx_job_awaits_hook(): a finished job stays until then */
  bool is_kept_waiting; /* dx_job_is_kept_waiting(): it does not expire */
  int64_t idle_ms;      /* since the journal was written */
  int64_t keep_jobs_ms;
  int64_t keep_unfinished_ms; /* of its section; 0: the section is missing,
                                 perhaps temporarily */
  enum dx_rerun rerun;
};

enum dx_retention dx_retention(const struct dx_retention_facts *facts);

#endif
