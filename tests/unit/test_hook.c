/*
 * test_hook.c - OnResult: the arguments of the program, and that it is run
 * until it succeeds, even if it or docextractd is killed.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "daemon/engine/hook.h"
#include "lib/spool/results.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define OTHER "f123456789abcdef0123456789abcdef"

static char dir[TEMP_DIR_BYTES], results[48], program[48], out[48];
static char name[] = "default";
static struct dx_spool spool;
static struct dx_hooks *hooks;
static struct dx_service service = {.name = name, .results_dir = results};
static struct dx_config config = {.services = &service, .service_count = 1};
static struct dx_err err;

/* A clock that can be set forward. */
static int64_t ahead_ms;
static int64_t seconds_ms(clockid_t id)
{
  struct timespec t;

  (void)clock_gettime(id, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + ahead_ms;
}
static int64_t monotonic_ms(void)
{
  return seconds_ms(CLOCK_BOOTTIME);
}
static int64_t wall_ms(void)
{
  return seconds_ms(CLOCK_REALTIME);
}

static const char *held; /* the key of the job that is driven; NULL: none */
static bool is_held(void *ctx, const char *key)
{
  (void)ctx;
  return held != NULL && strcmp(held, key) == 0;
}

static int start(void **state)
{
  static const struct dx_clock ours = {monotonic_ms, wall_ms};

  (void)state;
  if (temp_dir_make(dir) < 0)
    return -1;
  (void)snprintf(results, sizeof(results), "%s/results", dir);
  (void)snprintf(program, sizeof(program), "%s/program", dir);
  (void)snprintf(out, sizeof(out), "%s/out", dir);
  service.on_result = program;
  ahead_ms = 0;
  dx_clock_use(&ours);
  if (mkdir(results, 0700) < 0 || dx_spool_open(dir, &spool, &err) != DX_OK)
    return -1;
  held = NULL;
  hooks = dx_hooks_new(&spool, is_held, NULL);
  return hooks != NULL ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  dx_hooks_free(&hooks);
  dx_spool_close(&spool);
  dx_clock_use(NULL);
  return temp_dir_remove(dir);
}

/* The script of the program; $out is a file for its output. */
static void write_program(const char *script)
{
  FILE *file = fopen(program, "w");

  assert_non_null(file);
  fprintf(file, "#!/bin/sh\nout=%s\n%s\n", out, script);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(program, 0700), 0);
}

/* A job of two documents, with journal: the first one was extracted, the second
 * one failed if `fails`, and otherwise was canceled. */
static void end_job(const char *key, bool fails)
{
  struct dx_job *job;
  size_t i;

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  (void)strcpy(job->key, key);
  job->service = strdup("default");
  job->base_url = strdup("https://a");
  job->queue = strdup("chart");
  job->document_count = 2;
  job->documents = calloc(2, sizeof(*job->documents));
  for (i = 0; i < 2; i++)
    job->documents[i].entry.kind = DX_KIND_DOCUMENT;
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  job->has_hook = true;
  for (i = 0; i < 2; i++) {
    job->submissions[i].state = DX_ST_COMPLETE;
    job->submissions[i].source_id = strdup(i == 0 ? "S1" : "S2");
    assert_int_equal(dx_submission_set_place(&job->submissions[i], name,
                                             "https://a", NULL, &err),
                     DX_OK);
  }
  assert_int_equal(
      dx_submission_apply(&job->submissions[0], DX_EV_DELIVERED, &err), DX_OK);
  if (fails)
    dx_submission_end(&job->submissions[1], DX_EV_FAIL, DX_E_FAILED, "why");
  job->has_hook = false; /* for what the engine does not end */
  if (!fails)
    dx_job_cancel(job);
  assert_int_equal(dx_manifest_deliver(&job->submissions[0], results, &err),
                   DX_OK);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  assert_true(dx_job_awaits_hook(job));
  dx_job_free(&job);
}

