/*
 * test_token.c - daemon/service/token.c and daemon/service/jwt.c: signatures
 * that OpenSSL verifies, and tokens from keys, files and commands.
 */
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/user.h"
#include "daemon/service/jwt.h"
#include "daemon/service/token.h"

#define NOW_S 1769860800 /* 2026-01-31T12:00:00Z */
#define SECRET64 \
  "SECRETSECRETSECRETSECRETSECRET0123456789abcdefghijklmnopqrstuvwx"

static char dir[64];
static char key_path[96], token_path[96], script_path[96], out_path[96];
static char command[160];

/* ---- a clock that stands still, or steps at every reading ---- */

static int64_t boot_ms, boot_step_ms;

static int64_t fake_boot(void)
{
  boot_ms += boot_step_ms;
  return boot_ms;
}

static int64_t fake_wall(void)
{
  return NOW_S * 1000LL;
}

static const struct dx_clock fake = {fake_boot, fake_wall};

static int64_t real_ms(void)
{
  struct timespec now;

  assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static int set_up(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0)
    return -1;
  (void)snprintf(key_path, sizeof(key_path), "%s/key", dir);
  (void)snprintf(token_path, sizeof(token_path), "%s/token", dir);
  (void)snprintf(script_path, sizeof(script_path), "%s/script", dir);
  (void)snprintf(out_path, sizeof(out_path), "%s/out", dir);
  (void)snprintf(command, sizeof(command), "/bin/sh %s", script_path);
  boot_ms = 1000000;
  boot_step_ms = 0;
  dx_clock_use(&fake);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  dx_clock_use(NULL);
  (void)unlink(key_path);
  (void)unlink(token_path);
  (void)unlink(script_path);
  (void)unlink(out_path);
  return rmdir(dir);
}

static void write_file(const char *path, const char *bytes, size_t len)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, len), (ssize_t)len);
  (void)close(fd);
}

static void write_text(const char *path, const char *text)
{
  write_file(path, text, strlen(text));
}

static struct dx_service key_service(enum dx_algorithm algorithm)
{
  return (struct dx_service){.token = DX_TOKEN_KEY,
                             .token_key_file = key_path,
                             .token_algorithm = algorithm,
                             .token_lifetime_ms = 300000};
}

static struct dx_service file_service(void)
{
  return (struct dx_service){.token = DX_TOKEN_FILE, .token_file = token_path};
}

/* The command runs a script of these lines. */
static struct dx_service command_service(const char *script)
{
  write_text(script_path, script);
  return (struct dx_service){.token = DX_TOKEN_COMMAND,
                             .token_command = command};
}

/* The token of a new object; "" and *err if there is none. */
static enum dx_code token_of(const struct dx_service *service, char *ret_text,
                             size_t size, struct dx_err *err)
{
  struct dx_token token = {.service = service, .stop_fd = -1};
  const char *text = NULL;
  enum dx_code code;

  memset(err, 0, sizeof(*err));
  code = dx_token_get(&token, 0, &text, err);
  assert_int_equal(code != DX_OK, text == NULL);
  (void)snprintf(ret_text, size, "%s", text != NULL ? text : "");
  dx_token_forget(&token);
  return code;
}

static void check_token(const struct dx_service *service, const char *expected)
{
  char text[256];
  struct dx_err err;

  if (token_of(service, text, sizeof(text), &err) != DX_OK)
    fail_msg("%s", err.text);
  assert_string_equal(text, expected);
}

/* E_KEY with this text in the message, and no secret. */
static void check_no_token(const struct dx_service *service,
                           const char *fragment)
{
  char text[4096];
  struct dx_err err;

  if (token_of(service, text, sizeof(text), &err) != DX_E_KEY)
    fail_msg("instead of '%s': '%s'", fragment, err.text);
  assert_int_equal(err.code, DX_E_KEY);
  if (strstr(err.text, fragment) == NULL)
    fail_msg("'%s' instead of '...%s...'", err.text, fragment);
  assert_null(strstr(err.text, "SECRET"));
}

/* ---- keys and signatures ---- */

/* Making an RSA key takes longer than all else here: one of each size. */
static EVP_PKEY *rsa_key(size_t bits)
{
  static EVP_PKEY *keys[2];
  EVP_PKEY **key = &keys[bits == 2048];

  if (*key == NULL)
    *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits);
  assert_int_equal(EVP_PKEY_get_bits(*key), bits);
  assert_int_equal(EVP_PKEY_up_ref(*key), 1);
  return *key;
}

