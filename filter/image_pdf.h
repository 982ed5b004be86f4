/*
 * image_pdf.h - writes a PDF whose pages are one image each. The images come
 * from tiff.c.
 *
 * The same images give the same bytes. Streams are written as they come:
 * memory does not grow with the document, except for the offset of each object.
 *
 * Ownership: the descriptor is borrowed. Blocking: writes.
 * Errors: the first one is remembered, and image_pdf_end() reports it.
 */
#ifndef DX_IMAGE_PDF_H
#define DX_IMAGE_PDF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_pdf_coding {
  IMAGE_PDF_ROWS, /* rows as in memory, padded to bytes; compressed here */
  IMAGE_PDF_G4,   /* CCITT group 4; its white is a 0 in the image */
  IMAGE_PDF_JPEG
};

struct image_pdf_page {
  uint32_t width, height; /* pixels, as stored */
  double x_dpi, y_dpi;    /* as stored, positive */
  int orientation;        /* 1 to 8, as in TIFF and Exif */
  int components;         /* 1: gray, 3: RGB */
  int bits;               /* of each: 1, 2, 4 or 8 */
  bool inverted;          /* gray: 0 is white */
  enum image_pdf_coding coding;
};

struct image_pdf; /* opaque */

/* fd: an empty file, opened for writing. NULL if out of memory. */
struct image_pdf *image_pdf_new(int fd);
void image_pdf_free(struct image_pdf **pdf);

/* Begins a page; each is ended before the next. */
void image_pdf_begin_page(struct image_pdf *pdf,
                          const struct image_pdf_page *page);

/* Adds to the image: one row, which it changes, or bytes already encoded. */
void image_pdf_add(struct image_pdf *pdf, unsigned char *bytes, size_t len);

void image_pdf_end_page(struct image_pdf *pdf);

/* Bytes so far. */
int64_t image_pdf_size(const struct image_pdf *pdf);

/* Writes the end of the file. False if not everything could be written. */
bool image_pdf_end(struct image_pdf *pdf);

#endif
