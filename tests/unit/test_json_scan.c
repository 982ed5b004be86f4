/*
 * test_json_scan.c - lib/base/json_scan.c: the grammar, the outline, and that
 * memory does not grow.
 */
#include "tests/unit/unit.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/json.h"

static char outline[2 * DX_JSON_STRING_BYTES];

/* From the heap, so that reading past it would be found. */
static bool is_json(const char *text, size_t len)
{
  char *bytes = malloc(len);
  FILE *in = fmemopen(memcpy(bytes, text, len), len, "r");
  struct dx_buf out = {0};
  bool ok = dx_json_scan(in, false, &out);

  (void)snprintf(outline, sizeof(outline), "%s", dx_buf_text(&out));
  dx_buf_release(&out);
  (void)fclose(in);
  free(bytes);
  return ok;
}

static void check_all(const char *const *texts, size_t count, bool expected)
{
  size_t i;

  for (i = 0; i < count; i++)
    if (is_json(texts[i], strlen(texts[i])) != expected)
      fail_msg("%s", texts[i]);
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
    "\xEF\xBB\xBF{}",
    "\xEF\xBB\xBF [1]",
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
    " \xEF\xBB\xBF{}",
    "\xEF\xBB{}",
    "\xEF\xBB\xBF",
    "/**/1",
    "[1]//",
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

static void one_complete_value_is_json(void **state)
{
  (void)state;
  check_all(json, COUNT(json), true);
}

static void anything_else_is_rejected(void **state)
{
  size_t i;

  (void)state;
  check_all(no_json, COUNT(no_json), false);
  for (i = 0; i < COUNT(with_nul); i++)
    assert_false(is_json(with_nul[i].bytes, with_nul[i].len));
}

static void nesting_up_to_the_limit_is_accepted(void **state)
{
  char text[2 * DX_JSON_DEPTH_MAX + 3];
  int depth;

  (void)state;
  for (depth = DX_JSON_DEPTH_MAX; depth <= DX_JSON_DEPTH_MAX + 1; depth++) {
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    assert_int_equal(is_json(text, 2 * (size_t)depth),
                     depth == DX_JSON_DEPTH_MAX);
  }
}

static void outline_omits_deep_levels(void **state)
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
      {"[\"\\ud7ff\\ue000\"]", "[\"\\ud7ff\\ue000\"]"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(rows); i++) {
    assert_true(is_json(rows[i].text, strlen(rows[i].text)));
    assert_string_equal(outline, rows[i].outline);
  }
}

static void outline_omits_long_strings(void **state)
{
  static char text[DX_JSON_STRING_BYTES + 64], expected[sizeof(text)];
  size_t len;

  (void)state;
  for (len = DX_JSON_STRING_BYTES - 2; len <= DX_JSON_STRING_BYTES; len++) {
    bool fits = len < DX_JSON_STRING_BYTES;

    (void)snprintf(text, sizeof(text), "{\"a\":\"%0*d\",\"b\":1}", (int)len, 0);
    (void)snprintf(expected, sizeof(expected), "{\"a\":0,\"b\":0}");
    assert_true(is_json(text, strlen(text)));
    if (fits)
      (void)snprintf(expected, sizeof(expected), "{\"a\":\"%0*d\",\"b\":0}",
                     (int)len, 0);
    assert_string_equal(outline, expected);
    (void)snprintf(text, sizeof(text), "{\"%0*d\":true}", (int)len, 0);
    assert_true(is_json(text, strlen(text)));
    if (!fits)
      assert_string_equal(outline, "{\"\":true}");
  }
}

static void number_length_is_limited(void **state)
{
  static char text[DX_JSON_STRING_BYTES + 8];

  (void)state;
  memset(text, '1', DX_JSON_STRING_BYTES);
  assert_true(is_json(text, strlen(text)));
  (void)strcat(text, "1");
  assert_false(is_json(text, strlen(text)));
}

/* "[1,1,...]", or the same two levels deeper. */
struct numbers {
  const char *begin, *end;
  size_t left, most; /* numbers; memory in use */
};

static ssize_t read_numbers(void *cookie, char *to, size_t len)
{
  struct numbers *n = cookie;
  size_t used = mallinfo2().uordblks, i;

  n->most = used > n->most ? used : n->most;
  if (n->begin != NULL || n->left == 0) {
    const char *text = n->begin != NULL ? n->begin : n->end;

    n->end = n->begin != NULL ? n->end : "";
    n->begin = NULL;
    memcpy(to, text, strlen(text));
    return (ssize_t)strlen(text);
  }
  for (i = 0; i < len / 2 && n->left > 0; i++, n->left--)
    memcpy(to + 2 * i, n->left > 1 ? "1," : "1 ", 2);
  return (ssize_t)(2 * i);
}

static bool is_list(struct numbers *n, struct dx_buf *out)
{
  const cookie_io_functions_t functions = {.read = read_numbers};
  FILE *in = fopencookie(n, "r", functions);
  bool ok = dx_json_scan(in, false, out);

  (void)fclose(in);
  return ok;
}

static void outline_size_is_limited(void **state)
{
  struct numbers fits = {"[", "]", DX_JSON_OUTLINE_BYTES / 2, 0};
  struct numbers large = {"[", "]", DX_JSON_OUTLINE_BYTES / 2 + 1, 0};
  struct numbers endless = {"[", "]", SIZE_MAX, 0};
  struct dx_buf out = {0};

  (void)state;
  assert_true(is_list(&fits, &out));
  dx_buf_release(&out);
  assert_false(is_list(&large, &out));
  dx_buf_release(&out);
  assert_false(is_list(&endless, &out));
  dx_buf_release(&out);
}

/* As a tree, small numbers took forty times their bytes: 60 MB, 2.4 GB. */
static void memory_use_is_constant(void **state)
{
  struct numbers n = {"[[[", "]]]", 500000, 0};
  size_t before = mallinfo2().uordblks; /* with AddressSanitizer: 0 */
  struct dx_buf out = {0};

  (void)state;
  assert_true(is_list(&n, &out));
  if (before != 0)
    assert_in_range(n.most - before, 1, 20000); /* with the buffer of in */
  assert_string_equal(dx_buf_text(&out), "[[[500000]]]");
  dx_buf_release(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_complete_value_is_json),
      cmocka_unit_test(anything_else_is_rejected),
      cmocka_unit_test(nesting_up_to_the_limit_is_accepted),
      cmocka_unit_test(outline_omits_deep_levels),
      cmocka_unit_test(outline_omits_long_strings),
      cmocka_unit_test(number_length_is_limited),
      cmocka_unit_test(outline_size_is_limited),
      cmocka_unit_test(memory_use_is_constant),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
