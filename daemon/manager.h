/*
 * manager.h - the jobs that docextractd processes, from the receipt to the
 * results; no other process changes them (doc/architecture.md, "One process for
 * all jobs").
 *
 *     verbs.c      the messages of clients
 *     manager.c    receipts, the list of jobs, and what passes to the engine
 *     permit.c     whether a document may be sent
 *     attend.c     what clients are told
 *     listed.c     the jobs about which cupsd may be asked
 *     tallies.h    what is counted of the jobs
 *
 * Each of these files calls only those below it. The engine calls none of them;
 * watch.c and the sweep call back only manager.c.
 *
 * Ownership: main.c owns struct manager; only these files change it. Blocking:
 * the disk.
 */
#ifndef DX_DAEMON_MANAGER_H
#define DX_DAEMON_MANAGER_H

#include <bsd/sys/tree.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/control.h"
#include "daemon/cupsd.h"
#include "daemon/engine/engine.h"
#include "daemon/service/http.h"
#include "daemon/status.h"
#include "daemon/tallies.h"
#include "daemon/watch.h"
#include "lib/config/config.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"

/* The one structure of a job that is not over, or whose OnResult is pending:
 * its journal, and all that this process knows about it. */
struct managed {
  struct dx_drive drive; /* first: managed_of() */
  LIST_ENTRY(managed) link;
  RB_ENTRY(managed) node;      /* in manager->by_own_key */
  LIST_ENTRY(managed) watched; /* in this list of the manager */
  struct manager *manager;
  SLIST_HEAD(, named) names; /* its other keys, in manager->by_key */
  struct dx_job *job;
  struct client *attendant; /* NULL: none attends */
  bool is_new;              /* this run sends something */
  bool has_told; /* the attendant is told of a problem of this kind */
  enum dx_note_kind told;
  /* permit.c; times are monotonic, 0: none */
  bool waits;                /* the last answer permits nothing */
  bool in_watched;           /* listed.c: it is in this list */
  struct question *question; /* to cupsd; NULL: none */
  int64_t asked_ms;          /* answers of cupsd must be at least this new */
  struct counted counted;    /* tallies.h */
  int64_t watch_ms; /* when to ask cupsd for the state of the print job again */
  int64_t watch_gap_ms;
};

/* The structure of a job that is managed. */
static inline struct managed *managed_of(const struct dx_job *job)
{
  return (struct managed *)job->drive;
}

/* Nothing is sent until the engine has asked for a permission again. */
static inline void managed_withdraw(struct managed *managed)
{
  managed->drive.permit = (struct dx_permit){.stands = false};
}

struct manager {
  struct dx_config *config; /* owned */
  struct dx_spool *spool;   /* borrowed, like http */
  struct dx_http *http;
  int stop_fd;           /* borrowed; readable when docextractd is to stop */
  struct status *status; /* borrowed */
  struct dx_engine *engine;
  struct cupsd cupsd;
  struct watch watch;
  LIST_HEAD(, client) clients; /* that have sent a verb */
  LIST_HEAD(, managed) jobs;
  LIST_HEAD(, managed) watched; /* about which cupsd may be asked */
  int64_t watch_ms;             /* when to look at them again */
  uint64_t answers;             /* of cupsd, when they were looked at last */
  RB_HEAD(managed_jobs, managed) by_own_key; /* the same jobs */
  void *by_key; /* by the other keys of their print jobs: tsearch(3) */
  struct tallies tallies;
  int64_t receipts_ms; /* when to scan received/ again */
  int64_t load_ms;     /* when to load jobs that are not in memory */
  char *load_keys;     /* while that is in progress; NULL: it is not */
  const char *load_at; /* the next one of them */
  bool has_leftovers;  /* half-written files of a docextractd that was killed */
  size_t copies;       /* undecided copies found since the last warning */
  int64_t alive_ms;    /* when to send `alive` again */
};

/* ---- manager.c ---- */

/* Jobs are loaded in the turns that follow, and until then, only those that
 * clients attend are sent. Takes ownership of config, also on failure. */
enum dx_code manager_start(struct manager *manager, struct dx_config *config,
                           struct dx_err *err) DX_MUST_USE;
/* Cancels all calls immediately; the journals contain the progress. */
void manager_stop(struct manager *manager);

/* Performs all due work. Returns when to call it again, monotonic. */
int64_t manager_turn(struct manager *manager);

/* True while not all jobs of the spool are in memory. */
static inline bool manager_is_loading(const struct manager *manager)
{
  return manager->load_keys != NULL;
}

/* The journal of a job that is not in memory cannot be read. ctx: the struct
 * manager. */
void manager_damaged(void *ctx, const char *key);

/* True if dx_job_needs_admin() is true of any job. */
bool manager_needs_admin(const struct manager *manager);

/* A job that is managed here; else NULL. ctx: the struct manager. */
struct dx_job *manager_job(void *ctx, const char *key);
struct managed *manager_find(struct manager *manager, const char *key);

