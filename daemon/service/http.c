/*
 * http.c - the only file that uses libcurl for transfers.
 */
#include "daemon/service/http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"

#define DX_UPLOAD_MIN_BYTES 1024L   /* a second, in both directions together */
#define DX_HEADERS_MAX_BYTES 262144 /* of one response, interim ones too */
#define DX_UPLOAD_BUFFER_BYTES 262144L
#define DX_PROGRESS_GAP_MS 200
#define DX_CA_CACHE_S 60 /* the CAs of the system */

#define CHECK_NAME_SERVERS "check the name servers of this computer"

#define HTTP_STATUS_MAX 599
#define NOT_HTTP "the response is not HTTP (%s)"

struct dx_http_call {
  struct dx_http *http;
  CURL *easy;
  struct curl_slist *headers;
  struct dx_http_request request; /* strings but `method`: during start only */
  struct dx_buf body;             /* of the response */
  int64_t sink_bytes;
  size_t header_bytes; /* interim responses and trailers included */
  int64_t told_bytes;  /* of body_fd, at the last report */
  int64_t told_ms;     /* monotonic */
  off_t read_at;       /* position in body_fd */
  char host[DX_HTTP_HOST_BYTES], proxy[DX_HTTP_HOST_BYTES]; /* for messages */
  bool has_proxy;
  bool has_login; /* for the proxy */
  bool has_tls, has_ca_file;
  bool is_sent;                  /* the request, or it may have been */
  bool out_of_scope;             /* an address was refused */
  struct sockaddr_storage tried; /* the last address of the host or proxy */
  struct dx_err local; /* a failure of ours: the sink, a read, a limit */
  char reason[CURL_ERROR_SIZE];
};

struct dx_http {
  CURLM *multi;
  bool needs_http1; /* a server has rejected HTTP/2 */
};

/* ---- callbacks of a transfer ---- */

/* Whom libcurl talked to at last, in quotes: the proxy, until it connects. */
static const char *peer_of(const struct dx_http_call *call, char text[160])
{
  long status = 0;

  (void)curl_easy_getinfo(call->easy, CURLINFO_HTTP_CONNECTCODE, &status);
  if (call->has_proxy && !call->is_sent && status / 100 != 2)
    (void)snprintf(text, 160, "the proxy '%s'", call->proxy);
  else
    (void)snprintf(text, 160, "'%s'", call->host);
  return text;
}

static enum dx_code fail_closed(const struct dx_http_call *call,
                                struct dx_err *err)
{
  char peer[160];

  return dx_fail(err, DX_E_NET, 0,
                 "%s closed the connection without a response",
                 peer_of(call, peer));
}

static enum dx_code fail_headers(const struct dx_http_call *call,
                                 struct dx_err *err)
{
  return dx_fail(err, DX_E_RESPONSE, 0,
                 "the headers of the response are larger than %d bytes (%s)",
                 DX_HEADERS_MAX_BYTES, call->host);
}

static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
  struct dx_http_call *call = ctx;

  (void)bytes;
  call->header_bytes += size * count;
  if (call->header_bytes <= DX_HEADERS_MAX_BYTES)
    return size * count;
  (void)fail_headers(call, &call->local);
  return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
  struct dx_http_call *call = ctx;
  const struct dx_http_request *r = &call->request;
  size_t len = size * count;
  long status = 0;

  (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
  if (r->sink != NULL && status == 200) {
    call->sink_bytes += (int64_t)len;
    return r->sink(r->ctx, bytes, len, &call->local) == DX_OK ? len : 0;
  }
  if (call->body.len + len > DX_RESPONSE_MAX_BYTES) {
    (void)dx_fail(&call->local, DX_E_RESPONSE, 0,
                  "the response is larger than %d bytes (%s)",
                  DX_RESPONSE_MAX_BYTES, call->host);
    return 0;
  }
  dx_buf_add(&call->body, bytes, len);
  if (dx_buf_ok(&call->body))
    return len;
  (void)dx_fail_nomem(&call->local);
  return 0;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *ctx)
{
  struct dx_http_call *call = ctx;
  ssize_t n;

  do
    n = pread(call->request.body_fd, bytes, size * count, call->read_at);
  while (n < 0 && errno == EINTR);
  if (n < 0) {
    (void)dx_fail_sys(&call->local, errno, "read", "document");
    return CURL_READFUNC_ABORT;
  }
  call->read_at += n;
  return (size_t)n;
}

