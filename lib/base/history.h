/*
 * history.h - small files that docextractd restores after a restart: processing
 * times, counters, pauses. Only docextractd writes them; the command reads some
 * (lib/control/metrics.h).
 *
 * They are written without fsync: a file is replaced as a whole, and after a
 * power failure it may be old, or empty. A file that is missing, damaged,
 * longer than DX_HISTORY_BYTES, or of another version is read as empty.
 *
 * Ownership: descriptors are borrowed. Blocking: the disk, without an fsync.
 */
#ifndef DX_HISTORY_H
#define DX_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#define DX_HISTORY_BYTES 8191 /* such a file is never longer */
#define DX_HISTORY_NAME_BYTES 220

/* The name of the file for a host, valid whatever the name of the host
 * contains. */
void dx_history_name(const char *host, int port, const char *suffix,
                     char name[DX_HISTORY_NAME_BYTES]);

/*
 * Reads what follows the first line of dirfd/name. False, and "", unless that
 * line is `version`, which has no newline.
 */
bool dx_history_read(int dirfd, const char *name, const char *version,
                     char text[DX_HISTORY_BYTES + 1]);

/* Replaces dirfd/name. Errors are logged. If dirfd is -1, nothing is written.
 */
void dx_history_write(int dirfd, const char *name, const char *version,
                      const char *text);

/* A pause of all calls to a host. */
struct dx_pause {
  int64_t until_ms; /* monotonic; 0: none */
  int64_t down_ms;  /* length of the last pause of an outage; 0: it is up */
};

/* Returns zeros if nothing is known, or if it was written before this machine
 * was started, because the monotonic clock has started again. */
void dx_pause_read(int dirfd, const char *host, int port,
                   struct dx_pause *ret_pause);
void dx_pause_write(int dirfd, const char *host, int port,
                    const struct dx_pause *pause);

#endif
