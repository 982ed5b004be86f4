/*
 * test_race.c - what another process does between two steps of this one, and
 * writes of the journal that fail, or may have failed. The functions in which
 * that happens are wrapped by the linker: saving a journal, asking cupsd, and
 * locking.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/spool/adopt.h"
#include "lib/spool/spool.h"
#include "lib/spool/sweep.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define DAY_MS 86400000LL

static char dir[32];
static struct dx_spool spool;
static struct dx_err err;

/* ---- in between ---- */

static void (*meanwhile)(void);         /* called once, by the next step */
static enum dx_code save_code;          /* what the next save returns */
static enum dx_print_job_state printed; /* what cupsd says */

static void interrupt(void)
{
  void (*other)(void) = meanwhile;

  meanwhile = NULL;
  if (other != NULL)
    other();
}

enum dx_code __real_dx_job_save(struct dx_job *job, struct dx_err *ret_err);
enum dx_code __wrap_dx_job_save(struct dx_job *job, struct dx_err *ret_err);

enum dx_code __wrap_dx_job_save(struct dx_job *job, struct dx_err *ret_err)
{
  enum dx_code code = save_code;

  interrupt();
  save_code = DX_OK;
  if (code == DX_OK || code == DX_E_UNSYNCED)
    assert_int_equal(__real_dx_job_save(job, ret_err), DX_OK);
  return code == DX_OK ? DX_OK : dx_fail(ret_err, code, 0, "as planned");
}

void __wrap_dx_print_job_ask(const char *cups_id, const char *uuid,
                             int timeout_ms, void (*connected)(int fd),
                             struct dx_print_job *ret_job);

void __wrap_dx_print_job_ask(const char *cups_id, const char *uuid,
                             int timeout_ms, void (*connected)(int fd),
                             struct dx_print_job *ret_job)
{
  (void)cups_id;
  (void)uuid;
  (void)timeout_ms;
  (void)connected;
  interrupt();
  *ret_job = (struct dx_print_job){.state = printed};
}

static void (*before_lock)(void); /* called once, with the lock open */

static int lock(int (*real)(int fd, int command, ...), int fd, int command,
                va_list args)
{
  void (*other)(void) = before_lock;

  if (command == F_SETLK) {
    before_lock = NULL;
    if (other != NULL)
      other();
  }
  return real(fd, command, va_arg(args, void *));
}

