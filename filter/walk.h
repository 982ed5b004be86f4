/*
 * walk.h - visits the objects of a PDF, each once, however deep or circular it
 * is. What is done with them lives in strip.c and whole.c.
 *
 * Reads no stream data. Memory: a bit per object, and the branches that are
 * still to be visited.
 */
#ifndef DX_FILTER_WALK_H
#define DX_FILTER_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include <qpdf/qpdf-c.h>

enum walk_step {
  WALK_INTO,   /* visit what hangs below the value */
  WALK_REMOVED /* the value has just been taken out */
};

/* What a value hangs on: key NULL for item `index` of an array. */
struct walk_place {
  qpdf_oh holder;
  const char *key;
  int index;
};

struct walk {
  qpdf_data pdf;
  /* Keys that lead nowhere of interest; NULL: visit all. */
  bool (*skips)(const char *key);
  /* Sees each value before its branches are visited; may be NULL. */
  enum walk_step (*see)(void *ctx, qpdf_data pdf,
                        const struct walk_place *place, qpdf_oh value,
                        enum qpdf_object_type_e type);
  void *ctx;
  /* private */
  qpdf_oh *waiting;
  size_t count, room;
  unsigned char *seen;
  size_t seen_bytes;
};

/* Marks the object as visited; *ret_before if it was already. False if its
 * number is out of bounds, or memory is out. */
bool walk_mark(struct walk *w, qpdf_oh object, bool *ret_before);

/* Queues an object; the handle is the walk's from now on. */
bool walk_add(struct walk *w, qpdf_oh object);

/* Visits what is queued. False if an object number is out of bounds, or memory
 * is out. */
bool walk_run(struct walk *w);

void walk_free(struct walk *w);

#endif
