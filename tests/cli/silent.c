/*
 * silent.c - a network that never responds, for tests: prints a port on which
 * connecting hangs, and one on which a connection is accepted and nothing is
 * ever sent. Ends when its stdin ends.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int must(int result, const char *step)
{
  if (result < 0) {
    perror(step);
    exit(1);
  }
  return result;
}

static int listen_somewhere(int backlog, struct sockaddr_in *ret_address)
{
  struct sockaddr_in any = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof(*ret_address);
  int fd = must(socket(AF_INET, SOCK_STREAM, 0), "socket");

  must(bind(fd, (struct sockaddr *)&any, sizeof(any)), "bind");
  must(listen(fd, backlog), "listen");
  must(getsockname(fd, (struct sockaddr *)ret_address, &size), "getsockname");
  return fd;
}

/* Fills the queue of connections: the first packet of the next is dropped. */
static void fill(const struct sockaddr_in *address)
{
  int i;

  for (i = 0; i < 4; i++) {
    int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");

    (void)connect(fd, (const struct sockaddr *)address, sizeof(*address));
  }
}

int main(void)
{
  struct sockaddr_in hole, mute;
  char byte;

  (void)listen_somewhere(0, &hole);
  (void)listen_somewhere(16, &mute);
  fill(&hole);
  printf("%d %d\n", ntohs(hole.sin_port), ntohs(mute.sin_port));
  (void)fflush(stdout);
  while (read(STDIN_FILENO, &byte, 1) > 0)
    continue;
  return 0;
}
