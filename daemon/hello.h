/*
 * hello.h - `docextract hello`, as far as docextractd does it: the steps that a
 * job takes from the spool to the service, one after the other, in the process,
 * network and protection that do the work. What needs the rights of the caller
 * is the command's business.
 *
 * Each runs in a child process, because disks and a TokenCommand block.
 * The child writes to the client's descriptor: `line TEXT` for each step that
 * was taken ("ok" or "FAILED", its name, and what was found), for the greeting,
 * and for what will go wrong later ("warning: ..."); `warn TEXT` while it waits
 * for something; then `done` or `error CODE TEXT`. It ends by itself when the
 * steps do, each of which has its own limit; writes to no job; and makes one
 * call, for which it asks its parent for a slot of the rate limit. What the
 * response says about the limit it tells its parent, too.
 *
 * Calling sequence: hello_start(); hello_turn() whenever `fd` can be read,
 * until it returns false; hello_end(). When the client has closed its
 * connection: hello_stop(), and go on with hello_turn().
 *
 * Ownership: what hello_start() gets is borrowed, and the child has copies.
 * Until the end no other process may write to the client's descriptor.
 * Blocking: never.
 */
#ifndef DX_DAEMON_HELLO_H
#define DX_DAEMON_HELLO_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/service/rate_limit.h"
#include "lib/config/config.h"

struct hello {
  pid_t pid;
  int fd; /* for hello_turn(): readable when the child wants something */
  bool has_ended; /* the child: it needs no signal */
  char *service;  /* its name, which outlives the configuration */
};

/* name: of the section. NULL: *err says why. */
struct hello *hello_start(const struct dx_config *config, const char *name,
                          int client_fd, struct dx_err *err);

/* limit: that of its service; NULL if it is no longer configured, which stops
 * the child. False once the child has ended. */
bool hello_turn(struct hello *hello, struct dx_rate_limit *limit);

/* Asks the child to end. */
void hello_stop(struct hello *hello);

/* Stops the child, if it still runs; sets *hello to NULL, takes NULL. False if
 * it told the client neither `done` nor `error`. */
bool hello_end(struct hello **hello);

#endif
