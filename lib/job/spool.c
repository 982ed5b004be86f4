/*
 * spool.c - the directories of the spool and their locks; the content of a
 * journal is not its business.
 */
#include "lib/job/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

#define LOCK_NAME "lock"
#define CANCEL_NAME "cancel"
#define DAEMON_LOCK_NAME "docextractd.lock"

/* ---- opening ---- */

static enum dx_code make_folders(int dirfd, struct dx_err *err)
{
  static const char *const names[] = {"jobs", "incoming", "damaged", "pace"};
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sizeof(names) / sizeof(names[0]); i++)
    code = dx_fs_make_dir(dirfd, names[i], 0700, err);
  return code;
}

enum dx_code dx_spool_open(const char *path, struct dx_spool *ret_spool,
                           struct dx_err *err)
{
  enum dx_code code;

  ret_spool->rate_dirfd = -1;
  ret_spool->dirfd = dx_fs_open_dir(path, err);
  if (ret_spool->dirfd < 0)
    return err != NULL ? err->code : DX_E_IO;
  if (dx_fs_is_network(path))
    code = dx_fail(err, DX_E_CONFIG, 0,
                   "SpoolDir '%s' is on a network file system, where locks "
                   "cannot be relied on; choose a local folder",
                   path);
  else
    code = make_folders(ret_spool->dirfd, err);
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

bool dx_spool_key(const char *service, const char *uuid, const char *cups_id,
                  int64_t time_at_creation, char key[DX_KEY_BYTES])
{
  struct dx_buf text = {0};
  char sum[DX_SHA256_HEX_BYTES];
  bool ok;

  /* NUL between them: no two different fours give the same bytes. */
  dx_buf_add(&text, service, strlen(service) + 1);
  dx_buf_add(&text, uuid, strlen(uuid) + 1);
  dx_buf_add(&text, cups_id, strlen(cups_id) + 1);
  dx_buf_printf(&text, "%" PRId64, time_at_creation);
  ok = dx_buf_ok(&text) && dx_sha256_of(text.data, text.len, sum);
  if (ok)
    (void)snprintf(key, DX_KEY_BYTES, "%.32s", sum);
  dx_buf_release(&text);
  return ok;
}

/* ---- locks ---- */

/* Locks without waiting; E_BUSY with the holder, who may be gone already. */
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
  return dx_fail(err, DX_E_BUSY, 0, "another process works on this job");
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
    return dx_fail(err, DX_E_IO, 0, "no random numbers to be had");
  (void)snprintf(job->path, sizeof(job->path), "incoming/%s", random);
  if (mkdirat(spool->dirfd, job->path, 0700) < 0)
    return dx_fail_sys(err, errno, "make folder", job->path);
  job->dirfd = dx_fs_open_dir_at(spool->dirfd, job->path, err);
  if (job->dirfd < 0)
    return err != NULL ? err->code : DX_E_IO;
  job->lockfd = open_lock(job->dirfd, O_CREAT | O_EXCL);
  if (job->lockfd < 0)
    return dx_fail_sys(err, errno, "create", LOCK_NAME);
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
    (void)dx_fail_sys(err, errno, "create", name);
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

static enum dx_code sync_dir(struct dx_spool *spool, const char *name,
                             struct dx_err *err)
{
  int fd = dx_fs_open_dir_at(spool->dirfd, name, err);
  enum dx_code code;

  if (fd < 0)
    return err != NULL ? err->code : DX_E_IO;
  code = dx_fs_sync(fd, name, err);
  (void)close(fd);
  return code;
}

enum dx_code dx_spool_commit(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES];
  enum dx_code code = dx_job_save(job, err);

  if (code != DX_OK)
    return code;
  (void)snprintf(path, sizeof(path), "jobs/%s", job->key);
  /* rename() would take the place of an empty directory; ours never are. */
  if (renameat(spool->dirfd, job->path, spool->dirfd, path) < 0)
    return errno == EEXIST || errno == ENOTEMPTY
               ? dx_fail(err, DX_E_EXISTS, errno, "this job is known")
               : dx_fail_sys(err, errno, "rename", job->path);
  memcpy(job->path, path, sizeof(path));
  code = sync_dir(spool, "jobs", err);
  if (code == DX_OK)
    code = sync_dir(spool, "incoming", err);
  return code;
}

