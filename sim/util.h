/*
 * util.h - clocks, ids and whole files.
 */
#ifndef SIM_UTIL_H
#define SIM_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define SIM_ID_LEN 26
#define SIM_ID_BYTES (SIM_ID_LEN + 1)

/* The monotonic clock; for waits and for the log. */
int64_t sim_now_ms(void);

/*
 * A new id: a ULID, that is 10 characters of time and 16 random ones in
 * Crockford's base32.
 */
void sim_id_new(char ret_id[SIM_ID_BYTES]);

/*
 * Reads a file of at most 64 KiB and puts a NUL after it. The caller frees
 * the result. Returns NULL after printing the reason.
 */
char *sim_read_file(const char *path, size_t *ret_len);

#endif
