/*
 * test_spool.c - jobs on disk: received, committed, picked up, settled,
 * reopened, removed, set aside; and the state after the process was killed, or
 * the disk failed, at any step of that. A step is a call that changes or syncs
 * something; the linker wraps them.
 */
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/spool/results.h"
#include "lib/spool/spool.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define RUN "0123456789abcdef"

static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool;
static struct dx_err err;

/* ---- steps ---- */

static int fatal_step;  /* counts down; 0: none */
static int fatal_errno; /* 0: the process is killed before the step */

static bool fails(void)
{
  if (fatal_step == 0 || --fatal_step > 0)
    return false;
  if (fatal_errno == 0)
    _exit(9);
  errno = fatal_errno;
  return true;
}

int __real_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __real_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_faccessat(int fd, const char *name, int mode, int flags);
int __wrap_faccessat(int fd, const char *name, int mode, int flags);
ssize_t __real_readlinkat(int fd, const char *name, char *text, size_t size);
ssize_t __wrap_readlinkat(int fd, const char *name, char *text, size_t size);

int __wrap_renameat(int from, const char *a, int to, const char *b)
{
  return fails() ? -1 : __real_renameat(from, a, to, b);
}

int __wrap_unlinkat(int fd, const char *name, int flags)
{
  return fails() ? -1 : __real_unlinkat(fd, name, flags);
}

int __wrap_fsync(int fd)
{
  return fails() ? -1 : __real_fsync(fd);
}

/* A call that succeeds may change errno. */
ssize_t __wrap_readlinkat(int fd, const char *name, char *text, size_t size)
{
  ssize_t len = __real_readlinkat(fd, name, text, size);

  if (len >= 0)
    errno = EIO;
  return len;
}

static bool is_reopened_late; /* the job is moved while it is searched for */

int __wrap_faccessat(int fd, const char *name, int mode, int flags)
{
  if (is_reopened_late)
    (void)renameat(spool.dirfd, "finished/" KEY, spool.dirfd, "jobs/" KEY);
  return __real_faccessat(fd, name, mode, flags);
}

/* Does it in another process, which is killed before step n. False if it came
 * to its end. */
static bool is_killed_at(int n, void (*act)(void))
{
  pid_t child = fork();
  int status;

  if (child == 0) {
    fatal_step = n;
    fatal_errno = 0;
    act();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9);
  return WEXITSTATUS(status) == 9;
}

/* ---- jobs ---- */

static int start(void **state)
{
  (void)state;
  fatal_step = 0;
  if (temp_dir_make_in_memory(dir) < 0)
    return -1;
  return dx_spool_open(dir, &spool, &err) == DX_OK ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  dx_spool_close(&spool);
  return temp_dir_remove(dir);
}

/* One letter per place: D a PDF, S a sheet, R refused, M missing. */
static void fill(struct dx_entry *e, char letter, bool together)
{
  memset(e, 0, sizeof(*e));
  e->together = together;
  e->kind = letter == 'S'   ? DX_KIND_SHEET
            : letter == 'R' ? DX_KIND_REFUSED
            : letter == 'M' ? DX_KIND_MISSING
                            : DX_KIND_DOCUMENT;
  e->reason = letter == 'R' ? DX_REASON_PASSWORD : DX_REASON_NONE;
  if (e->kind != DX_KIND_DOCUMENT)
    return;
  (void)strcpy(e->type, "application/pdf");
  (void)strcpy(e->origin, "application/pdf");
  (void)strcpy(e->name, "chart.pdf");
  e->pages = 1;
  e->length = 1;
  dx_sha256_of(&letter, 1, e->sha256);
}

static struct dx_job *receive(const char *letters, bool together)
{
  struct dx_job *job = NULL;
  size_t i, n = strlen(letters);

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  job->documents = calloc(n, sizeof(*job->documents));
  job->document_count = n;
  for (i = 0; i < n; i++) {
    fill(&job->documents[i].entry, letters[i], together);
    if (job->documents[i].entry.kind == DX_KIND_DOCUMENT) {
      char file[DX_FILE_NAME_BYTES];

      dx_document_file(i, file);
      assert_int_equal(
          dx_fs_write(job->dirfd, file, &letters[i], 1, 0600, true, &err),
          DX_OK);
      job->documents[i].is_here = true;
    }
  }
  job->service = strdup("default");
  job->base_url = strdup("https://a");
  job->title = strdup("a title");
  job->received_at = 1700000000000;
  (void)strcpy(job->key, KEY);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  return job;
}

/* Received and committed; the backend is gone. */
static void commit(const char *letters, bool together)
{
  struct dx_job *job = receive(letters, together);

  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  dx_job_free(&job);
}

static char receipt_name[DX_RECEIPT_BYTES];

/* How many names there are; the last one is copied. */
static size_t names_in(enum dx_spool_part part, char last[DX_RECEIPT_BYTES])
{
  char *names = dx_spool_names(&spool, part, &err), *name;
  size_t n = 0;

  assert_non_null(names);
  for (name = names; *name != '\0'; name = dx_next_name(name), n++)
    (void)strcpy(last, name);
  free(names);
  return n;
}

static size_t receipts(void)
{
  return names_in(DX_SPOOL_RECEIVED, receipt_name);
}

/* One of the receipts. */
static struct dx_job *receipt(void)
{
  struct dx_job *job = NULL;

  assert_true(receipts() > 0);
  assert_int_equal(dx_spool_load(&spool, receipt_name, &job, &err), DX_OK);
  return job;
}

static struct dx_job *pick_up(const char *letters, bool together)
{
  struct dx_job *job;

  commit(letters, together);
  job = receipt();
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  return job;
}

static enum dx_code find(void)
{
  struct dx_job *job = NULL;
  enum dx_code code = dx_spool_load(&spool, KEY, &job, &err);

  dx_job_free(&job);
  return code;
}

static struct dx_job *load(void)
{
  struct dx_job *job = NULL;

  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  return job;
}

static bool there_is(const char *path)
{
  return faccessat(spool.dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void damage(const char *path, const char *journal)
{
  int fd = openat(spool.dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  assert_true(fd >= 0);
  assert_int_equal(
      dx_fs_write(fd, "job.json", journal, strlen(journal), 0600, false, &err),
      DX_OK);
  (void)close(fd);
}

static size_t entries(const char *name)
{
  return count_entries(spool.dirfd, name);
}

/* Brings a submission to the state of a letter: s stored, r registered, u
 * uploaded, c complete with one case, x extracted, f failed after the upload,
 * n failed before it. */
static void bring(struct dx_submission *sub, char letter)
{
  static char id[] = "case_1";
  char *ids[] = {id};
  size_t i;

  if (letter == 's' || sub->state == DX_ST_REFUSED)
    return;
  if (letter == 'n') {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_REFUSED, "for a reason");
    return;
  }
  assert_int_equal(dx_submission_apply(sub, DX_EV_ACCEPTED, &err), DX_OK);
  free(sub->source_id);
  sub->source_id = strdup("SOURCE");
  assert_int_equal(
      dx_submission_set_place(sub, "default", "https://a", "key 1", &err),
      DX_OK);
  for (i = 0; i < sub->file_count; i++) {
    free(sub->files[i].url);
    sub->files[i].url = strdup("https://s/o?sig=1");
    sub->files[i].put = letter == 'r' ? DX_PUT_SENDING : DX_PUT_DONE;
  }
  if (letter == 'r')
    return;
  assert_int_equal(dx_submission_apply(sub, DX_EV_PUT_ALL, &err), DX_OK);
  if (letter == 'f')
    dx_submission_end(sub, DX_EV_FAIL, DX_E_REFUSED, "for a reason");
  if (letter == 'u' || letter == 'f')
    return;
  assert_int_equal(dx_submission_set_cases(sub, ids, 1, &err), DX_OK);
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_COMPLETE, &err), DX_OK);
  if (letter == 'c')
    return;
  sub->cases[0].state = DX_CASE_DELIVERED;
  assert_int_equal(dx_submission_apply(sub, DX_EV_DELIVERED, &err), DX_OK);
}

static char letter_of(const struct dx_submission *sub)
{
  static const char letters[DX_ST_COUNT] = {'s', 'r', 'u', 'p',
                                            'c', 'x', 'f', 'R'};

  return letters[sub->state];
}

/* ---- committing ---- */

