/*
 * main.c - the docextract backend: the order of its steps.
 *
 * cupsd runs it as lp, or as root if it was configured with a user of its own,
 * with the documents of one job on stdin as a bundle (lib/print/bundle.h). What
 * it must not do is in backend.h.
 */
#include "backend/backend.h"

#include <cups/backend.h>
#include <cups/sidechannel.h>
#include <errno.h>
#include <signal.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/user.h"
#include "lib/base/utf8.h"
#include "lib/spool/adopt.h"
#include "lib/spool/merge.h"
#include "lib/spool/results.h"
#include "lib/print/print_job.h"
#include "daemon/service/http.h"

#define ASK_MS 10000
#define TICK_MS (DX_TOGGLE_MS < 60000 ? DX_TOGGLE_MS : 60000)
#define TAKE_PAUSE_MS 50

/* ---- the user ---- */

/* Comes first: nothing is read as root. */
static enum dx_code enter(struct dx_err *err)
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

/* ---- before receiving ---- */

static enum dx_code read_config(struct backend *b, struct dx_err *err)
{
  char *path = dx_config_path(true);
  enum dx_code code;

  if (path == NULL)
    return dx_fail_nomem(err);
  code = dx_config_load(path, &b->config, err);
  if (code == DX_OK) {
    b->conf = dx_config_service(b->config, b->service);
    if (b->conf == NULL)
      code = dx_fail(err, DX_E_CONFIG, 0,
                     "service '%s' is not in '%s'; add a section <Service %s>",
                     b->service, path, b->service);
  }
  free(path);
  return code;
}

static enum dx_code open_spool(struct backend *b, struct dx_err *err)
{
  enum dx_code code = dx_spool_open(b->config->spool_dir, &b->spool, err);

  if (code != DX_OK)
    return code;
  b->spool_is_open = true;
  return dx_fs_probe(b->config->spool_dir, err);
}

/* ---- from a received bundle to a job ---- */

/* Documents that cupsd counts but that did not arrive: their type bypassed the
 * filter, or cupsd was killed. */
static enum dx_code add_missing(struct dx_job *job, int expected,
                                struct dx_err *err)
{
  struct dx_document *documents;
  size_t count = (size_t)expected;

  if (expected <= 0 || count == job->document_count)
    return DX_OK;
  if (count < job->document_count || count > DX_DOCUMENTS_MAX)
    return dx_fail(err, DX_E_BUNDLE, 0,
                   "received %zu documents, but the job has %d; print it again",
                   job->document_count, expected);
  documents = realloc(job->documents, count * sizeof(*documents));
  if (documents == NULL)
    return dx_fail_nomem(err);
  job->documents = documents;
  while (job->document_count < count) {
    struct dx_document *d = &documents[job->document_count++];

    memset(d, 0, sizeof(*d));
    d->entry.kind = DX_KIND_MISSING;
  }
  return DX_OK;
}

/*
 * A converter that fails midway leaves a valid PDF with the pages so far: half
 * a chart. cupsd does not report which document it was; those printed as
 * PDF or image were not converted.
 */
static void refuse_halves(struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->document_count; i++) {
    struct dx_entry *e = &job->documents[i].entry;

    if (e->kind != DX_KIND_DOCUMENT ||
        (job->document_count > 1 && strcmp(e->origin, e->type) == 0))
      continue;
    e->kind = DX_KIND_REFUSED;
    e->reason = DX_REASON_DAMAGED;
    (void)snprintf(e->reason_text, sizeof(e->reason_text),
                   "its conversion failed, and pages may be missing; "
                   "print it as a PDF");
  }
}

/* What people and their programs write: journal and manifest are JSON, which
 * has no place for bytes that are not text. */
static bool copy_valid(const char *text, char **ret_text)
{
  bool ok = backend_copy(text, ret_text);

  if (*ret_text != NULL)
    dx_utf8_make_valid(*ret_text);
  return ok;
}

static enum dx_code describe(struct backend *b, struct dx_err *err)
{
  struct dx_job *job = b->job;

  job->owner = DX_OWNER_CUPS;
  if (backend_copy(b->service, &job->service) &&
      backend_copy(b->conf->base_url, &job->base_url) &&
      backend_copy(b->queue, &job->queue) &&
      backend_copy(b->job_id, &job->cups_id) &&
      copy_valid(b->uuid, &job->uuid) && copy_valid(b->user, &job->user) &&
      copy_valid(b->title, &job->title) && copy_valid(b->host, &job->host))
    return DX_OK;
  return dx_fail_nomem(err);
}

static enum dx_code plan(struct backend *b, const struct dx_print_job *before,
                         struct dx_err *err)
{
  struct dx_print_job now;
  enum dx_code code;
  char key[DX_KEY_BYTES];

