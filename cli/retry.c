/*
 * retry.c - `docextract retry` and `docextract cancel`, of the jobs that are
 * named, or of all that options select. For retry, docextractd retries failed
 * submissions, and sends jobs that waited for a decision. For cancel, it stops
 * sending and fetching, and deletes the documents. A user who may not use the
 * spool gets advice instead.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "lib/spool/sentence.h"

/* ---- jobs that are named ---- */

/* Tells a user who may not use the spool what to do instead. */
static enum dx_code retry_advise_user(const char *verb,
                                      const struct dx_job *job,
                                      struct dx_err *err)
{
  bool is_retry = strcmp(verb, "retry") == 0;
  enum dx_state state = dx_job_state(job);
  char name[CLI_CUPS_NAME_BYTES], sentence[DX_SENTENCE_BYTES];

  cli_cups_name(job, name);
  dx_job_sentence(job, sentence);
  if (is_retry ? dx_job_outcome(job, NULL) == DX_OK : dx_job_is_finished(job))
    printf("Job %s has already finished: %s\n", job->key, sentence);
  else if (is_retry && state == DX_ST_REFUSED)
    return dx_fail(err, DX_E_JOB, 0, CLI_USER_CORRECTS);
  else if (is_retry && (state == DX_ST_CANCELED || state == DX_ST_EXPIRED))
    return dx_fail(err, DX_E_JOB, 0, "the job is %s; " CLI_USER_PRINTS,
                   dx_state_word(state));
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

/* ---- all of them ---- */

struct retry_all {
  struct cli *cli;
  size_t count, failed; /* of the selected jobs */
  struct dx_err *err;
};

/* True if the job waits, or has failed, and its documents are still here. */
static bool retry_has_effect(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    if ((sub->state == DX_ST_FAILED || sub->state == DX_ST_REFUSED) &&
        (dx_submission_is_here(sub) || dx_submission_needs_verify(sub)))
      return true;
  }
  return !dx_job_is_final(job) && dx_job_problem(job)->text != NULL;
}

/* Without --state, not a job that needs a decision: it must not be sent, or
 * deleted, together with jobs that have another problem. */
static bool retry_selects(const struct cli *cli, const struct dx_job *job)
{
  if (dx_job_is_finished(job) || !cli_is_wanted(cli, job))
    return false;
  return cli->state != NULL ||
         (!dx_job_is_undecided(job) &&
          (strcmp(cli->verb, "cancel") == 0 || retry_has_effect(job)));
}

/* What happened is said once, for all of them. */
static enum dx_code retry_print_warning(void *ctx,
                                        const struct dx_message *message)
{
  const struct dx_job *job = ctx;

  if (message->verb == DX_VERB_WARN)
    fprintf(stderr, "docextract: %s: %s\n", job->key, message->text);
  return DX_OK;
}

static enum dx_code retry_visit(void *ctx, enum dx_spool_part part,
                                const char *name)
{
  struct retry_all *all = ctx;
  struct dx_job *job = NULL;
  struct dx_err why;

  if (part == DX_SPOOL_FINISHED)
    return DX_OK;
  if (cli_stop_came())
    return dx_fail(all->err, DX_E_STOPPED, 0,
                   "stopped; not all jobs were processed");
  /* One that cannot be read is left to `cancel JOB`. */
  if (cli_read_job(all->cli, name, &job, NULL) == DX_OK &&
      retry_selects(all->cli, job)) {
    all->count++;
    if (cli_request(all->cli, CLI_PATIENCE_MS, retry_print_warning, job, &why,
                    "%s %s", all->cli->verb, job->key) != DX_OK) {
      all->failed++;
      fprintf(stderr, "docextract: %s: %s\n", job->key, why.text);
      if (all->failed == 1)
        *all->err = why;
    }
  }
  dx_job_free(&job);
  return DX_OK;
}

static enum dx_code retry_all(struct cli *cli, struct dx_err *err)
{
  struct retry_all all = {.cli = cli, .err = err};
  enum dx_code code = cli_open_spool(cli, err);
  bool cancels = strcmp(cli->verb, "cancel") == 0;
  size_t done;

  if (code != DX_OK)
    return code;
  cli_stop_catch();
  code = cli_each_job(cli, retry_visit, &all, err);
  done = all.count - all.failed;
  if (code == DX_OK && all.count == 0)
    cli_check_selection(cli);
  printf("%s %zu job%s%s\n", cancels ? "Canceled" : "Retrying", done,
         done == 1 ? "" : "s",
         cancels || done == 0 ? "" : "; check with: docextract jobs");
  if (code == DX_OK && all.failed > 0)
    code =
        dx_fail(err, err->code, 0, "%zu of %zu failed", all.failed, all.count);
  return code;
}

/* ---- the verbs ---- */

enum dx_code verb_retry(struct cli *cli, struct dx_err *err)
{
  const struct dx_service *service;
  enum dx_code code;

  if (cli->all)
    return retry_all(cli, err);
  code = cli_open_jobs(cli, err);
  if (code == DX_OK && cli->service != NULL)
    code = cli_service(cli, &service, err);
  cli_stop_catch();
  return code == DX_OK ? cli_each_argument(cli, retry_one, cli, err) : code;
}

enum dx_code verb_cancel(struct cli *cli, struct dx_err *err)
{
  return verb_retry(cli, err);
}
