/*
 * test_stream.c - the result of filter/stream.c for the streams of small PDFs.
 * The PDFs have no table of objects: libqpdf finds them by itself.
 */
#include "tests/unit/flate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <zlib.h>

#include "filter/stream.h"

#define LEFT (1LL << 30)

static struct stream_check c;
static unsigned char buffer[1 << 17];
static size_t length;

/* ---- a PDF in `buffer` ---- */

static void put(const char *text)
{
  size_t len = strlen(text);

  memcpy(buffer + length, text, len);
  length += len;
}

static void put_stream(int id, const char *dict, const void *bytes, size_t len)
{
  char head[600];

  (void)snprintf(head, sizeof(head), "%d 0 obj\n<<%s/Length %zu>>\nstream\n",
                 id, dict, len);
  put(head);
  memcpy(buffer + length, bytes, len);
  length += len;
  put("\nendstream\nendobj\n");
}

static void begin(void)
{
  length = 0;
  put("%PDF-1.7\n");
}

/* Object 1 is the page, with resources; what else there is was put before. */
static void open_pdf(void)
{
  put("1 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>\n"
      "endobj\n2 0 obj\n<</Type/Pages/Kids[1 0 R]/Count 1/Resources "
      "<</ColorSpace<</Gray /DeviceGray/Four[/Separation/X/DeviceRGB 9 0 R]"
      "/Loop /Loop/Icc[/ICCBased 8 0 R]/N[/DeviceN[/A/B/C/D/E]/DeviceRGB 9 0 R]"
      ">>>>>>\nendobj\n"
      "3 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
      "8 0 obj\n<</N 3/Length 0>>\nstream\n\nendstream\nendobj\n"
      "trailer\n<</Root 3 0 R/Size 10>>\n%%EOF\n");
  c = (struct stream_check){
      .pdf = qpdf_init(), .left = LEFT, .image_left = LEFT};
  qpdf_silence_errors(c.pdf);
  qpdf_set_suppress_warnings(c.pdf, QPDF_TRUE);
  assert_int_equal(
      qpdf_read_memory(c.pdf, "test", (const char *)buffer, length, NULL) &
          QPDF_ERRORS,
      0);
  (void)qpdf_push_inherited_attributes_to_page(c.pdf);
}

static void close_pdf(void)
{
  assert_false(qpdf_has_error(c.pdf));
  qpdf_cleanup(&c.pdf);
}

static enum dx_reason judge(enum stream_kind kind)
{
  qpdf_oh page = qpdf_get_object_by_id(c.pdf, 1, 0);
  qpdf_oh stream = qpdf_get_object_by_id(c.pdf, 4, 0);

  qpdf_oh_replace_key(c.pdf, qpdf_oh_get_dict(c.pdf, stream), "/Resources",
                      qpdf_oh_get_key(c.pdf, page, "/Resources"));
  return stream_whole(&c, 4, 0, kind);
}

/* A PDF with this stream as object 4. */
static enum dx_reason judge_stream(enum stream_kind kind, const char *dict,
                                   const void *bytes, size_t len)
{
  enum dx_reason reason;

  begin();
  put_stream(4, dict, bytes, len);
  open_pdf();
  c.why = NULL;
  reason = judge(kind);
  assert_true((reason == DX_REASON_DAMAGED) <= (c.why != NULL));
  close_pdf();
  return reason;
}

static enum dx_reason judge_page(void)
{
  enum dx_reason reason = stream_whole(&c, 1, 0, STREAM_CONTENTS);

  close_pdf();
  return reason;
}

/* ---- images ---- */

