/*
 * ask.c - the jobs that the caller may look at: the whole spool if she may read
 * it, else her own jobs, from docextractd's socket.
 */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/control/status.h"
#include "lib/control/status_client.h"

/* Who owns the key, and what else is wrong with the configuration, does not
 * matter to this caller. */
static bool must_ask(struct cli *cli)
{
  struct dx_config *config = NULL;
  struct dx_err err;

  if (geteuid() == 0 ||
      dx_config_read_anyway(cli->config_path, &config, &err) != DX_OK)
    return false;
  if (cli_become_owner(config->spool_dir, &err) != DX_E_ACCESS) {
    dx_config_free(&config);
    return false;
  }
  dx_config_free(&cli->config);
  cli->config = config;
  return true;
}

enum dx_code cli_open_jobs(struct cli *cli, struct dx_err *err)
{
  cli->asks = must_ask(cli);
  return cli->asks ? DX_OK : cli_open_spool(cli, err);
}

/* ---- from the socket ---- */

static bool is_end(const struct dx_json *line)
{
  bool yes = false;

  return dx_json_bool(dx_json_get(line, "end"), &yes) && yes;
}

static enum dx_code keep_line(struct cli *cli, struct dx_json **line,
                              struct dx_err *err)
{
  return dx_json_append_take(cli->jobs, line) ? DX_OK : dx_fail_nomem(err);
}

/* Reads all lines into cli->jobs. */
static enum dx_code read_lines(struct cli *cli, struct dx_status *status,
                               struct dx_err *err)
{
  struct dx_json *line;
  bool at_end = false;
  enum dx_code code = DX_OK;

  while (code == DX_OK && !at_end) {
    code = dx_status_line(status, DX_STATUS_REPLY_MS, &line, err);
    if (code == DX_OK && line == NULL)
      code = dx_fail(err, DX_E_IO, 0, "the connection to docextractd was lost");
    at_end = code == DX_OK && is_end(line);
    if (code == DX_OK && !at_end)
      code = keep_line(cli, &line, err);
    dx_json_free(&line);
  }
  return code;
}

static enum dx_code ask_jobs(struct cli *cli, struct dx_err *err)
{
  struct dx_status status = DX_STATUS_NONE;
  enum dx_code code;

  dx_json_free(&cli->jobs);
  cli->jobs = dx_json_array();
  if (cli->jobs == NULL)
    return dx_fail_nomem(err);
  code = dx_status_ask(&status, cli->config->status_socket,
                       cli->is_listing && !cli->all ? "jobs" : "jobs all", err);
  if (code == DX_OK)
    code = read_lines(cli, &status, err);
  dx_status_close(&status);
  return code;
}

static const char *key_of(const struct dx_json *line)
{
  const char *key =
      dx_json_string(dx_json_get(dx_json_get(line, "job"), "key"));

  return key != NULL ? key : "";
}

static enum dx_code each_asked(struct cli *cli, cli_each *each, void *ctx,
                               struct dx_err *err)
{
  enum dx_code code = ask_jobs(cli, err);

  for (cli->job = dx_json_first(cli->jobs); code == DX_OK && cli->job != NULL;
       cli->job = dx_json_next(cli->job))
    if (dx_is_key(key_of(cli->job)))
      code = each(ctx, key_of(cli->job));
  return code;
}

/* Usually the job that cli_each_job() is at. */
static enum dx_code read_asked(const struct cli *cli, const char *key,
                               struct dx_job **ret_job, struct dx_err *err)
{
  const struct dx_json *line = cli->job;

  if (line == NULL || strcmp(key_of(line), key) != 0)
    for (line = dx_json_first(cli->jobs);
         line != NULL && strcmp(key_of(line), key) != 0;
         line = dx_json_next(line))
      ;
  if (line == NULL)
    return dx_fail(err, DX_E_NOT_FOUND, 0, "there is no such job");
  return dx_status_read_job(line, ret_job, err);
}

/* ---- from the spool ---- */

/* In the order in which a job moves: none is missed. */
static enum dx_code each_stored(struct cli *cli, cli_each *unfinished,
                                cli_each *finished, void *ctx,
                                struct dx_err *err)
{
  enum dx_code code = dx_spool_each_new(&cli->spool, unfinished, ctx, err);

  if (code == DX_OK)
    code = dx_spool_each(&cli->spool, unfinished, ctx, err);
  if (code == DX_OK)
    code = dx_spool_each_finished(&cli->spool, finished, ctx, err);
  return code;
}

/* ---- either ---- */

enum dx_code cli_each_job(struct cli *cli, cli_each *unfinished,
                          cli_each *finished, void *ctx, struct dx_err *err)
{
  return cli->asks ? each_asked(cli, unfinished, ctx, err)
                   : each_stored(cli, unfinished, finished, ctx, err);
}

enum dx_code cli_read_job(struct cli *cli, const char *name,
                          struct dx_job **ret_job, struct dx_err *err)
{
  if (cli->asks)
    return read_asked(cli, name, ret_job, err);
  return dx_is_key(name)
             ? dx_spool_load(&cli->spool, name, ret_job, err)
             : dx_spool_load_received(&cli->spool, name, ret_job, err);
}

bool cli_is_of_cups(const struct dx_job *job)
{
  return job->print.backend != DX_BACKEND_NONE &&
         job->print.backend != DX_BACKEND_LEFT && !dx_job_is_undecided(job);
}

enum dx_code cli_refuse_user(const char *verb, const struct dx_job *job,
                             struct dx_err *err)
{
  return dx_fail(err, DX_E_ACCESS, 0,
                 "only the administrator can %s this job; ask for: docextract "
                 "%s %.8s",
                 verb, verb, job->key);
}

enum dx_code cli_ask_result(const struct cli *cli, const char *key,
                            const char *name, struct dx_buf *ret_content,
                            struct dx_err *err)
{
  struct dx_status status = DX_STATUS_NONE;
  struct dx_buf request = {0};
  enum dx_code code;

  dx_buf_printf(&request, "show %s %s", key, name);
  code = dx_buf_ok(&request)
             ? dx_status_ask(&status, cli->config->status_socket,
                             dx_buf_text(&request), err)
             : dx_fail_nomem(err);
  if (code == DX_OK)
    code = dx_status_bytes(&status, DX_RESULT_MAX_BYTES, ret_content, err);
  dx_status_close(&status);
  dx_buf_release(&request);
  return code;
}
