/*
 * rate-caller.c - stands for docextractd, which takes slots as fast as it may:
 * writes the monotonic time of each, in milliseconds, and how long it waited
 * for it to its standard output, one write per line, so that nothing is lost
 * when it is killed. For tests/long/rate.sh; makes no calls.
 *
 * Usage: rate-caller DIRECTORY RATE CALLS: how many before it ends
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "daemon/service/rate_limit.h"
#include "lib/base/clock.h"
#include "lib/base/policy.h"

static void sleep_until(int64_t boot_ms)
{
  const struct timespec at = {.tv_sec = boot_ms / 1000,
                              .tv_nsec = boot_ms % 1000 * 1000000};

  while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL) != 0)
    ;
}

/* As the engine does: book, wait for the slot, call; a slot that is missed on a
 * busy machine is given up. */
static void call_once(struct dx_rate_limit *limit)
{
  int64_t began = dx_monotonic_ms();
  int64_t now = began;
  struct dx_slot slot;
  char line[64];
  int n;

  do {
    slot = dx_rate_limit_book(limit, DX_URGENT, now - began);
    sleep_until(slot.at_ms);
    now = dx_monotonic_ms();
  } while (!slot.booked || now - slot.at_ms > DX_RATE_LIMIT_LATE_MS);
  n = snprintf(line, sizeof(line), "%" PRId64 " %" PRId64 "\n", now,
               now - began);
  if (write(STDOUT_FILENO, line, (size_t)n) != n)
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
  struct dx_rate_limit *limit;
  long calls;
  int dirfd;

  /* Whoever started it may be interrupted. */
  if (argc != 4 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
    return EXIT_FAILURE;
  dirfd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dirfd < 0)
    return EXIT_FAILURE;
  limit = dx_rate_limit_new(dirfd, "host", 1, strtod(argv[2], NULL));
  if (limit == NULL)
    return EXIT_FAILURE;
  for (calls = strtol(argv[3], NULL, 10); calls > 0; calls--)
    call_once(limit);
  dx_rate_limit_free(&limit);
  (void)close(dirfd);
  return EXIT_SUCCESS;
}
