/*
 * blame.c - see blame.h.
 */
#include "daemon/engine/blame.h"

#include <stddef.h>

#define DX_REJECTED_TRIES 3
#define DX_REJECTED_FOR_MS 600000
#define DX_REJECTED_FIRST_MS 30000 /* doubling */
#define DX_REJECTED_MAX_MS 600000
#define DX_LOST_FIRST_MS 5000 /* doubling */
#define DX_LOST_MAX_MS 60000
#define DX_REREGISTER_FIRST_MS 30000 /* doubling */
#define DX_REREGISTER_MAX_MS 600000
#define DX_START_OVER_MAX 3 /* if others are extracted */
#define DX_OVERDUE_PARTS 10 /* of the age */
#define DX_OVERDUE_POLL_MS 3600000

static int64_t doubled(int64_t first_ms, int64_t max_ms, int64_t n)
{
  int64_t wait_ms = first_ms;

  while (n-- > 1 && wait_ms < max_ms)
    wait_ms *= 2;
  return wait_ms < max_ms ? wait_ms : max_ms;
}

void dx_blame_count(struct dx_rejections *rejections, int64_t now_ms)
{
  if (rejections->count++ == 0)
    rejections->first_ms = now_ms;
}

bool dx_blame_document(const struct dx_rejections *rejections,
                       int64_t accepted_ms, int64_t now_ms)
{
  return rejections->count >= DX_REJECTED_TRIES &&
         now_ms - rejections->first_ms >= DX_REJECTED_FOR_MS &&
         accepted_ms > rejections->first_ms;
}

int64_t dx_blame_rejected_wait_ms(int n)
{
  return doubled(DX_REJECTED_FIRST_MS, DX_REJECTED_MAX_MS, n);
}

int64_t dx_blame_lost_wait_ms(int n)
{
  return doubled(DX_LOST_FIRST_MS, DX_LOST_MAX_MS, n);
}

int64_t dx_blame_reregister_wait_ms(int64_t n)
{
  return doubled(DX_REREGISTER_FIRST_MS, DX_REREGISTER_MAX_MS, n);
}

int64_t dx_blame_failed_wait_ms(const struct dx_failure *failure)
{
  static const int64_t waits[] = {5000,   30000,   120000, /* start overs */
                                  600000, 3600000, 14400000};
  int64_t n = failure->start_overs, count = sizeof(waits) / sizeof(waits[0]);

  if (failure->is_general) /* one at a time: the breaker decides when */
    return waits[n < count ? n : count - 1];
  if (n >= count || (n >= DX_START_OVER_MAX && failure->other_was_extracted))
    return -1;
  return waits[n];
}

int64_t dx_overdue_wait_ms(int64_t age_ms, int64_t limit_ms)
{
  int64_t wait_ms = (age_ms > limit_ms ? age_ms : limit_ms) / DX_OVERDUE_PARTS;

  return wait_ms < DX_OVERDUE_POLL_MS ? wait_ms : DX_OVERDUE_POLL_MS;
}
