/*
 * status.h - the status socket, as docextractd's main process sees it: a
 * process that serves it (status_server.h), started here and started again when
 * it ends.
 *
 * Blocking: for as long as bind() and fork() take. Errors: none; without the
 * socket everything else works, and the log says once what is missing.
 */
#ifndef DX_DAEMON_STATUS_H
#define DX_DAEMON_STATUS_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

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

/* Makes the socket in place of one that nobody serves any more, and starts the
 * server. The strings but `path` must live until status_stop(). */
void status_start(struct status *status, const char *path,
                  const char *spool_dir, const char *config_path);

/* Starts the server again if it has ended, a while after its last start. */
void status_check(struct status *status);

/* Ends the server and removes the socket. */
void status_stop(struct status *status);

#endif
