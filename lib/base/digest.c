/*
 * digest.c - SHA-256 and random digits. Only this file uses GnuTLS. A filter
 * loads it anyway, for libqpdf; OpenSSL is equally fast, but would increase the
 * startup time of a filter by a sixth.
 */
#include "lib/base/digest.h"

#include <gnutls/crypto.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define SHA256_BYTES 32

struct dx_sha256 {
  gnutls_hash_hd_t hash;
};

static const char digits[] = "0123456789abcdef";

struct dx_sha256 *dx_sha256_new(void)
{
  struct dx_sha256 *sha = calloc(1, sizeof(*sha));

  if (sha != NULL && gnutls_hash_init(&sha->hash, GNUTLS_DIG_SHA256) < 0) {
    free(sha);
    sha = NULL;
  }
  return sha;
}

bool dx_sha256_add(struct dx_sha256 *sha, const void *bytes, size_t len)
{
  return gnutls_hash(sha->hash, bytes, len) == 0;
}

void dx_sha256_end(struct dx_sha256 *sha, char hex[DX_SHA256_HEX_BYTES])
{
  unsigned char sum[SHA256_BYTES];
  size_t i;

  gnutls_hash_output(sha->hash, sum);
  for (i = 0; i < SHA256_BYTES; i++) {
    hex[2 * i] = digits[sum[i] >> 4];
    hex[2 * i + 1] = digits[sum[i] & 15];
  }
  hex[2 * SHA256_BYTES] = '\0';
}

void dx_sha256_free(struct dx_sha256 **sha)
{
  if (*sha == NULL)
    return;
  gnutls_hash_deinit((*sha)->hash, NULL);
  free(*sha);
  *sha = NULL;
}

bool dx_sha256_of(const void *bytes, size_t len, char hex[DX_SHA256_HEX_BYTES])
{
  struct dx_sha256 *sha = dx_sha256_new();
  bool ok = sha != NULL && dx_sha256_add(sha, bytes, len);

  if (ok)
    dx_sha256_end(sha, hex);
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
