/*
 * codecs.c - decodes CCITT, up to the color changes of each row, and checks the
 * structure of JBIG2 and JPEG 2000.
 *
 * libtiff is not used for CCITT: it cannot decode group 4 with
 * EncodedByteAlign, and group 3 in two dimensions only with EOL, and reads
 * missing bits at the end as zeros.
 */
#include "filter/codecs.h"

#include <stdlib.h>
#include <string.h>

static const char ends_early[] = "an image ends early";
static const char is_invalid[] = "an image has invalid data";
static const char is_small[] = "an image is smaller than it should be";

static enum dx_reason codecs_reason(const char *why, const char **ret_why)
{
  if (why != NULL)
    *ret_why = why;
  return why == NULL ? DX_REASON_NONE : DX_REASON_DAMAGED;
}

/* ---- CCITT (ITU-T T.4, T.6; ISO 32000-1, 7.4.6) ---- */

#define CCITT_COLUMNS_MAX 1000000
#define CCITT_CODE_BITS 13 /* the longest */
#define CCITT_RTC_EOLS 6   /* at the end of a page of group 3 */
#define CCITT_BAD_ROWS 2   /* one after the other, and one in */
#define CCITT_ROWS_PER_BAD 100

/* The codes of the runs 0 to 63, 64, 128, ... 2560, with a 1 before each. */
/* clang-format off */
static const uint16_t ccitt_codes[2][64 + 40] = {
    {0x135, 0x47, 0x17, 0x18, 0x1b, 0x1c, 0x1e, 0x1f, 0x33, 0x34, 0x27, 0x28,
      0x48, 0x43, 0x74, 0x75, 0x6a, 0x6b, 0xa7, 0x8c, 0x88, 0x97, 0x83, 0x84,
      0xa8, 0xab, 0x93, 0xa4, 0x98, 0x102, 0x103, 0x11a, 0x11b, 0x112, 0x113,
      0x114, 0x115, 0x116, 0x117, 0x128, 0x129, 0x12a, 0x12b, 0x12c, 0x12d,
      0x104, 0x105, 0x10a, 0x10b, 0x152, 0x153, 0x154, 0x155, 0x124, 0x125,
      0x158, 0x159, 0x15a, 0x15b, 0x14a, 0x14b, 0x132, 0x133, 0x134, 0x3b, 0x32,
      0x57, 0xb7, 0x136, 0x137, 0x164, 0x165, 0x168, 0x167, 0x2cc, 0x2cd, 0x2d2,
      0x2d3, 0x2d4, 0x2d5, 0x2d6, 0x2d7, 0x2d8, 0x2d9, 0x2da, 0x2db, 0x298,
      0x299, 0x29a, 0x58, 0x29b, 0x808, 0x80c, 0x80d, 0x1012, 0x1013, 0x1014,
      0x1015, 0x1016, 0x1017, 0x101c, 0x101d, 0x101e, 0x101f},
    {0x437, 0xa, 0x7, 0x6, 0xb, 0x13, 0x12, 0x23, 0x45, 0x44, 0x84, 0x85, 0x87,
      0x104, 0x107, 0x218, 0x417, 0x418, 0x408, 0x867, 0x868, 0x86c, 0x837,
      0x828, 0x817, 0x818, 0x10ca, 0x10cb, 0x10cc, 0x10cd, 0x1068, 0x1069,
      0x106a, 0x106b, 0x10d2, 0x10d3, 0x10d4, 0x10d5, 0x10d6, 0x10d7, 0x106c,
      0x106d, 0x10da, 0x10db, 0x1054, 0x1055, 0x1056, 0x1057, 0x1064, 0x1065,
      0x1052, 0x1053, 0x1024, 0x1037, 0x1038, 0x1027, 0x1028, 0x1058, 0x1059,
      0x102b, 0x102c, 0x105a, 0x1066, 0x1067, 0x40f, 0x10c8, 0x10c9, 0x105b,
      0x1033, 0x1034, 0x1035, 0x206c, 0x206d, 0x204a, 0x204b, 0x204c, 0x204d,
      0x2072, 0x2073, 0x2074, 0x2075, 0x2076, 0x2077, 0x2052, 0x2053, 0x2054,
      0x2055, 0x205a, 0x205b, 0x2064, 0x2065, 0x808, 0x80c, 0x80d, 0x1012,
      0x1013, 0x1014, 0x1015, 0x1016, 0x1017, 0x101c, 0x101d, 0x101e, 0x101f}};
