/*
 * test_isolate.c - the permissions of the child process that parses a PDF, and
 * its outcome if it exceeds a limit. Functions that act like a compromised
 * parser are run in it.
 *
 * Built with a short limit of processor time.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filter/document.h"
#include "filter/image_pdf.h"
#include "filter/isolate.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/sandbox.h"
#include "tests/unit/temp_dir.h"

#define LIMIT_MS 60000

/* ---- one layer at a time ---- */

static bool no_seccomp, no_landlock;
static long pretended_abi; /* of Landlock; 0: that of the kernel */
static uint64_t handled[3];

int __real_seccomp_load(void *filter);
int __wrap_seccomp_load(void *filter);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

int __wrap_seccomp_load(void *filter)
{
  return no_seccomp ? -ENOSYS : __real_seccomp_load(filter);
}

/* Only sandbox.c uses it, for Landlock; the last of four arguments is 0. */
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
  if (no_landlock)
    return -1;
  if (pretended_abi > 0 && number == SYS_landlock_create_ruleset && a == 0)
    return pretended_abi;
  if (pretended_abi > 0) {
    if (number == SYS_landlock_create_ruleset)
      memcpy(handled, (const void *)a, sizeof(handled));
    return -1;
  }
  return __real_syscall(number, a, b, c, 0L);
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
  return lseek(other_fd, 0, SEEK_CUR) >= 0;
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

static bool maps_code(void)
{
  return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0) != MAP_FAILED;
}

static bool makes_code_of_data(void)
{
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool changes_a_descriptor(void)
{
  return fcntl(STDOUT_FILENO, F_SETFL, O_APPEND) == 0;
}

static bool duplicates_a_descriptor(void)
{
  return dup(STDOUT_FILENO) >= 0;
}

static bool looks_by_statx(void)
{
  struct statx st;

  return statx(AT_FDCWD, key_path, 0, STATX_BASIC_STATS, &st) == 0;
}

static bool looks_by_stat(void)
{
  struct stat st;

  return stat(key_path, &st) == 0;
}

/* Some C libraries call it for fstat(), with an empty path, at which seccomp
 * cannot look. */
static bool looks_by_fstatat(void)
{
  struct stat st;

  return fstatat(AT_FDCWD, key_path, &st, AT_EMPTY_PATH) == 0;
}

static bool blocks_signals(void)
{
  sigset_t none;

  (void)sigemptyset(&none);
  return sigprocmask(SIG_BLOCK, &none, NULL) == 0;
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
    {"uses the network", uses_the_network, 0},
    {"talks to a process", talks_to_a_process, 0},
    {"starts a process", starts_a_process, DX_SANDBOX_SECCOMP},
    {"signals a process", signals_a_process, DX_SANDBOX_SECCOMP},
    {"can be traced", can_be_traced, DX_SANDBOX_SECCOMP},
    {"maps code", maps_code, DX_SANDBOX_SECCOMP},
    {"makes code of data", makes_code_of_data, DX_SANDBOX_SECCOMP},
    {"changes a descriptor", changes_a_descriptor, DX_SANDBOX_SECCOMP},
    {"duplicates a descriptor", duplicates_a_descriptor, 0},
    {"looks at the key by statx()", looks_by_statx, DX_SANDBOX_SECCOMP},
    {"looks at the key by stat()", looks_by_stat, DX_SANDBOX_SECCOMP},
    {"looks at the key by fstatat()", looks_by_fstatat, DX_SANDBOX_SECCOMP},
    {"blocks signals", blocks_signals, DX_SANDBOX_SECCOMP},
};

#define TRIES (sizeof(tries) / sizeof(tries[0]))

#define PDF_BEGIN "%PDF-1.7\n"

/* A letter of `why` for each: "y" if it succeeds. */
static enum dx_reason try_all(const struct pdf_task *task,
                              struct pdf_done *ret_done)
{
  size_t i;

  (void)task;
  for (i = 0; i < TRIES; i++)
    ret_done->why[i] = tries[i].succeeds() ? 'y' : 'n';
  ret_done->pages = 1;
  (void)fputs(PDF_BEGIN, stdout);
  return DX_REASON_NONE;
}

/* ---- running it ---- */

static int new_file(void)
{
  FILE *file = tmpfile();

  assert_non_null(file);
  return fileno(file);
}

static const char *type = DX_MIME_PDF; /* of the document */
static bool sandbox_optional;
static int64_t most_bytes;

static enum dx_reason run(isolated_work *work, int64_t limit_ms,
                          struct pdf_done *ret_done)
{
  struct pdf_task task = {.type = type,
                          .in_fd = new_file(),
                          .out_fd = new_file(),
                          .most_bytes = most_bytes,
                          .sandbox_optional = sandbox_optional};

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
    else if (done.why[i] != 'n')
      fail_msg("%s: it %s", text, tries[i].name);
  }
}

