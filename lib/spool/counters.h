/*
 * counters.h - what docextractd has done with a service, for `docextract
 * metrics`: numbers only, nothing about any document.
 *
 * Counted in memory; one small file per section of the configuration, in
 * SpoolDir/history, has what was counted before, for those who read it and for
 * the next docextractd. Counters only grow; a file that is lost or damaged
 * begins at 0, which is what a reader expects of a counter after a restart.
 *
 * Blocking: see lib/base/history.h.
 */
#ifndef DX_COUNTERS_H
#define DX_COUNTERS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/policy.h"

struct dx_counts {
  int64_t calls[DX_CL_COUNT]; /* of the API and the storage, by outcome */
  /* How late, at most, something ready was found: the time since the last poll
   * that did not find it. */
  int64_t found[DX_PHASE_COUNT];
  int64_t late_ms[DX_PHASE_COUNT];
  int64_t extracted; /* manifests */
  int64_t failed;
  int64_t extraction_ms; /* from upload to result, in all */
};

/* ---- docextractd ---- */

struct dx_counters;

/* history_dirfd: SpoolDir/history, borrowed. Reads. NULL when out of memory. */
struct dx_counters *dx_counters_new(int history_dirfd, const char *service);
void dx_counters_free(struct dx_counters **counters); /* takes NULL; writes */

/* Adds to what there is, in memory. */
void dx_counters_add(struct dx_counters *counters,
                     const struct dx_counts *more);

/* Writes what was added, but not more often than DX_HISTORY_LATE_MS allow.
 * Returns when to call it again (monotonic), INT64_MAX: only after another
 * dx_counters_add(). */
int64_t dx_counters_save(struct dx_counters *counters);

/* ---- readers ---- */

/* What was counted, as far as it was written. */
void dx_counts_read(int history_dirfd, const char *service,
                    struct dx_counts *ret_counts);

#endif
