/*
 * clock.h - the two clocks, replaceable so that tests can set them.
 *
 * Waits are measured with the monotonic clock (CLOCK_BOOTTIME), which never
 * jumps and also runs while the machine is suspended; wall time is for tokens,
 * and for times in journals and their ages (doc/policy.md, "Timeouts").
 *
 * Blocking: never. Threads: any; call dx_clock_use() before creating a second
 * one.
 */
#ifndef DX_CLOCK_H
#define DX_CLOCK_H

#include <stdint.h>

struct dx_clock {
  int64_t (*monotonic_ms)(void); /* milliseconds since the machine started */
  int64_t (*wall_ms)(void);      /* milliseconds since 1970 UTC */
};

/* Replaces both clocks, for tests; NULL restores the real ones. */
void dx_clock_use(const struct dx_clock *clock);

int64_t dx_monotonic_ms(void);
int64_t dx_wall_ms(void);

/* The boot id of the running kernel, 36 characters and NUL; "-" if unknown. */
#define DX_BOOT_ID_BYTES 37
void dx_boot_id(char id[DX_BOOT_ID_BYTES]);

/* RFC 3339 in UTC with seconds: "2026-01-31T12:00:00Z". */
#define DX_TIME_BYTES 32
void dx_format_time(int64_t wall_ms, char text[DX_TIME_BYTES]);

/* The same with milliseconds: "2026-01-31T12:00:00.250Z". */
void dx_format_exact_time(int64_t wall_ms, char text[DX_TIME_BYTES]);

/* Parses both formats, with any UTC offset. Returns milliseconds; -1 if the
 * text is invalid, before 1970, or after 9999. */
int64_t dx_parse_time(const char *text);

#endif