static EVP_PKEY *new_key(const char *type)
{
  EVP_PKEY *key = NULL;

  if (strncmp(type, "RSA", 3) == 0)
    key = rsa_key((size_t)atoi(type + 3));
  else if (type[0] == 'P' || type[0] == 's')
    key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", type);
  else
    key = EVP_PKEY_Q_keygen(NULL, NULL, type);
  assert_non_null(key);
  return key;
}

static void save_key(EVP_PKEY *key)
{
  FILE *out = fopen(key_path, "we");

  assert_non_null(out);
  assert_int_equal(chmod(key_path, 0600), 0);
  assert_int_equal(PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL),
                   1);
  assert_int_equal(fclose(out), 0);
}

/* base64url without padding; anything else fails the test. */
static size_t decode(const char *text, size_t len, unsigned char *bytes)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqr"
                                "stuvwxyz0123456789-_";
  unsigned bits = 0, n = 0;
  size_t i, count = 0;

  assert_true(len % 4 != 1);
  for (i = 0; i < len; i++) {
    const char *at = strchr(letters, text[i]);

    assert_non_null(at);
    bits = bits << 6 | (unsigned)(at - letters);
    n += 6;
    if (n >= 8) {
      n -= 8;
      bytes[count++] = (unsigned char)(bits >> n);
      bits &= (1u << n) - 1;
    }
  }
  assert_int_equal(bits, 0); /* no stray bits at the end */
  return count;
}

struct parts {
  struct cJSON *head;
  struct cJSON *claims;
  size_t signed_len; /* of head, '.', claims */
  unsigned char signature[1024];
  size_t signature_len;
};

static void take_apart(const char *token, struct parts *ret)
{
  const char *dot = strchr(token, '.');
  const char *last = strrchr(token, '.');
  unsigned char bytes[4096];
  size_t len;

  assert_non_null(dot);
  assert_true(last > dot);
  assert_ptr_equal(strchr(dot + 1, '.'), last);
  len = decode(token, (size_t)(dot - token), bytes);
  ret->head = dx_json_parse((char *)bytes, len, NULL);
  len = decode(dot + 1, (size_t)(last - dot - 1), bytes);
  ret->claims = dx_json_parse((char *)bytes, len, NULL);
  assert_non_null(ret->head);
  assert_non_null(ret->claims);
  ret->signed_len = (size_t)(last - token);
  ret->signature_len = decode(last + 1, strlen(last + 1), ret->signature);
}

static void release_parts(struct parts *parts)
{
  dx_json_free(&parts->head);
  dx_json_free(&parts->claims);
}

