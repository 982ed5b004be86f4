/*
 * budget.c - a number as the length of a lock.
 */
#include "filter/budget.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_pipe(void)
{
  struct stat st;

  return fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* A lock of the process would conflict with that of the pipe. */
int64_t budget_used_ms(void)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

  if (!has_pipe() || fcntl(STDERR_FILENO, F_GETLK, &lock) < 0 ||
      lock.l_type == F_UNLCK)
    return 0;
  return lock.l_len;
}

/* Joins the lock that is there. */
void budget_use_ms(int64_t ms)
{
  struct flock lock = {.l_type = F_WRLCK,
                       .l_whence = SEEK_SET,
                       .l_start = budget_used_ms(),
                       .l_len = ms};

  if (ms > 0 && has_pipe())
    (void)fcntl(STDERR_FILENO, F_OFD_SETLK, &lock);
}
