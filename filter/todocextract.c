/*
 * todocextract.c - the filter: one document of a print job becomes one entry
 * of a bundle (doc/architecture.md, "Life of a document").
 *
 * It does not use the network. Every failure becomes an entry with a reason, so
 * that the n-th entry is always the n-th document; the backend reports it. It
 * exits with 1 only for invalid arguments, a broken stdout, another backend
 * than ours, or if the backend stores no documents. The document is parsed in a
 * process of its own (isolate.h); temporary files have no names, so none is
 * left behind.
 */
#include <cups/sidechannel.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/document.h"
#include "filter/handover.h"
#include "filter/isolate.h"
#include "filter/options.h"
#include "filter/qpdf.h"
#include "filter/receive.h"
#include "filter/text.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/config/config.h"
#include "lib/print/bundle.h"
#include "lib/spool/filename.h"
#include "lib/spool/sentence.h"

struct job {
  const char *title;
  const char *option_text;
  const struct dx_service *service;
  struct options options;
  int in_fd;             /* the document as received */
  int out_fd;            /* as it is sent */
  const void *sent;      /* its bytes; NULL: none */
  bool scan_again;       /* this may help if it is damaged */
  enum dx_reason handed; /* a refusal of todocextract-check, with its place */
  struct pdf_done handed_done;
  struct dx_entry entry;
};

/* ---- converting ---- */

static enum dx_reason convert(struct job *job, const char *type,
                              struct pdf_done *done)
{
  const struct dx_service *service = job->service;
  int64_t limit_ms = service->filter_time_limit_ms;
  struct pdf_task task = {.type = type,
                          .in_fd = job->in_fd,
                          .separator_fd = -1,
                          .options = &job->options,
                          .most_bytes = service->max_document_bytes,
                          .sandbox_optional =
                              service->sandbox == DX_SANDBOX_IS_OPTIONAL};
  enum dx_reason reason = DX_REASON_TROUBLE;

  task.out_fd = job->out_fd = filter_temp_file();
  task.spare_fd = filter_temp_file();
  if (task.out_fd < 0 || task.spare_fd < 0)
    return reason;
  if (job->options.every > 0 &&
      strcmp(document_sent_as(type), DX_MIME_PDF) == 0) {
    if (service->separator_page != NULL)
      task.separator_fd = open(service->separator_page, O_RDONLY | O_CLOEXEC);
    if (task.separator_fd < 0)
      return DX_REASON_NO_SEPARATOR;
  }
  if (strcmp(type, DX_MIME_TEXT) != 0) {
    reason = run_isolated(document_convert, &task, limit_ms, done);
    if (reason != DX_REASON_TROUBLE || !done->needs_fonts)
      return reason;
  }
  /* Loading the text writer and its fonts takes as long as converting a short
   * PDF, and few PDFs need them: those are converted twice. */
  task.text = text_module();
  if (task.text == NULL) {
    (void)snprintf(done->why, sizeof(done->why),
                   "the text writer of docextract or its font, DejaVu Sans "
                   "Mono, is not installed");
    return DX_REASON_TROUBLE;
  }
  if (!task.text->open_encoding(job->options.text.encoding)) {
    (void)snprintf(done->why, sizeof(done->why),
                   "this computer cannot read the encoding '%s'",
                   dx_text_encoding_word(job->options.text.encoding));
    return DX_REASON_TROUBLE;
  }
  if (ftruncate(task.out_fd, 0) == 0 && ftruncate(task.spare_fd, 0) == 0)
    reason = run_isolated(document_convert, &task, limit_ms, done);
  return reason;
}

/* ---- the entry ---- */

static const char *refused_separator(const struct job *job)
{
  return job->service == &filter_no_service
             ? "separator pages were selected, but "
               "docextract.conf is invalid, or filters cannot "
               "read it; run 'docextract config'"
         : job->service->separator_page == NULL
             ? "separator pages were selected, but no SeparatorPage is "
               "configured; print without them, or set it"
             : "the SeparatorPage must be a readable PDF with exactly one page";
}

