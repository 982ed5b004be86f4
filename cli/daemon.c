/*
 * daemon.c - is docextractd there? Asks without touching anything of it.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/fs.h"

/* l_type is F_UNLCK when nobody holds the lock. */
static struct flock look(const char *spool_dir)
{
  struct flock none = {.l_type = F_UNLCK};
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int dirfd = dx_fs_open_dir(spool_dir, NULL);
  int fd;

  if (dirfd < 0)
    return none;
  fd = openat(dirfd, "docextractd.lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0)
    lock = none;
  if (fd >= 0)
    (void)close(fd);
  (void)close(dirfd);
  return lock;
}

bool cli_daemon_runs(const char *spool_dir)
{
  return look(spool_dir).l_type != F_UNLCK;
}

pid_t cli_daemon_pid(const char *spool_dir)
{
  struct flock lock = look(spool_dir);

  return lock.l_type != F_UNLCK ? lock.l_pid : 0;
}
