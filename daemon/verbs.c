/*
 * verbs.c - the requests of clients of the control socket. attend.c handles
 * `attend` and related verbs; the rest are requests of the command.
 */
#include "daemon/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

void verbs_refuse(struct client *client, const struct dx_err *err)
{
  control_send(client, "error %s %s", dx_code_name(err->code), err->text);
}

/* ---- cancel ---- */

/* Warns that no manifest was written, because a consumer may wait for it. */
static void warn_of_sections(struct session *session, const struct dx_job *job)
{
  const struct dx_config *config = session->manager->config;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    const char *name = dx_submission_section(sub);

    if (sub->state != DX_ST_CANCELED || dx_config_service(config, name) != NULL)
      continue;
    control_send(session->client,
                 "warn no manifest was written, because service '%s' is not in "
                 "'%s'",
                 name, config->path);
    return;
  }
}

static void tell_canceled(struct session *session, const struct dx_job *job)
{
  size_t i, k, sure = 0, maybe = 0; /* documents that were uploaded */

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    for (k = 0; sub->code == DX_E_CANCELED && k < sub->file_count; k++)
      if (sub->uploaded_at != 0 || sub->files[k].put == DX_PUT_DONE)
        sure++;
      else if (sub->files[k].put == DX_PUT_SENDING)
        maybe++;
  }
  control_send(session->client, "line Canceled job %s", job->key);
  if (sure > 0)
    control_send(session->client,
                 "line The service already has %zu document%s; no results "
                 "will be fetched",
                 sure, sure == 1 ? "" : "s");
  if (maybe > 0)
    control_send(session->client,
                 "line The service may have %zu document%s; no results will "
                 "be fetched",
                 maybe, maybe == 1 ? "" : "s");
  if (sure + maybe == 0)
    control_send(session->client,
                 "line None of the canceled documents had been uploaded");
  if (dx_job_count(job, DX_ST_EXTRACTED) > 0)
    control_send(session->client,
                 "line Earlier results stay in the results directory");
  warn_of_sections(session, job);
  control_send(session->client, "done ");
}

void verbs_canceled(struct manager *manager, const struct managed *managed)
{
  struct session *s;

  for (s = manager->sessions; s != NULL; s = s->next)
    if (s->waits == managed)
      tell_canceled(s, managed->job);
}

static void print_job_of(const struct dx_job *job, char name[64])
{
  (void)snprintf(name, 64, "%.40s-%.20s",
                 job->queue != NULL ? job->queue : "QUEUE",
                 job->cups_id != NULL ? job->cups_id : "?");
}

/* Moves an unreadable job to damaged/, so that the print job can run again. */
static enum dx_code set_aside(struct session *session, const char *parent,
                              const char *name, struct dx_err *err)
{
  struct manager *manager = session->manager;
  enum dx_code code = dx_spool_set_aside(manager->spool, parent, name, err);

  if (code == DX_OK)
    control_send(session->client,
                 "done Moved job %.32s, whose job file cannot be read, to "
                 "'%s/damaged'",
                 name, manager->config->spool_dir);
  return code;
}

/* Cancels a job that is not managed: over, failed, or unreadable. */
static enum dx_code cancel_stored(struct session *session, const char *key,
                                  struct dx_err *err)
{
  struct manager *manager = session->manager;
  char name[DX_RECEIPT_BYTES];
  struct dx_job *job = NULL;
  size_t good;
  enum dx_code code = dx_spool_load(manager->spool, key, &job, err);

