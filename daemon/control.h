/*
 * control.h - the server of the control socket (lib/control/channel.h): accepts
 * clients, receives and sends lines. The caller interprets them.
 *
 * Calling sequence: new, with SpoolDir/docextractd.lock held; control_turn()
 * whenever control_fd() can be read, and every second, for timeouts; free while
 * the lock is still held.
 *
 * Only root and the owner of the spool may connect. A client must send its
 * first line within DX_CHANNEL_FIRST_MS. No limit of time ends a client that
 * has sent a line that was not read yet. A client that is
 * DX_CHANNEL_BACKLOG_BYTES behind in reading is disconnected. A line that a
 * client may not send is answered with `error`, and ends its connection.
 *
 * Ownership: a client belongs to the control, and lives until `closed` returns.
 * Blocking: never.
 */
#ifndef DX_DAEMON_CONTROL_H
#define DX_DAEMON_CONTROL_H

#include <stddef.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "lib/control/channel.h"
#include "lib/spool/permission.h"

struct dx_spool;
struct control;
struct managed;
struct manager;

struct client {
  /* of manager.h; zeros until its first verb */
  struct manager *manager;
  LIST_ENTRY(client) link; /* of manager->clients */
  struct managed *managed; /* the job that it attends; NULL: none (yet) */
  char key[DX_KEY_BYTES];  /* of the job; "": it attends none */
  char run[DX_RUN_BYTES];
  char left[DX_KEY_BYTES]; /* its job, which it has left; "": none */
  bool is_stopping;        /* it has got SIGTERM: `ended` follows */
  struct managed *waits;   /* the job that it has canceled; NULL: none */
  /* the rest is of control.c */
  struct control *control;
  struct client *next;
  struct dx_channel channel;
  int64_t until_ms;   /* deadline, monotonic; INT64_MAX: none */
  int64_t silence_ms; /* how long it may send no line; 0: no limit */
  bool is_gone;       /* to be removed by this or the next turn */
};

/* Only control_turn() calls these; control_free() also calls `closed`. */
struct control_ops {
  /* A verb of DX_CLIENT_VERBS, only valid during the call. */
  void (*message)(void *ctx, struct client *client,
                  const struct dx_message *message);
  /* The last call for a client, whichever side ended the connection, and even
   * if it sent nothing. */
  void (*closed)(void *ctx, struct client *client);
  void *ctx;
};

/* Creates a socket with this mode, in place of one that a killed process has
 * left, and listens. dirfd and name: as dx_channel_address(). Returns its
 * descriptor; -1 with *err filled. */
int control_listen(int dirfd, const char *name, mode_t mode,
                   struct dx_err *err);

/* The spool is borrowed. */
struct control *control_new(const struct dx_spool *spool,
                            const struct control_ops *ops, struct dx_err *err);
/* Removes the socket and closes all connections; lines that were already sent
 * still reach the clients. */
void control_free(struct control **control);

/* True if there was a socket already: the last process was killed. */
bool control_was_left(const struct control *control);

/* One descriptor (epoll) for the socket and all clients. */
int control_fd(const struct control *control);
void control_turn(struct control *control);

/* True if a client has connected that control_turn() has not accepted yet. */
bool control_has_new_client(const struct control *control);

/* Like dx_channel_send(). Sends nothing to a client that is gone. May be called
 * at any time, and calls nothing back. */
void control_send(struct client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* From now on, disconnects the client if it sends no line for this long. */
void control_limit_silence(struct client *client, int64_t ms);

/* Delivers no more messages of the client, and disconnects it. It receives the
 * lines that its socket has accepted; if it was behind, it lacks the last ones,
 * and connects again. */
void client_close(struct client *client);

#endif
