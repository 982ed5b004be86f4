/*
 * content.h - reads a content stream (ISO 32000-1, 7.8.2) to find its inline
 * images, and to check that it ends where it may. Invalid operators and
 * operands are skipped, as in viewers.
 *
 * Ownership: everything is borrowed. Blocking: as long as `image` does; content
 * without inline images that did not end early is only searched for "BI".
 */
#ifndef DX_FILTER_CONTENT_H
#define DX_FILTER_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/print/bundle.h"

/* Checks an inline image: its dictionary, from BI to ID, and its data, up to a
 * possible EI; `first`: there was no earlier EI. DAMAGED: a later EI may be the
 * end. Any reason but NONE and DAMAGED ends the search. */
typedef enum dx_reason content_image(void *ctx, const unsigned char *dict,
                                     size_t dict_len, const unsigned char *data,
                                     size_t len, bool first);

/* NONE; what `image` returned; or DAMAGED: it does not contain an image to its
 * end, or it ended early and not after a complete operator with no string,
 * array, dictionary, text, graphics state, or marked content open. */
enum dx_reason content_check(const unsigned char *bytes, size_t len,
                             bool ended_early, content_image *image, void *ctx);

#endif
