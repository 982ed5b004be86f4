/*
 * json.c - a thin, checked layer over cJSON. Only this file uses cJSON; struct
 * dx_json is a cJSON.
 */
#include "lib/base/json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"

#define INT_MAX_EXACT 9007199254740992.0 /* 2^53 */

static cJSON *raw(struct dx_json *json)
{
  return (cJSON *)(void *)json;
}

static const cJSON *peek(const struct dx_json *json)
{
  return (const cJSON *)(const void *)json;
}

static struct dx_json *wrap(cJSON *item)
{
  return (struct dx_json *)(void *)item;
}

#define NUL_ESCAPE "\\u0000"
#define NUL_ESCAPE_LEN (sizeof(NUL_ESCAPE) - 1)

/* A copy in which no string has a NUL; NULL when out of memory. */
static char *copy_without_nul(const char *text, size_t len)
{
  char *copy = malloc(len + 1);
  size_t i;

  if (copy == NULL)
    return NULL;
  memcpy(copy, text, len);
  for (i = 0; i + NUL_ESCAPE_LEN <= len; i++) {
    if (copy[i] != '\\')
      continue;
    if (memcmp(copy + i, NUL_ESCAPE, NUL_ESCAPE_LEN) == 0)
      memcpy(copy + i, "\\ufffd", NUL_ESCAPE_LEN);
    i++; /* an escaped backslash escapes nothing */
  }
  return copy;
}

/* Parses a text that must be one value as a whole. */
static cJSON *parse_whole(const char *text, size_t len)
{
  const char *end = NULL;
  cJSON *item = cJSON_ParseWithLengthOpts(text, len, &end, 0);

  while (item != NULL && end < text + len && strchr(" \t\r\n", *end) != NULL)
    end++;
  if (item != NULL && end == text + len)
    return item;
  cJSON_Delete(item);
  return NULL;
}

struct dx_json *dx_json_parse(const char *text, size_t len, struct dx_err *err)
{
  char *copy = NULL;
  cJSON *item = NULL;

  if (memmem(text, len, NUL_ESCAPE, NUL_ESCAPE_LEN) != NULL) {
    copy = copy_without_nul(text, len);
    if (copy == NULL) {
      (void)dx_fail_nomem(err);
      return NULL;
    }
  }
  if (memchr(text, '\0', len) == NULL)
    item = parse_whole(copy != NULL ? copy : text, len);
  free(copy);
  if (item == NULL)
    (void)dx_fail(err, DX_E_RESPONSE, 0, "this is not JSON");
  return wrap(item);
}

/* ---- numbers as they are written ---- */

#define DIGITS "0123456789"

/* The length of the number at `text` (RFC 8259, section 6), or 0. */
static size_t number_len(const char *text)
{
  const char *at = text + (*text == '-');
  size_t n = strspn(at, DIGITS);

  if (n == 0 || (n > 1 && *at == '0'))
    return 0;
  at += n;
  if (*at == '.') {
    n = strspn(at + 1, DIGITS);
    at += 1 + n;
  }
  if (n > 0 && (*at == 'e' || *at == 'E')) {
    at += 1 + (at[1] == '+' || at[1] == '-');
    n = strspn(at, DIGITS);
    at += n;
  }
  return n > 0 ? (size_t)(at - text) : 0;
}

bool dx_json_is_number(const char *text)
{
  size_t len = number_len(text);

  return len > 0 && text[len] == '\0';
}

/* The length of the string at `text`, with its quotes. */
static size_t string_len(const char *text)
{
  const char *at = text + 1;

  while (*at != '\0' && *at != '"')
    at += *at == '\\' && at[1] != '\0' ? 2 : 1;
  return (size_t)(at - text) + (*at == '"');
}

struct dx_json *dx_json_parse_exact(const char *text, size_t len,
                                    struct dx_err *err)
{
  char *copy = strndup(text, len); /* up to a NUL, which parsing refuses */
  const char *at = copy;
  struct dx_buf quoted = {0};
  struct dx_json *json = NULL;
  size_t n = 1;

  for (; at != NULL && *at != '\0' && n > 0; at += n) {
    bool number = *at == '-' || (*at >= '0' && *at <= '9');

    n = number ? number_len(at) : *at == '"' ? string_len(at) : 1;
    dx_buf_add(&quoted, "\"", number);
    dx_buf_add(&quoted, at, n);
    dx_buf_add(&quoted, "\"", number);
  }
  if (copy == NULL || quoted.failed)
    (void)dx_fail_nomem(err);
  else if (n == 0 || strlen(copy) < len)
    (void)dx_fail(err, DX_E_RESPONSE, 0, "this is not JSON");
  else
    json = dx_json_parse(dx_buf_text(&quoted), quoted.len, err);
  dx_buf_release(&quoted);
  free(copy);
  return json;
}

