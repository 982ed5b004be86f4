/*
 * test_json_scan.c - lib/base/json_scan.c: the grammar, in pieces of every
 * size, the outline, and that memory does not grow.
 */
#include "tests/unit/unit.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/json_scan.h"

static char outline[2 * DX_JSON_STRING_BYTES];

/* With every piece on the heap, so that reading past it would be found. */
static bool is_json(const char *text, size_t len, size_t piece)
{
  struct dx_json_scan scan = {0};
  bool ok = true;
  size_t at;

  for (at = 0; at < len; at += piece) {
    size_t n = len - at < piece ? len - at : piece;
    char *bytes = malloc(n);

    assert_non_null(bytes);
    memcpy(bytes, text + at, n);
    ok = dx_json_scan_add(&scan, bytes, n);
    free(bytes);
  }
  (void)snprintf(outline, sizeof(outline), "%s", dx_buf_text(&scan.outline));
  dx_buf_release(&scan.outline);
  return ok && dx_json_scan_is_whole(&scan);
}

static void check_all(const char *const *texts, size_t count, bool expected)
{
  size_t i, piece;

  for (i = 0; i < count; i++)
    for (piece = 1; piece <= strlen(texts[i]) + 1; piece++)
      if (is_json(texts[i], strlen(texts[i]), piece) != expected)
        fail_msg("%s in pieces of %zu", texts[i], piece);
}

static const char *const json[] = {
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "\"\"",
    " {} ",
    "\t[1, 2]\r\n",
    "[ ]",
    "{ }",
    "{\"a\":{\"b\":[{}]},\"c\":[[],[null]]}",
    "{ \"a\" : 1 , \"a\" : 2 }",
    "-1.5e3",
    "12345678901234567890.012345678901234567890E-4321",
    "[0.0,0e0,0E+1,10,1e1,-0.1]",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uD83D\\ude00\\ud800\"",
    "\"\x7f \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80 \xEE\x80\x80\"",
    "\"\xF4\x8F\xBF\xBF \xED\x9F\xBF \xE0\xA0\x80 \xF0\x90\x80\x80\"",
};

static const char *const no_json[] = {
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{,}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{1:1}",
    "{\"a\" 1}",
    "{\"a\":1]",
    "[1}",
    "{}{}",
    "{} x",
    "1 2",
    "01",
    "-",
    "+1",
    "1.",
    ".5",
    "1.e1",
    "1e",
    "1e+",
    "0x1",
    "1a",
    "-a",
    "--1",
    "NaN",
    "Infinity",
    "nul",
    "nulll",
    "True",
    "tru",
    "truefalse",
    "'a'",
    "\"",
    "\"a",
    "\"\\",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12G4\"",
    "\"\\U1234\"",
    "\"\t\"",
    "\"\n\"",
    "\"\x01\"",
    "/**/1",
    "[1]//",
    "\xEF\xBB\xBF{}",
    "\xC2\xA0{}",
    "{}\f",
    "\"\x80\"",
    "\"\xC3\"",
    "\"\xC3(\"",
    "\"\xC0\xAF\"",
    "\"\xE0\x9F\xBF\"",
    "\"\xED\xA0\x80\"",
    "\"\xF0\x8F\xBF\xBF\"",
    "\"\xF4\x90\x80\x80\"",
    "\"\xF8\x88\x80\x80\"",
    "\"\xE2\x82\"",
    "\"\xFF\"",
    "<html>",
    "{\"\xC3\":1}",
};

