/*
 * unpack.c - passes the output of each stage to the next one.
 */
#include "filter/unpack.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <zlib.h>

#define OUT_BYTES 32768
#define AT_ONCE_BYTES (64 << 20) /* a page in color at 400 dpi */

enum { LZW_CLEAR = 256, LZW_END, LZW_FIRST, LZW_CODES = 4096 };

struct stage {
  enum unpack_filter filter;
  bool early_change;
  bool ended;    /* as its format requires; Flate: perhaps without checksum */
  bool broken;   /* invalid data */
  bool open;     /* it must not end here */
  bool done;     /* reads nothing more */
  uint32_t word; /* digits, bits, or bytes that are not complete yet */
  int digits;    /* how many; run length: to copy, or if negative to repeat */
  size_t seen;   /* bytes of the header, or of the input */
  uLong checksum;
  z_stream z; /* raw Deflate data */
  /* LZW: the string of a code is that of its prefix and one more byte. */
  int width, next, previous;
  uint16_t prefix[LZW_CODES], length[LZW_CODES];
  unsigned char first[LZW_CODES], last[LZW_CODES];
  size_t out_len;
  unsigned char out[OUT_BYTES];
};

struct unpack {
  struct stage *stages;
  size_t count;
  unpack_sink *sink;
  void *ctx;
  bool stopped, no_memory;
};

static size_t unpack_feed(struct unpack *u, size_t i,
                          const unsigned char *bytes, size_t len);

/* Passes on the output of a stage; the recursion depth is the number of stages.
 */
static void unpack_flush(struct unpack *u, size_t i)
{
  struct stage *s = &u->stages[i];
  size_t len = s->out_len;

  s->out_len = 0;
  if (len == 0 || u->stopped)
    return;
  u->stopped = !u->sink(u->ctx, i + 1 == u->count ? s->out : NULL, len);
  if (!u->stopped && i + 1 < u->count)
    (void)unpack_feed(u, i + 1, s->out, len);
}

/* After an odd number of digits, a 0 is assumed. */
static void unpack_hex(struct stage *s, unsigned char c)
{
  int lower = c | 0x20;
  int digit = c >= '0' && c <= '9'           ? c - '0'
              : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
              : c == '>'                     ? 0
                                             : -1;

  s->broken = digit < 0;
  s->ended = c == '>';
  if (s->open && !s->broken)
    s->out[s->out_len++] = (unsigned char)(s->word << 4 | (uint32_t)digit);
  s->word = (uint32_t)digit;
  s->open = !s->open && !s->ended;
}

/* Five digits are four bytes; at the end n + 1 digits are n bytes. */
static void unpack_85(struct stage *s, unsigned char c)
{
  uint64_t word = s->word;
  int bytes = 4;

  if (c == '~' && s->seen++ == 1 && s->digits == 1 && word == '<' - '!') {
    s->digits = 0; /* it begins with "<~" */
  } else if (c == '~') {
    s->ended = true;
    for (bytes = s->digits - 1; s->digits % 5 != 0; s->digits++)
      word = word * 85 + 84;
  } else if (c == 'z' && s->digits == 0) {
    s->digits = 5;
  } else {
    s->broken = c < '!' || c > 'u';
    word = word * 85 + (unsigned char)(c - '!');
    s->digits++;
    s->seen++;
  }
  s->broken = s->broken || word > UINT32_MAX;
  for (int i = 0; i < bytes && s->digits == 5; i++)
    s->out[s->out_len++] = (unsigned char)(word >> (24 - 8 * i));
  s->digits %= 5;
  s->word = s->digits == 0 ? 0 : (uint32_t)word;
  s->open = s->digits != 0;
}

static void unpack_run_length(struct stage *s, unsigned char c)
{
  if (s->digits > 0) {
    s->out[s->out_len++] = c;
    s->digits--;
  } else if (s->digits < 0) {
    for (; s->digits < 0; s->digits++)
      s->out[s->out_len++] = c;
  } else {
    s->ended = c == 128;
    s->digits = c < 128 ? c + 1 : c > 128 ? c - 257 : 0;
  }
  s->open = s->digits != 0;
}

static void unpack_lzw_code(struct stage *s, int code)
{
  int added = s->next, at;

  if (code == LZW_CLEAR) {
    s->width = 9;
    s->next = LZW_FIRST;
    s->previous = -1;
  }
  s->ended = code == LZW_END;
  if (code == LZW_CLEAR || code == LZW_END)
    return;
  /* A full table stays as it is until it is cleared. */
  if (s->previous >= 0 && s->next < LZW_CODES)
    s->next++;
  s->broken = code >= s->next;
  if (s->broken)
    return;
  if (s->next > added) {
    s->prefix[added] = (uint16_t)s->previous;
    s->length[added] = (uint16_t)(s->length[s->previous] + 1);
    s->first[added] = s->first[s->previous];
    s->last[added] = s->first[code];
  }
  at = code;
  for (size_t n = s->length[code]; n > 0; n--, at = s->prefix[at])
    s->out[s->out_len + n - 1] = s->last[at];
  s->out_len += s->length[code];
  s->previous = code;
  if (s->width < 12 && s->next + (s->early_change ? 1 : 0) >= 1 << s->width)
    s->width++;
}

/* The last byte is padded with zeros: any other rest is part of a code. */
static void unpack_lzw(struct stage *s, unsigned char c)
{
  s->word = s->word << 8 | c;
  s->digits += 8;
  if (s->digits >= s->width) {
    s->digits -= s->width;
    unpack_lzw_code(s, (int)(s->word >> s->digits));
    s->word &= (1U << s->digits) - 1;
  }
  s->open = s->digits >= 8 || s->word != 0;
}

