/*
 * show.c - `docextract show JOB|FILE...`: what was extracted, as a table, with
 * --html as a page (html.c), or with --json as it came. Everything in a result
 * is text from outside and is printed through term.c; numbers keep their
 * digits. The service decides which fields there are: unknown ones are shown
 * too.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/html.h"
#include "cli/result.h"
#include "lib/base/buf.h"
#include "lib/base/digest.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/spool/results.h"

struct show {
  struct cli *cli;
  size_t shown;      /* results */
  bool has_page;     /* it was begun */
  struct dx_err err; /* the first one; DX_OK: none */
};

/* ---- a document ---- */

static void print_row(const struct result_row *row,
                      const size_t width[RESULT_COLUMNS], const char *mark)
{
  size_t left = 2; /* blanks before the next text: none follow the last */
  size_t i;

  for (i = 0; i < RESULT_COLUMNS; i++) {
    if (row->text[i][0] != '\0') {
      printf("%*s", (int)left, "");
      left = 0;
      (void)cli_print_plain(row->text[i], SIZE_MAX);
    }
    left += width[i] + 2 - cli_count_characters(row->text[i]);
  }
  if (mark[0] != '\0')
    printf("%*s%s%s%s", (int)left, "", cli_color(CLI_RED), mark,
           cli_color(CLI_PLAIN));
  printf("\n");
}

static void print_patient(const struct dx_json *document)
{
  static const char *const before[] = {" ", " ", ", MRN ", ", born "};
  size_t i;

  printf("Patient:");
  for (i = 0; i < RESULT_PATIENT_FIELDS; i++) {
    const struct dx_json *field = dx_json_get(document, result_patient[i]);

    if (field == NULL)
      continue;
    printf("%s", before[i]);
    (void)cli_print_plain(result_text(field), SIZE_MAX);
  }
  printf("\n");
}

static void print_rows(const struct dx_json *document)
{
  static const struct result_row header = {
      {"FIELD", "VALUE", "UNIT", "MIN", "MAX"}};
  const struct dx_json *first = result_next_row(dx_json_first_member(document));
  const struct dx_json *member;
  size_t width[RESULT_COLUMNS], i;

  if (first == NULL)
    return;
  for (i = 0; i < RESULT_COLUMNS; i++)
    width[i] = cli_count_characters(header.text[i]);
  for (member = first; member; member = result_next_row(dx_json_next(member))) {
    const struct result_row row = result_row(member);

    for (i = 0; i < RESULT_COLUMNS; i++)
      if (cli_count_characters(row.text[i]) > width[i])
        width[i] = cli_count_characters(row.text[i]);
  }
  print_row(&header, width, "");
  for (member = first; member; member = result_next_row(dx_json_next(member))) {
    const struct result_row row = result_row(member);

    print_row(&row, width, result_mark(&row));
  }
}

/* ---- a result ---- */

static void print_named(const char *what, const char *id, const char *name)
{
  printf("%s ", what);
  (void)cli_print_plain(id, SIZE_MAX);
  if (name[0] != '\0')
    printf(": ");
  (void)cli_print_plain(name, SIZE_MAX);
  printf("\n");
}

static void print_case(const struct dx_json *results)
{
  const struct dx_json *document =
      dx_json_first_member(dx_json_get(results, "medical_data"));

  print_named("Case", result_text(dx_json_get(results, "id")),
              result_text(dx_json_get(results, "case_name")));
  if (result_is_empty(results)) {
    printf("Nothing was found in it\n");
    return;
  }
  for (; document != NULL; document = dx_json_next(document)) {
    printf("\n");
    print_named("Document", dx_json_name(document), "");
    print_patient(document);
    print_rows(document);
  }
}

/* An empty page helps nobody: the first thing on it begins it. */
static void begin_page(struct show *s)
{
  if (!s->has_page)
    html_begin();
  s->has_page = true;
}

/* Why this is not everything: on stderr, and on the page. */
__attribute__((format(printf, 2, 3))) static void
print_note(struct show *s, const char *format, ...)
{
  char text[DX_REASON_BYTES + 128];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  fprintf(stderr, "docextract: %s\n", text);
  if (s->cli->html) {
    begin_page(s);
    html_note(text);
  }
}

