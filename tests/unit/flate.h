/*
 * flate.h - packs bytes as /FlateDecode. Contains no test.
 */
#ifndef DX_TEST_FLATE_H
#define DX_TEST_FLATE_H

#include "tests/unit/unit.h"

#include <zlib.h>

/* flush: Z_FINISH, or Z_SYNC_FLUSH for data without an end. */
static inline size_t pack_flate(const void *bytes, size_t len, int flush,
                                unsigned char *out, size_t room)
{
  z_stream z = {0};

  assert_int_equal(deflateInit(&z, 9), Z_OK);
  z.next_in = (z_const Bytef *)(uintptr_t)bytes;
  z.avail_in = (uInt)len;
  z.next_out = out;
  z.avail_out = (uInt)room;
  assert_int_equal(deflate(&z, flush), flush == Z_FINISH ? Z_STREAM_END : Z_OK);
  (void)deflateEnd(&z);
  return room - z.avail_out;
}

#endif
