/*
 * token_source.h - the only list of token sources.
 *
 * The configuration, the manual page, struct dx_service, and `docextract hello`
 * take all information about a source from its row. The last column names the
 * function in daemon/service/token.c that gets the token; besides its row, a
 * new source needs only that function.
 *
 *   NAME       of its DX_TOKEN_ constant
 *   word       after Token in the configuration
 *   directive  that the source needs
 *   field      in struct dx_service: the value of the directive
 *   TYPE, type of the directive, see config_internal.h
 *   help       for the directive: one sentence
 *   limit_s    longest wait for the source; 0: it does not wait
 *   advice     what to check when the service refuses the token
 *   reader     gets the token
 */
#ifndef DX_TOKEN_SOURCE_H
#define DX_TOKEN_SOURCE_H

#include "lib/base/policy.h"

/* clang-format off */
#define DX_TOKEN_SOURCES(X)                                                  \
  X(KEY, "key", TokenKeyFile, token_key_file, KEY_PATH, "path",              \
    "The key that signs tokens: a secret for HS algorithms, a private key "  \
    "in PEM format for the others.",                                         \
    0, "check TokenAlgorithm, TokenKeyFile, TokenKeyID and TokenClaim",      \
    token_read_key)                                                                \
  X(FILE, "file", TokenFile, token_file, KEY_PATH, "path",                   \
    "File that contains the token; read again when it changes.",             \
    0, "check the token in TokenFile",                                       \
    token_read_file)                                                               \
  X(COMMAND, "command", TokenCommand, token_command, COMMAND, "command",     \
    "Program and arguments that print a token; run without a shell.",        \
    DX_TOKEN_COMMAND_S, "check what TokenCommand prints",                    \
    token_read_command)
/* clang-format on */

enum dx_token_source {
#define X(NAME, ...) DX_TOKEN_##NAME,
  DX_TOKEN_SOURCES(X)
#undef X
      DX_TOKEN_SOURCE_COUNT
};

struct dx_token_source_info {
  const char *word;
  const char *directive;
  int limit_s;
  const char *advice;
};

extern const struct dx_token_source_info
    dx_token_sources[DX_TOKEN_SOURCE_COUNT];

#endif
