/*
 * temp_dir.h - a temporary directory for the files of a test.
 */
#ifndef DX_TEMP_DIR_H
#define DX_TEMP_DIR_H

#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/fs.h"

#define TEMP_DIR_BYTES 32

/* For a setup function: 0, or -1. Not in /tmp, which may be in memory: no spool
 * would be opened there. */
static inline int temp_dir_make(char dir[TEMP_DIR_BYTES])
{
  (void)strcpy(dir, "/var/tmp/dx-unit-XXXXXX");
  return mkdtemp(dir) != NULL ? 0 : -1;
}

/* For a teardown function. */
static inline int temp_dir_remove(const char *dir)
{
  return dx_fs_remove_tree(AT_FDCWD, dir, NULL) == DX_OK ? 0 : -1;
}

/* How many entries a directory has, hidden ones too. */
static inline size_t count_entries(int dirfd, const char *path)
{
  int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  size_t n = 0;

  assert_non_null(dir);
  while (readdir(dir) != NULL)
    n++;
  (void)closedir(dir);
  return n - 2;
}

#endif
