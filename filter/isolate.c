/*
 * isolate.c - a child process for a document, with the result in shared memory.
 */
#include "filter/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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
#include "lib/base/process.h"
#include "lib/base/sandbox.h"
#include "lib/base/utf8.h"

/* For a document: BYTES plus FACTOR times its size, at most MAX. */
#define DX_PARSE_MEMORY_BYTES 469762048LL
#define DX_PARSE_MEMORY_FACTOR 16
#define DX_PARSE_MEMORY_MAX_BYTES 2147483648LL

#define NO_MEMORY 3 /* exit status of the child; a sanitizer ends with 1 */

/* The resource limits of the child. */
struct limits {
  rlim_t memory_bytes, cpu_s, file_bytes;
};

/* What the child process returns to its parent. */
struct outcome {
  unsigned layers; /* of the sandbox */
  enum dx_reason reason;
  struct pdf_done done;
};

/* ---- limits ---- */

/* True if no lower limit was set before. */
static bool limit_allows(unsigned resource, rlim_t most)
{
  struct rlimit limit;

  return getrlimit(resource, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= most);
}

/* The whole document is mapped, in addition to allocated memory. */
static void limits_set(struct limits *l, const struct pdf_task *task)
{
  struct stat st;
  int64_t size = fstat(task->in_fd, &st) == 0 ? st.st_size : 0, memory;

  size = size < INT64_C(1) << 40 ? size : INT64_C(1) << 40;
  memory = DX_PARSE_MEMORY_BYTES + DX_PARSE_MEMORY_FACTOR * size;
  memory =
      memory < DX_PARSE_MEMORY_MAX_BYTES ? memory : DX_PARSE_MEMORY_MAX_BYTES;
  l->memory_bytes = (rlim_t)(memory + size);
  l->cpu_s = (rlim_t)(DX_PARSE_CPU_S + size / DX_PARSE_CPU_BYTES);
  l->file_bytes = (rlim_t)(DX_PARSE_FILE_BYTES + DX_PARSE_FILE_FACTOR * size);
  if (task->most_bytes > 0 && (rlim_t)task->most_bytes < l->file_bytes)
    l->file_bytes = (rlim_t)task->most_bytes;
}

/* ---- the child ---- */

/* The descriptors of the task become the first ones; all others are closed,
 * including the pipes to cupsd and the backend. */
static bool child_set_fds(struct pdf_task *task)
{
  int unused = 0;
  int *const fds[] = {&task->in_fd, &task->out_fd, &unused, &task->spare_fd,
                      &task->separator_fd};
  const int count = sizeof(fds) / sizeof(fds[0]);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC), from[5], i;
  bool ok = null >= 0;

  for (i = 0; i < count && ok; i++) {
    from[i] = *fds[i] > 0 || i == STDIN_FILENO ? *fds[i] : null;
    from[i] = fcntl(from[i], F_DUPFD, count);
    ok = from[i] >= 0;
  }
  for (i = 0; i < count && ok; i++) {
    ok = dup2(from[i], i) == i;
    if (*fds[i] > 0)
      *fds[i] = i;
    else if (i > STDERR_FILENO)
      (void)close(i);
  }
  return ok && close_range((unsigned)count, ~0U, 0) == 0;
}

/* libqpdf does not detect that the end of its output was not written. */
static void child_run(isolated_work *work, const struct pdf_task *given,
                      const struct limits *limits, struct outcome *outcome,
                      pid_t parent)
{
  struct pdf_task task = *given;
  enum dx_reason reason = DX_REASON_SANDBOX;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || !child_set_fds(&task))
    _exit(0);
#ifndef ISOLATE_SANITIZED
  if (!dx_process_limit(RLIMIT_AS, limits->memory_bytes, limits->memory_bytes))
    _exit(0);
#endif
  qpdf_exit_when_out(NO_MEMORY);
  /* At the limits of processor time and output, the kernel sends a signal,
   * which must end the child; for processor time, SIGKILL follows a second
   * later. */
  if (signal(SIGXFSZ, SIG_DFL) == SIG_ERR ||
      !dx_process_limit(RLIMIT_FSIZE, limits->file_bytes, limits->file_bytes) ||
      !dx_process_limit(RLIMIT_CPU, limits->cpu_s, limits->cpu_s + 1))
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

