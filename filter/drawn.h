/*
 * drawn.h - what the pages of a PDF draw: one walk from the pages over
 * everything that they lead to, along the keys that a PDF may keep. Every
 * stream is judged on the way (stream.h), and afterwards every other key is
 * removed.
 *
 * An object is what the path to it says, and may be several things at once: it
 * keeps what any of them needs, and is judged as each. So what is drawn stays,
 * whatever else the object is.
 *
 * The work is linear in the number of objects, however deep or circular they
 * are. Memory: 16 bytes per object, what is still to be visited, and what
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
  struct stream_check check; /* its pdf and left are set by the caller */
  const char *why;           /* of the last refusal: "an image ends early" */
  int removed;               /* entries that no page draws */
  /* private */
  struct dx_buf waiting; /* indirect objects that are to be visited */
  struct dx_buf marks;   /* by the number of the object */
  bool cleans;           /* the second walk, over all that were visited */
  enum dx_reason reason;
};

/*
 * Judges everything that a page draws and no page before it did, except for its
 * content, whose parts are judged together (STREAM_CONTENTS). `id` is
 * of a dictionary with the keys of a page, none inherited. NONE;
 * DAMAGED, UNKNOWN, TOO_COMPLEX with `why`, or TROUBLE.
 */
enum dx_reason drawn_page(struct drawn *d, int id);

/* Removes everything that is not drawn, the page tree included, after the last
 * page. */
enum dx_reason drawn_strip(struct drawn *d);

/* Frees what it points to. */
void drawn_release(struct drawn *d);

#endif
