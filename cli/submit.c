/*
 * submit.c - `docextract submit FILE...`: like a print job, without CUPS. The
 * files become a job in the spool, and docextractd does the rest. Once it is
 * stored, the job does not depend on the command.
 *
 * It runs todocextract for each file, as cupsd does, and reads its bundle.
 * Therefore both accept the same files and send the same bytes. The filter gets
 * the service and the configuration, but no names, because every user of the
 * computer can read arguments. If root runs the command, the filter runs as a
 * user who can read neither key nor spool; therefore all files are processed,
 * into a bundle without a name, before cli_become_owner().
 *
 * Messages contain the number of a file instead of its name, because file names
 * often contain names of patients, and stderr may be logged.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/process.h"
#include "lib/base/sandbox.h"
#include "lib/base/user.h"
#include "lib/base/utf8.h"
#include "lib/print/bundle.h"
#include "lib/spool/filename.h"
#include "lib/spool/results.h"
#include "lib/spool/sentence.h"

#define DX_FILTER_SPARE_MS 60000 /* beyond FilterTimeLimit, for the rest */

#define CONFIG_FD 3 /* of todocextract, which may not open the file */
#define TEMP_DIR "/var/tmp"
#define LOG_BYTES 65536 /* of one filter */
#define FILTER_FAILED "todocextract failed; to see its log, use --verbose"

struct submit {
  struct cli *cli;
  const struct dx_service *service;
  char user[DX_USER_BYTES]; /* the caller */
  char filter[PATH_MAX];    /* todocextract */
  char filter_uri[128];     /* a variable of its environment */
  char filter_options[64];  /* an argument, as cupsd passes it */
  unsigned filter_limit_s;
  int config_fd; /* a copy for it; -1, also below: none */
  int out_fd;    /* appends to the bundle, and cannot read it */
  int bundle_fd;
  struct dx_bundle_reader *reader;
  struct dx_job *job;
  size_t refused;
  enum dx_code refusal; /* E_DOCUMENT if the caller can solve one of them */
  bool is_stored;
};

static void submit_close(int *fd)
{
  if (*fd >= 0)
    (void)close(*fd);
  *fd = -1;
}

/* ---- todocextract ---- */

/* Runs in a child process. No other files are open in a filter, because it
 * parses untrusted input; it limits its processor time and memory itself
 * (filter/isolate.c). */
static void filter_exec(const struct submit *s, pid_t parent, int in_fd,
                        int log_fd)
{
  const char *const environment[] = {
      "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8",
      ("TMPDIR=" TEMP_DIR), "DOCEXTRACT_CONF=/proc/self/fd/3",
      s->filter_uri,        NULL};
  struct dx_err err;

  (void)setpgid(0, 0); /* so that it gets no signals of the terminal */
  (void)signal(SIGALRM, SIG_DFL);
  (void)alarm(s->filter_limit_s);
  if (geteuid() == 0 &&
      dx_user_become(DX_NOBODY, DX_NOBODY, NULL, &err) != DX_OK) {
    dprintf(log_fd, "WARNING: %s\n", err.text);
    _exit(1);
  }
  dx_process_protect();
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user resets it */
  if (getppid() == parent && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      dup2(in_fd, STDIN_FILENO) >= 0 && dup2(s->out_fd, STDOUT_FILENO) >= 0 &&
      dup2(log_fd, STDERR_FILENO) >= 0 && dup2(s->config_fd, CONFIG_FD) >= 0 &&
      close_range(CONFIG_FD + 1, ~0U, 0) == 0)
    (void)execle(s->filter, "todocextract", "0", "-", "document", "1",
                 s->filter_options, (char *)NULL, environment);
  _exit(127);
}

/* Processes one file. The filter has ended when its log ends. */
static enum dx_code filter_run(const struct submit *s, int in_fd, size_t number,
                               struct dx_err *err)
{
  struct dx_buf log = {0};
  pid_t parent = getpid(), child;
  int ends[2], status = 0;
  char bytes[4096], *text, *line, *rest;
  ssize_t n = 1;

