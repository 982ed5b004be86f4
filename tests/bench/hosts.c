/*
 * hosts.c - several hosts that share an account: how much of the account's rate
 * they use, and how many of their calls are refused (doc/policy.md, "Rate
 * limit"). The hosts, the service, and the clock are simulated; the adaptive
 * hosts run the real daemon/service/rate_limit.c.
 *
 * The service accepts 10 calls in any second; refused calls count, too. Each
 * host always has a call to make. The first minute is not measured.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/service/rate_limit.h"
#include "lib/base/clock.h"

#define HOSTS_MAX 50
#define LIMIT 10 /* calls in a second */
#define RATE 8.0 /* APIRate of each host, unless the account is divided */
#define RETRY_MAX_MS 60000
#define WARM_UP_MS 60000
#define END_MS 900000

enum strategy { SHARE, RETRY, ADAPT, STRATEGIES };

struct host {
  struct dx_rate_limit limit;
  double next_ms; /* SHARE, RETRY */
  int refusals;   /* RETRY: in a row */
};

struct outcome {
  double used_percent, refused_percent;
};

static int64_t now_ms;
static int64_t recent[LIMIT]; /* the times of the last calls, a ring */
static size_t count;

static int64_t read_clock(void)
{
  return now_ms;
}

/* The same numbers in every run. */
static double next_random(void)
{
  static unsigned short seed[3] = {1, 2, 3};

  return erand48(seed);
}

double __wrap_dx_random_unit(void);
double __wrap_dx_random_unit(void)
{
  return next_random();
}

static bool is_accepted(void)
{
  int64_t *oldest = &recent[count++ % LIMIT];
  bool accepted = now_ms - *oldest >= 1000;

  *oldest = now_ms;
  return accepted;
}

static double due_ms(const struct host *host, enum strategy strategy)
{
  return strategy == ADAPT ? (double)dx_rate_limit_next_ms(&host->limit)
                           : host->next_ms;
}

/* Returns whether the call was accepted. */
static bool call(struct host *host, enum strategy strategy, double rate)
{
  double slot_ms = 0, wait_ms;
  bool accepted;

  if (strategy == ADAPT) {
    slot_ms = dx_rate_limit_take(&host->limit, rate);
    dx_rate_limit_answered(&host->limit,
                           dx_rate_limit_leave(&host->limit, rate));
  }
  accepted = is_accepted();
  host->refusals = accepted ? 0 : host->refusals + 1;
  if (strategy == ADAPT && accepted) {
    dx_rate_limit_up(&host->limit);
  } else if (strategy == ADAPT) {
    dx_rate_limit_refused(&host->limit, rate, slot_ms, 0);
  } else {
    wait_ms = 1000 / rate * (0.95 + 0.1 * next_random());
    if (strategy == RETRY && !accepted)
      wait_ms = fmin(RETRY_MAX_MS, ldexp(1000, host->refusals)) *
                (0.5 + next_random() / 2);
    host->next_ms = (double)now_ms + wait_ms;
  }
  return accepted;
}

static struct outcome simulate(size_t host_count, enum strategy strategy)
{
  static struct host hosts[HOSTS_MAX];
  double rate =
      strategy == SHARE ? fmin(RATE, (LIMIT - 1.0) / (double)host_count) : RATE;
  size_t accepted = 0, refused = 0, i;

  now_ms = 1000000;
  for (i = 0; i < LIMIT; i++)
    recent[i] = 0;
  for (i = 0; i < host_count; i++) {
    hosts[i] = (struct host){.next_ms = (double)now_ms + 1000 * next_random()};
    dx_rate_limit_init(&hosts[i].limit, -1, "h", 443);
    hosts[i].limit.next_ms = hosts[i].next_ms;
  }
  while (now_ms < 1000000 + END_MS) {
    struct host *next = &hosts[0];

    for (i = 1; i < host_count; i++)
      if (due_ms(&hosts[i], strategy) < due_ms(next, strategy))
        next = &hosts[i];
    if (due_ms(next, strategy) > (double)now_ms)
      now_ms = (int64_t)ceil(due_ms(next, strategy));
    if (now_ms < 1000000 + WARM_UP_MS)
      (void)call(next, strategy, rate);
    else if (call(next, strategy, rate))
      accepted++;
    else
      refused++;
  }
  return (struct outcome){.used_percent =
                              100.0 * (double)accepted * 1000 /
                              (LIMIT * (double)(END_MS - WARM_UP_MS)),
                          .refused_percent = 100.0 * (double)refused /
                                             (double)(accepted + refused)};
}

int main(void)
{
  static const struct dx_clock simulated = {read_clock, read_clock};
  static const size_t counts[] = {1, 2, 3, 4, 8, 20, 50};
  size_t i;

  dx_clock_use(&simulated);
  for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    struct outcome share = simulate(counts[i], SHARE),
                   retry = simulate(counts[i], RETRY),
                   adapt = simulate(counts[i], ADAPT);

    printf("%zu\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", counts[i],
           adapt.used_percent, adapt.refused_percent, share.used_percent,
           share.refused_percent, retry.used_percent, retry.refused_percent);
  }
  return EXIT_SUCCESS;
}
