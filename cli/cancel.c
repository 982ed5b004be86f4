/*
 * cancel.c - `docextract cancel JOB`: nothing more of the job is sent or
 * fetched, and no document of it stays here. Who drives the job is asked
 * first: docextractd cancels it, a running `docextract` lets go of it. A print
 * job is CUPS's to cancel.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"

#define WAIT_MS 10000 /* for whoever drives the job */
#define LOOK_MS 100

struct cancel {
  struct cli *cli;
  struct dx_spool spool;
  char key[DX_KEY_BYTES];
  pid_t asked; /* whom we asked; 0: nobody yet */
};

/* ---- telling ---- */

static bool was_canceled(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].code == DX_E_CANCELED)
      return true;
  return false;
}

/* How many documents the service has of what was canceled, and how many it
 * may have in part or whole. */
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

static void tell_canceled(const struct dx_job *job)
{
  size_t sure, maybe;

  count_uploaded(job, &sure, &maybe);
  printf("Canceled job %s\n", job->key);
  if (sure > 0)
    printf("The service has %zu document%s of it already; nothing of that "
           "will be fetched\n",
           sure, sure == 1 ? "" : "s");
  if (maybe > 0)
    printf("%zu document%s of it had begun to be uploaded; if the service got "
           "that, nothing of it will be fetched\n",
           maybe, maybe == 1 ? "" : "s");
  if (sure + maybe == 0)
    printf("Nothing of what was canceled had been uploaded\n");
  if (dx_job_count(job, DX_ST_EXTRACTED) > 0)
    printf("What was extracted before stays in the results folder\n");
}

static void tell_over(const struct dx_job *job)
{
  size_t good = dx_job_count(job, DX_ST_EXTRACTED);

  if (good == job->submission_count)
    printf("Job %s was over already: everything is extracted\n", job->key);
  else
    printf("Job %s was over already: %zu of %zu documents extracted\n",
           job->key, good, job->submission_count);
}

/* What the journal of a finished job says; who asked for the end expects it. */
static void tell(const struct cancel *c, const struct dx_job *job)
{
  if (c->asked != 0 && was_canceled(job))
    tell_canceled(job);
  else
    tell_over(job);
}

/* ---- canceling it here ---- */

/* Consumers shall know: the engine drops the manifests. Canceled is canceled,
 * even if that is not possible now. */
static void drop_manifests(struct cancel *c, struct dx_job *job)
{
  struct dx_err err;
  enum dx_code code = cli_drive(c->cli, &c->spool, job, &err);

  if (!job->ended)
    fprintf(stderr, "docextract: no manifest was written: %s\n",
            code != DX_OK ? err.text : "");
}

/* No document bytes stay, not of what failed before either. */
static void clean_up(struct dx_job *job)
{
  struct dx_err err;

  if (dx_job_delete_documents(job, &err) != DX_OK)
    fprintf(stderr, "docextract: %s\n", err.text);
  dx_spool_cancel_done(job);
}

/* The job is ours. */
static enum dx_code cancel_taken(struct cancel *c, struct dx_job *job,
                                 struct dx_err *err)
{
  enum dx_code code;

  if (dx_job_is_final(job)) {
    tell(c, job);
    clean_up(job);
    return DX_OK;
  }
  dx_job_cancel(job);
  dx_job_set_message(job, "");
  code = dx_job_save(job, err);
  if (code != DX_OK)
    return code;
  drop_manifests(c, job);
  clean_up(job);
  tell_canceled(job);
  return DX_OK;
}

static enum dx_code cancel_here(struct cancel *c, struct dx_err *err)
{
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;
  enum dx_code code =
      dx_spool_take(&c->spool, c->key, &job, &holder, &owner, err);

  if (code == DX_OK)
    code = cancel_taken(c, job, err);
  dx_job_free(&job);
  return code;
}

/* ---- asking others ---- */

static enum dx_code refuse_cups(const struct dx_job *job, struct dx_err *err)
{
  char name[CLI_CUPS_NAME_BYTES];

  if (dx_job_outcome(job, NULL) == DX_OK) {
    tell_over(job);
    return DX_OK;
  }
  cli_cups_name(job, name);
  return dx_fail(err, DX_E_JOB, 0,
                 "this is the print job %s; cancel it with: cancel %s", name,
                 name);
}

static bool is_docextractds(const struct cancel *c, const struct dx_job *job,
                            pid_t holder)
{
  return job->owner == DX_OWNER_DAEMON &&
         holder == cli_daemon_pid(c->cli->config->spool_dir);
}

/*
 * docextractd finds a mark in the job's directory. Any other holder is a
 * `docextract`, which lets go of the job after SIGTERM, or for a moment the
 * backend that handed the job over, to which the signal changes nothing.
 */
static enum dx_code ask(struct cancel *c, const struct dx_job *job,
                        pid_t holder, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (c->asked != holder) {
    c->asked = holder;
    if (is_docextractds(c, job, holder))
      code = dx_spool_ask_cancel(&c->spool, c->key, err);
    else if (holder > 1)
      (void)kill(holder, SIGTERM);
  }
  if (code != DX_OK)
    return code;
  return dx_fail(err, DX_E_BUSY, 0,
                 "process %d was asked to let job %s go and has not yet; look "
                 "with: docextract jobs",
                 (int)holder, c->key);
}

/* One look, and what follows from it. E_BUSY: look again. */
static enum dx_code look(struct cancel *c, struct dx_err *err)
{
  struct dx_job *job;
  pid_t holder;
  enum dx_code code = dx_spool_peek(&c->spool, c->key, &job, &holder, err);

  if (code != DX_OK)
    return code;
  if (job->owner == DX_OWNER_CUPS)
    code = refuse_cups(job, err);
  else if (holder == 0)
    code = cancel_here(c, err);
  else if (dx_job_is_final(job) && is_docextractds(c, job, holder))
    tell(c, job); /* its documents go with docextractd's hold */
  else
    code = ask(c, job, holder, err);
  dx_job_free(&job);
  return code;
}

static void pause_ms(long ms)
{
  const struct timespec time = {.tv_nsec = ms * 1000000};

  (void)nanosleep(&time, NULL);
}

static enum dx_code wait_for_it(struct cancel *c, struct dx_err *err)
{
  int64_t until = dx_monotonic_ms() + WAIT_MS;
  struct dx_err what;
  enum dx_code code;

  while ((code = look(c, err)) == DX_E_BUSY && dx_monotonic_ms() < until &&
         !cli_stop_came())
    pause_ms(LOOK_MS);
  if (code != DX_E_BUSY)
    return code;
  what = *err; /* not this machine's trouble: it is only too soon */
  return dx_fail(err, DX_E_NOT_YET, 0, "%s", what.text);
}

enum dx_code verb_cancel(struct cli *cli, size_t count, char **args,
                         struct dx_err *err)
{
  struct cancel c = {.cli = cli, .spool = {-1, -1}};
  enum dx_code code = cli_open_spool(cli, &c.spool, err);

  (void)count;
  if (code == DX_OK)
    code = cli_pick_job(&c.spool, args[0], c.key, err);
  if (code == DX_OK) {
    cli_stop_catch();
    code = wait_for_it(&c, err);
  }
  dx_spool_close(&c.spool);
  return code;
}
