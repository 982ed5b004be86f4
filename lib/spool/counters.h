/*
 * counters.h - counters of docextractd for each section of the configuration,
 * for `docextract metrics`. They contain no data about documents.
 *
 * They are counted in memory, and written to a file in SpoolDir/history, for
 * readers and for the next docextractd. They only grow; if a file is lost or
 * damaged, they begin at 0, as readers expect after a restart.
 *
 * Blocking: see lib/base/history.h.
 */
#ifndef DX_COUNTERS_H
#define DX_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/policy.h"

struct dx_counts {
  int64_t calls[DX_CL_COUNT]; /* of the API and the storage, by outcome */
  /* How often a poll found something ready, and how late at most, in all: the
   * time since the poll before. */
  int64_t found[DX_PHASE_COUNT];
  int64_t late_ms[DX_PHASE_COUNT];
  int64_t extracted; /* manifests */
  int64_t failed;
  int64_t extraction_ms; /* from upload to result, in all */
};

/* ---- docextractd ---- */

struct dx_counters {
  int history_dirfd; /* SpoolDir/history, borrowed, as is the section */
  const char *service;
  struct dx_counts counts;  /* add to them */
  struct dx_counts written; /* in the file */
  int64_t due_ms;           /* monotonic: when to write changes; 0: none */
};

/* Reads them. */
void dx_counters_begin(struct dx_counters *counters, int history_dirfd,
                       const char *service);
/* Writes counters that have changed, at once or DX_HISTORY_LATE_MS after they
 * have. Returns when to call it again (monotonic); INT64_MAX: only after
 * another change. */
int64_t dx_counters_save(struct dx_counters *counters, bool at_once);

/* ---- readers ---- */

/* The counters that were last written. */
void dx_counts_read(int history_dirfd, const char *service,
                    struct dx_counts *ret_counts);

#endif
