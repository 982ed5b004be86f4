/*
 * driver.h - the jobs that docextractd drives: which ones it takes, and
 * what becomes of them. What a job needs next is the engine's; signals, the
 * configuration file and the command line are main.c's.
 *
 * It takes jobs whose record says that they were handed over, and no others:
 * a job of CUPS's is never locked, not even for a look.
 *
 * Blocking: the disk.
 */
#ifndef DX_DRIVER_H
#define DX_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/config/config.h"
#include "lib/engine/engine.h"
#include "lib/job/job.h"
#include "lib/job/spool.h"
#include "lib/service/http.h"

struct driver {
  struct dx_config *config; /* owned */
  struct dx_spool *spool;   /* borrowed */
  struct dx_http *http;     /* borrowed */
  struct dx_engine *engine;
  struct dx_job **jobs; /* that are driven here */
  size_t count, room;
  int64_t look_ms; /* monotonic: look through jobs/ then */
  bool is_down;    /* said so, and not yet that it is over */
};

/* Takes the config, also when it fails: E_NOMEM. */
enum dx_code driver_start(struct driver *driver, struct dx_config *config,
                          struct dx_err *err) DX_MUST_USE;
/* Ends all calls at once; records are as far as they got. */
void driver_stop(struct driver *driver);

/* Goes on with another configuration, which is taken; the old one stays if
 * that cannot be: E_NOMEM. */
enum dx_code driver_reload(struct driver *driver, struct dx_config *config,
                           struct dx_err *err) DX_MUST_USE;

/* Something happened to the directory of that name below jobs/: takes the job
 * if it is ours, cancels it if that is asked for. ctx: the struct driver. */
void driver_look(void *ctx, const char *key);

/* Looks at all of them, if it is time to; soon again when a job of ours was
 * locked. */
void driver_look_through(struct driver *driver);

#endif
