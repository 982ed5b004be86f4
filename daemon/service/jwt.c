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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/json.h"
#include "daemon/service/key_format.h"

#define DX_TOKEN_IAT_BACK_S 60 /* clocks differ */

#define RSA_MIN_BITS 2048
#define SIGNATURE_MAX 2048 /* RSA with 16384 bits */

/* An algorithm is "EdDSA", or two letters and the bits of its hash. */
static bool is_kind(const char *alg, const char *letters)
{
  return strncmp(alg, letters, 2) == 0;
}

/* base64url without padding, RFC 7515 section 2. */
static void add_base64url(struct dx_buf *buf, const void *bytes, size_t len)
{
  const unsigned char *from = bytes;
  unsigned char out[5];
  size_t i, k;

  for (i = 0; i < len; i += 3) {
    size_t part = len - i < 3 ? len - i : 3;

    (void)EVP_EncodeBlock(out, from + i, (int)part);
    for (k = 0; k < part + 1; k++)
      out[k] = out[k] == '+' ? '-' : out[k] == '/' ? '_' : out[k];
    dx_buf_add(buf, out, part + 1);
  }
}

/* Appends the two parts that are signed: header and claims. */
static bool add_parts(struct dx_buf *buf, const struct dx_service *service,
                      int64_t offset_s)
{
  int64_t now_s = dx_wall_ms() / 1000 + offset_s;
  const char *alg = dx_algorithm_names[service->token_algorithm];
  struct dx_json_out head = {0}, claims = {0};
  char id[33];
  size_t i;
  bool ok;

  dx_random_hex(id, 32);
  dx_json_open(&head, NULL, '{');
  dx_json_put_string(&head, "alg", alg);
  dx_json_put_string(&head, "typ", "JWT");
  if (service->token_key_id != NULL)
    dx_json_put_string(&head, "kid", service->token_key_id);
  dx_json_close(&head, '}');
  dx_json_open(&claims, NULL, '{');
  dx_json_put_int(&claims, "iat", now_s - DX_TOKEN_IAT_BACK_S);
  if (offset_s != 0)
    dx_json_put_int(&claims, "nbf", now_s - DX_TOKEN_IAT_BACK_S);
  dx_json_put_int(&claims, "exp", now_s + service->token_lifetime_ms / 1000);
  dx_json_put_string(&claims, "jti", id);
  for (i = 0; i < service->claims.count; i++)
    dx_json_put_string(&claims, service->claims.items[i].name,
                       service->claims.items[i].value);
  dx_json_close(&claims, '}');
  ok = dx_buf_ok(&head.text) && dx_buf_ok(&claims.text);
  if (ok) {
    add_base64url(buf, head.text.data, head.text.len);
    dx_buf_puts(buf, ".");
    add_base64url(buf, claims.text.data, claims.text.len);
  }
  dx_buf_release(&head.text);
  dx_buf_release(&claims.text);
  return ok && dx_buf_ok(buf);
}

/* ---- keys ---- */

static enum dx_code unfit(const struct dx_service *service, const char *why,
                          struct dx_err *err)
{
  ERR_clear_error();
  return dx_fail(err, DX_E_KEY, 0, "TokenKeyFile '%s' does not match %s: %s",
                 service->token_key_file,
                 dx_algorithm_names[service->token_algorithm], why);
}

/* Returns why a key does not fit; NULL if it fits. */
static const char *misfit(EVP_PKEY *key, const char *alg)
{
  bool is_rsa = EVP_PKEY_is_a(key, "RSA");
  const char *curve = strcmp(alg, "ES256") == 0   ? "prime256v1"
                      : strcmp(alg, "ES384") == 0 ? "secp384r1"
                                                  : "secp521r1";
  char name[64];
  size_t len;

  if (is_kind(alg, "RS") || is_kind(alg, "PS")) {
    if (!is_rsa && (alg[0] == 'R' || !EVP_PKEY_is_a(key, "RSA-PSS")))
      return "it is not an RSA key";
    return EVP_PKEY_get_bits(key) >= RSA_MIN_BITS
               ? NULL
               : "it is shorter than 2048 bits";
  }
  if (is_kind(alg, "ES")) {
    if (!EVP_PKEY_is_a(key, "EC"))
      return "it is not an EC key";
    return EVP_PKEY_get_group_name(key, name, sizeof(name), &len) == 1 &&
                   strcmp(name, curve) == 0
               ? NULL
               : "it is on another curve";
  }
  return EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "ED448")
             ? NULL
             : "it is not an Ed25519 or Ed448 key";
}