  if (code == DX_E_NOT_FOUND && manager_has_receipt(manager, key, name))
    return set_aside(session, "received", name, err);
  if (code == DX_E_DAMAGED)
    return set_aside(session, "jobs", key, err);
  if (code != DX_OK)
    return code;
  if (dx_job_is_finished(job)) {
    good = dx_job_count(job, DX_ST_EXTRACTED);
    if (good == job->submission_count)
      control_send(session->client,
                   "done Job %s had already finished: everything is extracted",
                   key);
    else
      control_send(session->client,
                   "done Job %s had already finished: %zu of %zu documents "
                   "extracted",
                   key, good, job->submission_count);
    dx_job_free(&job);
    return DX_OK;
  }
  dx_job_cancel(job);
  dx_job_set_message(job, DX_OK, "");
  code = manager_take(manager, job, err);
  if (code == DX_OK)
    session->waits = manager_find(manager, key);
  return code;
}

/* Picks up all receipts first. */
static struct managed *find(struct manager *manager, const char *key)
{
  manager->receipts_ms = 0;
  (void)manager_turn(manager);
  return manager_find(manager, key);
}

static enum dx_code verb_cancel(struct session *session, const char *key,
                                struct dx_err *err)
{
  struct managed *managed = find(session->manager, key);
  char name[64];

  if (managed == NULL)
    return cancel_stored(session, key, err);
  if (managed->attendant != NULL && managed->job->cups_id != NULL) {
    print_job_of(managed->job, name);
    return dx_fail(err, DX_E_JOB, 0,
                   "this is print job %s, and its queue is working on it; "
                   "cancel it with: cancel %s",
                   name, name);
  }
  session->waits = managed;
  dx_job_cancel(managed->job);
  dx_job_set_message(managed->job, DX_OK, "");
  dx_engine_wake(session->manager->engine, managed->job);
  return DX_OK;
}

/* ---- retry ---- */

#define RETRYING "done Retrying job %s; check with: docextract jobs"

/* Assigns a job to a renamed section; its sources do not move. */
static enum dx_code move_section(struct manager *manager, struct dx_job *job,
                                 const char *name, struct dx_err *err)
{
  const struct dx_service *service = dx_config_service(manager->config, name);
  enum dx_code code = DX_OK;
  size_t i;

  if (service == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "service '%s' is not in '%s'; add a section <Service %s>",
                   name, manager->config->path, name);
  for (i = 0; code == DX_OK && i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    if (sub->source_id == NULL || dx_state_is_settled(sub->state))
      continue;
    if (strcmp(sub->base_url, service->base_url) != 0)
      return dx_fail(err, DX_E_CONFIG, 0,
                     "the service has a document of it at another BaseURL than "
                     "that of section '%s'; cancel it with: docextract cancel "
                     "%s",
                     name, job->key);
    code =
        dx_submission_set_place(sub, name, service->base_url, sub->key_id, err);
  }
  return code == DX_OK ? dx_job_set_service(job, name, service->base_url, err)
                       : code;
}

/* If CUPS holds the print job, it still has the documents. */
static enum dx_code refuse_retry(const struct dx_job *job, struct dx_err *err)
{
  char name[64];

  if (job->print.backend == DX_BACKEND_NONE ||
      job->print.backend == DX_BACKEND_LEFT || dx_job_is_finished(job))
    return dx_fail(err, DX_E_JOB, 0, "nothing in job %s can be retried",
                   job->key);
  print_job_of(job, name);
  return dx_fail(err, DX_E_JOB, 0,
                 "this is print job %s; if CUPS holds it: lp -i %s -H resume; "
                 "if its queue is stopped: cupsenable %.40s",
                 name, name, job->queue != NULL ? job->queue : "QUEUE");
}

/* Restarts failed submissions if their documents are still stored, or queries
 * their status if it is uncertain. */
static enum dx_code restart_failed(struct session *session, struct dx_job *job,
                                   struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    if (sub->state != DX_ST_FAILED && sub->state != DX_ST_REFUSED)
      continue;
    if (dx_submission_is_here(sub) || dx_submission_needs_verify(sub))
      code = dx_submission_retry(sub, err);
    else
      control_send(session->client,
                   "warn document %zu is no longer here and must be submitted "
                   "again: %s",
                   sub->files[0].document + 1, sub->reason);
  }
  return code == DX_OK && dx_job_is_final(job) ? refuse_retry(job, err) : code;
}

