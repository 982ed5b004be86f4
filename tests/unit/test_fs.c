/*
 * test_fs.c - files and directories: old or new and nothing in between, planted
 * links, limits.
 */
#include "tests/unit/temp_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/digest.h"
#include "lib/base/fs.h"

static char dir[TEMP_DIR_BYTES];
static int fd = -1;
static struct dx_err err;

static int dir_errno; /* what fsync of a directory fails with; 0: nothing */

/* In the place of the C library's. */
int fsync(int which)
{
  struct stat st;

  if (dir_errno != 0 && fstat(which, &st) == 0 && S_ISDIR(st.st_mode)) {
    errno = dir_errno;
    return -1;
  }
  return (int)syscall(SYS_fsync, which);
}

static int start(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0)
    return -1;
  fd = dx_fs_open_dir(AT_FDCWD, dir, &err);
  return fd < 0 ? -1 : 0;
}

static int stop(void **state)
{
  (void)state;
  (void)close(fd);
  return temp_dir_remove(dir);
}

static size_t entries(const char *name)
{
  return count_entries(fd, name);
}

static void put(const char *name, const char *text)
{
  assert_int_equal(dx_fs_write(fd, name, text, strlen(text), 0600, false, &err),
                   DX_OK);
}

static void assert_content(const char *name, const char *want)
{
  struct dx_buf text = {0};

  assert_int_equal(dx_fs_read(fd, name, 1000, &text, &err), DX_OK);
  assert_string_equal(dx_buf_text(&text), want);
  dx_buf_release(&text);
}

static void make_dir(const char *name)
{
  assert_int_equal(mkdirat(fd, name, 0700), 0);
}

/* ---- replacing ---- */

static void file_is_replaced_whole_with_the_mode_asked_for(void **state)
{
  mode_t before = umask(077);
  struct stat st;

  (void)state;
  put("a", "a long old content");
  assert_int_equal(dx_fs_write(fd, "a", "new", 3, 0640, false, &err), DX_OK);
  (void)umask(before);
  assert_content("a", "new");
  assert_int_equal(fstatat(fd, "a", &st, 0), 0);
  assert_int_equal(st.st_mode & 07777, 0640);
  assert_int_equal(entries("."), 1);
}

/* Some file systems do not support it. */
static int simple_errno; /* not 0: a simple file system */

int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to,
                     unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to,
                     unsigned flags);

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to,
                     unsigned flags)
{
  if (simple_errno == 0)
    return __real_renameat2(from_fd, from, to_fd, to, flags);
  errno = simple_errno;
  return -1;
}

static bool is_broken; /* the disk; all files have offsets of 64 bits */

struct dirent *__real_readdir64(DIR *stream);
struct dirent *__wrap_readdir64(DIR *stream);

struct dirent *__wrap_readdir64(DIR *stream)
{
  if (!is_broken)
    return __real_readdir64(stream);
  errno = EIO;
  return NULL;
}

static bool is_any(const char *name)
{
  (void)name;
  return true;
}

static void incomplete_list_of_names_is_an_error(void **state)
{
  char *names = dx_fs_names(fd, ".", is_any, &err);

  (void)state;
  assert_non_null(names);
  free(names);
  is_broken = true;
  names = dx_fs_names(fd, ".", is_any, &err);
  is_broken = false;
  assert_null(names);
  assert_int_equal(err.code, DX_E_IO);
}

static void assert_nothing_is_replaced(void)
{
  char sum[DX_SHA256_HEX_BYTES];

  put("file", "old");
  make_dir("dir");
  assert_int_equal(symlinkat("nowhere", fd, "link"), 0);
  assert_int_equal(dx_fs_write(fd, "file", "new", 3, 0600, true, &err),
                   DX_E_EXISTS);
  assert_int_equal(dx_fs_write(fd, "dir", "new", 3, 0600, true, &err),
                   DX_E_EXISTS);
  assert_int_equal(dx_fs_write(fd, "link", "new", 3, 0600, true, &err),
                   DX_E_EXISTS);
  dx_sha256_of("old", 3, sum);
  assert_int_equal(dx_fs_copy(fd, "file", fd, "link", 0600, sum, &err),
                   DX_E_EXISTS);
  assert_content("file", "old");
  assert_int_equal(entries("."), 3);
  assert_int_equal(dx_fs_write(fd, "new", "new", 3, 0600, true, &err), DX_OK);
  assert_content("new", "new");
}

static void new_file_never_replaces_an_existing_one(void **state)
{
  (void)state;
  assert_nothing_is_replaced();
}

