/*
 * spool.c - the directories of the spool, and what is moved between them.
 */
#include "lib/spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

#define DX_INCOMING_MIN_MS 60000 /* age at which the sweep removes it */

#define LOCK_NAME "docextractd.lock"
#define RUN_TIME 11 /* hex digits: milliseconds until the year 2527 */

/* ---- opening ---- */

static const char *const dir_names[] = {"incoming", "received", "jobs",
                                        "finished", "damaged",  "history",
                                        "aliases"};

static bool is_visible(const char *name)
{
  return name[0] != '.';
}

static bool is_other_dir(const char *name)
{
  size_t i;

  for (i = 0; i < sizeof(dir_names) / sizeof(dir_names[0]); i++)
    if (strcmp(name, dir_names[i]) == 0)
      return false;
  return is_visible(name);
}

/* Reads only the beginning of directories that may have many entries. */
static bool has_jobs(int dirfd)
{
  static const char *const names[] = {"received", "jobs", "finished"};
  const struct dirent *entry;
  bool has_any = false;
  size_t i;
  DIR *dir;
  int fd;

  for (i = 0; !has_any && i < sizeof(names) / sizeof(names[0]); i++) {
    fd = dx_fs_open_dir(dirfd, names[i], NULL);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    while (dir != NULL && !has_any && (entry = readdir(dir)) != NULL)
      has_any = is_visible(entry->d_name);
    if (dir != NULL)
      (void)closedir(dir);
    else if (fd >= 0)
      (void)close(fd);
  }
  return has_any;
}

/* If `mv` gets the name of a directory that exists, it moves into it. Without
 * this check, charts would wait in such a spool for ever. */
static enum dx_code check_place(int dirfd, const char *path, struct dx_err *err)
{
  char *names =
      has_jobs(dirfd) ? NULL : dx_fs_names(dirfd, ".", is_other_dir, NULL);
  enum dx_code code = DX_OK;
  const char *name;
  int fd;

  for (name = names; code == DX_OK && name != NULL && *name != '\0';
       name = dx_next_name(name)) {
    fd = dx_fs_open_dir(dirfd, name, NULL);
    if (fd >= 0 && has_jobs(fd))
      code = dx_fail(err, DX_E_CONFIG, 0,
                     "SpoolDir '%s' has no jobs, but its directory '%s' is a "
                     "spool that has: it was moved one level too deep; fix it "
                     "with: cd '%s/%s' && mv received jobs finished aliases "
                     "damaged ..",
                     path, name, path, name);
    if (fd >= 0)
      (void)close(fd);
  }
  free(names);
  return code;
}

enum dx_code dx_spool_open(const char *path, struct dx_spool *ret_spool,
                           struct dx_err *err)
{
  enum dx_code code;
  size_t i;

  ret_spool->is_unsynced = false;
  ret_spool->history_dirfd = -1;
  ret_spool->dirfd = dx_fs_open_dir(AT_FDCWD, path, err);
  if (ret_spool->dirfd < 0)
    return err != NULL ? err->code : DX_E_IO;
  code = check_place(ret_spool->dirfd, path, err);
  for (i = 0; code == DX_OK && i < sizeof(dir_names) / sizeof(dir_names[0]);
       i++)
    code = dx_fs_make_dir(ret_spool->dirfd, dir_names[i], 0700, err);
  if (code == DX_OK) {
    ret_spool->history_dirfd = dx_fs_open_dir(ret_spool->dirfd, "history", err);
    if (ret_spool->history_dirfd < 0)
      code = err != NULL ? err->code : DX_E_IO;
  }
  if (code != DX_OK)
    dx_spool_close(ret_spool);
  return code;
}

void dx_spool_close(struct dx_spool *spool)
{
  if (spool->history_dirfd >= 0)
    (void)close(spool->history_dirfd);
  if (spool->dirfd >= 0)
    (void)close(spool->dirfd);
  spool->history_dirfd = -1;
  spool->dirfd = -1;
}

