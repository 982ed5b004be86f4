/*
 * counters.c - reads and writes the files of counters, which contain a struct
 * dx_counts.
 */
#include "lib/spool/counters.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/history.h"

#define DX_HISTORY_LATE_MS 5000 /* to collect changes of the counters */

#define COUNTS_VERSION "docextract-counts 2\n"

/* ---- the file ---- */

static void name_file(const char *service, char name[DX_HISTORY_NAME_BYTES])
{
  (void)snprintf(name, DX_HISTORY_NAME_BYTES, "%.180s_counts", service);
}

/* All zeros if the file does not exist, or is damaged. */
void dx_counts_read(int history_dirfd, const char *service,
                    struct dx_counts *ret_counts)
{
  const int64_t *number = (const int64_t *)ret_counts;
  const int64_t *end = (const int64_t *)(ret_counts + 1);
  char name[DX_HISTORY_NAME_BYTES];

  name_file(service, name);
  (void)dx_history_read(history_dirfd, name, COUNTS_VERSION, ret_counts,
                        sizeof(*ret_counts));
  for (; number < end; number++)
    if (*number < 0 || *number > INT64_MAX / 2)
      memset(ret_counts, 0, sizeof(*ret_counts));
}

/* ---- counting ---- */

void dx_counters_begin(struct dx_counters *counters, int history_dirfd,
                       const char *service)
{
  *counters =
      (struct dx_counters){.history_dirfd = history_dirfd, .service = service};
  dx_counts_read(history_dirfd, service, &counters->counts);
  counters->written = counters->counts;
}

int64_t dx_counters_save(struct dx_counters *counters, bool at_once)
{
  int64_t now_ms = dx_monotonic_ms();
  char name[DX_HISTORY_NAME_BYTES];

  if (memcmp(&counters->counts, &counters->written, sizeof(struct dx_counts)) ==
      0)
    return INT64_MAX;
  if (counters->due_ms == 0)
    counters->due_ms = now_ms + DX_HISTORY_LATE_MS;
  if (!at_once && now_ms < counters->due_ms)
    return counters->due_ms;
  name_file(counters->service, name);
  dx_history_write(counters->history_dirfd, name, COUNTS_VERSION,
                   &counters->counts, sizeof(counters->counts));
  counters->written = counters->counts;
  counters->due_ms = 0;
  return INT64_MAX;
}
