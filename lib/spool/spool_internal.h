/*
 * spool_internal.h - what spool.c and sweep.c share; nobody else includes it.
 */
#ifndef DX_SPOOL_INTERNAL_H
#define DX_SPOOL_INTERNAL_H

#include <dirent.h>

#include "lib/spool/spool.h"

/* Opens the directory of a job, finished or not. E_NOT_FOUND. */
enum dx_code spool_open_job(struct dx_spool *spool, const char *key,
                            struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/* Locks an open job without waiting: E_BUSY with the holder, E_NOT_FOUND if
 * the directory was removed before it was locked. ret_holder: may be NULL. */
enum dx_code spool_lock_job(struct dx_spool *spool, struct dx_job *job,
                            pid_t *ret_holder, struct dx_err *err) DX_MUST_USE;

/* Opens a directory of the spool for reading; NULL with *err (may be NULL). */
DIR *spool_open_list(struct dx_spool *spool, const char *name,
                     struct dx_err *err);

/* Milliseconds since a file, or the directory itself as ".", was written;
 * INT64_MAX if there is none. */
int64_t spool_age_ms(int dirfd, const char *name);

#endif
