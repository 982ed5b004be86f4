/*
 * jpx.c - checks the structure of JPEG 2000 (ITU-T T.800, annexes A and I), and
 * copies it without metadata; nothing is decoded.
 */
#include <stdlib.h>
#include <string.h>

#include "filter/coded.h"
#include "filter/codecs.h"

#define JPX_COM 0xFF64
#define JPX_SOT 0xFF90
#define JPX_SOD 0xFF93
#define JPX_EOC 0xFFD9
#define JPX_EOC_BYTES "\xFF\xD9"
#define JPX_TILES_MAX 65535

struct jpx_tile {
  uint32_t seen, parts; /* 0 parts: not known */
};

/* Adds the boxes that determine how the image looks, up to the codestream, and
 * skips them. Boxes of one level are in the header, jp2h. */
static void jpx_copy_boxes(struct coded_input *in, bool in_header,
                           struct dx_buf *copy)
{
  const char *kept =
      in_header ? "ihdrbpcccolrpclrcmapcdef" : "jP  ftyprreqjp2h";

  while (in->why == NULL && in->at < in->end) {
    const unsigned char *begin = in->at, *type = begin + 4;
    uint64_t len = coded_number(in, 4);
    struct coded_input content;
    size_t at = copy->len;
    const char *found;

    coded_skip(in, 4);
    if (in->why == NULL && memcmp(type, "jp2c", 4) == 0) {
      coded_skip(in, len == 1 ? 8 : 0);
      return;
    }
    if (len == 0) {
      len = (uint64_t)(in->end - begin);
    } else if (len == 1) {
      len = (uint64_t)coded_number(in, 4) << 32;
      len |= coded_number(in, 4);
    }
    content = *in;
    len -= (uint64_t)(in->at - begin);
    coded_skip(in, len); /* also if it was less */
    content.end = in->at;
    found = in->why == NULL ? memmem(kept, strlen(kept), type, 4) : NULL;
    if (found == NULL || (found - kept) % 4 != 0)
      continue;
    if (memcmp(type, "jp2h", 4) != 0) {
      dx_buf_add(copy, begin, (size_t)(in->at - begin));
      continue;
    }
    dx_buf_add(copy, begin, 8);
    jpx_copy_boxes(&content, true, copy);
    coded_expect(in, content.why == NULL, coded_is_invalid);
    for (int i = 0; i < 4 && !copy->failed; i++)
      copy->data[at + (size_t)i] = (char)((copy->len - at) >> (24 - 8 * i));
  }
}

/* Skips to the codestream. In some PDFs, other bytes precede it. */
static void jpx_find(struct coded_input *in, struct dx_buf *boxes)
{
  static const char signature[] = "jP  \r\n\x87\n";

  if (coded_left(in) >= 12 && memcmp(in->at + 4, signature, 8) == 0)
    jpx_copy_boxes(in, false, boxes);
  else
    coded_find(in, "\xFF\x4F\xFF\x51", 4);
}

/* Skips a marker with its segment, or a whole tile-part. Returns the marker. */
static uint32_t jpx_skip(struct coded_input *in)
{
  uint32_t marker = coded_number(in, 2), len, psot;

  if (marker == JPX_EOC)
    return marker;
  len = coded_number(in, 2);
  if (marker == JPX_SOT) {
    coded_skip(in, 2);
    psot = coded_number(in, 4);
    coded_skip(in, 2);
    if (psot == 0) /* up to EOC, which the data cannot contain */
      coded_find(in, JPX_EOC_BYTES, 2);
    else
      coded_skip(in, psot >= 14 ? psot - 12 : UINT64_MAX);
    coded_expect(in, len == 10, coded_is_invalid);
  } else {
    coded_skip(in, len >= 2 ? len - 2 : UINT64_MAX);
  }
  return marker;
}

/* `part` is at an SOT marker, of a tile-part that is complete. A known encoder
 * specifies one part too few in each tile: then sets *one_more. */
static bool jpx_count_part(struct coded_input part, struct jpx_tile *tiles,
                           uint64_t count, bool *one_more)
{
  uint32_t tile, number, parts;

  coded_skip(&part, 4);
  tile = coded_number(&part, 2);
  coded_skip(&part, 4);
  number = coded_number(&part, 1);
  parts = coded_number(&part, 1);
  if (tile >= count || (parts > 0 && number > parts))
    return false;
  *one_more = *one_more || (parts > 0 && number == parts);
  tiles[tile].seen++;
  if (parts > 0)
    tiles[tile].parts = parts;
  return true;
}

