/*
 * fs.h - file operations, with the safety rules of this project.
 *
 * Everything but the paths of the configuration is opened relative to a
 * directory's descriptor with O_CLOEXEC and O_NOFOLLOW: filters of other
 * printers may run as the same user (user.h).
 *
 * Crash rule of dx_fs_write(): a reader finds the old content or the new
 * content, never a mix; once dx_fs_sync_name() has returned DX_OK, the new
 * content survives a power failure, as far as the disk honors fsync.
 *
 * Errors: those of dx_fail_sys(), with full paths; E_ARG for a name with a '/'
 * or an empty one. Blocking: waits for the disk; fsync usually 1 to 100 ms.
 */
#ifndef DX_FS_H
#define DX_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/*
 * dx_fail_sys() with the full path of the file or directory, so that the
 * administrator can find it. fd: the directory that `name` is in ("." is the
 * directory itself), or an open file in that directory. If the path cannot be
 * found, the message has only `name`; a pipe has no directory.
 */
enum dx_code dx_fs_fail(struct dx_err *err, int sys_errno, const char *step,
                        int fd, const char *name);

/* Opens a directory; -1 with *err filled. With AT_FDCWD, `name` is a path of
 * the configuration, which may be a link, such as to another disk. */
int dx_fs_open_dir(int dirfd, const char *name, struct dx_err *err);

/* Creates directory `name` with exactly `mode`, durably, unless it exists. */
enum dx_code dx_fs_make_dir(int dirfd, const char *name, mode_t mode,
                            struct dx_err *err) DX_MUST_USE;

/* Writes all bytes, and handles short writes and EINTR. */
enum dx_code dx_fs_write_all(int fd, const void *bytes, size_t len,
                             const char *subject,
                             struct dx_err *err) DX_MUST_USE;

/* Fsyncs a directory with the new name `name`: E_UNSYNCED if that fails. It is
 * not an error if the file system does not support it. */
enum dx_code dx_fs_sync_name(int dirfd, const char *name,
                             struct dx_err *err) DX_MUST_USE;

/*
 * A file that is being written, and will replace dirfd/name as a whole. It has
 * a hidden temporary name (".NAME.RANDOM") in the same directory. Begin, write
 * to fd, then publish (fchmod, fsync, rename) or discard; both end it.
 * dx_temp_discard() may be called after both, and accepts one that was never
 * begun: `struct dx_temp t = DX_TEMP_NONE;`. dirfd is borrowed until the end.
 *
 * Once published, all processes see the new content, but until the caller
 * fsyncs the directory (dx_fs_sync_name()) a power failure leaves the old or
 * the new. After an error, the old file still exists, and no temporary one is
 * left.
 */
enum dx_publish {
  DX_PUBLISH_OVER,    /* replaces an existing file */
  DX_PUBLISH_NEW,     /* replaces nothing: E_EXISTS if the name exists */
  DX_PUBLISH_UNSYNCED /* replaces, without fsync: it may be lost, or empty */
};
#define DX_TEMP_NAME_BYTES 256
struct dx_temp {
  int dirfd;
  int fd; /* -1: not begun, or ended */
  char name[DX_TEMP_NAME_BYTES];
  char temp_name[DX_TEMP_NAME_BYTES];
};
#define DX_TEMP_NONE      \
  {                       \
    .dirfd = -1, .fd = -1 \
  }

enum dx_code dx_temp_begin(struct dx_temp *temp, int dirfd, const char *name,
                           struct dx_err *err) DX_MUST_USE;
enum dx_code dx_temp_publish(struct dx_temp *temp, mode_t mode,
                             enum dx_publish how,
                             struct dx_err *err) DX_MUST_USE;
void dx_temp_discard(struct dx_temp *temp);

/*
 * Removes the temporary files that killed writers have left in a directory:
 * those not written to for min_age_ms; 0 is for a caller that holds the lock of
 * the directory. The next sweep retries what fails.
 */
void dx_temp_sweep(int dirfd, int64_t min_age_ms);

/*
 * The names in a directory that `is_one` accepts, in no particular order: each
 * ends with a NUL, and an empty one follows the last, so that
 * dx_next_name() walks them. The caller frees; NULL with *err filled.
 */
char *dx_fs_names(int dirfd, const char *name, bool (*is_one)(const char *name),
                  struct dx_err *err);
