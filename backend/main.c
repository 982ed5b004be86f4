/*
 * main.c - the docextract backend: the order of its steps.
 *
 * cupsd runs it as lp, or, if docextract is configured with a separate user, as
 * root, with the documents of one job on stdin as a bundle
 * (lib/print/bundle.h). backend.h lists the restrictions.
 */
#include "backend/backend.h"

#include <cups/backend.h>
#include <cups/sidechannel.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/process.h"
#include "lib/base/user.h"
#include "lib/base/utf8.h"
#include "lib/print/print_job.h"

/* ---- the user ---- */

/* Called first, so that nothing is read as root. */
static enum dx_code backend_enter(struct dx_err *err)
{
  char name[DX_USER_BYTES];
  enum dx_code code = dx_user_enter(err);

  if (code != DX_OK || dx_user() == NULL)
    return code;
  dx_user_name_of(geteuid(), name);
  if (strcmp(name, dx_user()) == 0)
    return DX_OK;
  return dx_fail(err, DX_E_ACCESS, 0,
                 "cupsd runs the backend as '%s' instead of '%s'; fix it with: "
                 "chmod 700 " DX_SERVERBIN "/backend/docextract",
                 name, dx_user());
}

/* ---- from a received bundle to a job ---- */

/* For text from users: journal and manifest are JSON, which cannot contain
 * invalid UTF-8. */
static bool copy_valid(const char *text, char **ret_text)
{
  bool ok = backend_copy(text, ret_text);

  if (*ret_text != NULL)
    dx_utf8_make_valid(*ret_text);
  return ok;
}

static enum dx_code plan(struct backend *b, struct dx_err *err)
{
  struct dx_job *job = b->job;
  struct dx_print_job now;
  enum dx_code code;

  dx_print_job_ask(b->job_id, b->uuid, b->user, BACKEND_ASK_MS, term_came,
                   &now);
  if (term_came())
    return dx_fail(err, DX_E_STOPPED, 0, "stopped");
  if (!dx_print_job_is_known(&now))
    now = b->before; /* cupsd is gone: its last answer counts */
  if (dx_print_job_is_unusable(&now))
    return dx_fail(err, DX_E_BUNDLE, 0,
                   "cupsd does not report which print job this is, or how many "
                   "documents it has: the program that printed has sent "
                   "unusual values for job-uuid, time-at-creation, or "
                   "number-of-documents; print from another program");
  if (!dx_print_job_is_known(&now) && getenv("CUPS_SERVER") != NULL)
    return dx_fail(err, DX_E_BUSY, 0, "cupsd does not respond");
  code = backend_add_missing(job, now.documents, err);
  if (code != DX_OK)
    return code;
  if (backend_count_documents(job) == 0)
    return dx_fail(err, DX_E_MISSING, 0,
                   "there are only job sheets; print the chart again");
  if (now.filter_failed)
    backend_refuse_halves(job);
  if (!backend_copy(b->service, &job->service) ||
      !backend_copy(b->conf->base_url, &job->base_url) ||
      !backend_copy(b->queue, &job->queue) ||
      !backend_copy(b->job_id, &job->cups_id) ||
      !copy_valid(b->uuid, &job->uuid) || !copy_valid(b->user, &job->user) ||
      !copy_valid(b->title, &job->title) || !copy_valid(b->host, &job->host) ||
      !backend_copy(b->cupsd_name, &job->print.cupsd) ||
      !dx_spool_key(b->uuid != NULL ? b->uuid : "", b->job_id,
                    now.time_at_creation, job->key))
    return dx_fail_nomem(err);
  dx_print_begin(&job->print);
  backend_name_documents(b);
  return dx_job_plan(job, err);
}

static enum dx_code backend_run(struct backend *b, struct dx_err *err)
{
  int64_t pages = 0;
  enum dx_code code = backend_receive(b, err);
  size_t i;

  if (code != DX_OK)
    return code;
  term_eof();
  for (i = 0; i < b->job->document_count; i++)
    if (b->job->documents[i].entry.kind == DX_KIND_DOCUMENT)
      pages += b->job->documents[i].entry.pages;
  status_say("PAGE", "total %" PRId64, pages);
  code = plan(b, err);
  if (code == DX_OK)
    code = dx_spool_commit(&b->spool, b->job, err);
  /* A job that is not durable yet is accepted: docextractd makes it durable
   * before steps that cannot be undone, and cupsd keeps the documents. */
  if (code == DX_E_UNSYNCED)
    dx_log(DX_LOG_WARNING, "%s: %s", dx_code_name(err->code), err->text);
  else if (code != DX_OK)
    return code;
  return backend_attend(b, err);
}

int main(int argc, char **argv)
{
  struct backend b = {.in_fd = STDIN_FILENO,
                      .cupsd = getppid(),
                      .spool = {.dirfd = -1, .history_dirfd = -1}};
  struct dx_err err = {0};
  enum dx_code code;

  dx_process_hide_arguments(argc, argv, 2); /* user, title, options */
  code = backend_enter(&err);
  dx_process_protect();
  if (argc == 1)
    return discover(code, &err);
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("docextract-backend %s\n", PACKAGE_VERSION);
    return CUPS_BACKEND_OK;
  }
  if (argc != 6 && argc != 7) {
    fputs("Usage: docextract job user title copies options [file]\n"
          "       docextract --version\n"
          "Without arguments it lists devices. It is run by cupsd; the command "
          "line tool is\ndocextract(1).\n",
          stderr);
    return CUPS_BACKEND_FAILED;
  }
  term_catch();
  status_start();
  b.cupsd_name = dx_cupsd_name(b.cupsd);
  b.entered = err;
  code = backend_read_arguments(&b, argc, argv, &err);
  if (code == DX_OK)
    code = backend_await_ready(&b, &err);
  if (code != DX_OK && code != DX_E_STOPPED)
    dx_seal_refuse(CUPS_SC_FD);
  else if (!dx_seal_give(CUPS_SC_FD, b.seal))
    dx_log(DX_LOG_DEBUG, "no side channel to the filters");
  if (code == DX_OK)
    code = backend_run(&b, &err);
  backend_end(&b, code, &err);
}
