/*
 * seal.c - the random number on the side channel.
 */
#include "lib/print/seal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/digest.h"

#define LEN (DX_SEAL_BYTES - 1)

bool dx_seal_give(int side_fd, char seal[DX_SEAL_BYTES])
{
  dx_random_hex(seal, LEN);
  return send(side_fd, seal, LEN, MSG_NOSIGNAL | MSG_DONTWAIT) == LEN;
}

void dx_seal_refuse(int side_fd)
{
  char no[LEN];

  memset(no, '-', LEN);
  (void)!send(side_fd, no, LEN, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool dx_seal_is_expected(int side_fd)
{
  int type;
  socklen_t len = sizeof(type);

  return getsockopt(side_fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

bool dx_seal_look(int side_fd, int wait_ms, char seal[DX_SEAL_BYTES])
{
  struct pollfd fd = {.fd = side_fd, .events = POLLIN};
  ssize_t n;

  memset(seal, 0, DX_SEAL_BYTES);
  while (poll(&fd, 1, wait_ms) < 0 && errno == EINTR)
    ;
  n = recv(side_fd, seal, LEN, MSG_PEEK | MSG_DONTWAIT);
  /* If cupsd did not start this process, the other end may be anything. */
  if (n == LEN && strspn(seal, "0123456789abcdef") == LEN)
    return true;
  seal[0] = '\0';
  return false;
}
