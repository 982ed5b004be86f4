/*
 * digest.c - SHA-256 and random digits. Only this file uses GnuTLS. A filter
 * loads it anyway, for libqpdf; OpenSSL is equally fast, but would increase the
 * startup time of a filter by a sixth.
 */
#include "lib/base/digest.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <stdint.h>
#include <sys/random.h>

#define SHA256_BYTES 32
#define RANDOM_MAX 64 /* digits; so few bytes are always read at once */

static const char digits[] = "0123456789abcdef";

static gnutls_hash_hd_t hash_of(struct dx_sha256 *sha)
{
  return (gnutls_hash_hd_t)(void *)sha;
}

static void to_hex(const unsigned char sum[SHA256_BYTES],
                   char hex[DX_SHA256_HEX_BYTES])
{
  size_t i;

  for (i = 0; i < SHA256_BYTES; i++) {
    hex[2 * i] = digits[sum[i] >> 4];
    hex[2 * i + 1] = digits[sum[i] & 15];
  }
  hex[2 * SHA256_BYTES] = '\0';
}

struct dx_sha256 *dx_sha256_new(void)
{
  gnutls_hash_hd_t hash;

  return gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) == 0 ? (void *)hash : NULL;
}

void dx_sha256_add(struct dx_sha256 *sha, const void *bytes, size_t len)
{
  int status = gnutls_hash(hash_of(sha), bytes, len);

  assert(status == 0);
}

void dx_sha256_end(struct dx_sha256 *sha, char hex[DX_SHA256_HEX_BYTES])
{
  unsigned char sum[SHA256_BYTES];

  gnutls_hash_output(hash_of(sha), sum);
  to_hex(sum, hex);
}

void dx_sha256_free(struct dx_sha256 **sha)
{
  if (*sha != NULL)
    gnutls_hash_deinit(hash_of(*sha), NULL);
  *sha = NULL;
}

/* Needs no memory, and so cannot fail. */
void dx_sha256_of(const void *bytes, size_t len, char hex[DX_SHA256_HEX_BYTES])
{
  unsigned char sum[SHA256_BYTES];
  int status = gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes, len, sum);

  assert(status == 0);
  to_hex(sum, hex);
}

void dx_random_hex(char *text, size_t len)
{
  unsigned char bytes[RANDOM_MAX];
  ssize_t n;
  size_t i;

  assert(len <= sizeof(bytes));
  n = getrandom(bytes, len, 0);
  assert(n == (ssize_t)len);
  for (i = 0; i < len; i++)
    text[i] = digits[bytes[i] & 15];
  text[len] = '\0';
}

double dx_random_unit(void)
{
  uint32_t bits = 0;

  (void)!getrandom(&bits, sizeof(bits), 0);
  return bits / 4294967296.0;
}
