/*
 * spool.c - the jobs that the caller may see: the whole spool if the caller may
 * read it, otherwise the caller's own jobs, from docextractd's socket. Also
 * finds a job by the name that a user gives. lib/spool/spool.h does the rest.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/control/status.h"

#define CANDIDATES_MAX 5 /* in one message */

/* ---- from the spool, or from docextractd ---- */

enum dx_code cli_open_jobs(struct cli *cli, struct dx_err *err)
{
  /* For a user who may not read the spool, the valid lines of the configuration
   * are enough. */
  struct dx_config_notes notes = {.takes_mistakes = true};

  if (geteuid() != 0) {
    dx_config_free(&cli->config);
    cli->asks =
        dx_config_load(cli->config_path, &cli->config, &notes, err) == DX_OK &&
        cli_become_owner(cli, err) == DX_E_ACCESS;
    dx_config_notes_release(&notes);
  }
  return cli->asks ? DX_OK : cli_open_spool(cli, err);
}

static const char *spool_key_of(const struct cJSON *line)
{
  const char *key =
      dx_json_string(dx_json_get(dx_json_get(line, "job"), "key"));

  return key != NULL ? key : "";
}

enum dx_code cli_each_job(struct cli *cli, dx_spool_visit *each, void *ctx,
                          struct dx_err *err)
{
  enum dx_code code = DX_OK;
  struct cJSON *line;
  bool at_end = false;
  FILE *in;

  if (!cli->asks)
    return dx_spool_each(&cli->spool, DX_SPOOL_RECEIVED, each, ctx, err);
  dx_json_free(&cli->jobs);
  cli->jobs = dx_json_array();
  if (cli->jobs == NULL)
    return dx_fail_nomem(err);
  in = dx_status_ask(cli->config->status_socket,
                     cli->is_listing && !cli->all ? "jobs" : "jobs all", err);
  if (in == NULL)
    return err->code;
  while (code == DX_OK && !at_end) {
    code = dx_status_line(in, &line, err);
    if (code == DX_OK && line == NULL)
      code = dx_fail(err, DX_E_IO, 0, "the connection to docextractd was lost");
    if (code == DX_OK && !dx_json_bool(dx_json_get(line, "end"), &at_end))
      (void)dx_json_append(cli->jobs, line);
    else
      dx_json_free(&line);
  }
  (void)fclose(in);
  for (cli->job = dx_json_first(cli->jobs); code == DX_OK && cli->job != NULL;
       cli->job = dx_json_next(cli->job))
    if (dx_is_key(spool_key_of(cli->job)))
      code = each(ctx, DX_SPOOL_JOBS, spool_key_of(cli->job));
  return code;
}

enum dx_code cli_read_job(struct cli *cli, const char *name,
                          struct dx_job **ret_job, struct dx_err *err)
{
  const struct cJSON *line = cli->job; /* usually */
  enum dx_code code;

  if (!cli->asks) {
    code = dx_spool_load(&cli->spool, name, ret_job, err);
    if (code == DX_E_DAMAGED && err != NULL)
      (void)dx_fail_advice(
          err, "to move it to '%s/damaged', run: docextract cancel %.32s",
          cli->config->spool_dir, name);
    return code;
  }
  if (line == NULL || strcmp(spool_key_of(line), name) != 0)
    line = dx_json_first(cli->jobs);
  while (line != NULL && strcmp(spool_key_of(line), name) != 0)
    line = dx_json_next(line);
  cli->job = line;
  return line != NULL ? dx_status_read_job(line, ret_job, err)
                      : dx_fail(err, DX_E_NOT_FOUND, 0, "job not found");
}

const char *cli_results_dir(const struct cli *cli,
                            const struct dx_submission *sub)
{
  const struct dx_service *service =
      dx_config_service(cli->config, dx_submission_section(sub));

  return service != NULL ? service->results_dir : NULL;
}

void cli_cups_name(const struct dx_job *job, char name[CLI_CUPS_NAME_BYTES])
{
  (void)snprintf(
      name, CLI_CUPS_NAME_BYTES, "%s%s%s", job->queue != NULL ? job->queue : "",
      job->queue != NULL ? "-" : "", job->cups_id != NULL ? job->cups_id : "");
}

/* ---- picking a job ---- */

struct search {
  struct cli *cli;
  const char *text;
  bool by_name; /* of the print job */
  size_t count;
  char key[DX_KEY_BYTES]; /* the last one found */
  struct dx_buf candidates;
};

/* "chart-12"; a key has no '-'. */
static bool spool_is_print_job(const char *text)
{
  const char *id = strrchr(text, '-');

  return id != NULL && id > text && id[1] != '\0' &&
         id[1 + strspn(id + 1, "0123456789")] == '\0' &&
         strlen(text) < CLI_CUPS_NAME_BYTES && strchr(text, '/') == NULL &&
         dx_utf8_is_plain(text);
}

bool cli_is_job_name(const char *text)
{
  size_t len = strlen(text);

  return (len >= CLI_KEY_LEAST && len < DX_KEY_BYTES &&
          strspn(text, "0123456789abcdef") == len) ||
         spool_is_print_job(text);
}

/* True if this is the name of any of its print jobs. Queue names are
 * case-insensitive, as in CUPS. */
