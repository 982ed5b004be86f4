/*
 * test_reading.c - text files become characters, in every encoding, without
 * what printers obey; or the line is reported.
 */
#include "filter/reading.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

#define LENGTH_MAX 200

static char why[PDF_WHY_BYTES];
static char read_back[4 * LENGTH_MAX + 1]; /* UTF-8 */

/* In the encoding that is open. */
static enum dx_reason read_bytes(const char *bytes, size_t len)
{
  static wchar_t chars[LENGTH_MAX];
  size_t count = 0, i;
  enum dx_reason reason;
  char *to = read_back;

  assert_true(len <= LENGTH_MAX);
  why[0] = '\0';
  reason = reading_file(bytes, len, chars, &count, why);
  assert_true(count <= len);
  for (i = 0; i < count; i++) {
    uint32_t ch = (uint32_t)chars[i];

    if (ch < 0x80) {
      *to++ = (char)ch;
    } else if (ch < 0x800) {
      *to++ = (char)(0xC0 | ch >> 6);
      *to++ = (char)(0x80 | (ch & 0x3F));
    } else {
      if (ch < 0x10000) {
        *to++ = (char)(0xE0 | ch >> 12);
      } else {
        *to++ = (char)(0xF0 | ch >> 18);
        *to++ = (char)(0x80 | (ch >> 12 & 0x3F));
      }
      *to++ = (char)(0x80 | (ch >> 6 & 0x3F));
      *to++ = (char)(0x80 | (ch & 0x3F));
    }
  }
  *to = '\0';
  return reason;
}

static enum dx_reason read_text(const char *text)
{
  return read_bytes(text, strlen(text));
}

/* What is removed, and what is kept for the layout. */
static const struct {
  const char *text, *expected; /* NULL: the same */
} whole[] = {
    {"", NULL},
    {"Jos\xC3\xA9 5 \xC2\xB5g\r\n\t\b\f\v", NULL},
    {"Jos\xE9 5 \xB5g \x80 \x93quoted\x94 \x9F", "José 5 µg € “quoted” Ÿ"},
    {"a\xC2\x85z", NULL}, /* NEL */
    {"\x0F\x0E\x12\x14\x11\x13\x07\x02\x03\x1A", NULL},
    {"\x0BMSH|A\rPID|1\r\x1C\r\x0BMSH|B\r\x1C\r\n", NULL},
    {"MSH|A\r\x1C", NULL},
    {"\x1B[1;31mHigh\x1B[0m 5.40\x1B[m\x1B[38:5:1mx", "High 5.40x"},
    {"\x1B[38;5;8mWBC\x1B[48;2;9;8;9m 5.40\x1B[28;29;90m", "WBC 5.40"},
    {"\x1B[0;58:2::8:8:9mWBC", "WBC"},
    {"a\x13\r\n\x11z\x13\n", NULL},
    {"a\r\n\x1A\x1A\x1A\n\x1A", NULL},
    {"\x1B@WBC 5.40\x1B"
     "E",
     "WBC 5.40"},
    {"\r\n\x1B"
     "E\x1B@\x0FWBC\f\x1B@\x1B"
     "E\r\n\x1A",
     "\r\n\x0FWBC\f\r\n\x1A"},
    {"\uFEFF\x1B@x", "\uFEFFx"},
    {"\x1B"
     "EWBC 5\r\n\f\x1B"
     "E\x1B"
     "E\r\nWBC 6\f\x1B@x\x1B"
     "E",
     "WBC 5\r\n\f\r\nWBC 6\fx"},
    {"\x1B@", ""},
};

static void text_is_kept_and_resets_are_removed(void **state)
{
  const char *expected;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
    expected = whole[i].expected != NULL ? whole[i].expected : whole[i].text;
    if (read_text(whole[i].text) != DX_REASON_NONE ||
        strcmp(read_back, expected) != 0)
      fail_msg("row %zu: '%s', %s", i, read_back, why);
  }
}

