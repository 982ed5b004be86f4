/*
 * test_spool.c - jobs on disk: received, committed, taken, merged with a new
 * run of the same job, set aside, swept.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/spool/merge.h"
#include "lib/spool/results.h"
#include "lib/spool/spool.h"
#include "lib/spool/sweep.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define DAY_MS 86400000LL

static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool;
static struct dx_err err;

static int start(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0)
    return -1;
  return dx_spool_open(dir, &spool, &err) == DX_OK ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  dx_spool_close(&spool);
  return temp_dir_remove(dir);
}

/* One letter per place: D a PDF, E another PDF, T a text that became a PDF,
 * U the same text at another time, V one with another page, S a sheet, R
 * refused, M missing. */
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
  (void)strcpy(e->origin, strchr("TUV", letter) != NULL ? "text/plain"
                                                        : "application/pdf");
  (void)strcpy(e->name, "chart.pdf");
  e->pages = letter == 'V' ? 2 : 1;
  e->length = 1;
  (void)dx_sha256_of(&letter, 1, e->sha256);
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
      int fd = dx_spool_create_document(job, i, &err);

      assert_true(fd >= 0);
      assert_int_equal(write(fd, &letters[i], 1), 1);
      (void)close(fd);
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

static struct dx_job *commit(const char *letters, bool together)
{
  struct dx_job *job = receive(letters, together);

  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  return job;
}

static struct dx_job *take(void)
{
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;

