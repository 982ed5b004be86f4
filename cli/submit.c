/*
 * submit.c - `docextract submit FILE...`: like a print job, without CUPS.
 * The files become a job in the spool, and docextractd does the rest; a job
 * that was stored is never lost, however the command ends.
 *
 * It runs todocextract as cupsd would, for one file after the other, and reads
 * its bundle: so both accept the same files and send the same bytes. The filter
 * is told the service and the configuration, but no names: every user of the
 * computer can read arguments. The processes are: this command; a runner, which
 * waits for a byte before each file; and todocextract. The runner is killed
 * with this command, and todocextract with the runner. If root runs the
 * command, they run as a user who can read neither key nor spool; so
 * filter_start() comes before cli_become_owner().
 *
 * Messages count the files instead of naming them: names of charts are often
 * names of patients, and stderr may end up in a log.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/sandbox.h"
#include "lib/base/user.h"
#include "lib/base/utf8.h"
#include "lib/print/bundle.h"
#include "lib/spool/filename.h"
#include "lib/spool/results.h"

#define CONFIG_FD 3 /* of todocextract, which may not be allowed to open it */
#define TEMP_DIR "/var/tmp" /* its files there have no names */

/* ---- todocextract ---- */

struct filter {
  struct dx_bundle_reader *reader;
  int bundle_fd;    /* what the filters write */
  int go_fd;        /* a byte for each file to process; -1: not started */
  int log_fd;       /* a file in memory with what they log */
  long long log_at; /* how much of it was read */
  int64_t limit_ms; /* from filter_next() to the entry */
  int64_t until_ms; /* of the file at hand; 0: its entry has begun */
};

#define FILTER_NONE                            \
  {                                            \
    .bundle_fd = -1, .go_fd = -1, .log_fd = -1 \
  }

struct runner {
  const int *in_fds;
  size_t count;
  int go_fd, out_fd, log_fd, config_fd;
  char *path;         /* of todocextract */
  char *variables[6]; /* its environment */
};

/* More than its child allows itself (filter/isolate.c), and it is a bound. */
static bool runner_limit(int in_fd)
{
  struct stat st;
  rlim_t size = fstat(in_fd, &st) == 0 ? (rlim_t)st.st_size : 0;
  rlim_t s = 2 * (DX_PARSE_CPU_S + size / DX_PARSE_CPU_BYTES);
  rlim_t bytes = DX_PARSE_FILE_BYTES + DX_PARSE_FILE_FACTOR * size;

  return dx_process_limit(RLIMIT_CPU, s, s) &&
         dx_process_limit(RLIMIT_FSIZE, bytes, bytes) &&
         dx_process_limit(RLIMIT_NOFILE, 1024, 1024);
}

/* Nothing else is open in a filter: it parses untrusted input. */
static void runner_exec(const struct runner *r, int in_fd, pid_t parent)
{
  static char job[] = "0", nobody[] = "-", title[] = "document", copies[] = "1",
              options[] = "";
  char *arguments[] = {
      strrchr(r->path, '/') + 1, job, nobody, title, copies, options, NULL};

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent && runner_limit(in_fd) &&
      dup2(in_fd, STDIN_FILENO) >= 0 && dup2(r->out_fd, STDOUT_FILENO) >= 0 &&
      dup2(r->log_fd, STDERR_FILENO) >= 0 &&
      dup2(r->config_fd, CONFIG_FD) >= 0 &&
      close_range(CONFIG_FD + 1, ~0U, 0) == 0)
    (void)execve(r->path, arguments, r->variables);
  _exit(127);
}

/* Entries follow each other in one bundle. After a filter that failed, nothing
 * more is written: the n-th entry is always that of the n-th file. */
