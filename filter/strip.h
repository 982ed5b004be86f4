/*
 * strip.h - removes from a PDF what extraction does not need and could be
 * confidential or harmful: attached files, sounds and movies, scripts, and
 * actions that start something. For pdf.c.
 *
 * What a viewer prints is not changed: pages, annotations with their
 * appearance, form values. Links and bookmarks are kept, too.
 *
 * Memory: that of walk.h.
 */
#ifndef DX_FILTER_STRIP_H
#define DX_FILTER_STRIP_H

#include <stdbool.h>

#include <qpdf/qpdf-c.h>

struct strip_count {
  int attachments; /* embedded files, media, and lists of them */
  int actions;     /* scripts, programs to launch, forms to submit */
};

/* False if the PDF cannot be walked (walk.h). */
bool strip_active(qpdf_data pdf, struct strip_count *ret_count);

#endif
