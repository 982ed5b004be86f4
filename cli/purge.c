/*
 * purge.c - `docextract purge`: removes the records of jobs that are over,
 * before KeepJobs does. What is unfinished stays, and so do results; and so
 * does the record of a print job of which something failed: CUPS may run it
 * again, and then only the record knows what must not be sent twice.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

struct purge {
  struct cli *cli;
  struct dx_spool spool;
  int64_t least_ms; /* without activity */
  size_t removed, unfinished, young, print_jobs;
  struct dx_err *err;
};

/* True if the job may go; counts why not. */
static bool may_go(struct purge *p, const struct dx_job *job, pid_t holder)
{
  if (holder != 0 || !dx_job_is_final(job))
    p->unfinished++;
  else if (dx_spool_idle_ms(job) < p->least_ms)
    p->young++;
  else if (job->owner == DX_OWNER_CUPS && dx_job_outcome(job, NULL) != DX_OK)
    p->print_jobs++;
  else
    return true;
  return false;
}

/* Under its lock, and only if it may still go then. */
static enum dx_code remove_job(struct purge *p, const char *key)
{
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;
  enum dx_code code =
      dx_spool_take(&p->spool, key, &job, &holder, &owner, p->err);

  if (code == DX_OK && may_go(p, job, 0)) {
    code = dx_spool_remove(&p->spool, &job, p->err);
    p->removed += code == DX_OK;
  } else if (code == DX_E_BUSY) {
    p->unfinished++;
    code = DX_OK;
  }
  dx_job_free(&job);
  return code;
}

static enum dx_code look_at(void *ctx, const char *key)
{
  struct purge *p = ctx;
  struct dx_job *job;
  pid_t holder;
  bool goes;
  enum dx_code code = dx_spool_peek(&p->spool, key, &job, &holder, p->err);

  if (cli_stop_came())
    return dx_fail(p->err, DX_E_STOPPED, 0, "stopped");
  if (code == DX_E_NOT_FOUND || code == DX_E_DAMAGED)
    return DX_OK;
  if (code != DX_OK)
    return code;
  goes = may_go(p, job, holder);
  dx_job_free(&job);
  if (goes && p->cli->dry_run)
    p->removed++;
  else if (goes)
    code = remove_job(p, key);
  return code == DX_E_NOT_FOUND || code == DX_E_DAMAGED ? DX_OK : code;
}

static void tell_kept(size_t count, const char *why)
{
  if (count > 0)
    printf("Kept %zu: %s\n", count, why);
}

static void tell(const struct purge *p)
{
  printf("%s %zu record%s of finished jobs\n",
         p->cli->dry_run ? "Would remove" : "Removed", p->removed,
         p->removed == 1 ? "" : "s");
  tell_kept(p->unfinished, "not finished");
  tell_kept(p->young, "not old enough");
  tell_kept(p->print_jobs, "failed print jobs, which CUPS may run again; they "
                           "go after KeepJobs");
}

enum dx_code verb_purge(struct cli *cli, size_t count, char **args,
                        struct dx_err *err)
{
  struct purge p = {.cli = cli, .spool = {-1, -1}, .err = err};
  enum dx_code code = cli_open_spool(cli, &p.spool, err);

  (void)count;
  (void)args;
  if (code == DX_OK) {
    p.least_ms = cli->older_than != NULL ? dx_parse_duration(cli->older_than)
                                         : cli->config->keep_jobs_ms;
    cli_stop_catch();
    code = dx_spool_each(&p.spool, look_at, &p, err);
    tell(&p);
  }
  dx_spool_close(&p.spool);
  return code;
}
