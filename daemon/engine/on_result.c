/*
 * on_result.c - OnResult: runs the administrator's program for each submission
 * that has ended, until it succeeds or an administrator acknowledges its
 * failure (doc/policy.md, "Results"). One program runs at a time, in the
 * background.
 */
#include "daemon/engine/engine_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/process.h"

#define STOP_MS 1000       /* from SIGTERM to SIGKILL, at exit */
#define SAID_AT_ONCE_KB 64 /* so that its output does not delay calls */

/* Replaces the file with the end of the program's standard error, for which the
 * log and messages are no place. False if there is none. */
static bool hook_keep_said(const struct dx_submission *sub, const char *said,
                           size_t len)
{
  char name[DX_FILE_NAME_BYTES];
  struct dx_err err;
  enum dx_code code = dx_job_open_dir(sub->job, &err);

  dx_hook_file(sub, name);
  if (code == DX_OK)
    code = len > 0 ? dx_fs_write(sub->job->dirfd, name, said, len, 0600,
                                 DX_PUBLISH_UNSYNCED, &err)
                   : dx_fs_remove(sub->job->dirfd, name, &err);
  if (code != DX_OK)
    dx_submission_log(DX_LOG_WARNING, sub, "%s", err.text);
  return code == DX_OK && len > 0;
}

/* The message for `docextract jobs`, until OnResult has succeeded, or this was
 * acknowledged. DX_OK: not for the user who printed, because the result is not
 * affected. Where a document has failed, that is to be solved first. */
static void hook_set_message(struct dx_submission *sub, const char *text,
                             const char *fixed)
{
  struct dx_job *job = sub->job;
  int64_t wait_ms = run_of(sub)->on_result.due_ms - dx_monotonic_ms();
  char message[DX_ERR_TEXT_BYTES];

  if (dx_job_is_finished(job))
    (void)snprintf(message, sizeof(message),
                   "%.300s; %s: docextract retry %.8s; if it need not be run: "
                   "docextract cancel %.8s",
                   text, fixed, job->key, job->key);
  else
    (void)snprintf(message, sizeof(message), "%s", text);
  dx_submission_set_problem(sub, DX_OK, message, dx_wall_ms() + wait_ms);
  job->drive->late_ms = dx_monotonic_ms();
}

/* said: the end of its standard error. */
static void hook_failed(const struct dx_engine *engine,
                        struct dx_submission *sub, const char *what,
                        const char *why, const char *said, size_t said_len)
{
  struct run *run = run_of(sub);
  int64_t wait_ms = 2 * run->on_result.wait_ms;
  char text[DX_ERR_TEXT_BYTES], name[DX_FILE_NAME_BYTES];
  int n;

  if (wait_ms == 0)
    wait_ms = DX_ON_RESULT_FIRST_MS;
  else if (wait_ms > DX_ON_RESULT_MAX_MS)
    wait_ms = DX_ON_RESULT_MAX_MS;
  run->on_result.wait_ms = wait_ms;
  run->on_result.due_ms = dx_monotonic_ms() + wait_ms;
  n = snprintf(text, sizeof(text), "OnResult %s%.150s", what, why);
  dx_submission_log(DX_LOG_WARNING, sub, "%s; it will be run again in %lld s",
                    text, (long long)(wait_ms / 1000));
  dx_hook_file(sub, name);
  if (hook_keep_said(sub, said, said_len))
    (void)snprintf(text + n, sizeof(text) - (size_t)n,
                   "; its last error output is in %s/%s/%s",
                   engine->config->spool_dir, sub->job->path, name);
  hook_set_message(sub, text, "when the cause is fixed");
}

/* ---- the program ---- */

/* Reads what the program has written to its standard error, and keeps the end.
 */
static void hook_listen(struct hook *hook)
{
  char bytes[1024];
  ssize_t n = 1;
  int reads;

  for (reads = 0; hook->said_fd >= 0 && n > 0 && reads < SAID_AT_ONCE_KB;
       reads++) {
    size_t len, keep;

    n = read(hook->said_fd, bytes, sizeof(bytes));
    len = n > 0 ? (size_t)n : 0;
    if (len >= sizeof(hook->said)) {
      memcpy(hook->said, bytes + len - sizeof(hook->said), sizeof(hook->said));
      hook->said_len = sizeof(hook->said);
    } else if (len > 0) {
      keep = sizeof(hook->said) - len;
      if (hook->said_len > keep) {
        memmove(hook->said, hook->said + hook->said_len - keep, keep);
        hook->said_len = keep;
      }
      memcpy(hook->said + hook->said_len, bytes, len);
      hook->said_len += len;
    }
  }
  if (n == 0) { /* else poll(2) would return at once */
    (void)close(hook->said_fd);
    hook->said_fd = -1;
  }
}

/* Starts a program with a pipe for its standard error. Returns 0 or an errno.
 */
static int hook_spawn(struct hook *hook, char *const *words,
                      char *const *variables)
{
  int ends[2], e;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return errno;
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
  e = dx_process_start(words, variables, -1, ends[1], &hook->pid);
  (void)close(ends[1]);
  if (e != 0) {
    (void)close(ends[0]);
    hook->pid = 0;
    return e;
  }
  hook->said_fd = ends[0];
  hook->said_len = 0;
  return 0;
}