static int on_seek(void *ctx, curl_off_t offset, int origin)
{
  struct dx_http_call *call = ctx;

  if (origin != SEEK_SET)
    return CURL_SEEKFUNC_CANTSEEK;
  call->read_at = offset;
  return CURL_SEEKFUNC_OK;
}

/* Reports progress, at most every DX_PROGRESS_GAP_MS, because each report is a
 * message to the backend. */
static int on_progress(void *ctx, curl_off_t down_total, curl_off_t down,
                       curl_off_t up_total, curl_off_t up)
{
  struct dx_http_call *call = ctx;
  const struct dx_http_request *r = &call->request;
  int64_t now = dx_monotonic_ms();

  (void)down_total;
  (void)down;
  (void)up_total;
  if (up > call->told_bytes &&
      (up >= r->body_bytes || now - call->told_ms >= DX_PROGRESS_GAP_MS)) {
    call->told_bytes = up;
    call->told_ms = now;
    r->progress(r->ctx, up);
  }
  return 0;
}

/* Called when the connection is up, and nothing of the request has been sent on
 * it. libcurl may have made the connection for another request, with another
 * scope: its address is checked again. If the peer closes a connection that was
 * used before, libcurl sends the request again by itself: the peer may process
 * both, and the second one would have no slot. If the first one was on a new
 * connection, too, the peer has rejected HTTP/2, as IIS does for some kinds of
 * authentication (HTTP_1_1_REQUIRED). */
static int on_ready(void *ctx, char *to, char *from, int to_port, int from_port)
{
  struct dx_http_call *call = ctx;
  const struct dx_http_request *r = &call->request;
  long connections = 0;

  (void)from;
  (void)to_port;
  (void)from_port;
  if (call->is_sent) {
    (void)curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &connections);
    if (connections > 1) {
      call->http->needs_http1 = true; /* any server supports it */
      (void)dx_fail(&call->local, DX_E_NET, 0,
                    "'%s' rejects HTTP/2; HTTP/1.1 is used from now on",
                    call->host);
    } else {
      (void)fail_closed(call, &call->local);
    }
    return CURL_PREREQFUNC_ABORT;
  }
  if (!call->has_proxy && dx_host_scope(to) > r->scope) {
    (void)dx_fail(&call->local, DX_E_URL, 0, DX_SCOPE_TEXT, call->host);
    return CURL_PREREQFUNC_ABORT;
  }
  if (r->ready == NULL || r->ready(r->ctx)) {
    call->is_sent = true;
    return CURL_PREREQFUNC_OK;
  }
  (void)dx_fail(&call->local, DX_E_NOT_SENT, 0, "no longer to be sent");
  return CURL_PREREQFUNC_ABORT;
}

/* Called for each address of the host until a connection succeeds. */
static curl_socket_t on_socket(void *ctx, curlsocktype purpose,
                               struct curl_sockaddr *address)
{
  struct dx_http_call *call = ctx;

  (void)purpose;
  if (address->addrlen <= sizeof(call->tried))
    memcpy(&call->tried, &address->addr, address->addrlen);
  if (!call->has_proxy &&
      dx_address_scope(&address->addr) > call->request.scope) {
    call->out_of_scope = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC,
                address->protocol);
}

/* ---- starting ---- */

static bool add_header(struct dx_http_call *call, const char *name,
                       const char *value)
{
  struct dx_buf line = {0};
  struct curl_slist *more = NULL;

  dx_buf_printf(&line, "%s%s", name, value);
  if (dx_buf_ok(&line))
    more = curl_slist_append(call->headers, dx_buf_text(&line));
  dx_buf_release(&line);
  if (more == NULL)
    return false;
  call->headers = more;
  return true;
}