/* ---- walking ---- */

void dx_json_free(struct dx_json **json)
{
  cJSON_Delete(raw(*json));
  *json = NULL;
}

const struct dx_json *dx_json_get(const struct dx_json *object,
                                  const char *name)
{
  if (object == NULL || !cJSON_IsObject(peek(object)))
    return NULL;
  return wrap(cJSON_GetObjectItemCaseSensitive(peek(object), name));
}

const char *dx_json_string(const struct dx_json *json)
{
  return json != NULL ? cJSON_GetStringValue(peek(json)) : NULL;
}

bool dx_json_int(const struct dx_json *json, int64_t *ret_value)
{
  double value;

  if (json == NULL || !cJSON_IsNumber(peek(json)))
    return false;
  value = peek(json)->valuedouble;
  if (!(fabs(value) <= INT_MAX_EXACT) || floor(value) < value)
    return false;
  *ret_value = (int64_t)value;
  return true;
}

bool dx_json_bool(const struct dx_json *json, bool *ret_value)
{
  if (json == NULL || !cJSON_IsBool(peek(json)))
    return false;
  *ret_value = cJSON_IsTrue(peek(json)) != 0;
  return true;
}

bool dx_json_is_null(const struct dx_json *json)
{
  return json != NULL && cJSON_IsNull(peek(json));
}

bool dx_json_is_array(const struct dx_json *json)
{
  return json != NULL && cJSON_IsArray(peek(json));
}

size_t dx_json_count(const struct dx_json *array)
{
  if (array == NULL || !cJSON_IsArray(peek(array)))
    return 0;
  return (size_t)cJSON_GetArraySize(peek(array));
}

const struct dx_json *dx_json_first(const struct dx_json *array)
{
  if (array == NULL || !cJSON_IsArray(peek(array)))
    return NULL;
  return wrap(peek(array)->child);
}

const struct dx_json *dx_json_next(const struct dx_json *item)
{
  return item != NULL ? wrap(peek(item)->next) : NULL;
}

const struct dx_json *dx_json_first_member(const struct dx_json *object)
{
  if (object == NULL || !cJSON_IsObject(peek(object)))
    return NULL;
  return wrap(peek(object)->child);
}

const char *dx_json_name(const struct dx_json *member)
{
  return peek(member)->string;
}

struct dx_json *dx_json_object(void)
{
  return wrap(cJSON_CreateObject());
}

struct dx_json *dx_json_array(void)
{
  return wrap(cJSON_CreateArray());
}

static bool put(struct dx_json *object, const char *name, cJSON *item)
{
  if (item == NULL)
    return false;
  if (cJSON_AddItemToObject(raw(object), name, item))
    return true;
  cJSON_Delete(item);
  return false;
}

bool dx_json_put_string(struct dx_json *object, const char *name,
                        const char *text)
{
  return put(object, name,
             text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}

bool dx_json_put_int(struct dx_json *object, const char *name, int64_t value)
{
  char text[32];

  (void)snprintf(text, sizeof(text), "%" PRId64, value);
  return put(object, name, cJSON_CreateRaw(text));
}

bool dx_json_put_bool(struct dx_json *object, const char *name, bool value)
{
  return put(object, name, cJSON_CreateBool(value));
}

bool dx_json_put_take(struct dx_json *object, const char *name,
                      struct dx_json **child)
{
  cJSON *item = raw(*child);

  *child = NULL;
  return put(object, name, item);
}

bool dx_json_append_take(struct dx_json *array, struct dx_json **child)
{
  cJSON *item = raw(*child);

  *child = NULL;
  if (item != NULL && cJSON_AddItemToArray(raw(array), item))
    return true;
  cJSON_Delete(item);
  return false;
}

bool dx_json_put_time(struct dx_json *object, const char *name, int64_t wall_ms)
{
  char text[DX_TIME_BYTES];

  if (wall_ms == 0)
    return dx_json_put_string(object, name, NULL);
  dx_format_time(wall_ms, text);
  return dx_json_put_string(object, name, text);
}

bool dx_json_put_list(struct dx_json *object, const char *name,
                      const void *owner, size_t count, dx_json_make *make)
{
  struct dx_json *list = dx_json_array();
  bool ok = list != NULL;
  size_t i;

  for (i = 0; ok && i < count; i++) {
    struct dx_json *item = make(owner, i);

    ok = dx_json_append_take(list, &item);
  }
  list = dx_json_made_take(list, ok);
  return dx_json_put_take(object, name, &list);
}

struct dx_json *dx_json_made_take(struct dx_json *json, bool ok)
{
  if (!ok)
    dx_json_free(&json);
  return json;
}

char *dx_json_print(const struct dx_json *json, bool pretty)
{
  return pretty ? cJSON_Print(peek(json)) : cJSON_PrintUnformatted(peek(json));
}
