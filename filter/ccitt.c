/*
 * ccitt.c - decodes CCITT (ITU-T T.4, T.6; ISO 32000-1, 7.4.6), up to the color
 * changes of each row.
 *
 * libtiff is not used: it cannot decode group 4 with EncodedByteAlign, and
 * group 3 in two dimensions only with EOL, and reads missing bits at the end as
 * zeros.
 */
#include <stdlib.h>

#include "filter/coded.h"
#include "filter/codecs.h"

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
             : coded_is_invalid;
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
  return c->at + CCITT_CODE_BITS > c->end ? coded_ends_early
                                          : ccitt_count_bad(r);
}

/* At the code that ends a page. A fax may have counted its EOLs as rows; two
 * bad rows may have become one. */
static const char *ccitt_end(const struct ccitt_rows *r)
{
  uint32_t left = r->parms->rows - r->y;

  return r->parms->k >= 0 && r->has_eols &&
                 left <= (r->bad == 0 ? CCITT_RTC_EOLS : CCITT_BAD_ROWS)
             ? NULL
             : coded_ends_early;
}

/* At the end of the data, of which some have no code for it: each bad row may
 * have been two, if its EOL was wrong, too. */
static bool ccitt_has_joined_rows(const struct ccitt_rows *r)
{
  return r->parms->k >= 0 && r->has_eols && r->parms->rows - r->y <= r->bad;
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
    *ret_ended = begin + CCITT_CODE_BITS > c->end && ccitt_has_joined_rows(r);
    if (*ret_ended)
      return NULL;
    if (c->at + CCITT_CODE_BITS > c->end)
      return coded_ends_early;
    return p->k < 0 ? coded_is_invalid : ccitt_skip_bad(c, r, begin);
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

enum dx_reason ccitt_check(const unsigned char *bytes, size_t len,
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
  return coded_reason(why, ret_why);
}
