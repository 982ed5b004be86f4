/*
 * purge.c - `docextract purge`: removes finished jobs from the spool before
 * KeepJobs does. Results stay, and so does every job of which something is not
 * extracted, canceled or expired: its documents may be the only copy.
 */
#include "cli/cli.h"

#include <stdio.h>

struct purge {
  struct cli *cli;
  int64_t least_ms; /* without activity */
  size_t removed, unfinished, failed, recent;
  struct dx_err *err;
};

/* True if the job may be removed; counts why not. */
static bool may_remove(struct purge *p, const struct dx_job *job, pid_t holder)
{
  if (holder != 0 || !dx_job_is_final(job))
    p->unfinished++;
  else if (!dx_job_is_finished(job))
    p->failed++;
  else if (dx_spool_idle_ms(job) < p->least_ms)
    p->recent++;
  else
    return true;
  return false;
}

/* Takes the lock, and looks again. */
static enum dx_code remove_job(struct purge *p, const char *key)
{
  struct dx_job *job = NULL;
  enum dx_owner owner;
  pid_t holder;
  enum dx_code code =
      dx_spool_take(&p->cli->spool, key, &job, &holder, &owner, p->err);

  if (code == DX_OK && may_remove(p, job, 0)) {
    code = dx_spool_remove(&p->cli->spool, &job, p->err);
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
  bool removable;
  enum dx_code code = dx_spool_peek(&p->cli->spool, key, &job, &holder, p->err);

  if (cli_stop_came())
    return dx_fail(p->err, DX_E_STOPPED, 0, "stopped");
  if (code == DX_E_NOT_FOUND || code == DX_E_DAMAGED)
    return DX_OK;
  if (code != DX_OK)
    return code;
  removable = may_remove(p, job, holder);
  dx_job_free(&job);
  if (removable && p->cli->dry_run)
    p->removed++;
  else if (removable)
    code = remove_job(p, key);
  return code == DX_E_NOT_FOUND || code == DX_E_DAMAGED ? DX_OK : code;
}

static void print_kept(size_t count, const char *why)
{
  if (count > 0)
    printf("Kept %zu: %s\n", count, why);
}

static void print_summary(const struct purge *p)
{
  printf("%s %zu finished job%s\n",
         p->cli->dry_run ? "Would remove" : "Removed", p->removed,
         p->removed == 1 ? "" : "s");
  print_kept(p->unfinished, "unfinished");
  print_kept(p->recent, "too recent");
  print_kept(p->failed, "failed, with their documents; give one up with: "
                        "docextract cancel JOB");
}

enum dx_code verb_purge(struct cli *cli, struct dx_err *err)
{
  struct purge p = {.cli = cli, .err = err};
  enum dx_code code = cli_open_spool(cli, err);

  if (code != DX_OK)
    return code;
  p.least_ms = cli->older_than != NULL ? dx_parse_duration(cli->older_than)
                                       : cli->config->keep_jobs_ms;
  cli_stop_catch();
  code = dx_spool_each(&cli->spool, look_at, &p, err);
  if (code == DX_OK)
    code = dx_spool_each_finished(&cli->spool, look_at, &p, err);
  print_summary(&p);
  return code;
}
