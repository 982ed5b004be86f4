/*
 * pdf.h - rewrites a PDF, so that it contains what its chosen pages show and
 * nothing else.
 *
 * Ownership and blocking: as in document.h. Errors: a reason of bundle.h.
 */
#ifndef DX_FILTER_PDF_H
#define DX_FILTER_PDF_H

#include "filter/task.h"

/*
 * Writes the PDF in fd, or returns why not. NONE; PASSWORD, PROTECTED, DAMAGED,
 * NO_PAGES, NOT_DRAWN, UNKNOWN, CHARACTERS, TOO_COMPLEX, NO_SEPARATOR, TROUBLE.
 * An empty password, or one that only restricts changes, is accepted. `ours`:
 * this program created the document, and all of its pages are chosen already.
 */
enum dx_reason pdf_rewrite(int fd, bool ours, const struct pdf_task *task,
                           struct pdf_done *ret_done);

#endif