static void print_shown(struct show *s, const struct dx_json *results)
{
  if (s->cli->html) {
    begin_page(s);
    html_case(results);
    return;
  }
  printf("%s", s->shown == 0 ? "" : "\n");
  print_case(results);
}

static enum dx_code print_result(struct show *s, const struct dx_buf *content,
                                 struct dx_err *err)
{
  struct dx_json *root = NULL;
  enum dx_code code = DX_OK;

  if (s->cli->json) {
    printf("%s", s->shown == 0 ? "" : "\n");
    cli_print_bytes(dx_buf_text(content), content->len);
  } else {
    code = result_parse(content, &root, err);
    if (code == DX_OK)
      print_shown(s, dx_json_get(root, "results"));
    dx_json_free(&root);
  }
  s->shown += code == DX_OK;
  return code;
}

/* ---- a file ---- */

/* Root shows only what the owner of the spool may read: the command may have
 * been started for somebody who is not root. */
static enum dx_code show_file(struct show *s, const char *path,
                              struct dx_err *err)
{
  struct dx_buf content = {0};
  enum dx_code code = geteuid() == 0 ? cli_load_as_owner(s->cli, err) : DX_OK;

  if (code == DX_OK && geteuid() == 0)
    code = dx_fail(err, DX_E_ACCESS, 0,
                   "SpoolDir '%s' belongs to 'root', and no file is shown with "
                   "the rights of root",
                   s->cli->config->spool_dir);
  if (code != DX_OK)
    return code;
  code = dx_fs_read_linked(path, DX_RESULT_MAX_BYTES, &content, err);
  if (code == DX_E_ACCESS)
    return dx_fail_advice(err,
                          "files are read with the rights of the caller, and "
                          "for root with those of the owner of SpoolDir");
  if (code == DX_E_NOT_FOUND)
    return dx_fail(err, code, ENOENT,
                   "'%s' is neither a file nor a job; list jobs with: "
                   "docextract jobs",
                   path);
  if (code == DX_OK)
    code = print_result(s, &content, err);
  dx_buf_wipe(&content);
  return code;
}

/* ---- a job ---- */

static enum dx_code read_delivered(const char *results_dir, const char *name,
                                   struct dx_buf *content, struct dx_err *err)
{
  int dirfd = dx_fs_open_dir(results_dir, err);
  enum dx_code code;

  if (dirfd < 0)
    return err->code;
  code = dx_fs_read(dirfd, name, DX_RESULT_MAX_BYTES, content, err);
  (void)close(dirfd);
  return code;
}

/* From the results directory, or from the job directory if it is not delivered
 * yet. */
static enum dx_code read_result(struct show *s, const struct dx_submission *sub,
                                size_t index, const char *name,
                                struct dx_buf *content, struct dx_err *err)
{
  const char *results_dir = cli_results_dir(s->cli, sub);
  char stored[DX_FILE_NAME_BYTES];
  enum dx_code code;

  if (results_dir == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "the service of job %s is no longer configured, so its "
                   "results directory is unknown",
                   sub->job->key);
  code = read_delivered(results_dir, name, content, err);
  if (code != DX_E_NOT_FOUND)
    return code;
  dx_result_file(sub, index, stored);
  if (dx_fs_read(sub->job->dirfd, stored, DX_RESULT_MAX_BYTES, content, NULL) ==
      DX_OK)
    return DX_OK;
  return dx_fail(err, code, 0,
                 "'%s' is no longer in '%s'; a consumer of the results took it",
                 name, results_dir);
}

static enum dx_code read_case(struct show *s, const struct dx_submission *sub,
                              size_t index, struct dx_buf *content,
                              struct dx_err *err)
{
  char sum[DX_SHA256_HEX_BYTES];
  const struct dx_case *c = &sub->cases[index];
  char *name = dx_result_name(sub->source_id, c->id);
  enum dx_code code;

