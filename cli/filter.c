/*
 * filter.c - starts checkdocextract and todocextract as cupsd would, for one
 * file. They are told the service and the configuration, but no names: every
 * user of the computer can read arguments.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/job/mime.h"

/* The filters while they run, in their order. */
struct run {
  pid_t pids[2]; /* 0: not running */
  pid_t group;   /* of both */
  int bundle_fd; /* the output of the last one */
  int log_fd;    /* a file in memory with what they log */
};

/* ---- the process ---- */

static char *program(const char *name)
{
  const char *bin = getenv("CUPS_SERVERBIN");
  struct dx_buf path = {0};

  dx_buf_printf(&path, "%s/filter/%s",
                bin != NULL && bin[0] == '/' ? bin : DX_SERVERBIN, name);
  return dx_buf_take(&path);
}

/* Nothing else is open in a filter: it parses what anybody may have made. */
static int set_files(posix_spawn_file_actions_t *actions, int in_fd, int out_fd,
                     int log_fd)
{
  int e = posix_spawn_file_actions_adddup2(actions, in_fd, STDIN_FILENO);

  if (e == 0)
    e = posix_spawn_file_actions_adddup2(actions, out_fd, STDOUT_FILENO);
  if (e == 0)
    e = posix_spawn_file_actions_adddup2(actions, log_fd, STDERR_FILENO);
  if (e == 0)
    e = posix_spawn_file_actions_addclosefrom_np(actions, 3);
  return e;
}

/* group: 0 for a new one. It is never our own: signals from the terminal are
 * ours to pass on. */
static int spawn_with(char *path, posix_spawn_file_actions_t *actions,
                      char **environment, pid_t group, pid_t *ret_pid)
{
  static char job[] = "0", nobody[] = "-", title[] = "document", copies[] = "1",
              options[] = "";
  char *arguments[] = {
      strrchr(path, '/') + 1, job, nobody, title, copies, options, NULL};
  posix_spawnattr_t attr;
  int e = posix_spawnattr_init(&attr);

  if (e != 0)
    return e;
  (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
  (void)posix_spawnattr_setpgroup(&attr, group);
  e = posix_spawn(ret_pid, path, actions, &attr, arguments, environment);
  (void)posix_spawnattr_destroy(&attr);
  return e;
}

static enum dx_code spawn(struct run *run, int number, char **environment,
                          int in_fd, int out_fd, struct dx_err *err)
{
  static const char *const names[] = {"checkdocextract", "todocextract"};
  posix_spawn_file_actions_t actions;
  char *path = program(names[number]);
  int e;

  if (path == NULL)
    return dx_fail_nomem(err);
  e = posix_spawn_file_actions_init(&actions);
  if (e == 0) {
    e = set_files(&actions, in_fd, out_fd, run->log_fd);
    if (e == 0)
      e = spawn_with(path, &actions, environment, run->group,
                     &run->pids[number]);
    if (run->group == 0)
      run->group = run->pids[number];
    (void)posix_spawn_file_actions_destroy(&actions);
  }
  if (e != 0)
    (void)dx_fail(err, DX_E_IO, e, "cannot run '%s', which checks files: %s",
                  path, strerror(e));
  free(path);
  return e == 0 ? DX_OK : err->code;
}

/* checkdocextract is for what cupsd would give to pdftopdf. */
static bool is_pdf(int fd)
{
  char bytes[DX_MIME_LOOK_BYTES];
  ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
  const char *type = n > 0 ? dx_mime_of_bytes(bytes, (size_t)n) : NULL;

  return type != NULL && strcmp(type, DX_MIME_PDF) == 0;
}

static enum dx_code spawn_both(struct run *run, char **environment, int in_fd,
                               int out_fd, struct dx_err *err)
{
  enum dx_code code;
  int ends[2];

  if (pipe2(ends, O_CLOEXEC) < 0)
    return dx_fail_sys(err, errno, "create a pipe for", "checkdocextract");
  code = spawn(run, 0, environment, in_fd, ends[1], err);
  if (code == DX_OK)
    code = spawn(run, 1, environment, ends[0], out_fd, err);
  (void)close(ends[0]);
  (void)close(ends[1]);
  return code;
}

static enum dx_code start_with(struct dx_buf variables[3], int in_fd,
                               int out_fd, struct run *run, struct dx_err *err)
{
  static char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8";
  char *environment[] = {
      path, locale, variables[0].data, variables[1].data, variables[2].data,
      NULL};

  if (!dx_buf_ok(&variables[0]) || !dx_buf_ok(&variables[1]) ||
      !dx_buf_ok(&variables[2]))
    return dx_fail_nomem(err);
  return is_pdf(in_fd) ? spawn_both(run, environment, in_fd, out_fd, err)
                       : spawn(run, 1, environment, in_fd, out_fd, err);
}

static enum dx_code start(const struct cli *cli,
                          const struct dx_service *service, int in_fd,
                          const char *temp_dir, struct run *run,
                          struct dx_err *err)
{
  struct dx_buf variables[3] = {{0}};
  enum dx_code code;
  int ends[2], i;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return dx_fail_sys(err, errno, "create a pipe for", "todocextract");
  run->bundle_fd = ends[0];
  dx_buf_printf(&variables[0], "DEVICE_URI=docextract://%s", service->name);
  dx_buf_printf(&variables[1], "DOCEXTRACT_CONF=%s", cli->config_path);
  dx_buf_printf(&variables[2], "TMPDIR=%s", temp_dir);
  code = start_with(variables, in_fd, ends[1], run, err);
  for (i = 0; i < 3; i++)
    dx_buf_release(&variables[i]);
  (void)close(ends[1]);
  return code;
}

static void end(struct run *run, bool kills)
{
  int i;

  if (run->bundle_fd >= 0)
    (void)close(run->bundle_fd);
  if (kills && run->group > 0)
    (void)kill(-run->group, SIGTERM);
  for (i = 0; i < 2; i++)
    while (run->pids[i] > 0 && waitpid(run->pids[i], NULL, 0) < 0 &&
           errno == EINTR)
      continue;
}

/* ---- its output ---- */

static enum dx_code wait_for_data(void *ctx, int fd, struct dx_err *err)
{
  struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                         {.fd = cli_stop_fd(), .events = POLLIN}};

  (void)ctx;
  if (!cli_stop_came())
    (void)poll(fds, 2, -1);
  return cli_stop_came()
             ? dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted")
             : DX_OK;
}

