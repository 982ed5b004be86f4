/*
 * pdf.h - one PDF in, the PDF that is sent out. Everything that knows libqpdf
 * is here and in separated.h, strip.h, walk.h and whole.h.
 *
 * The result has the same pages with the same content and nothing else
 * (strip.h), no encryption, the separator page where it was asked for, and no
 * trace of when it was made: the old /ID goes, the new one is a checksum of the
 * content. So the same PDF in gives the same bytes out, run after run
 * (doc/cups.md, "Filters").
 *
 * Memory grows with the number of objects, and with the content of the longest
 * page, not with pictures. A hostile PDF can make libqpdf take all of the
 * memory and processor time, or crash: the caller runs this in a process with
 * limits (isolate.h), which a failed allocation ends (libc.h).
 *
 * Ownership: descriptors and strings are borrowed for the call.
 * Blocking: as long as the document takes. Errors: a reason of bundle.h.
 */
#ifndef DX_FILTER_PDF_H
#define DX_FILTER_PDF_H

#include <stdbool.h>

#include "lib/job/bundle.h"

struct options;

/* All descriptors that the work may use; 0 or less: none, except for in_fd. */
struct pdf_task {
  int in_fd;        /* a regular file, opened for reading */
  int out_fd;       /* an empty one, opened for writing */
  int spare_fd;     /* likewise, for a copy whose end is repaired */
  int every;        /* pages between two separator pages; 0: none; a PDF that
                       has some already gets no more */
  int separator_fd; /* a PDF with one page, if every > 0 */
  /* For tiff.h only: which pages are chosen, how large the PDF may become. */
  const struct options *options;
  int64_t most_bytes;
};

struct pdf_done {
  int pages;      /* separator pages included */
  bool repaired;  /* it had defects that do not matter to its pages */
  bool separated; /* it had separator pages already */
  int removed;    /* entries that no page shows */
};

/*
 * Writes the PDF. DX_REASON_NONE and *ret_done; or PASSWORD, DAMAGED, NO_PAGES,
 * TOO_COMPLEX, NO_SEPARATOR, TROUBLE. A password that only restricts changes,
 * or an empty one, is accepted.
 */
enum dx_reason pdf_rewrite(const struct pdf_task *task,
                           struct pdf_done *ret_done);

/*
 * Only checks, before anybody has repaired or changed the PDF: PASSWORD,
 * DAMAGED (whole.h; also if it has defects and a page shows nothing), NO_PAGES,
 * TOO_COMPLEX, TROUBLE. Of the task only in_fd and spare_fd count. Reads the
 * content of the pages, each stream once, not the pictures.
 */
enum dx_reason pdf_check(const struct pdf_task *task,
                         struct pdf_done *ret_done);

/*
 * Writes a PDF that is not a document but a note with the reason, for
 * pdf_rewrite() after pdftopdf, which returns that reason. fd: an empty file.
 * False if it cannot be written.
 */
bool pdf_write_note(int fd, enum dx_reason reason);

/* The version of libqpdf: "11.3.0". */
const char *pdf_library_version(void);

#endif
