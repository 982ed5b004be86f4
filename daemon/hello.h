/*
 * hello.h - the part of `docextract hello` that docextractd performs: the steps
 * of a job from the spool to the service, one after the other, as the same user
 * and with the same network and restrictions as real jobs. The command performs
 * the steps that need the rights of its caller.
 *
 * Each test runs in a child process, because disks and a TokenCommand block.
 * The child writes to the client's descriptor: `line TEXT` for each step ("ok"
 * or "FAILED", its name, and a result), for the greeting, and for problems that
 * will occur later ("warning: ..."); `slow TEXT` before a wait; then `done` or
 * `error CODE TEXT`. It exits after the last step; each step has its own limit.
 * It writes to no job. It makes one call, for which it requests a slot of the
 * rate limit from its parent; it also passes the rate limit in the response to
 * the parent.
 *
 * Calling sequence: hello_start(); hello_turn() whenever `fd` can be read,
 * until it returns false; hello_end(). When the client has closed its
 * connection: hello_stop(), and continue with hello_turn().
 *
 * Ownership: arguments of hello_start() are borrowed, and the child has copies.
 * No other process may write to the client's descriptor until hello_end().
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
  int fd;         /* for hello_turn(): readable when the child has a request */
  bool has_ended; /* the child has exited: no signal is sent */
  double rate;    /* calls per second */
  char service[]; /* its name; valid after a reload */
};

/* name: of the section. On failure, returns NULL and sets *err. */
struct hello *hello_start(const struct dx_config *config, const char *name,
                          int client_fd, struct dx_err *err);

/* limit: of its service; NULL if the service is no longer configured, which
 * stops the child. Returns false once the child has exited. */
bool hello_turn(struct hello *hello, struct dx_rate_limit *limit);

/* Asks the child to exit. */
void hello_stop(struct hello *hello);

/* Stops the child, if it still runs; sets *hello to NULL, takes NULL. Returns
 * false if the child failed before it sent `done` or `error`. */
bool hello_end(struct hello **hello);

#endif
