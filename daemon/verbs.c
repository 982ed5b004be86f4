/*
 * verbs.c - the messages of the clients of the control socket.
 */
#include "daemon/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"

void verbs_refuse(struct client *client, const struct dx_err *err)
{
  control_send(client, "error %s %s", dx_code_name(err->code), err->text);
}

/* ---- backends and commands that attend ---- */

/* No job of this run is in progress: it is over, or was superseded. */
static void begin_without_receipt(struct client *client)
{
  struct manager *manager = client->manager;
  struct dx_job *job = NULL;
  struct dx_err err;
  enum dx_code code = dx_spool_load(manager->spool, client->key, &job, &err);

  if (code != DX_OK) {
    attend_refuse(client, &err);
  } else if (!attend_is_of(client, job) ||
             (!dx_job_is_final(job) &&
              manager_find(manager, client->key) != NULL)) {
    control_send(client, "gone"); /* another run has taken over */
    client_close(client);
    dx_job_free(&job);
  } else if (dx_job_is_final(job)) {
    attend_end_with_outcome(client, job, true);
    dx_job_free(&job);
  } else if (manager_take(manager, job, &err) != DX_OK) {
    attend_refuse(client, &err);
  }
}

static void verb_attend(struct client *client, const char *key, const char *run)
{
  char name[DX_RECEIPT_BYTES];
  struct managed *managed;
  struct dx_err err;
  enum dx_code code;

  (void)snprintf(client->key, sizeof(client->key), "%s", key);
  (void)snprintf(client->run, sizeof(client->run), "%s", run);
  (void)snprintf(name, sizeof(name), "%s.%s", key, run);
  if (!dx_is_receipt_name(name)) {
    (void)dx_fail(&err, DX_E_ARG, 0, "not the name of a receipt");
    attend_refuse(client, &err);
    return;
  }
  manager_pick_up_all(client->manager, name);
  code = manager_pick_up(client->manager, name, &err);
  if (code != DX_E_NOT_FOUND)
    return; /* linked, refused, or waiting */
  managed = manager_find(client->manager, key);
  if (managed == NULL || managed->job->ended ||
      !attend_is_of(client, managed->job)) {
    begin_without_receipt(client);
  } else {
    attend_picked_up(client->manager, managed);
  }
}

/* If a document was refused or has failed, CUPS holds the print job, while the
 * others go on: users notice that, but not an entry in the spool. */
static void verb_leave(struct client *client)
{
  struct managed *managed = client->managed;
  struct dx_print *print;
  enum dx_backend before;

  /* If all have ended, `end` follows. */
  if (managed == NULL || !dx_spool_sync(client->manager->spool) ||
      managed->job->print.undecided || dx_job_is_final(managed->job))
    return;
  print = &managed->job->print;
  before = print->backend;
  print->backend =
      dx_job_has_failed(managed->job) ? DX_BACKEND_HELD : DX_BACKEND_LEFT;
  if (!dx_engine_save(client->manager->engine, managed->job)) {
    print->backend = before;
    return; /* it asks again */
  }
  if (print->backend == DX_BACKEND_HELD) {
    attend_end_with_outcome(client, managed->job, true);
  } else {
    attend_send_failures(client, managed->job->queue);
    control_send(client, "left");
    memcpy(client->left, client->key, sizeof(client->left));
    client->key[0] = '\0';
  }
  attend_release(managed, print->backend);
}

/* The job that the client attends, or has just left: SIGTERM may arrive before
 * the backend exits, and cupsd may forget the print job. NULL: none, or another
 * run has it. */
static struct managed *job_of(const struct client *client)
{
  struct managed *managed;

  if (client->managed != NULL || client->left[0] == '\0')
    return client->managed;
  managed = manager_find(client->manager, client->left);
  return managed != NULL && managed->attendant == NULL &&
                 !managed->job->ended &&
                 strcmp(managed->job->print.run, client->run) == 0
             ? managed
             : NULL;
}

static void verb_ended(struct client *client, const char *word)
{
  enum dx_answer answer = dx_answer_by_word(word);
  struct managed *managed = job_of(client);
  char sentence[DX_SENTENCE_BYTES];

  if (managed == NULL)
    return;
  attend_release(managed, DX_BACKEND_ENDED);
  if (answer != DX_ANSWER_COUNT && answer != DX_ANSWER_NOT_ASKED)
    permit_learn(managed, answer);
  client->key[0] = '\0';
  if (!dx_engine_save(client->manager->engine, managed->job))
    return;
  dx_job_sentence(managed->job, sentence);
  control_send(client, "sentence %s", sentence);
  control_send(client, "gone");
}