static bool is_in(struct dx_spool *spool, const char *parent, const char *key)
{
  char path[DX_JOB_PATH_BYTES];

  (void)snprintf(path, sizeof(path), "%s/%s", parent, key);
  return faccessat(spool->dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool dx_spool_key(const char *uuid, const char *cups_id,
                  int64_t time_at_creation, char key[DX_KEY_BYTES])
{
  struct dx_buf text = {0};

  /* With NUL between them, different values never give the same bytes. */
  dx_buf_add(&text, uuid, strlen(uuid) + 1);
  dx_buf_add(&text, cups_id, strlen(cups_id) + 1);
  dx_buf_printf(&text, "%" PRId64, time_at_creation);
  return dx_key_of(&text, key);
}

static enum dx_code not_found(struct dx_err *err)
{
  return dx_fail(err, DX_E_NOT_FOUND, ENOENT, "job not found");
}

/* Looks for a job. E_NOT_FOUND: there is none. After another error, there may
 * be one: it must not be sent again. */
static enum dx_code spool_find(struct dx_spool *spool, const char *key,
                               struct dx_err *err)
{
  static const char *const parents[] = {"jobs", "finished"};
  size_t i;

  for (i = 0; i < 2; i++)
    if (is_in(spool, parents[i], key))
      return DX_OK;
    else if (errno != ENOENT)
      return dx_fs_fail(err, errno, "search", spool->dirfd, parents[i]);
  return not_found(err);
}

/* ---- print jobs that are sent again ---- */

/* Sets `key` to that of the job to which an alias leads, whether or not it
 * still exists; `name` begins with the alias. E_NOT_FOUND: there is none. */
static enum dx_code spool_resolve(const struct dx_spool *spool,
                                  const char *name, char key[DX_KEY_BYTES],
                                  struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES];
  ssize_t len;

  (void)snprintf(path, sizeof(path), "aliases/%.*s", DX_KEY_BYTES - 1, name);
  len = readlinkat(spool->dirfd, path, key, DX_KEY_BYTES);
  if (len < 0 && errno != ENOENT && errno != EINVAL) /* EINVAL: no link */
    return dx_fs_fail(err, errno, "read", spool->dirfd, path);
  if (len != DX_KEY_BYTES - 1)
    return not_found(err);
  key[len] = '\0';
  return dx_is_key(key) ? DX_OK : not_found(err);
}

static enum dx_code add_alias(struct dx_spool *spool, const char *name,
                              const char *key, struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES], known[DX_KEY_BYTES];

  if (name[0] == '\0' || strcmp(name, key) == 0 ||
      (spool_resolve(spool, name, known, NULL) == DX_OK &&
       strcmp(known, key) == 0))
    return DX_OK;
  (void)snprintf(path, sizeof(path), "aliases/%s", name);
  if (unlinkat(spool->dirfd, path, 0) < 0 && errno != ENOENT)
    return dx_fs_fail(err, errno, "remove", spool->dirfd, path);
  if (symlinkat(key, spool->dirfd, path) < 0)
    return dx_fs_fail(err, errno, "create link", spool->dirfd, path);
  return DX_OK;
}

enum dx_code dx_spool_add_aliases(struct dx_spool *spool,
                                  const struct dx_job *job, struct dx_err *err)
{
  enum dx_code code = add_alias(spool, job->content, job->key, err);

  if (code == DX_OK)
    code = add_alias(spool, job->print.key, job->key, err);
  if (code == DX_OK)
    code = dx_fs_sync_parent(spool->dirfd, "aliases/.", err);
  return code;
}

/* Milliseconds since a file, or the directory itself as ".", was written;
 * INT64_MAX if there is none. */
static int64_t age_ms(int dirfd, const char *name)
{
  struct stat st;

  if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return INT64_MAX;
  return dx_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
}

/* ---- receiving ---- */

/* A new path below incoming/. */
static void name_incoming(char path[DX_JOB_PATH_BYTES])
{
  char random[25];

  dx_random_hex(random, 24);
  (void)snprintf(path, DX_JOB_PATH_BYTES, "incoming/%s", random);
}