/* Returns how many bytes of Deflate data it used. */
static size_t unpack_deflate(struct unpack *u, size_t i,
                             const unsigned char *bytes, size_t len)
{
  struct stage *s = &u->stages[i];
  int status = Z_OK;

  len = len < INT_MAX ? len : INT_MAX;
  s->z.next_in = (z_const Bytef *)bytes;
  s->z.avail_in = (uInt)len;
  while (status == Z_OK && !u->stopped) {
    s->z.next_out = s->out;
    s->z.avail_out = OUT_BYTES;
    status = inflate(&s->z, Z_NO_FLUSH);
    s->out_len = OUT_BYTES - s->z.avail_out;
    s->checksum = adler32(s->checksum, s->out, (uInt)s->out_len);
    if (status != Z_BUF_ERROR) /* Z_BUF_ERROR resets data_type */
      s->open = (s->z.data_type & 128) == 0;
    unpack_flush(u, i);
  }
  s->ended = status == Z_STREAM_END;
  s->broken = status == Z_DATA_ERROR;
  u->no_memory = u->no_memory || status == Z_MEM_ERROR;
  return len - s->z.avail_in;
}

/* A header of two bytes, Deflate data, Adler-32 (RFC 1950). Not zlib's own
 * header: viewers ignore the size of the window that it names. */
static size_t unpack_flate(struct unpack *u, size_t i,
                           const unsigned char *bytes, size_t len)
{
  struct stage *s = &u->stages[i];

  if (s->seen >= 2 && !s->ended)
    return unpack_deflate(u, i, bytes, len);
  s->word = s->word << 8 | bytes[0];
  if (!s->ended) {
    s->broken =
        ++s->seen == 2 && ((s->word & 0x0f20) != 0x0800 || s->word % 31 != 0);
  } else {
    s->done = ++s->digits == 4;
    s->broken = s->done && s->word != s->checksum;
  }
  return 1;
}

/* What follows the end of a stage is not read. */
static size_t unpack_feed(struct unpack *u, size_t i,
                          const unsigned char *bytes, size_t len)
{
  struct stage *s = &u->stages[i];
  size_t at = 0;

  while (at < len && !s->done && !s->broken && !u->stopped && !u->no_memory) {
    unsigned char c = bytes[at];

    if (s->filter == UNPACK_FLATE) {
      at += unpack_flate(u, i, bytes + at, len - at);
      continue;
    }
    at++;
    if (s->filter == UNPACK_LZW)
      unpack_lzw(s, c);
    else if (s->filter == UNPACK_RUN_LENGTH)
      unpack_run_length(s, c);
    else if (c <= ' ' && strchr(" \t\n\f\r", c) != NULL) /* or NUL */
      continue;
    else if (s->filter == UNPACK_HEX)
      unpack_hex(s, c);
    else
      unpack_85(s, c);
    s->done = s->ended;
    if (s->out_len > OUT_BYTES - LZW_CODES) /* the longest string */
      unpack_flush(u, i);
  }
  unpack_flush(u, i);
  return at;
}

static bool unpack_begin(struct stage *s, const struct unpack_stage *stage)
{
  memset(s, 0, offsetof(struct stage, prefix));
  s->out_len = 0;
  s->filter = stage->filter;
  s->early_change = stage->early_change;
  s->checksum = adler32(0, NULL, 0);
  s->open = s->filter == UNPACK_FLATE;
  for (int i = 0; i < 256; i++) {
    s->length[i] = 1;
    s->first[i] = s->last[i] = (unsigned char)i;
  }
  unpack_lzw_code(s, LZW_CLEAR);
  return s->filter != UNPACK_FLATE || inflateInit2(&s->z, -MAX_WBITS) == Z_OK;
}

enum unpack_end unpack(const struct unpack_stage *stages, size_t count,
                       const unsigned char *bytes, size_t len,
                       unpack_sink *sink, void *ctx, size_t *ret_used)
{
  struct unpack u = {.count = count, .sink = sink, .ctx = ctx};
  bool broken = false, open = false, ended = count == 0;

  *ret_used = len;
  if (count == 0)
    return len == 0 || sink(ctx, bytes, len) ? UNPACK_WHOLE : UNPACK_STOPPED;
  u.stages = malloc(count * sizeof(*u.stages));
  if (u.stages == NULL)
    return UNPACK_NO_MEMORY;
  for (size_t i = 0; i < count; i++)
    u.no_memory = !unpack_begin(&u.stages[i], &stages[i]) || u.no_memory;
  *ret_used = unpack_feed(&u, 0, bytes, len);
  for (size_t i = 0; i < count; i++) {
    broken = broken || u.stages[i].broken;
    open = open || (u.stages[i].open && !u.stages[i].ended);
    ended = u.stages[i].ended; /* of the last one; later bytes are ignored */
    (void)inflateEnd(&u.stages[i].z); /* ignores a stage that was not begun */
  }
  free(u.stages);
  return u.no_memory ? UNPACK_NO_MEMORY
         : broken    ? UNPACK_DAMAGED
         : u.stopped ? UNPACK_STOPPED
         : ended     ? UNPACK_WHOLE
         : open      ? UNPACK_CUT
                     : UNPACK_SHORT;
}

bool unpack_is_flate_of(const unsigned char *bytes, size_t len, size_t size)
{
  static struct libdeflate_decompressor *libdeflate;
  size_t used;
  void *out;
  bool is;

  if (libdeflate == NULL)
    libdeflate = libdeflate_alloc_decompressor();
  out = size <= AT_ONCE_BYTES ? malloc(size) : NULL;
  is = libdeflate != NULL && out != NULL &&
       libdeflate_zlib_decompress_ex(libdeflate, bytes, len, out, size, &used,
                                     NULL) == LIBDEFLATE_SUCCESS;
  free(out);
  return is;
}
