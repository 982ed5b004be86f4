/*
 * seal.h - lets the backend verify that a filter that cupsd started for this
 * job wrote an entry of a bundle, and not the user who printed it.
 *
 * Every user who may print can also print a bundle of their own. But only
 * filters and the backend have the side channel: a pair of sockets that cupsd
 * creates for every run of a job. The backend sends a random number through it,
 * once; every filter reads that number without consuming it, and writes it into
 * its entry (doc/architecture.md, "Bundle").
 *
 * Ownership: descriptors are borrowed; `seal` is the caller's.
 */
#ifndef DX_SEAL_H
#define DX_SEAL_H

#include <stdbool.h>

#define DX_SEAL_BYTES 33 /* 32 hex digits and NUL */

/*
 * For the backend, as soon as it can store documents. Chooses the number for
 * this run, and sends it to the filters. False if that fails; no entry then has
 * `seal`. Does not block.
 */
bool dx_seal_give(int side_fd, char seal[DX_SEAL_BYTES]);

/* For the backend, if it cannot store documents: makes every filter fail at
 * once, so that cupsd keeps the documents. */
void dx_seal_refuse(int side_fd);

/* For a filter: true if cupsd started it, with a side channel. */
bool dx_seal_is_expected(int side_fd);

/*
 * For a filter. Waits for the number, for at most wait_ms. False, and an empty
 * `seal`, if there is no side channel or no process at its other end.
 */
bool dx_seal_look(int side_fd, int wait_ms, char seal[DX_SEAL_BYTES]);

#endif