enum dx_code dx_spool_receive(struct dx_spool *spool, struct dx_job **ret_job,
                              struct dx_err *err)
{
  struct dx_job *job = dx_job_new();
  enum dx_code code = DX_OK;

  if (job == NULL)
    return dx_fail_nomem(err);
  job->spool_dirfd = spool->dirfd;
  name_incoming(job->path);
  job->received_at = dx_wall_ms();
  if (mkdirat(spool->dirfd, job->path, 0700) < 0)
    code = dx_fs_fail(err, errno, "create directory", spool->dirfd, job->path);
  else if ((job->dirfd = dx_fs_open_dir(spool->dirfd, job->path, err)) < 0)
    code = err != NULL ? err->code : DX_E_IO;
  else if (flock(job->dirfd, LOCK_EX | LOCK_NB) < 0)
    code = dx_fs_fail(err, errno, "lock", spool->dirfd, job->path);
  if (code == DX_OK)
    *ret_job = job;
  else
    dx_spool_discard(spool, &job);
  return code;
}

enum dx_code dx_spool_add_document(struct dx_job *job,
                                   const struct dx_entry *entry,
                                   struct dx_bundle_reader *reader,
                                   struct dx_err *err)
{
  size_t index = job->document_count;
  char name[DX_FILE_NAME_BYTES];
  struct dx_document *documents;
  enum dx_code code;
  int fd = -1;

  if (index >= DX_DOCUMENTS_MAX)
    return dx_fail(err, DX_E_TOO_MANY, 0, "more than %d documents in one job",
                   DX_DOCUMENTS_MAX);
  documents = reallocarray(job->documents, index + 1, sizeof(*documents));
  if (documents == NULL)
    return dx_fail_nomem(err);
  job->documents = documents;
  documents[index] = (struct dx_document){.entry = *entry};
  job->document_count++;
  if (reader == NULL)
    return DX_OK;
  if (entry->kind == DX_KIND_DOCUMENT) {
    dx_document_file(index, name);
    fd = openat(job->dirfd, name,
                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
      return dx_fs_fail(err, errno, "create", job->dirfd, name);
  }
  code = dx_bundle_content(reader, fd, err);
  if (code == DX_OK && fd >= 0 && fsync(fd) < 0)
    code = dx_fs_fail(err, errno, "fsync", fd, "document");
  if (fd >= 0)
    (void)close(fd);
  documents[index].is_here = code == DX_OK && fd >= 0;
  return code;
}

/* Moves the directory away first: no process may find a job that is half
 * removed, and the old name must not reappear without its files. Whether the
 * new one survives a power failure does not matter. After a crash, the sweep
 * removes the rest. */
static enum dx_code remove_dir(struct dx_spool *spool, const char *path,
                               struct dx_err *err)
{
  char away[DX_JOB_PATH_BYTES];
  enum dx_code code;

  if (strncmp(path, "incoming/", 9) == 0)
    return dx_fs_remove_tree(spool->dirfd, path, err);
  name_incoming(away);
  if (renameat(spool->dirfd, path, spool->dirfd, away) < 0)
    return dx_fs_fail(err, errno, "rename", spool->dirfd, path);
  code = dx_fs_sync_parent(spool->dirfd, path, err);
  if (code == DX_OK || code == DX_E_UNSYNCED)
    code = dx_fs_remove_tree(spool->dirfd, away, err);
  return code;
}

enum dx_code dx_spool_remove(struct dx_spool *spool, struct dx_job **job,
                             struct dx_err *err)
{
  enum dx_code code = remove_dir(spool, (*job)->path, err);

  dx_job_free(job);
  return code;
}

void dx_spool_discard(struct dx_spool *spool, struct dx_job **job)
{
  struct dx_err err;

  if (*job == NULL)
    return;
  if ((*job)->dirfd >= 0 && remove_dir(spool, (*job)->path, &err) != DX_OK)
    dx_job_log(DX_LOG_WARNING, *job, "%s: %s", dx_code_name(err.code),
               err.text);
  dx_job_free(job);
}

enum dx_code dx_spool_commit(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES];
  enum dx_code code;
  struct dx_err why;

