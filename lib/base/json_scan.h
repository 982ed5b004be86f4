/*
 * json_scan.h - checks JSON while it streams past, in memory that does not grow
 * with it, picks a few texts out of it, and counts values. Stricter than
 * json.h, because what passes is handed on byte for byte: RFC 8259 to the
 * letter, UTF-8 included, and containers nested at most DX_JSON_DEPTH_MAX deep.
 *
 * Calling sequence: dx_json_scan_begin() with the fields to look for;
 * dx_json_scan_add() for each piece, however cut; dx_json_scan_is_whole().
 * Ownership: fields are the caller's, and borrowed until the end.
 * Blocking: never. Errors: false, after which the scan stays false.
 */
#ifndef DX_JSON_SCAN_H
#define DX_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_JSON_DEPTH_MAX 64
#define DX_JSON_FIELD_BYTES 4104 /* of a text, with its NUL */
#define DX_JSON_NAME_BYTES 32    /* of a name in a path, with its NUL */
#define DX_JSON_PATH_NAMES 2     /* of a path */

enum dx_json_seen {
  DX_JSON_ABSENT,
  DX_JSON_NULL,
  DX_JSON_STRING,
  DX_JSON_OTHER, /* of another type, or longer than the buffer */
  DX_JSON_TWICE  /* decoders do not agree which one counts */
};

/* What was found at "name" or "name.name", from the root. */
struct dx_json_field {
  const char *path;
  enum dx_json_seen seen;
  char text[DX_JSON_FIELD_BYTES]; /* of DX_JSON_STRING; a character that a C
                                     string cannot have is DX_JSON_NUL */
  /* Strings, numbers, true, and false anywhere below it. Null and "" do not
   * count. */
  uint64_t values;
  int open_depth; /* of its container, while that is open; 0: it is not */
};

/* A string being decoded; one that does not fit is marked as cut. */
struct dx_json_text {
  char *at; /* NULL: nobody wants it */
  size_t len, room;
  bool is_cut;
};

/* The internals of a scan, which only json_scan.c touches. */
struct dx_json_scan {
  struct dx_json_field *fields;
  size_t field_count;
  int state;           /* what may come next */
  int depth;           /* open containers */
  uint64_t objects;    /* bit n - 1: the n-th of them is an object */
  bool is_name;        /* the string is a name */
  bool is_blank;       /* it has no characters yet */
  const char *literal; /* what is left of it */
  unsigned char utf8_left, utf8_least, utf8_most; /* of the next byte */
  int hex_left;                                   /* digits of an escape */
  uint32_t unit, high;         /* of UTF-16: this one, and the one before it */
  struct dx_json_field *field; /* of the string; NULL: none */
  struct dx_json_text text;
  char names[DX_JSON_PATH_NAMES][DX_JSON_NAME_BYTES]; /* of each depth */
  bool has_name[DX_JSON_PATH_NAMES];                  /* one that fits */
};

void dx_json_scan_begin(struct dx_json_scan *scan, struct dx_json_field *fields,
                        size_t field_count);

/* False if this is not JSON, whatever follows. */
bool dx_json_scan_add(struct dx_json_scan *scan, const char *bytes, size_t len);

/* True if all that was added is one whole value. */
bool dx_json_scan_is_whole(const struct dx_json_scan *scan);

#endif
