/*
 * tail.h - the end of a PDF, and the only repair that we make ourselves: an end
 * that is missing, garbled, or followed by padding, while the cross-reference
 * table before it is intact. Nothing of the document is guessed; only the
 * offset of the table is written again.
 *
 * Whether the rest of the PDF is complete is decided by whole.h.
 */
#ifndef DX_FILTER_TAIL_H
#define DX_FILTER_TAIL_H

#include <stdbool.h>

/* True if a newer version of the document follows the end of an older one and
 * is truncated. Viewers would show the older one. */
bool tail_is_cut(int fd);

/*
 * fd: a regular file, opened for reading; copy_fd: an empty one, opened for
 * writing, which gets the PDF with a correct end. False if the end is not what
 * is wrong with it, or if there is no room for a copy.
 *
 * Blocking: copies the file.
 */
bool tail_repair(int fd, int copy_fd);

#endif
