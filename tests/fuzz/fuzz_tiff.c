/*
 * fuzz_tiff.c - a TIFF as the filter takes it, in this process. The PDF that is
 * made of it is accepted, with the same number of pages.
 */
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

#include "filter/options.h"
#include "filter/tiff.h"

#define MOST_BYTES 1048576

static void check_pdf(int fd, const struct pdf_done *done)
{
  int spare = fuzz_file("", 0);
  struct pdf_task task = {.in_fd = fd, .spare_fd = spare};
  struct pdf_done again = {0};

  HOLDS(done->pages > 0);
  HOLDS(pdf_check(&task, &again) == DX_REASON_NONE && !again.repaired &&
        again.pages == done->pages);
  (void)close(spare);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const struct options all = {0};
  int fd = fuzz_file(data, size), out = fuzz_file("", 0);
  struct pdf_task task = {
      .in_fd = fd, .out_fd = out, .options = &all, .most_bytes = MOST_BYTES};
  struct pdf_done done = {0};

  if (tiff_to_pdf(&task, &done) == DX_REASON_NONE)
    check_pdf(out, &done);
  (void)close(fd);
  (void)close(out);
  return 0;
}
