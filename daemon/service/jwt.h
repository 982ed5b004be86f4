/*
 * jwt.h - signing a JSON Web Token (RFC 7519, RFC 7515, RFC 7518 section 3,
 * RFC 8037; doc/policy.md, "Tokens").
 *
 * Only the configuration determines the algorithm. The key must fit: an HS key
 * is at least as long as the hash, an RSA key has at least 2048 bits, and an EC
 * key is on the curve of the algorithm.
 * Blocking: never. Errors: E_KEY, with the reason; E_NOMEM. Messages do not
 * contain any part of the key.
 */
#ifndef DX_JWT_H
#define DX_JWT_H

#include "lib/base/buf.h"
#include "lib/config/config.h"

/*
 * key       the bytes of TokenKeyFile, borrowed; the caller wipes them
 * offset_s  the clock of the service minus ours; 0 unless it is known to be
 *           off. With an offset, the token also has nbf, so that it is not
 *           valid for longer than others, whatever time the service reported.
 * ret       the token is appended
 */
enum dx_code dx_jwt_sign(const struct dx_service *service, const char *key,
                         size_t key_len, int64_t offset_s, struct dx_buf *ret,
                         struct dx_err *err) DX_MUST_USE;

#endif