static void committed_receipt_is_found(void **state)
{
  struct dx_job *job = receive("DSR", false);

  (void)state;
  job->print.backend = DX_BACKEND_ATTENDS;
  job->print.cupsd = strdup("cupsd 1 2 3");
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  assert_true(dx_is_run(job->print.run));
  dx_job_free(&job);
  assert_int_equal(entries("incoming"), 0);
  assert_int_equal(entries("jobs"), 0);
  job = receipt();
  assert_string_equal(job->key, KEY);
  assert_string_equal(job->title, "a title");
  assert_null(job->user);
  assert_string_equal(job->print.cupsd, "cupsd 1 2 3");
  assert_string_equal(receipt_name + DX_KEY_BYTES, job->print.run);
  assert_int_equal(job->print.backend, DX_BACKEND_BROKEN); /* not yet */
  assert_true(job->documents[0].is_here);
  assert_int_equal(job->documents[2].entry.reason, DX_REASON_PASSWORD);
  assert_int_equal(job->submission_count, 2); /* a sheet is not sent */
  dx_job_free(&job);
}

/* Nor does it look at the job: another process may be driving it. */
/* `mv` of a spool to a directory that exists moves it into that. */
static void spool_one_level_too_deep_is_refused(void **state)
{
  struct dx_spool outer = spool, inner;
  char path[TEMP_DIR_BYTES + 16], expected[2 * sizeof(path)];

  (void)state;
  (void)snprintf(path, sizeof(path), "%s/old spool", dir);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(dx_spool_open(path, &inner, &err), DX_OK);
  dx_spool_close(&outer);
  assert_int_equal(dx_spool_open(dir, &outer, &err), DX_OK); /* both empty */
  spool = inner;
  commit("D", false);
  spool = outer;
  assert_int_equal(dx_spool_open(dir, &inner, &err), DX_E_CONFIG);
  (void)snprintf(expected, sizeof(expected), "cd '%s' && mv ", path);
  assert_non_null(strstr(err.text, expected));
  assert_int_equal(inner.dirfd, -1);
  commit("D", false); /* it has jobs of its own */
  assert_int_equal(dx_spool_open(dir, &inner, &err), DX_OK);
  dx_spool_close(&inner);
}

static void every_run_leaves_a_receipt_of_its_own(void **state)
{
  struct dx_job *job = pick_up("D", false);

  (void)state;
  commit("D", false);
  commit("D", false);
  assert_int_equal(receipts(), 2);
  assert_int_equal(entries("jobs"), 1);
  dx_job_free(&job);
}

/* Otherwise, an older run would take the job over from a newer one. */
static void receipts_are_listed_oldest_first(void **state)
{
  char *names;
  struct dx_job *job;
  char runs[8][DX_RUN_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < 8; i++) {
    int64_t now;

    job = receive("D", false);
    job->key[0] = (char)('8' - i);
    assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
    memcpy(runs[i], job->print.run, sizeof(runs[i]));
    dx_job_free(&job);
    now = dx_wall_ms(); /* the next one is committed later */
    while (dx_wall_ms() == now)
      continue;
  }
  names = dx_spool_names(&spool, DX_SPOOL_RECEIVED, &err);
  assert_non_null(names);
  for (i = 0; i < 8; i++)
    assert_string_equal(names + i * DX_RECEIPT_BYTES + DX_KEY_BYTES, runs[i]);
  free(names);
}

static void commit_one(void)
{
  commit("D", false);
}

/* Later, as the sweep of the next hour sees it. */
static int64_t later_ms(void)
{
  return (int64_t)time(NULL) * 1000 + 3600000;
}

static void sweep_incoming(void)
{
  const struct dx_clock later = {later_ms, later_ms};

  dx_clock_use(&later);
  dx_spool_sweep_incoming(&spool);
  dx_clock_use(NULL);
}

static void killed_commit_leaves_a_whole_receipt_or_none(void **state)
{
  size_t lost = 0, stored = 0;
  int n;

  (void)state;
  for (n = 1; is_killed_at(n, commit_one); n++) {
    if (receipts() == 0) {
      lost++;
      assert_int_equal(entries("incoming"), 1);
      sweep_incoming();
    } else {
      struct dx_job *job = receipt();

      stored++;
      assert_true(job->documents[0].is_here);
      assert_int_equal(dx_spool_remove(&spool, &job, &err), DX_OK);
    }
    assert_int_equal(entries("incoming"), 0);
    assert_int_equal(entries("jobs"), 0);
  }
  assert_true(lost > 1 && stored > 0);
  assert_int_equal(receipts(), 1);
}

/* A full or broken disk: the caller gets the outcome. */
static void failed_commit_can_be_repeated(void **state)
{
  static const int errors[] = {ENOSPC, EIO, EDQUOT};
  size_t i;
  int n;

  (void)state;
  for (i = 0; i < 3; i++)
    for (n = 1;; n++) {
      struct dx_job *job = receive("D", false);
      enum dx_code code;

      fatal_errno = errors[i];
      fatal_step = n;
      code = dx_spool_commit(&spool, job, &err);
      if (fatal_step > 0) {
        fatal_step = 0;
        assert_int_equal(code, DX_OK);
        assert_int_equal(dx_spool_remove(&spool, &job, &err), DX_OK);
        break;
      }
      assert_int_not_equal(code, DX_OK);
      assert_int_equal(receipts(), code == DX_E_UNSYNCED);
      if (code != DX_E_UNSYNCED)
        assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
      assert_int_equal(receipts(), 1);
      assert_int_equal(dx_spool_remove(&spool, &job, &err), DX_OK);
      assert_int_equal(entries("incoming"), 0);
    }
}

