/*
 * test_isolate.c - what the child process that parses a PDF can do, and what
 * becomes of one that asks too much. The work is done by functions that act
 * like a parser that was taken over.
 *
 * Built with a short limit of processor time.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/budget.h"
#include "filter/isolate.h"
#include "filter/libc.h"
#include "lib/base/policy.h"
#include "lib/base/sandbox.h"
#include "tests/unit/temp_dir.h"

#define LIMIT_MS 60000

/* ---- one layer at a time ---- */

static bool no_seccomp, no_landlock;

int __real_seccomp_load(void *filter);
int __wrap_seccomp_load(void *filter);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

int __wrap_seccomp_load(void *filter)
{
  return no_seccomp ? -ENOSYS : __real_seccomp_load(filter);
}

/* Only sandbox.c uses it, for Landlock, with at most three arguments. */
long __wrap_syscall(long number, ...)
{
  long a, b, c;
  va_list args;

  va_start(args, number);
  a = va_arg(args, long);
  b = va_arg(args, long);
  c = va_arg(args, long);
  va_end(args);
  errno = ENOSYS;
  return no_landlock ? -1 : __real_syscall(number, a, b, c);
}

/* The layers that this kernel has, of those that are not switched off. */
static unsigned layers_here(void)
{
  pid_t child = fork();
  int status = 0;

  if (child == 0)
    _exit((int)dx_sandbox_enter());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return (unsigned)WEXITSTATUS(status);
}

/* ---- what is tried ---- */

static char dir[TEMP_DIR_BYTES];
static char key_path[TEMP_DIR_BYTES + 16], new_path[TEMP_DIR_BYTES + 16];
static int other_fd; /* not of the task */

static bool opens(const char *path, int flags)
{
  return open(path, flags, 0600) >= 0;
}

static bool reads_the_key(void)
{
  return opens(key_path, O_RDONLY);
}

static bool reads_by_stdio(void)
{
  return fopen(key_path, "r") != NULL;
}

static bool reads_itself(void)
{
  return opens("/proc/self/maps", O_RDONLY);
}

static bool opens_a_descriptor(void)
{
  return opens("/proc/self/fd/0", O_RDONLY);
}

static bool lists_a_directory(void)
{
  return opens("/", O_RDONLY | O_DIRECTORY);
}

static bool makes_a_file(void)
{
  return opens(new_path, O_CREAT | O_WRONLY);
}

static bool makes_a_directory(void)
{
  return mkdir(new_path, 0700) == 0;
}

static bool removes_the_key(void)
{
  return unlink(key_path) == 0;
}

static bool has_another_descriptor(void)
{
  return fcntl(other_fd, F_GETFD) >= 0;
}

static bool reads_standard_input(void)
{
  char byte;

  return read(STDIN_FILENO, &byte, 1) == 1;
}

static bool runs_a_program(void)
{
  char *arguments[] = {NULL};

  return execve("/bin/true", arguments, arguments) == 0;
}