  dx_print_job_ask(b->job_id, b->uuid, ASK_MS, term_ends, &now);
  if (term_came())
    return dx_fail(err, DX_E_STOPPED, 0, "stopped");
  if (!dx_print_job_is_known(&now))
    now = *before; /* an orphan: cupsd is gone, its last word counts */
  if (!dx_print_job_is_known(&now) && getenv("CUPS_SERVER") != NULL)
    return dx_fail(err, DX_E_BUSY, 0, "cupsd does not respond");
  code = add_missing(b->job, now.documents, err);
  if (code == DX_OK && now.filter_failed)
    refuse_halves(b->job);
  if (code == DX_OK)
    code = describe(b, err);
  if (code == DX_OK &&
      !dx_spool_key(&b->spool, b->service, b->uuid != NULL ? b->uuid : "",
                    b->job_id, now.time_at_creation, key))
    code = dx_fail_nomem(err);
  if (code == DX_OK) {
    backend_name_documents(b);
    code = dx_job_plan(b->job, err);
  }
  if (code == DX_OK)
    memcpy(b->job->key, key, sizeof(key));
  return code;
}

/* ---- the same job again ---- */

static void pause_ms(int ms)
{
  struct pollfd fd = {.fd = term_wake_fd(), .events = POLLIN};

  (void)poll(&fd, 1, ms);
}

/*
 * Takes over a job that is already in the spool. Its holder, if any, is a
 * backend whose cupsd was killed: it is asked to exit, with all progress saved
 * in the journal.
 */
static enum dx_code take(struct backend *b, const char *key,
                         struct dx_job **ret_job, struct dx_err *err)
{
  int64_t until = dx_monotonic_ms() + DX_HANDOVER_MS;
  pid_t asked = 0, seen = 0, holder = 0;
  enum dx_owner owner;
  enum dx_code code;

  for (;;) {
    code = dx_spool_take(&b->spool, key, ret_job, &holder, &owner, err);
    if (code != DX_E_BUSY)
      return code;
    if (owner == DX_OWNER_DAEMON) {
      b->handed_over = b->handed_before = true;
      return DX_OK;
    }
    if (term_came())
      return dx_fail(err, DX_E_STOPPED, 0, "stopped");
    if (dx_monotonic_ms() > until)
      return code;
    /* Seen twice: a sweeper holds it only for a moment, as does docextractd
     * while it looks whose the job is. */
    if (holder > 1 && holder == seen && holder != asked &&
        holder != dx_spool_daemon(b->spool.dirfd)) {
      dx_log(DX_LOG_DEBUG, "asking process %d to hand over the job",
             (int)holder);
      (void)kill(holder, SIGTERM);
      asked = holder;
    }
    seen = holder;
    pause_ms(TAKE_PAUSE_MS);
  }
}

/* For a job that was handed over and that nobody drives at the moment. One that
 * was canceled or has failed, and is now printed again, is CUPS's again; so is
 * one that docextractd does not go on with. */
static bool is_docextractds(const struct backend *b, const struct dx_job *job)
{
  if (dx_job_is_final(job))
    return dx_job_outcome(job, NULL) == DX_OK;
  return dx_spool_daemon(b->spool.dirfd) != 0;
}

static enum dx_code join(struct backend *b, struct dx_err *err)
{
  struct dx_job *fresh = b->job;
  struct dx_job *old = NULL;
  enum dx_code code = take(b, fresh->key, &old, err);

  if (code == DX_E_NOT_FOUND) /* finished, and removed just now */
    return dx_spool_commit(&b->spool, fresh, err);
  if (code == DX_E_DAMAGED) {
    struct dx_err why = *err;

    /* It may have been sent: only a person can say that it was not. */
    return dx_fail(err, DX_E_JOB, 0,
                   "%s, and its documents may have been sent already; "
                   "'docextract cancel %s' moves it out of the way, and "
                   "releasing the job sends them again",
                   why.text, fresh->key);
  }
  if (code == DX_OK && old != NULL && old->owner == DX_OWNER_DAEMON) {
    b->handed_over = b->handed_before = is_docextractds(b, old);
    old->owner = b->handed_before ? DX_OWNER_DAEMON : DX_OWNER_CUPS;
  }
  if (code == DX_OK && !b->handed_over)
    code = dx_job_merge(&b->spool, old, &fresh, err);
  if (fresh != NULL)
    dx_spool_discard(&b->spool, &fresh);
  b->job = old;
  b->nothing_new =
      code == DX_OK && old != NULL && dx_job_outcome(old, NULL) == DX_OK;
  return code;
}

/*
 * Not if docextractd is not running, and not with a document that cannot be
 * sent or has failed: a held print job is noticed, an entry in the spool is
 * not.
 */
static bool may_hand_over(const struct backend *b)
{
  return dx_job_count(b->job, DX_ST_REFUSED) == 0 &&
         dx_job_count(b->job, DX_ST_FAILED) == 0 &&
         dx_spool_daemon(b->spool.dirfd) != 0;
}

/* One write of the journal hands the job over to docextractd. */
static enum dx_code hand_over(struct backend *b, struct dx_err *err)
{
  enum dx_code code;

  b->job->owner = DX_OWNER_DAEMON;
  code = dx_job_save(b->job, err);
  if (code != DX_OK && code != DX_E_UNSYNCED) {
    b->job->owner = DX_OWNER_CUPS;
    return code;
  }
  /* A handover that is not durable yet counts: whoever reads the job file now
   * drives the job, and after a power failure it is a job without a driver. */
  b->handed_over = true;
  memcpy(b->key, b->job->key, sizeof(b->key));
  dx_spool_hand_over(&b->spool, &b->job);
  return DX_OK;
}