static void image_requires_the_bytes_of_its_size(void **state)
{
  static const struct {
    const char *dict;
    size_t need; /* 0: damaged, however much there is */
  } rows[] = {
      {"/Width 9/Height 5/BitsPerComponent 1/ColorSpace/DeviceGray", 10},
      {"/Width 9/Height 5/BitsPerComponent 2/ColorSpace/DeviceGray", 15},
      {"/Width 9.0/Height 5.000/BitsPerComponent 2/ColorSpace/DeviceGray", 15},
      {"/Width 9/Height 5/ImageMask true", 10},
      {"/Width 9/Height 5/ImageMask true/BitsPerComponent 8", 10},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace/DeviceRGB", 135},
      {"/Width 9/Height 5/BitsPerComponent 16/ColorSpace/DeviceCMYK", 360},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace[/CalRGB<<>>]", 135},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace[/Lab<<>>]", 135},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace[/CalGray<<>>]", 45},
      {"/Width 9/Height 5/BitsPerComponent 4"
       "/ColorSpace[/Indexed/DeviceRGB 1<000000FFFFFF>]",
       25},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace[/DeviceRGB]", 135},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace[/ICCBased 8 0 R]", 135},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace/Icc", 135},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace/Gray", 45},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace/Four", 45},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace/N", 225},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace/Loop", 0},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace/Pattern", 0},
      {"/Width 9/Height 5/BitsPerComponent 8/ColorSpace[/ICCBased 9 0 R]", 0},
      {"/Width 9/Height 5/BitsPerComponent 0/ColorSpace/DeviceGray", 0},
      {"/Width 9/BitsPerComponent 8/ColorSpace/DeviceGray", 0},
      {"/Width -9/Height 5/BitsPerComponent 8/ColorSpace/DeviceGray", 0},
      {"/Width 9.5/Height 5/BitsPerComponent 8/ColorSpace/DeviceGray", 0},
      {"/Width 9/Height -5.0/BitsPerComponent 8/ColorSpace/DeviceGray", 0},
      {"/Width 2147483647/Height 2147483647/BitsPerComponent 16"
       "/ColorSpace/DeviceCMYK",
       0},
      {"/Width 99999999999999999999/Height 1/BitsPerComponent 1"
       "/ColorSpace/DeviceGray",
       0},
  };
  static unsigned char samples[1000], packed[1200];

  (void)state;
  for (size_t i = 0; i < sizeof(samples); i++)
    samples[i] = (unsigned char)(i * i);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char dict[400];
    size_t need = rows[i].need, n;

    if (need == 0) {
      assert_int_equal(judge_stream(STREAM_IMAGE, rows[i].dict, samples, 999),
                       DX_REASON_DAMAGED);
      continue;
    }
    assert_int_equal(judge_stream(STREAM_IMAGE, rows[i].dict, samples, need),
                     DX_REASON_NONE);
    assert_int_equal(
        judge_stream(STREAM_IMAGE, rows[i].dict, samples, need - 1),
        DX_REASON_DAMAGED);
    (void)snprintf(dict, sizeof(dict), "%s/Filter/FlateDecode", rows[i].dict);
    for (size_t more = 0; more < 2; more++) {
      n = pack_flate(samples, need + more, Z_FINISH, packed, sizeof(packed));
      assert_int_equal(judge_stream(STREAM_IMAGE, dict, packed, n),
                       DX_REASON_NONE);
    }
    n = pack_flate(samples, need - 1, Z_FINISH, packed, sizeof(packed));
    assert_int_equal(judge_stream(STREAM_IMAGE, dict, packed, n),
                     DX_REASON_DAMAGED);
    /* Not ended, but all is there. */
    n = pack_flate(samples, need, Z_SYNC_FLUSH, packed, sizeof(packed));
    assert_int_equal(judge_stream(STREAM_IMAGE, dict, packed, n),
                     DX_REASON_NONE);
    assert_int_equal(judge_stream(STREAM_IMAGE, dict, packed, n - 7),
                     DX_REASON_DAMAGED);
    n = pack_flate(samples, need - 1, Z_SYNC_FLUSH, packed, sizeof(packed));
    assert_int_equal(judge_stream(STREAM_IMAGE, dict, packed, n),
                     DX_REASON_DAMAGED);
  }
}

static void predictors_change_the_size(void **state)
{
  static const struct {
    const char *parms;
    size_t need; /* 9 * 5 RGB */
  } rows[] = {
      {"<</Predictor 1/Colors 3/Columns 9>>", 135},
      {"<</Predictor 2/Colors 3/Columns 9>>", 135},
      {"<</Predictor 15/Colors 3/Columns 9>>", 140},
      {"[<</Predictor 12/Colors 3/Columns 9>>]", 140},
      {"<</Predictor 10/Columns 27>>", 140},
      {"<</Predictor 15/Columns 100>>", 137},
      {"<</Predictor 15/Columns 0>>", 135},
      {"null", 135},
  };
  static unsigned char samples[200], packed[400];

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char dict[200];

    (void)snprintf(dict, sizeof(dict),
                   "/Width 9/Height 5/BitsPerComponent 8/ColorSpace/DeviceRGB"
                   "/Filter/FlateDecode/DecodeParms %s",
                   rows[i].parms);
    for (size_t less = 0; less < 2; less++) {
      size_t n = pack_flate(samples, rows[i].need - less, Z_FINISH, packed,
                            sizeof(packed));

      assert_int_equal(judge_stream(STREAM_IMAGE, dict, packed, n),
                       less == 0 ? DX_REASON_NONE : DX_REASON_DAMAGED);
    }
  }
}

static void image_that_is_much_larger_than_its_size_is_refused(void **state)
{
  static unsigned char zeros[4 << 20], packed[10000];
  size_t n;

  (void)state;
  n = pack_flate(zeros, sizeof(zeros), Z_FINISH, packed, sizeof(packed));
  assert_int_equal(judge_stream(STREAM_IMAGE,
                                "/Width 9/Height 9/ImageMask true"
                                "/Filter/FlateDecode",
                                packed, n),
                   DX_REASON_TOO_COMPLEX);
  n = pack_flate(zeros, 100000, Z_FINISH, packed, sizeof(packed));
  assert_int_equal(judge_stream(STREAM_IMAGE,
                                "/Width 9/Height 9/ImageMask true"
                                "/Filter/FlateDecode",
                                packed, n),
                   DX_REASON_NONE);
}

static size_t make_jpeg(unsigned char **ret_bytes, const char *comment)
{
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  unsigned long len = 0;
  JSAMPLE row[16 * 3];
  JSAMPROW rows[] = {row};

  *ret_bytes = NULL;
  memset(row, 99, sizeof(row));
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, ret_bytes, &len);
  jpeg.image_width = jpeg.image_height = 16;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  jpeg_write_marker(&jpeg, JPEG_COM, (const JOCTET *)comment,
                    (unsigned)strlen(comment));
  for (int i = 0; i < 16; i++) {
    for (size_t j = 0; j < sizeof(row); j++)
      row[j] = (JSAMPLE)((size_t)i * 31 + j * j);
    (void)jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  return len;
}

