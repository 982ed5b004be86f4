/*
 * http.c - the only file that uses libcurl for transfers.
 */
#include "daemon/service/http.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
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

#define DX_STALL_S 30
#define DX_HEADERS_MAX_BYTES 262144 /* of one response, interim ones too */
#define DX_UPLOAD_BUFFER_BYTES 65536L
#define DX_UPLOAD_STEP_BYTES 65536 /* at least, within DX_API_TIMEOUT_MS */

#define HTTP_STATUS_MAX 599
#define NOT_HTTP "the response is not HTTP"

struct dx_http_call {
  struct dx_http *http;
  CURL *easy;
  struct curl_slist *headers;
  struct dx_http_request request; /* strings but `method`: during start only */
  struct dx_buf body;             /* of the response */
  int64_t sink_bytes;
  size_t header_bytes; /* interim responses and trailers included */
  int64_t up_bytes;    /* of body_fd */
  int64_t up_ms;       /* monotonic: time of the last progress */
  off_t read_at;       /* position in body_fd */
  bool out_of_scope;   /* an address was refused */
  struct dx_err local; /* a failure of ours: the sink, a read, a limit */
  char reason[CURL_ERROR_SIZE];
};

struct dx_http {
  CURLM *multi;
};

/* ---- callbacks of a transfer ---- */

static enum dx_code fail_headers(struct dx_err *err)
{
  return dx_fail(err, DX_E_RESPONSE, 0,
                 "the headers of the response are larger than %d bytes",
                 DX_HEADERS_MAX_BYTES);
}

static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
  struct dx_http_call *call = ctx;

  (void)bytes;
  call->header_bytes += size * count;
  if (call->header_bytes <= DX_HEADERS_MAX_BYTES)
    return size * count;
  (void)fail_headers(&call->local);
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
                  "the response is larger than %d bytes",
                  DX_RESPONSE_MAX_BYTES);
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

/* Reports progress, and ends an upload that is stuck: a storage that accepts
 * the document, or sends its response, byte by byte does not trigger the stall
 * timeout. */
static int on_progress(void *ctx, curl_off_t down_total, curl_off_t down,
                       curl_off_t up_total, curl_off_t up)
{
  struct dx_http_call *call = ctx;
  const struct dx_http_request *r = &call->request;
  int64_t now = dx_monotonic_ms(), step = up - call->up_bytes;

  (void)down_total;
  (void)down;
  (void)up_total;
  if (call->up_ms == 0 || step >= DX_UPLOAD_STEP_BYTES ||
      (step > 0 && up >= r->body_bytes)) {
    call->up_bytes = up;
    call->up_ms = now;
    if (r->progress != NULL)
      r->progress(r->ctx, up);
  }
  if (r->body_fd < 0 || now - call->up_ms <= DX_API_TIMEOUT_MS)
    return 0;
  if (up < r->body_bytes)
    (void)dx_fail(&call->local, DX_E_NET, 0,
                  "the upload was too slow: less than %d KiB in %d s",
                  DX_UPLOAD_STEP_BYTES / 1024, DX_API_TIMEOUT_MS / 1000);
  else
    (void)dx_fail(&call->local, DX_E_NET, 0,
                  "the storage did not respond within %d s",
                  DX_API_TIMEOUT_MS / 1000);
  return 1;
}

/* Called when the connection is up, and nothing of the request has been
 * sent. */
static int on_ready(void *ctx, char *to, char *from, int to_port, int from_port)
{
  struct dx_http_call *call = ctx;

  (void)to;
  (void)from;
  (void)to_port;
  (void)from_port;
  if (call->request.ready(call->request.ctx))
    return CURL_PREREQFUNC_OK;
  (void)dx_fail(&call->local, DX_E_NOT_SENT, 0, "a pause has begun");
  return CURL_PREREQFUNC_ABORT;
}

/* Called for each address of the host until a connection succeeds. */
static curl_socket_t on_socket(void *ctx, curlsocktype purpose,
                               struct curl_sockaddr *address)
{
  struct dx_http_call *call = ctx;

