/*
 * test_json_scan.c - lib/base/json_scan.c: the grammar, in pieces of every
 * size, what is picked out, and that it needs no memory.
 */
#include "tests/unit/unit.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/json_scan.h"

static struct dx_json_field fields[2];

/* With every piece on the heap, so that reading past it would be found. */
static bool is_json(const char *text, size_t len, size_t piece)
{
  struct dx_json_scan scan;
  bool ok = true;
  size_t at;

  fields[0].path = "results.id";
  fields[1].path = "status";
  dx_json_scan_begin(&scan, fields, 2);
  for (at = 0; at < len; at += piece) {
    size_t n = len - at < piece ? len - at : piece;
    char *bytes = malloc(n);

    assert_non_null(bytes);
    memcpy(bytes, text + at, n);
    ok = dx_json_scan_add(&scan, bytes, n);
    free(bytes);
  }
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

static void fields_are_found_where_they_belong(void **state)
{
  static const struct {
    const char *text;
    enum dx_json_seen seen;
    const char *found;
  } rows[] = {
      {"{\"results\":{\"id\":\"a\"}}", DX_JSON_STRING, "a"},
      {"{\"id\":\"b\",\"results\":{\"x\":[{\"id\":\"c\"}],\"id\":\"a\"}}",
       DX_JSON_STRING, "a"},
      {"{\"results\":{\"id\":\"\\u00e4\\n\\uD83D\\uDE00\xE2\x82\xAC\"}}",
       DX_JSON_STRING, "\xC3\xA4\n\xF0\x9F\x98\x80\xE2\x82\xAC"},
      {"{\"results\":{\"id\":\"a\\u0000b\\ud800\\udc00\\udc00c\\ud800\"}}",
       DX_JSON_STRING,
       "a\xEF\xBF\xBD"
       "b\xF0\x90\x80\x80\xEF\xBF\xBD"
       "c\xEF\xBF\xBD"},
      {"{\"results\":{\"id\":\"\\ud800\\ud800x\"}}", DX_JSON_STRING,
       "\xEF\xBF\xBD\xEF\xBF\xBDx"},
      {"{\"results\":{\"id\":null}}", DX_JSON_NULL, ""},
      {"{\"results\":{\"id\":7}}", DX_JSON_OTHER, ""},
      {"{\"results\":{\"id\":{}}}", DX_JSON_OTHER, ""},
      {"{\"results\":{\"id\":true}}", DX_JSON_OTHER, ""},
      {"{\"results\":{\"id\":\"a\",\"id\":\"b\"}}", DX_JSON_TWICE, ""},
      {"{\"results\":{\"id\":null},\"results\":{\"id\":\"b\"}}", DX_JSON_TWICE,
       ""},
      {"{\"results\":{\"Id\":\"a\"}}", DX_JSON_ABSENT, ""},
      {"{\"results\":[{\"id\":\"a\"}]}", DX_JSON_ABSENT, ""},
      {"[{\"results\":{\"id\":\"a\"}}]", DX_JSON_ABSENT, ""},
      {"{\"results.id\":\"a\",\"results\":1}", DX_JSON_ABSENT, ""},
      {"{\"results\":{\"x\":{\"id\":\"a\"}}}", DX_JSON_ABSENT, ""},
      {"{\"results\":\"id\"}", DX_JSON_ABSENT, ""},
      {"{\"results0123456789012345678901234567890\":{\"id\":\"a\"}}",
       DX_JSON_ABSENT, ""},
      {"{}", DX_JSON_ABSENT, ""},
  };
  size_t i, piece;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (piece = 1; piece < 30; piece += 7) {
      assert_true(is_json(rows[i].text, strlen(rows[i].text), piece));
      if (fields[0].seen != rows[i].seen)
        fail_msg("%s: %d", rows[i].text, (int)fields[0].seen);
      if (rows[i].seen == DX_JSON_STRING)
        assert_string_equal(fields[0].text, rows[i].found);
    }
}

static void values_below_a_field_are_counted(void **state)
{
  static const struct {
    const char *text;
    uint64_t values;
  } rows[] = {
      {"{\"results\":{\"id\":{\"a\":1,\"b\":[true,\"x\",[0.5]]}}}", 4},
      {"{\"results\":{\"id\":{}}}", 0},
      {"{\"results\":{\"id\":[{},[],{\"a\":{}}]}}", 0},
      {"{\"results\":{\"id\":{\"a\":null,\"b\":\"\"}}}", 0},
      {"{\"results\":{\"id\":{\"a\":\"\\u0020\"}}}", 1},
      {"{\"results\":{\"id\":{\"a\":\"\xC3\xA4\"}}}", 1},
      {"{\"results\":{\"a\":1,\"id\":{},\"b\":2},\"c\":3}", 0},
      {"{\"results\":{\"id\":{\"a\":false},\"b\":2},\"c\":[3]}", 1},
      {"{\"x\":{\"id\":{\"a\":1}}}", 0},
      {"{\"results\":{\"id\":\"a\"}}", 0},
      {"{\"results\":{\"id\":{\"id\":{\"b\":-1e9},\"c\":0}}}", 2},
  };
  size_t i, piece;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (piece = 1; piece < 30; piece += 7) {
      assert_true(is_json(rows[i].text, strlen(rows[i].text), piece));
      if (fields[0].values != rows[i].values)
        fail_msg("%s: %d", rows[i].text, (int)fields[0].values);
    }
}

static void a_text_fits_or_is_something_else(void **state)
{
  static char text[DX_JSON_FIELD_BYTES + 64];
  size_t len;

  (void)state;
  for (len = DX_JSON_FIELD_BYTES - 2; len <= DX_JSON_FIELD_BYTES; len++) {
    (void)snprintf(text, sizeof(text), "{\"status\":\"%0*d\"}", (int)len, 0);
    assert_true(is_json(text, strlen(text), 1000));
    assert_int_equal(fields[1].seen, len < DX_JSON_FIELD_BYTES ? DX_JSON_STRING
                                                               : DX_JSON_OTHER);
  }
}

/* 60 MB of small numbers took 2.4 GB as a tree. */
static void memory_does_not_grow(void **state)
{
  struct dx_json_scan scan;
  size_t before = mallinfo2().uordblks;
  char numbers[65536];
  int i;

  (void)state;
  for (i = 0; i < (int)sizeof(numbers); i += 2)
    memcpy(numbers + i, "1,", 2);
  dx_json_scan_begin(&scan, NULL, 0);
  assert_true(dx_json_scan_add(&scan, "[", 1));
  for (i = 0; i < 160; i++)
    assert_true(dx_json_scan_add(&scan, numbers, sizeof(numbers)));
  assert_true(dx_json_scan_add(&scan, "1]", 2));
  assert_true(dx_json_scan_is_whole(&scan));
  assert_int_equal(mallinfo2().uordblks, before);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_whole_value_is_json),
      cmocka_unit_test(everything_else_is_not),
      cmocka_unit_test(a_few_containers_may_be_open),
      cmocka_unit_test(fields_are_found_where_they_belong),
      cmocka_unit_test(values_below_a_field_are_counted),
      cmocka_unit_test(a_text_fits_or_is_something_else),
      cmocka_unit_test(memory_does_not_grow),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