  child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
  if (child < 0)
    return dx_fail_sys(err, errno, "start", "todocextract");
  if (child == 0)
    filter_exec(s, parent, in_fd, ends[1]);
  (void)close(ends[1]);
  while (n > 0 && cli_stop_await(ends[0], -1) && !cli_stop_came()) {
    n = read(ends[0], bytes, sizeof(bytes));
    if (n > 0 && log.len < LOG_BYTES)
      dx_buf_add(&log, bytes, (size_t)n);
  }
  (void)close(ends[0]);
  if (cli_stop_came())
    (void)kill(child, SIGKILL);
  (void)waitpid(child, &status, 0);
  for (rest = text = dx_buf_take(&log); (line = strsep(&rest, "\n")) != NULL;)
    if (strncmp(line, "WARNING: ", 9) == 0)
      fprintf(stderr, "warning: file %zu: %s\n", number, line + 9);
    else if (strncmp(line, "DEBUG: ", 7) == 0)
      dx_log(DX_LOG_DEBUG, "%s", line + 7);
  free(text);
  if (cli_stop_came())
    return dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return dx_fail(err, DX_E_IO, 0, "todocextract did not respond within %u s",
                   s->filter_limit_s);
  return status == 0 ? DX_OK : dx_fail(err, DX_E_IO, 0, FILTER_FAILED);
}

/* Returns a copy of the configuration that the user of the filter can read. It
 * contains no secrets (lib/config/config.h). Not close-on-exec, because it may
 * already have the right number. */
static int filter_copy_config(const char *path)
{
  int from = open(path, O_RDONLY | O_CLOEXEC);
  int to = memfd_create("docextract.conf", 0);
  ssize_t n;

  do
    n = from >= 0 && to >= 0 ? sendfile(to, from, NULL, INT_MAX) : -1;
  while (n > 0);
  submit_close(&from);
  if (n < 0 || fchmod(to, 0644) < 0)
    submit_close(&to);
  return to;
}

/* ---- the files, with the caller's rights ---- */

static enum dx_code submit_filter(const struct submit *s, size_t number,
                                  struct dx_err *err)
{
  /* O_NONBLOCK: a fifo must not block. */
  int fd = open(s->cli->args[number - 1],
                O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  char size[DX_SIZE_TEXT_BYTES];
  enum dx_code code;
  struct stat st;

  if (fd < 0)
    return dx_fail(err, DX_E_DOCUMENT, errno, "cannot open file %zu: %s",
                   number, strerror(errno));
  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
    code = dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is not a regular file",
                   number);
  else if (st.st_size == 0)
    code = dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is empty", number);
  else if (st.st_size > s->service->max_document_bytes)
    code = dx_fail(err, DX_E_DOCUMENT, 0,
                   "file %zu is larger than MaxDocumentSize (%s)", number,
                   dx_size_text(s->service->max_document_bytes, size));
  else
    code = filter_run(s, fd, number, err);
  (void)close(fd); /* open files and their names are visible in /proc */
  return code;
}

/* Processes all files, so that the n-th entry of the bundle belongs to the n-th
 * file. */
static enum dx_code submit_filter_all(struct submit *s, struct dx_err *err)
{
  int64_t limit_ms = s->service->filter_time_limit_ms + DX_FILTER_SPARE_MS;
  char name[] = TEMP_DIR "/docextract-XXXXXX";
  enum dx_code code = DX_OK;
  size_t i;

