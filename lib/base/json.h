/*
 * json.h - reads JSON through checked accessors, and writes it; the only
 * interface to cJSON.
 *
 * Every accessor accepts NULL and values of another type, and returns "none": a
 * response can be read without checks in between. cJSON converts numbers to
 * doubles, so integers are accepted only within 2^53, and a result of the
 * service is never rewritten with this code. An escaped NUL would end a C
 * string, and different texts would look the same: it is read as DX_JSON_NUL.
 *
 * Ownership: the caller frees what dx_json_parse() or dx_json_array() returned;
 * what is appended to an array belongs to it. Strings are borrowed from the
 * value. Errors: E_RESPONSE for text that is not one whole JSON value; false or
 * NULL when out of memory.
 */
#ifndef DX_JSON_H
#define DX_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

#define DX_JSON_NUL "\xef\xbf\xbd" /* U+FFFD, replacement character */

/* Parses len bytes (no NUL needed after them). The whole text must be one
 * value; NUL bytes are refused. NULL with *err filled. */
struct cJSON *dx_json_parse(const char *text, size_t len, struct dx_err *err);
/*
 * The same for display: every number becomes a string with its original
 * characters, so that no digit is lost. dx_json_is_number() identifies these
 * strings. As strict as dx_json_scan().
 */
struct cJSON *dx_json_parse_exact(const char *text, size_t len,
                                  struct dx_err *err);
bool dx_json_is_number(const char *text);

/*
 * Checks the rest of a stream, and appends an outline to *out: of at most
 * DX_JSON_OUTLINE_BYTES, whatever the stream contains. It is stricter than
 * dx_json_parse(), because results are delivered byte for byte: exactly RFC
 * 8259, UTF-8 included, containers nested at most DX_JSON_DEPTH_MAX deep, and
 * numbers of at most DX_JSON_STRING_BYTES.
 *
 * The outline is the text without blanks. A container that is nested deeper
 * than DX_JSON_OUTLINE_DEPTH becomes [N], where N is the number of strings
 * except "", numbers, true, and false in it, at any depth. A number becomes 0,
 * and so does a string that cJSON cannot read, or that has more than
 * DX_JSON_STRING_BYTES; such a name becomes "". With `exact`, only numbers are
 * replaced, by strings.
 *
 * A byte order mark (UTF-8) is skipped, as dx_json_parse() does.
 * Blocking: reads the stream. False if it is not JSON, if the outline is too
 * long, or if memory is out (errno).
 */
#define DX_JSON_DEPTH_MAX 64
#define DX_JSON_OUTLINE_DEPTH 2
#define DX_JSON_OUTLINE_BYTES 1048576
#define DX_JSON_STRING_BYTES 4104
bool dx_json_scan(FILE *in, bool exact, struct dx_buf *out);

void dx_json_free(struct cJSON **json); /* accepts NULL, sets NULL */

#define dx_json_get cJSON_GetObjectItemCaseSensitive
#define dx_json_string cJSON_GetStringValue
#define dx_json_is_null cJSON_IsNull
#define dx_json_is_array cJSON_IsArray
bool dx_json_int(const struct cJSON *json, int64_t *ret_value);
bool dx_json_bool(const struct cJSON *json, bool *ret_value);
size_t dx_json_count(const struct cJSON *array);
/* Walks an array: first, then next until NULL. */
const struct cJSON *dx_json_first(const struct cJSON *array);
static inline const struct cJSON *dx_json_next(const struct cJSON *item)
{
  return item != NULL ? item->next : NULL;
}

/* Walks an object, dx_json_next() likewise; a name is never NULL there. */
const struct cJSON *dx_json_first_member(const struct cJSON *object);
#define dx_json_name(member) ((member)->string)

#define dx_json_array cJSON_CreateArray
#define dx_json_append cJSON_AddItemToArray

/*
 * Writing: begin with `struct dx_json_out out = {0};`, add the values in their
 * order, each with its name in an object, or with NULL, and close what was
 * opened. Then take or release the text, which is complete if dx_buf_ok().
 */
struct dx_json_out {
  struct dx_buf text;
  bool pretty;  /* a line for each member, indented with tabs */
  size_t depth; /* open containers */
};

/* bracket: '{' or '[', and '}' or ']'. */
void dx_json_open(struct dx_json_out *out, const char *name, char bracket);
void dx_json_close(struct dx_json_out *out, char bracket);
void dx_json_put_string(struct dx_json_out *out, const char *name,
                        const char *text); /* NULL text: null */
void dx_json_put_int(struct dx_json_out *out, const char *name, int64_t value);
void dx_json_put_bool(struct dx_json_out *out, const char *name, bool value);
/* RFC 3339 UTC; 0: null. */
void dx_json_put_time(struct dx_json_out *out, const char *name,
                      int64_t wall_ms);
/* A value that is JSON already. */
void dx_json_put_raw(struct dx_json_out *out, const char *name,
                     const char *json);

#endif
