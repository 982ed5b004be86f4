/*
 * fuzz_document.c - a document as the filter takes it, in this process. If it
 * is accepted, so is what is sent, which has the same pages and does not change
 * when it is sent again. Text has a target of its own.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/document.h"
#include "filter/options.h"
#include "filter/text.h"

#define MOST_BYTES 1048576

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

static enum dx_reason convert(int fd, const char *type, int out,
                              struct pdf_done *done)
{
  static const struct options all;
  static bool has_fonts;
  int spare = fuzz_file("", 0);
  struct pdf_task task = {.type = type,
                          .in_fd = fd,
                          .out_fd = out,
                          .spare_fd = spare,
                          .options = &all,
                          .text = &docextract_text,
                          .most_bytes = MOST_BYTES};
  enum dx_reason reason;

  *done = (struct pdf_done){0};
  has_fonts = has_fonts || docextract_text.open_fonts();
  HOLDS(has_fonts);
  HOLDS(dup2(out, STDOUT_FILENO) >= 0); /* what isolate.c does */
  reason = document_convert(&task, done);
  HOLDS(fflush(stdout) == 0);
  (void)close(spare);
  return reason;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  int fd = fuzz_file(data, size), out = fuzz_file("", 0);
  int again = fuzz_file("", 0);
  const char *type = document_type_of(fd);
  struct pdf_done done, done_again;

  if (type != NULL && strcmp(type, DX_MIME_TEXT) != 0 &&
      convert(fd, type, out, &done) == DX_REASON_NONE) {
    HOLDS(done.pages > 0);
    type = document_sent_as(type);
    HOLDS(strcmp(document_type_of(out), type) == 0);
    HOLDS(convert(out, type, again, &done_again) == DX_REASON_NONE &&
          done_again.pages == done.pages);
    check_same(out, again);
  }
  (void)close(fd);
  (void)close(out);
  (void)close(again);
  return 0;
}
