/*
 * jwt.h - signing a JSON Web Token (RFC 7519, RFC 7515, RFC 7518 section 3,
 * RFC 8037; doc/policy.md, "Tokens").
 *
 * The algorithm comes from the config alone and must fit the key: HS keys at
 * least as long as the hash, RSA at least 2048 bits, the algorithm's curve.
 * Blocking: never. Errors: E_KEY with what does not fit, E_NOMEM. No message
 * holds a byte of the key.
 */
#ifndef DX_JWT_H
#define DX_JWT_H

#include "lib/base/buf.h"
#include "lib/config/config.h"

/*
 * key       the bytes of TokenKeyFile, borrowed; the caller wipes them
 * offset_s  the clock of the service minus ours; 0 unless it is known to be
 *           off. A token for another clock also has nbf: by no clock is it
 *           valid for longer than any other, whatever the service reported.
 * ret       the token is added
 */
enum dx_code dx_jwt_sign(const struct dx_service *service, const char *key,
                         size_t key_len, int64_t offset_s, struct dx_buf *ret,
                         struct dx_err *err) DX_MUST_USE;

#endif
