/*
 * submit.c - `docextract submit FILE...`: the way of a print job, without CUPS.
 * The files become a job in the spool, and the engine does the rest; a job that
 * was stored is never lost, however the command ends.
 *
 * Messages count the files instead of naming them: names of charts are often
 * names of patients, and stderr may end up in a log.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/digest.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/job/filename.h"
#include "lib/job/mime.h"
#include "lib/job/sweep.h"

struct input {
  int fd;
  const char *name; /* borrowed: the last part of the path */
  const char *type;
};

struct submit {
  struct cli *cli;
  const struct dx_service *service;
  struct input *inputs;
  size_t count;              /* of inputs */
  char user[CLI_USER_BYTES]; /* the caller */
  struct dx_job *job;
  bool is_stored;
};

/* ---- the files, with the caller's rights ---- */

static enum dx_code check_input(struct input *input, size_t number,
                                int64_t most, struct dx_err *err)
{
  char size[DX_SIZE_TEXT_BYTES];
  char bytes[DX_MIME_LOOK_BYTES];
  struct stat st;
  ssize_t n;

  if (fstat(input->fd, &st) < 0 || !S_ISREG(st.st_mode))
    return dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is not a regular file",
                   number);
  if (st.st_size == 0)
    return dx_fail(err, DX_E_DOCUMENT, 0, "file %zu is empty", number);
  if (st.st_size > most)
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "file %zu is larger than MaxDocumentSize (%s)", number,
                   dx_size_text(most, size));
  n = pread(input->fd, bytes, sizeof(bytes), 0);
  if (n < 0)
    return dx_fail(err, DX_E_DOCUMENT, errno, "cannot read file %zu: %s",
                   number, strerror(errno));
  input->type = dx_mime_of_bytes(bytes, (size_t)n);
  if (input->type == NULL || strcmp(input->type, DX_MIME_TIFF) == 0)
    return dx_fail(err, DX_E_DOCUMENT, 0,
                   "file %zu is not a PDF, JPEG or PNG file; print it to "
                   "send it as a PDF",
                   number);
  return DX_OK;
}

static enum dx_code open_input(struct input *input, const char *path,
                               size_t number, int64_t most, struct dx_err *err)
{
  const char *slash = strrchr(path, '/');

  input->name = slash != NULL ? slash + 1 : path;
  /* O_NONBLOCK: a fifo must not block. */
  input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (input->fd < 0)
    return dx_fail(err, DX_E_DOCUMENT, errno, "cannot open file %zu: %s",
                   number, strerror(errno));
  return check_input(input, number, most, err);
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
    s->inputs[i].fd = -1;
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

  if (code != DX_OK)
    return code;
  dx_spool_sweep(&s->cli->spool, &(struct dx_sweep){.config = config});
  return cli_probe(config, s->service, err);
}

/* Copies and fsyncs, with checksum and length. */
static enum dx_code copy(const struct input *input, int to,
                         struct dx_entry *entry, struct dx_err *err)
{
  char bytes[DX_STREAM_BYTES];
  struct dx_sha256 *sha = dx_sha256_new();
  enum dx_code code = sha != NULL ? DX_OK : dx_fail_nomem(err);

  while (code == DX_OK) {
    ssize_t n = read(input->fd, bytes, sizeof(bytes));

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      code = dx_fail_sys(err, errno, "read", "document");
    if (n <= 0)
      break;
    entry->length += n;
    if (cli_stop_came())
      code = dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted");
    else if (!dx_sha256_add(sha, bytes, (size_t)n))
      code = dx_fail_nomem(err);
    else
      code = dx_fs_write_all(to, bytes, (size_t)n, "document", err);
    dx_fs_begin_writeback(to, entry->length, (size_t)n);
  }
  if (code == DX_OK && !dx_sha256_end(sha, entry->sha256))
    code = dx_fail_nomem(err);
  if (code == DX_OK)
    code = dx_fs_sync(to, "document", err);
  dx_sha256_free(&sha);
  return code;
}

static void name_document(const struct submit *s, size_t index,
                          char name[DX_NAME_BYTES])
{
  const struct input *input = &s->inputs[index];

  if (s->service->file_names == DX_FILE_NAMES_NEUTRAL)
    dx_filename_neutral(index + 1, input->type, name);
  else
    dx_filename_from_title(input->name, input->type, name);
}

static enum dx_code add_document(struct submit *s, size_t index,
                                 struct dx_err *err)
{
  struct input *input = &s->inputs[index];
  struct dx_document *document = &s->job->documents[index];
  struct dx_entry *entry = &document->entry;
  int fd = dx_spool_create_document(s->job, index, err);
  enum dx_code code;

  if (fd < 0)
    return err->code;
  entry->kind = DX_KIND_DOCUMENT;
  (void)snprintf(entry->type, sizeof(entry->type), "%s", input->type);
  (void)snprintf(entry->origin, sizeof(entry->origin), "%s", input->type);
  name_document(s, index, entry->name);
  entry->pages = strcmp(input->type, DX_MIME_PDF) == 0 ? 0 : 1;
  entry->together = s->cli->together;
  code = copy(input, fd, entry, err);
  (void)close(fd);
  (void)close(input->fd);
  input->fd = -1;
  document->is_here = code == DX_OK;
  s->job->document_count++;
  return code;
}

static enum dx_code describe(struct submit *s, struct dx_err *err)
{
  struct dx_job *job = s->job;
  char host[256] = "";

  if (gethostname(host, sizeof(host) - 1) < 0)
    host[0] = '\0';
  if (!dx_random_hex(job->key, DX_KEY_BYTES - 1))
    return dx_fail(err, DX_E_IO, 0, "cannot get random numbers");
  job->owner = DX_OWNER_COMMAND;
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
  size_t i;

  if (code != DX_OK)
    return code;
  s->job->documents = calloc(s->count, sizeof(*s->job->documents));
  if (s->job->documents == NULL)
    return dx_fail_nomem(err);
  for (i = 0; code == DX_OK && i < s->count; i++)
    code = add_document(s, i, err);
  if (code == DX_OK)
    code = describe(s, err);
  if (code == DX_OK)
    code = dx_job_plan(s->job, err);
  if (code == DX_OK && cli_stop_came())
    code = dx_fail(err, DX_E_STOPPED, 0, "stopped; nothing was submitted");
  if (code == DX_OK)
    code = dx_spool_commit(&s->cli->spool, s->job, err);
  s->is_stored = code == DX_OK;
  return code;
}

/* ---- all of it ---- */

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
    code = cli_become_owner(s->cli->config->spool_dir, err);
  if (code != DX_OK)
    return code;
  cli_stop_catch();
  code = open_directories(s, err);
  if (code == DX_OK)
    code = store(s, err);
  if (code != DX_OK)
    return code;
  printf("Stored %zu document%s as job %s\n", s->count,
         s->count == 1 ? "" : "s", s->job->key);
  return cli_finish(s->cli, s->job, err);
}

enum dx_code verb_submit(struct cli *cli, struct dx_err *err)
{
  struct submit s = {.cli = cli};
  enum dx_code code;
  size_t i;

  cli_user_name(s.user);
  code = run(&s, err);
  for (i = 0; i < s.count; i++)
    if (s.inputs[i].fd >= 0)
      (void)close(s.inputs[i].fd);
  free(s.inputs);
  if (!s.is_stored)
    dx_spool_discard(&cli->spool, &s.job);
  dx_job_free(&s.job);
  return code;
}
