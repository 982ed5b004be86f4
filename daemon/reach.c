/*
 * reach.c - name and connection, without HTTP.
 */
#include "daemon/reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"

/* libcurl's defaults for a proxy without a port. */
#define PROXY_PORT 1080
#define PROXY_PORT_TLS 443

/* "http://host:port/", which lib/config has checked. */
static void read_proxy(const char *url, struct reach *reach)
{
  const char *host = strstr(url, "://");
  size_t len;

  host = host != NULL ? host + 3 : url;
  if (*host == '[') {
    host++;
    len = strcspn(host, "]");
  } else {
    len = strcspn(host, ":/");
  }
  (void)snprintf(reach->host, sizeof(reach->host), "%.*s", (int)len, host);
  host += len + (host[len] == ']');
  if (*host == ':')
    reach->port = atoi(host + 1);
  else
    reach->port = strncmp(url, "https", 5) == 0 ? PROXY_PORT_TLS : PROXY_PORT;
}

void reach_begin(const struct dx_service *service, struct reach *ret_reach)
{
  memset(ret_reach, 0, sizeof(*ret_reach));
  ret_reach->proxy =
      service->proxy != NULL && strncmp(service->base_url, "https:", 6) == 0;
  if (ret_reach->proxy) {
    read_proxy(service->proxy, ret_reach);
    return;
  }
  (void)snprintf(ret_reach->host, sizeof(ret_reach->host), "%s", service->host);
  ret_reach->port = service->port;
}

void reach_end(struct reach *reach)
{
  if (reach->list != NULL)
    freeaddrinfo(reach->list);
  reach->list = NULL;
}

static void describe(struct reach *reach, const struct addrinfo *ai)
{
  if (getnameinfo(ai->ai_addr, ai->ai_addrlen, reach->address,
                  sizeof(reach->address), NULL, 0, NI_NUMERICHOST) != 0)
    reach->address[0] = '\0';
}

enum dx_code reach_resolve(struct reach *reach, struct dx_err *err)
{
  const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                 .ai_socktype = SOCK_STREAM};
  char port[16];
  int result;

  (void)snprintf(port, sizeof(port), "%d", reach->port);
  result = getaddrinfo(reach->host, port, &hints, &reach->list);
  if (result == 0) {
    describe(reach, reach->list);
    return DX_OK;
  }
  reach->list = NULL;
  return dx_fail(err, DX_E_NET, result == EAI_SYSTEM ? errno : 0,
                 "cannot resolve '%s': %s; check %s and the name servers of "
                 "this computer",
                 reach->host, gai_strerror(result),
                 reach->proxy ? "Proxy" : "BaseURL");
}

/* 0, or an errno. */
static int finish_connect(int fd)
{
  int64_t until = dx_monotonic_ms() + DX_CONNECT_TIMEOUT_MS;
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  socklen_t size = sizeof(int);
  int64_t left;
  int n, e = 0;

  do {
    left = until - dx_monotonic_ms();
    n = poll(&p, 1, left > 0 ? (int)left : 0);
  } while (n < 0 && errno == EINTR);
  if (n == 0)
    return ETIMEDOUT;
  if (n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &size) < 0)
    return errno;
  return e;
}

/* 0, or an errno. */
static int try_address(const struct addrinfo *ai)
{
  int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                  ai->ai_protocol);
  int e = 0;

  if (fd < 0)
    return errno;
  if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0)
    e = errno == EINPROGRESS ? finish_connect(fd) : errno;
  (void)close(fd);
  return e;
}

enum dx_code reach_connect(struct reach *reach, struct dx_err *err)
{
  const struct addrinfo *ai;
  int e = 0;

  for (ai = reach->list; ai != NULL; ai = ai->ai_next) {
    describe(reach, ai);
    e = try_address(ai);
    if (e == 0)
      return DX_OK;
  }
  return dx_fail(err, DX_E_NET, e, "cannot connect to %s port %d: %s; check %s",
                 reach->address, reach->port, strerror(e),
                 reach->proxy ? "Proxy and the firewall"
                              : "BaseURL and the firewall, or set Proxy");
}
