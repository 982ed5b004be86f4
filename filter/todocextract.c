/*
 * todocextract.c - the filter: one document of a print job becomes one entry
 * of a bundle (doc/architecture.md, "The way of a document").
 *
 * It does not use the network and knows nothing of the service. Every failure
 * becomes an entry with a reason, so that the n-th entry is always the n-th
 * document; the backend reports it. Only invalid arguments and a broken stdout
 * exit with 1. A document is never held in memory as a whole, and its temporary
 * files have no names: nothing is left behind, however the process ends.
 */
#include <cups/sidechannel.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/common.h"
#include "filter/image.h"
#include "filter/isolate.h"
#include "filter/options.h"
#include "filter/pdf.h"
#include "filter/tiff.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/config/config.h"
#include "lib/job/bundle.h"
#include "lib/job/filename.h"
#include "lib/job/mime.h"
#include "lib/job/sentence.h"

struct job {
  const char *title;
  const char *option_text;
  const struct dx_service *service; /* NULL: no valid configuration */
  int in_fd;                        /* the document as received */
  int out_fd;                       /* as sent; in_fd if unchanged */
  struct dx_entry entry;
};

/* `text` NULL: the default text of the reason. */
static void refuse(struct dx_entry *entry, enum dx_reason reason,
                   const char *text)
{
  entry->kind = DX_KIND_REFUSED;
  entry->reason = reason;
  dx_utf8_copy(entry->reason_text, sizeof(entry->reason_text),
               text != NULL ? text : dx_reason_text(reason));
}

/* The bytes decide, not CONTENT_TYPE, which names what the program sent before
 * any conversion. NULL for a type that cannot be sent. */
static const char *type_of(int fd)
{
  char bytes[DX_MIME_LOOK_BYTES];
  ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

  return n > 0 ? dx_mime_of_bytes(bytes, (size_t)n) : NULL;
}

/* Ignores what is not a valid type (RFC 6838). */
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

static void log_done(const struct pdf_done *done)
{
  if (done->separated)
    dx_log(DX_LOG_DEBUG, "todocextract: already separated, not changed");
  if (done->removed > 0)
    dx_log(DX_LOG_DEBUG, "todocextract: removed %d entries that no page shows",
           done->removed);
  if (done->repaired)
    filter_warn_of_repair();
}

static enum dx_reason process_pdf(struct job *job, int every,
                                  const char *separator)
{
  struct pdf_task task = {.in_fd = job->in_fd,
                          .out_fd = filter_temp_file(),
                          .spare_fd = filter_temp_file(),
                          .every = every};
  struct pdf_done done = {0};
  enum dx_reason reason;

  if (task.out_fd < 0)
    return DX_REASON_TROUBLE;
  if (every > 0)
    task.separator_fd = open(separator, O_RDONLY | O_CLOEXEC);
  if (task.separator_fd < 0)
    return DX_REASON_NO_SEPARATOR;
  job->out_fd = task.out_fd;
  reason = run_isolated(pdf_rewrite, &task, filter_time_limit_ms(job->service),
                        &done);
  job->entry.pages = done.pages;
  log_done(&done);
  return reason;
}

/* Becomes a PDF, and then what any PDF becomes. */
static enum dx_reason process_tiff(struct job *job,
                                   const struct options *options,
                                   const char *separator)
{
  struct pdf_task task = {
      .in_fd = job->in_fd, .options = options, .most_bytes = most_bytes(job)};
  struct pdf_done done;
  enum dx_reason reason;

  task.out_fd = filter_temp_file();
  if (task.out_fd < 0)
    return DX_REASON_TROUBLE;
  reason = run_isolated(tiff_to_pdf, &task, filter_time_limit_ms(job->service),
                        &done);
  job->in_fd = task.out_fd;
  return reason == DX_REASON_NONE ? process_pdf(job, options->every, separator)
                                  : reason;
}

