/*
 * daemon.c - is docextractd there? Asks without touching anything of it.
 */
#include "cli/cli.h"

#include <unistd.h>

#include "lib/base/fs.h"

pid_t cli_daemon_pid(const char *spool_dir)
{
  int dirfd = dx_fs_open_dir(spool_dir, NULL);
  pid_t pid;

  if (dirfd < 0)
    return 0;
  pid = dx_spool_daemon(dirfd);
  (void)close(dirfd);
  return pid;
}

bool cli_daemon_runs(const char *spool_dir)
{
  return cli_daemon_pid(spool_dir) != 0;
}
