/*
 * test_metrics.c - what is counted in a spool with every kind of trouble.
 */
#include "tests/unit/temp_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/history.h"
#include "lib/control/metrics.h"

#define FAILED "0123456789abcdef0123456789abcdef"
#define WAITING "1123456789abcdef0123456789abcdef"
#define DAMAGED "2123456789abcdef0123456789abcdef"
#define OTHER "3123456789abcdef0123456789abcdef"
#define RUN "0123456789abcdef"
#define AGE_S 5000

static char dir[TEMP_DIR_BYTES];
static char section[] = "default", host[] = "localhost";
static struct dx_service service = {
    .name = section, .results_dir = dir, .host = host, .port = 8480};
static const struct dx_config config = {.services = &service,
                                        .service_count = 1};
static struct dx_spool spool;
static struct dx_err err;

static int start(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0)
    return -1;
  return dx_spool_open(dir, &spool, &err) == DX_OK ? 0 : -1;
}

static const struct dx_metrics_source *source; /* NULL: the spool */

static int stop(void **state)
{
  (void)state;
  source = NULL;
  dx_spool_close(&spool);
  return temp_dir_remove(dir);
}

/* Received AGE_S ago. */
static void add_with(const char *key, const char *of, enum dx_state its,
                     enum dx_code problem)
{
  struct dx_job *job = dx_job_new();

  assert_non_null(job);
  (void)snprintf(job->path, sizeof(job->path), "jobs/%s", key);
  assert_int_equal(mkdirat(spool.dirfd, job->path, 0700), 0);
  job->dirfd = dx_fs_open_dir(spool.dirfd, job->path, &err);
  (void)strcpy(job->key, key);
  (void)strcpy(job->print.run, RUN);
  job->service = strdup(of);
  job->base_url = strdup("https://a");
  job->documents = calloc(1, sizeof(*job->documents));
  job->document_count = 1;
  job->documents[0].entry.kind = DX_KIND_DOCUMENT;
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  job->submissions[0].state = its;
  job->received_at = dx_wall_ms() - AGE_S * INT64_C(1000);
  dx_job_set_problem(job, problem, "problem", 0);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
}

static void add(const char *key, const char *of, enum dx_state its)
{
  add_with(key, of, its, DX_OK);
}

static void add_damaged(const char *path, size_t bytes)
{
  char *zeros = calloc(1, bytes);
  int fd;

  assert_int_equal(mkdirat(spool.dirfd, path, 0700), 0);
  fd = dx_fs_open_dir(spool.dirfd, path, &err);
  assert_int_equal(
      dx_fs_write(fd, "job.json", zeros, bytes, 0600, DX_PUBLISH_NEW, &err),
      DX_OK);
  assert_int_equal(close(fd), 0);
  free(zeros);
}

/* -2: it is not there. */
static int64_t value(const char *sample)
{
  struct dx_buf text = {0};
  char line[200];
  const char *at;
  int64_t number = -2;

  assert_int_equal(dx_metrics_text(&config, &spool, source, &text, &err),
                   DX_OK);
  (void)snprintf(line, sizeof(line), "\ndocextract_%s ", sample);
  at = strstr(dx_buf_text(&text), line);
  if (at != NULL)
    number = strtoll(at + strlen(line), NULL, 10);
  dx_buf_release(&text);
  return number;
}

#define OF(service, more) "{service=\"" service "\"" more "}"

static void jobs_are_counted_by_service_and_state(void **state)
{
  (void)state;
  add(FAILED, "default", DX_ST_FAILED);
  assert_int_equal(value("jobs" OF("default", ",state=\"failed\"")), 1);
  assert_int_equal(value("jobs" OF("default", ",state=\"stored\"")), 0);
  assert_int_equal(value("jobs" OF("default", ",state=\"extracted\"")), -2);
  assert_int_equal(value("jobs" OF("", ",state=\"failed\"")), -2);
  add(WAITING, "gone", DX_ST_FAILED);
  assert_int_equal(value("jobs" OF("", ",state=\"failed\"")), 1);
}

