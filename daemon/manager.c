/*
 * manager.c - the list of active jobs: receipts become jobs, jobs go to the
 * engine, and those that have ended are released.
 */
#include "daemon/manager.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/merge.h"

#define DX_RECEIPTS_LOOK_MS 30000 /* between two scans of received/ */

#define BUSY_MS 100 /* between tries to merge during a call */

/* ---- the list ---- */

static int compare_own_keys(const struct managed *a, const struct managed *b)
{
  return strcmp(a->job->key, b->job->key);
}

/* RB_GENERATE_STATIC needs a macro that glibc's headers conflict with. */
RB_GENERATE_INTERNAL(managed_jobs, managed, node, compare_own_keys,
                     static inline)

/* Another key of a job in memory: few jobs have any. */
struct named {
  char key[DX_KEY_BYTES]; /* first: compare_names() */
  struct managed *managed;
  SLIST_ENTRY(named) link;
};

static int compare_names(const void *a, const void *b)
{
  return strcmp(a, b);
}

struct managed *manager_find(struct manager *manager, const char *key)
{
  struct managed *managed = RB_ROOT(&manager->by_own_key);
  struct named *const *at;
  int order;

  while (managed != NULL) {
    order = strcmp(key, managed->job->key);
    if (order == 0)
      return managed;
    managed = order < 0 ? RB_LEFT(managed, node) : RB_RIGHT(managed, node);
  }
  at = tfind(key, &manager->by_key, compare_names);
  return at != NULL ? (*at)->managed : NULL;
}

static bool name_it(struct manager *manager, struct managed *managed,
                    const char *key)
{
  struct named *named;

  if (key[0] == '\0' || manager_find(manager, key) != NULL)
    return true;
  named = calloc(1, sizeof(*named));
  if (named == NULL)
    return false;
  memcpy(named->key, key, sizeof(named->key));
  named->managed = managed;
  if (tsearch(named, &manager->by_key, compare_names) == NULL) {
    free(named);
    return false;
  }
  SLIST_INSERT_HEAD(&managed->names, named, link);
  return true;
}

/* Makes the job known by its other keys. A job only gains keys. */
static bool name_all(struct manager *manager, struct managed *managed)
{
  const struct dx_job *job = managed->job;
  bool ok = name_it(manager, managed, job->print.key);
  size_t i;

  for (i = 0; ok && i < job->other_count; i++)
    ok = name_it(manager, managed, job->others[i].print.key);
  return ok;
}

static void forget_names(struct manager *manager, struct managed *managed)
{
  struct named *named;

  RB_REMOVE(managed_jobs, &manager->by_own_key, managed);
  while ((named = SLIST_FIRST(&managed->names)) != NULL) {
    SLIST_REMOVE_HEAD(&managed->names, link);
    (void)tdelete(named->key, &manager->by_key, compare_names);
    free(named);
  }
}

struct dx_job *manager_job(void *ctx, const char *key)
{
  const struct managed *managed = manager_find(ctx, key);

  return managed != NULL ? managed->job : NULL;
}

bool manager_needs_admin(const struct manager *manager)
{
  const struct managed *managed;

  LIST_FOREACH (managed, &manager->jobs, link)
    if (dx_job_needs_admin(managed->job))
      return true;
  return false;
}

void manager_damaged(void *ctx, const char *key)
{
  struct manager *manager = ctx;

  tallies_set_damaged(&manager->tallies, key);
}

/* Schedules the loading of jobs that are not in memory. */
static void load_later(struct manager *manager)
{
  int64_t at = dx_monotonic_ms() + DX_LOCAL_RETRY_MS;

  manager->load_ms = at < manager->load_ms ? at : manager->load_ms;
}

/* Adds a job to the list, but not to the engine. */
static struct managed *enlist(struct manager *manager, struct dx_job *job,
                              struct dx_err *err)
{
  struct managed *managed = calloc(1, sizeof(*managed));