static enum dx_code read_bundle(struct run *run, int out_fd,
                                struct dx_entry *entry, struct dx_err *err)
{
  struct dx_bundle_reader *reader = dx_bundle_reader_new(run->bundle_fd, NULL);
  bool ended = false;
  enum dx_code code;

  if (reader == NULL)
    return dx_fail_nomem(err);
  dx_bundle_reader_wait(reader, wait_for_data, NULL);
  code = dx_bundle_next(reader, entry, &ended, err);
  if (code == DX_OK && !ended)
    code = dx_bundle_content(reader, out_fd, err);
  if (code == DX_E_BUNDLE || (code == DX_OK && ended))
    code = dx_fail(err, DX_E_IO, 0,
                   "todocextract failed; --verbose shows what it logs");
  if (code == DX_OK)
    code = dx_fs_sync(out_fd, "document", err);
  dx_bundle_reader_free(&reader);
  return code;
}

/* ---- its log ---- */

static void pass_on_line(const char *line, size_t number)
{
  static const char warning[] = "WARNING: ", debug[] = "DEBUG: ";

  if (strncmp(line, warning, sizeof(warning) - 1) == 0)
    fprintf(stderr, "warning: file %zu: %s\n", number,
            line + sizeof(warning) - 1);
  else if (strncmp(line, debug, sizeof(debug) - 1) == 0)
    dx_log(DX_LOG_DEBUG, "%s", line + sizeof(debug) - 1);
}

static void pass_on_log(int fd, size_t number)
{
  FILE *log = lseek(fd, 0, SEEK_SET) == 0 ? fdopen(fd, "r") : NULL;
  char line[1024], last[1024] = "";

  if (log == NULL) {
    (void)close(fd);
    return;
  }
  while (fgets(line, sizeof(line), log) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, last) != 0) /* both may have noticed it */
      pass_on_line(line, number);
    memcpy(last, line, sizeof(last));
  }
  (void)fclose(log);
}

enum dx_code filter_file(const struct cli *cli,
                         const struct dx_service *service, int in_fd,
                         const char *temp_dir, size_t number, int out_fd,
                         struct dx_entry *ret_entry, struct dx_err *err)
{
  struct run run = {.bundle_fd = -1,
                    .log_fd = memfd_create("log", MFD_CLOEXEC)};
  enum dx_code code;

  if (run.log_fd < 0)
    return dx_fail_sys(err, errno, "create", "log");
  code = start(cli, service, in_fd, temp_dir, &run, err);
  if (code == DX_OK)
    code = read_bundle(&run, out_fd, ret_entry, err);
  end(&run, code != DX_OK);
  pass_on_log(run.log_fd, number);
  return code;
}
