/*
 * isolate.c - a child process for a document; the result comes back in shared
 * memory.
 */
#include "filter/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filter/qpdf.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/sandbox.h"

#define NO_MEMORY 3 /* exit status of the child; a sanitizer ends with 1 */

/* What the child may use. */
struct limits {
  rlim_t memory_bytes, cpu_s, file_bytes;
  bool is_memory_ours, is_file_ours; /* no lower limit was set before */
};

/* What the child process returns to its parent. */
struct outcome {
  unsigned layers; /* of the sandbox */
  enum dx_reason reason;
  struct pdf_done done;
};

/* ---- limits ---- */

static bool limit_allows(int resource, rlim_t most)
{
  struct rlimit limit;

  return getrlimit(resource, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= most);
}

/* The document is mapped as a whole, besides what is allocated. */
static void limits_set(struct limits *l, const struct pdf_task *task)
{
  struct stat st;
  int64_t size = fstat(task->in_fd, &st) == 0 ? st.st_size : 0, memory;

  size = size < INT64_C(1) << 40 ? size : INT64_C(1) << 40;
  memory = DX_PARSE_MEMORY_BYTES + DX_PARSE_MEMORY_FACTOR * size;
  memory =
      memory < DX_PARSE_MEMORY_MAX_BYTES ? memory : DX_PARSE_MEMORY_MAX_BYTES;
  l->memory_bytes = (rlim_t)(memory + size);
  l->file_bytes = (rlim_t)(DX_PARSE_FILE_BYTES + DX_PARSE_FILE_FACTOR * size);
  if (task->most_bytes > 0 && (rlim_t)task->most_bytes < l->file_bytes)
    l->file_bytes = (rlim_t)task->most_bytes;
  l->is_file_ours = limit_allows(RLIMIT_FSIZE, l->file_bytes);
  l->cpu_s = (rlim_t)(DX_PARSE_CPU_S + size / DX_PARSE_CPU_BYTES);
  l->is_memory_ours = limit_allows(RLIMIT_AS, l->memory_bytes) &&
                      limit_allows(RLIMIT_DATA, l->memory_bytes);
}

/* Never raises a limit. */
static bool limit_apply(int resource, rlim_t soft, rlim_t hard)
{
  const struct rlimit limit = {soft, hard};

  return !limit_allows(resource, hard) || setrlimit(resource, &limit) == 0;
}

/* A signal that nothing handles comes at the limits of processor time (and
 * SIGKILL a second later) and of output. */
static bool limits_apply(const struct limits *l)
{
#ifndef ISOLATE_SANITIZED
  if (!limit_apply(RLIMIT_AS, l->memory_bytes, l->memory_bytes))
    return false;
#endif
  qpdf_exit_when_out(NO_MEMORY);
  return signal(SIGXFSZ, SIG_DFL) != SIG_ERR &&
         limit_apply(RLIMIT_FSIZE, l->file_bytes, l->file_bytes) &&
         limit_apply(RLIMIT_CPU, l->cpu_s, l->cpu_s + 1);
}

/* ---- the child ---- */

static bool task_has(const struct pdf_task *task, int fd)
{
  size_t i;

  for (i = 0; i < task->more_count; i++)
    if (task->more_fds[i] == fd)
      return true;
  return fd == task->in_fd || fd == task->out_fd || fd == task->spare_fd ||
         fd == task->separator_fd;
}

/* Closes all descriptors but the task's, including the pipes to cupsd and the
 * backend. The first three stay taken. */
static bool child_set_fds(struct pdf_task *task)
{
  int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd, last = STDERR_FILENO;
  bool ok = null >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
            dup2(task->out_fd > 0 ? task->out_fd : null, STDOUT_FILENO) >= 0 &&
            (task->in_fd == STDIN_FILENO || dup2(null, STDIN_FILENO) >= 0);
  size_t i;

  task->out_fd = task->out_fd > 0 ? STDOUT_FILENO : task->out_fd;
  last = task->in_fd > last ? task->in_fd : last;
  last = task->spare_fd > last ? task->spare_fd : last;
  last = task->separator_fd > last ? task->separator_fd : last;
  for (i = 0; i < task->more_count; i++)
    last = task->more_fds[i] > last ? task->more_fds[i] : last;
  for (fd = STDERR_FILENO + 1; fd < last; fd++)
    if (!task_has(task, fd))
      (void)close(fd);
  return ok && close_range((unsigned)last + 1, ~0U, 0) == 0;
}

/* libqpdf does not notice when the end of its output is not stored. */
static void child_run(isolated_work *work, const struct pdf_task *given,
                      const struct limits *limits, struct outcome *outcome,
                      pid_t parent)
{
  struct pdf_task task = *given;
  enum dx_reason reason = DX_REASON_SANDBOX;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)prctl(PR_SET_DUMPABLE, 0);
  if (getppid() != parent || !child_set_fds(&task) || !limits_apply(limits))
    _exit(0);
  outcome->layers = dx_sandbox_enter();
  errno = 0;
  if ((outcome->layers & DX_SANDBOX_SECCOMP) != 0 || task.sandbox_optional)
    reason = work(&task, &outcome->done);
  if (reason == DX_REASON_TROUBLE && errno == ENOMEM)
    _exit(NO_MEMORY); /* malloc() failed, as operator new does */
  if (fflush(stdout) != 0 || ferror(stdout))
    reason = reason == DX_REASON_NONE ? DX_REASON_TROUBLE : reason;
  outcome->reason = reason;
  _exit(0);
}

