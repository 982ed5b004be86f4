/*
 * show.c - `docextract show JOB|FILE...`: prints extracted data as a table,
 * with --html as a page, or with --json unchanged. All data in a result is
 * untrusted, and is printed through result.c; numbers keep their digits. The
 * service defines the fields: unknown fields are shown, too.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/digest.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/language.h"
#include "lib/control/status.h"
#include "lib/spool/results.h"

#define NO_RESULTS_YET "job %s has no results yet"
#define SEE_STATUS "; to see its status, run: docextract jobs"
#define DX_RESULT_MAX_BYTES 1073741824LL /* the maximum of MaxResultSize */

struct show {
  struct cli *cli;
  size_t shown;  /* results */
  bool has_page; /* the page was begun */
};

/* ---- a result ---- */

/* Begins the page with its first line, so that no page is empty. */
static void show_begin_page(struct show *s)
{
  if (!s->has_page)
    result_begin_page();
  s->has_page = true;
}

/* Prints what is missing, on stderr and on the page. */
__attribute__((format(printf, 2, 3))) static void
show_print_note(struct show *s, const char *format, ...)
{
  char english[DX_REASON_BYTES + 128], text[2 * sizeof(english)];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(english, sizeof(english), format, args);
  va_end(args);
  (void)dx_translate(english, text, sizeof(text));
  fprintf(stderr, "docextract: %s\n", text);
  if (s->cli->html) {
    show_begin_page(s);
    result_print_note(text);
  }
}

static enum dx_code show_print_result(struct show *s,
                                      const struct dx_buf *content,
                                      struct dx_err *err)
{
  struct cJSON *root = NULL;
  enum dx_code code = s->cli->json ? DX_OK : result_parse(content, &root, err);

  if (code != DX_OK)
    return code;
  if (!s->cli->html && s->shown > 0)
    printf("\n");
  if (s->cli->json) {
    cli_print_bytes(dx_buf_text(content), content->len);
  } else if (s->cli->html) {
    show_begin_page(s);
    result_print_page(dx_json_get(root, "results"));
  } else {
    result_print_table(dx_json_get(root, "results"));
  }
  dx_json_free(&root);
  s->shown++;
  return DX_OK;
}

/* ---- a file ---- */

/* For root, shows only files that the owner of the spool may read, because a
 * user who is not root may have started the command. */
static enum dx_code show_file(struct show *s, const char *path,
                              struct dx_err *err)
{
  struct dx_buf content = {0};
  enum dx_code code;

  if (geteuid() == 0 && (cli_load(s->cli, err) != DX_OK ||
                         cli_become_owner(s->cli, err) != DX_OK))
    return err->code;
  if (geteuid() == 0)
    return dx_fail(err, DX_E_ACCESS, 0,
                   "SpoolDir '%s' belongs to 'root', and docextract does not "
                   "read files as root",
                   s->cli->config->spool_dir);
  code = dx_fs_read(AT_FDCWD, path, DX_RESULT_MAX_BYTES, &content, err);
  if (code == DX_E_ACCESS)
    return dx_fail_advice(err,
                          "files are read with the permissions of the caller "
                          "or, for root, of the owner of SpoolDir");
  if (code == DX_E_NOT_FOUND)
    return dx_fail(
        err, DX_E_JOB, ENOENT,
        "'%s' is neither a file nor a job; to list jobs, run: docextract jobs",
        path);
  if (code == DX_OK)
    code = show_print_result(s, &content, err);
  dx_buf_release(&content);
  return code;
}

/* ---- a job ---- */

/* Reads a result from the results directory, or from the job directory if it is
 * not delivered yet. */
static enum dx_code show_read_result(struct show *s,
                                     const struct dx_submission *sub,
                                     size_t index, const char *name,
                                     struct dx_buf *content, struct dx_err *err)
{
  const char *results_dir = cli_results_dir(s->cli, sub);
  char stored[DX_FILE_NAME_BYTES];
  enum dx_code code;
  int dirfd;

  if (results_dir == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "the service of job %s is no longer configured, so its "
                   "results directory is unknown",
                   sub->job->key);
  dirfd = dx_fs_open_dir(AT_FDCWD, results_dir, err);
  if (dirfd >= 0) {
    code = dx_fs_read(dirfd, name, DX_RESULT_MAX_BYTES, content, err);
    (void)close(dirfd);
  } else {
    code = err->code;
  }
  if (code != DX_E_NOT_FOUND)
    return code;
  dx_result_file(sub, index, stored);
  if (dx_fs_read(sub->job->dirfd, stored, DX_RESULT_MAX_BYTES, content, NULL) ==
      DX_OK)
    return DX_OK;
  return dx_fail(err, code, 0,
                 "'%s' is no longer in '%s'; a program that processes results "
                 "has moved or deleted it",
                 name, results_dir);
}