static enum dx_code restart(struct session *session, struct dx_job *job,
                            const char *section, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (section[0] != '\0')
    code = move_section(session->manager, job, section, err);
  if (code == DX_OK)
    code = restart_failed(session, job, err);
  if (code != DX_OK)
    return code;
  job->print.decided = job->print.backend != DX_BACKEND_NONE;
  job->print.undecided = false;
  dx_job_set_message(job, DX_OK, "");
  job->dirty = true;
  return DX_OK;
}

static enum dx_code retry_driven(struct session *session,
                                 struct managed *managed, const char *section,
                                 struct dx_err *err)
{
  char key[DX_KEY_BYTES];
  struct dx_err other;
  enum dx_code code, again;
  bool is_free =
      (managed->attendant == NULL || section[0] != '\0') &&
      dx_engine_remove(session->manager->engine, managed->job) == DX_OK;

  if (!is_free && section[0] == '\0') {
    control_send(session->client,
                 "line docextractd is working on job %s; nothing to do",
                 managed->job->key);
    if (managed->job->message[0] != '\0')
      control_send(session->client, "line Its message: %s",
                   managed->job->message);
    control_send(session->client, "done ");
    return DX_OK;
  }
  if (!is_free)
    return dx_fail(err, DX_E_BUSY, 0,
                   "a call of the job is under way; try again in a minute");
  memcpy(key, managed->job->key, sizeof(key));
  code = restart(session, managed->job, section, err);
  again =
      manager_drive(session->manager, managed, code == DX_OK ? err : &other);
  if (code == DX_OK)
    code = again;
  if (code == DX_OK)
    control_send(session->client, RETRYING, key);
  return code;
}

static enum dx_code retry_stored(struct session *session, const char *key,
                                 const char *section, struct dx_err *err)
{
  struct manager *manager = session->manager;
  struct dx_job *job = NULL;
  enum dx_code code = dx_spool_load(manager->spool, key, &job, err);

  if (code != DX_OK)
    return code;
  if (dx_job_outcome(job, NULL) == DX_OK) {
    control_send(session->client,
                 "done Everything in job %s has already been extracted", key);
    dx_job_free(&job);
    return DX_OK;
  }
  code = restart(session, job, section, err);
  if (code == DX_OK)
    code = dx_spool_reopen(manager->spool, job, err);
  if (code == DX_OK)
    code = dx_job_save(job, err);
  if (code != DX_OK) {
    dx_job_free(&job);
    return code;
  }
  code = manager_take(manager, job, err);
  if (code == DX_OK)
    control_send(session->client, RETRYING, key);
  return code;
}

static enum dx_code verb_retry(struct session *session, const char *key,
                               const char *section, struct dx_err *err)
{
  struct managed *managed = find(session->manager, key);

  return managed != NULL ? retry_driven(session, managed, section, err)
                         : retry_stored(session, key, section, err);
}

/* ---- purge, seen ---- */

static enum dx_code verb_purge(struct session *session, const char *key,
                               struct dx_err *err)
{
  struct manager *manager = session->manager;
  struct dx_job *job = NULL;
  enum dx_code code = DX_E_JOB;

  if (manager_find(manager, key) == NULL)
    code = dx_spool_load(manager->spool, key, &job, err);
  if (code == DX_OK && (!dx_job_is_finished(job) || dx_job_awaits_hook(job)))
    code = DX_E_JOB;
  if (code == DX_E_JOB)
    (void)dx_fail(err, DX_E_JOB, 0,
                  "job %s is not finished; cancel it first, with: docextract "
                  "cancel %s",
                  key, key);
  if (code == DX_OK)
    code = dx_spool_remove(manager->spool, &job, err);
  dx_job_free(&job);
  if (code == DX_OK)
    control_send(session->client, "done Removed job %s", key);
  return code;
}