  if (managed != NULL) {
    managed->manager = manager;
    managed->job = job;
    job->drive = &managed->drive;
    managed->is_new = !dx_job_is_final(job);
  }
  if (managed != NULL &&
      RB_INSERT(managed_jobs, &manager->by_own_key, managed) != NULL) {
    (void)dx_fail(err, DX_E_BUSY, 0, "job %s is in memory", job->key);
    free(managed);
    dx_job_free(&job);
    return NULL;
  }
  if (managed == NULL || !name_all(manager, managed)) {
    if (managed != NULL)
      forget_names(manager, managed);
    free(managed);
    dx_job_free(&job);
    (void)dx_fail_nomem(err);
    load_later(manager);
    return NULL;
  }
  LIST_INSERT_HEAD(&manager->jobs, managed, link);
  tallies_enter(&manager->tallies, &managed->counted, job);
  return managed;
}

void manager_drop(struct manager *manager, struct managed *managed)
{
  struct client *client;

  LIST_FOREACH (client, &manager->clients, link) {
    client->managed = client->managed == managed ? NULL : client->managed;
    client->waits = client->waits == managed ? NULL : client->waits;
  }
  LIST_REMOVE(managed, link);
  listed_as_unwatched(managed);
  tallies_leave(&manager->tallies, &managed->counted, managed->job->key);
  forget_names(manager, managed);
  /* NOLINTNEXTLINE(*-core.NullDereference): no client makes it NULL */
  if (dx_job_awaits_hook(managed->job)) /* it was not released */
    load_later(manager);
  cupsd_forget(&managed->question);
  dx_job_free(&managed->job);
  free(managed);
}

void manager_reload(struct manager *manager, struct managed *managed)
{
  manager_drop(manager, managed);
  load_later(manager);
}

/* ---- the end of a job ---- */

/* Removes the documents of what has ended. If that fails, the job is loaded
 * again a little later. */
static void manager_settle(struct manager *manager, struct managed *managed)
{
  struct dx_job *job = managed->job;
  struct dx_err err;

  if (dx_spool_settle(manager->spool, job, &err) == DX_OK)
    return;
  dx_job_log(DX_LOG_WARNING, job, "%s: %s", dx_code_name(err.code), err.text);
  load_later(manager);
}

/* Notifies the clients that wait for the job, when its documents are deleted:
 * a user may look for them. CUPS may hold the print job of a failed job. */
static void manager_end(struct manager *manager, struct managed *managed)
{
  manager_settle(manager, managed);
  watch_add(&manager->watch, managed->job);
  attend_over(manager, managed);
}

static void log_outcome(const struct dx_job *job)
{
  size_t i, cases = 0;
  struct dx_err err;

  for (i = 0; i < job->submission_count; i++)
    cases += job->submissions[i].case_count;
  if (dx_job_outcome(job, &err) == DX_OK)
    dx_job_log(DX_LOG_INFO, job, "extracted %zu case%s", cases,
               cases == 1 ? "" : "s");
  else
    dx_job_log(DX_LOG_ERROR, job, "%s: %s; see: docextract jobs",
               dx_code_name(err.code), err.text);
}

/* Watchers read the journal: what has changed since it was written is told when
 * it is written again. */
static void saved(struct manager *manager, struct managed *managed)
{
  struct dx_job *job = managed->job;

  tallies_set(&manager->tallies, &managed->counted, job);
  if (!dx_job_must_be_saved(job) && !job->behind)
    status_tell(manager->status, job);
}

/* True if the engine has something to do at once. Before a print job ends, its
 * failures are counted, and its user has been told what was wrong. */
static bool take_news(struct manager *manager, struct managed *managed,
                      const struct dx_news *news)
{
  bool is_urgent = false;

  if (news->saved)
    saved(manager, managed);
  if (news->problem)
    attend_tell_problem(managed);
  if (news->progress)
    attend_tell_progress(managed);
  if (news->ended) {
    log_outcome(managed->job);
    manager_end(manager, managed);
  } else if (news->asks) {
    is_urgent = permit_ask(manager, managed);
  }
  if (news->released) {
    if (strncmp(managed->job->path, "jobs/", 5) == 0) /* OnResult was pending */
      manager_settle(manager, managed);
    manager_drop(manager, managed);
  }
  return is_urgent;
}

