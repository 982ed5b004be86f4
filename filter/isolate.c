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

#include "filter/document.h"
#include "filter/program.h"
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
static void limits_set(struct isolate_limits *l, const struct pdf_task *task)
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

/* At the limits of processor time and output, the kernel sends a signal, which
 * must end the child; for processor time, SIGKILL follows a second later. */
bool isolate_limit(const struct isolate_limits *limits)
{
#ifndef ISOLATE_SANITIZED
  if (!dx_process_limit(RLIMIT_AS, limits->memory_bytes, limits->memory_bytes))
    return false;
#endif
  return signal(SIGXFSZ, SIG_DFL) != SIG_ERR &&
         dx_process_limit(RLIMIT_FSIZE, limits->file_bytes,
                          limits->file_bytes) &&
         dx_process_limit(RLIMIT_CPU, limits->cpu_s, limits->cpu_s + 1);
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
                      const struct isolate_limits *limits,
                      struct outcome *outcome, pid_t parent)
{
  struct pdf_task task = *given;
  enum dx_reason reason = DX_REASON_SANDBOX;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || !child_set_fds(&task))
    _exit(0);
  if (!isolate_limit(limits))
    _exit(0);
  qpdf_exit_when_out(NO_MEMORY);
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

void isolate_block(sigset_t *ret_old)
{
  sigset_t ended;

  (void)sigemptyset(&ended);
  (void)sigaddset(&ended, SIGCHLD);
  (void)sigaddset(&ended, SIGTERM);
  (void)sigprocmask(SIG_BLOCK, &ended, ret_old);
}

/* The child cannot prevent being killed, whatever it does with its signals and
 * timers. */
static void kill_child(pid_t child)
{
  (void)kill(child, SIGKILL);
  (void)waitpid(child, NULL, 0);
}

enum dx_reason isolate_wait(pid_t child, int64_t limit_ms,
                            const struct isolate_limits *limits,
                            int64_t most_bytes, int *ret_status)
{
  int64_t until_ms = dx_monotonic_ms() + limit_ms, left_ms = limit_ms;
  int status = SIGKILL; /* if it cannot be waited for */
  struct rusage used = {0};
  sigset_t ended;

  (void)sigemptyset(&ended);
  (void)sigaddset(&ended, SIGCHLD);
  (void)sigaddset(&ended, SIGTERM);
  while (wait4(child, &status, WNOHANG, &used) == 0) {
    struct timespec left = {left_ms / 1000, (long)(left_ms % 1000 * 1000000)};

    if (left_ms <= 0) {
      kill_child(child);
      return DX_REASON_TOO_SLOW;
    }
    if (sigtimedwait(&ended, NULL, &left) == SIGTERM) {
      kill_child(child);
      (void)raise(SIGTERM);
      return DX_REASON_TROUBLE;
    }
    left_ms = until_ms - dx_monotonic_ms();
  }
  if (WIFEXITED(status)) {
    *ret_status = WEXITSTATUS(status);
    return DX_REASON_NONE;
  }
  switch (WTERMSIG(status)) {
  case SIGXFSZ:
    return !limit_allows(RLIMIT_FSIZE, limits->file_bytes) ? DX_REASON_TROUBLE
           : limits->file_bytes == (rlim_t)most_bytes      ? DX_REASON_TOO_LARGE
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

/* NONE: the child has returned an outcome. */
static enum dx_reason parent_wait(pid_t child, int64_t limit_ms,
                                  const struct isolate_limits *limits,
                                  const struct pdf_task *task)
{
  int status;
  enum dx_reason reason =
      isolate_wait(child, limit_ms, limits, task->most_bytes, &status);

  if (reason != DX_REASON_NONE || status == 0)
    return reason;
  if (status != NO_MEMORY)
    return DX_REASON_DAMAGED;
  return limit_allows(RLIMIT_AS, limits->memory_bytes) &&
                 limit_allows(RLIMIT_DATA, limits->memory_bytes)
             ? DX_REASON_TOO_COMPLEX
             : DX_REASON_TROUBLE;
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

/* It may also control what the child writes: a file of another type than the
 * bundle states is not sent. */
static bool output_is_sane(const struct pdf_task *task)
{
  char bytes[DOCUMENT_BEGIN_BYTES];
  ssize_t n = pread(task->out_fd, bytes, sizeof(bytes), 0);

  return n > 0 &&
         document_begins_as(document_sent_as(task->type), bytes, (size_t)n);
}

enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done)
{
  struct outcome *outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  enum dx_reason reason = DX_REASON_TROUBLE;
  pid_t parent = getpid(), child;
  struct isolate_limits limits;
  sigset_t old;

  *ret_done = (struct pdf_done){0};
  if (outcome == MAP_FAILED)
    return reason;
  outcome->reason = reason;
  limits_set(&limits, task);
  isolate_block(&old);
  child = fork();
  if (child == 0)
    child_run(work, task, &limits, outcome, parent);
  if (child > 0)
    reason = parent_wait(child, limit_ms, &limits, task);
  (void)sigprocmask(SIG_SETMASK, &old, NULL);
  if (reason == DX_REASON_NONE &&
      (!outcome_is_sane(outcome) ||
       (outcome->reason == DX_REASON_NONE && task->out_fd > 0 &&
        !output_is_sane(task)))) {
    reason = DX_REASON_DAMAGED;
  } else if (reason == DX_REASON_NONE) {
    reason = outcome->reason;
    *ret_done = outcome->done;
    ret_done->why[PDF_WHY_BYTES - 1] = '\0';
    dx_utf8_make_plain(ret_done->why);
    program_name(outcome->done.program, sizeof(outcome->done.program),
                 ret_done->program);
  }
  if ((outcome->layers & DX_SANDBOX_SECCOMP) == 0 && task->sandbox_optional)
    dx_log(DX_LOG_WARNING, DX_SANDBOX_OPTIONAL);
  (void)munmap(outcome, sizeof(*outcome));
  return reason;
}
