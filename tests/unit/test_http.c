/*
 * test_http.c - requests with libcurl to a server in this process: which
 * connections are used, and what is reported if there is no response.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/service/http.h"
#include "lib/base/buf.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "tests/unit/loopback.h"

#define RUN_MS 10000 /* a limit; nothing waits that long */

static struct dx_http *http;
static struct loopback server;
static char url[64];
static char offered[64]; /* protocols of the last client, "h2,http/1.1" */

/* What `done` was called with. */
static struct {
  bool is_over;
  struct dx_err err;
  int status, proxy_status;
  bool was_sent;
  char host[DX_HTTP_HOST_BYTES];
} result;

static void on_done(void *ctx, const struct dx_http_response *response)
{
  (void)ctx;
  result.is_over = true;
  result.err = response->err;
  result.status = response->status;
  result.proxy_status = response->proxy_status;
  result.was_sent = response->was_sent;
  memcpy(result.host, response->host, sizeof(result.host));
}

static int set_up(void **state)
{
  (void)state;
  http = dx_http_new();
  if (http == NULL || loopback_open(&server) < 0)
    return -1;
  (void)snprintf(url, sizeof(url), "http://%s/o?sig=secret", server.authority);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  dx_http_free(&http);
  loopback_close(&server);
  return 0;
}

/* Makes a request, and serves it. */
static void call(const struct dx_http_request *request, const char *response,
                 enum loopback_manner manner)
{
  struct dx_http_call *running = NULL;

  memset(&result, 0, sizeof(result));
  assert_int_equal(dx_http_start(http, request, &running, NULL), DX_OK);
  while (!result.is_over) {
    const int wake[] = {server.listener, server.peer};

    assert_int_equal(
        dx_http_run(http, RUN_MS, wake, server.peer >= 0 ? 2 : 1, NULL), DX_OK);
    if (!result.is_over)
      loopback_turn(&server, response, manner);
  }
}

static struct dx_http_request get(enum dx_scope scope)
{
  return (struct dx_http_request){.method = "GET",
                                  .url = url,
                                  .body_fd = -1,
                                  .timeout_ms = RUN_MS,
                                  .scope = scope,
                                  .done = on_done};
}

/* The text must be `format` with the authority of the server. */
static void check_error(enum dx_code code, const char *format)
{
  const char *at = strstr(format, "AT");
  char text[DX_ERR_TEXT_BYTES];

  assert_non_null(at);
  (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - format), format,
                 server.authority, at + 2);
  assert_string_equal(result.err.text, text);
  assert_int_equal(result.err.code, code);
  assert_null(strstr(result.err.text, "secret"));
}

#define EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void address_is_checked_on_an_existing_connection_too(void **state)
{
  struct dx_http_request permitted = get(DX_SCOPE_HOST);
  struct dx_http_request refused = get(DX_SCOPE_NETWORK);
  char bytes[16];
  int first;

  (void)state;
  call(&permitted, EMPTY, KEEP);
  assert_int_equal(result.status, 200);
  first = server.peer;
  call(&permitted, EMPTY, KEEP);
  assert_int_equal(result.status, 200);
  assert_int_equal(server.peer, first); /* libcurl does use it again */
  call(&refused, EMPTY, KEEP);
  assert_int_equal(result.err.code, DX_E_URL);
  assert_non_null(strstr(result.err.text, "a loopback or link-local address"));
  assert_false(result.was_sent);
  assert_true(recv(server.peer, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0);
}

static bool count_ready(void *ctx)
{
  ++*(int *)ctx;
  return true;
}

/* libcurl would send it again on a new connection, without a slot. */
static void request_is_not_sent_twice(void **state)
{
  static const char *const methods[] = {"GET", "POST"};
  struct dx_http_request request = get(DX_SCOPE_HOST);
  int ready = 0;
  size_t i;

  (void)state;
  request.ready = count_ready;
  request.ctx = &ready;
  for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
    request.method = methods[i];
    call(&request, EMPTY, KEEP);
    assert_int_equal(result.status, 200);
    ready = 0;
    call(&request, "", CLOSE);
    assert_int_equal(ready, 1);
    assert_true(result.was_sent);
    check_error(DX_E_NET, "'AT' closed the connection without a response");
  }
}

