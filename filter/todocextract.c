/*
 * todocextract.c - the filter: one document of a print job becomes one entry
 * of a bundle (doc/architecture.md, "Life of a document").
 *
 * It does not use the network and knows nothing of the service. Every failure
 * becomes an entry with a reason, so that the n-th entry is always the n-th
 * document; the backend reports it. Only invalid arguments and a broken stdout
 * exit with 1. The document is parsed in a process of its own (isolate.h);
 * temporary files have no names: nothing is left behind, however it ends.
 */
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
#include "filter/text.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/utf8.h"
#include "lib/config/config.h"
#include "lib/job/bundle.h"
#include "lib/job/filename.h"
#include "lib/job/mime.h"
#include "lib/job/sentence.h"

#define SCHEME "docextract://"

struct job {
  const char *title;
  const char *option_text;
  const struct dx_service *service; /* NULL: no valid configuration */
  struct options options;
  int in_fd;  /* the document as received */
  int out_fd; /* as it is sent */
  struct dx_entry entry;
};

/* ---- a filter of CUPS ---- */

/* Anything above DEBUG would be shown to the user who printed. */
static void print_debug(enum dx_log_level level, const char *line)
{
  (void)level;
  (void)fprintf(stderr, "DEBUG: %s\n", line);
}

/* True if cupsd runs the filter. If not, sets *ret_status, the exit status. */
static bool filter_arguments(int argc, char **argv, int *ret_status)
{
  if (argc == 6 || argc == 7)
    return true;
  *ret_status = argc != 2 || strcmp(argv[1], "--version") != 0;
  if (*ret_status == 0)
    printf("todocextract %s (qpdf %s)\n", PACKAGE_VERSION,
           pdf_library_version());
  else
    (void)fprintf(stderr,
                  "Usage: todocextract job user title copies options [file]\n"
                  "       todocextract --version\n");
  return false;
}

static const char *filter_temp_dir(void)
{
  const char *dir = getenv("TMPDIR");

  return dir != NULL && dir[0] != '\0' ? dir : "/tmp";
}

/* A file without a name: nothing is left behind, however the process ends. -1
 * on failure. */
static int filter_temp_file(void)
{
  const char *dir = filter_temp_dir();
  char path[4096];
  int fd;

  fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0)
    return fd;
  /* Some file systems do not support files without names. */
  if (snprintf(path, sizeof(path), "%s/todocextract-XXXXXX", dir) >=
      (int)sizeof(path))
    return -1;
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0)
    (void)unlink(path);
  return fd;
}

/*
 * Reads to the end: an earlier filter that gets a broken pipe would make cupsd
 * stop the job. NONE, or TROUBLE if not all of it could be stored; what exceeds
 * `most` bytes need not be. TOO_SLOW if it has not ended after limit_ms and a
 * second for each MiB that was stored, as from a converter that never ends;
 * limit_ms -1 waits for ever. `to` -1 stores nothing.
 */
