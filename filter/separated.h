/*
 * separated.h - does a PDF have separator pages already? Part of the room of
 * libqpdf, beside pdf.c and strip.c.
 *
 * A page is the separator page if it draws the same with the same fonts and
 * pictures, byte for byte once unpacked, by itself or as the one thing that
 * pdftopdf put on a sheet. What only looks like it is another page: to leave
 * out a separator between two cases would mix two patients.
 *
 * Blocking: unpacks the content of every page, its pictures only where all
 * else is the same.
 */
#ifndef DX_FILTER_SEPARATED_H
#define DX_FILTER_SEPARATED_H

#include <stdbool.h>

#include <qpdf/qpdf-c.h>

/* True if one of the pages of pdf is the first page of separator. */
bool is_separated(qpdf_data pdf, int pages, qpdf_data separator);

#endif