/* ---- cancel ---- */

static void print_job_of(const struct dx_job *job, char name[64])
{
  (void)snprintf(name, 64, "%.40s-%.20s",
                 job->queue != NULL ? job->queue : "QUEUE",
                 job->cups_id != NULL ? job->cups_id : "?");
}

/* CUPS may hold the print job because a document has failed. */
static void warn_of_print_job(struct client *client, const struct dx_job *job)
{
  char name[64];

  if (!dx_job_is_in_cups(job) || dx_job_is_undecided(job))
    return;
  print_job_of(job, name);
  control_send(client,
               "warn CUPS may still hold print job %s; to end it, run: cancel "
               "%s",
               name, name);
}

/* Picks up all receipts first. */
static struct managed *find(struct manager *manager, const char *key)
{
  manager_pick_up_all(manager, NULL);
  return manager_find(manager, key);
}

static void tell_finished(struct client *client, const struct dx_job *job)
{
  size_t good = dx_job_count(job, DX_ST_EXTRACTED);

  if (good == job->submission_count)
    control_send(client,
                 "done Job %s has already finished: everything is extracted",
                 job->key);
  else
    control_send(client,
                 "done Job %s has already finished: %zu of %zu documents "
                 "extracted",
                 job->key, good, job->submission_count);
}

/* Nothing is left to cancel, unless OnResult has failed: then, this is an
 * acknowledgment. */
static enum dx_code cancel_finished(struct client *client, struct dx_job *job,
                                    struct dx_err *err)
{
  enum dx_code code;

  if (!dx_job_acknowledge_hooks(job)) {
    tell_finished(client, job);
    return DX_OK;
  }
  code = dx_job_save(job, err);
  if (code != DX_OK)
    return code;
  dx_job_log(DX_LOG_INFO, job, "the failure of OnResult was acknowledged");
  control_send(client, "done OnResult is not run again for job %s", job->key);
  return DX_OK;
}

/* Moves a job to damaged/ if it is unreadable, so that the print job can run
 * again. */
static enum dx_code verb_cancel(struct client *client, const char *key,
                                struct dx_err *err)
{
  struct manager *manager = client->manager;
  struct managed *managed = find(manager, key);
  /* Over, failed, or unreadable. */
  bool is_stored = managed == NULL || managed->job->ended;
  char name[DX_RECEIPT_BYTES], print_job[64];
  enum dx_code code = DX_OK;

  if (is_stored)
    code = manager_borrow(manager, key, &managed, err);
  if (code == DX_E_DAMAGED ||
      (code == DX_E_NOT_FOUND &&
       dx_spool_has_receipt(manager->spool, key, name))) {
    code = dx_spool_set_aside(manager->spool, code == DX_E_DAMAGED ? key : name,
                              err);
    if (code == DX_E_JOB) /* it is not damaged */
      (void)dx_fail(err, code, 0,
                    "job %.32s has not been picked up yet, usually because the "
                    "same print job was sent twice, and the first one is "
                    "in progress; cancel its print job in CUPS, or try "
                    "again later",
                    key);
    if (code == DX_OK)
      tallies_forget(&manager->tallies, key);
    if (code == DX_OK)
      control_send(client,
                   "done Moved job %.32s, whose job file cannot be read, to "
                   "'%s/damaged'",
                   key, manager->config->spool_dir);
    return code;
  }
  if (code != DX_OK)
    return code;
  if (is_stored && dx_job_is_finished(managed->job)) {
    code = cancel_finished(client, managed->job, err);
    (void)manager_drive(manager, managed); /* OnResult may be pending */
    return code;
  }
  if (managed->attendant != NULL && managed->job->cups_id != NULL) {
    print_job_of(managed->job, print_job);
    return dx_fail(err, DX_E_JOB, 0,
                   "this is print job %s, which is being processed; cancel "
                   "it with: cancel %s",
                   print_job, print_job);
  }
  warn_of_print_job(client, managed->job);
  client->waits = managed;
  dx_job_end(managed->job, DX_EV_CANCEL);
  dx_job_set_problem(managed->job, DX_OK, "", 0);
  if (is_stored) {
    attend_picked_up(manager, managed);
    return manager_drive(manager, managed) ? DX_OK : dx_fail_nomem(err);
  }
  dx_engine_wake(managed->job);
  return DX_OK;
}

