/*
 * json_scan.h - checks a stream of JSON, in bounded memory, and keeps an
 * outline for json.h. It is stricter than json.h, because results are delivered
 * byte for byte: exactly RFC 8259, UTF-8 included, and containers nested at
 * most DX_JSON_DEPTH_MAX deep.
 *
 * The outline is the text without blanks. A container that is nested deeper
 * than DX_JSON_OUTLINE_DEPTH becomes [N], where N is the number of strings
 * except "", numbers, true, and false in it, at any depth. A number becomes 0,
 * and so does a string that json.h cannot read, or that has more than
 * DX_JSON_STRING_BYTES; such a name becomes "".
 *
 * Calling sequence: `struct dx_json_scan scan = {0};` dx_json_scan_add() for
 * each piece, of any length; dx_json_scan_is_whole(); then the caller reads and
 * releases the outline. Blocking: never. Errors: false, and so do all later
 * calls: the text is not JSON, its outline has more than DX_JSON_OUTLINE_BYTES,
 * or memory is out (errno).
 */
#ifndef DX_JSON_SCAN_H
#define DX_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

#define DX_JSON_DEPTH_MAX 64
#define DX_JSON_OUTLINE_DEPTH 2
#define DX_JSON_OUTLINE_BYTES 1048576
#define DX_JSON_STRING_BYTES 4104

struct dx_json_scan {
  struct dx_buf outline;
  /* The rest is for json_scan.c. */
  int state;           /* what may come next */
  int depth;           /* open containers */
  uint64_t objects;    /* bit n - 1: the n-th of them is an object */
  uint64_t values;     /* in the container that the outline leaves out */
  const char *literal; /* what is left of it */
  bool is_name;        /* the string is a name */
  bool is_blank;       /* it has no characters yet */
  bool is_left_out;    /* the outline has something else instead */
  size_t string_at;    /* where it begins there */
  unsigned char utf8_left, utf8_least, utf8_most; /* of the next byte */
  int hex_left;                                   /* digits of an escape */
  uint32_t unit;                                  /* of UTF-16 */
  bool is_high;                                   /* begins a pair */
};

bool dx_json_scan_add(struct dx_json_scan *scan, const char *bytes, size_t len);

/* True if all that was added is one whole value. */
bool dx_json_scan_is_whole(const struct dx_json_scan *scan);

#endif
