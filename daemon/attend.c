/*
 * attend.c - communicates with the backends and commands that attend: sends
 * them the status of their jobs, and handles their messages.
 */
#include "daemon/manager.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"

/* ---- the outcome of a job ---- */

/* Only the next print jobs can report them. */
static void send_failures(struct session *session, const char *queue)
{
  const struct manager *manager = session->manager;
  size_t i, failed = 0, undecided = 0;
  struct dx_err err;

  if (queue == NULL)
    return;
  if (dx_spool_count_failures(manager->spool, queue, false, &failed, &err) !=
      DX_OK)
    dx_log(DX_LOG_WARNING, "%s: %s", dx_code_name(err.code), err.text);
  for (i = 0; i < manager->count; i++) {
    const struct dx_job *job = manager->jobs[i]->job;

    undecided += dx_job_is_undecided(job) && job->queue != NULL &&
                 strcmp(job->queue, queue) == 0;
  }
  if (failed + undecided > 0)
    control_send(session->client, "failures %zu %zu", failed, undecided);
}

/* The order matters: after `end` the backend reads nothing. */
static void send_end(struct client *client, const struct dx_err *err,
                     const char *sentence)
{
  control_send(client, "sentence %s", sentence);
  control_send(client, "end %s %s", dx_code_name(err->code),
               err->code == DX_OK ? "" : err->text);
  client_close(client);
}

void attend_refuse(struct client *client, const struct dx_err *err)
{
  char sentence[DX_SENTENCE_BYTES];

  dx_sentence(err->code, NULL, sentence);
  send_end(client, err, sentence);
}

static void end_with(struct session *session, const struct dx_err *err)
{
  session->key[0] = '\0';
  attend_refuse(session->client, err);
}

static void end_with_outcome(struct session *session, const struct dx_job *job,
                             bool is_new)
{
  char sentence[DX_SENTENCE_BYTES];
  struct dx_err err = {.code = DX_OK};

  send_failures(session, job->queue);
  if (dx_job_outcome(job, &err) == DX_OK && !is_new)
    (void)snprintf(sentence, sizeof(sentence), "%s", DX_SAY_NOTHING_NEW);
  else
    dx_job_sentence(job, sentence);
  session->key[0] = '\0';
  send_end(session->client, &err, sentence);
}

void attend_release(struct managed *managed, enum dx_backend backend)
{
  if (managed->attendant != NULL) {
    managed->attendant->managed = NULL;
    managed->attendant->manager->receipts_ms = 0; /* one may have waited */
  }
  managed->attendant = NULL;
  if (managed->job->print.backend == DX_BACKEND_ATTENDS)
    managed->job->print.backend = backend;
  permit_watch(managed);
}

void attend_over(struct managed *managed)
{
  struct session *attendant = managed->attendant;

  if (attendant == NULL)
    return;
  if (managed->job->halt.code != DX_OK)
    end_with(attendant, &managed->job->halt);
  else
    end_with_outcome(attendant, managed->job, managed->is_new);
  attend_release(managed, DX_BACKEND_ENDED);
}

/* ---- beginning ---- */

/* is_here: not all documents have been uploaded. */
static void send_note(struct session *session, const struct dx_note *note,
                      bool is_here)
{
  char line[DX_CHANNEL_LINE_BYTES];

  dx_note_format(note, is_here, line);
  control_send(session->client, "%s", line);
}

static bool is_of(const struct session *session, const struct dx_job *job)
{
  return strcmp(session->key, job->print.key) == 0 &&
         strcmp(session->run, job->print.run) == 0;
}

/* The newer of two backends of a print job takes over. */
static void supersede(struct managed *managed)
{
  if (managed->attendant == NULL)
    return;
  control_send(managed->attendant->client, "gone");
  client_close(managed->attendant->client);
  attend_release(managed, DX_BACKEND_BROKEN);
}

