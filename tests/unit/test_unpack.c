/*
 * test_unpack.c - the result of filter/unpack.c for packed bytes: complete,
 * truncated at every byte, damaged, and bombs.
 */
#include "tests/unit/flate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "filter/unpack.h"

#define TEXT                                             \
  "BT /F1 12 Tf 72 720 Td (the quick brown fox) Tj ET\n" \
  "BT /F1 12 Tf 72 700 Td (the quick brown fox) Tj ET\n"

static struct unpacked result;
static long long left; /* then it stops */

static const struct unpack_stage hex = {UNPACK_HEX, false};
static const struct unpack_stage a85 = {UNPACK_85, false};
static const struct unpack_stage run_length = {UNPACK_RUN_LENGTH, false};
static const struct unpack_stage lzw = {UNPACK_LZW, true};
static const struct unpack_stage late_lzw = {UNPACK_LZW, false};
static const struct unpack_stage flate = {UNPACK_FLATE, false};

static enum unpack_end run_to(long long limit,
                              const struct unpack_stage *stages, size_t count,
                              const void *bytes, size_t len)
{
  dx_buf_release(&result.bytes);
  left = limit;
  result = (struct unpacked){.keep = true, .most = SIZE_MAX, .left = &left};
  unpack(stages, count, bytes, len, &result);
  assert_int_equal(result.bytes.len, result.len);
  return result.end;
}

static enum unpack_end run(const struct unpack_stage *stages, size_t count,
                           const void *bytes, size_t len)
{
  return run_to(1LL << 40, stages, count, bytes, len);
}

/* ---- packing ---- */

/* Codes of one byte each, the shortest way: a table that is cleared before it
 * grows tests nothing, so the codes are those of an encoder. */
static size_t pack_lzw(const unsigned char *bytes, size_t len, bool early,
                       bool with_end, unsigned char *out)
{
  static int codes[4096][256];
  unsigned long word = 0;
  int bits = 0, width = 9, next = 258, code = -1;
  size_t n = 0;

#define PUT(c)                                        \
  do {                                                \
    word = word << width | (unsigned long)(c);        \
    for (bits += width; bits >= 8; bits -= 8)         \
      out[n++] = (unsigned char)(word >> (bits - 8)); \
  } while (0)
  memset(codes, 0, sizeof(codes));
  PUT(256);
  for (size_t i = 0; i < len; i++) {
    if (code < 0) {
      code = bytes[i];
    } else if (codes[code][bytes[i]] != 0) {
      code = codes[code][bytes[i]];
    } else {
      PUT(code);
      codes[code][bytes[i]] = next++;
      /* The decoder is one entry behind. */
      if (next - 1 + (early ? 1 : 0) >= 1 << width && width < 12)
        width++;
      code = bytes[i];
      if (next == 4095) {
        PUT(code);
        PUT(256);
        memset(codes, 0, sizeof(codes));
        next = 258;
        width = 9;
        code = -1;
      }
    }
  }
  if (code >= 0) {
    PUT(code);
    if (next + (early ? 1 : 0) >= 1 << width && width < 12)
      width++;
  }
  if (with_end)
    PUT(257);
  if (bits > 0)
    out[n++] = (unsigned char)(word << (8 - bits));
#undef PUT
  return n;
}

static size_t pack_85(const unsigned char *bytes, size_t len, char *out)
{
  size_t n = 0;

  for (size_t i = 0; i < len; i += 4) {
    size_t some = len - i < 4 ? len - i : 4;
    unsigned long word = 0;
    char digits[5];

    for (size_t j = 0; j < 4; j++)
      word = word << 8 | (j < some ? bytes[i + j] : 0);
    for (int j = 4; j >= 0; j--, word /= 85)
      digits[j] = (char)('!' + word % 85);
    memcpy(out + n, digits, some + 1);
    n += some + 1;
    if (i % 60 == 56)
      out[n++] = '\n';
  }
  memcpy(out + n, "~>", 2);
  return n + 2;
}

/* ---- what is whole, and what is not ---- */

