/*
 * test_signed_url.c - tables of URLs: whether a document may be sent there,
 * and how long they are valid.
 */
#include "tests/unit/unit.h"

#include <stdbool.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/service/signed_url.h"

static void the_lifetime_of_a_url_is_read_from_it(void **state)
{
  static const struct {
    const char *url;
    int64_t lifetime_ms;
  } rows[] = {
      {"https://s/o?X-Amz-Date=20260131T120000Z&X-Amz-Expires=60", 60000},
      {"https://g/o?X-Goog-Date=20260131T115930Z&X-Goog-Expires=90", 60000},
      {"https://a/o?sv=1&se=2026-01-31T12%3A01%3A00Z&sig=x", 60000},
      {"https://s/o?x-amz-expires=60&x-amz-date=20260131T115800Z", 0},
      {"https://s/o?X-Amz-Date=rubbish&X-Amz-Expires=60", DX_URL_LIFETIME_MS},
      {"https://s/o?X-Amz-Date=20260131T120000Z&X-Amz-Expires=-5",
       DX_URL_LIFETIME_MS},
      {"https://s/o", DX_URL_LIFETIME_MS},
      {"https://s/o?nose=2026-01-31T12:01:00Z", DX_URL_LIFETIME_MS},
  };
  int64_t date = dx_parse_time("2026-01-31T12:00:00Z");
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (dx_signed_url_lifetime_ms(rows[i].url, date) != rows[i].lifetime_ms)
      fail_msg("%s", rows[i].url);
}

static void documents_go_to_safe_hosts_only(void **state)
{
  static char huge[DX_URL_MAX_BYTES + 10];
  static const struct {
    const char *url;
    bool may;
  } rows[] = {
      {"https://s.example/o?sig=a%40b", true},
      {"https://s.example:8443/o", true},
      {"HTTPS://s.example/o", true},
      {"http://127.0.0.1:9000/o", true},
      {"http://localhost/o", true},
      {"http://[::1]:9000/o", true},
      {"http://s.example/o", false},
      {"http://127.0.0.1.s.example/o", false},
      {"http://localhost.s.example/o", false},
      {"http://127.0.0.1@s.example/o", false},
      {"https://user@s.example/o", false},
      {"https://user:password@s.example/o", false},
      {"ftp://s.example/o", false},
      {"file:///etc/passwd", false},
      {"//s.example/o", false},
      {"", false},
      {"https://", false},
      {huge, false},
  };
  size_t i;

  (void)state;
  memset(huge, 'x', sizeof(huge) - 1);
  memcpy(huge, "https://s.example/", 18);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if ((dx_signed_url_check(rows[i].url, NULL) == DX_OK) != rows[i].may)
      fail_msg("'%.60s'", rows[i].url);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_lifetime_of_a_url_is_read_from_it),
      cmocka_unit_test(documents_go_to_safe_hosts_only),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
