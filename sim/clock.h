/*
 * clock.h - the clocks of the stand-in, and the dates it writes.
 *
 * Waits use the monotonic clock. What the service would call "now" (tokens,
 * signed URLs, the Date header) is the wall clock plus a skew, so that a
 * client can be tried against a server whose clock is wrong.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_HTTP_DATE_BYTES 40
#define SIM_AMZ_DATE_BYTES 20

int64_t sim_mono_ns(void);
int64_t sim_mono_ms(void);

/* Seconds since 1970, `skew_s` ahead of this machine. */
int64_t sim_server_s(int64_t skew_s);

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
void sim_http_date(int64_t at_s, char ret_date[SIM_HTTP_DATE_BYTES]);

/* "19941106T084937Z" */
void sim_amz_date(int64_t at_s, char ret_date[SIM_AMZ_DATE_BYTES]);
bool sim_amz_date_read(const char *date, int64_t *ret_at_s);

#endif
