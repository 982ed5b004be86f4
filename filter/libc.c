/*
 * libc.c - replaces malloc() and fopen() in the whole program: libqpdf calls
 * them by name, as the dynamic linker finds them, here first.
 */
#include "filter/libc.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FD_PREFIX "/proc/self/fd/"

/* ---- memory ---- */

static int exit_status; /* 0: a failure is returned */

void libc_exit_without_memory(int status)
{
  exit_status = status;
}

#ifndef LIBC_SANITIZED

/* The names under which the GNU C library keeps its own.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-*) */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
/* NOLINTEND(bugprone-reserved-identifier,cert-*) */

static void *checked(void *memory)
{
  if (memory == NULL && exit_status != 0)
    _exit(exit_status);
  return memory;
}

void *malloc(size_t size)
{
  return checked(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
  return checked(__libc_calloc(count, size));
}

/* Size 0 frees; NULL is no failure then. */
void *realloc(void *memory, size_t size)
{
  void *larger = __libc_realloc(memory, size);

  return size > 0 ? checked(larger) : larger;
}

#endif

/* ---- files ---- */

void libc_path(int fd, char path[LIBC_PATH_BYTES])
{
  (void)snprintf(path, LIBC_PATH_BYTES, FD_PREFIX "%d", fd);
}

static FILE *open_copy(int fd, const char *mode)
{
  int copy = dup(fd);
  FILE *file = copy >= 0 ? fdopen(copy, mode) : NULL;

  if (file != NULL)
    rewind(file);
  else if (copy >= 0)
    (void)close(copy);
  return file;
}

FILE *fopen(const char *path, const char *mode)
{
  FILE *(*system_fopen)(const char *, const char *);
  int fd;

  if (sscanf(path, FD_PREFIX "%d", &fd) == 1)
    return open_copy(fd, mode);
  *(void **)&system_fopen = dlsym(RTLD_NEXT, "fopen");
  return system_fopen != NULL ? system_fopen(path, mode) : NULL;
}
