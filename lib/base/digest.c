/*
 * digest.c - SHA-256 and random digits. The only user of GnuTLS, which a filter
 * has loaded anyway, for libqpdf: OpenSSL is just as fast, but would add a
 * sixth to the startup cost of a filter.
 */
#include "lib/base/digest.h"

#include <gnutls/crypto.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define SHA256_BYTES 32

struct dx_sha256 {
  gnutls_hash_hd_t hash;
  bool in_background; /* what follows is only for this */
  pthread_t thread;
  pthread_mutex_t lock;   /* of what follows; bytes hands hash over */
  pthread_cond_t changed; /* only one of the two threads ever waits */
  const void *bytes;      /* what the thread works on; NULL: nothing */
  size_t len;
  bool failed;
  bool leaving;
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

  if (sha != NULL && gnutls_hash_init(&sha->hash, GNUTLS_DIG_SHA256) < 0) {
    free(sha);
    sha = NULL;
  }
  return sha;
}

/* ---- in the background ---- */

static void *compute(void *arg)
{
  struct dx_sha256 *sha = arg;

  (void)pthread_mutex_lock(&sha->lock);
  while (!sha->leaving) {
    if (sha->bytes == NULL) {
      (void)pthread_cond_wait(&sha->changed, &sha->lock);
      continue;
    }
    (void)pthread_mutex_unlock(&sha->lock);
    if (gnutls_hash(sha->hash, sha->bytes, sha->len) < 0)
      sha->failed = true;
    (void)pthread_mutex_lock(&sha->lock);
    sha->bytes = NULL;
    (void)pthread_cond_signal(&sha->changed);
  }
  (void)pthread_mutex_unlock(&sha->lock);
  return NULL;
}

void dx_sha256_in_background(struct dx_sha256 *sha)
{
  sigset_t all, before;

  (void)pthread_mutex_init(&sha->lock, NULL);
  (void)pthread_cond_init(&sha->changed, NULL);
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  sha->in_background = pthread_create(&sha->thread, NULL, compute, sha) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Waits until the thread has nothing to do, then gives it `bytes`, which may be
 * NULL. False if something failed before. */
static bool hand_over(struct dx_sha256 *sha, const void *bytes, size_t len)
{
  bool ok;

  (void)pthread_mutex_lock(&sha->lock);
  while (sha->bytes != NULL)
    (void)pthread_cond_wait(&sha->changed, &sha->lock);
  ok = !sha->failed;
  sha->bytes = bytes;
  sha->len = len;
  (void)pthread_cond_signal(&sha->changed);
  (void)pthread_mutex_unlock(&sha->lock);
  return ok;
}

static void end_thread(struct dx_sha256 *sha)
{
  (void)hand_over(sha, NULL, 0);
  (void)pthread_mutex_lock(&sha->lock);
  sha->leaving = true;
  (void)pthread_cond_signal(&sha->changed);
  (void)pthread_mutex_unlock(&sha->lock);
  (void)pthread_join(sha->thread, NULL);
  (void)pthread_cond_destroy(&sha->changed);
  (void)pthread_mutex_destroy(&sha->lock);
  sha->in_background = false;
}

/* ---- the sum ---- */

bool dx_sha256_add(struct dx_sha256 *sha, const void *bytes, size_t len)
{
  return sha->in_background ? hand_over(sha, bytes, len)
                            : gnutls_hash(sha->hash, bytes, len) == 0;
}

bool dx_sha256_end(struct dx_sha256 *sha, char hex[DX_SHA256_HEX_BYTES])
{
  unsigned char sum[SHA256_BYTES];

  if (sha->in_background && !hand_over(sha, NULL, 0))
    return false;
  gnutls_hash_output(sha->hash, sum);
  to_hex(sum, sizeof(sum), hex);
  return true;
}

void dx_sha256_free(struct dx_sha256 **sha)
{
  if (*sha == NULL)
    return;
  if ((*sha)->in_background)
    end_thread(*sha);
  gnutls_hash_deinit((*sha)->hash, NULL);
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