/*
 * Makes the receipt KEY.RUN a job, or merges it into the existing job.
 * E_NOT_FOUND: there is no such receipt (any more). E_BUSY: manager_turn()
 * tries again. Another code: it was refused, or cannot be used now.
 */
enum dx_code manager_pick_up(struct manager *manager, const char *name,
                             struct dx_err *err) DX_MUST_USE;
/*
 * Picks up all receipts, the oldest first. That syncs directories: on a slow
 * disk, the rest is left to the next turn, so that calls are not delayed.
 * others_of: the name of a receipt; only the others of its job, whose backends
 * were killed. Call this before the receipt of the attending backend is picked
 * up, because the last one counts. NULL: all.
 */
void manager_pick_up_all(struct manager *manager, const char *others_of);

/* Processes a loaded job, and takes ownership of it, also on failure. */
enum dx_code manager_take(struct manager *manager, struct dx_job *job,
                          struct dx_err *err) DX_MUST_USE;

/* Finds a job and removes it from the engine, or loads it, so that the caller
 * can change it and then calls manager_drive() or manager_drop(). E_BUSY while
 * a call of it is in progress. */
enum dx_code manager_borrow(struct manager *manager, const char *key,
                            struct managed **ret_managed,
                            struct dx_err *err) DX_MUST_USE;
/* Removes a job that is not in the engine from the list, and releases it. If
 * its OnResult is pending, it is loaded again a little later. */
void manager_drop(struct manager *manager, struct managed *managed);
/* The same for a job that has changed only in part, in memory: its journal is
 * loaded again a little later. */
void manager_reload(struct manager *manager, struct managed *managed);

/* Passes a job to the engine, or releases it if nothing is left to do. False
 * when out of memory, which is logged: the job is no longer managed, and loaded
 * again a little later. */
bool manager_drive(struct manager *manager, struct managed *managed);

/* Ends a job that was not finished within KeepUnfinished, unless a client
 * attends it; takes it, unless it is managed. ctx: the struct manager. */
void manager_expire(void *ctx, struct dx_job *job);

/* ---- permit.c ---- */

/* A request of the job needs a permission: gives it, or begins to ask cupsd,
 * and gives it when the engine asks again. True if the engine can go on, or
 * must write the journal. */
bool permit_ask(struct manager *manager, struct managed *managed);
/* Queries cupsd about jobs that are due. Returns when the next one is due. */
int64_t permit_turn(struct manager *manager);
/* Applies an answer of cupsd about a job: cancels the job if its print job was
 * canceled; what was sent goes on if that was held. */
void permit_learn(struct managed *managed, enum dx_answer answer);

/* ---- attend.c ---- */

/* The client attends no longer, or not at all: the backend ends with this
 * error, or with the outcome of the job. is_new: this run has sent something.
 */
void attend_refuse(struct client *client, const struct dx_err *err);
void attend_end_with_outcome(struct client *client, const struct dx_job *job,
                             bool is_new);
/* The configuration is invalid: the client waits until it is fixed. */
void attend_tell_wrong(struct client *client, const struct dx_err *err);
/* The failures of the queue; only its next print jobs can report them. */
void attend_send_failures(struct client *client, const char *queue);
/* Whether the client attends this run of the job. */
bool attend_is_of(const struct client *client, const struct dx_job *job);
/* Withdraws the permission after the attendant has changed: cupsd is asked at
 * once. */
void attend_reset(struct managed *managed);
/* The client, if any, no longer attends the job. */
void attend_release(struct managed *managed, enum dx_backend backend);
/* The job has ended, for the client that attends it and those that have
 * canceled it. */
void attend_over(struct manager *manager, struct managed *managed);
/* A receipt was picked up or refused: links the clients that attend it, or
 * sends them the error. */
void attend_picked_up(struct manager *manager, struct managed *managed);
void attend_refused(struct manager *manager, const char *name, bool is_final,
                    const struct dx_err *err);
/* Sends `alive` to all clients that attend, so that they notice if docextractd
 * hangs. Returns when it is due again. */
int64_t attend_turn(struct manager *manager);
/* Tells the client that attends what is wrong with the job, or that this is
 * over; and how far the job is. */
void attend_tell_problem(struct managed *managed);
void attend_tell_progress(struct managed *managed);

/* ---- listed.c ---- */

/* permit_turn() looks at the job, until nothing is to be asked about it. */
void listed_as_watched(struct managed *managed);
void listed_as_unwatched(struct managed *managed);

/* ---- verbs.c ---- */

/* Responds that a verb failed. */
void verbs_refuse(struct client *client, const struct dx_err *err);

/* A verb of a client. */
void verbs_message(struct manager *manager, struct client *client,
                   const struct dx_message *message);
/* The `closed` callback of the control socket. ctx: unused. */
void verbs_closed(void *ctx, struct client *client);

#endif
