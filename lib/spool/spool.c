/*
 * spool.c - the directories of the spool and their locks; knows nothing of what
 * a journal contains.
 */
#include "lib/spool/spool_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"

#define LOCK_NAME "lock"
#define CANCEL_NAME "cancel"
#define DAEMON_LOCK_NAME "docextractd.lock"

/* ---- opening ---- */

static enum dx_code make_dirs(int dirfd, struct dx_err *err)
{
  static const char *const names[] = {"jobs", "finished", "incoming", "damaged",
                                      "pace"};
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sizeof(names) / sizeof(names[0]); i++)
    code = dx_fs_make_dir(dirfd, names[i], 0700, err);
  return code;
}

enum dx_code dx_spool_open(const char *path, struct dx_spool *ret_spool,
                           struct dx_err *err)
{
  const char *unfit;
  enum dx_code code;

  ret_spool->rate_dirfd = -1;
  ret_spool->dirfd = dx_fs_open_dir(path, err);
  if (ret_spool->dirfd < 0)
    return err != NULL ? err->code : DX_E_IO;
  unfit = dx_fs_unfit(path);
  if (unfit != NULL)
    code = dx_fail(err, DX_E_CONFIG, 0,
                   "SpoolDir '%s' is on %s; choose a directory on a local disk",
                   path, unfit);
  else
    code = make_dirs(ret_spool->dirfd, err);
  if (code == DX_OK) {
    ret_spool->rate_dirfd = dx_fs_open_dir_at(ret_spool->dirfd, "pace", err);
    if (ret_spool->rate_dirfd < 0)
      code = err != NULL ? err->code : DX_E_IO;
  }
  if (code != DX_OK)
    dx_spool_close(ret_spool);
  return code;
}

void dx_spool_close(struct dx_spool *spool)
{
  if (spool->rate_dirfd >= 0)
    (void)close(spool->rate_dirfd);
  if (spool->dirfd >= 0)
    (void)close(spool->dirfd);
  spool->rate_dirfd = -1;
  spool->dirfd = -1;
}

static bool key_of(const struct dx_buf *text, char key[DX_KEY_BYTES])
{
  char sum[DX_SHA256_HEX_BYTES];
  bool ok = dx_buf_ok(text) && dx_sha256_of(text->data, text->len, sum);

  if (ok)
    (void)snprintf(key, DX_KEY_BYTES, "%.32s", sum);
  return ok;
}

/* With NUL between them, different values never give the same bytes. */
static void add_print_job(struct dx_buf *text, const char *uuid,
                          const char *cups_id, int64_t time_at_creation)
{
  dx_buf_add(text, uuid, strlen(uuid) + 1);
  dx_buf_add(text, cups_id, strlen(cups_id) + 1);
  dx_buf_printf(text, "%" PRId64, time_at_creation);
}