/* An image is one page. */
static enum dx_reason process_image(struct job *job,
                                    const struct options *options, bool whole)
{
  if (!options_choose(options, 1))
    return DX_REASON_NO_PAGES;
  job->out_fd = job->in_fd;
  job->entry.pages = 1;
  return whole ? DX_REASON_NONE : DX_REASON_DAMAGED;
}

/* Sets the length and checksum of the bytes to be sent. */
static bool measure(struct job *job)
{
  struct dx_sha256 *sha = dx_sha256_new();
  static char bytes[DX_STREAM_BYTES]; /* on a stack, each page is probed */
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

/* The limits are the administrator's, so the messages name the directives. */
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
                 "processing it took longer than FilterTimeLimit (%lld s) or "
                 "its job longer than %d times that",
                 (long long)(filter_time_limit_ms(job->service) / 1000),
                 DX_JOB_TIME_FACTOR);
  refuse(&job->entry, DX_REASON_TOO_SLOW, text);
}

/* Whoever submits files without printing can choose another type. */
static const char *why_not_type(bool tiff)
{
  return tiff ? "this kind of TIFF cannot be read; save it as a PDF"
              : "only PDF, JPEG, PNG, and TIFF files can be sent";
}

/* `text` NULL: the default text of the reason. */
static void refuse_as(struct job *job, enum dx_reason reason, const char *text)
{
  if (reason == DX_REASON_TOO_SLOW)
    refuse_slow(job);
  else if (reason == DX_REASON_NO_SEPARATOR)
    refuse(&job->entry, reason,
           "the SeparatorPage must be a readable PDF with exactly one page");
  else if (reason == DX_REASON_TOO_LARGE)
    refuse_large(job);
  else if (reason != DX_REASON_NONE)
    refuse(&job->entry, reason, text);
  else if (job->entry.length > most_bytes(job))
    refuse_large(job);
}

/* A document whose type and options are known. */
static void process_document(struct job *job, const char *type,
                             const struct options *options)
{
  enum dx_reason reason = DX_REASON_TYPE;
  bool tiff = strcmp(type, DX_MIME_TIFF) == 0;
  bool pdf = strcmp(type, DX_MIME_PDF) == 0;
  const char *separator =
      job->service != NULL ? job->service->separator_page : NULL;

  if ((pdf || tiff) && options->every > 0 && separator == NULL) {
    refuse(&job->entry, DX_REASON_NO_SEPARATOR,
           job->service != NULL
               ? "separator pages were selected, but no SeparatorPage is "
                 "configured"
               : "separator pages were selected, but docextract.conf is not "
                 "valid");
    return;
  }
  if (pdf)
    reason = process_pdf(job, options->every, separator);
  else if (tiff)
    reason = process_tiff(job, options, separator);
  else if (strcmp(type, DX_MIME_JPEG) == 0)
    reason = process_image(job, options, image_jpeg_is_whole(job->in_fd));
  else if (strcmp(type, DX_MIME_PNG) == 0)
    reason = process_image(job, options, image_png_is_whole(job->in_fd));
  if (reason == DX_REASON_NONE && !measure(job))
    reason = DX_REASON_TROUBLE;
  refuse_as(job, reason, reason == DX_REASON_TYPE ? why_not_type(tiff) : NULL);
}

/* An empty document that was a PDF: pdftopdf left no pages. One that was a GIF
 * or PNM: checkdocextract passed nothing on. */
static enum dx_reason why_empty(const struct dx_entry *entry)
{
  if (strcmp(entry->origin, DX_MIME_PDF) == 0)
    return DX_REASON_NO_PAGES;
  if (strcmp(entry->origin, "image/gif") == 0 ||
      strncmp(entry->origin, "image/x-portable-", 17) == 0)
    return DX_REASON_IMAGES;
  return DX_REASON_EMPTY;
}

static void refuse_unkept(struct dx_entry *entry)
{
  char text[2 * DX_REASON_BYTES];

  (void)snprintf(text, sizeof(text),
                 "it could not be stored in the temporary directory '%s', "
                 "which must exist and have space",
                 filter_temp_dir());
  refuse(entry, DX_REASON_TROUBLE, text);
}

