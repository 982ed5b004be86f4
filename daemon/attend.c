/*
 * attend.c - what clients are told about the jobs that they attend or have
 * canceled; verbs.c handles their messages.
 */
#include "daemon/manager.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"

/* ---- the end of attending ---- */

void attend_send_failures(struct client *client, const char *queue)
{
  struct manager *manager = client->manager;
  size_t failed, undecided;

  if (queue == NULL || !manager->tallies.is_complete ||
      manager->tallies.is_broken)
    return;
  tallies_of_queue(&manager->tallies, queue, &failed, &undecided);
  if (failed + undecided > 0)
    control_send(client, "failures %zu %zu", failed, undecided);
}

/* The order matters: after `end` the backend reads nothing. Then the client
 * attends no job any more. */
static void send_end(struct client *client, const struct dx_err *err,
                     const char *sentence)
{
  control_send(client, "sentence %s", sentence);
  control_send(client, "end %s %s", dx_code_name(err->code),
               err->code == DX_OK ? "" : err->text);
  client_close(client);
  client->key[0] = '\0';
}

void attend_refuse(struct client *client, const struct dx_err *err)
{
  char sentence[DX_SENTENCE_BYTES];

  dx_sentence(err->code, NULL, sentence);
  send_end(client, err, sentence);
}

void attend_end_with_outcome(struct client *client, const struct dx_job *job,
                             bool is_new)
{
  char sentence[DX_SENTENCE_BYTES];
  struct dx_err err = {.code = DX_OK};

  attend_send_failures(client, job->queue);
  if (dx_job_outcome(job, &err) == DX_OK && !is_new)
    (void)snprintf(sentence, sizeof(sentence), "%s", DX_SAY_NOTHING_NEW);
  else
    dx_job_sentence(job, sentence);
  send_end(client, &err, sentence);
}

void attend_reset(struct managed *managed)
{
  managed_withdraw(managed);
  managed->asked_ms = 0;
  managed->waits = false;
  managed->watch_gap_ms = DX_WATCH_FIRST_MS;
  managed->watch_ms = dx_monotonic_ms();
  listed_as_watched(managed);
  dx_engine_wake(managed->job);
}

void attend_release(struct managed *managed, enum dx_backend backend)
{
  if (managed->attendant != NULL) {
    managed->attendant->managed = NULL;
    managed->attendant->manager->receipts_ms = 0; /* one may have waited */
  }
  managed->attendant = NULL;
  managed->job->attended = false;
  if (managed->job->print.backend == DX_BACKEND_ATTENDS)
    managed->job->print.backend = backend;
  attend_reset(managed);
}

static void tell_canceled(struct client *client, const struct dx_job *job)
{
  const struct dx_config *config = client->manager->config;
  static const char *const has[] = {"already has", "may have"};
  size_t uploads[2] = {0}; /* that surely, or perhaps, have arrived */
  size_t i, k;
  const char *missing = NULL; /* a section that is not configured */

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    const char *section = dx_submission_section(sub);

    for (k = 0; sub->code == DX_E_CANCELED && k < sub->file_count; k++)
      if (sub->uploaded_at != 0 || sub->files[k].put == DX_PUT_DONE)
        uploads[0]++;
      else if (sub->files[k].put == DX_PUT_SENDING)
        uploads[1]++;
    if (missing == NULL && sub->state == DX_ST_CANCELED &&
        dx_config_service(config, section) == NULL)
      missing = section;
  }
  control_send(client, "line Canceled job %s", job->key);
  for (i = 0; i < 2; i++)
    if (uploads[i] > 0)
      control_send(client,
                   "line The service %s %zu document%s; no results will be "
                   "fetched",
                   has[i], uploads[i], uploads[i] == 1 ? "" : "s");
  if (uploads[0] + uploads[1] == 0)
    control_send(client,
                 "line None of the canceled documents had been uploaded");
  if (dx_job_count(job, DX_ST_EXTRACTED) > 0)
    control_send(client, "line Earlier results stay in the results directory");
  if (missing != NULL) /* a consumer may wait for the manifest */
    control_send(client,
                 "warn no manifest was written, because service '%s' is not in "
                 "'%s'",
                 missing, config->path);
  control_send(client, "done ");
  client->waits = NULL; /* the job may stay, until its OnResult was run */
}

void attend_over(struct manager *manager, struct managed *managed)
{
  struct client *attendant = managed->attendant, *client;
  struct dx_err err;

  if (attendant != NULL && managed->job->is_halted &&
      dx_job_outcome(managed->job, &err) != DX_OK)
    attend_refuse(attendant, &err);
  else if (attendant != NULL)
    attend_end_with_outcome(attendant, managed->job, managed->is_new);
  if (attendant != NULL)
    attend_release(managed, DX_BACKEND_ENDED);
  LIST_FOREACH (client, &manager->clients, link)
    if (client->waits == managed)
      tell_canceled(client, managed->job);
}

