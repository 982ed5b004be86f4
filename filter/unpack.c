/*
 * unpack.c - unpacks all of the data in one stage after the other.
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

/* A stage, and the part of its output that is not passed on yet. */
struct unpack {
  struct unpacked *to;
  bool early_change;
  enum unpack_end end; /* SHORT: not yet */
  bool open;           /* it must not end here */
  uint32_t word;       /* digits or bits that are not complete yet */
  int digits;  /* how many; run length: to copy, or if negative to repeat */
  size_t seen; /* digits of ASCII85 */
  size_t out_len;
  /* LZW: the string of a code is that of its prefix and one more byte. */
  int width, next, previous;
  uint16_t prefix[LZW_CODES], length[LZW_CODES];
  unsigned char first[LZW_CODES], last[LZW_CODES];
  unsigned char out[OUT_BYTES];
};

/* False at a limit. Makes room with realloc(), which moves large blocks without
 * a second copy, as dx_buf_add() needs for a moment: memory is limited. */
static bool unpack_pass(struct unpacked *to, const unsigned char *bytes,
                        size_t len)
{
  struct dx_buf *kept = &to->bytes;
  size_t room = kept->room + kept->room / 4 + len + 1;
  char *data;

  if (to->keep && kept->len + len >= kept->room &&
      (data = realloc(kept->data, room)) != NULL) {
    kept->data = data;
    kept->room = room;
  }
  if (to->keep)
    dx_buf_add(kept, bytes, len);
  *to->left -= (long long)len;
  to->len += len;
  return *to->left >= 0 && to->len <= to->most;
}

static void unpack_flush(struct unpack *u)
{
  if (!unpack_pass(u->to, u->out, u->out_len) && u->end < UNPACK_DAMAGED)
    u->end = UNPACK_STOPPED;
  u->out_len = 0;
}

/* After an odd number of digits, a 0 is assumed. */
static void unpack_hex(struct unpack *u, unsigned char c)
{
  int lower = c | 0x20;
  int digit = c >= '0' && c <= '9'           ? c - '0'
              : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
              : c == '>'                     ? 0
                                             : -1;

  if (digit < 0 || c == '>')
    u->end = digit < 0 ? UNPACK_DAMAGED : UNPACK_WHOLE;
  if (u->open && digit >= 0)
    u->out[u->out_len++] = (unsigned char)(u->word << 4 | (uint32_t)digit);
  u->word = (uint32_t)digit;
  u->open = !u->open;
}

/* Five digits are four bytes; at the end n + 1 digits are n bytes. */
static void unpack_85(struct unpack *u, unsigned char c)
{
  uint64_t word = u->word;
  int bytes = 4;

  if (c == '~' && u->seen++ == 1 && u->digits == 1 && word == '<' - '!') {
    u->digits = 0; /* it begins with "<~" */
  } else if (c == '~') {
    u->end = UNPACK_WHOLE;
    for (bytes = u->digits - 1; u->digits % 5 != 0; u->digits++)
      word = word * 85 + 84;
  } else if (c == 'z' && u->digits == 0) {
    u->digits = 5;
  } else {
    if (c < '!' || c > 'u')
      u->end = UNPACK_DAMAGED;
    word = word * 85 + (unsigned char)(c - '!');
    u->digits++;
    u->seen++;
  }
  if (word > UINT32_MAX)
    u->end = UNPACK_DAMAGED;
  for (int i = 0; i < bytes && u->digits == 5; i++)
    u->out[u->out_len++] = (unsigned char)(word >> (24 - 8 * i));
  u->digits %= 5;
  u->word = u->digits == 0 ? 0 : (uint32_t)word;
  u->open = u->digits != 0;
}

static void unpack_run_length(struct unpack *u, unsigned char c)
{
  if (u->digits > 0) {
    u->out[u->out_len++] = c;
    u->digits--;
  } else if (u->digits < 0) {
    for (; u->digits < 0; u->digits++)
      u->out[u->out_len++] = c;
  } else if (c == 128) {
    u->end = UNPACK_WHOLE;
  } else {
    u->digits = c < 128 ? c + 1 : c - 257;
  }
  u->open = u->digits != 0;
}

