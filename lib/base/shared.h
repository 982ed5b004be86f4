/*
 * shared.h - a small text file that all processes of this host share: locked,
 * read whole, written whole. What is in it is its user's business
 * (daemon/service/rate_limit.c, daemon/service/latency.c,
 * lib/spool/counters.c).
 *
 * Nothing in such a file is worth an fsync: it is read again within seconds,
 * and a file with nonsense in it counts as empty.
 *
 * Ownership: the descriptor is the caller's to close; one per file and
 * process, because closing any of them gives up the lock.
 * Blocking: for the lock, which is held for microseconds.
 */
#ifndef DX_SHARED_H
#define DX_SHARED_H

#define DX_SHARED_BYTES 8191 /* such a file is never longer */

/* Opens or creates dirfd/HOST_PORT and suffix; -1 with errno set. */
int dx_shared_open(int dirfd, const char *host, int port, const char *suffix);

/* The same for dirfd/SERVICE and suffix: each section of the configuration has
 * its own. */
int dx_shared_open_service(int dirfd, const char *service, const char *suffix);

/* Locks and reads; "" for what cannot be read. */
void dx_shared_begin(int fd, char text[DX_SHARED_BYTES + 1]);

/* Writes, unless text is NULL, and unlocks. Always of the same length: a
 * shorter text must not leave the end of a longer one. */
void dx_shared_end(int fd, const char *text);

#endif
