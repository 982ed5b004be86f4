/*
 * wait.c - `docextract wait JOB...`: waits until jobs have ended, however they
 * were printed or submitted, and returns their outcome, as `submit` does. Looks
 * at a job once a second, as `jobs --watch` does, in the spool or, for a user
 * who may not read it, with docextractd's help.
 */
#include "cli/cli.h"

#include <cups/ipp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/language.h"
#include "lib/base/utf8.h"
#include "lib/control/connect.h"
#include "lib/print/print_job.h"
#include "lib/spool/sentence.h"

#define LOOK_MS 1000
#define LOOKS_UNTIL_TOLD 4 /* a print job is usually in CUPS for a second */
#define ASK_MS 5000        /* for cupsd to respond */

struct wait {
  struct cli *cli;
  const char *text; /* the argument */
  char key[DX_KEY_BYTES];
  char sentence[DX_SENTENCE_BYTES]; /* last printed */
  int64_t seen_ms; /* when docextractd was last running; 0: never */
  bool is_over;    /* the job has ended, or the command stops waiting */
};

enum dx_code cli_outcome(const char *key, enum dx_code code, struct dx_err *err)
{
  if (code == DX_OK || code == DX_E_CANCELED)
    return code;
  return dx_fail_advice(err, "retry with: docextract retry %s", key);
}

/* The status of the job for the user who printed. */
static void wait_sentence(const struct cli *cli, const struct dx_job *job,
                          char text[DX_SENTENCE_BYTES])
{
  const char *told =
      cli->asks ? dx_json_string(dx_json_get(cli->job, "sentence")) : NULL;

  if (told != NULL)
    (void)snprintf(text, DX_SENTENCE_BYTES, "%s", told);
  else
    dx_job_sentence(job, text);
}

/* On a terminal, prints each new status, with its cause. */
static void wait_print_progress(struct wait *w, const struct dx_job *job)
{
  const char *cause = w->cli->asks ? "" : dx_line(dx_job_problem(job)->text);
  bool has_name = w->cli->arg_count > 1 && dx_utf8_is_plain(w->text);
  char sentence[DX_SENTENCE_BYTES], said[2 * DX_SENTENCE_BYTES];

  wait_sentence(w->cli, job, sentence);
  if (w->cli->quiet || isatty(STDERR_FILENO) != 1 ||
      strcmp(sentence, w->sentence) == 0)
    return;
  memcpy(w->sentence, sentence, sizeof(sentence));
  (void)dx_translate(sentence, said, sizeof(said));
  fprintf(stderr, "%s%s%s%s%s\n", has_name ? w->text : "", has_name ? ": " : "",
          said, cause[0] != '\0' ? ": " : "", cause);
}

/* The outcome of a job that has ended. */
static enum dx_code wait_end(const struct wait *w, const struct dx_job *job,
                             struct dx_err *err)
{
  char sentence[DX_SENTENCE_BYTES], said[DX_ERR_TEXT_BYTES];
  enum dx_code code = dx_job_outcome(job, err);

  if (!w->cli->asks || code == DX_OK)
    return cli_outcome(job->key, code, err);
  wait_sentence(w->cli, job, sentence);
  (void)dx_translate(sentence, said, sizeof(said));
  return dx_fail(err, code, 0, "%s", said);
}

static enum dx_code wait_undecided(const struct wait *w, struct dx_err *err)
{
  (void)dx_fail(err, DX_E_NOT_YET, 0, "job %s needs a decision", w->key);
  if (w->cli->asks)
    return dx_fail_advice(err, "ask your administrator");
  return dx_fail_advice(err,
                        "to send it: docextract retry %.8s; to cancel it: "
                        "docextract cancel %.8s",
                        w->key, w->key);
}

/* Looks at the job once. E_NOT_YET, without a message, if it goes on. */
static enum dx_code wait_look(struct wait *w, const char *name,
                              struct dx_err *err)
{
  struct dx_job *job = NULL;
  enum dx_code code = cli_find_job(w->cli, name, w->key, &job, err);

