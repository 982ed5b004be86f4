/*
 * token_input.c - from bytes to a token: waits for a source to give them,
 * reads them to their end and finds the token in them.
 */
#include "daemon/service/token_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"

static const struct dx_token_source_info *
source_of(const struct dx_token *token)
{
  return dx_token_source_info(token->service->token);
}

/* ---- the bytes ---- */

struct token_wait token_wait_begin(const struct dx_token *token)
{
  struct token_wait wait = {source_of(token), dx_monotonic_ms(),
                            token->wake_fd};

  wait.until_ms += (int64_t)wait.source->limit_s * 1000;
  return wait;
}

enum dx_code token_wait_for(int fd, const struct token_wait *wait,
                            struct dx_err *err)
{
  struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                        {.fd = wait->wake_fd, .events = POLLIN}};
  int ready;

  do {
    int64_t left = wait->until_ms - dx_monotonic_ms();

    ready = left > 0 ? poll(p, 2, (int)left) : 0;
  } while (ready < 0 && errno == EINTR);
  if (p[1].revents != 0)
    return dx_fail(err, DX_E_STOPPED, 0, "stopped");
  if (ready > 0)
    return DX_OK;
  return dx_fail(err, DX_E_KEY, 0, "the %s took longer than %d s",
                 wait->source->directive, wait->source->limit_s);
}

enum dx_code token_read_all(int fd, const struct token_wait *wait,
                            struct dx_buf *text, struct dx_err *err)
{
  char bytes[4096];
  ssize_t n = 1;

  while (n > 0 && text->len <= DX_TOKEN_MAX_BYTES) {
    enum dx_code code = token_wait_for(fd, wait, err);

    if (code != DX_OK)
      return code;
    n = read(fd, bytes, sizeof(bytes));
    if (n < 0)
      return dx_fail(err, DX_E_KEY, errno, "cannot read from the %s: %s",
                     wait->source->directive, strerror(errno));
    if (n > 0)
      dx_buf_add(text, bytes, (size_t)n);
  }
  explicit_bzero(bytes, sizeof(bytes));
  if (text->len > DX_TOKEN_MAX_BYTES)
    return dx_fail(err, DX_E_KEY, 0, "the %s provides more than %d bytes",
                   wait->source->directive, DX_TOKEN_MAX_BYTES);
  return dx_buf_ok(text) ? DX_OK : dx_fail_nomem(err);
}

/* ---- the token in them ---- */

void token_set_life(struct dx_token *token, int64_t life_ms)
{
  if (life_ms < 0)
    life_ms = 0;
  token->renew_ms = dx_monotonic_ms() + life_ms / 100 * DX_TOKEN_RENEW_PERCENT;
}

/* One word of visible ASCII, as an Authorization header can hold it. */
static bool is_token(const char *text)
{
  const char *p;

  for (p = text; *p != '\0'; p++)
    if (*p <= ' ' || *p > '~')
      return false;
  return p > text;
}

enum dx_code token_take_bare(struct dx_token *token, const struct dx_buf *text,
                             struct dx_err *err)
{
  const char *from = source_of(token)->directive;
  const char *start = dx_buf_text(text);
  size_t len;

  start += strspn(start, " \t\r\n");
  len = strcspn(start, " \t\r\n");
  if (start[len + strspn(start + len, " \t\r\n")] != '\0')
    return dx_fail(err, DX_E_KEY, 0, "the %s provides more than one token",
                   from);
  token->text = strndup(start, len);
  if (token->text == NULL)
    return dx_fail_nomem(err);
  if (is_token(token->text))
    return DX_OK;
  dx_token_forget(token);
  return dx_fail(err, DX_E_KEY, 0, "the %s provides no token", from);
}

static enum dx_code take_json(struct dx_token *token,
                              const struct dx_json *json, struct dx_err *err)
{
  const char *text = dx_json_string(dx_json_get(json, "token"));
  const char *expires = dx_json_string(dx_json_get(json, "expires"));
  int64_t until = expires != NULL ? dx_parse_time(expires) : -1;

  if (text == NULL || !is_token(text))
    return dx_fail(err, DX_E_KEY, 0, "the %s provides JSON without a token",
                   source_of(token)->directive);
  token->text = strdup(text);
  if (token->text == NULL)
    return dx_fail_nomem(err);
  if (until >= 0)
    token_set_life(token, until - dx_wall_ms());
  return DX_OK;
}

enum dx_code token_take_any(struct dx_token *token, const struct dx_buf *text,
                            struct dx_err *err)
{
  const char *start = dx_buf_text(text);
  struct dx_json *json;
  enum dx_code code;

  token_set_life(token, DX_TOKEN_LIFE_MS);
  if (start[strspn(start, " \t\r\n")] != '{')
    return token_take_bare(token, text, err);
  json = dx_json_parse(start, text->len, NULL);
  code = take_json(token, json, err); /* takes NULL: there is no token */
  dx_json_free(&json);
  return code;
}