/* Performs a turn of the engine, and what follows from it. */
static int64_t turn_engine(struct manager *manager)
{
  int64_t next = dx_engine_turn(manager->engine);
  struct dx_news news;
  struct dx_job *job;

  while ((job = dx_engine_news(manager->engine, &news)) != NULL)
    if (take_news(manager, managed_of(job), &news))
      next = 0;
  return next;
}

/* ---- jobs for the engine ---- */

bool manager_drive(struct manager *manager, struct managed *managed)
{
  const struct dx_job *job = managed->job;
  bool is_over = dx_job_is_final(job) && !dx_job_must_be_saved(job);
  struct dx_err err;
  size_t i;

  /* It may have been borrowed. */
  tallies_set(&manager->tallies, &managed->counted, job);
  /* If a document was refused when it was received, the engine must still write
   * its manifest. */
  for (i = 0; is_over && i < job->submission_count; i++)
    is_over = job->submissions[i].state != DX_ST_REFUSED ||
              job->submissions[i].failed_at != 0;
  managed->job->ended = is_over;
  if (is_over)
    manager_end(manager, managed);
  if (is_over && !dx_job_awaits_hook(job)) {
    manager_drop(manager, managed);
    return true;
  }
  watch_add(&manager->watch, managed->job);
  attend_reset(managed);
  if (dx_engine_add(manager->engine, &managed->drive, managed->job, &err) ==
      DX_OK)
    return true;
  dx_job_log(DX_LOG_ERROR, job, "%s", err.text);
  manager_reload(manager, managed);
  return false;
}

enum dx_code manager_take(struct manager *manager, struct dx_job *job,
                          struct dx_err *err)
{
  bool is_copy = job->is_copy && dx_job_is_undecided(job);
  struct managed *managed = enlist(manager, job, err);

  if (managed == NULL)
    return err->code;
  manager->copies += is_copy;
  attend_picked_up(manager, managed);
  return manager_drive(manager, managed) ? DX_OK : dx_fail_nomem(err);
}

/* ---- receipts ---- */

/* Takes a job in memory from the engine. */
static enum dx_code borrow(struct manager *manager, struct managed *managed,
                           struct dx_err *err)
{
  enum dx_code code = dx_engine_remove(manager->engine, managed->job);

  if (code == DX_OK)
    saved(manager, managed);
  else if (code == DX_E_BUSY)
    (void)dx_fail(err, DX_E_BUSY, 0,
                  "a call to the service is in progress for this job; try "
                  "again in a minute");
  else
    (void)dx_fail(err, code, 0, "%s",
                  dx_line(dx_job_problem(managed->job)->text));
  return code;
}

enum dx_code manager_borrow(struct manager *manager, const char *key,
                            struct managed **ret_managed, struct dx_err *err)
{
  struct managed *managed = manager_find(manager, key);
  struct dx_job *job = NULL;
  enum dx_code code;

  *ret_managed = managed;
  if (managed != NULL)
    return borrow(manager, managed, err);
  code = dx_spool_load(manager->spool, key, &job, err);
  if (code != DX_OK)
    return code;
  managed = manager_find(manager, job->key); /* the key may be an alias */
  if (managed != NULL) {
    dx_job_free(&job);
    *ret_managed = managed;
    return borrow(manager, managed, err);
  }
  *ret_managed = enlist(manager, job, err);
  return *ret_managed != NULL ? DX_OK : err->code;
}

/* Merges a receipt into the job of the same print job. If the documents differ
 * from those that were sent, the job is not changed. After a local failure,
 * both are loaded again, and the merge is repeated before the job continues. */
static enum dx_code merge(struct manager *manager, struct dx_job **receipt,
                          struct dx_err *err)
{
  struct managed *managed;
  enum dx_code code = manager_borrow(manager, (*receipt)->key, &managed, err);

