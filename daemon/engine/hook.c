/*
 * hook.c - lists the hooks to run, runs them, and handles their outcome.
 */
#include "daemon/engine/hook.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/spool/results.h"

#define STOP_MS 1000 /* from SIGTERM to SIGKILL, at exit */

/* A submission for which OnResult is to be run. */
struct entry {
  char key[DX_KEY_BYTES];
  size_t number;
  int64_t wait_ms; /* the last one after a failure */
  int64_t next_ms; /* monotonic */
  int64_t done_ms; /* hook_ms that is done, but not yet recorded */
};

struct dx_hooks {
  struct dx_spool *spool;
  bool (*is_held)(void *ctx, const char *key);
  void *ctx;
  struct entry *entries;
  size_t count;
  /* The running program. */
  pid_t pid;        /* 0: none */
  int fd;           /* pidfd; -1: none */
  size_t current;   /* index of its entry */
  int64_t hook_ms;  /* of its submission, when it was started */
  int64_t until_ms; /* monotonic: the next signal */
  bool terminated;  /* SIGTERM was sent */
};

/* ---- the list ---- */

static bool is_due(const struct dx_submission *sub)
{
  return sub->hook_ms != 0 && dx_state_is_final(sub->state);
}

bool dx_hooks_is_busy(const struct dx_hooks *a)
{
  return a->count > 0;
}

void dx_hooks_look(struct dx_hooks *a, const char *key)
{
  struct dx_job *job = NULL;
  struct entry *e;
  size_t i, k;

  if (a->is_held(a->ctx, key) ||
      dx_spool_load(a->spool, key, &job, NULL) != DX_OK)
    return;
  for (i = 0; i < job->submission_count; i++) {
    for (k = 0; k < a->count; k++)
      if (a->entries[k].number == i + 1 && strcmp(a->entries[k].key, key) == 0)
        break;
    if (k < a->count || !is_due(&job->submissions[i]))
      continue;
    e = reallocarray(a->entries, a->count + 1, sizeof(*e));
    if (e == NULL)
      break; /* the next call finds it again */
    a->entries = e;
    e += a->count++;
    *e = (struct entry){.number = i + 1, .next_ms = dx_monotonic_ms()};
    memcpy(e->key, job->key, sizeof(e->key));
  }
  dx_job_free(&job);
}

/* ---- the job ---- */

static void later(struct entry *e, int64_t wait_ms)
{
  e->next_ms = dx_monotonic_ms() + wait_ms;
}

/* Loads the job of an entry. If the job is held, cannot be read, or has no hook
 * to run, postpones or removes the entry, and returns NULL. */
static struct dx_job *take(struct dx_hooks *a, struct entry *e)
{
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code;

  if (a->is_held(a->ctx, e->key)) {
    later(e, DX_ON_RESULT_BUSY_MS);
    return NULL;
  }
  code = dx_spool_load(a->spool, e->key, &job, &err);
  if (code == DX_OK && e->number <= job->submission_count &&
      is_due(&job->submissions[e->number - 1]))
    return job;
  dx_job_free(&job);
  if (code == DX_OK || code == DX_E_NOT_FOUND || code == DX_E_DAMAGED) {
    *e = a->entries[--a->count]; /* dx_hooks_look() does not find it again */
  } else {
    dx_log(DX_LOG_WARNING, "job %s: %s: %s", e->key, dx_code_name(err.code),
           err.text);
    later(e, DX_LOCAL_RETRY_MS);
  }
  return NULL;
}

/* Records that the hook of a submission is done. */
static void settle(struct dx_hooks *a, struct entry *e,
                   struct dx_submission *sub)
{
  struct dx_job *job = sub->job;
  struct dx_err err;
  enum dx_code code;

