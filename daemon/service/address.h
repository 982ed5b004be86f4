/*
 * address.h - the scope of an address: the network, this computer, or the local
 * link, where clouds have their metadata services.
 *
 * Blocking: never. Errors: none.
 * Source: RFC 6890, RFC 4007; doc/policy.md, "Uploads".
 */
#ifndef DX_ADDRESS_H
#define DX_ADDRESS_H

#define DX_ORIGIN_BYTES 300 /* of scheme, host, and port */

struct sockaddr;

/* In ascending order: as a limit, a scope permits itself and those before
 * it. */
enum dx_scope {
  DX_SCOPE_NETWORK, /* anything else, private networks included */
  DX_SCOPE_HOST,    /* the loopback, and the unspecified address */
  DX_SCOPE_LINK     /* link-local, metadata services, multicast, broadcast,
                       unknown families */
};

/* The message for an upload to an address beyond the permitted scope; %s: the
 * host. */
#define DX_SCOPE_TEXT                                                   \
  "the host of the upload URL, '%.100s', has a loopback or link-local " \
  "address, or that of a metadata service; if this is intended, set "   \
  "StorageHost to its name"

enum dx_scope dx_address_scope(const struct sockaddr *address);

/* The same for a host in a URL, with or without brackets and zone. Names are
 * not resolved: except for localhost, they are DX_SCOPE_NETWORK. */
enum dx_scope dx_host_scope(const char *host);

#endif
