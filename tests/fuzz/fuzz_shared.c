/*
 * fuzz_shared.c - the files of the rate limit and of the latency history,
 * whatever other processes left in them: the first line, and the rest. A #
 * stands for the id of this boot: with any other, the file counts as empty.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/base/shared.h"
#include "daemon/service/latency.h"
#include "daemon/service/rate_limit.h"

#define HOST "h"
#define PORT 443
#define RATE_FILE "h_443"
#define LATENCY_FILE "h_443_times"

static int64_t now_ms(void)
{
  return 1000000;
}

static void put(const char *name, const char *text)
{
  char boot[DX_BOOT_ID_BYTES];
  struct dx_buf buf = {0};
  size_t len = strcspn(text, "#");

  dx_boot_id(boot);
  dx_buf_add(&buf, text, len);
  if (text[len] == '#') {
    dx_buf_puts(&buf, boot);
    dx_buf_puts(&buf, text + len + 1);
  }
  fuzz_put(name, dx_buf_text(&buf), buf.len);
  dx_buf_release(&buf);
}

/* No file may delay us longer than a response may. */
static void limit_rate(void)
{
  struct dx_rate_limit *limit = dx_rate_limit_new(fuzz_dirfd(), HOST, PORT, 8);
  struct dx_slot slot;

  HOLDS(limit != NULL);
  slot = dx_rate_limit_book(limit, DX_URGENT, 0);
  HOLDS(slot.at_ms >= 0 && slot.at_ms <= now_ms() + DX_RETRY_AFTER_MAX_MS);
  (void)dx_rate_limit_is_blocked(limit);
  dx_rate_limit_down(limit);
  dx_rate_limit_block(limit, 1000);
  HOLDS(dx_rate_limit_is_blocked(limit));
  dx_rate_limit_up(limit);
  dx_rate_limit_free(&limit);
}

static void learn(enum dx_phase phase)
{
  struct dx_latency *latency = dx_latency_new(fuzz_dirfd(), HOST, PORT);
  struct dx_poll_forecast forecast;
  int64_t wait;

  HOLDS(latency != NULL);
  forecast = dx_latency_predict(latency, phase, 3);
  HOLDS(forecast.median_ms >= 0 && forecast.spread > 0);
  wait = dx_poll_wait_ms(&forecast, phase, 1000, 0, 0.5);
  HOLDS(wait > 0 && wait <= DX_POLL_MEDIAN_MAX_MS);
  dx_latency_learn(latency, phase, 3, 1000, 2000);
  dx_latency_free(&latency);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const struct dx_clock clock = {now_ms, now_ms};
  struct fuzz_input in = {data, size};
  char *rate = fuzz_line(&in);
  char *latency = fuzz_rest(&in);

  dx_clock_use(&clock);
  put(RATE_FILE, rate);
  put(LATENCY_FILE, latency);
  limit_rate();
  learn(DX_PHASE_SOURCE);
  learn(DX_PHASE_EXTRACT);
  free(rate);
  free(latency);
  return 0;
}
