/*
 * retry.c - `docextract retry JOB...`: docextractd retries what failed in it,
 * and sends what waited for a decision. A user who may not use the spool is
 * told what to do instead.
 */
#include "cli/cli.h"

#include <stdio.h>

static enum dx_code refuse_cups(const struct dx_job *job, struct dx_err *err)
{
  char name[CLI_CUPS_NAME_BYTES];

  cli_cups_name(job, name);
  return dx_fail(err, DX_E_JOB, 0,
                 "this is print job %s; if CUPS holds it: lp -i %s -H resume; "
                 "if its queue is stopped, ask the administrator",
                 name, name);
}

static enum dx_code retry_as_user(struct cli *cli, const char *key,
                                  struct dx_err *err)
{
  struct dx_job *job;
  enum dx_code code = cli_read_job(cli, key, &job, err);

  if (code != DX_OK)
    return code;
  if (dx_job_outcome(job, NULL) == DX_OK)
    printf("Everything in job %s has already been extracted\n", key);
  else if (cli_is_of_cups(job))
    code = refuse_cups(job, err);
  else if (dx_job_is_final(job) || dx_job_is_undecided(job))
    code = cli_refuse_user("retry", job, err);
  else
    printf("docextractd is working on job %s; nothing to do\n", key);
  dx_job_free(&job);
  return code;
}

static enum dx_code retry_one(void *ctx, const char *text, struct dx_err *err)
{
  struct cli *cli = ctx;
  char key[DX_KEY_BYTES];
  enum dx_code code = cli_pick_job(cli, text, key, err);

  if (code != DX_OK)
    return code;
  if (cli->asks)
    return retry_as_user(cli, key, err);
  return cli->service != NULL
             ? cli_tell(cli, err, "retry %s %s", key, cli->service)
             : cli_tell(cli, err, "retry %s", key);
}

enum dx_code verb_retry(struct cli *cli, struct dx_err *err)
{
  const struct dx_service *service;
  enum dx_code code = cli_open_jobs(cli, err);

  if (code == DX_OK && cli->service != NULL)
    code = cli_service(cli, &service, err);
  if (code != DX_OK)
    return code;
  cli_stop_catch();
  return cli_each_argument(cli, retry_one, cli, err);
}
