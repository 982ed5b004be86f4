/*
 * rate_limit.c - the shared rate limit; the only reader and writer of its
 * files.
 */
#include "daemon/service/rate_limit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/shared.h"

/* What the file says, in this boot's milliseconds. */
struct record {
  double next_ms;         /* the next free slot */
  int64_t blocked_ms;     /* no calls until then */
  int64_t blocked_wall_s; /* the same for people who read the file */
  int64_t down_ms;        /* length of the last outage block; 0: it is up */
};

struct dx_rate_limit {
  int fd; /* -1: alone */
  double gap_ms;
  char boot_id[DX_BOOT_ID_BYTES];
  struct record alone; /* used when there is no file */
  bool was_down;       /* the file reported an outage when last read */
};

struct dx_rate_limit *dx_rate_limit_new(int dirfd, const char *host, int port,
                                        double rate)
{
  struct dx_rate_limit *limit = calloc(1, sizeof(*limit));

  if (limit == NULL)
    return NULL;
  dx_boot_id(limit->boot_id);
  limit->gap_ms = 1000 / rate;
  /* Without the boot id the times of every other process would look like those
   * of another boot, and be ignored. */
  limit->fd = strcmp(limit->boot_id, "-") != 0
                  ? dx_shared_open(dirfd, host, port, "")
                  : -1;
  if (limit->fd < 0) {
    dx_log(DX_LOG_WARNING,
           "cannot open the rate limit file of '%s': %s; going at a quarter of "
           "the rate",
           host, strerror(errno));
    limit->gap_ms *= 4;
  }
  return limit;
}

void dx_rate_limit_free(struct dx_rate_limit **limit)
{
  if (*limit == NULL)
    return;
  if ((*limit)->fd >= 0)
    (void)close((*limit)->fd);
  free(*limit);
  *limit = NULL;
}

/* What none of our processes would have written counts as nothing. */
static bool is_sane(const struct record *r, int64_t now)
{
  return r->next_ms >= 0 &&
         r->next_ms <= (double)now + 10.0 * DX_RATE_LIMIT_AHEAD_MAX_MS &&
         r->blocked_ms <= now + DX_RETRY_AFTER_MAX_MS && r->down_ms >= 0 &&
         r->down_ms <= DX_DOWN_MAX_MS;
}

static void read_record(const struct dx_rate_limit *limit, const char *text,
                        struct record *r)
{
  char boot_id[DX_BOOT_ID_BYTES];

  if (sscanf(text, "%36s %lf %" SCNd64 " %" SCNd64 " %" SCNd64, boot_id,
             &r->next_ms, &r->blocked_ms, &r->blocked_wall_s,
             &r->down_ms) != 5 ||
      strcmp(boot_id, limit->boot_id) != 0 || !is_sane(r, dx_monotonic_ms()))
    memset(r, 0, sizeof(*r));
}

static void begin(struct dx_rate_limit *limit, struct record *r)
{
  char text[DX_SHARED_BYTES + 1];

  if (limit->fd < 0) {
    *r = limit->alone;
    return;
  }
  dx_shared_begin(limit->fd, text);
  read_record(limit, text, r);
}

static void end(struct dx_rate_limit *limit, const struct record *changed)
{
  char text[DX_SHARED_BYTES + 1];

  if (limit->fd < 0) {
    if (changed != NULL)
      limit->alone = *changed;
    return;
  }
  if (changed != NULL)
    (void)snprintf(text, sizeof(text),
                   "%36s %20.3f %20" PRId64 " %20" PRId64 " %20" PRId64 "\n",
                   limit->boot_id, changed->next_ms, changed->blocked_ms,
                   changed->blocked_wall_s, changed->down_ms);
  dx_shared_end(limit->fd, changed != NULL ? text : NULL);
}

static double ahead_ms(enum dx_urgency urgency, int64_t waited_ms)
{
  double ahead = DX_RATE_LIMIT_AHEAD_MS + (double)waited_ms / 4;

  if (urgency == DX_URGENT || ahead > DX_RATE_LIMIT_AHEAD_MAX_MS)
    return DX_RATE_LIMIT_AHEAD_MAX_MS;
  return ahead;
}

struct dx_slot dx_rate_limit_book(struct dx_rate_limit *limit,
                                  enum dx_urgency urgency, int64_t waited_ms)
{
  struct record r;
  struct dx_slot slot = {false, 0};
  double now = (double)dx_monotonic_ms();
  double at, ahead = ahead_ms(urgency, waited_ms);

  begin(limit, &r);
  limit->was_down = r.down_ms != 0;
  at = r.next_ms > now ? r.next_ms : now;
  if (at < (double)r.blocked_ms)
    at = (double)r.blocked_ms;
  if (at - now <= ahead) {
    r.next_ms = at + limit->gap_ms;
    slot.booked = true;
    slot.at_ms = (int64_t)(at + 0.999); /* never early */
    end(limit, &r);
  } else {
    slot.at_ms = (int64_t)(at - ahead) + 1;
    end(limit, NULL);
  }
  return slot;
}

static void set_blocked(struct record *r, int64_t wait_ms)
{
  int64_t until;

  if (wait_ms > DX_RETRY_AFTER_MAX_MS)
    wait_ms = DX_RETRY_AFTER_MAX_MS;
  until = dx_monotonic_ms() + wait_ms;
  if (until <= r->blocked_ms)
    return;
  r->blocked_ms = until;
  r->blocked_wall_s = (dx_wall_ms() + wait_ms) / 1000;
}

void dx_rate_limit_block(struct dx_rate_limit *limit, int64_t wait_ms)
{
  struct record r;

  begin(limit, &r);
  set_blocked(&r, wait_ms);
  end(limit, &r);
}

bool dx_rate_limit_is_blocked(struct dx_rate_limit *limit)
{
  return dx_rate_limit_blocked_ms(limit) > dx_monotonic_ms();
}

int64_t dx_rate_limit_blocked_ms(struct dx_rate_limit *limit)
{
  struct record r;

  begin(limit, &r);
  end(limit, NULL);
  return r.blocked_ms;
}

bool dx_rate_limit_is_down(struct dx_rate_limit *limit)
{
  struct record r;

  begin(limit, &r);
  end(limit, NULL);
  return r.down_ms != 0;
}

void dx_rate_limit_down(struct dx_rate_limit *limit)
{
  struct record r;

  begin(limit, &r);
  if (r.blocked_ms <=
      dx_monotonic_ms()) { /* else another process has just done this */
    r.down_ms = r.down_ms == 0 ? DX_DOWN_FIRST_MS : 2 * r.down_ms;
    if (r.down_ms > DX_DOWN_MAX_MS)
      r.down_ms = DX_DOWN_MAX_MS;
    set_blocked(&r, r.down_ms);
  }
  end(limit, &r);
  limit->was_down = true;
}

void dx_rate_limit_up(struct dx_rate_limit *limit)
{
  struct record r;

  if (!limit->was_down)
    return;
  limit->was_down = false;
  begin(limit, &r);
  r.down_ms = 0;
  end(limit, &r);
}