/* A header without a value prevents libcurl from adding its own. */
static bool add_headers(struct dx_http_call *call)
{
  const struct dx_http_request *r = &call->request;

  return add_header(call, "Accept: ", "application/json") &&
         (r->bearer == NULL ||
          add_header(call, "Authorization: Bearer ", r->bearer)) &&
         add_header(
             call, r->content_type != NULL ? "Content-Type: " : "Content-Type:",
             r->content_type != NULL ? r->content_type : "") &&
         add_header(call, "Expect:", "") &&
         curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers) ==
             CURLE_OK;
}

#define SET(option, value)                                       \
  do {                                                           \
    if (curl_easy_setopt(call->easy, option, value) != CURLE_OK) \
      return false;                                              \
  } while (0)

/* The name and the password of the proxy, and all methods but Kerberos, which
 * would use tickets of the user of this process. */
static bool set_proxy_login(struct dx_http_call *call)
{
  const char *login = call->request.proxy_login;
  size_t len = strcspn(login, ":");
  char *user = strndup(login, len);
  bool ok =
      user != NULL &&
      curl_easy_setopt(call->easy, CURLOPT_PROXYUSERNAME, user) == CURLE_OK &&
      curl_easy_setopt(call->easy, CURLOPT_PROXYPASSWORD,
                       login + len + (login[len] == ':')) == CURLE_OK;

  free(user);
  if (!ok)
    return false;
  SET(CURLOPT_PROXYAUTH,
      (long)(CURLAUTH_BASIC | CURLAUTH_DIGEST | CURLAUTH_NTLM));
  return true;
}

/* Host and port of a URL, without what may be secret; safe to print. */
static void copy_host(const char *url, char host[DX_HTTP_HOST_BYTES])
{
  const char *at = strstr(url, "://");

  at = at != NULL ? at + 3 : url;
  (void)snprintf(host, DX_HTTP_HOST_BYTES, "%.*s", (int)strcspn(at, "/?#\\"),
                 at);
  if (strchr(host, '@') != NULL)
    host[0] = '\0';
  dx_utf8_make_plain(host);
}

static bool set_options(struct dx_http_call *call)
{
  const struct dx_http_request *r = &call->request;
  const char *proxy;

  call->has_tls = strncasecmp(r->url, "https:", 6) == 0;
  proxy = r->proxy != NULL && call->has_tls ? r->proxy : "";
  copy_host(r->url, call->host);
  copy_host(proxy, call->proxy);

  SET(CURLOPT_URL, r->url);
  /* libcurl 8 also resolves %2E%2E as "..", which an id may be. */
  SET(CURLOPT_PATH_AS_IS, 1L);
  SET(CURLOPT_PROTOCOLS_STR, "https,http");
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_CONNECT_ONLY, r->only_connects ? 1L : 0L);
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_QUICK_EXIT, 1L); /* do not wait for a slow name server */
  SET(CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
  call->has_proxy = proxy[0] != '\0';
  SET(CURLOPT_PROXY, proxy);
  SET(CURLOPT_OPENSOCKETFUNCTION, on_socket);
  SET(CURLOPT_OPENSOCKETDATA, call);
  SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  call->has_login = call->has_proxy && r->proxy_login != NULL;
  if (call->has_login && !set_proxy_login(call))
    return false;
  SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  call->has_ca_file = r->ca_file != NULL;
  if (call->has_ca_file) {
    SET(CURLOPT_CAINFO, r->ca_file);
    SET(CURLOPT_CAPATH, NULL);
  }
  /* Reading the CAs of the system takes 30 ms. By default, libcurl uses what it
   * has read for a day, although the file has been corrected. */
  SET(CURLOPT_CA_CACHE_TIMEOUT,
      r->ca_file != NULL || r->is_fresh ? 0L : (long)DX_CA_CACHE_S);
  /* HTTP/2 limits an upload to the window of the server for each round trip:
   * 64 KiB for many storages. */
  SET(CURLOPT_HTTP_VERSION, r->body_fd >= 0 || call->http->needs_http1
                                ? (long)CURL_HTTP_VERSION_1_1
                                : (long)CURL_HTTP_VERSION_2TLS);
  if (r->is_fresh) {
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  }
  SET(CURLOPT_CONNECTTIMEOUT_MS, (long)DX_CONNECT_TIMEOUT_MS);
  SET(CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
  /* A storage that reads the document, or sends its response, byte by byte
   * would otherwise keep a connection for days. */
  SET(CURLOPT_LOW_SPEED_LIMIT, r->body_fd >= 0 ? DX_UPLOAD_MIN_BYTES : 1L);
  SET(CURLOPT_LOW_SPEED_TIME, (long)r->stall_s);
  SET(CURLOPT_USERAGENT, "docextract/" PACKAGE_VERSION);
  SET(CURLOPT_ERRORBUFFER, call->reason);
  SET(CURLOPT_PRIVATE, call);
  SET(CURLOPT_HEADERFUNCTION, on_header);
  SET(CURLOPT_HEADERDATA, call);
  SET(CURLOPT_WRITEFUNCTION, on_body);
  SET(CURLOPT_WRITEDATA, call);
  SET(CURLOPT_XFERINFOFUNCTION, on_progress);
  SET(CURLOPT_XFERINFODATA, call);
  SET(CURLOPT_NOPROGRESS, r->progress == NULL ? 1L : 0L);
  SET(CURLOPT_PREREQFUNCTION, on_ready);
  SET(CURLOPT_PREREQDATA, call);
  if (r->body_fd >= 0) {
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, DX_UPLOAD_BUFFER_BYTES);
    SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body_bytes);
    SET(CURLOPT_READFUNCTION, on_read);
    SET(CURLOPT_READDATA, call);
    SET(CURLOPT_SEEKFUNCTION, on_seek);
    SET(CURLOPT_SEEKDATA, call);
  } else if (strcmp(r->method, "POST") == 0) {
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
    SET(CURLOPT_COPYPOSTFIELDS, r->body != NULL ? r->body : "");
  }
  return true;
}

