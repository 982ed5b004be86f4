/*
 * token_command.c - runs TokenCommand: without a shell, in a clean
 * environment, with nothing on its standard input, and not forever.
 */
#include "lib/service/token_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_WORDS 64

static void kill_and_reap(pid_t pid, int *ret_status)
{
  (void)kill(-pid, SIGKILL); /* its children too: it leads a group */
  while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
    ;
}

/* A command may close its output and go on all the same. */
static enum dx_code await_end(pid_t pid, const struct token_wait *wait,
                              struct dx_err *err)
{
  int fd = pidfd_open(pid, 0);
  enum dx_code code;

  if (fd < 0)
    return dx_fail_sys(err, errno, "wait for", "TokenCommand");
  code = token_wait_for(fd, wait, err);
  (void)close(fd);
  return code;
}

/* stdin and stderr from and to nowhere, everything above 2 closed. */
static int start_command(char **words, int out_fd, pid_t *ret_pid)
{
  static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                       "/usr/bin:/sbin:/bin";
  char *environment[] = {path, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  sigset_t none;
  int e;

  (void)sigemptyset(&none);
  e = posix_spawn_file_actions_init(&actions);
  if (e != 0)
    return e;
  e = posix_spawnattr_init(&attr);
  if (e == 0) {
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
                                              POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    e = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (e == 0)
      e = posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    if (e == 0)
      e = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY,
                                           0);
    if (e == 0)
      e = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (e == 0)
      e = posix_spawn(ret_pid, words[0], &actions, &attr, words, environment);
    (void)posix_spawnattr_destroy(&attr);
  }
  (void)posix_spawn_file_actions_destroy(&actions);
  return e;
}

static enum dx_code run_command(const struct dx_token *token, char **words,
                                struct dx_buf *output, struct dx_err *err)
{
  int ends[2], e, status = 0;
  struct token_wait wait;
  pid_t pid;
  enum dx_code code;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return dx_fail_sys(err, errno, "create a pipe for", "TokenCommand");
  e = start_command(words, ends[1], &pid);
  (void)close(ends[1]);
  if (e != 0) {
    (void)close(ends[0]);
    return dx_fail(err, DX_E_KEY, e, "cannot run the TokenCommand '%s': %s",
                   words[0], strerror(e));
  }
  wait = token_wait_begin(token);
  code = token_read_all(ends[0], &wait, output, err);
  (void)close(ends[0]);
  if (code == DX_OK)
    code = await_end(pid, &wait, err);
  if (code != DX_OK) {
    kill_and_reap(pid, &status);
    return code;
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return dx_fail(err, DX_E_KEY, 0,
                   "the TokenCommand '%s' failed (%s %d); run it as the "
                   "user of the backends to see why",
                   words[0], WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return DX_OK;
}

enum dx_code token_read_command(struct dx_token *token, struct dx_err *err)
{
  char *line = strdup(token->service->token_command);
  char *words[COMMAND_WORDS + 1] = {NULL};
  struct dx_buf output = {.secret = true};
  char *rest = NULL;
  int count = 0;
  enum dx_code code;

  if (line == NULL)
    return dx_fail_nomem(err);
  while (count <= COMMAND_WORDS &&
         (words[count] = strtok_r(count == 0 ? line : NULL, " \t", &rest)) !=
             NULL)
    count++;
  assert(count > 0); /* it begins with a '/' */
  if (count > COMMAND_WORDS)
    code = dx_fail(err, DX_E_KEY, 0, "the TokenCommand has more than %d words",
                   COMMAND_WORDS);
  else
    code = run_command(token, words, &output, err);
  if (code == DX_OK)
    code = token_take_any(token, &output, err);
  dx_buf_wipe(&output);
  free(line);
  return code;
}