static enum dx_code show_case(struct show *s, const struct dx_submission *sub,
                              size_t index, struct dx_err *err)
{
  const struct dx_case *c = &sub->cases[index];
  char *name = dx_result_name(sub->source_id, c->id);
  char sum[DX_SHA256_HEX_BYTES], request[DX_CHANNEL_LINE_BYTES];
  struct dx_buf content = {0};
  enum dx_code code;

  if (name == NULL)
    return dx_fail_nomem(err);
  if (!s->cli->asks) {
    code = show_read_result(s, sub, index, name, &content, err);
  } else { /* docextractd has the delivered ones */
    (void)snprintf(request, sizeof(request), "show %s %s", sub->job->key, name);
    code = dx_status_fetch(s->cli->config->status_socket, request,
                           DX_RESULT_MAX_BYTES, &content, err);
  }
  dx_sha256_of(content.data, content.len, sum);
  if (code == DX_OK && strcmp(sum, c->sha256) != 0)
    show_print_note(s, "'%s' differs from what the service sent", name);
  free(name);
  if (code == DX_OK)
    code = show_print_result(s, &content, err);
  dx_buf_release(&content);
  return code;
}

/* Shows every result; *err is the first error. */
static enum dx_code show_all(struct show *s, const struct dx_job *job,
                             struct dx_err *err)
{
  size_t i, k, before = s->shown;
  enum dx_code code = DX_OK;
  struct dx_err why;

  for (i = 0; i < job->submission_count; i++)
    for (k = 0; k < job->submissions[i].case_count; k++) {
      enum dx_case_state state = job->submissions[i].cases[k].state;

      if (state == DX_CASE_WAITING ||
          (s->cli->asks && state != DX_CASE_DELIVERED))
        continue;
      if (show_case(s, &job->submissions[i], k, &why) != DX_OK &&
          code == DX_OK) {
        *err = why;
        code = why.code;
      }
    }
  for (i = 0; i < job->submission_count; i++) { /* those without a result */
    const struct dx_submission *sub = &job->submissions[i];
    const char *word = dx_state_word(sub->state);
    const char *reason = dx_line(sub->reason);

    if (strcmp(reason, word) == 0)
      reason = "";
    for (k = 0; sub->state != DX_ST_EXTRACTED && k < sub->file_count; k++)
      show_print_note(s, "document %zu: %s%s%s", sub->files[k].document + 1,
                      word, reason[0] != '\0' ? ": " : "", reason);
  }
  if (code != DX_OK || s->shown > before)
    return code;
  if (dx_job_is_final(job))
    return dx_fail(err, DX_E_JOB, 0, "job %s has no results", job->key);
  if (!dx_job_is_undecided(job))
    return dx_fail(err, DX_E_NOT_YET, 0, NO_RESULTS_YET SEE_STATUS, job->key);
  (void)dx_fail(err, DX_E_NOT_YET, 0, NO_RESULTS_YET, job->key);
  if (s->cli->asks)
    return dx_fail_advice(err, "it needs a decision of the administrator");
  return dx_fail_advice(
      err,
      "it needs a decision; to send it: docextract retry %.8s; "
      "to cancel it: docextract cancel %.8s",
      job->key, job->key);
}

static enum dx_code show_job(struct show *s, const char *text,
                             struct dx_err *err)
{
  char key[DX_KEY_BYTES];
  struct dx_job *job = NULL;
  enum dx_code code =
      s->cli->spool.dirfd < 0 ? cli_open_jobs(s->cli, err) : DX_OK;

  if (code == DX_OK)
    code = cli_find_job(s->cli, text, key, &job, err);
  if (code == DX_E_NOT_YET)
    code = dx_fail(err, DX_E_NOT_YET, 0, NO_RESULTS_YET SEE_STATUS, key);
  if (code == DX_OK)
    code = show_all(s, job, err);
  dx_job_free(&job);
  return code;
}

/* A file with the name of a job must be written as "./1234abcd". */
static enum dx_code show_one(void *ctx, const char *text, struct dx_err *err)
{
  struct show *s = ctx;
  enum dx_code code =
      cli_is_job_name(text) ? show_job(s, text, err) : show_file(s, text, err);

  if (code != DX_OK && s->has_page)
    result_print_note(err->text);
  return code;
}

enum dx_code verb_show(struct cli *cli, struct dx_err *err)
{
  struct show s = {.cli = cli};
  enum dx_code code = cli_each_argument(cli, show_one, &s, err);

  if (s.has_page)
    result_end_page();
  return code;
}