static void call_free(struct dx_http_call *call)
{
  if (call->easy != NULL) {
    (void)curl_multi_remove_handle(call->http->multi, call->easy);
    curl_easy_cleanup(call->easy);
  }
  curl_slist_free_all(call->headers);
  dx_buf_release(&call->body);
  free(call);
}

enum dx_code dx_http_start(struct dx_http *http,
                           const struct dx_http_request *request,
                           struct dx_http_call **ret_call, struct dx_err *err)
{
  struct dx_http_call *call = calloc(1, sizeof(*call));

  if (call == NULL)
    return dx_fail_nomem(err);
  call->http = http;
  call->request = *request;
  call->easy = curl_easy_init();
  if (call->easy == NULL || !set_options(call) || !add_headers(call) ||
      curl_multi_add_handle(http->multi, call->easy) != CURLM_OK) {
    call_free(call);
    return dx_fail_nomem(err);
  }
  call->request.bearer = NULL; /* libcurl has copies */
  call->request.proxy_login = NULL;
  *ret_call = call;
  return DX_OK;
}

void dx_http_cancel(struct dx_http_call **call)
{
  if (*call != NULL)
    call_free(*call);
  *call = NULL;
}

/* ---- the end of a transfer ---- */

/* CURLE_TOO_LARGE of libcurl 8.6 and newer: its own limit of headers. */
#define TOO_LARGE ((CURLcode)100)

/* The status with which the proxy refused to connect; 0: none. */
static int proxy_status(const struct dx_http_call *call)
{
  long status = 0;

  (void)curl_easy_getinfo(call->easy, CURLINFO_HTTP_CONNECTCODE, &status);
  return call->has_proxy && !call->is_sent && status >= 300 &&
                 status <= HTTP_STATUS_MAX
             ? (int)status
             : 0;
}

/* A status of the proxy is not one of the service, or of the storage. */
static enum dx_code fail_proxy(const struct dx_http_call *call, int status,
                               struct dx_err *err)
{
  if (status == 407 || status == 401) /* 401: a wrong password, of tinyproxy */
    return dx_fail(err, DX_E_PROXY, 0,
                   call->has_login
                       ? "the proxy '%s' rejects the user or password of "
                         "ProxyPasswordFile (%d)"
                       : "the proxy '%s' requires a password (%d); set "
                         "ProxyPasswordFile",
                   call->proxy, status);
  if (status >= 500 || status == 408 || status == 429)
    return dx_fail(err, DX_E_NET, 0,
                   "the proxy '%s' cannot connect to '%s' (%d)", call->proxy,
                   call->host, status);
  return dx_fail(err, DX_E_PROXY, 0,
                 "the proxy '%s' does not permit connections to '%s' (%d)",
                 call->proxy, call->host, status);
}

