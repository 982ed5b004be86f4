/*
 * image_pdf.h - writes a PDF with one image on each page, for tiff.c, gif.c,
 * bmp.c, and pnm.c; only as complete as pdf.c, which reads it, requires. It
 * decodes nothing. The same images give the same bytes. Hostile images can make
 * a library take all of the processor or crash: the caller runs this in a
 * separate process, which also limits the size of the file (isolate.h).
 *
 * Memory: the packed image of a page, and 200 bytes for each page. Ownership:
 * arguments are borrowed for the call. Blocking: reads and writes files.
 * Errors: the first one is remembered, and returned by image_pdf_make().
 */
#ifndef DX_FILTER_IMAGE_PDF_H
#define DX_FILTER_IMAGE_PDF_H

#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "filter/task.h"
#include "lib/base/buf.h"

struct image_pdf_page {
  uint32_t width, height; /* pixels, as stored */
  double x_dpi, y_dpi;    /* as stored; 300 if a page cannot have that size */
  int orientation;        /* as in TIFF and Exif: 1 to 8; 0 is 1 */
  int components;         /* 1: gray, 3: RGB */
  int bits;               /* of each: 1, 2, 4 or 8 */
  bool inverted;          /* 0 is white */
  bool is_jpeg;           /* the source adds a JPEG, not rows */
  const void *profile;    /* ICC; ignored if it is for other components */
  uint32_t profile_len;
};

struct image_pdf {
  const struct pdf_task *task;
  const unsigned char *bytes; /* of the task's file; may be advanced */
  size_t len;
  int number;      /* of the page that is refused, from 1 */
  const char *why; /* if it is damaged */
  struct image_pdf_page page;
  unsigned char *row; /* of the page: row_bytes, which the source sets */
  size_t row_bytes;
  struct dx_buf image; /* packed rows, or the JPEG, which the source adds */
  /* Only for image_pdf.c: */
  bool failed;
  int64_t size; /* so far */
  size_t objects, pages;
  struct dx_buf dict;    /* of the next object */
  struct dx_buf offsets; /* of the objects: the lines of the table */
  struct dx_buf kids;    /* the pages */
  size_t profile;        /* the object of the last profile; what it is */
  uLong profile_crc;
  z_stream z; /* of rows */
};

/*
 * Decodes pdf->bytes and adds the pages that the options select. NONE, or
 *   DAMAGED      anything of a page is missing
 *   IMAGES       a GIF or PNM has several
 *   TYPE         an encoding that neither scanners nor fax use
 *   TOO_COMPLEX  a page needs too much memory, or there are too many
 */
typedef enum dx_reason image_pdf_source(struct image_pdf *pdf);

/* The sources: a function, image_pdf_..., the type, and the first bytes of a
 * file; a type may have several rows. PNM has too many, and those of BMP may
 * begin a text: see document.c. */
#define DX_MIME_BMP "image/bmp"
#define DX_MIME_TIFF "image/tiff"
#define DX_MIME_PNM "image/x-portable-anymap"
#define IMAGE_PDF_SOURCES(X)                               \
  X(tiff, DX_MIME_TIFF, "II*\0") /* both byte orders, */   \
  X(tiff, DX_MIME_TIFF, "MM\0*")                           \
  X(tiff, DX_MIME_TIFF, "II+\0") /* and for large files */ \
  X(tiff, DX_MIME_TIFF, "MM\0+")                           \
  X(gif, "image/gif", "GIF87a")                            \
  X(gif, "image/gif", "GIF89a")                            \
  X(bmp, DX_MIME_BMP, "")                                  \
  X(pnm, DX_MIME_PNM, "")
#define X(name, ...) image_pdf_source image_pdf_##name;
IMAGE_PDF_SOURCES(X)
#undef X

/* Converts the task's file, which is mapped as `bytes`, to a PDF in
 * task->spare_fd, and sets ret_done->pages, or ->page and ->why. Returns the
 * reason of the source, NO_PAGES, or TROUBLE. */
enum dx_reason image_pdf_make(const struct pdf_task *task,
                              const unsigned char *bytes, size_t len,
                              image_pdf_source *source,
                              struct pdf_done *ret_done);

/* For the source: begins pdf->page, and ends it when it is complete. DAMAGED:
 * it has no pixels; TOO_COMPLEX: it is larger than any scan; TROUBLE: there is
 * no memory for a row. */
enum dx_reason image_pdf_begin_page(struct image_pdf *pdf);
void image_pdf_add_row(struct image_pdf *pdf); /* changes pdf->row */
void image_pdf_end_page(struct image_pdf *pdf);

#endif