/* clang-format on */

/* A row is a list of the columns at which the color changes, white first,
 * followed by three times the number of columns. */
struct ccitt {
  const unsigned char *bytes;
  uint64_t at, end; /* bits; behind the end there are zeros */
  int64_t columns;
  uint32_t *above, *row;
  uint16_t runs[2][1 << CCITT_CODE_BITS]; /* run << 4 | bits of the code */
  uint32_t rows[];
};

static uint32_t ccitt_peek(const struct ccitt *c, int bits) /* up to 25 */
{
  uint64_t byte = c->at / 8, len = c->end / 8;
  uint32_t word = 0;
  int i;

  for (i = 0; i < 4; i++, byte++)
    word = word << 8 | (byte < len ? c->bytes[byte] : 0);
  return word << (c->at % 8) >> (32 - bits);
}

static void ccitt_make_table(uint16_t *runs, const uint16_t *codes)
{
  uint32_t i, k, bits, first;

  for (i = 0; i < 64 + 40; i++) {
    for (bits = CCITT_CODE_BITS; codes[i] >> bits == 0; bits--)
      ;
    first = (codes[i] & ~(1U << bits)) << (CCITT_CODE_BITS - bits);
    for (k = 0; k < 1U << (CCITT_CODE_BITS - bits); k++)
      runs[first + k] = (uint16_t)((i < 64 ? i : (i - 63) * 64) << 4 | bits);
  }
}

/* More than the columns if a code is invalid. */
static int64_t ccitt_run(struct ccitt *c, int color)
{
  int64_t total = 0;
  uint16_t entry;

  do {
    entry = c->runs[color][ccitt_peek(c, CCITT_CODE_BITS)];
    c->at += entry & 15;
    total += entry != 0 ? entry >> 4 : c->columns + 1;
  } while (entry >> 4 >= 64 && total <= c->columns);
  return total;
}

/* A row in one dimension is one of horizontal modes only. For two, the names
 * are those of T.6, 2.2: b1 is the next change above to the other color. */
static bool ccitt_row(struct ccitt *c, bool is_1d)
{
  static const struct {
    int bits, code, offset;
  } vertical[] = {{1, 1, 0},  {3, 3, 1}, {3, 2, -1}, {6, 3, 2},
                  {6, 2, -2}, {7, 3, 3}, {7, 2, -3}};
  int64_t a0 = -1, from, n = 0, b1 = 0;
  int color = 0, code, i;

  while (a0 < c->columns && n <= c->columns) {
    while (c->above[b1] <= a0 && c->above[b1] < c->columns)
      b1 += 2;
    from = a0 > 0 ? a0 : 0;
    code = (int)ccitt_peek(c, 7);
    if (is_1d || code >> 4 == 1) { /* horizontal */
      c->at += is_1d ? 0 : 3;
      a0 = from + ccitt_run(c, color);
      c->row[n++] = (uint32_t)a0;
      if (is_1d && a0 >= c->columns)
        break;
      a0 += ccitt_run(c, !color);
      c->row[n++] = (uint32_t)a0;
    } else if (code >> 3 == 1) { /* pass */
      c->at += 4;
      a0 = c->above[b1 + 1];
    } else {
      for (i = 0; i < 7 && code >> (7 - vertical[i].bits) != vertical[i].code;)
        i++;
      if (i == 7 || (int64_t)c->above[b1] + vertical[i].offset < from)
        return false;
      c->at += (uint64_t)vertical[i].bits;
      a0 = (int64_t)c->above[b1] + vertical[i].offset;
      c->row[n++] = (uint32_t)a0;
      color = !color;
      b1 += b1 > 0 ? -1 : 1;
    }
  }
  c->row[n] = c->row[n + 1] = c->row[n + 2] = (uint32_t)c->columns;
  return a0 == c->columns;
}

