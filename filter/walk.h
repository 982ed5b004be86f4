/*
 * walk.h - visits the objects of a PDF, each once, however deep or circular it
 * is, so that what cannot be read is noticed. For whole.c.
 *
 * Reads no stream data. Memory: a bit per object, and the branches that are
 * still to be visited.
 */
#ifndef DX_FILTER_WALK_H
#define DX_FILTER_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include <qpdf/qpdf-c.h>

struct walk {
  qpdf_data pdf;
  /* Keys that lead nowhere of interest; NULL: visit all. */
  bool (*skips)(const char *key);
  /* private */
  qpdf_oh *waiting;
  size_t count, room;
  unsigned char *seen;
  size_t seen_bytes;
  /* Why one of the functions below returned false; else an object number was
   * out of bounds. */
  bool is_out_of_memory;
};

/* Marks the object as visited; *ret_before if it was already. */
bool walk_mark(struct walk *w, qpdf_oh object, bool *ret_before);

/* Queues an object; the handle is the walk's from now on. */
bool walk_add(struct walk *w, qpdf_oh object);

/* Visits what is queued. */
bool walk_run(struct walk *w);

void walk_free(struct walk *w);

#endif
