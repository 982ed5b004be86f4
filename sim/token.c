/*
 * token.c - checks bearer tokens: signed tokens (JWT), one fixed token, or any
 * token.
 */
#include "sim/sim.h"

#include <cjson/cJSON.h>
#include <err.h>
#include <fnmatch.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>

#define PART_BYTES_MAX 8192u
#define LEEWAY_S 30
#define LIFETIME_MAX_S 3600

/* of the algorithm; 0: no signed tokens */
static int key_type;
static int curve_bits;  /* ES: of r, and of s; rounded up to bytes */
static char digest[16]; /* "": none */
static EVP_PKEY *key;   /* for all but HS */
static char *secret;    /* HS: the key; else the fixed token */
static size_t secret_len;

/* A part of a token, decoded; a NUL follows `bytes`. */
struct part {
  unsigned char bytes[PART_BYTES_MAX + 4];
  size_t len;
};

static void token_load_key(void)
{
  BIO *bio = sim_new(BIO_new_mem_buf(secret, (int)secret_len));
  const char *name = sim_service.options.algorithm;
  bool is_eddsa = strcmp(name, "EdDSA") == 0;

  if (!is_eddsa && fnmatch("[HRPE]S@(256|384|512)", name, FNM_EXTMATCH) != 0)
    errx(EX_UNAVAILABLE, "token check: unknown algorithm");
  key_type = is_eddsa         ? EVP_PKEY_ED25519
             : name[0] == 'H' ? EVP_PKEY_HMAC
             : name[0] == 'E' ? EVP_PKEY_EC
                              : EVP_PKEY_RSA;
  if (!is_eddsa)
    (void)snprintf(digest, sizeof(digest), "SHA%s", name + 2);
  if (key_type == EVP_PKEY_EC)
    curve_bits = name[2] == '5' ? 521 : atoi(name + 2);
  if (key_type != EVP_PKEY_HMAC) {
    key = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    if (key == NULL)
      errx(EX_UNAVAILABLE,
           "token check: the key is not a public key in PEM form");
    if (EVP_PKEY_get_base_id(key) != key_type ||
        (curve_bits > 0 && EVP_PKEY_get_bits(key) != curve_bits))
      errx(EX_UNAVAILABLE, "token check: the key does not match the algorithm");
  }
  (void)BIO_free(bio);
}

void sim_token_load(void)
{
  const struct sim_options *o = &sim_service.options;
  const char *path = o->key_file != NULL ? o->key_file : o->token_file;

  if (path == NULL)
    return;
  secret = sim_read_file(path, &secret_len);
  while (secret_len > 0 && secret[secret_len - 1] == '\n')
    secret_len--;
  if (secret_len == 0)
    errx(EX_UNAVAILABLE, "token check: the file is empty");
  if (o->key_file != NULL)
    token_load_key();
}

/* Decodes base64url without padding, as used in tokens. */
static bool token_decode(const char *text, struct part *ret)
{
  char padded[PART_BYTES_MAX + 4];
  size_t len = strlen(text);
  size_t padding = (4 - len % 4) % 4;
  int n;

  if (len + padding > PART_BYTES_MAX || padding == 3 ||
      strpbrk(text, "+/= \t\r\n") != NULL)
    return false;
  for (size_t i = 0; i < len; i++)
    padded[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
  memset(padded + len, '=', padding);
  n = EVP_DecodeBlock(ret->bytes, (unsigned char *)padded,
                      (int)(len + padding));
  if (n < (int)padding)
    return false;
  ret->len = (size_t)n - padding;
  ret->bytes[ret->len] = '\0';
  return true;
}

/* Converts r||s to DER, which OpenSSL requires. */
static bool token_ecdsa_to_der(struct part *signature)
{
  int half = (curve_bits + 7) / 8;
  ECDSA_SIG *s = sim_new(ECDSA_SIG_new());
  unsigned char *der = signature->bytes;
  int n = -1;

  if (signature->len == (size_t)half * 2 &&
      ECDSA_SIG_set0(s, BN_bin2bn(der, half, NULL),
                     BN_bin2bn(der + half, half, NULL)) == 1)
    n = i2d_ECDSA_SIG(s, &der);
  ECDSA_SIG_free(s);
  signature->len = n < 0 ? 0 : (size_t)n;
  return n > 0;
}

static bool token_signature_good(const char *text, size_t len,
                                 struct part *signature)
{
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  EVP_MD_CTX *ctx;
  EVP_PKEY_CTX *pctx = NULL; /* belongs to ctx */
  bool good;

  if (key_type == EVP_PKEY_HMAC)
    return HMAC(EVP_get_digestbyname(digest), secret, (int)secret_len,
                (const unsigned char *)text, len, mac, &n) != NULL &&
           signature->len == n && CRYPTO_memcmp(signature->bytes, mac, n) == 0;
  if (key_type == EVP_PKEY_EC && !token_ecdsa_to_der(signature))
    return false;
  ctx = sim_new(EVP_MD_CTX_new());
  good = EVP_DigestVerifyInit_ex(ctx, &pctx, digest[0] != 0 ? digest : NULL,
                                 NULL, NULL, key, NULL) == 1;
  if (good && sim_service.options.algorithm[0] == 'P')
    good = EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx, RSA_PSS_SALTLEN_DIGEST) == 1;
  good = good && EVP_DigestVerify(ctx, signature->bytes, signature->len,
                                  (const unsigned char *)text, len) == 1;
  EVP_MD_CTX_free(ctx);
  return good;
}