  if (code != DX_OK)
    return code;
  code = dx_job_merge(manager->spool, managed->job, receipt, err);
  if (code == DX_OK && !name_all(manager, managed)) {
    load_later(manager); /* it is merged, and loaded again */
    code = dx_fail_nomem(err);
  }
  if (code == DX_OK) {
    cupsd_forget(&managed->question); /* it may be about another print job */
    managed->is_new = !dx_job_is_final(managed->job);
    attend_picked_up(manager, managed);
  }
  if (code != DX_OK && code != DX_E_CHANGED) {
    manager_drop(manager, managed);
    dx_job_free(receipt);
  } else {
    (void)manager_drive(manager, managed);
  }
  return code;
}

/* True if the backend of another print job, which was the same one, attends the
 * job. The receipt waits: if it were merged, both backends would take the job
 * from each other. */
static bool is_attended(struct manager *manager, const struct dx_job *receipt)
{
  const struct managed *managed = manager_find(manager, receipt->key);

  return managed != NULL && managed->attendant != NULL &&
         strcmp(managed->job->print.key, receipt->print.key) != 0;
}

enum dx_code manager_pick_up(struct manager *manager, const char *name,
                             struct dx_err *err)
{
  struct dx_job *receipt = NULL;
  bool is_refused;
  int64_t again_ms;
  struct dx_err why;
  enum dx_code code = dx_spool_load(manager->spool, name, &receipt, err);

  if (code == DX_E_NOT_FOUND)
    return code;
  if (code == DX_OK)
    code = dx_spool_pick_up(manager->spool, receipt, err);
  if (code == DX_OK) {
    dx_job_log(DX_LOG_DEBUG, receipt, "received");
    /* NOLINTNEXTLINE(*-unix.Malloc) */
    return manager_take(manager, receipt, err);
  }
  if (code == DX_E_EXISTS && is_attended(manager, receipt)) {
    dx_job_free(&receipt);
    return dx_fail(err, DX_E_BUSY, 0, "its first print job is in progress");
  }
  if (code == DX_E_EXISTS)
    code = merge(manager, &receipt, err);
  if (code == DX_OK) /* NOLINTNEXTLINE(*-unix.Malloc): the merge took it */
    return DX_OK;
  if (code == DX_E_DAMAGED && receipt != NULL) {
    /* A job that cannot be read may have been sent: only the administrator can
     * decide to send it again. */
    manager_damaged(manager, receipt->key);
    why = *err;
    code = dx_fail(err, DX_E_JOB, 0,
                   "%s, and its documents may have been sent already; to send "
                   "them again, run 'docextract cancel %s', then release the "
                   "print job",
                   why.text, receipt->key);
  }
  is_refused = receipt != NULL && dx_class_of(code) != DX_CL_LOCAL;
  if (code != DX_E_BUSY) {
    dx_log(DX_LOG_ERROR, "job %.32s: %s: %s", name, dx_code_name(err->code),
           err->text);
    attend_refused(manager, name, is_refused, err);
  }
  if (is_refused) { /* the next run of the print job creates another one */
    dx_spool_discard(manager->spool, &receipt);
  } else {
    again_ms =
        dx_monotonic_ms() + (code == DX_E_BUSY ? BUSY_MS : DX_LOCAL_RETRY_MS);
    if (again_ms < manager->receipts_ms)
      manager->receipts_ms = again_ms;
  }
  dx_job_free(&receipt);
  return code;
}

void manager_pick_up_all(struct manager *manager, const char *others_of)
{
  int64_t until = dx_monotonic_ms() + DX_TURN_MS;
  struct dx_err err;
  char *names = dx_spool_names(manager->spool, DX_SPOOL_RECEIVED, &err);
  enum dx_code code = names != NULL ? DX_OK : DX_E_NOMEM;
  const char *name;

  for (name = names; code != DX_E_NOMEM && *name != '\0';
       name = dx_next_name(name)) {
    if (others_of != NULL &&
        (!dx_is_receipt_of(name, others_of) || strcmp(name, others_of) == 0))
      continue;
    code = manager_pick_up(manager, name, &err);
    if (others_of == NULL && code == DX_OK && dx_monotonic_ms() >= until) {
      manager->receipts_ms = 0;
      break;
    }
  }
  if (code == DX_E_NOMEM)
    dx_log(DX_LOG_ERROR, "%s: %s", dx_code_name(err.code), err.text);
  free(names);
}

