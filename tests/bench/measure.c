/*
 * measure.c - runs a program and writes what it cost to a file: one line
 * "WALL_MS CPU_MS PEAK_KIB". CPU includes children that were waited for; the
 * peak is the VmHWM of the largest process. This is a small separate process,
 * because the kernel counts the memory of the parent process as that of the
 * program.
 *
 * usage: measure FILE PROGRAM ARGUMENT...
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double ms(struct timeval t)
{
  return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static double now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
  struct rusage usage;
  double begin = now_ms();
  FILE *file;
  int status;
  pid_t pid;

  if (argc < 3) {
    fputs("usage: measure FILE PROGRAM ARGUMENT...\n", stderr);
    return 2;
  }
  pid = vfork();
  if (pid == 0) {
    (void)execvp(argv[2], argv + 2);
    _exit(127);
  }
  if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
    return 2;
  file = fopen(argv[1], "w");
  if (file == NULL)
    return 2;
  fprintf(file, "%.1f %.1f %ld\n", now_ms() - begin,
          ms(usage.ru_utime) + ms(usage.ru_stime), usage.ru_maxrss);
  (void)fclose(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
