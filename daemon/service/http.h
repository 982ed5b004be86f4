/*
 * http.h - one request over HTTP, managed by events; knows no service.
 *
 * This is the seam between meaning and transport: tests link dx_http_start(),
 * dx_http_cancel(), and dx_http_run() to a fake with its own clock. Redirects
 * are never followed, environment proxies and .netrc never used, TLS is 1.2 or
 * newer and always checked.
 *
 * Calling sequence: dx_http_start() any number of requests, then
 * dx_http_run() again and again; every request ends with exactly one call of
 * its `done`, or with dx_http_cancel(). `done` may start new requests.
 *
 * Ownership: everything in a request is copied before start returns, except
 * the method, a literal, and the descriptors: they stay the caller's, and open
 * until the end. A response is valid during `done` only.
 * Blocking: run waits at most timeout_ms; nothing else waits for the network.
 * Source: doc/policy.md, "Timeouts", "Uploads".
 */
#ifndef DX_HTTP_H
#define DX_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "daemon/service/address.h"

struct dx_http_response {
  /* DX_OK: there is a status. Else why there is none that counts: E_NET,
   * E_CERT, E_PROTOCOL, E_RESPONSE (over a limit), what the sink returned,
   * E_NOMEM, E_NOT_SENT (`ready` gave it up). */
  enum dx_code code;
  struct dx_err err; /* filled when code is not DX_OK */
  int status;        /* 0: none, or not one of HTTP */
  const char *body;  /* NUL-terminated; "" when it went to the sink */
  size_t body_len;
  int64_t date_ms;        /* of the Date header, wall clock; -1 if none */
  int64_t retry_after_ms; /* 0 to 1 h; -1 if none */
  int64_t sent_bytes;     /* of the request's body */
  bool was_sent;          /* the service may have seen the request */
  bool was_resolved;      /* the name, of the proxy if there is one */
  bool was_connected;     /* once resolved; a timeout of TLS counts as no */
  char address[64];       /* that was connected to; "": not known */
  int port;
};

typedef void dx_http_done(void *ctx, const struct dx_http_response *response);
typedef void dx_http_progress(void *ctx, int64_t sent_bytes);

/*
 * Asked when the connection is ready and the request could be sent at once: 0
 * sends it; a positive value holds it back for that many milliseconds; a
 * negative one gives it up, and its response is E_NOT_SENT. Meanwhile no other
 * transfer moves, and a descriptor in `wake` ends the wait and the request: for
 * short waits only.
 */
typedef int64_t dx_http_ready(void *ctx);

/* Takes the next piece of a body. Anything but DX_OK ends the request with that
 * code and *err. */
typedef enum dx_code dx_http_sink(void *ctx, const char *bytes, size_t len,
                                  struct dx_err *err);

struct dx_http_request {
  const char *method; /* "GET", "POST", "PUT" */
  const char *url;
  const char *unix_socket;  /* the path of one to connect to; NULL: TCP */
  const char *bearer;       /* token; NULL: no Authorization */
  const char *content_type; /* NULL: none */
  const char *body;         /* bytes in memory, or */
  size_t body_len;
  int body_fd; /* a file of body_bytes bytes; -1: memory */
  int64_t body_bytes;
  int64_t timeout_ms;  /* in all; 0: only stalls count */
  const char *ca_file; /* NULL: the system's */
  const char *proxy;   /* NULL: none, whatever the environment says; http://
                          never goes through it */
  enum dx_scope scope; /* the widest of an address to connect to; with a proxy,
                          only the proxy sees it */
  dx_http_done *done;
  dx_http_progress *progress; /* NULL: not wanted */
  dx_http_ready *ready;       /* NULL: always */
  dx_http_sink *sink;         /* where the body of a 200 goes; NULL: memory */
  void *ctx;                  /* for all four */
};

struct dx_http;
struct dx_http_call;

/* NULL when out of memory. */
struct dx_http *dx_http_new(void);

/* Takes NULL, ends what is running without calling any `done`. */
void dx_http_free(struct dx_http **http);

/* Starts a request; *ret_call names it until its end. E_NOMEM, E_ARG. */
enum dx_code dx_http_start(struct dx_http *http,
                           const struct dx_http_request *request,
                           struct dx_http_call **ret_call,
                           struct dx_err *err) DX_MUST_USE;

/* Ends a request at once, without `done`; sets *call to NULL, takes NULL. */
void dx_http_cancel(struct dx_http_call **call);

#define DX_HTTP_WAKE_MAX 32 /* descriptors that one run may wait for */

/*
 * Moves all requests forward, calls `done` of those that ended, and waits at
 * most timeout_ms until there is something to do or one of the wake_count
 * descriptors in `wake` can be read.
 */
enum dx_code dx_http_run(struct dx_http *http, int64_t timeout_ms,
                         const int *wake, size_t wake_count,
                         struct dx_err *err) DX_MUST_USE;

/*
 * Retry-After in milliseconds: decimal or integer seconds, or an HTTP date
 * taken against date_ms (the response's own Date; -1: our clock). Below zero is
 * 0, more than DX_RETRY_AFTER_MAX_MS is that; -1 if it is neither.
 */
int64_t dx_retry_after_ms(const char *value, int64_t date_ms);

/* Its libraries with their versions: "libcurl/7.88.1 OpenSSL/3.0.15 ...". */
const char *dx_http_version(void);

#endif
