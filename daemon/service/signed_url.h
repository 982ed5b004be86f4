/*
 * signed_url.h - the signed URLs to which documents are uploaded.
 *
 * The service returns one URL for each file of a source. It refers to a
 * storage, usually on another host. The URL alone permits an upload until it
 * expires, so it is never logged, printed, or included in a message.
 *
 * Blocking: never.
 * Source: doc/policy.md, "Uploads"; doc/service-interface.md, "Endpoints".
 */
#ifndef DX_SIGNED_URL_H
#define DX_SIGNED_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/config/config.h"
#include "daemon/service/address.h"

#define DX_URL_LIFETIME_MS 900000 /* if the URL does not specify it */
#define DX_URL_MAX_BYTES 8192     /* of a signed URL */

/*
 * Checks whether a document of this service may be sent to this URL. It must be
 * https, or http if the hosts of the service and of the URL are loopback. If
 * StorageHost is set, it must name one of them. It must not contain a user or
 * password, or exceed DX_URL_MAX_BYTES. E_URL if not permitted; E_NOMEM.
 *
 * ret_scope  the limit for the addresses of its host
 */
enum dx_code dx_signed_url_check(const char *url,
                                 const struct dx_service *service,
                                 enum dx_scope *ret_scope,
                                 struct dx_err *err) DX_MUST_USE;

/*
 * How long the URL is valid from the time of the response, according to its
 * query and to the Date of the response (date_ms; -1: our clock).
 * DX_URL_LIFETIME_MS if the query does not specify it; never below zero.
 */
int64_t dx_signed_url_lifetime_ms(const char *url, int64_t date_ms);

/*
 * The storage of the last upload URL of a section: scheme, host, and port,
 * "https://s.example:8443". `docextract hello` connects to it, and the sources
 * that wait for files are counted for each. It is in history/, so that it is
 * also known after a restart. history_dirfd: -1: none. False: not known.
 * Blocking: the disk, without an fsync, and only if it has changed.
 */
void dx_storage_note(int history_dirfd, const char *section, const char *url);
bool dx_storage_last(int history_dirfd, const char *section,
                     char ret_origin[DX_ORIGIN_BYTES]);

#endif
