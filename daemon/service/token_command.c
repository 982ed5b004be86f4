/*
 * token_command.c - runs TokenCommand: without a shell, in a clean
 * environment, with nothing on its standard input, and not forever.
 */
#include "daemon/service/token_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/process.h"

/* A command may close its output and keep running. */
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

static enum dx_code run_command(const struct dx_token *token, char **words,
                                struct dx_buf *output, struct dx_err *err)
{
  char *no_variables[] = {NULL};
  int ends[2], e, status = 0;
  struct token_wait wait;
  pid_t pid;
  enum dx_code code;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return dx_fail_sys(err, errno, "create a pipe for", "TokenCommand");
  e = dx_process_start(words, no_variables, ends[1], &pid);
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
    dx_process_kill(pid, &status);
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
  char *words[DX_PROCESS_WORDS + 1];
  struct dx_buf output = {.secret = true};
  enum dx_code code;

  if (line == NULL)
    return dx_fail_nomem(err);
  if (dx_process_split(line, words) == 0)
    code = dx_fail(err, DX_E_KEY, 0, "the TokenCommand has more than %d words",
                   DX_PROCESS_WORDS);
  else
    code = run_command(token, words, &output, err);
  if (code == DX_OK)
    code = token_take_any(token, &output, err);
  dx_buf_wipe(&output);
  free(line);
  return code;
}