/* ---- taking ---- */

/* True if the directory that dirfd opened is still the one with that name: it
 * may have been swept between opening and locking. */
static bool is_still_there(struct dx_spool *spool, const struct dx_job *job)
{
  struct stat a, b;

  return fstat(job->dirfd, &a) == 0 &&
         fstatat(spool->dirfd, job->path, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void set_aside(struct dx_spool *spool, const struct dx_job *job)
{
  char to[DX_JOB_PATH_BYTES + 32];
  const char *name = strrchr(job->path, '/') + 1;

  (void)snprintf(to, sizeof(to), "damaged/%s-%" PRId64, name, dx_wall_ms());
  if (renameat(spool->dirfd, job->path, spool->dirfd, to) < 0)
    dx_log(DX_LOG_ERROR, "cannot move '%s' aside: %s", job->path,
           strerror(errno));
  else
    dx_log(DX_LOG_ERROR, "damaged job moved to '%s'", to);
}

static enum dx_code open_dir(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  job->dirfd = openat(spool->dirfd, job->path,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (job->dirfd < 0)
    return errno == ENOENT
               ? dx_fail(err, DX_E_NOT_FOUND, ENOENT, "there is no such job")
               : dx_fail_sys(err, errno, "open folder", job->path);
  return DX_OK;
}

/* The directory is open. */
static enum dx_code lock_job(struct dx_spool *spool, struct dx_job *job,
                             pid_t *ret_holder, struct dx_err *err)
{
  enum dx_code code;

  job->lockfd = open_lock(job->dirfd, O_CREAT);
  if (job->lockfd < 0)
    return dx_fail_sys(err, errno, "open", LOCK_NAME);
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

enum dx_code dx_spool_take(struct dx_spool *spool, const char *key,
                           struct dx_job **ret_job, pid_t *ret_holder,
                           enum dx_owner *ret_owner, struct dx_err *err)
{
  struct dx_job *job;
  enum dx_code code;

  if (!dx_is_key(key))
    return dx_fail(err, DX_E_NOT_FOUND, 0, "there is no such job");
  job = dx_job_new();
  if (job == NULL)
    return dx_fail_nomem(err);
  (void)snprintf(job->path, sizeof(job->path), "jobs/%s", key);
  code = open_dir(spool, job, err);
  if (code == DX_OK)
    code = lock_job(spool, job, ret_holder, err);
  if (code == DX_E_BUSY)
    peek_owner(job, ret_owner);
  if (code == DX_OK) {
    dx_temp_sweep(job->dirfd, 0);
    code = dx_job_load(job, err);
    if (code == DX_E_NOT_FOUND || code == DX_E_DAMAGED) {
      code = dx_fail(err, DX_E_DAMAGED, 0, "the record of this job is damaged");
      set_aside(spool, job);
    }
  }
  if (code != DX_OK) {
    dx_job_free(&job);
    return code;
  }
  *ret_job = job;
  return DX_OK;
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
  (void)snprintf(job->path, sizeof(job->path), "jobs/%s", key);
  code = open_dir(spool, job, err);
  if (code == DX_OK) {
    code = dx_job_load(job, err);
    if (code == DX_E_NOT_FOUND && is_still_there(spool, job))
      code = dx_fail(err, DX_E_DAMAGED, 0, "the record of this job is missing");
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

/* ---- docextractd's jobs ---- */

int dx_spool_hold_daemon_lock(struct dx_spool *spool, struct dx_err *err)
{
  int fd = openat(spool->dirfd, DAEMON_LOCK_NAME,
                  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  pid_t holder = 0;

  if (fd < 0) {
    (void)dx_fail_sys(err, errno, "open", DAEMON_LOCK_NAME);
    return -1;
  }
  if (lock_now(fd, &holder, err) == DX_OK)
    return fd;
  (void)close(fd);
  if (err->code == DX_E_BUSY)
    (void)dx_fail(err, DX_E_BUSY, 0, "docextractd runs already, as process %d",
                  (int)holder);
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
    return dx_fail_sys(err, errno, "create", CANCEL_NAME);
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

/* ---- the same job again ---- */

static bool came_as_it_is(const struct dx_entry *e)
{
  return strcmp(e->type, "application/pdf") != 0 ||
         strcmp(e->origin, "application/pdf") == 0;
}

/* Text and PostScript carry the date of their conversion: only what came as
 * PDF or picture is the same byte for byte when it is printed again. */
static bool is_same(const struct dx_entry *a, const struct dx_entry *b)
{
  if (a->kind != b->kind || strcmp(a->type, b->type) != 0 ||
      a->pages != b->pages || a->together != b->together)
    return false;
  return !came_as_it_is(a) || strcmp(a->sha256, b->sha256) == 0;
}

/* The old submission of the same first place, if it must stay. */
static struct dx_submission *kept(struct dx_job *old,
                                  const struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < old->submission_count; i++)
    if (old->submissions[i].files[0].document == sub->files[0].document &&
        dx_state_is_sent(old->submissions[i].state))
      return &old->submissions[i];
  return NULL;
}

static bool has_same_places(const struct dx_submission *a,
                            const struct dx_submission *b)
{
  size_t i;

  if (a->file_count != b->file_count)
    return false;
  for (i = 0; i < a->file_count; i++)
    if (a->files[i].document != b->files[i].document)
      return false;
  return true;
}

static enum dx_code check_same(struct dx_job *old, struct dx_job *fresh,
                               struct dx_submission *stays,
                               struct dx_submission *sub, struct dx_err *err)
{
  size_t i;

  if (!has_same_places(stays, sub))
    return dx_fail(err, DX_E_CHANGED, 0,
                   "other documents, or another grouping, than were sent "
                   "before; print them as a new job");
  for (i = 0; i < sub->file_count; i++) {
    size_t place = sub->files[i].document;

    if (fresh->documents[place].entry.kind == DX_KIND_MISSING)
      continue; /* it came before; that it did not now says nothing */
    if (!is_same(&old->documents[place].entry, &fresh->documents[place].entry))
      return dx_fail(err, DX_E_CHANGED, 0,
                     "document %zu differs from what was sent before; print "
                     "it as a new job",
                     place + 1);
  }
  return DX_OK;
}

static enum dx_code check_merge(struct dx_job *old, struct dx_job *fresh,
                                struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i, sent = 0, found = 0;

  for (i = 0; i < old->submission_count; i++) {
    enum dx_state state = old->submissions[i].state;

    if (dx_state_is_sent(state))
      sent++;
    if (dx_state_is_sent(state) && !dx_state_is_final(state) &&
        strcmp(old->base_url, fresh->base_url) != 0)
      return dx_fail(err, DX_E_CONFIG, 0,
                     "BaseURL was changed while a document is under way; set "
                     "it back until the job is done");
  }
  for (i = 0; code == DX_OK && i < fresh->submission_count; i++) {
    struct dx_submission *stays = kept(old, &fresh->submissions[i]);

    if (stays == NULL)
      continue;
    found++;
    code = check_same(old, fresh, stays, &fresh->submissions[i], err);
  }
  if (code == DX_OK && found != sent)
    code = dx_fail(err, DX_E_CHANGED, 0,
                   "other documents, or another grouping, than were sent "
                   "before; print them as a new job");
  return code;
}

static enum dx_code move_document(struct dx_job *old, struct dx_job *fresh,
                                  size_t place, struct dx_err *err)
{
  char name[DX_FILE_NAME_BYTES];

  if (fresh->documents[place].entry.kind != DX_KIND_DOCUMENT)
    return DX_OK;
  dx_document_file(place, name);
  if (renameat(fresh->dirfd, name, old->dirfd, name) < 0)
    return dx_fail_sys(err, errno, "move", name);
  fresh->documents[place].is_here = true;
  return DX_OK;
}

/*
 * Bytes of a place whose submission stays: the old ones if they are here;
 * the new ones if they are the same, or nothing was sent yet; else none, and
 * the record keeps describing what was sent.
 */
static enum dx_code merge_place(struct dx_job *old, struct dx_job *fresh,
                                const struct dx_submission *stays,
                                const struct dx_file *file, struct dx_err *err)
{
  size_t place = file->document;
  struct dx_document *before = &old->documents[place];
  struct dx_document *now = &fresh->documents[place];
  bool same = strcmp(before->entry.sha256, now->entry.sha256) == 0;

  if (now->entry.kind == DX_KIND_DOCUMENT && !before->is_here &&
      stays->state != DX_ST_EXTRACTED &&
      (same || stays->state == DX_ST_REGISTERED))
    return move_document(old, fresh, place, err);
  *now = *before;
  return DX_OK;
}

/* A place that was not sent yet comes anew, but not what was tried for it: a
 * registration may be out there, and their number is bounded. */
static void keep_tries(const struct dx_job *old, struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < old->submission_count; i++) {
    const struct dx_submission *before = &old->submissions[i];

    if (before->state != DX_ST_STORED || sub->state != DX_ST_STORED ||
        before->files[0].document != sub->files[0].document)
      continue;
    sub->registering = before->registering;
    sub->lost_creates = before->lost_creates;
    sub->start_overs = before->start_overs;
    sub->reregistrations = before->reregistrations;
  }
}

static enum dx_code merge_submission(struct dx_job *old, struct dx_job *fresh,
                                     struct dx_submission *sub,
                                     struct dx_err *err)
{
  struct dx_submission *stays = kept(old, sub);
  struct dx_submission swap;
  enum dx_code code = DX_OK;
  size_t i;

  if (stays == NULL)
    keep_tries(old, sub);
  for (i = 0; code == DX_OK && i < sub->file_count; i++)
    code = stays == NULL
               ? move_document(old, fresh, sub->files[i].document, err)
               : merge_place(old, fresh, stays, &sub->files[i], err);
  if (code == DX_OK && stays != NULL) {
    swap = *sub;
    *sub = *stays;
    *stays = swap;
    sub->number = swap.number;
  }
  return code;
}

#define SWAP(field)                            \
  do {                                         \
    __typeof__(old->field) swap_ = old->field; \
    old->field = fresh->field;                 \
    fresh->field = swap_;                      \
  } while (0)

static void exchange(struct dx_job *old, struct dx_job *fresh)
{
  size_t i;

  SWAP(documents);
  SWAP(document_count);
  SWAP(submissions);
  SWAP(submission_count);
  SWAP(together);
  SWAP(base_url);
  for (i = 0; i < old->submission_count; i++)
    old->submissions[i].job = old;
  for (i = 0; i < fresh->submission_count; i++)
    fresh->submissions[i].job = fresh;
}

enum dx_code dx_spool_merge(struct dx_spool *spool, struct dx_job *old,
                            struct dx_job **fresh, struct dx_err *err)
{
  enum dx_code code = check_merge(old, *fresh, err);
  size_t i;

  for (i = 0; code == DX_OK && i < (*fresh)->submission_count; i++)
    code = merge_submission(old, *fresh, &(*fresh)->submissions[i], err);
  if (code != DX_OK)
    return code;
  exchange(old, *fresh);
  code = dx_job_save(old, err);
  dx_spool_discard(spool, fresh);
  return code;
}

/* ---- listing and sweeping ---- */

static DIR *open_list(struct dx_spool *spool, const char *name,
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

enum dx_code dx_spool_each(struct dx_spool *spool,
                           enum dx_code (*each)(void *ctx, const char *key),
                           void *ctx, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  struct dirent *entry;
  DIR *dir = open_list(spool, "jobs", err);

  if (dir == NULL)
    return err != NULL ? err->code : DX_E_IO;
  while (code == DX_OK && (entry = readdir(dir)) != NULL)
    if (dx_is_key(entry->d_name))
      code = each(ctx, entry->d_name);
  (void)closedir(dir);
  return code;
}

size_t dx_spool_count_damaged(struct dx_spool *spool)
{
  struct dirent *entry;
  DIR *dir = open_list(spool, "damaged", NULL);
  size_t count = 0;

  if (dir == NULL)
    return 0;
  while ((entry = readdir(dir)) != NULL)
    if (entry->d_name[0] != '.')
      count++;
  (void)closedir(dir);
  return count;
}

/* Milliseconds since a file, or "." itself, was written; long ago if there is
 * none. */
static int64_t age_ms(int dirfd, const char *name)
{
  struct stat st;

  if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return INT64_MAX;
  return dx_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
}

int64_t dx_spool_idle_ms(const struct dx_job *job)
{
  return age_ms(job->dirfd, "job.json");
}

enum dx_code dx_spool_remove(struct dx_spool *spool, struct dx_job **job,
                             struct dx_err *err)
{
  enum dx_code code = dx_fs_remove_tree(spool->dirfd, (*job)->path, err);

  dx_job_free(job);
  return code;
}

/* A job that nobody runs again unless we keep it, or of which that is not
 * clear. What was never committed is nobody's job. */
static bool must_stay(struct dx_spool *spool, struct dx_job *job)
{
  enum dx_code code;

  if (strncmp(job->path, "incoming/", 9) == 0)
    return false;
  code = dx_job_load(job, NULL);
  if (code == DX_E_DAMAGED)
    set_aside(spool, job);
  if (code != DX_OK)
    return code != DX_E_NOT_FOUND;
  return job->owner != DX_OWNER_CUPS && !dx_job_is_final(job);
}

/* It goes if it is old under the lock too, and nobody needs it. The lock may
 * have been made just now, by us: the directory's own time says nothing here.
 */
static void remove_dir(struct dx_spool *spool, const char *path,
                       int64_t keep_ms)
{
  struct dx_job *job = dx_job_new();
  struct dx_err err;

  if (job == NULL)
    return;
  (void)snprintf(job->path, sizeof(job->path), "%s", path);
  if (open_dir(spool, job, &err) == DX_OK &&
      lock_job(spool, job, NULL, &err) == DX_OK &&
      age_ms(job->dirfd, "job.json") > keep_ms && !must_stay(spool, job)) {
    dx_log(DX_LOG_DEBUG, "sweeping '%s'", job->path);
    if (dx_fs_remove_tree(spool->dirfd, job->path, &err) != DX_OK)
      dx_log(DX_LOG_WARNING, "%s", err.text);
  }
  dx_job_free(&job);
}

/*
 * The lock of a young directory is not touched: its owner may be about to take
 * it, and would ask us to leave. What a killed writer left there goes all the
 * same: a result or signed URLs may be in it.
 */
static void sweep_dir(struct dx_spool *spool, const char *parent,
                      const char *name, int64_t keep_ms)
{
  char path[DX_JOB_PATH_BYTES];
  int dirfd;

  (void)snprintf(path, sizeof(path), "%s/%.32s", parent, name);
  dirfd = dx_fs_open_dir_at(spool->dirfd, path, NULL);
  if (dirfd < 0)
    return;
  if (age_ms(dirfd, ".") > keep_ms && age_ms(dirfd, "job.json") > keep_ms)
    remove_dir(spool, path, keep_ms);
  else
    dx_temp_sweep(dirfd, DX_TEMP_MIN_MS);
  (void)close(dirfd);
}

static void sweep_list(struct dx_spool *spool, const char *parent,
                       int64_t keep_ms)
{
  struct dirent *entry;
  DIR *dir = open_list(spool, parent, NULL);

  if (dir == NULL)
    return;
  while ((entry = readdir(dir)) != NULL)
    if (entry->d_name[0] != '.' && strlen(entry->d_name) <= 32)
      sweep_dir(spool, parent, entry->d_name, keep_ms);
  (void)closedir(dir);
}

void dx_spool_sweep(struct dx_spool *spool, int64_t keep_ms)
{
  /* A minute: its receiver may not have taken the lock yet. */
  sweep_list(spool, "incoming", DX_INCOMING_MIN_MS);
  sweep_list(spool, "jobs", keep_ms);
  dx_temp_sweep(spool->dirfd, DX_TEMP_MIN_MS);
}
