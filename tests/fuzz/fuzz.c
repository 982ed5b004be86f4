/*
 * fuzz.c - inputs and files for the fuzz targets.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fs.h"

void fuzz_holds(bool is_true, const char *condition)
{
  if (is_true)
    return;
  fprintf(stderr, "does not hold: %s\n", condition);
  abort();
}

static char *text_of(struct fuzz_input *in, size_t len)
{
  char *text = malloc(len + 1);

  HOLDS(text != NULL);
  memcpy(text, in->at, len);
  text[len] = '\0';
  in->at += len;
  in->left -= len;
  return text;
}

char *fuzz_line(struct fuzz_input *in)
{
  const uint8_t *end = in->left > 0 ? memchr(in->at, '\n', in->left) : NULL;
  char *text = text_of(in, end != NULL ? (size_t)(end - in->at) : in->left);

  if (end != NULL) {
    in->at++;
    in->left--;
  }
  return text;
}

char *fuzz_rest(struct fuzz_input *in)
{
  return text_of(in, in->left);
}

unsigned fuzz_number(struct fuzz_input *in, unsigned bound)
{
  char *line = fuzz_line(in);
  unsigned long number = strtoul(line, NULL, 10);

  free(line);
  return (unsigned)(number % bound);
}

int fuzz_file(const void *bytes, size_t size)
{
  int fd = memfd_create("fuzz", MFD_CLOEXEC);

  HOLDS(fd >= 0 && write(fd, bytes, size) == (ssize_t)size &&
        lseek(fd, 0, SEEK_SET) == 0);
  return fd;
}

static char dir[128];
static pid_t owner;

static void remove_dir(void)
{
  if (getpid() == owner)
    (void)!dx_fs_remove_tree(AT_FDCWD, dir, NULL);
}

const char *fuzz_dir(void)
{
  const char *temp = getenv("TMPDIR");

  if (owner == 0) {
    (void)snprintf(dir, sizeof(dir), "%s/dx-fuzz-XXXXXX",
                   temp != NULL ? temp : "/tmp");
    HOLDS(mkdtemp(dir) != NULL && atexit(remove_dir) == 0);
    owner = getpid();
  }
  return dir;
}

int fuzz_dirfd(void)
{
  static int fd = -1;

  if (fd < 0)
    fd = open(fuzz_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  HOLDS(fd >= 0);
  return fd;
}

void fuzz_put(const char *name, const void *bytes, size_t size)
{
  int fd = openat(fuzz_dirfd(), name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0600);

  HOLDS(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}

char *fuzz_path(const char *name)
{
  size_t size = strlen(fuzz_dir()) + strlen(name) + 2;
  char *path = malloc(size);

  HOLDS(path != NULL);
  (void)snprintf(path, size, "%s/%s", fuzz_dir(), name);
  return path;
}
