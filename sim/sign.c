/*
 * sign.c - signed upload addresses: made for one object, type and time.
 */
#include "sim/sign.h"

#include "sim/clock.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAC_BYTES 32
#define HEX_BYTES (2 * MAC_BYTES + 1)

bool sim_sign_init(struct sim_signer *s)
{
  return RAND_bytes(s->key, sizeof(s->key)) == 1;
}

/* The signature in hex; an empty string when it cannot be made. */
static void make_signature(const struct sim_signer *s, const char *path,
                           const char *content_type, const char *date,
                           const char *expires, char ret[HEX_BYTES])
{
  struct sim_buf b = {0};
  unsigned char mac[EVP_MAX_MD_SIZE] = {0};
  unsigned len = 0;

  sim_buf_addf(&b, "PUT\n%s\n%s\n%s\n%s", path, content_type, date, expires);
  ret[0] = '\0';
  if (!b.failed &&
      HMAC(EVP_sha256(), s->key, (int)sizeof(s->key),
           (const unsigned char *)b.data, b.len, mac, &len) != NULL)
    for (size_t i = 0; i < MAC_BYTES; i++)
      (void)snprintf(ret + 2 * i, 3, "%02x", mac[i]);
  sim_buf_free(&b);
}

void sim_sign_add(const struct sim_signer *s, const char *path,
                  const char *content_type, int64_t now_s, int64_t lifetime_s,
                  struct sim_buf *ret)
{
  char date[SIM_AMZ_DATE_BYTES];
  char expires[24];
  char hex[HEX_BYTES];

  sim_amz_date(now_s, date);
  (void)snprintf(expires, sizeof(expires), "%" PRId64, lifetime_s);
  make_signature(s, path, content_type, date, expires, hex);
  sim_buf_addf(ret, "?X-Amz-Date=%s&X-Amz-Expires=%s&X-Amz-Signature=%s", date,
               expires, hex);
}

enum sim_signed sim_sign_check(const struct sim_signer *s, const char *path,
                               const char *content_type,
                               const struct sim_query *query, int64_t now_s)
{
  char hex[HEX_BYTES];
  int64_t at_s;

  if (query->date == NULL || query->expires == NULL || query->signature == NULL)
    return SIM_SIGN_WRONG;
  make_signature(s, path, content_type == NULL ? "" : content_type, query->date,
                 query->expires, hex);
  if (strlen(query->signature) != strlen(hex) || hex[0] == '\0' ||
      CRYPTO_memcmp(query->signature, hex, strlen(hex)) != 0)
    return SIM_SIGN_WRONG;
  /* date and life time are ours from here on: the signature covers them */
  if (!sim_amz_date_read(query->date, &at_s))
    return SIM_SIGN_WRONG;
  return now_s >= at_s + atoll(query->expires) ? SIM_SIGN_EXPIRED
                                               : SIM_SIGN_GOOD;
}
