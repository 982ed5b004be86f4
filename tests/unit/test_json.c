/*
 * test_json.c - lib/base/json.c: valid JSON, and accessors given values of
 * another type.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/json.h"

/* From memory that ends with the text: reading past it would crash. */
static struct cJSON *parse(const char *text, size_t len, struct dx_err *err)
{
  char *exact = malloc(len > 0 ? len : 1);
  struct cJSON *json;

  assert_non_null(exact);
  memcpy(exact, text, len);
  json = dx_json_parse(exact, len, err);
  free(exact);
  return json;
}

static struct cJSON *parsed(const char *text)
{
  struct cJSON *json = parse(text, strlen(text), NULL);

  assert_non_null(json);
  return json;
}

static void one_complete_value_is_json(void **state)
{
  static const char *const texts[] = {
      "{}",
      "[]",
      "null",
      "true",
      "0",
      "\"\"",
      " {} ",
      "\t[1, 2]\r\n",
      "{\"a\":{\"b\":[{}]}}",
      "-1.5e3",
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    struct cJSON *json = parsed(texts[i]);

    dx_json_free(&json);
    assert_null(json);
  }
}

static void anything_else_is_an_invalid_response(void **state)
{
  static const char *const texts[] = {
      "",       " ",       "{",        "}",           "{}}",      "{} {}",
      "[1,]",   "{\"a\"}", "{\"a\":}", "{a:1}",       "nul",      "<html>",
      "\"open", "[1 2]",   "\"\\x\"",  "\"\\ud800\"", "'single'", "{\"a\":1,}",
      "[",      "tru",
  };
  struct dx_err err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    memset(&err, 0, sizeof(err));
    if (parse(texts[i], strlen(texts[i]), &err) != NULL)
      fail_msg("accepted: %s", texts[i]);
    assert_int_equal(err.code, DX_E_RESPONSE);
  }
}

