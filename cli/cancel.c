/*
 * cancel.c - `docextract cancel JOB...`: nothing more of the job is sent or
 * fetched, and its documents are deleted here. The process that drives the job
 * is asked first: docextractd cancels it, another `docextract` releases it. A
 * print job is CUPS's to cancel. A user who may not use the spool is told what
 * to do instead.
 */
#include "cli/cli.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/spool/adopt.h"

#define WAIT_MS 10000 /* for the process that drives the job */
#define LOOK_MS 100

struct cancel {
  struct cli *cli;
  char key[DX_KEY_BYTES];
  pid_t asked; /* the process that was asked; 0: none yet */
};

/* ---- messages ---- */

static bool was_canceled(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].code == DX_E_CANCELED)
      return true;
  return false;
}

/* How many of the canceled documents the service has, and how many it may
 * have. */
static void count_uploaded(const struct dx_job *job, size_t *ret_sure,
                           size_t *ret_maybe)
{
  size_t i, k;

  *ret_sure = 0;
  *ret_maybe = 0;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    for (k = 0; sub->code == DX_E_CANCELED && k < sub->file_count; k++)
      if (sub->uploaded_at != 0 || sub->files[k].put == DX_PUT_DONE)
        ++*ret_sure;
      else if (sub->files[k].put == DX_PUT_SENDING)
        ++*ret_maybe;
  }
}

static void print_canceled(const struct dx_job *job)
{
  size_t sure, maybe;

  count_uploaded(job, &sure, &maybe);
  printf("Canceled job %s\n", job->key);
  if (sure > 0)
    printf("The service already has %zu document%s; no results will be "
           "fetched\n",
           sure, sure == 1 ? "" : "s");
  if (maybe > 0)
    printf("The service may have %zu document%s; no results will be fetched\n",
           maybe, maybe == 1 ? "" : "s");
  if (sure + maybe == 0)
    printf("None of the canceled documents had been uploaded\n");
  if (dx_job_count(job, DX_ST_EXTRACTED) > 0)
    printf("Earlier results stay in the results directory\n");
}

static void print_finished(const struct dx_job *job)
{
  size_t good = dx_job_count(job, DX_ST_EXTRACTED);

  if (good == job->submission_count)
    printf("Job %s had already finished: everything is extracted\n", job->key);
  else
    printf("Job %s had already finished: %zu of %zu documents extracted\n",
           job->key, good, job->submission_count);
}

/* Of a finished job: did it end because we asked for it? */
static void print_end(const struct cancel *c, const struct dx_job *job)
{
  if (c->asked != 0 && was_canceled(job))
    print_canceled(job);
  else
    print_finished(job);
}

/* ---- canceling it here ---- */

/* The engine delivers the manifests, for the consumers of the results. The job
 * is canceled even if that fails. */
static void deliver_manifests(struct cancel *c, struct dx_job *job)
{
  struct dx_err err;
  enum dx_code code = cli_drive(c->cli, job, &err);

  if (!job->ended)
    fprintf(stderr, "docextract: no manifest was written: %s\n",
            code != DX_OK ? err.text : "");
}

/* Deletes all documents, including those of what had failed before. */
static void clean_up(struct cancel *c, struct dx_job *job)
{
  struct dx_err err;

  dx_spool_cancel_done(job);
  if (dx_spool_settle(&c->cli->spool, job, &err) != DX_OK)
    fprintf(stderr, "docextract: %s\n", err.text);
}

/* The job is locked. */
static enum dx_code cancel_taken(struct cancel *c, struct dx_job *job,
                                 struct dx_err *err)
{
  enum dx_code code;

  if (dx_job_is_finished(job)) {
    print_end(c, job);
    clean_up(c, job);
    return DX_OK;
  }
  dx_job_cancel(job);
  dx_job_set_message(job, DX_OK, "");
  code = dx_job_save(job, err);
  if (code != DX_OK)
    return code;
  deliver_manifests(c, job);
  clean_up(c, job);
  print_canceled(job);
  return DX_OK;
}

static enum dx_code cancel_here(struct cancel *c, struct dx_err *err)
{
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;
  enum dx_code code =
      dx_spool_take(&c->cli->spool, c->key, &job, &holder, &owner, err);

  if (code == DX_OK)
    code = cancel_taken(c, job, err);
  dx_job_free(&job);
  return code;
}

/* ---- asking others ---- */

