/*
 * drawn.h - finds what the pages of a PDF draw: one walk from the pages over
 * everything that they refer to, along the keys that a PDF may keep. Every
 * stream is checked during the walk (stream.h); afterwards, all other keys are
 * removed.
 *
 * The path to an object determines its roles. An object may have several: it
 * keeps the keys of all its roles, and is checked for each, so nothing that is
 * drawn is removed.
 *
 * The work is linear in the number of objects, even if they are deep or
 * circular. Memory: 16 bytes per object, what is still to be visited, and what
 * stream.h needs.
 *
 * Ownership: a call releases all handles of the document; what must last is an
 * object ID. Blocking: unpacks every stream that a page draws.
 */
#ifndef DX_FILTER_DRAWN_H
#define DX_FILTER_DRAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qpdf/qpdf-c.h>

#include "filter/stream.h"
#include "lib/base/buf.h"
#include "lib/print/bundle.h"

struct drawn {
  qpdf_data pdf;
  struct stream_check check; /* its pdf and left are set by the caller; its why
                                is also that of a refusal by drawn.c */
  /* private */
  struct dx_buf waiting; /* indirect objects that are to be visited */
  struct dx_buf marks;   /* by the number of the object */
  bool cleans;           /* the second walk, over all that were visited */
  enum dx_reason reason;
};

/*
 * Checks everything that a page draws and no earlier page did, except for its
 * content, whose parts are checked together (STREAM_CONTENTS). `id` is of a
 * dictionary with the keys of a page, none inherited. NONE; DAMAGED, UNKNOWN,
 * TOO_COMPLEX with `check.why`, or TROUBLE.
 */
enum dx_reason drawn_page(struct drawn *d, int id);

/* Removes everything that is not drawn, the page tree included, after the last
 * page. */
enum dx_reason drawn_strip(struct drawn *d);

/* Frees its members. */
void drawn_release(struct drawn *d);

#endif
