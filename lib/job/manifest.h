/*
 * manifest.h - what a consumer is told of a submission beside its results: job,
 * files, cases, times. It is made of the facts of the journal, and no clock is
 * read: delivered again after a crash it has the same bytes.
 *
 * Ownership: the caller frees the text. Blocking: never.
 */
#ifndef DX_MANIFEST_H
#define DX_MANIFEST_H

#include "lib/job/job.h"

/* The JSON text; NULL when memory is out. */
char *dx_manifest_text(const struct dx_submission *sub);

#endif