static void new_connection_to_a_refused_address_is_not_made(void **state)
{
  struct dx_http_request refused = get(DX_SCOPE_NETWORK);
  struct pollfd waiting = {.fd = server.listener, .events = POLLIN};

  (void)state;
  call(&refused, EMPTY, KEEP);
  assert_int_equal(result.err.code, DX_E_URL);
  assert_non_null(strstr(result.err.text, "a loopback or link-local address"));
  assert_int_equal(poll(&waiting, 1, 0), 0);
}

/* It would get the token, or the document. */
static void redirect_is_not_followed(void **state)
{
  struct dx_http_request request = get(DX_SCOPE_HOST);

  (void)state;
  call(&request,
       "HTTP/1.1 307 No\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
       KEEP);
  assert_int_equal(result.status, 307);
  assert_int_equal(result.err.code, DX_OK);
}

static void headers_of_a_response_are_limited(void **state)
{
  struct dx_http_request request = get(DX_SCOPE_HOST);
  struct dx_buf response = {0};
  int i;

  (void)state;
  dx_buf_puts(&response, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
  for (i = 0; i < 30; i++)
    dx_buf_printf(&response, "X: %09000d\r\n", i);
  dx_buf_puts(&response, "\r\n");
  call(&request, dx_buf_text(&response), KEEP);
  assert_int_equal(result.err.code, DX_E_RESPONSE);
  assert_non_null(strstr(result.err.text, "larger than 262144 bytes"));
  dx_buf_release(&response);
}

/* The client reads the body in parts: more than the limit fits into no socket.
 */
static void body_of_a_response_is_limited(void **state)
{
  static const char head[] = "HTTP/1.1 200 OK\r\n\r\n", part[65536] = "";
  struct dx_http_request request = get(DX_SCOPE_HOST);
  struct dx_http_call *running = NULL;
  size_t sent = 0;
  ssize_t n;

  (void)state;
  memset(&result, 0, sizeof(result));
  assert_int_equal(dx_http_start(http, &request, &running, NULL), DX_OK);
  while (!result.is_over && sent < 2 * (size_t)DX_RESPONSE_MAX_BYTES) {
    assert_int_equal(dx_http_run(http, 10, &server.listener, 1, NULL), DX_OK);
    if (result.is_over)
      break;
    loopback_turn(&server, "", KEEP);
    n = server.peer < 0 ? 0
        : sent == 0     ? send(server.peer, head, sizeof(head) - 1, 0)
                        : send(server.peer, part, sizeof(part), MSG_NOSIGNAL);
    sent += n > 0 ? (size_t)n : 0;
  }
  assert_true(result.is_over);
  assert_int_equal(result.err.code, DX_E_RESPONSE);
  assert_non_null(strstr(result.err.text, "the response is larger than "));
}

static void keep_line(void *ctx, const char *line)
{
  (void)snprintf(ctx, DX_LOG_LINE_BYTES, "%s", line);
}

/* A URL is the permission to upload; an administrator may write a password into
 * one. */
static void secret_of_a_url_is_not_logged(void **state)
{
  struct dx_http_request request = get(DX_SCOPE_HOST);
  char line[DX_LOG_LINE_BYTES] = "", with_password[96];

  (void)state;
  request.log = keep_line;
  request.ctx = line;
  call(&request, EMPTY, KEEP);
  assert_non_null(strstr(line, "/o?... -> 200"));
  assert_null(strstr(line, "secret"));
  loopback_stop_listening(&server);
  (void)snprintf(with_password, sizeof(with_password), "http://ann:secret@%s/",
                 server.authority);
  request.url = with_password;
  request.is_fresh = true;
  call(&request, "", KEEP);
  assert_int_equal(result.err.code, DX_E_NET);
  assert_null(strstr(result.err.text, "secret"));
}

/* The service cannot stop all documents for longer. */
static void pause_of_the_service_is_limited(void **state)
{
  static const struct {
    const char *value;
    int64_t ms;
  } rows[] = {
      {"5", 5000},
      {"1.5", 1500},
      {"-1", 0},
      {"3600", DX_RETRY_AFTER_MAX_MS},
      {"3601", DX_RETRY_AFTER_MAX_MS},
      {"1000000000000000000000", DX_RETRY_AFTER_MAX_MS},
      {"Thu, 01 Jan 1970 00:00:09 GMT", 8000},
      {"Thu, 01 Jan 2099 00:00:09 GMT", DX_RETRY_AFTER_MAX_MS},
      {"inf", -1},
      {"", -1},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    assert_int_equal(dx_retry_after_ms(rows[i].value, 1000), rows[i].ms);
}

/* Whether the heap contains the text, whose bytes are each one higher. */
static bool heap_has(const char *shifted)
{
  FILE *maps = fopen("/proc/self/maps", "re");
  int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  unsigned long from = 0, to = 0;
  char line[256], *bytes;
  bool is_there = false;
  size_t i, n;

  assert_true(maps != NULL && fd >= 0);
  while (fgets(line, sizeof(line), maps) != NULL)
    if (strstr(line, "[heap]") != NULL)
      assert_int_equal(sscanf(line, "%lx-%lx", &from, &to), 2);
  (void)fclose(maps);
  bytes = mmap(NULL, to - from + 1, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(bytes != MAP_FAILED);
  n = to > from && pread(fd, bytes, to - from, (off_t)from) > 0 ? to - from : 0;
  for (i = 0; i < n; i++)
    bytes[i]++;
  is_there = n > 0 && memmem(bytes, n, shifted, strlen(shifted)) != NULL;
  (void)munmap(bytes, to - from + 1);
  (void)close(fd);
  return is_there;
}

static void secrets_are_wiped_after_the_request(void **state)
{
  static const char token[] = "9bcdefghijklmnopqrstuvwxyz9876543210";
  struct dx_http_request request = get(DX_SCOPE_HOST);
  char text[sizeof(token)], shifted[sizeof(token)];
  size_t i;

  (void)state;
  for (i = 0; token[i] != '\0'; i++) {
    text[i] = token[i];
    shifted[i] = (char)(token[i] + 1);
  }
  text[i] = shifted[i] = '\0';
  request.bearer = text;
  call(&request, EMPTY, CLOSE);
  assert_int_equal(result.status, 200);
  dx_http_free(&http);
  assert_false(heap_has(shifted));
}

/* ---- why there is no response ---- */

static void failure_of_the_connection_is_named(void **state)
{
  static const struct {
    const char *response;
    enum loopback_manner manner;
    enum dx_code code;
    const char *text;
  } rows[] = {
      {"", CLOSE, DX_E_NET, "'AT' closed the connection without a response"},
      {"", RESET, DX_E_NET,
       "'AT' closed the connection before its response was complete"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345", CLOSE, DX_E_NET,
       "the response of 'AT' is incomplete"},
      {"SSH-2.0-OpenSSH_9.2\r\n", CLOSE, DX_E_RESPONSE,
       "the response is not HTTP (AT)"},
  };
  struct dx_http_request request = get(DX_SCOPE_HOST);
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    call(&request, rows[i].response, rows[i].manner);
    check_error(rows[i].code, rows[i].text);
    assert_true(result.was_sent);
    assert_string_equal(result.host, server.authority);
  }
  loopback_stop_listening(&server);
  call(&request, "", KEEP);
  check_error(DX_E_NET, "cannot connect to 'AT': Connection refused");
  assert_false(result.was_sent);
}

static void missing_response_is_named(void **state)
{
  struct dx_http_request request = get(DX_SCOPE_HOST);

  (void)state;
  request.timeout_ms = 1000;
  call(&request, "", KEEP);
  check_error(DX_E_NET, "'AT' did not respond completely within 1 s");
  assert_true(result.was_sent);
  request.timeout_ms = 0;
  request.stall_s = 1;
  call(&request, "", KEEP);
  check_error(DX_E_NET, "no data from or to 'AT' for 1 s");
  assert_true(result.was_sent);
}

static void name_that_cannot_be_resolved_is_named(void **state)
{
  struct dx_http_request request = get(DX_SCOPE_HOST);
  char name[100], long_url[120];

  (void)state;
  memset(name, 'a',
         64); /* a label has at most 63, so that no server is asked */
  (void)strcpy(name + 64, ".invalid");
  (void)snprintf(long_url, sizeof(long_url), "http://%s/", name);
  (void)snprintf(server.authority, sizeof(server.authority), "%s", "");
  request.url = long_url;
  call(&request, "", KEEP);
  assert_int_equal(result.err.code, DX_E_NET);
  assert_memory_equal(result.err.text, "cannot resolve 'aaa", 19);
  assert_non_null(strstr(result.err.text, ".invalid'; check the name servers"));
}

static void refusal_of_the_proxy_is_named(void **state)
{
  static const struct {
    const char *login;
    int status;
    enum dx_code code;
    const char *text;
  } rows[] = {
      {NULL, 407, DX_E_PROXY,
       "the proxy 'AT' requires a password (407); set ProxyPasswordFile"},
      {"ann:secret", 407, DX_E_PROXY,
       "the proxy 'AT' rejects the user or password of ProxyPasswordFile "
       "(407)"},
      {"ann:secret", 401, DX_E_PROXY,
       "the proxy 'AT' rejects the user or password of ProxyPasswordFile "
       "(401)"},
      {NULL, 403, DX_E_PROXY,
       "the proxy 'AT' does not permit connections to 'a.example:8443' (403)"},
      {"ann:secret", 502, DX_E_NET,
       "the proxy 'AT' cannot connect to 'a.example:8443' (502)"},
      {NULL, 503, DX_E_NET,
       "the proxy 'AT' cannot connect to 'a.example:8443' (503)"},
  };
  struct dx_http_request request = get(DX_SCOPE_NETWORK);
  char proxy[64], response[160];
  size_t i;

  (void)state;
  (void)snprintf(proxy, sizeof(proxy), "http://%s", server.authority);
  request.url = "https://a.example:8443/o?sig=secret";
  request.proxy = proxy;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    (void)snprintf(response, sizeof(response),
                   "HTTP/1.1 %d No\r\nProxy-Authenticate: Basic "
                   "realm=\"secret\"\r\nContent-Length: 0\r\n\r\n",
                   rows[i].status);
    request.proxy_login = rows[i].login;
    call(&request, response, KEEP);
    check_error(rows[i].code, rows[i].text);
    assert_int_equal(result.proxy_status, rows[i].status);
    assert_int_equal(result.status, 0);
    assert_false(result.was_sent);
    assert_string_equal(result.host, "a.example:8443");
  }
  call(&request, "", CLOSE);
  check_error(DX_E_NET,
              "the proxy 'AT' closed the connection before the request was "
              "sent");
}

/* ---- TLS ---- */

static int choose_http_1(SSL *ssl, const unsigned char **ret,
                         unsigned char *ret_len, const unsigned char *list,
                         unsigned len, void *ctx)
{
  unsigned i;

  (void)ssl;
  (void)ctx;
  offered[0] = '\0';
  for (i = 0; i < len; i += 1U + list[i]) {
    size_t used = strlen(offered);

    (void)snprintf(offered + used, sizeof(offered) - used, "%s%.*s",
                   used > 0 ? "," : "", list[i], list + i + 1);
    *ret = list + i + 1;
    *ret_len = list[i];
  }
  return SSL_TLSEXT_ERR_OK; /* the last one, HTTP/1.1 */
}

static char cert_path[64], other_path[64];

static int set_up_tls(void **state)
{
  (void)snprintf(cert_path, sizeof(cert_path), "/tmp/dx-unit-%d.pem",
                 (int)getpid());
  (void)snprintf(other_path, sizeof(other_path), "/tmp/dx-unit-%d-other.pem",
                 (int)getpid());
  if (set_up(state) != 0)
    return -1;
  (void)snprintf(url, sizeof(url), "https://%s/o?sig=secret", server.authority);
  return 0;
}

static int tear_down_tls(void **state)
{
  (void)unlink(cert_path);
  (void)unlink(other_path);
  return tear_down(state);
}

static void certificate_error_is_named(void **state)
{
  static const struct {
    const char *name;
    int from, to;
    bool is_upload, is_trusted;
    const char *text;
  } rows[] = {
      {"IP:127.0.0.1", -9, 9, false, true, NULL},
      {"IP:127.0.0.1", -9, 9, true, true, NULL},
      {"IP:127.0.0.1", -9, 9, false, false,
       "the certificate of 'AT' cannot be trusted: its CA is unknown; set "
       "CAFile"},
      {"IP:127.0.0.1", -9, 9, true, false,
       "the certificate of 'AT' cannot be trusted: its CA is unknown; set "
       "StorageCAFile"},
      {"IP:127.0.0.1", -9, -1, false, true,
       "the certificate of 'AT' cannot be trusted: it has expired, or the "
       "clock of this computer is wrong"},
      {"IP:127.0.0.1", 1, 9, true, true,
       "the certificate of 'AT' cannot be trusted: it is not yet valid; check "
       "the clock of this computer"},
      {"IP:127.0.0.2", -9, 9, false, true,
       "the certificate of 'AT' cannot be trusted: it is for another name; "
       "check the name in BaseURL"},
      {"DNS:s.example", -9, 9, true, true,
       "the certificate of 'AT' cannot be trusted: it is for another name"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_http_request request = get(DX_SCOPE_HOST);

    loopback_begin_tls(&server, "IP:127.0.0.1", -9, 9,
                       other_path); /* of another CA */
    loopback_begin_tls(&server, rows[i].name, rows[i].from, rows[i].to,
                       cert_path);
    request.ca_file = rows[i].is_trusted ? cert_path : other_path;
    if (rows[i].is_upload) {
      request.method = "PUT";
      request.to_storage = true;
      request.body_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    call(&request, EMPTY, CLOSE);
    if (request.body_fd >= 0)
      (void)close(request.body_fd);
    if (rows[i].text != NULL)
      check_error(DX_E_CERT, rows[i].text);
    else if (result.status != 200)
      fail_msg("%zu: %s", i, result.err.text);
    assert_int_equal(result.was_sent, rows[i].text == NULL);
  }
  {
    struct dx_http_request request = get(DX_SCOPE_HOST);

    request.ca_file = "/nowhere/ca.pem";
    call(&request, EMPTY, CLOSE);
    check_error(DX_E_CERT,
                "the certificate of 'AT' cannot be trusted: CAFile cannot be "
                "read, or contains no certificates");
  }
}

static void failure_of_the_handshake_is_named(void **state)
{
  struct dx_http_request request = get(DX_SCOPE_HOST);

  (void)state;
  call(&request, "HTTP/1.1 400 Bad Request\r\n\r\n", CLOSE);
  check_error(DX_E_CERT, "'AT' does not use TLS; check that the port of "
                         "BaseURL supports HTTPS");
  call(&request, "", CLOSE);
  check_error(DX_E_NET, "'AT' closed the connection during the TLS handshake");
  assert_false(result.was_sent);
  loopback_begin_tls(&server, "IP:127.0.0.1", -9, 9, cert_path);
  request.ca_file = cert_path;
  assert_int_equal(SSL_CTX_set_max_proto_version(server.tls, TLS1_1_VERSION),
                   1);
  SSL_CTX_set_security_level(server.tls, 0);
  call(&request, EMPTY, CLOSE);
  check_error(DX_E_CERT, "'AT' does not support TLS 1.2 or newer");
  loopback_begin_tls(&server, "IP:127.0.0.1", -9, 9, cert_path);
  assert_int_equal(SSL_CTX_set_max_proto_version(server.tls, TLS1_2_VERSION),
                   1);
  assert_int_equal(SSL_CTX_set_cipher_list(server.tls, "AES128-SHA"),
                   1); /* RSA's */
  call(&request, EMPTY, CLOSE);
  assert_int_equal(result.err.code, DX_E_NET);
  assert_non_null(strstr(result.err.text, "the TLS handshake with '127.0.0.1"));
  assert_non_null(strstr(result.err.text, "alert handshake failure"));
}

static void upload_uses_http_1(void **state)
{
  struct dx_http_request request = get(DX_SCOPE_HOST);

  (void)state;
  loopback_begin_tls(&server, "IP:127.0.0.1", -9, 9, cert_path);
  SSL_CTX_set_alpn_select_cb(server.tls, choose_http_1, NULL);
  request.ca_file = cert_path;
  request.is_fresh = true;
  call(&request, EMPTY, CLOSE);
  assert_int_equal(result.status, 200);
  assert_string_equal(offered, "h2,http/1.1");
  request.method = "PUT";
  request.body_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  call(&request, EMPTY, CLOSE);
  (void)close(request.body_fd);
  assert_int_equal(result.status, 200);
  assert_string_equal(offered, "http/1.1");
}

static int choose_first(SSL *ssl, const unsigned char **ret,
                        unsigned char *ret_len, const unsigned char *list,
                        unsigned len, void *ctx)
{
  int chosen = choose_http_1(ssl, ret, ret_len, list, len, ctx);

  *ret = list + 1;
  *ret_len = list[0];
  return chosen;
}

/* libcurl repeats the request over HTTP/1.1 by itself, without a slot. */
static void http_2_is_not_used_after_a_rejection(void **state)
{
  /* SETTINGS, and RST_STREAM with HTTP_1_1_REQUIRED. */
  static const char frames[] = "\0\0\0\4\0\0\0\0\0"
                               "\0\0\4\3\0\0\0\0\1\0\0\0\15";
  struct dx_http_request request = get(DX_SCOPE_HOST);
  struct dx_http_call *running = NULL;
  bool is_rejected = false;
  int ready = 0;

  (void)state;
  loopback_begin_tls(&server, "IP:127.0.0.1", -9, 9, cert_path);
  SSL_CTX_set_alpn_select_cb(server.tls, choose_first, NULL);
  request.ca_file = cert_path;
  request.is_fresh = true;
  request.ready = count_ready;
  request.ctx = &ready;
  memset(&result, 0, sizeof(result));
  assert_int_equal(dx_http_start(http, &request, &running, NULL), DX_OK);
  while (!result.is_over) {
    const int wake[] = {server.listener, server.peer};

    assert_int_equal(
        dx_http_run(http, RUN_MS, wake, server.peer >= 0 ? 2 : 1, NULL), DX_OK);
    if (ready == 1 && !is_rejected)
      is_rejected = SSL_write(server.session, frames, sizeof(frames) - 1) > 0;
    if (!result.is_over)
      loopback_turn(&server, "", KEEP);
  }
  assert_int_equal(ready, 1);
  check_error(DX_E_NET, "'AT' rejects HTTP/2; HTTP/1.1 is used from now on");
  call(&request, EMPTY, CLOSE);
  assert_int_equal(result.status, 200);
  assert_string_equal(offered, "http/1.1");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define TLS_CASE(test) \
  cmocka_unit_test_setup_teardown(test, set_up_tls, tear_down_tls)

int main(void)
{
  const struct CMUnitTest tests[] = {
      CASE(address_is_checked_on_an_existing_connection_too),
      CASE(request_is_not_sent_twice),
      CASE(new_connection_to_a_refused_address_is_not_made),
      CASE(redirect_is_not_followed),
      CASE(headers_of_a_response_are_limited),
      CASE(body_of_a_response_is_limited),
      CASE(secret_of_a_url_is_not_logged),
      cmocka_unit_test(pause_of_the_service_is_limited),
      CASE(secrets_are_wiped_after_the_request),
      CASE(failure_of_the_connection_is_named),
      CASE(missing_response_is_named),
      CASE(name_that_cannot_be_resolved_is_named),
      CASE(refusal_of_the_proxy_is_named),
      TLS_CASE(certificate_error_is_named),
      TLS_CASE(failure_of_the_handshake_is_named),
      TLS_CASE(upload_uses_http_1),
      TLS_CASE(http_2_is_not_used_after_a_rejection),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
