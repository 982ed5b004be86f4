/*
 * status.c - requests and responses of the status socket, and its client.
 */
#include "lib/control/status.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/base/words.h"
#include "lib/control/channel.h"
#include "lib/spool/sentence.h"

/* ---- requests ---- */

/* Parses the words after the first one; false: invalid arguments. */
static bool read_arguments(char *rest, struct dx_status_request *request)
{
  const char *word;

  if (rest == NULL)
    return request->kind != DX_STATUS_SHOW;
  word = dx_take_word(&rest);
  if (word == NULL)
    return false;
  switch (request->kind) {
  case DX_STATUS_JOBS:
    request->all = strcmp(word, "all") == 0;
    return request->all && rest == NULL;
  case DX_STATUS_WATCH:
    request->since_ms = dx_parse_time(word);
    return request->since_ms >= 0 && rest == NULL;
  case DX_STATUS_SHOW:
    if (!dx_is_key(word))
      return false;
    memcpy(request->key, word, DX_KEY_BYTES);
    word = dx_take_word(&rest);
    if (word == NULL)
      return false;
    (void)snprintf(request->name, sizeof(request->name), "%s", word);
    /* A name without a path: it cannot refer to another directory. */
    return rest == NULL && word[0] != '.' && strchr(word, '/') == NULL;
  default:
    return false;
  }
}

enum dx_code dx_status_parse(const char *line, size_t len,
                             struct dx_status_request *ret_request,
                             struct dx_err *err)
{
  static const char *const kinds[] = {DX_STATUS_REQUESTS(DX_WORD_OF_ROW)};
  char text[DX_STATUS_REQUEST_BYTES] = "", *rest = text;
  const char *word;
  int i = 0;

  *ret_request = (struct dx_status_request){.since_ms = -1};
  if (len < sizeof(text) && memchr(line, '\0', len) == NULL)
    memcpy(text, line, len);
  word = dx_take_word(&rest);
  while (i < DX_STATUS_COUNT && (word == NULL || strcmp(word, kinds[i]) != 0))
    i++;
  ret_request->kind = (enum dx_status_request_kind)i;
  if (i < DX_STATUS_COUNT && read_arguments(rest, ret_request))
    return DX_OK;
  return dx_fail(err, DX_E_ARG, 0, "not a request of the status socket");
}

/* ---- responses ---- */

struct dx_json *dx_status_job_json(struct dx_job *job, bool for_admin)
{
  struct dx_json *line = dx_json_object(), *child;
  size_t i, k;
  bool ok;

  for (i = 0; i < job->submission_count; i++)
    for (k = 0; k < job->submissions[i].file_count; k++)
      if (job->submissions[i].files[k].url !=
          NULL) /* the empty string shows that there is one */
        explicit_bzero(job->submissions[i].files[k].url,
                       strlen(job->submissions[i].files[k].url));
  if (!for_admin)
    dx_job_reword(job);
  child = dx_job_json(job);
  ok = line != NULL && child != NULL && dx_json_put_take(line, "job", &child);
  dx_json_free(&child);
  return dx_json_made_take(line, ok);
}

struct dx_json *dx_status_end_json(const struct dx_submission *sub,
                                   bool for_admin)
{
  struct dx_json *json = dx_json_object();
  const struct dx_job *job = sub->job;
  bool good = sub->state == DX_ST_EXTRACTED;
  char sentence[DX_SENTENCE_BYTES];
  const char *message = for_admin ? sub->reason : sentence;

  dx_submission_sentence(sub, sentence);
  return dx_json_made_take(
      json,
      json != NULL && dx_json_put_string(json, "key", job->key) &&
          dx_json_put_int(json, "submission", (int64_t)sub->number) &&
          dx_json_put_string(json, "user", job->user) &&
          dx_json_put_string(json, "queue", job->queue) &&
          dx_json_put_string(json, "id", job->cups_id) &&
          dx_json_put_string(json, "state", dx_state_word(sub->state)) &&
          dx_json_put_string(json, "reason_code",
                             good ? NULL : dx_submission_reason_code(sub)) &&
          dx_json_put_string(json, "sentence", good ? NULL : sentence) &&
          dx_json_put_string(json, "message", good ? NULL : message) &&
          dx_json_put_int(json, "cases", (int64_t)sub->case_count) &&
          dx_json_put_int(json, "job_documents",
                          (int64_t)job->document_count) &&
          dx_json_put_time(json, "ended_at", dx_submission_ended_at(sub)));
}

struct dx_json *dx_status_error_json(const struct dx_err *err)
{
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json, json != NULL &&
                dx_json_put_string(json, "error", dx_code_name(err->code)) &&
                dx_json_put_string(json, "message", err->text));
}

