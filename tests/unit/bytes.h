/*
 * bytes.h - bytes that are collected in the tests of pictures. Contains no
 * test.
 */
#ifndef DX_TEST_BYTES_H
#define DX_TEST_BYTES_H

#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/buf.h"

#define MAX_BYTES (1 << 20)

struct bytes {
  unsigned char *at; /* free() is the caller's */
  size_t len;
};

static inline struct bytes new_bytes(void)
{
  struct bytes b = {.at = calloc(1, MAX_BYTES)};

  assert_non_null(b.at);
  return b;
}

static inline void add(struct bytes *b, const void *bytes, size_t len)
{
  assert_true(b->len + len <= MAX_BYTES);
  memcpy(b->at + b->len, bytes, len);
  b->len += len;
}

/* The bytes of the copy, which is released, replace those in `b`. */
static inline void take_copy(struct bytes *b, struct dx_buf *copy)
{
  assert_true(dx_buf_ok(copy));
  b->len = 0;
  add(b, copy->data, copy->len);
  dx_buf_release(copy);
}

#endif
