/*
 * file.c - small errands on files and folders.
 */
#include "sim/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void complain(const char *step, const char *path)
{
  (void)fprintf(stderr, "docextract-sim: cannot %s '%s': %s\n", step, path,
                strerror(errno));
}

char *sim_file_read(const char *path, size_t max, size_t *ret_len)
{
  FILE *file = fopen(path, "re");
  char *data = NULL;
  size_t n;

  if (file == NULL) {
    complain("open", path);
    return NULL;
  }
  data = malloc(max + 2);
  if (data == NULL)
    goto fail;
  n = fread(data, 1, max + 1, file);
  if (n > max)
    errno = EFBIG;
  if (n > max || ferror(file))
    goto fail;
  (void)fclose(file);
  data[n] = '\0';
  *ret_len = n;
  return data;

fail:
  complain("read", path);
  (void)fclose(file);
  free(data);
  return NULL;
}

bool sim_write_all(int fd, const char *data, size_t len)
{
  while (len > 0) {
    ssize_t n = write(fd, data, len);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    data += n;
    len -= (size_t)n;
  }
  return true;
}

bool sim_file_replace(const char *path, const char *text)
{
  const char *step = "create";
  char *tmp = NULL;
  int fd = -1;

  if (asprintf(&tmp, "%s.XXXXXX", path) < 0)
    return false;
  fd = mkostemp(tmp, O_CLOEXEC);
  if (fd < 0)
    goto out;
  step = "write";
  if (!sim_write_all(fd, text, strlen(text)))
    goto out;
  step = "rename";
  if (rename(tmp, path) == 0)
    step = NULL;

out:
  if (step != NULL) {
    complain(step, path);
    if (fd >= 0)
      (void)unlink(tmp);
  }
  if (fd >= 0)
    (void)close(fd);
  free(tmp);
  return step == NULL;
}

static char *temporary_dir(void)
{
  const char *top = getenv("TMPDIR");
  char *path = NULL;

  if (top == NULL || *top != '/')
    top = "/tmp";
  if (asprintf(&path, "%s/docextract-sim.XXXXXX", top) < 0)
    return NULL;
  if (mkdtemp(path) == NULL) {
    complain("make folder", path);
    free(path);
    return NULL;
  }
  return path;
}

char *sim_dir_open(const char *dir)
{
  char *path;

  if (dir == NULL)
    return temporary_dir();
  if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
    complain("make folder", dir);
    return NULL;
  }
  path = realpath(dir, NULL);
  if (path == NULL || access(path, W_OK | X_OK) != 0) {
    complain("use folder", dir);
    free(path);
    return NULL;
  }
  return path;
}

void sim_dir_remove(const char *dir)
{
  DIR *d = opendir(dir);
  struct dirent *e;

  if (d == NULL)
    return;
  while ((e = readdir(d)) != NULL)
    if (e->d_type != DT_DIR)
      (void)unlinkat(dirfd(d), e->d_name, 0);
  (void)closedir(d);
  (void)rmdir(dir);
}
