/*
 * address.c - the address ranges of this computer and of the local link.
 */
#include "daemon/service/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/config/config.h"

/* In network byte order. */
static enum dx_scope scope_4(const unsigned char a[4])
{
  /* Metadata services outside of the link-local range: of Alibaba, Azure, and
   * Oracle. */
  static const unsigned char metadata[][4] = {
      {100, 100, 100, 200}, {168, 63, 129, 16}, {192, 0, 0, 192}};
  size_t i;

  if (a[0] == 0 || a[0] == 127)
    return DX_SCOPE_HOST;
  for (i = 0; i < sizeof(metadata) / sizeof(metadata[0]); i++)
    if (memcmp(a, metadata[i], 4) == 0)
      return DX_SCOPE_LINK;
  return (a[0] == 169 && a[1] == 254) || a[0] >= 224 ? DX_SCOPE_LINK
                                                     : DX_SCOPE_NETWORK;
}

static enum dx_scope scope_6(const struct in6_addr *a)
{
  /* Metadata services of clouds: fd00:ec2::254, fd20:ce::254. */
  static const struct in6_addr metadata[] = {
      {{{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}}},
      {{{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}}},
  };
  /* A NAT64 gateway connects to the IPv4 address in the last four bytes. */
  static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b};
  size_t i;

  if (IN6_IS_ADDR_V4MAPPED(a) || memcmp(a->s6_addr, nat64, 12) == 0)
    return scope_4(a->s6_addr + 12);
  if (IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a))
    return DX_SCOPE_HOST;
  for (i = 0; i < sizeof(metadata) / sizeof(metadata[0]); i++)
    if (IN6_ARE_ADDR_EQUAL(a, &metadata[i]))
      return DX_SCOPE_LINK;
  return IN6_IS_ADDR_LINKLOCAL(a) || IN6_IS_ADDR_MULTICAST(a)
             ? DX_SCOPE_LINK
             : DX_SCOPE_NETWORK;
}

enum dx_scope dx_address_scope(const struct sockaddr *address)
{
  struct sockaddr_in in;
  struct sockaddr_in6 in6;

  switch (address->sa_family) {
  case AF_INET:
    memcpy(&in, address, sizeof(in));
    return scope_4((const unsigned char *)&in.sin_addr);
  case AF_INET6:
    memcpy(&in6, address, sizeof(in6));
    return scope_6(&in6.sin6_addr);
  default:
    return DX_SCOPE_LINK;
  }
}

enum dx_scope dx_host_scope(const char *host)
{
  char text[INET6_ADDRSTRLEN];
  unsigned char in[4];
  struct in6_addr in6;

  (void)snprintf(text, sizeof(text), "%.*s",
                 (int)strcspn(host + (*host == '['), "]%"),
                 host + (*host == '['));
  if (inet_pton(AF_INET, text, in) == 1)
    return scope_4(in);
  if (inet_pton(AF_INET6, text, &in6) == 1)
    return scope_6(&in6);
  return dx_host_is_loopback(host) ? DX_SCOPE_HOST : DX_SCOPE_NETWORK;
}