  s->filter_limit_s = (unsigned)(limit_ms / 1000);
  cli_server_program("filter/todocextract", s->filter);
  (void)snprintf(s->filter_uri, sizeof(s->filter_uri),
                 "DEVICE_URI=docextract://%s", s->service->name);
  if (s->cli->text_encoding != NULL)
    (void)snprintf(s->filter_options, sizeof(s->filter_options),
                   "TextEncoding=%s", s->cli->text_encoding);
  if (access(s->filter, X_OK) < 0)
    return dx_fail(err, DX_E_IO, errno,
                   "cannot run '%s', which checks files: %s", s->filter,
                   strerror(errno));
  s->bundle_fd = mkostemp(name, O_CLOEXEC);
  if (s->bundle_fd < 0)
    return dx_fail_sys(err, errno, "create a file in", TEMP_DIR);
  s->out_fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
  (void)unlink(name);
  s->config_fd = filter_copy_config(s->cli->config_path);
  if (s->out_fd < 0 || s->config_fd < 0)
    return dx_fail_sys(err, errno, "copy", s->cli->config_path);
  for (i = 1; code == DX_OK && i <= s->cli->arg_count; i++)
    code = submit_filter(s, i, err);
  return code;
}

/* ---- the job ---- */

/* Stores the next document. After a refusal, the next entries are still read,
 * so that all errors are reported at once. */
static enum dx_code submit_add_document(struct submit *s, struct dx_err *err)
{
  size_t number = s->job->document_count + 1; /* in warnings */
  const char *path = s->cli->args[number - 1], *slash = strrchr(path, '/');
  char why[DX_WHY_BYTES];
  struct dx_entry entry;
  bool ended = false;
  enum dx_code code = dx_bundle_next(s->reader, &entry, &ended, err);

  if (code == DX_OK && !ended) {
    if (s->service->file_names == DX_FILE_NAMES_NEUTRAL)
      dx_filename_neutral(number, entry.type, entry.name);
    else
      dx_filename_from_title(slash != NULL ? slash + 1 : path, entry.type,
                             entry.name);
    entry.together = s->cli->together;
    code = dx_spool_add_document(s->job, &entry, s->reader, err);
  }
  if (code == DX_E_BUNDLE || (code == DX_OK && ended))
    code = dx_fail(err, DX_E_IO, 0, FILTER_FAILED);
  if (code == DX_OK && entry.reason == DX_REASON_SANDBOX)
    code = dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
  if (code != DX_OK || entry.kind == DX_KIND_DOCUMENT)
    return code;
  s->refused++;
  if (entry.reason != DX_REASON_TROUBLE)
    s->refusal = DX_E_DOCUMENT;
  dx_entry_why(&entry, why);
  fprintf(stderr, "docextract: file %zu cannot be sent: %s%s\n", number, why,
          entry.reason == DX_REASON_ENCODING ? " (here: --text-encoding)" : "");
  return DX_OK;
}

/* If a file is refused, nothing is sent, so that a user who repeats the command
 * does not send the other files twice. */
static enum dx_code submit_add_documents(struct submit *s, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  s->reader = dx_bundle_reader_new(s->bundle_fd, NULL, NULL, NULL);
  if (s->reader == NULL)
    return dx_fail_nomem(err);
  while (code == DX_OK && s->job->document_count < s->cli->arg_count)
    code = submit_add_document(s, err);
  if (code != DX_OK || s->refused == 0)
    return code;
  return dx_fail(err, s->refusal, 0,
                 "%zu of %zu files cannot be sent; nothing was sent",
                 s->refused, s->cli->arg_count);
}

/* Runs as the owner of the spool. Everything is written to incoming/, and
 * committed with one rename. */
static enum dx_code submit_store(struct submit *s, struct dx_err *err)
{
  const char *spool_dir = s->cli->config->spool_dir;
  enum dx_code code = dx_spool_open(spool_dir, &s->cli->spool, err);
  char host[256] = "";
  struct dx_job *job;

  if (code == DX_OK)
    code = dx_fs_probe(spool_dir, err);
  if (code == DX_OK)
    code = dx_results_prepare(s->service->results_dir, err);
  if (code == DX_OK)
    code = dx_spool_receive(&s->cli->spool, &s->job, err);
  if (code == DX_OK)
    code = submit_add_documents(s, err);
  if (code != DX_OK)
    return code;
  job = s->job;
  (void)gethostname(host, sizeof(host) - 1);
  dx_random_hex(job->key, DX_KEY_BYTES - 1);
  job->service = strdup(s->service->name);
  job->base_url = strdup(s->service->base_url);
  job->user = strdup(s->user);
  job->host = strdup(host);
  job->title = strdup(s->cli->title != NULL ? s->cli->title
                                            : job->documents[0].entry.name);
  if (job->service == NULL || job->base_url == NULL || job->user == NULL ||
      job->host == NULL || job->title == NULL)
    return dx_fail_nomem(err);
  code = dx_job_plan(job, err);
  if (code == DX_OK && cli_stop_came())
    code = dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted");
  if (code == DX_OK)
    code = dx_spool_commit(&s->cli->spool, job, err);
  s->is_stored = code == DX_OK || code == DX_E_UNSYNCED;
  return code;
}

