/*
 * spool.c - the spool as the verbs need it: opened with the right owner,
 * tried, and a job in it found by the beginning of its key. What is in it is
 * lib/job/spool.h's.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/job/results.h"

#define POSSIBILITIES_MAX 5 /* in one message */

enum dx_code cli_open_spool(struct cli *cli, struct dx_spool *ret_spool,
                            struct dx_err *err)
{
  enum dx_code code = cli_load(cli, err);

  if (code == DX_OK)
    code = cli_become_owner(cli->config->spool_dir, err);
  if (code == DX_OK)
    code = dx_spool_open(cli->config->spool_dir, ret_spool, err);
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
  char key[DX_KEY_BYTES]; /* the last that was found */
  struct dx_buf possible;
};

static enum dx_code look_at(void *ctx, const char *key)
{
  struct search *s = ctx;

  if (strncmp(key, s->text, strlen(s->text)) != 0)
    return DX_OK;
  s->count++;
  memcpy(s->key, key, DX_KEY_BYTES);
  if (s->count <= POSSIBILITIES_MAX)
    dx_buf_printf(&s->possible, "%s%s", s->count > 1 ? ", " : "", key);
  return DX_OK;
}

static enum dx_code judge(const struct search *s, char key[DX_KEY_BYTES],
                          struct dx_err *err)
{
  if (s->count == 0)
    return dx_fail(err, DX_E_JOB, 0,
                   "there is no job '%s'; list them with: docextract jobs",
                   s->text);
  if (s->count > 1)
    return dx_fail(err, DX_E_JOB, 0,
                   "'%s' can mean more than one job; possibilities are: %s%s",
                   s->text, dx_buf_text(&s->possible),
                   s->count > POSSIBILITIES_MAX ? " and more" : "");
  memcpy(key, s->key, DX_KEY_BYTES);
  return DX_OK;
}

enum dx_code cli_pick_job(struct dx_spool *spool, const char *text,
                          char key[DX_KEY_BYTES], struct dx_err *err)
{
  struct search search = {.text = text};
  size_t len = strlen(text);
  enum dx_code code;

  /* Checked here: it goes into a message, and may be anything. */
  if (len < CLI_KEY_LEAST || len >= DX_KEY_BYTES ||
      strspn(text, "0123456789abcdef") < len)
    return dx_fail(err, DX_E_JOB, 0,
                   "a job is named by its key or the beginning of it, at "
                   "least %d digits; list them with: docextract jobs",
                   CLI_KEY_LEAST);
  code = dx_spool_each(spool, look_at, &search, err);
  if (code == DX_OK)
    code = judge(&search, key, err);
  dx_buf_release(&search.possible);
  return code;
}
