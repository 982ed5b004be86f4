/*
 * token.c - who may call: a signed token (JWT), one fixed token, or anyone.
 */
#include "sim/token.h"

#include "sim/file.h"

#include <cjson/cJSON.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_BYTES_MAX 65536u
#define PART_BYTES_MAX 8192u
#define LEEWAY_S 30
#define LIFE_MAX_S 3600

enum family { HS, RS, PS, ES, ED };

struct algorithm {
  const char *name;
  enum family family;
  const char *digest;
  int curve_bits; /* ES: r and s take this many bits each, rounded up */
};

static const struct algorithm algorithms[] = {
    {"HS256", HS, "SHA256", 0},   {"HS384", HS, "SHA384", 0},
    {"HS512", HS, "SHA512", 0},   {"RS256", RS, "SHA256", 0},
    {"RS384", RS, "SHA384", 0},   {"RS512", RS, "SHA512", 0},
    {"PS256", PS, "SHA256", 0},   {"PS384", PS, "SHA384", 0},
    {"PS512", PS, "SHA512", 0},   {"ES256", ES, "SHA256", 256},
    {"ES384", ES, "SHA384", 384}, {"ES512", ES, "SHA512", 521},
    {"EdDSA", ED, NULL, 0},
};

struct sim_token {
  const struct sim_options *options;
  const struct algorithm *algorithm; /* NULL: no signed tokens */
  EVP_PKEY *key;                     /* all but HS */
  char *secret;                      /* HS: the key; else the fixed token */
  size_t secret_len;
};

struct part {
  const char *text;
  size_t len;
};

/* header.payload.signature, still encoded */
struct jwt {
  struct part header;
  struct part payload;
  struct part signature;
  size_t signed_len; /* header.payload */
};

static const struct algorithm *find_algorithm(const char *name)
{
  for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
    if (strcmp(algorithms[i].name, name) == 0)
      return &algorithms[i];
  return NULL;
}

static bool key_fits(const struct algorithm *a, const EVP_PKEY *key)
{
  int type = EVP_PKEY_get_base_id(key);

  switch (a->family) {
  case RS:
    return type == EVP_PKEY_RSA;
  case PS:
    return type == EVP_PKEY_RSA || type == EVP_PKEY_RSA_PSS;
  case ES:
    return type == EVP_PKEY_EC && EVP_PKEY_get_bits(key) == a->curve_bits;
  case ED:
    return type == EVP_PKEY_ED25519 || type == EVP_PKEY_ED448;
  case HS:
    break;
  }
  return false;
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

/* Reads the key the algorithm wants; NULL, or what is wrong. */
static const char *load_key(struct sim_token *t)
{
  t->algorithm = find_algorithm(t->options->algorithm);
  if (t->algorithm == NULL)
    return "unknown algorithm";
  t->secret =
      sim_file_read(t->options->key_file, KEY_BYTES_MAX, &t->secret_len);
  if (t->secret == NULL)
    return "cannot read the key";
  if (t->algorithm->family == HS) {
    if (t->secret_len > 0 && t->secret[t->secret_len - 1] == '\n')
      t->secret_len--;
    return t->secret_len == 0 ? "the key is empty" : NULL;
  }
  t->key = parse_key(t->secret, t->secret_len);
  if (t->key == NULL)
    return "the key is not a public key in PEM form";
  return key_fits(t->algorithm, t->key) ? NULL
                                        : "the key does not fit the algorithm";
}

static const char *load_fixed(struct sim_token *t)
{
  size_t start;

  t->secret =
      sim_file_read(t->options->token_file, KEY_BYTES_MAX, &t->secret_len);
  if (t->secret == NULL)
    return "cannot read the token";
  while (t->secret_len > 0 &&
         strchr(" \t\r\n", t->secret[t->secret_len - 1]) != NULL)
    t->secret[--t->secret_len] = '\0';
  start = strspn(t->secret, " \t\r\n");
  t->secret_len -= start;
  memmove(t->secret, t->secret + start, t->secret_len + 1);
  return t->secret_len == 0 ? "the token is empty" : NULL;
}

struct sim_token *sim_token_new(const struct sim_options *options)
{
  struct sim_token *t = calloc(1, sizeof(*t));
  const char *wrong = NULL;

  if (t == NULL)
    return NULL;
  t->options = options;
  if (options->key_file != NULL)
    wrong = load_key(t);
  else if (options->token_file != NULL)
    wrong = load_fixed(t);
  if (wrong == NULL)
    return t;
  (void)fprintf(stderr, "docextract-sim: token check: %s\n", wrong);
  sim_token_free(t);
  return NULL;
}

/* The value of one character of base64url; -1 for any other. */
static int digit64(char c)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                               "uvwxyz0123456789-_";
  const char *p = c == '\0' ? NULL : strchr(digits, c);

  return p == NULL ? -1 : (int)(p - digits);
}

