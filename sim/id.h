/*
 * id.h - sortable identifiers: ULIDs, 26 characters of Crockford's base32.
 *
 * 48 bits of milliseconds, then 80 random bits; within one millisecond the
 * last id plus one. So ids only ever grow, and what is appended in the order
 * of its ids can be searched by bisection.
 *
 * Threads: any number; one lock inside.
 */
#ifndef SIM_ID_H
#define SIM_ID_H

#include <stdbool.h>

#define SIM_ID_LEN 26
#define SIM_ID_BYTES (SIM_ID_LEN + 1)

/* The next id of this process. */
void sim_id_next(char ret_id[SIM_ID_BYTES]);

/* Whether `text` has the shape of an id. */
bool sim_id_valid(const char *text);

#endif
