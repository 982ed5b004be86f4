/*
 * attend.c - the backends and commands that attend: what they are told about
 * their jobs, and what follows from what they say.
 */
#include "daemon/driver.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/spool/sentence.h"

/* ---- the outcome of a job ---- */

static void send_failures(struct session *session, const char *queue)
{
  size_t count = 0;
  struct dx_err err;

  if (queue != NULL && dx_spool_count_failures(session->driver->spool, queue,
                                               false, &count, &err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
  if (count > 0)
    control_send(session->client, "failures %zu", count);
}

/* The order matters: after `end` the backend listens no more. */
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

/* Whoever attended does so no more. */
static void release(struct driven *driven, enum dx_backend backend)
{
  if (driven->attendant != NULL)
    driven->attendant->driven = NULL;
  driven->attendant = NULL;
  if (driven->job->print.backend == DX_BACKEND_ATTENDS)
    driven->job->print.backend = backend;
  permit_watch(driven);
}

void attend_over(struct driven *driven)
{
  struct session *attendant = driven->attendant;

  if (attendant == NULL)
    return;
  if (driven->job->halt.code != DX_OK)
    end_with(attendant, &driven->job->halt);
  else
    end_with_outcome(attendant, driven->job, driven->is_new);
  release(driven, DX_BACKEND_ENDED);
}

/* ---- beginning ---- */

static bool waits_here(const struct dx_job *job)
{
  return dx_job_count(job, DX_ST_STORED) + dx_job_count(job, DX_ST_REGISTERED) >
         0;
}

/* is_here: the chart is not with the service yet. */
static void send_note(struct session *session, const struct dx_note *note,
                      bool is_here)
{
  char line[DX_CHANNEL_LINE_BYTES];

  dx_note_format(note, is_here, line);
  control_send(session->client, "%s", line);
}

static bool is_of(const struct session *session, const struct dx_job *job)
{
  return strcmp(session->key, job->key) == 0 &&
         strcmp(session->run, job->print.run) == 0;
}

/* The newest of two backends of a print job wins. */
static void supersede(struct driven *driven)
{
  if (driven->attendant == NULL)
    return;
  control_send(driven->attendant->client, "gone");
  client_close(driven->attendant->client);
  release(driven, DX_BACKEND_BROKEN);
}

static void link_to(struct session *session, struct driven *driven)
{
  struct dx_print *print = &driven->job->print;
  const struct dx_note waiting = {
      .kind = DX_NOTE_WAITING, .since_ms = dx_monotonic_ms(), .text = ""};

  supersede(driven);
  session->driven = driven;
  driven->attendant = session;
  permit_watch(driven);
  if (print->backend == DX_BACKEND_BROKEN || print->backend == DX_BACKEND_ENDED)
    print->backend = DX_BACKEND_ATTENDS;
  if (!waits_here(driven->job) && !dx_job_is_final(driven->job))
    send_note(session, &waiting, false);
  dx_engine_wake(session->driver->engine, driven->job);
}

void attend_picked_up(struct driver *driver, struct driven *driven)
{
  struct session *s;

  if (driven->attendant != NULL && !is_of(driven->attendant, driven->job))
    supersede(driven);
  for (s = driver->sessions; s != NULL; s = s->next)
    if (s->driven == NULL && is_of(s, driven->job))
      link_to(s, driven);
}

void attend_refused(struct driver *driver, const char *name, bool is_final,
                    const struct dx_err *err)
{
  const struct dx_note note = {
      .kind = DX_NOTE_LOCAL, .code = err->code, .text = err->text};
  struct session *s;

  for (s = driver->sessions; s != NULL; s = s->next) {
    if (s->key[0] == '\0' || strncmp(name, s->key, DX_KEY_BYTES - 1) != 0 ||
        strcmp(name + DX_KEY_BYTES, s->run) != 0)
      continue;
    if (is_final)
      end_with(s, err);
    else
      send_note(s, &note, true);
  }
}

/* Nothing is under way for it: it is over, or was superseded. */
static void begin_without_receipt(struct session *session)
{
  struct driver *driver = session->driver;
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code = dx_spool_load(driver->spool, session->key, &job, &err);

  if (code != DX_OK) {
    end_with(session, &err);
  } else if (!is_of(session, job)) {
    control_send(session->client, "gone"); /* there was another run */
    client_close(session->client);
    dx_job_free(&job);
  } else if (dx_job_is_final(job)) {
    end_with_outcome(session, job, true);
    dx_job_free(&job);
  } else if (driver_take(driver, job, &err) != DX_OK) {
    end_with(session, &err);
  }
}

void attend_begin(struct session *session, const char *key, const char *run)
{
  char name[DX_RECEIPT_BYTES];
  struct driven *driven;
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
  driver_pick_up_others(session->driver, name);
  code = driver_pick_up(session->driver, name, &err);
  if (code != DX_E_NOT_FOUND)
    return; /* linked, told, or waiting */
  driven = driver_find(session->driver, key);
  if (driven != NULL && is_of(session, driven->job))
    link_to(session, driven);
  else
    begin_without_receipt(session);
}

/* ---- what they say ---- */

/* A print job with a document that was refused or has failed is held: that is
 * noticed, an entry in the spool is not. */
static bool may_leave(const struct dx_job *job)
{
  return dx_job_count(job, DX_ST_REFUSED) == 0 &&
         dx_job_count(job, DX_ST_FAILED) == 0 && !job->print.undecided;
}

void attend_leave(struct session *session)
{
  struct driven *driven = session->driven;

  if (driven == NULL || !may_leave(driven->job))
    return;
  driven->job->print.backend = DX_BACKEND_LEFT;
  if (!driver_save(session->driver, driven)) {
    driven->job->print.backend = DX_BACKEND_ATTENDS;
    return; /* it asks again */
  }
  send_failures(session, driven->job->queue);
  control_send(session->client, "left");
  session->key[0] = '\0';
  release(driven, DX_BACKEND_LEFT);
}

void attend_ended(struct session *session, const char *word)
{
  enum dx_answer answer = dx_answer_by_word(word);
  struct driven *driven = session->driven;

  if (driven == NULL)
    return;
  release(driven, DX_BACKEND_ENDED);
  if (answer != DX_ANSWER_COUNT && answer != DX_ANSWER_NOT_ASKED)
    permit_learn(session->driver, driven, answer);
  session->key[0] = '\0';
  if (driver_save(session->driver, driven))
    control_send(session->client, "gone");
}

void attend_closed(struct session *session)
{
  if (session->driven != NULL)
    release(session->driven, DX_BACKEND_BROKEN);
}

/* ---- what they are told ---- */

static void log_note(struct driver *driver, const struct dx_job *job,
                     const struct dx_note *note)
{
  switch (note->kind) {
  case DX_NOTE_DOWN:
    if (!driver->is_down)
      dx_log(DX_LOG_WARNING,
             "service '%s' cannot be reached: %s; retrying until it responds",
             job->service, note->text);
    driver->is_down = true;
    break;
  case DX_NOTE_UP:
    if (driver->is_down)
      dx_log(DX_LOG_INFO, "service '%s' is reachable again", job->service);
    driver->is_down = false;
    break;
  case DX_NOTE_ADMIN:
    dx_log(DX_LOG_ERROR,
           "service '%s': %s; its jobs wait and are retried every 10 minutes "
           "and when the configuration changes",
           job->service, note->text);
    break;
  default:
    break;
  }
}

/* A document of it is with another section than its queue's, whose fault it is
 * not. */
static bool is_elsewhere(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].section != NULL &&
        strcmp(job->submissions[i].section, job->service) != 0)
      return true;
  return false;
}

/* The queue is stopped: nobody would see a print job that waits. The job waits
 * here, and goes on when the next run attends. */
static void stop_queue(struct driven *driven, const struct dx_note *note)
{
  struct dx_err err;

  (void)dx_fail(&err, is_elsewhere(driven->job) ? DX_E_JOB : note->code, 0,
                "%s", note->text);
  end_with(driven->attendant, &err);
  release(driven, DX_BACKEND_ENDED);
  driven->job->dirty = true;
}

void attend_note(void *ctx, struct dx_job *job, const struct dx_note *note)
{
  struct driven *driven = driver_find(ctx, job->key);

  log_note(ctx, job, note);
  if (driven == NULL || driven->attendant == NULL)
    return;
  if (note->kind == DX_NOTE_ADMIN) {
    stop_queue(driven, note);
    return;
  }
  send_note(driven->attendant, note, waits_here(job));
}