static enum dx_reason filter_receive(int from, int to, int64_t most,
                                     int64_t limit_ms, int64_t *ret_length)
{
  static char bytes[DX_STREAM_BYTES]; /* on a stack, each page is probed */
  int64_t until_ms = dx_monotonic_ms() + limit_ms, stored = 0;
  struct pollfd input = {.fd = from, .events = POLLIN};
  bool kept = to >= 0;
  ssize_t n;

  *ret_length = 0;
  if (from < 0) /* poll() would wait for it */
    return DX_REASON_TROUBLE;
  dx_fs_widen_pipe(from);
  for (;;) {
    int64_t left_ms = until_ms + stored / 1048 - dx_monotonic_ms();

    n = limit_ms < 0   ? poll(&input, 1, -1)
        : left_ms <= 0 ? 0
                       : poll(&input, 1, (int)(left_ms % INT_MAX));
    if (n == 0)
      return DX_REASON_TOO_SLOW;
    if (n > 0)
      n = read(from, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    *ret_length += n;
    if (kept && *ret_length <= most) {
      kept = dx_fs_write_all(to, bytes, (size_t)n, "document", NULL) == DX_OK;
      stored = *ret_length;
    }
  }
  return kept && n == 0 ? DX_REASON_NONE : DX_REASON_TROUBLE;
}

/*
 * Ends the converters of this job, for which cupsd would wait for hours. To be
 * called only if cupsd has started this process.
 *
 * The programs of a job have the same pipe as stderr, and each is the leader of
 * a group, with what it has started. Ours do not show theirs
 * (lib/base/process.h), so that neither the backend nor this process is found.
 */
static void filter_end_others(void)
{
  DIR *processes = opendir("/proc");
  const struct dirent *entry;
  struct stat ours, other;
  char path[64];

  if (fstat(STDERR_FILENO, &ours) < 0 || !S_ISFIFO(ours.st_mode) ||
      geteuid() == 0 || processes == NULL) {
    if (processes != NULL)
      (void)closedir(processes);
    return;
  }
  while ((entry = readdir(processes)) != NULL) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), group;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
    if (pid <= 1 || stat(path, &other) < 0 || other.st_dev != ours.st_dev ||
        other.st_ino != ours.st_ino)
      continue;
    group = getpgid(pid);
    if (group > 1 && group != getpgrp())
      (void)kill(-group, SIGKILL);
  }
  (void)closedir(processes);
}

/* The section of this queue; NULL if there is none. *config is the caller's.
 * Errors in the file are reported by the backend. */
static const struct dx_service *filter_service(struct dx_config **config)
{
  static const char scheme[] = SCHEME;
  const char *uri = getenv("DEVICE_URI");
  const char *given = getenv("DOCEXTRACT_CONF"); /* docextract -c */
  char *path = given != NULL ? strdup(given) : dx_config_path(true);
  char name[80] = "";
  struct dx_err err;

  if (path == NULL || dx_config_load(path, config, &err) != DX_OK)
    dx_log(DX_LOG_DEBUG, "%s", path != NULL ? err.text : "out of memory");
  free(path);
  if (uri != NULL && strncmp(uri, scheme, sizeof(scheme) - 1) == 0)
    (void)snprintf(name, sizeof(name), "%s", uri + sizeof(scheme) - 1);
  name[strcspn(name, "/")] = '\0'; /* some dialogs add one */
  return *config != NULL ? dx_config_service(*config, name) : NULL;
}

static int64_t filter_time_limit_ms(const struct dx_service *service)
{
  return service != NULL ? service->filter_time_limit_ms : DX_FILTER_LIMIT_MS;
}

/* ---- the entry ---- */

