/*
 * image.c - walks through the markers of a JPEG, the chunks of a PNG, the
 * blocks of a GIF, and the images of a PNM; decodes nothing.
 */
#include "filter/image.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

/* A window of the file. Reading past the end returns -1, always. */
struct window {
  int fd;
  off_t offset; /* of the byte after the window */
  size_t at;
  size_t end;
  unsigned char bytes[65536];
};

static bool refill(struct window *w)
{
  ssize_t n;

  do
    n = pread(w->fd, w->bytes, sizeof(w->bytes), w->offset);
  while (n < 0 && errno == EINTR);
  w->at = 0;
  w->end = n > 0 ? (size_t)n : 0;
  w->offset += (off_t)w->end;
  return w->end > 0;
}

static int next_byte(struct window *w)
{
  if (w->at == w->end && !refill(w))
    return -1;
  return w->bytes[w->at++];
}

/* Skips `count` bytes, adding them to *crc if it is not NULL. */
static bool skip(struct window *w, uint32_t count, uLong *crc)
{
  while (count > 0) {
    size_t len = w->end - w->at;

    if (len == 0) {
      if (!refill(w))
        return false;
      continue;
    }
    if (len > count)
      len = count;
    if (crc != NULL)
      *crc = crc32(*crc, w->bytes + w->at, (uInt)len);
    w->at += len;
    count -= (uint32_t)len;
  }
  return true;
}

/* Steps to the next such byte; false if there is none. */
static bool skip_to(struct window *w, int byte)
{
  const unsigned char *found = NULL;

  while (found == NULL) {
    if (w->at == w->end && !refill(w))
      return false;
    found = memchr(w->bytes + w->at, byte, w->end - w->at);
    w->at = found != NULL ? (size_t)(found - w->bytes) : w->end;
  }
  return true;
}

/* A big-endian number of `size` bytes; -1 at the end of the file. */
static int64_t next_number(struct window *w, int size)
{
  int64_t number = 0;
  int i, byte;

  for (i = 0; i < size; i++) {
    byte = next_byte(w);
    if (byte < 0)
      return -1;
    number = number << 8 | byte;
  }
  return number;
}

/* JPEG */

#define JPEG_SOI 0xD8
#define JPEG_EOI 0xD9
#define JPEG_SOS 0xDA

/* TEM and RSTn have no length; neither do SOI and EOI, which end the walk. */
static bool stands_alone(int marker)
{
  return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7);
}

/* SOFn, except C4, C8, and CC, which mean something else. */
static bool is_frame(int marker)
{
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
         marker != 0xCC;
}

/*
 * The next marker, wherever it is: in compressed data, 0xFF 0x00 is not a
 * marker, and a marker may be preceded by any number of 0xFF.
 */
static int next_marker(struct window *w)
{
  int byte;

  do {
    if (!skip_to(w, 0xFF))
      return -1;
    do
      byte = next_byte(w);
    while (byte == 0xFF);
  } while (byte == 0);
  return byte;
}

bool image_jpeg_is_whole(int fd)
{
  struct window w = {.fd = fd};
  bool frame = false, scan = false;
  int64_t len;
  int marker;

  if (next_byte(&w) != 0xFF || next_byte(&w) != JPEG_SOI)
    return false;
  for (;;) {
    marker = next_marker(&w);
    if (marker < 0 || marker == JPEG_SOI)
      return false;
    if (marker == JPEG_EOI)
      return frame && scan;
    if (stands_alone(marker))
      continue;
    len = next_number(&w, 2);
    if (len < 2 || !skip(&w, (uint32_t)len - 2, NULL))
      return false;
    frame = frame || is_frame(marker);
    scan = scan || marker == JPEG_SOS;
  }
}

/* PNG */

#define PNG_CHUNK_MAX 0x7FFFFFFF

static bool is_chunk_type(const unsigned char type[4])
{
  int i;

  for (i = 0; i < 4; i++)
    if ((type[i] | 0x20) < 'a' || (type[i] | 0x20) > 'z')
      return false;
  return true;
}

static bool next_chunk(struct window *w, char type[5])
{
  int64_t len = next_number(w, 4);
  int64_t word = next_number(w, 4);
  unsigned char bytes[4];
  uLong crc;
  int i;

  if (len < 0 || len > PNG_CHUNK_MAX || word < 0)
    return false;
  for (i = 0; i < 4; i++)
    bytes[i] = (unsigned char)(word >> (24 - 8 * i));
  if (!is_chunk_type(bytes))
    return false;
  crc = crc32(crc32(0, NULL, 0), bytes, 4);
  memcpy(type, bytes, 4);
  type[4] = '\0';
  return skip(w, (uint32_t)len, &crc) && next_number(w, 4) == (int64_t)crc;
}

