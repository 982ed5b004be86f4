/*
 * reach.h - can the service be reached at all? First its name, then a
 * connection. libcurl does both again by itself; here they are separate, so
 * that `docextract hello` can say which one fails. With Proxy, it is the proxy
 * that must be reached.
 *
 * Ownership: struct reach is the caller's; reach_end() frees what is in it.
 * Blocking: as long as the name servers take, and DX_CONNECT_TIMEOUT_MS for
 * each address. Errors: E_NET.
 */
#ifndef DX_DAEMON_REACH_H
#define DX_DAEMON_REACH_H

#include <stdbool.h>

#include "lib/config/config.h"

#define REACH_HOST_BYTES 256
#define REACH_ADDRESS_BYTES 64

struct reach {
  char host[REACH_HOST_BYTES]; /* IPv6 without brackets */
  int port;
  bool proxy;
  struct addrinfo *list;
  char address[REACH_ADDRESS_BYTES]; /* the one that was tried last */
};

/* The host to reach for this service. */
void reach_begin(const struct dx_service *service, struct reach *ret_reach);
void reach_end(struct reach *reach);

enum dx_code reach_resolve(struct reach *reach, struct dx_err *err) DX_MUST_USE;

/* Tries one address after the other and closes the connection again. */
enum dx_code reach_connect(struct reach *reach, struct dx_err *err) DX_MUST_USE;

#endif