static void received_document_is_private_and_durable(void **state)
{
  struct dx_entry entry;
  struct dx_bundle_reader *reader;
  struct dx_job *job = NULL;
  mode_t before = umask(0);
  struct stat st;
  bool is_end;
  int fd, i;

  (void)state;
  fill(&entry, 'D', false);
  entry.length = 1;
  dx_sha256_of("x", 1, entry.sha256);
  fd = openat(spool.dirfd, "bundle", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(dx_bundle_write(fd, &entry, "x", &err), DX_OK);
  for (i = 0; i < 2; i++) {
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    reader = dx_bundle_reader_new(fd, NULL, NULL, NULL);
    assert_int_equal(dx_bundle_next(reader, &entry, &is_end, &err), DX_OK);
    assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
    fatal_errno = EIO;
    fatal_step = i; /* fsync */
    assert_int_equal(dx_spool_add_document(job, &entry, reader, &err),
                     i == 0 ? DX_OK : DX_E_IO);
    assert_int_equal(job->documents[0].is_here, i == 0);
    assert_int_equal(fstatat(job->dirfd, "document-0001", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    dx_bundle_reader_free(&reader);
    dx_spool_discard(&spool, &job);
  }
  (void)umask(before);
  assert_int_equal(close(fd), 0);
}

static void job_being_received_is_not_swept(void **state)
{
  struct dx_job *job = receive("D", false);

  (void)state;
  sweep_incoming();
  assert_int_equal(entries("incoming"), 1);
  dx_job_free(&job); /* as if it were killed */
  dx_spool_sweep_incoming(&spool);
  assert_int_equal(entries("incoming"), 1); /* another may be about to lock */
  sweep_incoming();
  assert_int_equal(entries("incoming"), 0);
}

/* ---- picking up ---- */

static void picked_up_receipt_is_the_job(void **state)
{
  struct dx_job *job = pick_up("D", false);

  (void)state;
  assert_string_equal(job->path, "jobs/" KEY);
  assert_int_equal(receipts(), 0);
  assert_int_equal(entries("jobs/" KEY), 2); /* journal, document */
  dx_job_free(&job);
  job = load();
  assert_true(job->documents[0].is_here);
  dx_job_free(&job);
}

static void known_job_is_not_replaced(void **state)
{
  static const char *const parents[] = {"jobs/" KEY, "finished/" KEY};
  struct dx_job *job = pick_up("D", false), *again;
  size_t i;

  (void)state;
  dx_job_free(&job);
  commit("DD", false);
  for (i = 0; i < 2; i++) {
    again = receipt();
    assert_int_equal(dx_spool_pick_up(&spool, again, &err), DX_E_EXISTS);
    assert_string_equal(again->path + strlen("received/"), receipt_name);
    dx_job_free(&again);
    job = load();
    assert_string_equal(job->path, parents[i]);
    assert_int_equal(job->document_count, 1);
    dx_job_free(&job);
    assert_int_equal(receipts(), 1);
    if (i == 0)
      assert_int_equal(
          renameat(spool.dirfd, parents[0], spool.dirfd, parents[1]), 0);
  }
}

static void pick_up_one(void)
{
  struct dx_job *job = receipt();

  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
}

static void receipt_is_in_one_place_during_pick_up(void **state)
{
  int n;

  (void)state;
  commit("D", false);
  for (n = 1; is_killed_at(n, pick_up_one); n++) {
    assert_int_equal(receipts() + entries("jobs"), 1);
    if (receipts() == 0) { /* its name may not be durable */
      assert_int_equal(find(), DX_OK);
      assert_int_equal(dx_fs_remove_tree(spool.dirfd, "jobs/" KEY, &err),
                       DX_OK);
      commit("D", false);
    }
  }
  assert_true(n > 2);
  assert_int_equal(receipts(), 0);
  assert_int_equal(find(), DX_OK);
}

static void unsynced_name_is_not_relied_on(void **state)
{
  struct dx_job *job;

  (void)state;
  commit("D", false);
  job = receipt();
  fatal_errno = EIO;
  fatal_step = 2; /* renameat, fsync */
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  assert_int_equal(entries("jobs"), 1);
  fatal_step = 1;
  assert_false(dx_spool_sync(&spool));
  assert_true(dx_spool_sync(&spool));
  assert_true(dx_spool_sync(&spool));
  dx_job_free(&job);
  fatal_step = 1; /* its successor makes it durable first */
  assert_int_equal(dx_spool_hold_lock(&spool, &err), -1);
  assert_int_equal(err.code, DX_E_UNSYNCED);
}

/* After a power failure, it could have its name, and be empty. */
static void file_that_is_not_on_the_disk_gets_no_name(void **state)
{
  (void)state;
  fatal_errno = EIO;
  fatal_step = 1;
  assert_int_equal(
      dx_fs_write(spool.dirfd, "name", "x", 1, 0600, DX_PUBLISH_NEW, &err),
      DX_E_IO);
  assert_false(there_is("name"));
}

/* A job whose alias was lost would be sent again. */
static void alias_is_durable_before_the_job(void **state)
{
  struct dx_job *job;

  (void)state;
  commit("D", false);
  job = receipt();
  (void)strcpy(job->content, "fedcba9876543210fedcba9876543210");
  fatal_errno = EIO;
  fatal_step = 2; /* unlinkat, fsync */
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_E_UNSYNCED);
  assert_int_equal(receipts(), 1);
  dx_job_free(&job);
}

/* ---- settling, reopening, removing ---- */

static void finished_job_is_moved_and_still_found(void **state)
{
  struct dx_job *job = pick_up("DR", false);

  (void)state;
  bring(&job->submissions[0], 'x');
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_int_equal(entries("finished"), 0); /* one was refused */
  dx_job_end(job, DX_EV_CANCEL);
  job->submissions[0].hook_ms = 1;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_int_equal(entries("finished"), 0); /* its OnResult is pending */
  assert_int_equal(dx_fs_write(job->dirfd, "on-result-0001", "why", 3, 0600,
                               DX_PUBLISH_NEW, &err),
                   DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_int_equal(entries("jobs/" KEY), 2); /* it is kept */
  job->submissions[0].hook_ms = 0;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("finished/" KEY), 1); /* the journal */
  assert_int_equal(find(), DX_OK);
  assert_int_equal(dx_spool_reopen(&spool, job, &err), DX_OK);
  assert_int_equal(entries("finished"), 0);
  assert_int_equal(find(), DX_OK);
  dx_job_free(&job);
}

/* Left behind by a docextractd that was killed in a merge. */
/* It is not in jobs/ when it is opened there, but a moment later. */
static void job_that_is_reopened_meanwhile_is_not_damaged(void **state)
{
  struct dx_job *job = pick_up("D", false);

  (void)state;
  dx_job_end(job, DX_EV_CANCEL);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  dx_job_free(&job);
  is_reopened_late = true;
  assert_int_equal(find(), DX_OK);
  is_reopened_late = false;
}

static void incomplete_journal_of_a_finished_job_is_removed(void **state)
{
  struct dx_job *job = pick_up("D", false);
  int fd;

  (void)state;
  dx_job_end(job, DX_EV_CANCEL);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  fd = openat(job->dirfd, ".job.json.0123456789abcdef", O_WRONLY | O_CREAT,
              0600);
  assert_true(fd >= 0);
  assert_int_equal(close(fd), 0);
  assert_int_equal(entries("finished/" KEY), 2);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_int_equal(entries("finished/" KEY), 1);
  assert_true(there_is("finished/" KEY "/job.json"));
  dx_job_free(&job);
}

static void documents_stay_as_long_as_the_journal_needs_them(void **state)
{
  struct dx_job *job = pick_up("D", false);

  (void)state;
  dx_job_end(job, DX_EV_CANCEL);
  fatal_errno = ENOSPC;
  fatal_step = 1;
  assert_int_equal(dx_job_save(job, &err), DX_E_SPACE);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_true(there_is("jobs/" KEY "/document-0001"));
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_false(there_is("jobs/" KEY));
  dx_job_free(&job);
}

static void settle_one(void)
{
  struct dx_job *job = load();

  dx_job_end(job, DX_EV_CANCEL);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
}

static void reopen_one(void)
{
  struct dx_job *job = load();

  assert_int_equal(dx_spool_reopen(&spool, job, &err), DX_OK);
}

static void job_is_found_during_a_move(void **state)
{
  int n;

  (void)state;
  dx_job_free(&(struct dx_job *){pick_up("D", false)});
  for (n = 1; is_killed_at(n, settle_one); n++) {
    struct dx_job *job = load();

    /* Needed, or no longer asked for. */
    assert_true(job->documents[0].is_here || dx_job_is_finished(job));
    dx_job_free(&job);
    assert_int_equal(dx_fs_remove_tree(spool.dirfd, "jobs/" KEY, &err), DX_OK);
    dx_job_free(&(struct dx_job *){pick_up("D", false)});
  }
  assert_true(n > 4);
  assert_true(there_is("finished/" KEY));
  for (n = 1; is_killed_at(n, reopen_one); n++)
    assert_int_equal(find(), DX_OK);
  assert_true(there_is("jobs/" KEY));
}

static void remove_one(void)
{
  struct dx_job *job = load();

  assert_int_equal(dx_spool_remove(&spool, &job, &err), DX_OK);
}

static void incomplete_job_is_never_found(void **state)
{
  int n;

  (void)state;
  dx_job_free(&(struct dx_job *){pick_up("DD", false)});
  for (n = 1; is_killed_at(n, remove_one); n++) {
    enum dx_code code = find();

    assert_true(code == DX_OK || code == DX_E_NOT_FOUND);
    if (code == DX_OK)
      continue;
    sweep_incoming();
    assert_int_equal(entries("incoming"), 0);
    dx_job_free(&(struct dx_job *){pick_up("DD", false)});
  }
  assert_true(n > 4);
  assert_int_equal(find(), DX_E_NOT_FOUND);
  assert_int_equal(entries("incoming"), 0);
}

/* Between an interrupted removal and the sweep, the job may be printed and
 * removed again. */
static void interrupted_removal_does_not_block_another(void **state)
{
  int n;

  (void)state;
  dx_job_free(&(struct dx_job *){pick_up("DD", false)});
  for (n = 1; is_killed_at(n, remove_one); n++) {
    if (find() == DX_E_NOT_FOUND)
      dx_job_free(&(struct dx_job *){pick_up("DD", false)});
    remove_one();
    assert_int_equal(find(), DX_E_NOT_FOUND);
    sweep_incoming();
    assert_int_equal(entries("incoming"), 0);
    dx_job_free(&(struct dx_job *){pick_up("DD", false)});
  }
  assert_true(n > 4);
}

/* It is in its job now; another of the same run must not come back. */
static void job_is_removed_although_that_is_not_durable(void **state)
{
  struct dx_job *job = pick_up("D", false);

  (void)state;
  fatal_errno = EIO;
  fatal_step = 2; /* renameat, fsync */
  assert_int_equal(dx_spool_remove(&spool, &job, &err), DX_OK);
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("incoming"), 0);
}

static void merged_receipt_is_removed_as_a_whole(void **state)
{
  struct dx_job *job;

  (void)state;
  commit("DD", false);
  job = receipt();
  dx_spool_discard(&spool, &job);
  assert_null(job);
  assert_int_equal(receipts(), 0);
  assert_int_equal(entries("incoming"), 0);
}

/* ---- damage ---- */

static void unreadable_job_stays_until_it_is_moved(void **state)
{
  static const char *const journals[] = {
      "", "{}", "not json", "{\"schema\": 99}", "[]", NULL};
  static const char *const parents[] = {"jobs", "finished", "received"};
  size_t i, k, moved = 0;

  (void)state;
  for (i = 0; i < 6; i++)
    for (k = 0; k < 3; k++) {
      char path[DX_JOB_PATH_BYTES];
      const char *name = k == 2 ? KEY "." RUN : KEY;
      struct dx_job *job = pick_up("D", false), *none = NULL;

      (void)snprintf(path, sizeof(path), "%s/%s", parents[k], name);
      (void)renameat(spool.dirfd, "jobs/" KEY, spool.dirfd, path);
      if (journals[i] != NULL)
        damage(path, journals[i]);
      else
        assert_int_equal(unlinkat(job->dirfd, "job.json", 0), 0);
      dx_job_free(&job);
      assert_int_equal(dx_spool_load(&spool, name, &none, &err), DX_E_DAMAGED);
      assert_null(none);
      assert_true(there_is(path));
      assert_int_equal(dx_spool_count_damaged(&spool), moved);
      assert_int_equal(dx_spool_set_aside(&spool, name, &err), DX_OK);
      assert_false(there_is(path));
      assert_int_equal(dx_spool_count_damaged(&spool), ++moved);
      assert_int_equal(dx_spool_set_aside(&spool, name, &err), DX_E_NOT_FOUND);
    }
}

static int64_t stopped_ms(void)
{
  return 1;
}

static void jobs_can_be_moved_to_damaged_in_the_same_millisecond(void **state)
{
  static const struct dx_clock stopped = {stopped_ms, stopped_ms};
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct dx_job *job = pick_up("D", false);

    dx_job_free(&job);
    damage("jobs/" KEY, "");
    dx_clock_use(&stopped);
    assert_int_equal(dx_spool_set_aside(&spool, KEY, &err), DX_OK);
    dx_clock_use(NULL);
  }
  assert_int_equal(dx_spool_count_damaged(&spool), 3);
}