static void each_filter_ends_as_its_format_says(void **state)
{
  static const struct {
    const struct unpack_stage *stage;
    const char *bytes;
    size_t len;
    const char *text; /* NULL: not compared */
    enum unpack_end end;
    size_t used;
  } rows[] = {
      {&hex, "414 2\n43>", 9, "ABC", UNPACK_WHOLE, 9},
      {&hex, "4a4B5>zz", 8, "JKP", UNPACK_WHOLE, 6},
      {&hex, ">", 1, "", UNPACK_WHOLE, 1},
      {&hex, "4142", 4, "AB", UNPACK_SHORT, 4},
      {&hex, "414", 3, "A", UNPACK_CUT, 3},
      {&hex, "41x2>", 5, "A", UNPACK_DAMAGED, 3},
      {&hex, "", 0, "", UNPACK_SHORT, 0},
      {&a85, "87cURD]i,\"Ebo80~>", 17, "Hello World!", UNPACK_WHOLE, 16},
      {&a85, "<~87cURD]i,\"Ebo80~>", 19, "Hello World!", UNPACK_WHOLE, 18},
      {&a85, "< ~87cUR DZ ~\n>", 15, "Hello", UNPACK_WHOLE, 13},
      {&a85, "z~>", 3, "\0\0\0\0", UNPACK_WHOLE, 2},
      {&a85, "<~~>", 4, "", UNPACK_WHOLE, 3},
      {&a85, "87cUR", 5, "Hell", UNPACK_SHORT, 5},
      {&a85, "87cURD", 6, "Hell", UNPACK_CUT, 6},
      {&a85, "87zUR~>", 7, NULL, UNPACK_DAMAGED, 3},
      {&a85, "87c{R~>", 7, NULL, UNPACK_DAMAGED, 4},
      {&a85, "uuuuu~>", 7, NULL, UNPACK_DAMAGED, 5},
      {&a85, "s8W-!~>", 7, "\xff\xff\xff\xff", UNPACK_WHOLE, 6},
      {&run_length,
       "\x02"
       "abc"
       "\xfe"
       "d"
       "\x80"
       "x",
       8, "abcddd", UNPACK_WHOLE, 7},
      {&run_length,
       "\x02"
       "abc",
       4, "abc", UNPACK_SHORT, 4},
      {&run_length,
       "\x02"
       "ab",
       3, "ab", UNPACK_CUT, 3},
      {&run_length, "\xfe", 1, "", UNPACK_CUT, 1},
      {&run_length, "", 0, "", UNPACK_SHORT, 0},
      /* ISO 32000-1, 7.4.4.2, example 1. */
      {&lzw, "\x80\x0B\x60\x50\x22\x0C\x0C\x85\x01", 9, "-----A---B",
       UNPACK_WHOLE, 9},
      {&lzw, "\x80\x0B\x60\x50\x22\x0C\x0C\x85\x01zz", 11, "-----A---B",
       UNPACK_WHOLE, 9},
      {&lzw, "\x80\x0B\x60\x50\x22\x0C\x0C", 7, "-----A---", UNPACK_SHORT, 7},
      {&lzw, "\x80\x0B\x60\x50\x22\x0C\x0C\x85", 8, "-----A---B", UNPACK_CUT,
       8},
      {&lzw, "\x80\x7F\xFF", 3, NULL, UNPACK_DAMAGED, 3}, /* unknown code */
      {&flate, "", 0, "", UNPACK_CUT, 0},
      {&flate, "\x78", 1, "", UNPACK_CUT, 1},
      {&flate, "\x78\x9c", 2, "", UNPACK_CUT, 2},
      {&flate, "\x78\x9d\x03\0\0\0\0\x01", 8, "", UNPACK_DAMAGED, 2},
      {&flate, "\x78\xbb\x03\0\0\0\0\x01", 8, "", UNPACK_DAMAGED, 2},
      {&flate, "\x79\x9c\x03\0\0\0\0\x01", 8, "", UNPACK_DAMAGED, 2},
      {&flate, "\x78\x9c\x03\0\0\0\0\x01", 8, "", UNPACK_WHOLE, 8},
      /* A window of 256 bytes in the header. */
      {&flate, "\x08\x1d\x03\0\0\0\0\x01", 8, "", UNPACK_WHOLE, 8},
  };

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    enum unpack_end end = run(rows[i].stage, 1, rows[i].bytes, rows[i].len);

    if (end != rows[i].end || result.used != rows[i].used)
      print_message("row %zu: end %d, used %zu\n", i, (int)end, result.used);
    assert_int_equal(end, rows[i].end);
    assert_int_equal(result.used, rows[i].used);
    if (rows[i].text != NULL)
      assert_memory_equal(result.bytes.data, rows[i].text, result.len);
    if (rows[i].text != NULL && rows[i].text[0] != '\0')
      assert_int_equal(result.len, strlen(rows[i].text));
  }
}

