/*
 * allowed.h - what a PDF may keep: which keys of which dictionary, and what
 * their values may be. Everything else is removed by strip.c.
 *
 * A dictionary is what the path to it says, never what its own /Type claims:
 * that key is optional, and whoever writes a hostile PDF leaves it out or lies.
 *
 * The keys are those of ISO 32000-2 that change how a page looks, and
 * /ActualText, which changes what its text reads. Nothing here blocks or fails.
 */
#ifndef DX_FILTER_ALLOWED_H
#define DX_FILTER_ALLOWED_H

#include <stdbool.h>

enum kind {
  NOTHING, /* removed */
  PLAIN,   /* numbers, names, strings, and arrays of them */

  /* The document. */
  TRAILER,
  CATALOG,
  PAGES,  /* a page, or a node of the page tree */
  FORM,   /* the interactive form */
  LAYERS, /* which layers are shown (optional content) */

  /* What pages draw. */
  RESOURCES,
  XOBJECT, /* of the resources: DRAWN, but no PostScript */
  DRAWN,   /* content, images, form XObjects, glyphs, appearances */
  PATTERN,
  SHADING,
  COLOR, /* parameters of color spaces, and functions */
  GSTATE,
  MASK,
  GROUP,
  FONT, /* with what hangs on it: descriptor, encoding, font program */
  LAYER,
  USAGE,
  PARAMETERS, /* of a filter */

  /* Annotations and form fields. */
  ANNOTATION, /* one of the next three, which its /Subtype decides */
  MARKUP,
  TEXT_BOX, /* MARKUP that draws its /Contents */
  WIDGET,   /* MARKUP that is a field of the form, or one above it */
  APPEARANCES,
  APPEARANCE, /* DRAWN, or one for each state */
  CAPTION,
  STYLE,
  VALUE, /* of a field: a string may be a stream */
  MOVIE,

  /* Values that are replaced. */
  PARENT,    /* by the node above it */
  FILE_NAME, /* by an empty one */
  SOUND,     /* by silence */

  KINDS
};

struct allowed {
  enum kind kind; /* of the value; arrays: of their items */
  bool map;       /* the value is a dictionary in which every key may be, with
                     values of this kind */
};

/* What `key` ("/Type") of a dictionary, or of the dictionary of a stream, may
 * hold; NOTHING if it must be removed. */
struct allowed allowed_at(enum kind kind, bool stream, const char *key);

/* Whether what is allowed as `kind` may be a stream, or a dictionary. */
bool allowed_as(enum kind kind, bool stream);

#endif
