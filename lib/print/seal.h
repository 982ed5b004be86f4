/*
 * seal.h - how the backend knows that an entry of a bundle was written by a
 * filter that cupsd started for this job, and not by the user who printed it.
 *
 * A user who may print can print their own bytes as a bundle. What they do not
 * have is the side channel: a pair of sockets that cupsd makes for every run of
 * a job, for the filters and the backend only. The backend sends a random
 * number through it, once; every filter looks at that number without taking it
 * away and puts it into its entry (doc/architecture.md, "Bundle").
 *
 * Ownership: descriptors are borrowed; `seal` is the caller's.
 */
#ifndef DX_SEAL_H
#define DX_SEAL_H

#include <stdbool.h>

#define DX_SEAL_BYTES 33 /* 32 hex digits and NUL */

/*
 * For the backend, as soon as it can store documents. Chooses the number for
 * this run, and sends it to the filters. False if they cannot get it; `seal` is
 * then one that no entry has. Does not block.
 */
bool dx_seal_give(int side_fd, char seal[DX_SEAL_BYTES]);

/* For the backend instead of that: it cannot store anything, and every filter
 * is to fail at once, so that cupsd keeps the documents. */
void dx_seal_refuse(int side_fd);

/* For a filter: true if cupsd started it, with a side channel. */
bool dx_seal_is_expected(int side_fd);

/*
 * For a filter. Waits for the number, for at most wait_ms. False, and an empty
 * `seal`, if there is no side channel or no process at its other end.
 */
bool dx_seal_look(int side_fd, int wait_ms, char seal[DX_SEAL_BYTES]);

#endif
