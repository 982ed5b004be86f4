/*
 * png.h - checks that a PNG is complete, and copies it without metadata. Only
 * this interface uses libpng.
 *
 * The image is decoded row by row; all checksums, of each chunk and of the
 * compressed data, must be correct. Of an animation, the first image is used.
 *
 * Ownership: everything is borrowed. Blocking: as long as decoding
 * takes. Memory: a few rows and the color profile.
 */
#ifndef DX_FILTER_PNG_H
#define DX_FILTER_PNG_H

#include <stddef.h>

#include "filter/jpeg.h"

/*
 * Passes the copy to `sink`: IHDR, PLTE, IDAT, IEND unchanged, the ancillary
 * chunks that change how the image looks, and of EXIF only an orientation other
 * than 1. NONE; or
 *   DAMAGED      *ret_why completes "is damaged: ..."
 *   TOO_COMPLEX  too many pixels
 *   TROUBLE      out of memory, or the sink returned false
 */
enum dx_reason png_clean(const unsigned char *bytes, size_t len,
                         jpeg_sink *sink, void *ctx, const char **ret_why);

#endif
