/*
 * cancel.c - `docextract cancel JOB...`: docextractd sends and fetches nothing
 * more of the job, and deletes its documents; one that cannot be read it moves
 * aside. A user who may not use the spool is told what to do instead.
 */
#include "cli/cli.h"

#include <stdio.h>

static void print_finished(const struct dx_job *job)
{
  size_t good = dx_job_count(job, DX_ST_EXTRACTED);

  if (good == job->submission_count)
    printf("Job %s had already finished: everything is extracted\n", job->key);
  else
    printf("Job %s had already finished: %zu of %zu documents extracted\n",
           job->key, good, job->submission_count);
}

static enum dx_code cancel_as_user(struct cli *cli, const char *key,
                                   struct dx_err *err)
{
  char name[CLI_CUPS_NAME_BYTES];
  struct dx_job *job;
  enum dx_code code = cli_read_job(cli, key, &job, err);

  if (code != DX_OK)
    return code;
  cli_cups_name(job, name);
  if (dx_job_is_finished(job))
    print_finished(job);
  else if (cli_is_of_cups(job))
    code =
        dx_fail(err, DX_E_JOB, 0,
                "this is print job %s; cancel it with: cancel %s", name, name);
  else
    code = cli_refuse_user("cancel", job, err);
  dx_job_free(&job);
  return code;
}

static enum dx_code cancel_one(void *ctx, const char *text, struct dx_err *err)
{
  struct cli *cli = ctx;
  char key[DX_KEY_BYTES];
  enum dx_code code = cli_pick_job(cli, text, key, err);

  if (code != DX_OK)
    return code;
  return cli->asks ? cancel_as_user(cli, key, err)
                   : cli_tell(cli, err, "cancel %s", key);
}

enum dx_code verb_cancel(struct cli *cli, struct dx_err *err)
{
  enum dx_code code = cli_open_jobs(cli, err);

  if (code != DX_OK)
    return code;
  cli_stop_catch();
  return cli_each_argument(cli, cancel_one, cli, err);
}
