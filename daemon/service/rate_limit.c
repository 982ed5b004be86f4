/*
 * rate_limit.c - books the slots of a host, and keeps its pauses.
 */
#include "daemon/service/rate_limit.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/history.h"
#include "lib/base/policy.h"

/* For all sections with the same host and port. */
struct shared {
  size_t users;
  int history_dirfd;
  const char *host;
  int port;
  double next_ms; /* the next free slot */
  struct dx_pause pause;
};

struct dx_rate_limit {
  struct shared *shared;
  double gap_ms;
};

struct dx_rate_limit *dx_rate_limit_new(int history_dirfd, const char *host,
                                        int port, double rate)
{
  struct dx_rate_limit first = {.shared = calloc(1, sizeof(*first.shared))};
  struct dx_rate_limit *limit;

  if (first.shared == NULL)
    return NULL;
  first.shared->history_dirfd = history_dirfd;
  first.shared->host = host;
  first.shared->port = port;
  dx_pause_read(history_dirfd, host, port, &first.shared->pause);
  limit = dx_rate_limit_share(&first, rate);
  if (limit == NULL)
    free(first.shared);
  return limit;
}

struct dx_rate_limit *dx_rate_limit_share(struct dx_rate_limit *other,
                                          double rate)
{
  struct dx_rate_limit *limit = calloc(1, sizeof(*limit));
  double first_ms;

  if (limit == NULL)
    return NULL;
  limit->shared = other->shared;
  limit->shared->users++;
  limit->gap_ms = 1000 / rate;
  /* A process that has just ended may have made a call shortly before. */
  first_ms = (double)dx_monotonic_ms() + limit->gap_ms;
  if (first_ms > limit->shared->next_ms)
    limit->shared->next_ms = first_ms;
  return limit;
}

void dx_rate_limit_free(struct dx_rate_limit **limit)
{
  if (*limit == NULL)
    return;
  if (--(*limit)->shared->users == 0)
    free((*limit)->shared);
  free(*limit);
  *limit = NULL;
}

/* When the next call may be sent. */
static double next_ms(const struct shared *shared)
{
  double at = (double)dx_monotonic_ms();

  if (at < shared->next_ms)
    at = shared->next_ms;
  if (at < (double)shared->pause.until_ms)
    at = (double)shared->pause.until_ms;
  return at;
}

int64_t dx_rate_limit_book_any(struct dx_rate_limit *limit)
{
  double at = next_ms(limit->shared);

  limit->shared->next_ms = at + limit->gap_ms;
  return (int64_t)(at + 0.999); /* rounded up: never early */
}

struct dx_slot dx_rate_limit_book(struct dx_rate_limit *limit,
                                  enum dx_urgency urgency, int64_t waited_ms)
{
  double at = next_ms(limit->shared);
  double ahead = DX_RATE_LIMIT_AHEAD_MS + (double)waited_ms / 4;

  if (urgency == DX_URGENT || ahead > DX_RATE_LIMIT_AHEAD_MAX_MS)
    ahead = DX_RATE_LIMIT_AHEAD_MAX_MS;
  if (at - (double)dx_monotonic_ms() > ahead)
    return (struct dx_slot){false, (int64_t)(at - ahead) + 1};
  return (struct dx_slot){true, dx_rate_limit_book_any(limit)};
}

static void save(const struct shared *shared)
{
  dx_pause_write(shared->history_dirfd, shared->host, shared->port,
                 &shared->pause);
}

void dx_rate_limit_block(struct dx_rate_limit *limit, int64_t wait_ms)
{
  struct dx_pause *pause = &limit->shared->pause;
  int64_t until;

  if (wait_ms > DX_RETRY_AFTER_MAX_MS)
    wait_ms = DX_RETRY_AFTER_MAX_MS;
  until = dx_monotonic_ms() + wait_ms;
  if (until <= pause->until_ms)
    return;
  pause->until_ms = until;
  save(limit->shared);
}

bool dx_rate_limit_is_blocked(const struct dx_rate_limit *limit)
{
  return dx_rate_limit_blocked_ms(limit) > dx_monotonic_ms();
}

int64_t dx_rate_limit_blocked_ms(const struct dx_rate_limit *limit)
{
  return limit->shared->pause.until_ms;
}

void dx_rate_limit_down(struct dx_rate_limit *limit)
{
  struct dx_pause *pause = &limit->shared->pause;

  if (dx_rate_limit_is_blocked(limit))
    return; /* another call has already reported this */
  pause->down_ms = pause->down_ms == 0 ? DX_DOWN_FIRST_MS : 2 * pause->down_ms;
  if (pause->down_ms > DX_DOWN_MAX_MS)
    pause->down_ms = DX_DOWN_MAX_MS;
  dx_rate_limit_block(limit, pause->down_ms);
}

void dx_rate_limit_up(struct dx_rate_limit *limit)
{
  if (limit->shared->pause.down_ms == 0)
    return;
  limit->shared->pause.down_ms = 0;
  save(limit->shared);
}