static void unpack_lzw_code(struct unpack *u, int code)
{
  int added = u->next, at;

  if (code == LZW_CLEAR) {
    u->width = 9;
    u->next = LZW_FIRST;
    u->previous = -1;
  }
  if (code == LZW_END)
    u->end = UNPACK_WHOLE;
  if (code == LZW_CLEAR || code == LZW_END)
    return;
  /* A full table stays as it is until it is cleared. */
  if (u->previous >= 0 && u->next < LZW_CODES)
    u->next++;
  if (code >= u->next) {
    u->end = UNPACK_DAMAGED;
    return;
  }
  if (u->next > added) {
    u->prefix[added] = (uint16_t)u->previous;
    u->length[added] = (uint16_t)(u->length[u->previous] + 1);
    u->first[added] = u->first[u->previous];
    u->last[added] = u->first[code];
  }
  at = code;
  for (size_t n = u->length[code]; n > 0; n--, at = u->prefix[at])
    u->out[u->out_len + n - 1] = u->last[at];
  u->out_len += u->length[code];
  u->previous = code;
  if (u->width < 12 && u->next + (u->early_change ? 1 : 0) >= 1 << u->width)
    u->width++;
}

/* The last byte is padded with zeros: any other rest is part of a code. */
static void unpack_lzw(struct unpack *u, unsigned char c)
{
  u->word = u->word << 8 | c;
  u->digits += 8;
  if (u->digits >= u->width) {
    u->digits -= u->width;
    unpack_lzw_code(u, (int)(u->word >> u->digits));
    u->word &= (1U << u->digits) - 1;
  }
  u->open = u->digits >= 8 || u->word != 0;
}

/* Returns how many bytes were used. What follows the end is not read. */
static size_t unpack_bytes(struct unpack *u, enum unpack_filter filter,
                           const unsigned char *bytes, size_t len)
{
  size_t at = 0;

  for (int i = 0; i < 256; i++) {
    u->length[i] = 1;
    u->first[i] = u->last[i] = (unsigned char)i;
  }
  unpack_lzw_code(u, LZW_CLEAR);
  while (at < len && u->end == UNPACK_SHORT) {
    unsigned char c = bytes[at++];

    if (filter == UNPACK_LZW)
      unpack_lzw(u, c);
    else if (filter == UNPACK_RUN_LENGTH)
      unpack_run_length(u, c);
    else if (c <= ' ' && strchr(" \t\n\f\r", c) != NULL) /* or NUL */
      continue;
    else if (filter == UNPACK_HEX)
      unpack_hex(u, c);
    else
      unpack_85(u, c);
    if (u->out_len > OUT_BYTES - LZW_CODES) /* the longest string */
      unpack_flush(u);
  }
  unpack_flush(u);
  return at;
}

/*
 * True if a Deflate block ends where all bytes are used, apart from the rest of
 * a byte or the beginning of the empty block that a flush adds: zeros, or the
 * bits 0, 1, 0 of an empty block with fixed codes and the zeros of its end.
 * `at`: the bit behind the block; bits count from the lowest one of a byte.
 */
static bool unpack_ends_at_block(const unsigned char *bytes, size_t len,
                                 size_t at)
{
  size_t left = 8 * len - at, i;
  uint32_t rest = 0;

  if (left > 9)
    return false;
  for (i = 0; i < left; i++)
    rest |= (uint32_t)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
  return rest == 2 || (rest == 0 && left < 8);
}

/* True if nothing follows these bytes but a line end. */
static bool unpack_ends_at(const unsigned char *bytes, size_t len, size_t at)
{
  size_t rest = len - at;

  if (rest == 1)
    return bytes[at] == '\r' || bytes[at] == '\n';
  return rest == 0 || (rest == 2 && memcmp(bytes + at, "\r\n", 2) == 0);
}

static bool unpack_has_header(const unsigned char *bytes)
{
  uint32_t header = (uint32_t)bytes[0] << 8 | bytes[1];

  return (header & 0x0f20) == 0x0800 && header % 31 == 0;
}

bool unpack_is_flate_header(const unsigned char *bytes, size_t len)
{
  return len >= 2 && unpack_has_header(bytes) && unpack_ends_at(bytes, len, 2);
}

/* `at`: behind the Deflate data, whose checksum is given. One that was cut must
 * begin like it: else a damaged byte has made the data end early. */
