/*
 * document.h - one document of any type that the driver names becomes a PDF,
 * JPEG, or PNG that can be sent, with everything that its chosen pages show and
 * nothing else; or a reason why it cannot be sent. Its bytes determine its
 * type. The steps are in doc/architecture.md, "Life of a document".
 *
 * Memory of a PDF grows with the number of objects and the largest stream, not
 * with the document. A hostile document can make a library use all memory and
 * processor time, or crash: the caller runs this in a process with limits
 * (isolate.h).
 *
 * Ownership: descriptors and strings are borrowed for the call.
 * Blocking: as long as the document takes. Errors: a reason of bundle.h.
 */
#ifndef DX_FILTER_DOCUMENT_H
#define DX_FILTER_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/print/bundle.h"

struct options;
struct text_module;

#define PDF_WHY_BYTES 160

/* All descriptors that the work may use; 0 or less: none, except for in_fd. */
struct pdf_task {
  const char *type; /* of the document; mime.h */
  int in_fd;        /* a regular file, opened for reading */
  int out_fd;       /* an empty one, opened for writing: stdout, in the child
                       of isolate.c */
  int spare_fd;     /* an empty one, for a PDF that is made on the way */
  int separator_fd; /* a PDF with one page, if separator pages were selected */
  const struct options *options;
  const struct text_module *text; /* NULL: not loaded */
  int64_t most_bytes;             /* of the document that is sent */
  bool sandbox_optional;          /* Sandbox of docextract.conf(5) */
};

/* Except for `pages`, also set if the document is refused. */
struct pdf_done {
  int pages;               /* separator pages included */
  int removed;             /* entries that no page shows */
  bool needs_fonts;        /* with TROUBLE: try again with fonts */
  int page;                /* of the refusal, from 1; 0: unknown */
  char why[PDF_WHY_BYTES]; /* "an image ends early"; may be empty */
};

/* One of lib/print/mime.h; NULL if it cannot be sent. */
const char *document_type_of(int fd);

/* The type that it is sent as. */
const char *document_sent_as(const char *type);

/* For run_isolated(): converts the document of the task to the one that is
 * sent, in out_fd. */
enum dx_reason document_convert(const struct pdf_task *task,
                                struct pdf_done *ret_done);

/*
 * pdf.c: writes the PDF in fd, or returns why not. NONE; PASSWORD, PROTECTED,
 * DAMAGED, NO_PAGES, NOT_DRAWN, UNKNOWN, CHARACTERS, TOO_COMPLEX, NO_SEPARATOR,
 * TROUBLE. An empty password, or one that only restricts changes, is accepted.
 * `ours`: this program created the document, and all of its pages are chosen
 * already.
 */
enum dx_reason pdf_rewrite(int fd, bool ours, const struct pdf_task *task,
                           struct pdf_done *ret_done);

#endif
