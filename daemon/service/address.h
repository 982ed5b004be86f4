/*
 * address.h - how far an address reaches: other computers, only this one, or
 * only what is on the same link, where clouds have their metadata services.
 *
 * Blocking: never. Errors: none.
 * Source: RFC 6890, RFC 4007; doc/policy.md, "Uploads".
 */
#ifndef DX_ADDRESS_H
#define DX_ADDRESS_H

struct sockaddr;

/* Ordered by how much each allows as a limit: DX_SCOPE_LINK allows all. */
enum dx_scope {
  DX_SCOPE_NETWORK, /* anything else, private networks included */
  DX_SCOPE_HOST,    /* the loopback, and the unspecified address */
  DX_SCOPE_LINK     /* link-local, multicast, broadcast, unknown families */
};

/* The message for an upload that would go nearer than it may. */
#define DX_SCOPE_TEXT                                                \
  "the upload URL has a loopback or link-local address; if this is " \
  "intended, name its host with StorageHost"

enum dx_scope dx_address_scope(const struct sockaddr *address);

/* The same for a host in a URL, with or without brackets. What a name other
 * than localhost resolves to is not known here: it is DX_SCOPE_NETWORK. */
enum dx_scope dx_host_scope(const char *host);

#endif
