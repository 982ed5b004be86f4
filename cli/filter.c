/*
 * filter.c - starts todocextract as cupsd would, for one file. It is told the
 * service and the configuration, but no names: every user of the computer can
 * read arguments.
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

/* The filter while it runs. */
struct run {
  pid_t pid;
  int bundle_fd; /* its output */
  int log_fd;    /* a file in memory with what it logs */
};

/* ---- the process ---- */

static char *program(void)
{
  const char *bin = getenv("CUPS_SERVERBIN");
  struct dx_buf path = {0};

  dx_buf_printf(&path, "%s/filter/todocextract",
                bin != NULL && bin[0] == '/' ? bin : DX_SERVERBIN);
  return dx_buf_take(&path);
}

/* Nothing else is open in the filter: it parses what anybody may have made. */
static int spawn(const char *path, char **environment, int in_fd, int out_fd,
                 struct run *run)
{
  static char name[] = "todocextract", job[] = "0", nobody[] = "-",
              title[] = "document", copies[] = "1", options[] = "";
  char *arguments[] = {name, job, nobody, title, copies, options, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  int e = posix_spawn_file_actions_init(&actions);

  if (e != 0)
    return e;
  e = posix_spawnattr_init(&attr);
  if (e == 0) {
    /* a group of its own: a signal of the terminal is ours to pass on */
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    e = posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
    if (e == 0)
      e = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    if (e == 0)
      e = posix_spawn_file_actions_adddup2(&actions, run->log_fd,
                                           STDERR_FILENO);
    if (e == 0)
      e = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (e == 0)
      e = posix_spawn(&run->pid, path, &actions, &attr, arguments, environment);
    (void)posix_spawnattr_destroy(&attr);
  }
  (void)posix_spawn_file_actions_destroy(&actions);
  return e;
}

static enum dx_code start_with(struct dx_buf variables[3], int in_fd,
                               int out_fd, struct run *run, struct dx_err *err)
{
  static char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8";
  char *environment[] = {
      path, locale, variables[0].data, variables[1].data, variables[2].data,
      NULL};
  char *filter = program();
  int e;

  if (filter == NULL || !dx_buf_ok(&variables[0]) ||
      !dx_buf_ok(&variables[1]) || !dx_buf_ok(&variables[2])) {
    free(filter);
    return dx_fail_nomem(err);
  }
  e = spawn(filter, environment, in_fd, out_fd, run);
  if (e != 0)
    (void)dx_fail(err, DX_E_IO, e, "cannot run '%s', which checks files: %s",
                  filter, strerror(e));
  free(filter);
  return e == 0 ? DX_OK : err->code;
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
  if (run->bundle_fd >= 0)
    (void)close(run->bundle_fd);
  if (run->pid <= 0)
    return;
  if (kills)
    (void)kill(-run->pid, SIGTERM);
  while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
    ;
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
  char line[1024];

  if (log == NULL) {
    (void)close(fd);
    return;
  }
  while (fgets(line, sizeof(line), log) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    pass_on_line(line, number);
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