/* An EOL, with any number of zeros before it. */
static bool ccitt_skip_eol(struct ccitt *c)
{
  uint64_t at = c->at;

  while (c->at < c->end && ccitt_peek(c, 12) == 0)
    c->at++;
  if (ccitt_peek(c, 12) == 1) {
    c->at += 12;
    return true;
  }
  c->at = at;
  return false;
}

/* What has been read of an image. */
struct ccitt_rows {
  const struct ccitt_parms *parms;
  bool has_eols;  /* before the first row */
  bool is_broken; /* no row to which the next one can refer */
  uint32_t y, bad, bad_at_once;
};

/* Returns why the image is damaged, or NULL if one more row may be bad. */
static const char *ccitt_count_bad(struct ccitt_rows *r)
{
  r->bad++;
  r->bad_at_once++;
  return r->has_eols && r->parms->k >= 0 && r->bad_at_once <= CCITT_BAD_ROWS &&
                 r->bad <= r->parms->rows / CCITT_ROWS_PER_BAD
             ? NULL
             : is_invalid;
}

/* A row, from `at` on, that a transmission error has changed. Group 3 goes on
 * behind the next EOL, of which a wrong code may have taken bits; if rows refer
 * to the one above, with the next of one dimension. */
static const char *ccitt_skip_bad(struct ccitt *c, struct ccitt_rows *r,
                                  uint64_t at)
{
  c->at = at;
  while (c->at < c->end && ccitt_peek(c, 12) != 1)
    c->at++;
  r->is_broken = true;
  return c->at + CCITT_CODE_BITS > c->end ? ends_early : ccitt_count_bad(r);
}

/* At the code that ends a page. A fax may have counted its EOLs as rows; two
 * bad rows may have become one. */
static const char *ccitt_end(const struct ccitt_rows *r)
{
  uint32_t left = r->parms->rows - r->y;

  return r->parms->k >= 0 && r->has_eols &&
                 left <= (r->bad == 0 ? CCITT_RTC_EOLS : CCITT_BAD_ROWS)
             ? NULL
             : ends_early;
}

/* Returns why the image is damaged, or NULL. */
static const char *ccitt_next_row(struct ccitt *c, struct ccitt_rows *r,
                                  bool *ret_ended)
{
  const struct ccitt_parms *p = r->parms;
  uint32_t *swap;
  uint64_t begin;
  bool is_1d;
  int eols = 0;

  /* Fill bits and a long run can look like an EOL. */
  if (p->byte_align && !r->has_eols)
    c->at = (c->at + 7) & ~7ULL;
  while (eols < 2 && ccitt_skip_eol(c))
    eols++;
  is_1d = p->k == 0 || (p->k > 0 && ccitt_peek(c, 1) == 1);
  c->at += p->k > 0;
  *ret_ended = eols == 2 || (eols == 1 && p->k > 0 && ccitt_peek(c, 12) == 1);
  if (*ret_ended)
    return ccitt_end(r);
  begin = c->at;
  if (r->is_broken && !is_1d)
    return ccitt_skip_bad(c, r, begin);
  if (!ccitt_row(c, is_1d) || c->at > c->end) {
    if (c->at + CCITT_CODE_BITS > c->end)
      return ends_early;
    return p->k < 0 ? is_invalid : ccitt_skip_bad(c, r, begin);
  }
  r->is_broken = false;
  swap = c->above;
  c->above = c->row;
  c->row = swap;
  if (p->needs_eols && r->has_eols && eols == 0)
    return ccitt_count_bad(r);
  r->bad_at_once = 0;
  return NULL;
}