static void flate_is_whole_and_its_checksum_missing_wrong_or_right(void **state)
{
  unsigned char packed[1000];
  size_t len = pack_flate(TEXT, strlen(TEXT), Z_FINISH, packed, 900), i;

  (void)state;
  for (i = len - 4; i <= len; i++) {
    assert_int_equal(run(&flate, 1, packed, i), UNPACK_WHOLE);
    assert_int_equal(result.sum, i < len ? UNPACK_NO_SUM : UNPACK_RIGHT_SUM);
    assert_int_equal(result.len, strlen(TEXT));
    assert_memory_equal(result.bytes.data, TEXT, result.len);
  }
  for (i = len - 3; i < len;
       i++) { /* the rest of a checksum, but not its own */
    packed[i - 1] ^= 1;
    assert_int_equal(run(&flate, 1, packed, i), UNPACK_WHOLE);
    assert_int_equal(result.sum, UNPACK_WRONG_SUM);
    packed[i - 1] ^= 1;
  }
  memcpy(packed + len, "\r\nmore", 6);
  memmove(packed + len - 4, packed + len, 2); /* a line end instead */
  assert_int_equal(run(&flate, 1, packed, len - 2), UNPACK_WHOLE);
  assert_int_equal(result.sum, UNPACK_NO_SUM);
  len = pack_flate(TEXT, strlen(TEXT), Z_FINISH, packed, 900);
  assert_int_equal(run(&flate, 1, packed, len + 6), UNPACK_WHOLE);
  assert_int_equal(result.used, len);
  assert_int_equal(result.sum, UNPACK_RIGHT_SUM);
  packed[len - 1] ^= 1;
  assert_int_equal(run(&flate, 1, packed, len), UNPACK_WHOLE);
  assert_int_equal(result.sum, UNPACK_WRONG_SUM);
  packed[len - 1] ^= 1;
  for (i = 2; i < len - 4; i++) { /* a flipped bit anywhere */
    packed[i] ^= 0x10;
    if (run(&flate, 1, packed, len) < UNPACK_CUT &&
        result.sum == UNPACK_RIGHT_SUM)
      assert_memory_equal(result.bytes.data, TEXT, strlen(TEXT)); /* as well */
    packed[i] ^= 0x10;
  }
}

/* Zeros that go on are a hole in the file, not a checksum. */
static void zero_checksum_ends_the_data(void **state)
{
  static const struct {
    const char *after;
    size_t len;
    enum unpack_sum sum;
  } rows[] = {
      {"", 0, UNPACK_ZERO_SUM},      {"\n", 1, UNPACK_ZERO_SUM},
      {"\r", 1, UNPACK_ZERO_SUM},    {"\r\n", 2, UNPACK_ZERO_SUM},
      {"\0", 1, UNPACK_WRONG_SUM},   {"\n\n", 2, UNPACK_WRONG_SUM},
      {"\0\0", 2, UNPACK_WRONG_SUM}, {" ", 1, UNPACK_WRONG_SUM},
  };
  unsigned char packed[1000];
  size_t len = pack_flate(TEXT, strlen(TEXT), Z_FINISH, packed, 900), i;

  (void)state;
  memset(packed + len - 4, 0, 4);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    memcpy(packed + len, rows[i].after, rows[i].len);
    assert_int_equal(run(&flate, 1, packed, len + rows[i].len), UNPACK_WHOLE);
    assert_int_equal(result.sum, rows[i].sum);
  }
}

