/*
 * process.c - protects the data of our processes, and starts other programs
 * without access to it.
 */
#include "lib/base/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void dx_process_protect(void)
{
  const struct rlimit none = {0, 0};

  (void)umask(077);
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)setrlimit(RLIMIT_CORE, &none); /* for the programs that we run, too */
  (void)unsetenv("SSLKEYLOGFILE");
}

static rlim_t lower(rlim_t a, rlim_t b)
{
  return a < b ? a : b; /* RLIM_INFINITY is the largest */
}

bool dx_process_limit(unsigned resource, rlim_t soft, rlim_t hard)
{
  struct rlimit limit;

  if (getrlimit(resource, &limit) != 0)
    return false;
  limit.rlim_max = lower(limit.rlim_max, hard);
  limit.rlim_cur = lower(lower(limit.rlim_cur, soft), limit.rlim_max);
  return setrlimit(resource, &limit) == 0;
}

void dx_process_hide_arguments(int argc, char **argv, int first)
{
  int i;

  for (i = first; i < argc; i++) {
    char *copy = strdup(argv[i]);

    if (copy == NULL)
      return;
    explicit_bzero(argv[i], strlen(argv[i])); /* what the kernel shows */
    argv[i] = copy;
  }
}

/* ---- programs ---- */

size_t dx_process_split(char *line, char *words[DX_PROCESS_WORDS + 1])
{
  char *rest = NULL;
  char *word = strtok_r(line, " \t", &rest);
  size_t count = 0;

  for (; word != NULL; word = strtok_r(NULL, " \t", &rest)) {
    if (count == DX_PROCESS_WORDS)
      return 0;
    words[count++] = word;
  }
  words[count] = NULL;
  return count;
}

/* Makes fd `to` in the program a copy of `from`; -1: /dev/null. */
static int add_output(posix_spawn_file_actions_t *actions, int from, int to)
{
  return from >= 0 ? posix_spawn_file_actions_adddup2(actions, from, to)
                   : posix_spawn_file_actions_addopen(actions, to, "/dev/null",
                                                      O_WRONLY, 0);
}

int dx_process_start(char *const *words, char *const *variables, int out_fd,
                     int err_fd, pid_t *ret_pid)
{
  static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                       "/usr/bin:/sbin:/bin";
  char *environment[DX_PROCESS_VARIABLES + 2] = {path};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  sigset_t none, all;
  size_t i;
  int e;

  for (i = 0; variables[i] != NULL; i++) {
    assert(i < DX_PROCESS_VARIABLES);
    environment[i + 1] = variables[i];
  }
  (void)sigemptyset(&none);
  (void)sigfillset(&all);
  /* In glibc, only the functions that add an action can fail. */
  (void)posix_spawnattr_init(&attr);
  (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  (void)posix_spawnattr_setsigmask(&attr, &none);
  (void)posix_spawnattr_setsigdefault(&attr, &all);
  (void)posix_spawn_file_actions_init(&actions);
  e = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (e == 0)
    e = add_output(&actions, out_fd, 1);
  if (e == 0)
    e = add_output(&actions, err_fd, 2);
  if (e == 0)
    e = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  if (e == 0)
    e = posix_spawn_file_actions_addchdir_np(&actions, "/");
  if (e == 0)
    e = posix_spawn(ret_pid, words[0], &actions, &attr, words, environment);
  (void)posix_spawnattr_destroy(&attr);
  (void)posix_spawn_file_actions_destroy(&actions);
  return e;
}

void dx_process_kill(pid_t pid)
{
  (void)kill(-pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
}
