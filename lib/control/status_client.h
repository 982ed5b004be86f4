/*
 * status_client.h - asking docextractd's status socket (status.h).
 *
 * Calling sequence: dx_status_ask(), then dx_status_line() until it returns
 * NULL without an error, or dx_status_bytes() for `show` and dx_status_text()
 * for `metrics`; then dx_status_close(). `struct dx_status s = DX_STATUS_NONE;`
 * may be closed at any time. The descriptor may be watched in a loop of the
 * caller's: when it can be read, call dx_status_line() with timeout_ms 0 until
 * E_NOT_YET.
 *
 * Ownership: struct dx_status is the caller's. Blocking: where a timeout is
 * given, at most that long. Errors: E_NOT_FOUND if docextractd does not run or
 * has no socket, with a sentence for an ordinary user; E_NOT_YET after
 * timeout_ms; E_IO; E_RESPONSE for what is not in status.h; and the error that
 * docextractd responds with.
 */
#ifndef DX_STATUS_CLIENT_H
#define DX_STATUS_CLIENT_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/json.h"

struct dx_status {
  int fd;
  struct dx_buf in; /* received, not yet returned */
  bool is_at_end;
};
#define DX_STATUS_NONE \
  {                    \
    .fd = -1           \
  }

/* Connects and sends one request, such as "watch", without a newline. path:
 * StatusSocket of the configuration. Blocking: at most DX_STATUS_REQUEST_MS. */
enum dx_code dx_status_ask(struct dx_status *status, const char *path,
                           const char *request, struct dx_err *err) DX_MUST_USE;
void dx_status_close(struct dx_status *status);

/* The next line, which the caller frees; NULL at the end: the server has
 * closed. Of `jobs`, the end is {"end":true}. */
enum dx_code dx_status_line(struct dx_status *status, int timeout_ms,
                            struct dx_json **ret_line,
                            struct dx_err *err) DX_MUST_USE;

/* All bytes of a response to `show`. E_DAMAGED if it is longer than limit. */
enum dx_code dx_status_bytes(struct dx_status *status, size_t limit,
                             struct dx_buf *ret_bytes,
                             struct dx_err *err) DX_MUST_USE;

/* The whole response to `metrics`. E_RESPONSE if it is longer than limit. */
enum dx_code dx_status_text(struct dx_status *status, size_t limit,
                            struct dx_buf *ret_text,
                            struct dx_err *err) DX_MUST_USE;

#endif