static void jpeg_is_decoded_and_loses_its_metadata(void **state)
{
  static const char dict[] = "/Width 16/Height 16/BitsPerComponent 8"
                             "/ColorSpace/DeviceRGB/Filter[/DCTDecode]";
  static const char packed_dict[] =
      "/Width 16/Height 16/BitsPerComponent 8/ColorSpace/DeviceRGB"
      "/Filter[/FlateDecode/DCTDecode]/DecodeParms[null<</ColorTransform 1>>]";
  unsigned char *jpeg, *clean = NULL, packed[4000];
  size_t len = make_jpeg(&jpeg, "somebody's name"), n;

  (void)state;
  begin();
  put_stream(4, dict, jpeg, len);
  open_pdf();
  assert_int_equal(judge(STREAM_IMAGE), DX_REASON_NONE);
  (void)qpdf_oh_get_stream_data(c.pdf, qpdf_get_object_by_id(c.pdf, 4, 0),
                                qpdf_dl_none, NULL, &clean, &n);
  assert_non_null(clean);
  assert_null(memmem(clean, n, "somebody", 8));
  assert_int_equal(n, len - 4 - strlen("somebody's name"));
  free(clean);
  assert_int_equal(judge(STREAM_IMAGE), DX_REASON_NONE);
  close_pdf();

  assert_int_equal(judge_stream(STREAM_IMAGE, dict, jpeg, len / 2),
                   DX_REASON_DAMAGED);
  n = pack_flate(jpeg, len, Z_FINISH, packed, sizeof(packed));
  assert_int_equal(judge_stream(STREAM_IMAGE, packed_dict, packed, n),
                   DX_REASON_NONE);
  assert_int_equal(judge_stream(STREAM_IMAGE, packed_dict, packed, n - 6),
                   DX_REASON_DAMAGED);
  n = pack_flate(jpeg, len - 60, Z_FINISH, packed, sizeof(packed));
  assert_int_equal(judge_stream(STREAM_IMAGE, packed_dict, packed, n),
                   DX_REASON_DAMAGED);
  assert_int_equal(judge_stream(STREAM_IMAGE,
                                "/Width 16/Height 17/Filter/DCTDecode", jpeg,
                                len),
                   DX_REASON_DAMAGED);
  free(jpeg);
}

/* Eight white rows, each one bit; the end of the block. */
static void ccitt_requires_all_its_rows(void **state)
{
  static const unsigned char g4[] = {0xFF, 0x00, 0x10, 0x01};

  (void)state;
  assert_int_equal(
      judge_stream(STREAM_IMAGE,
                   "/Width 8/Height 8/ImageMask true/Filter"
                   "/CCITTFaxDecode/DecodeParms<</K -1/Columns 8>>",
                   g4, sizeof(g4)),
      DX_REASON_NONE);
  assert_int_equal(
      judge_stream(STREAM_IMAGE,
                   "/Width 8/Height 9/ImageMask true/Filter"
                   "/CCITTFaxDecode/DecodeParms<</K -1/Columns 8>>",
                   g4, sizeof(g4)),
      DX_REASON_DAMAGED);
  assert_int_equal(
      judge_stream(STREAM_IMAGE,
                   "/Width 8/Height 8/ImageMask true/Filter"
                   "/CCITTFaxDecode/DecodeParms<</K -1/Columns -8>>",
                   g4, sizeof(g4)),
      DX_REASON_DAMAGED);
  /* A white row of 1728 in one dimension, which are the defaults. */
  assert_int_equal(judge_stream(STREAM_IMAGE,
                                "/Width 1728/Height 1/ImageMask true"
                                "/Filter/CCITTFaxDecode",
                                (const unsigned char *)"\x4D\x9A\x80", 3),
                   DX_REASON_NONE);
  /* Two white rows, each in a byte of its own. */
  assert_int_equal(judge_stream(STREAM_IMAGE,
                                "/Width 8/Height 2/ImageMask true"
                                "/Filter/CCITTFaxDecode/DecodeParms<</K -1"
                                "/Columns 8/EncodedByteAlign true>>",
                                (const unsigned char *)"\x80\x80", 2),
                   DX_REASON_NONE);
}

/* ---- filters ---- */

/* 255 letters of 9 bits, and the end in 10, as the table then has 512. */
static void width_of_lzw_codes_follows_its_parameter(void **state)
{
  static const char *const parms[] = {"", "/DecodeParms<</EarlyChange 0>>"};
  unsigned char packed[289] = {0};
  char dict[200];
  size_t bits = 0;

  (void)state;
  for (int i = 0; i < 256; i++)
    for (int bit = i < 255 ? 9 : 10; bit-- > 0; bits++)
      packed[bits / 8] |=
          (unsigned char)(((i < 255 ? 'a' : 257) >> bit & 1) << (7 - bits % 8));
  for (int late = 0; late < 2; late++) {
    (void)snprintf(dict, sizeof(dict),
                   "/Width 255/Height 1/BitsPerComponent 8"
                   "/ColorSpace/DeviceGray/Filter/LZWDecode%s",
                   parms[late]);
    assert_int_equal(judge_stream(STREAM_IMAGE, dict, packed, sizeof(packed)),
                     late != 0 ? DX_REASON_NONE : DX_REASON_DAMAGED);
  }
}