/* ---- retry ---- */

/* True for a submission whose source moves to another section. */
static bool has_open_source(const struct dx_submission *sub)
{
  return sub->source_id != NULL && !dx_state_is_settled(sub->state);
}

/* Whether all of a job can be assigned to a section: its sources do not move to
 * another BaseURL. */
static enum dx_code may_move(const struct manager *manager,
                             const struct dx_job *job, const char *name,
                             struct dx_err *err)
{
  const struct dx_service *service = dx_config_service(manager->config, name);
  size_t i;

  if (service == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "service '%s' is not in '%s'; add a section <Service %s>",
                   name, manager->config->path, name);
  for (i = 0; i < job->submission_count; i++)
    if (has_open_source(&job->submissions[i]) &&
        strcmp(job->submissions[i].base_url, service->base_url) != 0)
      return dx_fail(err, DX_E_CONFIG, 0,
                     "a document of the job was sent to another BaseURL than "
                     "that of section '%s'; cancel the job with: docextract "
                     "cancel %s",
                     name, job->key);
  return DX_OK;
}

/* Assigns a job to a renamed section. */
static enum dx_code move_section(struct manager *manager, struct dx_job *job,
                                 const char *name, struct dx_err *err)
{
  const struct dx_service *service = dx_config_service(manager->config, name);
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < job->submission_count; i++)
    if (has_open_source(&job->submissions[i]))
      code =
          dx_submission_set_place(&job->submissions[i], name, service->base_url,
                                  job->submissions[i].key_id, err);
  if (code == DX_OK)
    code = dx_job_set_service(job, name, service->base_url, err);
  /* A print job that is sent again to a queue of that section is found. */
  if (code == DX_OK)
    code = dx_job_set_content(job, err);
  return code == DX_OK ? dx_spool_add_aliases(manager->spool, job, err) : code;
}

/* The administrator has decided to send what waits. */
static void retry_decide(struct dx_job *job)
{
  job->is_copy = false;
  job->print.decided = job->print.backend != DX_BACKEND_NONE;
  job->print.undecided = false;
  dx_job_set_problem(job, DX_OK, "", 0);
  job->dirty = true;
}

/* Restarts failed submissions if their documents are still stored, or queries
 * their status if it is uncertain. After a failure, the caller must not use the
 * job, which may have changed in part. */
static enum dx_code restart(struct client *client, struct dx_job *job,
                            const char *section, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  char name[64];
  size_t i;

  print_job_of(job, name);
  if (section[0] != '\0')
    code = move_section(client->manager, job, section, err);
  for (i = 0; code == DX_OK && i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];

    /* The service no longer has it, or does not process it: it is registered
     * again if two more checks find that it certainly will not. */
    if (dx_state_is_sent(sub->state) && sub->state != DX_ST_EXTRACTED &&
        !sub->problem.is_of_storage &&
        (sub->problem.code == DX_E_GONE || sub->problem.code == DX_E_OVERDUE))
      dx_submission_end(sub, DX_EV_FAIL, sub->problem.code, "retried");
    if (sub->state != DX_ST_FAILED && sub->state != DX_ST_REFUSED)
      continue;
    if (dx_submission_is_here(sub) || dx_submission_needs_verify(sub))
      code = dx_submission_retry(sub, err);
    else if (job->print.backend == DX_BACKEND_HELD) /* CUPS still has it */
      control_send(client,
                   "warn document %zu is sent again when print job %s is "
                   "released: %s",
                   sub->files[0].document + 1, name, dx_line(sub->reason));
    else
      control_send(client,
                   "warn document %zu is no longer in the spool and must be "
                   "submitted again: %s",
                   sub->files[0].document + 1, dx_line(sub->reason));
  }
  if (code != DX_OK)
    return code;
  if (dx_job_is_final(job) && dx_job_awaits_hook(job))
    return DX_OK; /* OnResult is run */
  if (dx_job_is_final(job)) {
    if (job->print.backend == DX_BACKEND_NONE ||
        job->print.backend == DX_BACKEND_LEFT)
      return dx_fail(err, DX_E_JOB, 0, "nothing in job %s can be retried",
                     job->key);
    return dx_fail(err, DX_E_JOB, 0,
                   "this is print job %s; if CUPS holds it: lp -i %s -H "
                   "resume; if its queue is stopped: cupsenable %.40s",
                   name, name, job->queue != NULL ? job->queue : "QUEUE");
  }
  retry_decide(job);
  return DX_OK;
}