static enum dx_code verb_seen(struct session *session, struct dx_err *err)
{
  struct manager *manager = session->manager;
  size_t i, count = 0;
  enum dx_code code;

  for (i = 0; i < manager->count; i++)
    manager->jobs[i]->job->seen |=
        dx_job_is_unseen_failure(manager->jobs[i]->job);
  code = dx_spool_count_failures(manager->spool, NULL, true, &count, err);
  if (code == DX_OK)
    control_send(session->client, "done acknowledged %zu failed job%s", count,
                 count == 1 ? "" : "s");
  return code;
}

/* ---- hello ---- */

static enum dx_code verb_hello(struct session *session, const char *name,
                               struct dx_err *err)
{
  session->hello = hello_start(session->manager->config, name,
                               client_descriptor(session->client), err);
  return session->hello != NULL ? DX_OK : err->code;
}

void verbs_turn(struct manager *manager)
{
  struct session *s;
  struct dx_err err;

  for (s = manager->sessions; s != NULL; s = s->next)
    if (s->hello != NULL &&
        !hello_turn(s->hello,
                    dx_engine_rate_limit(manager->engine, s->hello->service)) &&
        !hello_end(&s->hello)) {
      (void)dx_fail(&err, DX_E_IO, 0,
                    "the test ended unexpectedly; see the log");
      verbs_refuse(s->client, &err);
    }
}

/* ---- sessions ---- */

static struct session *session_of(struct manager *manager,
                                  struct client *client)
{
  struct session *session = *client_data(client);

  if (session != NULL)
    return session;
  session = calloc(1, sizeof(*session));
  if (session == NULL) {
    control_send(client, "error E_NOMEM out of memory");
    client_close(client);
    return NULL;
  }
  session->manager = manager;
  session->client = client;
  session->next = manager->sessions;
  manager->sessions = session;
  *client_data(client) = session;
  return session;
}

void verbs_closed(void *ctx, struct client *client)
{
  struct session *session = *client_data(client), **at;

  (void)ctx;
  if (session == NULL)
    return;
  attend_closed(session);
  (void)hello_end(&session->hello);
  for (at = &session->manager->sessions; *at != session; at = &(*at)->next)
    ;
  *at = session->next;
  free(session);
}

static void answer(struct session *session, const struct dx_message *message)
{
  int64_t number = 0;

  if (session->managed == NULL || !dx_message_number(message, 0, &number))
    return;
  permit_reply(session->managed, number, message->verb == DX_VERB_YES);
  dx_engine_wake(session->manager->engine, session->managed->job);
}

void verbs_message(struct manager *manager, struct client *client,
                   const struct dx_message *message)
{
  struct session *session = session_of(manager, client);
  const char *key = message->words[0];
  struct dx_err err;
  enum dx_code code = DX_OK;

  if (session == NULL)
    return;
  switch (message->verb) {
  case DX_VERB_ATTEND:
    if (session->key[0] == '\0')
      attend_begin(session, key, message->words[1]);
    break;
  case DX_VERB_YES:
  case DX_VERB_NO:
    answer(session, message);
    break;
  case DX_VERB_LEAVE:
    attend_leave(session);
    break;
  case DX_VERB_ENDED:
    attend_ended(session, message->words[0]);
    break;
  case DX_VERB_HELLO:
    if (session->hello == NULL)
      code = verb_hello(session, message->text, &err);
    break;
  case DX_VERB_RETRY:
    code = verb_retry(session, key, message->text, &err);
    break;
  case DX_VERB_CANCEL:
    code = verb_cancel(session, key, &err);
    break;
  case DX_VERB_PURGE:
    code = verb_purge(session, key, &err);
    break;
  case DX_VERB_SEEN:
    code = verb_seen(session, &err);
    break;
  case DX_VERB_WAKE:
    manager->receipts_ms = 0;
    control_send(client, "done ");
    break;
  default: /* main.c handles YIELD */
    break;
  }
  if (code != DX_OK)
    verbs_refuse(client, &err);
}