static void every_filter_is_known_or_refused(void **state)
{
  static const struct {
    const char *dict, *bytes;
    enum dx_reason reason;
  } rows[] = {
      {"", "font", DX_REASON_NONE},
      {"/Filter null", "font", DX_REASON_NONE},
      {"/Filter[]", "font", DX_REASON_NONE},
      {"/Filter/ASCIIHexDecode", "4142>", DX_REASON_NONE},
      {"/Filter/ASCIIHexDecode", "4142", DX_REASON_DAMAGED},
      {"/Filter/AHx", "41>", DX_REASON_NONE},
      {"/Filter[/ASCIIHexDecode/RunLengthDecode]", "FF4180>", DX_REASON_NONE},
      {"/Filter[/ASCIIHexDecode/RunLengthDecode]", "FF41>", DX_REASON_DAMAGED},
      {"/Filter[/Crypt/ASCIIHexDecode]/DecodeParms[<</Name/Identity>>null]",
       "41>", DX_REASON_NONE},
      {"/Filter/NoSuchDecode", "41>", DX_REASON_UNKNOWN},
      {"/Filter[/ASCIIHexDecode/NoSuchDecode]", "41>", DX_REASON_UNKNOWN},
      {"/Filter[/ASCIIHexDecode 7]", "41>", DX_REASON_UNKNOWN},
      {"/Filter(ASCIIHexDecode)", "41>", DX_REASON_UNKNOWN},
      {"/Filter/DCTDecode", "41>", DX_REASON_UNKNOWN}, /* no image */
      {"/Filter[/DCTDecode/ASCIIHexDecode]", "41>", DX_REASON_UNKNOWN},
      {"/Filter[/LZWDecode/ASCIIHexDecode]/DecodeParms[<</Predictor 12>>null]",
       "41>", DX_REASON_UNKNOWN},
      {"/Filter[/AHx/AHx/AHx/AHx/AHx/AHx/AHx/AHx/AHx]", ">", DX_REASON_UNKNOWN},
      {"/F(other.pdf)", "font", DX_REASON_DAMAGED},
      {"/Filter/FlateDecode", "", DX_REASON_NONE},
  };

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(judge_stream(STREAM_DATA, rows[i].dict, rows[i].bytes,
                                  strlen(rows[i].bytes)),
                     rows[i].reason);
  }
}

static void total_size_is_limited(void **state)
{
  static unsigned char zeros[100000], packed[1000];
  size_t n = pack_flate(zeros, sizeof(zeros), Z_FINISH, packed, sizeof(packed));
  unsigned char *jpeg;

  (void)state;
  begin();
  put_stream(4, "/Filter/FlateDecode", packed, n);
  open_pdf();
  c.left = 250000;
  assert_int_equal(judge(STREAM_DATA), DX_REASON_NONE);
  assert_int_equal(judge(STREAM_CONTENT), DX_REASON_NONE);
  assert_int_equal(c.left, 50000);
  assert_int_equal(judge(STREAM_DATA), DX_REASON_TOO_COMPLEX);
  assert_int_equal(judge(STREAM_DATA), DX_REASON_TOO_COMPLEX);
  close_pdf();
  /* That of images is another one; of a JPEG, its samples count. */
  n = make_jpeg(&jpeg, "x");
  begin();
  put_stream(4, "/Width 16/Height 16/Filter/DCTDecode", jpeg, n);
  open_pdf();
  c.image_left = 16 * 16 * 3 + 1;
  c.left = 0;
  assert_int_equal(judge(STREAM_IMAGE), DX_REASON_NONE);
  assert_int_equal(c.image_left, 1);
  assert_int_equal(judge(STREAM_IMAGE), DX_REASON_TOO_COMPLEX);
  close_pdf();
  free(jpeg);
}

static void dictionary_of_an_inline_image_is_limited(void **state)
{
  static char content[70000];
  size_t len;

  (void)state;
  for (len = 60000; len <= sizeof(content); len += 10000) {
    memset(content, ' ', len);
    memcpy(content, "BI/W 1/H 1/IM true", 18);
    memcpy(content + len - 9, "ID x\nEI Q", 9);
    assert_int_equal(judge_stream(STREAM_CONTENT, "", content, len),
                     len > 65536 ? DX_REASON_TOO_COMPLEX : DX_REASON_NONE);
  }
}

static void stream_whose_end_is_missing_is_damaged(void **state)
{
  static const char *const dicts[] = {"/Length 4", "/Length 99", "", NULL};

  (void)state;
  for (size_t i = 0; dicts[i] != NULL; i++)
    for (int kind = STREAM_DATA; kind <= STREAM_CONTENT; kind++) {
      begin();
      put("4 0 obj\n<<");
      put(dicts[i]);
      put("/Width 0/Height 0>>\nstream\nendstream\nendobj\n");
      open_pdf();
      assert_int_equal(judge((enum stream_kind)kind), DX_REASON_DAMAGED);
      close_pdf();
    }
}

/* ---- data that end early, and checksums ---- */

#define CMAP "1 beginbfchar <01><0041> endbfchar endcmap end end"

