/*
 * test_codecs.c - CCITT data that libtiff writes, and JBIG2 and JPEG 2000 that
 * are put together here: whole, cut, and in the variants that PDF allows.
 */
#include "tests/unit/bytes.h"

#include <tiffio.h>

#include "filter/codecs.h"

static const char not_written[] = "";

/* ---- CCITT ---- */

/* A TIFF in memory: libtiff writes its directory behind the strip. */
struct tiff {
  struct bytes file;
  uint64_t at;
};

static tmsize_t tiff_read(thandle_t handle, void *bytes, tmsize_t len)
{
  struct tiff *t = handle;

  if (t->at + (uint64_t)len > t->file.len)
    return -1;
  memcpy(bytes, t->file.at + t->at, (size_t)len);
  t->at += (uint64_t)len;
  return len;
}

static tmsize_t tiff_write(thandle_t handle, void *bytes, tmsize_t len)
{
  struct tiff *t = handle;

  assert_true(t->at + (uint64_t)len <= MAX_BYTES);
  memcpy(t->file.at + t->at, bytes, (size_t)len);
  t->at += (uint64_t)len;
  if (t->at > t->file.len)
    t->file.len = (size_t)t->at;
  return len;
}

static toff_t tiff_seek(thandle_t handle, toff_t offset, int whence)
{
  struct tiff *t = handle;

  t->at = whence == SEEK_SET   ? offset
          : whence == SEEK_CUR ? t->at + offset
                               : t->file.len + offset;
  return t->at;
}

static int tiff_close(thandle_t handle)
{
  (void)handle;
  return 0;
}

static toff_t tiff_size(thandle_t handle)
{
  return ((struct tiff *)handle)->file.len;
}

static TIFF *tiff_open(struct tiff *t, const char *mode)
{
  t->at = 0;
  return TIFFClientOpen("", mode, t, tiff_read, tiff_write, tiff_seek,
                        tiff_close, tiff_size, NULL, NULL);
}

/* Rows with short and long runs, blank ones, and some like those above. */
static void make_rows(unsigned char *rows, uint32_t columns, uint32_t count,
                      unsigned seed)
{
  size_t stride = (columns + 7) / 8, at;
  uint32_t x, y, run;
  bool black;

  memset(rows, 0, stride * count);
  for (y = 0; y < count; y++) {
    if (y > 0 && seed % 3 != 0)
      memcpy(rows + y * stride, rows + (y - 1) * stride, stride);
    black = false;
    for (x = 0; x < columns && seed % 5 != 0; x += run) {
      uint32_t end;

      seed = seed * 1103515245 + 12345;
      run = (seed >> 16) % 7 == 0 ? (seed >> 20) % 3000 : (seed >> 20) % 9;
      end = x + run < columns ? x + run : columns;
      for (at = x; at < end && (seed >> 8) % 4 != 0; at++) {
        unsigned char bit = (unsigned char)(0x80 >> at % 8);

        if (black)
          rows[y * stride + at / 8] |= bit;
        else
          rows[y * stride + at / 8] &= (unsigned char)~bit;
      }
      black = !black;
    }
    seed = seed * 1103515245 + 12345;
    seed ^= seed >> 16;
  }
}

static struct bytes encode(const unsigned char *rows, uint32_t columns,
                           uint32_t count, int compression, uint32_t options)
{
  struct tiff t = {.file = new_bytes()};
  struct bytes b = new_bytes();
  TIFF *tiff = tiff_open(&t, "w");
  uint32_t y;
  tmsize_t len;

  assert_non_null(tiff);
  (void)TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, columns);
  (void)TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, count);
  (void)TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, count);
  (void)TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 1);
  (void)TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  (void)TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
  (void)TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
  if (compression == COMPRESSION_CCITTFAX3)
    (void)TIFFSetField(tiff, TIFFTAG_GROUP3OPTIONS, options);
  for (y = 0; y < count; y++) {
    const unsigned char *row = rows + (size_t)y * ((columns + 7) / 8);
    void *copy = malloc((columns + 7) / 8);

    assert_non_null(copy);
    memcpy(copy, row, (columns + 7) / 8);
    assert_int_equal(TIFFWriteScanline(tiff, copy, y, 0), 1);
    free(copy);
  }
  TIFFClose(tiff);
  tiff = tiff_open(&t, "r");
  assert_non_null(tiff);
  len = TIFFReadRawStrip(tiff, 0, b.at, MAX_BYTES);
  assert_true(len > 0);
  b.len = (size_t)len;
  TIFFClose(tiff);
  free(t.file.at);
  return b;
}

static uint32_t bad_rows; /* of the last call */

/* From memory of exactly that size. */
static enum dx_reason ccitt(struct bytes b, struct ccitt_parms p)
{
  unsigned char *exact = malloc(b.len > 0 ? b.len : 1);
  const char *why = not_written;
  enum dx_reason reason;

  assert_non_null(exact);
  memcpy(exact, b.at, b.len);
  reason = ccitt_check(exact, b.len, &p, &bad_rows, &why);
  assert_int_equal(reason == DX_REASON_DAMAGED, why != not_written);
  free(exact);
  return reason;
}

#define ROWS 40
#define COLUMNS_MAX 6000

/* A cut may pass only if nothing but the last `end_bytes`, the end of the
 * block, is gone. */