  (void)purpose;
  if (dx_address_scope(&address->addr) > call->request.scope) {
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

static bool set_options(struct dx_http_call *call)
{
  const struct dx_http_request *r = &call->request;
  bool has_tls = strncasecmp(r->url, "https:", 6) == 0;
  const char *proxy = r->proxy != NULL && has_tls ? r->proxy : "";

  SET(CURLOPT_URL, r->url);
  /* libcurl 8 also resolves %2E%2E as "..", which an id may be. */
  SET(CURLOPT_PATH_AS_IS, 1L);
  SET(CURLOPT_PROTOCOLS_STR, "https,http");
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_QUICK_EXIT, 1L); /* do not wait for a slow name server */
  SET(CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
  SET(CURLOPT_PROXY, proxy);
  if (proxy[0] == '\0') {
    SET(CURLOPT_OPENSOCKETFUNCTION, on_socket);
    SET(CURLOPT_OPENSOCKETDATA, call);
  }
  SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (r->ca_file != NULL) {
    SET(CURLOPT_CAINFO, r->ca_file);
    SET(CURLOPT_CAPATH, NULL);
  }
  SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
  SET(CURLOPT_PIPEWAIT, 1L);
  if (r->is_fresh) {
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  }
  SET(CURLOPT_CONNECTTIMEOUT_MS, (long)DX_CONNECT_TIMEOUT_MS);
  SET(CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
  SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
  SET(CURLOPT_LOW_SPEED_TIME, (long)DX_STALL_S);
  SET(CURLOPT_USERAGENT, "docextract/" PACKAGE_VERSION);
  SET(CURLOPT_ERRORBUFFER, call->reason);
  SET(CURLOPT_PRIVATE, call);
  SET(CURLOPT_HEADERFUNCTION, on_header);
  SET(CURLOPT_HEADERDATA, call);
  SET(CURLOPT_WRITEFUNCTION, on_body);
  SET(CURLOPT_WRITEDATA, call);
  SET(CURLOPT_XFERINFOFUNCTION, on_progress);
  SET(CURLOPT_XFERINFODATA, call);
  SET(CURLOPT_NOPROGRESS, r->progress == NULL && r->body_fd < 0 ? 1L : 0L);
  if (r->ready != NULL) {
    SET(CURLOPT_PREREQFUNCTION, on_ready);
    SET(CURLOPT_PREREQDATA, call);
  }
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
  struct curl_slist *h;

  if (call->easy != NULL) {
    (void)curl_multi_remove_handle(call->http->multi, call->easy);
    curl_easy_cleanup(call->easy);
  }
  for (h = call->headers; h != NULL; h = h->next)
    explicit_bzero(h->data, strlen(h->data)); /* one contains the token */
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
  call->request.bearer = NULL; /* libcurl has a copy */
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

/* Reports what is wrong with the certificate, and what to do. The words are
 * from messages of OpenSSL and libcurl; `reason` itself can contain a URL. */
static enum dx_code fail_certificate(const char *reason, struct dx_err *err)
{
  static const struct {
    const char *word;
    const char *text;
  } known[] = {
      {"expired", "it has expired, or the clock of this computer is wrong"},
      {"not yet valid",
       "it is not yet valid; check the clock of this computer"},
      {"subject name", "it is for another name; check the name in BaseURL"},
      {"issuer", "its CA is unknown; set CAFile"},
      {"self", "its CA is unknown; set CAFile"},
      {"", "check BaseURL and CAFile"},
  };
  size_t i = 0;

  while (strstr(reason, known[i].word) == NULL)
    i++;
  return dx_fail(err, DX_E_CERT, 0,
                 "the certificate of the service cannot be trusted: %s",
                 known[i].text);
}

/* Reports why there is no response, without call->reason, which can contain a
 * URL. */
static enum dx_code fail_transfer(const struct dx_http_call *call,
                                  CURLcode result, struct dx_err *err)
{
  const char *text = curl_easy_strerror(result), *reason = call->reason;
  const char *url = "", *host;
  long sys_errno = 0;

  switch (result) {
  case CURLE_PEER_FAILED_VERIFICATION:
    return fail_certificate(reason, err);
  case CURLE_SSL_CACERT_BADFILE:
    return dx_fail(err, DX_E_CERT, 0,
                   "the certificate of the service cannot be trusted: CAFile "
                   "cannot be read, or contains no certificates");
  case CURLE_SSL_CONNECT_ERROR:
    /* Messages of OpenSSL if there is no common protocol version, which only an
     * administrator can fix. All other TLS failures may be temporary. */
    if (strstr(reason, "protocol version") != NULL ||
        strstr(reason, "unsupported protocol") != NULL ||
        strstr(reason, "wrong version number") != NULL)
      return dx_fail(err, DX_E_CERT, 0,
                     "the server does not support TLS 1.2 or newer; check "
                     "that the port of BaseURL supports HTTPS");
    break;
  case CURLE_COULDNT_CONNECT:
    if (call->out_of_scope)
      return dx_fail(err, DX_E_PROTOCOL, 0, "%s", DX_SCOPE_TEXT);
    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &sys_errno);
    break;
  case CURLE_URL_MALFORMAT:
    return dx_fail(err, DX_E_PROTOCOL, 0, "%s", text);
  case CURLE_UNSUPPORTED_PROTOCOL: /* of the response; URLs were checked */
    return dx_fail(err, DX_E_RESPONSE, 0, NOT_HTTP);
  case CURLE_OUT_OF_MEMORY: /* also if a header is too long */
    return dx_fail(err, errno == ENOMEM ? DX_E_NOMEM : DX_E_RESPONSE, 0, "%s",
                   text);
  default:
    break;
  }
  if (result == TOO_LARGE)
    return fail_headers(err);
  (void)curl_easy_getinfo(call->easy, CURLINFO_EFFECTIVE_URL, &url);
  host = strstr(url, "://");
  host = host != NULL ? host + 3 : url;
  return dx_fail(err, DX_E_NET, (int)sys_errno, "%.*s: %s",
                 (int)strcspn(host, "/?"), host, text);
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

static void fill_response(struct dx_http_call *call, CURLcode result,
                          struct dx_http_response *response)
{
  int64_t date_ms = http_date_ms(header_of(call, "Date"));
  curl_off_t sent = 0, resolved = 0, start = 0;
  long status = 0, port = 0;
  const char *address = "";
  bool is_http;

  (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
  (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  (void)curl_easy_getinfo(call->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved);
  (void)curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &start);
  (void)curl_easy_getinfo(call->easy, CURLINFO_PRIMARY_IP, &address);
  (void)curl_easy_getinfo(call->easy, CURLINFO_PRIMARY_PORT, &port);
  /* libcurl accepts any number of digits, which can overflow. */
  is_http = status >= 0 && status <= HTTP_STATUS_MAX;
  *response = (struct dx_http_response){
      .status = is_http ? (int)status : 0,
      .body = dx_buf_text(&call->body),
      .body_len = call->body.len,
      .date_ms = date_ms,
      .retry_after_ms =
          dx_retry_after_ms(header_of(call, "Retry-After"), date_ms),
      .sent_bytes = sent,
      .was_sent = start > 0 && call->local.code != DX_E_NOT_SENT,
      .was_resolved = result != CURLE_COULDNT_RESOLVE_HOST &&
                      result != CURLE_COULDNT_RESOLVE_PROXY &&
                      (result != CURLE_OPERATION_TIMEDOUT || resolved > 0),
      .was_connected = result != CURLE_COULDNT_CONNECT &&
                       (result != CURLE_OPERATION_TIMEDOUT || start > 0),
      .port = (int)port,
      .err = call->local,
  };
  (void)snprintf(response->address, sizeof(response->address), "%s", address);
  if (call->local.code == DX_OK && result != CURLE_OK)
    (void)fail_transfer(call, result, &response->err);
  else if (call->local.code == DX_OK && !is_http)
    (void)dx_fail(&response->err, DX_E_RESPONSE, 0, NOT_HTTP);
}

/* Handles all transfers that have ended, which can be many; returns their
 * number. */
static int drain(struct dx_http *http)
{
  struct dx_http_response response;
  struct dx_http_call *call = NULL;
  CURLMsg *message; /* CURLMSG_DONE is the only kind */
  const char *url = "";
  double seconds = 0;
  int left, ended = 0;
  size_t len;

  while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
    (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
    fill_response(call, message->data.result, &response);
    /* Logs host and path; of a query, only that there is one. */
    (void)curl_easy_getinfo(call->easy, CURLINFO_EFFECTIVE_URL, &url);
    (void)curl_easy_getinfo(call->easy, CURLINFO_TOTAL_TIME, &seconds);
    len = strcspn(url, "?");
    dx_log(DX_LOG_DEBUG,
           "%s %.*s%s -> %d%s%s, %.0f ms, sent %" PRId64 ", got %zu bytes",
           call->request.method, (int)len, url, url[len] ? "?..." : "",
           response.status, response.err.code != DX_OK ? ", " : "",
           response.err.code != DX_OK ? response.err.text : "", seconds * 1000,
           response.sent_bytes, response.body_len + (size_t)call->sink_bytes);
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

struct dx_http *dx_http_new(void)
{
  struct dx_http *http = calloc(1, sizeof(*http));

  if (http != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
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
