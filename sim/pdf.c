/*
 * pdf.c - the text of a PDF file, from poppler's pdftotext run as a child.
 */
#include "sim/pdf.h"

#include "sim/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES_MAX (64u << 20)
#define TIME_MAX_MS 60000

extern char **environ;

/* The child starts with the signals main() blocked or ignored as usual. */
static int set_signals(posix_spawnattr_t *attr)
{
  sigset_t none;
  sigset_t defaults;

  (void)sigemptyset(&none);
  (void)sigemptyset(&defaults);
  (void)sigaddset(&defaults, SIGPIPE);
  (void)posix_spawnattr_setsigmask(attr, &none);
  (void)posix_spawnattr_setsigdefault(attr, &defaults);
  return posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
}

static pid_t spawn(const char *path, int out)
{
  char *argv[] = {(char[]){"pdftotext"}, (char[]){"-layout"},
                  (char[]){"-q"},        (char[]){"-enc"},
                  (char[]){"UTF-8"},     strdup(path),
                  (char[]){"-"},         NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  pid_t pid = -1;
  int e;

  (void)posix_spawn_file_actions_init(&files);
  (void)posix_spawnattr_init(&attr);
  e = argv[5] == NULL ? ENOMEM : set_signals(&attr);
  if (e == 0)
    e = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (e == 0)
    e = posix_spawn_file_actions_adddup2(&files, out, 1);
  if (e == 0)
    e = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  if (e == 0)
    e = posix_spawnp(&pid, argv[0], &files, &attr, argv, environ);
  if (e != 0)
    (void)fprintf(stderr, "docextract-sim: cannot run 'pdftotext': %s\n",
                  strerror(e));
  (void)posix_spawn_file_actions_destroy(&files);
  (void)posix_spawnattr_destroy(&attr);
  free(argv[5]);
  return e == 0 ? pid : -1;
}

/* Reads to the end; false on stop, time-out, error or too much text. */
static bool read_all(int fd, int stop_fd, struct sim_buf *ret)
{
  int64_t end_ms = sim_mono_ms() + TIME_MAX_MS;
  char chunk[65536];

  while (ret->len <= TEXT_BYTES_MAX && !ret->failed) {
    struct pollfd p[2] = {{fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
    int64_t left = end_ms - sim_mono_ms();
    ssize_t n;

    if (left <= 0 || (poll(p, 2, (int)left) < 0 && errno != EINTR) ||
        p[1].revents != 0)
      return false;
    if (p[0].revents == 0)
      continue;
    n = read(fd, chunk, sizeof(chunk));
    if (n <= 0)
      return n == 0;
    sim_buf_add(ret, chunk, (size_t)n);
  }
  return false;
}

static bool ended_well(pid_t pid)
{
  int status;

  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool sim_pdf_text(const char *path, int stop_fd, struct sim_buf *ret)
{
  int ends[2];
  pid_t pid;
  bool good;

  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  pid = spawn(path, ends[1]);
  (void)close(ends[1]);
  good = pid > 0 && read_all(ends[0], stop_fd, ret);
  (void)close(ends[0]);
  if (pid > 0) {
    if (!good)
      (void)kill(pid, SIGKILL);
    good = ended_well(pid) && good;
  }
  return good;
}
