/*
 * control.h - the server of the control socket (lib/control/channel.h): who is
 * connected, and lines in and out. What they mean is its owner's.
 *
 * Calling sequence: new, with SpoolDir/docextractd.lock held; control_turn()
 * whenever control_fd() can be read; free while the lock is still held.
 *
 * A client must be root or the spool's owner, sends its first line within
 * DX_CHANNEL_FIRST_MS, and reads: at DX_CHANNEL_BACKLOG_BYTES behind it is
 * closed. A line that a client may not send is answered with `error`, and ends
 * its connection.
 *
 * Ownership: a client is the control's, and lives until `closed` returns.
 * Blocking: never.
 */
#ifndef DX_DAEMON_CONTROL_H
#define DX_DAEMON_CONTROL_H

#include <stddef.h>

#include "lib/control/channel.h"

struct dx_spool;
struct control;
struct client;

/* Called by control_turn() alone, `closed` by control_free(), too. */
struct control_ops {
  /* A verb of DX_CLIENT_VERBS, only valid during the call. */
  void (*message)(void *ctx, struct client *client,
                  const struct dx_message *message);
  /* The last that is heard of a client, whichever side ended the connection,
   * also one that sent nothing: what client_data() points to is to be freed
   * here. */
  void (*closed)(void *ctx, struct client *client);
  void *ctx;
};

/* Removes what a docextractd that was killed has left, and listens. The spool
 * is borrowed. */
struct control *control_new(const struct dx_spool *spool,
                            enum dx_started started,
                            const struct control_ops *ops, struct dx_err *err);
/* Removes the socket and closes all connections; clients get what is sent
 * already. */
void control_free(struct control **control);

/* One descriptor (epoll) for everything, timeouts included. */
int control_fd(const struct control *control);
void control_turn(struct control *control);

/* As dx_channel_send(); a client that is closing or gone gets nothing. May be
 * called at any time, and calls nothing back. */
void control_send(struct client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* No message of the client comes any more; it is closed when it has read what
 * was sent, by a later control_turn(). */
void client_close(struct client *client);

/* Where the owner keeps what it knows of the client; NULL at first. */
void **client_data(struct client *client);

/* For a child process that sends the client its lines (dx_channel_drain()),
 * after this has sent its own. */
int client_descriptor(struct client *client);

/* How many are connected. */
size_t control_clients(const struct control *control);

#endif
