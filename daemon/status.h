/*
 * status.h - the status socket: starts the process that serves it, and restarts
 * it when it has exited. The server reads requests, looks them up in the spool,
 * and sends responses (lib/control/status.h); it changes nothing. Only what is
 * counted of the jobs is asked of docextractd.
 *
 * Each client is limited: the number of connections per user and in total, the
 * time to send a request, and the time between two reads of a response.
 *
 * Blocking: during bind() and fork(). Errors: none; without the socket
 * everything else works, and the log reports the failure once.
 */
#ifndef DX_DAEMON_STATUS_H
#define DX_DAEMON_STATUS_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/config/config.h"
#include "lib/spool/job.h"

struct status {
  const struct dx_config *config; /* borrowed */
  const char *log_option;         /* of docextractd, for the server; or NULL */
  struct stat st;                 /* of the socket */
  int listen_fd;                  /* -1: no socket */
  int fd;           /* readable when the server has exited; -1: not running */
  pid_t pid;        /* of the server */
  int64_t start_ms; /* monotonic: not restarted earlier */
};
#define STATUS_NONE           \
  {                           \
    .listen_fd = -1, .fd = -1 \
  }

/* Called as root: creates the built-in directory of the socket for the user
 * that docextractd becomes, unless systemd has created it. */
void status_make_dir(void);

/*
 * The server, in a process of its own: `docextractd STATUS_OPTION SPOOLDIR -c
 * FILE [LOG_OPTION]`, which only status_check() runs, with the listening socket
 * as stdin and a connection to docextractd as stdout. It is not a copy of
 * docextractd, so it never has a token in its memory. Exits when docextractd
 * has exited.
 */
#define STATUS_OPTION "--status-server"
_Noreturn void status_main(const char *spool_dir, const char *config_path);

/* Creates the socket, replacing one that was left behind. The configuration
 * and the option must live until status_stop(). */
void status_start(struct status *status, const struct dx_config *config,
                  const char *log_option);

/* Call it after the journal was written: tells the server if the job has ended
 * since it was loaded, or since the last call. */
void status_tell(struct status *status, struct dx_job *job);

/* Starts the server if it does not run, at most every few seconds. Returns a
 * descriptor of a client that asks what is counted: the caller passes it to
 * tallies_send(), and closes it. -1: none asks. */
int status_check(struct status *status);

/* Ends the server and removes the socket. */
void status_stop(struct status *status);

#endif
