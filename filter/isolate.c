/*
 * isolate.c - a child process for a PDF; the result comes back in shared
 * memory.
 */
#include "filter/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/budget.h"
#include "filter/libc.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/sandbox.h"

#define NO_MEMORY 3 /* exit status of the child; a sanitizer ends with 1 */

/* What the child may use. */
struct limits {
  rlim_t memory_bytes;
  rlim_t cpu_s;
  int64_t time_ms;
  bool is_memory_ours; /* this computer has more */
};

/* What the child process returns to its parent. */
struct outcome {
  unsigned layers; /* of the sandbox */
  enum dx_reason reason;
  struct pdf_done done;
};

/* ---- limits ---- */

static bool allows(int resource, rlim_t bytes)
{
  struct rlimit limit;

  return getrlimit(resource, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

static struct limits limits_of(int fd, int64_t time_ms)
{
  struct limits l = {.time_ms = time_ms};
  struct stat st;
  int64_t size = fstat(fd, &st) == 0 ? st.st_size : 0;
  int64_t memory = DX_PARSE_MEMORY_BYTES + DX_PARSE_MEMORY_FACTOR * size;

  l.cpu_s = (rlim_t)(DX_PARSE_CPU_S + size / DX_PARSE_CPU_BYTES);
  l.memory_bytes =
      (rlim_t)(memory < DX_PARSE_MEMORY_MAX_BYTES ? memory
                                                  : DX_PARSE_MEMORY_MAX_BYTES);
  l.is_memory_ours =
      allows(RLIMIT_DATA, l.memory_bytes) && allows(RLIMIT_AS, l.memory_bytes);
  return l;
}

/* The kernel kills at the hard limit, and only warns at the soft one. */
static bool set_limit(int resource, rlim_t most)
{
  struct rlimit limit = {most, most + 1};

  return allows(resource, most + 1) ? setrlimit(resource, &limit) == 0 : true;
}

/* SIGXCPU comes at the limit of processor time, SIGALRM at that of elapsed
 * time; nothing handles them. */
static bool apply(const struct limits *l)
{
  (void)alarm((unsigned)((l->time_ms + 999) / 1000));
#ifndef LIBC_SANITIZED
  if (!set_limit(RLIMIT_DATA, l->memory_bytes))
    return false;
#endif
  libc_exit_without_memory(NO_MEMORY);
  return set_limit(RLIMIT_CPU, l->cpu_s);
}

/* ---- the child ---- */

#define TASK_FDS 4

/* Only in_fd can be stdin. */
static void list_fds(const struct pdf_task *task, int fds[TASK_FDS])
{
  fds[0] = task->in_fd;
  fds[1] = task->out_fd > 0 ? task->out_fd : task->in_fd;
  fds[2] = task->spare_fd > 0 ? task->spare_fd : task->in_fd;
  fds[3] = task->separator_fd > 0 ? task->separator_fd : task->in_fd;
}

static bool is_listed(const int fds[TASK_FDS], int fd)
{
  return fd == fds[0] || fd == fds[1] || fd == fds[2] || fd == fds[3];
}

/* Closes all descriptors but the task's, including the pipes to cupsd and the
 * backend. The first three stay taken, so that nothing written by accident gets
 * into a document. */
static bool close_others(const struct pdf_task *task)
{
  int fds[TASK_FDS], fd, last = STDERR_FILENO, i;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  bool ok = null >= 0;

  list_fds(task, fds);
  for (fd = STDIN_FILENO; fd <= STDERR_FILENO && ok; fd++)
    ok = is_listed(fds, fd) || dup2(null, fd) == fd;
  for (i = 0; i < TASK_FDS; i++)
    last = fds[i] > last ? fds[i] : last;
  for (; fd < last; fd++)
    if (!is_listed(fds, fd))
      (void)close(fd);
  return ok && close_range((unsigned)last + 1, ~0U, 0) == 0;
}

static void be_child(isolated_work *work, const struct pdf_task *task,
                     const struct limits *limits, struct outcome *outcome,
                     pid_t parent)
{
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)prctl(PR_SET_DUMPABLE, 0);
  if (getppid() != parent || !close_others(task) || !apply(limits))
    _exit(0);
  outcome->layers = dx_sandbox_enter();
  outcome->reason = work(task, &outcome->done);
  _exit(0);
}

/* ---- the parent ---- */

static enum dx_reason reason_of(int status, const struct limits *limits,
                                const struct outcome *outcome)
{
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MEMORY)
    return limits->is_memory_ours ? DX_REASON_TOO_COMPLEX : DX_REASON_TROUBLE;
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    return DX_REASON_DAMAGED;
  if (WIFEXITED(status)) /* a PDF may have made it say anything */
    return outcome->reason < DX_REASON_COUNT ? outcome->reason
                                             : DX_REASON_DAMAGED;
  switch (WTERMSIG(status)) {
  case SIGALRM:
    return DX_REASON_TOO_SLOW;
  case SIGXCPU:
    return DX_REASON_TOO_COMPLEX;
  case SIGKILL: /* by the kernel when out of memory, or a person */
    return DX_REASON_TROUBLE;
  default:
    return DX_REASON_DAMAGED; /* it crashed over this PDF */
  }
}

static bool wait_for(pid_t child, int *ret_status)
{
  pid_t ended;

  do
    ended = waitpid(child, ret_status, 0);
  while (ended < 0 && errno == EINTR);
  return ended == child;
}

/* What the document may take, of what is left for the job. */
static int64_t time_left_ms(int64_t limit_ms)
{
  int64_t left_ms = DX_JOB_TIME_FACTOR * limit_ms - budget_used_ms();

  return left_ms < limit_ms ? left_ms : limit_ms;
}

static enum dx_reason run_child(isolated_work *work,
                                const struct pdf_task *task,
                                const struct limits *limits,
                                struct outcome *outcome)
{
  int64_t begun_ms = dx_monotonic_ms();
  pid_t parent = getpid(), child = fork();
  enum dx_reason reason = DX_REASON_TROUBLE;
  int status;

  if (child == 0)
    be_child(work, task, limits, outcome, parent);
  if (child > 0 && wait_for(child, &status))
    reason = reason_of(status, limits, outcome);
  budget_use_ms(dx_monotonic_ms() - begun_ms);
  return reason;
}

enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done)
{
  struct limits limits = limits_of(task->in_fd, time_left_ms(limit_ms));
  struct outcome *outcome;
  enum dx_reason reason;

  if (limits.time_ms <= 0)
    return DX_REASON_TOO_SLOW;
  outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED)
    return DX_REASON_TROUBLE;
  outcome->reason = DX_REASON_TROUBLE;
  reason = run_child(work, task, &limits, outcome);
  if (reason != DX_REASON_TROUBLE && outcome->layers != DX_SANDBOX_BOTH)
    dx_log(DX_LOG_DEBUG, "sandbox of this kernel: %s",
           dx_sandbox_text(outcome->layers));
  if (reason == DX_REASON_NONE)
    *ret_done = outcome->done;
  (void)munmap(outcome, sizeof(*outcome));
  return reason;
}