static const struct {
  const char *text, *why;
} codes[] = {
    {"WBC \x1B"
     "45.40\x1B"
     "5",
     "line 1 has a printer command"},
    {"one\r\ntwo\rthree\nWBC \x1B"
     "E13.20\x1B"
     "F g/dL",
     "line 4 has a printer command"},
    {"\x1B@\x1BMLAB", "line 1 has a printer command"},
    {"a\n\x1B"
     "E\nb",
     "line 2 has a printer command"},
    {"a\fb\x1B"
     "E\fc",
     "line 1 has a printer command"},
    {"\x1B"
     "E\x1B&l0Oa\x1B"
     "E",
     "line 1 has a printer command"},
    {"a\n\nb\x1B(s3Bc\x1B(s0B", "line 3 has a printer command"},
    {"\x1B%-12345X@PJL\nx", "line 1 has a printer command"},
    {"\x1B[31ma\x1B[2Jb", "line 1 has a printer command"},
    {"\x1B[31", "line 1 has a printer command"},
    {"a\x1B", "line 1 has a printer command"},
    /* also if the rest is in an unknown encoding */
    {"Gr\x94\xE1"
     "e\n\x1B*\x81",
     "the encoding of line 1 is unknown"},
    {"\x1B*\x81\x9D", "line 1 has a printer command"},
    /* of printers for receipts and in Japan; separators; a deleted line */
    {"\x1B@\x1D!\x11Total 5", "line 1 has a printer command"},
    {"a\n\x1C&b", "line 2 has a printer command"},
    {"5.40\x1F"
     "10",
     "line 1 has a printer command"},
    {"WBC 4\x18WBC 5", "line 1 has a printer command"},
    {"Na 120 \x19\n", "line 1 has a printer command"},
    /* a checksum behind ETX or ETB; a label of HP-GL; another order */
    {"\x02WBC 5.40\x03"
     "17\r\n",
     "line 1 has a printer command"},
    {"WBC 5.40 \x03"
     "17\r\n",
     "line 1 has a printer command"},
    {"a\r\nWBC \x01W15.40\r\n", "line 2 has a printer command"},
    {"\x02"
     "1H|5.4\r\n\x02"
     "2R|5.40\x17\x04"
     "17\r\n",
     "line 2 has a printer command"},
    {"IN;SP1;LBWBC 5.40\x03;PU;", "line 1 has a printer command"},
    {"a\nWBC \u202E04.5\u202C", "line 2 has a printer command"},
    {"WBC 5.4\x7F", "line 1 has a printer command"},
    /* text that is hidden or crossed out, or that printers or DOS ignore */
    {"WBC\n\x1B[8m5.40\x1B[0m", "line 2 has a printer command"},
    {"\x1B[1;9m5.40\x1B[29m 6.1", "line 1 has a printer command"},
    {"\x1B[4;009m5.40", "line 1 has a printer command"},
    {"\x1B[38;5;196;9m5.40", "line 1 has a printer command"},
    {"\x1B[48;2;1;2;3;8m5.40", "line 1 has a printer command"},
    /* another font, a power */
    {"WBC \x1B[12m3\x1B[10m5.40", "line 1 has a printer command"},
    {"10\x1B[73m9\x1B[75m", "line 1 has a printer command"},
    {"\x1B[9", "line 1 has a printer command"},
    {"a\n\x13"
     "5.40\x11",
     "line 2 has a printer command"},
    {"a\x13\x11"
     "5\n\x13 6",
     "line 2 has a printer command"},
    {"WBC 5.40\n\x1AWBC 9.99", "line 2 has a printer command"},
    /* encodings */
    {"plain\nM\x81ller", "the encoding of line 2 is unknown"},
    {"\x9D 5", "the encoding of line 1 is unknown"},
    {"José\x93\u201D\n", "the encoding of line 1 is unknown"},
    {"a\nb\xC2\x9B"
     "31mc",
     "line 2 is not valid in the encoding 'UTF-8'"},
    {"\uFEFFJos\xE9", "line 1 is not valid in the encoding 'UTF-8'"},
    {"a\n\uFFFF", "line 2 is not valid in the encoding 'UTF-8'"},
    {"a\n\uFDD0", "line 2 is not valid in the encoding 'UTF-8'"},
    {"\U0010FFFE", "line 1 is not valid in the encoding 'UTF-8'"},
};

static void text_with_another_meaning_is_refused(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
    enum dx_reason reason = read_text(codes[i].text);

    if (strcmp(why, codes[i].why) != 0)
      fail_msg("row %zu: '%s'", i, why);
    assert_int_equal(reason, strstr(why, "encoding") != NULL
                                 ? DX_REASON_ENCODING
                                 : DX_REASON_CODES);
  }
}

