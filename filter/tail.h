/*
 * tail.h - what stands at the end of a PDF, and the one repair that we make
 * ourselves: an end that is missing, garbled or buried below padding, while the
 * cross-reference table before it is there. Nothing of the document is guessed;
 * only where the table is, is written again.
 *
 * Whether the rest of the PDF is there is not decided here.
 */
#ifndef DX_FILTER_TAIL_H
#define DX_FILTER_TAIL_H

#include <stdbool.h>

/* True if a newer version of the document begins behind the end of an older
 * one, and is cut off. Readers would show the older one. */
bool tail_is_cut(int fd);

/*
 * fd: a regular file, opened for reading. Returns a file without a name, for
 * the caller to close, that holds the PDF with a correct end; -1 if the end is
 * not what is wrong with it, or if there is no room for a copy.
 *
 * Blocking: copies the file.
 */
int tail_repair(int fd);

#endif
