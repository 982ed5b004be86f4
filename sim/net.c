/*
 * net.c - a listening socket on a loopback address.
 */
#include "sim/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

/* False unless it is the number of a loopback address. */
static bool parse(const char *text, uint16_t port, union address *ret,
                  socklen_t *ret_len)
{
  *ret = (union address){0};
  if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
    ret->v4.sin_family = AF_INET;
    ret->v4.sin_port = htons(port);
    *ret_len = sizeof(ret->v4);
    return ntohl(ret->v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1) {
    ret->v6.sin6_family = AF_INET6;
    ret->v6.sin6_port = htons(port);
    *ret_len = sizeof(ret->v6);
    return IN6_IS_ADDR_LOOPBACK(&ret->v6.sin6_addr);
  }
  return false;
}

static char *make_url(int fd, const char *text, bool tls)
{
  union address a = {0};
  socklen_t len = sizeof(a);
  bool v6;
  char *url = NULL;

  if (getsockname(fd, &a.any, &len) != 0)
    return NULL;
  v6 = a.any.sa_family == AF_INET6;
  if (asprintf(&url, "%s://%s%s%s:%u", tls ? "https" : "http", v6 ? "[" : "",
               text, v6 ? "]" : "",
               (unsigned)ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port)) < 0)
    return NULL;
  return url;
}

bool sim_net_listen(const char *address, uint16_t port, bool tls,
                    struct sim_socket *ret)
{
  union address a;
  socklen_t len = 0;
  int on = 1;

  if (!parse(address, port, &a, &len)) {
    (void)fprintf(stderr, "docextract-sim: '%s' is no loopback address\n",
                  address);
    return false;
  }
  ret->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (ret->fd < 0 ||
      setsockopt(ret->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(ret->fd, &a.any, len) != 0 || listen(ret->fd, BACKLOG) != 0) {
    (void)fprintf(stderr, "docextract-sim: cannot listen on '%s' port %u: %s\n",
                  address, (unsigned)port, strerror(errno));
    return false;
  }
  ret->url = make_url(ret->fd, address, tls);
  return ret->url != NULL;
}

void sim_net_close(struct sim_socket *s)
{
  if (s->fd >= 0)
    (void)close(s->fd);
  s->fd = -1;
  free(s->url);
  s->url = NULL;
}