  assert_int_equal(dx_spool_take(&spool, KEY, &job, &holder, &owner, &err),
                   DX_OK);
  return job;
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

static void a_committed_job_is_found_as_it_was(void **state)
{
  struct dx_job *job = commit("DSR", false);
  char before[16384], after[16384];
  struct dx_buf text = {0};

  (void)state;
  assert_int_equal(entries("incoming"), 0);
  bring(&job->submissions[0], 'c');
  job->submissions[0].lost_creates = 2;
  job->submissions[0].url_until_ms = 1700000000123;
  (void)strcpy(job->submissions[0].cases[0].sha256, "ab");
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(
      dx_fs_read(job->dirfd, "job.json", sizeof(before), &text, &err), DX_OK);
  (void)snprintf(before, sizeof(before), "%s", dx_buf_text(&text));
  dx_buf_release(&text);
  dx_job_free(&job);
  job = take();
  assert_string_equal(job->title, "a title");
  assert_null(job->user);
  assert_int_equal(job->submissions[0].lost_creates, 2);
  assert_int_equal(job->submissions[0].url_until_ms, 1700000000123);
  assert_true(job->documents[0].is_here);
  assert_int_equal(job->documents[2].entry.reason, DX_REASON_PASSWORD);
  assert_int_equal(job->submission_count, 2); /* a sheet is not sent */
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(
      dx_fs_read(job->dirfd, "job.json", sizeof(after), &text, &err), DX_OK);
  (void)snprintf(after, sizeof(after), "%s", dx_buf_text(&text));
  dx_buf_release(&text);
  assert_string_equal(before, after);
  dx_job_free(&job);
}

static void a_second_commit_of_the_same_key_fails(void **state)
{
  struct dx_job *first = commit("D", false);
  struct dx_job *second = receive("D", false);

  (void)state;
  assert_int_equal(dx_spool_commit(&spool, second, &err), DX_E_EXISTS);
  dx_spool_discard(&spool, &second);
  assert_int_equal(entries("incoming"), 0);
  assert_int_equal(entries("jobs"), 1);
  dx_job_free(&first);
}

static void one_process_holds_a_job_and_is_reported(void **state)
{
  struct dx_job *job = commit("D", false);
  pid_t child = fork();
  int status;

  (void)state;
  if (child == 0) {
    struct dx_job *mine = NULL;
    enum dx_owner owner = DX_OWNER_COUNT;
    pid_t holder = 0;
    enum dx_code code =
        dx_spool_take(&spool, KEY, &mine, &holder, &owner, &err);

    _exit(code == DX_E_BUSY && holder == getppid() && owner == DX_OWNER_CUPS
              ? 0
              : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  dx_job_free(&job);
}

static void a_damaged_journal_leaves_its_job_where_it_is(void **state)
{
  static const char *const journals[] = {
      "",
      "{}",
      "{\"schema\":1}",
      "not json",
      "{\"schema\":2,\"key\":\"" KEY "\"}",
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(journals) / sizeof(journals[0]); i++) {
    struct dx_job *job = commit("D", false);
    enum dx_owner owner;
    pid_t holder;

    assert_int_equal(dx_fs_replace(job->dirfd, "job.json", journals[i],
                                   strlen(journals[i]), 0600, &err),
                     DX_OK);
    dx_job_free(&job);
    assert_int_equal(dx_spool_take(&spool, KEY, &job, &holder, &owner, &err),
                     DX_E_DAMAGED);
    assert_int_equal(entries("jobs/" KEY), 3);
    assert_int_equal(dx_spool_count_damaged(&spool), i);
    assert_int_equal(dx_spool_set_aside(&spool, KEY, &err), DX_OK);
    assert_int_equal(entries("jobs"), 0);
    assert_int_equal(entries("damaged"), i + 1);
    assert_int_equal(dx_spool_count_damaged(&spool), i + 1);
  }
}

static void a_damaged_job_that_was_finished_is_set_aside_too(void **state)
{
  struct dx_job *job = commit("D", false);

  (void)state;
  assert_int_equal(dx_fs_replace(job->dirfd, "job.json", "{}", 2, 0600, &err),
                   DX_OK);
  dx_job_free(&job);
  assert_int_equal(
      dx_fs_rename_dir(spool.dirfd, "jobs/" KEY, "finished/" KEY, &err), DX_OK);
  assert_int_equal(dx_spool_set_aside(&spool, KEY, &err), DX_OK);
  assert_int_equal(entries("finished"), 0);
  assert_int_equal(entries("damaged"), 1);
}

static void peeking_at_a_damaged_job_reports_it_and_leaves_it(void **state)
{
  struct dx_job *job = commit("D", false);
  pid_t holder;

  (void)state;
  assert_int_equal(dx_fs_replace(job->dirfd, "job.json", "{}", 2, 0600, &err),
                   DX_OK);
  dx_job_free(&job);
  assert_int_equal(dx_spool_peek(&spool, KEY, &job, &holder, &err),
                   DX_E_DAMAGED);
  assert_int_equal(unlinkat(spool.dirfd, "jobs/" KEY "/job.json", 0), 0);
  assert_int_equal(dx_spool_peek(&spool, KEY, &job, &holder, &err),
                   DX_E_DAMAGED);
  assert_int_equal(entries("jobs"), 1);
  assert_int_equal(dx_spool_count_damaged(&spool), 0);
}

/*
 * before: places of the first run, and how far each submission came.
 * again:  places when cupsd runs the job again.
 * want:   the states afterwards; NULL: refused with `code`, nothing changed.
 */
static const struct {
  const char *before, *states, *again;
  const char *want;
  enum dx_code code;
} merges[] = {
    {"DDD", "xxx", "DDD", "xxx", DX_OK},
    {"DDD", "xus", "DDD", "xus", DX_OK},
    {"DDD", "xrc", "DDD", "xrc", DX_OK},
    {"DRD", "xRx", "DRD", "xRx", DX_OK},
    {"DRD", "xRx", "DDD", "xsx", DX_OK}, /* fixed: it is tried now */
    {"DM", "xR", "DD", "xs", DX_OK},     /* arrived this time */
    {"DD", "xx", "DM", "xx", DX_OK},     /* it came before */
    {"DD", "nx", "DD", "sx", DX_OK},     /* failed: tried again */
    {"DD", "nx", "ED", "sx", DX_OK},     /* nothing of it was sent */
    {"DD", "fx", "DD", "ux", DX_OK},     /* its source is asked first */
    {"DD", "fx", "MD", "ux", DX_OK},
    {"DD", "fx", "ED", NULL, DX_E_CHANGED}, /* something of it was sent */
    {"DD", "xs", "DE", "xs", DX_OK},        /* nothing of it was sent */
    {"D", "x", "E", NULL, DX_E_CHANGED},    /* another document */
    {"D", "u", "E", NULL, DX_E_CHANGED},
    {"D", "r", "E", NULL, DX_E_CHANGED},
    {"D", "x", "R", NULL, DX_E_CHANGED},
    {"D", "x", "S", NULL, DX_E_CHANGED},
    {"DD", "xs", "SD", NULL, DX_E_CHANGED},
    {"T", "x", "U", "x", DX_OK}, /* only the date differs */
    {"T", "u", "U", "u", DX_OK},
    {"D", "x", "T", NULL, DX_E_CHANGED},
    {"T", "x", "V", NULL, DX_E_CHANGED}, /* a page more */
};

static void a_job_that_is_run_again_continues(void **state)
{
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(merges) / sizeof(merges[0]); i++) {
    struct dx_job *old = commit(merges[i].before, false);
    struct dx_job *fresh;
    enum dx_code code;

    for (k = 0; k < old->submission_count; k++)
      bring(&old->submissions[k], merges[i].states[k]);
    assert_int_equal(dx_job_save(old, &err), DX_OK);
    fresh = receive(merges[i].again, false);
    code = dx_job_merge(&spool, old, &fresh, &err);
    if (code != merges[i].code)
      fail_msg("row %zu: %s", i, dx_code_name(code));
    dx_spool_discard(&spool, &fresh);
    dx_job_free(&old);
    old = take();
    for (k = 0; k < old->submission_count; k++) {
      char want = (merges[i].want ? merges[i].want : merges[i].states)[k];

      if (letter_of(&old->submissions[k]) != want)
        fail_msg("row %zu, place %zu: %c", i, k + 1,
                 letter_of(&old->submissions[k]));
      assert_int_equal(old->submissions[k].verify,
                       want == 'u' && merges[i].states[k] == 'f');
      /* The bytes of everything unsent are there. */
      if (want == 's' || old->submissions[k].verify)
        assert_true(
            old->documents[old->submissions[k].files[0].document].is_here);
    }
    assert_int_equal(entries("incoming"), 0);
    assert_int_equal(dx_fs_remove_tree(spool.dirfd, old->path, &err), DX_OK);
    dx_job_free(&old);
  }
}

static void a_renamed_section_goes_on_with_what_is_under_way(void **state)
{
  struct dx_job *old = commit("D", false);
  struct dx_job *fresh = receive("D", false);

  (void)state;
  bring(&old->submissions[0], 'u');
  free(fresh->service);
  fresh->service = strdup("lab");
  assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_OK);
  assert_string_equal(old->service, "lab");
  assert_int_equal(old->submissions[0].state, DX_ST_UPLOADED);
  dx_job_free(&old);
}

static void a_changed_base_url_waits_for_the_old_one(void **state)
{
  const char *letters;

  (void)state;
  for (letters = "ruf"; *letters != '\0'; letters++) {
    struct dx_job *old = commit("D", false);
    struct dx_job *fresh = receive("D", false);

    bring(&old->submissions[0], *letters);
    free(fresh->base_url);
    fresh->base_url = strdup("https://b");
    assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_E_CONFIG);
    dx_spool_discard(&spool, &fresh);
    assert_int_equal(dx_fs_remove_tree(spool.dirfd, old->path, &err), DX_OK);
    dx_job_free(&old);
  }
}