static const char *token_payload_error(const cJSON *p, double now)
{
  const cJSON *exp = cJSON_GetObjectItemCaseSensitive(p, "exp");
  const cJSON *iat = cJSON_GetObjectItemCaseSensitive(p, "iat");

  if (!cJSON_IsNumber(exp) || !cJSON_IsNumber(iat))
    return "no exp or iat";
  if (now > exp->valuedouble + LEEWAY_S)
    return "expired";
  if (iat->valuedouble > now + LEEWAY_S)
    return "issued in the future";
  if (exp->valuedouble - iat->valuedouble > LIFETIME_MAX_S)
    return "valid for more than an hour";
  if (*sim_text_of(p, "jti") == '\0')
    return "no jti";
  for (size_t i = 0; i < sim_service.options.n_claims; i++) {
    const char *claim = sim_service.options.claims[i];
    char *name = sim_new(strndup(claim, strcspn(claim, "=")));
    bool made = strcmp(sim_text_of(p, name), claim + strlen(name) + 1) == 0;

    free(name);
    if (!made)
      return "a claim is missing or different";
  }
  return NULL;
}

static cJSON *token_decode_json(const char *text)
{
  struct part part;

  return token_decode(text, &part)
             ? cJSON_ParseWithOpts((char *)part.bytes, NULL, 1)
             : NULL;
}

/* Checks `token`; splits `copy`, a copy of it, into its parts. */
static const char *token_jwt_error(const char *token, char *copy, int64_t now_s)
{
  const char *key_id = sim_service.options.key_id;
  const char *error = NULL;
  cJSON *header = token_decode_json(strsep(&copy, "."));
  cJSON *payload = copy == NULL ? NULL : token_decode_json(strsep(&copy, "."));
  struct part signature = {0};

  if (header == NULL || payload == NULL || copy == NULL)
    error = "not a signed token";
  else if (strcmp(sim_text_of(header, "alg"), sim_service.options.algorithm) !=
           0)
    error = "wrong algorithm";
  else if (key_id != NULL && strcmp(sim_text_of(header, "kid"), key_id) != 0)
    error = "wrong key ID";
  else if (!token_decode(copy, &signature) ||
           !token_signature_good(token, strlen(token) - strlen(copy) - 1,
                                 &signature))
    error = "invalid signature";
  else
    error = token_payload_error(payload, (double)now_s);
  cJSON_Delete(header);
  cJSON_Delete(payload);
  return error;
}

const char *sim_token_error(const char *header, int64_t now_s)
{
  const char *error;
  const char *token;
  char *copy;

  if (header == NULL)
    return "no token";
  if (strncasecmp(header, "Bearer ", 7) != 0)
    return "not a bearer token";
  token = header + 7 + strspn(header + 7, " ");
  if (*token == '\0')
    return "empty token";
  if (secret == NULL)
    return NULL;
  if (key_type == 0)
    return strlen(token) == secret_len &&
                   CRYPTO_memcmp(token, secret, secret_len) == 0
               ? NULL
               : "wrong token";
  copy = sim_new(strdup(token));
  error = token_jwt_error(token, copy, now_s);
  free(copy);
  return error;
}
