/*
 * fuzz_json.c - a JSON text, read both ways, walked with every accessor, and
 * printed. What was printed is read again.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"

static void walk(const struct dx_json *json)
{
  const char *text = dx_json_string(json);
  const struct dx_json *item;
  int64_t number;
  bool flag;
  size_t count = 0;

  if (text != NULL)
    (void)dx_json_is_number(text);
  if (dx_json_int(json, &number))
    HOLDS(number >= -(INT64_C(1) << 53) && number <= INT64_C(1) << 53);
  (void)dx_json_bool(json, &flag);
  (void)dx_json_is_null(json);
  for (item = dx_json_first(json); item != NULL; item = dx_json_next(item)) {
    walk(item);
    count++;
  }
  HOLDS(!dx_json_is_array(json) || count == dx_json_count(json));
  for (item = dx_json_first_member(json); item != NULL;
       item = dx_json_next(item)) {
    HOLDS(dx_json_name(item) != NULL);
    (void)dx_json_get(json, dx_json_name(item));
    walk(item);
  }
}

static void print(const struct dx_json *json, bool pretty)
{
  char *text = dx_json_print(json, pretty);
  struct dx_json *again;

  if (text == NULL)
    return;
  again = dx_json_parse(text, strlen(text), NULL);
  HOLDS(again != NULL);
  dx_json_free(&again);
  free(text);
}

static void take(struct dx_json *json)
{
  if (json == NULL)
    return;
  walk(json);
  print(json, true);
  print(json, false);
  dx_json_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct dx_err err;
  char *text = malloc(size > 0 ? size : 1); /* no NUL after it */

  HOLDS(text != NULL);
  memcpy(text, data, size);
  take(dx_json_parse(text, size, &err));
  take(dx_json_parse_exact(text, size, &err));
  free(text);
  return 0;
}