/* OnResult is run at once if it is pending: the engine gets the job again. */
static enum dx_code retry_finished(struct client *client,
                                   const struct dx_job *job, struct dx_err *err)
{
  if (dx_job_awaits_hook(job)) {
    control_send(client,
                 "done Running OnResult again for job %s; check with: "
                 "docextract jobs",
                 job->key);
    return DX_OK;
  }
  if (dx_job_outcome(job, NULL) != DX_OK)
    return dx_fail(err, DX_E_JOB, 0, "nothing in job %s can be retried",
                   job->key);
  control_send(client, "done Everything in job %s has already been extracted",
               job->key);
  return DX_OK;
}

static enum dx_code verb_retry(struct client *client, const char *key,
                               const char *section, struct dx_err *err)
{
  struct manager *manager = client->manager;
  struct managed *managed = find(manager, key);
  bool is_stored = managed == NULL || managed->job->ended;
  enum dx_code code = DX_E_BUSY;

  if (is_stored || managed->attendant == NULL || section[0] != '\0')
    code = manager_borrow(manager, key, &managed, err);
  if (code == DX_E_BUSY && managed->attendant == NULL &&
      dx_job_has_failed(managed->job))
    return code;
  if (code == DX_E_BUSY && section[0] == '\0' && managed->attendant == NULL &&
      managed->job->print.backend != DX_BACKEND_NONE) {
    retry_decide(managed->job); /* a call for another document may take long */
    dx_engine_hurry(manager->engine, managed->job);
    attend_reset(managed);
    control_send(client, "done Retrying job %s; check with: docextract jobs",
                 key);
    return DX_OK;
  }
  if (code == DX_E_BUSY && section[0] == '\0') {
    bool has_problem = dx_job_problem(managed->job)->text != NULL;

    /* Its backend attends, or it was submitted: a decision only for a copy. */
    if (managed->job->is_copy) {
      retry_decide(managed->job);
      attend_tell_problem(managed);
      dx_engine_wake(managed->job);
    }
    dx_engine_hurry(manager->engine, managed->job);
    control_send(client,
                 has_problem
                     ? "done Retrying job %s; check with: docextract jobs"
                     : "done docextractd is processing job %s; nothing to do",
                 key);
    return DX_OK;
  }
  if (code != DX_OK)
    return code;
  if (is_stored && dx_job_is_finished(managed->job)) {
    code = retry_finished(client, managed->job, err);
    (void)manager_drive(manager, managed);
    return code;
  }
  if (section[0] != '\0')
    code = may_move(manager, managed->job, section, err);
  if (code != DX_OK) { /* nothing has changed */
    if (is_stored)
      manager_drop(manager, managed);
    else
      (void)manager_drive(manager, managed);
    return code;
  }
  code = restart(client, managed->job, section, err);
  managed->is_new =
      managed->is_new || (code == DX_OK && !dx_job_is_final(managed->job));
  if (code == DX_OK && is_stored)
    code = dx_job_save(managed->job, err);
  if (code == DX_OK && is_stored)
    attend_picked_up(manager, managed);
  if (code != DX_OK && is_stored)
    manager_drop(manager, managed);
  else if (code != DX_OK)
    manager_reload(manager, managed);
  else if (!manager_drive(manager, managed))
    code = dx_fail_nomem(err);
  managed = manager_find(manager, key);
  if (code == DX_OK && managed != NULL)
    dx_engine_hurry(manager->engine, managed->job);
  if (code == DX_OK)
    control_send(client, "done Retrying job %s; check with: docextract jobs",
                 key);
  return code;
}

/* ---- purge, seen ---- */

static enum dx_code verb_purge(struct client *client, const char *key,
                               struct dx_err *err)
{
  struct manager *manager = client->manager;
  char name[DX_RECEIPT_BYTES];
  struct dx_job *job = NULL;
  enum dx_code code = DX_E_JOB;

