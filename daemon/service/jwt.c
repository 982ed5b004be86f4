/*
 * jwt.c - JSON Web Tokens; the only user of OpenSSL.
 */
#include "daemon/service/jwt.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"

#define RSA_MIN_BITS 2048
#define SIGNATURE_MAX 2048 /* RSA with 16384 bits */

enum family { HS, RS, PS, ES, ED };

struct algorithm {
  enum family family;
  const char *hash; /* NULL: the key type's own */
  size_t hash_bytes;
  const char *curve; /* ES */
  size_t part_bytes; /* ES: of r, and of s */
};

/* In the order of DX_ALGORITHMS. */
static const struct algorithm algorithms[DX_ALG_COUNT] = {
    [DX_ALG_HS256] = {HS, "SHA256", 32, NULL, 0},
    [DX_ALG_HS384] = {HS, "SHA384", 48, NULL, 0},
    [DX_ALG_HS512] = {HS, "SHA512", 64, NULL, 0},
    [DX_ALG_RS256] = {RS, "SHA256", 32, NULL, 0},
    [DX_ALG_RS384] = {RS, "SHA384", 48, NULL, 0},
    [DX_ALG_RS512] = {RS, "SHA512", 64, NULL, 0},
    [DX_ALG_PS256] = {PS, "SHA256", 32, NULL, 0},
    [DX_ALG_PS384] = {PS, "SHA384", 48, NULL, 0},
    [DX_ALG_PS512] = {PS, "SHA512", 64, NULL, 0},
    [DX_ALG_ES256] = {ES, "SHA256", 32, "prime256v1", 32},
    [DX_ALG_ES384] = {ES, "SHA384", 48, "secp384r1", 48},
    [DX_ALG_ES512] = {ES, "SHA512", 64, "secp521r1", 66},
    [DX_ALG_EdDSA] = {ED, NULL, 0, NULL, 0},
};

/* base64url without padding, RFC 7515 section 2. */
static void add_base64url(struct dx_buf *buf, const unsigned char *bytes,
                          size_t len)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-_";
  size_t i;

  for (i = 0; i < len; i += 3) {
    unsigned n = (unsigned)bytes[i] << 16;
    char out[4];

    if (i + 1 < len)
      n |= (unsigned)bytes[i + 1] << 8;
    if (i + 2 < len)
      n |= bytes[i + 2];
    out[0] = letters[n >> 18];
    out[1] = letters[n >> 12 & 63];
    out[2] = letters[n >> 6 & 63];
    out[3] = letters[n & 63];
    dx_buf_add(buf, out, len - i >= 3 ? 4 : len - i + 1);
  }
}

static bool add_json(struct dx_buf *buf, struct dx_json *json)
{
  char *text = dx_json_print(json, false);

  if (text == NULL)
    return false;
  add_base64url(buf, (const unsigned char *)text, strlen(text));
  free(text);
  return true;
}

static bool add_header(struct dx_buf *buf, const struct dx_service *service)
{
  struct dx_json *json = dx_json_object();
  bool ok = json != NULL &&
            dx_json_put_string(json, "alg",
                               dx_algorithm_name(service->token_algorithm)) &&
            dx_json_put_string(json, "typ", "JWT") &&
            (service->token_key_id == NULL ||
             dx_json_put_string(json, "kid", service->token_key_id)) &&
            add_json(buf, json);

  dx_json_free(&json);
  return ok;
}

static bool add_claims(struct dx_buf *buf, const struct dx_service *service,
                       int64_t offset_s)
{
  int64_t now_s = dx_wall_ms() / 1000 + offset_s;
  struct dx_json *json = dx_json_object();
  char id[33];
  bool ok =
      json != NULL && dx_random_hex(id, 32) &&
      dx_json_put_int(json, "iat", now_s - DX_TOKEN_IAT_BACK_S) &&
      (offset_s == 0 ||
       dx_json_put_int(json, "nbf", now_s - DX_TOKEN_IAT_BACK_S)) &&
      dx_json_put_int(json, "exp", now_s + service->token_lifetime_ms / 1000) &&
      dx_json_put_string(json, "jti", id);
  size_t i;

  for (i = 0; ok && i < service->claim_count; i++)
    ok = dx_json_put_string(json, service->claims[i].name,
                            service->claims[i].value);
  ok = ok && add_json(buf, json);
  dx_json_free(&json);
  return ok;
}

/* ---- keys ---- */

static enum dx_code unfit(const struct dx_service *service, const char *why,
                          struct dx_err *err)
{
  ERR_clear_error();
  return dx_fail(err, DX_E_KEY, 0, "TokenKeyFile '%s' does not fit %s: %s",
                 service->token_key_file,
                 dx_algorithm_name(service->token_algorithm), why);
}

static bool is_curve(EVP_PKEY *key, const char *curve)
{
  char name[64];
  size_t len;

  return EVP_PKEY_get_group_name(key, name, sizeof(name), &len) == 1 &&
         strcmp(name, curve) == 0;
}