/* Reports what is wrong with the certificate, and what to do. The words are
 * from messages of OpenSSL and libcurl; `reason` itself can contain a URL. */
static enum dx_code fail_certificate(const struct dx_http_call *call,
                                     struct dx_err *err)
{
  static const struct {
    const char *word;
    const char *of_api, *of_storage;
  } known[] = {
      {"expired", "it has expired, or the clock of this computer is wrong",
       "it has expired, or the clock of this computer is wrong"},
      {"not yet valid", "it is not yet valid; check the clock of this computer",
       "it is not yet valid; check the clock of this computer"},
      {"subject name", "it is for another name; check the name in BaseURL",
       "it is for another name"},
      {"revoked", "it has been revoked", "it has been revoked"},
      {"issuer", "its CA is unknown; set CAFile",
       "its CA is unknown; set StorageCAFile"},
      {"self", "its CA is unknown; set CAFile",
       "its CA is unknown; set StorageCAFile"},
      {"", "check BaseURL and CAFile", "check StorageCAFile"},
  };
  char peer[160];
  size_t i = 0;

  while (strstr(call->reason, known[i].word) == NULL)
    i++;
  return dx_fail(
      err, DX_E_CERT, 0, "the certificate of %s cannot be trusted: %s",
      peer_of(call, peer),
      call->request.to_storage ? known[i].of_storage : known[i].of_api);
}

/* A handshake without an agreement. Only an administrator can solve that there
 * is no TLS, or no common version of it; anything else may be temporary. */
static enum dx_code fail_handshake(const struct dx_http_call *call,
                                   struct dx_err *err)
{
  /* Of OpenSSL, if what arrives is not TLS. */
  static const char *const plain[] = {"wrong version number",
                                      "packet length too long", "http request"};
  const char *reason = call->reason, *text = strstr(reason, "::");
  char peer[160];
  size_t i;

  (void)peer_of(call, peer);
  for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
    if (strstr(reason, plain[i]) != NULL)
      return dx_fail(err, DX_E_CERT, 0, "%s does not use TLS%s", peer,
                     call->request.to_storage
                         ? " at the port of the upload URL"
                         : "; check that the port of BaseURL supports "
                           "HTTPS");
  if (strstr(reason, "protocol version") != NULL ||
      strstr(reason, "unsupported protocol") != NULL)
    return dx_fail(err, DX_E_CERT, 0, "%s does not support TLS 1.2 or newer",
                   peer);
  /* The words of OpenSSL for an alert, or for its own error; newer versions
   * have some for a closed connection, too. */
  if (text != NULL && strstr(text, "unexpected eof") == NULL)
    return dx_fail(err, DX_E_NET, 0, "the TLS handshake with %s failed: %.80s",
                   peer, text + 2);
  return dx_fail(err, DX_E_NET, 0,
                 "%s closed the connection during the TLS handshake", peer);
}

static bool has_time(const struct dx_http_call *call, CURLINFO info)
{
  curl_off_t time_us = 0;

  (void)curl_easy_getinfo(call->easy, info, &time_us);
  return time_us > 0;
}

static enum dx_code fail_timeout(const struct dx_http_call *call,
                                 struct dx_err *err)
{
  int connect_s = DX_CONNECT_TIMEOUT_MS / 1000;
  char peer[160];

