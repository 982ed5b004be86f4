/*
 * manifest.h - what a consumer learns about a submission besides its results:
 * job, files, cases, times. Made from the journal alone, without reading a
 * clock: delivered again after a crash, it has the same bytes.
 *
 * Ownership: the caller frees the text. Blocking: never, except for reading a
 * file.
 */
#ifndef DX_MANIFEST_H
#define DX_MANIFEST_H

#include "lib/spool/job.h"

/* The JSON text; NULL when out of memory. */
char *dx_manifest_text(const struct dx_submission *sub);

/* True if the file is a manifest of this job. */
bool dx_manifest_is_of(const struct dx_job *job, int dirfd, const char *name);

#endif
