/*
 * breaker.c - see breaker.h.
 */
#include "daemon/service/breaker.h"

bool dx_breaker_is_open(const struct dx_breaker *breaker)
{
  return breaker->pause_ms != 0;
}

int64_t dx_breaker_next_ms(const struct dx_breaker *breaker)
{
  if (breaker->probe == 0)
    return breaker->until_ms;
  return breaker->probe_ms < INT64_MAX - breaker->began_ms
             ? breaker->began_ms + breaker->probe_ms
             : INT64_MAX;
}

void dx_breaker_begin(struct dx_breaker *breaker, uint64_t caller,
                      int64_t now_ms)
{
  if (!dx_breaker_is_open(breaker))
    return;
  breaker->probe = caller;
  breaker->began_ms = now_ms;
}

bool dx_breaker_fail(struct dx_breaker *breaker,
                     const struct dx_breaker_rule *rule, uint64_t caller,
                     int64_t now_ms)
{
  bool was_open = dx_breaker_is_open(breaker);

  if (was_open && breaker->probe != caller)
    return false;
  if (!was_open) {
    if (breaker->failures++ == 0)
      breaker->caller = caller;
    breaker->several = breaker->several || breaker->caller != caller;
    if (breaker->failures < rule->after || !breaker->several)
      return false;
  }
  breaker->probe = 0;
  breaker->pause_ms = was_open ? 2 * breaker->pause_ms : rule->first_ms;
  if (breaker->pause_ms > rule->max_ms)
    breaker->pause_ms = rule->max_ms;
  breaker->until_ms = now_ms + breaker->pause_ms;
  breaker->failed_ms = now_ms;
  breaker->probe_ms = rule->probe_ms;
  return !was_open;
}

bool dx_breaker_succeed(struct dx_breaker *breaker)
{
  bool was_open = dx_breaker_is_open(breaker);

  *breaker = (struct dx_breaker){0};
  return was_open;
}

void dx_breaker_drop(struct dx_breaker *breaker, uint64_t caller)
{
  if (breaker->probe == caller)
    breaker->probe = 0;
}

void dx_breaker_hurry(struct dx_breaker *breaker, int64_t gap_ms,
                      int64_t now_ms)
{
  int64_t earliest_ms = breaker->failed_ms + gap_ms;

  if (earliest_ms < now_ms)
    earliest_ms = now_ms;
  if (dx_breaker_is_open(breaker) && earliest_ms < breaker->until_ms)
    breaker->until_ms = earliest_ms;
}