static void only_a_job_in_progress_has_an_age(void **state)
{
  (void)state;
  add(FAILED, "default", DX_ST_FAILED);
  assert_int_equal(value("oldest_unfinished_seconds" OF("default", "")), 0);
  add(WAITING, "default", DX_ST_STORED);
  assert_in_range(value("oldest_unfinished_seconds" OF("default", "")), AGE_S,
                  AGE_S + 100);
}

static void jobs_that_need_the_administrator_are_counted(void **state)
{
  (void)state;
  add_with(WAITING, "default", DX_ST_STORED, DX_E_NET);
  assert_int_equal(value("needs_admin_jobs" OF("default", "")), 0);
  add_with(FAILED, "default", DX_ST_FAILED, DX_E_KEY);
  assert_int_equal(value("needs_admin_jobs" OF("default", "")), 0);
  add_with(OTHER, "default", DX_ST_STORED, DX_E_KEY);
  assert_int_equal(value("needs_admin_jobs" OF("default", "")), 1);
}

static void damaged_jobs_are_counted_wherever_they_are(void **state)
{
  int64_t before;

  (void)state;
  assert_int_equal(value("damaged_jobs"), 0);
  add_damaged("jobs/" DAMAGED, 1);
  assert_int_equal(value("damaged_jobs"), 1);
  before = value("spool_bytes");
  add_damaged("damaged/" DAMAGED "-1", 65536);
  assert_int_equal(value("damaged_jobs"), 2);
  assert_true(value("spool_bytes") >= before + 65536);
}

/* ---- what docextractd tells ---- */

static struct dx_tallies told;

static enum dx_code tell_jobs(void *ctx, struct dx_tallies *ret_all,
                              struct dx_err *ret_err)
{
  (void)ctx;
  (void)ret_err;
  *ret_all = told;
  return DX_OK;
}

static enum dx_code tell_nothing(void *ctx, struct dx_tallies *ret_all,
                                 struct dx_err *ret_err)
{
  (void)ctx;
  (void)ret_all;
  return dx_fail(ret_err, DX_E_NOT_YET, 0, "no");
}

static void tell_sizes(void *ctx, struct dx_sizes *ret_sizes)
{
  (void)ctx;
  *ret_sizes = (struct dx_sizes){.finished = 7, .damaged = 1, .bytes = 8192};
}

static void begin_to_tell(void)
{
  static const struct dx_metrics_source from_docextractd = {
      .jobs = tell_jobs, .sizes = tell_sizes};

  source = &from_docextractd;
  told = (struct dx_tallies){.is_complete = true,
                             .damaged = 2,
                             .sections = calloc(2, sizeof(*told.sections)),
                             .count = 2};
  assert_non_null(told.sections);
  told.sections[0] =
      (struct dx_tally){.service = "gone", .jobs = {[DX_ST_FAILED] = 3}};
  told.sections[1] =
      (struct dx_tally){.service = "default",
                        .jobs = {[DX_ST_STORED] = 4, [DX_ST_UPLOADED] = 5},
                        .undecided = 6,
                        .unseen = 7,
                        .hooks = 8,
                        .admin = 9,
                        .oldest_at = dx_wall_ms() - 60000};
}

/* One sample for each call, because the numbers are freed. */
static int64_t told_value(const char *sample)
{
  begin_to_tell();
  return value(sample);
}

