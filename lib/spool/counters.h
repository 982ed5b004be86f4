/*
 * counters.h - what all processes of this host have done with a service, for
 * `docextract metrics`: numbers only, nothing about any document.
 *
 * One small file per section of the configuration in SpoolDir/pace, next to
 * those of the rate limit. Counters only grow; a file that is lost or damaged
 * begins at 0, which is what a reader expects of a counter after a restart. If
 * it cannot be opened, this process does not count.
 *
 * Blocking: see lib/base/shared.h.
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

struct dx_counters;

/* dirfd: SpoolDir/pace, borrowed. NULL when out of memory. */
struct dx_counters *dx_counters_new(int dirfd, const char *service);
void dx_counters_free(struct dx_counters **counters);

/* Adds to what there is. */
void dx_counters_add(struct dx_counters *counters,
                     const struct dx_counts *more);

/* What all processes have counted by now. */
void dx_counters_read(struct dx_counters *counters, struct dx_counts *ret);

#endif