static void new_file_never_replaces_one_on_simple_file_systems(void **state)
{
  (void)state;
  simple_errno = EINVAL;
  assert_nothing_is_replaced();
  simple_errno = 0;
}

static void new_file_never_replaces_one_on_simple_kernels(void **state)
{
  (void)state;
  simple_errno = ENOSYS;
  assert_nothing_is_replaced();
  simple_errno = 0;
}

static enum dx_code check_sum(const char *name, const char *sum)
{
  return dx_fs_copy(fd, name, -1, NULL, 0, sum, &err);
}

static void checksum_requires_a_regular_file(void **state)
{
  char sum[DX_SHA256_HEX_BYTES];

  (void)state;
  put("file", "old");
  dx_sha256_of("old", 3, sum);
  assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
  assert_int_equal(symlinkat("file", fd, "link"), 0);
  assert_int_equal(check_sum("file", sum), DX_OK);
  assert_int_equal(check_sum("fifo", sum), DX_E_DAMAGED);
  assert_int_not_equal(check_sum("link", sum), DX_OK);
  assert_int_equal(check_sum("none", sum), DX_E_NOT_FOUND);
  put("file", "new");
  assert_int_equal(check_sum("file", sum), DX_E_DAMAGED);
}

static void
a_file_appears_with_its_commit_and_never_after_a_discard(void **state)
{
  struct dx_temp temp = DX_TEMP_NONE;

  (void)state;
  put("a", "old");
  assert_int_equal(dx_temp_begin(&temp, fd, "a", &err), DX_OK);
  assert_int_equal(dx_fs_write_all(temp.fd, "half", 4, "a", &err), DX_OK);
  assert_content("a", "old");
  assert_int_equal(temp.temp_name[0], '.'); /* consumers skip hidden names */
  dx_temp_discard(&temp);
  dx_temp_discard(&temp); /* again: does nothing */
  assert_content("a", "old");
  assert_int_equal(entries("."), 1);
}

static void sweep_removes_files_of_killed_writers(void **state)
{
  struct dx_temp temp = DX_TEMP_NONE;

  (void)state;
  put("a", "old");
  put(".hidden", "somebody's");
  put(".a.0123456789abcdeg", "somebody's");
  put("b.0123456789abcdef", "somebody's");
  put(".0123456789abcdef", "somebody's");
  put(".dir0123456789abcdef", "somebody's");
  make_dir(".c.0123456789abcdef");
  assert_int_equal(dx_temp_begin(&temp, fd, "a", &err), DX_OK);
  dx_temp_sweep(fd, 60000); /* its writer may be running */
  assert_int_equal(entries("."), 8);
  dx_temp_sweep(fd, 0);
  assert_int_equal(entries("."), 7);
  assert_int_equal(faccessat(fd, temp.temp_name, F_OK, 0), -1);
  dx_temp_discard(&temp);
}

