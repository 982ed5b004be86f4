/*
 * digest.c - SHA-256 and random digits. With jwt.c the only user of
 * OpenSSL.
 */
#include "lib/base/digest.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

struct dx_sha256 {
  EVP_MD_CTX *ctx;
};

static const char digits[] = "0123456789abcdef";

static void to_hex(const unsigned char *bytes, size_t len, char *hex)
{
  size_t i;

  for (i = 0; i < len; i++) {
    hex[2 * i] = digits[bytes[i] >> 4];
    hex[2 * i + 1] = digits[bytes[i] & 15];
  }
  hex[2 * len] = '\0';
}

struct dx_sha256 *dx_sha256_new(void)
{
  struct dx_sha256 *sha = calloc(1, sizeof(*sha));

  if (sha == NULL)
    return NULL;
  sha->ctx = EVP_MD_CTX_new();
  if (sha->ctx == NULL || EVP_DigestInit_ex(sha->ctx, EVP_sha256(), NULL) != 1)
    dx_sha256_free(&sha);
  return sha;
}

bool dx_sha256_add(struct dx_sha256 *sha, const void *bytes, size_t len)
{
  return EVP_DigestUpdate(sha->ctx, bytes, len) == 1;
}

bool dx_sha256_end(struct dx_sha256 *sha, char hex[DX_SHA256_HEX_BYTES])
{
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned int len;

  if (EVP_DigestFinal_ex(sha->ctx, sum, &len) != 1)
    return false;
  to_hex(sum, len, hex);
  return true;
}

void dx_sha256_free(struct dx_sha256 **sha)
{
  if (*sha == NULL)
    return;
  EVP_MD_CTX_free((*sha)->ctx);
  free(*sha);
  *sha = NULL;
}

bool dx_sha256_of(const void *bytes, size_t len, char hex[DX_SHA256_HEX_BYTES])
{
  struct dx_sha256 *sha = dx_sha256_new();
  bool ok =
      sha != NULL && dx_sha256_add(sha, bytes, len) && dx_sha256_end(sha, hex);

  dx_sha256_free(&sha);
  return ok;
}

bool dx_random_hex(char *text, size_t len)
{
  unsigned char bytes[64];
  size_t i;

  if (len > sizeof(bytes) || getrandom(bytes, len, 0) != (ssize_t)len)
    return false;
  for (i = 0; i < len; i++)
    text[i] = digits[bytes[i] & 15];
  text[len] = '\0';
  return true;
}

double dx_random_unit(void)
{
  uint32_t bits = 0;

  if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
    return 0.5;
  return bits / 4294967296.0;
}
