/*
 * shared.c - locking, reading and writing of small shared files.
 */
#include "lib/base/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"

#define NAME_BYTES 220

int dx_shared_open(int dirfd, const char *host, int port, const char *suffix)
{
  char name[NAME_BYTES];
  char *p;

  (void)snprintf(name, sizeof(name), "%.180s_%d%s", host, port, suffix);
  for (p = name; *p != '\0'; p++)
    if (*p == '/' || *p == '.' || *p == ':')
      *p = '-';
  return openat(dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int dx_shared_open_service(int dirfd, const char *service, const char *suffix)
{
  char name[NAME_BYTES];

  (void)snprintf(name, sizeof(name), "%.180s%s", service, suffix);
  return openat(dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void set_lock(int fd, short type)
{
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

  while (fcntl(fd, F_SETLKW, &lock) < 0 && errno == EINTR)
    ;
}

void dx_shared_begin(int fd, char text[DX_SHARED_BYTES + 1])
{
  ssize_t n;

  set_lock(fd, F_WRLCK);
  n = pread(fd, text, DX_SHARED_BYTES, 0);
  text[n > 0 ? n : 0] = '\0';
}

void dx_shared_end(int fd, const char *text)
{
  size_t len = text != NULL ? strlen(text) : 0;

  if (text != NULL && pwrite(fd, text, len, 0) != (ssize_t)len)
    dx_log(DX_LOG_WARNING, "cannot write a shared file in 'pace': %s",
           strerror(errno));
  set_lock(fd, F_UNLCK);
}