/* Else "a" and this would be the same text. */
static void escaped_nul_does_not_end_a_text(void **state)
{
  static const struct {
    const char *json, *text;
  } rows[] = {
      {"\"a\\u0000b\"", "a" DX_JSON_NUL "b"},
      {"\"a\\u0000\"", "a" DX_JSON_NUL},
      {"\"\\u0000\\u0000\"", DX_JSON_NUL DX_JSON_NUL},
      {"\"\\\\u0000\"", "\\u0000"},
      {"\"\\\\\\u0000\"", "\\" DX_JSON_NUL},
      {"\"\\u00000\"", DX_JSON_NUL "0"},
      {"\"\\u0001\"", "\x01"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct cJSON *json =
        dx_json_parse(rows[i].json, strlen(rows[i].json), NULL);

    assert_non_null(json);
    assert_string_equal(dx_json_string(json), rows[i].text);
    dx_json_free(&json);
  }
  assert_null(dx_json_parse("\\u0000", 6, NULL));
}

static void nul_bytes_are_rejected(void **state)
{
  struct dx_err err = {0};

  (void)state;
  assert_null(parse("{}\0", 3, &err));
  assert_int_equal(err.code, DX_E_RESPONSE);
  assert_null(parse("\"a\0b\"", 5, NULL));
  assert_null(parse("\0{}", 3, NULL));
}

static void truncated_value_is_rejected(void **state)
{
  static const char text[] = "{\"a\":[1,true,null,\"x\\u00e4\"],\"b\":{}}";
  struct cJSON *json;
  size_t len;

  (void)state;
  for (len = 0; len < sizeof(text) - 1; len++)
    assert_null(parse(text, len, NULL));
  json = parse(text, len, NULL);
  assert_non_null(json);
  dx_json_free(&json);
}

static void nesting_is_limited(void **state)
{
  char deep[40001];
  struct dx_err err;

  (void)state;
  memset(deep, '[', 20000);
  memset(deep + 20000, ']', 20000);
  assert_null(parse(deep, 40000, &err));
  assert_int_equal(err.code, DX_E_RESPONSE);
}

static void members_are_found_by_their_exact_name(void **state)
{
  struct cJSON *json = parsed("{\"id\":\"x\",\"ID\":\"y\",\"n\":null}");

  (void)state;
  assert_string_equal(dx_json_string(dx_json_get(json, "id")), "x");
  assert_string_equal(dx_json_string(dx_json_get(json, "ID")), "y");
  assert_null(dx_json_get(json, "Id"));
  assert_null(dx_json_get(json, ""));
  assert_true(dx_json_is_null(dx_json_get(json, "n")));
  assert_false(dx_json_is_null(dx_json_get(json, "missing")));
  dx_json_free(&json);
}

static void strings_are_unescaped(void **state)
{
  struct cJSON *json = parsed("\"a\\u00e4\\n\\\"\\ud83d\\ude00\"");

  (void)state;
  assert_string_equal(dx_json_string(json), "a\xC3\xA4\n\"\xF0\x9F\x98\x80");
  dx_json_free(&json);
}

static void only_exact_integers_are_integers(void **state)
{
  static const struct {
    const char *text;
    bool ok;
    int64_t value;
  } rows[] = {
      {"0", true, 0},
      {"-0", true, 0},
      {"-7", true, -7},
      {"1e3", true, 1000},
      {"5.0", true, 5},
      {"9007199254740992", true, 9007199254740992},
      {"-9007199254740992", true, -9007199254740992},
      {"9007199254740994", false, 0},
      {"-9007199254740994", false, 0},
      {"1.5", false, 0},
      {"-0.1", false, 0},
      {"1e19", false, 0},
      {"1e400", false, 0},
      {"-1e400", false, 0},
      {"\"5\"", false, 0},
      {"true", false, 0},
      {"null", false, 0},
      {"[5]", false, 0},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct cJSON *json = parsed(rows[i].text);
    int64_t value = 4711;

    if (dx_json_int(json, &value) != rows[i].ok)
      fail_msg("wrong: %s", rows[i].text);
    assert_int_equal(value, rows[i].ok ? rows[i].value : 4711);
    dx_json_free(&json);
  }
}

static void only_true_and_false_are_booleans(void **state)
{
  struct cJSON *json = parsed("[true,false,0,\"true\",null]");
  const struct cJSON *item = dx_json_first(json);
  bool value = false;

  (void)state;
  assert_true(dx_json_bool(item, &value));
  assert_true(value);
  item = dx_json_next(item);
  assert_true(dx_json_bool(item, &value));
  assert_false(value);
  for (item = dx_json_next(item); item != NULL; item = dx_json_next(item))
    assert_false(dx_json_bool(item, &value));
  dx_json_free(&json);
}

static void arrays_are_walked_in_order(void **state)
{
  struct cJSON *json = parsed("{\"a\":[1,2,3],\"empty\":[]}");
  const struct cJSON *array = dx_json_get(json, "a");
  const struct cJSON *item;
  int64_t expected = 0, value = 0;

  (void)state;
  assert_int_equal(dx_json_count(array), 3);
  for (item = dx_json_first(array); item != NULL; item = dx_json_next(item)) {
    assert_true(dx_json_int(item, &value));
    assert_int_equal(value, ++expected);
  }
  assert_int_equal(expected, 3);
  assert_int_equal(dx_json_count(dx_json_get(json, "empty")), 0);
  assert_null(dx_json_first(dx_json_get(json, "empty")));
  dx_json_free(&json);
}

/* Absent values and every type, read as another. */
static void values_of_the_wrong_type_count_as_absent(void **state)
{
  static const char *const texts[] = {"{\"a\":1}", "[1]",  "\"text\"", "1",
                                      "true",      "null", NULL};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    struct cJSON *json = texts[i] != NULL ? parsed(texts[i]) : NULL;
    char first = texts[i] != NULL ? texts[i][0] : '-';
    int64_t n;
    bool b;

    assert_int_equal(dx_json_get(json, "a") != NULL, first == '{');
    assert_int_equal(dx_json_count(json), first == '[');
    assert_int_equal(dx_json_first(json) != NULL, first == '[');
    assert_int_equal(dx_json_string(json) != NULL, first == '"');
    assert_int_equal(dx_json_int(json, &n), first == '1');
    assert_int_equal(dx_json_bool(json, &b), first == 't');
    assert_int_equal(dx_json_is_null(json), first == 'n');
    assert_null(dx_json_next(json));
    dx_json_free(&json);
  }
}

static char *written(bool pretty)
{
  struct dx_json_out out = {.pretty = pretty};

  dx_json_open(&out, NULL, '{');
  dx_json_put_string(&out, "s", "");
  dx_json_put_string(&out, "n", NULL);
  dx_json_put_bool(&out, "t", true);
  dx_json_put_bool(&out, "f", false);
  dx_json_put_int(&out, "i", INT64_MIN);
  dx_json_put_int(&out, "j", 1769860800000);
  dx_json_put_time(&out, "k", 1769860800000);
  dx_json_put_time(&out, "l", 0);
  dx_json_open(&out, "a", '[');
  dx_json_open(&out, NULL, '{');
  dx_json_put_string(&out, "q\"", "\"\\/\b\f\n\r\t\x1F\x7F\xC3\xA4{");
  dx_json_close(&out, '}');
  dx_json_open(&out, NULL, '{');
  dx_json_close(&out, '}');
  dx_json_put_raw(&out, NULL, "[1]");
  dx_json_close(&out, ']');
  dx_json_open(&out, "e", '[');
  dx_json_close(&out, ']');
  dx_json_close(&out, '}');
  return dx_buf_take(&out.text);
}