bool image_png_is_whole(int fd)
{
  static const unsigned char signature[] = {0x89, 'P',  'N',  'G',
                                            '\r', '\n', 0x1A, '\n'};
  struct window w = {.fd = fd};
  bool data = false;
  char type[5];
  size_t i;

  for (i = 0; i < sizeof(signature); i++)
    if (next_byte(&w) != signature[i])
      return false;
  if (!next_chunk(&w, type) || strcmp(type, "IHDR") != 0)
    return false;
  while (next_chunk(&w, type)) {
    if (strcmp(type, "IEND") == 0)
      return data;
    data = data || strcmp(type, "IDAT") == 0;
  }
  return false;
}

/* GIF */

#define GIF_EXTENSION 0x21
#define GIF_IMAGE 0x2C
#define GIF_TRAILER 0x3B

/* A color table, if the flags say that there is one. */
static bool skip_colors(struct window *w, int flags)
{
  return (flags & 0x80) == 0 || skip(w, 3U << ((flags & 7) + 1), NULL);
}

/* Blocks of up to 255 bytes, the last of which has none. */
static bool skip_blocks(struct window *w)
{
  int len = next_byte(w);

  while (len > 0 && skip(w, (uint32_t)len, NULL))
    len = next_byte(w);
  return len == 0;
}

static bool skip_gif_image(struct window *w)
{
  return skip(w, 8, NULL) && skip_colors(w, next_byte(w)) && skip(w, 1, NULL) &&
         skip_blocks(w);
}

int image_gif_count(int fd)
{
  struct window w = {.fd = fd};
  int images = 0, block;

  if (!skip(&w, 10, NULL) || !skip_colors(&w, next_byte(&w)) ||
      !skip(&w, 2, NULL))
    return 0;
  while (images < 2) {
    block = next_byte(&w);
    if (block == GIF_TRAILER || block < 0)
      break;
    if (block == GIF_EXTENSION ? !skip(&w, 1, NULL) || !skip_blocks(&w)
                               : block != GIF_IMAGE || !skip_gif_image(&w))
      return 0;
    images += block == GIF_IMAGE;
  }
  return images;
}

/* PNM */

/* The next byte that is not in a comment, which is from '#' to the end of the
 * line. */
static int next_of_text(struct window *w)
{
  int byte = next_byte(w);

  if (byte == '#')
    do
      byte = next_byte(w);
    while (byte >= 0 && byte != '\n' && byte != '\r');
  return byte;
}

static int skip_blanks(struct window *w)
{
  int byte;

  do
    byte = next_of_text(w);
  while (byte >= 0 && isspace(byte));
  return byte;
}

/* A number up to `max`, and one byte after it; -1 if there is none. */
static int64_t next_decimal(struct window *w, int64_t max)
{
  int64_t number = 0;
  int byte = skip_blanks(w);

  if (byte < 0 || !isdigit(byte))
    return -1;
  while (byte >= 0 && isdigit(byte) && number <= max) {
    number = 10 * number + byte - '0';
    byte = next_of_text(w);
  }
  return number <= max && (byte < 0 || isspace(byte)) ? number : -1;
}

#define PNM_SIDE_MAX 1000000 /* pixels */

struct pnm {
  int format; /* '1' to '6' */
  int64_t width, height, most;
};

/* Bits need no blanks between them. */
static bool skip_plain(struct window *w, const struct pnm *pnm)
{
  int64_t values = pnm->width * pnm->height * (pnm->format == '3' ? 3 : 1);
  int byte;

  for (; values > 0; values--) {
    if (pnm->format == '1') {
      byte = skip_blanks(w);
      if (byte != '0' && byte != '1')
        return false;
    } else if (next_decimal(w, pnm->most) < 0) {
      return false;
    }
  }
  return true;
}

static bool skip_raw(struct window *w, const struct pnm *pnm)
{
  int64_t row = pnm->format == '4' ? (pnm->width + 7) / 8
                                   : pnm->width * (pnm->format == '6' ? 3 : 1) *
                                         (pnm->most > 255 ? 2 : 1);
  int64_t y;

  for (y = 0; y < pnm->height; y++)
    if (!skip(w, (uint32_t)row, NULL))
      return false;
  return true;
}

static bool skip_pnm_image(struct window *w)
{
  struct pnm pnm = {.format = next_byte(w)};

  pnm.width = next_decimal(w, PNM_SIDE_MAX);
  pnm.height = next_decimal(w, PNM_SIDE_MAX);
  pnm.most =
      pnm.format == '1' || pnm.format == '4' ? 1 : next_decimal(w, 65535);
  if (pnm.format < '1' || pnm.format > '6' || pnm.width < 1 || pnm.height < 1 ||
      pnm.most < 1)
    return false;
  return pnm.format < '4' ? skip_plain(w, &pnm) : skip_raw(w, &pnm);
}

int image_pnm_count(int fd)
{
  struct window w = {.fd = fd};
  int images = 0;

  while (images < 2 && skip_blanks(&w) == 'P') {
    if (!skip_pnm_image(&w))
      return 0;
    images++;
  }
  return images;
}
