/*
 * rate.c - the rate limit: so many calls in any second.
 */
#include "sim/rate.h"

#include <pthread.h>
#include <stdlib.h>

#define NS_PER_S 1000000000

struct sim_rate {
  pthread_mutex_t lock;
  size_t limit;
  size_t next;     /* the oldest of the last `limit` calls */
  int64_t times[]; /* of the last calls let through; 0: none yet */
};

struct sim_rate *sim_rate_new(int64_t per_second)
{
  size_t n = (size_t)per_second;
  struct sim_rate *r = calloc(1, sizeof(*r) + n * sizeof(r->times[0]));

  if (r == NULL)
    return NULL;
  r->limit = n;
  (void)pthread_mutex_init(&r->lock, NULL);
  return r;
}

bool sim_rate_take(struct sim_rate *r, int64_t now_ns)
{
  bool free_slot;

  if (r->limit == 0)
    return true;
  (void)pthread_mutex_lock(&r->lock);
  free_slot = r->times[r->next] == 0 || now_ns - r->times[r->next] >= NS_PER_S;
  if (free_slot) {
    r->times[r->next] = now_ns;
    r->next = (r->next + 1) % r->limit;
  }
  (void)pthread_mutex_unlock(&r->lock);
  return free_slot;
}

void sim_rate_free(struct sim_rate *r)
{
  if (r == NULL)
    return;
  (void)pthread_mutex_destroy(&r->lock);
  free(r);
}