/* One that cannot be read is left to the administrator: `docextract jobs` lists
 * it. */
static enum dx_code load_job(struct manager *manager, const char *key,
                             struct dx_err *err)
{
  struct dx_job *job = NULL;
  enum dx_code code = dx_spool_load(manager->spool, key, &job, err);

  if (code == DX_OK) {
    if (manager->has_leftovers)
      dx_temp_sweep(job->dirfd, 0);
    code = manager_take(manager, job, err);
  } else if (code == DX_E_DAMAGED) {
    manager_damaged(manager, key);
  }
  if (code != DX_OK && code != DX_E_DAMAGED)
    dx_log(DX_LOG_ERROR, "job %s: %s: %s", key, dx_code_name(err->code),
           err->text);
  return code;
}

/* Begins to load the jobs that are not in memory. */
static enum dx_code begin_loading(struct manager *manager, struct dx_err *err)
{
  manager->load_keys = dx_spool_names(manager->spool, DX_SPOOL_JOBS, err);
  manager->load_at = manager->load_keys;
  if (manager->load_keys == NULL)
    return err->code;
  manager->load_ms = INT64_MAX;
  return DX_OK;
}

/* One line, because all jobs of a spool may be copies. */
static void warn_of_copies(struct manager *manager)
{
  if (manager->copies > 0)
    dx_log(DX_LOG_WARNING,
           "%zu job%s restored from a backup, or copied, and may have been "
           "sent since; nothing more is sent until a decision is made; to list "
           "them: docextract jobs --state undecided; to send them: docextract "
           "retry --all --state undecided; to cancel them: docextract cancel "
           "--all --state undecided",
           manager->copies, manager->copies == 1 ? " was" : "s were");
  manager->copies = 0;
}

static void end_loading(struct manager *manager)
{
  free(manager->load_keys);
  manager->load_keys = NULL;
}

/* Loads for one turn. The receipt of a job comes first: it may say that the job
 * is not wanted any more. */
static void load_some(struct manager *manager)
{
  int64_t until = dx_monotonic_ms() + DX_TURN_MS;
  bool has_receipts = dx_spool_has_receipts(manager->spool);
  enum dx_code code = DX_OK;
  char name[DX_RECEIPT_BYTES];
  struct dx_err err;
  const char *key;

  while (*manager->load_at != '\0' && code != DX_E_NOMEM &&
         dx_monotonic_ms() < until) {
    key = manager->load_at;
    manager->load_at = dx_next_name(key);
    if (manager_find(manager, key) != NULL)
      continue;
    if (has_receipts && dx_spool_has_receipt(manager->spool, key, name))
      load_later(manager); /* unless it is picked up before */
    else
      code = load_job(manager, key, &err);
    if (code != DX_OK && code != DX_E_DAMAGED && code != DX_E_NOT_FOUND)
      load_later(manager);
  }
  manager->tallies.is_complete |= *manager->load_at == '\0';
  if (code == DX_E_NOMEM || *manager->load_at == '\0') {
    end_loading(manager);
    warn_of_copies(manager);
  }
}

/* Queries cupsd, only when a query is due, or was answered. */
static int64_t ask_about_watched(struct manager *manager)
{
  int64_t due;

  if (dx_monotonic_ms() >= manager->watch_ms ||
      manager->answers != manager->cupsd.answers) {
    manager->answers = manager->cupsd.answers;
    manager->watch_ms = INT64_MAX;
    due = permit_turn(manager);
    if (due < manager->watch_ms) /* another one may be due since then */
      manager->watch_ms = due;
  }
  return manager->watch_ms;
}

