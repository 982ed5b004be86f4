/*
 * driver.h - the jobs that docextractd drives: it alone moves them, from the
 * receipt to the results (doc/architecture.md, "One driver").
 *
 * driver.c has the list: receipts become jobs, jobs go to the engine, and are
 * let go when they are over. permit.c answers the engine whether a document may
 * be sent; attend.c talks with the backends that attend; verbs.c carries out
 * what the command asks for. Signals, configuration file, and sockets are
 * main.c's.
 *
 * Ownership: struct driver is main.c's; the four files change it, nobody else.
 * Blocking: the disk.
 */
#ifndef DX_DAEMON_DRIVER_H
#define DX_DAEMON_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/control.h"
#include "daemon/cupsd.h"
#include "daemon/engine/announce.h"
#include "daemon/engine/engine.h"
#include "daemon/hello.h"
#include "daemon/service/http.h"
#include "daemon/status.h"
#include "lib/config/config.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"

/* A client of the control socket, from its first verb on. */
struct session {
  struct driver *driver;
  struct client *client;
  struct session *next;
  struct driven *driven;  /* the job that it attends; NULL: none (yet) */
  char key[DX_KEY_BYTES]; /* of the job; "": it attends none */
  char run[DX_RUN_BYTES];
  struct hello *hello;  /* that runs for it; NULL: none */
  struct driven *waits; /* for this job to be canceled; NULL: for none */
};

/* A job that is not over. */
struct driven {
  struct dx_job *job;
  struct session *attendant; /* NULL: nobody attends */
  bool is_new;               /* this run sends something */
  bool is_unsynced; /* its directory may not be durable: not the engine's */
  /* permit.c; times are monotonic, 0: none */
  int64_t may_ms;            /* when the attendant was asked */
  int64_t may_number;        /* of that question */
  bool may_yes;              /* its answer, until it is used */
  struct question *question; /* to cupsd; NULL: none so far */
  int64_t asked_ms;          /* since when an answer of cupsd counts */
  int64_t watch_ms; /* when to ask cupsd for the state of the print job */
  int64_t watch_gap_ms;
};

struct driver {
  struct dx_config *config; /* owned */
  struct dx_spool *spool;   /* borrowed, like http */
  struct dx_http *http;
  struct status *status; /* borrowed */
  struct dx_engine *engine;
  struct dx_announcer *announcer;
  struct cupsd *cupsd;
  struct session *sessions;
  struct driven **jobs;
  size_t count;
  int64_t receipts_ms; /* monotonic: when to look through received/ */
  int64_t load_ms;     /* when to load what is not in memory */
  bool is_down;        /* an outage was logged, and not yet its end */
};

/* ---- driver.c ---- */

/* Takes ownership of config, also on failure. Loads all jobs. E_NOMEM. */
enum dx_code driver_start(struct driver *driver, struct dx_config *config,
                          struct dx_err *err) DX_MUST_USE;
/* Ends all calls at once; the journals say how far the jobs got. */
void driver_stop(struct driver *driver);

/* Continues with another configuration, whose ownership it takes; on E_NOMEM
 * the old one stays in effect. */
enum dx_code driver_reload(struct driver *driver, struct dx_config *config,
                           struct dx_err *err) DX_MUST_USE;

/* Does what is due but the engine does not know of. Returns when to call it
 * again, monotonic. */
int64_t driver_turn(struct driver *driver);

/* Something is under way: docextractd must not end. */
bool driver_is_busy(const struct driver *driver);

/* True for a job that is driven here. ctx: the struct driver. */
bool driver_holds(void *ctx, const char *key);
struct driven *driver_find(struct driver *driver, const char *key);

/*
 * Makes a job of the receipt KEY.RUN, or more of the one there is. E_NOT_FOUND:
 * there is no such receipt (any more). E_BUSY: later, by driver_turn(). Another
 * code: it was refused, or cannot be used now.
 */
enum dx_code driver_pick_up(struct driver *driver, const char *name,
                            struct dx_err *err) DX_MUST_USE;
/* The other receipts of the same job, whose backends were killed: before that
 * of the backend that attends, because the run that is picked up last counts.
 */
void driver_pick_up_others(struct driver *driver, const char *name);

/* Whether a receipt of that job waits, and its name. */
bool driver_has_receipt(struct driver *driver, const char *key,
                        char ret_name[DX_RECEIPT_BYTES]);

/* Drives a job that was loaded, and takes ownership of it, also on failure. */
enum dx_code driver_take(struct driver *driver, struct dx_job *job,
                         struct dx_err *err) DX_MUST_USE;

/* Gives a job to the engine, or lets go of it if it is over. After an error it
 * is no longer driven. */
enum dx_code driver_drive(struct driver *driver, struct driven *driven,
                          struct dx_err *err) DX_MUST_USE;

/* Ends the jobs that nobody has finished within KeepUnfinished. */
void driver_expire(struct driver *driver);

/* Saves a journal outside of the engine's turn; what fails is logged, and the
 * engine tries again. */
bool driver_save(struct driver *driver, struct driven *driven);

/* The journal of a job was written. ctx: the struct driver. */
void driver_saved(void *ctx, struct dx_job *job);

/* ---- permit.c ---- */

/* The observer's may_send. ctx: the struct driver. */
enum dx_permission permit_ask(void *ctx, struct dx_job *job);
/* What cupsd.h calls. */
void permit_answered(void *ctx, const char *key);
/* The attendant's answer to `may`. */
void permit_reply(struct driven *driven, int64_t number, bool yes);
/* Nobody attends any more, or another does: asks cupsd at once. */
void permit_watch(struct driven *driven);
/* Asks about the jobs that are due. Returns when the next one is. */
int64_t permit_turn(struct driver *driver);
/* Takes over an answer of cupsd about a job; cancels it with its print job. */
void permit_learn(struct driver *driver, struct driven *driven,
                  enum dx_answer answer);

/* ---- attend.c ---- */

void attend_begin(struct session *session, const char *key, const char *run);
void attend_leave(struct session *session);
void attend_ended(struct session *session, const char *answer);
void attend_closed(struct session *session);
/* The observer's note, and the end of a job. */
void attend_note(void *ctx, struct dx_job *job, const struct dx_note *note);
void attend_over(struct driven *driven);
/* Tells whoever waits for this receipt what became of it. */
void attend_picked_up(struct driver *driver, struct driven *driven);
void attend_refused(struct driver *driver, const char *name, bool is_final,
                    const struct dx_err *err);
/* Answers an `attend` that cannot be: the backend ends with that outcome. */
void attend_refuse(struct client *client, const struct dx_err *err);

/* ---- verbs.c ---- */

/* Answers a verb: it was not carried out. */
void verbs_refuse(struct client *client, const struct dx_err *err);

/* A verb of a client. */
void verbs_message(struct driver *driver, struct client *client,
                   const struct dx_message *message);
/* What the control socket calls. ctx: unused. */
void verbs_closed(void *ctx, struct client *client);
/* Something may have happened to the children that run `hello`. */
void verbs_turn(struct driver *driver);
/* The job that somebody has canceled is over. */
void verbs_canceled(struct driver *driver, const struct driven *driven);

#endif
