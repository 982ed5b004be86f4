/*
 * retry.c - `docextract retry JOB...`: continues a job that nobody drives, and
 * retries what failed in it. A print job is CUPS's to retry; one that was
 * handed over goes back to docextractd if that is running. A user who may not
 * use the spool is told what to do instead.
 */
#include "cli/cli.h"

#include <stdio.h>

#include "lib/spool/adopt.h"

struct retry {
  struct cli *cli;
  char key[DX_KEY_BYTES];
  struct dx_job *job;
};

/* ---- before anything is touched ---- */

static enum dx_code refuse_cups(const struct retry *r, const struct dx_job *job,
                                pid_t holder, struct dx_err *err)
{
  char name[CLI_CUPS_NAME_BYTES];

  cli_cups_name(job, name);
  if (holder != 0)
    return dx_fail(err, DX_E_JOB, 0,
                   "this is print job %s, and process %d is working on it; if "
                   "CUPS holds it later: lp -i %s -H resume",
                   name, (int)holder, name);
  (void)dx_fail(err, DX_E_JOB, 0,
                "this is print job %s; if CUPS holds it: lp -i %s -H resume",
                name, name);
  if (r->cli->asks)
    return cli_advise(err, "if its queue is stopped, ask the administrator");
  return cli_advise(err, "if its queue is stopped: cupsenable %s",
                    job->queue != NULL ? job->queue : "QUEUE");
}

/* cupsd would not start a backend for it any more. */
static bool is_abandoned(const struct dx_job *job, pid_t holder)
{
  enum dx_print_job_state state =
      holder == 0 ? dx_ask_cupsd(job) : DX_PJ_WAITING;

  return state == DX_PJ_OVER || state == DX_PJ_UNKNOWN;
}

static void print_holder(const struct retry *r, const struct dx_job *job,
                         pid_t holder)
{
  bool daemon = r->cli->asks || holder == dx_spool_daemon(r->cli->spool.dirfd);

  printf("%s is working on job %s (process %d); nothing to do\n",
         daemon ? "docextractd" : "Another docextract", r->key, (int)holder);
  if (job->message[0] != '\0')
    printf("Its message: %s\n", job->message);
}

static enum dx_code look(struct retry *r, bool *ret_done, struct dx_err *err)
{
  struct dx_job *job;
  pid_t holder;
  enum dx_code code = cli_peek_job(r->cli, r->key, &job, &holder, err);

  if (code != DX_OK)
    return code;
  *ret_done = true;
  if (dx_job_outcome(job, NULL) == DX_OK &&
      (holder != 0 || job->owner == DX_OWNER_CUPS || r->cli->asks))
    printf("Everything in job %s has already been extracted\n", r->key);
  else if (job->owner == DX_OWNER_CUPS && !is_abandoned(job, holder))
    code = refuse_cups(r, job, holder, err);
  else if (holder != 0)
    print_holder(r, job, holder);
  else if (r->cli->asks)
    code = cli_refuse_user("retry", job, err);
  else
    *ret_done = false;
  dx_job_free(&job);
  return code;
}

/* ---- preparing it ---- */

/* What failed starts over if its documents are still here, or the service is
 * asked what became of them. */
static enum dx_code restart_failed(struct dx_job *job, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    if (sub->state != DX_ST_FAILED && sub->state != DX_ST_REFUSED)
      continue;
    if (dx_submission_is_here(sub) || dx_submission_needs_verify(sub))
      code = dx_submission_retry(sub, err);
    else
      fprintf(stderr,
              "docextract: document %zu is no longer here and must be "
              "submitted again: %s\n",
              sub->files[0].document + 1, sub->reason);
  }
  if (code == DX_OK && dx_job_is_final(job))
    return dx_fail(err, DX_E_JOB, 0, "nothing in job %s can be retried",
                   job->key);
  return code;
}

/* A request to cancel that came too late must not hit the new attempt. */
static enum dx_code prepare(struct retry *r, struct dx_err *err)
{
  enum dx_code code = restart_failed(r->job, err);

  if (code != DX_OK)
    return code;
  dx_spool_cancel_done(r->job);
  dx_job_set_message(r->job, DX_OK, "");
  if (r->job->owner == DX_OWNER_CUPS)
    r->job->owner = DX_OWNER_DAEMON; /* CUPS has given up on it */
  return dx_job_save(r->job, err);
}

/* ---- continuing it ---- */

static enum dx_code drive(struct retry *r, struct dx_err *err)
{
  const struct dx_service *service =
      dx_config_service(r->cli->config, r->job->service);
  enum dx_code code = DX_OK;

  if (service != NULL) /* else the engine reports what is wrong */
    code = cli_probe(r->cli->config, service, err);
  if (code == DX_OK)
    code = prepare(r, err);
  if (code != DX_OK)
    return code;
  printf("Continuing job %s\n", r->key);
  code = cli_finish(r->cli, r->job, err);
  if (r->job->owner == DX_OWNER_DAEMON)
    dx_spool_hand_over(&r->cli->spool, &r->job); /* the rest, if there is any */
  return code;
}

static enum dx_code hand_over(struct retry *r, struct dx_err *err)
{
  enum dx_code code = prepare(r, err);

  if (code != DX_OK)
    return code;
  dx_spool_hand_over(&r->cli->spool, &r->job);
  printf("Handed job %s over to docextractd; check with: docextract jobs\n",
         r->key);
  return DX_OK;
}

/* The job is locked. */
static enum dx_code resume(struct retry *r, struct dx_err *err)
{
  if (dx_job_outcome(r->job, NULL) == DX_OK) {
    printf("Everything in job %s has already been extracted\n", r->key);
    return dx_spool_settle(&r->cli->spool, r->job, err);
  }
  if (r->job->owner == DX_OWNER_DAEMON &&
      dx_spool_daemon(r->cli->spool.dirfd) != 0)
    return hand_over(r, err);
  return drive(r, err);
}

static enum dx_code retry_one(void *ctx, const char *text, struct dx_err *err)
{
  struct cli *cli = ctx;
  struct retry r = {.cli = cli};
  enum dx_owner owner;
  pid_t holder;
  bool is_done = false;
  enum dx_code code = cli_pick_job(cli, text, r.key, err);

  if (code == DX_OK)
    code = look(&r, &is_done, err);
  if (code != DX_OK || is_done)
    return code;
  code = dx_spool_take(&cli->spool, r.key, &r.job, &holder, &owner, err);
  if (code == DX_OK)
    code = resume(&r, err);
  cli_release(cli, &r.job);
  return code;
}

enum dx_code verb_retry(struct cli *cli, struct dx_err *err)
{
  enum dx_code code = cli_open_jobs(cli, err);

  if (code != DX_OK)
    return code;
  cli_stop_catch();
  return cli_each_argument(cli, retry_one, cli, err);
}
