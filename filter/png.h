/*
 * png.h - is a PNG complete, and a copy of it without metadata. Nothing else
 * uses libpng.
 *
 * The image is decoded row by row; every checksum, of each chunk and of the
 * compressed data, must be right. Of an animation, the first image counts.
 *
 * Ownership: everything is borrowed. Blocking: as long as decoding and writing
 * take. Memory: a few rows and the color profile.
 */
#ifndef DX_FILTER_PNG_H
#define DX_FILTER_PNG_H

#include <stddef.h>

#include "lib/job/bundle.h"

/*
 * Writes the copy to out_fd: IHDR, PLTE, IDAT, IEND as they are, those
 * ancillary chunks that change how the image looks, and of EXIF only an
 * orientation other than 1. NONE; or
 *   DAMAGED      *ret_why completes "is damaged: ..."
 *   TOO_COMPLEX  too many pixels
 *   TROUBLE      out of memory, or writing failed
 * Except with NONE, nothing useful is in out_fd.
 */
enum dx_reason png_clean(const unsigned char *bytes, size_t len, int out_fd,
                         const char **ret_why);

#endif
