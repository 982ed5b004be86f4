/*
 * fuzz_history.c - the files that docextractd goes on with after a restart,
 * whatever values are in them: those of a pause, of counters, and of times;
 * what is missing is 0. The first byte tells whether the pause is of this boot:
 * with any other, it counts as none.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/service/schedule.h"
#include "daemon/service/rate_limit.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/history.h"
#include "lib/base/policy.h"
#include "lib/spool/counters.h"

#define HOST "h"
#define PORT 443
#define SERVICE "s"

static int64_t now_ms(void)
{
  return 1000000;
}

/* A file with a version, `before`, and the next `size` bytes of the input. */
static void put(const char *name, const char *version, const char *before,
                size_t before_size, struct fuzz_input *in, size_t size)
{
  struct dx_buf buf = {0};
  size_t n = in->left < size ? in->left : size;

  dx_buf_puts(&buf, version);
  dx_buf_add(&buf, before, before_size);
  dx_buf_add(&buf, in->at, n);
  in->at += n;
  in->left -= n;
  for (; n < size; n++)
    dx_buf_add(&buf, "", 1);
  HOLDS(dx_buf_ok(&buf));
  fuzz_put(name, buf.data, buf.len);
  dx_buf_release(&buf);
}

/* No file may delay us longer than a response may. */
static void limit_rate(void)
{
  struct dx_rate_limit limit;

  dx_rate_limit_init(&limit, fuzz_dirfd(), HOST, PORT);
  dx_rate_limit_hold(&limit, 8);
  HOLDS(dx_rate_limit_next_ms(&limit) > now_ms() &&
        dx_rate_limit_next_ms(&limit) <= now_ms() + DX_RETRY_AFTER_MAX_MS);
  dx_rate_limit_down(&limit);
  dx_rate_limit_refused(&limit, 8, 0, 1000);
  HOLDS(dx_rate_limit_is_blocked(&limit));
  dx_rate_limit_up(&limit);
}

static void learn(enum dx_phase phase)
{
  struct dx_poll_forecast forecast;
  struct dx_latency latency;
  int64_t wait;

  dx_latency_read(fuzz_dirfd(), HOST, PORT, &latency);
  forecast = dx_poll_predict(&latency.of[phase], 3);
  HOLDS(forecast.median_ms >= 0 && forecast.spread > 0);
  wait = dx_poll_wait_ms(&forecast, phase, 1000, 0, 0.5);
  HOLDS(wait > 0 && wait <= DX_POLL_MEDIAN_MAX_MS);
  dx_poll_learn(&latency.of[phase], 3, 1000, 2000);
  dx_latency_write(fuzz_dirfd(), HOST, PORT, &latency);
}

static void count(void)
{
  struct dx_counts before, after;
  struct dx_counters counters;

  dx_counters_begin(&counters, fuzz_dirfd(), SERVICE);
  dx_counts_read(fuzz_dirfd(), SERVICE, &before);
  HOLDS(before.extracted >= 0 && before.failed >= 0);
  counters.counts.extracted++;
  (void)dx_counters_save(&counters, true);
  dx_counts_read(fuzz_dirfd(), SERVICE, &after);
  HOLDS(after.extracted == before.extracted + 1 ||
        before.extracted == INT64_MAX / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const struct dx_clock clock = {now_ms, now_ms};
  struct fuzz_input in = {data, size};
  char boot[40] = "another boot";

  if (size > 0 && data[0] == '#')
    dx_boot_id(boot);
  if (size > 0)
    in = (struct fuzz_input){data + 1, size - 1};
  dx_clock_use(&clock);
  put("h_443_pause", "docextract-pause 2\n", boot, sizeof(boot), &in,
      sizeof(struct dx_pause));
  put("s_counts", "docextract-counts 2\n", "", 0, &in,
      sizeof(struct dx_counts));
  put("h_443_times", "docextract-times 5\n", "", 0, &in,
      DX_PHASE_COUNT * sizeof(struct dx_poll_history));
  limit_rate();
  count();
  learn(DX_PHASE_SOURCE);
  learn(DX_PHASE_EXTRACT);
  return 0;
}