static void runner_run(const struct runner *r, pid_t parent)
{
  struct dx_err err;
  int status = 0;
  size_t i;
  char byte;

  (void)setpgid(0, 0); /* signals from the terminal are not for it */
  if (geteuid() == 0 && dx_user_become(DX_NOBODY, DX_NOBODY, &err) != DX_OK) {
    dprintf(r->log_fd, "WARNING: %s\n", err.text);
    _exit(1);
  }
  dx_process_protect();
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || getppid() != parent)
    _exit(1);
  for (i = 0; i < r->count && status == 0; i++) {
    pid_t child, self = getpid();

    if (read(r->go_fd, &byte, 1) != 1)
      break;
    child = fork();
    if (child == 0)
      runner_exec(r, r->in_fds[i], self);
    if (child < 0 || waitpid(child, &status, 0) != child)
      break;
  }
  _exit(0);
}

/* A copy that the user of the filter can read, whatever the mode of the file.
 * No secrets are in it (lib/config/config.h). Not closed by exec: it may have
 * the right number already. */
static int copy_config(const char *path)
{
  int from = open(path, O_RDONLY | O_CLOEXEC);
  int to = memfd_create("docextract.conf", 0);
  char bytes[8192];
  ssize_t n = -1;

  if (from >= 0 && to >= 0)
    while ((n = read(from, bytes, sizeof(bytes))) > 0 &&
           dx_fs_write_all(to, bytes, (size_t)n, "copy", NULL) == DX_OK)
      continue;
  if (from >= 0)
    (void)close(from);
  if (to >= 0 && (n != 0 || fchmod(to, 0644) < 0)) {
    (void)close(to);
    to = -1;
  }
  return to;
}

static enum dx_code fork_runner(struct filter *f, struct runner *r,
                                struct dx_err *err)
{
  int bundle[2] = {-1, -1}, go[2] = {-1, -1};
  pid_t parent = getpid(), child = -1;

  if (pipe2(bundle, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0) {
    r->out_fd = bundle[1];
    r->go_fd = go[0];
    child = fork();
  }
  if (child == 0) {
    (void)close(bundle[0]);
    (void)close(go[1]);
    runner_run(r, parent);
  }
  if (child < 0)
    (void)dx_fail_sys(err, errno, "start", "todocextract");
  f->bundle_fd = bundle[0];
  f->go_fd = go[1];
  (void)close(bundle[1]);
  (void)close(go[0]);
  return child < 0 ? err->code : DX_OK;
}

/* Starts the runner; nothing is processed yet. in_fds are borrowed for the
 * call. */
static enum dx_code filter_start(struct filter *f, const struct cli *cli,
                                 const struct dx_service *service,
                                 const int *in_fds, size_t count,
                                 struct dx_err *err)
{
  /* Counts only for those whom it cannot give other rights. */
  const char *bin = dx_user_environment("CUPS_SERVERBIN");
  static char search[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8",
              temp[] = "TMPDIR=" TEMP_DIR,
              config[] = "DOCEXTRACT_CONF=/proc/self/fd/3";
  char path[PATH_MAX], uri[128];
  struct runner r = {.in_fds = in_fds,
                     .count = count,
                     .path = path,
                     .variables = {search, locale, temp, config, uri}};
  enum dx_code code;

  (void)snprintf(path, sizeof(path), "%s/filter/todocextract",
                 bin != NULL && bin[0] == '/' ? bin : DX_SERVERBIN);
  (void)snprintf(uri, sizeof(uri), "DEVICE_URI=docextract://%s", service->name);
  if (access(path, X_OK) < 0)
    return dx_fail(err, DX_E_IO, errno,
                   "cannot run '%s', which checks files: %s", path,
                   strerror(errno));
  f->limit_ms = service->filter_time_limit_ms + DX_FILTER_SPARE_MS;
  f->log_fd = r.log_fd = memfd_create("log", MFD_CLOEXEC);
  r.config_fd = copy_config(cli->config_path);
  code = r.log_fd >= 0 && r.config_fd >= 0
             ? fork_runner(f, &r, err)
             : dx_fail_sys(err, errno, "copy", cli->config_path);
  if (r.config_fd >= 0)
    (void)close(r.config_fd);
  return code;
}

/* Once the entry has begun, only silence ends it. */
static enum dx_code wait_for_data(void *ctx, int fd, struct dx_err *err)
{
  struct filter *f = ctx;
  struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                         {.fd = cli_stop_fd(), .events = POLLIN}};
  int64_t left_ms =
      f->until_ms > 0 ? f->until_ms - dx_monotonic_ms() : f->limit_ms;
  int n = 1;

