/*
 * checkdocextract.c - the filter before pdftopdf and imagetopdf: a PDF that
 * cannot be sent is replaced by a note that says why, a GIF or PNM with several
 * images by nothing; every other document is passed on unchanged.
 *
 * On a PDF that it cannot read, pdftopdf exits without output, and cupsd keeps
 * its error as the job's message, whatever is reported later. It also repairs
 * silently, whether pages are lost or not. So the PDF is checked before it;
 * todocextract, after pdftopdf, turns the note into a refusal. The PDF is
 * passed on unchecked only if there is no room for a copy to check. Nothing is
 * stored.
 *
 * imagetopdf converts the first image of a GIF or PNM and drops the others
 * silently. Without any input it exits without output; todocextract knows what
 * that means.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/isolate.h"
#include "filter/common.h"
#include "filter/image.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/job/mime.h"
#include "lib/job/sentence.h"

/* A file that can be read more than once: the spooled one, or a copy. Without
 * room for a copy, it is stdin itself, which is then passed on unchecked. */
static int input(const char *path, enum dx_reason *ret_reason)
{
  struct stat st;
  int64_t length;
  int fd;

  if (path != NULL)
    return open(path, O_RDONLY | O_CLOEXEC);
  if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
    return STDIN_FILENO;
  fd = filter_temp_file();
  if (fd < 0)
    return STDIN_FILENO;
  if (!filter_receive(STDIN_FILENO, fd, INT64_MAX, &length))
    *ret_reason = DX_REASON_TROUBLE; /* half a PDF could be "repaired" */
  return fd;
}

static enum dx_reason check(int fd)
{
  struct dx_config *config = NULL;
  const struct dx_service *service = filter_service(&config);
  struct pdf_task task = {.in_fd = fd, .spare_fd = filter_temp_file()};
  struct pdf_done done = {0};
  struct stat st;
  enum dx_reason reason = DX_REASON_NONE;

  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    reason =
        run_isolated(pdf_check, &task, filter_time_limit_ms(service), &done);
  dx_config_free(&config);
  if (done.repaired)
    filter_warn_of_repair();
  return reason;
}

/* -1 for what is neither a GIF nor a PNM, or could also be read as a PDF. */
static int count_images(int fd)
{
  unsigned char bytes[DX_MIME_LOOK_BYTES] = "";
  ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

  if (n < 4 || dx_mime_of_bytes(bytes, (size_t)n) != NULL)
    return -1;
  if (memcmp(bytes, "GIF8", 4) == 0)
    return image_gif_count(fd);
  if (bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6')
    return image_pnm_count(fd);
  return -1;
}

/* What the job shows, unless cupsd notices first that imagetopdf has failed. */
static int refuse_images(void)
{
  (void)fprintf(stderr, "ERROR: " DX_SAY_REFUSED "\n",
                dx_reason_text(DX_REASON_IMAGES));
  return 0;
}

/* A file in memory; -1 on failure. */
static int make_note(enum dx_reason reason)
{
  int fd = memfd_create("note", MFD_CLOEXEC);

  dx_log(DX_LOG_DEBUG, "checkdocextract: refused %s", dx_reason_word(reason));
  return fd >= 0 && pdf_write_note(fd, reason) ? fd : -1;
}

static bool send_all(int fd)
{
  char bytes[65536];
  ssize_t n;

  (void)lseek(fd, 0, SEEK_SET);
  do {
    n = read(fd, bytes, sizeof(bytes));
    if (n > 0 && dx_fs_write_all(STDOUT_FILENO, bytes, (size_t)n, "document",
                                 NULL) != DX_OK)
      return false;
  } while (n > 0 || (n < 0 && errno == EINTR));
  return n == 0;
}

int main(int argc, char *argv[])
{
  enum dx_reason reason = DX_REASON_NONE;
  int fd, status, images;

  if (!filter_arguments(argc, argv, "checkdocextract", &status))
    return status;
  filter_set_up(argc, argv);
  fd = input(argc == 7 ? argv[6] : NULL, &reason);
  images = count_images(fd);
  if (images == 0 || images > 1)
    return refuse_images();
  if (images < 0 && reason == DX_REASON_NONE)
    reason = check(fd);
  if (reason != DX_REASON_NONE)
    fd = make_note(reason);
  return send_all(fd) ? 0 : 1;
}
