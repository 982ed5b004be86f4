/*
 * png.c - decodes all rows with libpng and keeps none, then copies the chunks
 * that are kept.
 */
#include "filter/codecs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

#include "filter/exif.h"

#define SIGNATURE_BYTES 8
#define CHUNK_BYTES 12 /* length, type, and checksum */
#define SIDE_MAX_PX 1000000

struct png_input {
  const unsigned char *at, *end;
};

/* Prints nothing. */
static void png_fail(png_structp libpng, png_const_charp message)
{
  (void)message;
  png_longjmp(libpng, 1);
}

/* True for chunks that change how the image looks. */
static bool png_is_kept(const unsigned char *type)
{
  static const char kept[] = "IHDRPLTEIDATIENDtRNScHRMgAMAsRGBiCCPsBITbKGD"
                             "pHYscICP";
  size_t i;

  for (i = 0; i < sizeof(kept) - 1; i += 4)
    if (memcmp(type, kept + i, 4) == 0)
      return true;
  return false;
}

/* Of the errors that libpng tolerates, invalid compressed data are damage. But
 * some programs add bytes after their end, to fill the chunk. A wrong checksum
 * is damage only of a chunk that is used. Messages begin with its type. */
static void png_warn(png_structp libpng, png_const_charp message)
{
  const unsigned char *type = (const unsigned char *)message;

  if ((strncmp(message, "IDAT:", 5) == 0 &&
       strcmp(message, "IDAT: Extra compressed data") != 0) ||
      (strstr(message, ": CRC error") != NULL &&
       (png_is_kept(type) || memcmp(type, "eXIf", 4) == 0)))
    png_fail(libpng, message);
}

static void png_read(png_structp libpng, png_bytep bytes, size_t len)
{
  struct png_input *in = png_get_io_ptr(libpng);

  if (len > (size_t)(in->end - in->at))
    png_fail(libpng, "");
  memcpy(bytes, in->at, len);
  in->at += len;
}

static enum dx_reason png_decode(png_structp libpng, png_infop info,
                                 struct png_input *in)
{
  png_uint_32 width, height, y;
  int pass;

  if (setjmp(png_jmpbuf(libpng)) != 0)
    return errno == ENOMEM ? DX_REASON_TROUBLE : DX_REASON_DAMAGED;
  errno = 0;
  png_set_read_fn(libpng, in, png_read);
  png_set_crc_action(libpng, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
  /* For ancillary chunks, only checksums are verified. */
  png_set_keep_unknown_chunks(libpng, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_set_user_limits(libpng, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(libpng, info);
  width = png_get_image_width(libpng, info);
  height = png_get_image_height(libpng, info);
  if (width > SIDE_MAX_PX || height > SIDE_MAX_PX)
    return DX_REASON_TOO_COMPLEX;
  for (pass = png_set_interlace_handling(libpng); pass > 0; pass--)
    for (y = 0; y < height; y++)
      png_read_row(libpng, NULL, NULL);
  png_read_end(libpng, NULL);
  return DX_REASON_NONE;
}

/* The chunks up to `end`, which libpng has found complete. */
static void png_copy(const unsigned char *bytes, const unsigned char *end,
                     struct dx_buf *copy)
{
  const unsigned char *p;
  size_t len;

  dx_buf_add(copy, bytes, SIGNATURE_BYTES);
  for (p = bytes + SIGNATURE_BYTES; p < end; p += CHUNK_BYTES + len) {
    unsigned char exif[CHUNK_BYTES + EXIF_CLEAN_BYTES] = "\0\0\0\0eXIf";

    len = png_get_uint_32(p);
    if (png_is_kept(p + 4)) {
      dx_buf_add(copy, p, CHUNK_BYTES + len);
    } else if (memcmp(p + 4, "eXIf", 4) == 0 &&
               exif_clean(p + 8, len, exif + 8) != 1) {
      exif[3] = EXIF_CLEAN_BYTES;
      png_save_uint_32(exif + sizeof(exif) - 4,
                       (uint32_t)crc32(0, exif + 4, 4 + EXIF_CLEAN_BYTES));
      dx_buf_add(copy, exif, sizeof(exif));
    }
  }
}

enum dx_reason png_clean(const unsigned char *bytes, size_t len,
                         struct dx_buf *copy, const char **ret_why)
{
  struct png_input in = {.at = bytes, .end = bytes + len};
  png_structp libpng =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, png_fail, png_warn);
  png_infop info = libpng != NULL ? png_create_info_struct(libpng) : NULL;
  enum dx_reason reason = DX_REASON_TROUBLE;

  if (info != NULL)
    reason = png_decode(libpng, info, &in);
  png_destroy_read_struct(&libpng, &info, NULL);
  *ret_why = "an image ends early, or has invalid data";
  if (reason == DX_REASON_NONE)
    png_copy(bytes, in.at, copy);
  return copy->failed ? DX_REASON_TROUBLE : reason;
}
