/*
 * image.h - is a JPEG or PNG complete? They are sent unchanged; only their
 * structure is checked, so that a truncated file is noticed here and not by the
 * service. And does a GIF or PNM have one image? cups-filters converts them,
 * but only the first image of each.
 *
 * Bytes after the end of the image are not damage: phones write them.
 *
 * Ownership: the descriptor is borrowed; its offset is neither used nor moved.
 * Blocking: reads the file once. Errors: false for an image that is damaged,
 * truncated, or cannot be read.
 */
#ifndef DX_FILTER_IMAGE_H
#define DX_FILTER_IMAGE_H

#include <stdbool.h>

/* The markers of a JPEG, from SOI to EOI (ITU-T T.81, annex B). */
bool image_jpeg_is_whole(int fd);

/* The chunks of a PNG with their checksums, from IHDR to IEND (RFC 2083). */
bool image_png_is_whole(int fd);

/* How many images: 0 if it is damaged, 2 if there are more than one. A GIF from
 * its header to the trailer, which may be missing; a PNM of any of the six
 * formats (P1 to P6), with its images one after the other. */
int image_gif_count(int fd);
int image_pnm_count(int fd);

#endif