enum dx_reason codecs_ccitt(const unsigned char *bytes, size_t len,
                            const struct ccitt_parms *p, uint32_t *ret_bad,
                            const char **ret_why)
{
  size_t changes = (size_t)p->columns + 6;
  struct ccitt_rows r = {.parms = p};
  const char *why = NULL;
  bool ended = false;
  struct ccitt *c;

  if (p->columns == 0 || p->columns > CCITT_COLUMNS_MAX)
    return DX_REASON_TOO_COMPLEX;
  c = calloc(1, sizeof(*c) + 2 * changes * sizeof(c->rows[0]));
  if (c == NULL)
    return DX_REASON_TROUBLE;
  c->bytes = bytes;
  c->end = 8 * (uint64_t)len;
  c->columns = p->columns;
  c->above = c->rows;
  c->row = c->rows + changes;
  c->rows[0] = c->rows[1] = c->rows[2] = p->columns; /* all white */
  ccitt_make_table(c->runs[0], ccitt_codes[0]);
  ccitt_make_table(c->runs[1], ccitt_codes[1]);
  r.has_eols = ccitt_skip_eol(c);
  c->at = 0;
  for (; r.y < p->rows && why == NULL && !ended; r.y++)
    why = ccitt_next_row(c, &r, &ended);
  free(c);
  *ret_bad = r.bad;
  return codecs_reason(why, ret_why);
}

/* ---- formats of which only the structure is checked ---- */

/* After the first error, numbers are 0 and nothing is skipped. */
struct codecs_input {
  const unsigned char *at, *end;
  const char *why; /* the error; NULL: none so far */
};

static void codecs_expect(struct codecs_input *in, bool good, const char *why)
{
  if (!good && in->why == NULL)
    in->why = why;
}

static size_t codecs_left(const struct codecs_input *in)
{
  return (size_t)(in->end - in->at);
}

static void codecs_skip(struct codecs_input *in, uint64_t len)
{
  codecs_expect(in, len <= codecs_left(in), ends_early);
  if (in->why == NULL)
    in->at += len;
}

/* A big-endian number. */
static uint32_t codecs_number(struct codecs_input *in, size_t size)
{
  const unsigned char *at = in->at;
  uint32_t number = 0;

  codecs_skip(in, size);
  while (in->why == NULL && at < in->at)
    number = number << 8 | *at++;
  return number;
}

/* Skips to the mark. */
static void codecs_find(struct codecs_input *in, const void *mark, size_t len)
{
  const unsigned char *found = memmem(in->at, codecs_left(in), mark, len);

  codecs_skip(in, found != NULL ? (uint64_t)(found - in->at) : UINT64_MAX);
}

/* ---- JBIG2 (ITU-T T.88, 7.2) ---- */

#define JBIG2_PAGE 48
#define JBIG2_END_OF_STRIPE 50
#define JBIG2_END_OF_FILE 51
#define JBIG2_LAST_TYPE 62
#define JBIG2_UNKNOWN 0xFFFFFFFF /* height or length */
#define JBIG2_SEGMENT_MIN 11     /* bytes */

struct jbig2 {
  bool has_page, has_region;
  bool has_more; /* than a page and its end */
  uint32_t width, height;
  uint64_t stripes;         /* rows */
  unsigned char seen[8192]; /* a bit for each segment number below 65536 */
};

