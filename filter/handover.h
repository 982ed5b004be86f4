/*
 * handover.h - passes what todocextract-check has made of a document to the
 * todocextract of the same document, past the converter of CUPS that runs
 * between them: a PDF, or why it is refused.
 *
 * It is a file in the directory for temporary files, because the two have
 * nothing else in common. Its name is a digest of the seal
 * (lib/print/bundle.h), so that it belongs to one run of one print job, in
 * which cupsd runs the filters of one document after those of the other; it
 * exists from the end of todocextract-check to the end of the converter.
 *
 * Ownership: descriptors are the caller's. Blocking: local disk.
 */
#ifndef DX_FILTER_HANDOVER_H
#define DX_FILTER_HANDOVER_H

#include <stdbool.h>

#include "filter/task.h"
#include "lib/base/fs.h"

/* Begins a file below dirfd, which is borrowed: a PDF may be written to
 * temp->fd. False if it cannot be created. */
bool handover_begin(struct dx_temp *temp, int dirfd, const char *seal);

/* Hands over the PDF, with NONE, or the refusal; ends `temp`. False if that
 * fails: the document is then empty for todocextract, which refuses it. */
bool handover_give(struct dx_temp *temp, enum dx_reason reason,
                   const struct pdf_done *done);

/*
 * Takes what was handed over; false if nothing was. *ret_fd is the PDF, for
 * reading, or -1 for a refusal, whose reason, page, and text are in *ret_reason
 * and *ret_done.
 */
bool handover_take(int dirfd, const char *seal, enum dx_reason *ret_reason,
                   struct pdf_done *ret_done, int *ret_fd);

#endif
