/*
 * merge.h - the same print job again: cupsd ran it once more, with a bundle of
 * its own.
 *
 * Crash rule: repeated safely, because the new bundle comes again.
 * Blocking: the disk.
 */
#ifndef DX_MERGE_H
#define DX_MERGE_H

#include "lib/job/spool.h"

/*
 * The same print job has come again as `fresh`: what was extracted or is under
 * way in `old` stays, everything else is taken from fresh. `fresh` is
 * discarded. E_CHANGED if a place differs from what was sent; E_CONFIG if
 * BaseURL changed under an unfinished source: nothing is changed then.
 */
enum dx_code dx_job_merge(struct dx_spool *spool, struct dx_job *old,
                          struct dx_job **fresh,
                          struct dx_err *err) DX_MUST_USE;

#endif