  (void)peer_of(call, peer);
  if (strstr(call->reason, "too slow") != NULL) /* words of libcurl */
    return dx_fail(err, DX_E_NET, 0, "%s data from or to %s for %d s",
                   call->request.body_fd >= 0 ? "almost no" : "no", peer,
                   call->request.stall_s);
  if (call->is_sent)
    return dx_fail(err, DX_E_NET, 0,
                   "%s did not respond completely within %d s", peer,
                   (int)(call->request.timeout_ms / 1000));
  if (!has_time(call, CURLINFO_NAMELOOKUP_TIME_T))
    return dx_fail(err, DX_E_NET, 0,
                   "cannot resolve %s within %d s; " CHECK_NAME_SERVERS, peer,
                   connect_s);
  if (!has_time(call, CURLINFO_CONNECT_TIME_T))
    return dx_fail(err, DX_E_NET, 0, "cannot connect to %s within %d s", peer,
                   connect_s);
  return dx_fail(err, DX_E_NET, 0, "%s did not complete the %s within %d s",
                 peer, peer[0] == '\'' ? "TLS handshake" : "connection",
                 connect_s);
}

/* Reports why there is no response, without call->reason, which can contain a
 * URL. */
static enum dx_code fail_transfer(const struct dx_http_call *call,
                                  CURLcode result, struct dx_err *err)
{
  const char *text = curl_easy_strerror(result);
  long sys_errno = 0;
  char peer[160];

  if (proxy_status(call) != 0)
    return fail_proxy(call, proxy_status(call), err);
  (void)peer_of(call, peer);
  switch (result) {
  case CURLE_PEER_FAILED_VERIFICATION:
    return fail_certificate(call, err);
  case CURLE_SSL_CACERT_BADFILE:
    return dx_fail(err, DX_E_CERT, 0,
                   "the certificate of %s cannot be trusted: %s cannot be "
                   "read, or contains no certificates",
                   peer,
                   !call->has_ca_file ? "the list of CAs of this computer"
                   : call->request.to_storage ? "StorageCAFile or CAFile"
                                              : "CAFile");
  case CURLE_SSL_CONNECT_ERROR:
    return fail_handshake(call, err);
  case CURLE_OPERATION_TIMEDOUT:
    return fail_timeout(call, err);
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_RESOLVE_PROXY:
    return dx_fail(err, DX_E_NET, 0, "cannot resolve %s; " CHECK_NAME_SERVERS,
                   peer);
  case CURLE_COULDNT_CONNECT:
    if (call->out_of_scope)
      return dx_fail(err, DX_E_URL, 0, DX_SCOPE_TEXT, call->host);
    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &sys_errno);
    return dx_fail(err, DX_E_NET, (int)sys_errno, "cannot connect to %s%s%s",
                   peer, sys_errno != 0 ? ": " : "",
                   sys_errno != 0 ? strerror((int)sys_errno) : "");
  case CURLE_GOT_NOTHING:
    return fail_closed(call, err);
  case CURLE_PARTIAL_FILE:
    return dx_fail(err, DX_E_NET, 0, "the response of %s is incomplete", peer);
  case CURLE_SEND_ERROR:
    return dx_fail(err, DX_E_NET, 0,
                   "%s closed the connection while the request was being sent",
                   peer);
  case CURLE_RECV_ERROR:
    return dx_fail(err, DX_E_NET, 0, "%s closed the connection %s", peer,
                   call->is_sent ? "before its response was complete"
                                 : "before the request was sent");
  case CURLE_URL_MALFORMAT:
    return dx_fail(err, DX_E_PROTOCOL, 0, "%s", text);
  case CURLE_UNSUPPORTED_PROTOCOL: /* of the response; URLs were checked */
    return dx_fail(err, DX_E_RESPONSE, 0, NOT_HTTP, call->host);
  case CURLE_OUT_OF_MEMORY: /* also if a header is too long */
    return dx_fail(err, errno == ENOMEM ? DX_E_NOMEM : DX_E_RESPONSE, 0, "%s",
                   text);
  default:
    break;
  }
  if (result == TOO_LARGE)
    return fail_headers(call, err);
  return dx_fail(err, DX_E_NET, 0, "%s: %s", peer, text);
}

/* A header of the final response; "" if there is none. */
static const char *header_of(const struct dx_http_call *call, const char *name)
{
  struct curl_header *h = NULL;

  return curl_easy_header(call->easy, name, 0, CURLH_HEADER, -1, &h) ==
                 CURLHE_OK
             ? h->value
             : "";
}

