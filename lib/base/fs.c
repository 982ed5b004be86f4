/*
 * fs.c - files and directories, independent of jobs.
 */
#include "lib/base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"

#define DX_PROBE_BYTES 65536
#define DX_PROBE_FREE_BYTES (64LL * 1024 * 1024)

#define PIECE_BYTES 65536  /* of a file, read at once */
#define TEMP_RANDOM 16     /* hex digits at the end of a temporary name */
#define NAME_MAX_BYTES 230 /* room for ".NAME.RANDOM" */

/* The full path of `name` in directory `fd`, or in the directory that contains
 * file `fd`, for messages. */
static const char *whole_path(int fd, const char *name,
                              char path[DX_ERR_TEXT_BYTES])
{
  char link[32], dir[PATH_MAX];
  struct stat st;
  ssize_t len;

  (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  len = name[0] != '/' ? readlink(link, dir, sizeof(dir) - 1) : -1;
  if (len <= 0 || dir[0] != '/' || fstat(fd, &st) < 0 ||
      (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
    return name;
  dir[len] = '\0';
  if (S_ISREG(st.st_mode))
    *strrchr(dir, '/') = '\0';
  (void)snprintf(path, DX_ERR_TEXT_BYTES,
                 strcmp(name, ".") == 0 ? "%s" : "%s/%s", dir, name);
  return path;
}

enum dx_code dx_fs_fail(struct dx_err *err, int sys_errno, const char *step,
                        int fd, const char *name)
{
  char path[DX_ERR_TEXT_BYTES];

  return dx_fail_sys(err, sys_errno, step,
                     err != NULL ? whole_path(fd, name, path) : name);
}

int dx_fs_open_dir(int dirfd, const char *name, struct dx_err *err)
{
  int fd = openat(dirfd, name,
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                      (dirfd != AT_FDCWD ? O_NOFOLLOW : 0));

  if (fd < 0)
    (void)dx_fs_fail(err, errno, "open directory", dirfd, name);
  return fd;
}

enum dx_code dx_fs_make_dir(int dirfd, const char *name, mode_t mode,
                            struct dx_err *err)
{
  enum dx_code code = DX_OK;
  int fd, made, e;
  mode_t before;

  /* cupsd sets the umask to 077. The mode of an existing directory is not
   * corrected later, so mkdir() sets all of it but the setgid bit, which it
   * cannot set. */
  before = umask(0);
  made = mkdirat(dirfd, name, mode & 0777);
  e = errno;
  (void)umask(before);
  if (made < 0)
    return e == EEXIST ? DX_OK
                       : dx_fs_fail(err, e, "create directory", dirfd, name);
  fd = dx_fs_open_dir(dirfd, name, err);
  if (fd < 0)
    return err != NULL ? err->code : DX_E_IO;
  if (fchmod(fd, mode) < 0)
    code = dx_fs_fail(err, errno, "set the mode of", dirfd, name);
  else if (dx_fs_sync_parent(dirfd, name, NULL) != DX_OK &&
           syncfs(fd) < 0) /* its parent is unreadable */
    code = dx_fs_fail(err, errno, "fsync the directory of", dirfd, name);
  (void)close(fd);
  return code;
}

enum dx_code dx_fs_write_all(int fd, const void *bytes, size_t len,
                             const char *subject, struct dx_err *err)
{
  const char *p = bytes;

  while (len > 0) {
    ssize_t n = write(fd, p, len);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return dx_fs_fail(err, errno, "write", fd, subject);
    p += n;
    len -= (size_t)n;
  }
  return DX_OK;
}

enum dx_code dx_temp_begin(struct dx_temp *temp, int dirfd, const char *name,
                           struct dx_err *err)
{
  char random[TEMP_RANDOM + 1];

  if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
      strcmp(name, "..") == 0 || strlen(name) >= NAME_MAX_BYTES)
    return dx_fail(err, DX_E_ARG, 0, "not a file name");
  dx_random_hex(random, TEMP_RANDOM);
  temp->dirfd = dirfd;
  (void)snprintf(temp->name, sizeof(temp->name), "%s", name);
  (void)snprintf(temp->temp_name, sizeof(temp->temp_name), ".%.200s.%s", name,
                 random);
  temp->fd = openat(dirfd, temp->temp_name,
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (temp->fd < 0)
    return dx_fs_fail(err, errno, "create", dirfd, name);
  return DX_OK;
}

static enum dx_code unsynced(struct dx_err *err, int sys_errno,
                             const char *name)
{
  return dx_fail(err, DX_E_UNSYNCED, sys_errno,
                 "cannot fsync the directory of '%s': %s", name,
                 strerror(sys_errno));
}

enum dx_code dx_fs_sync_name(int dirfd, const char *name, struct dx_err *err)
{
  /* Some file systems do not support it for directories. */
  return fsync(dirfd) == 0 || errno == EINVAL || errno == EOPNOTSUPP
             ? DX_OK
             : unsynced(err, errno, name);
}

enum dx_code dx_fs_sync_parent(int dirfd, const char *path, struct dx_err *err)
{
  const char *slash = strrchr(path, '/');
  char parent[DX_TEMP_NAME_BYTES];
  enum dx_code code;
  int fd;

  (void)snprintf(parent, sizeof(parent), "%.*s",
                 slash != NULL ? (int)(slash - path) : 1,
                 slash != NULL ? path : ".");
  fd = dx_fs_open_dir(dirfd, parent, NULL);
  if (fd < 0)
    return unsynced(err, errno, path);
  code = dx_fs_sync_name(fd, path, err);
  (void)close(fd);
  return code;
}

enum dx_code dx_fs_rename_dir(int dirfd, const char *from, const char *to,
                              struct dx_err *err)
{
  if (renameat(dirfd, from, dirfd, to) < 0)
    return dx_fs_fail(err, errno, "rename", dirfd, from);
  return dx_fs_sync_parent(dirfd, to, err);
}

static int rename_temp(const struct dx_temp *temp, enum dx_publish how)
{
  int dirfd = temp->dirfd;

  if (how == DX_PUBLISH_NEW) {
    if (renameat2(dirfd, temp->temp_name, dirfd, temp->name,
                  RENAME_NOREPLACE) == 0)
      return 0;
    /* Some network file systems do not support RENAME_NOREPLACE. */
    if (errno != EINVAL && errno != ENOSYS)
      return -1;
    if (faccessat(dirfd, temp->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
      errno = EEXIST;
      return -1;
    }
  }
  return renameat(dirfd, temp->temp_name, dirfd, temp->name);
}

enum dx_code dx_temp_publish(struct dx_temp *temp, mode_t mode,
                             enum dx_publish how, struct dx_err *err)
{
  bool is_durable = how != DX_PUBLISH_UNSYNCED;
  const char *step = fchmod(temp->fd, mode) < 0          ? "set the mode of"
                     : is_durable && fsync(temp->fd) < 0 ? "fsync"
                     : rename_temp(temp, how) < 0        ? "rename"
                                                         : NULL;
  int e = errno; /* before cleaning up can change it */

  if (step != NULL)
    (void)unlinkat(temp->dirfd, temp->temp_name, 0);
  (void)close(temp->fd);
  temp->fd = -1;
  return step == NULL ? DX_OK
                      : dx_fs_fail(err, e, step, temp->dirfd, temp->name);
}

void dx_temp_discard(struct dx_temp *temp)
{
  if (temp->fd < 0)
    return;
  (void)close(temp->fd);
  (void)unlinkat(temp->dirfd, temp->temp_name, 0);
  temp->fd = -1;
}

char *dx_fs_names(int dirfd, const char *name, bool (*is_one)(const char *name),
                  struct dx_err *err)
{
  int fd = dx_fs_open_dir(dirfd, name, err);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  struct dx_buf names = {0};
  struct dirent *entry;
  char *text = NULL;
  int e;

  if (fd < 0)
    return NULL;
  if (dir == NULL) {
    (void)dx_fs_fail(err, errno, "list directory", dirfd, name);
    (void)close(fd);
    return NULL;
  }
  /* readdir() returns NULL also after an error. */
  for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0)
    if (is_one(entry->d_name))
      dx_buf_add(&names, entry->d_name, strlen(entry->d_name) + 1);
  e = errno;
  (void)closedir(dir);
  if (e != 0)
    (void)dx_fs_fail(err, e, "list directory", dirfd, name);
  else if ((text = dx_buf_take(&names)) == NULL)
    (void)dx_fail_nomem(err);
  dx_buf_release(&names);
  return text;
}

static bool is_temp_name(const char *name)
{
  size_t len = strlen(name);
  const char *random = name + len - TEMP_RANDOM;

  return name[0] == '.' && len > TEMP_RANDOM + 2 && random[-1] == '.' &&
         strspn(random, "0123456789abcdef") == TEMP_RANDOM;
}

void dx_temp_sweep(int dirfd, int64_t min_age_ms)
{
  char *names = dx_fs_names(dirfd, ".", is_temp_name, NULL);
  const char *name;
  struct stat st;

  for (name = names; name != NULL && *name != '\0'; name = dx_next_name(name))
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        dx_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000 >= min_age_ms)
      (void)unlinkat(dirfd, name, 0);
  free(names);
}

enum dx_code dx_fs_write(int dirfd, const char *name, const void *bytes,
                         size_t len, mode_t mode, enum dx_publish how,
                         struct dx_err *err)
{
  struct dx_temp temp = DX_TEMP_NONE;
  enum dx_code code = dx_temp_begin(&temp, dirfd, name, err);

  if (code == DX_OK)
    code = dx_fs_write_all(temp.fd, bytes, len, name, err);
  if (code == DX_OK)
    code = dx_temp_publish(&temp, mode, how, err);
  dx_temp_discard(&temp);
  return code;
}

/* The next piece of a file; 0 at its end; -1 with errno. */
static ssize_t read_piece(int fd, char bytes[PIECE_BYTES])
{
  ssize_t n;

  do
    n = read(fd, bytes, PIECE_BYTES);
  while (n < 0 && errno == EINTR);
  return n;
}

/* Copies all bytes, or only reads them if `to` has no file; their checksum must
 * match. */
static enum dx_code copy_bytes(int from, const char *name,
                               const struct dx_temp *to, const char *sha256,
                               struct dx_err *err)
{
  char piece[PIECE_BYTES], sum[DX_SHA256_HEX_BYTES];
  struct dx_sha256 *sha = dx_sha256_new();
  enum dx_code code = sha != NULL ? DX_OK : dx_fail_nomem(err);
  ssize_t n = 1;

  while (code == DX_OK && n > 0) {
    n = read_piece(from, piece);
    if (n < 0)
      code = dx_fs_fail(err, errno, "read", from, name);
    else if (to->fd >= 0)
      code = dx_fs_write_all(to->fd, piece, (size_t)n, to->name, err);
    if (code == DX_OK)
      dx_sha256_add(sha, piece, (size_t)n);
  }
  if (code == DX_OK) {
    dx_sha256_end(sha, sum);
    if (strcmp(sum, sha256) != 0)
      code = dx_fail(err, DX_E_DAMAGED, 0, "checksum of '%s' is wrong", name);
  }
  dx_sha256_free(&sha);
  return code;
}

int dx_fs_open_file(int dirfd, const char *name, enum dx_code *ret_code,
                    struct dx_err *err)
{
  struct stat st;
  /* O_NONBLOCK: opening a FIFO must not block. */
  int fd = openat(dirfd, name,
                  O_RDONLY | O_CLOEXEC | O_NONBLOCK |
                      (dirfd != AT_FDCWD ? O_NOFOLLOW : 0));

  if (fd < 0) {
    *ret_code = dx_fs_fail(err, errno, "open", dirfd, name);
    return -1;
  }
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
    return fd;
  (void)close(fd);
  *ret_code = dx_fail(err, DX_E_DAMAGED, 0, "'%s' is not a file", name);
  return -1;
}

enum dx_code dx_fs_copy(int from_dirfd, const char *from, int to_dirfd,
                        const char *to, mode_t mode, const char *sha256,
                        struct dx_err *err)
{
  struct dx_temp temp = DX_TEMP_NONE;
  enum dx_code code = DX_OK;
  int fd = dx_fs_open_file(from_dirfd, from, &code, err);

  if (fd < 0)
    return code;
  if (to != NULL)
    code = dx_temp_begin(&temp, to_dirfd, to, err);
  if (code == DX_OK)
    code = copy_bytes(fd, from, &temp, sha256, err);
  if (code == DX_OK && to != NULL)
    code = dx_temp_publish(&temp, mode, DX_PUBLISH_NEW, err);
  if (code == DX_OK && to != NULL)
    code = dx_fs_sync_name(to_dirfd, to, err);
  dx_temp_discard(&temp);
  (void)close(fd);
  return code;
}

enum dx_code dx_fs_read_fd(int fd, const char *name, size_t limit,
                           struct dx_buf *content, struct dx_err *err)
{
  char piece[PIECE_BYTES];
  size_t total = 0;
  ssize_t n;
  int e;

  while ((n = read_piece(fd, piece)) > 0) {
    total += (size_t)n;
    if (total > limit)
      break;
    dx_buf_add(content, piece, (size_t)n);
  }
  e = errno;
  /* Most files are much smaller than a piece. */
  explicit_bzero(piece, total < sizeof(piece) ? total : sizeof(piece));
  if (n < 0)
    return dx_fs_fail(err, e, "read", fd, name);
  if (n > 0)
    return dx_fail(err, DX_E_DAMAGED, 0, "'%s' is larger than %zu bytes", name,
                   limit);
  return dx_buf_ok(content) ? DX_OK : dx_fail_nomem(err);
}

enum dx_code dx_fs_read(int dirfd, const char *name, size_t limit,
                        struct dx_buf *ret_content, struct dx_err *err)
{
  enum dx_code code;
  int fd = dx_fs_open_file(dirfd, name, &code, err);

  if (fd < 0)
    return code;
  code = dx_fs_read_fd(fd, name, limit, ret_content, err);
  (void)close(fd);
  return code;
}

void dx_fs_file_id(int fd, char id[DX_FILE_ID_BYTES])
{
  struct statx st;
  int len;

  id[0] = '\0';
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
    return;
  len = snprintf(id, DX_FILE_ID_BYTES, "%llu", (unsigned long long)st.stx_ino);
  if ((st.stx_mask & STATX_BTIME) != 0)
    (void)snprintf(id + len, DX_FILE_ID_BYTES - (size_t)len, ".%lld.%09u",
                   (long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
}

/* A file system may have no times of birth when the id is made, and have them
 * after an upgrade of the kernel. */
bool dx_fs_is_copy(int fd, const char *id)
{
  char now[DX_FILE_ID_BYTES];
  size_t len = strlen(id);

  dx_fs_file_id(fd, now);
  if (len == 0 || now[0] == '\0')
    return false;
  return strncmp(now, id, len) != 0 || (now[len] != '\0' && now[len] != '.');
}

void *dx_fs_map(int fd, size_t *ret_len)
{
  /* Not fstat(), which may fail in the sandbox (sandbox.c). */
  off_t at = lseek(fd, 0, SEEK_CUR), size = lseek(fd, 0, SEEK_END);
  void *map = MAP_FAILED;

  (void)lseek(fd, at, SEEK_SET);
  if (size > 0)
    map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
  *ret_len = map != MAP_FAILED ? (size_t)size : 0;
  return map != MAP_FAILED ? map : NULL;
}

enum dx_code dx_fs_remove(int dirfd, const char *name, struct dx_err *err)
{
  if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
    return dx_fs_fail(err, errno, "remove", dirfd, name);
  return DX_OK;
}

enum dx_code dx_fs_remove_tree(int dirfd, const char *name, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  struct dirent *entry;
  DIR *dir;
  int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  if (fd < 0)
    return errno == ENOENT
               ? DX_OK
               : dx_fs_fail(err, errno, "open directory", dirfd, name);
  dir = fdopendir(fd);
  if (dir == NULL) {
    code = dx_fs_fail(err, errno, "list directory", dirfd, name);
    (void)close(fd);
    return code;
  }
  while (code == DX_OK && (entry = readdir(dir)) != NULL)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      if (unlinkat(fd, entry->d_name, 0) < 0 && errno != ENOENT)
        code = errno == EISDIR || errno == EPERM
                   ? dx_fs_remove_tree(fd, entry->d_name, err)
                   : dx_fs_fail(err, errno, "remove", fd, entry->d_name);
  (void)closedir(dir);
  if (code == DX_OK && unlinkat(dirfd, name, AT_REMOVEDIR) < 0 &&
      errno != ENOENT)
    code = dx_fs_fail(err, errno, "remove directory", dirfd, name);
  return code;
}

#define NETWORK "a network file system, where locks cannot be relied on"
#define MEMORY "a file system in memory, which is lost when the host restarts"
#define FUSE "a FUSE file system, where locks and fsync cannot be relied on"

const char *dx_fs_unfit(const char *path)
{
  static const struct {
    unsigned long magic;
    const char *what;
  } rows[] = {
      {NFS_SUPER_MAGIC, NETWORK},  {SMB_SUPER_MAGIC, NETWORK},
      {SMB2_SUPER_MAGIC, NETWORK}, {CIFS_SUPER_MAGIC, NETWORK},
      {AFS_SUPER_MAGIC, NETWORK},  {AFS_FS_MAGIC, NETWORK},
      {CODA_SUPER_MAGIC, NETWORK}, {CEPH_SUPER_MAGIC, NETWORK},
      {V9FS_MAGIC, NETWORK},       {TMPFS_MAGIC, MEMORY},
      {RAMFS_MAGIC, MEMORY},       {FUSE_SUPER_MAGIC, FUSE},
  };
  struct statfs fs;
  size_t i;

  if (statfs(path, &fs) == 0)
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
      if ((unsigned long)fs.f_type == rows[i].magic)
        return rows[i].what;
  return NULL;
}

enum dx_code dx_fs_check_free(int dirfd, struct dx_err *err)
{
  char path[DX_ERR_TEXT_BYTES];
  struct statvfs vfs;

  if (fstatvfs(dirfd, &vfs) < 0)
    return dx_fs_fail(err, errno, "stat directory", dirfd, ".");
  if (vfs.f_bavail < (fsblkcnt_t)DX_PROBE_FREE_BYTES / vfs.f_frsize)
    return dx_fail(err, DX_E_SPACE, ENOSPC,
                   "less than %lld MiB are free in directory '%s'",
                   DX_PROBE_FREE_BYTES / 1048576, whole_path(dirfd, ".", path));
  return DX_OK;
}

enum dx_code dx_fs_probe(const char *path, struct dx_err *err)
{
  static const char zeros[DX_PROBE_BYTES];
  const char *unfit = dx_fs_unfit(path);
  struct dx_temp temp = DX_TEMP_NONE;
  enum dx_code code;
  int fd = dx_fs_open_dir(AT_FDCWD, path, err);

  if (fd < 0)
    return err->code;
  code = dx_fs_check_free(fd, err);
  if (code == DX_OK) {
    code = dx_temp_begin(&temp, fd, "probe", err);
    if (code == DX_OK)
      code = dx_fs_write_all(temp.fd, zeros, sizeof(zeros), path, err);
    if (code == DX_OK && unfit != NULL && strcmp(unfit, NETWORK) == 0 &&
        fsync(temp.fd) < 0)
      code = dx_fail_sys(err, errno, "fsync", path);
    dx_temp_discard(&temp);
    if (code != DX_OK)
      code = dx_fail_sys(err, err->sys_errno, "write in directory", path);
  }
  (void)close(fd);
  return code;
}
