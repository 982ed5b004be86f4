/*
 * token.h - who may call: a signed token (JWT), one fixed token, or anyone.
 *
 * Signed tokens: the algorithm is the one given at start and no other; exp
 * with 30 s of leeway, iat not more than 30 s ahead, a life of at most an
 * hour, a jti, and the key id and claims that were asked for.
 *
 * Threads: checking is safe from any number of threads.
 */
#ifndef SIM_TOKEN_H
#define SIM_TOKEN_H

#include "sim/options.h"

struct sim_token;

/*
 * Loads the key or the token. NULL when that fails or the key does not fit
 * the algorithm; the reason was printed on standard error.
 */
struct sim_token *sim_token_new(const struct sim_options *options);

/*
 * Checks the value of an Authorization header (may be NULL) at the server's
 * time `now_s`. NULL when it is good, else what is wrong, in fixed words
 * without any part of the token.
 */
const char *sim_token_wrong(const struct sim_token *t, const char *header,
                            int64_t now_s);

void sim_token_free(struct sim_token *t);

#endif