static const struct row {
  enum dx_algorithm algorithm;
  const char *name;
  const char *key; /* NULL: HS */
  const char *hash;
  size_t part; /* ES: bytes of r, and of s */
} rows[] = {
    {DX_ALG_HS256, "HS256", NULL, "SHA256", 0},
    {DX_ALG_HS384, "HS384", NULL, "SHA384", 0},
    {DX_ALG_HS512, "HS512", NULL, "SHA512", 0},
    {DX_ALG_RS256, "RS256", "RSA2048", "SHA256", 0},
    {DX_ALG_RS384, "RS384", "RSA2048", "SHA384", 0},
    {DX_ALG_RS512, "RS512", "RSA2048", "SHA512", 0},
    {DX_ALG_PS256, "PS256", "RSA2048", "SHA256", 0},
    {DX_ALG_PS384, "PS384", "RSA2048", "SHA384", 0},
    {DX_ALG_PS512, "PS512", "RSA2048", "SHA512", 0},
    {DX_ALG_ES256, "ES256", "P-256", "SHA256", 32},
    {DX_ALG_ES384, "ES384", "P-384", "SHA384", 48},
    {DX_ALG_ES512, "ES512", "P-521", "SHA512", 66},
    {DX_ALG_EdDSA, "EdDSA", "ED25519", NULL, 0},
    {DX_ALG_EdDSA, "EdDSA", "ED448", NULL, 0},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* r and s side by side, as the DER that OpenSSL expects. */
static void to_asn1(struct parts *parts, size_t part)
{
  ECDSA_SIG *sig = ECDSA_SIG_new();
  unsigned char *der = NULL;
  int len;

  assert_int_equal(parts->signature_len, 2 * part);
  assert_non_null(sig);
  assert_int_equal(
      ECDSA_SIG_set0(sig, BN_bin2bn(parts->signature, (int)part, NULL),
                     BN_bin2bn(parts->signature + part, (int)part, NULL)),
      1);
  len = i2d_ECDSA_SIG(sig, &der);
  assert_true(len > 0);
  memcpy(parts->signature, der, (size_t)len);
  parts->signature_len = (size_t)len;
  OPENSSL_free(der);
  ECDSA_SIG_free(sig);
}

static int verify(const struct row *row, EVP_PKEY *key, const char *token,
                  const struct parts *parts)
{
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  EVP_PKEY_CTX *key_ctx = NULL;
  int ok;

  assert_non_null(ctx);
  assert_int_equal(
      EVP_DigestVerifyInit_ex(ctx, &key_ctx, row->hash, NULL, NULL, key, NULL),
      1);
  if (row->name[0] == 'P') {
    assert_true(EVP_PKEY_CTX_set_rsa_padding(key_ctx, RSA_PKCS1_PSS_PADDING) >
                0);
    assert_true(
        EVP_PKEY_CTX_set_rsa_pss_saltlen(key_ctx, RSA_PSS_SALTLEN_DIGEST) > 0);
  }
  ok = EVP_DigestVerify(ctx, parts->signature, parts->signature_len,
                        (const unsigned char *)token, parts->signed_len);
  EVP_MD_CTX_free(ctx);
  return ok;
}

static void verify_hmac(const struct row *row, const char *token,
                        const struct parts *parts)
{
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned len = 0;

  assert_non_null(HMAC(EVP_get_digestbyname(row->hash), SECRET64, 64,
                       (const unsigned char *)token, parts->signed_len, mac,
                       &len));
  assert_int_equal(parts->signature_len, len);
  assert_memory_equal(parts->signature, mac, len);
}

static void check_signature(const struct row *row, EVP_PKEY *key)
{
  struct dx_service service = key_service(row->algorithm);
  struct dx_token token = {.service = &service, .stop_fd = -1};
  struct dx_err err;
  struct parts parts;
  const char *text = NULL;

  if (dx_token_get(&token, 0, &text, &err) != DX_OK)
    fail_msg("%s: %s", row->name, err.text);
  take_apart(text, &parts);
  assert_string_equal(dx_json_string(dx_json_get(parts.head, "alg")),
                      row->name);
  if (row->part > 0)
    to_asn1(&parts, row->part);
  if (key == NULL)
    verify_hmac(row, text, &parts);
  else if (verify(row, key, text, &parts) != 1)
    fail_msg("%s: the signature is wrong", row->name);
  release_parts(&parts);
  dx_token_forget(&token);
}

/* Several times each: now and then r or s starts with a zero byte, of ES512
 * every second. */
static void openssl_verifies_every_algorithm(void **state)
{
  size_t i;
  int n;

  (void)state;
  assert_int_equal(ROW_COUNT, DX_ALG_COUNT + 1);
  for (i = 0; i < ROW_COUNT; i++) {
    EVP_PKEY *key = rows[i].key != NULL ? new_key(rows[i].key) : NULL;

    if (key != NULL)
      save_key(key);
    else
      write_text(key_path, SECRET64 "\n");
    for (n = 0; n < (rows[i].algorithm == DX_ALG_ES256 ? 300 : 30); n++)
      check_signature(&rows[i], key);
    EVP_PKEY_free(key);
  }
}

static int64_t number(const struct cJSON *object, const char *name)
{
  int64_t value = -1;

  assert_true(dx_json_int(dx_json_get(object, name), &value));
  return value;
}

static void claims_are_those_of_the_configuration(void **state)
{
  struct dx_item claims[] = {
      {.name = (char[]){"iss"}, .value = (char[]){"clinic \"7\""}},
      {.name = (char[]){"n"}, .value = (char[]){"42"}},
      {.name = (char[]){"t"}, .value = (char[]){"true"}}};
  struct dx_service service = key_service(DX_ALG_HS256);
  struct dx_token token = {.service = &service, .stop_fd = -1};
  struct parts parts;
  const char *text = NULL, *id;

  (void)state;
  service.token_key_id = (char[]){"2026-01"};
  memcpy(service.claims.items, claims, sizeof(claims));
  service.claims.count = 3;
  write_text(key_path, SECRET64);
  assert_int_equal(dx_token_get(&token, -90000, &text, NULL), DX_OK);
  take_apart(text, &parts);
  assert_string_equal(dx_json_string(dx_json_get(parts.head, "kid")),
                      "2026-01");
  assert_string_equal(dx_json_string(dx_json_get(parts.head, "typ")), "JWT");
  assert_int_equal(number(parts.claims, "iat"), NOW_S - 90 - 60);
  assert_int_equal(number(parts.claims, "exp"), NOW_S - 90 + 300);
  assert_int_equal(number(parts.claims, "nbf"), NOW_S - 90 - 60);
  id = dx_json_string(dx_json_get(parts.claims, "jti"));
  assert_non_null(id);
  assert_int_equal(strspn(id, "0123456789abcdef"), 32);
  assert_int_equal(strlen(id), 32);
  assert_string_equal(dx_json_string(dx_json_get(parts.claims, "iss")),
                      "clinic \"7\"");
  assert_string_equal(dx_json_string(dx_json_get(parts.claims, "n")), "42");
  assert_string_equal(dx_json_string(dx_json_get(parts.claims, "t")), "true");
  release_parts(&parts);
  dx_token_forget(&token);
}

static void without_key_id_there_is_no_kid(void **state)
{
  struct dx_service service = key_service(DX_ALG_HS256);
  struct dx_buf text = {0};
  struct parts parts;

  (void)state;
  assert_int_equal(dx_jwt_sign(&service, SECRET64, 64, 0, &text, NULL), DX_OK);
  take_apart(dx_buf_text(&text), &parts);
  assert_null(dx_json_get(parts.head, "kid"));
  assert_int_equal(number(parts.claims, "iat"), NOW_S - 60);
  assert_null(dx_json_get(parts.claims, "nbf")); /* for our own clock */
  release_parts(&parts);
  dx_buf_release(&text);
}

/* ---- keys that cannot be used ---- */

static void key_of_another_kind_is_rejected(void **state)
{
  static const struct {
    enum dx_algorithm algorithm;
    const char *key;
    const char *fragment;
  } misfits[] = {
      {DX_ALG_RS256, "P-256", "does not match RS256: it is not an RSA key"},
      {DX_ALG_RS512, "ED25519", "it is not an RSA key"},
      {DX_ALG_RS256, "RSA1024", "it is shorter than 2048 bits"},
      {DX_ALG_PS256, "P-256", "does not match PS256: it is not an RSA key"},
      {DX_ALG_PS384, "RSA1024", "it is shorter than 2048 bits"},
      {DX_ALG_ES256, "RSA2048", "does not match ES256: it is not an EC key"},
      {DX_ALG_ES256, "P-384", "it is on another curve"},
      {DX_ALG_ES256, "secp256k1", "it is on another curve"},
      {DX_ALG_ES384, "P-256", "it is on another curve"},
      {DX_ALG_ES512, "P-256", "it is on another curve"},
      {DX_ALG_ES512, "ED448", "it is not an EC key"},
      {DX_ALG_EdDSA, "P-256", "it is not an Ed25519 or Ed448 key"},
      {DX_ALG_EdDSA, "X25519", "it is not an Ed25519 or Ed448 key"},
      {DX_ALG_EdDSA, "RSA2048", "it is not an Ed25519 or Ed448 key"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
    struct dx_service service = key_service(misfits[i].algorithm);
    EVP_PKEY *key = new_key(misfits[i].key);

    save_key(key);
    EVP_PKEY_free(key);
    check_no_token(&service, misfits[i].fragment);
    check_no_token(&service, key_path);
  }
}

static void secrets_must_be_as_long_as_the_hash(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct dx_service service = key_service(rows[i].algorithm);
    size_t least = 32 + 16 * i;
    char text[1024];
    struct dx_err err;

    write_file(key_path, SECRET64, least);
    assert_int_equal(token_of(&service, text, sizeof(text), &err), DX_OK);
    write_file(key_path, SECRET64, least - 1);
    check_no_token(&service, "it is too short; HS256 needs 32 bytes");
    assert_int_equal(truncate(key_path, 0), 0);
    check_no_token(&service, "it is too short");
  }
}

/* One newline comes from the editor; two do not. */
static void final_newline_is_not_part_of_the_secret(void **state)
{
  struct dx_service service = key_service(DX_ALG_HS256);
  char with[40];
  char text[1024];
  struct dx_err err;

  (void)state;
  memcpy(with, SECRET64, 31);
  with[31] = '\n';
  with[32] = '\n';
  write_file(key_path, with, 32);
  check_no_token(&service, "it is too short");
  write_file(key_path, with, 33);
  assert_int_equal(token_of(&service, text, sizeof(text), &err), DX_OK);
}

/* tests/unit/test_key_format.c has the other formats. */
static void only_the_secret_itself_is_accepted(void **state)
{
  struct dx_service service = key_service(DX_ALG_HS256);
  EVP_PKEY *key = new_key("P-256");

  (void)state;
  save_key(key);
  EVP_PKEY_free(key);
  check_no_token(&service, "does not match HS256: it is a PEM file");
}

static void only_private_keys_are_accepted(void **state)
{
  static const char no_key[] = "it contains no unencrypted PEM private key";
  struct dx_service service = key_service(DX_ALG_ES256);
  EVP_PKEY *key = new_key("P-256");
  FILE *out;

  (void)state;
  write_text(key_path, SECRET64);
  check_no_token(&service, no_key);
  write_text(key_path, "-----BEGIN PRIVATE KEY-----\nU0VDUkVU\n"
                       "-----END PRIVATE KEY-----\n");
  check_no_token(&service, no_key);
  out = fopen(key_path, "we");
  assert_int_equal(PEM_write_PUBKEY(out, key), 1);
  assert_int_equal(fclose(out), 0);
  check_no_token(&service, "does not match ES256: it is a public key");
  out = fopen(key_path, "we");
  assert_int_equal(PEM_write_PrivateKey(out, key, EVP_aes_128_cbc(),
                                        (const unsigned char *)"SECRET", 6,
                                        NULL, NULL),
                   1);
  assert_int_equal(fclose(out), 0);
  check_no_token(&service, "does not match ES256: it is encrypted; to convert");
  EVP_PKEY_free(key);
}

static void message_about_a_missing_key_names_the_file(void **state)
{
  struct dx_service service = key_service(DX_ALG_HS256);

  (void)state;
  check_no_token(&service, "the TokenKeyFile cannot be used: cannot open");
  check_no_token(&service, key_path);
  check_no_token(&service, "No such file or directory");
}

static void no_token_is_made_with_a_secret_that_others_may_read(void **state)
{
  struct dx_service services[] = {key_service(DX_ALG_HS256), file_service()};
  char text[512];
  struct dx_err err;
  size_t i;

  (void)state;
  write_text(key_path, SECRET64);
  write_text(token_path, "a-token");
  for (i = 0; i < 2; i++) {
    const char *path = i == 0 ? key_path : token_path;

    assert_int_equal(chmod(path, 0604), 0);
    check_no_token(&services[i], dx_user() == NULL ? "all users may read"
                                                   : "users other than");
    assert_int_equal(chmod(path, 0620), 0);
    check_no_token(&services[i], "other users may write");
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(token_of(&services[i], text, sizeof(text), &err), DX_OK);
  }
}

/* ---- the life of a token ---- */

static char *copy_of(struct dx_token *token)
{
  const char *text = NULL;
  char *copy;

  assert_int_equal(dx_token_get(token, 0, &text, NULL), DX_OK);
  copy = strdup(text);
  assert_non_null(copy);
  return copy;
}

static void token_is_renewed_at_80_percent_of_its_life(void **state)
{
  struct dx_service service = key_service(DX_ALG_HS256);
  struct dx_token token = {.service = &service, .stop_fd = -1};
  char *first, *before, *after;

  (void)state;
  write_text(key_path, SECRET64);
  first = copy_of(&token);
  boot_ms += 239999;
  before = copy_of(&token);
  boot_ms += 1;
  after = copy_of(&token);
  assert_string_equal(first, before);
  assert_string_not_equal(first, after);
  free(first);
  free(before);
  free(after);
  dx_token_forget(&token);
}

static void discarded_token_is_renewed(void **state)
{
  struct dx_service service = key_service(DX_ALG_HS256);
  struct dx_token token = {.service = &service, .stop_fd = -1};
  const char *text = NULL;
  char *first, *second;

  (void)state;
  write_text(key_path, SECRET64);
  first = copy_of(&token);
  dx_token_forget(&token);
  dx_token_forget(&token);
  second = copy_of(&token);
  assert_string_not_equal(first, second);
  dx_token_forget(&token);
  assert_int_equal(unlink(key_path), 0); /* the key is really read again */
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_E_KEY);
  assert_null(text);
  write_text(key_path, SECRET64);
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_OK);
  free(first);
  free(second);
  dx_token_forget(&token);
  dx_token_forget(&token);
}

