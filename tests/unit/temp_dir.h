/*
 * temp_dir.h - a temporary directory for the files of a test.
 */
#ifndef DX_TEMP_DIR_H
#define DX_TEMP_DIR_H

#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "lib/base/fs.h"

#define TEMP_DIR_BYTES 32
#define TEMP_DIR_ROOM_BYTES (256 * 1024 * 1024)

/* For a setup function: 0, or -1. Not in /tmp, which may be in memory: no spool
 * would be opened there. */
static inline int temp_dir_make(char dir[TEMP_DIR_BYTES])
{
  (void)strcpy(dir, "/var/tmp/dx-unit-XXXXXX");
  return mkdtemp(dir) != NULL ? 0 : -1;
}

/* The same, in memory if there is room, and programs may be run there. For a
 * test that creates and removes thousands of files, and does not test the disk:
 * with ext4, that takes ten times as long, because it looks for an inode that
 * was not removed in the last seconds. */
static inline int temp_dir_make_in_memory(char dir[TEMP_DIR_BYTES])
{
  struct statvfs vfs;

  if (statvfs("/dev/shm", &vfs) == 0 && (vfs.f_flag & ST_NOEXEC) == 0 &&
      (uint64_t)vfs.f_bavail * vfs.f_frsize >= TEMP_DIR_ROOM_BYTES) {
    (void)strcpy(dir, "/dev/shm/dx-unit-XXXXXX");
    if (mkdtemp(dir) != NULL)
      return 0;
  }
  return temp_dir_make(dir);
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
