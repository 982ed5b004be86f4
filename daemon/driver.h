/*
 * driver.h - the jobs that docextractd drives: which ones it takes, and what
 * becomes of them. The engine decides what a job needs next; signals, the
 * configuration file and the command line are main.c's.
 *
 * It takes jobs that were handed over, and adopts what no other process drives
 * (lib/spool/adopt.h). A job of CUPS's is not locked while it is looked at.
 *
 * Blocking: the disk, and cupsd for a second.
 */
#ifndef DX_DAEMON_DRIVER_H
#define DX_DAEMON_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/config/config.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/announce.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"
#include "daemon/service/http.h"

struct driver {
  struct dx_config *config; /* owned */
  struct dx_spool *spool;   /* borrowed */
  struct dx_http *http;     /* borrowed */
  struct dx_engine *engine;
  struct dx_announcer *announcer;
  struct dx_job **jobs; /* driven here */
  size_t count, room;
  int64_t look_ms; /* monotonic: when to look through jobs/ */
  bool is_down;    /* an outage was logged, and not yet its end */
};

/* Takes ownership of config, also on failure: E_NOMEM. */
enum dx_code driver_start(struct driver *driver, struct dx_config *config,
                          struct dx_err *err) DX_MUST_USE;
/* Ends all calls at once; the journals say how far the jobs got. */
void driver_stop(struct driver *driver);

/* Continues with another configuration, whose ownership it takes; on E_NOMEM
 * the old one stays in effect. */
enum dx_code driver_reload(struct driver *driver, struct dx_config *config,
                           struct dx_err *err) DX_MUST_USE;

/* Something happened to the directory of that name below jobs/: takes the job
 * if it is ours, cancels it if that was requested. ctx: the struct driver. */
void driver_look(void *ctx, const char *key);

/* True for a job that is driven here. ctx: the struct driver. */
bool driver_holds(void *ctx, const char *key);

/* Looks at all jobs when that is due. */
void driver_look_through(struct driver *driver);

/* Runs OnResult for what has ended. Returns when to call it again (monotonic),
 * earlier if dx_announcer_fd() can be read. */
int64_t driver_announce(struct driver *driver);

#endif
