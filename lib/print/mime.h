/*
 * mime.h - recognizes the type of a document by its first bytes, not by its
 * name or its declared type. It does not check whether the file is intact.
 *
 * Ownership: static text. Blocking: never. Errors: NULL for any other type.
 */
#ifndef DX_MIME_H
#define DX_MIME_H

#include <stddef.h>

#define DX_MIME_PDF "application/pdf"
#define DX_MIME_JPEG "image/jpeg"
#define DX_MIME_PNG "image/png"
#define DX_MIME_TIFF "image/tiff"
#define DX_MIME_PNM "image/x-portable-anymap"
#define DX_MIME_TEXT "text/plain"

/* The pictures that the filter converts to PDF: its function, image_pdf_...
 * (filter/image_pdf.h), the type, and the first bytes of a file; a type may
 * have several rows. PNM has too many: see mime.c. */
#define DX_MIME_PICTURES(X)                                \
  X(tiff, DX_MIME_TIFF, "II*\0") /* both byte orders, */   \
  X(tiff, DX_MIME_TIFF, "MM\0*")                           \
  X(tiff, DX_MIME_TIFF, "II+\0") /* and for large files */ \
  X(tiff, DX_MIME_TIFF, "MM\0+")                           \
  X(gif, "image/gif", "GIF87a")                            \
  X(gif, "image/gif", "GIF89a")                            \
  X(pnm, DX_MIME_PNM, "")

/* How many of the first bytes matter; fewer for a shorter file. */
#define DX_MIME_LOOK_BYTES 1024

/* The MIME type: one of the three that the service accepts
 * (doc/service-interface.md, "Endpoints"), one that the filter converts to PDF,
 * or NULL. Text is content without NUL that is of no other type. */
const char *dx_mime_of_bytes(const void *bytes, size_t len);

#endif
