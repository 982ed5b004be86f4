/*
 * status_server.h - the process that serves the status socket: reads requests,
 * asks the spool, sends responses (lib/control/status.h). It only reads.
 *
 * What a client can do is limited by the numbers of lib/base/policy.h: the
 * connections of a user and of all, the time for a request, the time in which
 * it must take some of the response. Responses are made in pieces, one piece
 * for each client in turn, and the next one when the last one was taken.
 */
#ifndef DX_DAEMON_STATUS_SERVER_H
#define DX_DAEMON_STATUS_SERVER_H

/* Serves until parent_fd, a connection to docextractd, is closed at the other
 * end. Does not return otherwise, except when it cannot start. */
void status_serve(int listen_fd, int parent_fd, const char *spool_dir,
                  const char *config_path);

#endif
