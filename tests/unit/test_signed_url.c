/*
 * test_signed_url.c - tables of URLs: whether a document may be sent there,
 * and how long they are valid.
 */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "daemon/service/signed_url.h"

static void lifetime_of_a_url_is_read_from_it(void **state)
{
  static const struct {
    const char *url;
    int64_t lifetime_ms;
  } rows[] = {
      {"https://s/o?X-Amz-Date=20260131T120000Z&X-Amz-Expires=60", 60000},
      {"https://g/o?X-Goog-Date=20260131T115930Z&X-Goog-Expires=90", 60000},
      {"https://a/o?sv=1&se=2026-01-31T12%3A01%3A00Z&sig=x", 60000},
      {"https://s/o?x-amz-expires=60&x-amz-date=20260131T115800Z", 0},
      {"https://s/o?X-Amz-Date=20260131T120000Z0&X-Amz-Expires=60",
       DX_URL_LIFETIME_MS},
      {"https://s/o?X-Amz-Date=rubbish&X-Amz-Expires=60", DX_URL_LIFETIME_MS},
      {"https://s/o?X-Amz-Date=20260131T120000Z&X-Amz-Expires=0",
       DX_URL_LIFETIME_MS},
      {"https://s/o?X-Amz-Date=2026021T115930Z&X-Amz-Expires=60",
       DX_URL_LIFETIME_MS},
      {"https://s/o?X-Amz-Date=202602%201T115930Z&X-Amz-Expires=60",
       DX_URL_LIFETIME_MS},
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

/* ---- where to ---- */

static struct dx_service service_at(const char *host)
{
  return (struct dx_service){.host = (char *)(uintptr_t)host};
}

/* From a service elsewhere, and from one on this computer. */
static void documents_are_sent_only_to_safe_hosts(void **state)
{
  static char huge[DX_URL_MAX_BYTES + 10];
  static const struct {
    const char *url;
    bool from_afar, from_here;
  } rows[] = {
      {"https://s.example/o?sig=a%40b", true, true},
      {"https://s.example:8443/o", true, true},
      {"HTTPS://s.example/o", true, true},
      {"https://10.0.0.7/o", true, true}, /* clinics have private networks */
      {"https://192.168.1.7/o", true, true},
      {"https://[fd00::7]/o", true, true},
      {"http://127.0.0.1:9000/o", false, true},
      {"http://localhost/o", false, true},
      {"http://[::1]:9000/o", false, true},
      {"https://127.0.0.1:631/o", false, true},
      {"https://localhost/o", false, true},
      {"https://[::1]/o", false, true},
      {"https://[::ffff:127.0.0.1]/o", false, true},
      {"https://0.0.0.0/o", false, true},
      {"https://[::]/o", false, true},
      {"https://2130706433/o", false, true},
      {"https://0x7f.1/o", false, true},
      {"https://017700000001/o", false, true},
      {"https://127.1/o", false, true},
      {"https://169.254.169.254/latest", false, false},
      {"http://169.254.169.254/latest", false, false},
      {"https://100.100.100.200/o", false, false},
      {"https://168.63.129.16/o", false, false},
      {"https://[64:ff9b::a9fe:a9fe]/o", false, false},
      {"https://[fe80::1]/o", false, false},
      {"https://[fe80::1%25lo]/o", false, false},
      {"https://[::ffff:169.254.169.254]/o", false, false},
      {"https://224.0.0.1/o", false, false},
      {"https://255.255.255.255/o", false, false},
      {"http://s.example/o", false, false},
      {"http://10.0.0.7/o", false, false},
      {"http://127.0.0.1.s.example/o", false, false},
      {"http://localhost.s.example/o", false, false},
      {"http://127.0.0.1@s.example/o", false, false},
      {"https://user@s.example/o", false, false},
      {"https://user:password@s.example/o", false, false},
      {"ftp://s.example/o", false, false},
      {"file:///etc/passwd", false, false},
      {"file://localhost/etc/passwd", false, false},
      {"gopher://127.0.0.1/o", false, false},
      {"dict://127.0.0.1/o", false, false},
      {"ldap://127.0.0.1/o", false, false},
      {"unix:///run/cups/cups.sock", false, false},
      {"data:text/plain,o", false, false},
      {"//s.example/o", false, false},
      {"s.example/o", false, false},
      {"", false, false},
      {"https://", false, false},
      {"https://s.example:0x50/o", false, false},
      {"https://s.example:70000/o", false, false},
      {"https://s.exa\nmple/o", false, false},
      {"https://s exa/o", false, false},
      {huge, false, false},
  };
  struct dx_service far = service_at("a.example");
  struct dx_service here = service_at("127.0.0.1");
  enum dx_scope scope;
  size_t i;

  (void)state;
  memset(huge, 'x', sizeof(huge) - 1);
  memcpy(huge, "https://s.example/", 18);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if ((dx_signed_url_check(rows[i].url, &far, &scope, NULL) == DX_OK) !=
            rows[i].from_afar ||
        (dx_signed_url_check(rows[i].url, &here, &scope, NULL) == DX_OK) !=
            rows[i].from_here)
      fail_msg("'%.60s'", rows[i].url);
}

static void name_must_not_resolve_to_loopback_or_link_local(void **state)
{
  static const struct {
    const char *host, *url;
    enum dx_scope scope;
  } rows[] = {
      {"a.example", "https://s.example/o", DX_SCOPE_NETWORK},
      {"a.example", "https://A.example:99/o", DX_SCOPE_LINK},
      {"a.example", "https://sub.a.example/o", DX_SCOPE_NETWORK},
      {"localhost", "https://s.example/o", DX_SCOPE_HOST},
      {"127.0.0.1", "http://127.0.0.2/o", DX_SCOPE_HOST},
      {"::1", "http://[::1]/o", DX_SCOPE_LINK},
      {"169.254.1.1", "https://169.254.1.1/o", DX_SCOPE_LINK},
      {"169.254.1.1", "https://s.example/o", DX_SCOPE_NETWORK},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_service service = service_at(rows[i].host);
    enum dx_scope scope;

    assert_int_equal(dx_signed_url_check(rows[i].url, &service, &scope, NULL),
                     DX_OK);
    if (scope != rows[i].scope)
      fail_msg("%s from %s: %d", rows[i].url, rows[i].host, (int)scope);
  }
}

static void only_storage_hosts_are_accepted(void **state)
{
  static const struct {
    const char *url;
    bool may;
  } rows[] = {
      {"https://s.example/o", true},
      {"https://S.EXAMPLE:8443/o", true},
      {"https://[fe80::7]/o", true}, /* the administrator named it */
      {"https://t.s.example/o", false},
      {"https://s.example.evil/o", false},
      {"https://s.example./o", false},
      {"https://s.example@evil/o", false},
      {"https://evil/s.example", false},
      {"https://a.example/o", false},
      {"https://[fe80::8]/o", false},
      {"http://s.example/o", false},
      {"https://s/o", false},
  };
  static char name[] = "s.example", link[] = "fe80::7";
  struct dx_item hosts[] = {{name, NULL, 1}, {link, NULL, 2}};
  struct dx_service service = service_at("a.example");
  enum dx_scope scope;
  size_t i;

  (void)state;
  memcpy(service.storage_hosts.items, hosts, sizeof(hosts));
  service.storage_hosts.count = 2;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if ((dx_signed_url_check(rows[i].url, &service, &scope, NULL) == DX_OK) !=
        rows[i].may)
      fail_msg("'%s'", rows[i].url);
}

static void addresses_have_the_scope_of_their_range(void **state)
{
  static const struct {
    const char *text;
    enum dx_scope scope;
  } rows[] = {
      {"192.0.2.1", DX_SCOPE_NETWORK},
      {"10.1.2.3", DX_SCOPE_NETWORK},
      {"172.16.0.1", DX_SCOPE_NETWORK},
      {"169.253.1.1", DX_SCOPE_NETWORK},
      {"223.255.0.1", DX_SCOPE_NETWORK},
      {"2001:db8::1", DX_SCOPE_NETWORK},
      {"fd00:ec2::253", DX_SCOPE_NETWORK},
      {"fd20:ce::1:254", DX_SCOPE_NETWORK},
      {"::ffff:10.0.0.1", DX_SCOPE_NETWORK},
      {"127.0.0.1", DX_SCOPE_HOST},
      {"127.255.255.254", DX_SCOPE_HOST},
      {"0.0.0.0", DX_SCOPE_HOST},
      {"0.1.2.3", DX_SCOPE_HOST},
      {"::1", DX_SCOPE_HOST},
      {"::", DX_SCOPE_HOST},
      {"::ffff:127.0.0.1", DX_SCOPE_HOST},
      {"100.100.100.199", DX_SCOPE_NETWORK},
      {"168.63.129.17", DX_SCOPE_NETWORK},
      {"192.0.0.191", DX_SCOPE_NETWORK},
      {"64:ff9b::10.0.0.1", DX_SCOPE_NETWORK},
      {"64:ff9b:1::169.254.169.254", DX_SCOPE_NETWORK},
      {"64:ff9b::127.0.0.1", DX_SCOPE_HOST},
      {"64:ff9b::169.254.169.254", DX_SCOPE_LINK},
      {"64:ff9b::100.100.100.200", DX_SCOPE_LINK},
      {"100.100.100.200", DX_SCOPE_LINK}, /* of Alibaba */
      {"168.63.129.16", DX_SCOPE_LINK},   /* of Azure */
      {"192.0.0.192", DX_SCOPE_LINK},     /* of Oracle */
      {"::ffff:192.0.0.192", DX_SCOPE_LINK},
      {"169.254.169.254", DX_SCOPE_LINK},
      {"224.0.0.251", DX_SCOPE_LINK},
      {"255.255.255.255", DX_SCOPE_LINK},
      {"fd00:ec2::254", DX_SCOPE_LINK}, /* of Amazon */
      {"fd20:ce::254", DX_SCOPE_LINK},  /* of Google */
      {"fe80::1", DX_SCOPE_LINK},
      {"febf::1", DX_SCOPE_LINK},
      {"ff02::1", DX_SCOPE_LINK},
      {"::ffff:169.254.0.1", DX_SCOPE_LINK},
  };
  static const struct sockaddr other = {.sa_family = AF_UNIX};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    bool is_4 = inet_pton(AF_INET, rows[i].text, &in.sin_addr) == 1;

    assert_true(is_4 || inet_pton(AF_INET6, rows[i].text, &in6.sin6_addr) == 1);
    if (dx_address_scope(is_4 ? (const struct sockaddr *)&in
                              : (const struct sockaddr *)&in6) !=
            rows[i].scope ||
        dx_host_scope(rows[i].text) != rows[i].scope)
      fail_msg("%s", rows[i].text);
  }
  assert_int_equal(dx_address_scope(&other), DX_SCOPE_LINK);
  assert_int_equal(dx_host_scope("fe80::1%lo"), DX_SCOPE_LINK);
  assert_int_equal(dx_host_scope("LocalHost"), DX_SCOPE_HOST);
  assert_int_equal(dx_host_scope("s.example"), DX_SCOPE_NETWORK);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lifetime_of_a_url_is_read_from_it),
      cmocka_unit_test(documents_are_sent_only_to_safe_hosts),
      cmocka_unit_test(name_must_not_resolve_to_loopback_or_link_local),
      cmocka_unit_test(only_storage_hosts_are_accepted),
      cmocka_unit_test(addresses_have_the_scope_of_their_range),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
