/*
 * clock.c - clocks and the two date formats of the service.
 */
#include "lib/base/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

_Static_assert(sizeof(time_t) == 8 && sizeof(off_t) == 8, "see configure.ac");

#define DIGITS "0123456789"

static int64_t read_clock(clockid_t id)
{
  struct timespec ts;

  if (clock_gettime(id, &ts) != 0)
    return 0;
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static const struct dx_clock *current; /* NULL: the real clocks */

void dx_clock_use(const struct dx_clock *clock)
{
  current = clock;
}

int64_t dx_monotonic_ms(void)
{
  return current != NULL ? current->monotonic_ms() : read_clock(CLOCK_BOOTTIME);
}

int64_t dx_wall_ms(void)
{
  return current != NULL ? current->wall_ms() : read_clock(CLOCK_REALTIME);
}

void dx_boot_id(char id[DX_BOOT_ID_BYTES])
{
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

  if (file == NULL || fgets(id, DX_BOOT_ID_BYTES, file) == NULL)
    memcpy(id, "-", 2);
  if (file != NULL)
    (void)fclose(file);
}

void dx_format_time(int64_t wall_ms, char text[DX_TIME_BYTES])
{
  time_t s = (time_t)(wall_ms / 1000);
  struct tm tm;

  if (gmtime_r(&s, &tm) == NULL ||
      strftime(text, DX_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
    memcpy(text, "", 1);
}

void dx_format_exact_time(int64_t wall_ms, char text[DX_TIME_BYTES])
{
  size_t len;

  dx_format_time(wall_ms, text);
  len = strcspn(text, "Z");
  (void)snprintf(text + len, DX_TIME_BYTES - len, ".%03dZ",
                 (int)(wall_ms % 1000));
}

int64_t dx_parse_time(const char *text)
{
  static const int64_t last_s = 253402300799; /* 9999-12-31T23:59:59Z */
  const char *rest = text + 19, *end;
  struct tm tm = {0};
  int64_t at, ms = 0;
  int part;

  /* strptime() alone accepts blanks and missing digits. */
  if (strspn(text, DIGITS "-") < 10 || strspn(text + 10, "Tt ") != 1 ||
      strspn(text + 11, DIGITS ":") < 8 ||
      strptime(text, "%Y-%m-%d", &tm) != text + 10 ||
      strptime(text + 11, "%H:%M:%S", &tm) != rest)
    return -1;
  if (*rest == '.' && isdigit((unsigned char)rest[1]))
    for (rest++, part = 100; isdigit((unsigned char)*rest); rest++, part /= 10)
      ms += (*rest - '0') * part;
  if (strcasecmp(rest, "Z") != 0) {
    end =
        strlen(rest) == 6 && rest[3] == ':' ? strptime(rest, "%z", &tm) : NULL;
    if (end == NULL || *end != '\0' || labs(tm.tm_gmtoff) >= 86400)
      return -1;
  }
  at = -tm.tm_gmtoff; /* timegm() clears it */
  at += timegm(&tm);
  /* A negative time would mean none, and a year of five digits could not be
   * parsed again. */
  return at >= 0 && at <= last_s ? at * 1000 + ms : -1;
}
