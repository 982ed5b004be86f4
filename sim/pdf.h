/*
 * pdf.h - the text of a PDF file, from poppler's pdftotext run as a child.
 *
 * Blocking: until the child ends, at most a minute. Not in a request.
 */
#ifndef SIM_PDF_H
#define SIM_PDF_H

#include "sim/buf.h"

/*
 * Adds the text of the file at `path` (absolute) to *ret; each page ends in a
 * form feed. False when the file cannot be decoded, takes too long, has more
 * than 64 MiB of text, or `stop_fd` became readable: the child is ended.
 */
bool sim_pdf_text(const char *path, int stop_fd, struct sim_buf *ret);

#endif
