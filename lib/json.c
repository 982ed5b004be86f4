/*
 * json.c - a thin, checked face of cJSON. struct dx_json is a cJSON; nobody
 * else may know.
 */
#include "lib/json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

struct dx_json *dx_json_parse(const char *text, size_t len, struct dx_err *err)
{
  const char *end = NULL;
  cJSON *item = NULL;

  if (memchr(text, '\0', len) == NULL)
    item = cJSON_ParseWithLengthOpts(text, len, &end, 0);
  while (item != NULL && end < text + len && strchr(" \t\r\n", *end) != NULL)
    end++;
  if (item == NULL || end != text + len) {
    cJSON_Delete(item);
    (void)dx_fail(err, DX_E_ANSWER, 0, "this is not JSON");
    return NULL;
  }
  return wrap(item);
}

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
  if (*child == NULL || !cJSON_AddItemToObject(raw(object), name, raw(*child)))
    return false;
  *child = NULL;
  return true;
}

bool dx_json_append_take(struct dx_json *array, struct dx_json **child)
{
  if (*child == NULL || !cJSON_AddItemToArray(raw(array), raw(*child)))
    return false;
  *child = NULL;
  return true;
}

char *dx_json_print(const struct dx_json *json, bool pretty)
{
  return pretty ? cJSON_Print(peek(json)) : cJSON_PrintUnformatted(peek(json));
}