  if (!cli_stop_came())
    n = poll(fds, 2, left_ms > 0 ? (int)left_ms : 0);
  if (cli_stop_came())
    return dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted");
  return n != 0 ? DX_OK
                : dx_fail(err, DX_E_IO, 0,
                          "todocextract did not respond within %lld s",
                          (long long)f->limit_ms / 1000);
}

/* What was logged about this file. */
static void pass_on_log(struct filter *f, size_t number)
{
  char text[8192], *line, *rest = NULL;
  ssize_t n = pread(f->log_fd, text, sizeof(text) - 1, f->log_at);

  if (n <= 0)
    return;
  f->log_at += n;
  text[n] = '\0';
  for (line = strtok_r(text, "\n", &rest); line != NULL;
       line = strtok_r(NULL, "\n", &rest))
    if (strncmp(line, "WARNING: ", 9) == 0)
      fprintf(stderr, "warning: file %zu: %s\n", number, line + 9);
    else if (strncmp(line, "DEBUG: ", 7) == 0)
      dx_log(DX_LOG_DEBUG, "%s", line + 7);
}

/*
 * Processes the next file, and waits, at most for FilterTimeLimit and a minute.
 * The document goes to out_fd and is synced. `number` is that of the file in
 * warnings. *ret_entry is a document, or a refusal with its reason. E_STOPPED
 * after a signal; E_IO and others if the filter cannot be run, or hangs.
 */
static enum dx_code filter_next(struct filter *f, size_t number, int out_fd,
                                struct dx_entry *ret_entry, struct dx_err *err)
{
  bool ended = false;
  enum dx_code code = DX_OK;

  if (f->reader == NULL) {
    f->reader = dx_bundle_reader_new(f->bundle_fd, NULL);
    if (f->reader == NULL)
      return dx_fail_nomem(err);
    dx_bundle_reader_wait(f->reader, wait_for_data, f);
  }
  f->until_ms = dx_monotonic_ms() + f->limit_ms;
  if (write(f->go_fd, "", 1) == 1)
    code = dx_bundle_next(f->reader, ret_entry, &ended, err);
  else
    ended = true; /* an earlier one has failed */
  f->until_ms = 0;
  if (code == DX_OK && !ended)
    code = dx_bundle_content(f->reader, out_fd, err);
  if (code == DX_E_BUNDLE || (code == DX_OK && ended))
    code = dx_fail(err, DX_E_IO, 0,
                   "todocextract failed; --verbose shows what it logs");
  if (code == DX_OK)
    code = dx_fs_sync(out_fd, "document", err);
  pass_on_log(f, number);
  return code;
}

/* The processes end, at the latest, with this one. */
static void filter_end(struct filter *f)
{
  dx_bundle_reader_free(&f->reader);
  if (f->bundle_fd >= 0)
    (void)close(f->bundle_fd);
  if (f->go_fd >= 0)
    (void)close(f->go_fd);
  if (f->log_fd >= 0)
    (void)close(f->log_fd);
  f->bundle_fd = f->go_fd = f->log_fd = -1;
}

struct submit {
  struct cli *cli;
  const struct dx_service *service;
  int *inputs;  /* open files; -1: not yet */
  size_t count; /* of inputs */
  struct filter filter;
  char user[DX_USER_BYTES]; /* the caller */
  struct dx_job *job;
  struct dx_err refusal;  /* what cannot be sent; DX_OK: all can */
  struct dx_buf refusals; /* a line each */
  size_t refused;
  bool is_stored;
};

/* ---- the files, with the caller's rights ---- */

static enum dx_code open_input(struct submit *s, size_t i, struct dx_err *err)
{
  int64_t most = s->service->max_document_bytes;
  char size[DX_SIZE_TEXT_BYTES];
  struct stat st;

