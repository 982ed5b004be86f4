/*
 * jbig2.c - checks the structure of JBIG2 (ITU-T T.88, 7.2); nothing is
 * decoded.
 */
#include <string.h>

#include "filter/coded.h"
#include "filter/codecs.h"

#define JBIG2_PAGE 48
#define JBIG2_END_OF_STRIPE 50
#define JBIG2_PROFILES 52
#define JBIG2_LAST_TYPE 62       /* a comment */
#define JBIG2_UNKNOWN 0xFFFFFFFF /* height or length */
#define JBIG2_SEGMENT_MIN 11     /* bytes */

struct jbig2 {
  bool has_page, has_region;
  bool has_more; /* than a page, its end, and descriptions */
  uint32_t width, height;
  uint64_t stripes;         /* rows */
  unsigned char seen[8192]; /* a bit for each segment number below 65536 */
};

static void jbig2_segment(struct jbig2 *j, struct coded_input *in)
{
  static const char ends[2][2] = {{'\xFF', '\xAC'}, {0, 0}};
  const uint64_t immediate = 3 << 6 | 3 << 22 | 3ULL << 38 | 3ULL << 42;
  uint32_t number = coded_number(in, 4), flags = coded_number(in, 1);
  uint32_t count = coded_number(in, 1), type = flags & 63, ref, len;
  struct coded_input data;

  if (count >> 5 == 7) {
    count = (count & 31) << 24 | coded_number(in, 3);
    coded_skip(in, (count + 8) / 8);
  } else {
    count >>= 5;
  }
  for (; count > 0 && in->why == NULL; count--) {
    ref = coded_number(in, number <= 256 ? 1 : number <= 65536 ? 2 : 4);
    coded_expect(in, ref >= 65536 || (j->seen[ref / 8] >> ref % 8 & 1) != 0,
                 "a part of its image is missing");
  }
  coded_skip(in, (flags & 0x40) != 0 ? 4 : 1); /* page */
  len = coded_number(in, 4);
  data = *in;
  if (len == JBIG2_UNKNOWN && (type == 38 || type == 39)) {
    /* A generic region: after the mark follows the number of its rows. */
    coded_skip(in, 17);
    coded_find(in, ends[coded_number(in, 1) & 1], 2);
    coded_skip(in, 6);
  } else {
    coded_skip(in, len);
  }
  data.end = in->at;
  if (type == JBIG2_PAGE) {
    j->has_page = true;
    j->width = coded_number(&data, 4);
    j->height = coded_number(&data, 4);
  } else if (type == JBIG2_END_OF_STRIPE) {
    j->stripes = coded_number(&data, 4) + 1ULL;
  }
  coded_expect(in, type <= JBIG2_LAST_TYPE && data.why == NULL,
               coded_is_invalid);
  j->has_more |=
      type < JBIG2_PAGE || (type > JBIG2_PROFILES && type != JBIG2_LAST_TYPE);
  j->has_region = j->has_region || (immediate >> type & 1) != 0;
  if (number < 65536)
    j->seen[number / 8] |= (unsigned char)(1 << number % 8);
}

static void jbig2_walk(struct jbig2 *j, struct coded_input *in)
{
  uint32_t c;

  while (in->why == NULL && coded_left(in) >= JBIG2_SEGMENT_MIN)
    jbig2_segment(j, in);
  while (in->why == NULL && in->at < in->end) { /* the end of a line */
    c = coded_number(in, 1);
    coded_expect(in, c == '\r' || c == '\n', coded_ends_early);
  }
}

enum dx_reason jbig2_check(const unsigned char *bytes, size_t len,
                           const unsigned char *globals, size_t globals_len,
                           uint32_t width, uint32_t height,
                           const char **ret_why)
{
  struct coded_input in = {.at = globals, .end = globals};
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
  coded_expect(&in, j.has_region || (j.has_page && !j.has_more),
               coded_ends_early);
  coded_expect(&in,
               j.width >= width &&
                   (j.height == JBIG2_UNKNOWN ? j.stripes : j.height) >= height,
               coded_is_small);
  return coded_reason(in.why, ret_why);
}