static bool is_in(struct dx_spool *spool, const char *parent, const char *key)
{
  char path[DX_JOB_PATH_BYTES];

  (void)snprintf(path, sizeof(path), "%s/%s", parent, key);
  return faccessat(spool->dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool dx_spool_key(struct dx_spool *spool, const char *service, const char *uuid,
                  const char *cups_id, int64_t time_at_creation,
                  char key[DX_KEY_BYTES])
{
  struct dx_buf text = {0}, old = {0};
  char old_key[DX_KEY_BYTES];
  bool ok;

  add_print_job(&text, uuid, cups_id, time_at_creation);
  dx_buf_add(&old, service, strlen(service) + 1);
  add_print_job(&old, uuid, cups_id, time_at_creation);
  ok = key_of(&text, key) && key_of(&old, old_key);
  if (ok && !is_in(spool, "jobs", key) && !is_in(spool, "finished", key) &&
      (is_in(spool, "jobs", old_key) || is_in(spool, "finished", old_key)))
    memcpy(key, old_key, DX_KEY_BYTES);
  dx_buf_release(&text);
  dx_buf_release(&old);
  return ok;
}

/* ---- locks ---- */

/* Locks without waiting; E_BUSY with the holder, which may have exited. */
static enum dx_code lock_now(int fd, pid_t *ret_holder, struct dx_err *err)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

  if (fcntl(fd, F_SETLK, &lock) == 0)
    return DX_OK;
  if (errno != EACCES && errno != EAGAIN)
    return dx_fail_sys(err, errno, "lock", LOCK_NAME);
  if (ret_holder != NULL) {
    *ret_holder = 0;
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
      *ret_holder = lock.l_pid;
  }
  return dx_fail(err, DX_E_BUSY, 0, "another process is working on this job");
}

static int open_lock(int dirfd, int flags)
{
  return openat(dirfd, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags,
                0600);
}

/* ---- receiving ---- */

static enum dx_code open_incoming(struct dx_spool *spool, struct dx_job *job,
                                  struct dx_err *err)
{
  char random[25];

  if (!dx_random_hex(random, 24))
    return dx_fail(err, DX_E_IO, 0, "cannot get random numbers");
  (void)snprintf(job->path, sizeof(job->path), "incoming/%s", random);
  if (mkdirat(spool->dirfd, job->path, 0700) < 0)
    return dx_fs_fail(err, errno, "create directory", spool->dirfd, job->path);
  job->dirfd = dx_fs_open_dir_at(spool->dirfd, job->path, err);
  if (job->dirfd < 0)
    return err != NULL ? err->code : DX_E_IO;
  job->lockfd = open_lock(job->dirfd, O_CREAT | O_EXCL);
  if (job->lockfd < 0)
    return dx_fs_fail(err, errno, "create", job->dirfd, LOCK_NAME);
  return lock_now(job->lockfd, NULL, err);
}

enum dx_code dx_spool_receive(struct dx_spool *spool, struct dx_job **ret_job,
                              struct dx_err *err)
{
  struct dx_job *job = dx_job_new();
  enum dx_code code;

  if (job == NULL)
    return dx_fail_nomem(err);
  code = open_incoming(spool, job, err);
  if (code != DX_OK) {
    dx_spool_discard(spool, &job);
    return code;
  }
  job->received_at = dx_wall_ms();
  *ret_job = job;
  return DX_OK;
}

int dx_spool_create_document(struct dx_job *job, size_t index,
                             struct dx_err *err)
{
  char name[DX_FILE_NAME_BYTES];
  int fd;

  dx_document_file(index, name);
  fd = openat(job->dirfd, name,
              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    (void)dx_fs_fail(err, errno, "create", job->dirfd, name);
  return fd;
}

void dx_spool_discard(struct dx_spool *spool, struct dx_job **job)
{
  struct dx_err err;

  if (*job == NULL)
    return;
  if ((*job)->dirfd >= 0 &&
      dx_fs_remove_tree(spool->dirfd, (*job)->path, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
  dx_job_free(job);
}

/* The same job may have become finished meanwhile: then its key is free in
 * jobs/, and only the second look at finished/ finds it. */
enum dx_code dx_spool_commit(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES], back[DX_JOB_PATH_BYTES];
  enum dx_code code;

  if (is_in(spool, "finished", job->key))
    return dx_fail(err, DX_E_EXISTS, EEXIST, "this job is known");
  code = dx_job_save(job, err);
  if (code != DX_OK)
    return code;
  (void)snprintf(path, sizeof(path), "jobs/%s", job->key);
  memcpy(back, job->path, sizeof(back));
  /* rename() would replace an empty directory; ours never are empty. */
  code = dx_fs_rename_dir(spool->dirfd, job->path, path, err);
  if (code == DX_E_EXISTS)
    return dx_fail(err, DX_E_EXISTS, EEXIST, "this job is known");
  if (code != DX_OK && code != DX_E_UNSYNCED)
    return code;
  memcpy(job->path, path, sizeof(path));
  if (!is_in(spool, "finished", job->key))
    return code;
  code = dx_fs_rename_dir(spool->dirfd, path, back, err);
  if (code != DX_OK && code != DX_E_UNSYNCED)
    return code;
  memcpy(job->path, back, sizeof(back));
  return dx_fail(err, DX_E_EXISTS, EEXIST, "this job is known");
}

/* ---- taking ---- */

/* The directory may have been removed between opening and locking it. */
static bool is_still_there(struct dx_spool *spool, const struct dx_job *job)
{
  struct stat a, b;

  return fstat(job->dirfd, &a) == 0 &&
         fstatat(spool->dirfd, job->path, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

enum dx_code dx_spool_set_aside(struct dx_spool *spool, const char *key,
                                struct dx_err *err)
{
  char from[DX_JOB_PATH_BYTES], to[DX_JOB_PATH_BYTES + 32];
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;
  enum dx_code code = dx_spool_take(spool, key, &job, &holder, &owner, err);

  dx_job_free(&job);
  if (code != DX_E_DAMAGED)
    return code == DX_OK ? dx_fail(err, DX_E_JOB, 0, "the job is not damaged")
                         : code;
  (void)snprintf(from, sizeof(from), "%s/%s",
                 is_in(spool, "jobs", key) ? "jobs" : "finished", key);
  (void)snprintf(to, sizeof(to), "damaged/%s-%" PRId64, key, dx_wall_ms());
  return dx_fs_rename_dir(spool->dirfd, from, to, err);
}

static enum dx_code open_at(struct dx_spool *spool, struct dx_job *job,
                            struct dx_err *err)
{
  job->dirfd = openat(spool->dirfd, job->path,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (job->dirfd >= 0)
    return DX_OK;
  return errno == ENOENT
             ? dx_fail(err, DX_E_NOT_FOUND, ENOENT, "there is no such job")
             : dx_fail_sys(err, errno, "open directory", job->path);
}

enum dx_code spool_open_job(struct dx_spool *spool, const char *key,
                            struct dx_job *job, struct dx_err *err)
{
  /* It may be moved between two looks. */
  static const char *const parents[] = {"jobs", "finished", "jobs"};
  enum dx_code code = DX_E_NOT_FOUND;
  size_t i;

  for (i = 0; code == DX_E_NOT_FOUND && i < 3; i++) {
    (void)snprintf(job->path, sizeof(job->path), "%s/%s", parents[i], key);
    code = open_at(spool, job, err);
  }
  return code;
}

enum dx_code spool_lock_job(struct dx_spool *spool, struct dx_job *job,
                            pid_t *ret_holder, struct dx_err *err)
{
  enum dx_code code;

  job->lockfd = open_lock(job->dirfd, O_CREAT);
  if (job->lockfd < 0)
    return dx_fs_fail(err, errno, "open", job->dirfd, LOCK_NAME);
  code = lock_now(job->lockfd, ret_holder, err);
  if (code == DX_OK && !is_still_there(spool, job))
    code = dx_fail(err, DX_E_NOT_FOUND, ENOENT, "there is no such job");
  return code;
}

static void peek_owner(struct dx_job *job, enum dx_owner *ret_owner)
{
  *ret_owner = DX_OWNER_COUNT;
  if (dx_job_load(job, NULL) == DX_OK)
    *ret_owner = job->owner;
}

static enum dx_code sync_jobs(struct dx_spool *spool, struct dx_err *err)
{
  int fd = dx_fs_open_dir_at(spool->dirfd, "jobs", err);
  enum dx_code code;

  if (fd < 0)
    return err != NULL ? err->code : DX_E_IO;
  code = dx_fs_sync(fd, "jobs", err);
  (void)close(fd);
  return code;
}

static enum dx_code take_once(struct dx_spool *spool, const char *key,
                              struct dx_job *job, pid_t *ret_holder,
                              enum dx_owner *ret_owner, struct dx_err *err)
{
  enum dx_code code = spool_open_job(spool, key, job, err);

  if (code == DX_OK)
    code = spool_lock_job(spool, job, ret_holder, err);
  if (code == DX_E_BUSY)
    peek_owner(job, ret_owner);
  if (code != DX_OK)
    return code;
  dx_temp_sweep(job->dirfd, 0);
  code = dx_job_load(job, err);
  if (code == DX_E_NOT_FOUND)
    return dx_fail(err, DX_E_DAMAGED, 0, "the job file is missing");
  /* Whoever committed it may have died before it was durable. What follows
   * relies on it: an upload, or telling cupsd that the job is over. */
  if (code == DX_OK)
    code = sync_jobs(spool, err);
  return code;
}

enum dx_code dx_spool_take(struct dx_spool *spool, const char *key,
                           struct dx_job **ret_job, pid_t *ret_holder,
                           enum dx_owner *ret_owner, struct dx_err *err)
{
  struct dx_job *job;
  enum dx_code code;
  int tries = 3; /* it may be moved between opening and locking */

  if (!dx_is_key(key))
    return dx_fail(err, DX_E_NOT_FOUND, 0, "there is no such job");
  do {
    job = dx_job_new();
    if (job == NULL)
      return dx_fail_nomem(err);
    code = take_once(spool, key, job, ret_holder, ret_owner, err);
    if (code == DX_OK)
      *ret_job = job;
    else
      dx_job_free(&job);
  } while (code == DX_E_NOT_FOUND && --tries > 0);
  return code;
}

enum dx_code dx_spool_peek(struct dx_spool *spool, const char *key,
                           struct dx_job **ret_job, pid_t *ret_holder,
                           struct dx_err *err)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  struct dx_job *job;
  enum dx_code code;
  int fd;

  if (!dx_is_key(key))
    return dx_fail(err, DX_E_NOT_FOUND, 0, "there is no such job");
  job = dx_job_new();
  if (job == NULL)
    return dx_fail_nomem(err);
  code = spool_open_job(spool, key, job, err);
  if (code == DX_OK) {
    code = dx_job_load(job, err);
    if (code == DX_E_NOT_FOUND && is_still_there(spool, job))
      code = dx_fail(err, DX_E_DAMAGED, 0, "the job file is missing");
  }
  if (code != DX_OK) {
    dx_job_free(&job);
    return code;
  }
  *ret_holder = 0;
  fd = open_lock(job->dirfd, 0);
  if (fd >= 0) {
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
      *ret_holder = lock.l_pid;
    (void)close(fd);
  }
  *ret_job = job;
  return DX_OK;
}

/* ---- where a job belongs ---- */

static enum dx_code move_job(struct dx_spool *spool, struct dx_job *job,
                             const char *parent, struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES];

  (void)snprintf(path, sizeof(path), "%s/%s", parent, job->key);
  if (strcmp(path, job->path) == 0)
    return DX_OK;
  if (renameat(spool->dirfd, job->path, spool->dirfd, path) < 0)
    return dx_fs_fail(err, errno, "rename", spool->dirfd, job->path);
  memcpy(job->path, path, sizeof(path));
  return DX_OK;
}

enum dx_code dx_spool_settle(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  enum dx_code code;

  if (job->dirty) /* only the journal says what is no longer needed */
    return DX_OK;
  code = dx_job_delete_documents(job, err);
  /* Not fsynced: after a power failure the sweep finds it in jobs/ and moves it
   * again. */
  if (code == DX_OK && dx_job_is_finished(job) && !dx_job_is_announcing(job))
    code = move_job(spool, job, "finished", err);
  return code;
}

enum dx_code dx_spool_reopen(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  enum dx_code code = move_job(spool, job, "jobs", err);

  /* Nobody looks for unfinished jobs in finished/. */
  if (code == DX_OK)
    code = dx_fs_sync_parent(spool->dirfd, job->path, err);
  return code;
}

/* ---- docextractd's jobs ---- */

int dx_spool_hold_daemon_lock(struct dx_spool *spool, struct dx_err *err)
{
  int fd = openat(spool->dirfd, DAEMON_LOCK_NAME,
                  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  pid_t holder = 0;

  if (fd < 0) {
    (void)dx_fs_fail(err, errno, "open", spool->dirfd, DAEMON_LOCK_NAME);
    return -1;
  }
  if (lock_now(fd, &holder, err) == DX_OK)
    return fd;
  (void)close(fd);
  if (err->code == DX_E_BUSY)
    (void)dx_fail(err, DX_E_BUSY, 0,
                  "docextractd is already running as process %d", (int)holder);
  return -1;
}

pid_t dx_spool_daemon(int spool_dirfd)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int fd =
      openat(spool_dirfd, DAEMON_LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  pid_t holder = 0;

  if (fd < 0)
    return 0;
  if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
    holder = lock.l_pid;
  (void)close(fd);
  return holder;
}

static void touch(struct dx_spool *spool, const char *path)
{
  if (utimensat(spool->dirfd, path, NULL, AT_SYMLINK_NOFOLLOW) < 0)
    dx_log(DX_LOG_WARNING, "cannot touch '%s': %s", path, strerror(errno));
}

void dx_spool_hand_over(struct dx_spool *spool, struct dx_job **job)
{
  char path[DX_JOB_PATH_BYTES];

  memcpy(path, (*job)->path, sizeof(path));
  dx_job_free(job);
  touch(spool, path);
}

enum dx_code dx_spool_ask_cancel(struct dx_spool *spool, const char *key,
                                 struct dx_err *err)
{
  char path[2 * DX_JOB_PATH_BYTES];
  int fd;

  if (!dx_is_key(key))
    return dx_fail(err, DX_E_NOT_FOUND, 0, "there is no such job");
  (void)snprintf(path, sizeof(path), "jobs/%s/" CANCEL_NAME, key);
  fd = openat(spool->dirfd, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
              0600);
  if (fd < 0)
    return dx_fs_fail(err, errno, "create", spool->dirfd, path);
  (void)close(fd);
  (void)snprintf(path, sizeof(path), "jobs/%s", key);
  touch(spool, path);
  return DX_OK;
}

bool dx_spool_cancel_is_asked(const struct dx_job *job)
{
  return faccessat(job->dirfd, CANCEL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void dx_spool_cancel_done(struct dx_job *job)
{
  struct dx_err err;

  if (dx_fs_remove(job->dirfd, CANCEL_NAME, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
}

/* ---- looking through the spool ---- */

DIR *spool_open_list(struct dx_spool *spool, const char *name,
                     struct dx_err *err)
{
  int fd = dx_fs_open_dir_at(spool->dirfd, name, err);
  DIR *dir;

  if (fd < 0)
    return NULL;
  dir = fdopendir(fd);
  if (dir == NULL) {
    (void)dx_fail_sys(err, errno, "list", name);
    (void)close(fd);
  }
  return dir;
}

static enum dx_code each_in(struct dx_spool *spool, const char *parent,
                            enum dx_code (*each)(void *ctx, const char *key),
                            void *ctx, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  struct dirent *entry;
  DIR *dir = spool_open_list(spool, parent, err);

  if (dir == NULL)
    return err != NULL ? err->code : DX_E_IO;
  while (code == DX_OK && (entry = readdir(dir)) != NULL)
    if (dx_is_key(entry->d_name))
      code = each(ctx, entry->d_name);
  (void)closedir(dir);
  return code;
}

enum dx_code dx_spool_each(struct dx_spool *spool,
                           enum dx_code (*each)(void *ctx, const char *key),
                           void *ctx, struct dx_err *err)
{
  return each_in(spool, "jobs", each, ctx, err);
}

enum dx_code dx_spool_each_finished(struct dx_spool *spool,
                                    enum dx_code (*each)(void *ctx,
                                                         const char *key),
                                    void *ctx, struct dx_err *err)
{
  return each_in(spool, "finished", each, ctx, err);
}

size_t dx_spool_count_damaged(struct dx_spool *spool)
{
  struct dirent *entry;
  DIR *dir = spool_open_list(spool, "damaged", NULL);
  size_t count = 0;

  if (dir == NULL)
    return 0;
  while ((entry = readdir(dir)) != NULL)
    if (entry->d_name[0] != '.')
      count++;
  (void)closedir(dir);
  return count;
}

int64_t spool_age_ms(int dirfd, const char *name)
{
  struct stat st;

  if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return INT64_MAX;
  return dx_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
}

int64_t dx_spool_idle_ms(const struct dx_job *job)
{
  return spool_age_ms(job->dirfd, "job.json");
}

int64_t dx_spool_finished_ms(const struct dx_spool *spool, const char *key)
{
  char path[DX_JOB_PATH_BYTES];

  (void)snprintf(path, sizeof(path), "finished/%s/job.json", key);
  return spool_age_ms(spool->dirfd, path);
}

enum dx_code dx_spool_remove(struct dx_spool *spool, struct dx_job **job,
                             struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES];
  enum dx_code code;

  /* Out of the way first: whoever opens its lock now must not find a job. */
  (void)snprintf(path, sizeof(path), "incoming/%s", (*job)->key);
  code = dx_fs_rename_dir(spool->dirfd, (*job)->path, path, err);
  if (code == DX_OK) /* the old name must not come back without its files */
    code = dx_fs_sync_parent(spool->dirfd, (*job)->path, err);
  if (code == DX_OK || code == DX_E_UNSYNCED)
    code = dx_fs_remove_tree(spool->dirfd, path, err);
  dx_job_free(job);
  return code;
}