  /* O_NONBLOCK: a fifo must not block. */
  s->inputs[i] =
      open(s->cli->args[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (s->inputs[i] < 0)
    return dx_fail(err, DX_E_DOCUMENT, errno, "cannot open file %zu: %s", i + 1,
                   strerror(errno));
  if (fstat(s->inputs[i], &st) < 0 || !S_ISREG(st.st_mode))
    return dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is not a regular file",
                   i + 1);
  if (st.st_size == 0)
    return dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is empty", i + 1);
  if (st.st_size > most)
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "file %zu is larger than MaxDocumentSize (%s)", i + 1,
                   dx_size_text(most, size));
  return DX_OK;
}

static enum dx_code open_inputs(struct submit *s, struct dx_err *err)
{
  size_t i, count = s->cli->arg_count;
  enum dx_code code = DX_OK;

  if (s->cli->title != NULL && !dx_utf8_is_plain(s->cli->title))
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "the title must be UTF-8 without control characters");
  if ((int64_t)count > s->service->max_documents)
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "more files than MaxDocumentsPerJob (%" PRId64
                   "); submit fewer at a time",
                   s->service->max_documents);
  s->inputs = calloc(count, sizeof(*s->inputs));
  if (s->inputs == NULL)
    return dx_fail_nomem(err);
  for (; s->count < count; s->count++)
    s->inputs[s->count] = -1;
  for (i = 0; code == DX_OK && i < count; i++)
    code = open_input(s, i, err);
  return code;
}

/* Their names can be seen in /proc as long as they are open. */
static void close_inputs(struct submit *s)
{
  for (; s->count > 0; s->count--)
    if (s->inputs[s->count - 1] >= 0)
      (void)close(s->inputs[s->count - 1]);
  free(s->inputs);
  s->inputs = NULL;
}

/* ---- the job ---- */

/* The others are still looked at, so that all mistakes are reported at once. */
static void note_refusal(struct submit *s, size_t number,
                         const struct dx_entry *entry)
{
  enum dx_code code =
      entry->reason == DX_REASON_TROUBLE ? DX_E_IO : DX_E_DOCUMENT;

  s->refused++;
  if (s->refusal.code != DX_E_DOCUMENT) /* the caller can fix that: it stays */
    (void)dx_fail(&s->refusal, code, 0,
                  "file %zu cannot be sent: %s; nothing was sent", number,
                  entry->reason_text);
  dx_buf_printf(&s->refusals, "docextract: file %zu cannot be sent: %s\n",
                number, entry->reason_text);
}

static enum dx_code add_document(struct submit *s, size_t index,
                                 struct dx_err *err)
{
  struct dx_document *document = &s->job->documents[index];
  struct dx_entry *entry = &document->entry;
  const char *path = s->cli->args[index], *slash = strrchr(path, '/');
  int fd = dx_spool_create_document(s->job, index, err);
  enum dx_code code;

  if (fd < 0)
    return err->code;
  code = filter_next(&s->filter, index + 1, fd, entry, err);
  (void)close(fd);
  if (code == DX_OK && entry->reason == DX_REASON_SANDBOX)
    code = dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
  if (code != DX_OK)
    return code;
  s->job->document_count++;
  document->is_here = entry->kind == DX_KIND_DOCUMENT;
  if (!document->is_here)
    note_refusal(s, index + 1, entry);
  if (s->service->file_names == DX_FILE_NAMES_NEUTRAL)
    dx_filename_neutral(index + 1, entry->type, entry->name);
  else
    dx_filename_from_title(slash != NULL ? slash + 1 : path, entry->type,
                           entry->name);
  entry->together = s->cli->together;
  return DX_OK;
}

/* Nothing is sent if anything cannot be: whoever repeats the command does not
 * send the others twice. */