/* ---- TokenFile ---- */

static void token_file_is_read_again_when_it_changes(void **state)
{
  struct dx_service service = file_service();
  struct dx_token token = {.service = &service, .stop_fd = -1};
  struct timespec before[2] = {{.tv_sec = NOW_S - 1}, {.tv_sec = NOW_S - 1}};
  struct timespec times[2] = {{.tv_sec = NOW_S}, {.tv_sec = NOW_S}};
  const char *text = NULL;

  (void)state;
  write_text(token_path, " abc.def\r\n");
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_OK);
  assert_string_equal(text, "abc.def");
  boot_ms += 1000000000; /* a file has no age */
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_OK);
  assert_string_equal(text, "abc.def");
  write_text(token_path, "longer.than.before"); /* size */
  assert_int_equal(utimensat(AT_FDCWD, token_path, before, 0), 0);
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_OK);
  assert_string_equal(text, "longer.than.before");
  write_text(token_path, "another.of.equal.s"); /* mtime */
  assert_int_equal(utimensat(AT_FDCWD, token_path, times, 0), 0);
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_OK);
  assert_string_equal(text, "another.of.equal.s");
  write_text(out_path, "renamed.of.equal.s"); /* inode */
  assert_int_equal(utimensat(AT_FDCWD, out_path, times, 0), 0);
  assert_int_equal(rename(out_path, token_path), 0);
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_OK);
  assert_string_equal(text, "renamed.of.equal.s");
  assert_int_equal(unlink(token_path), 0);
  assert_int_equal(dx_token_get(&token, 0, &text, NULL), DX_E_KEY);
  dx_token_forget(&token);
}

