/*
 * submit.c - `docextract submit FILE...`: like a print job, without CUPS.
 * The files become a job in the spool, and docextractd does the rest; a job
 * that was stored is never lost, however the command ends.
 *
 * Messages count the files instead of naming them: names of charts are often
 * names of patients, and stderr may end up in a log.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/policy.h"
#include "lib/base/sandbox.h"
#include "lib/base/utf8.h"
#include "lib/spool/filename.h"

struct submit {
  struct cli *cli;
  const struct dx_service *service;
  int *inputs;  /* open files; -1: not yet */
  size_t count; /* of inputs */
  struct filter *filter;
  char user[DX_USER_BYTES]; /* the caller */
  struct dx_job *job;
  struct dx_buf refusals; /* a line each */
  size_t refused;
  bool is_stored;
};

/* ---- the files, with the caller's rights ---- */

static enum dx_code check_input(int fd, size_t number, int64_t most,
                                struct dx_err *err)
{
  char size[DX_SIZE_TEXT_BYTES];
  struct stat st;

  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
    return dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is not a regular file",
                   number);
  if (st.st_size == 0)
    return dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is empty", number);
  if (st.st_size > most)
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "file %zu is larger than MaxDocumentSize (%s)", number,
                   dx_size_text(most, size));
  return DX_OK;
}

static enum dx_code open_input(int *input, const char *path, size_t number,
                               int64_t most, struct dx_err *err)
{
  /* O_NONBLOCK: a fifo must not block. */
  *input = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (*input < 0)
    return dx_fail(err, DX_E_DOCUMENT, errno, "cannot open file %zu: %s",
                   number, strerror(errno));
  return check_input(*input, number, most, err);
}

static enum dx_code open_inputs(struct submit *s, struct dx_err *err)
{
  size_t count = s->cli->arg_count;
  enum dx_code code = DX_OK;
  size_t i;

  if ((int64_t)count > s->service->max_documents)
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "more files than MaxDocumentsPerJob (%" PRId64
                   "); submit fewer at a time",
                   s->service->max_documents);
  s->inputs = calloc(count, sizeof(*s->inputs));
  if (s->inputs == NULL)
    return dx_fail_nomem(err);
  for (i = 0; i < count; i++)
    s->inputs[i] = -1;
  s->count = count;
  for (i = 0; code == DX_OK && i < count; i++)
    code = open_input(&s->inputs[i], s->cli->args[i], i + 1,
                      s->service->max_document_bytes, err);
  return code;
}

static enum dx_code check_title(const char *title, struct dx_err *err)
{
  if (title == NULL || dx_utf8_is_plain(title))
    return DX_OK;
  return dx_fail(err, DX_E_DOCUMENT, 0,
                 "the title must be UTF-8 without control characters");
}

/* ---- the job ---- */

static enum dx_code open_directories(struct submit *s, struct dx_err *err)
{
  const struct dx_config *config = s->cli->config;
  enum dx_code code = dx_spool_open(config->spool_dir, &s->cli->spool, err);

  return code == DX_OK ? cli_probe(config, s->service, err) : code;
}

static void name_document(const struct submit *s, size_t index,
                          struct dx_entry *entry)
{
  const char *path = s->cli->args[index], *slash = strrchr(path, '/');

  if (s->service->file_names == DX_FILE_NAMES_NEUTRAL)
    dx_filename_neutral(index + 1, entry->type, entry->name);
  else
    dx_filename_from_title(slash != NULL ? slash + 1 : path, entry->type,
                           entry->name);
}

/* The others are still looked at, so that all mistakes are reported at once. */
static void note_refusal(struct submit *s, size_t index,
                         const struct dx_entry *entry, struct dx_err *err)
{
  enum dx_code code =
      entry->reason == DX_REASON_TROUBLE ? DX_E_IO : DX_E_DOCUMENT;

  s->refused++;
  if (err->code != DX_E_DOCUMENT) /* the caller can fix that one: it stays */
    (void)dx_fail(err, code, 0, "file %zu cannot be sent: %s; nothing was sent",
                  index + 1, entry->reason_text);
  dx_buf_printf(&s->refusals, "docextract: file %zu cannot be sent: %s\n",
                index + 1, entry->reason_text);
}

/* *refusal is set if the document cannot be sent. */
static enum dx_code add_document(struct submit *s, size_t index,
                                 struct dx_err *refusal, struct dx_err *err)
{
  struct dx_document *document = &s->job->documents[index];
  struct dx_entry *entry = &document->entry;
  int fd = dx_spool_create_document(s->job, index, err);
  enum dx_code code;