/* The caller frees *ret_key, even after a failure. */
static enum dx_code read_key(const struct dx_service *service,
                             const char *bytes, size_t len, const char *alg,
                             EVP_PKEY **ret_key, struct dx_err *err)
{
  char password[] = ""; /* otherwise OpenSSL asks on the terminal */
  const char *why;
  BIO *bio;

  if (is_kind(alg, "HS")) {
    why = dx_secret_misformat(bytes, len);
    if (why != NULL)
      return unfit(service, why, err);
    len = dx_secret_len(bytes, len);
    if (len < (size_t)atoi(alg + 2) / 8)
      return unfit(service,
                   "it is too short; HS256 needs 32 bytes, HS384 48, HS512 64",
                   err);
    *ret_key = EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, NULL,
                                            (const unsigned char *)bytes, len);
    return *ret_key != NULL ? DX_OK : dx_fail_nomem(err);
  }
  bio = BIO_new_mem_buf(bytes, (int)len);
  if (bio == NULL)
    return dx_fail_nomem(err);
  *ret_key = PEM_read_bio_PrivateKey(bio, NULL, NULL, password);
  BIO_free(bio);
  why = *ret_key != NULL ? misfit(*ret_key, alg)
                         : dx_private_key_misformat(bytes, len);
  return why == NULL ? DX_OK : unfit(service, why, err);
}

/* ---- signatures ---- */

/* Converts ASN.1 to r followed by s, RFC 7518 section 3.4. */
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

static bool sign_with(EVP_PKEY *key, const char *alg, const struct dx_buf *text,
                      unsigned char *signature, size_t *ret_len)
{
  size_t part = ((size_t)EVP_PKEY_get_bits(key) + 7) / 8; /* of r, and of s */
  char hash[16];
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  EVP_PKEY_CTX *key_ctx = NULL;
  size_t len = SIGNATURE_MAX;
  bool ok;

  (void)snprintf(hash, sizeof(hash), "SHA%s", alg + 2);
  ok = ctx != NULL &&
       EVP_DigestSignInit_ex(ctx, &key_ctx, is_kind(alg, "Ed") ? NULL : hash,
                             NULL, NULL, key, NULL) == 1 &&
       (!is_kind(alg, "PS") ||
        (EVP_PKEY_CTX_set_rsa_padding(key_ctx, RSA_PKCS1_PSS_PADDING) > 0 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(key_ctx, RSA_PSS_SALTLEN_DIGEST) >
             0)) &&
       EVP_DigestSign(ctx, signature, &len, (const unsigned char *)text->data,
                      text->len) == 1 &&
       (!is_kind(alg, "ES") || to_raw(signature, &len, part));

  EVP_MD_CTX_free(ctx);
  *ret_len = len;
  return ok;
}

enum dx_code dx_jwt_sign(const struct dx_service *service, const char *key,
                         size_t key_len, int64_t offset_s, struct dx_buf *ret,
                         struct dx_err *err)
{
  const char *alg = dx_algorithm_names[service->token_algorithm];
  unsigned char signature[SIGNATURE_MAX];
  EVP_PKEY *pkey = NULL;
  size_t len = 0;
  enum dx_code code;

  if (!add_parts(ret, service, offset_s))
    return dx_fail_nomem(err);
  code = read_key(service, key, key_len, alg, &pkey, err);
  if (code == DX_OK && !sign_with(pkey, alg, ret, signature, &len))
    code = unfit(service, "signing failed", err);
  EVP_PKEY_free(pkey);
  if (code != DX_OK)
    return code;
  dx_buf_puts(ret, ".");
  add_base64url(ret, signature, len);
  return dx_buf_ok(ret) ? DX_OK : dx_fail_nomem(err);
}