static const struct {
  enum dx_text_encoding encoding;
  const char *bytes, *text; /* NULL: not valid */
} encoded[] = {
    {DX_TEXT_UTF_8, "Jos\xC3\xA9 \xC2\xB5g", "José µg"},
    {DX_TEXT_UTF_8, "Jos\xE9", NULL},
    {DX_TEXT_UTF_8, "a\xC3", NULL},
    {DX_TEXT_WINDOWS_1252, "M\x94ller 5 \xE6g", "M”ller 5 æg"},
    {DX_TEXT_WINDOWS_1252, "M\x81ller", NULL},
    {DX_TEXT_ISO_8859_1,
     "M\xFCller 37,5 \xB0"
     "C",
     "Müller 37,5 °C"},
    {DX_TEXT_ISO_8859_1, "\x93M\xFCller\x94", NULL},
    {DX_TEXT_ISO_8859_1, "M\xFCller\x85", NULL},
    {DX_TEXT_ISO_8859_15, "5 \xA4 \xBC\xBD", "5 € Œœ"},
    {DX_TEXT_CP437,
     "M\x81ller \xE6g \xF1"
     "0,2 37,5\xF8"
     "C \xE3",
     "Müller µg ±0,2 37,5°C π"},
    {DX_TEXT_CP850,
     "M\x81ller, Jos\x82 5 \xE6m \xF1"
     "0,2 37,5\xF8"
     "C \x9D \xC4\xC2\xC4",
     "Müller, José 5 µm ±0,2 37,5°C Ø ─┬─"},
    {DX_TEXT_WINDOWS_1250, "\xA3ukasz \xAF\xF3\xB3\xE6", "Łukasz Żółć"},
    {DX_TEXT_ISO_8859_2, "\xA3ukasz \xAF\xF3\xB3\xE6", "Łukasz Żółć"},
    {DX_TEXT_CP852, "\x9Dukasz \xBD\xA2\x88\x86", "Łukasz Żółć"},
    {DX_TEXT_WINDOWS_1251, "\xC8\xE2\xE0\xED\xEE\xE2", "Иванов"},
    {DX_TEXT_WINDOWS_1251, "\x98", NULL},
    {DX_TEXT_SHIFT_JIS, "\x8A\xB3\x8E\xD2 \xCD\xD3 \x87\x40", "患者 ﾍﾓ ①"},
    {DX_TEXT_SHIFT_JIS, "\x8A\xB3\x8E", NULL},
    {DX_TEXT_EUC_JP, "\xB4\xB5\xBC\xD4", "患者"},
    {DX_TEXT_EUC_JP, "\xB4\xB5\xBC", NULL},
    {DX_TEXT_GB18030, "\xBB\xBC\xD5\xDF", "患者"},
    {DX_TEXT_BIG5, "\xAF\x66\xA4\x48", "病人"},
    {DX_TEXT_EUC_KR, "\xC8\xAF\xC0\xDA", "환자"},
    {DX_TEXT_EUC_KR, "\xFF", NULL},
    /* a byte order mark has precedence */
    {DX_TEXT_CP850, "\xEF\xBB\xBFJos\xC3\xA9", "\uFEFFJosé"},
};

static void text_is_read_in_the_selected_encoding(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(encoded) / sizeof(encoded[0]); i++) {
    enum dx_reason reason;

    assert_true(reading_open(encoded[i].encoding));
    reason = read_text(encoded[i].bytes);
    if (reason !=
        (encoded[i].text != NULL ? DX_REASON_NONE : DX_REASON_ENCODING))
      fail_msg("row %zu: %d, %s", i, (int)reason, why);
    if (encoded[i].text != NULL)
      assert_string_equal(read_back, encoded[i].text);
    else
      assert_non_null(strstr(why, "line 1 is not valid in the encoding '"));
  }
  assert_true(reading_open(DX_TEXT_AUTO));
}

/* The bytes are valid in each of them; what is ASCII, and a byte order mark, do
 * not tell. */
static void utf8_is_not_read_in_another_encoding(void **state)
{
  static const enum dx_text_encoding others[] = {
      DX_TEXT_WINDOWS_1252, DX_TEXT_CP850, DX_TEXT_CP852, DX_TEXT_SHIFT_JIS,
      DX_TEXT_GB18030};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    char expected[PDF_WHY_BYTES];

    assert_true(reading_open(others[i]));
    assert_int_equal(read_text("WBC 5.40\nFe 5 \u00B5g\n"), DX_REASON_ENCODING);
    (void)snprintf(expected, sizeof(expected),
                   "line 2 is in UTF-8, not in '%s'",
                   dx_text_encoding_word(others[i]));
    assert_string_equal(why, expected);
    assert_int_equal(read_text("\x1B*\u00B5"), DX_REASON_CODES);
    assert_int_equal(read_text("\uFEFF5 \u00B5g"), DX_REASON_NONE);
    assert_int_equal(read_text("WBC 5.40\n"), DX_REASON_NONE);
  }
  assert_true(reading_open(DX_TEXT_AUTO));
}

