/*
 * process.c - what other accounts can see of a process of ours.
 */
#include "lib/base/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

void dx_process_protect(void)
{
  const struct rlimit none = {0, 0};

  (void)umask(077);
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)setrlimit(RLIMIT_CORE, &none); /* for the programs that we run, too */
  (void)unsetenv("SSLKEYLOGFILE");
}

void dx_process_hide_arguments(int argc, char **argv, int first)
{
  int i;

  for (i = first; i < argc; i++) {
    char *copy = strdup(argv[i]);

    if (copy == NULL)
      return;
    explicit_bzero(argv[i], strlen(argv[i])); /* what the kernel shows */
    argv[i] = copy;
  }
}
