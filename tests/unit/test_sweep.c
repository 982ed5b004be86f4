/*
 * test_sweep.c - the data that the sweep removes, the jobs that it ends, and
 * the data that it keeps.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/sweep.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define DAY_MS 86400000LL

static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool;
static struct dx_err err;
#define NO_RESULTS ((char *)(uintptr_t) "/nonexistent")

static struct dx_service only_service = {.name = (char *)(uintptr_t) "default",
                                         .results_dir = NO_RESULTS,
                                         .keep_unfinished_ms = 30 * DAY_MS};
static struct dx_config config = {
    .keep_jobs_ms = 7 * DAY_MS, .services = &only_service, .service_count = 1};
static int64_t days; /* how far the clock is ahead */

static int64_t later_ms(void)
{
  return (int64_t)time(NULL) * 1000 + days * DAY_MS;
}

static struct dx_job *in_memory;
/* About print job 17, and about 18, which is the same one, sent again. */
static enum dx_rerun cupsd_says, cupsd_says_of_18;

static struct dx_job *held(void *ctx, const char *key)
{
  (void)ctx;
  return in_memory != NULL && strcmp(in_memory->key, key) == 0 ? in_memory
                                                               : NULL;
}

static int asked; /* how often cupsd's answer was not there yet */
static bool is_slow;

static enum dx_rerun rerun(void *ctx, const char *cups_id, const char *uuid,
                           const char *user, const char *key)
{
  (void)ctx;
  (void)user;
  (void)key;
  assert_string_equal(uuid, "urn:uuid:1");
  if (is_slow && ++asked % 2 == 1)
    return DX_RERUN_ASKED;
  if (strcmp(cups_id, "18") == 0)
    return cupsd_says_of_18;
  assert_string_equal(cups_id, "17");
  return cupsd_says;
}

static size_t expired;

static void expire(void *ctx, struct dx_job *job)
{
  (void)ctx;
  assert_string_equal(job->key, KEY);
  assert_string_equal(job->title, "John Doe");
  expired++;
  if (job != in_memory)
    dx_job_free(&job);
}

static char found_damaged[DX_KEY_BYTES];

static void damaged(void *ctx, const char *key)
{
  (void)ctx;
  (void)snprintf(found_damaged, sizeof(found_damaged), "%s", key);
}

static struct dx_sweep sweep = {.config = &config,
                                .held = held,
                                .damaged = damaged,
                                .expire = expire,
                                .rerun = rerun};

