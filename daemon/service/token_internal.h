/*
 * token_internal.h - what the files of the token share. Each uses only those
 * above it:
 *
 *   token_input.c    reading a descriptor, and finding the token in the text
 *   token_command.c  running TokenCommand
 *   token.c          the other sources, and the current token
 */
#ifndef DX_TOKEN_INTERNAL_H
#define DX_TOKEN_INTERNAL_H

#include <stdint.h>
#include <sys/stat.h>

#include "lib/base/buf.h"
#include "daemon/service/token.h"

struct dx_token {
  const struct dx_service *service;
  char *text;          /* NULL: none now */
  int64_t renew_ms;    /* monotonic; 80 % of its life */
  const char *watched; /* path; NULL: renew_ms counts, else its changes */
  struct stat file;    /* what was there when it was read */
  int64_t offset_ms;   /* added to our clock when signing */
  int wake_fd;         /* -1: none */
};

/* The readers that DX_TOKEN_SOURCES names: each sets text, and renew_ms or
 * watched. */
#define X(NAME, word, directive, field, TYPE, type, help, limit_s, advice, \
          reader)                                                          \
  enum dx_code reader(struct dx_token *token, struct dx_err *err);
DX_TOKEN_SOURCES(X)
#undef X

/* From now on until DX_TOKEN_RENEW_PERCENT of its life has passed. */
void token_set_life(struct dx_token *token, int64_t life_ms);

/* How long to wait for what a source gives. */
struct token_wait {
  const struct dx_token_source_info *source;
  int64_t until_ms; /* monotonic */
  int wake_fd;      /* ends the wait with E_STOPPED; -1: none */
};

/* For the source of this token, from now on. */
struct token_wait token_wait_begin(const struct dx_token *token);

/* Waits until fd can be read. E_KEY when it takes too long, E_STOPPED. */
enum dx_code token_wait_for(int fd, const struct token_wait *wait,
                            struct dx_err *err) DX_MUST_USE;

/* Adds everything up to the end of fd to `text`; E_KEY when that is more than
 * DX_TOKEN_MAX_BYTES, and as above. */
enum dx_code token_read_all(int fd, const struct token_wait *wait,
                            struct dx_buf *text,
                            struct dx_err *err) DX_MUST_USE;

/* Finds the bare token in `text`, which may have white space around it. */
enum dx_code token_take_bare(struct dx_token *token, const struct dx_buf *text,
                             struct dx_err *err) DX_MUST_USE;

/* The same, or in JSON: {"token": ..., "expires": RFC 3339}. Sets its life. */
enum dx_code token_take_any(struct dx_token *token, const struct dx_buf *text,
                            struct dx_err *err) DX_MUST_USE;

#endif
