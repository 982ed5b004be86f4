/*
 * receive.c - stores the input of a filter, within its limits of time and size.
 */
#include "filter/receive.h"

#include <cups/cups.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"

const struct dx_service filter_no_service = {.max_document_bytes = INT64_MAX,
                                             .filter_time_limit_ms =
                                                 DX_FILTER_LIMIT_MS};

static void filter_print_debug(enum dx_log_level level, const char *line)
{
  (void)level;
  (void)fprintf(stderr, "DEBUG: %s\n", line);
}

void filter_begin(int argc, char *argv[])
{
  dx_process_protect();
  dx_process_hide_arguments(argc, argv, 2);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  (void)signal(SIGCHLD, SIG_DFL);
  dx_log_to(filter_print_debug);
}

const char *filter_temp_dir(void)
{
  const char *dir = getenv("TMPDIR");

  return dir != NULL && dir[0] != '\0' ? dir : "/tmp";
}

int filter_temp_file(void)
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

enum dx_reason filter_receive(const struct dx_service *service, int from,
                              int in_fd, int64_t *ret_length)
{
  static char bytes[DX_STREAM_BYTES]; /* static: a large stack array is slow */
  int64_t until_ms = dx_monotonic_ms() + service->filter_time_limit_ms;
  struct pollfd input = {.fd = from, .events = POLLIN};
  bool kept = in_fd >= 0;
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
    if (kept && *ret_length <= service->max_document_bytes) {
      kept =
          dx_fs_write_all(in_fd, bytes, (size_t)n, "document", NULL) == DX_OK;
      stored = *ret_length;
    }
  }
}

/*
 * The programs of a job have the same pipe as stderr, and each leads a process
 * group with its children. Our programs hide their descriptors
 * (lib/base/process.h), so neither the backend nor this process is found.
 */
void filter_end_others(void)
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

const struct dx_service *filter_service(struct dx_config **config)
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
  return service != NULL ? service : &filter_no_service;
}
