/*
 * fuzz_url.c - a text as a signed URL, and as BaseURL, Proxy and
 * StorageHost of a configuration.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/buf.h"
#include "lib/base/policy.h"
#include "lib/config/config.h"
#include "daemon/service/signed_url.h"

#define NOW_MS INT64_C(1767225600000)

static bool is_printable(const char *url)
{
  for (; *url != '\0'; url++) /* nothing that ends a line of a request */
    if ((unsigned char)*url <= ' ' || *url == '\x7f')
      return false;
  return true;
}

static void check_signed(const char *url, const struct dx_service *service)
{
  enum dx_scope scope;
  struct dx_err err;

  HOLDS(dx_signed_url_lifetime_ms(url, NOW_MS) >= 0);
  if (dx_signed_url_check(url, service, &scope, &err) != DX_OK)
    return;
  HOLDS(strlen(url) <= DX_URL_MAX_BYTES && is_printable(url));
  HOLDS(strncasecmp(url, "https:", 6) == 0 ||
        dx_host_is_loopback(service->host));
}

static void check_for_services(const char *url)
{
  char far[] = "api.example.com", near[] = "127.0.0.1";
  char storage[] = "storage.example.com";
  struct dx_service service = {.host = far};

  check_signed(url, &service);
  service.host = near;
  check_signed(url, &service);
  service.storage_hosts.items[0].name = storage;
  service.storage_hosts.count = 1;
  check_signed(url, &service);
}

static void check_service(const struct dx_service *s)
{
  HOLDS(s->host[0] != '\0' && s->port > 0 && s->port < 65536);
  HOLDS(strncmp(s->base_url, "https://", 8) == 0 ||
        (strncmp(s->base_url, "http://", 7) == 0 &&
         dx_host_is_loopback(s->host)));
  HOLDS(strpbrk(s->base_url, "?#@ ") == NULL &&
        s->base_url[strlen(s->base_url) - 1] != '/');
}

static void configure(const char *directive, const char *url)
{
  struct dx_buf text = {0};
  struct dx_config *config = NULL;
  struct dx_err err;
  char *path;

  dx_buf_printf(&text,
                "<Service x>\n%s\n%s %s\nToken file\nTokenFile /none\n"
                "</Service>\n",
                strcmp(directive, "BaseURL") == 0 ? "" : "BaseURL https://h",
                directive, url);
  fuzz_put("conf", dx_buf_text(&text), text.len);
  dx_buf_release(&text);
  path = fuzz_path("conf");
  if (dx_config_load(path, &config, NULL, &err) == DX_OK)
    check_service(&config->services[0]);
  dx_config_free(&config);
  free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *url = fuzz_line(&in);

  check_for_services(url);
  (void)dx_host_is_loopback(url);
  configure("BaseURL", url);
  configure("Proxy", url);
  configure("StorageHost", url);
  free(url);
  return 0;
}