static void only_damaged_jobs_can_be_moved_to_damaged(void **state)
{
  struct dx_job *job = pick_up("D", false);

  (void)state;
  assert_int_equal(dx_spool_set_aside(&spool, KEY, &err), DX_E_JOB);
  assert_int_equal(dx_spool_set_aside(&spool, "../jobs", &err), DX_E_NOT_FOUND);
  /* It cannot be read now, but may not be damaged. */
  assert_int_equal(renameat(job->dirfd, "job.json", job->dirfd, "away"), 0);
  assert_int_equal(symlinkat("job.json", job->dirfd, "job.json"), 0);
  assert_int_equal(dx_spool_set_aside(&spool, KEY, &err), DX_E_IO);
  assert_true(there_is("jobs/" KEY));
  dx_job_free(&job);
}

/* Else one job would be written over another. */
static void journal_of_another_job_is_damaged(void **state)
{
  static const char other[] = "jobs/ffffffffffffffffffffffffffffffff";
  struct dx_job *job = NULL;

  (void)state;
  dx_job_free(&(struct dx_job *){pick_up("D", false)});
  assert_int_equal(renameat(spool.dirfd, "jobs/" KEY, spool.dirfd, other), 0);
  assert_int_equal(dx_spool_load(&spool, other + 5, &job, &err), DX_E_DAMAGED);
  assert_int_equal(
      renameat(spool.dirfd, other, spool.dirfd, "received/" KEY "." RUN), 0);
  assert_int_equal(dx_spool_load(&spool, KEY "." RUN, &job, &err),
                   DX_E_DAMAGED);
}

/* ---- links in the way ---- */

static void link_is_not_a_job(void **state)
{
  struct dx_job *job = NULL;

  (void)state;
  commit("D", false);
  job = receipt();
  assert_int_equal(symlinkat("../damaged", spool.dirfd, "jobs/" KEY), 0);
  assert_int_not_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  assert_int_equal(receipts(), 1);
  assert_int_not_equal(find(), DX_OK);
  dx_job_free(&job);
  assert_int_equal(unlinkat(spool.dirfd, "jobs/" KEY, 0), 0);
  assert_int_equal(
      symlinkat(receipt_name, spool.dirfd, "received/" KEY "." RUN), 0);
  assert_int_not_equal(dx_spool_load(&spool, KEY "." RUN, &job, &err), DX_OK);
  assert_null(job);
}

static void link_is_not_a_lock(void **state)
{
  (void)state;
  assert_int_equal(symlinkat("jobs/x", spool.dirfd, "docextractd.lock"), 0);
  assert_int_equal(dx_spool_hold_lock(&spool, &err), -1);
  assert_false(there_is("jobs/x"));
}

/* ---- names ---- */

static void invalid_name_is_not_a_job(void **state)
{
  static const char *const names[] = {"",
                                      ".",
                                      "..",
                                      "../jobs",
                                      "../jobs/" KEY,
                                      KEY "0",
                                      KEY ".",
                                      KEY "." RUN "0",
                                      KEY "/" RUN,
                                      KEY "." KEY,
                                      "0123456789ABCDEF0123456789abcdef"};
  struct dx_job *job = pick_up("D", false), *none = NULL;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    assert_int_equal(dx_spool_load(&spool, names[i], &none, &err),
                     DX_E_NOT_FOUND);
  dx_job_free(&job);
}

static void
unreadable_directory_does_not_mean_that_there_is_no_job(void **state)
{
  static const char *const names[] = {"jobs", "finished", "aliases"};
  struct dx_job *job = NULL;
  char receipt[DX_RECEIPT_BYTES];
  size_t i;

  (void)state;
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_E_NOT_FOUND);
  assert_false(dx_spool_has_receipt(&spool, KEY, receipt));
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    assert_int_equal(renameat(spool.dirfd, names[i], spool.dirfd, "away"), 0);
    assert_int_equal(symlinkat(names[i], spool.dirfd, names[i]), 0);
    assert_int_not_equal(dx_spool_load(&spool, KEY, &job, &err),
                         DX_E_NOT_FOUND);
    assert_int_equal(unlinkat(spool.dirfd, names[i], 0), 0);
    assert_int_equal(renameat(spool.dirfd, "away", spool.dirfd, names[i]), 0);
  }
  assert_int_equal(renameat(spool.dirfd, "received", spool.dirfd, "away"), 0);
  assert_true(dx_spool_has_receipt(&spool, KEY, receipt));
  assert_string_equal(receipt, "");
}

static void only_a_link_to_a_key_is_an_alias(void **state)
{
  static const char *const texts[] = {"x", KEY "0",
                                      "0123456789ABCDEF0123456789abcdef",
                                      "././././././././././././././././"};
  struct dx_job *job = NULL;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    assert_int_equal(symlinkat(texts[i], spool.dirfd, "aliases/" KEY), 0);
    assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_E_NOT_FOUND);
    assert_int_equal(unlinkat(spool.dirfd, "aliases/" KEY, 0), 0);
  }
  assert_int_equal(mkdirat(spool.dirfd, "aliases/" KEY, 0700), 0);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_E_NOT_FOUND);
}

/* The job may have been sent: it must not be sent again. */
static void with_an_unreadable_directory_no_job_is_picked_up(void **state)
{
  static const char *const names[] = {"jobs", "finished", "aliases"};
  struct dx_job *job;
  size_t i;

  (void)state;
  commit("D", false);
  job = receipt();
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    assert_int_equal(renameat(spool.dirfd, names[i], spool.dirfd, "away"), 0);
    assert_int_equal(symlinkat(names[i], spool.dirfd, names[i]), 0);
    assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_E_IO);
    assert_string_equal(job->key, KEY);
    assert_memory_equal(job->path, "received/", 9);
    assert_int_equal(unlinkat(spool.dirfd, names[i], 0), 0);
    assert_int_equal(renameat(spool.dirfd, "away", spool.dirfd, names[i]), 0);
  }
  dx_job_free(&job);
}

static void only_jobs_are_listed(void **state)
{
  char key[DX_RECEIPT_BYTES] = "";

  (void)state;
  dx_job_free(&(struct dx_job *){pick_up("D", false)});
  assert_int_equal(mkdirat(spool.dirfd, "jobs/lost+found", 0700), 0);
  assert_int_equal(mkdirat(spool.dirfd, "jobs/.hidden", 0700), 0);
  assert_int_equal(mkdirat(spool.dirfd, "received/" KEY, 0700), 0);
  assert_int_equal(names_in(DX_SPOOL_JOBS, key), 1);
  assert_string_equal(key, KEY);
  assert_int_equal(names_in(DX_SPOOL_RECEIVED, key), 0);
  assert_int_equal(renameat(spool.dirfd, "jobs", spool.dirfd, "none"), 0);
  assert_null(dx_spool_names(&spool, DX_SPOOL_JOBS, &err));
  assert_int_equal(err.code, DX_E_NOT_FOUND);
}