/* RFC 9110, section 5.6.7. Milliseconds; -1 if the text is not a date, or
 * before 1970. On computers with 32 bits, the time_t of curl_getdate() differs.
 */
static int64_t http_date_ms(const char *text)
{
  static const char *const forms[] = {"%a, %d %b %Y %T GMT",
                                      "%A, %d-%b-%y %T GMT", "%a %b %d %T %Y"};
  size_t i;

  for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
    struct tm tm = {0};
    const char *end = strptime(text, forms[i], &tm);
    time_t at = end != NULL && *end == '\0' ? timegm(&tm) : -1;

    if (at >= 0)
      return (int64_t)at * 1000;
  }
  return -1;
}

/* libcurl 8.14 forgets the peer if a proxy or TLS has failed: then it is the
 * last address that was tried. */
static void fill_peer(const struct dx_http_call *call,
                      struct dx_http_response *response)
{
  const struct sockaddr_in *v4 = (const struct sockaddr_in *)&call->tried;
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&call->tried;
  const char *address = NULL;
  long port = 0;

  (void)curl_easy_getinfo(call->easy, CURLINFO_PRIMARY_IP, &address);
  (void)curl_easy_getinfo(call->easy, CURLINFO_PRIMARY_PORT, &port);
  if (address != NULL && address[0] != '\0') {
    (void)snprintf(response->address, sizeof(response->address), "%s", address);
    response->port = (int)port;
  } else if (call->tried.ss_family == AF_INET) {
    (void)inet_ntop(AF_INET, &v4->sin_addr, response->address,
                    sizeof(response->address));
    response->port = ntohs(v4->sin_port);
  } else if (call->tried.ss_family == AF_INET6) {
    (void)inet_ntop(AF_INET6, &v6->sin6_addr, response->address,
                    sizeof(response->address));
    response->port = ntohs(v6->sin6_port);
  }
}

static void fill_response(struct dx_http_call *call, CURLcode result,
                          struct dx_http_response *response)
{
  int64_t date_ms = http_date_ms(header_of(call, "Date"));
  curl_off_t sent = 0, resolved = 0, start = 0;
  long status = 0;
  bool is_http;

