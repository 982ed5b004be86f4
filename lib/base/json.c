/*
 * json.c - a thin, checked layer over cJSON for reading, and a writer. Only
 * this file uses cJSON; struct cJSON is a cJSON.
 */
#include "lib/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"

#define INT_MAX_EXACT 9007199254740992.0 /* 2^53 */

#define NUL_ESCAPE "\\u0000"
#define NUL_ESCAPE_LEN (sizeof(NUL_ESCAPE) - 1)

struct cJSON *dx_json_parse(const char *text, size_t len, struct dx_err *err)
{
  char *copy = malloc(len + 1), *at = copy;
  struct cJSON *item = NULL;

  if (copy == NULL) {
    (void)dx_fail_nomem(err);
    return NULL;
  }
  memcpy(copy, text, len);
  copy[len] = '\0';
  for (; (at = strchr(at, '\\')) != NULL && at[1] != '\0'; at += 2)
    if (strncmp(at, NUL_ESCAPE, NUL_ESCAPE_LEN) == 0)
      memcpy(at, "\\ufffd", NUL_ESCAPE_LEN);
  if (strlen(copy) == len)
    item = cJSON_ParseWithOpts(copy, NULL, true);
  if (item == NULL)
    (void)dx_fail(err, DX_E_RESPONSE, 0, "this is not JSON");
  explicit_bzero(copy, len); /* it may contain signed URLs */
  free(copy);
  return item;
}

/* ---- numbers as they are written ---- */

struct cJSON *dx_json_parse_exact(const char *text, size_t len,
                                  struct dx_err *err)
{
  FILE *in = fmemopen((char *)(uintptr_t)text, len, "r");
  struct dx_buf quoted = {0};
  struct cJSON *json = NULL;

  if (in == NULL)
    (void)dx_fail_nomem(err);
  else if (dx_json_scan(in, true, &quoted))
    json = dx_json_parse(quoted.data, quoted.len, err);
  else if (quoted.failed)
    (void)dx_fail_nomem(err);
  else
    (void)dx_fail(err, DX_E_RESPONSE, 0, "this is not JSON");
  if (in != NULL)
    (void)fclose(in);
  dx_buf_release(&quoted);
  return json;
}

/* ---- walking ---- */

void dx_json_free(struct cJSON **json)
{
  cJSON_Delete(*json);
  *json = NULL;
}

bool dx_json_int(const struct cJSON *json, int64_t *ret_value)
{
  double value = cJSON_GetNumberValue(json); /* else NaN */

  if (!(fabs(value) <= INT_MAX_EXACT) || floor(value) < value)
    return false;
  *ret_value = (int64_t)value;
  return true;
}

bool dx_json_bool(const struct cJSON *json, bool *ret_value)
{
  if (!cJSON_IsBool(json))
    return false;
  *ret_value = cJSON_IsTrue(json) != 0;
  return true;
}

size_t dx_json_count(const struct cJSON *array)
{
  return cJSON_IsArray(array) ? (size_t)cJSON_GetArraySize(array) : 0;
}

const struct cJSON *dx_json_first(const struct cJSON *array)
{
  return cJSON_IsArray(array) ? array->child : NULL;
}

const struct cJSON *dx_json_first_member(const struct cJSON *object)
{
  return cJSON_IsObject(object) ? object->child : NULL;
}

/* ---- writing ---- */

static void break_line(struct dx_json_out *out)
{
  size_t i;

  dx_buf_puts(&out->text, out->pretty ? "\n" : "");
  for (i = 0; out->pretty && i < out->depth; i++)
    dx_buf_puts(&out->text, "\t");
}

static void put_escaped(struct dx_buf *to, char c)
{
  static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  const char *at = strchr(escaped, c);

  if (at != NULL)
    dx_buf_printf(to, "\\%c", letters[at - escaped]);
  else
    dx_buf_printf(to, "\\u%04x", (unsigned)c);
}

static void put_quoted(struct dx_buf *to, const char *text)
{
  size_t n;

  dx_buf_puts(to, "\"");
  while (*text != '\0') {
    for (n = 0;
         (unsigned char)text[n] >= ' ' && text[n] != '"' && text[n] != '\\';
         n++)
      ;
    dx_buf_add(to, text, n);
    text += n;
    if (*text != '\0')
      put_escaped(to, *text++);
  }
  dx_buf_puts(to, "\"");
}

/* Begins a value: what separates it from the one before, and its name. */
static void begin_value(struct dx_json_out *out, const char *name)
{
  const struct dx_buf *text = &out->text;
  bool is_first = text->len == 0 || strchr("{[", text->data[text->len - 1]);

  dx_buf_puts(&out->text, is_first ? "" : ",");
  if (name != NULL) {
    break_line(out);
    put_quoted(&out->text, name);
    dx_buf_puts(&out->text, out->pretty ? ":\t" : ":");
  } else if (!is_first && out->pretty) {
    dx_buf_puts(&out->text, " ");
  }
}

void dx_json_put_raw(struct dx_json_out *out, const char *name,
                     const char *json)
{
  begin_value(out, name);
  dx_buf_puts(&out->text, json);
}

void dx_json_open(struct dx_json_out *out, const char *name, char bracket)
{
  dx_json_put_raw(out, name, bracket == '{' ? "{" : "[");
  out->depth++;
}

void dx_json_close(struct dx_json_out *out, char bracket)
{
  out->depth--;
  if (bracket == '}')
    break_line(out);
  dx_buf_add(&out->text, &bracket, 1);
}

void dx_json_put_string(struct dx_json_out *out, const char *name,
                        const char *text)
{
  dx_json_put_raw(out, name, text != NULL ? "" : "null");
  if (text != NULL)
    put_quoted(&out->text, text);
}

void dx_json_put_int(struct dx_json_out *out, const char *name, int64_t value)
{
  begin_value(out, name);
  dx_buf_printf(&out->text, "%" PRId64, value);
}

void dx_json_put_bool(struct dx_json_out *out, const char *name, bool value)
{
  dx_json_put_raw(out, name, value ? "true" : "false");
}

void dx_json_put_time(struct dx_json_out *out, const char *name,
                      int64_t wall_ms)
{
  char text[DX_TIME_BYTES];

  dx_format_time(wall_ms, text);
  dx_json_put_string(out, name, wall_ms != 0 ? text : NULL);
}
