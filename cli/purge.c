/*
 * purge.c - `docextract purge [JOB...]`: removes finished jobs from the spool
 * before KeepJobs has passed. Results are kept, and so is every job with a
 * submission that is not extracted, canceled, or expired, because its documents
 * may be the only copy. docextractd checks the selected jobs again, and removes
 * them.
 */
#include "cli/cli.h"

#include <stdio.h>

struct purge {
  struct cli *cli;
  int64_t least_ms; /* minimum time without activity */
  size_t removed, unfinished, failed, recent;
  struct dx_err *err;
};

/* True if the job may be removed; otherwise counts the reason. */
static bool purge_may_remove(struct purge *p, const struct dx_job *job)
{
  if (!dx_job_is_final(job) || dx_job_awaits_hook(job))
    p->unfinished++;
  else if (!dx_job_is_finished(job))
    p->failed++;
  else if (dx_spool_idle_ms(job) < p->least_ms)
    p->recent++;
  else
    return true;
  return false;
}

static enum dx_code purge_ignore(void *ctx, const struct dx_message *message)
{
  (void)ctx;
  (void)message;
  return DX_OK;
}

static enum dx_code purge_found(void *ctx, enum dx_spool_part part,
                                const char *name)
{
  struct purge *p = ctx;
  struct dx_job *job = NULL;
  enum dx_code code = cli_read_job(p->cli, name, &job, p->err);

  (void)part;
  if (cli_stop_came()) {
    code = dx_fail(p->err, DX_E_STOPPED, 0, "stopped");
  } else if (code == DX_OK && purge_may_remove(p, job)) {
    if (!p->cli->dry_run)
      code = cli_request(p->cli, CLI_PATIENCE_MS, purge_ignore, NULL, p->err,
                         "purge %s", job->key);
    p->removed += code == DX_OK;
    if (code == DX_E_JOB || code == DX_E_BUSY) { /* it has changed meanwhile */
      p->unfinished++;
      code = DX_OK;
    }
  }
  dx_job_free(&job);
  return code == DX_E_NOT_FOUND || code == DX_E_DAMAGED ? DX_OK : code;
}

static void purge_print_kept(size_t count, const char *why)
{
  if (count > 0)
    printf("Kept %zu: %s\n", count, why);
}

/* Removes a job that was named on the command line. */
static enum dx_code purge_named(void *ctx, const char *text, struct dx_err *err)
{
  struct purge *p = ctx;
  char key[DX_KEY_BYTES];
  struct dx_job *job = NULL;
  enum dx_code code = cli_pick_job(p->cli, text, key, err);

  p->recent = 0;
  if (code == DX_OK)
    code = cli_read_job(p->cli, key, &job, err);
  if (code == DX_E_NOT_FOUND || (code == DX_OK && !purge_may_remove(p, job)))
    code = p->recent > 0
               ? dx_fail(err, DX_E_JOB, 0,
                         "job %s is not older than --older-than; to remove "
                         "it, omit the option",
                         key)
               : dx_fail(err, DX_E_JOB, 0,
                         "job %s is not finished; cancel it first, with: "
                         "docextract cancel %s",
                         key, key);
  dx_job_free(&job);
  if (code == DX_OK && !p->cli->dry_run)
    return cli_request(p->cli, CLI_PATIENCE_MS, NULL, NULL, err, "purge %s",
                       key);
  if (code == DX_OK)
    printf("Would remove job %s\n", key);
  return code;
}

enum dx_code verb_purge(struct cli *cli, struct dx_err *err)
{
  struct purge p = {.cli = cli, .err = err};
  enum dx_code code = cli_open_spool(cli, err);

  if (code != DX_OK)
    return code;
  if (cli->older_than != NULL)
    p.least_ms = dx_parse_duration(cli->older_than);
  else if (cli->arg_count == 0)
    p.least_ms = cli->config->keep_jobs_ms;
  cli_stop_catch();
  if (cli->arg_count > 0)
    return cli_each_argument(cli, purge_named, &p, err);
  code = cli_each_job(cli, purge_found, &p, err);
  printf("%s %zu finished job%s\n", cli->dry_run ? "Would remove" : "Removed",
         p.removed, p.removed == 1 ? "" : "s");
  purge_print_kept(p.unfinished, "unfinished");
  purge_print_kept(p.recent, "too recent");
  purge_print_kept(p.failed, "failed, with their documents; cancel one with: "
                             "docextract cancel JOB");
  return code;
}