#define dx_next_name(name) ((name) + strlen(name) + 1)

/*
 * Renames a directory below dirfd, such as "jobs/x", and fsyncs the new parent.
 * E_UNSYNCED: it has the new name, which may be lost in a power failure. On a
 * file system without a journal, both names may then exist.
 */
enum dx_code dx_fs_rename_dir(int dirfd, const char *from, const char *to,
                              struct dx_err *err) DX_MUST_USE;

/* Fsyncs the parent of path, such as "jobs/x"; E_UNSYNCED if it fails. */
enum dx_code dx_fs_sync_parent(int dirfd, const char *path,
                               struct dx_err *err) DX_MUST_USE;

/* Writes len bytes to dirfd/name with `mode`, completely or not at all, through
 * a struct dx_temp. */
enum dx_code dx_fs_write(int dirfd, const char *name, const void *bytes,
                         size_t len, mode_t mode, enum dx_publish how,
                         struct dx_err *err) DX_MUST_USE;

/*
 * Copies the whole file from_dirfd/from to the new file to_dirfd/to, like
 * dx_fs_write(), and fsyncs the directory; with NULL as `to`, only checks it.
 * E_DAMAGED, and nothing is written, if it is not a regular file with this
 * checksum (64 hex digits).
 */
enum dx_code dx_fs_copy(int from_dirfd, const char *from, int to_dirfd,
                        const char *to, mode_t mode, const char *sha256,
                        struct dx_err *err) DX_MUST_USE;

/* Reads a whole regular file of at most `limit` bytes; E_DAMAGED if longer.
 * Appends to ret_content, which the caller releases. If dirfd is AT_FDCWD,
 * `name` is a path that the administrator specified: its last part may be a
 * link. */
enum dx_code dx_fs_read(int dirfd, const char *name, size_t limit,
                        struct dx_buf *ret_content,
                        struct dx_err *err) DX_MUST_USE;

/* The same for an open file, from its offset; `name` is for messages. */
enum dx_code dx_fs_read_fd(int fd, const char *name, size_t limit,
                           struct dx_buf *ret_content,
                           struct dx_err *err) DX_MUST_USE;

/* Opens a regular file to read it, as dx_fs_read() does; -1 with *ret_code and
 * *err filled. */
int dx_fs_open_file(int dirfd, const char *name, enum dx_code *ret_code,
                    struct dx_err *err);

/*
 * Distinguishes an open file from each copy of it: the number of its inode, and
 * the time of its birth if the file system has it. Both survive rename(), fsck,
 * and a restart; the number of the device does not. "": not known. A copy of
 * the whole file system, and another hard link, have the same.
 */
#define DX_FILE_ID_BYTES 64
void dx_fs_file_id(int fd, char id[DX_FILE_ID_BYTES]);
/* True if the open file is certainly not the one that had this id. */
bool dx_fs_is_copy(int fd, const char *id);

/* Maps a whole file for reading, and keeps its offset; NULL if it is empty or
 * cannot be mapped. The caller unmaps it. */
void *dx_fs_map(int fd, size_t *ret_len);

/* Removes a file; it is not an error if it does not exist. */
enum dx_code dx_fs_remove(int dirfd, const char *name,
                          struct dx_err *err) DX_MUST_USE;

/* Removes a directory with everything in it; never follows a link. */
enum dx_code dx_fs_remove_tree(int dirfd, const char *name,
                               struct dx_err *err) DX_MUST_USE;

/*
 * Checks that the directory can be used now: creates a hidden file, writes 64
 * KiB and removes it, and checks that DX_PROBE_FREE_BYTES are free
 * (doc/policy.md, "Print jobs"). A local file system reserves space during
 * write(); a network file system may report errors only during fsync().
 */
enum dx_code dx_fs_probe(const char *path, struct dx_err *err) DX_MUST_USE;

/* E_SPACE unless DX_PROBE_FREE_BYTES are free in the file system of dirfd. */
enum dx_code dx_fs_check_free(int dirfd, struct dx_err *err) DX_MUST_USE;

/* If the file system of the directory is not safe for durable data (NFS, SMB,
 * AFS, or another network file system, tmpfs, FUSE): its type, to complete the
 * sentence "it is on ..."; else NULL. Static memory. */
const char *dx_fs_unfit(const char *path);

#endif
