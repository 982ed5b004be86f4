/*
 * watch.h - whether the configuration file has changed (inotify(7)). Editors
 * replace a file, so its directory is watched.
 *
 * Blocking: never.
 */
#ifndef DX_DAEMON_WATCH_H
#define DX_DAEMON_WATCH_H

#include <stdbool.h>

#include "lib/base/err.h"

struct watch {
  int fd;           /* readable when something happened; -1: none */
  const char *name; /* borrowed */
};

/* E_IO if nothing can be watched. The path is borrowed. */
enum dx_code watch_start(struct watch *watch, const char *config_path,
                         struct dx_err *err) DX_MUST_USE;
void watch_stop(struct watch *watch);

/* Reads what has happened; true if the file was changed. */
bool watch_read(struct watch *watch);

#endif
