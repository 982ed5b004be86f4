/*
 * png.c - libpng, which decodes all rows and keeps none, and then the chunks,
 * which are copied or not. No pixels leave this file.
 */
#include "filter/png.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

#include "filter/jpeg.h"
#include "lib/base/fs.h"

#define SIGNATURE_BYTES 8
#define CHUNK_BYTES 12 /* length, type, and checksum */
#define SIDE_MAX_PX 1000000

struct png_input {
  const unsigned char *at, *end;
  bool no_memory;
};

static void png_fail(png_structp libpng, png_const_charp message)
{
  struct png_input *in = png_get_error_ptr(libpng);

  in->no_memory = strncmp(message, "Out of memory", 13) == 0;
  png_longjmp(libpng, 1);
}

/* Of what libpng tolerates, wrong compressed data are damage. */
static void png_warn(png_structp libpng, png_const_charp message)
{
  if (strncmp(message, "IDAT:", 5) == 0)
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
  int width, height, rows, pass;
  bool interlaced;

  if (setjmp(png_jmpbuf(libpng)) != 0)
    return in->no_memory ? DX_REASON_TROUBLE : DX_REASON_DAMAGED;
  png_set_read_fn(libpng, in, png_read);
  png_set_crc_action(libpng, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  /* Of ancillary chunks, only checksums matter. */
  png_set_keep_unknown_chunks(libpng, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_set_user_limits(libpng, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(libpng, info);
  width = (int)png_get_image_width(libpng, info);
  height = (int)png_get_image_height(libpng, info);
  if (width > SIDE_MAX_PX || height > SIDE_MAX_PX)
    return DX_REASON_TOO_COMPLEX;
  interlaced = png_get_interlace_type(libpng, info) != PNG_INTERLACE_NONE;
  pass = 0;
  do {
    rows = interlaced ? PNG_PASS_ROWS(height, pass) : height;
    if (interlaced && PNG_PASS_COLS(width, pass) == 0)
      rows = 0;
    for (; rows > 0; rows--)
      png_read_row(libpng, NULL, NULL);
  } while (interlaced && ++pass < PNG_INTERLACE_ADAM7_PASSES);
  png_read_end(libpng, NULL);
  return DX_REASON_NONE;
}

/* What the image looks like depends on these. */
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

static bool png_put_exif(int fd, int orientation)
{
  unsigned char chunk[CHUNK_BYTES + JPEG_EXIF_BYTES] = "\0\0\0\0eXIf";
  png_byte *crc = chunk + 8 + JPEG_EXIF_BYTES;

  png_save_uint_32(chunk, JPEG_EXIF_BYTES);
  jpeg_exif_make(orientation, chunk + 8);
  png_save_uint_32(crc, (uint32_t)crc32(0, chunk + 4, 4 + JPEG_EXIF_BYTES));
  return dx_fs_write_all(fd, chunk, sizeof(chunk), "document", NULL) == DX_OK;
}

/* The chunks up to `end`, which libpng has found whole; neighbors in one
 * write. */
static bool png_copy(const unsigned char *from, const unsigned char *end,
                     int fd)
{
  const unsigned char *p = from + SIGNATURE_BYTES;
  bool ok = true;

  while (ok && p < end) {
    size_t len = png_get_uint_32(p);
    int orientation =
        memcmp(p + 4, "eXIf", 4) == 0 ? jpeg_exif_orientation(p + 8, len) : 1;

    if (!png_is_kept(p + 4)) {
      ok = dx_fs_write_all(fd, from, (size_t)(p - from), "document", NULL) ==
           DX_OK;
      from = p + CHUNK_BYTES + len;
    }
    if (ok && orientation != 1)
      ok = png_put_exif(fd, orientation);
    p += CHUNK_BYTES + len;
  }
  return ok && dx_fs_write_all(fd, from, (size_t)(end - from), "document",
                               NULL) == DX_OK;
}

enum dx_reason png_clean(const unsigned char *bytes, size_t len, int out_fd,
                         const char **ret_why)
{
  struct png_input in = {.at = bytes, .end = bytes + len};
  png_structp libpng =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, png_fail, png_warn);
  png_infop info = libpng != NULL ? png_create_info_struct(libpng) : NULL;
  enum dx_reason reason = DX_REASON_TROUBLE;

  if (info != NULL)
    reason = png_decode(libpng, info, &in);
  png_destroy_read_struct(&libpng, &info, NULL);
  *ret_why = "an image ends early, or has invalid data";
  if (reason == DX_REASON_NONE && !png_copy(bytes, in.at, out_fd))
    reason = DX_REASON_TROUBLE;
  return reason;
}