/* NONE: the child has returned an outcome. SIGCHLD is blocked. The child cannot
 * prevent being killed, whatever it does with its signals and timers. */
static enum dx_reason parent_wait(pid_t child, const sigset_t *ended,
                                  int64_t limit_ms, const struct limits *limits,
                                  const struct pdf_task *task)
{
  int64_t until_ms = dx_monotonic_ms() + limit_ms, left_ms = limit_ms;
  int status = SIGKILL; /* if it cannot be waited for */
  struct rusage used = {0};

  while (wait4(child, &status, WNOHANG, &used) == 0) {
    struct timespec left = {left_ms / 1000, (long)(left_ms % 1000 * 1000000)};

    if (left_ms <= 0) {
      (void)kill(child, SIGKILL);
      (void)waitpid(child, NULL, 0);
      return DX_REASON_TOO_SLOW;
    }
    (void)sigtimedwait(ended, NULL, &left);
    left_ms = until_ms - dx_monotonic_ms();
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MEMORY)
    return limit_allows(RLIMIT_AS, limits->memory_bytes) &&
                   limit_allows(RLIMIT_DATA, limits->memory_bytes)
               ? DX_REASON_TOO_COMPLEX
               : DX_REASON_TROUBLE;
  if (WIFEXITED(status))
    return WEXITSTATUS(status) == 0 ? DX_REASON_NONE : DX_REASON_DAMAGED;
  switch (WTERMSIG(status)) {
  case SIGXFSZ:
    return !limit_allows(RLIMIT_FSIZE, limits->file_bytes) ? DX_REASON_TROUBLE
           : limits->file_bytes == (rlim_t)task->most_bytes
               ? DX_REASON_TOO_LARGE
               : DX_REASON_TOO_COMPLEX;
  case SIGXCPU:
    return DX_REASON_TOO_COMPLEX;
  case SIGKILL: /* by the kernel: processor time, or out of memory */
    return (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) >=
                   limits->cpu_s
               ? DX_REASON_TOO_COMPLEX
               : DX_REASON_TROUBLE;
  default:
    return DX_REASON_DAMAGED; /* this document made it crash */
  }
}

/* A hostile document may control what the child returns. */
static bool outcome_is_sane(const struct outcome *outcome)
{
  const struct pdf_done *done = &outcome->done;

  return (unsigned)outcome->reason < DX_REASON_COUNT &&
         (unsigned)done->page <= DX_PAGES_MAX &&
         (unsigned)done->pages <= DX_PAGES_MAX &&
         (outcome->reason != DX_REASON_NONE || done->pages > 0);
}

enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done)
{
  struct outcome *outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  enum dx_reason reason = DX_REASON_TROUBLE;
  pid_t parent = getpid(), child;
  struct limits limits;
  sigset_t ended;

  *ret_done = (struct pdf_done){0};
  if (outcome == MAP_FAILED)
    return reason;
  outcome->reason = reason;
  limits_set(&limits, task);
  (void)sigemptyset(&ended);
  (void)sigaddset(&ended, SIGCHLD);
  (void)sigprocmask(SIG_BLOCK, &ended, NULL); /* parent_wait() waits for it */
  child = fork();
  if (child == 0)
    child_run(work, task, &limits, outcome, parent);
  if (child > 0)
    reason = parent_wait(child, &ended, limit_ms, &limits, task);
  if (reason == DX_REASON_NONE && !outcome_is_sane(outcome)) {
    reason = DX_REASON_DAMAGED;
  } else if (reason == DX_REASON_NONE) {
    reason = outcome->reason;
    *ret_done = outcome->done;
    ret_done->why[PDF_WHY_BYTES - 1] = '\0';
    dx_utf8_make_plain(ret_done->why);
  }
  if ((outcome->layers & DX_SANDBOX_SECCOMP) == 0 && task->sandbox_optional)
    dx_log(DX_LOG_WARNING, DX_SANDBOX_OPTIONAL);
  (void)munmap(outcome, sizeof(*outcome));
  return reason;
}