static void check_ccitt(struct bytes b, struct ccitt_parms p, size_t end_bytes)
{
  struct bytes cut = b;

  assert_int_equal(ccitt(b, p), DX_REASON_NONE);
  for (cut.len = 0; cut.len + end_bytes < b.len; cut.len++)
    assert_int_equal(ccitt(cut, p), DX_REASON_DAMAGED);
  p.rows += p.k < 0 ? 1 : 7;
  assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
}

static void images_written_by_libtiff_are_complete(void **state)
{
  static const uint32_t columns[] = {1,    2,    7,    8,          9,    64,
                                     65,   1727, 1728, 1791,       1792, 2560,
                                     2623, 2624, 5121, COLUMNS_MAX};
  unsigned char *rows = malloc(ROWS * COLUMNS_MAX / 8);
  size_t i;
  unsigned seed;

  (void)state;
  assert_non_null(rows);
  for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
    for (seed = 1; seed < 4; seed++) {
      struct ccitt_parms p = {-1, columns[i], ROWS, false, false};
      struct bytes b;

      make_rows(rows, columns[i], ROWS, seed);
      b = encode(rows, columns[i], ROWS, COMPRESSION_CCITTFAX4, 0);
      check_ccitt(b, p, 5);
      free(b.at);
      p.k = 0;
      b = encode(rows, columns[i], ROWS, COMPRESSION_CCITTFAX3, 0);
      check_ccitt(b, p, 10);
      free(b.at);
      b = encode(rows, columns[i], ROWS, COMPRESSION_CCITTFAX3,
                 GROUP3OPT_FILLBITS);
      check_ccitt(b, p, 13);
      p.byte_align = true;
      check_ccitt(b, p, 13);
      free(b.at);
      b = encode(rows, columns[i], ROWS, COMPRESSION_CCITTRLE, 0);
      check_ccitt(b, p, 1);
      free(b.at);
      p.byte_align = false;
      p.k = 4;
      b = encode(rows, columns[i], ROWS, COMPRESSION_CCITTFAX3,
                 GROUP3OPT_2DENCODING);
      check_ccitt(b, p, 12);
      free(b.at);
    }
  free(rows);
}

/* Bits as characters. */
struct bits {
  char at[8 * MAX_BYTES / 16];
  size_t len;
};

static void add_bits(struct bits *to, const char *bits, size_t len)
{
  assert_true(to->len + len < sizeof(to->at));
  memcpy(to->at + to->len, bits, len);
  to->len += len;
  to->at[to->len] = '\0';
}

static void align_bits(struct bits *to)
{
  while (to->len % 8 != 0)
    add_bits(to, "0", 1);
}

static void to_bits(struct bytes b, struct bits *bits)
{
  size_t i;

  bits->len = 0;
  for (i = 0; i < 8 * b.len; i++)
    add_bits(bits, (b.at[i / 8] >> (7 - i % 8) & 1) != 0 ? "1" : "0", 1);
}

static struct bytes from_bits(struct bits *bits)
{
  struct bytes b = new_bytes();
  size_t i;

  align_bits(bits);
  b.len = bits->len / 8;
  for (i = 0; i < bits->len; i++)
    if (bits->at[i] == '1')
      b.at[i / 8] |= (unsigned char)(0x80 >> i % 8);
  return b;
}

#define EOL "000000000001"

/* Rows of group 3 with neither EOL nor RTC, joined as PDF allows. */
static void group_3_needs_no_eol(void **state)
{
  static struct bits with, without, aligned, eol_aligned;
  unsigned char rows[ROWS * 216];
  unsigned seed;
  int k;

  (void)state;
  for (seed = 1; seed < 30; seed++)
    for (k = 0; k <= 1; k++) {
      struct ccitt_parms p = {k, 1728, ROWS, false, false};
      const char *row, *end;
      struct bytes b;
      int y;

      make_rows(rows, 1728, ROWS, seed);
      b = encode(rows, 1728, ROWS, COMPRESSION_CCITTFAX3,
                 k > 0 ? GROUP3OPT_2DENCODING : 0);
      to_bits(b, &with);
      free(b.at);
      without.len = aligned.len = eol_aligned.len = 0;
      row = strstr(with.at, EOL);
      for (y = 0; y < ROWS; y++) {
        row += strlen(EOL);
        end = strstr(row, EOL);
        if (end == NULL) /* without RTC */
          end = with.at + with.len;
        add_bits(&without, row, (size_t)(end - row));
        align_bits(&aligned);
        add_bits(&aligned, row, (size_t)(end - row));
        while (eol_aligned.len % 8 != 4)
          add_bits(&eol_aligned, "0", 1);
        add_bits(&eol_aligned, EOL, strlen(EOL));
        add_bits(&eol_aligned, row, (size_t)(end - row));
        row = end;
      }
      b = from_bits(&without);
      check_ccitt(b, p, 2);
      free(b.at);
      p.byte_align = true;
      b = from_bits(&aligned);
      check_ccitt(b, p, 2);
      free(b.at);
      b = from_bits(&eol_aligned);
      check_ccitt(b, p, 2);
      free(b.at);
    }
}

/* The code of the last of `count` rows. */
static void add_last_row(struct bits *to, const unsigned char *rows,
                         uint32_t columns, uint32_t count)
{
  static struct bits bits[2];
  uint32_t i;

  for (i = count == 1; i < 2; i++) {
    struct bytes b =
        encode(rows, columns, count - 1 + i, COMPRESSION_CCITTFAX4, 0);

    to_bits(b, &bits[i]);
    bits[i].len = (size_t)(strrchr(bits[i].at, '1') + 1 - bits[i].at) - 24;
    free(b.at);
  }
  if (count == 1)
    bits[0].len = 0;
  add_bits(to, bits[1].at + bits[0].len, bits[1].len - bits[0].len);
}