static enum unpack_sum unpack_sum_at(const unsigned char *bytes, size_t len,
                                     size_t at, uLong checksum)
{
  size_t rest = len - at, i;
  uLong stored = 0;

  if (rest < 4) {
    for (i = 0; i < rest && bytes[at + i] == (checksum >> (24 - 8 * i) & 255);)
      i++;
    return i == rest || unpack_ends_at(bytes, len, at) ? UNPACK_NO_SUM
                                                       : UNPACK_WRONG_SUM;
  }
  for (i = 0; i < 4; i++)
    stored = stored << 8 | bytes[at++];
  return stored == checksum                              ? UNPACK_RIGHT_SUM
         : stored == 0 && unpack_ends_at(bytes, len, at) ? UNPACK_ZERO_SUM
                                                         : UNPACK_WRONG_SUM;
}

/* A header of two bytes, Deflate data, Adler-32 (RFC 1950). Not zlib's own
 * header: viewers ignore the size of the window that it names. */
static size_t unpack_flate(struct unpack *u, const unsigned char *bytes,
                           size_t len)
{
  uLong checksum = adler32(0, NULL, 0);
  enum unpack_sum sum;
  z_stream z = {0};
  size_t at = 2, block = 0; /* behind the last block, in bits; 0: none */
  int status = Z_OK;

  u->open = true;
  if (len < 2)
    return len;
  if (!unpack_has_header(bytes))
    u->end = UNPACK_DAMAGED;
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
    u->end = UNPACK_NO_MEMORY;
  while (status == Z_OK && u->end == UNPACK_SHORT) {
    if (z.avail_in == 0) {
      z.next_in = (z_const Bytef *)(bytes + at);
      z.avail_in = (uInt)(len - at < INT_MAX ? len - at : INT_MAX);
      at += z.avail_in;
    }
    z.next_out = u->out;
    z.avail_out = OUT_BYTES;
    status = inflate(&z, Z_BLOCK);
    u->out_len = OUT_BYTES - z.avail_out;
    checksum = adler32(checksum, u->out, (uInt)u->out_len);
    if (status == Z_STREAM_END)
      u->end = UNPACK_WHOLE;
    else if (status == Z_DATA_ERROR || status == Z_MEM_ERROR)
      u->end = status == Z_MEM_ERROR ? UNPACK_NO_MEMORY : UNPACK_DAMAGED;
    else if (status == Z_OK && (z.data_type & 128) != 0 && at > 2)
      block = 8 * (at - z.avail_in) - (size_t)(z.data_type & 7);
    unpack_flush(u);
  }
  u->open = block <= 16 || !unpack_ends_at_block(bytes, len, block);
  at -= z.avail_in;
  (void)inflateEnd(&z);
  if (u->end != UNPACK_WHOLE)
    return at;
  sum = unpack_sum_at(bytes, len, at, checksum);
  if (sum > u->to->sum)
    u->to->sum = sum;
  return len - at < 4 ? len : at + 4;
}

void unpack(const struct unpack_stage *stages, size_t count,
            const unsigned char *bytes, size_t len, struct unpacked *to)
{
  struct unpack *u = malloc(sizeof(*u));
  struct dx_buf in = {0};
  bool cut = false;
  size_t used;

  to->used = len;
  to->sum = UNPACK_NO_SUM;
  to->end = u != NULL ? UNPACK_WHOLE : UNPACK_NO_MEMORY;
  if (count == 0 && !unpack_pass(to, bytes, len))
    to->end = UNPACK_STOPPED;
  for (size_t i = 0; i < count && to->end < UNPACK_DAMAGED; i++) {
    struct unpacked next = {.keep = true, .most = SIZE_MAX, .left = to->left};

    memset(u, 0, offsetof(struct unpack, prefix));
    u->to = i + 1 < count ? &next : to;
    u->end = UNPACK_SHORT;
    u->early_change = stages[i].early_change;
    used = stages[i].filter == UNPACK_FLATE
               ? unpack_flate(u, bytes, len)
               : unpack_bytes(u, stages[i].filter, bytes, len);
    if (i == 0)
      to->used = used;
    cut = cut || (u->open && u->end == UNPACK_SHORT);
    to->end = u->end == UNPACK_SHORT && cut ? UNPACK_CUT : u->end;
    if (next.sum > to->sum)
      to->sum = next.sum;
    if (next.bytes.failed)
      to->end = UNPACK_NO_MEMORY;
    dx_buf_release(&in);
    in = next.bytes;
    bytes = (const unsigned char *)in.data;
    len = in.len;
  }
  if (to->bytes.failed)
    to->end = UNPACK_NO_MEMORY;
  dx_buf_release(&in);
  free(u);
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
