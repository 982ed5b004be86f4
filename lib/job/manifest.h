/*
 * manifest.h - what a consumer learns about a submission besides its results:
 * job, files, cases, times. Made from the journal alone, without reading a
 * clock: delivered again after a crash, it has the same bytes.
 *
 * Ownership: the caller frees the text. Blocking: never.
 */
#ifndef DX_MANIFEST_H
#define DX_MANIFEST_H

#include "lib/job/job.h"

/* The JSON text; NULL when out of memory. */
char *dx_manifest_text(const struct dx_submission *sub);

#endif