static void group_4_may_be_aligned(void **state)
{
  static struct bits aligned;
  unsigned char rows[ROWS * 300];
  struct ccitt_parms p = {-1, 2400, ROWS, true, false};
  struct bytes b;
  unsigned seed;
  uint32_t y;

  (void)state;
  for (seed = 1; seed < 6; seed++) {
    make_rows(rows, 2400, ROWS, seed);
    aligned.len = 0;
    for (y = 1; y <= ROWS; y++) {
      align_bits(&aligned);
      add_last_row(&aligned, rows, 2400, y);
    }
    b = from_bits(&aligned);
    check_ccitt(b, p, 1);
    p.byte_align = false;
    assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
    p.byte_align = true;
    align_bits(&aligned);
    add_bits(&aligned, EOL EOL, 24);
    free(b.at);
    b = from_bits(&aligned);
    check_ccitt(b, p, 4);
    free(b.at);
  }
}

static void early_end_of_block_is_reported(void **state)
{
  unsigned char rows[ROWS * 216];
  struct ccitt_parms p = {-1, 1728, 3 * ROWS, false, false};
  const char *why = NULL;
  struct bytes b;

  (void)state;
  make_rows(rows, 1728, ROWS, 3);
  b = encode(rows, 1728, ROWS, COMPRESSION_CCITTFAX4, 0);
  assert_int_equal(ccitt_check(b.at, b.len, &p, &bad_rows, &why),
                   DX_REASON_DAMAGED);
  assert_string_equal(why, "an image ends early");
  p.columns = 100000000;
  assert_int_equal(ccitt_check(b.at, b.len, &p, &bad_rows, &why),
                   DX_REASON_TOO_COMPLEX);
  free(b.at);
}

/* What follows the end of the block does not count. */
static void data_after_the_end_of_the_block_is_rejected(void **state)
{
  static struct bits blank;
  struct ccitt_parms p = {-1, 1728, 3, false, false};
  struct bytes b;

  (void)state;
  add_bits(&blank, "11" EOL EOL "1111", 2 + 24 + 4); /* rows of one bit */
  b = from_bits(&blank);
  assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
  p.rows = 2;
  assert_int_equal(ccitt(b, p), DX_REASON_NONE);
  free(b.at);
}

/* Two white and three black pixels, in nine bits. */
static void missing_last_bit_is_detected(void **state)
{
  struct ccitt_parms p = {-1, 5, 1, false, false};
  unsigned char bytes[2] = {0x2F, 0};
  struct bytes b = {bytes, 2};

  (void)state;
  assert_int_equal(ccitt(b, p), DX_REASON_NONE);
  b.len = 1;
  assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
}

/* More of them than a row has pixels. */
static void runs_without_pixels_are_limited(void **state)
{
  static struct bits two, one;
  struct ccitt_parms p = {-1, 1, 1, false, false};
  struct bytes b;
  int i;

  (void)state;
  for (i = 0; i < 100; i++) {
    add_bits(&two,
             "001"
             "00110101"
             "0000110111",
             21);
    add_bits(&one,
             "00110101"
             "0000110111",
             18);
  }
  b = from_bits(&two);
  assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
  free(b.at);
  p.k = 0;
  b = from_bits(&one);
  assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
  free(b.at);
}

/* ---- a fax that was received with errors ---- */

#define FAX_ROWS 300
#define NO_CODE "000000001"

/* The image, with bits before the code of some rows, in order; or without the
 * EOL of those rows (""). */
static struct bytes bad_fax(uint32_t options, const char *bad, const int *at,
                            size_t count)
{
  static struct bits good, spoiled;
  static unsigned char rows[FAX_ROWS * 216];
  const char *row, *end;
  struct bytes b;
  size_t k = 0;
  int y;

  make_rows(rows, 1728, FAX_ROWS, 7);
  b = encode(rows, 1728, FAX_ROWS, COMPRESSION_CCITTFAX3, options);
  to_bits(b, &good);
  free(b.at);
  spoiled.len = 0;
  row = strstr(good.at, EOL);
  for (y = 0; y < FAX_ROWS; y++, row = end) {
    bool is_bad = k < count && at[k] == y;
    size_t code = strlen(EOL) + (options != 0);

    k += is_bad;
    end = strstr(row + code, EOL);
    if (end == NULL)
      end = good.at + good.len;
    if (!is_bad || bad[0] != '\0')
      add_bits(&spoiled, row, code);
    if (is_bad)
      add_bits(&spoiled, bad, strlen(bad));
    add_bits(&spoiled, row + code, (size_t)(end - row) - code);
  }
  for (y = 0; y < 6; y++) /* RTC */
    add_bits(&spoiled, EOL "1", strlen(EOL) + (options != 0));
  return from_bits(&spoiled);
}