/* 200 lines of numbers. */
static size_t make_lines(char *lines)
{
  size_t n = 0;

  for (int i = 0; i < 200; i++)
    n += (size_t)sprintf(lines + n, "%d %d m %d %d l S\n", i * 7919 % 612,
                         i * 104729 % 792, i * 31 % 612, i * 17 % 792);
  return n;
}

static void truncated_flate_is_short_only_at_the_end_of_a_block(void **state)
{
  static char lines[10000];
  static unsigned char packed[20000];
  size_t total = make_lines(lines), len, shorts = 0, i;
  z_stream z = {0};
  size_t ends[10], blocks = 0;

  (void)state;
  assert_int_equal(deflateInit(&z, 6), Z_OK);
  z.next_out = packed;
  z.avail_out = sizeof(packed);
  for (i = 0; i < total; i += 1000) {
    z.next_in = (z_const Bytef *)lines + i;
    z.avail_in = (uInt)(total - i < 1000 ? total - i : 1000);
    (void)deflate(&z, i + 1000 < total ? Z_SYNC_FLUSH : Z_FINISH);
    ends[blocks++] = z.total_out;
  }
  len = z.total_out;
  (void)deflateEnd(&z);
  for (i = 0; i < len - 4; i++) {
    enum unpack_end end = run(&flate, 1, packed, i);

    assert_int_not_equal(end, UNPACK_WHOLE);
    assert_memory_equal(result.bytes.data, lines, result.len);
    if (end == UNPACK_SHORT) { /* with or without the empty block of a flush */
      size_t j = 0;

      while (j < blocks && (i > ends[j] || i + 5 < ends[j]))
        j++;
      assert_true(j < blocks);
      assert_int_equal(result.len % 1000, 0);
      shorts++;
    }
  }
  assert_in_range(shorts, blocks - 1, 2 * blocks);
  for (i = 0; i + 1 < blocks; i++)
    assert_int_equal(run(&flate, 1, packed, ends[i]), UNPACK_SHORT);
}

/* A partial flush ends within the bits of an empty block; the bits of a block
 * that has begun are lost data. */
static void flush_of_any_kind_is_a_permitted_end(void **state)
{
  static const int flushes[] = {Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH};
  static char lines[10000];
  static unsigned char packed[20000];
  size_t total = make_lines(lines), i, len;
  int level;

  (void)state;
  for (i = 0; i < 3; i++)
    for (level = 0; level <= 9; level++)
      for (len = 1; len < total; len += 1 + len / 4) {
        z_stream z = {0};
        size_t n;

        assert_int_equal(
            deflateInit2(&z, level, Z_DEFLATED, 15, 8,
                         len % 3 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY),
            Z_OK);
        z.next_in = (z_const Bytef *)lines;
        z.avail_in = (uInt)len;
        z.next_out = packed;
        z.avail_out = sizeof(packed);
        assert_int_equal(deflate(&z, flushes[i]), Z_OK);
        n = z.total_out;
        (void)deflateEnd(&z);
        assert_int_equal(run(&flate, 1, packed, n), UNPACK_SHORT);
        assert_int_equal(result.len, len);
        while (n > 7 && result.len == len)
          (void)run(&flate, 1, packed, --n);
        if (result.len < len)
          assert_int_equal(result.end, UNPACK_CUT);
      }
}

/* As much as fits the buffer between two calls of zlib. */
static void truncated_flate_is_short_for_any_size(void **state)
{
  static unsigned char zeros[100000], packed[1000];

  (void)state;
  for (size_t len = 32700; len < 32800; len++) {
    size_t n = pack_flate(zeros, len, Z_SYNC_FLUSH, packed, sizeof(packed));

    assert_int_equal(run(&flate, 1, packed, n), UNPACK_SHORT);
    assert_int_equal(result.len, len);
  }
}

/* The short way says of no data that they are whole if the long way does not,
 * and of those that are whole it does. */
