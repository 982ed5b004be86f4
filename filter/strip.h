/*
 * strip.h - takes out of a PDF what extraction does not need and may be
 * somebody else's: attached files, sounds and films, scripts, and actions
 * that start something. Part of the room of libqpdf, beside pdf.c.
 *
 * What a reader prints stays as it is: pages, annotations with their
 * appearance, the values of forms; so do links and bookmarks.
 *
 * Memory: a bit an object, and the branches that wait for their turn.
 */
#ifndef DX_FILTER_STRIP_H
#define DX_FILTER_STRIP_H

#include <stdbool.h>

#include <qpdf/qpdf-c.h>

struct strip_count {
  int attachments; /* embedded files, media, and the lists of them */
  int actions;     /* scripts, programs to start, forms to send */
};

/* False if the PDF is too wild to be walked through, or memory is out. */
bool strip_active(qpdf_data pdf, struct strip_count *ret_count);

#endif