/* cupsd has no backend for it any more, and would not start another. */
static bool is_abandoned(const struct dx_job *job, pid_t holder)
{
  enum dx_print_job_state state;

  if (holder != 0 || dx_job_outcome(job, NULL) == DX_OK)
    return false;
  state = dx_ask_cupsd(job);
  return state == DX_PJ_OVER || state == DX_PJ_UNKNOWN ||
         state == DX_PJ_CANCELED;
}

/* Moves an unreadable job aside, so that the print job can run again. */
static enum dx_code cancel_damaged(struct cancel *c, struct dx_err *err)
{
  enum dx_code code = dx_spool_set_aside(&c->cli->spool, c->key, err);

  if (code == DX_OK)
    printf("Moved job %s, whose job file cannot be read, to '%s/damaged'\n",
           c->key, c->cli->config->spool_dir);
  return code;
}

static enum dx_code refuse_cups(const struct dx_job *job, struct dx_err *err)
{
  char name[CLI_CUPS_NAME_BYTES];

  if (dx_job_outcome(job, NULL) == DX_OK) {
    print_finished(job);
    return DX_OK;
  }
  cli_cups_name(job, name);
  return dx_fail(err, DX_E_JOB, 0,
                 "this is print job %s; cancel it with: cancel %s", name, name);
}

static enum dx_code refuse_user(const struct dx_job *job, struct dx_err *err)
{
  if (!dx_job_is_finished(job))
    return cli_refuse_user("cancel", job, err);
  print_finished(job);
  return DX_OK;
}

static bool is_docextractds(const struct cancel *c, const struct dx_job *job,
                            pid_t holder)
{
  return job->owner == DX_OWNER_DAEMON &&
         holder == dx_spool_daemon(c->cli->spool.dirfd);
}

/*
 * docextractd finds a mark in the job's directory. Any other holder is a
 * `docextract`, which releases the job after SIGTERM, or for a moment the
 * backend that handed the job over, for which the signal changes nothing.
 */
static enum dx_code ask(struct cancel *c, const struct dx_job *job,
                        pid_t holder, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (c->asked != holder) {
    c->asked = holder;
    if (is_docextractds(c, job, holder))
      code = dx_spool_ask_cancel(&c->cli->spool, c->key, err);
    else if (holder > 1)
      (void)kill(holder, SIGTERM);
  }
  if (code != DX_OK)
    return code;
  return dx_fail(err, DX_E_BUSY, 0,
                 "process %d has not released job %s yet; check with: "
                 "docextract jobs",
                 (int)holder, c->key);
}

/* One look at the job, and what follows from it. E_BUSY: look again. */
static enum dx_code look(struct cancel *c, struct dx_err *err)
{
  struct dx_job *job;
  pid_t holder;
  enum dx_code code = cli_peek_job(c->cli, c->key, &job, &holder, err);

  if (code == DX_E_DAMAGED)
    return cancel_damaged(c, err);
  if (code != DX_OK)
    return code;
  if (job->owner == DX_OWNER_CUPS && !is_abandoned(job, holder))
    code = refuse_cups(job, err);
  else if (c->cli->asks)
    code = refuse_user(job, err);
  else if (holder == 0)
    code = cancel_here(c, err);
  else if (dx_job_is_finished(job) && is_docextractds(c, job, holder))
    print_end(c, job); /* docextractd deletes its documents */
  else
    code = ask(c, job, holder, err);
  dx_job_free(&job);
  return code;
}

static enum dx_code look_until_done(struct cancel *c, struct dx_err *err)
{
  int64_t until = dx_monotonic_ms() + WAIT_MS;
  enum dx_code code;

  while ((code = look(c, err)) == DX_E_BUSY && dx_monotonic_ms() < until &&
         !cli_stop_came())
    (void)poll(NULL, 0, LOOK_MS);
  if (code == DX_E_BUSY) /* no error of this machine, just too early */
    err->code = code = DX_E_NOT_YET;
  return code;
}

static enum dx_code cancel_one(void *ctx, const char *text, struct dx_err *err)
{
  struct cancel c = {.cli = ctx};
  enum dx_code code = cli_pick_job(c.cli, text, c.key, err);

  return code == DX_OK ? look_until_done(&c, err) : code;
}

enum dx_code verb_cancel(struct cli *cli, struct dx_err *err)
{
  enum dx_code code = cli_open_jobs(cli, err);

  if (code != DX_OK)
    return code;
  cli_stop_catch();
  return cli_each_argument(cli, cancel_one, cli, err);
}