/* Fills in the whole entry. */
static void process(struct job *job, bool kept, int64_t length)
{
  const char *file_type = getenv("CUPS_FILETYPE");
  struct dx_entry *entry = &job->entry;
  struct options options;
  const char *wrong, *type;

  wrong = options_read(getenv("PPD"), job->option_text, &options);
  entry->together = options.together;
  set_origin(entry, getenv("CONTENT_TYPE"));
  if (file_type != NULL && strcmp(file_type, "job-sheet") == 0) {
    entry->kind = DX_KIND_SHEET;
    return;
  }
  type = kept ? type_of(job->in_fd) : NULL;
  if (type == NULL)
    type = "";
  (void)snprintf(entry->type, sizeof(entry->type), "%s",
                 strcmp(type, DX_MIME_TIFF) == 0 ? DX_MIME_PDF : type);
  dx_filename_from_title(job->title, entry->type, entry->name);
  if (!kept)
    refuse_unkept(entry);
  else if (length > most_bytes(job))
    refuse_large(job);
  else if (length == 0)
    refuse(entry, why_empty(entry), NULL);
  else if (wrong != NULL)
    refuse(entry, DX_REASON_OPTIONS, wrong);
  else
    process_document(job, type, &options);
  if (entry->kind == DX_KIND_REFUSED) {
    entry->pages = 0;
    entry->length = 0;
  }
}

/* Returns the exit status. */
static int run(struct job *job, int from)
{
  struct dx_config *config = NULL;
  struct dx_err err;
  int64_t length;
  bool kept;

  job->in_fd = filter_temp_file();
  job->service = filter_service(&config);
  kept = filter_receive(from, job->in_fd, most_bytes(job), &length);
  process(job, kept, length);
  dx_config_free(&config);
  if (!dx_seal_look(CUPS_SC_FD, DX_SEAL_WAIT_MS, job->entry.seal))
    dx_log(DX_LOG_DEBUG, "todocextract: no side channel to the backend");
  dx_log(DX_LOG_DEBUG, "todocextract: %lld bytes in; out: %s%s%s, %lld bytes",
         (long long)length, dx_kind_word(job->entry.kind),
         job->entry.reason != DX_REASON_NONE ? " " : "",
         dx_reason_word(job->entry.reason), (long long)job->entry.length);
  if (dx_bundle_write(STDOUT_FILENO, &job->entry, job->out_fd, &err) == DX_OK)
    return 0;
  dx_log(DX_LOG_DEBUG, "todocextract: %s", err.text);
  return 1;
}

/* Only our backend understands a bundle; any other would print it as text. */
static bool is_for_other_backend(void)
{
  const char *uri = getenv("DEVICE_URI");

  return uri != NULL && strstr(uri, FILTER_SCHEME) == NULL;
}

/* Reads all of the input before it exits, so that cupsd shows this message and
 * not the one about a filter that failed. The warning is for the log. */
static int refuse_queue(int from)
{
  int64_t length;

  (void)fputs("WARNING: this driver works only with docextract:// devices; "
              "use '-m everywhere' to add a queue for a shared printer\n"
              "ERROR: " DX_SAY_ELSEWHERE "\n",
              stderr);
  (void)filter_receive(from, -1, 0, &length);
  return 1;
}

int main(int argc, char *argv[])
{
  struct job job = {.in_fd = -1, .out_fd = -1};
  int from = STDIN_FILENO, status;

  if (!filter_arguments(argc, argv, "todocextract", &status))
    return status;
  filter_set_up(argc, argv);
  job.title = argv[3];
  job.option_text = argv[5];
  if (argc == 7)
    from = open(argv[6], O_RDONLY | O_CLOEXEC);
  if (is_for_other_backend())
    return refuse_queue(from);
  return run(&job, from);
}