static void link_to(struct session *session, struct managed *managed)
{
  struct dx_print *print = &managed->job->print;
  const struct dx_note waiting = {
      .kind = DX_NOTE_WAITING, .since_ms = dx_monotonic_ms(), .text = ""};

  supersede(managed);
  session->managed = managed;
  managed->attendant = session;
  permit_watch(managed);
  if (print->backend == DX_BACKEND_BROKEN || print->backend == DX_BACKEND_ENDED)
    print->backend = DX_BACKEND_ATTENDS;
  if (!dx_job_is_here(managed->job) && !dx_job_is_final(managed->job))
    send_note(session, &waiting, false);
  dx_engine_wake(session->manager->engine, managed->job);
}

void attend_picked_up(struct manager *manager, struct managed *managed)
{
  struct session *s;

  if (managed->attendant != NULL && !is_of(managed->attendant, managed->job))
    supersede(managed);
  for (s = manager->sessions; s != NULL; s = s->next)
    if (s->managed == NULL && is_of(s, managed->job))
      link_to(s, managed);
}

void attend_refused(struct manager *manager, const char *name, bool is_final,
                    const struct dx_err *err)
{
  const struct dx_note note = {
      .kind = DX_NOTE_LOCAL, .code = err->code, .text = err->text};
  struct session *s;

  for (s = manager->sessions; s != NULL; s = s->next) {
    if (s->key[0] == '\0' || strncmp(name, s->key, DX_KEY_BYTES - 1) != 0 ||
        strcmp(name + DX_KEY_BYTES, s->run) != 0)
      continue;
    if (is_final)
      end_with(s, err);
    else
      send_note(s, &note, true);
  }
}

/* Tries again at once if the administrator must fix something: that was noticed
 * while no backend was connected, after a restart, and is reported only to
 * one that is. */
