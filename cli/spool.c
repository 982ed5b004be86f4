/*
 * spool.c - the spool as the verbs need it: opened by the right user, checked,
 * and a job in it found by what a person calls it. The rest is
 * lib/spool/spool.h's.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/utf8.h"
#include "lib/spool/results.h"

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

  return code == DX_OK ? dx_results_prepare(service->results_dir, err) : code;
}

/* ---- what keeps backends from writing ---- */

static enum dx_code advise_writer(struct dx_err *err)
{
  char name[DX_USER_BYTES];

  if (err->code == DX_E_SPACE)
    return dx_fail_advice(err, "free space there");
  if (err->code != DX_E_ACCESS)
    return err->code;
  cli_user_name(name);
  return dx_fail_advice(err, "'%s' must be able to write there", name);
}

enum dx_code cli_check_spool(const struct dx_config *config, struct dx_err *err)
{
  enum dx_code code = dx_fs_check_access(config->spool_dir, err);

  return code == DX_OK ? code : advise_writer(err);
}

/* A directory that is not there will be created in the one above it. */
static enum dx_code look_at_results(const char *path, struct dx_err *err)
{
  struct stat st;
  char *parent;
  enum dx_code code;

  if (stat(path, &st) == 0)
    return S_ISDIR(st.st_mode) ? dx_fs_check_access(path, err) : DX_OK;
  if (errno != ENOENT)
    return DX_OK;
  parent = dx_fs_parent(path);
  if (parent == NULL)
    return dx_fail_nomem(err);
  code = dx_fs_check_access(parent, err);
  free(parent);
  return code == DX_OK || code == DX_E_NOT_FOUND
             ? DX_OK
             : dx_fail_sys(err, err->sys_errno, "create directory", path);
}

enum dx_code cli_check_results(const struct dx_service *service,
                               struct dx_err *err)
{
  struct dx_err why;
  enum dx_code code = look_at_results(service->results_dir, &why);

  if (code == DX_OK)
    return code;
  (void)advise_writer(&why);
  return dx_fail(err, code, why.sys_errno,
                 "results cannot be written, so nothing will be sent: %s",
                 why.text);
}

const char *cli_results_dir(const struct cli *cli,
                            const struct dx_submission *sub)
{
  const struct dx_service *service = dx_config_service(
      cli->config, sub->section != NULL ? sub->section : sub->job->service);

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

static bool is_key(const char *text)
{
  size_t len = strlen(text);

  return len >= CLI_KEY_LEAST && len < DX_KEY_BYTES &&
         strspn(text, "0123456789abcdef") == len;
}

/* "chart-12"; a key has no '-'. */
static bool is_print_job(const char *text)
{
  const char *id = strrchr(text, '-');

  return id != NULL && id > text && id[1] != '\0' &&
         id[1 + strspn(id + 1, "0123456789")] == '\0' &&
         strlen(text) < CLI_CUPS_NAME_BYTES && strchr(text, '/') == NULL &&
         dx_utf8_is_plain(text);
}

bool cli_is_job_name(const char *text)
{
  return is_key(text) || is_print_job(text);
}

static void add_candidate(struct search *s, const char *key, const char *when)
{
  if (s->count > 0 && strcmp(s->key, key) == 0)
    return; /* it was finished meanwhile: the same job */
  s->count++;
  memcpy(s->key, key, DX_KEY_BYTES);
  if (s->count <= CANDIDATES_MAX)
    dx_buf_printf(&s->candidates, "%s%s%s", s->count > 1 ? ", " : "", key,
                  when);
}

/* Queue names are case-insensitive, as in CUPS. A job that cannot be read is
 * not found by its name. */
static enum dx_code compare_name(struct search *s, const char *stored)
{
  char name[CLI_CUPS_NAME_BYTES], when[DX_TIME_BYTES + 16];
  char at[DX_TIME_BYTES];
  struct dx_job *job;

  if (cli_read_job(s->cli, stored, &job, NULL) != DX_OK)
    return DX_OK;
  cli_cups_name(job, name);
  dx_format_time(job->received_at, at);
  (void)snprintf(when, sizeof(when), " (%s)", at);
  if (strcasecmp(name, s->text) == 0)
    add_candidate(s, job->key, when);
  dx_job_free(&job);
  return DX_OK;
}

static enum dx_code compare(void *ctx, const char *name)
{
  struct search *s = ctx;
  char key[DX_KEY_BYTES];

  if (s->by_name)
    return compare_name(s, name);
  (void)snprintf(key, sizeof(key), "%s", name);
  if (strncmp(key, s->text, strlen(s->text)) == 0)
    add_candidate(s, key, "");
  return DX_OK;
}

static enum dx_code choose(const struct search *s, char key[DX_KEY_BYTES],
                           struct dx_err *err)
{
  if (s->count == 0 && s->by_name)
    return dx_fail(
        err, DX_E_JOB, 0,
        "no job '%s'; one that CUPS has not begun to print is listed by: "
        "lpstat -o; all others by: docextract jobs --all",
        s->text);
  if (s->count == 0)
    return dx_fail(err, DX_E_JOB, 0,
                   "no job '%s'; list jobs with: docextract jobs --all",
                   s->text);
  if (s->count > 1)
    return dx_fail(
        err, DX_E_JOB, 0, "ambiguous job '%s'%s; possible jobs: %s%s", s->text,
        s->by_name ? ": CUPS has used this number again" : "",
        dx_buf_text(&s->candidates), s->count > CANDIDATES_MAX ? ", ..." : "");
  memcpy(key, s->key, DX_KEY_BYTES);
  return DX_OK;
}

enum dx_code cli_pick_job(struct cli *cli, const char *text,
                          char key[DX_KEY_BYTES], struct dx_err *err)
{
  struct search search = {.cli = cli, .text = text};
  enum dx_code code;

  /* Checked first: it may be anything, and goes into messages. */
  if (!cli_is_job_name(text))
    return dx_fail(err, DX_E_JOB, 0,
                   "not a job key or at least its first %d digits, nor a print "
                   "job such as chart-12; list jobs with: docextract jobs",
                   CLI_KEY_LEAST);
  search.by_name = is_print_job(text);
  code = cli_each_job(cli, compare, compare, &search, err);
  if (code == DX_OK)
    code = choose(&search, key, err);
  dx_buf_release(&search.candidates);
  return code;
}

/* ---- several ---- */

static void print_failure(const char *text, const struct dx_err *err)
{
  fprintf(stderr, "docextract: ");
  if (dx_utf8_is_plain(text))
    fprintf(stderr, "%s: ", text);
  fprintf(stderr, "%s\n", err->text);
}

static bool is_temporary(enum dx_code code)
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

    if (code == DX_OK)
      continue;
    print_failure(cli->args[i], &why);
    failed++;
    if (worst == DX_OK || (is_temporary(worst) && !is_temporary(code)))
      worst = code;
  }
  if (i < cli->arg_count)
    return dx_fail(err, DX_E_STOPPED, 0, "stopped; %zu of %zu were not reached",
                   cli->arg_count - i, cli->arg_count);
  if (worst == DX_OK)
    return DX_OK;
  return dx_fail(err, worst, 0, "%zu of %zu failed", failed, cli->arg_count);
}
