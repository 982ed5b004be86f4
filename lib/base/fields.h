/*
 * fields.h - the members of structs as rows of a table, from which JSON is
 * written and read: journals, and the headers of bundles.
 *
 *   static const struct dx_field fields[] = {
 *       DX_FIELD(dx_thing, COUNT, "bytes", length),
 *       DX_FIELD_WORDS(dx_thing, kind_words, "kind", kind), DX_FIELDS_END};
 *
 * Ownership: texts and lists are on the heap, and belong to the struct.
 * Blocking: never.
 */
#ifndef DX_FIELDS_H
#define DX_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/json.h"

/* The type of a field in memory. */
enum dx_field_type {
  DX_FIELD_CHARS,   /* char[] */
  DX_FIELD_TEXT,    /* char *; NULL if it is not there */
  DX_FIELD_NAME,    /* char *; always there */
  DX_FIELD_LINE,    /* char *; NULL if it is empty; see dx_line() */
  DX_FIELD_FLAG,    /* bool */
  DX_FIELD_COUNT,   /* int64_t, not negative */
  DX_FIELD_PLACE,   /* size_t, from 0; from 1 in JSON */
  DX_FIELD_TIME,    /* int64_t, wall ms; 0: null */
  DX_FIELD_TIME_MS, /* the same, with milliseconds, to list jobs of the same
                       second in order */
  DX_FIELD_WORD,    /* an enum */
  DX_FIELD_CODE,    /* enum dx_code; DX_OK: null */
  DX_FIELD_OBJECT,  /* a struct */
  DX_FIELD_LIST     /* a pointer to structs */
};

struct dx_field {
  const char *name;
  enum dx_field_type type;
  bool is_shown; /* only for display: it may be missing, or invalid */
  bool is_added; /* since the first version of the format, so it may be missing:
                    then it stays zero */
  size_t at, size;
  const char *const *words;      /* WORD: `count` of them */
  size_t count;                  /* LIST: how many items it may have; LINE:
                                    how many bytes, with NUL */
  size_t count_at;               /* LIST: the offset of their number */
  const struct dx_field *fields; /* OBJECT, LIST */
};

#define DX_FIELD_ROW(s, n, t, member, bytes, ...)                      \
  {                                                                    \
    .name = n, .type = DX_FIELD_##t, .at = offsetof(struct s, member), \
    .size = bytes, __VA_ARGS__                                         \
  }
#define DX_FIELD_SIZE(s, member) sizeof(((struct s *)NULL)->member)
#define DX_FIELD(s, type, name, member, ...) \
  DX_FIELD_ROW(s, name, type, member, DX_FIELD_SIZE(s, member), __VA_ARGS__)
#define DX_FIELD_WORDS(s, list, name, member)    \
  DX_FIELD(s, WORD, name, member, .words = list, \
           .count = sizeof(list) / sizeof((list)[0]))
#define DX_FIELD_ITEMS(s, list, most, name, member, number)        \
  DX_FIELD_ROW(s, name, LIST, member, DX_FIELD_SIZE(s, member[0]), \
               .fields = list, .count = most,                      \
               .count_at = offsetof(struct s, number))
#define DX_FIELDS_END \
  {                   \
    .name = NULL      \
  }

/* Writes the members of an object that is open. */
void dx_fields_put(struct dx_json_out *out, const struct dx_field *fields,
                   const void *from);

/* Reads them into a struct of zeros, which must be released in any case. False
 * if one is invalid or, unless the row permits that, missing; or when out of
 * memory (errno). Other members are ignored. */
bool dx_fields_get(const struct cJSON *json, const struct dx_field *fields,
                   void *to);

/* Frees texts and lists, and makes them NULL. Texts are wiped, because they may
 * be signed URLs. */
void dx_fields_release(const struct dx_field *fields, void *of);

/* Frees a text, wipes it, and makes it NULL. */
void dx_text_release(char **text);

/* A line is a text that is NULL if it is empty, because most are. */
static inline const char *dx_line(const char *line)
{
  return line != NULL ? line : "";
}

/* Replaces it with a copy of the text, which may be a part of it. A text of
 * more than `size` bytes, with NUL, is truncated after a whole character. Empty
 * if out of memory. */
void dx_line_set(char **line, size_t size, const char *text);

#endif