static enum dx_code add_documents(struct submit *s, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  s->job->documents = calloc(s->count, sizeof(*s->job->documents));
  if (s->job->documents == NULL)
    return dx_fail_nomem(err);
  for (i = 0; code == DX_OK && i < s->count; i++)
    code = add_document(s, i, err);
  if (code != DX_OK || s->refused == 0)
    return code;
  *err = s->refusal;
  if (s->refused > 1) {
    (void)fputs(dx_buf_text(&s->refusals), stderr);
    (void)dx_fail(err, s->refusal.code, 0,
                  "%zu of %zu files cannot be sent; nothing was sent",
                  s->refused, s->count);
  }
  return err->code;
}

static enum dx_code describe(struct submit *s, struct dx_err *err)
{
  struct dx_job *job = s->job;
  char host[256] = "";

  if (gethostname(host, sizeof(host) - 1) < 0)
    host[0] = '\0';
  if (!dx_random_hex(job->key, DX_KEY_BYTES - 1))
    return dx_fail(err, DX_E_IO, 0, "cannot get random numbers");
  job->service = strdup(s->service->name);
  job->base_url = strdup(s->service->base_url);
  job->user = strdup(s->user);
  job->host = strdup(host);
  job->title = strdup(s->cli->title != NULL ? s->cli->title
                                            : job->documents[0].entry.name);
  if (job->service == NULL || job->base_url == NULL || job->user == NULL ||
      job->host == NULL || job->title == NULL)
    return dx_fail_nomem(err);
  return dx_job_plan(job, err);
}

/* As the owner of the spool. Everything goes into incoming/, then one rename
 * makes it a job. */
static enum dx_code store(struct submit *s, struct dx_err *err)
{
  const char *spool_dir = s->cli->config->spool_dir;
  enum dx_code code = dx_spool_open(spool_dir, &s->cli->spool, err);

  if (code == DX_OK)
    code = dx_fs_probe(spool_dir, err);
  if (code == DX_OK)
    code = dx_results_prepare(s->service->results_dir, err);
  if (code == DX_OK)
    code = dx_spool_receive(&s->cli->spool, &s->job, err);
  if (code == DX_OK)
    code = add_documents(s, err);
  if (code == DX_OK)
    code = describe(s, err);
  if (code == DX_OK && cli_stop_came())
    code = dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted");
  if (code == DX_OK) {
    code = dx_spool_commit(&s->cli->spool, s->job, err);
    s->is_stored = code == DX_OK || code == DX_E_UNSYNCED;
  }
  return code;
}

/* ---- all of it ---- */

static enum dx_code run(struct submit *s, struct dx_err *err)
{
  enum dx_code code = cli_load(s->cli, err);

  if (code == DX_OK)
    code = cli_service(s->cli, &s->service, err);
  if (code == DX_OK)
    code = open_inputs(s, err);
  if (code == DX_OK)
    code =
        filter_start(&s->filter, s->cli, s->service, s->inputs, s->count, err);
  if (code == DX_OK)
    code = cli_become_owner(s->cli->config->spool_dir, err);
  if (code != DX_OK)
    return code;
  cli_stop_catch();
  code = store(s, err);
  if (!s->is_stored)
    return code;
  if (code != DX_OK)
    fprintf(stderr, "docextract: %s\n", err->text);
  printf("Stored %zu document%s as job %s\n", s->count,
         s->count == 1 ? "" : "s", s->job->key);
  filter_end(&s->filter);
  close_inputs(s);
  return cli_attend(s->cli, s->job, err);
}

enum dx_code verb_submit(struct cli *cli, struct dx_err *err)
{
  struct submit s = {.cli = cli, .filter = FILTER_NONE};
  enum dx_code code;

  dx_user_name_of(geteuid(), s.user);
  code = run(&s, err);
  filter_end(&s.filter);
  close_inputs(&s);
  dx_buf_release(&s.refusals);
  if (!s.is_stored)
    dx_spool_discard(&cli->spool, &s.job);
  dx_job_free(&s.job);
  return code;
}
