/*
 * task.h - what the conversion of a document needs and returns, for all files
 * that take part in it.
 *
 * Ownership: descriptors and strings are borrowed.
 */
#ifndef DX_FILTER_TASK_H
#define DX_FILTER_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/print/bundle.h"

struct options;
struct text_module;

#define PDF_WHY_BYTES 160

/* All descriptors that the work may use; 0 or less: none, except for in_fd. */
struct pdf_task {
  const char *type; /* of the document, as document_type_of() returns it */
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
  int needs_fonts;         /* not 0, with TROUBLE: try again with fonts */
  int page;                /* of the refusal, from 1; 0: unknown */
  int in_image;            /* not 0, with DAMAGED: an image is, as of a scan */
  int area[4];             /* of PostScript, as its comments state it, in
                              points: left, bottom, right, top; or zeros */
  char why[PDF_WHY_BYTES]; /* "an image ends early"; may be empty */
  char program[DX_PROGRAM_BYTES]; /* of a refused document; may be empty */
};

#endif