static bool uses_the_network(void)
{
  return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool talks_to_a_process(void)
{
  return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

/* Its SIGCHLD comes before can_be_traced(): a process that is traced would stop
 * at it. */
static bool starts_a_process(void)
{
  pid_t child = fork();

  if (child == 0)
    _exit(0);
  return child > 0 && waitpid(child, NULL, 0) == child;
}

static bool signals_a_process(void)
{
  return kill(getpid(), 0) == 0;
}

static bool can_be_traced(void)
{
  return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static const struct {
  const char *name;
  bool (*succeeds)(void);
  unsigned prevented_by; /* any of these layers; 0: whatever the kernel has */
} tries[] = {
    {"reads the key", reads_the_key, DX_SANDBOX_BOTH},
    {"reads the key by fopen()", reads_by_stdio, DX_SANDBOX_BOTH},
    {"reads about itself", reads_itself, DX_SANDBOX_BOTH},
    {"opens what is open", opens_a_descriptor, DX_SANDBOX_BOTH},
    {"lists a directory", lists_a_directory, DX_SANDBOX_BOTH},
    {"makes a file", makes_a_file, DX_SANDBOX_BOTH},
    {"makes a directory", makes_a_directory, DX_SANDBOX_BOTH},
    {"removes the key", removes_the_key, DX_SANDBOX_BOTH},
    {"runs a program", runs_a_program, DX_SANDBOX_BOTH},
    {"has another descriptor", has_another_descriptor, 0},
    {"reads standard input", reads_standard_input, 0},
    {"uses the network", uses_the_network, DX_SANDBOX_SECCOMP},
    {"talks to a process", talks_to_a_process, DX_SANDBOX_SECCOMP},
    {"starts a process", starts_a_process, DX_SANDBOX_SECCOMP},
    {"signals a process", signals_a_process, DX_SANDBOX_SECCOMP},
    {"can be traced", can_be_traced, DX_SANDBOX_SECCOMP},
};

#define TRIES (sizeof(tries) / sizeof(tries[0]))

/* A bit of `pages` for each that succeeds. */
static enum dx_reason try_all(const struct pdf_task *task,
                              struct pdf_done *ret_done)
{
  size_t i;

  (void)task;
  for (i = 0; i < TRIES; i++)
    if (tries[i].succeeds())
      ret_done->pages |= 1 << i;
  return DX_REASON_NONE;
}

/* ---- running it ---- */

static int new_file(void)
{
  FILE *file = tmpfile();

  assert_non_null(file);
  return fileno(file);
}

static enum dx_reason run(isolated_work *work, int64_t limit_ms,
                          struct pdf_done *ret_done)
{
  struct pdf_task task = {.in_fd = new_file(), .out_fd = new_file()};

  *ret_done = (struct pdf_done){0};
  return run_isolated(work, &task, limit_ms, ret_done);
}

static void assert_reason(isolated_work *work, int64_t limit_ms,
                          enum dx_reason reason)
{
  struct pdf_done done;

  assert_string_equal(dx_reason_word(run(work, limit_ms, &done)),
                      dx_reason_word(reason));
}

/* Reports what this kernel lets it check. */
static void try_with(const char *text)
{
  unsigned layers = layers_here();
  struct pdf_done done;
  size_t i;

  assert_int_equal(run(try_all, LIMIT_MS, &done), DX_REASON_NONE);
  print_message("%s: this kernel gives %s\n", text, dx_sandbox_text(layers));
  for (i = 0; i < TRIES; i++) {
    if (tries[i].prevented_by != 0 && (tries[i].prevented_by & layers) == 0)
      print_message("  not checked: that it never %s\n", tries[i].name);
    else if ((done.pages & 1 << i) != 0)
      fail_msg("%s: it %s", text, tries[i].name);
  }
}

static void sandboxed_child_can_open_nothing(void **state)
{
  (void)state;
  try_with("both layers");
}

static void seccomp_is_enough(void **state)
{
  (void)state;
  no_landlock = true;
  try_with("without Landlock");
  no_landlock = false;
}

static void landlock_protects_files_alone(void **state)
{
  (void)state;
  no_seccomp = true;
  try_with("without seccomp");
  no_seccomp = false;
}

/* Outside, the same attempts succeed: they are made correctly. */
static void everything_is_possible_without(void **state)
{
  unsigned i;

  (void)state;
  no_landlock = no_seccomp = true;
  assert_int_equal(layers_here(), 0);
  for (i = 0; i < TRIES; i++)
    if (tries[i].succeeds != runs_a_program &&
        tries[i].succeeds != removes_the_key &&
        tries[i].succeeds != makes_a_directory &&
        tries[i].succeeds != can_be_traced && !tries[i].succeeds())
      fail_msg("it never %s", tries[i].name);
  no_landlock = no_seccomp = false;
}

/* ---- what it may do ---- */

static enum dx_reason copy(const struct pdf_task *task,
                           struct pdf_done *ret_done)
{
  char path[LIBC_PATH_BYTES], text[8] = "";
  FILE *in, *out;

  libc_path(task->in_fd, path);
  in = fopen(path, "rb");
  libc_path(task->out_fd, path);
  out = fopen(path, "wb+");
  if (in == NULL || out == NULL || fread(text, 1, 4, in) != 4 ||
      fwrite(text, 1, 4, out) != 4 || fclose(out) != 0)
    return DX_REASON_DAMAGED;
  ret_done->repaired = write(STDERR_FILENO, "noise", 5) == 5;
  return DX_REASON_NONE;
}

static void child_reads_and_writes_its_files(void **state)
{
  struct pdf_task task = {.in_fd = new_file(), .out_fd = new_file()};
  struct pdf_done done = {0};
  char text[8] = "";

  (void)state;
  assert_int_equal(write(task.in_fd, "%PDF", 4), 4);
  assert_int_equal(run_isolated(copy, &task, LIMIT_MS, &done), DX_REASON_NONE);
  assert_int_equal(pread(task.out_fd, text, sizeof(text), 0), 4);
  assert_string_equal(text, "%PDF");
  assert_true(done.repaired); /* what it prints goes nowhere, and not there */
}

/* ---- limits ---- */

static enum dx_reason take_all_time(const struct pdf_task *task,
                                    struct pdf_done *ret_done)
{
  while (task != NULL)
    ret_done->pages = !ret_done->pages;
  return DX_REASON_NONE;
}

/* With AddressSanitizer memory is not limited: the other build tests it. */
#ifndef LIBC_SANITIZED
static enum dx_reason take_all_memory(const struct pdf_task *task,
                                      struct pdf_done *ret_done)
{
  (void)task;
  (void)ret_done;
  while (malloc(1000000) != NULL)
    continue;
  return DX_REASON_NONE; /* as libqpdf would, with half a document */
}

static void failed_allocation_ends_the_child(void **state)
{
  (void)state;
  assert_reason(take_all_memory, LIMIT_MS, DX_REASON_TOO_COMPLEX);
}

/* The document is not to blame. */
static void little_memory_is_trouble_of_this_computer(void **state)
{
  struct rlimit before, little = {50000000, RLIM_INFINITY};

  (void)state;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  little.rlim_max = before.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
  assert_reason(take_all_memory, LIMIT_MS, DX_REASON_TROUBLE);
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}
#endif

static void processor_time_is_limited(void **state)
{
  (void)state;
  assert_reason(take_all_time, LIMIT_MS, DX_REASON_TOO_COMPLEX);
}

static void time_is_limited(void **state)
{
  (void)state;
  assert_reason(take_all_time, 1000, DX_REASON_TOO_SLOW);
}

/* ---- how it ends ---- */

static enum dx_reason crash(const struct pdf_task *task,
                            struct pdf_done *ret_done)
{
  int *volatile nowhere = NULL;

  (void)task;
  (void)signal(SIGSEGV, SIG_DFL); /* without the report of a sanitizer */
  ret_done->pages = *nowhere;
  return DX_REASON_NONE;
}

static enum dx_reason lie(const struct pdf_task *task,
                          struct pdf_done *ret_done)
{
  (void)task;
  (void)ret_done;
  return (enum dx_reason)1234;
}

static void child_that_crashes_has_a_damaged_document(void **state)
{
  (void)state;
  assert_reason(crash, LIMIT_MS, DX_REASON_DAMAGED);
}

static void child_that_lies_has_a_damaged_document(void **state)
{
  (void)state;
  assert_reason(lie, LIMIT_MS, DX_REASON_DAMAGED);
}

/* ---- the budget of a job ---- */

static int saved_stderr;

/* As cupsd does at the beginning of a job. */
static void begin_job(void)
{
  int ends[2];

  assert_int_equal(pipe(ends), 0);
  assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  assert_int_equal(close(ends[1]), 0);
}

static void use_in_another_process(int64_t ms)
{
  pid_t child = fork();
  int status = 0;

  if (child == 0) {
    budget_use_ms(ms);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
}

static void documents_of_a_job_share_a_budget(void **state)
{
  struct pdf_done done;

  (void)state;
  begin_job();
  assert_int_equal(budget_used_ms(), 0);
  use_in_another_process(LIMIT_MS);
  use_in_another_process(0);
  use_in_another_process((DX_JOB_TIME_FACTOR - 1) * LIMIT_MS - 1000);
  assert_int_equal(budget_used_ms(), DX_JOB_TIME_FACTOR * LIMIT_MS - 1000);
  assert_int_equal(run(try_all, LIMIT_MS, &done), DX_REASON_NONE);
  assert_reason(take_all_time, LIMIT_MS, DX_REASON_TOO_SLOW);
  assert_reason(lie, LIMIT_MS, DX_REASON_TOO_SLOW); /* it never runs */
  begin_job();
  assert_int_equal(budget_used_ms(), 0);
  assert_int_equal(run(try_all, LIMIT_MS, &done), DX_REASON_NONE);
}

static void without_a_pipe_no_time_is_kept(void **state)
{
  (void)state;
  assert_int_equal(dup2(other_fd, STDERR_FILENO), STDERR_FILENO);
  budget_use_ms(1000);
  assert_int_equal(budget_used_ms(), 0);
}

static int restore_stderr(void **state)
{
  (void)state;
  return dup2(saved_stderr, STDERR_FILENO) == STDERR_FILENO ? 0 : -1;
}

/* ---- */

/* As in a queue: what the filter before it writes. */
static bool pipe_input(void)
{
  int ends[2];

  return pipe(ends) == 0 && write(ends[1], "byte", 4) == 4 &&
         dup2(ends[0], STDIN_FILENO) == STDIN_FILENO;
}

static int set_up(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0 || !pipe_input())
    return -1;
  (void)snprintf(key_path, sizeof(key_path), "%s/key", dir);
  (void)snprintf(new_path, sizeof(new_path), "%s/new", dir);
  other_fd = open(key_path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  saved_stderr = dup(STDERR_FILENO);
  return other_fd >= 0 && saved_stderr >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
  (void)state;
  return temp_dir_remove(dir);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(sandboxed_child_can_open_nothing),
      cmocka_unit_test(seccomp_is_enough),
      cmocka_unit_test(landlock_protects_files_alone),
      cmocka_unit_test(everything_is_possible_without),
      cmocka_unit_test(child_reads_and_writes_its_files),
#ifndef LIBC_SANITIZED
      cmocka_unit_test(failed_allocation_ends_the_child),
      cmocka_unit_test(little_memory_is_trouble_of_this_computer),
#endif
      cmocka_unit_test(processor_time_is_limited),
      cmocka_unit_test(time_is_limited),
      cmocka_unit_test(child_that_crashes_has_a_damaged_document),
      cmocka_unit_test(child_that_lies_has_a_damaged_document),
      cmocka_unit_test_teardown(documents_of_a_job_share_a_budget,
                                restore_stderr),
      cmocka_unit_test_teardown(without_a_pipe_no_time_is_kept, restore_stderr),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