static void some_rows_of_a_fax_may_be_bad(void **state)
{
  static const struct {
    uint32_t options; /* rows refer to the one above, in pairs */
    const char *bad;
    int at[6];
    size_t count;
    bool needs_eols;
    enum dx_reason reason;
  } fax[] = {
      {0, NO_CODE, {0}, 0, false, DX_REASON_NONE},
      {0, NO_CODE, {0}, 1, false, DX_REASON_NONE},
      {0, NO_CODE, {150}, 1, true, DX_REASON_NONE},
      {0, NO_CODE, {150, 151}, 2, false, DX_REASON_NONE},
      {0, NO_CODE, {150, 151, 152}, 3, false, DX_REASON_DAMAGED},
      {0, NO_CODE, {1, 150, 298}, 3, false, DX_REASON_NONE},
      {0, NO_CODE, {1, 100, 150, 298}, 4, false, DX_REASON_DAMAGED},
      {0, "00110101", {150}, 1, false, DX_REASON_NONE}, /* another color */
      {0, "11011", {150}, 1, false, DX_REASON_NONE},    /* 64 pixels too many */
      {GROUP3OPT_2DENCODING, NO_CODE, {151}, 1, false, DX_REASON_NONE},
      {GROUP3OPT_2DENCODING, NO_CODE, {150}, 1, false, DX_REASON_NONE},
      {GROUP3OPT_2DENCODING, NO_CODE, {148, 151}, 2, false, DX_REASON_NONE},
      {GROUP3OPT_2DENCODING, NO_CODE, {148, 150}, 2, false, DX_REASON_DAMAGED},
      {0, "", {1, 2, 3, 4, 5, 6}, 6, false, DX_REASON_NONE},
      {0, "", {1, 2, 3, 4, 5, 6}, 6, true, DX_REASON_DAMAGED},
      {0, "", {1, 2, 8}, 3, true, DX_REASON_NONE},
      {0, NO_CODE, {150}, 1, false, DX_REASON_NONE},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(fax) / sizeof(fax[0]); i++) {
    struct ccitt_parms p = {fax[i].options != 0 ? 4 : 0, 1728, FAX_ROWS, false,
                            fax[i].needs_eols};
    struct bytes b =
        bad_fax(fax[i].options, fax[i].bad, fax[i].at, fax[i].count);
    enum dx_reason reason = ccitt(b, p);

    if (reason != fax[i].reason)
      print_message("row %zu\n", i);
    assert_int_equal(reason, fax[i].reason);
    if (reason == DX_REASON_NONE && fax[i].options == 0)
      assert_int_equal(bad_rows, fax[i].bad[0] != '\0' || fax[i].needs_eols
                                     ? fax[i].count
                                     : 0);
    free(b.at);
  }
}

static void only_one_row_in_a_hundred_may_be_bad(void **state)
{
  static const int at[] = {50};
  struct ccitt_parms p = {0, 1728, 100, false, false};
  struct bytes b = bad_fax(0, NO_CODE, at, 1);

  (void)state;
  assert_int_equal(ccitt(b, p), DX_REASON_NONE);
  p.rows--;
  assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
  free(b.at);
}

/* Without a code for the end of the page. */
static void bad_row_may_have_been_two(void **state)
{
  static const int at[] = {50, 200};
  static const uint32_t options[] = {0, GROUP3OPT_2DENCODING};
  size_t i, bad;

  (void)state;
  for (i = 0; i < 2; i++)
    for (bad = 0; bad <= (i > 0 ? 0 : 2); bad++) {
      struct ccitt_parms p = {i > 0 ? 4 : 0, 1728, FAX_ROWS, false, false};
      struct bytes b = bad_fax(options[i], NO_CODE, at, bad);

      b.len -= i > 0 ? 10 : 9;
      assert_int_equal(ccitt(b, p), DX_REASON_NONE);
      p.rows += (uint32_t)bad;
      assert_int_equal(ccitt(b, p), DX_REASON_NONE);
      p.rows++;
      assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
      p.rows = FAX_ROWS;
      b.len -= 4; /* the last row is cut */
      assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
      free(b.at);
    }
}

/* A program that counts EOLs finds up to six more than there are rows. */
static void rows_may_include_the_end_of_a_page(void **state)
{
  static const uint32_t options[] = {0, GROUP3OPT_2DENCODING};
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    struct ccitt_parms p = {i > 0 ? 4 : 0, 1728, FAX_ROWS, false, false};
    struct bytes b = bad_fax(options[i], "", NULL, 0);

    for (; p.rows <= FAX_ROWS + 6; p.rows++)
      assert_int_equal(ccitt(b, p), DX_REASON_NONE);
    assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
    p.rows = FAX_ROWS + 1;
    b.len -= 12; /* the code is not complete: perhaps it was not the end */
    assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
    free(b.at);
  }
}

static void random_bytes_do_not_crash(void **state)
{
  struct bytes b = {.at = malloc(4096), .len = 4096};
  unsigned seed = 1, round;
  size_t i;

  (void)state;
  assert_non_null(b.at);
  for (round = 0; round < 600; round++) {
    struct ccitt_parms p = {(int)(round % 3) - 1, 1 + round * 7, 100000,
                            round % 2 == 0, round % 8 == 0};

    for (i = 0; i < b.len; i++) {
      seed = seed * 1103515245 + 12345;
      b.at[i] = (unsigned char)(seed >> 16);
      if (round % 4 == 0 && i % 3 != 0) /* EOL, and long codes */
        b.at[i] = 0;
    }
    assert_int_equal(ccitt(b, p), DX_REASON_DAMAGED);
  }
  free(b.at);
}

/* ---- JBIG2 ---- */

#define TEXT(text) text, sizeof(text) - 1
#define PAGE "\0\0\0\x40\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0" /* 64 x 32 */
#define PAGE_OPEN "\0\0\0\x40\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0\0\x80\x20"
#define REGION "\0\0\0\x40\0\0\0\x20\0\0\0\0\0\0\0\0\0" /* 64 x 32, at 0, 0 */