  if (code == DX_OK && dx_job_is_final(job)) {
    w->is_over = true;
    code = wait_end(w, job, err);
  } else if (code == DX_OK && dx_job_is_undecided(job)) {
    w->is_over = true;
    code = wait_undecided(w, err);
  } else if (code == DX_OK) {
    wait_print_progress(w, job);
    code = DX_E_NOT_YET;
  }
  w->is_over = w->is_over || code == DX_E_JOB || code == DX_E_DAMAGED;
  dx_job_free(&job);
  return code;
}

/* The same, and gives up if docextractd is not running. It may be restarted at
 * any time. */
static enum dx_code wait_try(struct wait *w, const char *name,
                             struct dx_err *err)
{
  enum dx_code code = wait_look(w, name, err);

  if (w->is_over)
    return code;
  if (code == DX_E_NOT_YET && !w->cli->asks &&
      dx_spool_daemon(w->cli->spool.dirfd) == 0)
    code = dx_fail(err, DX_E_CONFIG, 0, "job %s waits: %s", w->key,
                   dx_docextractd_is_missing(""));
  if (code == DX_E_NOT_YET)
    w->seen_ms = dx_monotonic_ms();
  else
    w->is_over =
        w->seen_ms == 0 || dx_monotonic_ms() - w->seen_ms >= CLI_RESTART_MS;
  return code;
}

struct in_cups {
  const char *name;
  bool is_found;
};

static void wait_compare_print_job(void *ctx, const struct dx_listed_job *job)
{
  struct in_cups *search = ctx;
  char name[CLI_CUPS_NAME_BYTES];

  (void)snprintf(name, sizeof(name), "%s-%d", job->queue, job->id);
  if (job->state != IPP_JSTATE_HELD && strcasecmp(name, search->name) == 0)
    search->is_found = true;
}

/* lp returns before the filters have run. A print job that is held reaches the
 * spool only when it is released. */
static bool wait_is_in_cups(const char *name)
{
  struct in_cups search = {.name = name};

  return dx_print_jobs_ask(ASK_MS, wait_compare_print_job, &search) &&
         search.is_found;
}

/* While CUPS has a print job that is not in the spool yet. */
static enum dx_code wait_for_cups(struct wait *w, struct dx_err *err)
{
  enum dx_code code = wait_try(w, w->text, err);
  bool is_in_cups = true;
  int looks = 0;

  while (code == DX_E_JOB && is_in_cups) {
    is_in_cups = wait_is_in_cups(w->text);
    if (is_in_cups && ++looks == LOOKS_UNTIL_TOLD && !w->cli->quiet &&
        isatty(STDERR_FILENO) == 1)
      fprintf(stderr, "%s waits in CUPS; to see its queue: lpstat -p -o\n",
              w->text);
    if (is_in_cups && cli_stop_await(-1, LOOK_MS))
      return dx_fail(err, DX_E_STOPPED, 0, "stopped; CUPS continues %s",
                     w->text);
    w->is_over = false;
    code = wait_try(w, w->text, err); /* again, if it has just left CUPS */
  }
  return code;
}

static enum dx_code wait_one(void *ctx, const char *text, struct dx_err *err)
{
  struct wait w = {.cli = ctx, .text = text};
  enum dx_code code = wait_for_cups(&w, err);

  if (code == DX_E_STOPPED)
    return code;
  w.cli->is_listing = true; /* it is still going on: not in the whole list */
  while (!w.is_over && !cli_stop_came()) {
    (void)cli_stop_await(-1, LOOK_MS);
    code = wait_try(&w, w.key, err);
  }
  w.cli->is_listing = false;
  if (w.is_over)
    return code;
  return dx_fail(err, DX_E_STOPPED, 0, "stopped; docextractd continues job %s",
                 w.key);
}

enum dx_code verb_wait(struct cli *cli, struct dx_err *err)
{
  enum dx_code code = cli_open_jobs(cli, err);

  cli_stop_catch();
  return code == DX_OK ? cli_each_argument(cli, wait_one, cli, err) : code;
}
