/*
 * status.c - requests and responses of the status socket, and its client.
 */
#include "lib/control/status.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/control/channel.h"
#include "lib/spool/sentence.h"

/* ---- responses ---- */

char *dx_status_job_line(struct dx_job *job, bool for_admin)
{
  char sentence[DX_SENTENCE_BYTES];
  struct dx_json_out out = {0};
  size_t i, k;

  dx_job_sentence(job, sentence);
  for (i = 0; i < job->submission_count; i++)
    for (k = 0; k < job->submissions[i].file_count; k++)
      if (job->submissions[i].files[k].url !=
          NULL) /* the empty string shows that there is one */
        explicit_bzero(job->submissions[i].files[k].url,
                       strlen(job->submissions[i].files[k].url));
  if (!for_admin)
    dx_job_reword(job);
  dx_json_open(&out, NULL, '{');
  dx_job_put(job, &out, "job");
  dx_json_put_string(&out, "sentence", sentence);
  dx_json_close(&out, '}');
  dx_buf_puts(&out.text, "\n");
  return dx_buf_take(&out.text);
}

char *dx_status_error_line(const struct dx_err *err)
{
  struct dx_json_out out = {0};

  dx_json_open(&out, NULL, '{');
  dx_json_put_string(&out, "error", dx_code_name(err->code));
  dx_json_put_string(&out, "message", err->text);
  dx_json_close(&out, '}');
  dx_buf_puts(&out.text, "\n");
  return dx_buf_take(&out.text);
}

static enum dx_code fail_version(struct dx_err *err)
{
  return dx_fail(err, DX_E_RESPONSE, 0,
                 "docextractd's response is not understood; it may be of "
                 "another version: ask the administrator to restart "
                 "docextractd");
}

enum dx_code dx_status_read_job(const struct cJSON *line,
                                struct dx_job **ret_job, struct dx_err *err)
{
  struct dx_job *job = dx_job_new();
  enum dx_code code;

  if (job == NULL)
    return dx_fail_nomem(err);
  code = dx_job_read_json(job, dx_json_get(line, "job"), err);
  if (code == DX_E_DAMAGED)
    code = fail_version(err);
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
                   "you are not permitted to look up print jobs; ask the "
                   "administrator of this computer");
  return dx_fail_sys(err, errno, "connect to", path);
}

FILE *dx_status_ask(const char *path, const char *request, struct dx_err *err)
{
  /* If the server does not read, connect() and send() time out. */
  const struct timeval write_limit = {.tv_sec = DX_STATUS_REQUEST_MS / 1000};
  const struct timeval read_limit = {.tv_sec = DX_STATUS_REPLY_MS / 1000};
  struct sockaddr_un address;
  char line[DX_CHANNEL_LINE_BYTES];
  int len = snprintf(line, sizeof(line), "%s\n", request), fd;
  FILE *in = NULL;

  assert((size_t)len < sizeof(line) &&
         strlen(path) < sizeof(address.sun_path)); /* lib/config/load.c */
  dx_channel_address(AT_FDCWD, path, &address);
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &write_limit,
                 sizeof(write_limit)) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &read_limit, sizeof(read_limit)) <
          0 ||
      connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
    (void)fail_connect(path, err);
  else if ((send(fd, line, (size_t)len, MSG_NOSIGNAL) != (ssize_t)len &&
            errno != EPIPE) || /* refused; the response gives the reason */
           (in = fdopen(fd, "r")) == NULL)
    (void)dx_fail_sys(err, errno, "write to", path);
  if (in == NULL && fd >= 0)
    (void)close(fd);
  return in;
}

/* Call it after a read that was too short. */
static enum dx_code fail_read(FILE *in, struct dx_err *err)
{
  if (ferror(in) && (errno == EAGAIN || errno == EINTR))
    return dx_fail(err, DX_E_NOT_YET, errno, "docextractd does not respond");
  return dx_fail(err, DX_E_IO, ferror(in) ? errno : 0,
                 "the connection to docextractd was lost");
}

/* Parses a line; an error in it is returned. */
static enum dx_code parse_line(const char *text, size_t len,
                               struct cJSON **ret_line, struct dx_err *err)
{
  struct cJSON *line = dx_json_parse(text, len, err);
  const char *word = dx_json_string(dx_json_get(line, "error"));
  const char *message = dx_json_string(dx_json_get(line, "message"));
  enum dx_code code = word != NULL ? dx_code_by_name(word) : DX_OK;

  if (line == NULL)
    return err->code;
  if (code != DX_OK) {
    (void)dx_fail(err, code < DX_CODE_COUNT ? code : DX_E_RESPONSE, 0, "%s",
                  message != NULL ? message : "docextractd reports an error");
    dx_json_free(&line);
    return err->code;
  }
  *ret_line = line;
  return DX_OK;
}

enum dx_code dx_status_line(FILE *in, struct cJSON **ret_line,
                            struct dx_err *err)
{
  enum dx_code code = DX_OK;
  char *text = NULL;
  size_t room = 0;
  ssize_t len = getline(&text, &room, in);

  *ret_line = NULL;
  if (len > 0 && text[len - 1] == '\n')
    code = parse_line(text, (size_t)len, ret_line, err);
  else if (len > 0 || (ferror(in) && errno != ECONNRESET))
    code = fail_read(in, err);
  free(text);
  return code;
}

enum dx_code dx_status_fetch(const char *path, const char *request,
                             size_t limit, struct dx_buf *ret_bytes,
                             struct dx_err *err)
{
  FILE *in = dx_status_ask(path, request, err);
  char bytes[16384];
  struct cJSON *line;
  int64_t size = -1;
  size_t n;
  enum dx_code code;

  if (in == NULL)
    return err->code;
  code = dx_status_line(in, &line, err);
  if (code == DX_OK &&
      (!dx_json_int(dx_json_get(line, "bytes"), &size) || size < 0))
    code = fail_version(err);
  else if (code == DX_OK && (uint64_t)size > limit)
    code = dx_fail(err, DX_E_DAMAGED, 0, "the response is too large");
  dx_json_free(&line);
  for (; code == DX_OK && size > 0; size -= (int64_t)n) {
    n = (uint64_t)size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
    if (fread(bytes, n, 1, in) == 1)
      dx_buf_add(ret_bytes, bytes, n);
    else
      code = fail_read(in, err);
  }
  (void)fclose(in);
  return code == DX_OK && ret_bytes->failed ? dx_fail_nomem(err) : code;
}
