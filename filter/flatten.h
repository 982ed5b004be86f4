/*
 * flatten.h - draws annotations and form fields, which a PDF prints besides the
 * content of its pages, on the pages, and settles layers by their print state.
 * It does not check what a page draws.
 *
 * An appearance is put on its page as it is (ISO 32000-1, 12.5.5). A value
 * without one is drawn by the text writer (text.h). If only the program that
 * created the document can draw it, the document is refused. Afterwards, the
 * pages have no /Annots.
 *
 * The contents of the pages must have been checked before: if a page has more Q
 * than q, they are replaced by their unpacked bytes.
 *
 * Ownership: everything is borrowed; a call releases all handles of the
 * document. Values stay mapped from spare_fd until the process ends. Memory:
 * the unpacked content of a page. Blocking: linear in the number of
 * annotations. Errors: a reason of bundle.h; the document is then useless.
 */
#ifndef DX_FILTER_FLATTEN_H
#define DX_FILTER_FLATTEN_H

#include <qpdf/qpdf-c.h>

#include "filter/task.h"

struct flatten_page {
  int id;     /* of its dictionary, which inherits nothing */
  int number; /* in the document, from 1 */
};

/* Processes the chosen pages, at least one. NONE, NOT_DRAWN, DAMAGED,
 * CHARACTERS, TOO_COMPLEX, TROUBLE; `done` then has the details. */
enum dx_reason flatten_pages(qpdf_data pdf, const struct pdf_task *task,
                             const struct flatten_page *pages, int count,
                             struct pdf_done *done);

#endif