/* Under which of these names fcntl() is called depends on the size of off_t. */
#define WRAP_FCNTL(name)                             \
  int __real_##name(int fd, int command, ...);       \
  int __wrap_##name(int fd, int command, ...);       \
                                                     \
  int __wrap_##name(int fd, int command, ...)        \
  {                                                  \
    va_list args;                                    \
    int result;                                      \
                                                     \
    va_start(args, command);                         \
    result = lock(__real_##name, fd, command, args); \
    va_end(args);                                    \
    return result;                                   \
  }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

static int start(void **state)
{
  (void)state;
  (void)strcpy(dir, "/var/tmp/dx-race-XXXXXX");
  meanwhile = NULL;
  save_code = DX_OK;
  printed = DX_PJ_OVER;
  if (mkdtemp(dir) == NULL)
    return -1;
  return dx_spool_open(dir, &spool, &err) == DX_OK ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  dx_spool_close(&spool);
  return dx_fs_remove_tree(AT_FDCWD, dir, &err) == DX_OK ? 0 : -1;
}

/* ---- a print job of one document ---- */

static struct dx_job *receive(void)
{
  struct dx_job *job = NULL;
  int fd;

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  job->documents = calloc(1, sizeof(*job->documents));
  job->document_count = 1;
  job->documents[0].entry = (struct dx_entry){
      .kind = DX_KIND_DOCUMENT, .type = "application/pdf", .pages = 1};
  fd = dx_spool_create_document(job, 0, &err);
  assert_true(fd >= 0);
  (void)close(fd);
  job->documents[0].is_here = true;
  job->service = strdup("default");
  job->base_url = strdup("https://a");
  job->cups_id = strdup("7");
  job->uuid = strdup("urn:uuid:1");
  job->owner = DX_OWNER_CUPS;
  (void)strcpy(job->key, KEY);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  return job;
}

static void commit(void)
{
  struct dx_job *job = receive();

  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  dx_job_free(&job);
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

/* What a person, or another driver, does. */
static void cancel_and_settle(void)
{
  struct dx_job *job = take();

  dx_job_cancel(job);
  assert_int_equal(__real_dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  dx_job_free(&job);
}

static bool there_is(const char *path)
{
  return faccessat(spool.dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- commit, lock ---- */

static void
a_job_that_is_finished_meanwhile_is_not_committed_again(void **state)
{
  struct dx_job *again;

  (void)state;
  commit();
  again = receive();
  meanwhile = cancel_and_settle;
  assert_int_equal(dx_spool_commit(&spool, again, &err), DX_E_EXISTS);
  assert_false(there_is("jobs/" KEY));
  assert_true(there_is("finished/" KEY));
  dx_spool_discard(&spool, &again);
  assert_true(there_is("finished/" KEY));
}

static void a_job_that_is_moved_before_it_is_locked_is_found(void **state)
{
  struct dx_job *job;

  (void)state;
  commit();
  before_lock = cancel_and_settle;
  job = take();
  assert_null(before_lock);
  assert_string_equal(job->path, "finished/" KEY);
  dx_job_free(&job);
}

/* ---- adoption ---- */

static struct dx_job *adopt(enum dx_code expected)
{
  struct dx_job *job = NULL;

  assert_int_equal(dx_spool_adopt(&spool, KEY, NULL, &job, &err), expected);
  return job;
}

static void a_job_that_ends_meanwhile_is_not_adopted(void **state)
{
  (void)state;
  commit();
  meanwhile = cancel_and_settle;
  assert_null(adopt(DX_OK));
}

static void an_adopted_job_says_so_on_disk(void **state)
{
  struct dx_job *job;

  (void)state;
  commit();
  job = adopt(DX_OK);
  assert_non_null(job);
  dx_job_free(&job);
  job = take();
  assert_int_equal(job->owner, DX_OWNER_DAEMON);
  dx_job_free(&job);
}

static void a_job_whose_adoption_may_be_on_disk_is_driven(void **state)
{
  struct dx_job *job;

  (void)state;
  commit();
  save_code = DX_E_UNSYNCED;
  job = adopt(DX_OK);
  assert_non_null(job);
  dx_job_free(&job);
}

static void a_job_whose_adoption_is_not_saved_is_left(void **state)
{
  struct dx_job *job;

  (void)state;
  commit();
  save_code = DX_E_SPACE;
  assert_null(adopt(DX_E_SPACE));
  job = take();
  assert_int_equal(job->owner, DX_OWNER_CUPS);
  dx_job_free(&job);
}

static void documents_stay_if_a_cancel_is_not_saved(void **state)
{
  (void)state;
  commit();
  printed = DX_PJ_CANCELED;
  save_code = DX_E_SPACE;
  assert_null(adopt(DX_E_SPACE));
  assert_true(there_is("jobs/" KEY "/document-0001"));
  assert_null(adopt(DX_OK));
  assert_true(there_is("finished/" KEY));
  assert_false(there_is("finished/" KEY "/document-0001"));
}

static void documents_stay_as_long_as_the_journal_needs_them(void **state)
{
  struct dx_job *job;

  (void)state;
  commit();
  job = take();
  dx_job_cancel(job);
  save_code = DX_E_SPACE;
  assert_int_equal(dx_job_save(job, &err), DX_E_SPACE);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_true(there_is("jobs/" KEY "/document-0001"));
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_true(there_is("finished/" KEY));
  dx_job_free(&job);
}

/* ---- sweep ---- */

static int64_t days; /* how far the clock is ahead */

static int64_t later_ms(void)
{
  return (int64_t)time(NULL) * 1000 + days * DAY_MS;
}

/* Between the look at a job's age and its lock. */
static bool is_held(void *ctx, const char *key)
{
  (void)ctx;
  (void)key;
  interrupt();
  return false;
}

static void sweep_in(int64_t in_days)
{
  struct dx_service service = {.name = (char *)(uintptr_t) "default",
                               .results_dir = dir,
                               .keep_unfinished_ms = 30 * DAY_MS};
  const struct dx_config config = {
      .keep_jobs_ms = 7 * DAY_MS, .services = &service, .service_count = 1};
  const struct dx_clock later = {later_ms, later_ms};
  const struct dx_sweep sweep = {&config, is_held, NULL};
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
  int fd = openat(spool.dirfd, "swept", O_WRONLY | O_CREAT, 0600);

  assert_true(fd >= 0);
  days = in_days;
  times[1].tv_sec = later_ms() / 1000 - 7200;
  assert_int_equal(futimens(fd, times), 0);
  (void)close(fd);
  dx_clock_use(&later);
  dx_spool_sweep(&spool, &sweep);
  dx_clock_use(NULL);
}

static void use_it(void)
{
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

  times[1].tv_sec = later_ms() / 1000;
  assert_int_equal(
      utimensat(spool.dirfd, "finished/" KEY "/job.json", times, 0), 0);
}

static void a_finished_job_that_is_used_meanwhile_is_not_swept(void **state)
{
  (void)state;
  commit();
  cancel_and_settle();
  meanwhile = use_it;
  sweep_in(8);
  assert_true(there_is("finished/" KEY));
  sweep_in(16);
  assert_false(there_is("finished/" KEY));
}

static void documents_stay_if_their_expiry_is_not_saved(void **state)
{
  (void)state;
  commit();
  save_code = DX_E_SPACE;
  sweep_in(31);
  assert_true(there_is("jobs/" KEY "/document-0001"));
  sweep_in(31);
  assert_false(there_is("jobs/" KEY));
}

int main(void)
{
#define IN_SPOOL(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      IN_SPOOL(a_job_that_is_finished_meanwhile_is_not_committed_again),
      IN_SPOOL(a_job_that_is_moved_before_it_is_locked_is_found),
      IN_SPOOL(a_job_that_ends_meanwhile_is_not_adopted),
      IN_SPOOL(an_adopted_job_says_so_on_disk),
      IN_SPOOL(a_job_whose_adoption_may_be_on_disk_is_driven),
      IN_SPOOL(a_job_whose_adoption_is_not_saved_is_left),
      IN_SPOOL(documents_stay_if_a_cancel_is_not_saved),
      IN_SPOOL(documents_stay_as_long_as_the_journal_needs_them),
      IN_SPOOL(a_finished_job_that_is_used_meanwhile_is_not_swept),
      IN_SPOOL(documents_stay_if_their_expiry_is_not_saved),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