static void a_changed_grouping_is_not_matched(void **state)
{
  struct dx_job *old = commit("DD", true);
  struct dx_job *fresh = receive("DD", false);

  (void)state;
  assert_int_equal(old->submission_count, 1);
  bring(&old->submissions[0], 'x');
  assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_E_CHANGED);
  dx_spool_discard(&spool, &fresh);
  dx_job_free(&old);
}

static void together_is_all_or_nothing(void **state)
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

static void the_outcome_names_the_first_failure(void **state)
{
  struct dx_job *job = receive("DRD", false);

  (void)state;
  bring(&job->submissions[0], 'x');
  bring(&job->submissions[2], 'x');
  assert_int_equal(dx_job_outcome(job, &err), DX_E_DOCUMENT);
  assert_string_equal(err.text, "2 of 3 documents extracted; document 2: it "
                                "is password-protected");
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
  struct dx_job *job = commit("DDDDDDD", false);
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
  }
  assert_int_equal(entries("jobs"), 1);
  assert_int_equal(entries("finished"), 0);
  dx_job_free(&job);
}

static void a_finished_job_is_moved_and_still_found(void **state)
{
  struct dx_job *job = commit("DR", false);
  struct dx_job *fresh;
  pid_t holder;

  (void)state;
  bring(&job->submissions[0], 'x');
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_int_equal(entries("finished"), 0); /* one was refused */
  dx_job_cancel(job);
  assert_int_equal(job->submissions[0].state, DX_ST_EXTRACTED);
  assert_int_equal(job->submissions[1].state, DX_ST_CANCELED);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("finished/" KEY), 2); /* journal and lock */
  dx_job_free(&job);

  assert_int_equal(dx_spool_peek(&spool, KEY, &job, &holder, &err), DX_OK);
  dx_job_free(&job);
  fresh = receive("DR", false);
  assert_int_equal(dx_spool_commit(&spool, fresh, &err), DX_E_EXISTS);
  assert_int_equal(entries("jobs"), 0);
  job = take();
  assert_int_equal(dx_job_merge(&spool, job, &fresh, &err), DX_OK);
  assert_int_equal(entries("jobs"),
                   1); /* the refused one is unfinished again */
  assert_int_equal(entries("finished"), 0);
  dx_job_free(&job);
}

static void earlier_tries_count_when_the_job_is_run_again(void **state)
{
  struct dx_job *old = commit("DE", false);
  struct dx_job *fresh = receive("DE", false);
  struct dx_submission *sub = old->submissions;

  (void)state;
  sub[0].registering = true; /* then the process was killed */
  sub[0].lost_creates = 2;
  bring(&sub[1], 'n');
  sub[1].start_overs = 3;
  assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_OK);
  dx_job_free(&old);
  old = take();
  sub = old->submissions;
  assert_true(sub[0].registering);
  assert_int_equal(sub[0].lost_creates, 2);
  assert_int_equal(sub[1].state, DX_ST_STORED);
  assert_int_equal(sub[1].start_overs, 0); /* a person released it */
  dx_job_free(&old);
}

static struct dx_service only_service = {.name = (char *)(uintptr_t) "default",
                                         .keep_unfinished_ms = 30 * DAY_MS};
static struct dx_config config = {
    .keep_jobs_ms = 7 * DAY_MS, .services = &only_service, .service_count = 1};
static int64_t days; /* how far the clock is ahead */

static int64_t later_ms(void)
{
  return (int64_t)time(NULL) * 1000 + days * DAY_MS;
}

static bool is_ours(void *ctx, const char *key)
{
  return strcmp(ctx, key) == 0;
}

/* A sweep after that many days, two hours after another. */
static void sweep_in(int64_t in_days, const char *held)
{
  const struct dx_clock later = {later_ms, later_ms};
  const struct dx_sweep sweep = {&config, held != NULL ? is_ours : NULL,
                                 (void *)(uintptr_t)held};
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
  int fd;

  days = in_days;
  times[1].tv_sec = later_ms() / 1000 - 7200;
  fd = openat(spool.dirfd, "swept", O_WRONLY | O_CREAT, 0600);
  assert_true(fd >= 0);
  assert_int_equal(futimens(fd, times), 0);
  (void)close(fd);
  dx_clock_use(&later);
  dx_spool_sweep(&spool, &sweep);
  dx_clock_use(NULL);
}

/* A job of one document that was extracted. */
static void finish(void)
{
  struct dx_job *job = commit("D", false);

  bring(&job->submissions[0], 'x');
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  dx_job_free(&job);
}

static void the_sweep_removes_old_finished_jobs(void **state)
{
  struct dx_job *fresh = receive("D", false);

  (void)state;
  dx_job_free(&fresh);
  finish();
  sweep_in(6, NULL);
  assert_int_equal(entries("finished"), 1);
  assert_int_equal(entries("incoming"), 0);
  sweep_in(8, NULL);
  assert_int_equal(entries("finished"), 0);
  assert_int_equal(entries("incoming"), 0);
}