/* Its number, type, and the segments it refers to. */
static void add_segment(struct bytes *b, unsigned number, int type,
                        const char *refers, size_t refers_len, const char *data,
                        size_t len)
{
  unsigned char head[6] = {0,
                           0,
                           (unsigned char)(number >> 8),
                           (unsigned char)number,
                           (unsigned char)type,
                           (unsigned char)(refers_len << 5)};
  unsigned char tail[5] = {1, 0, 0, (unsigned char)(len >> 8),
                           (unsigned char)len};

  add(b, head, sizeof(head));
  add(b, refers, refers_len);
  add(b, tail, sizeof(tail));
  add(b, data, len);
}

static enum dx_reason jbig2_of(struct bytes b, struct bytes globals,
                               uint32_t width, uint32_t height)
{
  unsigned char *exact = malloc(b.len > 0 ? b.len : 1);
  const char *why = not_written;
  enum dx_reason reason;

  assert_non_null(exact);
  memcpy(exact, b.at, b.len);
  reason =
      jbig2_check(exact, b.len, globals.at, globals.len, width, height, &why);
  assert_int_equal(reason == DX_REASON_DAMAGED, why != not_written);
  free(exact);
  return reason;
}

static const struct bytes no_globals;

static void jbig2_is_parsed_to_its_end(void **state)
{
  struct bytes globals = new_bytes(), b = new_bytes(), cut;
  unsigned char last;
  size_t page;

  (void)state;
  add_segment(&globals, 0, 0, "", 0, TEXT("symbols"));
  add_segment(&b, 1, 48, "", 0, TEXT(PAGE));
  page = b.len;
  add_segment(&b, 2, 6, "\0", 1, TEXT(REGION "text"));
  assert_int_equal(jbig2_of(b, globals, 64, 32), DX_REASON_NONE);
  for (cut = b; cut.len-- > 0;) /* the page alone is a blank one */
    assert_int_equal(jbig2_of(cut, globals, 64, 32),
                     cut.len == page ? DX_REASON_NONE : DX_REASON_DAMAGED);
  assert_int_equal(jbig2_of(b, globals, 65, 32), DX_REASON_DAMAGED);
  assert_int_equal(jbig2_of(b, globals, 64, 33), DX_REASON_DAMAGED);
  /* What the text is made of is missing. */
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  last = globals.at[--globals.len];
  assert_int_equal(jbig2_of(b, globals, 64, 32), DX_REASON_DAMAGED);
  globals.at[globals.len++] = last;
  add(&b, "\r\n", 2); /* of the PDF */
  assert_int_equal(jbig2_of(b, globals, 64, 32), DX_REASON_NONE);
  b.len -= 2;
  cut = b;
  add_segment(&b, 3, 38, "", 0, TEXT(REGION "data"));
  for (cut.len++; cut.len < b.len; cut.len++)
    assert_int_equal(jbig2_of(cut, globals, 64, 32), DX_REASON_DAMAGED);
  add_segment(&b, 3, 49, "", 0, "", 0);
  add_segment(&b, 4, 51, "", 0, "", 0);
  assert_int_equal(jbig2_of(b, globals, 64, 32), DX_REASON_NONE);
  free(b.at);
  free(globals.at);
}

static void jbig2_may_have_stripes(void **state)
{
  struct bytes b = new_bytes(), cut;

  (void)state;
  add_segment(&b, 0, 48, "", 0, TEXT(PAGE_OPEN));
  add_segment(&b, 1, 38, "", 0, TEXT(REGION "data"));
  add_segment(&b, 2, 50, "", 0, TEXT("\0\0\0\x1F"));
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_NONE);
  assert_int_equal(jbig2_of(b, no_globals, 64, 33), DX_REASON_DAMAGED);
  for (cut = b; cut.len-- > 0;)
    assert_int_equal(jbig2_of(cut, no_globals, 64, 32), DX_REASON_DAMAGED);
  free(b.at);
}

static void jbig2_region_may_have_any_length(void **state)
{
  static const char *const ends[] = {"\0\xFF\xFE\xFF\xAC\0\0\0\x20",
                                     "\x01\xFF\xAC\xFE\0\0\0\0\0\x20"};
  static const size_t lens[] = {9, 10};
  size_t i, head;

  (void)state;
  for (i = 0; i < 2; i++) {
    struct bytes b = new_bytes(), cut;

    add_segment(&b, 0, 48, "", 0, TEXT(PAGE));
    head = b.len;
    add_segment(&b, 1, 38, "", 0, TEXT(REGION));
    memcpy(b.at + head + 7, "\xFF\xFF\xFF\xFF", 4);
    add(&b, ends[i], lens[i]);
    assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_NONE);
    for (cut = b; cut.len-- > 0;)
      assert_int_equal(jbig2_of(cut, no_globals, 64, 32),
                       cut.len == head ? DX_REASON_NONE : DX_REASON_DAMAGED);
    b.at[head + 4] = 6; /* not for text */
    assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
    free(b.at);
  }
}

/* More than four, and numbers of two bytes. */
static void jbig2_may_refer_to_many_segments(void **state)
{
  struct bytes b = new_bytes(), cut;
  unsigned i;

  (void)state;
  for (i = 300; i < 306; i++)
    add_segment(&b, i, 0, "", 0, TEXT("symbols"));
  add_segment(&b, 306, 48, "", 0, TEXT(PAGE));
  add(&b, "\0\0\x01\x33\x46\xE0\0\0\x06\0", 10); /* page of four bytes */
  for (i = 300; i < 306; i++)
    add(&b, (unsigned char[2]){1, (unsigned char)i}, 2);
  add(&b, "\0\0\0\x01\0\0\0\x11" REGION, 8 + 17);
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_NONE);
  for (cut = b; cut.len-- > 0;)
    assert_int_equal(jbig2_of(cut, no_globals, 64, 32), DX_REASON_DAMAGED);
  memcpy(b.at + b.len - 8 - 17 - 12 - 5, "\xFF\xFF\xFF\xFF", 4);
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  free(b.at);
}

