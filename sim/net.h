/*
 * net.h - a listening socket on a loopback address.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

struct sim_socket {
  int fd;
  char *url; /* "http://127.0.0.1:8480"; freed by sim_net_close() */
};

/*
 * Listens on `address`, which must be a loopback address, IPv4 or IPv6; port
 * 0 takes a free one. False on failure; the reason was printed on standard
 * error.
 */
bool sim_net_listen(const char *address, uint16_t port, bool tls,
                    struct sim_socket *ret);

/* Closes what sim_net_listen() opened; fd -1 is left alone. */
void sim_net_close(struct sim_socket *s);

#endif
