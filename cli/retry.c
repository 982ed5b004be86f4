/*
 * retry.c - `docextract retry JOB...` and `docextract cancel JOB...`. For
 * retry, docextractd retries failed submissions, and sends jobs that waited for
 * a decision. For cancel, it stops sending and fetching, and deletes the
 * documents. A user who may not use the spool gets advice instead.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "lib/spool/sentence.h"

/* Tells a user who may not use the spool what to do instead. */
static enum dx_code retry_advise_user(const char *verb,
                                      const struct dx_job *job,
                                      struct dx_err *err)
{
  bool is_retry = strcmp(verb, "retry") == 0;
  char name[CLI_CUPS_NAME_BYTES], sentence[DX_SENTENCE_BYTES];

  cli_cups_name(job, name);
  dx_job_sentence(job, sentence);
  if (is_retry ? dx_job_outcome(job, NULL) == DX_OK : dx_job_is_finished(job))
    printf("Job %s has already finished: %s\n", job->key, sentence);
  else if (job->print.backend != DX_BACKEND_NONE &&
           job->print.backend != DX_BACKEND_LEFT && !dx_job_is_undecided(job))
    return is_retry /* CUPS may still run it: its own commands must be used */
               ? dx_fail(err, DX_E_JOB, 0,
                         "this is print job %s; if CUPS holds it: lp -i %s -H "
                         "resume; if its queue is stopped, ask the "
                         "administrator",
                         name, name)
               : dx_fail(err, DX_E_JOB, 0,
                         "this is print job %s; cancel it with: cancel %s",
                         name, name);
  else if (is_retry && !dx_job_is_final(job) && !dx_job_is_undecided(job))
    printf("docextractd is processing job %s; nothing to do\n", job->key);
  else
    return dx_fail(err, DX_E_ACCESS, 0,
                   "only the administrator can %s this job; ask them to run: "
                   "docextract %s %.8s",
                   verb, verb, job->key);
  return DX_OK;
}

static enum dx_code retry_one(void *ctx, const char *text, struct dx_err *err)
{
  struct cli *cli = ctx;
  char key[DX_KEY_BYTES];
  struct dx_job *job = NULL;
  enum dx_code code = cli_pick_job(cli, text, key, err);

  if (code == DX_OK && !cli->asks)
    return cli_request(cli, CLI_PATIENCE_MS, NULL, NULL, err, "%s %s%s%s",
                       cli->verb, key, cli->service != NULL ? " " : "",
                       cli->service != NULL ? cli->service : "");
  if (code == DX_OK)
    code = cli_read_job(cli, key, &job, err);
  if (code == DX_OK)
    code = retry_advise_user(cli->verb, job, err);
  dx_job_free(&job);
  return code;
}

enum dx_code verb_retry(struct cli *cli, struct dx_err *err)
{
  const struct dx_service *service;
  enum dx_code code = cli_open_jobs(cli, err);

  if (code == DX_OK && cli->service != NULL)
    code = cli_service(cli, &service, err);
  cli_stop_catch();
  return code == DX_OK ? cli_each_argument(cli, retry_one, cli, err) : code;
}

enum dx_code verb_cancel(struct cli *cli, struct dx_err *err)
{
  return verb_retry(cli, err);
}