/* What the user is to do, with a semicolon before it. An image may come from a
 * scanner or a fax machine. `page` 0: unknown. */
static void advise(const struct job *job, enum dx_reason reason, int page,
                   char advice[DX_REASON_BYTES])
{
  const char *text = strchr(dx_reason_text(reason), ';');
  bool scans = reason == DX_REASON_DAMAGED && job->scan_again;

  if (scans && page > 0)
    (void)snprintf(advice, DX_REASON_BYTES,
                   "; scan page %d again, or ask for a new copy of it", page);
  else if (scans)
    (void)snprintf(advice, DX_REASON_BYTES,
                   "; scan it again, or ask for a new copy of it");
  else
    (void)snprintf(advice, DX_REASON_BYTES, "%s", text != NULL ? text : "");
}

/*
 * The entry gets the problem, its place, and what to do. The text of a reason
 * follows a clause about this document, which is the "it" of the text. Messages
 * about limits name the directives, for the administrator. `why` and `page` are
 * as in pdf_done.
 */
static void refuse(struct job *job, enum dx_reason reason, const char *why,
                   int page)
{
  const char *row = dx_reason_text(reason);
  const char *choosing = options_choosing(&job->options);
  char text[2 * DX_REASON_BYTES], size[DX_SIZE_TEXT_BYTES], place[32] = "it";
  char advice[DX_REASON_BYTES];
  struct dx_entry *entry = &job->entry;

  advise(job, reason, page, advice);
  if (reason == DX_REASON_NO_SEPARATOR)
    why = refused_separator(job);
  if (page > 0)
    (void)snprintf(place, sizeof(place), "page %d", page);
  if (reason == DX_REASON_TOO_LARGE)
    (void)snprintf(text, sizeof(text),
                   "it is larger than MaxDocumentSize (%s): raise that, or "
                   "print fewer pages at a time",
                   dx_size_text(job->service->max_document_bytes, size));
  else if (reason == DX_REASON_TOO_SLOW)
    (void)snprintf(text, sizeof(text),
                   "processing it took longer than FilterTimeLimit (%lld s): "
                   "raise that, or print fewer pages at a time",
                   (long long)(job->service->filter_time_limit_ms / 1000));
  else if (reason == DX_REASON_NO_PAGES && choosing != NULL)
    (void)snprintf(text, sizeof(text), "%s selects none of its pages%s",
                   choosing, advice);
  else if (why[0] == '\0')
    (void)snprintf(text, sizeof(text), "%.*s%s", (int)strcspn(row, ";"), row,
                   advice);
  else if (reason == DX_REASON_TROUBLE || reason == DX_REASON_NO_SEPARATOR ||
           reason == DX_REASON_RAW)
    (void)snprintf(text, sizeof(text), "%s", why);
  else if (reason == DX_REASON_OPTIONS)
    (void)snprintf(text, sizeof(text), "%s%s", why, advice);
  else
    (void)snprintf(text, sizeof(text), "%s %s: %s%s", place,
                   reason == DX_REASON_DAMAGED      ? "is damaged"
                   : reason == DX_REASON_INCOMPLETE ? "is incomplete"
                                                    : "cannot be sent",
                   why, advice);
  dx_utf8_copy(entry->reason_text, sizeof(entry->reason_text), text);
  entry->kind = DX_KIND_REFUSED;
  entry->reason = reason;
}

/* Processes a document whose type and options are known. */
static void process_document(struct job *job, const char *type)
{
  struct pdf_done done = {0};
  enum dx_reason reason = convert(job, type, &done);
  struct dx_entry *entry = &job->entry;
  size_t len = 0;

  if (reason == DX_REASON_NONE) {
    job->sent = dx_fs_map(job->out_fd, &len);
    if (job->sent == NULL)
      reason = DX_REASON_TROUBLE;
  }
  if (reason != DX_REASON_NONE) {
    job->scan_again = done.in_image != 0;
    refuse(job, reason, done.why, done.page);
    dx_utf8_copy(entry->program, sizeof(entry->program), done.program);
    return;
  }
  dx_sha256_of(job->sent, len, entry->sha256);
  entry->pages = done.pages;
  entry->length = (int64_t)len;
}