static void the_sweep_removes_nothing_that_is_locked(void **state)
{
  struct dx_job *job = commit("D", false);
  struct dx_job *fresh = receive("D", false);
  pid_t child;
  int status;

  (void)state;
  child = fork(); /* record locks belong to a process */
  if (child == 0) {
    sweep_in(40, NULL);
    _exit(entries("jobs") == 1 && entries("jobs/" KEY) == 3 &&
                  entries("incoming") == 1
              ? 0
              : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  sweep_in(40, KEY); /* its own lock would not keep it out */
  assert_int_equal(entries("jobs/" KEY), 3);
  dx_job_free(&job);
  dx_job_free(&fresh);
}

/* A wall clock that jumped must not cost a document. */
static void nothing_unfinished_is_removed_too_early(void **state)
{
  const struct dx_clock later = {later_ms, later_ms};
  const struct dx_sweep sweep = {&config, NULL, NULL};
  struct dx_job *job = commit("D", false);

  (void)state;
  dx_job_free(&job);
  sweep_in(29, NULL);
  assert_int_equal(entries("jobs/" KEY), 3);
  sweep_in(0, NULL);
  days = 400;
  dx_clock_use(&later);
  dx_spool_sweep(&spool, &sweep); /* the first one for a long time */
  dx_clock_use(NULL);
  assert_int_equal(entries("jobs/" KEY), 3);
}

static void sweep_a_month_later(void)
{
  char results[TEMP_DIR_BYTES + 16];

  (void)snprintf(results, sizeof(results), "%s/results", dir);
  only_service.results_dir = results;
  config.keep_jobs_ms = 40 * DAY_MS; /* our clock dates its journal */
  sweep_in(31, NULL);
  config.keep_jobs_ms = 7 * DAY_MS;
  only_service.results_dir = NULL;
}

static void expire(void)
{
  struct dx_job *job = commit("D", false);

  dx_job_free(&job);
  assert_int_equal(mkdirat(spool.dirfd, "results", 0700), 0);
  sweep_a_month_later();
}

static void an_abandoned_job_expires_and_says_so(void **state)
{
  struct dx_job *job;

  (void)state;
  expire();
  assert_int_equal(entries("jobs"), 0);
  job = take();
  assert_int_equal(job->submissions[0].state, DX_ST_EXPIRED);
  assert_non_null(strstr(job->submissions[0].reason, "KeepUnfinished"));
  assert_int_equal(entries("finished/" KEY), 2); /* journal and lock */
  dx_job_free(&job);
}

static void consumers_learn_that_a_job_has_expired(void **state)
{
  struct dx_buf text = {0};
  struct dx_json *manifest;
  bool is_final = false;

  (void)state;
  expire();
  assert_int_equal(
      dx_fs_read(spool.dirfd, "results/" KEY "-1.job.json", 9999, &text, &err),
      DX_OK);
  manifest = dx_json_parse(text.data, text.len, &err);
  assert_true(dx_json_bool(dx_json_get(manifest, "final"), &is_final));
  assert_true(is_final);
  assert_string_equal(dx_json_string(dx_json_get(manifest, "reason_code")),
                      "expired");
  dx_json_free(&manifest);
  dx_buf_release(&text);
}

/* A journal that is too large for the limit stands for a process that is killed
 * before it has written it. */
static void a_job_does_not_expire_before_consumers_learn_of_it(void **state)
{
  struct dx_job *job = commit("D", false);
  struct rlimit before, small;
  char url[9000] = "https://";

  (void)state;
  memset(url + strlen(url), 'a', sizeof(url) - 1 - strlen(url));
  assert_int_equal(dx_job_set_base_url(job, url, &err), DX_OK);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  assert_int_equal(mkdirat(spool.dirfd, "results", 0700), 0);
  (void)signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 8192;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  sweep_a_month_later();
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  job = take();
  assert_int_equal(job->submissions[0].state, DX_ST_STORED);
  dx_job_free(&job);
  assert_int_equal(entries("results"), 1);
  sweep_a_month_later();
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("results"), 1);
}

static void a_job_that_has_expired_is_announced(void **state)
{
  static char program[] = "/bin/true";
  struct dx_job *job;

  (void)state;
  only_service.on_result = program;
  expire();
  only_service.on_result = NULL;
  assert_int_equal(entries("jobs"), 1);
  job = take();
  assert_true(dx_job_is_announcing(job));
  dx_job_free(&job);
}

static void two_sweeps_are_an_hour_apart(void **state)
{
  const struct dx_sweep sweep = {&config, NULL, NULL};
  struct dx_job *job = commit("D", false);

  (void)state;
  bring(&job->submissions[0], 'x');
  assert_int_equal(dx_job_save(job, &err), DX_OK); /* then it was killed */
  dx_job_free(&job);
  dx_spool_sweep(&spool, &sweep); /* the first one only leaves a stamp */
  dx_spool_sweep(&spool, &sweep);
  assert_int_equal(entries("jobs"), 1);
  sweep_in(0, NULL);
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("finished"), 1);
}

/* Patient data may be in it, and a signed URL. */
static void the_next_holder_removes_what_a_killed_writer_left(void **state)
{
  struct dx_temp temp = DX_TEMP_NONE;
  struct dx_job *job = commit("D", false);

  (void)state;
  assert_int_equal(dx_temp_begin(&temp, job->dirfd, "job.json", &err), DX_OK);
  (void)close(temp.fd);
  dx_job_free(&job);
  assert_int_equal(entries("jobs/" KEY), 4);
  job = take();
  assert_int_equal(entries("jobs/" KEY), 3); /* journal, lock, document */
  dx_job_free(&job);
}

