/*
 * fuzz_picture.c - a file by its first bytes, and as a picture.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/image.h"
#include "lib/job/mime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  size_t look = size < DX_MIME_LOOK_BYTES ? size : DX_MIME_LOOK_BYTES;
  char *first = malloc(look > 0 ? look : 1);
  int fd = fuzz_file(data, size);

  HOLDS(first != NULL);
  memcpy(first, data, look);
  (void)dx_mime_of_bytes(first, look);
  (void)image_jpeg_is_whole(fd);
  (void)image_png_is_whole(fd);
  (void)image_gif_count(fd);
  (void)image_pnm_count(fd);
  (void)close(fd);
  free(first);
  return 0;
}