/* Printed raw by the user; or so for cupsd, because the file begins with a
 * command of a printer, such as ESC E or ESC @: text of an old program, whose
 * commands are reported like those of any text. */
static bool is_raw(const struct job *job, const char *type)
{
  bool is_known = type != NULL && strcmp(type, DX_MIME_TEXT) != 0;
  char first = '\0';

  return strcmp(job->entry.origin, "application/vnd.cups-raw") == 0 &&
         (is_known || pread(job->in_fd, &first, 1, 0) != 1 || first != '\033');
}

/* Fills in the whole entry. */
static void process(struct job *job, enum dx_reason received, int64_t length)
{
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789!#$&-^_.+/"; /* RFC 6838 */
  const char *file_type = getenv("CUPS_FILETYPE");
  const char *origin = getenv("CONTENT_TYPE");
  struct dx_entry *entry = &job->entry;
  char not_stored[DX_REASON_BYTES];
  const char *wrong, *type;
  bool is_text, is_banner, is_source;

  wrong = options_read(getenv("PPD"), job->option_text, &job->options);
  entry->together = job->options.together;
  if (origin != NULL && strlen(origin) < sizeof(entry->origin) &&
      origin[strspn(origin, allowed)] == '\0')
    (void)snprintf(entry->origin, sizeof(entry->origin), "%s", origin);
  if (file_type != NULL && strcmp(file_type, "job-sheet") == 0) {
    entry->kind = DX_KIND_SHEET; /* cupsd's own banner page */
    return;
  }
  type = received == DX_REASON_NONE ? document_type_of(job->in_fd) : NULL;
  (void)snprintf(entry->type, sizeof(entry->type), "%s",
                 type != NULL ? document_sent_as(type) : "");
  is_text = type != NULL && strcmp(type, DX_MIME_TEXT) == 0;
  /* A client may declare a banner, whose instructions could print any file that
   * CUPS's filters can read. SVG, XBM, and XPM pictures are source code; but
   * cupsd takes a text that begins with "P1" or "BM" for a picture. */
  is_banner =
      is_text && strcmp(entry->origin, "application/vnd.cups-pdf-banner") == 0;
  is_source = is_text && strncmp(entry->origin, "image/", 6) == 0 &&
              strncmp(entry->origin, "image/x-portable-", 17) != 0 &&
              strcmp(entry->origin, "image/x-bitmap") != 0;
  dx_filename_from_title(job->title, entry->type, entry->name);
  (void)snprintf(
      not_stored, sizeof(not_stored),
      "it could not be read, or could not be stored in the temporary "
      "directory '%s', which must exist and have space",
      filter_temp_dir());
  if (wrong == NULL && is_text)
    wrong = job->options.text.wrong;
  if (length > job->service->max_document_bytes)
    refuse(job, DX_REASON_TOO_LARGE, "", 0);
  else if (received == DX_REASON_TROUBLE)
    refuse(job, received, not_stored, 0);
  else if (received != DX_REASON_NONE)
    refuse(job, received, "", 0);
  else if (job->handed != DX_REASON_NONE)
    refuse(job, job->handed, job->handed_done.why, job->handed_done.page);
  else if (length == 0)
    refuse(job, DX_REASON_EMPTY, "", 0);
  else if (is_raw(job, type))
    refuse(job, DX_REASON_RAW,
           "it was printed raw: print it without '-o raw', or remove "
           "'cups options = raw' from smb.conf of Samba",
           0);
  else if (type == NULL || is_banner || is_source)
    refuse(job, DX_REASON_TYPE, "", 0);
  else if (wrong != NULL)
    refuse(job, DX_REASON_OPTIONS, wrong, 0);
  else
    process_document(job, type);
}

