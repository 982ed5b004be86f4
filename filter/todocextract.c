/*
 * todocextract.c - the filter: one document of a print job becomes one entry
 * of a bundle (doc/architecture.md, "The way of a document").
 *
 * It talks to nobody but cupsd, and knows nothing of the service. Whatever
 * goes wrong becomes an entry with a reason, so that the n-th entry is always
 * the n-th document; the backend tells the person. Only wrong arguments and a
 * broken stdout end with 1. A document is never whole in memory, and the
 * files it lies in have no names: nothing is left behind, however this ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/image.h"
#include "filter/isolate.h"
#include "filter/options.h"
#include "filter/pdf.h"
#include "filter/stage.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/config/config.h"
#include "lib/job/bundle.h"
#include "lib/job/filename.h"

#define PDF_HEADER_WITHIN 1024 /* bytes; what readers of PDF agree on */

enum type { TYPE_PDF, TYPE_JPEG, TYPE_PNG, TYPE_UNKNOWN };

static const char *const mime[] = {
    [TYPE_PDF] = "application/pdf",
    [TYPE_JPEG] = "image/jpeg",
    [TYPE_PNG] = "image/png",
    [TYPE_UNKNOWN] = "",
};

struct job {
  const char *title;
  const char *option_text;
  const struct dx_service *service; /* NULL: the configuration is not usable */
  int in_fd;                        /* the document as it came */
  int out_fd;                       /* as it goes; in_fd if nothing changes */
  struct dx_entry entry;
};

/* `text` NULL: the usual one. */
static void refuse(struct dx_entry *entry, enum dx_reason reason,
                   const char *text)
{
  entry->kind = DX_KIND_REFUSED;
  entry->reason = reason;
  (void)snprintf(entry->reason_text, sizeof(entry->reason_text), "%s",
                 text != NULL ? text : dx_reason_text(reason));
}

/* CONTENT_TYPE says what the program sent, the bytes what is here now. */
static enum type type_of(int fd)
{
  char bytes[PDF_HEADER_WITHIN];
  ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

  if (n >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0)
    return TYPE_JPEG;
  if (n >= 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0)
    return TYPE_PNG;
  if (n > 0 && memmem(bytes, (size_t)n, "%PDF-", 5) != NULL)
    return TYPE_PDF;
  return TYPE_UNKNOWN;
}

/* A type as RFC 6838 allows it, or nothing. */
static void set_origin(struct dx_entry *entry, const char *type)
{
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789!#$&-^_.+/";

  if (type != NULL && strlen(type) < sizeof(entry->origin) &&
      strspn(type, allowed) == strlen(type))
    (void)snprintf(entry->origin, sizeof(entry->origin), "%s", type);
}

static int64_t most_bytes(const struct job *job)
{
  return job->service != NULL ? job->service->max_document_bytes : INT64_MAX;
}

static enum dx_reason process_pdf(struct job *job, int every,
                                  const char *separator)
{
  struct pdf_task task = {job->in_fd, -1, every, separator};
  struct pdf_done done = {0};
  enum dx_reason reason;

  task.out_fd = stage_unnamed_file();
  if (task.out_fd < 0)
    return DX_REASON_TROUBLE;
  job->out_fd = task.out_fd;
  reason =
      run_apart(pdf_rewrite, &task, stage_time_limit_ms(job->service), &done);
  job->entry.pages = done.pages;
  if (done.repaired) /* shown in the queue's window */
    (void)fputs("WARNING: A damaged document was repaired; check the data "
                "extracted from it\n",
                stderr);
  return reason;
}

static enum dx_reason process_image(struct job *job, bool whole)
{
  job->out_fd = job->in_fd;
  job->entry.pages = 1;
  return whole ? DX_REASON_NONE : DX_REASON_DAMAGED;
}

/* The entry's length and checksum, from the bytes that go. */
static bool measure(struct job *job)
{
  struct dx_sha256 *sha = dx_sha256_new();
  char bytes[DX_STREAM_BYTES];
  bool ok = sha != NULL;
  ssize_t n = 1;

  while (ok && n > 0) {
    n = pread(job->out_fd, bytes, sizeof(bytes), (off_t)job->entry.length);
    if (n < 0 && errno == EINTR) {
      n = 1;
      continue;
    }
    ok = n >= 0 && dx_sha256_add(sha, bytes, (size_t)n);
    if (ok)
      job->entry.length += n;
  }
  ok = ok && dx_sha256_end(sha, job->entry.sha256);
  dx_sha256_free(&sha);
  return ok;
}

/* The limits are the administrator's: the person is told whose they are. */
static void refuse_large(struct job *job)
{
  char size[DX_SIZE_TEXT_BYTES], text[DX_REASON_BYTES];

  (void)snprintf(text, sizeof(text), "it is larger than MaxDocumentSize (%s)",
                 dx_size_text(most_bytes(job), size));
  refuse(&job->entry, DX_REASON_TOO_LARGE, text);
}

static void refuse_slow(struct job *job)
{
  char text[DX_REASON_BYTES];

  (void)snprintf(text, sizeof(text),
                 "processing it took longer than FilterTimeLimit (%lld s)",
                 (long long)(stage_time_limit_ms(job->service) / 1000));
  refuse(&job->entry, DX_REASON_TOO_SLOW, text);
}

