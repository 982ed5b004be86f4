/*
 * signed_url.c - checks the host of a signed upload URL, reads its expiry, and
 * remembers its storage. libcurl parses the URL, because it also sends the
 * document: both use the same host.
 */
#include "daemon/service/signed_url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/history.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/config/config.h"

/* ---- the host ---- */

/* Compares two hosts; brackets are ignored. */
static bool is_host(const char *host, const char *name)
{
  size_t len = strcspn(host + (*host == '['), "]");

  return strlen(name) == len &&
         strncasecmp(host + (*host == '['), name, len) == 0;
}

/* Checks the parts of a parsed URL. */
static enum dx_code check_host(const char *scheme, const char *host,
                               const struct dx_service *service,
                               enum dx_scope *ret_scope, struct dx_err *err)
{
  bool is_local = dx_host_scope(service->host) == DX_SCOPE_HOST;
  bool is_storage = false;
  size_t i;

  for (i = 0; i < service->storage_hosts.count; i++)
    if (is_host(host, service->storage_hosts.items[i].name))
      is_storage = true;
  /* A compromised service must not make us send documents to programs that
   * listen only on this computer or its links. Hosts that the administrator has
   * named may be there. */
  *ret_scope = is_storage || is_host(host, service->host) ? DX_SCOPE_LINK
               : is_local                                 ? DX_SCOPE_HOST
                                                          : DX_SCOPE_NETWORK;
  if (strcmp(scheme, "https") != 0 &&
      (strcmp(scheme, "http") != 0 || !dx_host_is_loopback(host) ||
       !dx_host_is_loopback(service->host)))
    return dx_fail(err, DX_E_URL, 0,
                   "the upload URL is not https: documents are not sent "
                   "unencrypted");
  if (service->storage_hosts.count > 0 && !is_storage)
    return dx_fail(
        err, DX_E_URL, 0,
        "the host of the upload URL, '%.100s', is not a StorageHost; "
        "add it if documents may be uploaded there",
        host);
  if (dx_host_scope(host) > *ret_scope)
    return dx_fail(err, DX_E_URL, 0, DX_SCOPE_TEXT, host);
  return DX_OK;
}

enum dx_code dx_signed_url_check(const char *url,
                                 const struct dx_service *service,
                                 enum dx_scope *ret_scope, struct dx_err *err)
{
  char *scheme = NULL, *host = NULL;
  CURLUcode parsed = CURLUE_OUT_OF_MEMORY;
  CURLU *handle;
  enum dx_code code;

  if (strlen(url) > DX_URL_MAX_BYTES)
    return dx_fail(err, DX_E_URL, 0, "the upload URL is longer than %d bytes",
                   DX_URL_MAX_BYTES);
  handle = curl_url();
  if (handle != NULL)
    parsed = curl_url_set(handle, CURLUPART_URL, url, CURLU_DISALLOW_USER);
  if (parsed == CURLUE_OK)
    parsed = curl_url_get(handle, CURLUPART_SCHEME, &scheme, 0);
  if (parsed == CURLUE_OK)
    parsed = curl_url_get(handle, CURLUPART_HOST, &host, 0);
  if (parsed == CURLUE_OK)
    dx_utf8_make_plain(host); /* for messages */
  if (parsed == CURLUE_OK)
    code = check_host(scheme, host, service, ret_scope, err);
  else if (parsed == CURLUE_OUT_OF_MEMORY)
    code = dx_fail_nomem(err);
  else
    code = dx_fail(err, DX_E_URL, 0, "the upload URL is not valid");
  curl_free(scheme);
  curl_free(host);
  curl_url_cleanup(handle);
  return code;
}

/* ---- the expiry ---- */

/* The beginning of the value of a query field; false if there is none. */
static bool query_value(const char *url, const char *name, char value[64])
{
  size_t len = strlen(name);
  char *text = NULL;
  const char *p;

  for (p = strchr(url, '?'); text == NULL && p != NULL; p = strchr(p, '&')) {
    p++;
    if (strncasecmp(p, name, len) == 0 && p[len] == '=')
      text = curl_easy_unescape(NULL, p + len + 1,
                                (int)strcspn(p + len + 1, "&#"), NULL);
  }
  (void)snprintf(value, 64, "%s", text != NULL ? text : "");
  curl_free(text);
  return text != NULL;
}

/* The format of AWS and Google: a date, "20260131T120000Z", and a lifetime in
 * seconds. */
static int64_t signed_until(const char *url, const char *date_name,
                            const char *expires_name)
{
  char date[64], expires[64], text[80] = "";
  long seconds = 0;
  int64_t at;

  if (query_value(url, date_name, date) && strlen(date) == 16)
    (void)snprintf(text, sizeof(text), "%.4s-%.2s-%.5s:%.2s:%s", date, date + 4,
                   date + 6, date + 11, date + 13);
  at = dx_parse_time(text);
  if (query_value(url, expires_name, expires))
    seconds = strtol(expires, NULL, 10);
  if (at < 0 || seconds <= 0 || seconds > 366L * 86400)
    return -1;
  return at + seconds * INT64_C(1000);
}

int64_t dx_signed_url_lifetime_ms(const char *url, int64_t date_ms)
{
  int64_t at = signed_until(url, "X-Amz-Date", "X-Amz-Expires"), left;
  char text[64];

  if (at < 0)
    at = signed_until(url, "X-Goog-Date", "X-Goog-Expires");
  if (at < 0 && query_value(url, "se", text))
    at = dx_parse_time(text);
  if (at < 0)
    return DX_URL_LIFETIME_MS;
  left = at - (date_ms >= 0 ? date_ms : dx_wall_ms());
  return left > 0 ? left : 0;
}

/* ---- the last storage ---- */

#define STORAGE_VERSION "docextract-storage 1\n"
#define STORAGE_SUFFIX "_storage"

bool dx_storage_last(int history_dirfd, const char *section,
                     char ret_origin[DX_ORIGIN_BYTES])
{
  char name[DX_HISTORY_NAME_BYTES];

  dx_history_name(section, 0, STORAGE_SUFFIX, name);
  return dx_history_read(history_dirfd, name, STORAGE_VERSION, ret_origin,
                         DX_ORIGIN_BYTES) &&
         memchr(ret_origin, '\0', DX_ORIGIN_BYTES) != NULL;
}

void dx_storage_note(int history_dirfd, const char *section, const char *url)
{
  char origin[DX_ORIGIN_BYTES] = "", last[DX_ORIGIN_BYTES];
  char name[DX_HISTORY_NAME_BYTES];
  const char *host = strstr(url, "://");
  size_t len;

  if (host == NULL)
    return;
  len = (size_t)(host - url) + 3 + strcspn(host + 3, "/?#\\");
  if (len >= sizeof(origin))
    return;
  memcpy(origin, url, len);
  if (dx_storage_last(history_dirfd, section, last) &&
      strcmp(origin, last) == 0)
    return;
  dx_history_name(section, 0, STORAGE_SUFFIX, name);
  dx_history_write(history_dirfd, name, STORAGE_VERSION, origin,
                   sizeof(origin));
}
