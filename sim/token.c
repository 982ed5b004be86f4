/*
 * token.c - who may call: bearers of a signed token (JWT), of one fixed
 * token, or of any token.
 */
#include "sim/token.h"

#include "sim/util.h"

#include <cjson/cJSON.h>
#include <err.h>
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

#define PART_BYTES_MAX 8192u
#define LEEWAY_S 30
#define LIFETIME_MAX_S 3600

static const struct algorithm {
  const char *name;
  const char *digest;
  int key_type;
  int curve_bits; /* ES: r and s take this many bits each, rounded up */
} algorithms[] = {
    {"HS256", "SHA256", EVP_PKEY_HMAC, 0},
    {"HS384", "SHA384", EVP_PKEY_HMAC, 0},
    {"HS512", "SHA512", EVP_PKEY_HMAC, 0},
    {"RS256", "SHA256", EVP_PKEY_RSA, 0},
    {"RS384", "SHA384", EVP_PKEY_RSA, 0},
    {"RS512", "SHA512", EVP_PKEY_RSA, 0},
    {"PS256", "SHA256", EVP_PKEY_RSA, 0},
    {"PS384", "SHA384", EVP_PKEY_RSA, 0},
    {"PS512", "SHA512", EVP_PKEY_RSA, 0},
    {"ES256", "SHA256", EVP_PKEY_EC, 256},
    {"ES384", "SHA384", EVP_PKEY_EC, 384},
    {"ES512", "SHA512", EVP_PKEY_EC, 521},
    {"EdDSA", NULL, EVP_PKEY_ED25519, 0},
};

struct sim_token {
  const struct sim_options *options;
  const struct algorithm *algorithm; /* NULL: no signed tokens */
  EVP_PKEY *key;                     /* all but HS */
  char *secret;                      /* HS: the key; else the fixed token */
  size_t secret_len;
};

/* A part of a token, decoded; `bytes` has a NUL after it. */
struct part {
  unsigned char bytes[PART_BYTES_MAX + 4];
  size_t len;
};

static const struct algorithm *find_algorithm(const char *name)
{
  for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
    if (strcmp(algorithms[i].name, name) == 0)
      return &algorithms[i];
  return NULL;
}

static EVP_PKEY *parse_key(const char *pem, size_t len)
{
  BIO *bio = BIO_new_mem_buf(pem, (int)len);
  EVP_PKEY *key = NULL;

  if (bio != NULL)
    key = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
  (void)BIO_free(bio);
  return key;
}

/* Returns NULL, or what is wrong. */
static const char *load_key(struct sim_token *t)
{
  const struct algorithm *a = find_algorithm(t->options->algorithm);

  t->algorithm = a;
  if (a == NULL)
    return "unknown algorithm";
  if (a->key_type == EVP_PKEY_HMAC)
    return NULL;
  t->key = parse_key(t->secret, t->secret_len);
  if (t->key == NULL)
    return "the key is not a public key in PEM form";
  if (EVP_PKEY_get_base_id(t->key) != a->key_type ||
      (a->curve_bits > 0 && EVP_PKEY_get_bits(t->key) != a->curve_bits))
    return "the key does not match the algorithm";
  return NULL;
}

struct sim_token *sim_token_new(const struct sim_options *options)
{
  const char *path =
      options->key_file != NULL ? options->key_file : options->token_file;
  struct sim_token *t = calloc(1, sizeof(*t));
  const char *wrong = NULL;

  if (t == NULL)
    return NULL;
  t->options = options;
  if (path == NULL)
    return t;
  t->secret = sim_read_file(path, &t->secret_len);
  if (t->secret == NULL) {
    sim_token_free(t);
    return NULL;
  }
  while (t->secret_len > 0 && t->secret[t->secret_len - 1] == '\n')
    t->secret_len--;
  if (t->secret_len == 0)
    wrong = "the file is empty";
  else if (options->key_file != NULL)
    wrong = load_key(t);
  if (wrong == NULL)
    return t;
  warnx("token check: %s", wrong);
  sim_token_free(t);
  return NULL;
}

/* Decodes base64url without padding, as tokens have it. */
static bool decode(const char *text, struct part *ret)
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

static bool hmac_good(const struct sim_token *t, const char *text, size_t len,
                      const struct part *signature)
{
  const EVP_MD *md = EVP_get_digestbyname(t->algorithm->digest);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned n = 0;

  return HMAC(md, t->secret, (int)t->secret_len, (const unsigned char *)text,
              len, mac, &n) != NULL &&
         signature->len == n && CRYPTO_memcmp(signature->bytes, mac, n) == 0;
}