static void a_damaged_job_stays_until_a_person_moves_it(void **state)
{
  struct dx_job *job = commit("D", false), *fresh;
  enum dx_owner owner;
  pid_t holder;

  (void)state;
  assert_int_equal(dx_spool_set_aside(&spool, KEY, &err), DX_E_JOB);
  assert_int_equal(dx_fs_replace(job->dirfd, "job.json", "{", 1, 0600, &err),
                   DX_OK);
  dx_job_free(&job);
  sweep_in(400, NULL);
  assert_int_equal(dx_spool_take(&spool, KEY, &job, &holder, &owner, &err),
                   DX_E_DAMAGED);
  assert_int_equal(entries("jobs/" KEY), 3);
  fresh = receive("D", false);
  assert_int_equal(dx_spool_commit(&spool, fresh, &err), DX_E_EXISTS);
  dx_spool_discard(&spool, &fresh);
  assert_int_equal(dx_spool_set_aside(&spool, KEY, &err), DX_OK);
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("damaged"), 1);
}

static void a_journal_of_a_newer_version_is_not_replaced(void **state)
{
  static const char newer[] = "{\"schema\": 99}";
  struct dx_job *job = commit("D", false);
  enum dx_owner owner;
  pid_t holder;

  (void)state;
  assert_int_equal(dx_fs_replace(job->dirfd, "job.json", newer,
                                 sizeof(newer) - 1, 0600, &err),
                   DX_OK);
  dx_job_free(&job);
  assert_int_equal(dx_spool_take(&spool, KEY, &job, &holder, &owner, &err),
                   DX_E_DAMAGED);
  assert_non_null(strstr(err.text, "newer docextract"));
  assert_int_equal(entries("jobs/" KEY), 3);
}

/* ---- names and files in the results directory ---- */

static void no_id_leaves_the_directory_or_collides(void **state)
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
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char *name = dx_result_name(rows[i].source, rows[i].case_id);

    assert_string_equal(name, rows[i].name);
    free(name);
  }
}

static void a_result_is_delivered_whole_with_its_mode(void **state)
{
  struct dx_job *job = commit("D", false);
  struct dx_submission *sub = &job->submissions[0];
  char results[64], path[200];
  struct stat st;

  (void)state;
  (void)umask(077);
  bring(sub, 'c');
  (void)snprintf(results, sizeof(results), "%s/results", dir);
  assert_int_equal(dx_results_prepare(results, &err), DX_OK);
  assert_int_equal(
      dx_fs_replace(job->dirfd, "result-0001-00001.json", "{}", 2, 0600, &err),
      DX_OK);
  (void)dx_sha256_of("[]", 2, sub->cases[0].sha256);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_E_DAMAGED);
  assert_int_equal(entries("results"), 0);
  (void)dx_sha256_of("{}", 2, sub->cases[0].sha256);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  /* The manifest of an earlier attempt without a source is removed. */
  (void)snprintf(path, sizeof(path), "%s/" KEY "-1.job.json", results);
  (void)close(open(path, O_WRONLY | O_CREAT, 0600));
  assert_int_equal(entries("results"), 2);
  assert_int_equal(dx_manifest_deliver(sub, results, &err), DX_OK);
  assert_int_equal(entries("results"), 2);
  assert_int_equal(access(path, F_OK), -1);
  (void)snprintf(path, sizeof(path), "%s/SOURCE-case_1.json", results);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0640);
  assert_int_equal(stat(results, &st), 0);
  assert_int_equal(st.st_mode & 07777, 02770);
  dx_job_free(&job);
}

/* ---- more about directories ---- */

static void a_key_depends_on_the_print_job_alone(void **state)
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
    assert_true(dx_spool_key(&spool, "default", rows[i].uuid, rows[i].id,
                             rows[i].time, keys[i]));
    assert_int_equal(strspn(keys[i], "0123456789abcdef"), 32);
    for (k = 0; k < i; k++)
      assert_string_not_equal(keys[i], keys[k]);
  }
  assert_true(dx_spool_key(&spool, "renamed", "urn:1", "17", 1, again));
  assert_string_equal(again, keys[0]); /* a section may be renamed */
}

/* printf 'default\0urn:1\00017\0001' | sha256sum */
#define OLD_KEY "d51a9513976b8cae3ed9983eaf32a6b1"

static void a_job_of_the_old_layout_is_found(void **state)
{
  struct dx_job *job = receive("D", false);
  char key[DX_KEY_BYTES], new_key[DX_KEY_BYTES];

  (void)state;
  assert_true(dx_spool_key(&spool, "default", "urn:1", "17", 1, new_key));
  assert_string_not_equal(new_key, OLD_KEY);
  (void)strcpy(job->key, OLD_KEY);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  dx_job_free(&job);
  assert_true(dx_spool_key(&spool, "default", "urn:1", "17", 1, key));
  assert_string_equal(key, OLD_KEY);
  assert_true(dx_spool_key(&spool, "other", "urn:1", "17", 1, key));
  assert_string_equal(key, new_key);
}

