/*
 * fuzz_json.c - a JSON text, read both ways, and walked with every accessor.
 * Its strings are written, and read again. And the check of a stream, which
 * agrees with the readers.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"

/* A text that is written is read again as it was. */
static void write_text(const char *text, bool pretty)
{
  struct dx_json_out out = {.pretty = pretty};
  struct cJSON *again;

  dx_json_open(&out, NULL, '{');
  dx_json_put_string(&out, text, text);
  dx_json_close(&out, '}');
  HOLDS(dx_buf_ok(&out.text));
  again = dx_json_parse(out.text.data, out.text.len, NULL);
  HOLDS(again != NULL);
  HOLDS(strcmp(dx_json_string(dx_json_get(again, text)), text) == 0);
  dx_json_free(&again);
  dx_buf_release(&out.text);
}

static void walk(const struct cJSON *json)
{
  const char *text = dx_json_string(json);
  const struct cJSON *item;
  int64_t number;
  bool flag;
  size_t count = 0;

  if (text != NULL) {
    (void)dx_json_is_number(text);
    write_text(text, true);
    write_text(text, false);
  }
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

static void take(struct cJSON *json)
{
  if (json == NULL)
    return;
  walk(json);
  dx_json_free(&json);
}

/* What both readers accept means the same to both. */
static void compare(const struct cJSON *outline, const char *text, size_t size)
{
  struct cJSON *json = dx_json_parse(text, size, NULL);
  const char *status =
      dx_json_string(dx_json_get(dx_json_get(json, "results"), "status"));
  const char *same =
      dx_json_string(dx_json_get(dx_json_get(outline, "results"), "status"));

  if (json != NULL && same != NULL)
    HOLDS(status != NULL && strcmp(status, same) == 0);
  if (same == NULL)
    HOLDS(status == NULL || strlen(status) >= DX_JSON_STRING_BYTES / 6);
  dx_json_free(&json);
}

/* The outline of JSON is JSON. */
static void scan(char *text, size_t size)
{
  FILE *in = fmemopen(text, size, "r");
  struct dx_buf out = {0};
  struct cJSON *outline;

  HOLDS(in != NULL);
  if (dx_json_scan(in, false, &out)) {
    outline = dx_json_parse(out.data, out.len, NULL);
    HOLDS(outline != NULL);
    compare(outline, text, size);
    dx_json_free(&outline);
  }
  dx_buf_release(&out);
  (void)fclose(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct dx_err err;
  char *text = malloc(size > 0 ? size : 1); /* no NUL after it */

  HOLDS(text != NULL);
  memcpy(text, data, size);
  take(dx_json_parse(text, size, &err));
  take(dx_json_parse_exact(text, size, &err));
  scan(text, size);
  free(text);
  return 0;
}
