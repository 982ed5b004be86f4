/*
 * on_result.c - OnResult: runs the administrator's program for each submission
 * that has ended, until it succeeds, for at most a day (doc/policy.md,
 * "Results"). One program runs at a time, in the background.
 */
#include "daemon/engine/engine_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/process.h"

#define STOP_MS 1000 /* from SIGTERM to SIGKILL, at exit */

/* For `docextract jobs`; an unfinished job may have a more important message.
 * DX_OK: not shown to the user who printed, because the result is not
 * affected. */
static void hook_set_message(struct dx_submission *sub, const char *message)
{
  if (!dx_job_is_finished(sub->job))
    return;
  dx_job_set_message(sub->job, DX_OK, message, 0);
  sub->job->drive->late_ms = dx_monotonic_ms();
}

/* The program has succeeded, or is not run again. The journal is written by the
 * next turn. */
static void hook_over(struct dx_submission *sub)
{
  sub->hook_ms = 0;
  sub->job->dirty = true;
}

static void hook_failed(struct dx_submission *sub, const char *what,
                        const char *why)
{
  bool is_last = dx_wall_ms() - sub->hook_ms > DX_ON_RESULT_FOR_MS;
  struct run *run = run_of(sub);
  int64_t wait_ms;

  dx_log(is_last ? DX_LOG_ERROR : DX_LOG_WARNING, "job %s: OnResult %s%s; %s",
         sub->job->key, what, why,
         is_last ? "it is not run again" : "it will be run again");
  hook_set_message(sub, is_last
                            ? "OnResult failed for a day and is not run again"
                            : "OnResult failed and will be run again");
  wait_ms = run->on_result.wait_ms == 0 ? DX_ON_RESULT_FIRST_MS
                                        : 2 * run->on_result.wait_ms;
  if (wait_ms > DX_ON_RESULT_MAX_MS)
    wait_ms = DX_ON_RESULT_MAX_MS;
  run->on_result.wait_ms = wait_ms;
  run->on_result.due_ms = dx_monotonic_ms() + wait_ms;
  if (is_last)
    hook_over(sub);
}

/* ---- the program ---- */

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
    e = dx_process_start(words, variables, -1, &hook->pid);
  }
  free(line);
  free(path);
  if (code != DX_OK)
    return code;
  if (e != 0) {
    hook->pid = 0;
    return dx_fail(err, DX_E_IO, e, "%s", strerror(e));
  }
  /* If this fails, the program is checked at until_ms. */
  hook->fd = pidfd_open(hook->pid, 0);
  memcpy(hook->key, sub->job->key, sizeof(hook->key));
  hook->number = sub->number;
  hook->hook_ms = sub->hook_ms;
  hook->until_ms = dx_monotonic_ms() + DX_ON_RESULT_S * 1000LL;
  hook->was_told = false;
  return DX_OK;
}

static void hook_ended(struct dx_engine *engine, int status)
{
  struct hook *hook = &engine->hook;
  struct dx_submission *sub = NULL;
  struct dx_drive *drive;
  char why[32];

  TAILQ_FOREACH (drive, &engine->drives, link) {
    struct dx_job *job = drive->job;

    if (strcmp(job->key, hook->key) == 0 &&
        hook->number <= job->submission_count &&
        job->submissions[hook->number - 1].hook_ms == hook->hook_ms)
      sub = &job->submissions[hook->number - 1];
  }
  if (hook->fd >= 0)
    (void)close(hook->fd);
  hook->fd = -1;
  hook->pid = 0;
  if (sub == NULL) /* its job is not here, or has ended again since then */
    return;        /* the program is run again */
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    hook_set_message(sub, "");
    hook_over(sub);
    return;
  }
  (void)snprintf(why, sizeof(why), " (%s %d)",
                 WIFEXITED(status) ? "status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  hook_failed(sub, hook->was_told ? "did not end in time" : "failed", why);
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
  struct dx_err err;

  if (svc == NULL) { /* the section may be restored */
    run_of(sub)->on_result.due_ms = dx_monotonic_ms() + DX_ON_RESULT_MAX_MS;
  } else if (svc->service->on_result == NULL) {
    hook_over(sub);
  } else if (hook_run(&engine->hook, sub, svc->service, &err) != DX_OK) {
    hook_failed(sub, "cannot be run: ", err.text);
  }
}

void engine_hook_stop(struct dx_engine *engine)
{
  struct hook *hook = &engine->hook;
  struct pollfd end = {.fd = hook->fd, .events = POLLIN};

  if (hook->pid == 0)
    return;
  (void)kill(-hook->pid, SIGTERM);
  if (hook->fd >= 0) {
    (void)poll(&end, 1, STOP_MS);
    (void)close(hook->fd);
  }
  dx_process_kill(hook->pid);
}
