/*
 * separated.h - does a PDF already contain separator pages? For pdf.c.
 *
 * A page is the separator page if it draws the same with the same fonts and
 * images, byte for byte when decoded, either directly or as the only object
 * that pdftopdf placed on the page. A page that only looks similar is not one:
 * a missing separator between two cases would mix up two patients.
 *
 * Blocking: decodes the content of every page, and images only if everything
 * else is the same.
 */
#ifndef DX_FILTER_SEPARATED_H
#define DX_FILTER_SEPARATED_H

#include <stdbool.h>

#include <qpdf/qpdf-c.h>

/* True if one of the pages of pdf is the first page of separator. */
bool is_separated(qpdf_data pdf, int pages, qpdf_data separator);

#endif