static void data_may_end_early_if_their_length_is_known(void **state)
{
  static const struct {
    const char *dict, *bytes;
    enum dx_reason reason;
  } rows[] = {
      {"/Length1 8", "truetype", DX_REASON_NONE},
      {"/Length1 9", "truetype", DX_REASON_DAMAGED},
      {"/Length1 7", "truetype", DX_REASON_DAMAGED},
      {"/Length1 3/Length2 2/Length3 1", "type 1", DX_REASON_NONE},
      {"/Length1 3/Length2 2/Length3 9", "type 1", DX_REASON_DAMAGED},
      {"/Subtype/Type1C", "compact", DX_REASON_DAMAGED}, /* not known */
      {"", CMAP, DX_REASON_NONE},
      {"/CMapName/A", CMAP "\n", DX_REASON_NONE},
      {"", "1 beginbfchar <01><0041> endbfchar", DX_REASON_DAMAGED},
      {"/N 3", "a profile of colors", DX_REASON_DAMAGED},
  };
  static const int flushes[] = {Z_SYNC_FLUSH, Z_PARTIAL_FLUSH};
  unsigned char packed[200];
  char dict[200];

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (size_t k = 0; k < 2; k++) {
      size_t len = strlen(rows[i].bytes);
      size_t n = pack_flate(rows[i].bytes, len, flushes[k], packed, 200);

      (void)snprintf(dict, sizeof(dict), "/Filter/FlateDecode%s", rows[i].dict);
      assert_int_equal(judge_stream(STREAM_DATA, dict, packed, n),
                       rows[i].reason);
      assert_int_equal(judge_stream(STREAM_DATA, dict, packed, n - 7),
                       DX_REASON_DAMAGED);
    }
}

/* Another /Length means that more was written. */
static void data_that_end_early_need_their_length(void **state)
{
  static const char drawn[] = "0 0 1 1 re f", font[] = "truetype";
  unsigned char packed[200];
  char head[200];
  int wrong;

  (void)state;
  for (wrong = 0; wrong < 2; wrong++)
    for (int kind = STREAM_DATA; kind <= STREAM_CONTENT; kind++) {
      const char *bytes = kind == STREAM_CONTENT ? drawn : font;
      size_t n = pack_flate(bytes, strlen(bytes), Z_SYNC_FLUSH, packed,
                            sizeof(packed));

      begin();
      (void)snprintf(head, sizeof(head),
                     "4 0 obj\n<</Filter/FlateDecode/Length1 8/Width 8/Height 8"
                     "/ImageMask true/Length %zu>>\nstream\n",
                     n + (size_t)wrong * 100);
      put(head);
      memcpy(buffer + length, packed, n);
      length += n;
      put("\nendstream\nendobj\n");
      open_pdf();
      /* An image has all of its rows. */
      assert_int_equal(judge((enum stream_kind)kind),
                       wrong == 0 || kind == STREAM_IMAGE ? DX_REASON_NONE
                                                          : DX_REASON_DAMAGED);
      close_pdf();
    }
}

static void image_with_all_rows_needs_no_end(void **state)
{
  static const char flate[] = "/Width 80/Height 50/ImageMask true"
                              "/Filter/FlateDecode";
  static const char lzw[] =
      "/Width 72/Height 1/ImageMask true/Filter/LZWDecode";
  static const unsigned char no_end[] = "\x80\x0B\x60\x50\x22\x0C\x0C\x85";
  static unsigned char samples[501], packed[1200];
  size_t n;

  (void)state;
  for (size_t i = 0; i < sizeof(samples); i++)
    samples[i] = (unsigned char)(i * i * i >> 3);
  n = pack_flate(samples, 501, Z_FINISH, packed, sizeof(packed));
  assert_int_equal(judge_stream(STREAM_IMAGE, flate, packed, n - 5),
                   DX_REASON_NONE); /* without the byte that is too many */
  assert_int_equal(judge_stream(STREAM_IMAGE, flate, packed, n - 6),
                   DX_REASON_DAMAGED);
  n = pack_flate(samples, 499, Z_SYNC_FLUSH, packed, sizeof(packed));
  assert_int_equal(judge_stream(STREAM_IMAGE, flate, packed, n),
                   DX_REASON_DAMAGED);
  /* "-----A---B", of which "B" begins in the last byte but one. */
  assert_int_equal(judge_stream(STREAM_IMAGE, lzw, no_end, 8), DX_REASON_NONE);
  assert_int_equal(judge_stream(STREAM_IMAGE, lzw, no_end, 6),
                   DX_REASON_DAMAGED);
}

static void header_alone_is_a_blank_page(void **state)
{
  static const struct {
    const char *bytes;
    size_t len;
    enum dx_reason page;
  } rows[] = {
      {"\x78\xDA", 2, DX_REASON_NONE},
      {"\x78\x9C\n", 3, DX_REASON_NONE},
      {"\x78\x01\r\n", 4, DX_REASON_NONE},
      {"\x78\xDA\0", 3, DX_REASON_DAMAGED},
      {"\x78\xDB", 2, DX_REASON_DAMAGED},
      {"\x78", 1, DX_REASON_DAMAGED},
      {"\x78\xDA\xCB", 3, DX_REASON_DAMAGED},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    for (int kind = STREAM_DATA; kind <= STREAM_CONTENT; kind++)
      assert_int_equal(judge_stream((enum stream_kind)kind,
                                    "/Width 1/Height 1/ImageMask true"
                                    "/Filter/FlateDecode",
                                    rows[i].bytes, rows[i].len),
                       DX_REASON_DAMAGED);
    begin();
    put_stream(4, "/Filter/FlateDecode", rows[i].bytes, rows[i].len);
    open_pdf();
    assert_int_equal(judge_page(), rows[i].page);
  }
}

