/*
 * token.h - who may call: bearers of a signed token (JWT), of one fixed
 * token, or of any token.
 *
 * A signed token must have the algorithm given at start, an exp with 30 s of
 * leeway, an iat at most 30 s ahead, at most an hour between the two, a jti,
 * and the key ID and claims that are required.
 *
 * Threads: checking is safe from any number of threads.
 */
#ifndef SIM_TOKEN_H
#define SIM_TOKEN_H

#include "sim/options.h"

struct sim_token;

/* Loads the key or the token. Returns NULL after printing the reason. */
struct sim_token *sim_token_new(const struct sim_options *options);

/*
 * Checks an Authorization header, which may be NULL, at the server's time
 * `now_s`. Returns NULL if it is good, else what is wrong, without any part
 * of the token.
 */
const char *sim_token_error(const struct sim_token *t, const char *header,
                            int64_t now_s);

void sim_token_free(struct sim_token *t);

#endif