static void jbig2_segment(struct jbig2 *j, struct codecs_input *in)
{
  static const char ends[2][2] = {{'\xFF', '\xAC'}, {0, 0}};
  const uint64_t immediate = 3 << 6 | 3 << 22 | 3ULL << 38 | 3ULL << 42;
  uint32_t number = codecs_number(in, 4), flags = codecs_number(in, 1);
  uint32_t count = codecs_number(in, 1), type = flags & 63, ref, len;
  struct codecs_input data;

  if (count >> 5 == 7) {
    count = (count & 31) << 24 | codecs_number(in, 3);
    codecs_skip(in, (count + 8) / 8);
  } else {
    count >>= 5;
  }
  for (; count > 0 && in->why == NULL; count--) {
    ref = codecs_number(in, number <= 256 ? 1 : number <= 65536 ? 2 : 4);
    codecs_expect(in, ref >= 65536 || (j->seen[ref / 8] >> ref % 8 & 1) != 0,
                  "a part of its image is missing");
  }
  codecs_skip(in, (flags & 0x40) != 0 ? 4 : 1); /* page */
  len = codecs_number(in, 4);
  data = *in;
  if (len == JBIG2_UNKNOWN && (type == 38 || type == 39)) {
    /* A generic region: after the mark follows the number of its rows. */
    codecs_skip(in, 17);
    codecs_find(in, ends[codecs_number(in, 1) & 1], 2);
    codecs_skip(in, 6);
  } else {
    codecs_skip(in, len);
  }
  data.end = in->at;
  if (type == JBIG2_PAGE) {
    j->has_page = true;
    j->width = codecs_number(&data, 4);
    j->height = codecs_number(&data, 4);
  } else if (type == JBIG2_END_OF_STRIPE) {
    j->stripes = codecs_number(&data, 4) + 1ULL;
  }
  codecs_expect(in, type <= JBIG2_LAST_TYPE && data.why == NULL, is_invalid);
  j->has_more |= type < JBIG2_PAGE || type > JBIG2_END_OF_FILE;
  j->has_region = j->has_region || (immediate >> type & 1) != 0;
  if (number < 65536)
    j->seen[number / 8] |= (unsigned char)(1 << number % 8);
}

static void jbig2_walk(struct jbig2 *j, struct codecs_input *in)
{
  uint32_t c;

  while (in->why == NULL && codecs_left(in) >= JBIG2_SEGMENT_MIN)
    jbig2_segment(j, in);
  while (in->why == NULL && in->at < in->end) { /* the end of a line */
    c = codecs_number(in, 1);
    codecs_expect(in, c == '\r' || c == '\n', ends_early);
  }
}

enum dx_reason codecs_jbig2(const unsigned char *bytes, size_t len,
                            const unsigned char *globals, size_t globals_len,
                            uint32_t width, uint32_t height,
                            const char **ret_why)
{
  struct codecs_input in = {.at = globals, .end = globals};
  struct jbig2 j = {0};

  if (globals != NULL) {
    in.end += globals_len;
    jbig2_walk(&j, &in);
    j.has_more = false;
  }
  in.at = bytes;
  in.end = bytes + len;
  jbig2_walk(&j, &in);
  /* A page without regions is blank, unless it defines symbols for some. */
  codecs_expect(&in, j.has_region || (j.has_page && !j.has_more), ends_early);
  codecs_expect(&in,
                j.width >= width &&
                    (j.height == JBIG2_UNKNOWN ? j.stripes : j.height) >=
                        height,
                is_small);
  return codecs_reason(in.why, ret_why);
}

/* ---- JPEG 2000 (ITU-T T.800, annexes A and I) ---- */

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
static void jpx_copy_boxes(struct codecs_input *in, bool in_header,
                           struct dx_buf *copy)
{
  const char *kept =
      in_header ? "ihdrbpcccolrpclrcmapcdef" : "jP  ftyprreqjp2h";

  while (in->why == NULL && in->at < in->end) {
    const unsigned char *begin = in->at, *type = begin + 4;
    uint64_t len = codecs_number(in, 4);
    struct codecs_input content;
    size_t at = copy->len;
    const char *found;

    codecs_skip(in, 4);
    if (in->why == NULL && memcmp(type, "jp2c", 4) == 0) {
      codecs_skip(in, len == 1 ? 8 : 0);
      return;
    }
    if (len == 0) {
      len = (uint64_t)(in->end - begin);
    } else if (len == 1) {
      len = (uint64_t)codecs_number(in, 4) << 32;
      len |= codecs_number(in, 4);
    }
    content = *in;
    len -= (uint64_t)(in->at - begin);
    codecs_skip(in, len); /* also if it was less */
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
    codecs_expect(in, content.why == NULL, is_invalid);
    for (int i = 0; i < 4 && !copy->failed; i++)
      copy->data[at + (size_t)i] = (char)((copy->len - at) >> (24 - 8 * i));
  }
}

