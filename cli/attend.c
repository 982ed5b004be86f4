/*
 * attend.c - shows the user the progress and the outcome of a job that
 * docextractd processes.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/control/channel.h"
#include "lib/control/start.h"
#include "lib/spool/results.h"
#include "lib/spool/sentence.h"

#define PROGRESS_STEP 10 /* percent between two lines */
#define LOST_MS 10000    /* for a restart of docextractd */
#define AGAIN_MS 1000    /* between two tries to connect */

struct attend {
  struct cli *cli;
  const struct dx_job *job;
  int percent;                      /* last printed */
  char sentence[DX_SENTENCE_BYTES]; /* last printed */
  int64_t lost_ms;                  /* connection lost since; 0: connected */
  bool is_over;                     /* the command stops waiting */
};

/* Prints a line for each step of an upload, and for each new status, with its
 * cause. is_here: not all documents have been uploaded; others may be extracted
 * already. */
static void attend_print_note(struct attend *a, const struct dx_note *note,
                              bool is_here)
{
  int percent = note->total > 0 ? (int)(note->done * 100 / note->total) : 100;
  char sentence[DX_SENTENCE_BYTES];

  if (note->kind == DX_NOTE_UPLOADING) {
    if (percent <= a->percent || /* a failed upload starts over */
        (percent < 100 && percent < a->percent + PROGRESS_STEP))
      return;
    a->percent = percent;
    printf("Uploading: %d%%\n", percent);
  } else if (note->kind != DX_NOTE_WAITING || !is_here) {
    dx_wait_sentence(note->code, is_here, sentence);
    if (strcmp(sentence, a->sentence) == 0)
      return;
    memcpy(a->sentence, sentence, sizeof(sentence));
    printf("%s%s%s\n", sentence, note->text[0] != '\0' ? ": " : "", note->text);
  }
}

/* The command does not wait if an administrator must act, or the job is
 * overdue. */
static enum dx_code attend_on_note(struct attend *a,
                                   const struct dx_message *message,
                                   struct dx_err *err)
{
  struct dx_note note;
  bool is_here;
  enum dx_code code = dx_note_parse(message, &note, &is_here, err);

  if (code != DX_OK)
    return code;
  a->is_over = note.kind == DX_NOTE_ADMIN || note.kind == DX_NOTE_OVERDUE;
  if (note.kind == DX_NOTE_OVERDUE)
    return dx_fail(err, DX_E_OVERDUE, 0,
                   "the extraction is taking longer than ProcessingLimit; "
                   "docextractd continues job %s",
                   a->job->key);
  if (note.kind == DX_NOTE_ADMIN)
    return dx_fail(err, note.code != DX_OK ? note.code : DX_E_CONFIG, 0,
                   "%s; docextractd then continues job %s", note.text,
                   a->job->key);
  attend_print_note(a, &note, is_here);
  return DX_OK;
}

/* The journal is written before docextractd reports the end. */
static void attend_print_results(const struct attend *a)
{
  struct dx_job *job = NULL;
  struct dx_err why;
  size_t i, k;

  if (dx_spool_load(&a->cli->spool, a->job->key, &job, &why) != DX_OK) {
    if (why.code != DX_E_NOT_FOUND) /* purged already */
      fprintf(stderr, "docextract: %s\n", why.text);
    return;
  }
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    const char *dir = cli_results_dir(a->cli, sub);

    for (k = 0; dir != NULL && k < sub->case_count; k++) {
      char *name = dx_result_name(sub->source_id, sub->cases[k].id);

      if (name != NULL && sub->cases[k].state == DX_CASE_DELIVERED)
        printf("%s/%s\n", dir, name);
      free(name);
    }
  }
  dx_job_free(&job);
}

/* Follows the job until it ends, or the connection breaks. */
static enum dx_code attend_follow(struct attend *a, struct dx_err *err)
{
  struct dx_channel channel = DX_CHANNEL_NONE;
  struct dx_message message;
  enum dx_code code = dx_docextractd_connect(a->cli->config, &channel, err);

  if (code == DX_OK) {
    a->lost_ms = 0;
    code = dx_channel_send(&channel, err, "attend %s %s", a->job->key,
                           a->job->print.run);
  }
  while (code == DX_OK && !a->is_over) {
    code = cli_receive(&channel, -1, &message, err);
    if (code == DX_OK && message.verb == DX_VERB_NOTE)
      code = attend_on_note(a, &message, err);
    else if (code == DX_OK && message.verb == DX_VERB_MAY)
      code = dx_channel_send(&channel, err, "yes %s", message.words[0]);
    else if (code == DX_OK &&
             (message.verb == DX_VERB_END || message.verb == DX_VERB_ERROR)) {
      a->is_over = true;
      code = dx_message_outcome(&message, err);
    }
    if (code == DX_E_NET && !a->is_over)
      a->lost_ms = dx_monotonic_ms();
  }
  if (a->is_over && message.verb == DX_VERB_END) {
    attend_print_results(a);
    if (code != DX_OK && code != DX_E_CANCELED)
      (void)dx_fail_advice(err, "retry with: docextract retry %s", a->job->key);
  }
  dx_channel_close(&channel);
  return code;
}

enum dx_code cli_attend(struct cli *cli, const struct dx_job *job,
                        struct dx_err *err)
{
  struct attend a = {.cli = cli, .job = job, .percent = -PROGRESS_STEP};
  struct dx_err why;
  enum dx_code code;

  do /* docextractd may be restarted at any time */
    code = attend_follow(&a, err);
  while (code != DX_OK && !a.is_over && a.lost_ms != 0 &&
         dx_monotonic_ms() - a.lost_ms < LOST_MS && cli_stop_wait(AGAIN_MS));
  if (a.is_over)
    return code;
  if (cli_stop_came())
    return dx_fail(err, DX_E_STOPPED, 0,
                   "stopped; docextractd continues the job; to cancel it, run: "
                   "docextract cancel %s",
                   job->key);
  if (code == DX_E_NET)
    return dx_fail(err, DX_E_NOT_YET, 0,
                   "docextractd has exited; job %s is stored, and continues "
                   "when docextractd is started again",
                   job->key);
  why = *err;
  return dx_fail(err, DX_E_NOT_YET, 0, "job %s is stored, and waits: %s",
                 job->key, why.text);
}
