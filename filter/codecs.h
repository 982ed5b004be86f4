/*
 * codecs.h - checks that coded images are complete, and copies JPEG and PNG
 * without metadata. Only jpeg.c uses libjpeg, only png.c libpng. No other file
 * gets pixels.
 *
 * CCITT, JPEG, and PNG data are decoded. JBIG2 and JPEG 2000 are not: only
 * their segments and tile-parts are followed to the end, so a truncation
 * exactly between two JBIG2 regions is not detected.
 *
 * All checks return NONE, or
 *   DAMAGED      *ret_why, which is static, completes "is damaged: ..."
 *   UNKNOWN      a JPEG with 12 bits, lossless, or arithmetic coding, of which
 *                libjpeg does not notice when the data end
 *   TOO_COMPLEX  too many columns, tiles, pixels, or scans
 *   TROUBLE      out of memory
 * Hostile data can crash a library or use all processor time: the caller runs
 * this in a separate process. Ownership: everything is borrowed. Blocking: as
 * long as decoding takes. Memory: a few rows, 8 bytes for each tile, two bytes
 * for each sample of a progressive JPEG.
 */
#ifndef DX_FILTER_CODECS_H
#define DX_FILTER_CODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/print/bundle.h"

/* ---- ccitt.c ---- */

/*
 * /DecodeParms of CCITTFaxDecode (ISO 32000-1, 7.4.6). All rows are needed,
 * whatever /EndOfBlock is. But of group 3 with EOLs, at most two rows one after
 * the other, and 1 % of all, may be bad, as in a fax that was received with
 * errors; a row that refers to a bad one is bad, too. And the rows may include
 * the EOLs of the code that ends the page.
 */
struct ccitt_parms {
  int k; /* < 0: group 4; 0: group 3; > 0: in two dimensions */
  uint32_t columns;
  uint32_t rows; /* the image's height */
  bool byte_align;
  bool needs_eols; /* a row without one is lost, as libtiff does */
};

/* *ret_bad gets the number of bad rows. */
enum dx_reason ccitt_check(const unsigned char *bytes, size_t len,
                           const struct ccitt_parms *p, uint32_t *ret_bad,
                           const char **ret_why);

/* ---- jbig2.c ---- */

/* The embedded organization (ITU-T T.88, annex D.3); globals may be NULL. */
enum dx_reason jbig2_check(const unsigned char *bytes, size_t len,
                           const unsigned char *globals, size_t globals_len,
                           uint32_t width, uint32_t height,
                           const char **ret_why);

/* ---- jpx.c ---- */

/*
 * A JP2 file or a bare codestream (ITU-T T.800, annexes A and I). A width or
 * height of 0 is not compared. Adds a copy without metadata: of a JP2 file,
 * only the boxes that determine how it looks, and the codestream, whose
 * comments become zeros. Missing EOC is added. If memory is lacking,
 * copy->failed is set.
 */
enum dx_reason jpx_clean(const unsigned char *bytes, size_t len, uint32_t width,
                         uint32_t height, struct dx_buf *copy,
                         const char **ret_why);

/* ---- jpeg.c ---- */

struct jpeg_info {
  uint32_t width, height; /* pixels, as stored */
  int components;
};

/* Decodes the entropy-coded data of every scan of the first image. Data after
 * it are ignored: phones append other images (MPO, gain maps). */
enum dx_reason jpeg_check(const unsigned char *bytes, size_t len,
                          struct jpeg_info *ret_info, const char **ret_why);

/*
 * Adds the first image, SOI to EOI, of a JPEG that jpeg_check() accepted,
 * without metadata: of the application segments only JFIF (without thumbnail),
 * ICC profile, and Adobe remain, and no comment. With keep_orientation, of EXIF
 * an orientation other than 1 remains. Missing EOI is added.
 */
void jpeg_clean(const unsigned char *bytes, size_t len, bool keep_orientation,
                struct dx_buf *copy);

/* ---- png.c ---- */

/*
 * Decodes the image (the first one of an animation) row by row. Adds a copy:
 * IHDR, PLTE, IDAT, IEND unchanged, the ancillary chunks that change how the
 * image looks, and of EXIF only an orientation other than 1. The checksums of
 * these chunks, and of the compressed data, must be correct; those of others
 * are not verified.
 */
enum dx_reason png_clean(const unsigned char *bytes, size_t len,
                         struct dx_buf *copy, const char **ret_why);

#endif
