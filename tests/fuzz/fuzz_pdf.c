/*
 * fuzz_pdf.c - a PDF as the filters take it, in this process. If it is
 * accepted, so is what is written, which has the same pages and does not change
 * when it is written again.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/pdf.h"

static void check_same(int a, int b)
{
  struct stat st[2];
  char *bytes[2];

  HOLDS(fstat(a, &st[0]) == 0 && fstat(b, &st[1]) == 0 &&
        st[0].st_size == st[1].st_size);
  bytes[0] = mmap(NULL, (size_t)st[0].st_size, PROT_READ, MAP_PRIVATE, a, 0);
  bytes[1] = mmap(NULL, (size_t)st[1].st_size, PROT_READ, MAP_PRIVATE, b, 0);
  HOLDS(bytes[0] != MAP_FAILED && bytes[1] != MAP_FAILED &&
        memcmp(bytes[0], bytes[1], (size_t)st[0].st_size) == 0);
  (void)munmap(bytes[0], (size_t)st[0].st_size);
  (void)munmap(bytes[1], (size_t)st[1].st_size);
}

static void rewrite(int fd, bool is_accepted)
{
  int out = fuzz_file("", 0), again = fuzz_file("", 0);
  int spare = fuzz_file("", 0);
  struct pdf_task task = {.in_fd = fd, .out_fd = out, .spare_fd = spare};
  struct pdf_done done = {0}, done_again = {0};

  if (pdf_rewrite(&task, &done) == DX_REASON_NONE && is_accepted) {
    HOLDS(done.pages > 0);
    task = (struct pdf_task){.in_fd = out, .out_fd = again};
    HOLDS(pdf_check(&task, &done_again) == DX_REASON_NONE &&
          done_again.pages == done.pages);
    HOLDS(pdf_rewrite(&task, &done_again) == DX_REASON_NONE &&
          done_again.pages == done.pages);
    check_same(out, again);
  }
  (void)close(out);
  (void)close(again);
  (void)close(spare);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  int fd = fuzz_file(data, size), spare = fuzz_file("", 0);
  struct pdf_task task = {.in_fd = fd, .spare_fd = spare};
  struct pdf_done done;

  rewrite(fd, pdf_check(&task, &done) == DX_REASON_NONE);
  (void)close(fd);
  (void)close(spare);
  return 0;
}