static enum dx_code store(struct backend *b, struct dx_err *err)
{
  enum dx_code code = dx_spool_commit(&b->spool, b->job, err);

  if (code == DX_E_EXISTS)
    code = join(b, err);
  if (code == DX_OK && term_came())
    code = dx_fail(err, DX_E_STOPPED, 0, "stopped");
  if (code == DX_OK && !b->handed_over && !dx_job_is_final(b->job) &&
      b->conf->completion == DX_COMPLETION_ACCEPTED && may_hand_over(b))
    code = hand_over(b, err);
  return code;
}

static void count_pages(const struct dx_job *job)
{
  int pages = 0;
  size_t i;

  for (i = 0; i < job->document_count; i++)
    if (job->documents[i].entry.kind == DX_KIND_DOCUMENT)
      pages += job->documents[i].entry.pages;
  status_pages(pages);
}

/* ---- running the engine ---- */

static void on_note(void *ctx, struct dx_job *job, const struct dx_note *note)
{
  struct backend *b = ctx;

  if (job == b->job) /* an adopted one is not what the person waits for */
    status_note(ctx, job, note);
}

static void on_ended(void *ctx, struct dx_job *job)
{
  adopt_ended(ctx, job);
}

/* A backend whose cupsd is still there learns of a cancel by SIGTERM. */
static bool on_create(void *ctx, struct dx_job *job)
{
  const struct backend *b = ctx;

  if (job != b->job)
    return dx_adopted_may_create(job);
  return getppid() == b->cupsd || dx_orphan_may_create(job);
}

/* The person behind us does not wait for our extraction. */
static bool leaves_queue(const struct backend *b)
{
  return b->conf->completion == DX_COMPLETION_AUTO && !b->job->ended &&
         queue_is_wanted(b) && may_hand_over(b);
}

/* DX_E_NOT_YET: the job is to be handed over. */
static enum dx_code loop(struct backend *b, struct dx_engine *engine,
                         struct dx_err *err)
{
  bool is_auto = b->conf->completion == DX_COMPLETION_AUTO;
  int wake = term_wake_fd();
  enum dx_code code = dx_engine_add(engine, b->job, err);

  while (code == DX_OK && !b->job->ended) {
    if (term_came())
      return dx_fail(err, DX_E_STOPPED, 0, "stopped");
    if (leaves_queue(b))
      return DX_E_NOT_YET;
    adopt_look(b, engine);
    code = dx_engine_run(engine, is_auto ? DX_QUEUE_LOOK_MS : TICK_MS, &wake, 1,
                         err);
    status_tick();
  }
  b->has_outcome = code == DX_OK;
  return b->has_outcome ? dx_job_outcome(b->job, err) : code;
}

static enum dx_code drive(struct backend *b, struct dx_err *err)
{
  const struct dx_observer observer = {on_note, on_ended, on_create, b};
  struct dx_http *http = dx_http_new();
  struct dx_engine *engine = NULL;
  enum dx_code code;

  if (http != NULL)
    engine = dx_engine_new(b->config, &b->spool, http, &observer);
  code = engine != NULL ? loop(b, engine, err) : dx_fail_nomem(err);
  dx_engine_free(&engine);
  adopt_release();
  dx_http_free(&http);
  if (code == DX_E_NOT_YET) {
    b->uploaded = true;
    code = hand_over(b, err);
  }
  return code;
}

static enum dx_code run(struct backend *b, struct dx_err *err)
{
  struct dx_print_job before;
  enum dx_code code = backend_read_uri(b, getenv("DEVICE_URI"), err);

  if (code == DX_OK)
    code = read_config(b, err);
  if (code == DX_OK)
    code = open_spool(b, err);
  if (code != DX_OK)
    return code;
  dx_print_job_ask(b->job_id, b->uuid, ASK_MS, term_ends, &before);
  code = backend_receive(b, err);
  if (code != DX_OK)
    return code;
  term_eof();
  count_pages(b->job);
  code = dx_results_prepare(b->conf->results_dir, err);
  if (code == DX_OK)
    code = plan(b, &before, err);
  if (code == DX_OK)
    code = store(b, err);
  if (code != DX_OK || b->handed_over)
    return code;
  return drive(b, err);
}

int main(int argc, char **argv)
{
  struct backend b = {.in_fd = STDIN_FILENO, .cupsd = getppid()};
  struct dx_err err = {0};
  enum dx_code code;
  bool sealed;

  dx_process_hide_arguments(argc, argv, 2); /* user, title, options */
  code = enter(&err);
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
  sealed = dx_seal_give(CUPS_SC_FD, b.seal);
  term_catch();
  status_start();
  if (!sealed)
    dx_log(DX_LOG_DEBUG, "no side channel to the filters");
  if (code == DX_OK)
    code = backend_read_arguments(&b, argc, argv, &err);
  if (code == DX_OK)
    code = run(&b, &err);
  backend_end(&b, code, &err);
}