/* ---- its progress and its outcome ---- */

#define PROGRESS_STEP 10 /* percent between two lines */
#define AGAIN_MS 1000    /* between two tries to connect */

struct attend {
  struct cli *cli;
  const struct dx_job *job;
  struct dx_err *err;               /* of the request */
  int percent;                      /* last printed */
  char sentence[DX_SENTENCE_BYTES]; /* last printed */
  int64_t lost_ms;                  /* when the connection was lost; 0: never */
  bool is_over, has_ended;          /* the command stops waiting; the job */
};

/* Prints a line for each step of an upload, and for each new status, with its
 * cause. is_here: not all documents have been uploaded; others may be extracted
 * already. */
static void attend_print_note(struct attend *a, const struct dx_note *note,
                              bool is_here)
{
  int percent = note->total > 0 ? (int)(note->done * 100 / note->total) : 100;
  char sentence[DX_SENTENCE_BYTES];

  if (note->kind == DX_NOTE_UPLOADING) {
    if (percent <= a->percent || /* a failed upload starts over */
        (percent < 100 && percent < a->percent + PROGRESS_STEP))
      return;
    a->percent = percent;
    fprintf(stderr, "Uploading: %d%%\n", percent);
  } else if (note->kind != DX_NOTE_WAITING || !is_here) {
    dx_wait_sentence(note->code, is_here, sentence);
    if (strcmp(sentence, a->sentence) == 0)
      return;
    memcpy(a->sentence, sentence, sizeof(sentence));
    fprintf(stderr, "%s%s%s\n", sentence, note->text[0] != '\0' ? ": " : "",
            note->text);
  }
}

/* The command does not wait if an administrator must act, or the job is
 * overdue. */
static enum dx_code attend_handle(void *ctx, const struct dx_message *message)
{
  struct attend *a = ctx;
  struct dx_note note;
  bool is_here;

  a->has_ended = message->verb == DX_VERB_END;
  a->is_over = a->has_ended || message->verb == DX_VERB_ERROR;
  if (message->verb != DX_VERB_NOTE)
    return DX_OK;
  if (dx_note_parse(message, &note, &is_here, a->err) != DX_OK)
    return a->err->code;
  a->is_over = note.kind == DX_NOTE_ADMIN || note.kind == DX_NOTE_OVERDUE;
  if (note.kind == DX_NOTE_OVERDUE)
    return dx_fail(a->err, DX_E_OVERDUE, 0,
                   "the extraction is taking longer than ProcessingLimit; "
                   "docextractd continues job %s",
                   a->job->key);
  if (note.kind == DX_NOTE_ADMIN)
    return dx_fail(a->err, note.code != DX_OK ? note.code : DX_E_CONFIG, 0,
                   "%s; docextractd continues job %s when this is solved",
                   note.text, a->job->key);
  if (!a->cli->quiet)
    attend_print_note(a, &note, is_here);
  return DX_OK;
}

/* The journal is written before docextractd reports the end. */
static void attend_print_results(const struct attend *a)
{
  struct dx_job *job = NULL;
  struct dx_err why;
  size_t i, k;

  if (dx_spool_load(&a->cli->spool, a->job->key, &job, &why) != DX_OK) {
    if (why.code != DX_E_NOT_FOUND) /* purged already */
      fprintf(stderr, "docextract: %s\n", why.text);
    return;
  }
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    const char *dir = cli_results_dir(a->cli, sub);

    for (k = 0; dir != NULL && k < sub->case_count; k++) {
      char *name = dx_result_name(sub->source_id, sub->cases[k].id);

      if (name != NULL && sub->cases[k].state == DX_CASE_DELIVERED)
        printf("%s/%s\n", dir, name);
      free(name);
    }
  }
  dx_job_free(&job);
}

