/*
 * sign.h - signed upload addresses: made for one object, type and time.
 *
 * The query carries X-Amz-Date, X-Amz-Expires and X-Amz-Signature, an
 * HMAC-SHA256 over method, path, content type, date and life time, with a
 * key drawn at start.
 */
#ifndef SIM_SIGN_H
#define SIM_SIGN_H

#include "sim/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_SIGN_KEY_BYTES 32

struct sim_signer {
  unsigned char key[SIM_SIGN_KEY_BYTES];
};

enum sim_signed { SIM_SIGN_GOOD, SIM_SIGN_WRONG, SIM_SIGN_EXPIRED };

/* The query of a URL as it came; members may be NULL. */
struct sim_query {
  const char *date;
  const char *expires;
  const char *signature;
};

/* Draws the key; false when the system has no randomness. */
bool sim_sign_init(struct sim_signer *s);

/* Adds "?X-Amz-Date=...", for a PUT of `path` at the server's time. */
void sim_sign_add(const struct sim_signer *s, const char *path,
                  const char *content_type, int64_t now_s, int64_t lifetime_s,
                  struct sim_buf *ret);

enum sim_signed sim_sign_check(const struct sim_signer *s, const char *path,
                               const char *content_type,
                               const struct sim_query *query, int64_t now_s);

#endif
