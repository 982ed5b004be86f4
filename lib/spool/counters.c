/*
 * counters.c - reads and writes the files of counters: a line with the number
 * of counters, and their values in the order of struct dx_counts. A version
 * with other counters starts at 0.
 */
#include "lib/spool/counters.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/history.h"

#define COUNTS_VERSION "docextract-counts 1"
#define NUMBERS (sizeof(struct dx_counts) / sizeof(int64_t))
#define NUMBER_BYTES 21

_Static_assert(sizeof(COUNTS_VERSION) + (NUMBERS + 1) * NUMBER_BYTES <
                   DX_HISTORY_BYTES,
               "all counters fit into the file");

struct dx_counters {
  int history_dirfd;
  char name[DX_HISTORY_NAME_BYTES];
  union {
    struct dx_counts counts;
    int64_t numbers[NUMBERS];
  };
  bool is_changed; /* since they were last written */
  int64_t due_ms;  /* when they may be written */
};

/* ---- the file ---- */

static void name_file(const char *service, char name[DX_HISTORY_NAME_BYTES])
{
  (void)snprintf(name, DX_HISTORY_NAME_BYTES, "%.180s_counts", service);
}

/* All zeros if the file does not exist, or is damaged. */
void dx_counts_read(int history_dirfd, const char *service,
                    struct dx_counts *ret_counts)
{
  char name[DX_HISTORY_NAME_BYTES], text[DX_HISTORY_BYTES + 1];
  char *at = text, *end;
  int64_t numbers[NUMBERS];
  bool ok;
  size_t i;

  name_file(service, name);
  ok = dx_history_read(history_dirfd, name, COUNTS_VERSION, text) &&
       strtoll(text, &at, 10) == (long long)NUMBERS;
  for (i = 0; ok && i < NUMBERS; i++, at = end) {
    numbers[i] = strtoll(at, &end, 10);
    ok = end != at && numbers[i] >= 0 && numbers[i] <= INT64_MAX / 2;
  }
  memset(ret_counts, 0, sizeof(*ret_counts));
  if (ok)
    memcpy(ret_counts, numbers, sizeof(numbers));
}

static void write_file(const struct dx_counters *counters)
{
  char text[DX_HISTORY_BYTES + 1];
  size_t i, len = (size_t)snprintf(text, sizeof(text), "%zu", NUMBERS);

  for (i = 0; i < NUMBERS; i++)
    len += (size_t)snprintf(text + len, sizeof(text) - len, " %" PRId64,
                            counters->numbers[i]);
  (void)snprintf(text + len, sizeof(text) - len, "\n");
  dx_history_write(counters->history_dirfd, counters->name, COUNTS_VERSION,
                   text);
}

/* ---- counting ---- */

struct dx_counters *dx_counters_new(int history_dirfd, const char *service)
{
  struct dx_counters *counters = calloc(1, sizeof(*counters));

  if (counters == NULL)
    return NULL;
  counters->history_dirfd = history_dirfd;
  name_file(service, counters->name);
  dx_counts_read(history_dirfd, service, &counters->counts);
  return counters;
}

void dx_counters_free(struct dx_counters **counters)
{
  if (*counters == NULL)
    return;
  if ((*counters)->is_changed)
    write_file(*counters);
  free(*counters);
  *counters = NULL;
}

void dx_counters_add(struct dx_counters *counters, const struct dx_counts *more)
{
  int64_t added[NUMBERS];
  size_t i;

  memcpy(added, more, sizeof(added));
  for (i = 0; i < NUMBERS; i++)
    counters->numbers[i] += added[i];
  counters->is_changed = true;
}

int64_t dx_counters_save(struct dx_counters *counters)
{
  int64_t now = dx_monotonic_ms();

  if (!counters->is_changed)
    return INT64_MAX;
  if (now < counters->due_ms)
    return counters->due_ms;
  write_file(counters);
  counters->is_changed = false;
  counters->due_ms = now + DX_HISTORY_LATE_MS;
  return INT64_MAX;
}
