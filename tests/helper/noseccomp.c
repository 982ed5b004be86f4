/*
 * noseccomp.c - runs a program as a kernel without seccomp filters would: it
 * and what it starts can install none.
 *
 *   noseccomp PROGRAM [ARGUMENT...]
 */
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <seccomp.h>

int main(int argc, char **argv)
{
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

  if (argc < 2 || filter == NULL ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0) !=
          0 ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
                       SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)) != 0 ||
      seccomp_load(filter) != 0) {
    (void)fputs("noseccomp: cannot set it up\n", stderr);
    return 1;
  }
  (void)execvp(argv[1], argv + 1);
  perror("noseccomp");
  return 1;
}
