/*
 * jpeg.h - checks that the first image of a JPEG is complete, and copies it
 * without metadata. Only this interface uses libjpeg.
 *
 * Data after the first image are ignored: phones append other images (MPO, gain
 * maps). A hostile JPEG can crash libjpeg or use all processor time: the caller
 * runs this in a separate process.
 *
 * Ownership: everything is borrowed. Blocking: as long as decoding takes.
 * Memory: two bytes for each sample of a progressive image, otherwise little.
 */
#ifndef DX_FILTER_JPEG_H
#define DX_FILTER_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/print/bundle.h"

struct jpeg_info {
  uint32_t width, height; /* pixels, as stored */
  int components;
  bool has_metadata; /* jpeg_clean() without orientation changes it */
};

/* Returns false to stop. */
typedef bool jpeg_sink(void *ctx, const void *bytes, size_t len);

/*
 * Decodes the entropy-coded data of every scan. NONE and *ret_info; or
 *   DAMAGED      *ret_why completes "is damaged: ..."
 *   UNKNOWN      12 bits, lossless, or arithmetic coding, of which libjpeg does
 *                not notice when the data end
 *   TOO_COMPLEX  too many pixels or scans
 *   TROUBLE      out of memory
 */
enum dx_reason jpeg_check(const unsigned char *bytes, size_t len,
                          struct jpeg_info *ret_info, const char **ret_why);

/*
 * Passes the first image, SOI to EOI, of a JPEG that jpeg_check() accepted, to
 * `sink`, without metadata: of the application segments only JFIF (without
 * thumbnail), ICC profile, and Adobe remain, and no comment. With
 * keep_orientation, of EXIF an orientation other than 1 remains. Missing EOI is
 * added. False if the sink returned false.
 */
bool jpeg_clean(const unsigned char *bytes, size_t len, bool keep_orientation,
                jpeg_sink *sink, void *ctx);

/* EXIF data are a TIFF. Returns the SHORT with this tag in its directory at
 * `at`, or 0. Never reads outside of the bytes. */
int jpeg_exif_number(const unsigned char *exif, size_t len, uint64_t at,
                     uint32_t tag);

/* The orientation in EXIF data, which begin with a TIFF header: 1 to 8; 1 if
 * there is none. PNG has the same data. */
int jpeg_exif_orientation(const unsigned char *exif, size_t len);

/* EXIF data with nothing but an orientation. */
#define JPEG_EXIF_BYTES 26
void jpeg_exif_make(int orientation, unsigned char ret_exif[JPEG_EXIF_BYTES]);

#endif
