/*
 * fuzz_raster.c - a document as todocextract-check reads it: a raster, or the
 * comments of PostScript.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/postscript.h"
#include "filter/raster.h"

#define ZEROS 2000 /* more than a header */

static enum dx_reason
check(enum dx_reason (*work)(const struct pdf_task *, struct pdf_done *),
      const void *bytes, size_t size, size_t start, struct pdf_done *done)
{
  struct pdf_task task = {.in_fd = fuzz_file(bytes, size)};
  enum dx_reason reason;

  *done = (struct pdf_done){0};
  HOLDS(lseek(task.in_fd, (off_t)start, SEEK_SET) == (off_t)start);
  reason = work(&task, done);
  HOLDS(reason < DX_REASON_COUNT);
  HOLDS(reason != DX_REASON_NONE || done->pages > 0);
  HOLDS(memchr(done->why, '\0', sizeof(done->why)) != NULL);
  (void)close(task.in_fd);
  return reason;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct pdf_done done, other;
  size_t start;
  char *more;

  if (postscript_begins(data, size, &start))
    (void)check(postscript_check, data, size, start, &done);
  if (!raster_begins(data, size) ||
      check(raster_check, data, size, 0, &done) != DX_REASON_NONE)
    return 0;
  more = calloc(1, size + ZEROS);
  HOLDS(more != NULL);
  memcpy(more, data, size);
  HOLDS(check(raster_check, more, size + ZEROS, 0, &other) == DX_REASON_NONE);
  HOLDS(done.pages == other.pages);
  free(more);
  while (size > 0 && data[size - 1] == 0)
    size--; /* may be padding */
  HOLDS(check(raster_check, data, size - 1, 0, &other) != DX_REASON_NONE);
  return 0;
}
