/*
 * test_cli.c - the parts of the command that can be tested alone: exit statuses
 * and the host to reach. The rest is in tests/cli.
 */
#include "tests/unit/unit.h"

#include "cli/cli.h"
#include "cli/reach.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Scripts rely on the numbers, so they are written out here. */
static void every_class_has_its_exit_status(void **state)
{
  static const struct {
    enum dx_class cls;
    int status;
  } expected[] = {
      {DX_CL_DONE, 0},     {DX_CL_NOT_YET, 75}, {DX_CL_TRANSIENT, 75},
      {DX_CL_RATE, 75},    {DX_CL_TOKEN, 77},   {DX_CL_REFUSED, 65},
      {DX_CL_CONFIG, 78},  {DX_CL_GONE, 69},    {DX_CL_LOCAL, 74},
      {DX_CL_OVERDUE, 75}, {DX_CL_STOPPED, 75}, {DX_CL_INTERNAL, 70},
  };
  size_t i;

  (void)state;
  assert_int_equal(COUNT(expected), DX_CL_COUNT);
  for (i = 0; i < COUNT(expected); i++) {
    assert_int_equal(expected[i].cls, i);
    assert_int_equal(cli_exit_status(expected[i].cls), expected[i].status);
  }
}

static void with_a_proxy_the_proxy_is_reached(void **state)
{
  static const struct {
    const char *proxy;
    const char *host;
    int port;
  } cases[] = {
      {NULL, "service.example", 8443},
      {"http://proxy:3128", "proxy", 3128},
      {"http://proxy:3128/", "proxy", 3128},
      {"http://proxy", "proxy", 1080}, /* libcurl's default */
      {"https://proxy/", "proxy", 443},
      {"http://[::1]:3128", "::1", 3128},
      {"http://[::1]", "::1", 1080},
  };
  struct dx_service service = {
      .base_url = (char *)(uintptr_t) "https://service.example:8443",
      .host = (char *)(uintptr_t) "service.example",
      .port = 8443};
  struct reach reach;
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(cases); i++) {
    service.proxy = (char *)(uintptr_t)cases[i].proxy;
    reach_begin(&service, &reach);
    assert_string_equal(reach.host, cases[i].host);
    assert_int_equal(reach.port, cases[i].port);
    assert_int_equal(reach.proxy, cases[i].proxy != NULL);
    reach_end(&reach);
  }
}

static void plain_http_never_goes_through_a_proxy(void **state)
{
  struct dx_service service = {
      .base_url = (char *)(uintptr_t) "http://127.0.0.1:8480",
      .host = (char *)(uintptr_t) "127.0.0.1",
      .port = 8480,
      .proxy = (char *)(uintptr_t) "http://proxy:3128"};
  struct reach reach;

  (void)state;
  reach_begin(&service, &reach);
  assert_string_equal(reach.host, "127.0.0.1");
  assert_false(reach.proxy);
  reach_end(&reach);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_class_has_its_exit_status),
      cmocka_unit_test(with_a_proxy_the_proxy_is_reached),
      cmocka_unit_test(plain_http_never_goes_through_a_proxy),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