  (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
  (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  (void)curl_easy_getinfo(call->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved);
  (void)curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &start);
  /* libcurl accepts any number of digits, which can overflow. */
  is_http = status >= 0 && status <= HTTP_STATUS_MAX;
  *response = (struct dx_http_response){
      .status = is_http ? (int)status : 0,
      .proxy_status = result != CURLE_OK ? proxy_status(call) : 0,
      .body = dx_buf_text(&call->body),
      .body_len = call->body.len,
      .date_ms = date_ms,
      .retry_after_ms =
          dx_retry_after_ms(header_of(call, "Retry-After"), date_ms),
      .sent_bytes = sent,
      .was_sent = call->is_sent,
      .was_resolved = result != CURLE_COULDNT_RESOLVE_HOST &&
                      result != CURLE_COULDNT_RESOLVE_PROXY &&
                      (result != CURLE_OPERATION_TIMEDOUT || resolved > 0),
      .was_connected = result != CURLE_COULDNT_CONNECT &&
                       (result != CURLE_OPERATION_TIMEDOUT || start > 0),
      .err = call->local,
  };
  memcpy(response->host, call->host, sizeof(response->host));
  fill_peer(call, response);
  if (call->local.code == DX_OK && result != CURLE_OK)
    (void)fail_transfer(call, result, &response->err);
  else if (call->local.code == DX_OK && !is_http)
    (void)dx_fail(&response->err, DX_E_RESPONSE, 0, NOT_HTTP, call->host);
}

/* Logs host and path; of a query, only that there is one. */
static void log_end(const struct dx_http_call *call,
                    const struct dx_http_response *response)
{
  char line[DX_LOG_LINE_BYTES];
  const char *url = "";
  double seconds = 0;
  size_t len;

  (void)curl_easy_getinfo(call->easy, CURLINFO_EFFECTIVE_URL, &url);
  (void)curl_easy_getinfo(call->easy, CURLINFO_TOTAL_TIME, &seconds);
  len = strcspn(url, "?");
  (void)snprintf(
      line, sizeof(line),
      "%s %.*s%s -> %d%s%s, %.0f ms, sent %" PRId64 ", got %zu bytes",
      call->request.method, (int)len, url, url[len] ? "?..." : "",
      response->status, response->err.code != DX_OK ? ", " : "",
      response->err.code != DX_OK ? response->err.text : "", seconds * 1000,
      response->sent_bytes, response->body_len + (size_t)call->sink_bytes);
  if (call->request.log != NULL)
    call->request.log(call->request.ctx, line);
  else
    dx_log(DX_LOG_DEBUG, "%s", line);
}

/* Handles all transfers that have ended, which can be many; returns their
 * number. */
static int drain(struct dx_http *http)
{
  struct dx_http_response response;
  struct dx_http_call *call = NULL;
  CURLMsg *message; /* CURLMSG_DONE is the only kind */
  int left, ended = 0;

  while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
    (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
    fill_response(call, message->data.result, &response);
    log_end(call, &response);
    call->request.done(call->request.ctx, &response);
    call_free(call);
    ended++;
  }
  return ended;
}

enum dx_code dx_http_run(struct dx_http *http, int64_t timeout_ms,
                         const int *wake, size_t wake_count, struct dx_err *err)
{
  struct curl_waitfd fds[DX_HTTP_WAKE_MAX];
  int running;
  bool ok;
  size_t i;

  assert(wake_count <= DX_HTTP_WAKE_MAX);
  for (i = 0; i < wake_count; i++)
    fds[i] = (struct curl_waitfd){.fd = wake[i], .events = CURL_WAIT_POLLIN};
  if (timeout_ms > INT32_MAX)
    timeout_ms = INT32_MAX;
  ok = curl_multi_perform(http->multi, &running) == CURLM_OK;
  if (ok && drain(http) == 0) { /* otherwise, there may be new requests */
    ok = curl_multi_poll(http->multi, fds, (unsigned)wake_count,
                         (int)timeout_ms, NULL) == CURLM_OK &&
         curl_multi_perform(http->multi, &running) == CURLM_OK;
    (void)drain(http);
  }
  return ok ? DX_OK : dx_fail_nomem(err);
}

/* ---- memory of libcurl, which may contain tokens and passwords ---- */

static void free_wiped(void *memory)
{
  if (memory != NULL)
    explicit_bzero(memory, malloc_usable_size(memory));
  free(memory);
}

static void *realloc_wiped(void *memory, size_t size)
{
  size_t room = memory != NULL ? malloc_usable_size(memory) : 0;
  void *more = malloc(size);

  if (more == NULL || memory == NULL)
    return more;
  memcpy(more, memory, room < size ? room : size);
  free_wiped(memory);
  return more;
}

struct dx_http *dx_http_new(void)
{
  struct dx_http *http = calloc(1, sizeof(*http));

  if (http != NULL &&
      curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, free_wiped,
                           realloc_wiped, strdup, calloc) == CURLE_OK)
    http->multi = curl_multi_init();
  if (http != NULL && http->multi != NULL)
    return http;
  free(http);
  return NULL;
}

void dx_http_free(struct dx_http **http)
{
  if (*http == NULL)
    return;
  (void)curl_multi_cleanup((*http)->multi);
  free(*http);
  *http = NULL;
}

int64_t dx_retry_after_ms(const char *value, int64_t date_ms)
{
  char *end;
  double wait_ms = 1000 * strtod(value, &end);
  int64_t at;

  if (end == value || end[strspn(end, " \t")] != '\0' ||
      value[strspn(value, "+-.0123456789 \t")] != '\0') {
    /* not a number; the last also excludes hexadecimal and "inf" */
    at = http_date_ms(value);
    if (at < 0)
      return -1;
    wait_ms = (double)(at - (date_ms >= 0 ? date_ms : dx_wall_ms()));
  }
  return (int64_t)fmax(0, fmin(wait_ms, DX_RETRY_AFTER_MAX_MS));
}

const char *dx_http_version(void)
{
  return curl_version();
}
