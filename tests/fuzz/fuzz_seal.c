/*
 * fuzz_seal.c - the side channel, as a filter reads it: the other end sends
 * these bytes, and closes or not.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/print/bundle.h"

#define HEX "0123456789abcdef"

/* Every filter of the job finds the same. */
static void look(int fd, const char *expected)
{
  char seal[DX_SEAL_BYTES];
  bool is_there = dx_seal_look(fd, 0, seal);

  HOLDS(memchr(seal, '\0', sizeof(seal)) != NULL);
  HOLDS(is_there == (expected != NULL));
  HOLDS(strcmp(seal, expected != NULL ? expected : "") == 0);
}

/* The seal that these bytes begin with; NULL: none. */
static const char *seal_in(const uint8_t *data, size_t size,
                           char seal[DX_SEAL_BYTES])
{
  size_t i;

  for (i = 0; i < DX_SEAL_BYTES - 1; i++) {
    if (i == size || data[i] == '\0' || strchr(HEX, data[i]) == NULL)
      return NULL;
    seal[i] = (char)data[i];
  }
  seal[i] = '\0';
  return seal;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint8_t sent[DX_SEAL_BYTES + DX_SEAL_BYTES];
  char seal[DX_SEAL_BYTES], given[DX_SEAL_BYTES];
  const char *expected = NULL;
  int fds[2];

  HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  if (size > 0) {
    size = size < 4096 ? size : 4096;
    HOLDS(send(fds[0], data, size, MSG_NOSIGNAL) == (ssize_t)size);
    expected = seal_in(data, size, seal);
  }
  look(fds[1], expected);
  HOLDS(dx_seal_give(fds[0], given) && strlen(given) == DX_SEAL_BYTES - 1);
  dx_seal_refuse(fds[0]);
  /* The first ones apply, also if the print client has sent them. */
  size = size < DX_SEAL_BYTES ? size : DX_SEAL_BYTES;
  memcpy(sent, data, size);
  memcpy(sent + size, given, DX_SEAL_BYTES - 1);
  look(fds[1], seal_in(sent, size + DX_SEAL_BYTES - 1, seal));
  HOLDS(close(fds[0]) == 0);
  HOLDS(close(fds[1]) == 0);
  look(fds[1], ""); /* cupsd has not started this process */
  return 0;
}
