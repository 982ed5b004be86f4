/*
 * files.h - notices changes of docextract.conf and of the files that it names,
 * so that after a correction everything continues by itself.
 *
 * The files are looked at every DX_FILES_LOOK_MS, and when a client connects:
 * inotify does not notice changes of what a link leads to, of directories
 * above, or on a file server. Times, owner, mode, and identity count, and why a
 * file cannot be found.
 *
 * Ownership: the caller owns struct files; begin with {0}, and end with
 * files_release(). Blocking: the file system. Errors: none; when out of memory,
 * a change may be reported too often.
 */
#ifndef DX_DAEMON_FILES_H
#define DX_DAEMON_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/config/config.h"

struct files {
  const char *path;     /* of docextract.conf; borrowed */
  int64_t due_ms;       /* monotonic: when to look again; 0: at once */
  struct dx_buf config; /* what was seen of docextract.conf */
  struct dx_buf named;  /* of the files that it names */
  struct dx_buf tokens; /* of files that are read for each call (TokenFile) */
};

/* What has changed since the last look. */
struct files_changes {
  bool config, named, tokens;
};

/* Looks at docextract.conf, without reporting a change. Call this before the
 * file is read: what changes later is noticed. */
void files_begin(struct files *files, const char *path);

/* Looks at the files that a new configuration names, without reporting a
 * change. */
void files_follow(struct files *files, const struct dx_config *config);

/* Looks at all files; false if that is not due yet. config: the one that was
 * followed last; NULL: none is in use, and only docextract.conf is looked at.
 */
bool files_look(struct files *files, const struct dx_config *config,
                struct files_changes *ret_changes);

void files_release(struct files *files);

#endif