int64_t manager_turn(struct manager *manager)
{
  int64_t now = dx_monotonic_ms(), next, due;
  struct dx_err err;

  if (now >= manager->receipts_ms) { /* some backends were killed */
    manager->receipts_ms = now + DX_RECEIPTS_LOOK_MS;
    manager_pick_up_all(manager, NULL);
  }
  if (!manager_is_loading(manager) && now >= manager->load_ms &&
      begin_loading(manager, &err) != DX_OK) {
    dx_log(DX_LOG_ERROR, "%s: %s", dx_code_name(err.code), err.text);
    load_later(manager);
  }
  if (manager_is_loading(manager))
    load_some(manager);
  next = manager_is_loading(manager)               ? now
         : manager->receipts_ms < manager->load_ms ? manager->receipts_ms
                                                   : manager->load_ms;
  due = ask_about_watched(manager);
  next = due < next ? due : next;
  due = watch_turn(&manager->watch);
  next = due < next ? due : next;
  due = attend_turn(manager);
  next = due < next ? due : next;
  due = turn_engine(manager);
  return due < next ? due : next;
}

void manager_expire(void *ctx, struct dx_job *job)
{
  struct manager *manager = ctx;
  struct managed *managed = manager_find(manager, job->key);
  char key[DX_KEY_BYTES]; /* the job may be freed */
  struct dx_err err;

  if (managed != NULL && managed->attendant != NULL)
    return;
  memcpy(key, job->key, sizeof(key));
  dx_job_log(DX_LOG_WARNING, job,
             "expired, its documents are removed; it was not finished "
             "within KeepUnfinished");
  dx_job_end(job, DX_EV_EXPIRE);
  dx_engine_wake(job);
  if (managed == NULL && manager_take(manager, job, &err) != DX_OK)
    dx_log(DX_LOG_ERROR, "job %s: %s: %s", key, dx_code_name(err.code),
           err.text);
  else if (managed != NULL && job->ended &&
           dx_engine_remove(manager->engine, job) == DX_OK)
    (void)manager_drive(manager, managed);
}

/* permit.c asks only about the current print job of a job in progress. */
static bool on_canceled(void *ctx, const char *key)
{
  struct manager *manager = ctx;
  struct managed *managed = manager_find(manager, key);
  struct dx_err err;
  enum dx_code code;

  if (managed != NULL && !managed->job->ended) {
    (void)dx_job_cancel_other_print(managed->job, key);
    dx_engine_wake(managed->job);
    return true;
  }
  code = manager_borrow(manager, key, &managed, &err);
  if (code != DX_OK)
    return code == DX_E_NOT_FOUND || code == DX_E_DAMAGED;
  if (!dx_job_is_finished(managed->job)) {
    if (strcmp(managed->job->print.key, key) == 0)
      permit_learn(managed, DX_ANSWER_CANCELED);
    else if (dx_job_cancel_other_print(managed->job, key))
      code = dx_job_save(managed->job, &err);
    if (code != DX_OK)
      dx_job_log(DX_LOG_WARNING, managed->job, "%s", err.text);
  }
  (void)manager_drive(manager, managed);
  return code == DX_OK;
}

/* ---- start, stop ---- */

enum dx_code manager_start(struct manager *manager, struct dx_config *config,
                           struct dx_err *err)
{
  manager->config = config;
  manager->engine =
      dx_engine_new(config, manager->spool, manager->http, manager->stop_fd);
  cupsd_start(&manager->cupsd, manager->http, config);
  watch_start(&manager->watch, &manager->cupsd, manager->spool, on_canceled,
              manager);
  if (manager->engine == NULL)
    return dx_fail_nomem(err);
  manager_pick_up_all(manager, NULL); /* completes an interrupted merge first */
  return begin_loading(manager, err);
}

void manager_stop(struct manager *manager)
{
  struct managed *managed, *next;

  cupsd_stop(&manager->cupsd); /* before jobs are dropped: it asks nothing */
  dx_engine_free(&manager->engine);
  for (managed = LIST_FIRST(&manager->jobs); managed != NULL; managed = next) {
    next = LIST_NEXT(managed, link);
    manager_drop(manager, managed);
  }
  end_loading(manager);
  tallies_release(&manager->tallies);
  watch_stop(&manager->watch);
  dx_config_free(&manager->config);
}