static bool spool_has_name(const struct dx_job *job, const char *text)
{
  char name[CLI_CUPS_NAME_BYTES];
  size_t i;

  cli_cups_name(job, name);
  for (i = 0; i < job->other_count && strcasecmp(name, text) != 0; i++) {
    const struct dx_job other = {.queue = job->others[i].queue,
                                 .cups_id = job->others[i].cups_id};

    cli_cups_name(&other, name);
  }
  return strcasecmp(name, text) == 0;
}

/* An unreadable job is not found by its name. */
static enum dx_code spool_compare_job(void *ctx, enum dx_spool_part part,
                                      const char *stored)
{
  char key[DX_KEY_BYTES], at[DX_TIME_BYTES] = "";
  struct search *s = ctx;
  struct dx_job *job;
  bool fits;

  (void)part;
  (void)snprintf(key, sizeof(key), "%s", stored);
  if (s->by_name) {
    if (cli_read_job(s->cli, stored, &job, NULL) != DX_OK)
      return DX_OK;
    dx_format_time(job->received_at, at);
    fits = spool_has_name(job, s->text);
    dx_job_free(&job);
  } else {
    fits = strncmp(key, s->text, strlen(s->text)) == 0;
  }
  if (!fits || (s->count > 0 && strcmp(s->key, key) == 0))
    return DX_OK; /* the same job may have moved meanwhile */
  memcpy(s->key, key, DX_KEY_BYTES);
  if (++s->count <= CANDIDATES_MAX)
    dx_buf_printf(&s->candidates, "%s%s%s%s%s", s->count > 1 ? ", " : "", key,
                  s->by_name ? " (" : "", at, s->by_name ? ")" : "");
  return DX_OK;
}

enum dx_code cli_pick_job(struct cli *cli, const char *text,
                          char key[DX_KEY_BYTES], struct dx_err *err)
{
  struct search s = {
      .cli = cli, .text = text, .by_name = spool_is_print_job(text)};
  enum dx_code code;

  /* Checked first, because arbitrary text would be used in messages. */
  if (!cli_is_job_name(text))
    return dx_fail(
        err, DX_E_JOB, 0,
        "not a job: give its key, or at least its first %d digits, or a print "
        "job such as chart-12; to list jobs, run: docextract jobs",
        CLI_KEY_LEAST);
  code = cli_each_job(cli, spool_compare_job, &s, err);
  if (code == DX_OK && s.count == 0)
    code = dx_fail(
        err, DX_E_JOB, 0,
        s.by_name ? "no job '%s'; to list jobs that wait in CUPS, run: lpstat "
                    "-o; all others: docextract jobs --all"
                  : "no job '%s'; to list jobs, run: docextract jobs --all",
        text);
  else if (code == DX_OK && s.count > 1)
    code = dx_fail(err, DX_E_JOB, 0,
                   "ambiguous job '%s'%s; possible jobs: "
                   "%s%s",
                   text, s.by_name ? ": CUPS has reused this number" : "",
                   dx_buf_text(&s.candidates),
                   s.count > CANDIDATES_MAX ? ", ..." : "");
  else if (code == DX_OK)
    memcpy(key, s.key, DX_KEY_BYTES);
  dx_buf_release(&s.candidates);
  return code;
}

enum dx_code cli_find_job(struct cli *cli, const char *text,
                          char key[DX_KEY_BYTES], struct dx_job **ret_job,
                          struct dx_err *err)
{
  enum dx_code code = cli_pick_job(cli, text, key, err);

  if (code != DX_OK)
    return code;
  code = cli_read_job(cli, key, ret_job, err);
  return code == DX_E_NOT_FOUND ? DX_E_NOT_YET : code;
}

/* ---- several jobs ---- */

/* Queue names are case-insensitive, as in CUPS. */
bool cli_is_wanted(const struct cli *cli, const struct dx_job *job)
{
  return (cli->state == NULL || strcmp(cli->state, dx_job_status(job)) == 0) &&
         (cli->queue == NULL ||
          (job->queue != NULL && strcasecmp(cli->queue, job->queue) == 0)) &&
         (cli->user == NULL ||
          (job->user != NULL && strcmp(cli->user, job->user) == 0)) &&
         (cli->service == NULL || strcmp(cli->service, job->service) == 0);
}

static bool spool_is_temporary(enum dx_code code)
{
  return cli_exit_status(dx_class_of(code)) == EX_TEMPFAIL;
}

enum dx_code cli_each_argument(const struct cli *cli, cli_one *one, void *ctx,
                               struct dx_err *err)
{
  enum dx_code worst = DX_OK;
  size_t i, failed = 0;

  if (cli->arg_count == 1)
    return one(ctx, cli->args[0], err);
  for (i = 0; i < cli->arg_count && !cli_stop_came(); i++) {
    struct dx_err why;
    enum dx_code code = one(ctx, cli->args[i], &why);
    bool is_plain = dx_utf8_is_plain(cli->args[i]);

    if (code == DX_OK)
      continue;
    fprintf(stderr, "docextract: %s%s%s\n", is_plain ? cli->args[i] : "",
            is_plain ? ": " : "", why.text);
    failed++;
    if (worst == DX_OK ||
        (spool_is_temporary(worst) && !spool_is_temporary(code)))
      worst = code;
  }
  if (i < cli->arg_count)
    return dx_fail(err, DX_E_STOPPED, 0,
                   "stopped; %zu of %zu were not processed", cli->arg_count - i,
                   cli->arg_count);
  if (worst == DX_OK)
    return DX_OK;
  return dx_fail(err, worst, 0, "%zu of %zu failed", failed, cli->arg_count);
}