static void every_encoding_can_be_opened(void **state)
{
  int i;

  (void)state;
  for (i = 0; i < DX_TEXT_ENCODING_COUNT; i++) {
    enum dx_text_encoding encoding = (enum dx_text_encoding)i;

    if (!reading_open(encoding))
      fail_msg("%s", dx_text_encoding_word(encoding));
    assert_int_equal(read_text("WBC 5.40\n"), DX_REASON_NONE);
    assert_string_equal(read_back, "WBC 5.40\n");
    assert_int_equal(dx_text_encoding_by_word(dx_text_encoding_word(encoding)),
                     encoding);
  }
  assert_true(reading_open(DX_TEXT_AUTO));
  assert_int_equal(dx_text_encoding_by_word("shift_jis"), DX_TEXT_SHIFT_JIS);
  assert_int_equal(dx_text_encoding_by_word("CP851"), DX_TEXT_ENCODING_COUNT);
  assert_int_equal(dx_text_encoding_by_word(""), DX_TEXT_ENCODING_COUNT);
}

static void utf16_is_read_with_a_byte_order_mark(void **state)
{
  static const struct {
    const char *bytes;
    size_t len;
    const char *text; /* NULL: not valid */
  } marked[] = {
      {"\xFF\xFEJ\0\xE9\0\r\0\n\0\xB5\0", 12, "Jé\r\nµ"},
      {"\xFE\xFF\0J\0\xE9\x60\xA3\x4E\x1B", 10, "Jé患丛"},
      {"\xFF\xFE=\xD8\x0A\xDE"
       "a\0",
       8, "\U0001F60Aa"},
      {"\xFF\xFE"
       "a\0b",
       5, NULL},
      {"\xFF\xFE"
       "a\0=\xD8",
       6, NULL},
      {"\xFF\xFE=\xD8"
       "a\0",
       6, NULL},
      {"\xFF\xFE\x0A\xDE"
       "a\0",
       6, NULL},
      {"\xFF\xFE=\xD8=\xD8\x0A\xDE", 8, NULL},
      {"\xFF\xFE\0\0a\0\0\0", 8, NULL},
      {"\xFF\xFE"
       "a\0\0\0",
       6, NULL},
      {"\xFF\xFE\x9B\0a\0", 6, NULL},
      {"\xFF\xFE"
       "a\0\xFE\xFF\0b",
       8, NULL},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(marked) / sizeof(marked[0]); i++) {
    if (read_bytes(marked[i].bytes, marked[i].len) !=
        (marked[i].text != NULL ? DX_REASON_NONE : DX_REASON_ENCODING))
      fail_msg("row %zu: %s", i, why);
    assert_string_equal(marked[i].text != NULL ? read_back : why,
                        marked[i].text != NULL
                            ? marked[i].text
                            : "line 1 is not valid in the encoding 'UTF-16'");
  }
  assert_int_equal(read_bytes("\xFF\xFE"
                              "a\0\n\0\x1B\0"
                              "4\0",
                              10),
                   DX_REASON_CODES);
  assert_string_equal(why, "line 2 has a printer command");
}

/* A value of a form is never refused. */
static void value_is_read_whatever_it_contains(void **state)
{
  wchar_t chars[8];
  size_t count;

  (void)state;
  reading_value("5\xC2\xB5\x1B", 4, chars, &count);
  assert_int_equal(count, 3);
  assert_true(chars[1] == 0xB5 && chars[2] == 0x1B);
  reading_value("5\x81\xB5", 3, chars, &count);
  assert_int_equal(count, 3);
  assert_true(chars[1] == 0x81 && chars[2] == 0xB5);
}

static int open_auto(void **state)
{
  (void)state;
  return reading_open(DX_TEXT_AUTO) ? 0 : -1;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_kept_and_resets_are_removed),
      cmocka_unit_test(text_with_another_meaning_is_refused),
      cmocka_unit_test(text_is_read_in_the_selected_encoding),
      cmocka_unit_test(utf8_is_not_read_in_another_encoding),
      cmocka_unit_test(every_encoding_can_be_opened),
      cmocka_unit_test(utf16_is_read_with_a_byte_order_mark),
      cmocka_unit_test(value_is_read_whatever_it_contains),
  };

  return cmocka_run_group_tests(tests, open_auto, NULL);
}
