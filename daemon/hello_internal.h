/*
 * hello_internal.h - what the two processes of a `hello` tell each other, one
 * packet at a time.
 */
#ifndef DX_DAEMON_HELLO_INTERNAL_H
#define DX_DAEMON_HELLO_INTERNAL_H

#include "daemon/hello.h"

/* From the child. The first two are answered, with an int64_t: the time of the
 * slot (monotonic); 0 once the response has counted. */
struct hello_request {
  enum { HELLO_ASKS_FOR_SLOT, HELLO_HAS_RESPONSE, HELLO_IS_DONE } kind;
  enum dx_code meaning;   /* of the response */
  int64_t retry_after_ms; /* -1: none */
};

/* In the child: takes the steps. fd leads to the parent; when that closes it,
 * nobody wants to know any more. */
void hello_run(const struct dx_config *config, const struct dx_service *service,
               int client_fd, int fd);

#endif