/* Moves the job that it visits to the next part, as docextractd may. */
static enum dx_code move_on(void *seen, enum dx_spool_part part,
                            const char *name)
{
  char line[DX_RECEIPT_BYTES + 8];
  struct dx_job *job;

  (void)snprintf(line, sizeof(line), "%d%.*s ", (int)part, DX_KEY_BYTES - 1,
                 name);
  (void)strcat(seen, line);
  if (part == DX_SPOOL_RECEIVED) {
    job = receipt();
    assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
    dx_job_free(&job);
  } else if (part == DX_SPOOL_JOBS) {
    assert_int_equal(
        renameat(spool.dirfd, "jobs/" KEY, spool.dirfd, "finished/" KEY), 0);
  }
  return DX_OK;
}

static enum dx_code count_and_fail(void *count, enum dx_spool_part part,
                                   const char *name)
{
  (void)part;
  (void)name;
  ++*(int *)count;
  return DX_E_STOPPED;
}

static void job_that_moves_is_not_missed(void **state)
{
  char seen[128] = "";
  int count = 0;

  (void)state;
  commit("D", false);
  assert_int_equal(
      dx_spool_each(&spool, DX_SPOOL_RECEIVED, move_on, seen, &err), DX_OK);
  assert_string_equal(seen, "0" KEY " 1" KEY " 2" KEY " ");
  seen[0] = '\0';
  assert_int_equal(
      dx_spool_each(&spool, DX_SPOOL_FINISHED, move_on, seen, &err), DX_OK);
  assert_string_equal(seen, "2" KEY " ");
  commit("D", false);
  assert_int_equal(
      dx_spool_each(&spool, DX_SPOOL_RECEIVED, count_and_fail, &count, &err),
      DX_E_STOPPED);
  assert_int_equal(count, 1);
  assert_int_equal(renameat(spool.dirfd, "jobs", spool.dirfd, "none"), 0);
  assert_int_equal(dx_spool_each(&spool, DX_SPOOL_JOBS, move_on, seen, &err),
                   DX_E_NOT_FOUND);
}

static enum dx_code list_part(void *parts, enum dx_spool_part part,
                              const char *name)
{
  (void)name;
  (void)strcat(parts, part == DX_SPOOL_RECEIVED ? "received " : "jobs ");
  return DX_OK;
}

/* What was stored while docextractd was down is shown. */
static void receipt_is_visited_until_its_job_exists(void **state)
{
  char parts[64] = "", name[DX_RECEIPT_BYTES];
  struct dx_job *job;

  (void)state;
  commit("D", false);
  assert_int_equal(
      dx_spool_each(&spool, DX_SPOOL_RECEIVED, list_part, parts, &err), DX_OK);
  assert_string_equal(parts, "received ");
  job = receipt();
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  dx_job_free(&job);
  commit("D", false);
  assert_int_equal(names_in(DX_SPOOL_RECEIVED, name), 1);
  parts[0] = '\0';
  assert_int_equal(
      dx_spool_each(&spool, DX_SPOOL_RECEIVED, list_part, parts, &err), DX_OK);
  assert_string_equal(parts, "jobs ");
  assert_int_equal(
      renameat(spool.dirfd, "jobs/" KEY, spool.dirfd, "finished/" KEY), 0);
  parts[0] = '\0';
  assert_int_equal(
      dx_spool_each(&spool, DX_SPOOL_RECEIVED, list_part, parts, &err), DX_OK);
  assert_string_equal(parts, "received jobs "); /* the latter is not */
}

static void key_depends_on_the_print_job_alone(void **state)
{
  static const struct {
    const char *uuid, *id;
    int64_t time;
  } rows[] = {{"urn:1", "17", 1}, {"urn:2", "17", 1}, {"urn:1", "18", 1},
              {"urn:1", "17", 2}, {"urn:11", "7", 1}, {"urn:1", "1", 71}};
  char keys[6][DX_KEY_BYTES], again[DX_KEY_BYTES];
  size_t i, k;

  (void)state;
  for (i = 0; i < 6; i++) {
    assert_true(dx_spool_key(rows[i].uuid, rows[i].id, rows[i].time, keys[i]));
    assert_true(dx_is_key(keys[i]));
    for (k = 0; k < i; k++)
      assert_string_not_equal(keys[i], keys[k]);
  }
  assert_true(dx_spool_key("urn:1", "17", 1, again));
  assert_string_equal(again, keys[0]);
}

/* What another user prints, or for another service, is another print job, even
 * if its client has copied the job-uuid. */
static void content_is_that_of_one_user_and_service(void **state)
{
  struct dx_job *job = receive("D", false);
  char **const texts[] = {&job->uuid, &job->user, &job->service};
  char before[DX_KEY_BYTES];
  size_t i;

  (void)state;
  job->uuid = strdup("urn:1");
  job->user = strdup("ann");
  assert_int_equal(dx_job_set_content(job, &err), DX_OK);
  assert_true(dx_is_key(job->content));
  for (i = 0; i < 3; i++) {
    memcpy(before, job->content, sizeof(before));
    free(*texts[i]);
    *texts[i] = strdup("other");
    assert_int_equal(dx_job_set_content(job, &err), DX_OK);
    assert_string_not_equal(job->content, before);
  }
  dx_job_free(&job);
}

/* ---- modes, the lock ---- */