  sub->hook_ms = 0;
  code = dx_job_save(job, &err);
  if (code == DX_OK)
    code = dx_spool_settle(a->spool, job, &err);
  if (code != DX_OK) {
    dx_log(DX_LOG_WARNING, "job %s: %s: %s", job->key, dx_code_name(err.code),
           err.text);
    later(e, DX_LOCAL_RETRY_MS);
  } else {
    *e = a->entries[--a->count];
  }
}

static void failed(struct dx_hooks *a, struct entry *e, const char *what,
                   const char *why)
{
  struct dx_job *job = take(a, e);
  struct dx_err err;
  bool is_last;

  if (job == NULL)
    return;
  is_last = dx_wall_ms() - job->submissions[e->number - 1].hook_ms >
            DX_ON_RESULT_FOR_MS;
  dx_log(is_last ? DX_LOG_ERROR : DX_LOG_WARNING, "job %s: OnResult %s%s; %s",
         e->key, what, why,
         is_last ? "it is not run again" : "it will be run again");
  /* For `docextract jobs`; an unfinished job may have a more important message.
   * DX_OK: not shown to the user who printed, because the result is not
   * affected. */
  if (dx_job_is_finished(job)) {
    dx_job_set_message(job, DX_OK,
                       is_last
                           ? "OnResult failed for a day and is not run again"
                           : "OnResult failed and will be run again");
    if (job->behind && dx_job_publish(job, &err) != DX_OK)
      dx_log(DX_LOG_WARNING, "job %s: %s: %s", job->key, dx_code_name(err.code),
             err.text);
  }
  if (is_last) {
    settle(a, e, &job->submissions[e->number - 1]);
  } else {
    e->wait_ms = e->wait_ms == 0 ? DX_ON_RESULT_FIRST_MS : 2 * e->wait_ms;
    if (e->wait_ms > DX_ON_RESULT_MAX_MS)
      e->wait_ms = DX_ON_RESULT_MAX_MS;
    later(e, e->wait_ms);
  }
  dx_job_free(&job);
}

/* ---- the program ---- */

/* Starts the program of a submission; ended() handles its exit status. */
static enum dx_code run(struct dx_hooks *a, const struct dx_submission *sub,
                        const struct dx_service *service, struct dx_err *err)
{
  const struct {
    const char *name, *value;
  } facts[] = {
      {"OUTCOME", sub->state == DX_ST_EXTRACTED ? "extracted" : "failed"},
      {"SERVICE", dx_submission_section(sub)},
      {"QUEUE", sub->job->queue},
      {"JOB", sub->job->key}};
  const char *dir = service->results_dir;
  char *words[DX_PROCESS_WORDS + 2], *variables[5] = {NULL};
  char *path = NULL, *line = strdup(service->on_result);
  size_t i, count = line != NULL ? dx_process_split(line, words) : 0;
  int e = line == NULL ? ENOMEM : count == 0 ? E2BIG : 0;
  enum dx_code code = dx_manifest_find(sub, dir, &path, err);

  /* A failed run may have removed the manifest, or docextractd was killed
   * before it wrote it. */
  if (code == DX_E_NOT_FOUND) {
    code = dx_manifest_deliver(sub, dir, err);
    if (code == DX_OK)
      code = dx_manifest_find(sub, dir, &path, err);
  }
  for (i = 0; e == 0 && i < 4; i++)
    if (asprintf(&variables[i], "DOCEXTRACT_%s=%s", facts[i].name,
                 facts[i].value != NULL ? facts[i].value : "") < 0) {
      variables[i] = NULL;
      e = ENOMEM;
    }
  if (code == DX_OK && e == 0) {
    words[count] = path;
    words[count + 1] = NULL;
    e = dx_process_start(words, variables, -1, &a->pid);
  }
  for (i = 0; i < 4; i++)
    free(variables[i]);
  free(line);
  free(path);
  if (code != DX_OK)
    return code;
  if (e != 0) {
    a->pid = 0;
    return dx_fail(err, DX_E_IO, e, "%s", strerror(e));
  }
  a->fd =
      pidfd_open(a->pid, 0); /* if it fails, the child is checked at until_ms */
  a->hook_ms = sub->hook_ms;
  a->until_ms = dx_monotonic_ms() + DX_ON_RESULT_S * 1000LL;
  a->terminated = false;
  return DX_OK;
}