static void retry_if_stopped(struct manager *manager, struct managed *managed)
{
  enum dx_class cls = dx_class_of(managed->job->message_code);
  struct dx_err err;

  if ((cls == DX_CL_CONFIG || cls == DX_CL_TOKEN) &&
      manager_borrow(manager, managed->job->key, &managed, &err) == DX_OK &&
      manager_drive(manager, managed, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "%s: %s", dx_code_name(err.code), err.text);
}

/* No job of this run is in progress: it is over, or was superseded. */
static void begin_without_receipt(struct session *session)
{
  struct manager *manager = session->manager;
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code = dx_spool_load(manager->spool, session->key, &job, &err);

  if (code != DX_OK) {
    end_with(session, &err);
  } else if (!is_of(session, job) ||
             (!dx_job_is_final(job) && manager_holds(manager, session->key))) {
    control_send(session->client, "gone"); /* another run has taken over */
    client_close(session->client);
    dx_job_free(&job);
  } else if (dx_job_is_final(job)) {
    end_with_outcome(session, job, true);
    dx_job_free(&job);
  } else if (manager_take(manager, job, false, &err) != DX_OK) {
    end_with(session, &err);
  }
}

void attend_begin(struct session *session, const char *key, const char *run)
{
  char name[DX_RECEIPT_BYTES];
  struct managed *managed;
  struct dx_err err;
  enum dx_code code;

  (void)snprintf(session->key, sizeof(session->key), "%s", key);
  (void)snprintf(session->run, sizeof(session->run), "%s", run);
  (void)snprintf(name, sizeof(name), "%s.%s", key, run);
  if (!dx_is_receipt_name(name)) {
    (void)dx_fail(&err, DX_E_ARG, 0, "not the name of a receipt");
    end_with(session, &err);
    return;
  }
  manager_pick_up_others(session->manager, name);
  code = manager_pick_up(session->manager, name, &err);
  if (code != DX_E_NOT_FOUND)
    return; /* linked, refused, or waiting */
  managed = manager_find(session->manager, key);
  if (managed == NULL || managed->is_over || !is_of(session, managed->job)) {
    begin_without_receipt(session);
  } else {
    link_to(session, managed);
    retry_if_stopped(session->manager, managed);
  }
}

/* ---- messages of backends ---- */

/* If a document was refused or has failed, the backend stays, so that CUPS
 * holds the print job: users notice that, but not an entry in the spool. */
void attend_leave(struct session *session)
{
  struct managed *managed = session->managed;

  if (managed == NULL || managed->is_unsynced ||
      managed->job->print.undecided ||
      dx_job_count(managed->job, DX_ST_REFUSED) > 0 ||
      dx_job_count(managed->job, DX_ST_FAILED) > 0)
    return;
  managed->job->print.backend = DX_BACKEND_LEFT;
  if (!manager_save(session->manager, managed)) {
    managed->job->print.backend = DX_BACKEND_ATTENDS;
    return; /* it asks again */
  }
  send_failures(session, managed->job->queue);
  control_send(session->client, "left");
  session->key[0] = '\0';
  attend_release(managed, DX_BACKEND_LEFT);
}

void attend_ended(struct session *session, const char *word)
{
  enum dx_answer answer = dx_answer_by_word(word);
  struct managed *managed = session->managed;
  char sentence[DX_SENTENCE_BYTES];

  if (managed == NULL)
    return;
  attend_release(managed, DX_BACKEND_ENDED);
  if (answer != DX_ANSWER_COUNT && answer != DX_ANSWER_NOT_ASKED)
    permit_learn(session->manager, managed, answer);
  session->key[0] = '\0';
  if (!manager_save(session->manager, managed))
    return;
  dx_job_sentence(managed->job, sentence);
  control_send(session->client, "sentence %s", sentence);
  control_send(session->client, "gone");
}

void attend_closed(struct session *session)
{
  if (session->managed != NULL)
    attend_release(session->managed, DX_BACKEND_BROKEN);
}

int64_t attend_turn(struct manager *manager)
{
  int64_t now = dx_monotonic_ms();
  const struct session *s;

  if (now < manager->alive_ms)
    return manager->alive_ms;
  manager->alive_ms = now + DX_ALIVE_MS;
  for (s = manager->sessions; s != NULL; s = s->next)
    if (s->key[0] != '\0')
      control_send(s->client, "alive");
  return manager->sessions != NULL ? manager->alive_ms : INT64_MAX;
}

/* ---- notes ---- */

static void log_note(struct manager *manager, const struct dx_job *job,
                     const struct dx_note *note)
{
  switch (note->kind) {
  case DX_NOTE_DOWN:
    if (!manager->is_down)
      dx_log(DX_LOG_WARNING,
             "service '%s' cannot be reached: %s: %s; retrying until it "
             "responds",
             job->service, dx_code_name(note->code), note->text);
    manager->is_down = true;
    break;
  case DX_NOTE_UP:
    if (manager->is_down)
      dx_log(DX_LOG_INFO, "service '%s' is reachable again", job->service);
    manager->is_down = false;
    break;
  case DX_NOTE_ADMIN:
    dx_log(DX_LOG_ERROR,
           "service '%s': %s: %s; its jobs wait and are retried every 10 "
           "minutes and when the configuration changes",
           job->service, dx_code_name(note->code), note->text);
    break;
  default:
    break;
  }
}

/* Stops the queue, because users would not notice a waiting print job. The job
 * stays in the spool, and continues when the next run attends. If a document
 * belongs to another section, the error does not concern the queue. */
static void stop_queue(struct managed *managed, const struct dx_note *note)
{
  const struct dx_job *job = managed->job;
  enum dx_code code = note->code;
  char sentence[DX_SENTENCE_BYTES];
  struct dx_err err;
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (strcmp(dx_submission_section(&job->submissions[i]), job->service) != 0)
      code = DX_E_JOB;
  (void)dx_fail(&err, code, 0, "%s", note->text);
  dx_sentence(note->code, NULL, sentence);
  managed->attendant->key[0] = '\0';
  send_end(managed->attendant->client, &err, sentence);
  attend_release(managed, DX_BACKEND_ENDED);
  managed->job->dirty = true;
}

void attend_note(void *ctx, struct dx_job *job, const struct dx_note *note)
{
  struct managed *managed = manager_find(ctx, job->key);

  log_note(ctx, job, note);
  if (managed == NULL || managed->attendant == NULL)
    return;
  if (note->kind == DX_NOTE_ADMIN) {
    stop_queue(managed, note);
    return;
  }
  send_note(managed->attendant, note, dx_job_is_here(job));
}