static void token_file_may_be_a_link(void **state)
{
  struct dx_service service = file_service();

  (void)state;
  write_text(out_path, "linked");
  assert_int_equal(symlink(out_path, token_path), 0);
  check_token(&service, "linked");
}

static void token_file_must_contain_one_word(void **state)
{
  static const struct {
    const char *content;
    const char *fragment;
  } bad[] = {
      {"", "the TokenFile provides no token"},
      {" \n", "the TokenFile provides no token"},
      {"Bearer SECRETb", "the TokenFile provides more than one word; it must "
                         "be the token alone"},
      {"SECRETa\nSECRETb\n", "the TokenFile provides more than one word; it "
                             "must be the token alone"},
      {"SECRET\x7F", "the TokenFile provides no token"},
      {"SECRET\x01", "the TokenFile provides no token"},
      {"SECRET\xC3\xA4", "the TokenFile provides no token"},
  };
  struct dx_service service = file_service();
  char *large = malloc(65537);
  size_t i;

  (void)state;
  check_no_token(&service, token_path);
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    write_text(token_path, bad[i].content);
    check_no_token(&service, bad[i].fragment);
  }
  memset(large, 'x', 65537);
  write_file(token_path, large, 65537);
  check_no_token(&service, "the TokenFile cannot be used");
  free(large);
}

