/*
 * sandbox.c - the allow-lists of system calls, and the rules of Landlock.
 */
#include "lib/base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <seccomp.h>

/* The calls that libqpdf, the libraries for images and text, and the C library
 * need to work with open files. A call that this kernel or processor does not
 * have is skipped.
 *
 * newfstatat() and statx() are not on the list: AT_EMPTY_PATH also permits a
 * path that is not empty, and seccomp cannot look at it, so they would show
 * which files exist. glibc of Debian 12, and glibc for 32 bits, make one of
 * them for fstat(): there fstat() fails in the sandbox. */
static const int allowed[] = {
    /* files that are open */
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
    SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(fstat), SCMP_SYS(fstat64),
    SCMP_SYS(ftruncate), SCMP_SYS(ftruncate64), SCMP_SYS(close),
    /* memory */
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    /* itself */
    SCMP_SYS(futex), SCMP_SYS(futex_time64), SCMP_SYS(getrandom),
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64), SCMP_SYS(gettimeofday),
    SCMP_SYS(time), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group)};

/* Allowed only without PROT_EXEC in the third argument: no memory becomes
 * executable. */
static const int not_executable[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2),
                                     SCMP_SYS(mprotect)};

/* In addition, for another program: what the loader and the C library need to
 * start it, and to use the files that Landlock permits. */
static const int allowed_program[] = {
    /* starting */
    SCMP_SYS(execve), SCMP_SYS(arch_prctl), SCMP_SYS(set_tid_address),
    SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(getrlimit),
    SCMP_SYS(ugetrlimit), SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getpid),
    SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(getuid32), SCMP_SYS(geteuid),
    SCMP_SYS(geteuid32), SCMP_SYS(getgid), SCMP_SYS(getgid32),
    SCMP_SYS(getegid), SCMP_SYS(getegid32), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_yield), SCMP_SYS(getrusage), SCMP_SYS(times),
    SCMP_SYS(clock_getres), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(set_thread_area),
    /* files */
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(stat), SCMP_SYS(stat64), SCMP_SYS(lstat),
    SCMP_SYS(lstat64), SCMP_SYS(newfstatat), SCMP_SYS(fstatat64),
    SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(statfs64), SCMP_SYS(fstatfs),
    SCMP_SYS(fstatfs64), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(getdents), SCMP_SYS(getdents64), SCMP_SYS(getcwd), SCMP_SYS(readv),
    SCMP_SYS(writev), SCMP_SYS(fcntl), SCMP_SYS(fcntl64), SCMP_SYS(dup),
    SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(ioctl), SCMP_SYS(fadvise64),
    SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(mmap), SCMP_SYS(mmap2),
    SCMP_SYS(mprotect)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
  size_t i;

  for (i = 0; i < count; i++)
    if (calls[i] >= 0 &&
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0) != 0)
      return false;
  return true;
}

/* Anything else fails with EPERM instead of killing the process: libraries also
 * make optional calls, such as opening a file of translated messages. */
static bool enter_seccomp(void)
{
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  bool ok = filter != NULL && allow(filter, allowed, COUNT(allowed));
  size_t i;

  for (i = 0; ok && i < COUNT(not_executable); i++)
    ok = not_executable[i] < 0 ||
         seccomp_rule_add(filter, SCMP_ACT_ALLOW, not_executable[i], 1,
                          SCMP_CMP(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) == 0;
  ok = ok && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return ok;
}

/* Anything else fails with ENOSYS: a C library that is newer than this list
 * then uses the call that came before. */
static bool enter_seccomp_program(void)
{
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
  bool ok = filter != NULL && allow(filter, allowed, COUNT(allowed)) &&
            allow(filter, allowed_program, COUNT(allowed_program));

  /* Only its own limits. */
  ok = ok &&
       seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                        SCMP_CMP(0, SCMP_CMP_EQ, 0)) == 0 &&
       seccomp_load(filter) == 0;

  seccomp_release(filter);
  return ok;
}

/* struct landlock_ruleset_attr of version 6; the headers may be older. A kernel
 * accepts a larger structure than its own if the rest of it is zero. */
struct ruleset {
  uint64_t files, network, scoped;
};