/* Programs that scan write a blank side like this. */
static void jbig2_page_without_regions_is_blank(void **state)
{
  struct bytes b = new_bytes(), globals = new_bytes();
  size_t page, end;

  (void)state;
  add_segment(&globals, 0, 0, "", 0, TEXT("symbols"));
  add_segment(&b, 1, 48, "", 0, TEXT(PAGE));
  page = b.len;
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_NONE);
  assert_int_equal(jbig2_of(b, globals, 64, 32), DX_REASON_NONE);
  assert_int_equal(jbig2_of(b, no_globals, 64, 33), DX_REASON_DAMAGED);
  while (b.len-- > 0)
    assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  b.len = page;
  add_segment(&b, 2, 49, "", 0, "", 0);
  end = b.len;
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_NONE);
  add_segment(&b, 3, 51, "", 0, "", 0);
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_NONE);
  b.len--;
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  /* Profiles, and a comment. */
  b.len = page;
  add_segment(&b, 2, 52, "", 0, TEXT("\0\0\0\0"));
  add_segment(&b, 3, 62, "", 0, TEXT("\x20\0\0\0name\0value\0\0"));
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_NONE);
  /* Tables are for a region. */
  b.len = page;
  add_segment(&b, 2, 53, "", 0, TEXT("table"));
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  /* Symbols are for a region, which is not there. */
  b.len = page;
  add_segment(&b, 2, 0, "", 0, TEXT("symbols"));
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  add_segment(&b, 3, 49, "", 0, "", 0);
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  /* A region that is not drawn by itself. */
  b.len = page;
  add_segment(&b, 2, 36, "", 0, TEXT(REGION "data"));
  add_segment(&b, 3, 49, "", 0, "", 0);
  assert_int_equal(jbig2_of(b, no_globals, 64, 32), DX_REASON_DAMAGED);
  memmove(b.at, b.at + page, end - page); /* no page */
  b.len = end - page;
  assert_int_equal(jbig2_of(b, no_globals, 0, 0), DX_REASON_DAMAGED);
  free(globals.at);
  free(b.at);
}

/* ---- JPEG 2000 ---- */

/* 8 x 8 gray pixels, by OpenJPEG. */
static const char small[] =
    "\xff\x4f\xff\x51\0\x29\0\0\0\0\0\x08\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\x08"
    "\0\0\0\x08\0\0\0\0\0\0\0\0\0\x01\x07\x01\x01\xff\x52\0\x0c\0\0\0\x01\0\0"
    "\x04\x04\0\x01\xff\x5c\0\x04\x40\x40\xff\x90\0\x0a\0\0\0\0\0\x25\0\x01\xff"
    "\x93\xdf\x19\x40\x12\x2b\x67\x16\x8f\x8f\x8c\x9d\x60\x30\x8f\x68\xc8\x7c"
    "\xcc\x4b\xcb\x4c\xcc\x12\xff\xd9";

static enum dx_reason jpx_of(struct bytes b, uint32_t width, uint32_t height)
{
  unsigned char *exact = malloc(b.len > 0 ? b.len : 1);
  const char *why = not_written;
  struct dx_buf copy = {0};
  enum dx_reason reason;

  assert_non_null(exact);
  memcpy(exact, b.at, b.len);
  reason = jpx_clean(exact, b.len, width, height, &copy, &why);
  dx_buf_release(&copy);
  assert_int_equal(reason == DX_REASON_DAMAGED, why != not_written);
  free(exact);
  return reason;
}

/* Every cut, also when it is closed with EOC. */
static void no_jpx_cut_passes(struct bytes b, size_t end_bytes)
{
  struct bytes cut = new_bytes();
  size_t len;

  for (len = 0; len + end_bytes < b.len; len++) {
    cut.len = 0;
    add(&cut, b.at, len);
    assert_int_equal(jpx_of(cut, 0, 0), DX_REASON_DAMAGED);
    add(&cut, "\xFF\xD9", 2);
    assert_int_equal(jpx_of(cut, 0, 0), DX_REASON_DAMAGED);
  }
  free(cut.at);
}

static void jpx_is_parsed_to_its_end(void **state)
{
  struct bytes b = new_bytes(), boxes = new_bytes();

  (void)state;
  add(&b, TEXT(small));
  assert_int_equal(jpx_of(b, 0, 0), DX_REASON_NONE);
  assert_int_equal(jpx_of(b, 8, 8), DX_REASON_NONE);
  assert_int_equal(jpx_of(b, 9, 8), DX_REASON_DAMAGED);
  assert_int_equal(jpx_of(b, 8, 9), DX_REASON_DAMAGED);
  no_jpx_cut_passes(b, 2);
  b.len -= 2; /* EOC may be missing */
  assert_int_equal(jpx_of(b, 8, 8), DX_REASON_NONE);
  b.len += 2;
  add(&boxes, TEXT("\0\0\0\x0CjP  \r\n\x87\n\0\0\0\0jp2c"));
  add(&boxes, b.at, b.len);
  assert_int_equal(jpx_of(boxes, 8, 8), DX_REASON_NONE);
  no_jpx_cut_passes(boxes, 2);
  /* A length of 0: up to EOC, which must be there. */
  memcpy(memmem(b.at, b.len, "\xff\x90", 2), "\xff\x90\0\x0a\0\0\0\0\0\0", 10);
  assert_int_equal(jpx_of(b, 8, 8), DX_REASON_NONE);
  b.len -= 2;
  assert_int_equal(jpx_of(b, 8, 8), DX_REASON_DAMAGED);
  free(boxes.at);
  free(b.at);
}

