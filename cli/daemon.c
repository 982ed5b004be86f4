/*
 * daemon.c - is docextractd there? Asks without touching anything of it.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/fs.h"

bool cli_daemon_runs(const char *spool_dir)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int dirfd = dx_fs_open_dir(spool_dir, NULL);
  bool runs = false;
  int fd;

  if (dirfd < 0)
    return false;
  fd = openat(dirfd, "docextractd.lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) {
    runs = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    (void)close(fd);
  }
  (void)close(dirfd);
  return runs;
}