static void assert_in(const char *parent, const char *key)
{
  char path[64];

  (void)snprintf(path, sizeof(path), "%s/%s", parent, key);
  if (faccessat(spool.dirfd, path, F_OK, 0) < 0)
    fail_msg("%s is not in %s", key, parent);
}

/* Takes turns until the running program, if any, has ended; returns when the
 * next turn is due. */
static int64_t turn(void)
{
  struct pollfd end = {.events = POLLIN};
  int64_t next = dx_hooks_turn(hooks, &config);

  while ((end.fd = dx_hooks_fd(hooks)) >= 0) {
    assert_int_equal(poll(&end, 1, 10000), 1);
    next = dx_hooks_turn(hooks, &config);
  }
  return next;
}

static char *said(void)
{
  static char text[4096];
  int fd = open(out, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

  if (fd >= 0)
    (void)close(fd);
  text[n > 0 ? n : 0] = '\0';
  return text;
}

static size_t count_lines(void)
{
  const char *text = said();
  size_t n = 0;

  for (; *text != '\0'; text++)
    n += *text == '\n';
  return n;
}

static void expect(const char *line)
{
  if (strstr(said(), line) == NULL)
    fail_msg("no '%s' in: %s", line, said());
}

/* ---- what it is given ---- */

/* The last line: its process id and that of its group's leader. */
static void assert_leads_group(void)
{
  const char *text = said();
  char *blank = strrchr(text, ' ');
  long group = strtol(blank, NULL, 10);

  *blank = '\0';
  assert_int_equal(strtol(strrchr(text, '\n'), NULL, 10), group);
}

static void the_program_gets_a_manifest_and_a_clean_environment(void **state)
{
  char expected[128];
  int fd = open("/dev/zero", O_RDONLY); /* without O_CLOEXEC */

  (void)state;
  assert_true(fd > 2);
  write_program("{ env; echo \"args:$#:$1:\"; grep -c extracted \"$1\"; "
                "readlink /proc/$$/fd/*; "
                "cut -d ' ' -f 1,5 /proc/$$/stat; } > $out");
  end_job(KEY, false);
  dx_hooks_look(hooks, KEY);
  assert_int_equal(turn(), INT64_MAX);
  (void)snprintf(expected, sizeof(expected), "args:1:%s/S1.job.json:", results);
  expect(expected);
  expect("DOCEXTRACT_OUTCOME=extracted\n");
  expect("DOCEXTRACT_SERVICE=default\n");
  expect("DOCEXTRACT_QUEUE=chart\n");
  expect("DOCEXTRACT_JOB=" KEY "\n");
  expect("PATH=");
  assert_null(strstr(said(), "HOME="));
  assert_leads_group();
  assert_null(strstr(said(), "/dev/zero"));
  assert_null(strstr(said(), "lock"));
  assert_in("finished", KEY);
  (void)close(fd);
}

static void arguments_come_before_the_manifest(void **state)
{
  char command[64];

  (void)state;
  write_program("echo \"$1:$2:${3##*/}\" > $out");
  (void)snprintf(command, sizeof(command), "%s --to\tx", program);
  service.on_result = command;
  end_job(KEY, false);
  dx_hooks_look(hooks, KEY);
  (void)turn();
  expect("--to:x:S1.job.json\n");
}

/* Also if its manifest was taken away. */
static void a_failure_runs_the_hook_with_its_manifest(void **state)
{
  (void)state;
  write_program("echo \"$DOCEXTRACT_OUTCOME:${1##*/}:$(grep -c "
                "extraction-failed \"$1\")\" >> $out");
  end_job(KEY, true);
  dx_hooks_look(hooks, KEY);
  assert_int_equal(turn(), INT64_MAX);
  expect("extracted:S1.job.json:0\n");
  expect("failed:S2.job.json:1\n");
  assert_int_equal(count_lines(), 2);
  assert_in("jobs", KEY); /* as every job that failed */
}

/* ---- until it succeeds ---- */

static void a_program_that_fails_is_run_again(void **state)
{
  struct dx_job *job;
  int64_t next, wait_ms = DX_ON_RESULT_FIRST_MS;
  size_t i;

  (void)state;
  write_program("echo >> $out; [ \"$(wc -l < $out)\" -ge 10 ]");
  end_job(KEY, false);
  dx_hooks_look(hooks, KEY);
  for (i = 1; i < 10; i++) {
    next = turn() - dx_monotonic_ms();
    assert_int_equal(count_lines(), i);
    assert_true(next > wait_ms - 5000 && next <= wait_ms);
    assert_in("jobs", KEY);
    assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
    assert_string_equal(job->message, "OnResult failed and will be run again");
    dx_job_free(&job);
    ahead_ms += next;
    wait_ms =
        2 * wait_ms < DX_ON_RESULT_MAX_MS ? 2 * wait_ms : DX_ON_RESULT_MAX_MS;
  }
  assert_int_equal(turn(), INT64_MAX);
  assert_in("finished", KEY);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  assert_string_equal(job->message, "");
  dx_job_free(&job);
}

static void after_a_day_it_is_run_no_more(void **state)
{
  struct dx_job *job;

  (void)state;
  write_program("echo >> $out; exit 3");
  end_job(KEY, false);
  ahead_ms += DX_ON_RESULT_FOR_MS + 1000; /* nobody was there: once at least */
  dx_hooks_look(hooks, KEY);
  assert_int_equal(turn(), INT64_MAX);
  assert_int_equal(count_lines(), 1);
  assert_in("finished", KEY);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  assert_string_equal(job->message,
                      "OnResult failed for a day and is not run again");
  dx_job_free(&job);
}

static void a_program_that_is_missing_is_waited_for(void **state)
{
  (void)state;
  end_job(KEY, false);
  dx_hooks_look(hooks, KEY);
  assert_true(turn() < INT64_MAX);
  assert_in("jobs", KEY);
  write_program("echo >> $out");
  ahead_ms += DX_ON_RESULT_FIRST_MS;
  assert_int_equal(turn(), INT64_MAX);
  assert_int_equal(count_lines(), 1);
}

static void one_that_fails_does_not_hold_up_others(void **state)
{
  (void)state;
  write_program("echo $DOCEXTRACT_JOB >> $out; [ $DOCEXTRACT_JOB = " OTHER
                " ]");
  end_job(KEY, false);
  end_job(OTHER, false);
  dx_hooks_look(hooks, KEY);
  dx_hooks_look(hooks, OTHER);
  (void)turn();
  expect(KEY "\n");
  expect(OTHER "\n");
  assert_in("jobs", KEY);
  assert_in("finished", OTHER);
}

/* ---- hanging and being killed ---- */

/* Waits until the program has printed that many lines. */
static void await_lines(size_t n)
{
  int tries;

  for (tries = 0; count_lines() < n; tries++) {
    assert_true(tries < 1000);
    (void)poll(NULL, 0, 10);
  }
}

/* For a program that waits for it. */
static void let_go(void)
{
  int fd = openat(spool.dirfd, "out.go", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

  assert_true(fd >= 0);
  (void)close(fd);
}

/* It ignores SIGTERM, and so does its child. */
static void a_program_that_hangs_is_killed_with_its_children(void **state)
{
  struct pollfd end = {.events = POLLIN};
  pid_t child;

  (void)state;
  write_program("trap '' TERM; sleep 1000 & echo $! > $out; wait; sleep 1000");
  end_job(KEY, false);
  dx_hooks_look(hooks, KEY);
  (void)dx_hooks_turn(hooks, &config);
  await_lines(1);
  child = (pid_t)strtol(said(), NULL, 10);
  end.fd = pidfd_open(child, 0);
  assert_true(end.fd >= 0);
  ahead_ms += DX_ON_RESULT_S * 1000LL - 5000;
  (void)dx_hooks_turn(hooks, &config);
  ahead_ms += 5000;
  (void)dx_hooks_turn(hooks, &config); /* SIGTERM */
  assert_int_equal(poll(&end, 1, 0), 0);
  ahead_ms += DX_ON_RESULT_TERM_MS;
  (void)dx_hooks_turn(hooks, &config);
  (void)turn();
  assert_int_equal(poll(&end, 1, 10000), 1);
  (void)close(end.fd);
  assert_in("jobs", KEY);
  write_program("echo done >> $out");
  ahead_ms += DX_ON_RESULT_FIRST_MS;
  assert_int_equal(turn(), INT64_MAX);
  expect("done\n");
}

static void a_run_that_was_cut_off_is_repeated(void **state)
{
  (void)state;
  write_program("echo >> $out; [ -e $out.go ] || sleep 1000");
  end_job(KEY, false);
  dx_hooks_look(hooks, KEY);
  (void)dx_hooks_turn(hooks, &config);
  await_lines(1);
  dx_hooks_free(&hooks); /* docextractd ends */
  assert_in("jobs", KEY);
  write_program("echo >> $out");
  hooks = dx_hooks_new(&spool, is_held, NULL);
  dx_hooks_look(hooks, KEY);
  assert_int_equal(turn(), INT64_MAX);
  assert_int_equal(count_lines(), 2);
  assert_in("finished", KEY);
}

/* Print jobs and commands do not wait for the program. The job may be processed
 * again meanwhile; then OnResult waits until that is over. */
static void the_job_may_be_driven_meanwhile(void **state)
{
  struct dx_job *job = NULL;

  (void)state;
  write_program("echo >> $out; while [ ! -e $out.go ]; do sleep 0.01; done");
  end_job(KEY, false);
  dx_hooks_look(hooks, KEY);
  (void)dx_hooks_turn(hooks, &config);
  await_lines(1);
  held = KEY;
  let_go();
  assert_true(turn() <= dx_monotonic_ms() + DX_ON_RESULT_BUSY_MS);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  assert_true(dx_job_awaits_hook(job));
  dx_job_free(&job);
  held = NULL;
  ahead_ms += DX_ON_RESULT_BUSY_MS;
  assert_int_equal(turn(), INT64_MAX);
  assert_int_equal(count_lines(), 1);
  assert_in("finished", KEY);
}

/* ---- for whom it is run ---- */

static void without_on_result_nothing_waits_for_it(void **state)
{
  (void)state;
  end_job(KEY, false);
  service.on_result = NULL;
  dx_hooks_look(hooks, KEY);
  assert_int_equal(turn(), INT64_MAX);
  assert_in("finished", KEY);
}

static void a_job_that_is_driven_is_left_alone(void **state)
{
  (void)state;
  write_program("echo >> $out");
  end_job(KEY, false);
  held = KEY;
  dx_hooks_look(hooks, KEY);
  assert_int_equal(turn(), INT64_MAX);
  assert_int_equal(count_lines(), 0);
}

/* The section of its source, not of a source that is still to be created. */
static void the_section_of_the_source_decides(void **state)
{
  struct dx_job *job = NULL;

  (void)state;
  write_program("echo \"$DOCEXTRACT_SERVICE\" >> $out");
  end_job(KEY, false);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  free(job->service);
  job->service = strdup("other");
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  dx_hooks_look(hooks, KEY);
  assert_int_equal(turn(), INT64_MAX);
  expect("default\n");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
  const struct CMUnitTest tests[] = {
      CASE(the_program_gets_a_manifest_and_a_clean_environment),
      CASE(arguments_come_before_the_manifest),
      CASE(a_failure_runs_the_hook_with_its_manifest),
      CASE(a_program_that_fails_is_run_again),
      CASE(after_a_day_it_is_run_no_more),
      CASE(a_program_that_is_missing_is_waited_for),
      CASE(one_that_fails_does_not_hold_up_others),
      CASE(a_program_that_hangs_is_killed_with_its_children),
      CASE(a_run_that_was_cut_off_is_repeated),
      CASE(the_job_may_be_driven_meanwhile),
      CASE(without_on_result_nothing_waits_for_it),
      CASE(a_job_that_is_driven_is_left_alone),
      CASE(the_section_of_the_source_decides),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
