/*
 * fields.c - writes, reads, and releases structs by their tables.
 */
#include "lib/base/fields.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "lib/base/words.h"

static void field_put(struct dx_json_out *out, const struct dx_field *f,
                      const char *from)
{
  const void *at = from + f->at;
  char time[DX_TIME_BYTES];
  size_t i, count;

  switch (f->type) {
  case DX_FIELD_CHARS:
    dx_json_put_string(out, f->name, at);
    break;
  case DX_FIELD_TEXT:
  case DX_FIELD_NAME:
    dx_json_put_string(out, f->name, *(char *const *)at);
    break;
  case DX_FIELD_LINE:
    dx_json_put_string(out, f->name, dx_line(*(char *const *)at));
    break;
  case DX_FIELD_FLAG:
    dx_json_put_bool(out, f->name, *(const bool *)at);
    break;
  case DX_FIELD_COUNT:
    dx_json_put_int(out, f->name, *(const int64_t *)at);
    break;
  case DX_FIELD_PLACE:
    dx_json_put_int(out, f->name, (int64_t) * (const size_t *)at + 1);
    break;
  case DX_FIELD_TIME:
    dx_json_put_time(out, f->name, *(const int64_t *)at);
    break;
  case DX_FIELD_TIME_MS:
    dx_format_exact_time(*(const int64_t *)at, time);
    dx_json_put_string(out, f->name, *(const int64_t *)at != 0 ? time : NULL);
    break;
  case DX_FIELD_WORD:
    dx_json_put_string(out, f->name, f->words[*(const unsigned *)at]);
    break;
  case DX_FIELD_CODE:
    dx_json_put_string(out, f->name,
                       *(const enum dx_code *)at != DX_OK
                           ? dx_code_name(*(const enum dx_code *)at)
                           : NULL);
    break;
  case DX_FIELD_OBJECT:
    dx_json_open(out, f->name, '{');
    dx_fields_put(out, f->fields, at);
    dx_json_close(out, '}');
    break;
  case DX_FIELD_LIST:
    count = *(const size_t *)(const void *)(from + f->count_at);
    dx_json_open(out, f->name, '[');
    for (i = 0; i < count; i++) {
      dx_json_open(out, NULL, '{');
      dx_fields_put(out, f->fields, *(char *const *)at + i * f->size);
      dx_json_close(out, '}');
    }
    dx_json_close(out, ']');
    break;
  }
}

void dx_fields_put(struct dx_json_out *out, const struct dx_field *fields,
                   const void *from)
{
  for (; fields->name != NULL; fields++)
    field_put(out, fields, from);
}

static bool field_get_list(const struct cJSON *list, const struct dx_field *f,
                           char *to)
{
  size_t *count = (void *)(to + f->count_at);
  const struct cJSON *item = dx_json_first(list);
  char *items;

  if (list == NULL || dx_json_count(list) > f->count)
    return false;
  items = calloc(dx_json_count(list) + 1, f->size);
  *(char **)(void *)(to + f->at) = items;
  for (; items != NULL && item != NULL; item = dx_json_next(item))
    if (!dx_fields_get(item, f->fields, items + f->size * (*count)++))
      return false;
  return items != NULL;
}

static bool field_get(const struct cJSON *value, const struct dx_field *f,
                      char *to)
{
  const char *text = dx_json_string(value);
  void *at = to + f->at;
  enum dx_code code;
  int64_t number;
  size_t i;

  switch (f->type) {
  case DX_FIELD_CHARS:
    if (text == NULL || strlen(text) >= f->size)
      return false;
    memcpy(at, text, strlen(text) + 1);
    return true;
  case DX_FIELD_TEXT:
  case DX_FIELD_NAME:
    *(char **)at = text != NULL ? strdup(text) : NULL;
    return *(char **)at != NULL || (text == NULL && f->type == DX_FIELD_TEXT);
  case DX_FIELD_LINE:
    if (text == NULL || strlen(text) >= f->count)
      return false;
    *(char **)at = text[0] != '\0' ? strdup(text) : NULL;
    return *(char **)at != NULL || text[0] == '\0';
  case DX_FIELD_FLAG:
    return dx_json_bool(value, at);
  case DX_FIELD_COUNT:
    return dx_json_int(value, at) && *(int64_t *)at >= 0;
  case DX_FIELD_PLACE:
    if (!dx_json_int(value, &number) || number < 1)
      return false;
    *(size_t *)at = (size_t)number - 1;
    return true;
  case DX_FIELD_TIME:
  case DX_FIELD_TIME_MS:
    *(int64_t *)at = text != NULL ? dx_parse_time(text) : 0;
    return dx_json_is_null(value) || (text != NULL && *(int64_t *)at >= 0);
  case DX_FIELD_WORD:
    i = dx_word_index(f->words, f->count, text);
    if (i < f->count)
      *(unsigned *)at = (unsigned)i;
    return i < f->count;
  case DX_FIELD_CODE:
    code = text != NULL ? dx_code_by_name(text) : DX_OK;
    if (code != DX_CODE_COUNT)
      *(enum dx_code *)at = code;
    return code != DX_CODE_COUNT;
  case DX_FIELD_OBJECT:
    return dx_fields_get(value, f->fields, at);
  default: /* DX_FIELD_LIST */
    return field_get_list(value, f, to);
  }
}

bool dx_fields_get(const struct cJSON *json, const struct dx_field *fields,
                   void *to)
{
  const struct cJSON *next = dx_json_first_member(json), *value;

  for (; fields->name != NULL; fields++) {
    /* While all members were those of the table, in the order in which
     * dx_fields_put() writes them, no earlier one has the same name. */
    if (next != NULL && strcmp(dx_json_name(next), fields->name) != 0)
      next = NULL;
    value = next != NULL ? next : dx_json_get(json, fields->name);
    next = dx_json_next(next);
    if (value == NULL && fields->is_added)
      continue;
    if (!field_get(value, fields, to) && !fields->is_shown)
      return false;
  }
  return true;
}

void dx_text_release(char **text)
{
  if (*text != NULL)
    explicit_bzero(*text, strlen(*text));
  free(*text);
  *text = NULL;
}

void dx_line_set(char **line, size_t size, const char *text)
{
  size_t len = strlen(text);
  char *copy;

  if (len >= size)
    len = size - 1;
  copy = len > 0 ? malloc(len + 1) : NULL;
  if (copy != NULL)
    dx_utf8_copy(copy, len + 1, text);
  dx_text_release(line);
  *line = copy;
}

void dx_fields_release(const struct dx_field *fields, void *of)
{
  for (; fields->name != NULL; fields++) {
    char *from = of;
    void *at = from + fields->at;

    if (fields->type == DX_FIELD_TEXT || fields->type == DX_FIELD_NAME ||
        fields->type == DX_FIELD_LINE) {
      dx_text_release(at);
    } else if (fields->type == DX_FIELD_OBJECT) {
      dx_fields_release(fields->fields, at);
    } else if (fields->type == DX_FIELD_LIST) {
      size_t *count = (void *)(from + fields->count_at);

      for (; *count > 0; --*count)
        dx_fields_release(fields->fields,
                          *(char **)at + (*count - 1) * fields->size);
      free(*(char **)at);
      *(char **)at = NULL;
    }
  }
}
