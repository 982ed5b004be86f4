/*
 * sandbox.c - the allow-list of system calls, and Landlock without rules.
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
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <seccomp.h>

/* The calls that libqpdf, the libraries for images and text, and the C library
 * need to work with open files. A call that this kernel or processor does not
 * have is skipped. */
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

/* Allowed only with these bits in one argument: no memory becomes executable,
 * and newfstatat() can only be used as fstat(). */
static const struct {
  int call;
  unsigned arg;
  scmp_datum_t mask, value;
} restricted[] = {
    {SCMP_SYS(mmap), 2, PROT_EXEC, 0},
    {SCMP_SYS(mmap2), 2, PROT_EXEC, 0},
    {SCMP_SYS(mprotect), 2, PROT_EXEC, 0},
    {SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Anything else fails with EPERM instead of killing the process: libraries also
 * make optional calls, such as opening a file of translated messages. */
static bool enter_seccomp(void)
{
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  bool ok = filter != NULL;
  size_t i;

  for (i = 0; ok && i < COUNT(allowed); i++)
    ok = allowed[i] < 0 ||
         seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0) == 0;
  for (i = 0; ok && i < COUNT(restricted); i++)
    ok = restricted[i].call < 0 ||
         seccomp_rule_add(filter, SCMP_ACT_ALLOW, restricted[i].call, 1,
                          SCMP_CMP(restricted[i].arg, SCMP_CMP_MASKED_EQ,
                                   restricted[i].mask, restricted[i].value)) ==
             0;
  ok = ok && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return ok;
}

/* struct landlock_ruleset_attr of version 6; the headers may be older. A kernel
 * accepts a larger structure than its own if the rest of it is zero. */
struct ruleset {
  uint64_t files, network, scoped;
};

/* Handles all rights of this version of Landlock: a right that is handled and
 * that no rule allows is denied. New in version 2: linking into another
 * directory; 3: truncating; 4: TCP; 5: ioctl() of devices; 6: abstract Unix
 * sockets and signals. */
static bool enter_landlock(void)
{
  static const uint64_t files[] = {0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
  struct ruleset all = {0};
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                     LANDLOCK_CREATE_RULESET_VERSION);
  int fd;
  bool ok;

  if (abi < 1)
    return false;
  all.files = files[abi < 5 ? abi - 1 : 4];
  all.network = abi >= 4 ? 3 : 0;
  all.scoped = abi >= 6 ? 3 : 0;
  fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
  ok = fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
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
  if (enter_landlock())
    layers |= DX_SANDBOX_LANDLOCK;
  (void)setrlimit(RLIMIT_NOFILE, &none);
  (void)setrlimit(RLIMIT_NPROC, &none);
  if (enter_seccomp())
    layers |= DX_SANDBOX_SECCOMP;
  return layers;
}

const char *dx_sandbox_text(unsigned layers)
{
  static const char *const texts[] = {"none", "seccomp", "Landlock",
                                      "seccomp and Landlock"};

  return texts[layers & DX_SANDBOX_BOTH];
}
