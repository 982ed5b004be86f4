/*
 * filter.c - runs todocextract as cupsd would, for one file after the other. It
 * is told the service and the configuration, but no names: every user of the
 * computer can read arguments.
 *
 * The processes are: this command; a runner, without rights, which waits for a
 * byte before each file; and todocextract. The runner is killed with this
 * command, and todocextract with the runner.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
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
#include "lib/base/user.h"

#define CONFIG_FD 3 /* of todocextract, which may not be allowed to open it */
#define TEMP_DIR "/var/tmp" /* its files there have no names */

/* ---- the runner ---- */

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

/* ---- starting it ---- */

/* CUPS_SERVERBIN counts only for those whom it cannot give other rights. */
static char *filter_path(void)
{
  const char *bin = dx_user_environment("CUPS_SERVERBIN");
  struct dx_buf path = {0};

  dx_buf_printf(&path, "%s/filter/todocextract",
                bin != NULL && bin[0] == '/' ? bin : DX_SERVERBIN);
  return dx_buf_take(&path);
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

enum dx_code filter_start(struct filter *f, const struct cli *cli,
                          const struct dx_service *service, const int *in_fds,
                          size_t count, struct dx_err *err)
{
  static char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8",
              temp[] = "TMPDIR=" TEMP_DIR,
              config[] = "DOCEXTRACT_CONF=/proc/self/fd/3";
  struct dx_buf uri = {0};
  struct runner r = {.in_fds = in_fds, .count = count, .path = filter_path()};
  enum dx_code code;

  dx_buf_printf(&uri, "DEVICE_URI=docextract://%s", service->name);
  if (r.path == NULL || !dx_buf_ok(&uri)) {
    code = dx_fail_nomem(err);
  } else if (access(r.path, X_OK) < 0) {
    code =
        dx_fail(err, DX_E_IO, errno, "cannot run '%s', which checks files: %s",
                r.path, strerror(errno));
  } else {
    char *variables[] = {path, locale, temp, config, uri.data, NULL};

    memcpy(r.variables, variables, sizeof(variables));
    f->limit_ms = service->filter_time_limit_ms + DX_FILTER_SPARE_MS;
    f->log_fd = r.log_fd = memfd_create("log", MFD_CLOEXEC);
    r.config_fd = copy_config(cli->config_path);
    code = r.log_fd >= 0 && r.config_fd >= 0
               ? fork_runner(f, &r, err)
               : dx_fail_sys(err, errno, "copy", cli->config_path);
    if (r.config_fd >= 0)
      (void)close(r.config_fd);
  }
  free(r.path);
  dx_buf_release(&uri);
  return code;
}

/* ---- its output ---- */

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

static void pass_on_line(const char *line, size_t number)
{
  static const char warning[] = "WARNING: ", debug[] = "DEBUG: ";

  if (strncmp(line, warning, sizeof(warning) - 1) == 0)
    fprintf(stderr, "warning: file %zu: %s\n", number,
            line + sizeof(warning) - 1);
  else if (strncmp(line, debug, sizeof(debug) - 1) == 0)
    dx_log(DX_LOG_DEBUG, "%s", line + sizeof(debug) - 1);
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
    pass_on_line(line, number);
}

enum dx_code filter_next(struct filter *f, size_t number, int out_fd,
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

void filter_end(struct filter *f)
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