/* A limit on the file size simulates a full disk. */
static void failed_write_leaves_only_the_old_file(void **state)
{
  static char big[8192];
  struct rlimit before, small;

  (void)state;
  put("a", "old");
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 4096;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_int_not_equal(
      dx_fs_write(fd, "a", big, sizeof(big), 0600, false, &err), DX_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_non_null(strstr(err.text, dir));
  assert_content("a", "old");
  assert_int_equal(entries("."), 1);
}

static void failed_rename_leaves_no_temporary_file(void **state)
{
  (void)state;
  make_dir("a");
  assert_int_not_equal(dx_fs_write(fd, "a", "new", 3, 0600, false, &err),
                       DX_OK);
  assert_int_equal(entries("."), 1);
  assert_int_equal(entries("a"), 0);
}

static void only_names_without_a_slash_are_accepted(void **state)
{
  static char longest[230], longer[231];
  const char *const bad[] = {"", ".", "..", "a/b", "/a", "a/", "../a", longer};
  size_t i;

  (void)state;
  memset(longest, 'x', 229);
  memset(longer, 'x', 230);
  make_dir("a");
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_int_equal(dx_fs_write(fd, bad[i], "x", 1, 0600, false, &err),
                     DX_E_ARG);
  assert_int_equal(entries("a"), 0);
  put(longest, "x");
  assert_int_equal(entries("."), 2);
}

static void planted_link_is_replaced_and_not_followed(void **state)
{
  struct stat st;

  (void)state;
  put("target", "precious");
  assert_int_equal(symlinkat("target", fd, "a"), 0);
  put("a", "new");
  assert_content("target", "precious");
  assert_int_equal(fstatat(fd, "a", &st, AT_SYMLINK_NOFOLLOW), 0);
  assert_true(S_ISREG(st.st_mode));
}

/* ---- copying ---- */

static void copy_with_another_checksum_is_not_committed(void **state)
{
  char sum[DX_SHA256_HEX_BYTES];

  (void)state;
  put("a", "some bytes");
  dx_sha256_of("other bytes", 11, sum);
  assert_int_equal(dx_fs_copy(fd, "a", fd, "b", 0640, sum, &err), DX_E_DAMAGED);
  assert_int_equal(entries("."), 1);
  dx_sha256_of("some bytes", 10, sum);
  assert_int_equal(dx_fs_copy(fd, "a", fd, "b", 0640, sum, &err), DX_OK);
  assert_content("b", "some bytes");
  assert_int_equal(dx_fs_copy(fd, "none", fd, "d", 0640, sum, &err),
                   DX_E_NOT_FOUND);
  assert_int_equal(symlinkat("a", fd, "l"), 0);
  assert_int_not_equal(dx_fs_copy(fd, "l", fd, "d", 0640, sum, &err), DX_OK);
  assert_int_equal(entries("."), 3);
}

/* ---- reading ---- */

static void reading_stops_at_the_limit(void **state)
{
  struct dx_buf text = {0};

  (void)state;
  put("a", "12345");
  assert_int_equal(dx_fs_read(fd, "a", 5, &text, &err), DX_OK);
  assert_int_equal(text.len, 5);
  dx_buf_release(&text);
  assert_int_equal(dx_fs_read(fd, "a", 4, &text, &err), DX_E_DAMAGED);
  dx_buf_release(&text);
  put("empty", "");
  assert_int_equal(dx_fs_read(fd, "empty", 0, &text, &err), DX_OK);
  assert_int_equal(text.len, 0);
  dx_buf_release(&text);
  assert_int_equal(dx_fs_read(fd, "none", 5, &text, &err), DX_E_NOT_FOUND);
  dx_buf_release(&text);
}

static void only_regular_files_are_read(void **state)
{
  struct dx_buf text = {0};
  char path[64];

  (void)state;
  put("a", "x");
  make_dir("directory");
  assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
  assert_int_equal(symlinkat("a", fd, "link"), 0);
  assert_int_equal(dx_fs_read(fd, "directory", 9, &text, &err), DX_E_DAMAGED);
  assert_int_equal(dx_fs_read(fd, "fifo", 9, &text, &err), DX_E_DAMAGED);
  assert_int_not_equal(dx_fs_read(fd, "link", 9, &text, &err), DX_OK);
  assert_int_equal(text.len, 0);
  (void)snprintf(path, sizeof(path), "%s/link", dir);
  assert_int_equal(dx_fs_read(AT_FDCWD, path, 9, &text, &err), DX_OK);
  assert_string_equal(dx_buf_text(&text), "x");
  dx_buf_release(&text);
  (void)snprintf(path, sizeof(path), "%s/fifo", dir);
  assert_int_equal(dx_fs_read(AT_FDCWD, path, 9, &text, &err), DX_E_DAMAGED);
  dx_buf_release(&text);
}

/* ---- directories ---- */

static void directory_gets_its_mode_once(void **state)
{
  mode_t before = umask(077);
  struct stat st;

  (void)state;
  assert_int_equal(dx_fs_make_dir(fd, "d", 02770, &err), DX_OK);
  (void)umask(before);
  assert_int_equal(fstatat(fd, "d", &st, 0), 0);
  assert_int_equal(st.st_mode & 07777, 02770);
  assert_int_equal(fchmodat(fd, "d", 0755, 0), 0);
  assert_int_equal(dx_fs_make_dir(fd, "d", 02770, &err), DX_OK);
  assert_int_equal(fstatat(fd, "d", &st, 0), 0);
  assert_int_equal(st.st_mode & 07777, 0755); /* the administrator's choice */
  assert_int_equal(dx_fs_make_dir(fd, "no/d", 0700, &err), DX_E_NOT_FOUND);
}

static void
only_an_administrator_may_replace_a_directory_by_a_link(void **state)
{
  char path[64];
  int opened;

  (void)state;
  make_dir("d");
  assert_int_equal(symlinkat("d", fd, "l"), 0);
  assert_int_equal(dx_fs_open_dir(fd, "l", &err), -1);
  (void)snprintf(path, sizeof(path), "%s/l", dir);
  opened = dx_fs_open_dir(AT_FDCWD, path, &err);
  assert_true(opened >= 0);
  (void)close(opened);
  put("f", "x");
  assert_int_equal(dx_fs_open_dir(fd, "f", &err), -1);
}

static void removing_a_tree_does_not_leave_it_through_links(void **state)
{
  (void)state;
  make_dir("outside");
  make_dir("tree");
  make_dir("tree/sub");
  put("precious", "x");
  assert_int_equal(symlinkat("../precious", fd, "outside/keep"), 0);
  assert_int_equal(symlinkat("../outside", fd, "tree/link"), 0);
  assert_int_equal(symlinkat("../../precious", fd, "tree/sub/file"), 0);
  assert_int_equal(symlinkat("nowhere", fd, "tree/sub/.dangling"), 0);
  assert_int_equal(dx_fs_remove_tree(fd, "tree", &err), DX_OK);
  assert_int_equal(entries("."), 2);
  assert_int_equal(entries("outside"), 1);
  assert_content("precious", "x");
  assert_int_equal(symlinkat("outside", fd, "tree"), 0);
  assert_int_not_equal(dx_fs_remove_tree(fd, "tree", &err), DX_OK);
  assert_int_equal(entries("outside"), 1);
  assert_int_equal(dx_fs_remove_tree(fd, "none", &err), DX_OK);
}

static void removing_a_missing_file_is_not_an_error(void **state)
{
  (void)state;
  put("target", "x");
  assert_int_equal(symlinkat("target", fd, "l"), 0);
  assert_int_equal(dx_fs_remove(fd, "l", &err), DX_OK);
  assert_content("target", "x");
  assert_int_equal(dx_fs_remove(fd, "target", &err), DX_OK);
  assert_int_equal(dx_fs_remove(fd, "target", &err), DX_OK);
  make_dir("d");
  assert_int_not_equal(dx_fs_remove(fd, "d", &err), DX_OK);
}

static void probe_reports_whether_a_directory_is_writable(void **state)
{
  struct rlimit before, small;
  char path[64];

  (void)state;
  assert_int_equal(dx_fs_probe(dir, &err), DX_OK);
  assert_int_equal(entries("."), 0);
  (void)snprintf(path, sizeof(path), "%s/none", dir);
  assert_int_equal(dx_fs_probe(path, &err), DX_E_NOT_FOUND);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 65535; /* one byte less than is tried */
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_int_not_equal(dx_fs_probe(dir, &err), DX_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_non_null(strstr(err.text, dir));
  assert_int_equal(entries("."), 0);
}

/* So that the administrator knows where to free space. */
static void message_names_the_whole_path(void **state)
{
  char path[300];
  int pair[2];

  (void)state;
  put("d", "x");
  (void)dx_fs_fail(&err, ENOSPC, "write", fd, "a");
  (void)snprintf(path, sizeof(path),
                 "cannot write '%s/a': No space left on device", dir);
  assert_string_equal(err.text, path);
  assert_int_equal(err.code, DX_E_SPACE);
  assert_int_equal(dx_fs_make_dir(fd, "d/e", 0700, &err), DX_E_IO);
  assert_non_null(strstr(err.text, dir));
  assert_int_equal(dx_fs_probe("/none", &err), DX_E_NOT_FOUND);
  assert_non_null(strstr(err.text, "'/none'"));
  assert_int_equal(pipe(pair), 0);
  (void)dx_fs_fail(&err, ENOSPC, "write", pair[1], "a pipe");
  assert_non_null(strstr(err.text, "'a pipe'"));
  assert_int_equal(close(pair[0]) + close(pair[1]), 0);
  (void)dx_fs_fail(&err, ENOSPC, "write", -1, "a");
  assert_non_null(strstr(err.text, "'a'"));
}

static void file_system_without_fsync_for_directories_is_used(void **state)
{
  static const int codes[] = {EINVAL, EOPNOTSUPP};
  char from[16], to[16];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
    (void)snprintf(from, sizeof(from), "from%zu", i);
    (void)snprintf(to, sizeof(to), "to%zu", i);
    dir_errno = codes[i];
    put("file", "text");
    assert_int_equal(dx_fs_make_dir(fd, from, 0700, &err), DX_OK);
    assert_int_equal(dx_fs_rename_dir(fd, from, to, &err), DX_OK);
    dir_errno = 0;
  }
}

static void unsynced_directory_has_its_own_code(void **state)
{
  (void)state;
  assert_int_equal(dx_fs_make_dir(fd, "from", 0700, &err), DX_OK);
  dir_errno = EIO;
  assert_int_equal(dx_fs_write(fd, "file", "x", 1, 0600, false, &err), DX_OK);
  assert_int_equal(dx_fs_sync_name(fd, "file", &err), DX_E_UNSYNCED);
  assert_int_equal(dx_fs_rename_dir(fd, "from", "to", &err), DX_E_UNSYNCED);
  dir_errno = 0;
  assert_int_equal(faccessat(fd, "file", F_OK, 0), 0);
  assert_int_equal(faccessat(fd, "to", F_OK, 0), 0);
}

static void mapped_file_keeps_its_offset(void **state)
{
  int file, ends[2];
  void *map;
  size_t len;

  (void)state;
  put("file", "text");
  file = openat(fd, "file", O_RDONLY | O_CLOEXEC);
  assert_int_equal(lseek(file, 1, SEEK_SET), 1);
  map = dx_fs_map(file, &len);
  assert_int_equal(len, 4);
  assert_memory_equal(map, "text", 4);
  assert_int_equal(lseek(file, 0, SEEK_CUR), 1);
  assert_int_equal(munmap(map, len), 0);
  assert_int_equal(close(file), 0);
  put("empty", "");
  file = openat(fd, "empty", O_RDONLY | O_CLOEXEC);
  assert_null(dx_fs_map(file, &len));
  assert_int_equal(len, 0);
  assert_int_equal(close(file), 0);
  assert_int_equal(pipe(ends), 0);
  assert_null(dx_fs_map(ends[0], &len));
  (void)close(ends[0]);
  (void)close(ends[1]);
}

static void file_is_distinguished_from_its_copies(void **state)
{
  char id[DX_FILE_ID_BYTES], text[DX_FILE_ID_BYTES + 8];
  enum dx_code code;
  int file;

  (void)state;
  put("a", "same");
  put("b", "same");
  file = dx_fs_open_file(fd, "a", &code, &err);
  assert_true(file >= 0);
  dx_fs_file_id(file, id);
  assert_string_not_equal(id, "");
  assert_int_equal(renameat(fd, "a", fd, "c"), 0);
  assert_false(dx_fs_is_copy(file, id));
  assert_false(dx_fs_is_copy(file, "")); /* not known */
  (void)snprintf(text, sizeof(text), "%s0", id);
  assert_true(dx_fs_is_copy(file, text));
  (void)snprintf(text, sizeof(text), "1%s", id);
  assert_true(dx_fs_is_copy(file, text));
  if (strchr(id, '.') != NULL) { /* the kernel did not have the time then */
    (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(id, "."), id);
    assert_false(dx_fs_is_copy(file, text));
    text[strlen(text) - 1] = '\0'; /* the beginning of the number */
    assert_true(dx_fs_is_copy(file, text));
  }
  (void)close(file);
  file = dx_fs_open_file(fd, "b", &code, &err);
  assert_true(dx_fs_is_copy(file, id));
  (void)close(file);
}

int main(void)
{
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      IN_DIRECTORY(file_system_without_fsync_for_directories_is_used),
      IN_DIRECTORY(incomplete_list_of_names_is_an_error),
      IN_DIRECTORY(file_is_distinguished_from_its_copies),
      IN_DIRECTORY(message_names_the_whole_path),
      IN_DIRECTORY(unsynced_directory_has_its_own_code),
      IN_DIRECTORY(file_is_replaced_whole_with_the_mode_asked_for),
      IN_DIRECTORY(new_file_never_replaces_an_existing_one),
      IN_DIRECTORY(new_file_never_replaces_one_on_simple_file_systems),
      IN_DIRECTORY(new_file_never_replaces_one_on_simple_kernels),
      IN_DIRECTORY(checksum_requires_a_regular_file),
      IN_DIRECTORY(a_file_appears_with_its_commit_and_never_after_a_discard),
      IN_DIRECTORY(failed_write_leaves_only_the_old_file),
      IN_DIRECTORY(failed_rename_leaves_no_temporary_file),
      IN_DIRECTORY(sweep_removes_files_of_killed_writers),
      IN_DIRECTORY(only_names_without_a_slash_are_accepted),
      IN_DIRECTORY(planted_link_is_replaced_and_not_followed),
      IN_DIRECTORY(copy_with_another_checksum_is_not_committed),
      IN_DIRECTORY(reading_stops_at_the_limit),
      IN_DIRECTORY(only_regular_files_are_read),
      IN_DIRECTORY(mapped_file_keeps_its_offset),
      IN_DIRECTORY(directory_gets_its_mode_once),
      IN_DIRECTORY(only_an_administrator_may_replace_a_directory_by_a_link),
      IN_DIRECTORY(removing_a_tree_does_not_leave_it_through_links),
      IN_DIRECTORY(removing_a_missing_file_is_not_an_error),
      IN_DIRECTORY(probe_reports_whether_a_directory_is_writable),
  };

  (void)signal(SIGXFSZ, SIG_IGN); /* only the write must fail */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