/* Follows a committed job, and prints its progress, until it ends; then prints
 * the paths of its results. After a signal, if it is overdue, or if an
 * administrator must act first, the error states that the job continues. */
static enum dx_code attend_job(struct cli *cli, const struct dx_job *job,
                               struct dx_err *err)
{
  struct attend a = {
      .cli = cli, .job = job, .err = err, .percent = -PROGRESS_STEP};
  struct dx_err why;
  enum dx_code code;

  do { /* docextractd may be restarted at any time */
    code = cli_request(cli, -1, attend_handle, &a, err, "attend %s %s",
                       job->key, job->print.run);
    if (code == DX_E_NOT_YET) /* it was connected until now */
      a.lost_ms = dx_monotonic_ms();
  } while (!a.is_over && a.lost_ms != 0 &&
           dx_monotonic_ms() - a.lost_ms < CLI_RESTART_MS &&
           cli_stop_wait(AGAIN_MS));
  if (a.has_ended) {
    attend_print_results(&a);
    return cli_outcome(job->key, code, err);
  }
  if (a.is_over)
    return code;
  if (cli_stop_came())
    return dx_fail(err, DX_E_STOPPED, 0,
                   "stopped; docextractd continues the job; to cancel it, run: "
                   "docextract cancel %s",
                   job->key);
  if (code == DX_E_NOT_YET)
    return dx_fail(err, code, 0,
                   "docextractd has exited; job %s is stored, and continues "
                   "when docextractd is started again",
                   job->key);
  why = *err;
  return dx_fail(err, DX_E_NOT_YET, 0, "job %s is stored, and waits: %s",
                 job->key, why.text);
}

/* ---- the verb ---- */

static enum dx_code submit_check(const struct submit *s, struct dx_err *err)
{
  if (s->cli->title != NULL && !dx_utf8_is_plain(s->cli->title))
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "the title must be UTF-8 without control characters");
  if ((int64_t)s->cli->arg_count > s->service->max_documents)
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "more files than MaxDocumentsPerJob (%" PRId64
                   "); submit fewer at a time",
                   s->service->max_documents);
  /* As root, it becomes the owner after it has opened the files. */
  return geteuid() != 0 ? cli_become_owner(s->cli, err) : DX_OK;
}

enum dx_code verb_submit(struct cli *cli, struct dx_err *err)
{
  struct submit s = {.cli = cli,
                     .config_fd = -1,
                     .out_fd = -1,
                     .bundle_fd = -1,
                     .refusal = DX_E_IO};
  enum dx_code code = cli_load(cli, err);

  dx_user_name_of(geteuid(), s.user);
  if (code == DX_OK)
    code = cli_service(cli, &s.service, err);
  if (code == DX_OK)
    code = submit_check(&s, err);
  cli_stop_catch();
  if (code == DX_OK)
    code = submit_filter_all(&s, err);
  if (code == DX_OK)
    code = cli_become_owner(cli, err);
  if (code == DX_OK)
    code = submit_store(&s, err);
  dx_bundle_reader_free(&s.reader);
  submit_close(&s.config_fd);
  submit_close(&s.out_fd);
  submit_close(&s.bundle_fd);
  if (s.is_stored) {
    if (code != DX_OK) /* not durable yet */
      fprintf(stderr, "docextract: %s\n", err->text);
    if (!cli->quiet)
      fprintf(stderr, "Stored %zu document%s as job %s\n",
              s.job->document_count, s.job->document_count == 1 ? "" : "s",
              s.job->key);
    code = attend_job(cli, s.job, err);
  } else {
    dx_spool_discard(&cli->spool, &s.job);
  }
  dx_job_free(&s.job);
  return code;
}
