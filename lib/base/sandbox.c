/*
 * sandbox.c - the allow-list of system calls, and Landlock without rules.
 */
#include "lib/base/sandbox.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <seccomp.h>

/* What libqpdf, zlib, libjpeg, GnuTLS, and the C library call to compute with
 * files that are open. Nothing takes the path of a file, except for
 * newfstatat, which also implements fstat(). A call that this kernel or
 * processor does not have is skipped. */
static const int allowed[] = {
    /* files that are open */
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev),
    SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(_llseek),
    SCMP_SYS(fstat), SCMP_SYS(fstat64), SCMP_SYS(newfstatat), SCMP_SYS(statx),
    SCMP_SYS(fcntl), SCMP_SYS(fcntl64), SCMP_SYS(dup), SCMP_SYS(close),
    SCMP_SYS(ftruncate), SCMP_SYS(ftruncate64), SCMP_SYS(fadvise64),
    /* memory */
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(munmap),
    SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mprotect),
    /* itself */
    SCMP_SYS(futex), SCMP_SYS(futex_time64), SCMP_SYS(getpid), SCMP_SYS(gettid),
    SCMP_SYS(getrandom), SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(sched_yield), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
    SCMP_SYS(exit_group)};

/* Anything else fails with EPERM instead of killing the process: libraries try
 * what they can do without, such as a file of messages in another language. */
static bool enter_seccomp(void)
{
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  bool ok = filter != NULL;
  size_t i;

  for (i = 0; ok && i < sizeof(allowed) / sizeof(allowed[0]); i++)
    ok = allowed[i] < 0 ||
         seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0) == 0;
  ok = ok && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return ok;
}

/* Handles what the first version of Landlock knows. Rights added later concern
 * files that the process then opens or names, and there are none. */
static bool enter_landlock(void)
{
  const struct landlock_ruleset_attr all = {
      .handled_access_fs = 2 * LANDLOCK_ACCESS_FS_MAKE_SYM - 1};
  int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
  bool ok = fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0;

  if (fd >= 0)
    (void)close(fd);
  return ok;
}

unsigned dx_sandbox_enter(void)
{
  unsigned layers = 0;

  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return 0;
  if (enter_landlock())
    layers |= DX_SANDBOX_LANDLOCK;
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
