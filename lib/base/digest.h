/*
 * digest.h - SHA-256, of bytes at once or in parts; random numbers.
 *
 * Ownership: dx_sha256_free() frees what dx_sha256_new() returns; it accepts
 * NULL, and sets the pointer to NULL. Errors: NULL when out of memory.
 * Blocking: never.
 */
#ifndef DX_DIGEST_H
#define DX_DIGEST_H

#include <stddef.h>

#define DX_SHA256_HEX_BYTES 65 /* 64 lower-case hex digits and NUL */

struct dx_sha256;

struct dx_sha256 *dx_sha256_new(void);
void dx_sha256_add(struct dx_sha256 *sha, const void *bytes, size_t len);
/* Computes the digest; afterwards, the object can only be freed. */
void dx_sha256_end(struct dx_sha256 *sha, char hex[DX_SHA256_HEX_BYTES]);
void dx_sha256_free(struct dx_sha256 **sha);

void dx_sha256_of(const void *bytes, size_t len, char hex[DX_SHA256_HEX_BYTES]);

/* Fills `text` with lower-case hex digits from the kernel's random source:
 * len characters, at most 64, and a NUL. */
void dx_random_hex(char *text, size_t len);

/* A random number in [0, 1). For jitter, not for secrets. */
double dx_random_unit(void);

#endif