static void flate_of_the_expected_size_is_complete(void **state)
{
  unsigned char packed[256];
  size_t len, i;

  (void)state;
  len = pack_flate(TEXT, strlen(TEXT), Z_FINISH, packed, sizeof(packed));
  assert_true(unpack_is_flate_of(packed, len, strlen(TEXT)));
  assert_false(unpack_is_flate_of(packed, len, strlen(TEXT) - 1));
  assert_false(unpack_is_flate_of(packed, len, strlen(TEXT) + 1));
  assert_false(unpack_is_flate_of(packed, len, SIZE_MAX));
  for (i = 0; i < len; i++)
    assert_false(unpack_is_flate_of(packed, i, strlen(TEXT)));
  for (i = 0; i < 8 * len; i++) {
    packed[i / 8] ^= (unsigned char)(1 << i % 8);
    assert_true(!unpack_is_flate_of(packed, len, strlen(TEXT)) ||
                (run(&flate, 1, packed, len) == UNPACK_WHOLE &&
                 result.len == strlen(TEXT) &&
                 memcmp(result.bytes.data, TEXT, result.len) == 0));
    packed[i / 8] ^= (unsigned char)(1 << i % 8);
  }
}

static void lzw_survives_a_full_table_in_both_variants(void **state)
{
  static char lines[10000], twice[40000];
  static unsigned char packed[80000];
  size_t total = make_lines(lines), len;

  (void)state;
  for (int i = 0; i < 4; i++)
    for (size_t j = 0; j < total; j++)
      twice[(size_t)i * total + j] = (char)(lines[j] ^ i);
  for (int early = 0; early < 2; early++) {
    const struct unpack_stage *stage = early != 0 ? &lzw : &late_lzw;

    len = pack_lzw((const unsigned char *)twice, 4 * total, early != 0, true,
                   packed);
    assert_true(len > 6000); /* several tables */
    assert_int_equal(run(stage, 1, packed, len), UNPACK_WHOLE);
    assert_int_equal(result.len, 4 * total);
    assert_memory_equal(result.bytes.data, twice, 4 * total);
    assert_int_equal(result.used, len);
    for (size_t i = 0; i < len; i += 7) {
      assert_int_not_equal(run(stage, 1, packed, i), UNPACK_WHOLE);
      assert_memory_equal(result.bytes.data, twice, result.len);
    }
    len = pack_lzw((const unsigned char *)twice, total, early != 0, false,
                   packed);
    assert_int_equal(run(stage, 1, packed, len), UNPACK_SHORT);
    assert_int_equal(result.len, total);
  }
}

/* Without a code that clears it. */
static void lzw_table_stays_full(void **state)
{
  static unsigned char bytes[5000], packed[8000];
  int early, width;

  (void)state;
  for (size_t i = 0; i < sizeof(bytes); i++)
    bytes[i] = (unsigned char)(i % 251);
  for (early = 0; early < 2; early++) {
    size_t bits = 0;

    memset(packed, 0, sizeof(packed));
    for (size_t i = 0; i < sizeof(bytes); i++) { /* each by itself */
      for (width = 9; width < 12 && 257 + (int)i + early >= 1 << width;)
        width++;
      for (; width-- > 0; bits++)
        packed[bits / 8] |=
            (unsigned char)((bytes[i] >> width & 1) << (7 - bits % 8));
    }
    assert_int_equal(
        run(early != 0 ? &lzw : &late_lzw, 1, packed, (bits + 7) / 8),
        UNPACK_SHORT);
    assert_int_equal(result.len, sizeof(bytes));
    assert_memory_equal(result.bytes.data, bytes, sizeof(bytes));
  }
}

static void truncation_that_loses_bytes_is_detected(void **state)
{
  static char text[2000];
  static unsigned char packed[1000];
  const struct unpack_stage stages[] = {a85, flate};
  size_t n = pack_flate(TEXT, strlen(TEXT), Z_FINISH, packed, sizeof(packed));
  size_t len = pack_85(packed, n, text), i;

  (void)state;
  assert_int_equal(run(stages, 2, text, len), UNPACK_WHOLE);
  assert_int_equal((1LL << 40) - left - (long long)result.len, n); /* between */
  for (i = 0; i < len; i++)
    if (run(stages, 2, text, i) == UNPACK_WHOLE)
      assert_int_equal(result.len, strlen(TEXT));
    else
      assert_true(i < len - 7); /* then only the checksum is cut */
  n = pack_lzw((const unsigned char *)TEXT, strlen(TEXT), true, true, packed);
  for (i = 0; i < n; i++)
    assert_int_not_equal(run(&lzw, 1, packed, i), UNPACK_WHOLE);
}