/* `count` streams from 10 on, and the content, whose checksums `spoil` makes
 * wrong; one of the others is `odd`. */
static void put_sums(int count, void (*spoil)(unsigned char *sum, int i),
                     const char *content)
{
  unsigned char packed[300];
  size_t n;
  int i;

  begin();
  for (i = 0; i < count; i++) {
    char text[40];

    (void)snprintf(text, sizeof(text), "stream number %d", i);
    n = pack_flate(text, strlen(text), Z_FINISH, packed, sizeof(packed));
    spoil(packed + n - 4, i + 1);
    put_stream(10 + i, "/Filter/FlateDecode", packed, n);
  }
  n = pack_flate(content, strlen(content), Z_FINISH, packed, sizeof(packed));
  spoil(packed + n - 4, 0);
  put_stream(4, "/Filter/FlateDecode", packed, n);
  open_pdf();
}

static void make_zero(unsigned char *sum, int i)
{
  (void)i;
  memset(sum, 0, 4);
}

static void make_zero_but_2(unsigned char *sum, int i)
{
  if (i != 2)
    memset(sum, 0, 4);
}

static void make_wrong(unsigned char *sum, int i)
{
  (void)i;
  sum[2] ^= 0xFF;
}

static void make_first_wrong(unsigned char *sum, int i)
{
  sum[1] ^= i == 0;
}

static void checksums_may_be_wrong_if_all_are(void **state)
{
  static const struct {
    int others;
    void (*spoil)(unsigned char *sum, int i);
    const char *content;
    enum dx_reason reason;
  } rows[] = {
      {0, make_zero, "0 0 1 1 re f", DX_REASON_NONE},
      {3, make_zero, "0 0 1 1 re f", DX_REASON_NONE},
      {3, make_zero_but_2, "0 0 1 1 re f", DX_REASON_DAMAGED},
      {9, make_zero_but_2, "0 0 1 1 re f", DX_REASON_DAMAGED},
      {0, make_wrong, "0 0 1 1 re f", DX_REASON_DAMAGED},
      {6, make_wrong, "0 0 1 1 re f", DX_REASON_DAMAGED},
      {7, make_wrong, "0 0 1 1 re f", DX_REASON_NONE},
      {20, make_first_wrong, "0 0 1 1 re f", DX_REASON_DAMAGED},
      /* Where bytes are lost, an operator is, too. */
      {0, make_zero, "0 0 1 1 re f BT (5.4", DX_REASON_DAMAGED},
      {7, make_wrong, "q 0 0 1 1 re", DX_REASON_DAMAGED},
  };

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    put_sums(rows[i].others, rows[i].spoil, rows[i].content);
    assert_int_equal(judge(STREAM_CONTENT), rows[i].reason);
    assert_int_equal(judge(STREAM_CONTENT), rows[i].reason);
    close_pdf();
  }
}

/* Zeros in the place of the last bytes: of fixed codes, seven are the end. */
static void hole_is_no_checksum(void **state)
{
  static const char content[] = "BT /F 9 Tf (WBC 5.40) Tj ET 0 0 1 1 re f\n";
  unsigned char packed[200];
  size_t n, hole;
  z_stream z = {0};

  (void)state;
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15, 8, Z_FIXED), Z_OK);
  z.next_in = (z_const Bytef *)(uintptr_t)content;
  z.avail_in = sizeof(content) - 1;
  z.next_out = packed;
  z.avail_out = sizeof(packed);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  n = z.total_out;
  (void)deflateEnd(&z);
  for (hole = 4; hole < n - 2; hole++) {
    memset(packed + n - hole, 0, hole);
    assert_int_equal(
        judge_stream(STREAM_CONTENT, "/Filter/FlateDecode", packed, n),
        hole <= 5 ? DX_REASON_NONE : DX_REASON_DAMAGED);
  }
}

/* ---- content ---- */

static void page_content(const char *contents, const char *const *streams)
{
  begin();
  for (int i = 0; streams[i] != NULL; i++)
    put_stream(10 + i, "", streams[i], strlen(streams[i]));
  put("4 0 obj\n");
  put(contents);
  put("\nendobj\n");
  open_pdf();
}

