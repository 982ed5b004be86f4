/*
 * counters.c - the only reader and writer of these files: a line of numbers, in
 * the order of struct dx_counts, and before them how many there are. Another
 * version, which counts something else, starts over.
 */
#include "lib/spool/counters.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/shared.h"

#define NUMBERS (sizeof(struct dx_counts) / sizeof(int64_t))
#define NUMBER_BYTES 21

_Static_assert((NUMBERS + 1) * NUMBER_BYTES < DX_SHARED_BYTES,
               "a shared file is too short for the counters");

struct dx_counters {
  int fd; /* -1: not counted */
};

struct dx_counters *dx_counters_new(int dirfd, const char *service)
{
  struct dx_counters *counters = calloc(1, sizeof(*counters));

  if (counters != NULL)
    counters->fd = dx_shared_open_service(dirfd, service, "_counts");
  return counters;
}

void dx_counters_free(struct dx_counters **counters)
{
  if (*counters == NULL)
    return;
  if ((*counters)->fd >= 0)
    (void)close((*counters)->fd);
  free(*counters);
  *counters = NULL;
}

/* False, and nothing but zeros, if it is not such a line. */
static bool read_numbers(const char *text, int64_t numbers[NUMBERS])
{
  char *end;
  size_t i;

  memset(numbers, 0, NUMBERS * sizeof(*numbers));
  if (strtoll(text, &end, 10) != (long long)NUMBERS)
    return false;
  for (i = 0; i < NUMBERS; i++) {
    const char *at = end;

    numbers[i] = strtoll(at, &end, 10);
    if (end == at || numbers[i] < 0 || numbers[i] > INT64_MAX / 2) {
      memset(numbers, 0, NUMBERS * sizeof(*numbers));
      return false;
    }
  }
  return true;
}

void dx_counters_add(struct dx_counters *counters, const struct dx_counts *more)
{
  char text[DX_SHARED_BYTES + 1];
  int64_t numbers[NUMBERS], added[NUMBERS];
  size_t i, len;

  if (counters->fd < 0)
    return;
  memcpy(added, more, sizeof(added));
  dx_shared_begin(counters->fd, text);
  (void)read_numbers(text, numbers);
  len = (size_t)snprintf(text, sizeof(text), "%20zu", NUMBERS);
  for (i = 0; i < NUMBERS; i++)
    len += (size_t)snprintf(text + len, sizeof(text) - len, " %20" PRId64,
                            numbers[i] + added[i]);
  (void)snprintf(text + len, sizeof(text) - len, "\n");
  dx_shared_end(counters->fd, text);
}

void dx_counters_read(struct dx_counters *counters, struct dx_counts *ret)
{
  char text[DX_SHARED_BYTES + 1] = "";
  int64_t numbers[NUMBERS];

  if (counters->fd >= 0) {
    dx_shared_begin(counters->fd, text);
    dx_shared_end(counters->fd, NULL);
  }
  (void)read_numbers(text, numbers);
  memcpy(ret, numbers, sizeof(*ret));
}
