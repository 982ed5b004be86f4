/*
 * holder.c - locks the given files (POSIX record locks) until its stdin ends:
 * another process that drives a job, for tests. Prints "locked" once it has all
 * locks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  char byte;
  int i;

  for (i = 1; i < argc; i++) {
    int fd = open(argv[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0) {
      perror(argv[i]);
      return 1;
    }
  }
  printf("locked\n");
  (void)fflush(stdout);
  while (read(STDIN_FILENO, &byte, 1) > 0)
    continue;
  return 0;
}
