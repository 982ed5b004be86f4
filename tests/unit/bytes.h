/*
 * bytes.h - bytes that are collected in the tests of pictures. Contains no
 * test.
 */
#ifndef DX_TEST_BYTES_H
#define DX_TEST_BYTES_H

#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdlib.h>

#define MAX_BYTES (1 << 20)

struct bytes {
  unsigned char *at; /* free() is the caller's */
  size_t len;
};

static inline struct bytes new_bytes(void)
{
  struct bytes b = {.at = malloc(MAX_BYTES)};

  assert_non_null(b.at);
  return b;
}

static inline void add(struct bytes *b, const void *bytes, size_t len)
{
  assert_true(b->len + len <= MAX_BYTES);
  memcpy(b->at + b->len, bytes, len);
  b->len += len;
}

/* A jpeg_sink. */
static inline bool add_all(void *b, const void *bytes, size_t len)
{
  add(b, bytes, len);
  return true;
}

#endif
