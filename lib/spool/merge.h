/*
 * merge.h - the same print job again: cupsd reran it, with a new bundle.
 *
 * Crash rule: safe to repeat, because every run brings its bundle.
 * Blocking: the disk.
 */
#ifndef DX_MERGE_H
#define DX_MERGE_H

#include "lib/spool/spool.h"

/*
 * Keeps what was extracted or is under way in `old`, takes everything else from
 * `fresh`, including the name of the service, whose section may have been
 * renamed, and discards `fresh`. E_CHANGED if a place differs from what was
 * sent, E_CONFIG if BaseURL changed while a source is unfinished; both leave
 * everything unchanged.
 */
enum dx_code dx_job_merge(struct dx_spool *spool, struct dx_job *old,
                          struct dx_job **fresh,
                          struct dx_err *err) DX_MUST_USE;

#endif
