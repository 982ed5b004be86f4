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
#include <cups/cups.h>
#include <cups/sidechannel.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/document.h"
#include "filter/isolate.h"
#include "filter/options.h"
#include "filter/qpdf.h"
#include "filter/text.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/utf8.h"
#include "lib/config/config.h"
#include "lib/print/bundle.h"
#include "lib/spool/filename.h"
#include "lib/spool/sentence.h"

/* Used if the configuration is not valid, which the backend reports. */
static const struct dx_service no_service = {.max_document_bytes = INT64_MAX,
                                             .filter_time_limit_ms =
                                                 DX_FILTER_LIMIT_MS};

struct job {
  const char *title;
  const char *option_text;
  const struct dx_service *service;
  struct options options;
  int in_fd;        /* the document as received */
  int out_fd;       /* as it is sent */
  const void *sent; /* its bytes; NULL: none */
  struct dx_entry entry;
};

/* ---- a filter of CUPS ---- */

/* cupsd shows messages above DEBUG to the user who printed. */
static void print_debug(enum dx_log_level level, const char *line)
{
  (void)level;
  (void)fprintf(stderr, "DEBUG: %s\n", line);
}

static const char *filter_temp_dir(void)
{
  const char *dir = getenv("TMPDIR");

  return dir != NULL && dir[0] != '\0' ? dir : "/tmp";
}

/* Creates a file without a name, so that it cannot be left behind. -1 on
 * failure. */
static int filter_temp_file(void)
{
  const char *dir = filter_temp_dir();
  int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  char path[PATH_MAX];

  /* Some file systems do not support files without names. */
  if (fd < 0) {
    fd = cupsTempFd(path, sizeof(path));
    if (fd >= 0)
      (void)unlink(path);
  }
  return fd;
}

/*
 * Reads to the end: if an earlier filter gets a broken pipe, cupsd stops the
 * job. NONE, or TROUBLE if not all of it could be stored; data beyond
 * MaxDocumentSize are not stored. TOO_SLOW if the input has not ended after the
 * time limit and a second for each MiB that was stored, because a converter may
 * never end.
 */
static enum dx_reason filter_receive(const struct job *job, int from,
                                     int64_t *ret_length)
{
  static char bytes[DX_STREAM_BYTES]; /* static: a large stack array is slow */
  int64_t until_ms = dx_monotonic_ms() + job->service->filter_time_limit_ms;
  struct pollfd input = {.fd = from, .events = POLLIN};
  bool kept = job->in_fd >= 0;
  int64_t stored = 0, left_ms;
  ssize_t n;

  *ret_length = 0;
  if (from < 0) /* poll() would ignore it */
    return DX_REASON_TROUBLE;
  (void)fcntl(from, F_SETPIPE_SZ, DX_PIPE_BYTES); /* if it is a pipe */
  for (;;) {
    left_ms = until_ms + stored / 1048 - dx_monotonic_ms();
    n = left_ms > 0 ? poll(&input, 1, (int)(left_ms % INT_MAX)) : 0;
    if (n == 0)
      return DX_REASON_TOO_SLOW;
    if (n > 0)
      n = read(from, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return kept && n == 0 ? DX_REASON_NONE : DX_REASON_TROUBLE;
    *ret_length += n;
    if (kept && *ret_length <= job->service->max_document_bytes) {
      kept = dx_fs_write_all(job->in_fd, bytes, (size_t)n, "document", NULL) ==
             DX_OK;
      stored = *ret_length;
    }
  }
}

/*
 * Kills the converters of this job, because cupsd would wait for them for
 * hours. Call it only if cupsd has started this process.
 *
 * The programs of a job have the same pipe as stderr, and each leads a process
 * group with its children. Our programs hide their descriptors
 * (lib/base/process.h), so neither the backend nor this process is found.
 */
static void filter_end_others(void)
{
  const struct dirent *entry;
  struct stat ours, other;
  char path[64];
  DIR *processes;

  if (fstat(STDERR_FILENO, &ours) < 0 || !S_ISFIFO(ours.st_mode) ||
      geteuid() == 0)
    return;
  processes = opendir("/proc");
  while (processes != NULL && (entry = readdir(processes)) != NULL) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), group;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
    if (pid <= 1 || stat(path, &other) < 0 || other.st_dev != ours.st_dev ||
        other.st_ino != ours.st_ino)
      continue;
    group = getpgid(pid);
    if (group > 1 && group != getpgrp())
      (void)kill(-group, SIGKILL);
  }
  if (processes != NULL)
    (void)closedir(processes);
}

/* The section of this queue. *config is the caller's. */
static const struct dx_service *filter_service(struct dx_config **config)
{
  const char *uri = getenv("DEVICE_URI");
  const char *given = getenv("DOCEXTRACT_CONF"); /* docextract -c */
  const struct dx_service *service = NULL;
  char name[DX_SECTION_BYTES];
  struct dx_err err;

  if (dx_config_load(given != NULL ? given : dx_config_path(), config, NULL,
                     &err) != DX_OK)
    dx_log(DX_LOG_DEBUG, "%s", err.text);
  if (dx_section_of_uri(uri, name) && *config != NULL)
    service = dx_config_service(*config, name);
  return service != NULL ? service : &no_service;
}

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
  if (ftruncate(task.out_fd, 0) == 0 && ftruncate(task.spare_fd, 0) == 0)
    reason = run_isolated(document_convert, &task, limit_ms, done);
  return reason;
}

