/*
 * clock.c - clocks and the two date formats of the service.
 */
#include "lib/base/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
  ssize_t n = -1;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

  if (fd >= 0) {
    n = read(fd, id, DX_BOOT_ID_BYTES - 1);
    (void)close(fd);
  }
  if (n == DX_BOOT_ID_BYTES - 1)
    id[n] = '\0';
  else
    memcpy(id, "-", 2);
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

/* True if text begins like shape: '9' is any digit, 'A' any letter. */
static bool has_shape(const char *text, const char *shape)
{
  for (; *shape != '\0'; shape++, text++) {
    bool digit = *text >= '0' && *text <= '9';
    bool letter =
        (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');

    if (*shape == '9' ? !digit : *shape == 'A' ? !letter : *text != *shape)
      return false;
  }
  return true;
}

/* Offset after a time: "Z", "+02:00"; seconds east of UTC. */
static bool parse_offset(const char *s, int *ret_offset)
{
  int h, m;

  if ((*s == 'Z' || *s == 'z') && s[1] == '\0') {
    *ret_offset = 0;
    return true;
  }
  if ((*s != '+' && *s != '-') || !has_shape(s + 1, "99:99") || s[6] != '\0')
    return false;
  h = (s[1] - '0') * 10 + s[2] - '0';
  m = (s[4] - '0') * 10 + s[5] - '0';
  if (h > 23 || m > 59)
    return false;
  *ret_offset = (h * 3600 + m * 60) * (*s == '-' ? -1 : 1);
  return true;
}

/* -1 before 1970 (a negative time means none), after 9999 (a five-digit year
 * could not be parsed again), and for an invalid date or time.
 */
static int64_t wall_ms_of(struct tm *tm, int offset)
{
  static const int64_t last_s = 253402300799; /* 9999-12-31T23:59:59Z */
  bool exists = tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
                tm->tm_mday <= 31 && tm->tm_hour <= 23 && tm->tm_min <= 59 &&
                tm->tm_sec <= 60;
  int64_t at = exists ? (int64_t)timegm(tm) - offset : -1;

  return at >= 0 && at <= last_s ? at * 1000 : -1;
}

int64_t dx_parse_time(const char *text)
{
  struct tm tm = {0};
  const char *rest = text + 19;
  int64_t at, ms = 0;
  int offset, part;

  /* sscanf() alone accepts blanks, signs and missing digits. */
  if (!has_shape(text, "9999-99-99") || text[10] == '\0' ||
      strchr("Tt ", text[10]) == NULL || !has_shape(text + 11, "99:99:99"))
    return -1;
  (void)sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon,
               &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec);
  tm.tm_year -= 1900;
  tm.tm_mon--;
  if (has_shape(rest, ".9"))
    for (rest++, part = 100; *rest >= '0' && *rest <= '9'; rest++, part /= 10)
      ms += (*rest - '0') * part;
  if (!parse_offset(rest, &offset))
    return -1;
  at = wall_ms_of(&tm, offset);
  return at >= 0 ? at + ms : -1;
}