static void numbers_of_docextractd_are_printed(void **state)
{
  (void)state;
  add(FAILED, "default", DX_ST_FAILED); /* is not read */
  assert_int_equal(told_value("jobs" OF("default", ",state=\"stored\"")), 4);
  assert_int_equal(told_value("jobs" OF("default", ",state=\"uploaded\"")), 5);
  assert_int_equal(told_value("jobs" OF("default", ",state=\"failed\"")), 0);
  assert_int_equal(told_value("jobs" OF("default", ",state=\"undecided\"")), 6);
  assert_int_equal(told_value("jobs" OF("default", ",state=\"extracted\"")),
                   -2);
  assert_int_equal(told_value("jobs" OF("", ",state=\"failed\"")), 3);
  assert_int_equal(told_value("unseen_failures" OF("default", "")), 7);
  assert_int_equal(told_value("hook_pending_jobs" OF("default", "")), 8);
  assert_int_equal(told_value("needs_admin_jobs" OF("default", "")), 9);
  assert_in_range(told_value("oldest_unfinished_seconds" OF("default", "")), 60,
                  160);
  assert_int_equal(told_value("damaged_jobs"), 3);
  assert_int_equal(told_value("finished_jobs"), 7);
  assert_int_equal(told_value("spool_bytes"), 8192);
  assert_int_equal(told_value("daemon_up"), 1);
  assert_int_equal(told_value("loading"), 0);
}

/* They are not among the numbers of docextractd yet. */
static void receipts_are_added_to_the_numbers_of_docextractd(void **state)
{
  (void)state;
  add(WAITING, "default", DX_ST_STORED);
  assert_int_equal(told_value("jobs" OF("default", ",state=\"stored\"")), 4);
  assert_int_equal(renameat(spool.dirfd, "jobs/" WAITING, spool.dirfd,
                            "received/" WAITING "." RUN),
                   0);
  assert_int_equal(told_value("jobs" OF("default", ",state=\"stored\"")), 5);
  add(WAITING, "default", DX_ST_STORED); /* it is to be merged into this job */
  assert_int_equal(told_value("jobs" OF("default", ",state=\"stored\"")), 4);
}

static void no_jobs_are_counted_before_all_are_loaded(void **state)
{
  (void)state;
  begin_to_tell();
  told.is_complete = false;
  assert_int_equal(value("loading"), 1);
  begin_to_tell();
  told.is_complete = false;
  assert_int_equal(value("jobs" OF("default", ",state=\"stored\"")), -2);
  begin_to_tell();
  told.is_complete = false;
  assert_int_equal(value("damaged_jobs"), -2);
  begin_to_tell();
  told.is_complete = false;
  assert_int_equal(value("daemon_up"), 1);
}

static void without_its_answer_docextractd_is_not_up(void **state)
{
  static const struct dx_metrics_source silent = {.jobs = tell_nothing,
                                                  .sizes = tell_sizes};
  struct dx_buf text = {0};

  (void)state;
  add(WAITING, "default", DX_ST_STORED);
  assert_int_equal(value("daemon_up"), 0);
  assert_int_equal(value("jobs" OF("default", ",state=\"stored\"")), 1);
  assert_int_equal(dx_metrics_text(&config, &spool, &silent, &text, &err),
                   DX_E_NOT_YET);
  dx_buf_release(&text);
}

static void service_that_is_down_is_not_up(void **state)
{
  const struct dx_pause pause = {.until_ms = 1, .is_down = 1};

  (void)state;
  assert_int_equal(value("service_up" OF("default", "")), 1);
  dx_pause_write(spool.history_dirfd, host, service.port, &pause);
  assert_int_equal(value("service_up" OF("default", "")), 0);
}

#define IN_SPOOL(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
  const struct CMUnitTest tests[] = {
      IN_SPOOL(jobs_are_counted_by_service_and_state),
      IN_SPOOL(only_a_job_in_progress_has_an_age),
      IN_SPOOL(jobs_that_need_the_administrator_are_counted),
      IN_SPOOL(damaged_jobs_are_counted_wherever_they_are),
      IN_SPOOL(numbers_of_docextractd_are_printed),
      IN_SPOOL(receipts_are_added_to_the_numbers_of_docextractd),
      IN_SPOOL(no_jobs_are_counted_before_all_are_loaded),
      IN_SPOOL(without_its_answer_docextractd_is_not_up),
      IN_SPOOL(service_that_is_down_is_not_up),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