  if (fd < 0)
    return err->code;
  code = filter_next(s->filter, index + 1, fd, entry, err);
  (void)close(fd);
  if (code == DX_OK && entry->reason == DX_REASON_SANDBOX)
    code = dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
  if (code != DX_OK)
    return code;
  s->job->document_count++;
  document->is_here = entry->kind == DX_KIND_DOCUMENT;
  if (!document->is_here)
    note_refusal(s, index, entry, refusal);
  name_document(s, index, entry);
  entry->together = s->cli->together;
  return DX_OK;
}

/* Nothing is sent if anything cannot be: whoever repeats the command does not
 * send the others twice. */
static enum dx_code add_documents(struct submit *s, struct dx_err *err)
{
  struct dx_err refusal = {0};
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < s->count; i++)
    code = add_document(s, i, &refusal, err);
  if (code != DX_OK || s->refused == 0)
    return code;
  *err = refusal;
  if (s->refused > 1) {
    (void)fputs(dx_buf_text(&s->refusals), stderr);
    (void)dx_fail(err, refusal.code, 0,
                  "%zu of %zu files cannot be sent; nothing was sent",
                  s->refused, s->count);
  }
  return err->code;
}

static enum dx_code describe(struct submit *s, struct dx_err *err)
{
  struct dx_job *job = s->job;
  char host[256] = "";

  if (gethostname(host, sizeof(host) - 1) < 0)
    host[0] = '\0';
  if (!dx_random_hex(job->key, DX_KEY_BYTES - 1))
    return dx_fail(err, DX_E_IO, 0, "cannot get random numbers");
  job->service = strdup(s->service->name);
  job->base_url = strdup(s->service->base_url);
  job->user = strdup(s->user);
  job->host = strdup(host);
  job->title = strdup(s->cli->title != NULL ? s->cli->title
                                            : job->documents[0].entry.name);
  if (job->service == NULL || job->base_url == NULL || job->user == NULL ||
      job->host == NULL || job->title == NULL)
    return dx_fail_nomem(err);
  return DX_OK;
}

/* Everything goes into incoming/, then one rename makes it a job. */
static enum dx_code store(struct submit *s, struct dx_err *err)
{
  enum dx_code code = dx_spool_receive(&s->cli->spool, &s->job, err);

  if (code != DX_OK)
    return code;
  s->job->documents = calloc(s->count, sizeof(*s->job->documents));
  if (s->job->documents == NULL)
    return dx_fail_nomem(err);
  code = add_documents(s, err);
  if (code == DX_OK)
    code = describe(s, err);
  if (code == DX_OK)
    code = dx_job_plan(s->job, err);
  if (code == DX_OK && cli_stop_came())
    code = dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted");
  if (code == DX_OK)
    code = dx_spool_commit(&s->cli->spool, s->job, err);
  s->is_stored = code == DX_OK || code == DX_E_UNSYNCED;
  return code;
}

/* ---- all of it ---- */

/* Their names can be seen in /proc as long as they are open. */
static void close_inputs(struct submit *s)
{
  size_t i;

  for (i = 0; i < s->count; i++)
    if (s->inputs[i] >= 0)
      (void)close(s->inputs[i]);
  free(s->inputs);
  s->inputs = NULL;
}

static enum dx_code run(struct submit *s, struct dx_err *err)
{
  enum dx_code code = cli_load(s->cli, err);

  if (code == DX_OK)
    code = cli_service(s->cli, &s->service, err);
  if (code == DX_OK)
    code = check_title(s->cli->title, err);
  if (code == DX_OK)
    code = open_inputs(s, err);
  if (code == DX_OK)
    code =
        filter_start(s->filter, s->cli, s->service, s->inputs, s->count, err);
  if (code == DX_OK)
    code = cli_become_owner(s->cli->config->spool_dir, err);
  if (code != DX_OK)
    return code;
  cli_stop_catch();
  code = open_directories(s, err);
  if (code == DX_OK)
    code = store(s, err);
  filter_end(s->filter);
  close_inputs(s);
  if (!s->is_stored)
    return code;
  if (code != DX_OK)
    fprintf(stderr, "docextract: %s\n", err->text);
  printf("Stored %zu document%s as job %s\n", s->count,
         s->count == 1 ? "" : "s", s->job->key);
  return cli_attend(s->cli, s->job, err);
}

enum dx_code verb_submit(struct cli *cli, struct dx_err *err)
{
  struct filter filter = FILTER_NONE;
  struct submit s = {.cli = cli, .filter = &filter};
  enum dx_code code;

  cli_user_name(s.user);
  code = run(&s, err);
  filter_end(&filter);
  if (s.inputs != NULL)
    close_inputs(&s);
  dx_buf_release(&s.refusals);
  if (!s.is_stored)
    dx_spool_discard(&cli->spool, &s.job);
  dx_job_free(&s.job);
  return code;
}
