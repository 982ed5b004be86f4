/*
 * drive.c - a job and the engine, in front of a person: lines of progress, and
 * what came of it. The engine decides what a job needs next.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/announce.h"
#include "lib/spool/results.h"

#define TURN_MS 60000
#define REPEAT_MS 30000  /* between two lines that say the same */
#define PROGRESS_STEP 10 /* percent between two lines */

/* ---- progress ---- */

#define BAR_WIDTH 40

struct progress {
  bool live;              /* one line, overwritten again and again */
  int percent;            /* last printed; -1: none */
  enum dx_note_kind kind; /* of the last line */
  int64_t printed_ms;     /* when that was; 0: never */
};

/* True if a line of this kind is news. One of another kind does not overwrite
 * the last one. */
static bool is_news(struct progress *p, enum dx_note_kind kind)
{
  int64_t now = dx_monotonic_ms();

  if (p->printed_ms != 0 && p->kind != kind)
    cli_line_end();
  if (!p->live && p->printed_ms != 0 && p->kind == kind &&
      now - p->printed_ms < REPEAT_MS)
    return false;
  p->kind = kind;
  p->printed_ms = now;
  return true;
}

/* True if this is worth its own line. */
static bool is_step(const struct progress *p, int percent)
{
  if (percent <= p->percent) /* an upload that failed begins again */
    return false;
  return p->live || percent == 100 || p->percent < 0 ||
         percent >= p->percent + PROGRESS_STEP;
}

static void uploading(struct progress *p, const struct dx_note *note)
{
  static const char full[] = "########################################";

  int percent = note->total > 0 ? (int)(note->done * 100 / note->total) : 100;

  if (!is_step(p, percent))
    return;
  p->percent = percent;
  (void)is_news(p, note->kind);
  if (p->live)
    cli_line("Uploading [%-*.*s] %3d%%", BAR_WIDTH, percent * BAR_WIDTH / 100,
             full, percent);
  else
    printf("Uploading: %d%%\n", percent);
}

/* Of several documents, the first may be extracted while others are uploaded.
 */
static bool is_uploading(const struct dx_job *job)
{
  return dx_job_count(job, DX_ST_STORED) + dx_job_count(job, DX_ST_REGISTERED) >
         0;
}

static void on_note(void *ctx, struct dx_job *job, const struct dx_note *note)
{
  struct progress *p = ctx;
  int64_t seconds = (dx_monotonic_ms() - note->since_ms) / 1000;

  /* For `docextract jobs`. */
  if (note->kind == DX_NOTE_PAUSED)
    dx_job_set_message(job, DX_E_RATE, "the service asks to slow down");
  else
    dx_job_set_message(job, note->code, note->text);
  if (note->kind == DX_NOTE_UPLOADING) {
    uploading(p, note);
    return;
  }
  if (note->kind == DX_NOTE_WAITING && is_uploading(job))
    return;
  if (!is_news(p, note->kind))
    return;
  switch (note->kind) {
  case DX_NOTE_WAITING:
    cli_line("Waiting for extraction, %" PRId64 " s", seconds);
    break;
  case DX_NOTE_DOWN:
    cli_line("The service has been unreachable for %" PRId64 " s: %s; "
             "retrying",
             seconds, note->text);
    break;
  case DX_NOTE_UP:
    cli_line("The service is reachable again");
    break;
  case DX_NOTE_UNEXPECTED:
    cli_line("%s; retrying", note->text);
    break;
  case DX_NOTE_PAUSED:
    cli_line("The service asks to slow down; continuing soon");
    break;
  case DX_NOTE_TOKEN:
    cli_line("%s; retrying with a new token", note->text);
    break;
  case DX_NOTE_ADMIN:
    cli_line("%s", note->text);
    break;
  case DX_NOTE_LOCAL:
    cli_line("%s; retrying every minute, nothing is lost", note->text);
    break;
  default:
    cli_line("Continuing");
    break;
  }
}

static void on_ended(void *ctx, struct dx_job *job)
{
  (void)ctx;
  (void)job; /* loop() looks at job->ended */
}

/* ---- driving ---- */

static enum dx_code loop(struct dx_engine *engine, struct dx_job *job,
                         struct dx_err *err)
{
  const int wake = cli_stop_fd();
  enum dx_code code = dx_engine_add(engine, job, err);

  while (code == DX_OK && !job->ended) {
    if (cli_stop_came()) {
      dx_engine_stop(engine);
      return dx_fail(err, DX_E_STOPPED, 0, "stopped");
    }
    code = dx_engine_run(engine, TURN_MS, &wake, 1, err);
  }
  return code == DX_OK ? dx_job_outcome(job, err) : code;
}

enum dx_code cli_drive(struct cli *cli, struct dx_job *job, struct dx_err *err)
{
  /* With --verbose other lines come in between. */
  struct progress progress = {.live = cli_is_live() && !cli->verbose,
                              .percent = -1};
  const struct dx_observer observer = {on_note, on_ended, NULL, &progress};
  struct dx_http *http = dx_http_new();
  struct dx_engine *engine = NULL;
  enum dx_code code;

  if (http != NULL)
    engine = dx_engine_new(cli->config, &cli->spool, http, &observer);
  code = engine != NULL ? loop(engine, job, err) : dx_fail_nomem(err);
  cli_line_end();
  dx_engine_free(&engine);
  dx_http_free(&http);
  return code;
}

/* ---- the end ---- */

static void print_results(const struct cli *cli, const struct dx_job *job)
{
  const struct dx_service *service =
      dx_config_service(cli->config, job->service);
  size_t i, k;

  for (i = 0; service != NULL && i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    for (k = 0; k < sub->case_count; k++) {
      char *name;

      if (sub->cases[k].state != DX_CASE_DELIVERED)
        continue;
      name = dx_result_name(sub->source_id, sub->cases[k].id);
      if (name != NULL)
        printf("%s/%s\n", service->results_dir, name);
      free(name);
    }
  }
}

static void warn(enum dx_code code, const struct dx_err *err)
{
  if (code != DX_OK)
    fprintf(stderr, "docextract: %s\n", err->text);
}

/* Submissions that ended have their own reasons, and being stopped is not one.
 */
static void leave_message(struct dx_job *job, enum dx_code code,
                          const struct dx_err *err)
{
  struct dx_err save;

  if (code == DX_OK || dx_job_is_final(job))
    dx_job_set_message(job, DX_OK, "");
  else if (code != DX_E_STOPPED)
    dx_job_set_message(job, code, err->text);
  if (job->dirty || job->behind)
    warn(dx_job_save(job, &save), &save);
}

enum dx_code cli_finish(struct cli *cli, struct dx_job *job, struct dx_err *err)
{
  struct dx_err settle;
  enum dx_code code = cli_drive(cli, job, err);

  leave_message(job, code, err);
  print_results(cli, job);
  if (!job->dirty)
    warn(dx_spool_settle(&cli->spool, job, &settle), &settle);
  if (code == DX_OK)
    return DX_OK;
  return cli_advise(err, "%s with: docextract retry %s",
                    dx_job_is_final(job) ? "retry" : "continue", job->key);
}

void cli_release(struct cli *cli, struct dx_job **job)
{
  if (dx_announce_release(&cli->spool, job))
    cli->announces = true;
}

void cli_announce(struct cli *cli)
{
  if (cli->announces && dx_spool_daemon(cli->spool.dirfd) == 0)
    dx_announce_now(&cli->spool, cli->config, cli_stop_fd());
}
