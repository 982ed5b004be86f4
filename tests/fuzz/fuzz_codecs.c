/*
 * fuzz_codecs.c - compressed images. The first byte selects what they are; two
 * more are parameters. A copy without metadata is as good as the original, and
 * has nothing left to remove.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "filter/codecs.h"

#define COPY_MAX_BYTES (1 << 20)

struct copy {
  uint8_t bytes[COPY_MAX_BYTES];
  size_t len;
};

static bool copy_add(void *copy, const void *bytes, size_t len)
{
  struct copy *c = copy;

  HOLDS(len <= sizeof(c->bytes) - c->len);
  memcpy(c->bytes + c->len, bytes, len);
  c->len += len;
  return true;
}

static void fuzz_jpeg(const uint8_t *data, size_t size, bool keep_orientation)
{
  struct copy *copy = calloc(2, sizeof(*copy));
  struct jpeg_info info, again;
  const char *why;

  HOLDS(copy != NULL);
  if (jpeg_check(data, size, &info, &why) == DX_REASON_NONE) {
    HOLDS(jpeg_clean(data, size, keep_orientation, copy_add, &copy[0]));
    HOLDS(jpeg_check(copy[0].bytes, copy[0].len, &again, &why) ==
          DX_REASON_NONE);
    HOLDS(again.width == info.width && again.height == info.height);
    HOLDS(jpeg_clean(copy[0].bytes, copy[0].len, keep_orientation, copy_add,
                     &copy[1]));
    HOLDS(copy[0].len == copy[1].len &&
          memcmp(copy[0].bytes, copy[1].bytes, copy[0].len) == 0);
  }
  free(copy);
}

static void fuzz_png(const uint8_t *data, size_t size)
{
  struct copy *copy = calloc(2, sizeof(*copy));
  const char *why;

  HOLDS(copy != NULL);
  if (png_clean(data, size, copy_add, &copy[0], &why) == DX_REASON_NONE) {
    HOLDS(png_clean(copy[0].bytes, copy[0].len, copy_add, &copy[1], &why) ==
          DX_REASON_NONE);
    HOLDS(copy[0].len == copy[1].len);
  }
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct codecs_ccitt ccitt = {.rows = 40};
  const char *why;
  size_t globals;

  if (size < 3 || size > COPY_MAX_BYTES / 2)
    return 0;
  ccitt.k = data[1] % 3 - 1;
  ccitt.byte_align = (data[1] & 0x80) != 0;
  ccitt.columns = data[2] * 20U;
  globals = data[1] < size - 3 ? data[1] : size - 3;
  switch (data[0]) {
  case 'j':
    fuzz_jpeg(data + 3, size - 3, data[1] % 2 == 1);
    break;
  case 'p':
    fuzz_png(data + 3, size - 3);
    break;
  case 'c':
    (void)codecs_ccitt(data + 3, size - 3, &ccitt, &why);
    break;
  case 'b':
    (void)codecs_jbig2(data + 3 + globals, size - 3 - globals, data + 3,
                       globals, 1, 1, &why);
    break;
  default:
    (void)codecs_jpx(data + 3, size - 3, data[1], data[2], &why);
    break;
  }
  return 0;
}
