/*
 * test_on_result.c - OnResult: the arguments of the program, and that it is run
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
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "daemon/engine/engine.h"
#include "lib/spool/results.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define OTHER "f123456789abcdef0123456789abcdef"

static char dir[TEMP_DIR_BYTES], results[48], program[48], out[48];
static char name[] = "default";
static struct dx_spool spool;
static struct dx_http *http;
static struct dx_engine *engine;
static struct dx_job *jobs[2]; /* in the engine, or NULL */
static struct dx_drive drives[2];
static char base[] = "https://a", host[] = "a";
static struct dx_service service = {.name = name,
                                    .base_url = base,
                                    .host = host,
                                    .port = 443,
                                    .api_rate = 8,
                                    .token = DX_TOKEN_FILE,
                                    .processing_limit_ms = 1800000,
                                    .results_dir = results};
static struct dx_config config = {
    .services = &service, .service_count = 1, .spool_dir = dir};
static struct dx_err err;

/* A clock that only the tests set forward. */
static int64_t began_ms, ahead_ms;
static int64_t now_ms(void)
{
  return began_ms + ahead_ms;
}

static int ended; /* jobs */
/* As docextractd does. */
static void release(struct dx_job *job)
{
  struct dx_job **at = job == jobs[0] ? &jobs[0] : &jobs[1];

  assert_ptr_equal(*at, job);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  dx_job_free(at);
}

static void begin(void)
{
  engine = dx_engine_new(&config, &spool, http, -1);
  assert_non_null(engine);
}

static void end(void)
{
  dx_engine_free(&engine);
  dx_job_free(&jobs[0]);
  dx_job_free(&jobs[1]);
}

/* Loads a job, and passes it to the engine. */
static void add(const char *key)
{
  struct dx_job **at = jobs[0] == NULL ? &jobs[0] : &jobs[1];

  assert_null(*at);
  assert_int_equal(dx_spool_load(&spool, key, at, &err), DX_OK);
  assert_int_equal(dx_engine_add(engine, &drives[at - jobs], *at, &err), DX_OK);
}

static size_t failures;
static void count_failures(enum dx_log_level level, const char *line)
{
  failures += level == DX_LOG_WARNING && strstr(line, "OnResult") != NULL &&
              strstr(line, "it will be run again") != NULL;
}

static int start(void **state)
{
  static const struct dx_clock ours = {now_ms, now_ms};

  (void)state;
  if (temp_dir_make_in_memory(dir) < 0)
    return -1;
  (void)snprintf(results, sizeof(results), "%s/results", dir);
  (void)snprintf(program, sizeof(program), "%s/program", dir);
  (void)snprintf(out, sizeof(out), "%s/out", dir);
  service.on_result = program;
  began_ms = dx_wall_ms();
  ahead_ms = 0;
  dx_clock_use(&ours);
  if (mkdir(results, 0700) < 0 || dx_spool_open(dir, &spool, &err) != DX_OK)
    return -1;
  http = dx_http_new();
  if (http == NULL)
    return -1;
  ended = 0;
  failures = 0;
  dx_log_to(count_failures);
  begin();
  return 0;
}

