/*
 * fuzz_same.c - a PDF is sent with the words and the look that its pages have
 * when they are printed, or refused. tests/helper/same.h says how that is
 * compared, and which fields may differ.
 *
 * libqpdf rewrites the input first, with its streams as they are: poppler
 * and libqpdf repair a broken structure differently, which says nothing about
 * what the filter removes.
 *
 * poppler runs in a process of its own: it is not tested here, so what it
 * cannot cope with is no finding.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>
#include <qpdf/qpdf-c.h>

#include "filter/options.h"
#include "filter/pdf.h"
#include "filter/text.h"
#include "tests/helper/same.h"

#define PAGES_MAX 10
#define POPPLER_S 10
#define DIFFERENT 77 /* exit status */

static GLogWriterOutput nothing(GLogLevelFlags level, const GLogField *fields,
                                gsize count, gpointer ctx)
{
  (void)level, (void)fields, (void)count, (void)ctx;
  return G_LOG_WRITER_HANDLED;
}

/* poppler does not check this number. */
static void set_count(qpdf_data pdf, int pages)
{
  qpdf_oh root = qpdf_get_root(pdf);
  qpdf_oh tree = qpdf_oh_get_key(pdf, root, "/Pages");
  qpdf_oh count = qpdf_oh_new_integer(pdf, pages);

  if (qpdf_oh_is_dictionary(pdf, tree))
    qpdf_oh_replace_key(pdf, tree, "/Count", count);
  qpdf_oh_release(pdf, count);
  qpdf_oh_release(pdf, tree);
  qpdf_oh_release(pdf, root);
}

/* A file with the input as libqpdf writes it; -1 if it cannot repair it. */
static int normal_file(const uint8_t *data, size_t size)
{
  qpdf_data pdf = qpdf_init();
  int fd = -1, pages;

  qpdf_silence_errors(pdf);
  qpdf_set_suppress_warnings(pdf, QPDF_TRUE);
  if (qpdf_read_memory(pdf, "input", (const char *)data, size, NULL) <
      QPDF_ERRORS) {
    pages = qpdf_get_num_pages(pdf);
    if (pages > 0 && pages <= PAGES_MAX &&
        qpdf_init_write_memory(pdf) < QPDF_ERRORS) {
      qpdf_set_preserve_encryption(pdf, QPDF_FALSE);
      qpdf_set_stream_data_mode(pdf, qpdf_s_preserve);
      qpdf_set_static_ID(pdf, QPDF_TRUE);
      set_count(pdf, pages);
      if (qpdf_write(pdf) < QPDF_ERRORS)
        fd = fuzz_file(qpdf_get_buffer(pdf), qpdf_get_buffer_length(pdf));
    }
  }
  qpdf_cleanup(&pdf);
  return fd;
}

static struct same_bytes mapped(int fd)
{
  struct same_bytes bytes = {0};
  struct stat st;

  HOLDS(fstat(fd, &st) == 0 && st.st_size > 0);
  bytes.len = (size_t)st.st_size;
  bytes.bytes = mmap(NULL, bytes.len, PROT_READ, MAP_PRIVATE, fd, 0);
  HOLDS(bytes.bytes != MAP_FAILED);
  return bytes;
}

static void compare(int before_fd, int after_fd)
{
  struct same_bytes before = mapped(before_fd), after = mapped(after_fd);
  struct same_result result;
  enum same same;
  pid_t pid = fork();
  int status;

  HOLDS(pid >= 0);
  if (pid == 0) {
    (void)alarm(POPPLER_S);
    g_log_set_writer_func(nothing, NULL, NULL);
    same = same_pages(before, after, NULL, 0, PAGES_MAX, &result);
    if (same == SAME || same == SAME_UNREADABLE)
      _exit(0);
    fprintf(stderr, "%s: page %d: %s\n", same_word(same), result.page,
            result.why);
    _exit(DIFFERENT);
  }
  while (waitpid(pid, &status, 0) < 0)
    HOLDS(errno == EINTR); /* libFuzzer looks at the clock */
  HOLDS(!WIFEXITED(status) || WEXITSTATUS(status) != DIFFERENT);
  (void)munmap((void *)(uintptr_t)before.bytes, before.len);
  (void)munmap((void *)(uintptr_t)after.bytes, after.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  int fd = normal_file(data, size), out, spare;
  static const struct options all;
  static bool has_fonts;
  struct pdf_done done = {0};
  struct pdf_task task;
  enum dx_reason reason;

  if (fd < 0)
    return 0;
  has_fonts = has_fonts || docextract_text.open_fonts();
  HOLDS(has_fonts);
  out = fuzz_file("", 0);
  spare = fuzz_file("", 0);
  task = (struct pdf_task){.in_fd = fd,
                           .out_fd = out,
                           .spare_fd = spare,
                           .options = &all,
                           .text = &docextract_text};
  HOLDS(dup2(out, STDOUT_FILENO) >= 0); /* what isolate.c does */
  reason = pdf_rewrite(fd, false, &task, &done);
  HOLDS(fflush(stdout) == 0);
  if (reason == DX_REASON_NONE)
    compare(fd, out);
  (void)close(fd);
  (void)close(out);
  (void)close(spare);
  return 0;
}
