/*
 * fuzz_codecs.c - compressed images. The first byte selects what they are; two
 * more are parameters. A copy without metadata is as good as the original, and
 * has nothing left to remove.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "filter/codecs.h"

#define INPUT_MAX_BYTES (1 << 19)

static void copies_agree(struct dx_buf copies[2])
{
  HOLDS(dx_buf_ok(&copies[0]) && dx_buf_ok(&copies[1]));
  HOLDS(copies[0].len == copies[1].len &&
        memcmp(copies[0].data, copies[1].data, copies[0].len) == 0);
}

static void fuzz_jpeg(const uint8_t *data, size_t size, bool keep_orientation)
{
  struct dx_buf copies[2] = {{0}};
  struct jpeg_info info, again;
  const char *why;

  if (jpeg_check(data, size, &info, &why) == DX_REASON_NONE) {
    jpeg_clean(data, size, keep_orientation, &copies[0]);
    data = (const uint8_t *)copies[0].data;
    HOLDS(jpeg_check(data, copies[0].len, &again, &why) == DX_REASON_NONE);
    HOLDS(again.width == info.width && again.height == info.height);
    jpeg_clean(data, copies[0].len, keep_orientation, &copies[1]);
    copies_agree(copies);
  }
  dx_buf_release(&copies[0]);
  dx_buf_release(&copies[1]);
}

static void fuzz_png(const uint8_t *data, size_t size)
{
  struct dx_buf copies[2] = {{0}};
  const char *why;

  if (png_clean(data, size, &copies[0], &why) == DX_REASON_NONE) {
    data = (const uint8_t *)copies[0].data;
    HOLDS(png_clean(data, copies[0].len, &copies[1], &why) == DX_REASON_NONE);
    copies_agree(copies);
  }
  dx_buf_release(&copies[0]);
  dx_buf_release(&copies[1]);
}

static void fuzz_jpx(const uint8_t *data, size_t size, uint32_t width,
                     uint32_t height)
{
  struct dx_buf copies[2] = {{0}};
  const char *why;

  if (jpx_clean(data, size, width, height, &copies[0], &why) ==
      DX_REASON_NONE) {
    data = (const uint8_t *)copies[0].data;
    HOLDS(jpx_clean(data, copies[0].len, width, height, &copies[1], &why) ==
          DX_REASON_NONE);
    copies_agree(copies);
  }
  dx_buf_release(&copies[0]);
  dx_buf_release(&copies[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ccitt_parms ccitt = {.rows = 40};
  uint32_t bad;
  const char *why;
  size_t globals;

  if (size < 3 || size > INPUT_MAX_BYTES)
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
    (void)ccitt_check(data + 3, size - 3, &ccitt, &bad, &why);
    break;
  case 'b':
    (void)jbig2_check(data + 3 + globals, size - 3 - globals, data + 3, globals,
                      1, 1, &why);
    break;
  default:
    fuzz_jpx(data + 3, size - 3, data[1], data[2]);
    break;
  }
  return 0;
}
