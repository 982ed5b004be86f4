/*
 * token.c - the current token: one reader for each source of token_source.h,
 * and when it is read again. How a token is signed is jwt.c's business.
 */
#include "daemon/service/token_internal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "daemon/service/jwt.h"

struct dx_token *dx_token_new(const struct dx_service *service)
{
  struct dx_token *token = calloc(1, sizeof(*token));

  if (token == NULL)
    return NULL;
  token->service = service;
  token->wake_fd = -1;
  return token;
}

void dx_token_wake_by(struct dx_token *token, int fd)
{
  token->wake_fd = fd;
}

void dx_token_forget(struct dx_token *token)
{
  if (token->text != NULL)
    explicit_bzero(token->text, strlen(token->text));
  free(token->text);
  token->text = NULL;
}

void dx_token_free(struct dx_token **token)
{
  if (*token == NULL)
    return;
  dx_token_forget(*token);
  free(*token);
  *token = NULL;
}

/* ---- a key ---- */

enum dx_code token_read_key(struct dx_token *token, struct dx_err *err)
{
  const struct dx_service *s = token->service;
  struct dx_buf key = {.secret = true};
  struct dx_buf signed_text = {.secret = true};
  struct dx_err why;
  enum dx_code code;

  code = dx_fs_read_linked(s->token_key_file, DX_TOKEN_MAX_BYTES, &key, &why);
  if (code != DX_OK)
    code = dx_fail(err, code == DX_E_NOMEM ? code : DX_E_KEY, why.sys_errno,
                   "the TokenKeyFile cannot be used: %s", why.text);
  else
    code = dx_jwt_sign(s, key.data != NULL ? key.data : "", key.len,
                       token->offset_ms / 1000, &signed_text, err);
  dx_buf_wipe(&key);
  if (code == DX_OK) {
    token->text = dx_buf_take(&signed_text);
    if (token->text == NULL)
      code = dx_fail_nomem(err);
    token_set_life(token, s->token_lifetime_ms);
  }
  dx_buf_wipe(&signed_text);
  return code;
}

/* ---- a file ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
         a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

enum dx_code token_read_file(struct dx_token *token, struct dx_err *err)
{
  const char *path = token->service->token_file;
  struct dx_buf text = {.secret = true};
  struct dx_err why;
  enum dx_code code;

  if (stat(path, &token->file) < 0)
    return dx_fail(err, DX_E_KEY, errno,
                   "the TokenFile '%s' cannot be used: %s", path,
                   strerror(errno));
  token->watched = path;
  /* Not O_NOFOLLOW: /run/secrets is made of links. */
  code = dx_fs_read_linked(path, DX_TOKEN_MAX_BYTES, &text, &why);
  if (code != DX_OK)
    code = dx_fail(err, code == DX_E_NOMEM ? code : DX_E_KEY, why.sys_errno,
                   "the TokenFile cannot be used: %s", why.text);
  else
    code = token_take_bare(token, &text, err);
  dx_buf_wipe(&text);
  return code;
}

/* ---- the current one ---- */

static bool is_fresh(const struct dx_token *token)
{
  struct stat now;

  if (token->text == NULL)
    return false;
  if (token->watched != NULL)
    return stat(token->watched, &now) == 0 && is_same_file(&now, &token->file);
  return dx_monotonic_ms() < token->renew_ms;
}

/* Gets a token from the source that the service is configured with. */
static enum dx_code read_token(struct dx_token *token, struct dx_err *err)
{
#define X(NAME, word, directive, field, TYPE, type, help, limit_s, advice, \
          reader)                                                          \
  reader,
  static enum dx_code (*const readers[])(struct dx_token *, struct dx_err *) = {
      DX_TOKEN_SOURCES(X)};
#undef X

  return readers[token->service->token](token, err);
}

enum dx_code dx_token_get(struct dx_token *token, int64_t server_offset_ms,
                          const char **ret_text, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (!is_fresh(token)) {
    dx_token_forget(token);
    token->offset_ms = server_offset_ms;
    code = read_token(token, err);
  }
  if (code == DX_OK)
    *ret_text = token->text;
  return code;
}
