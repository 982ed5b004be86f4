/*
 * check.c - todocextract-check, the filter that the driver names as
 * cupsPreFilter for the types that CUPS converts to PDF: it decides whether a
 * document is complete, because the converters accept a part as the whole.
 *
 * A complete raster is passed on unchanged to rastertopdf. PostScript is
 * converted here; the PDF and all refusals are handed over to todocextract
 * (handover.h), and the converter in between gets an empty document, of which
 * it makes an empty one. If cupsd has not started this process, the PDF is
 * written to stdout, and a refusal to stderr.
 *
 * The document is parsed in processes of their own (isolate.h, postscript.h).
 * Exit status: 1 for invalid arguments, a broken stdout, or if the backend
 * stores no documents.
 */
#include <cups/sidechannel.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/document.h"
#include "filter/handover.h"
#include "filter/isolate.h"
#include "filter/options.h"
#include "filter/postscript.h"
#include "filter/raster.h"
#include "filter/receive.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"

struct check {
  const struct dx_service *service;
  struct options options;
  int in_fd; /* the document */
  char seal[DX_SEAL_BYTES];
  enum dx_reason reason;
  struct pdf_done done;
};

/* Passes a file on to the converter. Returns the exit status. */
static int pass_on(int fd)
{
  static char bytes[DX_STREAM_BYTES];
  struct dx_err err;
  ssize_t n;

  if (lseek(fd, 0, SEEK_SET) < 0)
    return 1;
  while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
    if (n > 0 && dx_fs_write_all(STDOUT_FILENO, bytes, (size_t)n, "document",
                                 &err) != DX_OK)
      return 1;
  return n == 0 ? 0 : 1;
}

/* cupsd gives the first filter of a document its file, which is not copied. */
static enum dx_reason check_receive(struct check *check, const char *path)
{
  struct dx_service service = *check->service;
  struct stat st;
  int64_t length;
  int from;

  if (path != NULL) {
    check->in_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (check->in_fd >= 0 && fstat(check->in_fd, &st) == 0 &&
        S_ISREG(st.st_mode))
      return DX_REASON_NONE;
  }
  from = path != NULL ? check->in_fd : STDIN_FILENO;
  check->in_fd = filter_temp_file();
  service.max_document_bytes = INT64_MAX; /* it applies to what is sent */
  return filter_receive(&service, from, check->in_fd, &length);
}

/* ---- the end ---- */

/* Hands a refusal over. Returns the exit status. */
static int hand_refusal(const struct check *check)
{
  struct dx_temp temp = DX_TEMP_NONE;
  int dir;
  bool ok;

  dx_log(DX_LOG_DEBUG, "todocextract-check: %s, page %d: %s",
         dx_reason_word(check->reason), check->done.page, check->done.why);
  if (check->seal[0] == '\0')
    return 1;
  dir = open(filter_temp_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ok = dir >= 0 && handover_begin(&temp, dir, check->seal) &&
       handover_give(&temp, check->reason, &check->done);
  if (!ok)
    dx_log(DX_LOG_DEBUG, "todocextract-check: cannot write to '%s'",
           filter_temp_dir());
  if (dir >= 0)
    (void)close(dir);
  return 0;
}

/* ---- PostScript ---- */

static bool was_stopped(void)
{
  sigset_t pending;

  return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

/* Converts it to a file that is handed over, or written to stdout. */
static int check_postscript(struct check *check, size_t start)
{
  const struct dx_service *service = check->service;
  struct pdf_task task = {.type = DX_MIME_PDF,
                          .in_fd = check->in_fd,
                          .spare_fd = filter_temp_file(),
                          .options = &check->options,
                          .sandbox_optional =
                              service->sandbox == DX_SANDBOX_IS_OPTIONAL};
  int dir = open(filter_temp_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct dx_temp temp = DX_TEMP_NONE;
  int status = 0;
  sigset_t old;

  check->reason = DX_REASON_TROUBLE;
  isolate_block(&old); /* until no file is left behind */
  if (dir >= 0 && task.spare_fd >= 0 &&
      handover_begin(&temp, dir, check->seal)) {
    task.out_fd = temp.fd;
    check->reason =
        postscript_to_pdf(&task, start, filter_temp_dir(),
                          service->filter_time_limit_ms, &check->done);
    if (check->reason == DX_REASON_NONE && check->seal[0] == '\0')
      status = pass_on(temp.fd);
    else if (check->reason == DX_REASON_NONE && !was_stopped() &&
             !handover_give(&temp, DX_REASON_NONE, &check->done))
      check->reason = DX_REASON_TROUBLE;
  }
  dx_temp_discard(&temp);
  if (dir >= 0)
    (void)close(dir);
  (void)sigprocmask(SIG_SETMASK, &old, NULL);
  return check->reason == DX_REASON_NONE ? status : hand_refusal(check);
}

/* ---- all types ---- */

static int check_run(struct check *check)
{
  static char bytes[POSTSCRIPT_LOOK_BYTES];
  struct pdf_task task = {.type = "",
                          .in_fd = check->in_fd,
                          .options = &check->options,
                          .sandbox_optional = check->service->sandbox ==
                                              DX_SANDBOX_IS_OPTIONAL};
  ssize_t n = pread(check->in_fd, bytes, sizeof(bytes), 0);
  size_t len = n > 0 ? (size_t)n : 0, start;

  if (postscript_begins(bytes, len, &start))
    return check_postscript(check, start);
  if (raster_begins(bytes, len)) {
    check->reason =
        lseek(check->in_fd, 0, SEEK_SET) < 0
            ? DX_REASON_TROUBLE
            : run_isolated(raster_check, &task,
                           check->service->filter_time_limit_ms, &check->done);
    return check->reason == DX_REASON_NONE ? pass_on(check->in_fd)
                                           : hand_refusal(check);
  }
  /* A client may declare any type. */
  if (len == 0 || document_begins_as(DX_MIME_PDF, bytes, len))
    return pass_on(check->in_fd);
  check->reason = DX_REASON_TYPE;
  return hand_refusal(check);
}

int main(int argc, char *argv[])
{
  struct check check = {.in_fd = -1};
  struct dx_config *config = NULL;
  int status;

  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("todocextract-check %s\n", PACKAGE_VERSION);
    return 0;
  }
  if (argc != 6 && argc != 7) {
    (void)fprintf(stderr,
                  "Usage: todocextract-check job user title copies options "
                  "[file]\n"
                  "       todocextract-check --version\n");
    return 1;
  }
  filter_begin(argc, argv);
  check.service = filter_service(&config);
  (void)options_read(getenv("PPD"), argv[5], &check.options);
  check.reason = check_receive(&check, argc == 7 ? argv[6] : NULL);
  if (!dx_seal_look(CUPS_SC_FD, DX_SEAL_WAIT_MS, check.seal)) {
    dx_log(DX_LOG_DEBUG, "todocextract-check: the backend stores no documents");
    status = 1; /* cupsd keeps them */
  } else {
    status = check.reason != DX_REASON_NONE ? hand_refusal(&check)
                                            : check_run(&check);
  }
  dx_config_free(&config);
  return status;
}