/* Of 20 bytes, with six of data. */
static void add_tile_part(struct bytes *b, int tile, int part, int parts)
{
  unsigned char bytes[20] = {0xFF,
                             0x90,
                             0,
                             10,
                             0,
                             (unsigned char)tile,
                             0,
                             0,
                             0,
                             20,
                             (unsigned char)part,
                             (unsigned char)parts,
                             0xFF,
                             0x93};

  add(b, bytes, sizeof(bytes));
}

static void missing_tile_part_is_detected(void **state)
{
  struct bytes b = new_bytes();
  size_t begin;
  int tile;

  (void)state;
  add(&b, small, sizeof(small) - 1 - 37 - 2); /* the headers */
  memcpy(b.at + 8, "\0\0\0\x15\0\0\0\x16\0\0\0\x03\0\0\0\x01", 16);
  memcpy(b.at + 24, "\0\0\0\x0A\0\0\0\x0B\0\0\0\x02\0\0\0\x01", 16);
  begin = b.len; /* 18 x 21 pixels in 2 x 2 tiles */
  for (tile = 0; tile < 4; tile++) {
    add_tile_part(&b, tile, 0, tile == 2 ? 0 : 2);
    add_tile_part(&b, tile, 1, tile == 1 ? 0 : 2);
  }
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_NONE);
  no_jpx_cut_passes(b, 0);
  b.at[begin + 10] = 2; /* the third part of two */
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_DAMAGED);
  b.at[begin + 10] = 0;
  for (tile = 0; tile < 4; tile++) { /* one is not there */
    struct bytes less = new_bytes();

    add(&less, b.at, begin + (size_t)tile * 40);
    add(&less, b.at + begin + (size_t)tile * 40 + 20,
        (size_t)(7 - 2 * tile) * 20);
    assert_int_equal(jpx_of(less, 18, 21), DX_REASON_DAMAGED);
    free(less.at);
  }
  b.len = begin; /* without the number of parts, only EOC is the end */
  for (tile = 0; tile < 4; tile++)
    add_tile_part(&b, tile, 0, 0);
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_DAMAGED);
  add(&b, "\xFF\xD9", 2);
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_NONE);
  b.at[begin + 5] = 4; /* no such tile */
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_DAMAGED);
  free(b.at);
}

static void tile_parts_may_be_one_more_than_specified(void **state)
{
  struct bytes b = new_bytes();
  size_t begin;
  int tile, part;

  (void)state;
  add(&b, small, sizeof(small) - 1 - 37 - 2);
  memcpy(b.at + 8, "\0\0\0\x15\0\0\0\x16\0\0\0\x03\0\0\0\x01", 16);
  memcpy(b.at + 24, "\0\0\0\x0A\0\0\0\x0B\0\0\0\x02\0\0\0\x01", 16);
  begin = b.len;
  for (tile = 0; tile < 4; tile++)
    for (part = 0; part < 3; part++)
      add_tile_part(&b, tile, part, 2);
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_NONE);
  no_jpx_cut_passes(b, 0);
  add(&b, "\xFF\xD9", 2);
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_NONE);
  b.at[begin + 40 + 10] = 3; /* but not two more */
  assert_int_equal(jpx_of(b, 18, 21), DX_REASON_DAMAGED);
  b.at[begin + 40 + 10] = 2;
  for (part = 0; part < 12; part++) { /* then each tile has one more */
    struct bytes less = new_bytes();

    add(&less, b.at, begin + (size_t)part * 20);
    add(&less, b.at + begin + (size_t)part * 20 + 20,
        (size_t)(11 - part) * 20 + 2);
    assert_int_equal(jpx_of(less, 18, 21), DX_REASON_DAMAGED);
    free(less.at);
  }
  free(b.at);
}

static void jpx_sizes_are_checked(void **state)
{
  static const struct {
    size_t at;
    const char *number;
    enum dx_reason reason;
  } wrong[] = {{8, "\0\0\0\0", DX_REASON_DAMAGED},
               {24, "\0\0\0\0", DX_REASON_DAMAGED},
               {16, "\0\0\0\x08", DX_REASON_DAMAGED},
               {32, "\0\0\0\x01", DX_REASON_DAMAGED},
               {8, "\xFF\xFF\xFF\xFF", DX_REASON_TOO_COMPLEX},
               {4, "\0\x03\0\0", DX_REASON_DAMAGED}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    struct bytes b = new_bytes();

    add(&b, TEXT(small));
    memcpy(b.at + wrong[i].at, wrong[i].number, 4);
    assert_int_equal(jpx_of(b, 0, 0), wrong[i].reason);
    free(b.at);
  }
}

/* ---- JPEG 2000 without metadata ---- */

static void clean_jpx(struct bytes *clean, struct bytes b)
{
  struct dx_buf copy = {0};
  const char *why;

  assert_int_equal(jpx_clean(b.at, b.len, 0, 0, &copy, &why), DX_REASON_NONE);
  take_copy(clean, &copy);
}