/* ---- another program ---- */

static char scratch[TEMP_DIR_BYTES + 16];

static bool uses_its_directory(void)
{
  char path[TEMP_DIR_BYTES + 32];

  (void)snprintf(path, sizeof(path), "%s/file", scratch);
  return opens(path, O_CREAT | O_RDWR) && opens(path, O_RDWR | O_TRUNC) &&
         unlink(path) == 0;
}

static bool reads_the_system(void)
{
  return opens("/usr/bin", O_RDONLY | O_DIRECTORY) &&
         opens("/bin/true", O_RDONLY);
}

static bool writes_to_the_system(void)
{
  return opens("/usr/bin/docextract-test", O_CREAT | O_WRONLY);
}

static bool raises_a_limit_of_its_parent(void)
{
  struct rlimit limit;

  return prlimit(getppid(), RLIMIT_CORE, NULL, &limit) == 0;
}

/* What a program may do has no layer. */
static const struct {
  const char *name;
  bool (*succeeds)(void);
  unsigned prevented_by;
} program_tries[] = {
    {"uses its directory", uses_its_directory, 0},
    {"reads the system", reads_the_system, 0},
    {"writes to the system", writes_to_the_system, DX_SANDBOX_LANDLOCK},
    {"reads the key", reads_the_key, DX_SANDBOX_LANDLOCK},
    {"reads about itself", reads_itself, DX_SANDBOX_LANDLOCK},
    {"lists a directory", lists_a_directory, DX_SANDBOX_LANDLOCK},
    {"makes a file", makes_a_file, DX_SANDBOX_LANDLOCK},
    {"makes a directory", makes_a_directory, DX_SANDBOX_BOTH},
    {"removes the key", removes_the_key, DX_SANDBOX_LANDLOCK},
    {"uses the network", uses_the_network, DX_SANDBOX_SECCOMP},
    {"talks to a process", talks_to_a_process, DX_SANDBOX_SECCOMP},
    {"starts a process", starts_a_process, DX_SANDBOX_SECCOMP},
    {"signals a process", signals_a_process, DX_SANDBOX_SECCOMP},
    {"raises a limit of its parent", raises_a_limit_of_its_parent,
     DX_SANDBOX_SECCOMP},
    {"can be traced", can_be_traced, DX_SANDBOX_SECCOMP},
    /* last: it does not return */
    {"runs a program", runs_a_program, 0},
};

#define PROGRAM_TRIES (sizeof(program_tries) / sizeof(program_tries[0]))