/* Starts the program of an entry, if one is to be run. */
static void attend(struct dx_hooks *a, const struct dx_config *config,
                   struct entry *e)
{
  struct dx_job *job = take(a, e);
  const struct dx_service *service;
  struct dx_submission *sub;
  struct dx_err err;
  bool fails = false;

  if (job == NULL)
    return;
  sub = &job->submissions[e->number - 1];
  service = dx_config_service(config, dx_submission_section(sub));
  if (service == NULL) { /* the section may be restored */
    later(e, DX_ON_RESULT_MAX_MS);
  } else if (service->on_result == NULL || e->done_ms == sub->hook_ms) {
    if (dx_job_is_finished(job))
      dx_job_set_message(job, DX_OK, "");
    settle(a, e, sub);
  } else {
    a->current = (size_t)(e - a->entries);
    fails = run(a, sub, service, &err) != DX_OK;
  }
  dx_job_free(&job); /* not kept while the program runs */
  if (fails)
    failed(a, e, "cannot be run: ", err.text);
}

static void ended(struct dx_hooks *a, int status)
{
  struct entry *e = &a->entries[a->current];
  char why[32];

  if (a->fd >= 0)
    (void)close(a->fd);
  a->fd = -1;
  a->pid = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    e->done_ms = a->hook_ms;
    e->next_ms = dx_monotonic_ms();
    return;
  }
  (void)snprintf(why, sizeof(why), " (%s %d)",
                 WIFEXITED(status) ? "status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  failed(a, e, a->terminated ? "did not end in time" : "failed", why);
}

/* ---- the interface ---- */

struct dx_hooks *dx_hooks_new(struct dx_spool *spool,
                              bool (*is_held)(void *ctx, const char *key),
                              void *ctx)
{
  struct dx_hooks *a = calloc(1, sizeof(*a));

  if (a == NULL)
    return NULL;
  a->spool = spool;
  a->is_held = is_held;
  a->ctx = ctx;
  a->fd = -1;
  return a;
}

void dx_hooks_free(struct dx_hooks **hooks)
{
  struct dx_hooks *a = *hooks;
  int status;

  if (a == NULL)
    return;
  if (a->pid != 0) {
    struct pollfd end = {.fd = a->fd, .events = POLLIN};

    (void)kill(-a->pid, SIGTERM);
    if (a->fd >= 0) {
      (void)poll(&end, 1, STOP_MS);
      (void)close(a->fd);
    }
    dx_process_kill(a->pid, &status);
  }
  free(a->entries);
  free(a);
  *hooks = NULL;
}

int dx_hooks_fd(const struct dx_hooks *a)
{
  return a->fd;
}

int64_t dx_hooks_turn(struct dx_hooks *a, const struct dx_config *config)
{
  struct entry *first;
  int status;
  size_t i;

  for (;;) {
    if (a->pid != 0 && waitpid(a->pid, &status, WNOHANG) == a->pid)
      ended(a, status);
    if (a->pid != 0) {
      if (dx_monotonic_ms() >= a->until_ms) {
        (void)kill(-a->pid, a->terminated ? SIGKILL : SIGTERM);
        a->terminated = true;
        a->until_ms = dx_monotonic_ms() + DX_ON_RESULT_TERM_MS;
      }
      return a->until_ms;
    }
    if (a->count == 0)
      return INT64_MAX;
    first = a->entries; /* the one that has been due longest */
    for (i = 1; i < a->count; i++)
      if (a->entries[i].next_ms < first->next_ms)
        first = &a->entries[i];
    if (first->next_ms > dx_monotonic_ms())
      return first->next_ms;
    attend(a, config, first);
  }
}
