/*
 * isolate.c - a child process for a PDF; the result comes back in shared
 * memory.
 */
#include "filter/isolate.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child process returns to its parent. */
struct outcome {
  enum dx_reason reason;
  struct pdf_done done;
};

static void be_child(isolated_work *work, const struct pdf_task *task,
                     int64_t limit_ms, struct outcome *outcome, pid_t parent)
{
  (void)alarm((unsigned)(limit_ms / 1000)); /* nobody else handles SIGALRM */
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent)
    outcome->reason = work(task, &outcome->done);
  _exit(0);
}

enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done)
{
  struct outcome *outcome;
  enum dx_reason reason = DX_REASON_TROUBLE;
  pid_t parent = getpid();
  pid_t child, ended;
  int status = 0;

  outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED)
    return DX_REASON_TROUBLE;
  outcome->reason = DX_REASON_TROUBLE;
  child = fork();
  if (child == 0)
    be_child(work, task, limit_ms, outcome, parent);
  do
    ended = child > 0 ? waitpid(child, &status, 0) : -1;
  while (ended < 0 && errno == EINTR && child > 0);
  if (ended == child && WIFEXITED(status))
    reason = outcome->reason;
  else if (ended == child && WTERMSIG(status) == SIGALRM)
    reason = DX_REASON_TOO_SLOW;
  else if (ended == child && WTERMSIG(status) != SIGKILL)
    reason = DX_REASON_DAMAGED; /* it crashed over this PDF */
  if (reason == DX_REASON_NONE)
    *ret_done = outcome->done;
  (void)munmap(outcome, sizeof(*outcome));
  return reason;
}