static void an_invalid_key_is_no_job(void **state)
{
  const char *const names[] = {"", ".", "..", "../incoming/x", "../jobs", KEY};
  struct dx_job *fresh = receive("D", false), *job = NULL;
  char inside[DX_JOB_PATH_BYTES];
  enum dx_owner owner;
  pid_t holder;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    assert_int_equal(
        dx_spool_take(&spool, names[i], &job, &holder, &owner, &err),
        DX_E_NOT_FOUND);
  (void)snprintf(inside, sizeof(inside), "../%.40s", fresh->path);
  assert_int_equal(dx_spool_take(&spool, inside, &job, &holder, &owner, &err),
                   DX_E_NOT_FOUND);
  assert_int_equal(entries("incoming"), 1);
  assert_int_equal(entries("damaged"), 0);
  dx_spool_discard(&spool, &fresh);
}

static void a_job_without_its_journal_keeps_its_documents(void **state)
{
  struct dx_job *job = commit("DD", false);
  enum dx_owner owner;
  pid_t holder;

  (void)state;
  assert_int_equal(dx_fs_remove(job->dirfd, "job.json", &err), DX_OK);
  dx_job_free(&job);
  assert_int_equal(dx_spool_take(&spool, KEY, &job, &holder, &owner, &err),
                   DX_E_DAMAGED);
  assert_int_equal(entries("jobs/" KEY), 3); /* two documents and the lock */
}

static enum dx_code count_two(void *ctx, const char *key)
{
  assert_string_equal(key, KEY);
  return ++*(int *)ctx == 2 ? DX_E_STOPPED : DX_OK;
}

static void only_jobs_are_listed(void **state)
{
  struct dx_job *job = commit("D", false);
  int n = 0;

  (void)state;
  assert_int_equal(mkdirat(spool.dirfd, "jobs/lost+found", 0700), 0);
  assert_int_equal(mkdirat(spool.dirfd, "jobs/.hidden", 0700), 0);
  assert_int_equal(dx_spool_each(&spool, count_two, &n, &err), DX_OK);
  assert_int_equal(n, 1);
  assert_int_equal(dx_spool_each(&spool, count_two, &n, &err), DX_E_STOPPED);
  dx_job_free(&job);
}

static void the_directories_are_closed_to_others(void **state)
{
  const char *const names[] = {"jobs", "incoming", "damaged", "pace"};
  struct dx_spool second;
  struct stat st;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    assert_int_equal(fstatat(spool.dirfd, names[i], &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
  }
  assert_int_equal(dx_spool_open(dir, &second, &err), DX_OK); /* again */
  dx_spool_close(&second);
  assert_int_equal(second.dirfd, -1);
}

/* ---- more about jobs that are run again ---- */

/* Places that the first run did not have, or that had a job sheet. */
static void documents_in_other_places_are_not_matched(void **state)
{
  static const char *const pairs[][2] = {
      {"DD", "DSSD"}, {"DD", "DSSM"}, {"DDS", "DSM"}, {"DDS", "DSD"}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
    struct dx_job *old = commit(pairs[i][0], true);
    struct dx_job *fresh = receive(pairs[i][1], true);

    bring(&old->submissions[0], 'u');
    assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_E_CHANGED);
    dx_spool_discard(&spool, &fresh);
    assert_int_equal(dx_fs_remove_tree(spool.dirfd, old->path, &err), DX_OK);
    dx_job_free(&old);
  }
}

static void a_rejected_merge_changes_nothing(void **state)
{
  struct dx_job *old = commit("DD", false);
  struct dx_job *fresh = receive("DE", false);
  struct dx_buf before = {0}, after = {0};
  size_t files;

  (void)state;
  bring(&old->submissions[0], 's');
  bring(&old->submissions[1], 'x');
  assert_int_equal(dx_job_save(old, &err), DX_OK);
  assert_int_equal(dx_fs_read(old->dirfd, "job.json", 99999, &before, &err),
                   DX_OK);
  files = entries(old->path);
  assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_E_CHANGED);
  assert_non_null(fresh);
  assert_int_equal(dx_fs_read(old->dirfd, "job.json", 99999, &after, &err),
                   DX_OK);
  assert_string_equal(dx_buf_text(&before), dx_buf_text(&after));
  assert_int_equal(entries(old->path), files);
  assert_int_equal(letter_of(&old->submissions[0]), 's');
  dx_buf_release(&before);
  dx_buf_release(&after);
  dx_spool_discard(&spool, &fresh);
  dx_job_free(&old);
}

static void
a_changed_base_url_matters_only_while_a_source_is_under_way(void **state)
{
  struct dx_job *old = commit("DDD", false);
  struct dx_job *fresh = receive("DDD", false);

  (void)state;
  bring(&old->submissions[0], 'x');
  bring(&old->submissions[1], 'n');
  free(fresh->base_url);
  fresh->base_url = strdup("https://b");
  assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_OK);
  assert_null(fresh);
  assert_string_equal(old->base_url, "https://b");
  assert_int_equal(letter_of(&old->submissions[0]), 'x');
  assert_int_equal(letter_of(&old->submissions[1]), 's');
  dx_job_free(&old);
}

/* A text is converted to different bytes each time: those that were sent count.
 */
static void the_journal_keeps_describing_what_was_sent(void **state)
{
  struct dx_job *old = commit("TT", false);
  struct dx_job *fresh = receive("UU", false);
  struct dx_entry sent = old->documents[0].entry;

  (void)state;
  bring(&old->submissions[0], 'u');
  bring(&old->submissions[1], 'x');
  assert_int_equal(dx_job_delete_documents(old, &err), DX_OK);
  assert_int_equal(dx_job_merge(&spool, old, &fresh, &err), DX_OK);
  assert_string_equal(old->documents[0].entry.sha256, sent.sha256);
  assert_string_equal(old->documents[1].entry.sha256, sent.sha256);
  assert_true(old->documents[0].is_here);
  assert_false(old->documents[1].is_here);
  assert_int_equal(entries(old->path), 3); /* journal, lock, what was sent */
  dx_job_free(&old);
}