static int start(void **state)
{
  (void)state;
  expired = 0;
  sweep.expire_ms = 0;
  cupsd_says = DX_RERUN_NO;
  is_slow = false;
  asked = 0;
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

static struct dx_job *make(void)
{
  struct dx_job *job = NULL;
  char *name, file[DX_FILE_NAME_BYTES];

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  job->documents = calloc(1, sizeof(*job->documents));
  job->document_count = 1;
  job->documents[0].entry = (struct dx_entry){.kind = DX_KIND_DOCUMENT,
                                              .name = "john-doe.pdf",
                                              .pages = 1,
                                              .reason_text = "John Doe's"};
  dx_document_file(0, file);
  assert_int_equal(dx_fs_write(job->dirfd, file, "", 0, 0600, true, &err),
                   DX_OK);
  job->service = strdup("default");
  job->base_url = strdup("https://a");
  job->title = strdup("John Doe");
  job->user = strdup("jane");
  (void)strcpy(job->key, KEY);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  job->submissions[0].source_id = strdup("SOURCE");
  assert_int_equal(dx_submission_set_place(job->submissions, "default",
                                           "https://a", NULL, &err),
                   DX_OK);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  dx_job_free(&job);
  name = dx_spool_names(&spool, DX_SPOOL_RECEIVED, &err);
  assert_non_null(name);
  assert_int_equal(dx_spool_load(&spool, name, &job, &err), DX_OK);
  free(name);
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  return job;
}

/* A job of one document, which is in jobs/. */
static void keep(void)
{
  struct dx_job *job = make();

  dx_job_free(&job);
}

/* The same when its document was extracted. */
static void finish(const char *cups_id)
{
  struct dx_job *job = make();

  if (cups_id != NULL) {
    job->cups_id = strdup(cups_id);
    job->uuid = strdup("urn:uuid:1");
  }
  job->host = strdup("desk-7");
  dx_line_set(&job->problem.text, DX_ERR_TEXT_BYTES, "of John Doe");
  dx_line_set(&job->submissions[0].reason, DX_WHY_BYTES, "of John Doe");
  job->submissions[0].state = DX_ST_EXTRACTED;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  dx_job_free(&job);
}

static struct dx_job *load(void)
{
  struct dx_job *job = NULL;

  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  return job;
}

static size_t entries(const char *name)
{
  return count_entries(spool.dirfd, name);
}

static void sweep_all(void)
{
  do
    (void)dx_spool_sweep(&spool, &sweep);
  while (dx_sweep_is_active(&sweep));
}

/* A sweep after that many days, and that time after another. */
static void sweep_after(int64_t in_days, int64_t gap_s)
{
  const struct dx_clock later = {later_ms, later_ms};
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
  int fd;

  days = in_days;
  times[1].tv_sec = later_ms() / 1000 - gap_s;
  fd = openat(spool.dirfd, "swept", O_WRONLY | O_CREAT, 0600);
  assert_true(fd >= 0);
  assert_int_equal(futimens(fd, times), 0);
  (void)close(fd);
  dx_clock_use(&later);
  sweep_all();
  dx_clock_use(NULL);
}

static void sweep_in(int64_t in_days)
{
  sweep_after(in_days, 7200);
}

static void old_finished_jobs_are_removed(void **state)
{
  (void)state;
  finish(NULL);
  sweep_in(6);
  assert_int_equal(entries("finished"), 1);
  sweep_in(8);
  assert_int_equal(entries("finished"), 0);
  assert_int_equal(entries("incoming"), 0);
}

static void incomplete_receipts_are_removed(void **state)
{
  (void)state;
  assert_int_equal(mkdirat(spool.dirfd, "incoming/1", 0700), 0);
  sweep_in(1);
  assert_int_equal(entries("incoming"), 0);
}

/* The backend was killed before docextractd picked up the receipt. */
static void record_stays_until_its_receipt_is_merged(void **state)
{
  static const char receipt[] = "received/" KEY ".0123456789abcdef";

  (void)state;
  finish(NULL);
  assert_int_equal(mkdirat(spool.dirfd, receipt, 0700), 0);
  sweep_in(8);
  assert_int_equal(entries("finished"), 1);
  assert_int_equal(unlinkat(spool.dirfd, receipt, AT_REMOVEDIR), 0);
  sweep_in(8);
  assert_int_equal(entries("finished"), 0);
}

/* Also those of jobs that were lost, or whose content has changed. */
static void links_go_with_their_jobs(void **state)
{
  static const char lost[] = "fedcba9876543210fedcba9876543210";

  (void)state;
  finish(NULL);
  assert_int_equal(
      symlinkat(KEY, spool.dirfd, "aliases/00000000000000000000000000000001"),
      0);
  assert_int_equal(
      symlinkat(lost, spool.dirfd, "aliases/00000000000000000000000000000002"),
      0);
  sweep_in(6);
  assert_int_equal(entries("aliases"), 1);
  sweep_in(8);
  assert_int_equal(entries("aliases"), 0);
}

/* Only this record shows what was extracted. */
static void record_stays_as_long_as_cupsd_may_run_its_job_again(void **state)
{
  static const enum dx_rerun answers[] = {DX_RERUN_MAY, DX_RERUN_UNKNOWN};
  size_t i;

  (void)state;
  finish("17");
  for (i = 0; i < 2; i++) {
    cupsd_says = answers[i];
    sweep_in(8);
    assert_int_equal(entries("finished"), 1);
  }
  cupsd_says = DX_RERUN_NO;
  sweep_in(8);
  assert_int_equal(entries("finished"), 0);
}

/* Then each of its print jobs counts. */
static void record_of_a_job_that_was_sent_again_stays_as_long(void **state)
{
  static const enum dx_rerun answers[][2] = {{DX_RERUN_MAY, DX_RERUN_NO},
                                             {DX_RERUN_NO, DX_RERUN_MAY},
                                             {DX_RERUN_UNKNOWN, DX_RERUN_NO},
                                             {DX_RERUN_NO, DX_RERUN_UNKNOWN},
                                             {DX_RERUN_NO, DX_RERUN_NO}};
  struct dx_job *job;
  size_t i;

  (void)state;
  finish("17");
  job = load();
  free(job->others);
  job->others = calloc(1, sizeof(*job->others));
  job->other_count = 1;
  job->others[0].cups_id = strdup("18");
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  for (i = 0; i < 5; i++) {
    cupsd_says = answers[i][0];
    cupsd_says_of_18 = answers[i][1];
    sweep_in(8);
    assert_int_equal(entries("finished"), i < 4);
  }
}

/* Its journal is read again when the answer comes. */
static void sweep_goes_on_when_cupsd_has_answered(void **state)
{
  struct dx_job *job;

  (void)state;
  is_slow = true;
  finish("17");
  job = load();
  free(job->others);
  job->others = calloc(1, sizeof(*job->others));
  job->other_count = 1;
  job->others[0].cups_id = strdup("18");
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  cupsd_says_of_18 = DX_RERUN_MAY;
  sweep_in(8);
  assert_int_equal(entries("finished"), 1);
  assert_int_equal(asked, 4); /* each print job once, and once again */
  cupsd_says_of_18 = DX_RERUN_NO;
  sweep_in(8);
  assert_int_equal(entries("finished"), 0);
}

/* One timeout is enough. */
static void silent_cupsd_is_asked_once(void **state)
{
  (void)state;
  is_slow = true;
  cupsd_says = DX_RERUN_UNKNOWN;
  finish("17");
  sweep_in(8);
  assert_int_equal(asked, 2);
  assert_int_equal(entries("finished"), 1);
  assert_true(sweep.cupsd_is_silent);
  cupsd_says = DX_RERUN_NO;
  sweep_in(8); /* the next sweep asks again */
  assert_int_equal(entries("finished"), 0);
}

static void personal_data_is_finally_removed(void **state)
{
  static const char journal[] = "finished/" KEY "/job.json";
  struct stat before, after;
  struct dx_job *job;

  (void)state;
  finish("17");
  cupsd_says = DX_RERUN_MAY;
  sweep_in(29);
  job = load();
  assert_string_equal(job->title, "John Doe");
  dx_job_free(&job);
  sweep_in(31);
  job = load();
  assert_null(job->title);
  assert_null(job->user);
  assert_null(job->host);
  assert_string_equal(dx_line(job->problem.text), "");
  assert_string_equal(dx_line(job->submissions[0].reason), "");
  assert_string_equal(job->documents[0].entry.name, "");
  assert_string_equal(job->documents[0].entry.reason_text, "");
  assert_string_equal(job->submissions[0].source_id, "SOURCE");
  assert_int_equal(job->submissions[0].state, DX_ST_EXTRACTED);
  assert_false(dx_job_clean(job));
  dx_job_free(&job);
  /* Then its journal is not written again. */
  assert_int_equal(fstatat(spool.dirfd, journal, &before, 0), 0);
  sweep_in(62);
  assert_int_equal(fstatat(spool.dirfd, journal, &after, 0), 0);
  assert_int_equal(before.st_ino, after.st_ino);
  assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

static void jobs_in_memory_only_expire(void **state)
{
  (void)state;
  in_memory = make();
  sweep_in(29);
  assert_int_equal(expired, 0);
  sweep_in(40); /* what expire does with it is its decision */
  assert_int_equal(expired, 1);
  assert_int_equal(entries("jobs/" KEY), 2);
  in_memory->submissions[0].state = DX_ST_EXTRACTED;
  sweep_in(80);
  assert_int_equal(expired, 1);
  assert_int_equal(entries("jobs/" KEY), 2);
  dx_job_free(&in_memory);
}

/* A wall clock that jumped must not cost a document. */
static void nothing_unfinished_is_removed_too_early(void **state)
{
  const struct dx_clock later = {later_ms, later_ms};

  (void)state;
  keep();
  sweep_in(29);
  sweep_in(0);
  days = 400;
  dx_clock_use(&later);
  sweep_all(); /* the first one for a long time */
  dx_clock_use(NULL);
  assert_int_equal(expired, 0);
  assert_int_equal(entries("jobs/" KEY), 2);
}

/* Sweeps have the same distance again, while the clock is still wrong. */
static void nothing_expires_within_a_day_of_a_jump(void **state)
{
  (void)state;
  keep();
  sweep_after(400, 400 * 86400);
  sweep_after(400, 7200);
  assert_int_equal(expired, 0);
  sweep_after(402, 7200);
  assert_int_equal(expired, 1);
}

/* Its KeepUnfinished is not known. */
static void job_of_a_section_that_is_gone_stays(void **state)
{
  (void)state;
  in_memory = make();
  (void)strcpy(in_memory->service, "gone");
  sweep_in(80);
  assert_int_equal(expired, 0);
  dx_job_free(&in_memory);
}

static void abandoned_job_expires(void **state)
{
  (void)state;
  keep();
  sweep_in(31);
  assert_int_equal(expired, 1);
  assert_int_equal(entries("jobs/" KEY), 2);
}

static void job_that_awaits_on_result_does_not_expire(void **state)
{
  struct dx_job *job = make();

  (void)state;
  job->submissions[0].state = DX_ST_EXTRACTED;
  job->submissions[0].hook_ms = 1;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  sweep_all();
  sweep_in(31);
  sweep_in(100);
  assert_int_equal(expired, 0);
  job = load();
  assert_string_equal(job->title, "John Doe");
  dx_job_free(&job);
}

static void two_sweeps_are_an_hour_apart(void **state)
{
  struct dx_job *job = make();

  (void)state;
  job->submissions[0].state = DX_ST_EXTRACTED;
  assert_int_equal(dx_job_save(job, &err), DX_OK); /* then it was killed */
  dx_job_free(&job);
  sweep_all(); /* the first one only leaves a stamp */
  sweep_all();
  assert_int_equal(entries("jobs"), 1);
  sweep_in(0);
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("finished"), 1);
}

static void nothing_is_removed_when_the_clock_was_set_back(void **state)
{
  struct stat st;

  (void)state;
  finish(NULL);
  sweep_after(8, -86400);
  assert_int_equal(entries("finished"), 1);
  /* The next sweep does not wait for that time. */
  assert_int_equal(fstatat(spool.dirfd, "swept", &st, 0), 0);
  assert_true(st.st_mtim.tv_sec <= time(NULL));
}

static void stamp_is_not_written_through_a_link(void **state)
{
  static const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  struct stat st;

  (void)state;
  assert_int_equal(mknodat(spool.dirfd, "other", S_IFREG | 0600, 0), 0);
  assert_int_equal(symlinkat("other", spool.dirfd, "swept"), 0);
  assert_int_equal(utimensat(spool.dirfd, "other", old, 0), 0);
  assert_int_equal(utimensat(spool.dirfd, "swept", old, AT_SYMLINK_NOFOLLOW),
                   0);
  sweep_all();
  assert_int_equal(fstatat(spool.dirfd, "other", &st, 0), 0);
  assert_int_equal(st.st_mtim.tv_sec, 1);
}

/* Another server may be writing them. */
static void only_old_temporary_files_are_removed(void **state)
{
  static const char *const names[] = {".a.json.0123456789abcdef",
                                      "history/.b.json.0123456789abcdef"};
  char results[TEMP_DIR_BYTES + 16];
  size_t i;

  (void)state;
  (void)snprintf(results, sizeof(results), "%s/history", dir);
  only_service.results_dir = results;
  for (i = 0; i < 2; i++)
    assert_int_equal(mknodat(spool.dirfd, names[i], S_IFREG | 0600, 0), 0);
  sweep_in(0);
  for (i = 0; i < 2; i++)
    assert_int_equal(faccessat(spool.dirfd, names[i], F_OK, 0), 0);
  sweep_in(1);
  for (i = 0; i < 2; i++)
    assert_int_equal(faccessat(spool.dirfd, names[i], F_OK, 0), -1);
  only_service.results_dir = NO_RESULTS;
}

static void damaged_job_stays(void **state)
{
  (void)state;
  keep();
  assert_int_equal(unlinkat(spool.dirfd, "jobs/" KEY "/job.json", 0), 0);
  sweep_in(40);
  assert_int_equal(entries("jobs/" KEY), 1);
  assert_string_equal(found_damaged, KEY);
}

int main(void)
{
#define IN_SPOOL(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      IN_SPOOL(old_finished_jobs_are_removed),
      IN_SPOOL(incomplete_receipts_are_removed),
      IN_SPOOL(record_stays_until_its_receipt_is_merged),
      IN_SPOOL(links_go_with_their_jobs),
      IN_SPOOL(record_stays_as_long_as_cupsd_may_run_its_job_again),
      IN_SPOOL(record_of_a_job_that_was_sent_again_stays_as_long),
      IN_SPOOL(sweep_goes_on_when_cupsd_has_answered),
      IN_SPOOL(silent_cupsd_is_asked_once),
      IN_SPOOL(personal_data_is_finally_removed),
      IN_SPOOL(jobs_in_memory_only_expire),
      IN_SPOOL(nothing_unfinished_is_removed_too_early),
      IN_SPOOL(nothing_expires_within_a_day_of_a_jump),
      IN_SPOOL(job_of_a_section_that_is_gone_stays),
      IN_SPOOL(abandoned_job_expires),
      IN_SPOOL(job_that_awaits_on_result_does_not_expire),
      IN_SPOOL(two_sweeps_are_an_hour_apart),
      IN_SPOOL(nothing_is_removed_when_the_clock_was_set_back),
      IN_SPOOL(stamp_is_not_written_through_a_link),
      IN_SPOOL(only_old_temporary_files_are_removed),
      IN_SPOOL(damaged_job_stays),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
