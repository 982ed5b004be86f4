/*
 * watch.h - being told at once: of jobs that were handed over or shall be
 * canceled, and of a changed configuration (inotify(7)).
 *
 * A job that comes into being is a directory moved into jobs/; whoever hands
 * one over, or asks to cancel it, touches its directory (lib/job/spool.h).
 * Events can be lost; who uses this looks through everything now and then.
 *
 * Blocking: never.
 */
#ifndef DX_DAEMON_WATCH_H
#define DX_DAEMON_WATCH_H

#include <stdbool.h>

#include "lib/base/err.h"

struct watch {
  int fd; /* readable when there is something; -1: nothing is watched */
  int jobs, config;
  const char *config_name; /* borrowed */
};

struct watch_events {
  void (*job)(void *ctx, const char *key);
  void *ctx;
  bool config_changed;
  bool lost; /* look through everything */
};

/* E_IO with a message: go on without, by looking. The paths are borrowed. */
enum dx_code watch_start(struct watch *watch, const char *spool_dir,
                         const char *config_path,
                         struct dx_err *err) DX_MUST_USE;
void watch_stop(struct watch *watch);

/* Reads what has come; calls events->job for every directory, sets the rest. */
void watch_read(struct watch *watch, struct watch_events *events);

#endif