/* Rights to files, of LANDLOCK_ACCESS_FS_*; the headers may be older. */
#define FS_EXECUTE (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_REG (UINT64_C(1) << 8)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE)
#define FS_READ (FS_READ_FILE | FS_READ_DIR)

/* What a program may use besides its scratch directory. A path that does not
 * exist is skipped. */
static const struct {
  const char *path;
  uint64_t rights;
} readable[] = {
    {"/usr", FS_READ | FS_EXECUTE},     {"/lib", FS_READ | FS_EXECUTE},
    {"/lib32", FS_READ | FS_EXECUTE},   {"/lib64", FS_READ | FS_EXECUTE},
    {"/etc/ld.so.cache", FS_READ},      {"/etc/fonts", FS_READ},
    {"/etc/ghostscript", FS_READ},      {"/etc/papersize", FS_READ},
    {"/etc/localtime", FS_READ},        {"/var/lib/ghostscript", FS_READ},
    {"/var/cache/fontconfig", FS_READ}, {"/dev/null", FS_READ | FS_WRITE_FILE},
    {"/dev/urandom", FS_READ}};

/* The kernel refuses rights to directories in a rule for a file. */
static bool landlock_permit(int ruleset, const char *path, uint64_t rights)
{
  struct landlock_path_beneath_attr rule = {.allowed_access = rights};
  int fd = open(path, O_PATH | O_CLOEXEC);
  struct stat st;
  bool ok;

  if (fd < 0)
    return errno == ENOENT;
  if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
    rule.allowed_access &= FS_OF_FILES;
  rule.parent_fd = fd;
  ok = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
               &rule, 0) == 0;
  (void)close(fd);
  return ok;
}

/* Handles all rights of this version of Landlock: a right that is handled and
 * that no rule allows is denied. New in version 2: linking into another
 * directory; 3: truncating; 4: TCP; 5: ioctl() of devices; 6: abstract Unix
 * sockets and signals. scratch: NULL: no rules. */
static bool enter_landlock(const char *scratch)
{
  static const uint64_t files[] = {0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
  struct ruleset all = {0};
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                     LANDLOCK_CREATE_RULESET_VERSION);
  size_t i;
  int fd;
  bool ok;

  if (abi < 1)
    return false;
  all.files = files[abi < 5 ? abi - 1 : 4];
  all.network = abi >= 4 ? 3 : 0;
  all.scoped = abi >= 6 ? 3 : 0;
  fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
  ok = fd >= 0;
  for (i = 0; ok && scratch != NULL && i < COUNT(readable); i++)
    ok = landlock_permit(fd, readable[i].path, readable[i].rights & all.files);
  if (ok && scratch != NULL)
    ok = landlock_permit(
        fd, scratch,
        (FS_READ | FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_TRUNCATE) &
            all.files);
  ok = ok && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
  if (fd >= 0)
    (void)close(fd);
  return ok;
}

unsigned dx_sandbox_enter(void)
{
  const struct rlimit none = {0, 0};
  unsigned layers = 0;

  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return 0;
  if (enter_landlock(NULL))
    layers |= DX_SANDBOX_LANDLOCK;
  (void)setrlimit(RLIMIT_NOFILE, &none);
  (void)setrlimit(RLIMIT_NPROC, &none);
  if (enter_seccomp())
    layers |= DX_SANDBOX_SECCOMP;
  return layers;
}

unsigned dx_sandbox_enter_program(const char *scratch)
{
  const struct rlimit none = {0, 0};
  unsigned layers = 0;

  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return 0;
  if (enter_landlock(scratch))
    layers |= DX_SANDBOX_LANDLOCK;
  (void)setrlimit(RLIMIT_NPROC, &none);
  if (enter_seccomp_program())
    layers |= DX_SANDBOX_SECCOMP;
  return layers;
}

unsigned dx_sandbox_test(void)
{
  pid_t child = fork(); /* a sandbox cannot be left */
  int status;

  if (child == 0)
    _exit((int)dx_sandbox_enter());
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return 0;
  return (unsigned)WEXITSTATUS(status);
}

const char *dx_sandbox_text(unsigned layers)
{
  static const char *const texts[] = {"none", "seccomp", "Landlock",
                                      "seccomp and Landlock"};

  return texts[layers & DX_SANDBOX_BOTH];
}
