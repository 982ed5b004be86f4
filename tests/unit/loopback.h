/*
 * loopback.h - a server on this computer for tests of daemon/service/http.c, in
 * the process of the test: one connection at a time, with or without TLS.
 */
#ifndef DX_LOOPBACK_H
#define DX_LOOPBACK_H

#include "tests/unit/unit.h"

#include <openssl/ssl.h>

/* What the server does when it has read something. */
enum loopback_manner {
  KEEP,  /* responds */
  CLOSE, /* responds, and closes the connection */
  RESET  /* the same, with a reset */
};

struct loopback {
  int listener, peer; /* peer: -1 if not connected */
  char authority[32]; /* 127.0.0.1 and the port */
  SSL_CTX *tls;       /* the certificate and the settings; NULL: without TLS */
  SSL *session;       /* of peer */
};

/* 0; -1 if it failed. */
int loopback_open(struct loopback *server);
void loopback_close(struct loopback *server);
/* From now on, connections are refused. */
void loopback_stop_listening(struct loopback *server);

/* Accepts a connection that waits, reads what has arrived, and responds to it.
 */
void loopback_turn(struct loopback *server, const char *response,
                   enum loopback_manner manner);

/* Makes a certificate for an address that is valid from `from` to `to` days
 * from now, signed by itself, and the settings of a server with it. Also writes
 * it to `path`. */
void loopback_begin_tls(struct loopback *server, const char *name, int from,
                        int to, const char *path);

#endif