  if (manager_find(manager, key) == NULL)
    code = dx_spool_load(manager->spool, key, &job, err);
  /* Without the job, the documents of its receipt would be sent again. */
  if (code == DX_OK && (!dx_job_is_finished(job) || dx_job_awaits_hook(job) ||
                        dx_spool_has_receipt(manager->spool, job->key, name)))
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
    control_send(client, "done Removed job %s", key);
  return code;
}

/* Acknowledges a failed job. */
static enum dx_code see(struct manager *manager, const char *key,
                        struct dx_err *err)
{
  struct managed *managed = manager_find(manager, key);
  struct dx_job *job = managed != NULL ? managed->job : NULL;
  enum dx_code code =
      managed == NULL ? dx_spool_load(manager->spool, key, &job, err) : DX_OK;

  if (code == DX_OK) {
    job->seen = true;
    code = dx_job_save(job, err);
  }
  if (code == DX_OK && managed != NULL)
    tallies_set(&manager->tallies, &managed->counted, job);
  else if (code == DX_OK)
    tallies_set_stored(&manager->tallies, job);
  if (managed == NULL)
    dx_job_free(&job);
  return code;
}

static enum dx_code verb_seen(struct client *client, struct dx_err *err)
{
  struct manager *manager = client->manager;
  char key[DX_KEY_BYTES] = "";
  const struct managed *managed;
  size_t count = 0;
  enum dx_code code = DX_OK;

  LIST_FOREACH (managed, &manager->jobs, link) { /* OnResult is pending */
    if (code != DX_OK || !managed->job->ended ||
        !dx_job_is_unseen_failure(managed->job))
      continue;
    code = see(manager, managed->job->key, err);
    count += code == DX_OK;
  }
  while (code == DX_OK && tallies_next_failure(&manager->tallies, key)) {
    code = see(manager, key, err);
    count += code == DX_OK;
    if (code == DX_E_NOT_FOUND)
      tallies_forget(&manager->tallies, key);
    else if (code == DX_E_DAMAGED)
      tallies_set_damaged(&manager->tallies, key);
    if (code == DX_E_NOT_FOUND || code == DX_E_DAMAGED)
      code = DX_OK;
  }
  if (code == DX_OK)
    control_send(client, "done Acknowledged %zu failed job%s", count,
                 count == 1 ? "" : "s");
  return code;
}

/* ---- hello ---- */

static void tell_client(void *ctx, const char *line)
{
  control_send(ctx, "%s", line);
}

/* ---- clients ---- */

void verbs_closed(void *ctx, struct client *client)
{
  (void)ctx;
  if (client->manager == NULL)
    return;
  if (client->managed != NULL)
    attend_release(client->managed, DX_BACKEND_BROKEN);
  dx_engine_cancel_hello(client->manager->engine, client);
  LIST_REMOVE(client, link);
}

void verbs_message(struct manager *manager, struct client *client,
                   const struct dx_message *message)
{
  const char *key = message->words[0];
  struct dx_err err;
  enum dx_code code = DX_OK;

  if (client->manager == NULL)
    LIST_INSERT_HEAD(&manager->clients, client, link);
  client->manager = manager;
  switch (message->verb) {
  case DX_VERB_ATTEND:
    if (client->key[0] == '\0')
      verb_attend(client, key, message->words[1]);
    break;
  case DX_VERB_ALIVE:
    control_limit_silence(client, DX_SILENT_MS);
    break;
  case DX_VERB_LEAVE:
    verb_leave(client);
    break;
  case DX_VERB_STOPPING:
    client->is_stopping = true;
    if (job_of(client) != NULL)
      managed_withdraw(job_of(client));
    break;
  case DX_VERB_ENDED:
    verb_ended(client, key);
    break;
  case DX_VERB_HELLO:
    code = dx_engine_hello(manager->engine, message->text, tell_client, client,
                           &err);
    break;
  case DX_VERB_RETRY:
    code = verb_retry(client, key, message->text, &err);
    break;
  case DX_VERB_CANCEL:
    code = verb_cancel(client, key, &err);
    break;
  case DX_VERB_PURGE:
    code = verb_purge(client, key, &err);
    break;
  case DX_VERB_SEEN:
    code = verb_seen(client, &err);
    break;
  default:
    break;
  }
  if (code != DX_OK)
    verbs_refuse(client, &err);
}