/* Skips to the codestream. In some PDFs, other bytes precede it. */
static void jpx_find(struct codecs_input *in, struct dx_buf *boxes)
{
  static const char signature[] = "jP  \r\n\x87\n";

  if (codecs_left(in) >= 12 && memcmp(in->at + 4, signature, 8) == 0)
    jpx_copy_boxes(in, false, boxes);
  else
    codecs_find(in, "\xFF\x4F\xFF\x51", 4);
}

/* Skips a marker with its segment, or a whole tile-part. Returns the marker. */
static uint32_t jpx_skip(struct codecs_input *in)
{
  uint32_t marker = codecs_number(in, 2), len, psot;

  if (marker == JPX_EOC)
    return marker;
  len = codecs_number(in, 2);
  if (marker == JPX_SOT) {
    codecs_skip(in, 2);
    psot = codecs_number(in, 4);
    codecs_skip(in, 2);
    if (psot == 0) /* up to EOC, which the data cannot contain */
      codecs_find(in, JPX_EOC_BYTES, 2);
    else
      codecs_skip(in, psot >= 14 ? psot - 12 : UINT64_MAX);
    codecs_expect(in, len == 10, is_invalid);
  } else {
    codecs_skip(in, len >= 2 ? len - 2 : UINT64_MAX);
  }
  return marker;
}

/* `part` is at an SOT marker, of a tile-part that is complete. A known encoder
 * specifies one part too few in each tile: then sets *one_more. */
static bool jpx_count_part(struct codecs_input part, struct jpx_tile *tiles,
                           uint64_t count, bool *one_more)
{
  uint32_t tile, number, parts;

  codecs_skip(&part, 4);
  tile = codecs_number(&part, 2);
  codecs_skip(&part, 4);
  number = codecs_number(&part, 1);
  parts = codecs_number(&part, 1);
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
static void jpx_codestream(struct codecs_input *in, struct jpx_tile *tiles,
                           uint64_t count, struct dx_buf *copy)
{
  size_t at = copy->len, end = at;
  struct codecs_input part;
  uint32_t marker;
  bool ended, whole, one_more = false;
  uint64_t i;

  do {
    part = *in;
    marker = jpx_skip(in);
    if (marker == JPX_SOT && in->why == NULL)
      codecs_expect(in, jpx_count_part(part, tiles, count, &one_more),
                    is_invalid);
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
  in->why = whole ? NULL : ends_early;
}

enum dx_reason codecs_jpx(const unsigned char *bytes, size_t len,
                          uint32_t width, uint32_t height, struct dx_buf *copy,
                          const char **ret_why)
{
  struct codecs_input in = {.at = bytes, .end = bytes + len};
  uint64_t siz[8], columns, rows; /* X, Y, XO, YO, XT, YT, XTO, YTO */
  const unsigned char *soc;
  struct jpx_tile *tiles;
  uint32_t siz_len;
  int i;

  jpx_find(&in, copy);
  if (copy->len > 0)
    dx_buf_add(copy, "\0\0\0\0jp2c", 8);
  soc = in.at;
  codecs_expect(&in, codecs_number(&in, 4) == 0xFF4FFF51, is_invalid);
  siz_len = codecs_number(&in, 2);
  codecs_skip(&in, 2);
  for (i = 0; i < 8; i++)
    siz[i] = codecs_number(&in, 4);
  codecs_skip(&in, siz_len >= 38 ? siz_len - 36 : UINT64_MAX);
  for (i = 0; i < 2; i++)
    codecs_expect(
        &in, siz[i] > siz[2 + i] && siz[4 + i] > 0 && siz[6 + i] <= siz[2 + i],
        is_invalid);
  codecs_expect(&in, siz[0] - siz[2] >= width && siz[1] - siz[3] >= height,
                is_small);
  if (in.why != NULL)
    return codecs_reason(in.why, ret_why);
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
  return codecs_reason(in.why, ret_why);
}
