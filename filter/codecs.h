/*
 * codecs.h - checks that CCITT, JBIG2, and JPEG 2000 images in a PDF are
 * complete. For JPEG, see jpeg.h.
 *
 * CCITT data are decoded. JBIG2 and JPEG 2000 are not: only their segments and
 * tile-parts are followed to the end, so a truncation exactly between two JBIG2
 * regions is not detected.
 *
 * All return NONE; DAMAGED, and *ret_why completes "is damaged: ...";
 * TOO_COMPLEX (columns, tiles); or TROUBLE (out of memory). Ownership:
 * everything is borrowed, *ret_why is static. Blocking: as long as decoding
 * takes. Memory: two rows, or 8 bytes for each tile.
 */
#ifndef DX_FILTER_CODECS_H
#define DX_FILTER_CODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/print/bundle.h"

/* /DecodeParms of CCITTFaxDecode (ISO 32000-1, 7.4.6). All rows are needed,
 * whatever /EndOfBlock is. */
struct codecs_ccitt {
  int k;
  uint32_t columns;
  uint32_t rows; /* the image's height */
  bool byte_align;
};

enum dx_reason codecs_ccitt(const unsigned char *bytes, size_t len,
                            const struct codecs_ccitt *p, const char **ret_why);

/* The embedded organization (ITU-T T.88, annex D.3); globals may be NULL. */
enum dx_reason codecs_jbig2(const unsigned char *bytes, size_t len,
                            const unsigned char *globals, size_t globals_len,
                            uint32_t width, uint32_t height,
                            const char **ret_why);

/* A JP2 file or a bare codestream (ITU-T T.800, annex A). A width or height of
 * 0 is not compared. */
enum dx_reason codecs_jpx(const unsigned char *bytes, size_t len,
                          uint32_t width, uint32_t height,
                          const char **ret_why);

#endif