/*
 * Decodes base64url without padding; bits that are left over must be zero.
 * The caller's buffer has PART_BYTES_MAX + 1 bytes and gets a NUL.
 */
static bool decode64(struct part in, unsigned char *ret, size_t *ret_len)
{
  unsigned acc = 0;
  unsigned bits = 0;
  size_t n = 0;

  if (in.len % 4 == 1 || in.len / 4 * 3 + 3 > PART_BYTES_MAX)
    return false;
  for (size_t i = 0; i < in.len; i++) {
    int d = digit64(in.text[i]);

    if (d < 0)
      return false;
    acc = (acc << 6 | (unsigned)d) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      ret[n++] = (unsigned char)(acc >> bits);
    }
  }
  ret[n] = '\0';
  *ret_len = n;
  return (acc & ((1u << bits) - 1)) == 0;
}

static bool split(const char *token, struct jwt *ret)
{
  const char *dot1 = strchr(token, '.');
  const char *dot2 = dot1 == NULL ? NULL : strchr(dot1 + 1, '.');

  if (dot2 == NULL)
    return false;
  ret->header = (struct part){token, (size_t)(dot1 - token)};
  ret->payload = (struct part){dot1 + 1, (size_t)(dot2 - dot1 - 1)};
  ret->signature = (struct part){dot2 + 1, strlen(dot2 + 1)};
  ret->signed_len = (size_t)(dot2 - token);
  return true;
}

static bool hmac_good(const struct sim_token *t, const struct jwt *j,
                      const unsigned char *sig, size_t sig_len)
{
  const EVP_MD *md = EVP_get_digestbyname(t->algorithm->digest);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned mac_len = 0;

  if (HMAC(md, t->secret, (int)t->secret_len,
           (const unsigned char *)j->header.text, j->signed_len, mac,
           &mac_len) == NULL)
    return false;
  return sig_len == mac_len && CRYPTO_memcmp(sig, mac, mac_len) == 0;
}

/* Turns r||s into the DER form OpenSSL wants; NULL when it is not that. */
static unsigned char *ecdsa_der(const struct algorithm *a,
                                const unsigned char *sig, size_t sig_len,
                                size_t *ret_len)
{
  int half = (a->curve_bits + 7) / 8;
  ECDSA_SIG *s = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(sig, half, NULL);
  BIGNUM *v = BN_bin2bn(sig + half, half, NULL);
  unsigned char *der = NULL;
  int n = -1;

  if (s != NULL && r != NULL && v != NULL && sig_len == (size_t)half * 2 &&
      ECDSA_SIG_set0(s, r, v) == 1) {
    r = NULL; /* now part of s */
    v = NULL;
    n = i2d_ECDSA_SIG(s, &der);
  }
  ECDSA_SIG_free(s);
  BN_free(r);
  BN_free(v);
  *ret_len = n < 0 ? 0 : (size_t)n;
  return der;
}

static bool evp_good(const struct sim_token *t, const struct jwt *j,
                     const unsigned char *sig, size_t sig_len)
{
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  EVP_PKEY_CTX *pctx = NULL; /* belongs to ctx */
  bool good = false;

  if (ctx == NULL || EVP_DigestVerifyInit_ex(ctx, &pctx, t->algorithm->digest,
                                             NULL, NULL, t->key, NULL) != 1)
    goto out;
  if (t->algorithm->family == PS &&
      (EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING) != 1 ||
       EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx, RSA_PSS_SALTLEN_DIGEST) != 1))
    goto out;
  good =
      EVP_DigestVerify(ctx, sig, sig_len, (const unsigned char *)j->header.text,
                       j->signed_len) == 1;
out:
  EVP_MD_CTX_free(ctx);
  return good;
}