  /* The time comes first, so that receipts sort by age. */
  (void)snprintf(job->print.run, sizeof(job->print.run), "%011llx",
                 (unsigned long long)dx_wall_ms() & 0xfffffffffffULL);
  dx_random_hex(job->print.run + RUN_TIME, DX_RUN_BYTES - 1 - RUN_TIME);
  memcpy(job->print.key, job->key, sizeof(job->print.key));
  code = dx_job_set_content(job, &why);
  if (code == DX_OK)
    code = dx_job_save(job, &why);
  if (code != DX_OK) /* E_UNSYNCED is about the rename, which follows */
    return dx_fail(err, code == DX_E_UNSYNCED ? DX_E_IO : code, why.sys_errno,
                   "%s", why.text);
  (void)snprintf(path, sizeof(path), "received/%s.%s", job->key,
                 job->print.run);
  code = dx_fs_rename_dir(spool->dirfd, job->path, path, err);
  if (code == DX_OK || code == DX_E_UNSYNCED)
    memcpy(job->path, path, sizeof(path));
  return code;
}

void dx_spool_sweep_incoming(struct dx_spool *spool)
{
  char *names = dx_fs_names(spool->dirfd, "incoming", is_visible, NULL);
  char path[DX_JOB_PATH_BYTES];
  const char *name;
  struct dx_err err;
  int fd;

  for (name = names; name != NULL && *name != '\0'; name = dx_next_name(name)) {
    if (strlen(name) >= DX_RECEIPT_BYTES)
      continue;
    (void)snprintf(path, sizeof(path), "incoming/%.*s", DX_RECEIPT_BYTES - 1,
                   name);
    fd = dx_fs_open_dir(spool->dirfd, path, NULL);
    if (fd < 0)
      continue;
    /* A new one is not touched: its receiver may be about to lock it. */
    if (age_ms(fd, ".") > DX_INCOMING_MIN_MS &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        dx_fs_remove_tree(spool->dirfd, path, &err) != DX_OK)
      dx_log(DX_LOG_WARNING, "%s: %s", dx_code_name(err.code), err.text);
    (void)close(fd);
  }
  free(names);
}

void dx_spool_sweep_alias(struct dx_spool *spool, const char *name)
{
  char path[DX_JOB_PATH_BYTES], key[DX_KEY_BYTES];

  (void)snprintf(path, sizeof(path), "aliases/%s", name);
  if (spool_resolve(spool, name, key, NULL) == DX_OK &&
      spool_find(spool, key, NULL) == DX_E_NOT_FOUND)
    (void)unlinkat(spool->dirfd, path, 0);
}

/* ---- reading ---- */

static enum dx_code load_at(struct dx_spool *spool, const char *parent,
                            const char *name, struct dx_job **ret_job,
                            struct dx_err *err)
{
  struct dx_job *job = dx_job_new();
  enum dx_code code;

  if (job == NULL)
    return dx_fail_nomem(err);
  (void)snprintf(job->path, sizeof(job->path), "%s/%s", parent, name);
  job->spool_dirfd = spool->dirfd;
  job->dirfd = openat(spool->dirfd, job->path,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (job->dirfd >= 0)
    code = dx_job_load(job, err);
  else if (errno == ENOENT)
    code = not_found(err);
  else
    code = dx_fail_sys(err, errno, "open directory", job->path);
  /* The directory may have been moved or removed since it was opened. */
  if (code == DX_E_NOT_FOUND && job->dirfd >= 0 && is_in(spool, parent, name))
    code = dx_fail(err, DX_E_DAMAGED, 0, "the job file is missing");
  /* Its name begins with the key; in that of a receipt, the run follows. */
  if (code == DX_OK && (memcmp(name, job->key, DX_KEY_BYTES - 1) != 0 ||
                        (name[DX_KEY_BYTES - 1] != '\0' &&
                         strcmp(name + DX_KEY_BYTES, job->print.run) != 0)))
    code = dx_fail(err, DX_E_DAMAGED, 0, "the job file belongs to another job");
  if (code == DX_OK)
    *ret_job = job;
  else
    dx_job_free(&job);
  return code;
}

static enum dx_code load_anywhere(struct dx_spool *spool, const char *key,
                                  struct dx_job **ret_job, struct dx_err *err)
{
  /* It may be moved between two attempts. */
  static const char *const parents[] = {"jobs", "finished", "jobs"};
  enum dx_code code = DX_E_NOT_FOUND;
  size_t i;

