/*
 * queue.c - who waits behind our print job. With Completion auto it leaves the
 * queue to them as soon as its documents are uploaded.
 */
#include "backend/backend.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/print/print_job.h"

#define ASK_MS 400 /* docextractd waits 1 s for an answer of ours */

/* A job of a class of queues waits for the class. */
static bool another_waits(const struct backend *b)
{
  const char *class = getenv("CLASS");

  return (b->queue != NULL && dx_print_job_waits(b->queue, false, ASK_MS)) ||
         (class != NULL && *class != '\0' &&
          dx_print_job_waits(class, true, ASK_MS));
}

bool queue_is_wanted(const struct backend *b)
{
  static int64_t look_ms; /* monotonic */

  if (dx_monotonic_ms() < look_ms)
    return false;
  look_ms = dx_monotonic_ms() + DX_QUEUE_LOOK_MS;
  return another_waits(b);
}
