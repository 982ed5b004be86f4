/*
 * tiff.h - one TIFF in, a PDF of all its pages out. Nothing else knows libtiff.
 * cups-filters would convert the first page only.
 *
 * Every page is decoded completely, so that damage is noticed: the document is
 * refused if libtiff warns about the data of a page. Nothing is lost by the
 * conversion: what is black and white becomes group 4, a JPEG in one piece
 * stays what it is, everything else is compressed without loss, with at most 8
 * bits per color, on white where it is transparent. Thumbnails and masks are
 * not pages.
 *
 * A hostile TIFF can make libtiff take all of the processor or crash: the
 * caller runs this in a separate process. The same TIFF gives the same bytes.
 *
 * Ownership: as in pdf.h. Blocking: as long as the document takes.
 */
#ifndef DX_TIFF_H
#define DX_TIFF_H

#include "filter/pdf.h"

/*
 * Writes the PDF of the pages that task->options chooses. DX_REASON_NONE and
 * *ret_done; or DAMAGED, NO_PAGES, TOO_COMPLEX (a page needs too much memory),
 * TOO_LARGE (more than task->most_bytes), TYPE (an encoding that libtiff does
 * not know), TROUBLE.
 */
enum dx_reason tiff_to_pdf(const struct pdf_task *task,
                           struct pdf_done *ret_done);

#endif