/* ---- beginning ---- */

/* is_here: not all documents have been uploaded. */
static void send_note(struct client *client, const struct dx_note *note,
                      bool is_here)
{
  char line[DX_CHANNEL_LINE_BYTES];

  dx_note_format(note, is_here, line);
  control_send(client, "%s", line);
}

void attend_tell_problem(struct managed *managed)
{
  const struct dx_note now = dx_engine_problem(managed->job);
  const struct dx_note over = {
      .kind = managed->told == DX_NOTE_LOCAL ? DX_NOTE_LOCAL_OVER : DX_NOTE_UP,
      .text = ""};
  bool is_here = dx_job_is_here(managed->job);

  if (managed->attendant == NULL)
    return;
  if (managed->has_told &&
      managed->told != now.kind) /* its state reason ends */
    send_note(managed->attendant, &over, is_here);
  managed->told = now.kind;
  managed->has_told = now.kind != DX_NOTE_UP;
  if (managed->has_told)
    send_note(managed->attendant, &now, is_here);
}

void attend_tell_progress(struct managed *managed)
{
  struct dx_note note;

  if (managed->attendant != NULL && dx_engine_progress(managed->job, &note))
    send_note(managed->attendant, &note, dx_job_is_here(managed->job));
}

void attend_tell_wrong(struct client *client, const struct dx_err *err)
{
  const struct dx_note note = {
      .kind = DX_NOTE_ADMIN, .code = err->code, .text = err->text};

  send_note(client, &note, true);
}

bool attend_is_of(const struct client *client, const struct dx_job *job)
{
  return strcmp(client->key, job->print.key) == 0 &&
         strcmp(client->run, job->print.run) == 0;
}

/* The newer of two backends of a print job takes over. */
static void supersede(struct managed *managed)
{
  if (managed->attendant == NULL)
    return;
  control_send(managed->attendant, "gone");
  client_close(managed->attendant);
  managed->attendant->key[0] = '\0';
  attend_release(managed, DX_BACKEND_BROKEN);
}

static void link_to(struct client *client, struct managed *managed)
{
  struct dx_print *print = &managed->job->print;
  /* Since when is known after the next poll. */
  const struct dx_note waiting = {
      .kind = DX_NOTE_WAITING, .since_ms = 0, .text = ""};

  supersede(managed);
  client->managed = managed;
  managed->attendant = client;
  managed->job->attended = true;
  attend_reset(managed);
  if (print->backend == DX_BACKEND_BROKEN || print->backend == DX_BACKEND_ENDED)
    print->backend = DX_BACKEND_ATTENDS;
  if (!dx_job_is_here(managed->job) && !dx_job_is_final(managed->job))
    send_note(client, &waiting, false);
  managed->has_told = false;
  attend_tell_problem(managed);
}

void attend_picked_up(struct manager *manager, struct managed *managed)
{
  struct client *client;

  if (managed->attendant != NULL &&
      !attend_is_of(managed->attendant, managed->job))
    supersede(managed);
  LIST_FOREACH (client, &manager->clients, link)
    if (client->managed == NULL && attend_is_of(client, managed->job))
      link_to(client, managed);
  /* A merge assumes that the backend of the receipt attends. */
  if (managed->attendant == NULL)
    attend_release(managed, DX_BACKEND_BROKEN);
}

void attend_refused(struct manager *manager, const char *name, bool is_final,
                    const struct dx_err *err)
{
  const struct dx_note note = {
      .kind = DX_NOTE_LOCAL, .code = err->code, .text = err->text};
  struct client *client;

  LIST_FOREACH (client, &manager->clients, link) {
    if (client->key[0] == '\0' || !dx_is_receipt_of(name, client->key) ||
        strcmp(name + DX_KEY_BYTES, client->run) != 0)
      continue;
    if (is_final)
      attend_refuse(client, err);
    else
      send_note(client, &note, true);
  }
}

int64_t attend_turn(struct manager *manager)
{
  int64_t now = dx_monotonic_ms();
  struct client *client;

  if (now < manager->alive_ms)
    return manager->alive_ms;
  manager->alive_ms = now + DX_ALIVE_MS;
  LIST_FOREACH (client, &manager->clients, link)
    if (client->key[0] != '\0')
      control_send(client, "alive");
  return LIST_EMPTY(&manager->clients) ? INT64_MAX : manager->alive_ms;
}