static int mode_of(const char *path)
{
  struct stat st;

  assert_int_equal(fstatat(spool.dirfd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
  return (int)(st.st_mode & 07777);
}

/* Its user tries again, with the same struct. */
static void spool_that_cannot_be_opened_is_closed(void **state)
{
  struct dx_spool broken;

  (void)state;
  assert_int_equal(unlinkat(spool.dirfd, "history", AT_REMOVEDIR), 0);
  assert_int_equal(symlinkat(".", spool.dirfd, "history"), 0);
  assert_int_not_equal(dx_spool_open(dir, &broken, &err), DX_OK);
  assert_int_equal(broken.dirfd, -1);
}

static void spool_is_private(void **state)
{
  static const char *const names[] = {"incoming", "received", "jobs",
                                      "finished", "damaged",  "history"};
  struct dx_spool second;
  mode_t before = umask(0);
  size_t i;
  int fd;

  (void)state;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    assert_int_equal(mode_of(names[i]), 0700);
  dx_job_free(&(struct dx_job *){pick_up("D", false)});
  fd = dx_spool_hold_lock(&spool, &err);
  assert_true(fd >= 0);
  (void)close(fd);
  (void)umask(before);
  assert_int_equal(mode_of("jobs/" KEY), 0700);
  assert_int_equal(mode_of("jobs/" KEY "/job.json"), 0600);
  assert_int_equal(mode_of("jobs/" KEY "/document-0001"), 0600);
  assert_int_equal(mode_of("docextractd.lock"), 0600);
  assert_int_equal(dx_spool_open(dir, &second, &err), DX_OK); /* again */
  dx_spool_close(&second);
  assert_int_equal(second.dirfd, -1);
}

static void incomplete_history_is_removed_with_the_lock(void **state)
{
  int fd = openat(spool.history_dirfd, ".counts.0123456789abcdef",
                  O_WRONLY | O_CREAT, 0600);

  (void)state;
  assert_int_equal(close(fd), 0);
  assert_int_equal(entries("history"), 1);
  fd = dx_spool_hold_lock(&spool, &err);
  assert_true(fd >= 0);
  assert_int_equal(entries("history"), 0);
  (void)close(fd);
}

static void only_one_process_holds_the_lock(void **state)
{
  int ready[2], end[2], status;
  char byte;
  pid_t child;

  (void)state;
  assert_int_equal(dx_spool_daemon(spool.dirfd), 0);
  assert_int_equal(pipe(ready), 0);
  assert_int_equal(pipe(end), 0);
  child = fork();
  if (child == 0) {
    (void)close(end[1]);
    if (dx_spool_hold_lock(&spool, &err) < 0 || write(ready[1], "", 1) != 1)
      _exit(1);
    (void)!read(end[0], &byte, 1);
    _exit(0);
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(dx_spool_daemon(spool.dirfd), child);
  assert_int_equal(dx_spool_hold_lock(&spool, &err), -1);
  assert_int_equal(err.code, DX_E_BUSY);
  (void)close(end[1]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(dx_spool_daemon(spool.dirfd), 0); /* only a file is left */
  assert_int_equal(dx_spool_daemon(-1), 0);
  (void)close(ready[0]);
  (void)close(ready[1]);
  (void)close(end[0]);
}

/* ---- one word for people ---- */

static void job_that_needs_a_decision_reports_it(void **state)
{
  struct dx_job *job = receive("DD", false);

  (void)state;
  bring(&job->submissions[0], 'u');
  assert_string_equal(dx_job_status(job), "stored"); /* the least advanced */
  job->print.undecided = true;
  assert_string_equal(dx_job_status(job), "undecided");
  dx_job_end(job, DX_EV_CANCEL);
  assert_string_equal(dx_job_status(job), "canceled");
  dx_spool_discard(&spool, &job);
}

static void halt_is_reported(void **state)
{
  struct dx_job *job = receive("D", false);

  (void)state;
  dx_job_set_problem(job, DX_E_TOKEN, "the token was refused", 0);
  job->is_halted = true;
  dx_job_set_problem(job, DX_OK, "", 0); /* nothing solves it */
  assert_int_equal(dx_job_outcome(job, &err), DX_E_TOKEN);
  assert_string_equal(err.text, "the token was refused");
  dx_spool_discard(&spool, &job);
}

static void grouped_documents_are_extracted_all_or_none(void **state)
{
  struct dx_job *job = receive("SDRD", true);

  (void)state;
  assert_int_equal(job->submission_count, 1);
  assert_int_equal(job->submissions[0].file_count, 3);
  assert_int_equal(job->submissions[0].state, DX_ST_REFUSED);
  assert_int_equal(dx_job_outcome(job, &err), DX_E_DOCUMENT);
  assert_non_null(strstr(err.text, "password-protected"));
  dx_spool_discard(&spool, &job);
}

static void outcome_names_the_first_failure(void **state)
{
  struct dx_job *job = receive("DRD", false);

  (void)state;
  bring(&job->submissions[0], 'x');
  bring(&job->submissions[2], 'x');
  assert_int_equal(dx_job_outcome(job, &err), DX_E_DOCUMENT);
  assert_string_equal(err.text, "2 of 3 documents extracted; document 2: it "
                                "is password-protected; open it with its "
                                "password, and print it from there");
  dx_spool_discard(&spool, &job);
  job = receive("S", false);
  assert_int_equal(dx_job_outcome(job, &err), DX_E_MISSING);
  assert_string_equal(err.text, "nothing to submit");
  dx_spool_discard(&spool, &job);
}

/* CUPS may have lost its copy, or may never run the job again. */
static void bytes_stay_until_the_submission_is_settled(void **state)
{
  static const char letters[] = "xrusfck"; /* as bring() has them; k canceled */
  struct dx_job *job = pick_up("DDDDDDD", false);
  char name[DX_FILE_NAME_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < 6; i++)
    bring(&job->submissions[i], letters[i]);
  dx_submission_end(&job->submissions[6], DX_EV_CANCEL, DX_E_CANCELED, "");
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  for (i = 0; i < 7; i++) {
    dx_document_file(i, name);
    assert_int_equal(faccessat(job->dirfd, name, F_OK, 0),
                     strchr("xk", letters[i]) != NULL ? -1 : 0);
    assert_true(job->documents[i].is_here ==
                (strchr("xk", letters[i]) == NULL));
  }
  assert_int_equal(entries("jobs"), 1);
  assert_int_equal(entries("finished"), 0);
  dx_job_free(&job);
}

/* ---- names and files in the results directory ---- */

static void ids_do_not_escape_the_directory_or_collide(void **state)
{
  static char huge[600];
  const char *ids[] = {"a",      "b",   "a-b",   "a_b",      ".",   "..",
                       "../x",   "a/b", "a%2Fb", "\xc3\xa9", "a b", "-",
                       "a.json", "~a",  "%",     huge,       "A",   "c",
                       "b-c",    "b-a", "a-b-c"};
  char *names[21][21];
  size_t i, k, j, l;

  (void)state;
  memset(huge, 'x', sizeof(huge) - 1);
  for (i = 0; i < 21; i++)
    for (k = 0; k < 21; k++) {
      names[i][k] = dx_result_name(ids[i], ids[k]);
      assert_non_null(names[i][k]);
      assert_true(strlen(names[i][k]) <= 255);
      assert_null(strchr(names[i][k], '/'));
      assert_true(names[i][k][0] != '.');
    }
  for (i = 0; i < 21 * 21; i++)
    for (j = 0; j < i; j++) {
      k = i % 21;
      l = j % 21;
      if (strcmp(names[i / 21][k], names[j / 21][l]) == 0)
        fail_msg("'%s' twice", names[i / 21][k]);
    }
  for (i = 0; i < 21; i++)
    for (k = 0; k < 21; k++)
      free(names[i][k]);
}

/* Something may be appended to it. */
static void names_have_fewer_than_230_bytes(void **state)
{
  char source[129] = "", id[129] = "", *name;
  size_t i;

  (void)state;
  for (i = 0; i < 128; i++) {
    source[i] = id[i] = 'x';
    name = dx_result_name(source, id);
    assert_true(strlen(name) < 230);
    free(name);
  }
}

static void usual_ids_stay_readable(void **state)
{
  static const struct {
    const char *source, *case_id, *name;
  } rows[] = {
      {"01M7YAA2GG", "01M7YAA2GW", "01M7YAA2GG-01M7YAA2GW.json"},
      {"1b4e28ba-2fa1-11d2-883f-0016d3cca427",
       "6fa459ea-ee8a-3ca4-894e-db77e160355e",
       "1b4e28ba-2fa1-11d2-883f-0016d3cca427-"
       "6fa459ea-ee8a-3ca4-894e-db77e160355e.json"},
      {"s_1", "../c", "s_1-%2E%2E%2Fc.json"},
      {"s-1", "c", "s-1~c.json"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char *name = dx_result_name(rows[i].source, rows[i].case_id);

    assert_string_equal(name, rows[i].name);
    free(name);
  }
}

static void result_is_delivered_completely_with_its_mode(void **state)
{
  struct dx_job *job = pick_up("D", false);
  struct dx_submission *sub = &job->submissions[0];
  char results[64], path[200];
  struct stat st;

  (void)state;
  (void)umask(077);
  bring(sub, 'c');
  (void)snprintf(results, sizeof(results), "%s/results", dir);
  assert_int_equal(dx_results_prepare(results, &err), DX_OK);
  assert_int_equal(dx_fs_write(job->dirfd, "result-0001-00001.json", "{}", 2,
                               0600, false, &err),
                   DX_OK);
  dx_sha256_of("[]", 2, sub->cases[0].sha256);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_E_DAMAGED);
  assert_int_equal(entries("results"), 0);
  dx_sha256_of("{}", 2, sub->cases[0].sha256);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  fatal_errno = EIO; /* it is there, but perhaps not durable */
  fatal_step = 1;
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_E_UNSYNCED);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  /* The manifest of an earlier attempt without a source is removed. */
  (void)snprintf(path, sizeof(path), "%s/" KEY "-1.job.json", results);
  (void)close(open(path, O_WRONLY | O_CREAT, 0600));
  assert_int_equal(entries("results"), 2);
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  assert_int_equal(entries("results"), 2);
  assert_int_equal(access(path, F_OK), -1);
  (void)snprintf(path, sizeof(path), "%s/SOURCE-case_1.json", results);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0640);
  assert_int_equal(stat(results, &st), 0);
  assert_int_equal(st.st_mode & 07777, 02770);
  dx_job_free(&job);
}

/* ---- planning, outcome, tries ---- */

static void plan_has_no_submission_for_a_sheet(void **state)
{
  static const struct {
    const char *places;
    bool together;
    const char *want; /* a state per submission */
  } rows[] = {{"D", false, "s"},  {"DDD", false, "sss"}, {"SDS", false, "s"},
              {"S", false, ""},   {"DRM", false, "sRR"}, {"M", false, "R"},
              {"DDD", true, "s"}, {"SDD", true, "s"},    {"DR", true, "R"},
              {"DM", true, "R"},  {"D", true, "s"},      {"S", true, ""},
              {"SSDS", true, "s"}};
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_job *job = receive(rows[i].places, rows[i].together);

    assert_int_equal(job->submission_count, strlen(rows[i].want));
    for (k = 0; k < job->submission_count; k++)
      if (letter_of(&job->submissions[k]) != rows[i].want[k])
        fail_msg("'%s': %c", rows[i].places, letter_of(&job->submissions[k]));
    dx_spool_discard(&spool, &job);
  }
}

static void every_final_state_has_its_outcome(void **state)
{
  static const struct {
    const char *places, *states;
    enum dx_code code;
  } rows[] = {{"DD", "xx", DX_OK},        {"DD", "xf", DX_E_REFUSED},
              {"DM", "xR", DX_E_MISSING}, {"RM", "RR", DX_E_DOCUMENT},
              {"DD", "xu", DX_E_STOPPED}, {"D", "s", DX_E_STOPPED},
              {"SD", "x", DX_OK},         {"S", "", DX_E_MISSING}};
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_job *job = receive(rows[i].places, false);

    for (k = 0; k < job->submission_count; k++)
      bring(&job->submissions[k], rows[i].states[k]);
    if (dx_job_outcome(job, &err) != rows[i].code)
      fail_msg("row %zu: %s", i, dx_code_name(dx_job_outcome(job, &err)));
    dx_spool_discard(&spool, &job);
  }
}

