/*
 * token.h - bearer tokens from a key, a file or a command (doc/policy.md,
 * "Tokens").
 *
 * One object per service and process. Messages name files, key ids, and
 * algorithms, but contain no secrets.
 *
 * Blocking: reading files; a command blocks up to 10 s.
 * Errors: E_KEY (class TOKEN), with what to do; E_STOPPED; E_NOMEM and others
 * of class LOCAL.
 */
#ifndef DX_TOKEN_H
#define DX_TOKEN_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/config/config.h"

struct dx_token {
  const struct dx_service *service; /* borrowed */
  int stop_fd; /* becomes readable when the process is to stop, and then ends
                  the wait for a TokenCommand with E_STOPPED; -1: none */
  /* the rest is of token.c; zeros at first */
  char *text;        /* NULL: none now */
  int64_t renew_ms;  /* monotonic; 80 % of its life; 0: read at each call */
  int64_t offset_ms; /* added to our clock when signing */
};

/*
 * Returns the token to send, borrowed until the next call on the object. It is
 * signed or read again if there is none, or if 80 % of its life has passed; a
 * TokenFile is read each time.
 *
 * server_offset_ms  added to our wall clock when signing: the service's clock
 *                   minus ours, 0 unless it is known to be off.
 */
enum dx_code dx_token_get(struct dx_token *token, int64_t server_offset_ms,
                          const char **ret_text,
                          struct dx_err *err) DX_MUST_USE;

/* Wipes and frees the current token, so that the source is read again. */
void dx_token_forget(struct dx_token *token);

#endif