static const char *misfit(EVP_PKEY *key, const struct algorithm *a)
{
  int type = EVP_PKEY_get_base_id(key);

  switch (a->family) {
  case RS:
    if (type != EVP_PKEY_RSA)
      return "it is not an RSA key";
    break;
  case PS:
    if (type != EVP_PKEY_RSA && type != EVP_PKEY_RSA_PSS)
      return "it is not an RSA key";
    break;
  case ES:
    if (type != EVP_PKEY_EC)
      return "it is not an EC key";
    return is_curve(key, a->curve) ? NULL : "it is on another curve";
  default:
    return type == EVP_PKEY_ED25519 || type == EVP_PKEY_ED448
               ? NULL
               : "it is not an Ed25519 or Ed448 key";
  }
  return EVP_PKEY_get_bits(key) >= RSA_MIN_BITS
             ? NULL
             : "it is shorter than 2048 bits";
}

static int no_password(char *buf, int size, int writing, void *ctx)
{
  (void)buf;
  (void)size;
  (void)writing;
  (void)ctx;
  return -1; /* never ask on a terminal */
}

static enum dx_code read_key(const struct dx_service *service,
                             const char *bytes, size_t len,
                             const struct algorithm *a, EVP_PKEY **ret_key,
                             struct dx_err *err)
{
  BIO *bio = BIO_new_mem_buf(bytes, (int)len);
  EVP_PKEY *key = NULL;
  const char *why;

  if (bio == NULL)
    return dx_fail_nomem(err);
  key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
  BIO_free(bio);
  if (key == NULL)
    return unfit(service, "it holds no PEM private key without a password",
                 err);
  why = misfit(key, a);
  if (why != NULL) {
    EVP_PKEY_free(key);
    return unfit(service, why, err);
  }
  *ret_key = key;
  return DX_OK;
}

/* ---- signatures ---- */

static enum dx_code sign_hmac(const struct dx_service *service,
                              const struct algorithm *a, const char *key,
                              size_t key_len, const struct dx_buf *text,
                              unsigned char *signature, size_t *ret_len,
                              struct dx_err *err)
{
  size_t len = 0;

  if (key_len > 0 && key[key_len - 1] == '\n')
    key_len--; /* added by editors */
  if (key_len < a->hash_bytes)
    return unfit(service,
                 "it is too short; HS256 needs 32 bytes, HS384 48, "
                 "HS512 64",
                 err);
  if (EVP_Q_mac(NULL, "HMAC", NULL, a->hash, NULL, key, key_len,
                (const unsigned char *)text->data, text->len, signature,
                SIGNATURE_MAX, &len) == NULL)
    return dx_fail_nomem(err);
  *ret_len = len;
  return DX_OK;
}

static bool set_padding(EVP_PKEY_CTX *ctx, const struct algorithm *a)
{
  if (a->family != PS)
    return true;
  return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) > 0 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) > 0;
}

/* ASN.1 to r and s side by side, RFC 7518 section 3.4. */
static bool to_raw(unsigned char *signature, size_t *len, size_t part)
{
  const unsigned char *p = signature;
  ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &p, (long)*len);
  bool ok;

  if (sig == NULL)
    return false;
  ok = BN_bn2binpad(ECDSA_SIG_get0_r(sig), signature, (int)part) > 0 &&
       BN_bn2binpad(ECDSA_SIG_get0_s(sig), signature + part, (int)part) > 0;
  ECDSA_SIG_free(sig);
  *len = 2 * part;
  return ok;
}

static bool sign_with(EVP_PKEY *key, const struct algorithm *a,
                      const struct dx_buf *text, unsigned char *signature,
                      size_t *ret_len)
{
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  EVP_PKEY_CTX *key_ctx = NULL;
  size_t len = SIGNATURE_MAX;
  bool ok = ctx != NULL &&
            EVP_DigestSignInit_ex(ctx, &key_ctx, a->hash, NULL, NULL, key,
                                  NULL) == 1 &&
            set_padding(key_ctx, a) &&
            EVP_DigestSign(ctx, signature, &len,
                           (const unsigned char *)text->data, text->len) == 1 &&
            (a->family != ES || to_raw(signature, &len, a->part_bytes));

  EVP_MD_CTX_free(ctx);
  *ret_len = len;
  return ok;
}

static enum dx_code sign_key(const struct dx_service *service,
                             const struct algorithm *a, const char *bytes,
                             size_t bytes_len, const struct dx_buf *text,
                             unsigned char *signature, size_t *ret_len,
                             struct dx_err *err)
{
  EVP_PKEY *key = NULL;
  enum dx_code code = read_key(service, bytes, bytes_len, a, &key, err);

  if (code != DX_OK)
    return code;
  if (!sign_with(key, a, text, signature, ret_len))
    code = unfit(service, "signing failed", err);
  EVP_PKEY_free(key);
  return code;
}

enum dx_code dx_jwt_sign(const struct dx_service *service, const char *key,
                         size_t key_len, int64_t offset_s, struct dx_buf *ret,
                         struct dx_err *err)
{
  const struct algorithm *a = &algorithms[service->token_algorithm];
  unsigned char signature[SIGNATURE_MAX];
  size_t len = 0;
  enum dx_code code;

  if (!add_header(ret, service))
    return dx_fail_nomem(err);
  dx_buf_puts(ret, ".");
  if (!add_claims(ret, service, offset_s) || !dx_buf_ok(ret))
    return dx_fail_nomem(err);
  code = a->family == HS
             ? sign_hmac(service, a, key, key_len, ret, signature, &len, err)
             : sign_key(service, a, key, key_len, ret, signature, &len, err);
  if (code != DX_OK)
    return code;
  dx_buf_puts(ret, ".");
  add_base64url(ret, signature, len);
  return dx_buf_ok(ret) ? DX_OK : dx_fail_nomem(err);
}