static void single_document_is_not_a_group(void **state)
{
  struct dx_job *job = receive("SR", true);

  (void)state;
  (void)dx_job_outcome(job, &err);
  assert_null(strstr(err.text, "together"));
  dx_spool_discard(&spool, &job);
}

static void results_are_removed_with_extracted_documents(void **state)
{
  struct dx_job *job = pick_up("DD", false);

  (void)state;
  bring(&job->submissions[0], 'x');
  bring(&job->submissions[1], 'c');
  assert_int_equal(dx_fs_write(job->dirfd, "result-0001-00001.json", "{}", 2,
                               0600, false, &err),
                   DX_OK);
  assert_int_equal(dx_fs_write(job->dirfd, "result-0002-00001.json", "{}", 2,
                               0600, false, &err),
                   DX_OK);
  assert_int_equal(dx_job_delete_documents(job, &err), DX_OK);
  assert_int_equal(faccessat(job->dirfd, "result-0001-00001.json", F_OK, 0),
                   -1);
  assert_int_equal(faccessat(job->dirfd, "result-0002-00001.json", F_OK, 0), 0);
  dx_job_free(&job);
}

static void job_has_ended_when_the_last_submission_has(void **state)
{
  struct dx_job *job = pick_up("DR", false);

  (void)state;
  bring(&job->submissions[0], 'E');
  job->submissions[0].delivered_at = 5;
  assert_int_equal(dx_job_ended_at(job), 0); /* the other has no manifest */
  job->submissions[1].failed_at = 7;
  assert_int_equal(dx_job_ended_at(job), 7);
  job->submissions[0].delivered_at = 9;
  assert_int_equal(dx_job_ended_at(job), 9);
  dx_job_free(&job);
}

static void only_delivered_cases_are_kept(void **state)
{
  static char ids[][3] = {"C1", "C2"};
  char *both[] = {ids[0], ids[1]};
  struct dx_job *job = pick_up("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  assert_int_equal(dx_submission_set_cases(sub, both, 2, &err), DX_OK);
  sub->cases[0].state = DX_CASE_STORED;
  sub->cases[1].state = DX_CASE_DELIVERED;
  assert_int_equal(dx_submission_set_cases(sub, both, 2, &err), DX_OK);
  assert_int_equal(sub->cases[0].state, DX_CASE_WAITING);
  assert_int_equal(sub->cases[1].state, DX_CASE_DELIVERED);
  dx_job_free(&job);
}

static void message_changes_with_the_time_of_the_next_try(void **state)
{
  struct dx_job *job = dx_job_new();

  (void)state;
  dx_job_set_problem(job, DX_E_NET, "no network", 1);
  job->behind = false;
  dx_job_set_problem(job, DX_E_NET, "no network", 1);
  assert_false(job->behind);
  dx_job_set_problem(job, DX_E_NET, "no network", 2);
  assert_true(job->behind);
  assert_int_equal(job->problem.retry_at, 2);
  dx_job_free(&job);
}

/* A job with two documents in progress. */
static struct dx_job *make_two(void)
{
  struct dx_job *job = dx_job_new();
  size_t i;

  assert_non_null(job);
  job->documents = calloc(2, sizeof(*job->documents));
  assert_non_null(job->documents);
  job->document_count = 2;
  for (i = 0; i < 2; i++)
    job->documents[i].entry.kind = DX_KIND_DOCUMENT;
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  job->dirty = job->behind = false;
  return job;
}

static void problem_shown(const struct dx_job *job, const char *text)
{
  assert_string_equal(dx_line(dx_job_problem(job)->text), text);
}

static void success_of_one_document_keeps_the_problem_of_another(void **state)
{
  struct dx_job *job = make_two();
  struct dx_submission *subs = job->submissions;

  (void)state;
  problem_shown(job, "");
  dx_submission_set_problem(&subs[0], DX_E_NET, "no network", 7);
  assert_true(job->behind);
  dx_submission_set_problem(&subs[1], DX_OK, "", 0);
  problem_shown(job, "no network");
  assert_int_equal(dx_job_problem(job)->retry_at, 7);
  dx_submission_end(&subs[1], DX_EV_REFUSE, DX_E_REFUSED, "refused");
  problem_shown(job, "no network");
  dx_submission_set_problem(&subs[0], DX_OK, "", 0);
  problem_shown(job, "");
  assert_int_equal(dx_job_problem(job)->code, DX_OK);
  dx_job_free(&job);
}

/* Nothing is tried again. */
static void final_submission_has_no_problem(void **state)
{
  static const enum dx_event events[] = {DX_EV_FAIL, DX_EV_REFUSE, DX_EV_CANCEL,
                                         DX_EV_EXPIRE};
  struct dx_submission *sub;
  struct dx_job *job;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
    job = make_two();
    sub = &job->submissions[0];
    dx_submission_set_problem(sub, DX_E_NET, "no network", 7);
    dx_submission_end(sub, events[i], DX_E_CANCELED, "over");
    problem_shown(job, "");
    assert_int_equal(sub->problem.code, DX_OK);
    assert_int_equal(sub->problem.since_at, 0);
    assert_int_equal(sub->problem.retry_at, 0);
    dx_job_free(&job);
  }
}

/* First the one that an administrator must solve, then the latest. */
static void most_important_problem_is_that_of_the_job(void **state)
{
  struct dx_job *job = make_two();
  struct dx_submission *subs = job->submissions;

  (void)state;
  dx_submission_set_problem(&subs[0], DX_E_NET, "first", 0);
  dx_submission_set_problem(&subs[1], DX_E_SERVER, "second", 0);
  subs[0].problem.since_at = 1000;
  subs[1].problem.since_at = 2000;
  problem_shown(job, "second");
  subs[0].problem.since_at = 3000;
  problem_shown(job, "first");
  dx_submission_set_problem(&subs[1], DX_E_TOKEN, "admin", 0);
  problem_shown(job, "admin");
  subs[1].problem.since_at = 4000;
  dx_submission_set_problem(&subs[0], DX_E_CERT, "certificate", 0);
  problem_shown(job, "admin");
  subs[0].problem.since_at = 5000;
  problem_shown(job, "certificate");
  dx_submission_set_problem(&subs[1], DX_E_NET, "outage", 0);
  subs[1].problem.since_at = 6000;
  problem_shown(job, "certificate");
  dx_job_set_problem(job, DX_E_SPACE, "disk", 0);
  problem_shown(job, "disk");
  dx_job_set_problem(job, DX_OK, "", 0);
  problem_shown(job, "certificate");
  dx_job_free(&job);
}

/* The next failure of the same call may have another text. */
static void problem_has_its_first_time(void **state)
{
  struct dx_job *job = make_two();
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  dx_submission_set_problem(sub, DX_E_NET, "no network", 1);
  assert_true(sub->problem.since_at > 0);
  sub->problem.since_at = 1000;
  dx_submission_set_problem(sub, DX_E_SERVER, "status 503", 2);
  assert_int_equal(sub->problem.since_at, 1000);
  dx_submission_set_problem(sub, DX_OK, "", 0);
  assert_int_equal(sub->problem.since_at, 0);
  dx_submission_set_problem(sub, DX_E_SERVER, "status 503", 2);
  assert_true(sub->problem.since_at > 1000);
  job->behind = false;
  dx_submission_set_problem(sub, DX_E_SERVER, "status 503", 2);
  assert_false(job->behind);
  dx_submission_set_problem(sub, DX_E_SERVER, "status 503", 3);
  assert_true(job->behind);
  dx_job_free(&job);
}

static void some_problems_need_an_administrator(void **state)
{
  static const struct {
    enum dx_code code;
    bool needs_admin;
  } rows[] = {
      {DX_E_CONFIG, true},   {DX_E_CERT, true},        {DX_E_PROTOCOL, true},
      {DX_E_REJECTED, true}, {DX_E_KEY, true},         {DX_E_TOKEN, true},
      {DX_E_DENIED, true},   {DX_OK, false},           {DX_E_NET, false},
      {DX_E_SERVER, false},  {DX_E_RESPONSE, false},   {DX_E_RATE, false},
      {DX_E_OVERDUE, false}, {DX_E_UNEXPECTED, false}, {DX_E_SPACE, false},
      {DX_E_REFUSED, false}, {DX_E_URL, true},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const struct dx_problem problem = {.code = rows[i].code};

    if (dx_problem_needs_admin(&problem) != rows[i].needs_admin)
      fail_msg("%s", dx_code_name(rows[i].code));
  }
}

