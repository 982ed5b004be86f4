/*
 * status.h - the status socket: a process that serves it, started here and
 * started again when it ends. It reads requests, asks the spool, and sends
 * responses (lib/control/status.h); it only reads.
 *
 * What a client can do is limited by the numbers of lib/base/policy.h: the
 * connections of a user and of all, the time for a request, the time in which
 * it must take some of the response.
 *
 * Blocking: for as long as bind() and fork() take. Errors: none; without the
 * socket everything else works, and the log says once what is missing.
 */
#ifndef DX_DAEMON_STATUS_H
#define DX_DAEMON_STATUS_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/base/policy.h"
#include "lib/spool/job.h"

struct status {
  const char *spool_dir, *config_path; /* borrowed */
  char *path;                          /* of the socket */
  struct stat st;                      /* of the socket */
  int listen_fd;                       /* -1: no socket */
  int fd;           /* readable when the server has ended; -1: none runs */
  pid_t pid;        /* of the server */
  int64_t start_ms; /* monotonic: not started again before */
};
#define STATUS_NONE           \
  {                           \
    .listen_fd = -1, .fd = -1 \
  }

/* As root, before it becomes another user: makes the built-in directory of the
 * socket and gives it to that user, unless systemd has. */
void status_make_dir(void);

/* Makes the socket in place of one that no process serves any more, and starts
 * the server. The strings but `path` must live until status_stop(). */
void status_start(struct status *status, const char *path,
                  const char *spool_dir, const char *config_path);

/* After the journal was written: which submissions have ended since it was
 * loaded, or since the last call. */
void status_tell(struct status *status, struct dx_job *job);

/* Starts the server again if it has ended, a while after its last start. */
void status_check(struct status *status);

/* Ends the server and removes the socket. */
void status_stop(struct status *status);

/* ---- status_server.c: the process that serves it ---- */

/* What docextractd sends, one packet each: which submissions of a job have
 * ended, by index; the journal says so. */
struct status_ends {
  char key[DX_KEY_BYTES];
  bool has_ended[DX_DOCUMENTS_MAX];
};

/* Serves until parent_fd, a connection to docextractd, is closed at the other
 * end. Does not return otherwise, except when it cannot start. */
void status_serve(int listen_fd, int parent_fd, const char *spool_dir,
                  const char *config_path);

#endif