/* ---- planning, outcome, patient data ---- */

static void a_plan_has_no_submission_for_a_sheet(void **state)
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

static void every_end_has_its_outcome(void **state)
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

static void a_halt_and_an_overdue_wait_are_reported(void **state)
{
  struct dx_job *job = receive("D", false);

  (void)state;
  bring(&job->submissions[0], 'u');
  job->submissions[0].overdue = true;
  assert_int_equal(dx_job_outcome(job, &err), DX_E_OVERDUE);
  (void)dx_fail(&job->halt, DX_E_TOKEN, 0, "the token was refused");
  assert_int_equal(dx_job_outcome(job, &err), DX_E_TOKEN);
  assert_string_equal(err.text, "the token was refused");
  dx_spool_discard(&spool, &job);
}

/* Other jobs cannot be released. */
static void only_a_print_job_can_be_released(void **state)
{
  static const struct {
    enum dx_owner owner;
    bool released;
  } rows[] = {{DX_OWNER_CUPS, true},
              {DX_OWNER_DAEMON, false},
              {DX_OWNER_COMMAND, false}};
  struct dx_job *job = receive("D", false);
  size_t i;

  (void)state;
  bring(&job->submissions[0], 'u');
  job->submissions[0].overdue = true;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    job->owner = rows[i].owner;
    assert_int_equal(dx_job_outcome(job, &err), DX_E_OVERDUE);
    assert_non_null(strstr(err.text, "ProcessingLimit"));
    assert_int_equal(strstr(err.text, "release") != NULL, rows[i].released);
  }
  dx_spool_discard(&spool, &job);
}

static void one_document_does_not_belong_together(void **state)
{
  struct dx_job *job = receive("SR", true);

  (void)state;
  (void)dx_job_outcome(job, &err);
  assert_null(strstr(err.text, "together"));
  dx_spool_discard(&spool, &job);
}

static void results_are_removed_with_extracted_documents(void **state)
{
  struct dx_job *job = commit("DD", false);

  (void)state;
  bring(&job->submissions[0], 'x');
  bring(&job->submissions[1], 'c');
  assert_int_equal(
      dx_fs_replace(job->dirfd, "result-0001-00001.json", "{}", 2, 0600, &err),
      DX_OK);
  assert_int_equal(
      dx_fs_replace(job->dirfd, "result-0002-00001.json", "{}", 2, 0600, &err),
      DX_OK);
  assert_int_equal(dx_job_delete_documents(job, &err), DX_OK);
  assert_int_equal(faccessat(job->dirfd, "result-0001-00001.json", F_OK, 0),
                   -1);
  assert_int_equal(faccessat(job->dirfd, "result-0002-00001.json", F_OK, 0), 0);
  dx_job_free(&job);
}

static void a_retry_resets_the_tries(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  sub->start_overs = 3;
  sub->lost_creates = 3;
  sub->reregistrations = 3;
  bring(sub, 'n');
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(sub->state, DX_ST_STORED);
  assert_int_equal(sub->start_overs + sub->lost_creates + sub->reregistrations,
                   0);
  assert_null(sub->source_id);
  assert_null(sub->files[0].url);
  assert_int_equal(sub->files[0].put, DX_PUT_NONE);
  dx_spool_discard(&spool, &job);
}

/* And its source is not forgotten if something may have landed there. */
static void trying_again_keeps_a_source_that_was_uploaded_to(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'f');
  sub->start_overs = sub->lost_creates = sub->reregistrations = 3;
  sub->put_again = true;
  sub->files[0].put = DX_PUT_SENDING;
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(sub->state, DX_ST_UPLOADED);
  assert_true(sub->verify);
  assert_false(sub->put_again);
  assert_int_equal(sub->start_overs + sub->lost_creates + sub->reregistrations,
                   0);
  assert_string_equal(sub->source_id, "SOURCE");
  assert_int_equal(sub->files[0].put, DX_PUT_SENDING); /* nobody knows */
  assert_int_equal(sub->code, DX_OK);
  assert_string_equal(sub->reason, "");
  assert_int_equal(dx_submission_retry(sub, &err), DX_E_STATE);
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_PENDING, &err), DX_OK);
  assert_true(sub->verify);
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_PROCESSING, &err),
                   DX_OK);
  assert_false(sub->verify);
  assert_int_equal(sub->files[0].put, DX_PUT_DONE);
  dx_spool_discard(&spool, &job);
}

static void what_has_expired_asks_its_source_too(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'u');
  dx_job_expire(job);
  assert_int_equal(sub->state, DX_ST_EXPIRED);
  assert_true(dx_submission_needs_verify(sub));
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(sub->state, DX_ST_UPLOADED);
  assert_true(sub->verify);
  dx_spool_discard(&spool, &job);
}

static void what_was_canceled_does_not_ask_its_source(void **state)
{
  struct dx_job *job = receive("D", false);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  bring(sub, 'u');
  assert_false(dx_submission_needs_verify(sub));
  dx_job_cancel(job);
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

static void an_upload_that_landed_is_done(void **state)
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

/* A process that holds the lock until the returned descriptor is closed. */
static pid_t start_holder(const char *path, int *ret_fd)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int ready[2], end[2];
  char byte;
  pid_t pid;

  assert_int_equal(pipe(ready), 0);
  assert_int_equal(pipe(end), 0);
  pid = fork();
  if (pid == 0) {
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    (void)close(end[1]);
    if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(ready[1], "", 1) != 1)
      _exit(1);
    (void)!read(end[0], &byte, 1);
    _exit(0);
  }
  (void)close(ready[1]);
  (void)close(end[0]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  (void)close(ready[0]);
  *ret_fd = end[1];
  return pid;
}

