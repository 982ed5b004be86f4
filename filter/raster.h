/*
 * raster.h - checks that PWG Raster and Apple Raster (URF), which phones and
 * other CUPS servers send, are complete. CUPS's own reader and rastertopdf
 * accept a file that ends early, as a document with fewer pages.
 *
 * What cannot be detected: a file without a number of pages (0) that was cut
 * between two pages.
 *
 * Sources: PWG 5102.4-2012, "PWG Raster Format"; cups/raster-stream.c of CUPS
 * for the page header and for URF.
 *
 * Memory: constant. Blocking: reads the document once.
 */
#ifndef DX_FILTER_RASTER_H
#define DX_FILTER_RASTER_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/task.h"

#define RASTER_LOOK_BYTES 16 /* enough for raster_begins() */

/* True if the bytes begin like a document of one of the two formats. */
bool raster_begins(const void *bytes, size_t len);

/*
 * For run_isolated(): reads the document of the task, whose offset is 0, and
 * writes nothing. Each row and each repetition of a row must end where the
 * header of the page states, all rows and all stated pages must be there, and
 * only zeros may follow. INCOMPLETE, with the page and what is missing; DAMAGED
 * if the content does not fit together.
 */
enum dx_reason raster_check(const struct pdf_task *task,
                            struct pdf_done *ret_done);

#endif
