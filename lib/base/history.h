/*
 * history.h - small files that docextractd goes on with after a restart: how
 * long the service took, what was counted, when a pause ends. It alone writes
 * them; the command reads some (lib/control/metrics.h).
 *
 * None of it is worth an fsync: a file is replaced whole, and after a power
 * failure it may be an old one, or empty. A file that is missing, damaged,
 * longer than any of ours, or of another version counts as empty.
 *
 * Ownership: descriptors are borrowed. Blocking: the disk, without an fsync.
 */
#ifndef DX_HISTORY_H
#define DX_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#define DX_HISTORY_BYTES 8191 /* such a file is never longer */
#define DX_HISTORY_NAME_BYTES 220

/* The name of the file about a host: whatever the host is called, a name within
 * the directory. */
void dx_history_name(const char *host, int port, const char *suffix,
                     char name[DX_HISTORY_NAME_BYTES]);

/*
 * Reads what follows the first line of dirfd/name. False, and "", unless that
 * line is `version`, which has no newline.
 */
bool dx_history_read(int dirfd, const char *name, const char *version,
                     char text[DX_HISTORY_BYTES + 1]);

/* Replaces dirfd/name. What fails is logged. A dirfd of -1 keeps nothing. */
void dx_history_write(int dirfd, const char *name, const char *version,
                      const char *text);

/* The pause of a host: no call is made to it. */
struct dx_pause {
  int64_t until_ms; /* monotonic; 0: none */
  int64_t down_ms;  /* how long the last pause of an outage was; 0: it is up */
};

/* Zeros if nothing is known; so does what was written before this machine was
 * started, because its times are of another clock. */
void dx_pause_read(int dirfd, const char *host, int port,
                   struct dx_pause *ret_pause);
void dx_pause_write(int dirfd, const char *host, int port,
                    const struct dx_pause *pause);

#endif