/* What todocextract-check has made of this document replaces the output of the
 * converter. */
static void take_over(struct job *job, int64_t *length)
{
  int dir = open(filter_temp_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
  struct stat st;

  if (dir < 0)
    return;
  if (handover_take(dir, job->entry.seal, &job->handed, &job->handed_done,
                    &fd) &&
      fd >= 0 && fstat(fd, &st) == 0) {
    (void)close(job->in_fd);
    job->in_fd = fd;
    *length = st.st_size;
  }
  (void)close(dir);
}

/* Returns the exit status. */
static int todocextract_run(struct job *job, int from)
{
  struct dx_config *config = NULL;
  struct dx_err err;
  enum dx_reason received;
  int64_t length;

  job->in_fd = filter_temp_file();
  job->service = filter_service(&config);
  received = filter_receive(job->service, from, job->in_fd, &length);
  if (!dx_seal_look(CUPS_SC_FD, DX_SEAL_WAIT_MS, job->entry.seal)) {
    dx_log(DX_LOG_DEBUG, "todocextract: the backend stores no documents");
    dx_config_free(&config);
    return 1; /* cupsd keeps them */
  }
  if (job->entry.seal[0] != '\0')
    take_over(job, &length);
  process(job, received, length);
  dx_config_free(&config);
  dx_log(DX_LOG_DEBUG, "todocextract: %lld bytes in; out: %s%s%s, %lld bytes",
         (long long)length, dx_kind_word(job->entry.kind),
         job->entry.reason != DX_REASON_NONE ? " " : "",
         dx_reason_word(job->entry.reason), (long long)job->entry.length);
  if (received == DX_REASON_TOO_SLOW && job->entry.seal[0] != '\0')
    filter_end_others();
  if (dx_bundle_write(STDOUT_FILENO, &job->entry, job->sent, &err) == DX_OK)
    return 0;
  dx_log(DX_LOG_DEBUG, "todocextract: %s", err.text);
  return 1;
}

/* Reads all of the input before it exits, so that cupsd shows this message, not
 * that of a failed filter. The warning is for the log. Without a configuration,
 * the language is that of the user, which cupsd passes. */
static int refuse_queue(int from)
{
  struct dx_config *config = NULL;
  char bytes[4096], text[DX_SENTENCE_BYTES];
  struct dx_err err;

  dx_language_use(dx_config_load(dx_config_path(), &config, NULL, &err) == DX_OK
                      ? config->language
                      : dx_language_of_user());
  dx_config_free(&config);
  (void)dx_translate(DX_SAY_ELSEWHERE, text, sizeof(text));
  (void)fprintf(stderr,
                "WARNING: this driver works only with docextract:// devices; "
                "use '-m everywhere' to add a queue for a shared printer\n"
                "ERROR: %s\n",
                text);
  while (read(from, bytes, sizeof(bytes)) > 0)
    continue;
  return 1;
}

int main(int argc, char *argv[])
{
  struct job job = {.in_fd = -1, .out_fd = -1};
  int from = STDIN_FILENO;
  const char *uri;

  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("todocextract %s (qpdf %s)\n", PACKAGE_VERSION,
           qpdf_get_qpdf_version());
    return 0;
  }
  if (argc != 6 && argc != 7) {
    (void)fprintf(stderr,
                  "Usage: todocextract job user title copies options [file]\n"
                  "       todocextract --version\n");
    return 1;
  }
  filter_begin(argc, argv);
  job.title = argv[3];
  job.option_text = argv[5];
  if (argc == 7)
    from = open(argv[6], O_RDONLY | O_CLOEXEC);
  /* Only our backend can read a bundle; any other would print it as text. */
  uri = getenv("DEVICE_URI");
  if (uri != NULL && strstr(uri, DX_DEVICE_SCHEME) == NULL)
    return refuse_queue(from);
  return todocextract_run(&job, from);
}