/* Starts the program of a submission; hook_ended() handles its exit status. */
static enum dx_code hook_run(struct hook *hook, const struct dx_submission *sub,
                             const struct dx_service *service,
                             struct dx_err *err)
{
  char *words[DX_PROCESS_WORDS + 2];
  char facts[4][DX_QUEUE_BYTES + sizeof("DOCEXTRACT_OUTCOME=")];
  char *variables[] = {facts[0], facts[1], facts[2], facts[3], NULL};
  char *path = NULL, *line = strdup(service->on_result);
  size_t count = line != NULL ? dx_process_split(line, words) : 0;
  int e = line == NULL ? ENOMEM : count == 0 ? E2BIG : 0;
  /* A failed run may have removed the manifest. */
  enum dx_code code =
      dx_manifest_deliver(sub, service->results_dir, &path, err);

  (void)snprintf(facts[0], sizeof(facts[0]), "DOCEXTRACT_OUTCOME=%s",
                 sub->state == DX_ST_EXTRACTED ? "extracted" : "failed");
  (void)snprintf(facts[1], sizeof(facts[1]), "DOCEXTRACT_SERVICE=%s",
                 service->name);
  (void)snprintf(facts[2], sizeof(facts[2]), "DOCEXTRACT_QUEUE=%s",
                 sub->job->queue != NULL ? sub->job->queue : "");
  (void)snprintf(facts[3], sizeof(facts[3]), "DOCEXTRACT_JOB=%s",
                 sub->job->key);
  if (code == DX_OK && e == 0) {
    words[count] = path;
    words[count + 1] = NULL;
    e = hook_spawn(hook, words, variables);
  }
  free(line);
  free(path);
  if (code != DX_OK)
    return code;
  if (e != 0)
    return dx_fail(err, DX_E_IO, e, "%s", strerror(e));
  /* If this fails, the program is checked at until_ms. */
  hook->fd = pidfd_open(hook->pid, 0);
  memcpy(hook->key, sub->job->key, sizeof(hook->key));
  hook->number = sub->number;
  hook->hook_ms = sub->hook_ms;
  hook->until_ms = dx_monotonic_ms() + DX_ON_RESULT_S * 1000LL;
  hook->was_told = false;
  return DX_OK;
}

static void hook_close(struct hook *hook)
{
  if (hook->fd >= 0)
    (void)close(hook->fd);
  if (hook->said_fd >= 0)
    (void)close(hook->said_fd);
  hook->fd = -1;
  hook->said_fd = -1;
}

static void hook_ended(struct dx_engine *engine, int status)
{
  struct hook *hook = &engine->hook;
  struct dx_submission *sub = NULL;
  struct dx_drive *drive;
  char why[32];

  hook_listen(hook); /* its children may keep the pipe open */
  TAILQ_FOREACH (drive, &engine->drives, link) {
    struct dx_job *job = drive->job;

    if (strcmp(job->key, hook->key) == 0 &&
        hook->number <= job->submission_count &&
        job->submissions[hook->number - 1].hook_ms == hook->hook_ms)
      sub = &job->submissions[hook->number - 1];
  }
  hook_close(hook);
  hook->pid = 0;
  if (sub == NULL) /* its job is not here, or has ended again since then */
    return;        /* the program is run again */
  engine_rouse(sub->job->drive);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    dx_submission_end_hook(sub);
    sub->job->drive->late_ms = dx_monotonic_ms();
    return;
  }
  (void)snprintf(why, sizeof(why), " (%s %d)",
                 WIFEXITED(status) ? "status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  hook_failed(engine, sub, hook->was_told ? "did not end in time" : "failed",
              why, hook->said, hook->said_len);
}

/* ---- steps ---- */

int64_t engine_hook_ms(struct dx_submission *sub)
{
  struct run *run = run_of(sub);

  if (sub->hook_ms == 0 || !sub->job->ended)
    return INT64_MAX;
  if (run->on_result.due_ms == 0)
    run->on_result.due_ms = dx_monotonic_ms();
  return run->on_result.due_ms;
}

int64_t engine_hook_turn(struct dx_engine *engine)
{
  struct hook *hook = &engine->hook;
  int status;

  hook_listen(hook);
  if (hook->pid != 0 && waitpid(hook->pid, &status, WNOHANG) == hook->pid)
    hook_ended(engine, status);
  if (hook->pid == 0)
    return INT64_MAX;
  if (dx_monotonic_ms() >= hook->until_ms) {
    (void)kill(-hook->pid, hook->was_told ? SIGKILL : SIGTERM);
    hook->was_told = true;
    hook->until_ms = dx_monotonic_ms() + DX_ON_RESULT_TERM_MS;
  }
  return hook->until_ms;
}

void engine_hook_start(struct dx_engine *engine, struct dx_submission *sub)
{
  const struct service_state *svc = engine_section_of(engine, sub);
  char text[DX_ERR_TEXT_BYTES];
  struct dx_err err;

  if (svc == NULL) { /* a new configuration may have it */
    run_of(sub)->on_result.due_ms = dx_monotonic_ms() + DX_ON_RESULT_MAX_MS;
    (void)snprintf(text, sizeof(text),
                   "OnResult cannot be run: service '%s' is not in the "
                   "configuration",
                   dx_submission_section(sub));
    hook_set_message(sub, text, "when that is fixed");
  } else if (svc->service->on_result == NULL) {
    dx_submission_end_hook(sub);
  } else if (hook_run(&engine->hook, sub, svc->service, &err) != DX_OK) {
    hook_failed(engine, sub, "cannot be run: ", err.text, NULL, 0);
  }
}

void engine_hook_stop(struct dx_engine *engine)
{
  struct hook *hook = &engine->hook;
  struct pollfd end = {.fd = hook->fd, .events = POLLIN};

  if (hook->pid == 0)
    return;
  (void)kill(-hook->pid, SIGTERM);
  if (hook->fd >= 0)
    (void)poll(&end, 1, STOP_MS);
  dx_process_kill(hook->pid);
  hook_close(hook);
}