enum dx_code dx_status_read_job(const struct dx_json *line,
                                struct dx_job **ret_job, struct dx_err *err)
{
  struct dx_job *job = dx_job_new();
  enum dx_code code;

  if (job == NULL)
    return dx_fail_nomem(err);
  code = dx_job_read_json(job, dx_json_get(line, "job"), err);
  if (code == DX_E_DAMAGED)
    code = dx_fail(err, DX_E_RESPONSE, 0,
                   "docextractd's response is not understood; it may be of "
                   "another version");
  if (code == DX_OK)
    *ret_job = job;
  else
    dx_job_free(&job);
  return code;
}

/* ---- the client ---- */

/* The messages are for ordinary users. */
static enum dx_code fail_connect(const char *path, struct dx_err *err)
{
  if (errno == ENOENT || errno == ECONNREFUSED)
    return dx_fail(
        err, DX_E_NOT_FOUND, errno,
        "your print jobs cannot be looked up, because docextractd is "
        "not running; ask the administrator to start it");
  if (errno == EACCES)
    return dx_fail(err, DX_E_ACCESS, errno,
                   "the administrator of this computer does not let you look "
                   "up print jobs");
  return dx_fail_sys(err, errno, "connect to", path);
}

enum dx_code dx_status_ask(struct dx_status *status, const char *path,
                           const char *request, struct dx_err *err)
{
  /* If the server does not read, connect() and send() time out. */
  const struct timeval limit = {.tv_sec = DX_STATUS_REQUEST_MS / 1000};
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char line[1024];
  int len = snprintf(line, sizeof(line), "%s\n", request);
  enum dx_code code = DX_OK;

  *status = (struct dx_status)DX_STATUS_NONE;
  if (strlen(path) >= sizeof(address.sun_path) || len < 0 ||
      (size_t)len >= sizeof(line))
    return dx_fail(err, DX_E_ARG, 0,
                   "the request, or the path of the socket, is too long");
  memcpy(address.sun_path, path, strlen(path) + 1);
  status->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (status->fd < 0 ||
      setsockopt(status->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) <
          0 ||
      connect(status->fd, (const struct sockaddr *)&address, sizeof(address)) <
          0)
    code = fail_connect(path, err);
  else if (send(status->fd, line, (size_t)len, MSG_NOSIGNAL) != (ssize_t)len &&
           errno != EPIPE) /* refused; the response gives the reason */
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
  dx_buf_release(&status->in);
}

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

/* Removes the first received line, and returns it, or the error in it. */
static enum dx_code take_line(struct dx_status *status, size_t len,
                              struct dx_json **ret_line, struct dx_err *err)
{
  struct dx_buf *in = &status->in;
  struct dx_json *line = dx_json_parse(in->data, len, err);
  const char *word = dx_json_string(dx_json_get(line, "error"));
  const char *text = dx_json_string(dx_json_get(line, "message"));
  enum dx_code code = line == NULL   ? err->code
                      : word == NULL ? DX_OK
                                     : dx_code_by_name(word);

  if (line != NULL && code != DX_OK)
    code = dx_fail(err, code < DX_CODE_COUNT ? code : DX_E_RESPONSE, 0, "%s",
                   text != NULL ? text : "docextractd reports an error");
  in->len -= len + 1;
  memmove(in->data, in->data + len + 1, in->len);
  in->data[in->len] = '\0';
  if (code != DX_OK)
    dx_json_free(&line);
  *ret_line = line;
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

enum dx_code dx_status_bytes(struct dx_status *status, size_t limit,
                             struct dx_buf *ret_bytes, struct dx_err *err)
{
  struct dx_json *line;
  int64_t size = -1;
  enum dx_code code = dx_status_line(status, DX_STATUS_REPLY_MS, &line, err);

  if (code == DX_OK &&
      (!dx_json_int(dx_json_get(line, "bytes"), &size) || size < 0))
    code = dx_fail(err, DX_E_RESPONSE, 0,
                   "docextractd's response is not understood");
  else if (code == DX_OK && (uint64_t)size > limit)
    code = dx_fail(err, DX_E_DAMAGED, 0, "the result is too large");
  dx_json_free(&line);
  while (code == DX_OK && status->in.len < (size_t)size && !status->is_at_end)
    code = receive(status, DX_STATUS_REPLY_MS, err);
  if (code != DX_OK)
    return code;
  if (status->in.len < (size_t)size)
    return lost(0, err);
  dx_buf_add(ret_bytes, dx_buf_text(&status->in), (size_t)size);
  return dx_buf_ok(ret_bytes) || size == 0 ? DX_OK : dx_fail_nomem(err);
}

/* Only an error begins with a brace. */
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