  for (i = 0; code == DX_E_NOT_FOUND && i < 3; i++)
    code = load_at(spool, parents[i], key, ret_job, err);
  return code;
}

enum dx_code dx_spool_load(struct dx_spool *spool, const char *name,
                           struct dx_job **ret_job, struct dx_err *err)
{
  char other[DX_KEY_BYTES];
  enum dx_code code;

  if (dx_is_receipt_name(name))
    return load_at(spool, "received", name, ret_job, err);
  if (!dx_is_key(name))
    return not_found(err);
  code = load_anywhere(spool, name, ret_job, err);
  if (code != DX_E_NOT_FOUND)
    return code;
  code = spool_resolve(spool, name, other, err);
  return code == DX_OK ? load_anywhere(spool, other, ret_job, err) : code;
}

bool dx_spool_has_receipt(struct dx_spool *spool, const char *key,
                          char ret_name[DX_RECEIPT_BYTES])
{
  char *names = dx_spool_names(spool, DX_SPOOL_RECEIVED, NULL);
  const char *name = names;
  char other[DX_KEY_BYTES];
  bool is_there;

  while (name != NULL && *name != '\0' && !dx_is_receipt_of(name, key) &&
         !(spool_resolve(spool, name, other, NULL) == DX_OK &&
           strcmp(other, key) == 0))
    name = dx_next_name(name);
  is_there = name == NULL || *name != '\0';
  (void)snprintf(ret_name, DX_RECEIPT_BYTES, "%s", name != NULL ? name : "");
  free(names);
  return is_there;
}

bool dx_spool_has_receipts(struct dx_spool *spool)
{
  char *names = dx_spool_names(spool, DX_SPOOL_RECEIVED, NULL);
  bool has_any = names == NULL || *names != '\0';

  free(names);
  return has_any;
}

enum dx_code dx_spool_set_aside(struct dx_spool *spool, const char *name,
                                struct dx_err *err)
{
  const char *parent = dx_is_receipt_name(name)     ? "received"
                       : is_in(spool, "jobs", name) ? "jobs"
                                                    : "finished";
  char from[DX_JOB_PATH_BYTES], to[DX_JOB_PATH_BYTES + 32], random[17];
  struct dx_job *job = NULL;
  enum dx_code code;

  if (!dx_is_receipt_name(name) && !dx_is_key(name))
    return not_found(err);
  code = load_at(spool, parent, name, &job, err);
  dx_job_free(&job);
  if (code == DX_OK)
    return dx_fail(err, DX_E_JOB, 0, "the job is not damaged");
  if (code != DX_E_DAMAGED)
    return code;
  (void)snprintf(from, sizeof(from), "%s/%s", parent, name);
  dx_random_hex(random, sizeof(random) - 1); /* it may be the second one */
  (void)snprintf(to, sizeof(to), "damaged/%s-%s", name, random);
  return dx_fs_rename_dir(spool->dirfd, from, to, err);
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

/*
 * Sets receipt->key to the job that has the print job of the receipt, or the
 * same one, sent earlier. Only the latter is read, so that the number of
 * records does not slow down other receipts. E_NOT_FOUND: there is none. After
 * another error, that job cannot be read.
 */
static enum dx_code find_job(struct dx_spool *spool, struct dx_job *receipt,
                             struct dx_err *err)
{
  const char *const names[] = {receipt->print.key, receipt->content};
  enum dx_code code = spool_find(spool, receipt->key, err);
  struct dx_job *job = NULL;
  char key[DX_KEY_BYTES];
  size_t i;