static bool signature_good(const struct sim_token *t, const struct jwt *j)
{
  unsigned char sig[PART_BYTES_MAX + 1] = {0};
  unsigned char *der;
  size_t len;
  bool good;

  if (!decode64(j->signature, sig, &len))
    return false;
  if (t->algorithm->family == HS)
    return hmac_good(t, j, sig, len);
  if (t->algorithm->family != ES)
    return evp_good(t, j, sig, len);
  der = ecdsa_der(t->algorithm, sig, len, &len);
  good = der != NULL && evp_good(t, j, der, len);
  OPENSSL_free(der);
  return good;
}

static cJSON *decode_json(struct part in)
{
  unsigned char text[PART_BYTES_MAX + 1];
  size_t len;
  cJSON *json;

  if (!decode64(in, text, &len))
    return NULL;
  json = cJSON_ParseWithLengthOpts((const char *)text, len + 1, NULL, 1);
  if (json != NULL && !cJSON_IsObject(json)) {
    cJSON_Delete(json);
    json = NULL;
  }
  return json;
}

/* The text of a member; "" when it is missing or no string. */
static const char *text_of(const cJSON *json, const char *name)
{
  const char *s =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));

  return s == NULL ? "" : s;
}

static const char *header_wrong(const struct sim_token *t, const cJSON *h)
{
  if (strcmp(text_of(h, "alg"), t->algorithm->name) != 0)
    return "another algorithm";
  if (t->options->key_id != NULL &&
      strcmp(text_of(h, "kid"), t->options->key_id) != 0)
    return "another key id";
  return NULL;
}

static const char *times_wrong(const cJSON *p, double now)
{
  const cJSON *exp = cJSON_GetObjectItemCaseSensitive(p, "exp");
  const cJSON *iat = cJSON_GetObjectItemCaseSensitive(p, "iat");

  if (!cJSON_IsNumber(exp) || !cJSON_IsNumber(iat))
    return "no exp or iat";
  if (now > exp->valuedouble + LEEWAY_S)
    return "expired";
  if (iat->valuedouble > now + LEEWAY_S)
    return "issued in the future";
  if (exp->valuedouble - iat->valuedouble > LIFE_MAX_S)
    return "lives longer than an hour";
  return NULL;
}

static bool claim_made(const cJSON *p, const char *claim)
{
  char name[256];
  size_t n = strcspn(claim, "=");

  if (n >= sizeof(name))
    return false;
  memcpy(name, claim, n);
  name[n] = '\0';
  return strcmp(text_of(p, name), claim + n + 1) == 0;
}

static const char *payload_wrong(const struct sim_token *t, const cJSON *p,
                                 int64_t now_s)
{
  const char *wrong = times_wrong(p, (double)now_s);

  if (wrong != NULL)
    return wrong;
  if (*text_of(p, "jti") == '\0')
    return "no jti";
  for (size_t i = 0; i < t->options->n_claims; i++)
    if (!claim_made(p, t->options->claims[i]))
      return "a claim is missing or different";
  return NULL;
}

static const char *jwt_wrong(const struct sim_token *t, const char *token,
                             int64_t now_s)
{
  const char *wrong = "not a signed token";
  struct jwt j = {0};
  cJSON *header = NULL;
  cJSON *payload = NULL;

  if (!split(token, &j))
    return wrong;
  header = decode_json(j.header);
  payload = decode_json(j.payload);
  if (header != NULL && payload != NULL)
    wrong = header_wrong(t, header);
  if (wrong == NULL && !signature_good(t, &j))
    wrong = "wrong signature";
  if (wrong == NULL)
    wrong = payload_wrong(t, payload, now_s);
  cJSON_Delete(header);
  cJSON_Delete(payload);
  return wrong;
}

const char *sim_token_wrong(const struct sim_token *t, const char *header,
                            int64_t now_s)
{
  const char *token;

  if (header == NULL)
    return "no token";
  if (strncasecmp(header, "Bearer ", 7) != 0)
    return "not a bearer token";
  token = header + 7 + strspn(header + 7, " ");
  if (*token == '\0')
    return "empty token";
  if (t->algorithm != NULL)
    return jwt_wrong(t, token, now_s);
  if (t->secret == NULL)
    return NULL;
  if (strlen(token) != t->secret_len ||
      CRYPTO_memcmp(token, t->secret, t->secret_len) != 0)
    return "another token";
  return NULL;
}

void sim_token_free(struct sim_token *t)
{
  if (t == NULL)
    return;
  EVP_PKEY_free(t->key);
  if (t->secret != NULL)
    OPENSSL_cleanse(t->secret, t->secret_len);
  free(t->secret);
  free(t);
}