/* Turns r||s into the DER form that OpenSSL takes. */
static bool ecdsa_to_der(int curve_bits, struct part *signature)
{
  int half = (curve_bits + 7) / 8;
  ECDSA_SIG *s = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(signature->bytes, half, NULL);
  BIGNUM *v = BN_bin2bn(signature->bytes + half, half, NULL);
  unsigned char *der = signature->bytes;
  int n = -1;

  if (s != NULL && r != NULL && v != NULL &&
      signature->len == (size_t)half * 2 && ECDSA_SIG_set0(s, r, v) == 1) {
    r = NULL; /* now part of s */
    v = NULL;
    n = i2d_ECDSA_SIG(s, &der);
  }
  ECDSA_SIG_free(s);
  BN_free(r);
  BN_free(v);
  signature->len = n < 0 ? 0 : (size_t)n;
  return n > 0;
}

static bool signature_good(const struct sim_token *t, const char *text,
                           size_t len, struct part *signature)
{
  const struct algorithm *a = t->algorithm;
  EVP_MD_CTX *ctx = NULL;
  EVP_PKEY_CTX *pctx = NULL; /* belongs to ctx */
  bool good;

  if (a->key_type == EVP_PKEY_HMAC)
    return hmac_good(t, text, len, signature);
  if (a->key_type == EVP_PKEY_EC && !ecdsa_to_der(a->curve_bits, signature))
    return false;
  ctx = EVP_MD_CTX_new();
  good = ctx != NULL && EVP_DigestVerifyInit_ex(ctx, &pctx, a->digest, NULL,
                                                NULL, t->key, NULL) == 1;
  if (good && a->name[0] == 'P')
    good = EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx, RSA_PSS_SALTLEN_DIGEST) == 1;
  good = good && EVP_DigestVerify(ctx, signature->bytes, signature->len,
                                  (const unsigned char *)text, len) == 1;
  EVP_MD_CTX_free(ctx);
  return good;
}

static const char *header_error(const struct sim_token *t, const cJSON *h)
{
  if (strcmp(sim_text_of(h, "alg"), t->algorithm->name) != 0)
    return "wrong algorithm";
  if (t->options->key_id != NULL &&
      strcmp(sim_text_of(h, "kid"), t->options->key_id) != 0)
    return "wrong key ID";
  return NULL;
}

static bool claim_made(const cJSON *payload, const char *claim)
{
  char *name = strdup(claim);
  bool made = false;

  if (name != NULL) {
    name[strcspn(name, "=")] = '\0';
    made = strcmp(sim_text_of(payload, name), claim + strlen(name) + 1) == 0;
  }
  free(name);
  return made;
}

static const char *payload_error(const struct sim_token *t, const cJSON *p,
                                 double now)
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
  for (size_t i = 0; i < t->options->n_claims; i++)
    if (!claim_made(p, t->options->claims[i]))
      return "a claim is missing or different";
  return NULL;
}

static cJSON *decode_json(const char *text)
{
  struct part part;

  return decode(text, &part) ? cJSON_ParseWithOpts((char *)part.bytes, NULL, 1)
                             : NULL;
}

/* Checks `token`, of which `copy` will be cut into its parts. */
static const char *jwt_error(const struct sim_token *t, const char *token,
                             char *copy, int64_t now_s)
{
  const char *error = "not a signed token";
  cJSON *header = decode_json(strsep(&copy, "."));
  cJSON *payload = copy == NULL ? NULL : decode_json(strsep(&copy, "."));
  struct part signature = {0};

  if (header != NULL && payload != NULL && copy != NULL)
    error = header_error(t, header);
  if (error == NULL &&
      (!decode(copy, &signature) ||
       !signature_good(t, token, strlen(token) - strlen(copy) - 1, &signature)))
    error = "invalid signature";
  if (error == NULL)
    error = payload_error(t, payload, (double)now_s);
  cJSON_Delete(header);
  cJSON_Delete(payload);
  return error;
}

const char *sim_token_error(const struct sim_token *t, const char *header,
                            int64_t now_s)
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
  if (t->secret == NULL)
    return NULL;
  if (t->algorithm == NULL)
    return strlen(token) == t->secret_len &&
                   CRYPTO_memcmp(token, t->secret, t->secret_len) == 0
               ? NULL
               : "wrong token";
  copy = strdup(token);
  error = copy == NULL ? "out of memory" : jwt_error(t, token, copy, now_s);
  free(copy);
  return error;
}

void sim_token_free(struct sim_token *t)
{
  if (t == NULL)
    return;
  EVP_PKEY_free(t->key);
  free(t->secret);
  free(t);
}