static void contents_of_a_page_are_joined(void **state)
{
  static const char *const streams[] = {
      "q BI /W 2 /H 2 /BPC 8 /CS /Gray ID abcd",
      " EI Q",
      "q (",
      ") Tj Q",
      "BI /W 2 /H 2 /BPC 8 /CS /Icc ID abcdefghij EI",
      "0 0 1 1 re B",
      "I",
      NULL};
  static const struct {
    const char *contents;
    enum dx_reason reason;
  } rows[] = {
      {"[15 0 R 16 0 R]", DX_REASON_NONE}, /* not "BI" */
      {"10 0 R", DX_REASON_DAMAGED},
      {"[10 0 R]", DX_REASON_DAMAGED},
      {"[10 0 R 11 0 R]", DX_REASON_NONE},
      {"[11 0 R 12 0 R 13 0 R]", DX_REASON_NONE},
      {"[12 0 R 14 0 R 13 0 R]", DX_REASON_NONE}, /* in a string */
      {"[14 0 R]", DX_REASON_DAMAGED},            /* 12 bytes, and a line end */
      {"[]", DX_REASON_NONE},
      {"null", DX_REASON_DAMAGED},          /* a reference to nothing */
      {"[null 12 0 R]", DX_REASON_DAMAGED}, /* perhaps it was one, too */
      {"[12 0 R 99 0 R]", DX_REASON_DAMAGED},
      {"[12 0 R (Q)]", DX_REASON_DAMAGED},
      {"(Q)", DX_REASON_DAMAGED},
      {"<<>>", DX_REASON_DAMAGED},
  };

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    page_content(rows[i].contents, streams);
    assert_int_equal(judge_page(), rows[i].reason);
  }
}

static void content_may_end_early_if_nothing_is_open(void **state)
{
  static const char closed[] = "q (text) Tj Q\n", open[] = "q (text) Tj\n";
  unsigned char packed[200];
  size_t n =
      pack_flate(closed, strlen(closed), Z_SYNC_FLUSH, packed, sizeof(packed));

  (void)state;
  assert_int_equal(
      judge_stream(STREAM_CONTENT, "/Filter/FlateDecode", packed, n),
      DX_REASON_NONE);
  assert_int_equal(judge_stream(STREAM_DATA, "/Filter/FlateDecode", packed, n),
                   DX_REASON_DAMAGED);
  begin();
  put_stream(10, "/Filter/FlateDecode", packed, n);
  put_stream(11, "", "q", 1);
  put("4 0 obj\n[11 0 R 10 0 R]\nendobj\n");
  open_pdf();
  assert_int_equal(judge_page(), DX_REASON_NONE);
  n = pack_flate(open, strlen(open), Z_SYNC_FLUSH, packed, sizeof(packed));
  begin();
  put_stream(10, "/Filter/FlateDecode", packed, n);
  put_stream(11, "", "Q", 1);
  put("4 0 obj\n[10 0 R 11 0 R]\nendobj\n");
  open_pdf();
  assert_int_equal(judge_page(), DX_REASON_DAMAGED);
  n = pack_flate(open, strlen(open), Z_FINISH, packed, sizeof(packed));
  assert_int_equal(
      judge_stream(STREAM_CONTENT, "/Filter/FlateDecode", packed, n),
      DX_REASON_NONE);
  /* A wrong /Length: libqpdf takes what is before endstream. */
  begin();
  put("4 0 obj\n<</Length 3>>\nstream\nq (text) Tj\nendstream\nendobj\n");
  open_pdf();
  assert_int_equal(judge(STREAM_CONTENT), DX_REASON_DAMAGED);
  close_pdf();
  begin();
  put("4 0 obj\n<</Length 99>>\nstream\nq (text) Tj Q\nendstream\nendobj\n");
  open_pdf();
  assert_int_equal(judge(STREAM_CONTENT), DX_REASON_NONE);
  close_pdf();
}

/* q BI ... ID <image> EI Q, whole and with each byte of the image cut off. */
static void inline_images_are_images(void **state)
{
  static const struct {
    const char *dict;
    const char *image;
    size_t len, losable; /* bytes that may be missing at its end */
  } rows[] = {
      {"/W 3/H 3/BPC 8/CS/G", "ab\0EI fgh", 9, 1},
      {"/W 9/H 2/IM true",
       "a\x80"
       "b\x80",
       4, 1},
      {"/Width 2/Height 1/BitsPerComponent 8/ColorSpace/RGB", "abcdef", 6, 1},
      {"/W 8/H 3/BPC 1/CS/G", "abc", 3, 1},
      {"/W 2/H 2/BPC 8/CS[/I/RGB 1(\0ab)]/F/AHx", "00010203>", 9, 1},
      {"/W 2/H 2/BPC 8/CS/G/F/A85", "87cUR~>", 7, 2},
      {"/W 2/H 2/BPC 8/CS/G/F[/A85/RL]", "!ru=O\"HXk~>", 0, 0},
      {"/W 2/H 2/BPC 8/CS/G/F/RL",
       "\x03"
       "abcd\x80",
       6, 1},
      {"/W 2/H 2/BPC 8/CS/CMYK/F/RL",
       "\xf1"
       "a\x80",
       3, 1},
      /* One white row of four; the end of the block. */
      {"/W 8/H 8/IM true/F/CCF/DP<</K -1/Columns 8>>", "\xFF\0\x10\x01", 4, 3},
  };

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (size_t cut = 0; cut <= rows[i].len && rows[i].len > 0; cut++) {
      static const char head[] = "q BI ", middle[] = " ID ",
                        end[] = "\nEI Q q BI /W 1/H 1/IM true ID xEI Q "
                                "0 0 m 99 99 l S BT (text) Tj ET\n";
      char content[300];
      size_t n = strlen(head), dict = strlen(rows[i].dict);
      enum dx_reason reason;

      if (strstr(rows[i].dict, "RGB 1(") != NULL) /* with the NUL */
        dict = strlen("/W 2/H 2/BPC 8/CS[/I/RGB 1(") + strlen("?ab)]/F/AHx");
      memcpy(content, head, n);
      memcpy(content + n, rows[i].dict, dict);
      n += dict;
      memcpy(content + n, middle, strlen(middle));
      n += strlen(middle);
      memcpy(content + n, rows[i].image, rows[i].len - cut);
      n += rows[i].len - cut;
      memcpy(content + n, end, strlen(end));
      n += strlen(end);
      reason = judge_stream(STREAM_CONTENT, "", content, n);
      if ((reason != DX_REASON_NONE) != (cut > rows[i].losable))
        print_message("%s without %zu: %d\n", rows[i].dict, cut, (int)reason);
      assert_int_equal(reason, cut > rows[i].losable ? DX_REASON_DAMAGED
                                                     : DX_REASON_NONE);
    }
}