  for (i = 0; code == DX_E_NOT_FOUND && i < 2; i++) {
    code = spool_resolve(spool, names[i], key, err);
    if (code != DX_OK)
      continue;
    code = dx_spool_load(spool, key, &job, err);
    if (code == DX_OK && !dx_job_has_print(job, receipt->print.key) &&
        (strcmp(job->content, receipt->content) != 0 ||
         job->other_count >= DX_PRINT_JOBS_MAX))
      code = DX_E_NOT_FOUND;
    if (code != DX_E_NOT_FOUND)
      memcpy(receipt->key, key, sizeof(receipt->key));
    dx_job_free(&job);
  }
  return code;
}

enum dx_code dx_spool_pick_up(struct dx_spool *spool, struct dx_job *receipt,
                              struct dx_err *err)
{
  enum dx_code code = find_job(spool, receipt, err);

  if (code == DX_OK)
    return dx_fail(err, DX_E_EXISTS, EEXIST, "the job already exists");
  if (code != DX_E_NOT_FOUND)
    return code;
  code = add_alias(spool, receipt->content, receipt->key, err);
  if (code == DX_OK && receipt->content[0] != '\0')
    code = dx_fs_sync_parent(spool->dirfd, "aliases/.", err);
  /* rename() would replace an empty directory; ours never are empty. */
  if (code == DX_OK)
    code = move_job(spool, receipt, "jobs", err);
  spool->is_unsynced = spool->is_unsynced || code == DX_OK;
  (void)dx_spool_sync(spool); /* at once: a call may be waiting for it */
  return code;
}

bool dx_spool_sync(struct dx_spool *spool)
{
  if (spool->is_unsynced &&
      dx_fs_sync_parent(spool->dirfd, "jobs/.", NULL) == DX_OK)
    spool->is_unsynced = false;
  return !spool->is_unsynced;
}

enum dx_code dx_spool_settle(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  enum dx_code code;

  /* The saved journal determines what is removed. */
  if (dx_job_must_be_saved(job))
    return DX_OK;
  code = dx_job_delete_documents(job, err);
  /* A crash while a finished job was merged leaves a half-written journal. */
  if (code == DX_OK)
    dx_temp_sweep(job->dirfd, 0);
  /* Not fsynced: after a power failure docextractd finds it in jobs/ and moves
   * it again. */
  if (code == DX_OK && dx_job_is_finished(job) && !dx_job_awaits_hook(job))
    code = move_job(spool, job, "finished", err);
  return code;
}

enum dx_code dx_spool_reopen(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err)
{
  enum dx_code code = move_job(spool, job, "jobs", err);

