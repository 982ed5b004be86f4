/*
 * history.h - small files that docextractd restores after a restart: processing
 * times, counters, pauses, hosts of upload URLs. Only docextractd writes them;
 * the command reads some (lib/control/metrics.h).
 *
 * A file has a line with its version, and then a struct as it is in memory:
 * nothing but the docextractd of this machine reads it. It is written without
 * fsync, and replaced as a whole; after a power failure it may be old, or
 * empty.
 *
 * Ownership: descriptors are borrowed. Blocking: the disk, without an fsync.
 */
#ifndef DX_HISTORY_H
#define DX_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_HISTORY_NAME_BYTES 220

/* The name of the file for a host, valid whatever the name of the host
 * contains. */
void dx_history_name(const char *host, int port, const char *suffix,
                     char name[DX_HISTORY_NAME_BYTES]);

/*
 * Reads dirfd/name into ret_value. False, and zeros, unless its first line is
 * `version`, with a newline, and `size` bytes follow. The caller checks the
 * values: the file may be damaged.
 */
bool dx_history_read(int dirfd, const char *name, const char *version,
                     void *ret_value, size_t size);

/* Replaces dirfd/name. Errors are logged. If dirfd is -1, nothing is written.
 */
void dx_history_write(int dirfd, const char *name, const char *version,
                      const void *value, size_t size);

/* A pause of all calls to a host, and whether it can be reached. */
struct dx_pause {
  int64_t until_ms; /* monotonic; 0: none */
  int64_t is_down;  /* 1: no call succeeds; 0: it is up */
};

/* Returns zeros if nothing is known, or if it was written before this machine
 * was started, because the monotonic clock has started again. */
void dx_pause_read(int dirfd, const char *host, int port,
                   struct dx_pause *ret_pause);
void dx_pause_write(int dirfd, const char *host, int port,
                    const struct dx_pause *pause);

#endif