/* ---- the parent ---- */

/* SIGCHLD is blocked. Whatever the child does with its signals and timers, it
 * cannot prevent this. */
static bool parent_wait(pid_t child, int64_t limit_ms, int *ret_status,
                        struct rusage *ret_used)
{
  int64_t until_ms = dx_monotonic_ms() + limit_ms;
  sigset_t ended;

  (void)sigemptyset(&ended);
  (void)sigaddset(&ended, SIGCHLD);
  *ret_status = SIGKILL; /* if it cannot be waited for */
  while (wait4(child, ret_status, WNOHANG, ret_used) == 0) {
    int64_t left_ms = until_ms - dx_monotonic_ms();
    struct timespec left = {left_ms / 1000, left_ms % 1000 * 1000000};

    if (left_ms > 0) {
      (void)sigtimedwait(&ended, NULL, &left);
      continue;
    }
    (void)kill(child, SIGKILL);
    while (waitpid(child, ret_status, 0) < 0 && errno == EINTR)
      continue;
    return false;
  }
  return true;
}

static enum dx_reason reason_of_end(int status, const struct rusage *used,
                                    const struct limits *limits,
                                    const struct pdf_task *task)
{
  if (WIFEXITED(status))
    return WEXITSTATUS(status) != NO_MEMORY ? DX_REASON_DAMAGED
           : limits->is_memory_ours         ? DX_REASON_TOO_COMPLEX
                                            : DX_REASON_TROUBLE;
  switch (WTERMSIG(status)) {
  case SIGXFSZ:
    return !limits->is_file_ours ? DX_REASON_TROUBLE
           : limits->file_bytes == (rlim_t)task->most_bytes
               ? DX_REASON_TOO_LARGE
               : DX_REASON_TOO_COMPLEX;
  case SIGXCPU:
    return DX_REASON_TOO_COMPLEX;
  case SIGKILL: /* by the kernel: processor time, or out of memory */
    return (rlim_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) >=
                   limits->cpu_s
               ? DX_REASON_TOO_COMPLEX
               : DX_REASON_TROUBLE;
  default:
    return DX_REASON_DAMAGED; /* it crashed over this document */
  }
}

/* A document may have made the child say anything. Even loading a bool that is
 * neither 0 nor 1 is undefined: the bytes are looked at. */
static bool outcome_is_sane(const struct outcome *outcome)
{
  const struct pdf_done *done = &outcome->done;
  unsigned char flags[2];

  memcpy(&flags[0], &done->needs_fonts, 1);
  memcpy(&flags[1], &done->separated, 1);
  return (unsigned)outcome->reason < DX_REASON_COUNT && flags[0] <= 1 &&
         flags[1] <= 1 && done->removed >= 0 && done->page >= 0 &&
         done->page <= DX_PAGES_MAX && done->pages >= 0 &&
         done->pages <= DX_PAGES_MAX &&
         (outcome->reason != DX_REASON_NONE || done->pages > 0);
}

/* Plain text of one line, whatever is there. */
static void outcome_clean_text(char why[PDF_WHY_BYTES])
{
  size_t i;

  why[PDF_WHY_BYTES - 1] = '\0';
  for (i = 0; why[i] != '\0'; i++)
    if (why[i] < ' ' || why[i] > '~')
      why[i] = '?';
}

enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done)
{
  struct outcome *outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  enum dx_reason reason = DX_REASON_TROUBLE;
  struct rusage used = {0};
  pid_t parent = getpid(), child;
  struct limits limits;
  sigset_t block, before;
  int status = 0;
  bool in_time = true;

  *ret_done = (struct pdf_done){0};
  if (outcome == MAP_FAILED)
    return reason;
  outcome->reason = reason;
  limits_set(&limits, task);
  (void)sigemptyset(&block);
  (void)sigaddset(&block, SIGCHLD);
  (void)sigprocmask(SIG_BLOCK, &block, &before);
  child = fork();
  if (child == 0)
    child_run(work, task, &limits, outcome, parent);
  if (child > 0)
    in_time = parent_wait(child, limit_ms, &status, &used);
  (void)sigprocmask(SIG_SETMASK, &before, NULL);
  if (!in_time) {
    reason = DX_REASON_TOO_SLOW;
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    reason = reason_of_end(status, &used, &limits, task);
  } else if (!outcome_is_sane(outcome)) {
    reason = DX_REASON_DAMAGED;
  } else if (child > 0) {
    *ret_done = outcome->done;
    outcome_clean_text(ret_done->why);
    reason = outcome->reason;
  }
  if ((outcome->layers & DX_SANDBOX_SECCOMP) == 0 && task->sandbox_optional)
    dx_log(DX_LOG_WARNING, DX_SANDBOX_OPTIONAL);
  (void)munmap(outcome, sizeof(*outcome));
  return reason;
}