/* ---- TokenCommand ---- */

static void command_prints_a_bare_token(void **state)
{
  struct dx_service service = command_service("echo ' abc.def '\n");
  struct dx_token token = {.service = &service, .stop_fd = -1};
  char *text;

  (void)state;
  check_token(&service, "abc.def");
  text = copy_of(&token);
  free(text);
  write_text(script_path, "echo new\n");
  boot_ms += 239999; /* 80 % of five minutes */
  text = copy_of(&token);
  assert_string_equal(text, "abc.def");
  free(text);
  boot_ms += 1;
  text = copy_of(&token);
  assert_string_equal(text, "new");
  free(text);
  dx_token_forget(&token);
  service = command_service("echo 12345\n"); /* digits are not parsed as JSON */
  check_token(&service, "12345");
}

static void command_leaves_no_descriptor_open(void **state)
{
  struct dx_service service = command_service("echo abc\n");
  size_t before = count_entries(AT_FDCWD, "/proc/self/fd");

  (void)state;
  check_token(&service, "abc");
  assert_int_equal(count_entries(AT_FDCWD, "/proc/self/fd"), before);
}

static void command_prints_json_with_its_expiry(void **state)
{
  struct dx_service service = command_service(
      "echo '{\"token\": \"abc\", \"expires\": \"2026-01-31T13:00:00Z\"}'\n");
  struct dx_token token = {.service = &service, .stop_fd = -1};
  char *text = copy_of(&token);

  (void)state;
  assert_string_equal(text, "abc");
  free(text);
  write_text(script_path, "echo '{\"token\": \"new\"}'\n");
  boot_ms += 3600000 / 100 * 80 - 1;
  text = copy_of(&token);
  assert_string_equal(text, "abc");
  free(text);
  boot_ms += 1;
  text = copy_of(&token);
  assert_string_equal(text, "new");
  free(text);
  dx_token_forget(&token);
}