/* Makes the comments of the header that was added at this place zeros. */
static void jpx_clear_comments(struct dx_buf *copy, size_t at)
{
  size_t size;

  for (; copy->len - at >= 4; at += 2 + size) {
    unsigned char *segment = (unsigned char *)copy->data + at;

    size = (size_t)segment[2] << 8 | segment[3];
    if (segment[1] == (JPX_SOD & 0xFF) || size < 2 || size > copy->len - at - 2)
      return;
    if (segment[1] == (JPX_COM & 0xFF))
      memset(segment + 4, 0, size - 2);
  }
}

/* EOC may be missing if each tile specifies its number of parts, but it must
 * not be in the place of data. The copy gets everything up to the last one. */
static void jpx_codestream(struct coded_input *in, struct jpx_tile *tiles,
                           uint64_t count, struct dx_buf *copy)
{
  size_t at = copy->len, end = at;
  struct coded_input part;
  uint32_t marker;
  bool ended, whole, one_more = false;
  uint64_t i;

  do {
    part = *in;
    marker = jpx_skip(in);
    if (marker == JPX_SOT && in->why == NULL)
      coded_expect(in, jpx_count_part(part, tiles, count, &one_more),
                   coded_is_invalid);
    if (marker == JPX_SOT && in->why != NULL)
      return;
    if (in->why == NULL && marker != JPX_EOC)
      dx_buf_add(copy, part.at, (size_t)(in->at - part.at));
    jpx_clear_comments(copy, at);
    at = copy->len;
    end = marker == JPX_SOT ? at : end;
  } while (in->why == NULL && marker != JPX_EOC);
  copy->len = end;
  dx_buf_add(copy, JPX_EOC_BYTES, 2);
  ended = in->why != NULL;
  whole = !ended || memcmp(in->end - 2, JPX_EOC_BYTES, 2) != 0;
  for (i = 0; i < count; i++)
    whole = whole && tiles[i].seen > 0 &&
            (tiles[i].parts > 0
                 ? tiles[i].seen >= tiles[i].parts + (one_more ? 1 : 0)
                 : !ended);
  in->why = whole ? NULL : coded_ends_early;
}

enum dx_reason jpx_clean(const unsigned char *bytes, size_t len, uint32_t width,
                         uint32_t height, struct dx_buf *copy,
                         const char **ret_why)
{
  struct coded_input in = {.at = bytes, .end = bytes + len};
  uint64_t siz[8], columns, rows; /* X, Y, XO, YO, XT, YT, XTO, YTO */
  const unsigned char *soc;
  struct jpx_tile *tiles;
  uint32_t siz_len;
  int i;

  jpx_find(&in, copy);
  if (copy->len > 0)
    dx_buf_add(copy, "\0\0\0\0jp2c", 8);
  soc = in.at;
  coded_expect(&in, coded_number(&in, 4) == 0xFF4FFF51, coded_is_invalid);
  siz_len = coded_number(&in, 2);
  coded_skip(&in, 2);
  for (i = 0; i < 8; i++)
    siz[i] = coded_number(&in, 4);
  coded_skip(&in, siz_len >= 38 ? siz_len - 36 : UINT64_MAX);
  for (i = 0; i < 2; i++)
    coded_expect(
        &in, siz[i] > siz[2 + i] && siz[4 + i] > 0 && siz[6 + i] <= siz[2 + i],
        coded_is_invalid);
  coded_expect(&in, siz[0] - siz[2] >= width && siz[1] - siz[3] >= height,
               coded_is_small);
  if (in.why != NULL)
    return coded_reason(in.why, ret_why);
  columns = (siz[0] - siz[6] + siz[4] - 1) / siz[4];
  rows = (siz[1] - siz[7] + siz[5] - 1) / siz[5];
  if (columns > JPX_TILES_MAX || columns * rows > JPX_TILES_MAX)
    return DX_REASON_TOO_COMPLEX;
  tiles = calloc((size_t)(columns * rows), sizeof(*tiles));
  if (tiles == NULL)
    return DX_REASON_TROUBLE;
  dx_buf_add(copy, soc, (size_t)(in.at - soc));
  jpx_codestream(&in, tiles, columns * rows, copy);
  free(tiles);
  return coded_reason(in.why, ret_why);
}
