/*
 * http.h - HTTP requests, driven by events; independent of the service.
 *
 * Tests replace dx_http_start(), dx_http_cancel(), and dx_http_run() with a
 * fake that has its own clock. Redirects are not followed. Proxies from the
 * environment and .netrc are not used. TLS is 1.2 or newer, and certificates
 * are always verified. Uploads use HTTP/1.1.
 *
 * Calling sequence: dx_http_start() for any number of requests, then
 * dx_http_run() repeatedly; each request ends with exactly one call of its
 * `done`, or with dx_http_cancel(). `done` may start new requests.
 *
 * Ownership: dx_http_start() copies the strings of a request, except the
 * method, which is a literal. All copies are wiped when they are freed. body_fd
 * belongs to the caller, and must stay open until the request ends. A response
 * is valid only during `done`. Blocking: dx_http_run() waits at most
 * timeout_ms; no other function waits for the network. Source: doc/policy.md,
 * "Timeouts", "Uploads".
 */
#ifndef DX_HTTP_H
#define DX_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "daemon/service/address.h"

#define DX_HTTP_HOST_BYTES 128

struct dx_http_response {
  /* Its code is DX_OK: there is a valid status. Otherwise the reason why not,
   * which names the host or the proxy: E_NET, E_CERT, E_PROXY, E_PROTOCOL,
   * E_URL, E_RESPONSE (over a limit, or not HTTP), the code of the sink or of a
   * failed read, E_NOMEM, E_NOT_SENT (see dx_http_ready). */
  struct dx_err err;
  int status;       /* 0: none, or not valid in HTTP */
  int proxy_status; /* with which the proxy refused to connect; 0: none */
  const char *body; /* NUL-terminated; "" if the sink received it */
  size_t body_len;
  int64_t date_ms;        /* of the Date header, wall clock; -1 if none */
  int64_t retry_after_ms; /* 0 to 1 h; -1 if none */
  int64_t sent_bytes;     /* of the request's body */
  bool was_sent;          /* the service may have received the request */
  bool was_resolved;      /* the host name; with a proxy, its name */
  bool was_connected;     /* if resolved; false if TLS timed out */
  char host[DX_HTTP_HOST_BYTES]; /* of the URL, with its port if it has one */
  char address[64];              /* of the peer; "": not known */
  int port;
};

typedef void dx_http_done(void *ctx, const struct dx_http_response *response);
/* Logs the line about the request that has ended, at debug level. */
typedef void dx_http_log(void *ctx, const char *line);
typedef void dx_http_progress(void *ctx, int64_t sent_bytes);

/* Called when the connection is ready and the request can be sent. False ends
 * the request with E_NOT_SENT. */
typedef bool dx_http_ready(void *ctx);

/* Receives the next piece of a body. Any code but DX_OK ends the request with
 * that code and *err. */
typedef enum dx_code dx_http_sink(void *ctx, const char *bytes, size_t len,
                                  struct dx_err *err);

struct dx_http_request {
  const char *method; /* "GET", "POST", "PUT" */
  const char *url;
  const char *unix_socket;  /* path of a socket to connect to; NULL: TCP */
  const char *bearer;       /* token; NULL: no Authorization */
  const char *content_type; /* NULL: none */
  const char *body;         /* in memory; not used with body_fd */
  size_t body_len;
  int body_fd; /* a file of body_bytes bytes; -1: memory */
  int64_t body_bytes;
  int64_t timeout_ms; /* for all of it; 0: only stalls count */
  int stall_s; /* it ends after this time without data, or of an upload with
                  less than DX_UPLOAD_MIN_BYTES a second; 0: never */
  const char *ca_file; /* NULL: the CAs of the system */
  const char *proxy; /* NULL: none, even if one is in the environment; not used
                        for http:// */
  const char *proxy_login; /* "user:password"; NULL: none */
  bool to_storage;         /* messages name the directives of the storage */
  bool only_connects;  /* ends with status 0 when the connection, with TLS, is
                          there; nothing is sent */
  bool is_fresh;       /* resolves the name and connects again */
  enum dx_scope scope; /* limit for the addresses to connect to; not checked
                          with a proxy */
  dx_http_done *done;
  dx_http_log *log;           /* names what it is for; NULL: dx_log() */
  dx_http_progress *progress; /* may be NULL */
  dx_http_ready *ready;       /* NULL: send at once */
  dx_http_sink *sink;         /* gets the body of a 200; NULL: memory */
  void *ctx;                  /* for all five */
};

struct dx_http;
struct dx_http_call;

/* NULL when out of memory. */
struct dx_http *dx_http_new(void);

/* All requests must have ended. Takes NULL. */
void dx_http_free(struct dx_http **http);

/* Starts a request; *ret_call is valid until the request ends. E_NOMEM. */
enum dx_code dx_http_start(struct dx_http *http,
                           const struct dx_http_request *request,
                           struct dx_http_call **ret_call,
                           struct dx_err *err) DX_MUST_USE;

/* Ends a request at once, without calling `done`; sets *call to NULL. *call may
 * be NULL. */
void dx_http_cancel(struct dx_http_call **call);

#define DX_HTTP_WAKE_MAX 8 /* descriptors that one run may wait for */

/*
 * Processes all requests, calls `done` for those that have ended, and waits at
 * most timeout_ms until there is something to do or one of the wake_count
 * descriptors in `wake` is readable. E_NOMEM.
 */
enum dx_code dx_http_run(struct dx_http *http, int64_t timeout_ms,
                         const int *wake, size_t wake_count,
                         struct dx_err *err) DX_MUST_USE;

/*
 * Retry-After in milliseconds. The value is in seconds, with or without
 * decimals, or an HTTP date, which is compared with date_ms (the Date of the
 * response; -1: our clock). The result is limited to 0 to
 * DX_RETRY_AFTER_MAX_MS; -1 if the value is invalid.
 */
int64_t dx_retry_after_ms(const char *value, int64_t date_ms);

/* The versions of libcurl and its libraries: "libcurl/7.88.1 OpenSSL/3.0.15
 * ...". */
const char *dx_http_version(void);

#endif