static void inline_flate_and_jpeg_images_end_where_their_data_end(void **state)
{
  unsigned char samples[64], packed[3000], *jpeg;
  char content[4000];
  size_t n, len;

  (void)state;
  for (size_t i = 0; i < sizeof(samples); i++)
    samples[i] = (unsigned char)(i * i * 7);
  n = pack_flate(samples, sizeof(samples), Z_FINISH, packed, sizeof(packed));
  for (size_t cut = 0; cut < n; cut++) {
    len = (size_t)sprintf(content, "BI /W 8/H 8/BPC 8/CS/G/F/Fl ID ");
    memcpy(content + len, packed, n - cut);
    len += n - cut;
    len += (size_t)sprintf(content + len, "\nEI Q BI /W 1/H 1/IM true ID xEI");
    assert_int_equal(judge_stream(STREAM_CONTENT, "", content, len),
                     cut <= 4 ? DX_REASON_NONE : DX_REASON_DAMAGED);
  }
  len = make_jpeg(&jpeg, "x");
  n = (size_t)sprintf(content, "BI /W 16/H 16/BPC 8/CS/RGB/F/DCT ID ");
  memcpy(content + n, jpeg, len);
  (void)sprintf(content + n + len, "\nEI Q\n");
  assert_int_equal(judge_stream(STREAM_CONTENT, "", content, n + len + 6),
                   DX_REASON_NONE);
  (void)sprintf(content + n + len / 2, "\nEI Q\n");
  assert_int_equal(judge_stream(STREAM_CONTENT, "", content, n + len / 2 + 6),
                   DX_REASON_DAMAGED);
  free(jpeg);
}

/* In hexadecimal digits; all else stays. */
static void inline_jpeg_is_copied_with_its_parameters(void **state)
{
  static const char copy[] =
      "/F[/AHx/DCTDecode]/DP[null<< /ColorTransform 1 >>] ID ffd8";
  char content[4000];
  unsigned char *jpeg, *bytes = NULL;
  size_t len = make_jpeg(&jpeg, "x"), n;

  (void)state;
  n = (size_t)sprintf(content, "q BI /W 16/H 16/BPC 8/CS/RGB/F/DCT"
                               "/DP<</ColorTransform 1>> ID ");
  memcpy(content + n, jpeg, len);
  n += len;
  n += (size_t)sprintf(content + n, "\nEI Q 0 0 m S");
  begin();
  put_stream(4, "", content, n);
  open_pdf();
  assert_int_equal(judge(STREAM_CONTENT), DX_REASON_NONE);
  assert_true(qpdf_oh_get_stream_data(c.pdf, qpdf_get_object_by_id(c.pdf, 4, 0),
                                      qpdf_dl_none, NULL, &bytes,
                                      &len) < QPDF_ERRORS);
  assert_memory_equal(bytes, "q BI", 4);
  assert_non_null(memmem(bytes, len, copy, strlen(copy)));
  assert_memory_equal(bytes + len - 12, "EI Q 0 0 m S", 12);
  free(bytes);
  free(jpeg);
  close_pdf();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(image_requires_the_bytes_of_its_size),
      cmocka_unit_test(predictors_change_the_size),
      cmocka_unit_test(image_that_is_much_larger_than_its_size_is_refused),
      cmocka_unit_test(jpeg_is_decoded_and_loses_its_metadata),
      cmocka_unit_test(ccitt_requires_all_its_rows),
      cmocka_unit_test(width_of_lzw_codes_follows_its_parameter),
      cmocka_unit_test(every_filter_is_known_or_refused),
      cmocka_unit_test(total_size_is_limited),
      cmocka_unit_test(dictionary_of_an_inline_image_is_limited),
      cmocka_unit_test(stream_whose_end_is_missing_is_damaged),
      cmocka_unit_test(data_may_end_early_if_their_length_is_known),
      cmocka_unit_test(data_that_end_early_need_their_length),
      cmocka_unit_test(image_with_all_rows_needs_no_end),
      cmocka_unit_test(header_alone_is_a_blank_page),
      cmocka_unit_test(checksums_may_be_wrong_if_all_are),
      cmocka_unit_test(hole_is_no_checksum),
      cmocka_unit_test(contents_of_a_page_are_joined),
      cmocka_unit_test(content_may_end_early_if_nothing_is_open),
      cmocka_unit_test(inline_images_are_images),
      cmocka_unit_test(inline_flate_and_jpeg_images_end_where_their_data_end),
      cmocka_unit_test(inline_jpeg_is_copied_with_its_parameters),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