static void add_box(struct bytes *b, const char *type, const void *bytes,
                    size_t len)
{
  unsigned char head[8] = {0, 0, 0, (unsigned char)(8 + len)};

  memcpy(head + 4, type, 4);
  add(b, head, sizeof(head));
  add(b, bytes, len);
}

#define SIGNATURE "\r\n\x87\n"
#define IHDR "\0\0\0\x08\0\0\0\x08\0\x01\x07\x07\0\0"
#define COLR "\x01\0\0\0\0\0\x11"
#define COM "\xFF\x64\0\x0A\0\x01SECRET"
#define NO_COM "\xFF\x64\0\x0A\0\0\0\0\0\0\0\0"

/* A JP2 file with metadata in all places, or what is left of it. */
static struct bytes make_jp2(bool clean)
{
  const size_t head = sizeof(small) - 1 - 37 - 2, sot = head + 12;
  struct bytes b = new_bytes(), header = new_bytes();

  add_box(&b, "jP  ", TEXT(SIGNATURE));
  if (!clean)
    add_box(&b, "xml ", TEXT("SECRET"));
  add_box(&b, "ftyp", TEXT("jp2 \0\0\0\0jp2 "));
  add_box(&b, "rreq", TEXT("\1\x80\x80\0\1\0\5\x80\0\0"));
  add_box(&header, "ihdr", TEXT(IHDR));
  if (!clean)
    add_box(&header, "uuid", TEXT("SECRET 8 0123456"));
  add_box(&header, "colr", TEXT(COLR));
  add_box(&header, "bpcc", TEXT("\7"));
  add_box(&header, "pclr", TEXT("\0\1\1\7\x80"));
  add_box(&header, "cmap", TEXT("\0\0\1\0"));
  add_box(&header, "cdef", TEXT("\0\1\0\0\0\0\0\1"));
  if (!clean)
    add_box(&header, "jp2h", TEXT("SECRET"));
  add_box(&b, "jp2h", header.at, header.len);
  if (!clean) { /* with a length of eight bytes */
    add(&b, "\0\0\0\x01uuid\0\0\0\0\0\0\0\x16", 16);
    add(&b, TEXT("SECRET"));
    add_box(&b, "ihdr", TEXT("SECRET"));
  }
  add(&b, TEXT("\0\0\0\0jp2c"));
  add(&b, small, head);
  add(&b, clean ? NO_COM : COM, 12);
  add(&b, small + head, 12);
  b.at[b.len - 3] += 12; /* the length of the tile-part */
  add(&b, clean ? NO_COM : COM, 12);
  add(&b, small + sot, sizeof(small) - 1 - sot);
  if (!clean)
    add(&b, TEXT("SECRET"));
  free(header.at);
  return b;
}

static void jpx_loses_its_metadata(void **state)
{
  struct bytes jp2 = make_jp2(false), left = make_jp2(true), late;
  struct bytes clean = new_bytes();

  (void)state;
  assert_int_equal(jpx_of(jp2, 8, 8), DX_REASON_NONE);
  clean_jpx(&clean, jp2);
  assert_int_equal(clean.len, left.len);
  assert_memory_equal(clean.at, left.at, left.len);
  assert_int_equal(jpx_of(clean, 8, 8), DX_REASON_NONE);
  jp2.at[3] = 13; /* boxes that cannot be followed */
  assert_int_equal(jpx_of(jp2, 8, 8), DX_REASON_DAMAGED);

  late = jp2;
  late.len = 0;
  add(&late, "\n", 1);
  add(&late, TEXT(small));
  assert_int_equal(jpx_of(late, 8, 8), DX_REASON_NONE);
  clean_jpx(&clean, late);
  assert_int_equal(clean.len, sizeof(small) - 1);
  assert_memory_equal(clean.at, small, clean.len);
  late.len -= 2; /* without EOC */
  clean_jpx(&clean, late);
  assert_int_equal(clean.len, sizeof(small) - 1);
  free(clean.at);
  free(left.at);
  free(jp2.at);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images_written_by_libtiff_are_complete),
      cmocka_unit_test(group_3_needs_no_eol),
      cmocka_unit_test(group_4_may_be_aligned),
      cmocka_unit_test(early_end_of_block_is_reported),
      cmocka_unit_test(data_after_the_end_of_the_block_is_rejected),
      cmocka_unit_test(missing_last_bit_is_detected),
      cmocka_unit_test(runs_without_pixels_are_limited),
      cmocka_unit_test(some_rows_of_a_fax_may_be_bad),
      cmocka_unit_test(only_one_row_in_a_hundred_may_be_bad),
      cmocka_unit_test(bad_row_may_have_been_two),
      cmocka_unit_test(rows_may_include_the_end_of_a_page),
      cmocka_unit_test(random_bytes_do_not_crash),
      cmocka_unit_test(jbig2_is_parsed_to_its_end),
      cmocka_unit_test(jbig2_may_have_stripes),
      cmocka_unit_test(jbig2_region_may_have_any_length),
      cmocka_unit_test(jbig2_may_refer_to_many_segments),
      cmocka_unit_test(jbig2_page_without_regions_is_blank),
      cmocka_unit_test(jpx_is_parsed_to_its_end),
      cmocka_unit_test(missing_tile_part_is_detected),
      cmocka_unit_test(tile_parts_may_be_one_more_than_specified),
      cmocka_unit_test(jpx_sizes_are_checked),
      cmocka_unit_test(jpx_loses_its_metadata),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
