/*
 * clock.c - the clocks of the stand-in, and the dates it writes.
 */
#include "sim/clock.h"

#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000
#define NS_PER_MS 1000000
#define AMZ_FORMAT "%Y%m%dT%H%M%SZ"

int64_t sim_mono_ns(void)
{
  struct timespec ts;

  (void)clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t sim_mono_ms(void)
{
  return sim_mono_ns() / NS_PER_MS;
}

int64_t sim_server_s(int64_t skew_s)
{
  return (int64_t)time(NULL) + skew_s;
}

/* A moment no calendar has is written as 1970. */
static void split_time(int64_t at_s, struct tm *ret)
{
  const time_t t = (time_t)at_s;
  const time_t zero = 0;

  if (gmtime_r(&t, ret) == NULL)
    (void)gmtime_r(&zero, ret);
}

void sim_http_date(int64_t at_s, char ret_date[SIM_HTTP_DATE_BYTES])
{
  struct tm tm;

  split_time(at_s, &tm);
  if (strftime(ret_date, SIM_HTTP_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT",
               &tm) == 0)
    ret_date[0] = '\0';
}

void sim_amz_date(int64_t at_s, char ret_date[SIM_AMZ_DATE_BYTES])
{
  struct tm tm;

  split_time(at_s, &tm);
  if (strftime(ret_date, SIM_AMZ_DATE_BYTES, AMZ_FORMAT, &tm) == 0)
    ret_date[0] = '\0';
}

bool sim_amz_date_read(const char *date, int64_t *ret_at_s)
{
  struct tm tm = {0};
  const char *end = strptime(date, AMZ_FORMAT, &tm);

  if (end == NULL || *end != '\0')
    return false;
  *ret_at_s = (int64_t)timegm(&tm);
  return true;
}