  /* No process looks for unfinished jobs in finished/. */
  if (code == DX_OK)
    code = dx_fs_sync_parent(spool->dirfd, job->path, err);
  return code;
}

/* ---- one docextractd ---- */

/* The process that has locked an open file; 0: none, or this one. */
static pid_t lock_holder(int fd)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid
                                                                  : 0;
}

int dx_spool_hold_lock(struct dx_spool *spool, struct dx_err *err)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int fd = openat(spool->dirfd, LOCK_NAME,
                  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

  if (fd < 0) {
    (void)dx_fs_fail(err, errno, "open", spool->dirfd, LOCK_NAME);
    return -1;
  }
  if (fcntl(fd, F_SETLK, &lock) == 0) {
    dx_temp_sweep(spool->history_dirfd, 0);
    /* The previous process may have ended before a pick-up was durable. Later
     * steps rely on it: uploads, and completing the print job. */
    if (dx_fs_sync_parent(spool->dirfd, "jobs/.", err) == DX_OK)
      return fd;
  } else if (errno == EACCES || errno == EAGAIN) {
    (void)dx_fail(err, DX_E_BUSY, 0,
                  "docextractd is already running as process %d",
                  (int)lock_holder(fd));
  } else {
    (void)dx_fs_fail(err, errno, "lock", spool->dirfd, LOCK_NAME);
  }
  (void)close(fd);
  return -1;
}

pid_t dx_spool_daemon(int spool_dirfd)
{
  int fd = openat(spool_dirfd, LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  pid_t holder = fd >= 0 ? lock_holder(fd) : 0;

  if (fd >= 0)
    (void)close(fd);
  return holder;
}

/* ---- looking through the spool ---- */

static int compare_runs(const void *a, const void *b)
{
  return strcmp((const char *)a + DX_KEY_BYTES, (const char *)b + DX_KEY_BYTES);
}

static const char *const part_names[] = {[DX_SPOOL_RECEIVED] = "received",
                                         [DX_SPOOL_JOBS] = "jobs",
                                         [DX_SPOOL_FINISHED] = "finished",
                                         [DX_SPOOL_ALIASES] = "aliases"};

char *dx_spool_names(struct dx_spool *spool, enum dx_spool_part part,
                     struct dx_err *err)
{
  bool has_receipts = part == DX_SPOOL_RECEIVED;
  char *names = dx_fs_names(spool->dirfd, part_names[part],
                            has_receipts ? dx_is_receipt_name : dx_is_key, err);
  size_t count = 0;

  if (names == NULL || !has_receipts)
    return names;
  while (names[count * DX_RECEIPT_BYTES] != '\0')
    count++;
  qsort(names, count, DX_RECEIPT_BYTES, compare_runs);
  return names;
}

DIR *dx_spool_open_part(struct dx_spool *spool, enum dx_spool_part part,
                        struct dx_err *err)
{
  int fd = dx_fs_open_dir(spool->dirfd, part_names[part], err);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

  if (fd >= 0 && dir == NULL) {
    (void)dx_fs_fail(err, errno, "list directory", spool->dirfd,
                     part_names[part]);
    (void)close(fd);
  }
  return dir;
}

enum dx_code dx_spool_next_key(DIR *part, char ret_key[DX_KEY_BYTES],
                               struct dx_err *err)
{
  const struct dirent *entry;

  do {
    errno = 0;
    entry = readdir(part);
  } while (entry != NULL && !dx_is_key(entry->d_name));
  if (entry == NULL && errno != 0)
    return dx_fs_fail(err, errno, "list directory", dirfd(part), ".");
  if (entry == NULL)
    return not_found(err);
  memcpy(ret_key, entry->d_name, DX_KEY_BYTES);
  return DX_OK;
}

/* True for a receipt whose job is in jobs/. */
static bool is_of_job(struct dx_spool *spool, enum dx_spool_part part,
                      const char *name)
{
  char key[DX_KEY_BYTES];

  (void)snprintf(key, sizeof(key), "%s", name);
  return part == DX_SPOOL_RECEIVED && is_in(spool, "jobs", key);
}

enum dx_code dx_spool_each(struct dx_spool *spool, enum dx_spool_part first,
                           dx_spool_visit *each, void *ctx, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  enum dx_spool_part part;
  const char *name;
  char *names;

  for (part = first; code == DX_OK && part <= DX_SPOOL_FINISHED; part++) {
    names = dx_spool_names(spool, part, err);
    code = names != NULL ? DX_OK : err->code;
    for (name = names; name != NULL && code == DX_OK && *name != '\0';
         name = dx_next_name(name))
      if (!is_of_job(spool, part, name))
        code = each(ctx, part, name);
    free(names);
  }
  return code;
}

size_t dx_spool_count_damaged(struct dx_spool *spool)
{
  char *names = dx_fs_names(spool->dirfd, "damaged", is_visible, NULL);
  const char *name;
  size_t count = 0;

  for (name = names; name != NULL && *name != '\0'; name = dx_next_name(name))
    count++;
  free(names);
  return count;
}

int64_t dx_spool_idle_ms(const struct dx_job *job)
{
  char path[DX_JOB_PATH_BYTES + sizeof("/job.json")];

  (void)snprintf(path, sizeof(path), "%s/job.json", job->path);
  return age_ms(job->spool_dirfd, path);
}

int64_t dx_spool_finished_ms(const struct dx_spool *spool, const char *key)
{
  char path[DX_JOB_PATH_BYTES];

  (void)snprintf(path, sizeof(path), "finished/%s/job.json", key);
  return age_ms(spool->dirfd, path);
}
