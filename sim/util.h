/*
 * util.h - clock, IDs, JSON and files.
 */
#ifndef SIM_UTIL_H
#define SIM_UTIL_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_ID_LEN 26
#define SIM_ID_BYTES (SIM_ID_LEN + 1)

/* The monotonic clock; for waits and for the log. */
int64_t sim_now_ms(void);

/*
 * A new ID: a ULID, which is 10 characters of time and 16 random ones in
 * Crockford's base32.
 */
void sim_id_new(char ret_id[SIM_ID_BYTES]);

/* Returns a string member; "" if it is missing or not a string. */
const char *sim_text_of(const cJSON *json, const char *name);

/*
 * Reads a file of at most 64 KiB and puts a NUL after it. The caller frees
 * the result. Returns NULL after printing the reason.
 */
char *sim_read_file(const char *path, size_t *ret_len);

#endif
