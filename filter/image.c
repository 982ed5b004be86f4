/*
 * image.c - walks through the markers of a JPEG and the chunks of a PNG;
 * decodes nothing.
 */
#include "filter/image.h"

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
