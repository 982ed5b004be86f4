/*
 * failures.h - jobs that failed after their print jobs had ended: somebody was
 * told that the job completed, and has to learn that it did not (doc/policy.md,
 * "Print jobs").
 */
#ifndef DX_FAILURES_H
#define DX_FAILURES_H

#include "lib/spool/spool.h"

/* True if it was handed over and failed, and nobody has acknowledged that. */
bool dx_job_is_unseen_failure(const struct dx_job *job);

/* How many of them came from this queue. Reads all unfinished jobs but `held`,
 * which this process holds (NULL: none); what cannot be read does not count. */
size_t dx_spool_unseen_failures(struct dx_spool *spool, const char *queue,
                                const struct dx_job *held);

/* Marks all of them, of any queue, as seen, except those that another process
 * holds. *ret_count is how many. */
enum dx_code dx_spool_see_failures(struct dx_spool *spool, size_t *ret_count,
                                   struct dx_err *err) DX_MUST_USE;

#endif