static void docextractd_runs_while_its_lock_is_held(void **state)
{
  char path[64];
  int status, fd;
  pid_t pid;

  (void)state;
  (void)snprintf(path, sizeof(path), "%s/docextractd.lock", dir);
  assert_int_equal(dx_spool_daemon(spool.dirfd), 0);
  pid = start_holder(path, &fd);
  assert_int_equal(dx_spool_daemon(spool.dirfd), pid);
  (void)close(fd);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_int_equal(dx_spool_daemon(spool.dirfd), 0); /* only a file is left */
  assert_int_equal(dx_spool_daemon(-1), 0);
}

static void a_spool_in_memory_is_refused(void **state)
{
  char path[] = "/dev/shm/dx-unit-XXXXXX";
  struct dx_spool in_memory;
  enum dx_code code;

  (void)state;
  assert_null(dx_fs_unfit(dir));
  assert_non_null(mkdtemp(path));
  code = dx_spool_open(path, &in_memory, &err);
  assert_int_equal(rmdir(path), 0); /* and nothing is created in it */
  assert_int_equal(code, DX_E_CONFIG);
  assert_non_null(strstr(err.text, "is on a file system in memory"));
}

int main(void)
{
#define IN_SPOOL(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      IN_SPOOL(a_committed_job_is_found_as_it_was),
      IN_SPOOL(a_second_commit_of_the_same_key_fails),
      IN_SPOOL(one_process_holds_a_job_and_is_reported),
      IN_SPOOL(a_damaged_journal_leaves_its_job_where_it_is),
      IN_SPOOL(peeking_at_a_damaged_job_reports_it_and_leaves_it),
      IN_SPOOL(a_job_that_is_run_again_continues),
      IN_SPOOL(a_changed_base_url_waits_for_the_old_one),
      IN_SPOOL(a_changed_grouping_is_not_matched),
      IN_SPOOL(together_is_all_or_nothing),
      IN_SPOOL(the_outcome_names_the_first_failure),
      IN_SPOOL(bytes_stay_until_the_submission_is_settled),
      IN_SPOOL(a_finished_job_is_moved_and_still_found),
      IN_SPOOL(the_sweep_removes_old_finished_jobs),
      IN_SPOOL(the_sweep_removes_nothing_that_is_locked),
      IN_SPOOL(nothing_unfinished_is_removed_too_early),
      IN_SPOOL(an_abandoned_job_expires_and_says_so),
      IN_SPOOL(consumers_learn_that_a_job_has_expired),
      IN_SPOOL(a_job_does_not_expire_before_consumers_learn_of_it),
      IN_SPOOL(a_job_that_has_expired_is_announced),
      IN_SPOOL(two_sweeps_are_an_hour_apart),

      IN_SPOOL(a_damaged_job_stays_until_a_person_moves_it),
      IN_SPOOL(a_journal_of_a_newer_version_is_not_replaced),
      IN_SPOOL(earlier_tries_count_when_the_job_is_run_again),

      IN_SPOOL(the_next_holder_removes_what_a_killed_writer_left),
      IN_SPOOL(an_upload_that_landed_is_done),
      cmocka_unit_test(no_id_leaves_the_directory_or_collides),
      cmocka_unit_test(usual_ids_stay_readable),
      IN_SPOOL(a_result_is_delivered_whole_with_its_mode),
      IN_SPOOL(a_key_depends_on_the_print_job_alone),
      IN_SPOOL(a_job_of_the_old_layout_is_found),
      IN_SPOOL(an_invalid_key_is_no_job),
      IN_SPOOL(a_job_without_its_journal_keeps_its_documents),
      IN_SPOOL(only_jobs_are_listed),
      IN_SPOOL(docextractd_runs_while_its_lock_is_held),
      IN_SPOOL(the_directories_are_closed_to_others),
      IN_SPOOL(documents_in_other_places_are_not_matched),
      IN_SPOOL(a_rejected_merge_changes_nothing),
      IN_SPOOL(a_changed_base_url_matters_only_while_a_source_is_under_way),
      IN_SPOOL(the_journal_keeps_describing_what_was_sent),
      IN_SPOOL(a_plan_has_no_submission_for_a_sheet),
      IN_SPOOL(a_damaged_job_that_was_finished_is_set_aside_too),
      IN_SPOOL(a_renamed_section_goes_on_with_what_is_under_way),
      IN_SPOOL(every_end_has_its_outcome),
      IN_SPOOL(a_halt_and_an_overdue_wait_are_reported),
      IN_SPOOL(only_a_print_job_can_be_released),
      IN_SPOOL(one_document_does_not_belong_together),
      IN_SPOOL(results_are_removed_with_extracted_documents),
      IN_SPOOL(a_retry_resets_the_tries),
      IN_SPOOL(trying_again_keeps_a_source_that_was_uploaded_to),
      IN_SPOOL(what_has_expired_asks_its_source_too),
      IN_SPOOL(what_was_canceled_does_not_ask_its_source),
      IN_SPOOL(starting_over_keeps_the_tries),
      IN_SPOOL(a_spool_in_memory_is_refused),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