/* A NUL does not end them. */
static const struct {
  const char *bytes;
  size_t len;
} with_nul[] = {
    {"[\0]", 3}, {"\"\0\"", 3}, {"{}\0", 3}, {"\"\\\0\"", 4}, {"\"\\u\0\"", 5},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void one_whole_value_is_json(void **state)
{
  (void)state;
  check_all(json, COUNT(json), true);
}

static void everything_else_is_not(void **state)
{
  size_t i;

  (void)state;
  check_all(no_json, COUNT(no_json), false);
  for (i = 0; i < COUNT(with_nul); i++)
    assert_false(is_json(with_nul[i].bytes, with_nul[i].len, 1));
}

static void a_few_containers_may_be_open(void **state)
{
  char text[2 * DX_JSON_DEPTH_MAX + 3];
  int depth;

  (void)state;
  for (depth = DX_JSON_DEPTH_MAX; depth <= DX_JSON_DEPTH_MAX + 1; depth++) {
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    assert_int_equal(is_json(text, 2 * (size_t)depth, 5),
                     depth == DX_JSON_DEPTH_MAX);
  }
}

static void outline_has_what_is_not_nested_deep(void **state)
{
  static const struct {
    const char *text, *outline;
  } rows[] = {
      {"{}", "{}"},
      {" [ 1 , -2.5e3 , true , false , null ] ", "[0,0,true,false,null]"},
      {"{ \"a\" : { \"b\" : \"c d\" } }", "{\"a\":{\"b\":\"c d\"}}"},
      {"{\"a\":{\"b\":\"\\u00e4\\n\\\"\\uD83D\\uDE00\xE2\x82\xAC\"}}",
       "{\"a\":{\"b\":\"\\u00e4\\n\\\"\\uD83D\\uDE00\xE2\x82\xAC\"}}"},
      {"{\"a\":{\"b\":1},\"a\":{\"b\":null}}",
       "{\"a\":{\"b\":0},\"a\":{\"b\":null}}"},
      /* Counted: what is anywhere in it. */
      {"{\"a\":{\"b\":{\"c\":1,\"d\":[true,\"x\",[0.5]]}}}",
       "{\"a\":{\"b\":[4]}}"},
      {"{\"a\":{\"b\":{}}}", "{\"a\":{\"b\":[0]}}"},
      {"[[[{},[],{\"a\":{}}]]]", "[[[0]]]"},
      {"[[{\"a\":null,\"b\":\"\"}]]", "[[[0]]]"},
      {"[[{\"a\":\"\\u0020\"}]]", "[[[1]]]"},
      {"[[{\"a\":\"\xC3\xA4\"}]]", "[[[1]]]"},
      {"[[{\"a\":\"\\ud800\"},\"b\"]]", "[[[1],\"b\"]]"},
      {"[[1,[],2,[{\"b\":-1e9},0]],[3]]", "[[0,[0],0,[2]],[0]]"},
      /* json.h does not read half of a pair. */
      {"[\"\\ud800\",\"\\udc00\",\"\\ud800x\",\"\\ud800\\n\"]", "[0,0,0,0]"},
      {"[\"\\ud800\\ud800\\udc00\",\"\\ud800\\u0041\",\"\\ud83d\\ude00\"]",
       "[0,0,\"\\ud83d\\ude00\"]"},
      {"{\"\\udc00\":1}", "{\"\":0}"},
  };
  size_t i, piece;

  (void)state;
  for (i = 0; i < COUNT(rows); i++)
    for (piece = 1; piece < 30; piece += 7) {
      assert_true(is_json(rows[i].text, strlen(rows[i].text), piece));
      assert_string_equal(outline, rows[i].outline);
    }
}

static void outline_has_no_long_texts(void **state)
{
  static char text[DX_JSON_STRING_BYTES + 64], expected[sizeof(text)];
  size_t len;

  (void)state;
  for (len = DX_JSON_STRING_BYTES - 2; len <= DX_JSON_STRING_BYTES; len++) {
    bool fits = len < DX_JSON_STRING_BYTES;

    (void)snprintf(text, sizeof(text), "{\"a\":\"%0*d\",\"b\":1}", (int)len, 0);
    (void)snprintf(expected, sizeof(expected), "{\"a\":0,\"b\":0}");
    assert_true(is_json(text, strlen(text), 1000));
    if (fits)
      (void)snprintf(expected, sizeof(expected), "{\"a\":\"%0*d\",\"b\":0}",
                     (int)len, 0);
    assert_string_equal(outline, expected);
    (void)snprintf(text, sizeof(text), "{\"%0*d\":true}", (int)len, 0);
    assert_true(is_json(text, strlen(text), 1000));
    if (!fits)
      assert_string_equal(outline, "{\"\":true}");
  }
}

static void outline_has_a_limit(void **state)
{
  struct dx_json_scan scan = {0};
  size_t n;

  (void)state;
  assert_true(dx_json_scan_add(&scan, "[", 1));
  for (n = 1; n + 2 <= DX_JSON_OUTLINE_BYTES; n += 2)
    assert_true(dx_json_scan_add(&scan, "1,", 2));
  assert_false(dx_json_scan_add(&scan, "1,", 2));
  assert_false(dx_json_scan_add(&scan, "1]", 2));
  assert_false(dx_json_scan_is_whole(&scan));
  dx_buf_release(&scan.outline);
}

/* 60 MB of small numbers took 2.4 GB as a tree. */
static void memory_does_not_grow(void **state)
{
  struct dx_json_scan scan = {0};
  char numbers[65536];
  size_t before;
  int i;

  (void)state;
  for (i = 0; i < (int)sizeof(numbers); i += 2)
    memcpy(numbers + i, "1,", 2);
  assert_true(dx_json_scan_add(&scan, "[[[", 3));
  before = mallinfo2().uordblks;
  for (i = 0; i < 160; i++)
    assert_true(dx_json_scan_add(&scan, numbers, sizeof(numbers)));
  assert_true(dx_json_scan_add(&scan, "1]]]", 4));
  assert_true(dx_json_scan_is_whole(&scan));
  assert_int_equal(mallinfo2().uordblks, before);
  assert_string_equal(dx_buf_text(&scan.outline), "[[[5242881]]]");
  dx_buf_release(&scan.outline);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_whole_value_is_json),
      cmocka_unit_test(everything_else_is_not),
      cmocka_unit_test(a_few_containers_may_be_open),
      cmocka_unit_test(outline_has_what_is_not_nested_deep),
      cmocka_unit_test(outline_has_no_long_texts),
      cmocka_unit_test(outline_has_a_limit),
      cmocka_unit_test(memory_does_not_grow),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