static void retry_resets_the_tries(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  sub->start_overs = 3;
  sub->lost_creates = 3;
  sub->reregistrations = 3;
  sub->failing_since = 3;
  bring(sub, 'n');
  job->seen = true;
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(sub->state, DX_ST_STORED);
  assert_int_equal(sub->failing_since, 0);
  assert_false(sub->verify);
  assert_false(job->seen); /* its next failure is not acknowledged */
  assert_int_equal(sub->start_overs + sub->lost_creates + sub->reregistrations,
                   0);
  assert_null(sub->source_id);
  assert_null(sub->files[0].url);
  assert_int_equal(sub->files[0].put, DX_PUT_NONE);
  dx_spool_discard(&spool, &job);
}

/* And its source is kept if data may have arrived there. */
static void retry_keeps_an_uploaded_source(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'f');
  sub->start_overs = sub->lost_creates = sub->reregistrations = 3;
  sub->files[0].put = DX_PUT_SENDING;
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(sub->state, DX_ST_UPLOADED);
  assert_true(sub->verify);
  assert_int_equal(sub->start_overs + sub->lost_creates + sub->reregistrations,
                   0);
  assert_string_equal(sub->source_id, "SOURCE");
  assert_int_equal(sub->files[0].put, DX_PUT_SENDING); /* unknown */
  assert_int_equal(sub->code, DX_OK);
  assert_string_equal(dx_line(sub->reason), "");
  assert_int_equal(dx_submission_retry(sub, &err), DX_E_STATE);
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_PENDING, &err), DX_OK);
  assert_true(sub->verify);
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_PROCESSING, &err),
                   DX_OK);
  assert_false(sub->verify);
  assert_int_equal(sub->files[0].put, DX_PUT_DONE);
  dx_spool_discard(&spool, &job);
}

static void retry_of_an_expired_submission_polls_its_source(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'u');
  dx_job_end(job, DX_EV_EXPIRE);
  assert_int_equal(sub->state, DX_ST_EXPIRED);
  assert_true(dx_submission_needs_verify(sub));
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(sub->state, DX_ST_UPLOADED);
  assert_true(sub->verify);
  dx_spool_discard(&spool, &job);
}

static void retry_of_a_canceled_submission_does_not_poll(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'u');
  assert_false(dx_submission_needs_verify(sub));
  dx_job_end(job, DX_EV_CANCEL);
  assert_false(dx_submission_needs_verify(sub));
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(sub->state, DX_ST_STORED);
  assert_null(sub->source_id);
  dx_spool_discard(&spool, &job);
}

/* The service reported "failed": these tries are still counted. */
static void starting_over_keeps_the_tries(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'u');
  sub->start_overs = 2;
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_FAILED, &err), DX_OK);
  assert_int_equal(sub->start_overs, 2);
  assert_null(sub->source_id);
  assert_int_equal(sub->uploaded_at, 0);
  dx_spool_discard(&spool, &job);
}

/* A new one may not be visible yet. */
static void second_upload_does_not_make_a_source_new(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'u');
  sub->registered_at = 1;
  assert_int_equal(dx_submission_apply(sub, DX_EV_PUT_AGAIN, &err), DX_OK);
  assert_int_equal(sub->registered_at, 1);
  dx_spool_discard(&spool, &job);
}

static void upload_with_a_200_response_is_done(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'r');
  assert_int_equal(sub->files[0].put, DX_PUT_SENDING);
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_PROCESSING, &err),
                   DX_OK);
  assert_int_equal(sub->files[0].put, DX_PUT_DONE);
  assert_int_not_equal(sub->uploaded_at, 0);
  dx_spool_discard(&spool, &job);
}

int main(void)
{
#define IN_SPOOL(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      IN_SPOOL(committed_receipt_is_found),
      IN_SPOOL(spool_one_level_too_deep_is_refused),
      IN_SPOOL(every_run_leaves_a_receipt_of_its_own),
      IN_SPOOL(receipts_are_listed_oldest_first),
      IN_SPOOL(killed_commit_leaves_a_whole_receipt_or_none),
      IN_SPOOL(failed_commit_can_be_repeated),
      IN_SPOOL(received_document_is_private_and_durable),
      IN_SPOOL(job_being_received_is_not_swept),
      IN_SPOOL(picked_up_receipt_is_the_job),
      IN_SPOOL(known_job_is_not_replaced),
      IN_SPOOL(receipt_is_in_one_place_during_pick_up),
      IN_SPOOL(file_that_is_not_on_the_disk_gets_no_name),
      IN_SPOOL(alias_is_durable_before_the_job),
      IN_SPOOL(unsynced_name_is_not_relied_on),
      IN_SPOOL(finished_job_is_moved_and_still_found),
      IN_SPOOL(job_that_is_reopened_meanwhile_is_not_damaged),
      IN_SPOOL(incomplete_journal_of_a_finished_job_is_removed),
      IN_SPOOL(documents_stay_as_long_as_the_journal_needs_them),
      IN_SPOOL(job_is_found_during_a_move),
      IN_SPOOL(incomplete_job_is_never_found),
      IN_SPOOL(interrupted_removal_does_not_block_another),
      IN_SPOOL(job_is_removed_although_that_is_not_durable),
      IN_SPOOL(merged_receipt_is_removed_as_a_whole),
      IN_SPOOL(unreadable_job_stays_until_it_is_moved),
      IN_SPOOL(jobs_can_be_moved_to_damaged_in_the_same_millisecond),
      IN_SPOOL(only_damaged_jobs_can_be_moved_to_damaged),
      IN_SPOOL(journal_of_another_job_is_damaged),
      IN_SPOOL(link_is_not_a_job),
      IN_SPOOL(link_is_not_a_lock),
      IN_SPOOL(invalid_name_is_not_a_job),
      IN_SPOOL(unreadable_directory_does_not_mean_that_there_is_no_job),
      IN_SPOOL(only_a_link_to_a_key_is_an_alias),
      IN_SPOOL(with_an_unreadable_directory_no_job_is_picked_up),
      IN_SPOOL(only_jobs_are_listed),
      IN_SPOOL(job_that_moves_is_not_missed),
      IN_SPOOL(receipt_is_visited_until_its_job_exists),
      IN_SPOOL(key_depends_on_the_print_job_alone),
      IN_SPOOL(content_is_that_of_one_user_and_service),
      IN_SPOOL(spool_that_cannot_be_opened_is_closed),
      IN_SPOOL(spool_is_private),
      IN_SPOOL(incomplete_history_is_removed_with_the_lock),
      IN_SPOOL(only_one_process_holds_the_lock),
      IN_SPOOL(job_that_needs_a_decision_reports_it),
      IN_SPOOL(halt_is_reported),
      IN_SPOOL(grouped_documents_are_extracted_all_or_none),
      IN_SPOOL(outcome_names_the_first_failure),
      IN_SPOOL(bytes_stay_until_the_submission_is_settled),
      cmocka_unit_test(ids_do_not_escape_the_directory_or_collide),
      cmocka_unit_test(names_have_fewer_than_230_bytes),
      cmocka_unit_test(usual_ids_stay_readable),
      IN_SPOOL(result_is_delivered_completely_with_its_mode),
      IN_SPOOL(plan_has_no_submission_for_a_sheet),
      IN_SPOOL(every_final_state_has_its_outcome),
      IN_SPOOL(single_document_is_not_a_group),
      IN_SPOOL(results_are_removed_with_extracted_documents),
      IN_SPOOL(job_has_ended_when_the_last_submission_has),
      IN_SPOOL(only_delivered_cases_are_kept),
      IN_SPOOL(message_changes_with_the_time_of_the_next_try),
      IN_SPOOL(success_of_one_document_keeps_the_problem_of_another),
      IN_SPOOL(final_submission_has_no_problem),
      IN_SPOOL(most_important_problem_is_that_of_the_job),
      IN_SPOOL(problem_has_its_first_time),
      IN_SPOOL(some_problems_need_an_administrator),
      IN_SPOOL(retry_resets_the_tries),
      IN_SPOOL(retry_keeps_an_uploaded_source),
      IN_SPOOL(retry_of_an_expired_submission_polls_its_source),
      IN_SPOOL(retry_of_a_canceled_submission_does_not_poll),
      IN_SPOOL(starting_over_keeps_the_tries),
      IN_SPOOL(second_upload_does_not_make_a_source_new),
      IN_SPOOL(upload_with_a_200_response_is_done),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
