/*
 * spool.c - the spool as the verbs need it: opened by the right user, checked,
 * and a job in it found by the beginning of its key. The rest is
 * lib/job/spool.h's.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/job/results.h"

#define CANDIDATES_MAX 5 /* in one message */

enum dx_code cli_load_as_owner(struct cli *cli, struct dx_err *err)
{
  enum dx_code code = cli_load(cli, err);

  if (code == DX_OK)
    code = cli_become_owner(cli->config->spool_dir, err);
  return code;
}

enum dx_code cli_open_spool(struct cli *cli, struct dx_err *err)
{
  enum dx_code code = cli_load_as_owner(cli, err);

  if (code == DX_OK)
    code = dx_spool_open(cli->config->spool_dir, &cli->spool, err);
  return code;
}

enum dx_code cli_probe(const struct dx_config *config,
                       const struct dx_service *service, struct dx_err *err)
{
  enum dx_code code = dx_fs_probe(config->spool_dir, err);

  if (code == DX_OK)
    code = dx_results_make_dir(service->results_dir, err);
  if (code != DX_OK)
    return code;
  dx_results_sweep(service->results_dir);
  return dx_fs_probe(service->results_dir, err);
}

void cli_cups_name(const struct dx_job *job, char name[CLI_CUPS_NAME_BYTES])
{
  (void)snprintf(
      name, CLI_CUPS_NAME_BYTES, "%s%s%s", job->queue != NULL ? job->queue : "",
      job->queue != NULL ? "-" : "", job->cups_id != NULL ? job->cups_id : "");
}

/* ---- picking a job ---- */

struct search {
  const char *text;
  size_t count;
  char key[DX_KEY_BYTES]; /* the last one found */
  struct dx_buf candidates;
};

static enum dx_code add_candidate(void *ctx, const char *key)
{
  struct search *s = ctx;

  if (strncmp(key, s->text, strlen(s->text)) != 0)
    return DX_OK;
  s->count++;
  memcpy(s->key, key, DX_KEY_BYTES);
  if (s->count <= CANDIDATES_MAX)
    dx_buf_printf(&s->candidates, "%s%s", s->count > 1 ? ", " : "", key);
  return DX_OK;
}

static enum dx_code choose(const struct search *s, char key[DX_KEY_BYTES],
                           struct dx_err *err)
{
  if (s->count == 0)
    return dx_fail(err, DX_E_JOB, 0,
                   "no job '%s'; list jobs with: docextract jobs", s->text);
  if (s->count > 1)
    return dx_fail(err, DX_E_JOB, 0, "ambiguous job '%s'; possible jobs: %s%s",
                   s->text, dx_buf_text(&s->candidates),
                   s->count > CANDIDATES_MAX ? ", ..." : "");
  memcpy(key, s->key, DX_KEY_BYTES);
  return DX_OK;
}

enum dx_code cli_pick_job(struct cli *cli, const char *text,
                          char key[DX_KEY_BYTES], struct dx_err *err)
{
  struct search search = {.text = text};
  size_t len = strlen(text);
  enum dx_code code;

  /* Checked first: it may be anything, and goes into messages. */
  if (len < CLI_KEY_LEAST || len >= DX_KEY_BYTES ||
      strspn(text, "0123456789abcdef") < len)
    return dx_fail(err, DX_E_JOB, 0,
                   "not a job key or at least its first %d digits; list jobs "
                   "with: docextract jobs",
                   CLI_KEY_LEAST);
  code = dx_spool_each(&cli->spool, add_candidate, &search, err);
  if (code == DX_OK)
    code = dx_spool_each_finished(&cli->spool, add_candidate, &search, err);
  if (code == DX_OK)
    code = choose(&search, key, err);
  dx_buf_release(&search.candidates);
  return code;
}
