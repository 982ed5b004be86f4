/*
 * status_ends.h - notices the end of a submission, whichever process brought it
 * about: every write of a journal is a rename in the job's directory, and a job
 * that is finished leaves jobs/. inotify(7) reports both.
 *
 * Ownership: `spool` and `spool_dir` are borrowed, and so is the submission
 * that is reported, for the call. Blocking: the disk. Errors: none; what
 * inotify cannot report is looked for every few seconds.
 */
#ifndef DX_DAEMON_STATUS_ENDS_H
#define DX_DAEMON_STATUS_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/spool/spool.h"

struct tracked;

struct ends {
  int fd; /* readable when there is something to look at; -1: no inotify */
  int jobs;
  struct dx_spool *spool;
  const char *spool_dir;     /* its path */
  struct tracked *jobs_seen; /* what is in jobs/ */
  size_t count, room;
  size_t unwatched; /* of these */
  int64_t look_ms;  /* monotonic: when to look at all jobs */
  void (*on_end)(void *ctx, const struct dx_submission *sub);
  void *ctx;
};

/* What ended before is not reported. */
void ends_start(struct ends *ends, struct dx_spool *spool,
                const char *spool_dir);

/* Reports what ended since the last call. */
void ends_look(struct ends *ends);

#endif
