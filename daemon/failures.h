/*
 * failures.h - the failed jobs that were not acknowledged: the next print job
 * of their queue reports them (doc/policy.md, "Print jobs"). Kept while jobs
 * change: the journals of all jobs would take long to read at the end of each
 * print job.
 *
 * Ownership: keys and queues are copied. Blocking: never.
 */
#ifndef DX_DAEMON_FAILURES_H
#define DX_DAEMON_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "lib/spool/job.h"

struct failures {
  LIST_HEAD(, failure) list; /* the newest first */
  void *tree;                /* the same by key: tsearch(3) */
};

/* Adds the job if dx_job_is_unseen_failure(). False: out of memory. */
bool failures_add(struct failures *failures, const struct dx_job *job);
/* The job may change: nothing if it is not here. */
void failures_remove(struct failures *failures, const char *key);
void failures_release(struct failures *failures);

/* How many are of this queue. */
size_t failures_count(const struct failures *failures, const char *queue);
/* Copies the key of one of them; false if there is none. */
bool failures_first(const struct failures *failures, char key[DX_KEY_BYTES]);

#endif
