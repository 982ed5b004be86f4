/*
 * fuzz_text.c - plain text with the options of its job, or values of fields, as
 * PDF pages. What is written is accepted by what sends it, with the same pages,
 * and is the same the second time.
 *
 * The first line is the options, or "values"; after that, each value has a line
 * of numbers and a line of text.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/options.h"
#include "filter/pdf.h"
#include "filter/text.h"

#define PPD "ppd/docextract.ppd" /* of the build directory */
#define VALUES_MAX 4
#define NUMBER_MAX 20000000 /* of flatten.c: a box is at most as wide */

/* Of two files with what was written from the same. */
static void check_written(int fd, int again, int pages)
{
  static const struct options all;
  int out = fuzz_file("", 0), spare = fuzz_file("", 0);
  struct pdf_task task = {.in_fd = fd,
                          .out_fd = out,
                          .spare_fd = spare,
                          .options = &all,
                          .most_bytes = 1 << 20};
  struct pdf_done done = {0};
  struct stat st[2];
  void *bytes[2];

  HOLDS(fstat(fd, &st[0]) == 0 && fstat(again, &st[1]) == 0 &&
        st[0].st_size == st[1].st_size);
  bytes[0] = mmap(NULL, (size_t)st[0].st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  bytes[1] =
      mmap(NULL, (size_t)st[1].st_size, PROT_READ, MAP_PRIVATE, again, 0);
  HOLDS(bytes[0] != MAP_FAILED && bytes[1] != MAP_FAILED &&
        memcmp(bytes[0], bytes[1], (size_t)st[0].st_size) == 0);
  (void)munmap(bytes[0], (size_t)st[0].st_size);
  (void)munmap(bytes[1], (size_t)st[1].st_size);
  HOLDS(dup2(out, STDOUT_FILENO) >= 0); /* what isolate.c does */
  HOLDS(pdf_rewrite(fd, true, &task, &done) == DX_REASON_NONE &&
        done.pages == pages);
  HOLDS(fflush(stdout) == 0);
  (void)close(out);
  (void)close(spare);
}

static enum dx_reason print_text(struct fuzz_input in, const char *line, int fd,
                                 struct pdf_done *done)
{
  struct options options;

  if (options_read(PPD, line, &options) != NULL || options.text.wrong != NULL)
    return DX_REASON_OPTIONS;
  HOLDS(docextract_text.open_encoding(options.text.encoding));
  return docextract_text.to_pdf(in.at, in.left, &options, fd, done);
}

static enum dx_reason print_values(struct fuzz_input in, int fd,
                                   struct pdf_done *done)
{
  struct text_value values[VALUES_MAX] = {{0}};
  enum dx_reason reason;
  size_t count = 0, i;

  for (; in.left > 0 && count < VALUES_MAX; count++) {
    struct text_value *v = &values[count];
    double n[5] = {0};
    char *line = fuzz_line(&in);

    (void)sscanf(line, "%lf %lf %lf %lf %lf %d %d", &n[0], &n[1], &n[2], &n[3],
                 &n[4], &v->comb, &v->align);
    free(line);
    for (i = 0; i < 5; i++)
      n[i] = n[i] >= 0 && n[i] <= NUMBER_MAX ? n[i] : 0;
    v->width = n[0];
    v->height = n[1];
    v->size = n[2];
    v->multiline = n[3] > 0;
    v->rgb[0] = n[4] < 1 ? n[4] : 1;
    v->align = v->align >= 0 && v->align <= 2 ? v->align : 0;
    v->comb = v->multiline ? 0 : v->comb;
    v->utf8 = fuzz_line(&in);
  }
  reason = docextract_text.values_to_pdf(values, count, fd, done);
  HOLDS(reason != DX_REASON_NONE || done->pages == (int)count);
  for (i = 0; i < count; i++)
    free((void *)(uintptr_t)values[i].utf8);
  return count > 0 ? reason : DX_REASON_EMPTY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  int fd = fuzz_file("", 0), again = fuzz_file("", 0);
  char *line = fuzz_line(&in);
  bool values = strcmp(line, "values") == 0;
  struct pdf_done done, done_again;
  static bool has_fonts;
  enum dx_reason reason;

  has_fonts = has_fonts || docextract_text.open_fonts();
  HOLDS(has_fonts);
  reason =
      values ? print_values(in, fd, &done) : print_text(in, line, fd, &done);
  HOLDS(reason != DX_REASON_TROUBLE);
  if (reason == DX_REASON_NONE) {
    reason = values ? print_values(in, again, &done_again)
                    : print_text(in, line, again, &done_again);
    HOLDS(reason == DX_REASON_NONE && done.pages > 0 &&
          done.pages == done_again.pages);
    check_written(fd, again, done.pages);
  }
  free(line);
  (void)close(fd);
  (void)close(again);
  return 0;
}