/* The text would be complete, but it may be a wrong one. */
static void wrong_checksum_before_another_filter_counts(void **state)
{
  static unsigned char packed[1000];
  static const char run_lengths[] = "\x02"
                                    "abc\x80";
  const struct unpack_stage stages[] = {flate, run_length};
  size_t n = pack_flate(run_lengths, 5, Z_FINISH, packed, sizeof(packed));

  (void)state;
  assert_int_equal(run(stages, 2, packed, n), UNPACK_WHOLE);
  assert_int_equal(result.len, 3);
  packed[n - 2] ^= 4;
  assert_int_equal(run(stages, 2, packed, n), UNPACK_WHOLE);
  assert_int_equal(result.sum, UNPACK_WRONG_SUM);
  n = pack_flate(run_lengths, 3, Z_FINISH, packed, sizeof(packed));
  assert_int_equal(run(stages, 2, packed, n), UNPACK_CUT);
  n = pack_flate(run_lengths, 4, Z_FINISH, packed, sizeof(packed));
  assert_int_equal(run(stages, 2, packed, n), UNPACK_SHORT);
}

/* 1 MB of Flate is 1 GB of run lengths, which are 64 GB. */
static void decompression_bombs_end_at_the_limit(void **state)
{
  static unsigned char ones[1 << 20], packed[1 << 16], twice[1 << 16];
  static const struct unpack_stage over_run_length[] = {
      {UNPACK_FLATE, false}, {UNPACK_FLATE, false}, {UNPACK_RUN_LENGTH, false}};
  static const struct unpack_stage ended[] = {{UNPACK_FLATE, false},
                                              {UNPACK_RUN_LENGTH, false}};
  size_t n, m;

  (void)state;
  memset(ones, 129, sizeof(ones));
  n = pack_flate(ones, sizeof(ones), Z_FINISH, packed, sizeof(packed));
  m = pack_flate(packed, n, Z_FINISH, twice, sizeof(twice));
  assert_int_equal(run_to(10000000, over_run_length, 3, twice, m),
                   UNPACK_STOPPED);
  assert_in_range(left, -40000, -1);
  ones[0] = 128; /* nothing is unpacked, but much is to be done */
  n = pack_flate(ones, sizeof(ones), Z_FINISH, packed, sizeof(packed));
  assert_int_equal(run_to(100000, ended, 2, packed, n), UNPACK_STOPPED);
}

static void data_without_filters_is_unchanged(void **state)
{
  (void)state;
  assert_int_equal(run(NULL, 0, "abc", 3), UNPACK_WHOLE);
  assert_int_equal(result.len, 3);
  assert_int_equal(result.used, 3);
  assert_int_equal(run(NULL, 0, "", 0), UNPACK_WHOLE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_filter_ends_as_its_format_says),
      cmocka_unit_test(flate_is_whole_and_its_checksum_missing_wrong_or_right),
      cmocka_unit_test(truncated_flate_is_short_only_at_the_end_of_a_block),
      cmocka_unit_test(truncated_flate_is_short_for_any_size),
      cmocka_unit_test(flate_of_the_expected_size_is_complete),
      cmocka_unit_test(lzw_survives_a_full_table_in_both_variants),
      cmocka_unit_test(lzw_table_stays_full),
      cmocka_unit_test(truncation_that_loses_bytes_is_detected),
      cmocka_unit_test(wrong_checksum_before_another_filter_counts),
      cmocka_unit_test(zero_checksum_ends_the_data),
      cmocka_unit_test(flush_of_any_kind_is_a_permitted_end),
      cmocka_unit_test(decompression_bombs_end_at_the_limit),
      cmocka_unit_test(data_without_filters_is_unchanged),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
