/*
 * results.h - delivers results to the directory that other software watches
 * (doc/architecture.md, "Results"; doc/policy.md, "Results").
 *
 * Delivered files are not replaced, except a manifest by a later one of its
 * job. A file of another user that has the name of a result is renamed, never
 * followed.
 *
 * Blocking: the disk. Errors: those of fs.h; E_DAMAGED when a stored result
 * does not match the journal, or is missing; E_TAKEN when our user has written
 * a file of that name with other bytes.
 */
#ifndef DX_RESULTS_H
#define DX_RESULTS_H

#include <stddef.h>

#include "lib/spool/job.h"

/*
 * "<source_id>-<case_id>.json" and "<source_id>.job.json"; without a source id
 * the job key and the submission's number take its place. Whatever the ids
 * contain, a name is safe, and is not that of other ids (doc/architecture.md,
 * "Results"). The caller frees; NULL when out of memory.
 */
char *dx_result_name(const char *source_id, const char *case_id);
char *dx_manifest_name(const struct dx_submission *sub, const char *source_id);

/* The JSON text of a manifest (docextract-results(5)); the caller frees it;
 * NULL when out of memory. It depends only on the journal, not on the time, so
 * it has the same bytes if it is delivered again after a crash. */
char *dx_manifest_text(const struct dx_submission *sub);

#define DX_RESULTS_DIR_MODE 02770

/* Creates the results directory unless it exists, in a directory that
 * must exist, and tries to write to it (dx_fs_probe()): this detects, before
 * the service is called, that results cannot be delivered. */
enum dx_code dx_results_prepare(const char *path,
                                struct dx_err *err) DX_MUST_USE;

/* Copies the stored result of case `index` to the directory, mode 0640, unless
 * an earlier attempt has. */
enum dx_code dx_result_deliver(const struct dx_submission *sub, size_t index,
                               const char *results_dir,
                               struct dx_err *err) DX_MUST_USE;

/* Writes the manifest, mode 0640, and removes the one of an earlier attempt
 * of this submission that had no source. If a manifest of another job has the
 * name, this one is named as if there were no source. With ret_path, it is
 * written only if it does not exist, and the caller frees its path. */
enum dx_code dx_manifest_deliver(const struct dx_submission *sub,
                                 const char *results_dir, char **ret_path,
                                 struct dx_err *err) DX_MUST_USE;

#endif
