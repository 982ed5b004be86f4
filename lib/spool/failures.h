/*
 * failures.h - jobs that failed after their print jobs had ended: somebody was
 * told that the job completed, and has to learn that it did not (doc/policy.md,
 * "Print jobs").
 */
#ifndef DX_FAILURES_H
#define DX_FAILURES_H

#include "lib/spool/spool.h"

/* True if its backend left, which ended the print job as completed, it failed
 * then, and nobody has acknowledged that. */
bool dx_job_is_unseen_failure(const struct dx_job *job);

/* How many of them came from this queue. Reads all unfinished jobs; what cannot
 * be read does not count. */
size_t dx_spool_unseen_failures(struct dx_spool *spool, const char *queue);

/* Marks all of them, of any queue, as seen. Only for docextractd, which first
 * marks and saves those that it has in memory. *ret_count is how many. */
enum dx_code dx_spool_see_failures(struct dx_spool *spool, size_t *ret_count,
                                   struct dx_err *err) DX_MUST_USE;

#endif
