/*
 * status_client.c - the client's side of the status socket.
 */
#include "lib/control/status_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/policy.h"

static enum dx_code fail_connect(int e, const char *path, struct dx_err *err)
{
  if (e == ENOENT || e == ECONNREFUSED)
    return dx_fail(
        err, DX_E_NOT_FOUND, e,
        "your print jobs cannot be looked up, because docextractd is "
        "not running; ask the administrator to start it");
  if (e == EACCES)
    return dx_fail(err, DX_E_ACCESS, e,
                   "the administrator of this computer does not let you look "
                   "up print jobs");
  return dx_fail_sys(err, e, "connect to", path);
}

static enum dx_code connect_to(int fd, const char *path, struct dx_err *err)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};

  if (strlen(path) >= sizeof(address.sun_path))
    return dx_fail(err, DX_E_ARG, 0, "the path of the socket is too long");
  memcpy(address.sun_path, path, strlen(path) + 1);
  if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
    return fail_connect(errno, path, err);
  return DX_OK;
}

/* A server that does not read may keep neither connect() nor send() waiting. */
static enum dx_code open_socket(int *ret_fd, struct dx_err *err)
{
  const struct timeval limit = {.tv_sec = DX_STATUS_REQUEST_MS / 1000};

  *ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (*ret_fd < 0 ||
      setsockopt(*ret_fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
    return dx_fail_sys(err, errno, "open", "socket");
  return DX_OK;
}

enum dx_code dx_status_ask(struct dx_status *status, const char *path,
                           const char *request, struct dx_err *err)
{
  char line[1024];
  int len = snprintf(line, sizeof(line), "%s\n", request);
  enum dx_code code;

  *status = (struct dx_status)DX_STATUS_NONE;
  if (len < 0 || (size_t)len >= sizeof(line))
    return dx_fail(err, DX_E_ARG, 0, "the request is too long");
  code = open_socket(&status->fd, err);
  if (code == DX_OK)
    code = connect_to(status->fd, path, err);
  if (code == DX_OK &&
      send(status->fd, line, (size_t)len, MSG_NOSIGNAL) != (ssize_t)len &&
      errno != EPIPE) /* it refuses, and has said why */
    code = dx_fail_sys(err, errno, "write to", path);
  if (code != DX_OK)
    dx_status_close(status);
  return code;
}

void dx_status_close(struct dx_status *status)
{
  if (status->fd >= 0)
    (void)close(status->fd);
  status->fd = -1;
  dx_buf_wipe(&status->in);
}

/* ---- receiving ---- */

static enum dx_code lost(int e, struct dx_err *err)
{
  return dx_fail(err, DX_E_IO, e, "the connection to docextractd was lost");
}

/* Waits for more bytes and adds them. */
static enum dx_code receive(struct dx_status *status, int timeout_ms,
                            struct dx_err *err)
{
  struct pollfd wanted = {.fd = status->fd, .events = POLLIN};
  char bytes[16384];
  ssize_t n;

  if (poll(&wanted, 1, timeout_ms) == 0)
    return dx_fail(err, DX_E_NOT_YET, 0, "docextractd does not respond");
  n = recv(status->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return dx_fail(err, DX_E_NOT_YET, errno, "docextractd does not respond");
  if (n < 0 && errno != ECONNRESET)
    return lost(errno, err);
  status->is_at_end = n <= 0;
  if (n > 0)
    dx_buf_add(&status->in, bytes, (size_t)n);
  return status->in.failed ? dx_fail_nomem(err) : DX_OK;
}

static void forget(struct dx_buf *buf, size_t len)
{
  memmove(buf->data, buf->data + len, buf->len - len);
  buf->len -= len;
  buf->data[buf->len] = '\0';
}

/* What docextractd reports instead of a response. */
static enum dx_code reported(const struct dx_json *line, struct dx_err *err)
{
  const char *word = dx_json_string(dx_json_get(line, "error"));
  const char *text = dx_json_string(dx_json_get(line, "message"));
  enum dx_code code = word != NULL ? dx_code_by_name(word) : DX_OK;

  if (code == DX_OK)
    return DX_OK;
  return dx_fail(err, code < DX_CODE_COUNT ? code : DX_E_RESPONSE, 0, "%s",
                 text != NULL ? text : "docextractd reports an error");
}

static enum dx_code take_line(struct dx_status *status, size_t len,
                              struct dx_json **ret_line, struct dx_err *err)
{
  struct dx_json *line = dx_json_parse(status->in.data, len, err);
  enum dx_code code = line != NULL ? reported(line, err) : err->code;

  forget(&status->in, len + 1);
  if (code == DX_OK)
    *ret_line = line;
  else
    dx_json_free(&line);
  return code;
}

enum dx_code dx_status_line(struct dx_status *status, int timeout_ms,
                            struct dx_json **ret_line, struct dx_err *err)
{
  const char *end = NULL;
  enum dx_code code = DX_OK;

  *ret_line = NULL;
  while (code == DX_OK) {
    if (status->in.len > 0)
      end = memchr(status->in.data, '\n', status->in.len);
    if (end != NULL)
      return take_line(status, (size_t)(end - status->in.data), ret_line, err);
    if (status->is_at_end)
      return status->in.len == 0 ? DX_OK : lost(0, err);
    if (status->in.len > 2 * DX_JOURNAL_MAX_BYTES)
      return dx_fail(err, DX_E_RESPONSE, 0, "docextractd's line has no end");
    code = receive(status, timeout_ms, err);
  }
  return code;
}

static enum dx_code read_size(struct dx_status *status, size_t limit,
                              size_t *ret_size, struct dx_err *err)
{
  struct dx_json *line;
  int64_t size = -1;
  enum dx_code code = dx_status_line(status, DX_STATUS_REPLY_MS, &line, err);

  if (code != DX_OK)
    return code;
  if (!dx_json_int(dx_json_get(line, "bytes"), &size) || size < 0)
    code = dx_fail(err, DX_E_RESPONSE, 0,
                   "docextractd's response is not understood");
  else if ((uint64_t)size > limit)
    code = dx_fail(err, DX_E_DAMAGED, 0, "the result is too large");
  *ret_size = (size_t)size;
  dx_json_free(&line);
  return code;
}

enum dx_code dx_status_bytes(struct dx_status *status, size_t limit,
                             struct dx_buf *ret_bytes, struct dx_err *err)
{
  size_t size = 0;
  enum dx_code code = read_size(status, limit, &size, err);

  while (code == DX_OK && status->in.len < size && !status->is_at_end)
    code = receive(status, DX_STATUS_REPLY_MS, err);
  if (code != DX_OK)
    return code;
  if (status->in.len < size)
    return lost(0, err);
  dx_buf_add(ret_bytes, dx_buf_text(&status->in), size);
  return dx_buf_ok(ret_bytes) || size == 0 ? DX_OK : dx_fail_nomem(err);
}

/* An error is a line with an object. */
enum dx_code dx_status_text(struct dx_status *status, size_t limit,
                            struct dx_buf *ret_text, struct dx_err *err)
{
  struct dx_json *line = NULL;
  enum dx_code code = DX_OK;

  while (code == DX_OK && !status->is_at_end && status->in.len <= limit)
    code = receive(status, DX_STATUS_REPLY_MS, err);
  if (code == DX_OK && status->in.len > 0 && status->in.data[0] == '{')
    code = dx_status_line(status, 0, &line, err);
  dx_json_free(&line);
  if (code != DX_OK)
    return code;
  if (status->in.len > limit)
    return dx_fail(err, DX_E_RESPONSE, 0, "docextractd's response is too long");
  dx_buf_add(ret_text, dx_buf_text(&status->in), status->in.len);
  return dx_buf_ok(ret_text) ? DX_OK : dx_fail_nomem(err);
}
