/*
 * watch.h - events (inotify(7)): a job was handed over or is to be canceled, or
 * the configuration changed.
 *
 * A new job is a directory moved into jobs/; handing one over and asking to
 * cancel it touch its directory (lib/spool/spool.h). Events can be lost: the
 * caller also looks through everything now and then.
 *
 * Blocking: never.
 */
#ifndef DX_DAEMON_WATCH_H
#define DX_DAEMON_WATCH_H

#include <stdbool.h>

#include "lib/base/err.h"

struct watch {
  int fd; /* readable when there are events; -1: nothing is watched */
  int jobs, config;
  const char *config_name; /* borrowed */
};

struct watch_events {
  void (*job)(void *ctx, const char *key);
  void *ctx;
  bool config_changed;
  bool lost; /* look through everything */
};

/* E_IO if nothing can be watched: look now and then instead. The paths are
 * borrowed. */
enum dx_code watch_start(struct watch *watch, const char *spool_dir,
                         const char *config_path,
                         struct dx_err *err) DX_MUST_USE;
void watch_stop(struct watch *watch);

/* Reads the pending events; calls events->job for every directory, sets the
 * rest. */
void watch_read(struct watch *watch, struct watch_events *events);

#endif
