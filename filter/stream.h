/*
 * stream.h - checks that a stream that a page draws is complete. drawn.h finds
 * these streams.
 *
 * Each is unpacked once, by unpack.h or a decoder of images (codecs.h).
 * It may end early only if nothing can be missing: an image has all bytes that
 * its size needs; and at the end of a Deflate block with a correct /Length,
 * content that ends after a complete operator, a font with the length that its
 * dictionary names, a CMap with its last operator. Checksums may be wrong only
 * if those of all streams of the file are.
 *
 * Ownership: a call releases all handles of the document; what must last is an
 * object ID. Blocking: as long as unpacking takes.
 * Memory: a few times the largest stream; for content and coded images, as
 * unpacked. Errors of libqpdf that are judged here are cleared.
 */
#ifndef DX_FILTER_STREAM_H
#define DX_FILTER_STREAM_H

#include <stdbool.h>

#include <qpdf/qpdf-c.h>

#include "lib/base/buf.h"
#include "lib/print/bundle.h"

enum stream_kind {
  STREAM_DATA, /* fonts, CMaps, functions, profiles, shadings */
  STREAM_IMAGE,
  STREAM_CONTENT, /* form, pattern, glyph */
  STREAM_CONTENTS /* of a page: one or an array of them, which are joined */
};

struct stream_check {
  qpdf_data pdf;
  /* Bytes that may still be unpacked, of images and of all other streams. */
  long long image_left, left;
  const char *why; /* of the last DAMAGED: completes "page 3 is damaged: ..." */
  bool in_image;   /* it is about an image */
  /* private: */
  enum { SUMS_UNKNOWN, SUMS_USED, SUMS_UNUSED } sums; /* of the whole file */
  int id, generation;          /* of the stream being checked */
  struct dx_buf copy;          /* of content with inline images to be cleaned */
  const unsigned char *copied; /* up to here */
};

/*
 * Checks a stream, or the /Contents of a page, which must contain its inherited
 * resources. Masks of an image are streams of their own. NONE; DAMAGED;
 * UNKNOWN: an unknown filter; TOO_COMPLEX: a limit is reached, or an image has
 * much more data than its size needs; TROUBLE: out of memory.
 *
 * JPEG and JPEG 2000 are replaced by copies without metadata, also if they are
 * inline images.
 */
enum dx_reason stream_whole(struct stream_check *c, int id, int generation,
                            enum stream_kind kind);

#endif
