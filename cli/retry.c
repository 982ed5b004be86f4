/*
 * retry.c - `docextract retry JOB...` and `docextract cancel JOB...`. For
 * retry, docextractd retries failed submissions, and sends jobs that waited for
 * a decision. For cancel, it stops sending and fetching, and deletes the
 * documents. A user who may not use the spool gets advice instead.
 */
#include "cli/cli.h"

#include <stdio.h>

/* True if CUPS may still run the print job: its own commands must be used. */
static bool is_of_cups(const struct dx_job *job)
{
  return job->print.backend != DX_BACKEND_NONE &&
         job->print.backend != DX_BACKEND_LEFT && !dx_job_is_undecided(job);
}

static enum dx_code refuse_user(const char *verb, const struct dx_job *job,
                                struct dx_err *err)
{
  return dx_fail(err, DX_E_ACCESS, 0,
                 "only the administrator can %s this job; ask for: docextract "
                 "%s %.8s",
                 verb, verb, job->key);
}

static enum dx_code retry_as_user(const struct dx_job *job, struct dx_err *err)
{
  char name[CLI_CUPS_NAME_BYTES];

  cli_cups_name(job, name);
  if (dx_job_outcome(job, NULL) == DX_OK)
    printf("Everything in job %s has already been extracted\n", job->key);
  else if (is_of_cups(job))
    return dx_fail(err, DX_E_JOB, 0,
                   "this is print job %s; if CUPS holds it: lp -i %s -H "
                   "resume; if its queue is stopped, ask the administrator",
                   name, name);
  else if (dx_job_is_final(job) || dx_job_is_undecided(job))
    return refuse_user("retry", job, err);
  else
    printf("docextractd is working on job %s; nothing to do\n", job->key);
  return DX_OK;
}

static enum dx_code cancel_as_user(const struct dx_job *job, struct dx_err *err)
{
  size_t good = dx_job_count(job, DX_ST_EXTRACTED);
  char name[CLI_CUPS_NAME_BYTES];

  cli_cups_name(job, name);
  if (!dx_job_is_finished(job))
    return is_of_cups(job)
               ? dx_fail(err, DX_E_JOB, 0,
                         "this is print job %s; cancel it with: cancel %s",
                         name, name)
               : refuse_user("cancel", job, err);
  if (good == job->submission_count)
    printf("Job %s had already finished: everything is extracted\n", job->key);
  else
    printf("Job %s had already finished: %zu of %zu documents extracted\n",
           job->key, good, job->submission_count);
  return DX_OK;
}

struct request {
  struct cli *cli;
  const char *verb; /* verb of docextractd */
  enum dx_code (*as_user)(const struct dx_job *job, struct dx_err *err);
};

static enum dx_code request_one(void *ctx, const char *text, struct dx_err *err)
{
  const struct request *r = ctx;
  const char *service = r->cli->service;
  char key[DX_KEY_BYTES];
  struct dx_job *job = NULL;
  enum dx_code code = cli_pick_job(r->cli, text, key, err);

  if (code == DX_OK && !r->cli->asks)
    return cli_request(r->cli, CLI_PATIENCE_MS, NULL, err, "%s %s%s%s", r->verb,
                       key, service != NULL ? " " : "",
                       service != NULL ? service : "");
  if (code == DX_OK)
    code = cli_read_job(r->cli, key, &job, err);
  if (code == DX_OK)
    code = r->as_user(job, err);
  dx_job_free(&job);
  return code;
}

static enum dx_code request_all(struct request r, struct dx_err *err)
{
  const struct dx_service *service;
  enum dx_code code = cli_open_jobs(r.cli, err);

  if (code == DX_OK && r.cli->service != NULL)
    code = cli_service(r.cli, &service, err);
  cli_stop_catch();
  return code == DX_OK ? cli_each_argument(r.cli, request_one, &r, err) : code;
}

enum dx_code verb_retry(struct cli *cli, struct dx_err *err)
{
  return request_all((struct request){cli, "retry", retry_as_user}, err);
}

enum dx_code verb_cancel(struct cli *cli, struct dx_err *err)
{
  return request_all((struct request){cli, "cancel", cancel_as_user}, err);
}