static void values_are_written(void **state)
{
  char *plain = written(false), *pretty = written(true);

  (void)state;
  assert_string_equal(plain,
                      "{\"s\":\"\",\"n\":null,\"t\":true,\"f\":false,"
                      "\"i\":-9223372036854775808,\"j\":1769860800000,"
                      "\"k\":\"2026-01-31T12:00:00Z\",\"l\":null,"
                      "\"a\":[{\"q\\\"\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001f"
                      "\x7F\xC3\xA4{\"},{},[1]],\"e\":[]}");
  assert_string_equal(pretty,
                      "{\n\t\"s\":\t\"\",\n\t\"n\":\tnull,\n\t\"t\":\ttrue,"
                      "\n\t\"f\":\tfalse,\n\t\"i\":\t-9223372036854775808,"
                      "\n\t\"j\":\t1769860800000,"
                      "\n\t\"k\":\t\"2026-01-31T12:00:00Z\",\n\t\"l\":\tnull,"
                      "\n\t\"a\":\t[{\n\t\t\t\"q\\\"\":\t\"\\\"\\\\/\\b\\f\\n"
                      "\\r\\t\\u001f\x7F\xC3\xA4{\"\n\t\t}, {\n\t\t}, [1]],"
                      "\n\t\"e\":\t[]\n}");
  free(plain);
  free(pretty);
}

static void written_text_can_be_parsed(void **state)
{
  static const bool pretty[] = {true, false};
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    char *text = written(pretty[i]);
    struct cJSON *json = parsed(text);

    assert_string_equal(dx_json_string(dx_json_get(
                            dx_json_first(dx_json_get(json, "a")), "q\"")),
                        "\"\\/\b\f\n\r\t\x1F\x7F\xC3\xA4{");
    assert_int_equal(dx_json_count(dx_json_get(json, "a")), 3);
    dx_json_free(&json);
    free(text);
  }
}

static void exact_numbers_keep_their_digits(void **state)
{
  static const char *const numbers[] = {
      "0",
      "-0",
      "7.10",
      "1e400",
      "-1E-400",
      "1e+05",
      "123456789012345678901234567890.10",
      "0.0000000000000000000000000000000000000000000000000000000000000000001"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    char text[200];
    struct cJSON *json;

    (void)snprintf(text, sizeof(text), "{\"a\\\"1\":[%s, \"2\"],\"b\":%s}",
                   numbers[i], numbers[i]);
    json = dx_json_parse_exact(text, strlen(text), NULL);
    assert_non_null(json);
    assert_string_equal(dx_json_string(dx_json_get(json, "b")), numbers[i]);
    assert_string_equal(dx_json_name(dx_json_first_member(json)), "a\"1");
    assert_string_equal(
        dx_json_string(dx_json_first(dx_json_first_member(json))), numbers[i]);
    assert_true(dx_json_is_number(numbers[i]));
    dx_json_free(&json);
  }
}

static void exact_numbers_are_numbers(void **state)
{
  static const char *const texts[] = {"01",  "-",   "1.",  ".5",  "+1",  "1e",
                                      "1e+", "--1", "1-2", "0x1", "NaN", ""};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    struct dx_err err;

    assert_false(dx_json_is_number(texts[i]));
    assert_null(dx_json_parse_exact(texts[i], strlen(texts[i]), &err));
    assert_int_equal(err.code, DX_E_RESPONSE);
  }
  assert_null(dx_json_parse_exact("{\"a", 3, NULL));
  assert_null(dx_json_parse_exact("\"\\", 2, NULL));
  assert_null(dx_json_first_member(NULL));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_complete_value_is_json),
      cmocka_unit_test(anything_else_is_an_invalid_response),
      cmocka_unit_test(escaped_nul_does_not_end_a_text),
      cmocka_unit_test(nul_bytes_are_rejected),
      cmocka_unit_test(truncated_value_is_rejected),
      cmocka_unit_test(nesting_is_limited),
      cmocka_unit_test(members_are_found_by_their_exact_name),
      cmocka_unit_test(strings_are_unescaped),
      cmocka_unit_test(only_exact_integers_are_integers),
      cmocka_unit_test(exact_numbers_keep_their_digits),
      cmocka_unit_test(exact_numbers_are_numbers),
      cmocka_unit_test(only_true_and_false_are_booleans),
      cmocka_unit_test(arrays_are_walked_in_order),
      cmocka_unit_test(values_of_the_wrong_type_count_as_absent),
      cmocka_unit_test(values_are_written),
      cmocka_unit_test(written_text_can_be_parsed),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