/* ---- the entry ---- */

static const char *refused_separator(const struct job *job)
{
  return job->service == &no_service
             ? "separator pages were selected, but "
               "docextract.conf is invalid, or filters cannot "
               "read it"
         : job->service->separator_page == NULL
             ? "separator pages were selected, but no SeparatorPage is "
               "configured"
             : "the SeparatorPage must be a readable PDF with exactly one page";
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
  const char *advice = strchr(dx_reason_text(reason), ';');
  const char *choosing = options_choosing(&job->options);
  char text[2 * DX_REASON_BYTES], size[DX_SIZE_TEXT_BYTES], place[32] = "it";
  struct dx_entry *entry = &job->entry;

  advice = advice != NULL ? advice : "";
  if (reason == DX_REASON_NO_SEPARATOR)
    why = refused_separator(job);
  if (page > 0)
    (void)snprintf(place, sizeof(place), "page %d", page);
  if (reason == DX_REASON_TOO_LARGE)
    (void)snprintf(text, sizeof(text), "it is larger than MaxDocumentSize (%s)",
                   dx_size_text(job->service->max_document_bytes, size));
  else if (reason == DX_REASON_TOO_SLOW)
    (void)snprintf(text, sizeof(text),
                   "processing it took longer than FilterTimeLimit (%lld s)",
                   (long long)(job->service->filter_time_limit_ms / 1000));
  else if (reason == DX_REASON_NO_PAGES && choosing != NULL)
    (void)snprintf(text, sizeof(text), "%s selects none of its pages%s",
                   choosing, advice);
  else if (why[0] == '\0' || reason == DX_REASON_TROUBLE ||
           reason == DX_REASON_OPTIONS || reason == DX_REASON_NO_SEPARATOR)
    (void)snprintf(text, sizeof(text), "%s",
                   why[0] != '\0' ? why : dx_reason_text(reason));
  else
    (void)snprintf(text, sizeof(text), "%s %s: %s%s", place,
                   reason == DX_REASON_DAMAGED ? "is damaged"
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
    refuse(job, reason, done.why, done.page);
    return;
  }
  dx_sha256_of(job->sent, len, entry->sha256);
  entry->pages = done.pages;
  entry->length = (int64_t)len;
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
  bool is_text, is_banner;

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
   * CUPS's filters can read. */
  is_banner =
      is_text && strcmp(entry->origin, "application/vnd.cups-pdf-banner") == 0;
  dx_filename_from_title(job->title, entry->type, entry->name);
  (void)snprintf(not_stored, sizeof(not_stored),
                 "it could not be stored in the temporary directory '%s', "
                 "which must exist and have space",
                 filter_temp_dir());
  if (wrong == NULL && is_text)
    wrong = job->options.text.wrong;
  if (length > job->service->max_document_bytes)
    refuse(job, DX_REASON_TOO_LARGE, "", 0);
  else if (received == DX_REASON_TROUBLE)
    refuse(job, received, not_stored, 0);
  else if (received != DX_REASON_NONE)
    refuse(job, received, "", 0);
  else if (length == 0)
    refuse(job, DX_REASON_EMPTY, "", 0);
  else if (type == NULL || is_banner)
    refuse(job, DX_REASON_TYPE, "", 0);
  else if (wrong != NULL)
    refuse(job, DX_REASON_OPTIONS, wrong, 0);
  else
    process_document(job, type);
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
  received = filter_receive(job, from, &length);
  process(job, received, length);
  dx_config_free(&config);
  if (!dx_seal_look(CUPS_SC_FD, DX_SEAL_WAIT_MS, job->entry.seal)) {
    dx_log(DX_LOG_DEBUG, "todocextract: the backend stores no documents");
    return 1; /* cupsd keeps them */
  }
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
 * that of a failed filter. The warning is for the log. A filter cannot read the
 * language of docextractd; cupsd gives it that of the user. */
static int refuse_queue(int from)
{
  enum dx_language language = DX_LANGUAGE_AUTO;
  struct dx_config *config = NULL;
  char bytes[4096], text[DX_SENTENCE_BYTES];
  struct dx_err err;

  if (dx_config_load(dx_config_path(), &config, NULL, &err) == DX_OK)
    language = config->language;
  dx_language_use(language != DX_LANGUAGE_AUTO ? language
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
  /* No core dumps, which could contain patient data, and no title in the
   * process list; broken pipes and files over the size limit are errors. */
  dx_process_protect();
  dx_process_hide_arguments(argc, argv, 2);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  (void)signal(SIGCHLD, SIG_DFL);
  dx_log_to(print_debug);
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