static void sandboxed_program_has_its_files_only(void **state)
{
  char *results = mmap(NULL, PROGRAM_TRIES + 1, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  unsigned layers = layers_here();
  int status = 0;
  pid_t child;
  size_t i;

  (void)state;
  (void)snprintf(scratch, sizeof(scratch), "%s/scratch", dir);
  assert_int_equal(mkdir(scratch, 0700), 0);
  memset(results, '-', PROGRAM_TRIES);
  child = fork();
  if (child == 0) {
    if (dx_sandbox_enter_program(scratch) != layers)
      _exit(99);
    for (i = 0; i < PROGRAM_TRIES; i++)
      results[i] = program_tries[i].succeeds() ? 'y' : 'n';
    _exit(98);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0); /* of the program */
  for (i = 0; i + 1 < PROGRAM_TRIES; i++) {
    unsigned by = program_tries[i].prevented_by;

    if (by != 0 && (by & layers) == 0)
      print_message("  not checked: that a program never %s\n",
                    program_tries[i].name);
    else if (results[i] != (by == 0 ? 'y' : 'n'))
      fail_msg("a program %s: %c", program_tries[i].name, results[i]);
  }
  (void)munmap(results, PROGRAM_TRIES + 1);
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
  no_seccomp = sandbox_optional = true;
  try_with("without seccomp");
  no_seccomp = sandbox_optional = false;
}

static void everything_that_landlock_can_deny_is_denied(void **state)
{
  static const uint64_t expected[][3] = {
      {0, 0, 0},      {0x1fff, 0, 0}, {0x3fff, 0, 0}, {0x7fff, 0, 0},
      {0x7fff, 3, 0}, {0xffff, 3, 0}, {0xffff, 3, 3}, {0xffff, 3, 3}};

  (void)state;
  for (pretended_abi = 1; pretended_abi < 8; pretended_abi++) {
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
      (void)dx_sandbox_enter();
      _exit(memcmp(handled, expected[pretended_abi], sizeof(handled)) != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  pretended_abi = 0;
}

static int warnings;

static void count_warnings(enum dx_log_level level, const char *line)
{
  warnings += level == DX_LOG_WARNING && strstr(line, "Sandbox optional");
}

static void without_seccomp_nothing_is_parsed(void **state)
{
  struct pdf_done done;

  (void)state;
  no_seccomp = true;
  warnings = 0;
  assert_int_equal(run(try_all, LIMIT_MS, &done), DX_REASON_SANDBOX);
  assert_int_equal(done.pages, 0);
  assert_int_equal(warnings, 0);
  sandbox_optional = true;
  assert_int_equal(run(try_all, LIMIT_MS, &done), DX_REASON_NONE);
  assert_int_equal(warnings, 1);
  no_seccomp = false;
  assert_int_equal(run(try_all, LIMIT_MS, &done), DX_REASON_NONE);
  assert_int_equal(warnings, 1);
  sandbox_optional = false;
}

/* Outside, the same attempts succeed: they are made correctly. */
static void process_without_sandbox_is_unrestricted(void **state)
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
  char text[8] = "";
  size_t len = 0;
  const char *map = dx_fs_map(task->in_fd, &len);

  if (pread(task->in_fd, text, 5, 0) != 5 || task->out_fd != STDOUT_FILENO ||
      map == NULL || len != 5 || memcmp(map, text, len) != 0 ||
      printf("%s", text) != 5)
    return DX_REASON_DAMAGED;
  ret_done->needs_fonts = write(STDERR_FILENO, "noise", 5) == 5;
  ret_done->page = pread(task->spare_fd, text, 1, 0) == 1;
  ret_done->pages = 1;
  return DX_REASON_NONE;
}

/* What it prints to stderr goes nowhere. */
static void child_reads_and_writes_its_files(void **state)
{
  struct pdf_task task = {.type = type,
                          .in_fd = new_file(),
                          .out_fd = new_file(),
                          .spare_fd = new_file()};
  struct pdf_done done;
  char text[8] = "";

  (void)state;
  assert_int_equal(write(task.in_fd, "%PDF-", 5), 5);
  assert_int_equal(write(task.spare_fd, "spare", 5), 5);
  assert_int_equal(run_isolated(copy, &task, LIMIT_MS, &done), DX_REASON_NONE);
  assert_int_equal(pread(task.out_fd, text, sizeof(text), 0), 5);
  assert_string_equal(text, "%PDF-");
  assert_true(done.needs_fonts && done.page == 1);
}

static enum dx_reason print_much(const struct pdf_task *task,
                                 struct pdf_done *ret_done)
{
  int i;

  (void)fputs(PDF_BEGIN, stdout);
  for (i = 0; i < 100000; i++)
    (void)fputs("all of it or none", stdout);
  (void)task;
  ret_done->pages = 1;
  return DX_REASON_NONE;
}

/* All of it is out before the end, when nothing can fail any more. */
static enum dx_reason print_early(const struct pdf_task *task,
                                  struct pdf_done *ret_done)
{
  static const char bytes[65536];

  (void)task;
  (void)fwrite(bytes, 1, sizeof(bytes), stdout);
  ret_done->pages = 1;
  return DX_REASON_NONE;
}

static void full_disk_is_a_local_error(void **state)
{
  struct pdf_task task = {.in_fd = new_file(),
                          .out_fd = open("/dev/full", O_WRONLY)};
  struct pdf_done done;

  (void)state;
  assert_int_equal(run_isolated(print_much, &task, LIMIT_MS, &done),
                   DX_REASON_TROUBLE);
  assert_int_equal(run_isolated(print_early, &task, LIMIT_MS, &done),
                   DX_REASON_TROUBLE);
  assert_int_equal(close(task.out_fd), 0);
}

/* ---- limits ---- */

static enum dx_reason take_all_time(const struct pdf_task *task,
                                    struct pdf_done *ret_done)
{
  /* Without volatile, a compiler may assume that the loop ends. */
  volatile __typeof__(ret_done->pages) *pages = &ret_done->pages;

  while (task != NULL)
    *pages = !*pages;
  return DX_REASON_NONE;
}

/* With AddressSanitizer memory is not limited: the other build tests it. */
#ifndef ISOLATE_SANITIZED
/* As operator new does: NULL calls the handler. */
#if __SIZEOF_SIZE_T__ == 4
void *cplusplus_new(size_t size) __asm__("_Znwj");
#else
void *cplusplus_new(size_t size) __asm__("_Znwm");
#endif

static enum dx_reason take_all_memory(const struct pdf_task *task,
                                      struct pdf_done *ret_done)
{
  (void)task;
  while (cplusplus_new(1000000) != NULL)
    continue;
  ret_done->pages = 1;
  return DX_REASON_NONE; /* as libqpdf would, with half a document */
}

/* As C code does. */
static enum dx_reason allocate_all_memory(const struct pdf_task *task,
                                          struct pdf_done *ret_done)
{
  void *volatile bytes;

  (void)task;
  (void)ret_done;
  do
    bytes = malloc(1000000);
  while (bytes != NULL);
  return DX_REASON_TROUBLE;
}

static enum dx_reason map_much(const struct pdf_task *task,
                               struct pdf_done *ret_done)
{
  (void)task;
  ret_done->pages = 1;
  return mmap(NULL, 1 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                 MAP_FAILED
             ? DX_REASON_TOO_COMPLEX
             : DX_REASON_NONE;
}

static void failed_allocation_ends_the_child(void **state)
{
  (void)state;
  assert_reason(take_all_memory, LIMIT_MS, DX_REASON_TOO_COMPLEX);
  assert_reason(allocate_all_memory, LIMIT_MS, DX_REASON_TOO_COMPLEX);
}

static void addresses_are_limited(void **state)
{
  (void)state;
  assert_reason(map_much, LIMIT_MS, DX_REASON_TOO_COMPLEX);
}

/* The document is not to blame. */
static void lack_of_memory_is_a_local_error(void **state)
{
  struct rlimit before, little = {50000000, RLIM_INFINITY};

  (void)state;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  little.rlim_max = before.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
  assert_reason(take_all_memory, LIMIT_MS, DX_REASON_TROUBLE);
  assert_reason(allocate_all_memory, LIMIT_MS, DX_REASON_TROUBLE);
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}
#endif

static enum dx_reason take_some_time(const struct pdf_task *task,
                                     struct pdf_done *ret_done)
{
  clock_t until = clock() + 3 * CLOCKS_PER_SEC / 2;

  (void)task;
  while (clock() < until)
    continue;
  (void)fputs(PDF_BEGIN, stdout);
  ret_done->pages = 1;
  return DX_REASON_NONE;
}

/* Nearly empty pages of a scanner have 1/1000 of the size of their pixels. */
static void processor_time_is_limited_by_the_size(void **state)
{
  struct pdf_task task = {
      .type = DX_MIME_PDF, .in_fd = new_file(), .out_fd = new_file()};
  struct pdf_done done;

  (void)state;
  assert_reason(take_some_time, LIMIT_MS, DX_REASON_TOO_COMPLEX);
  assert_int_equal(ftruncate(task.in_fd, 512 << 10), 0);
  assert_int_equal(run_isolated(take_some_time, &task, LIMIT_MS, &done),
                   DX_REASON_NONE);
}

/* Takes no processor time: on a busy machine that limit could come first. */
static enum dx_reason wait_forever(const struct pdf_task *task,
                                   struct pdf_done *ret_done)
{
  sem_t never;

  (void)task;
  (void)ret_done;
  while (sem_init(&never, 0, 0) == 0)
    (void)sem_wait(&never);
  return DX_REASON_NONE;
}

static void time_is_limited(void **state)
{
  (void)state;
  assert_reason(wait_forever, 300, DX_REASON_TOO_SLOW);
}

/* As a child that was taken over would, in a kernel without seccomp. */
static bool blocks_all_signals(void)
{
  const struct itimerval never = {.it_value = {0}};
  sigset_t all;

  (void)sigfillset(&all);
  return sigprocmask(SIG_BLOCK, &all, NULL) == 0 &&
         setitimer(ITIMER_REAL, &never, NULL) == 0;
}

static enum dx_reason block_and_wait(const struct pdf_task *task,
                                     struct pdf_done *ret_done)
{
  return blocks_all_signals() ? wait_forever(task, ret_done) : DX_REASON_NONE;
}

static enum dx_reason block_and_take_all_time(const struct pdf_task *task,
                                              struct pdf_done *ret_done)
{
  return blocks_all_signals() ? take_all_time(task, ret_done) : DX_REASON_NONE;
}

static void child_that_blocks_signals_is_killed(void **state)
{
  (void)state;
  no_seccomp = sandbox_optional = true;
  assert_reason(block_and_wait, 1000, DX_REASON_TOO_SLOW);
  assert_reason(block_and_take_all_time, LIMIT_MS, DX_REASON_TOO_COMPLEX);
  no_seccomp = sandbox_optional = false;
}

static enum dx_reason write_far(const struct pdf_task *task,
                                struct pdf_done *ret_done)
{
  ret_done->pages = 1;
  return pwrite(task->out_fd, "x", 1, INT64_C(2) << 30) == 1
             ? DX_REASON_NONE
             : DX_REASON_DAMAGED;
}

static void output_is_limited(void **state)
{
  struct pdf_done done;

  (void)state;
  assert_reason(write_far, LIMIT_MS, DX_REASON_TOO_COMPLEX);
  most_bytes = 1000000;
  assert_reason(print_much, LIMIT_MS, DX_REASON_TOO_LARGE);
  most_bytes = 1700000 + strlen(PDF_BEGIN);
  assert_int_equal(run(print_much, LIMIT_MS, &done), DX_REASON_NONE);
  most_bytes = 0;
}

/* ---- how it ends ---- */

static enum dx_reason crash(const struct pdf_task *task,
                            struct pdf_done *ret_done)
{
  int *volatile nowhere = NULL;

  (void)task;
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

/* What a compromised parser writes. */
static const char *begin;
static size_t begin_bytes;

static enum dx_reason write_begin(const struct pdf_task *task,
                                  struct pdf_done *ret_done)
{
  (void)task;
  (void)fwrite(begin, 1, begin_bytes, stdout);
  ret_done->pages = 1;
  return DX_REASON_NONE;
}

static void output_must_begin_like_its_type(void **state)
{
#define BYTES(text) text, sizeof(text) - 1
  static const struct {
    const char *type, *bytes;
    size_t len;
    enum dx_reason reason;
  } rows[] = {
      {DX_MIME_PDF, BYTES("%PDF-1.7\n"), DX_REASON_NONE},
      {DX_MIME_TEXT, BYTES("%PDF-1.7\n"), DX_REASON_NONE},
      {DX_MIME_TIFF, BYTES("%PDF-1.7\n"), DX_REASON_NONE},
      {DX_MIME_JPEG, BYTES("\xFF\xD8\xFF\xDB"), DX_REASON_NONE},
      {DX_MIME_PNG, BYTES("\x89PNG\r\n\x1A\n"), DX_REASON_NONE},
      {DX_MIME_PDF, BYTES(""), DX_REASON_DAMAGED},
      {DX_MIME_PDF, BYTES("%PDF"), DX_REASON_DAMAGED},
      {DX_MIME_PDF, BYTES("\n%PDF-1.7\n"), DX_REASON_DAMAGED},
      {DX_MIME_PDF, BYTES("<html>%PDF-1.7"), DX_REASON_DAMAGED},
      {DX_MIME_PDF, BYTES("\xFF\xD8\xFF\xDB"), DX_REASON_DAMAGED},
      {DX_MIME_TEXT, BYTES("text"), DX_REASON_DAMAGED},
      {DX_MIME_TIFF, BYTES("II*\0\b\0\0\0"), DX_REASON_DAMAGED},
      {DX_MIME_JPEG, BYTES("\xFF\xD8"), DX_REASON_DAMAGED},
      {DX_MIME_JPEG, BYTES("%PDF-1.7\n"), DX_REASON_DAMAGED},
      {DX_MIME_JPEG, BYTES("\x89PNG\r\n\x1A\n"), DX_REASON_DAMAGED},
      {DX_MIME_PNG, BYTES("\x89PNG\r\n\x1A"), DX_REASON_DAMAGED},
      {DX_MIME_PNG, BYTES("\xFF\xD8\xFF\xDB"), DX_REASON_DAMAGED},
  };
#undef BYTES
  struct pdf_done done;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    type = rows[i].type;
    begin = rows[i].bytes;
    begin_bytes = rows[i].len;
    if (run(write_begin, LIMIT_MS, &done) != rows[i].reason ||
        (done.pages == 1) != (rows[i].reason == DX_REASON_NONE))
      fail_msg("row %zu: %s: %d pages", i, rows[i].type, done.pages);
  }
  type = DX_MIME_PDF;
}

static void crash_means_a_damaged_document(void **state)
{
  /* without the handlers of cmocka and of a sanitizer */
  void (*before)(int) = signal(SIGSEGV, SIG_DFL);

  (void)state;
  assert_reason(crash, LIMIT_MS, DX_REASON_DAMAGED);
  (void)signal(SIGSEGV, before);
}

static enum dx_reason claim_pages(const struct pdf_task *task,
                                  struct pdf_done *ret_done)
{
  (void)task;
  (void)fputs(PDF_BEGIN, stdout);
  ret_done->pages = DX_PAGES_MAX + 1;
  return DX_REASON_NONE;
}

static enum dx_reason claim_nothing(const struct pdf_task *task,
                                    struct pdf_done *ret_done)
{
  (void)task;
  (void)ret_done;
  (void)fputs(PDF_BEGIN, stdout);
  return DX_REASON_NONE;
}

static enum dx_reason give_text_without_end(const struct pdf_task *task,
                                            struct pdf_done *ret_done)
{
  (void)task;
  memset(ret_done->why, 'x', sizeof(ret_done->why));
  return DX_REASON_DAMAGED;
}

static void text_without_end_is_truncated(void **state)
{
  struct pdf_done done;

  (void)state;
  assert_int_equal(run(give_text_without_end, LIMIT_MS, &done),
                   DX_REASON_DAMAGED);
  assert_int_equal(strnlen(done.why, PDF_WHY_BYTES), PDF_WHY_BYTES - 1);
}

static void inconsistent_result_means_a_damaged_document(void **state)
{
  struct pdf_done done;

  (void)state;
  assert_reason(lie, LIMIT_MS, DX_REASON_DAMAGED);
  assert_reason(claim_nothing, LIMIT_MS, DX_REASON_DAMAGED);
  assert_int_equal(run(claim_pages, LIMIT_MS, &done), DX_REASON_DAMAGED);
  assert_int_equal(done.pages, 0);
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
  dx_log_to(count_warnings);
  return other_fd >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
  (void)state;
  return temp_dir_remove(dir);
}

static void limits_are_only_lowered(void **state)
{
  static const struct {
    rlim_t soft, hard, expected_soft, expected_hard;
  } rows[] = {{300, 500, 300, 500},
              {400, RLIM_INFINITY, 300, 500},
              {200, 600, 200, 500},
              {300, 400, 200, 400},
              {300, 100, 100, 100}};
  struct rlimit limit;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_true(dx_process_limit(RLIMIT_MSGQUEUE, rows[i].soft, rows[i].hard));
    assert_int_equal(getrlimit(RLIMIT_MSGQUEUE, &limit), 0);
    assert_int_equal(limit.rlim_cur, rows[i].expected_soft);
    assert_int_equal(limit.rlim_max, rows[i].expected_hard);
  }
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_are_only_lowered),
      cmocka_unit_test(sandboxed_child_can_open_nothing),
      cmocka_unit_test(sandboxed_program_has_its_files_only),
      cmocka_unit_test(seccomp_is_enough),
      cmocka_unit_test(landlock_protects_files_alone),
      cmocka_unit_test(everything_that_landlock_can_deny_is_denied),
      cmocka_unit_test(without_seccomp_nothing_is_parsed),
      cmocka_unit_test(process_without_sandbox_is_unrestricted),
      cmocka_unit_test(child_reads_and_writes_its_files),
      cmocka_unit_test(full_disk_is_a_local_error),
#ifndef ISOLATE_SANITIZED
      cmocka_unit_test(addresses_are_limited),
      cmocka_unit_test(failed_allocation_ends_the_child),
      cmocka_unit_test(lack_of_memory_is_a_local_error),
#endif
      cmocka_unit_test(processor_time_is_limited_by_the_size),
      cmocka_unit_test(time_is_limited),
      cmocka_unit_test(child_that_blocks_signals_is_killed),
      cmocka_unit_test(output_is_limited),
      cmocka_unit_test(crash_means_a_damaged_document),
      cmocka_unit_test(inconsistent_result_means_a_damaged_document),
      cmocka_unit_test(output_must_begin_like_its_type),
      cmocka_unit_test(text_without_end_is_truncated),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
