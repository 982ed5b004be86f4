/*
 * bmp.c - reads BMP of Windows and OS/2, uncompressed or with run lengths.
 */
#include "filter/image_pdf.h"

#include <stdlib.h>
#include <string.h>

#define FILE_HEADER_BYTES 14
#define CORE_HEADER_BYTES 12 /* OS/2 1.x: 16-bit sizes, 3 bytes for a color */
#define INFO_HEADER_BYTES 40
#define MASKS_AT 40 /* in the header, or behind that of 40 bytes */

enum compression {
  BMP_RGB,
  BMP_RLE8,
  BMP_RLE4,
  BMP_MASKS,
  BMP_ALPHA_MASKS = 6
};

struct bmp {
  const unsigned char *pixels, *end; /* as stored */
  uint32_t width, height, bits;
  uint32_t compression;
  bool top_down;
  double x_dpi, y_dpi;
  unsigned char colors[256][3]; /* black if the file has fewer */
  uint32_t masks[3];            /* 16 and 32 bits */
  unsigned char *indexes;       /* of all pixels, if compressed */
};

static uint32_t little16(const unsigned char *bytes)
{
  return (uint32_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t little32(const unsigned char *bytes)
{
  return little16(bytes) | little16(bytes + 2) << 16;
}

/* ---- the header ---- */

/* False if the header is not complete, or its numbers are not possible. */
static bool bmp_size(struct bmp *bmp, const unsigned char *header, size_t size)
{
  uint32_t height;

  if (size == CORE_HEADER_BYTES) {
    bmp->width = little16(header + 4);
    bmp->height = little16(header + 6);
    bmp->bits = little16(header + 10);
  } else {
    height = little32(header + 8);
    bmp->top_down = height > INT32_MAX;
    bmp->width = little32(header + 4);
    bmp->height = bmp->top_down ? ~height + 1 : height;
    bmp->bits = little16(header + 14);
    bmp->compression = little32(header + 16);
    bmp->x_dpi = little32(header + 24) * 0.0254; /* from pixels per meter */
    bmp->y_dpi = little32(header + 28) * 0.0254;
  }
  return bmp->width > 0 && bmp->width <= INT32_MAX && bmp->height > 0;
}

static void bmp_masks(struct bmp *bmp, const unsigned char *masks)
{
  static const uint32_t of_16[] = {0x7c00, 0x3e0, 0x1f},
                        of_32[] = {0xff0000, 0xff00, 0xff};
  int i;

  for (i = 0; i < 3; i++)
    bmp->masks[i] = masks != NULL     ? little32(masks + (size_t)4 * (size_t)i)
                    : bmp->bits == 16 ? of_16[i]
                                      : of_32[i];
}

static enum dx_reason bmp_header(struct bmp *bmp, const unsigned char *file,
                                 size_t len)
{
  const unsigned char *header = file + FILE_HEADER_BYTES, *color;
  size_t size, start, used, step, i;
  bool has_masks;

  if (len < FILE_HEADER_BYTES + CORE_HEADER_BYTES)
    return DX_REASON_DAMAGED;
  size = little32(header);
  step = size == CORE_HEADER_BYTES ? 3 : 4;
  if (size > len - FILE_HEADER_BYTES ||
      (size != CORE_HEADER_BYTES && size < INFO_HEADER_BYTES) ||
      !bmp_size(bmp, header, size))
    return DX_REASON_DAMAGED;
  has_masks =
      bmp->compression == BMP_MASKS || bmp->compression == BMP_ALPHA_MASKS;
  if (bmp->compression > BMP_MASKS && bmp->compression != BMP_ALPHA_MASKS)
    return DX_REASON_TYPE; /* JPEG or PNG inside: for printers only */
  color = header + size;
  if (has_masks && size == INFO_HEADER_BYTES)
    color += bmp->compression == BMP_MASKS ? 12 : 16;
  if (color > file + len)
    return DX_REASON_DAMAGED;
  bmp_masks(bmp, has_masks ? header + MASKS_AT : NULL);
  start = little32(file + 10);
  if (start < (size_t)(color - file))
    start = (size_t)(color - file); /* some programs write 0 */
  used = size >= INFO_HEADER_BYTES ? little32(header + 32) : 0;
  if (used == 0 || used > 256)
    used = 256;
  for (i = 0; bmp->bits <= 8 && i < used && i < (size_t)1 << bmp->bits &&
              color + step <= file + (start < len ? start : len);
       i++, color += step) {
    bmp->colors[i][0] = color[2];
    bmp->colors[i][1] = color[1];
    bmp->colors[i][2] = color[0];
  }
  if (start >= len)
    return DX_REASON_DAMAGED;
  bmp->pixels = file + start;
  bmp->end = file + len;
  return DX_REASON_NONE;
}

/* ---- run lengths ---- */

struct place {
  uint32_t x, y; /* y from the first row that is stored */
};

/* Puts one pixel at the place, which moves. False if the row has no room: it
 * may be filled up to a multiple of 4 pixels, as ImageMagick does. */
static bool bmp_put(struct bmp *bmp, struct place *at, unsigned index)
{
  if (at->x >= (bmp->width + 3) / 4 * 4 || at->y >= bmp->height)
    return false;
  if (at->x < bmp->width)
    bmp->indexes[(size_t)at->y * bmp->width + at->x] = (unsigned char)index;
  at->x++;
  return true;
}

/* The n-th pixel of a run or of stored pixels. */
static unsigned bmp_nth(const struct bmp *bmp, const unsigned char *bytes,
                        unsigned n, bool repeated)
{
  if (bmp->compression == BMP_RLE8)
    return bytes[repeated ? 0 : n];
  return n % 2 == 0 ? bytes[repeated ? 0 : n / 2] >> 4
                    : bytes[repeated ? 0 : n / 2] & 15;
}

/* Unset pixels have the index 0. The mark for the end may be missing if all
 * rows are there. */
static bool bmp_unpack(struct bmp *bmp)
{
  const unsigned char *c = bmp->pixels;
  struct place at = {0, 0};
  unsigned n, i;
  size_t bytes;

  while (bmp->end - c >= 2) {
    n = c[0];
    if (n == 0 && c[1] == 1)
      return true;
    if (n == 0 && c[1] == 0) {
      at = (struct place){0, at.y + 1};
      c += 2;
    } else if (n == 0 && c[1] == 2) {
      if (bmp->end - c < 4)
        return false;
      at.x += c[2];
      at.y += c[3];
      c += 4;
    } else if (n == 0) { /* stored, in units of 16 bits */
      n = c[1];
      bytes = bmp->compression == BMP_RLE8 ? n : (n + 1) / 2;
      if ((size_t)(bmp->end - c) < 2 + bytes)
        return false;
      for (i = 0; i < n; i++)
        if (!bmp_put(bmp, &at, bmp_nth(bmp, c + 2, i, false)))
          return false;
      c += 2 + bytes;
      c += bytes % 2 != 0 && c < bmp->end;
    } else {
      for (i = 0; i < n; i++)
        if (!bmp_put(bmp, &at, bmp_nth(bmp, c + 1, i, true)))
          return false;
      c += 2;
    }
  }
  return at.y >= bmp->height || (at.y + 1 == bmp->height && at.x >= bmp->width);
}

/* ---- rows ---- */

static unsigned char scaled(uint32_t pixel, uint32_t mask)
{
  uint64_t most = mask;

  if (mask == 0)
    return 0;
  while ((most & 1) == 0) {
    most >>= 1;
    pixel >>= 1;
  }
  return (unsigned char)(((pixel & most) * 255 + most / 2) / most);
}

static void bmp_row(const struct bmp *bmp, const unsigned char *stored,
                    unsigned char *row)
{
  uint32_t x, pixel, bit;
  int i;

  for (x = 0; x < bmp->width; x++, row += 3) {
    if (bmp->bits == 24) {
      row[0] = stored[3 * (size_t)x + 2];
      row[1] = stored[3 * (size_t)x + 1];
      row[2] = stored[3 * (size_t)x];
    } else if (bmp->bits > 8) {
      pixel = bmp->bits == 16 ? little16(stored + 2 * (size_t)x)
                              : little32(stored + 4 * (size_t)x);
      for (i = 0; i < 3; i++)
        row[i] = scaled(pixel, bmp->masks[i]);
    } else {
      bit = (uint32_t)((size_t)x * bmp->bits % 8);
      pixel = stored[(size_t)x * bmp->bits / 8] >> (8 - bmp->bits - bit) &
              ((1U << bmp->bits) - 1);
      memcpy(row, bmp->colors[pixel], 3);
    }
  }
}

static enum dx_reason bmp_rows(struct image_pdf *pdf, struct bmp *bmp)
{
  uint64_t bits = (uint64_t)bmp->width * bmp->bits;
  uint64_t row_bytes = (bits + 31) / 32 * 4, last_bytes = (bits + 7) / 8;
  const unsigned char *stored = bmp->pixels;
  enum dx_reason reason;
  uint32_t y;

  if (bmp->indexes != NULL) {
    stored = bmp->indexes;
    row_bytes = bmp->width;
    bmp->bits = 8;
  } else if (row_bytes * (bmp->height - 1) + last_bytes >
             (uint64_t)(bmp->end - stored)) {
    return DX_REASON_DAMAGED; /* only padding may be missing */
  }
  pdf->page = (struct image_pdf_page){.width = bmp->width,
                                      .height = bmp->height,
                                      .x_dpi = bmp->x_dpi,
                                      .y_dpi = bmp->y_dpi,
                                      .components = 3,
                                      .bits = 8};
  reason = image_pdf_begin_page(pdf);
  for (y = 0; reason == DX_REASON_NONE && y < bmp->height; y++) {
    bmp_row(bmp, stored + row_bytes * (bmp->top_down ? y : bmp->height - 1 - y),
            pdf->row);
    image_pdf_add_row(pdf);
  }
  if (reason == DX_REASON_NONE)
    image_pdf_end_page(pdf);
  return reason;
}

enum dx_reason image_pdf_bmp(struct image_pdf *pdf)
{
  struct bmp bmp = {0};
  enum dx_reason reason = bmp_header(&bmp, pdf->bytes, pdf->len);
  bool packed = bmp.compression == BMP_RLE8 || bmp.compression == BMP_RLE4;

  if (reason != DX_REASON_NONE)
    return reason;
  if (packed ? bmp.bits != (bmp.compression == BMP_RLE8 ? 8 : 4)
             : bmp.bits != 1 && bmp.bits != 4 && bmp.bits != 8 &&
                   bmp.bits != 16 && bmp.bits != 24 && bmp.bits != 32)
    return DX_REASON_TYPE;
  if (packed) {
    /* A byte of the file is at most 255 pixels, or 65,535 that are skipped. */
    if ((uint64_t)bmp.width * bmp.height > (uint64_t)1 << 28)
      return DX_REASON_TOO_COMPLEX;
    bmp.indexes = calloc(bmp.height, bmp.width);
    if (bmp.indexes == NULL)
      return DX_REASON_TROUBLE;
    if (!bmp_unpack(&bmp))
      reason = DX_REASON_DAMAGED;
  }
  if (reason == DX_REASON_NONE)
    reason = bmp_rows(pdf, &bmp);
  free(bmp.indexes);
  return reason;
}
