/*
 * signed_url.h - the signed URLs to which documents are uploaded.
 *
 * The service gives one URL for each file of a source. It leads to a storage
 * on another host, and each holder may upload until it expires: it is never
 * logged, printed or put into a message.
 *
 * Blocking: never.
 * Source: doc/policy.md, "Uploads"; doc/service-interface.md, "Endpoints".
 */
#ifndef DX_SIGNED_URL_H
#define DX_SIGNED_URL_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/config/config.h"
#include "daemon/service/address.h"

/*
 * Whether a document of this service may be sent to this URL: https, or http
 * from loopback to loopback; a StorageHost if there are any; no user or
 * password in it; at most DX_URL_MAX_BYTES. E_PROTOCOL if not, E_NOMEM.
 *
 * ret_scope  the addresses that its host may resolve to
 */
enum dx_code dx_signed_url_check(const char *url,
                                 const struct dx_service *service,
                                 enum dx_scope *ret_scope,
                                 struct dx_err *err) DX_MUST_USE;

/*
 * How long the URL is valid from the moment of the response, according to its
 * query and to the response's Date (date_ms; -1: our clock).
 * DX_URL_LIFETIME_MS if the query does not say; never below zero.
 */
int64_t dx_signed_url_lifetime_ms(const char *url, int64_t date_ms);

#endif