static int stop(void **state)
{
  (void)state;
  end();
  dx_http_free(&http);
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
    dx_job_end(job, DX_EV_CANCEL);
  assert_int_equal(
      dx_manifest_deliver(&job->submissions[0], results, NULL, &err), DX_OK);
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

static void turn_once(int64_t timeout_ms)
{
  int64_t wait_ms = dx_engine_turn(engine) - dx_monotonic_ms();
  int fds[DX_HTTP_WAKE_MAX];
  struct dx_news news;
  struct dx_job *job;

  while ((job = dx_engine_news(engine, &news)) != NULL) {
    ended += news.ended;
    if (news.released)
      release(job);
  }
  wait_ms = wait_ms < 0 ? 0 : wait_ms < timeout_ms ? wait_ms : timeout_ms;
  assert_int_equal(
      dx_http_run(http, wait_ms, fds, dx_engine_fds(engine, fds, 0), &err),
      DX_OK);
}

/* Takes turns until a condition is true. */
static void turn_until(bool (*condition)(void))
{
  while (!condition())
    turn_once(10);
}

static bool is_released(void)
{
  return jobs[0] == NULL && jobs[1] == NULL;
}

static void turn_to_end(void)
{
  turn_until(is_released);
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

static void program_gets_a_manifest_and_a_clean_environment(void **state)
{
  char expected[128];
  int fd = open("/dev/zero", O_RDONLY); /* without O_CLOEXEC */

  (void)state;
  assert_true(fd > 2);
  write_program("{ env; echo \"args:$#:$1:\"; grep -c extracted \"$1\"; "
                "readlink /proc/$$/fd/*; "
                "cut -d ' ' -f 1,5 /proc/$$/stat; } > $out");
  end_job(KEY, false);
  add(KEY);
  turn_to_end();
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
  add(KEY);
  turn_to_end();
  expect("--to:x:S1.job.json\n");
}

/* The process that receives it does not know of OnResult. */
static void refused_document_runs_the_hook(void **state)
{
  struct dx_job *job;

  (void)state;
  write_program("echo \"$DOCEXTRACT_OUTCOME\" > $out");
  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  (void)strcpy(job->key, KEY);
  job->service = strdup("default");
  job->base_url = strdup("https://a");
  job->document_count = 1;
  job->documents = calloc(1, sizeof(*job->documents));
  job->documents[0].entry.kind = DX_KIND_REFUSED;
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  assert_int_equal(dx_spool_pick_up(&spool, job, &err), DX_OK);
  dx_job_free(&job);
  add(KEY);
  turn_to_end();
  expect("failed\n");
}

/* Also if its manifest was taken away. */
static void failure_runs_the_hook_with_its_manifest(void **state)
{
  (void)state;
  write_program("echo \"$DOCEXTRACT_OUTCOME:${1##*/}:$(grep -c "
                "extraction-failed \"$1\")\" >> $out");
  end_job(KEY, true);
  add(KEY);
  turn_to_end();
  expect("extracted:S1.job.json:0\n");
  expect("failed:S2.job.json:1\n");
  assert_int_equal(count_lines(), 2);
  assert_in("jobs", KEY); /* as every job that failed */
}

/* ---- until it succeeds ---- */

static size_t wanted; /* lines */
static bool has_lines(void)
{
  return count_lines() >= wanted;
}

/* That many times, and the journal says so. */
static bool has_failed(void)
{
  return failures >= wanted && !jobs[0]->behind;
}

/* Print jobs do not wait for it: they end before. */
static void program_that_fails_is_run_again(void **state)
{
  int64_t wait_ms = DX_ON_RESULT_FIRST_MS;
  struct dx_job *job;

  (void)state;
  write_program("echo >> $out; [ \"$(wc -l < $out)\" -ge 12 ]");
  end_job(KEY, false);
  add(KEY);
  for (wanted = 1; wanted < 12; wanted++) {
    turn_until(has_failed);
    assert_int_equal(ended, 1);
    ahead_ms += wait_ms - 5000;
    turn_once(0);
    assert_int_equal(count_lines(), wanted);
    assert_in("jobs", KEY);
    assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
    assert_string_equal(dx_line(dx_job_problem(job)->text),
                        "OnResult failed (status 1); when the cause is fixed: "
                        "docextract retry 01234567; if it need not be run: "
                        "docextract cancel 01234567");
    dx_job_free(&job);
    ahead_ms += 5000;
    wait_ms =
        2 * wait_ms < DX_ON_RESULT_MAX_MS ? 2 * wait_ms : DX_ON_RESULT_MAX_MS;
  }
  turn_to_end();
  assert_in("finished", KEY);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  assert_string_equal(dx_line(dx_job_problem(job)->text), "");
  dx_job_free(&job);
}

/* For a program that waits for it. */
static void let_go(void)
{
  int fd = openat(spool.dirfd, "out.go", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

  assert_true(fd >= 0);
  (void)close(fd);
}

/* Whatever has happened since the job ended. */
static void program_is_run_until_it_succeeds(void **state)
{
  (void)state;
  write_program("echo >> $out; [ -e $out.go ]");
  end_job(KEY, false);
  ahead_ms += 100 * 86400000LL; /* no process ran */
  add(KEY);
  wanted = 1;
  turn_until(has_failed);
  assert_in("jobs", KEY);
  ahead_ms += 100 * 86400000LL;
  wanted = 2;
  turn_until(has_failed);
  assert_in("jobs", KEY);
  let_go();
  ahead_ms += DX_ON_RESULT_MAX_MS;
  turn_to_end();
  assert_in("finished", KEY);
}

/* ---- what it writes to its standard error ---- */

/* The file; "" if there is none. */
static const char *last_said(size_t number)
{
  static char text[512];
  char path[96];
  ssize_t n;
  int fd;

  (void)snprintf(path, sizeof(path), "jobs/" KEY "/on-result-%04zu", number);
  fd = openat(spool.dirfd, path, O_RDONLY | O_CLOEXEC);
  n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
  if (fd >= 0)
    (void)close(fd);
  text[n > 0 ? n : 0] = '\0';
  return text;
}

static bool is_log_clean = true;
static void look_for_name(enum dx_log_level level, const char *line)
{
  count_failures(level, line);
  is_log_clean = is_log_clean && strstr(line, "Ahrens") == NULL;
}

static void end_of_stderr_is_kept_for_its_owner(void **state)
{
  struct dx_job *job;
  struct stat st;
  size_t i;

  (void)state;
  dx_log_to(look_for_name);
  write_program("echo >> $out; echo output\n"
                "seq 100000 >&2; echo Ann Ahrens >&2; exit 3");
  end_job(KEY, false);
  add(KEY);
  wanted = 1;
  turn_until(has_failed);
  assert_int_equal(strlen(last_said(1)), DX_ON_RESULT_SAID_BYTES);
  assert_non_null(strstr(last_said(1), "\n99999\n100000\nAnn Ahrens\n"));
  assert_null(strstr(last_said(1), "output"));
  assert_int_equal(fstatat(spool.dirfd, "jobs/" KEY "/on-result-0001", &st, 0),
                   0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  assert_non_null(strstr(dx_line(job->submissions[0].problem.text),
                         "OnResult failed (status 3); its last error output "
                         "is in "));
  assert_non_null(strstr(dx_line(job->submissions[0].problem.text),
                         "/jobs/" KEY "/on-result-0001; "));
  for (i = 0; i < job->submission_count; i++)
    assert_null(strstr(dx_line(job->submissions[i].problem.text), "Ahrens"));
  dx_job_free(&job);
  assert_true(is_log_clean);

  write_program("echo >> $out; echo other >&2; exit 3");
  ahead_ms += DX_ON_RESULT_FIRST_MS;
  wanted = 2;
  turn_until(has_failed);
  assert_string_equal(last_said(1), "other\n");

  write_program("echo >> $out; exit 3");
  ahead_ms += 2LL * DX_ON_RESULT_FIRST_MS;
  wanted = 3;
  turn_until(has_failed);
  assert_string_equal(last_said(1), "");
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  assert_null(
      strstr(dx_line(job->submissions[0].problem.text), "error output"));
  dx_job_free(&job);
}

/* The other one is still run. */
static void success_removes_its_file_only(void **state)
{
  (void)state;
  write_program("echo >> $out; echo $1 >&2\n"
                "[ $DOCEXTRACT_OUTCOME = failed ] && [ -e $out.go ]");
  end_job(KEY, true);
  add(KEY);
  wanted = 2;
  turn_until(has_failed);
  assert_non_null(strstr(last_said(2), "S2.job.json"));
  let_go();
  ahead_ms += 2LL * DX_ON_RESULT_FIRST_MS;
  wanted = 3;
  turn_until(has_failed);
  while (count_lines() < 4)
    turn_once(100);
  while (*last_said(2) != '\0')
    turn_once(100);
  assert_non_null(strstr(last_said(1), "S1.job.json"));
}

/* ---- acknowledgment ---- */

static void acknowledged_failure_is_not_run_again(void **state)
{
  (void)state;
  write_program("echo >> $out; echo why >&2; exit 3");
  end_job(KEY, false);
  add(KEY);
  assert_false(dx_job_acknowledge_hooks(jobs[0])); /* it has not failed */
  wanted = 1;
  turn_until(has_failed);
  assert_int_equal(dx_engine_remove(engine, jobs[0]), DX_OK);
  assert_true(dx_job_acknowledge_hooks(jobs[0]));
  assert_int_equal(dx_job_save(jobs[0], &err), DX_OK);
  assert_int_equal(dx_engine_add(engine, &drives[0], jobs[0], &err), DX_OK);
  turn_to_end();
  assert_int_equal(count_lines(), 1);
  assert_in("finished", KEY);
  assert_int_equal(
      faccessat(spool.dirfd, "finished/" KEY "/on-result-0001", F_OK, 0), -1);
}

/* A section that was renamed does not come back. */
static void result_of_a_missing_section_is_listed(void **state)
{
  struct dx_job *job = NULL;

  (void)state;
  write_program("echo >> $out");
  end_job(KEY, false);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  assert_int_equal(dx_submission_set_place(&job->submissions[0], "other",
                                           "https://a", NULL, &err),
                   DX_OK);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  add(KEY);
  while (jobs[0]->submissions[0].problem.text == NULL)
    turn_once(100);
  assert_non_null(strstr(dx_line(dx_job_problem(jobs[0])->text),
                         "service 'other' is not in the configuration"));
  assert_true(dx_job_acknowledge_hooks(jobs[0]));
}

static void missing_program_is_retried(void **state)
{
  (void)state;
  end_job(KEY, false);
  add(KEY);
  wanted = 1;
  turn_until(has_failed);
  assert_in("jobs", KEY);
  write_program("echo >> $out");
  ahead_ms += DX_ON_RESULT_FIRST_MS;
  turn_to_end();
  assert_int_equal(count_lines(), 1);
}

static bool other_is_released(void)
{
  return jobs[1] == NULL;
}

static void failing_program_does_not_delay_others(void **state)
{
  (void)state;
  write_program("echo $DOCEXTRACT_JOB >> $out; [ $DOCEXTRACT_JOB = " OTHER
                " ]");
  end_job(KEY, false);
  end_job(OTHER, false);
  add(KEY);
  add(OTHER);
  turn_until(other_is_released);
  expect(KEY "\n");
  expect(OTHER "\n");
  assert_in("jobs", KEY);
  assert_in("finished", OTHER);
}

/* Although each of them takes longer than the wait of the others. */
static void longest_waiting_program_runs_first(void **state)
{
  (void)state;
  write_program("echo $DOCEXTRACT_JOB >> $out; exit 1");
  end_job(KEY, false);
  end_job(OTHER, false);
  add(KEY);
  wanted = 1;
  turn_until(has_failed);
  add(OTHER);
  ahead_ms += DX_ON_RESULT_FIRST_MS + 1000;
  for (wanted = 2; wanted < 6; wanted++) {
    turn_until(has_lines);
    ahead_ms += 2LL * DX_ON_RESULT_MAX_MS;
  }
  assert_string_equal(said(), KEY "\n" KEY "\n" OTHER "\n" KEY "\n" OTHER "\n");
}

/* While the program of another job runs, the first document of a job falls due,
 * and the second one does not. */
static void program_that_is_due_does_not_wait_for_the_next_one(void **state)
{
  int turns;

  (void)state;
  write_program("echo $DOCEXTRACT_JOB >> $out; [ $DOCEXTRACT_JOB = " OTHER
                " ] || exit 1; while [ ! -e $out.go ]; do sleep 0.01; done");
  end_job(KEY, true);
  end_job(OTHER, false);
  add(KEY);
  wanted = 1;
  turn_until(has_failed);
  ahead_ms += DX_ON_RESULT_FIRST_MS / 2;
  wanted = 2;
  turn_until(has_failed);
  add(OTHER);
  wanted = 3;
  turn_until(has_lines);
  ahead_ms += DX_ON_RESULT_FIRST_MS / 2 + 1000;
  for (turns = 0; turns < 10; turns++)
    turn_once(10);
  let_go();
  turn_until(other_is_released);
  turn_once(0);
  wanted = 4;
  for (turns = 0; turns < 1000 && !has_lines(); turns++)
    turn_once(10);
  assert_int_equal(count_lines(), 4);
}

/* ---- hanging and being killed ---- */

static bool is_released_or_has_failed(void)
{
  return is_released() || has_failed();
}

/* It ignores SIGTERM, and so does its child. */
static void program_that_hangs_is_killed_with_its_children(void **state)
{
  struct pollfd killed = {.events = POLLIN};
  pid_t child;

  (void)state;
  write_program("trap '' TERM; sleep 1000 & echo $! > $out; wait; sleep 1000");
  end_job(KEY, false);
  add(KEY);
  wanted = 1;
  turn_until(has_lines);
  child = (pid_t)strtol(said(), NULL, 10);
  killed.fd = pidfd_open(child, 0);
  assert_true(killed.fd >= 0);
  ahead_ms += DX_ON_RESULT_S * 1000LL - 5000;
  turn_once(0);
  ahead_ms += 5000;
  turn_once(0); /* SIGTERM */
  assert_int_equal(poll(&killed, 1, 0), 0);
  ahead_ms += DX_ON_RESULT_TERM_MS;
  turn_until(has_failed);
  assert_int_equal(poll(&killed, 1, UNIT_WAIT_MS), 1);
  (void)close(killed.fd);
  assert_in("jobs", KEY);
  /* The next program is asked to end, too, before it is killed. */
  write_program("trap 'echo done >> $out; exit' TERM; echo begun >> $out; "
                "sleep 1000 & wait");
  ahead_ms += DX_ON_RESULT_FIRST_MS;
  wanted = 2;
  turn_until(has_lines);
  ahead_ms += DX_ON_RESULT_S * 1000LL;
  turn_until(is_released_or_has_failed);
  expect("done\n");
}

static void interrupted_run_is_repeated(void **state)
{
  (void)state;
  write_program("echo >> $out; [ -e $out.go ] || sleep 1000");
  end_job(KEY, false);
  add(KEY);
  wanted = 1;
  turn_until(has_lines);
  end(); /* docextractd ends */
  assert_in("jobs", KEY);
  write_program("echo >> $out");
  begin();
  add(KEY);
  turn_to_end();
  assert_int_equal(count_lines(), 2);
  assert_in("finished", KEY);
}

/* By a command, or when it is printed again. */
static void job_may_be_changed_meanwhile(void **state)
{
  (void)state;
  write_program("echo >> $out; while [ ! -e $out.go ]; do sleep 0.01; done");
  end_job(KEY, false);
  add(KEY);
  wanted = 1;
  turn_until(has_lines);
  assert_int_equal(dx_engine_remove(engine, jobs[0]), DX_OK);
  assert_int_equal(dx_engine_add(engine, &drives[0], jobs[0], &err), DX_OK);
  turn_once(0);
  let_go();
  turn_to_end();
  assert_int_equal(count_lines(), 1);
  assert_in("finished", KEY);
}

/* The first run was for its first end. */
static void submission_that_ends_again_is_run_again(void **state)
{
  struct dx_submission *sub;

  (void)state;
  write_program("echo \"${1##*/}\" >> $out; [ $DOCEXTRACT_OUTCOME = extracted ]"
                " || while [ ! -e $out.go ]; do sleep 0.01; done");
  end_job(KEY, true);
  add(KEY);
  wanted = 2;
  turn_until(has_lines);
  assert_int_equal(dx_engine_remove(engine, jobs[0]), DX_OK);
  sub = &jobs[0]->submissions[1];
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  ahead_ms += 1000;
  dx_submission_end(sub, DX_EV_FAIL, DX_E_FAILED, "again");
  assert_int_equal(dx_engine_add(engine, &drives[0], jobs[0], &err), DX_OK);
  let_go();
  turn_to_end();
  assert_int_equal(count_lines(), 3);
}

/* ---- for whom it is run ---- */

static void job_without_on_result_does_not_wait(void **state)
{
  (void)state;
  end_job(KEY, false);
  service.on_result = NULL;
  add(KEY);
  turn_to_end();
  assert_in("finished", KEY);
}

/* The section of the other document is not configured, so it waits. */
static void program_is_not_run_before_the_job_has_ended(void **state)
{
  struct dx_job *job = NULL;
  int turns;

  (void)state;
  write_program("echo >> $out");
  end_job(KEY, true);
  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  free(job->service);
  job->service = strdup("other");
  assert_int_equal(dx_submission_retry(&job->submissions[1], &err), DX_OK);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  add(KEY);
  for (turns = 0; turns < 10; turns++)
    turn_once(0);
  assert_int_equal(count_lines() + (size_t)ended, 0);
}

/* The section of its source, not of a source that is still to be created. */
static void section_of_the_source_selects_the_program(void **state)
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
  add(KEY);
  turn_to_end();
  expect("default\n");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
  const struct CMUnitTest tests[] = {
      CASE(program_gets_a_manifest_and_a_clean_environment),
      CASE(arguments_come_before_the_manifest),
      CASE(refused_document_runs_the_hook),
      CASE(failure_runs_the_hook_with_its_manifest),
      CASE(program_that_fails_is_run_again),
      CASE(program_is_run_until_it_succeeds),
      CASE(end_of_stderr_is_kept_for_its_owner),
      CASE(success_removes_its_file_only),
      CASE(acknowledged_failure_is_not_run_again),
      CASE(result_of_a_missing_section_is_listed),
      CASE(missing_program_is_retried),
      CASE(failing_program_does_not_delay_others),
      CASE(longest_waiting_program_runs_first),
      CASE(program_that_is_due_does_not_wait_for_the_next_one),
      CASE(program_that_hangs_is_killed_with_its_children),
      CASE(interrupted_run_is_repeated),
      CASE(job_may_be_changed_meanwhile),
      CASE(submission_that_ends_again_is_run_again),
      CASE(job_without_on_result_does_not_wait),
      CASE(program_is_not_run_before_the_job_has_ended),
      CASE(section_of_the_source_selects_the_program),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