  if (name == NULL)
    return dx_fail_nomem(err);
  code = s->cli->asks
             ? cli_ask_result(s->cli, sub->job->key, name, content, err)
             : read_result(s, sub, index, name, content, err);
  if (code == DX_OK && dx_sha256_of(content->data, content->len, sum) &&
      strcmp(sum, c->sha256) != 0)
    print_note(s, "'%s' differs from what the service sent", name);
  free(name);
  return code;
}

/* Shows every result; the first error is kept in s->err. */
static void show_submission(struct show *s, const struct dx_submission *sub)
{
  enum dx_code code;
  struct dx_err err;
  size_t i;

  for (i = 0; i < sub->case_count; i++) {
    struct dx_buf content = {0};

    if (sub->cases[i].state == DX_CASE_WAITING ||
        (s->cli->asks && sub->cases[i].state != DX_CASE_DELIVERED))
      continue;
    code = read_case(s, sub, i, &content, &err);
    if (code == DX_OK)
      code = print_result(s, &content, &err);
    dx_buf_wipe(&content);
    if (code != DX_OK && s->err.code == DX_OK)
      s->err = err;
  }
}

/* The documents without a result. */
static void print_missing(struct show *s, const struct dx_job *job)
{
  size_t i, k;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    const char *word = dx_state_word(sub->state);
    const char *reason = strcmp(sub->reason, word) != 0 ? sub->reason : "";

    for (k = 0; sub->state != DX_ST_EXTRACTED && k < sub->file_count; k++)
      print_note(s, "document %zu: %s%s%s", sub->files[k].document + 1, word,
                 reason[0] != '\0' ? ": " : "", reason);
  }
}

static enum dx_code show_nothing(const struct show *s, const struct dx_job *job,
                                 struct dx_err *err)
{
  if (dx_job_is_final(job))
    return dx_fail(err, DX_E_JOB, 0, "job %s has no results", job->key);
  (void)dx_fail(err, DX_E_NOT_YET, 0, "job %s has no results yet", job->key);
  if (!dx_job_is_undecided(job))
    return err->code;
  if (s->cli->asks)
    return dx_fail_advice(err, "it needs a decision of the administrator");
  return dx_fail_advice(
      err,
      "it needs a decision; to send it: docextract retry %.8s; "
      "to give it up: docextract cancel %.8s",
      job->key, job->key);
}

static enum dx_code show_all(struct show *s, const struct dx_job *job,
                             struct dx_err *err)
{
  size_t i, before = s->shown;

  s->err.code = DX_OK;
  for (i = 0; i < job->submission_count; i++)
    show_submission(s, &job->submissions[i]);
  print_missing(s, job);
  if (s->err.code != DX_OK)
    *err = s->err;
  if (s->err.code != DX_OK || s->shown > before)
    return s->err.code;
  return show_nothing(s, job, err);
}

static enum dx_code show_job(struct show *s, const char *text,
                             struct dx_err *err)
{
  char key[DX_KEY_BYTES] = "";
  struct dx_job *job = NULL;
  enum dx_code code =
      s->cli->spool.dirfd < 0 ? cli_open_jobs(s->cli, err) : DX_OK;

  if (code == DX_OK)
    code = cli_pick_job(s->cli, text, key, err);
  if (code == DX_OK)
    code = cli_read_job(s->cli, key, &job, err);
  if (code == DX_E_NOT_FOUND && key[0] != '\0') /* not picked up yet */
    code = dx_fail(err, DX_E_NOT_YET, 0, "job %s has no results yet", key);
  if (code == DX_OK)
    code = show_all(s, job, err);
  dx_job_free(&job);
  return code;
}

/* A file with the name of a job is given as "./1234abcd". */
static enum dx_code show_one(void *ctx, const char *text, struct dx_err *err)
{
  struct show *s = ctx;
  enum dx_code code =
      cli_is_job_name(text) ? show_job(s, text, err) : show_file(s, text, err);

  if (code != DX_OK && s->has_page)
    html_note(err->text);
  return code;
}

enum dx_code verb_show(struct cli *cli, struct dx_err *err)
{
  struct show s = {.cli = cli};
  enum dx_code code = cli_each_argument(cli, show_one, &s, err);

  if (s.has_page)
    html_end();
  return code;
}