static void expired_token_is_fetched_again_at_once(void **state)
{
  struct dx_service service = command_service(
      "echo '{\"token\": \"abc\", \"expires\": \"2026-01-31T11:00:00Z\"}'\n");
  struct dx_token token = {.service = &service, .stop_fd = -1};
  char *text = copy_of(&token);

  (void)state;
  free(text);
  write_text(script_path, "echo new\n");
  text = copy_of(&token);
  assert_string_equal(text, "new");
  free(text);
  dx_token_forget(&token);
}

static void commands_that_fail_are_reported(void **state)
{
  static const struct {
    const char *script;
    const char *fragment;
  } bad[] = {
      {"echo SECRET; exit 3\n", "'/bin/sh' failed (status 3)"},
      {"kill -9 $$\n", "'/bin/sh' failed (signal 9)"},
      {"exec /nowhere/x\n", "failed (status 127)"},
      {":\n", "the TokenCommand provides no token"},
      {"echo SECRET SECRET\n", "provides more than one word; it must be the "
                               "token alone"},
      {"echo '{}'\n", "provides JSON without a token"},
      {"echo '{\"token\":7}'\n", "provides JSON without a token"},
      {"echo '{\"token\":\"\"}'\n", "provides JSON without a token"},
      {"echo '{\"token\":\"SECRET x\"}'\n", "provides JSON without a token"},
      {"printf '{\"token\":\"SECRET'\n", "provides JSON without a token"},
      {"head -c 65537 /dev/zero | tr '\\0' x\n", "more than 65536 bytes"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct dx_service service = command_service(bad[i].script);

    check_no_token(&service, bad[i].fragment);
  }
}

/* The child waits until the test opens the FIFO. */
static void child_of_a_command_may_keep_its_output(void **state)
{
  struct dx_service service;
  char script[128];
  int fd;

  (void)state;
  assert_int_equal(mkfifo(out_path, 0600), 0);
  (void)snprintf(script, sizeof(script), "read line < %s &\n", out_path);
  service = command_service(script);
  check_no_token(&service, "the TokenCommand provides no token");
  fd = open(out_path, O_WRONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  (void)close(fd);
  (void)unlink(out_path);
}

static void missing_program_is_reported(void **state)
{
  struct dx_service service = {.token = DX_TOKEN_COMMAND,
                               .token_command = (char[]){"/nowhere/mint -x"}};

  (void)state;
  check_no_token(&service, "cannot run the TokenCommand '/nowhere/mint': No "
                           "such file or directory");
}

/* No shell: blanks separate arguments, nothing else is special. */
static void arguments_reach_the_program_unchanged(void **state)
{
  struct dx_service service = {
      .token = DX_TOKEN_COMMAND,
      .token_command = (char[]){"/usr/bin/printf %s-  $HOME \t ;*'\""}};
  struct dx_buf many = {0};

  (void)state;
  check_token(&service, "$HOME-;*'\"-");
  dx_buf_puts(&many, "/usr/bin/printf");
  while (many.len < 15 + 63 * 2)
    dx_buf_puts(&many, " x");
  service.token_command = many.data;
  check_token(&service, "x");
  dx_buf_puts(&many, " x");
  service.token_command = many.data;
  check_no_token(&service, "more than 64 words");
  dx_buf_release(&many);
}

static void command_gets_a_clean_environment(void **state)
{
  struct dx_service service = {.token = DX_TOKEN_COMMAND,
                               .token_command = (char[]){"/usr/bin/env"}};

  (void)state;
  assert_int_equal(setenv("DX_TEST_SECRET", "SECRET", 1), 0);
  check_token(&service, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                        "/usr/bin:/sbin:/bin");
  assert_int_equal(unsetenv("DX_TEST_SECRET"), 0);
}

static void command_gets_no_descriptors_and_no_input(void **state)
{
  struct dx_service service = command_service(
      "read line || printf 'no-input'\n"
      "if [ -e /proc/$$/fd/57 ]; then echo '-open'; else echo '-closed'; fi\n");
  int ends[2];
  int fd, input;

  (void)state;
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  assert_int_equal(write(ends[1], "line\n", 5), 5);
  fd = fcntl(ends[1], F_DUPFD, 57); /* without close-on-exec */
  assert_int_equal(fd, 57);
  input = fcntl(0, F_DUPFD_CLOEXEC, 3);
  assert_true(input >= 0);
  assert_int_equal(dup2(ends[0], 0), 0);
  check_token(&service, "no-input-closed");
  assert_int_equal(dup2(input, 0), 0);
  (void)close(input);
  (void)close(fd);
  (void)close(ends[0]);
  (void)close(ends[1]);
}

static void stderr_of_a_command_is_discarded(void **state)
{
  struct dx_service service = command_service("echo SECRET >&2\necho token\n");
  int memory = memfd_create("stderr", MFD_CLOEXEC);
  int old = fcntl(2, F_DUPFD_CLOEXEC, 3);
  char text[256];
  struct dx_err err;
  enum dx_code code;

  (void)state;
  assert_true(memory >= 0 && old >= 0);
  assert_int_equal(dup2(memory, 2), 2);
  code = token_of(&service, text, sizeof(text), &err);
  assert_int_equal(dup2(old, 2), 2);
  assert_int_equal(code, DX_OK);
  assert_string_equal(text, "token");
  assert_int_equal(lseek(memory, 0, SEEK_END), 0);
  (void)close(old);
  (void)close(memory);
}

/* The process that wrote its id to out_path is gone. */
static void check_killed(void)
{
  FILE *in = fopen(out_path, "re");
  int pid = 0;

  assert_non_null(in);
  assert_int_equal(fscanf(in, "%d", &pid), 1);
  (void)fclose(in);
  assert_true(pid > 1);
  assert_int_equal(kill(pid, 0), -1);
  assert_int_equal(errno, ESRCH);
}

/* With a clock that advances 10 s at every reading. */
static void slow_command_is_ended(void **state)
{
  struct dx_service service = command_service("");
  char script[256];

  (void)state;
  (void)snprintf(script, sizeof(script), "read x < %s\n", token_path);
  assert_int_equal(mkfifo(token_path, 0600), 0);
  write_text(script_path, script);
  boot_step_ms = 10000;
  check_no_token(&service, "the TokenCommand took longer than 10 s");
}

/* With a clock that advances 8 s at every reading: two seconds are left, for a
 * busy machine. The command closes its output first. */
static void command_that_hangs_is_killed_after_10_s(void **state)
{
  struct dx_service service = command_service("");
  char script[512];
  int64_t before, took;

  (void)state;
  (void)snprintf(script, sizeof(script),
                 "echo $$ > %s\necho token\nexec >&-\nread x < %s\n", out_path,
                 token_path);
  assert_int_equal(mkfifo(token_path, 0600), 0);
  write_text(script_path, script);
  boot_step_ms = 8000;
  before = real_ms();
  check_no_token(&service, "the TokenCommand took longer than 10 s");
  took = real_ms() - before;
  assert_true(took >= 2000);
  assert_true(took < 60000);
  check_killed();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(openssl_verifies_every_algorithm),
      TEST(claims_are_those_of_the_configuration),
      TEST(without_key_id_there_is_no_kid),
      TEST(key_of_another_kind_is_rejected),
      TEST(secrets_must_be_as_long_as_the_hash),
      TEST(final_newline_is_not_part_of_the_secret),
      TEST(only_the_secret_itself_is_accepted),
      TEST(only_private_keys_are_accepted),
      TEST(message_about_a_missing_key_names_the_file),
      TEST(no_token_is_made_with_a_secret_that_others_may_read),
      TEST(token_is_renewed_at_80_percent_of_its_life),
      TEST(discarded_token_is_renewed),
      TEST(token_file_is_read_again_when_it_changes),
      TEST(token_file_may_be_a_link),
      TEST(token_file_must_contain_one_word),
      TEST(command_prints_a_bare_token),
      TEST(command_leaves_no_descriptor_open),
      TEST(command_prints_json_with_its_expiry),
      TEST(expired_token_is_fetched_again_at_once),
      TEST(commands_that_fail_are_reported),
      TEST(child_of_a_command_may_keep_its_output),
      TEST(missing_program_is_reported),
      TEST(arguments_reach_the_program_unchanged),
      TEST(command_gets_a_clean_environment),
      TEST(command_gets_no_descriptors_and_no_input),
      TEST(stderr_of_a_command_is_discarded),
      TEST(slow_command_is_ended),
      TEST(command_that_hangs_is_killed_after_10_s),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
