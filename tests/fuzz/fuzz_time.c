/*
 * fuzz_time.c - dates, durations, and Retry-After. A time that was understood
 * is the same after it was formatted.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/config/config.h"
#include "daemon/service/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *text = fuzz_rest(&in);
  int64_t at = dx_parse_time(text);
  int64_t wait = dx_retry_after_ms(text, at);
  char again[DX_TIME_BYTES];

  HOLDS(at >= -1 && dx_parse_duration(text) >= -1);
  HOLDS(wait >= -1 && wait <= DX_RETRY_AFTER_MAX_MS);
  HOLDS(dx_retry_after_ms(text, -1) <= DX_RETRY_AFTER_MAX_MS);
  if (at >= 0) {
    dx_format_time(at, again);
    HOLDS(dx_parse_time(again) == at / 1000 * 1000);
  }
  free(text);
  return 0;
}