static void refuse_as(struct job *job, enum dx_reason reason)
{
  if (reason == DX_REASON_TOO_SLOW)
    refuse_slow(job);
  else if (reason == DX_REASON_NO_SEPARATOR)
    refuse(&job->entry, reason,
           "the SeparatorPage must be a readable PDF with exactly one page");
  else if (reason != DX_REASON_NONE)
    refuse(&job->entry, reason, NULL);
  else if (job->entry.length > most_bytes(job))
    refuse_large(job);
}

/* A document with known type and options. */
static void process_document(struct job *job, enum type type, int every)
{
  enum dx_reason reason = DX_REASON_TYPE;
  const char *separator =
      job->service != NULL ? job->service->separator_page : NULL;

  if (type == TYPE_PDF && every > 0 && separator == NULL) {
    refuse(&job->entry, DX_REASON_NO_SEPARATOR,
           job->service != NULL ? NULL
                                : "separator pages were requested, but "
                                  "docextract.conf is not valid");
    return;
  }
  if (type == TYPE_PDF)
    reason = process_pdf(job, every, separator);
  else if (type == TYPE_JPEG)
    reason = process_image(job, image_jpeg_is_whole(job->in_fd));
  else if (type == TYPE_PNG)
    reason = process_image(job, image_png_is_whole(job->in_fd));
  if (reason == DX_REASON_NONE && !measure(job))
    reason = DX_REASON_TROUBLE;
  refuse_as(job, reason);
}

/* Nothing came of a PDF: pdftopdf left nothing of it. */
static const char *why_empty(const struct dx_entry *entry)
{
  return strcmp(entry->origin, mime[TYPE_PDF]) == 0
             ? "no pages are left; the selected pages do not exist, or it "
               "cannot "
               "be read"
             : NULL;
}

/* Fills in the whole entry. */
static void process(struct job *job, bool kept, int64_t length)
{
  const char *file_type = getenv("CUPS_FILETYPE");
  struct dx_entry *entry = &job->entry;
  struct options options;
  const char *wrong;
  enum type type;

  wrong = options_read(getenv("PPD"), job->option_text, &options);
  entry->together = options.together;
  set_origin(entry, getenv("CONTENT_TYPE"));
  if (file_type != NULL && strcmp(file_type, "job-sheet") == 0) {
    entry->kind = DX_KIND_SHEET;
    return;
  }
  type = kept ? type_of(job->in_fd) : TYPE_UNKNOWN;
  (void)snprintf(entry->type, sizeof(entry->type), "%s", mime[type]);
  dx_filename_from_title(job->title, mime[type], entry->name);
  if (!kept)
    refuse(entry, DX_REASON_TROUBLE,
           "it could not be stored in the temporary directory");
  else if (length > most_bytes(job))
    refuse_large(job);
  else if (length == 0)
    refuse(entry, DX_REASON_EMPTY, why_empty(entry));
  else if (wrong != NULL)
    refuse(entry, DX_REASON_TROUBLE, wrong);
  else
    process_document(job, type, options.every);
  if (entry->kind == DX_KIND_REFUSED) {
    entry->pages = 0;
    entry->length = 0;
  }
}

/* Reads, works, writes; the exit status. */
static int run(struct job *job, int from)
{
  struct dx_config *config = NULL;
  struct dx_err err;
  int64_t length;
  bool kept;

  job->in_fd = stage_unnamed_file();
  job->service = stage_service(&config);
  kept = stage_receive(from, job->in_fd, most_bytes(job), &length);
  process(job, kept, length);
  dx_config_free(&config);
  dx_log(DX_LOG_DEBUG, "todocextract: %lld bytes in; out: %s%s%s, %lld bytes",
         (long long)length, dx_kind_word(job->entry.kind),
         job->entry.reason != DX_REASON_NONE ? " " : "",
         dx_reason_word(job->entry.reason), (long long)job->entry.length);
  if (dx_bundle_write(STDOUT_FILENO, &job->entry, job->out_fd, &err) == DX_OK)
    return 0;
  dx_log(DX_LOG_DEBUG, "todocextract: %s", err.text);
  return 1;
}

/* Only our backend understands a bundle. Any other would pass it on, to be
 * printed as text, or as whatever it looks like. */
static bool goes_elsewhere(void)
{
  const char *uri = getenv("DEVICE_URI");

  return uri != NULL && strstr(uri, STAGE_SCHEME) == NULL;
}

/* Reads all, as the other stages expect it, and lets cupsd read the words: it
 * has its own for a filter that ended. */
static int refuse_queue(int from)
{
  int64_t length;

  (void)fputs("ERROR: This driver works only with docextract:// devices; use "
              "'-m everywhere' to add a queue for a shared printer\n",
              stderr);
  (void)stage_receive(from, -1, 0, &length);
  return 1;
}

int main(int argc, char *argv[])
{
  struct job job = {.in_fd = -1, .out_fd = -1};
  int from = STDIN_FILENO;

  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("todocextract %s (qpdf %s)\n", PACKAGE_VERSION,
           pdf_library_version());
    return 0;
  }
  if (argc != 6 && argc != 7) {
    (void)fputs("Usage: todocextract job user title copies options [file]\n"
                "       todocextract --version\n",
                stderr);
    return 1;
  }
  stage_set_up();
  job.title = argv[3];
  job.option_text = argv[5];
  if (argc == 7)
    from = open(argv[6], O_RDONLY | O_CLOEXEC);
  if (goes_elsewhere())
    return refuse_queue(from);
  return run(&job, from);
}