/* `text` NULL: the default text of the reason. */
static void refuse(struct dx_entry *entry, enum dx_reason reason,
                   const char *text)
{
  entry->kind = DX_KIND_REFUSED;
  entry->reason = reason;
  dx_utf8_copy(entry->reason_text, sizeof(entry->reason_text),
               text != NULL ? text : dx_reason_text(reason));
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

/* ---- converting ---- */

/* Loading the text writer and its fonts costs as much as converting a short
 * PDF, and hardly any needs them: it is converted again. */
static enum dx_reason convert_with_fonts(struct pdf_task *task, struct job *job,
                                         struct pdf_done *done)
{
  const struct text_module *text = text_module();
  struct text_fonts *fonts = text != NULL ? text->fonts_open() : NULL;
  enum dx_reason reason = DX_REASON_TROUBLE;

  *done = (struct pdf_done){0};
  if (fonts == NULL) {
    (void)snprintf(done->why, sizeof(done->why),
                   "the text writer of docextract or its font, DejaVu Sans "
                   "Mono, is not installed");
    return reason;
  }
  task->text = text;
  task->fonts = fonts;
  task->more_count = text->fonts_fds(fonts, &task->more_fds);
  if (ftruncate(task->out_fd, 0) == 0 && ftruncate(task->spare_fd, 0) == 0)
    reason = run_isolated(document_convert, task,
                          filter_time_limit_ms(job->service), done);
  text->fonts_free(&fonts);
  return reason;
}

static enum dx_reason convert(struct job *job, const char *type,
                              struct pdf_done *done)
{
  const char *separator =
      job->service != NULL ? job->service->separator_page : NULL;
  struct pdf_task task = {.type = type,
                          .in_fd = job->in_fd,
                          .options = &job->options,
                          .most_bytes = most_bytes(job),
                          .sandbox_optional =
                              job->service != NULL &&
                              job->service->sandbox == DX_SANDBOX_IS_OPTIONAL};
  enum dx_reason reason;

  task.out_fd = job->out_fd = filter_temp_file();
  task.spare_fd = filter_temp_file();
  if (task.out_fd < 0 || task.spare_fd < 0)
    return DX_REASON_TROUBLE;
  if (job->options.every > 0 &&
      strcmp(document_sent_as(type), DX_MIME_PDF) == 0) {
    task.separator_fd =
        separator != NULL ? open(separator, O_RDONLY | O_CLOEXEC) : -1;
    if (task.separator_fd < 0)
      return DX_REASON_NO_SEPARATOR;
  }
  if (strcmp(type, DX_MIME_TEXT) == 0)
    return convert_with_fonts(&task, job, done);
  reason = run_isolated(document_convert, &task,
                        filter_time_limit_ms(job->service), done);
  if (reason == DX_REASON_TROUBLE && done->needs_fonts)
    reason = convert_with_fonts(&task, job, done);
  return reason;
}

/* ---- why it is refused ---- */

/* What is wrong, where, and what to do. The text of a reason follows a clause
 * about this document, and its "it" is the document; limits are the
 * administrator's, so those messages name the directives. */
static void refuse_as(struct job *job, enum dx_reason reason,
                      const struct pdf_done *done)
{
  const char *advice = strchr(dx_reason_text(reason), ';');
  const char *choosing = options_choosing(&job->options);
  char text[DX_REASON_BYTES] = "", size[DX_SIZE_TEXT_BYTES], page[32] = "it";
  int len = 0;

  if (done->page > 0)
    (void)snprintf(page, sizeof(page), "page %d", done->page);
  if (reason == DX_REASON_TOO_LARGE)
    (void)snprintf(text, sizeof(text), "it is larger than MaxDocumentSize (%s)",
                   dx_size_text(most_bytes(job), size));
  else if (reason == DX_REASON_TOO_SLOW)
    (void)snprintf(text, sizeof(text),
                   "processing it took longer than FilterTimeLimit (%lld s)",
                   (long long)(filter_time_limit_ms(job->service) / 1000));
  else if (reason == DX_REASON_NO_SEPARATOR)
    (void)snprintf(text, sizeof(text), "%s",
                   job->service == NULL
                       ? "separator pages were selected, but docextract.conf "
                         "is not valid"
                   : job->service->separator_page == NULL
                       ? "separator pages were selected, but no SeparatorPage "
                         "is configured"
                       : "the SeparatorPage must be a readable PDF with "
                         "exactly one page");
  else if (reason == DX_REASON_NO_PAGES && choosing != NULL)
    len =
        snprintf(text, sizeof(text), "%s selects none of its pages", choosing);
  else if (reason == DX_REASON_TROUBLE)
    len = snprintf(text, sizeof(text), "%s", done->why);
  else if (done->why[0] != '\0')
    len =
        snprintf(text, sizeof(text), "%s %s: %s", page,
                 reason == DX_REASON_DAMAGED ? "is damaged" : "cannot be sent",
                 done->why);
  if (len > 0 && len < (int)sizeof(text) && advice != NULL)
    (void)snprintf(text + len, sizeof(text) - (size_t)len, "%s", advice);
  refuse(&job->entry, reason, text[0] != '\0' ? text : NULL);
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

/* A document whose type and options are known. */
static void process_document(struct job *job, const char *type)
{
  struct pdf_done done = {0};
  enum dx_reason reason = convert(job, type, &done);

  job->entry.pages = done.pages;
  if (done.separated)
    dx_log(DX_LOG_DEBUG, "todocextract: already separated, not changed");
  if (done.removed > 0)
    dx_log(DX_LOG_DEBUG, "todocextract: removed %d entries that no page shows",
           done.removed);
  if (reason == DX_REASON_NONE && !measure(job))
    reason = DX_REASON_TROUBLE;
  if (reason == DX_REASON_NONE && job->entry.length > most_bytes(job))
    reason = DX_REASON_TOO_LARGE;
  if (reason != DX_REASON_NONE)
    refuse_as(job, reason, &done);
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

/* A banner page that a client declares as one: its instructions could put any
 * file on a page that CUPS's filters can read. */
static bool is_banner(const char *origin, const char *type)
{
  return strcmp(origin, "application/vnd.cups-pdf-banner") == 0 &&
         (type == NULL || strcmp(type, DX_MIME_TEXT) == 0);
}

/* Fills in the whole entry. */
static void process(struct job *job, enum dx_reason received, int64_t length)
{
  const char *file_type = getenv("CUPS_FILETYPE");
  struct dx_entry *entry = &job->entry;
  const char *wrong, *type;

  wrong = options_read(getenv("PPD"), job->option_text, &job->options);
  entry->together = job->options.together;
  set_origin(entry, getenv("CONTENT_TYPE"));
  if (file_type != NULL && strcmp(file_type, "job-sheet") == 0) {
    entry->kind = DX_KIND_SHEET; /* cupsd's own banner page */
    return;
  }
  type = received == DX_REASON_NONE ? document_type_of(job->in_fd) : NULL;
  (void)snprintf(entry->type, sizeof(entry->type), "%s",
                 type != NULL ? document_sent_as(type) : "");
  dx_filename_from_title(job->title, entry->type, entry->name);
  if (length > most_bytes(job))
    received = DX_REASON_TOO_LARGE;
  if (received == DX_REASON_TOO_LARGE || received == DX_REASON_TOO_SLOW)
    refuse_as(job, received, &(struct pdf_done){0});
  else if (received != DX_REASON_NONE)
    refuse_unkept(entry);
  else if (length == 0)
    refuse(entry, DX_REASON_EMPTY, NULL);
  else if (type == NULL || is_banner(entry->origin, type))
    refuse(entry, DX_REASON_TYPE, NULL);
  else if (wrong != NULL)
    refuse(entry, DX_REASON_OPTIONS, wrong);
  else if (strcmp(type, DX_MIME_TEXT) == 0 && job->options.text.wrong != NULL)
    refuse(entry, DX_REASON_OPTIONS, job->options.text.wrong);
  else
    process_document(job, type);
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
  enum dx_reason received;
  bool is_cupsds = false;
  int64_t length;

  job->in_fd = filter_temp_file();
  job->service = filter_service(&config);
  received = filter_receive(from, job->in_fd, most_bytes(job),
                            filter_time_limit_ms(job->service), &length);
  process(job, received, length);
  dx_config_free(&config);
  if (dx_seal_look(CUPS_SC_FD, DX_SEAL_WAIT_MS, job->entry.seal))
    is_cupsds = true;
  else
    dx_log(DX_LOG_DEBUG, "todocextract: no side channel to the backend");
  dx_log(DX_LOG_DEBUG, "todocextract: %lld bytes in; out: %s%s%s, %lld bytes",
         (long long)length, dx_kind_word(job->entry.kind),
         job->entry.reason != DX_REASON_NONE ? " " : "",
         dx_reason_word(job->entry.reason), (long long)job->entry.length);
  if (received == DX_REASON_TOO_SLOW && is_cupsds)
    filter_end_others();
  if (dx_bundle_write(STDOUT_FILENO, &job->entry, job->out_fd, &err) == DX_OK)
    return 0;
  dx_log(DX_LOG_DEBUG, "todocextract: %s", err.text);
  return 1;
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
  (void)filter_receive(from, -1, 0, -1, &length);
  return 1;
}

int main(int argc, char *argv[])
{
  struct job job = {.in_fd = -1, .out_fd = -1};
  int from = STDIN_FILENO, status;
  const char *uri;

  if (!filter_arguments(argc, argv, &status))
    return status;
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
  /* Only our backend understands a bundle; any other prints it as text. */
  uri = getenv("DEVICE_URI");
  if (uri != NULL && strstr(uri, SCHEME) == NULL)
    return refuse_queue(from);
  return run(&job, from);
}
