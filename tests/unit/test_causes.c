/*
 * test_causes.c - the table of what can be wrong outside: for each cause what
 * the administrator and the user who printed are told, what `docextract hello`
 * and the metrics say, and that the job goes on by itself when it is over.
 *
 * The causes of the network are real: the request is made with libcurl, to a
 * server in this process, and the engine of the fixture gets what came of it,
 * again and again, until the cause is gone.
 */
#include "tests/unit/engine_fixture.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "daemon/service/http.h"
#include "lib/base/fs.h"
#include "lib/base/history.h"
#include "lib/base/language.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/control/metrics.h"
#include "lib/spool/sentence.h"
#include "tests/unit/loopback.h"

enum dx_code __real_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err);
enum dx_code __real_dx_http_run(struct dx_http *http, int64_t timeout_ms,
                                const int *wake, size_t wake_count,
                                struct dx_err *err);

/* In every title, file name, user, token, body, and query: no message has it.
 */
#define MARK "mArK"

#define RUN_MS 10000 /* a limit; nothing waits that long */
#define ILL_MS (5 * MIN)

static struct loopback server;
static char cert_path[64], other_path[64], url[160], proxy_url[100];
static char no_name[80];        /* of a host */
static char many_cases[200000]; /* a response */
static struct dx_err err;

/* ---- a cause ---- */

struct cause {
  const char *name;
  enum dx_call_kind call; /* the first that meets it */
  /* How the request is made, and what the server responds; or what is wrong
   * with this computer, and how it ends. */
  void (*meet)(struct dx_http_request *request);
  const char *reply;
  enum loopback_manner manner;
  void (*begin)(void);
  void (*end)(void);
  enum dx_code code;
  const char *admin; /* a regular expression; AT: where the server is */
  const char *user;
  enum dx_note_kind note; /* DX_NOTE_COUNT: none, it is final */
  bool is_down;           /* in the metrics, after three calls */
  const char *hello;      /* a regular expression; NULL: it does not fail */
};

/* ---- requests ---- */

static void plainly(struct dx_http_request *r)
{
  (void)r;
}

static void no_server(struct dx_http_request *r)
{
  (void)r;
  loopback_stop_listening(&server);
}

/* A label has at most 63 characters, so that no name server is asked. */
static void nameless(struct dx_http_request *r)
{
  memset(no_name, 'a', 64);
  (void)strcpy(no_name + 64, ".invalid");
  (void)snprintf(url, sizeof(url), "http://%s/o?sig=" MARK, no_name);
  r->url = url;
}

static void briefly(struct dx_http_request *r)
{
  r->timeout_ms = 1000;
}

static void from_outside(struct dx_http_request *r)
{
  r->scope = DX_SCOPE_NETWORK;
}

static void https(struct dx_http_request *r)
{
  (void)snprintf(url, sizeof(url), "https://%s/o?sig=" MARK, server.authority);
  r->url = url;
  r->ca_file = cert_path;
}

static void to_no_tls(struct dx_http_request *r)
{
  https(r);
  r->ca_file = NULL;
}

static void certified(struct dx_http_request *r, const char *name, int from,
                      int to)
{
  https(r);
  loopback_begin_tls(&server, name, from, to, cert_path);
}

static void expired(struct dx_http_request *r)
{
  certified(r, "IP:127.0.0.1", -9, -1);
}

static void not_yet_valid(struct dx_http_request *r)
{
  certified(r, "IP:127.0.0.1", 1, 9);
}

static void of_another(struct dx_http_request *r)
{
  certified(r, "DNS:other.example", -9, 9);
}

static void of_unknown_ca(struct dx_http_request *r)
{
  loopback_begin_tls(&server, "IP:127.0.0.1", -9, 9, other_path);
  certified(r, "IP:127.0.0.1", -9, 9);
  r->ca_file = other_path;
}

static void without_cas(struct dx_http_request *r)
{
  certified(r, "IP:127.0.0.1", -9, 9);
  r->ca_file = "/nowhere/ca.pem";
}

static void old_tls(struct dx_http_request *r)
{
  certified(r, "IP:127.0.0.1", -9, 9);
  assert_int_equal(SSL_CTX_set_max_proto_version(server.tls, TLS1_1_VERSION),
                   1);
  SSL_CTX_set_security_level(server.tls, 0);
}

static void no_cipher(struct dx_http_request *r)
{
  certified(r, "IP:127.0.0.1", -9, 9);
  assert_int_equal(SSL_CTX_set_max_proto_version(server.tls, TLS1_2_VERSION),
                   1);
  assert_int_equal(SSL_CTX_set_cipher_list(server.tls, "AES128-SHA"), 1);
}

static void by_proxy(struct dx_http_request *r)
{
  (void)snprintf(proxy_url, sizeof(proxy_url), "http://%s", server.authority);
  r->url = "https://a.example/o?sig=" MARK;
  r->proxy = fixture.service.proxy = proxy_url;
}

static void by_proxy_with_login(struct dx_http_request *r)
{
  by_proxy(r);
  r->proxy_login = "ann:" MARK;
}

static void by_nameless_proxy(struct dx_http_request *r)
{
  nameless(r);
  (void)snprintf(proxy_url, sizeof(proxy_url), "http://%s", no_name);
  r->url = "https://a.example/o?sig=" MARK;
  r->proxy = fixture.service.proxy = proxy_url;
}

static void by_absent_proxy(struct dx_http_request *r)
{
  by_proxy(r);
  loopback_stop_listening(&server);
}

/* ---- this computer ---- */

static void write_token(const char *text, mode_t mode)
{
  assert_int_equal(dx_fs_write(fixture.spool.dirfd, "token", text, strlen(text),
                               mode, false, &err),
                   DX_OK);
}

static void give_token(void)
{
  write_token(MARK "token\n", 0600);
}

static void take_token(void)
{
  assert_int_equal(unlink(fixture.token_path), 0);
}

static void empty_token(void)
{
  write_token("", 0600);
}

static void show_token(void)
{
  assert_int_equal(chmod(fixture.token_path, 0644), 0);
}

static void ask_proxy_without_file(void)
{
  static char file[] = "/nowhere/proxy-password";

  fixture.service.proxy = proxy_url;
  fixture.service.proxy_password_file = file;
  (void)strcpy(proxy_url, "http://proxy.example:3128");
}

/* The file of the configuration was corrected: docextractd starts again. */
static void ask_no_proxy(void)
{
  fixture.service.proxy = fixture.service.proxy_password_file = NULL;
  fixture_restart();
}

static void remove_section(void)
{
  fixture.service_count = 0;
  fixture_restart();
}

static void restore_section(void)
{
  fixture.service_count = 1;
  fixture_restart();
}

/* The fixture has another. */
static void permit_other_storage(void)
{
  fixture.service.storage_hosts.count = 1;
  fixture.service.storage_hosts.items[0].name = "other.example";
  fixture_restart();
}

static void permit_storage(void)
{
  fixture.service.storage_hosts.count = 0;
  fixture_restart();
}

static bool is_full;

int __real_fstatvfs64(int fd, struct statvfs *vfs);
int __wrap_fstatvfs64(int fd, struct statvfs *vfs);
int __wrap_fstatvfs64(int fd, struct statvfs *vfs)
{
  int n = __real_fstatvfs64(fd, vfs);

  if (is_full)
    vfs->f_bavail = 0;
  return n;
}

static void fill_disk(void)
{
  is_full = true;
}

static void free_disk(void)
{
  is_full = false;
}

static void fail_syncs(void)
{
  fixture.failing_syncs = 1000000;
}

static void stop_failing_syncs(void)
{
  fixture.failing_syncs = 0;
}

/* ---- what comes of a request ---- */

static struct dx_http_response real;
static char real_body[1 << 20];
static bool is_over;

static void on_done(void *ctx, const struct dx_http_response *response)
{
  (void)ctx;
  real = *response;
  assert_true(response->body_len < sizeof(real_body));
  memcpy(real_body, response->body, response->body_len + 1);
  real.body = real_body;
  is_over = true;
}

static void receive(const struct cause *c)
{
  struct dx_http *http = dx_http_new();
  struct dx_http_call *running = NULL;
  int fd = memfd_create("document", MFD_CLOEXEC);
  struct dx_http_request r = {.method = c->call == PUT    ? "PUT"
                                        : c->call == POST ? "POST"
                                                          : "GET",
                              .url = url,
                              .bearer = c->call != PUT ? MARK "token" : NULL,
                              .to_storage = c->call == PUT,
                              .body = MARK,
                              .body_len = strlen(MARK),
                              .body_fd = c->call == PUT ? fd : -1,
                              .body_bytes = (int64_t)strlen(MARK),
                              .timeout_ms = RUN_MS,
                              .scope = DX_SCOPE_HOST,
                              .done = on_done};

  assert_true(http != NULL && fd >= 0 && loopback_open(&server) == 0);
  assert_int_equal(write(fd, MARK, strlen(MARK)), strlen(MARK));
  (void)snprintf(url, sizeof(url), "http://%s/o?sig=" MARK, server.authority);
  c->meet(&r);
  is_over = false;
  assert_int_equal(__real_dx_http_start(http, &r, &running, &err), DX_OK);
  while (!is_over) {
    const int wake[] = {server.listener, server.peer};

    assert_int_equal(__real_dx_http_run(http, RUN_MS, wake,
                                        server.peer >= 0       ? 2
                                        : server.listener >= 0 ? 1
                                                               : 0,
                                        &err),
                     DX_OK);
    if (!is_over)
      loopback_turn(&server, c->reply != NULL ? c->reply : "", c->manner);
  }
  dx_http_free(&http);
  loopback_close(&server);
  (void)close(fd);
}

/* ---- the table ---- */

#define HTTP(status, headers, body) \
  "HTTP/1.1 " status " " MARK "\r\n" headers "Connection: close\r\n\r\n" body
#define STATUS(status) HTTP(status, "", MARK)
#define STORED(status, code)                        \
  HTTP(status, "Content-Type: application/xml\r\n", \
       "<Error><Code>" code "</Code><Message>" MARK \
       "</Message><Resource>/" MARK "</Resource></Error>")
#define PAGE "<html><body>" MARK "</body></html>"
#define TO_OTHER "Location: https://other.example/?sig=" MARK "\r\n"
#define CHALLENGE "Proxy-Authenticate: Basic realm=\"" MARK "\"\r\n"

#define ANSWERS(text) plainly, text, CLOSE, NULL, NULL
#define MEETS(how, text) how, text, CLOSE, NULL, NULL
#define WRONG(begin, end) NULL, NULL, KEEP, begin, end

#define HERE "The chart is on this computer; "
#define THERE "The chart is with the service; "
#define DOWN "the service does not respond, trying again"
#define BROKEN "the service is not working correctly, trying again"
#define PAUSED "the service asked for a pause, continuing soon"
#define ADMIN(text) \
  "Contact your administrator: " text "; trying again, nothing is lost"
#define LOCAL(text)                   \
  "Contact your administrator: " text \
  "; trying again every minute, nothing is lost"
#define UNTRUSTED ADMIN("the identity of the service could not be verified")
#define NOT_IT                                                               \
  ADMIN("this printer is connected to an address that is not the extraction" \
        " service")
#define NOT_PERMITTED \
  ADMIN("the service uses a storage that is not permitted for this printer")
#define REJECTED ADMIN("the service rejected it")
#define NO_SIGN_IN ADMIN("this printer cannot sign in to the service")
#define NO_CREDENTIALS \
  ADMIN("the service rejected the credentials of this printer")
#define NOT_SET_UP ADMIN("this printer is not set up correctly")

#define LATER "; try again later; print jobs wait until then$"
#define SEE_HELLO "; run 'docextract hello'$"
#define ASK "; ask the operator of the service$"
#define ASK_HOSTS "; ask the operator of the service which hosts it uses$"
#define CHECK "; check BaseURL$"
#define CHECK_OR_ASK "; check BaseURL, or ask the operator of the service$"
#define IS_PAGE "; it is a web page, from a proxy, load balancer, or web filter"
#define PASSWORD                                                              \
  "; a proxy between this computer and the service requires a password; set " \
  "Proxy and ProxyPasswordFile"
#define TRUST "^the certificate of 'AT' cannot be trusted: "

#define SERVICE(status, word) \
  "the service responded with " status " to '" word "' \\(AT\\)"
#define NOT_LIKE(status, word)                                              \
  "^the server at BaseURL does not respond like the service \\(AT: " status \
  " to '" word "'\\)"
#define STORAGE(what, status) "^the storage " what " \\(AT: " status "\\)$"

/* clang-format off */
static const struct cause causes[] = {
  /* ---- the network ---- */
  {"no such name", POST, MEETS(nameless, ""), DX_E_NET,
   "^cannot resolve 'a+\\.invalid'; check the name servers of this computer$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^cannot resolve a\\.example; check BaseURL and the name servers"},
  {"connection refused", POST, MEETS(no_server, ""), DX_E_NET,
   "^cannot connect to 'AT': Connection refused$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^cannot connect to a\\.example port 443: Connection refused; check "
   "BaseURL and the firewall, or set Proxy$"},
  {"reset before the request", POST, MEETS(to_no_tls, ""), DX_E_NET,
   "^'AT' closed the connection during the TLS handshake$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^'AT' closed the connection during the TLS handshake; check that the port "
   "of BaseURL supports HTTPS$"},
  {"closed after the request", POST, ANSWERS(""), DX_E_NET,
   "^'AT' closed the connection without a response$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^'AT' closed the connection without a response" LATER},
  {"reset after the request", POST, plainly, "", RESET, NULL, NULL, DX_E_NET,
   "^'AT' closed the connection before its response was complete$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^'AT' closed the connection before its response was complete" LATER},
  {"reset while polled", SOURCE, plainly, "", RESET, NULL, NULL, DX_E_NET,
   "^'AT' closed the connection before its response was complete$",
   THERE DOWN, DX_NOTE_DOWN, true,
   "^'AT' closed the connection before its response was complete" LATER},
  {"no response", POST, briefly, "", KEEP, NULL, NULL, DX_E_NET,
   "^'AT' did not respond completely within 1 s$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^'AT' did not respond completely within 1 s" LATER},
  {"body is cut", POST,
   ANSWERS("HTTP/1.1 201 OK\r\nContent-Length: 99\r\n\r\n{\"" MARK), DX_E_NET,
   "^the response of 'AT' is incomplete$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^the response of 'AT' is incomplete" LATER},
  {"result is cut", EXTRACT,
   ANSWERS("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"" MARK), DX_E_NET,
   "^the response of 'AT' is incomplete$",
   THERE DOWN, DX_NOTE_DOWN, true,
   "^the response of 'AT' is incomplete" LATER},
  {"not HTTP", POST, ANSWERS("SSH-2.0-" MARK "\r\n"), DX_E_RESPONSE,
   "^the response is not HTTP \\(AT\\)$",
   HERE BROKEN, DX_NOTE_UNEXPECTED, true,
   "^the response is not HTTP \\(AT\\)" LATER},

  /* ---- TLS ---- */
  {"certificate expired", POST, MEETS(expired, ""), DX_E_CERT,
   TRUST "it has expired, or the clock of this computer is wrong" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   TRUST "it has expired, or the clock of this computer is wrong$"},
  {"certificate not yet valid", POST, MEETS(not_yet_valid, ""), DX_E_CERT,
   TRUST "it is not yet valid; check the clock of this computer" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   TRUST "it is not yet valid; check the clock of this computer$"},
  {"certificate of another name", POST, MEETS(of_another, ""), DX_E_CERT,
   TRUST "it is for another name; check the name in BaseURL" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   TRUST "it is for another name; check the name in BaseURL$"},
  {"CA unknown", POST, MEETS(of_unknown_ca, ""), DX_E_CERT,
   TRUST "its CA is unknown; set CAFile" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   TRUST "its CA is unknown; set CAFile$"},
  {"CAFile unreadable", POST, MEETS(without_cas, ""), DX_E_CERT,
   TRUST "CAFile cannot be read, or contains no certificates" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   TRUST "CAFile cannot be read, or contains no certificates$"},
  {"not TLS", POST, MEETS(to_no_tls, STATUS("400")), DX_E_CERT,
   "^'AT' does not use TLS; check that the port of BaseURL supports HTTPS"
   SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   "^'AT' does not use TLS; check that the port of BaseURL supports HTTPS$"},
  {"TLS 1.1", POST, MEETS(old_tls, ""), DX_E_CERT,
   "^'AT' does not support TLS 1\\.2 or newer" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   "^'AT' does not support TLS 1\\.2 or newer$"},
  {"no common cipher", POST, MEETS(no_cipher, ""), DX_E_NET,
   "^the TLS handshake with 'AT' failed: .*alert handshake failure$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^the TLS handshake with 'AT' failed: .*alert handshake failure; "},
  {"certificate expired while polled", SOURCE, MEETS(expired, ""), DX_E_CERT,
   TRUST "it has expired, or the clock of this computer is wrong" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, true,
   TRUST "it has expired, or the clock of this computer is wrong$"},
  {"storage: CA unknown", PUT, MEETS(of_unknown_ca, ""), DX_E_CERT,
   TRUST "its CA is unknown; set StorageCAFile" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, false,
   "^the storage of the last upload: the certificate of 'AT' cannot be "
   "trusted: its CA is unknown; set StorageCAFile$"},
  {"storage: certificate of another name", PUT, MEETS(of_another, ""),
   DX_E_CERT, TRUST "it is for another name" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, false,
   "^the storage of the last upload: the certificate of 'AT' cannot be "
   "trusted: it is for another name$"},
  {"storage: certificate expired", PUT, MEETS(expired, ""), DX_E_CERT,
   TRUST "it has expired, or the clock of this computer is wrong" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, false,
   "^the storage of the last upload: the certificate of 'AT' cannot be "
   "trusted: it has expired"},
  {"storage: not TLS", PUT, MEETS(to_no_tls, STATUS("400")), DX_E_CERT,
   "^'AT' does not use TLS at the port of the upload URL" SEE_HELLO,
   UNTRUSTED, DX_NOTE_ADMIN, false,
   "^the storage of the last upload: 'AT' does not use TLS at the port of the "
   "upload URL$"},

  /* ---- the proxy ---- */
  {"proxy requires a password", POST,
   MEETS(by_proxy, HTTP("407", CHALLENGE, MARK)), DX_E_PROXY,
   "^the proxy 'AT' requires a password \\(407\\); set ProxyPasswordFile"
   SEE_HELLO,
   NOT_SET_UP, DX_NOTE_ADMIN, true,
   "^the proxy 'AT' requires a password \\(407\\); set ProxyPasswordFile$"},
  {"proxy rejects the password", POST,
   MEETS(by_proxy_with_login, HTTP("407", CHALLENGE, MARK)), DX_E_PROXY,
   "^the proxy 'AT' rejects the user or password of ProxyPasswordFile "
   "\\(407\\)" SEE_HELLO,
   NOT_SET_UP, DX_NOTE_ADMIN, true,
   "^the proxy 'AT' rejects the user or password of ProxyPasswordFile "
   "\\(407\\)$"},
  {"proxy denies", POST, MEETS(by_proxy, STATUS("403")), DX_E_PROXY,
   "^the proxy 'AT' does not permit connections to 'a\\.example' \\(403\\)"
   SEE_HELLO,
   NOT_SET_UP, DX_NOTE_ADMIN, true,
   "^the proxy 'AT' does not permit connections to 'a\\.example' \\(403\\)$"},
  {"proxy cannot connect", POST, MEETS(by_proxy, STATUS("502")), DX_E_NET,
   "^the proxy 'AT' cannot connect to 'a\\.example' \\(502\\)$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^the proxy 'AT' cannot connect to 'a\\.example' \\(502\\)$"},
  {"proxy is overloaded", POST, MEETS(by_proxy, STATUS("503")), DX_E_NET,
   "^the proxy 'AT' cannot connect to 'a\\.example' \\(503\\)$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^the proxy 'AT' cannot connect to 'a\\.example' \\(503\\)$"},
  {"proxy closes", POST, MEETS(by_proxy, ""), DX_E_NET,
   "^the proxy 'AT' closed the connection before the request was sent$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^the proxy 'AT' closed the connection before the request was sent; check "
   "that Proxy is right, and the port of BaseURL supports HTTPS$"},
  {"no such proxy", POST, MEETS(by_nameless_proxy, ""), DX_E_NET,
   "^cannot resolve the proxy 'a+\\.invalid'; check the name servers of this "
   "computer$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^cannot resolve the proxy 'a+\\.invalid'; check the name servers of this "
   "computer; check Proxy$"},
  {"proxy refuses connections", POST, MEETS(by_absent_proxy, ""), DX_E_NET,
   "^cannot connect to the proxy 'AT': Connection refused$",
   HERE DOWN, DX_NOTE_DOWN, true,
   "^cannot connect to the proxy 'AT': Connection refused; check Proxy and the "
   "firewall$"},
  {"no ProxyPasswordFile", POST, WRONG(ask_proxy_without_file, ask_no_proxy),
   DX_E_PROXY,
   "^the ProxyPasswordFile cannot be used: cannot open "
   "'/nowhere/proxy-password': No such file or directory" SEE_HELLO,
   NOT_SET_UP, DX_NOTE_ADMIN, false,
   "^the ProxyPasswordFile cannot be used: cannot open "
   "'/nowhere/proxy-password': No such file or directory$"},
  {"storage: proxy denies", PUT, MEETS(by_proxy, STATUS("403")), DX_E_PROXY,
   "^the proxy 'AT' does not permit connections to 'a\\.example' \\(403\\)"
   SEE_HELLO,
   NOT_SET_UP, DX_NOTE_ADMIN, false,
   "^the storage of the last upload: the proxy 'AT' does not permit "
   "connections to 'a\\.example' \\(403\\)$"},

  /* ---- what the API responds ---- */
  {"200, empty", POST, ANSWERS(HTTP("200", "", "")), DX_E_RESPONSE,
   "^cannot understand the response to 'create source' \\(AT: 200\\)$",
   HERE BROKEN, DX_NOTE_UNEXPECTED, true,
   "^cannot understand the response to 'hello' \\(AT: 200\\)" LATER},
  {"201, a web page", POST, ANSWERS(HTTP("201", "", PAGE)), DX_E_RESPONSE,
   "^cannot understand the response to 'create source' \\(AT: 201\\)" IS_PAGE
   "$",
   HERE BROKEN, DX_NOTE_UNEXPECTED, true,
   "^cannot understand the response to 'hello' \\(AT: 201\\)" IS_PAGE LATER},
  {"201, invalid JSON", POST, ANSWERS(STATUS("201")), DX_E_RESPONSE,
   "^cannot understand the response to 'create source' \\(AT: 201\\)$",
   HERE BROKEN, DX_NOTE_UNEXPECTED, true,
   "^cannot understand the response to 'hello' \\(AT: 201\\)" LATER},
  {"201, URL of this computer", POST,
   ANSWERS(HTTP("201", "", "{\"results\":{\"id\":\"S\",\"upload_urls\":"
                "[{\"url\":\"https://127.0.0.1/" MARK "\"}]}}")), DX_E_URL,
   "^the host of the upload URL, '127\\.0\\.0\\.1', has a loopback or "
   "link-local address, .* set StorageHost to its name" ASK_HOSTS,
   NOT_PERMITTED, DX_NOTE_ADMIN, true, NULL},
  {"201, URL of another StorageHost", POST,
   WRONG(permit_other_storage, permit_storage), DX_E_URL,
   "^the host of the upload URL, 's\\.example', is not a StorageHost; add it "
   "if documents may be uploaded there" ASK_HOSTS,
   NOT_PERMITTED, DX_NOTE_ADMIN, true, NULL},
  {"302", POST, ANSWERS(HTTP("302", TO_OTHER, PAGE)), DX_E_PROTOCOL,
   NOT_LIKE("302", "create source") IS_PAGE SEE_HELLO,
   NOT_IT, DX_NOTE_ADMIN, true, NOT_LIKE("302", "hello") IS_PAGE CHECK},
  {"400", POST, ANSWERS(STATUS("400")), DX_E_REJECTED,
   SERVICE("400", "create source") ASK,
   REJECTED, DX_NOTE_ADMIN, true, SERVICE("400", "hello") CHECK_OR_ASK},
  {"401", POST, ANSWERS(STATUS("401")), DX_E_TOKEN,
   "^the service rejected the token \\(AT: 401\\); service 'default', key id "
   "'none'" SEE_HELLO,
   NO_CREDENTIALS, DX_NOTE_ADMIN, true,
   "^the service rejected the token \\(AT: 401\\); "},
  {"402", POST, ANSWERS(STATUS("402")), DX_E_REJECTED,
   SERVICE("402", "create source") ASK,
   REJECTED, DX_NOTE_ADMIN, true, SERVICE("402", "hello") CHECK_OR_ASK},
  {"403", POST, ANSWERS(STATUS("403")), DX_E_TOKEN,
   "^the service rejected the token \\(AT: 403\\); service 'default', key id "
   "'none'" SEE_HELLO,
   NO_CREDENTIALS, DX_NOTE_ADMIN, true,
   "^the service rejected the token \\(AT: 403\\); "},
  {"403, a web page", POST, ANSWERS(HTTP("403", "", PAGE)), DX_E_TOKEN,
   "^the service rejected the token \\(AT: 403\\)" IS_PAGE "; service ",
   NO_CREDENTIALS, DX_NOTE_ADMIN, true,
   "^the service rejected the token \\(AT: 403\\)" IS_PAGE
   "; it must let requests to BaseURL pass unchanged$"},
  {"403 while polled", SOURCE, ANSWERS(STATUS("403")), DX_E_TOKEN,
   "^the service rejected the token \\(AT: 403\\); service 'default', key id "
   "'none'" SEE_HELLO,
   NO_CREDENTIALS, DX_NOTE_ADMIN, true,
   "^the service rejected the token \\(AT: 403\\); "},
  {"404", POST, ANSWERS(STATUS("404")), DX_E_PROTOCOL,
   NOT_LIKE("404", "create source") SEE_HELLO,
   NOT_IT, DX_NOTE_ADMIN, true, NOT_LIKE("404", "hello") CHECK},
  {"405", POST, ANSWERS(STATUS("405")), DX_E_PROTOCOL,
   NOT_LIKE("405", "create source") SEE_HELLO,
   NOT_IT, DX_NOTE_ADMIN, true, NOT_LIKE("405", "hello") CHECK},
  {"407", POST, ANSWERS(STATUS("407")), DX_E_REJECTED,
   SERVICE("407", "create source") PASSWORD ASK,
   REJECTED, DX_NOTE_ADMIN, true, SERVICE("407", "hello") PASSWORD
   CHECK_OR_ASK},
  {"409", POST, ANSWERS(STATUS("409")), DX_E_REJECTED,
   SERVICE("409", "create source") ASK,
   REJECTED, DX_NOTE_ADMIN, true, SERVICE("409", "hello") LATER},
  {"413", POST, ANSWERS(STATUS("413")), DX_E_TOO_BIG,
   "^too large for the service \\(AT: 413\\)$",
   "The chart was not extracted: it is too large for the service; print fewer "
   "pages at a time",
   DX_NOTE_COUNT, false, NULL},
  {"421", POST, ANSWERS(STATUS("421")), DX_E_REJECTED,
   SERVICE("421", "create source") ASK,
   REJECTED, DX_NOTE_ADMIN, true, SERVICE("421", "hello") CHECK_OR_ASK},
  {"422", POST, ANSWERS(STATUS("422")), DX_E_REFUSED,
   SERVICE("422", "create source") "$",
   "The chart was not extracted: the service rejected it; print it to a new PDF, "
   "and print that, or ask the administrator",
   DX_NOTE_COUNT, false, NULL},
  {"426", POST, ANSWERS(STATUS("426")), DX_E_REJECTED,
   SERVICE("426", "create source") ASK,
   REJECTED, DX_NOTE_ADMIN, true, SERVICE("426", "hello") CHECK_OR_ASK},
  {"429", POST, ANSWERS(HTTP("429", "Retry-After: 20\r\n", MARK)), DX_E_RATE,
   "^the service requests fewer calls \\(AT: 429\\)$",
   HERE PAUSED, DX_NOTE_PAUSED, true,
   "^the service requests fewer calls \\(AT: 429\\); try again later, or lower "
   "APIRate$"},
  {"451", POST, ANSWERS(HTTP("451", "", PAGE)), DX_E_REJECTED,
   SERVICE("451", "create source") IS_PAGE ASK,
   REJECTED, DX_NOTE_ADMIN, true, SERVICE("451", "hello") IS_PAGE
   CHECK_OR_ASK},
  {"500", POST, ANSWERS(STATUS("500")), DX_E_SERVER,
   SERVICE("500", "create source") "$",
   HERE BROKEN, DX_NOTE_DOWN, true, SERVICE("500", "hello") LATER},
  {"502, a web page", POST, ANSWERS(HTTP("502", "", PAGE)), DX_E_SERVER,
   SERVICE("502", "create source") IS_PAGE "$",
   HERE BROKEN, DX_NOTE_DOWN, true, SERVICE("502", "hello") IS_PAGE LATER},
  {"503", POST, ANSWERS(STATUS("503")), DX_E_SERVER,
   SERVICE("503", "create source") "$",
   HERE BROKEN, DX_NOTE_DOWN, true, SERVICE("503", "hello") LATER},
  {"503 with Retry-After", POST,
   ANSWERS(HTTP("503", "Retry-After: 20\r\n", MARK)), DX_E_RATE,
   "^the service requests fewer calls \\(AT: 503\\)$",
   HERE PAUSED, DX_NOTE_PAUSED, true,
   "^the service requests fewer calls \\(AT: 503\\); try again later"},
  {"504", POST, ANSWERS(STATUS("504")), DX_E_SERVER,
   SERVICE("504", "create source") "$",
   HERE BROKEN, DX_NOTE_DOWN, true, SERVICE("504", "hello") LATER},
  {"400 while polled", SOURCE, ANSWERS(STATUS("400")), DX_E_UNEXPECTED,
   SERVICE("400", "get source") "$",
   THERE BROKEN, DX_NOTE_UNEXPECTED, false,
   SERVICE("400", "hello") CHECK_OR_ASK},
  {"404 while polled", SOURCE, ANSWERS(STATUS("404")), DX_E_GONE,
   SERVICE("404", "get source") "$",
   THERE BROKEN, DX_NOTE_ADMIN, true, NOT_LIKE("404", "hello") CHECK},
  {"500 while polled", SOURCE, ANSWERS(STATUS("500")), DX_E_SERVER,
   SERVICE("500", "get source") "$",
   THERE BROKEN, DX_NOTE_DOWN, true, SERVICE("500", "hello") LATER},
  {"too many cases", SOURCE, ANSWERS(many_cases), DX_E_RESPONSE,
   "^the source has more than 10000 cases \\(AT: 200\\)$",
   THERE BROKEN, DX_NOTE_UNEXPECTED, false, NULL},
  {"source of another", SOURCE,
   ANSWERS(HTTP("200", "", "{\"results\":{\"id\":\"" MARK "\",\"status\":"
                "\"processing\"}}")), DX_E_UNEXPECTED,
   "^the response to 'get source' is for another source \\(AT: 200\\)$",
   THERE BROKEN, DX_NOTE_UNEXPECTED, false, NULL},
  {"500 for the result", EXTRACT, ANSWERS(STATUS("500")), DX_E_SERVER,
   SERVICE("500", "get extract") "$",
   THERE BROKEN, DX_NOTE_DOWN, true, SERVICE("500", "hello") LATER},
  {"result is a web page", EXTRACT, ANSWERS(HTTP("200", "", PAGE)),
   DX_E_RESPONSE,
   "^cannot understand the response to 'get extract' \\(AT: 200\\)" IS_PAGE
   "$",
   THERE BROKEN, DX_NOTE_UNEXPECTED, false, NULL},
  {"result of another case", EXTRACT,
   ANSWERS(HTTP("200", "", "{\"results\":{\"id\":\"" MARK "\",\"status\":"
                "\"complete\"}}")), DX_E_UNEXPECTED,
   "^the response to 'get extract' is for another case \\(AT: 200\\)$",
   THERE BROKEN, DX_NOTE_UNEXPECTED, false, NULL},

  /* ---- what the storage responds ---- */
  {"storage: refused", PUT, MEETS(no_server, ""), DX_E_NET,
   "^cannot connect to 'AT': Connection refused$",
   HERE DOWN, DX_NOTE_DOWN, false,
   "^the storage of the last upload: cannot connect to 'AT': Connection "
   "refused; check the firewall, or set Proxy$"},
  {"storage: no such name", PUT, MEETS(nameless, ""), DX_E_NET,
   "^cannot resolve 'a+\\.invalid'; check the name servers",
   HERE DOWN, DX_NOTE_DOWN, false,
   "^the storage of the last upload: cannot resolve 'a+\\.invalid'; check the "
   "name servers"},
  {"storage: address of this computer", PUT, MEETS(from_outside, ""),
   DX_E_URL,
   "^the host of the upload URL, 'AT', has a loopback or link-local address, "
   ".* set StorageHost to its name" ASK_HOSTS,
   NOT_PERMITTED, DX_NOTE_ADMIN, false,
   "^the storage of the last upload: the host of the upload URL, 'AT', has a "
   "loopback"},
  {"storage: reset", PUT, plainly, "", RESET, NULL, NULL, DX_E_NET,
   "^'AT' closed the connection (before its response was complete|while the "
   "request was being sent)$",
   HERE DOWN, DX_NOTE_DOWN, false, NULL},
  {"storage: 200, an error", PUT, ANSWERS(STORED("200", "InternalError")),
   DX_E_UNCLEAR,
   STORAGE("did not confirm the upload", "200 InternalError"),
   HERE "the service did not confirm that it has the chart, trying again",
   DX_NOTE_DOWN, false, NULL},
  {"storage: 200, a web page", PUT, ANSWERS(HTTP("200", "", PAGE)),
   DX_E_UNCLEAR,
   "^the storage did not confirm the upload \\(AT: 200\\)" IS_PAGE "$",
   HERE "the service did not confirm that it has the chart, trying again",
   DX_NOTE_DOWN, false, NULL},
  {"storage: 201", PUT, ANSWERS(STATUS("201")), DX_E_UNCLEAR,
   STORAGE("did not confirm the upload", "201"),
   HERE "the service did not confirm that it has the chart, trying again",
   DX_NOTE_DOWN, false, NULL},
  {"storage: 307", PUT, ANSWERS(HTTP("307", TO_OTHER, MARK)), DX_E_SERVER,
   STORAGE("redirects the upload, which is not followed", "307"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 400 RequestTimeout", PUT,
   ANSWERS(STORED("400", "RequestTimeout")), DX_E_SERVER,
   STORAGE("rejected the upload", "400 RequestTimeout"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 400 AuthorizationQueryParametersError", PUT,
   ANSWERS(STORED("400", "AuthorizationQueryParametersError")), DX_E_SERVER,
   STORAGE("rejected the upload: the upload URL is not valid",
           "400 AuthorizationQueryParametersError"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 400 EntityTooLarge", PUT,
   ANSWERS(STORED("400", "EntityTooLarge")), DX_E_TOO_BIG,
   STORAGE("rejected the upload: the document is too large",
           "400 EntityTooLarge"),
   "The chart was not extracted: it is too large for the service; print fewer "
   "pages at a time",
   DX_NOTE_COUNT, false, NULL},
  {"storage: 400 ExpiredToken", PUT, ANSWERS(STORED("400", "ExpiredToken")),
   DX_E_EXPIRED,
   "^the upload URL has expired \\(AT: 400 ExpiredToken\\)$",
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 401", PUT, ANSWERS(STATUS("401")), DX_E_GONE,
   STORAGE("rejected the upload", "401"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 403 AccessDenied", PUT, ANSWERS(STORED("403", "AccessDenied")),
   DX_E_GONE,
   STORAGE("rejected the upload: it denies access", "403 AccessDenied"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 403 AccessDenied, expired", PUT,
   ANSWERS(HTTP("403", "", "<Error><Code>AccessDenied</Code><Message>Request "
                "has expired</Message>" MARK "</Error>")), DX_E_EXPIRED,
   "^the upload URL has expired \\(AT: 403 AccessDenied\\)$",
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 403 AuthenticationFailed", PUT,
   ANSWERS(HTTP("403", "", "<Error><Code>AuthenticationFailed</Code>Signature "
                "not valid in the specified time frame" MARK "</Error>")),
   DX_E_EXPIRED,
   "^the upload URL has expired \\(AT: 403 AuthenticationFailed\\)$",
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 403 InvalidAccessKeyId", PUT,
   ANSWERS(STORED("403", "InvalidAccessKeyId")), DX_E_GONE,
   STORAGE("rejected the upload: it does not know the key of the upload URL",
           "403 InvalidAccessKeyId"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 403 RequestTimeTooSkewed", PUT,
   ANSWERS(STORED("403", "RequestTimeTooSkewed")), DX_E_GONE,
   STORAGE("rejected the upload: the clocks of the service and of the storage "
           "differ", "403 RequestTimeTooSkewed"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 403 SignatureDoesNotMatch", PUT,
   ANSWERS(STORED("403", "SignatureDoesNotMatch")), DX_E_GONE,
   STORAGE("rejected the upload: the signature of the upload URL is wrong",
           "403 SignatureDoesNotMatch"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 404 NoSuchBucket", PUT, ANSWERS(STORED("404", "NoSuchBucket")),
   DX_E_GONE,
   STORAGE("rejected the upload: it does not have the bucket of the upload URL",
           "404 NoSuchBucket"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 415", PUT, ANSWERS(STATUS("415")), DX_E_REFUSED,
   STORAGE("rejected the upload", "415"),
   "The chart was not extracted: the service rejected it; print it to a new PDF, "
   "and print that, or ask the administrator",
   DX_NOTE_COUNT, false, NULL},
  {"storage: 429", PUT, ANSWERS(STATUS("429")), DX_E_SERVER,
   STORAGE("rejected the upload", "429"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 500 InternalError", PUT, ANSWERS(STORED("500", "InternalError")),
   DX_E_SERVER, STORAGE("failed", "500 InternalError"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},
  {"storage: 503 SlowDown", PUT, ANSWERS(STORED("503", "SlowDown")),
   DX_E_SERVER,
   STORAGE("failed: it requests fewer uploads", "503 SlowDown"),
   HERE BROKEN, DX_NOTE_DOWN, false, NULL},

  /* ---- this computer ---- */
  {"no TokenFile", POST, WRONG(take_token, give_token), DX_E_KEY,
   "^the TokenFile cannot be used: cannot open '/.*/token': No such file or "
   "directory; service 'default', key id 'none'" SEE_HELLO,
   NO_SIGN_IN, DX_NOTE_ADMIN, false,
   "^the TokenFile cannot be used: cannot open '/.*/token': No such file or "
   "directory; put it there, or fix the path$"},
  {"empty TokenFile", POST, WRONG(empty_token, give_token), DX_E_KEY,
   "^the TokenFile provides .*; service 'default', key id 'none'" SEE_HELLO,
   NO_SIGN_IN, DX_NOTE_ADMIN, false, "^the TokenFile provides "},
  {"TokenFile for everybody", POST, WRONG(show_token, give_token), DX_E_KEY,
   "^the TokenFile cannot be used: .*; service 'default', key id 'none'"
   SEE_HELLO,
   NO_SIGN_IN, DX_NOTE_ADMIN, false, "^the TokenFile cannot be used: "},
  {"clock", POST,
   ANSWERS(HTTP("401", "Date: Wed, 15 Nov 2023 01:30:00 GMT\r\n", MARK)),
   DX_E_TOKEN,
   "^the service rejected the token \\(AT: 401\\); service 'default', key id "
   "'none', clock off by [0-9]+ s" SEE_HELLO,
   NO_CREDENTIALS, DX_NOTE_ADMIN, true,
   "^the service rejected the token \\(AT: 401\\); the clock of this computer "
   "is [0-9]+ s behind that of the service; correct it$"},
  {"no section", POST, WRONG(remove_section, restore_section), DX_E_CONFIG,
   "^there is no section <Service default> in 'docextract\\.conf': restore it",
   NOT_SET_UP, DX_NOTE_ADMIN, false, NULL},
  {"no ResultsDir", POST, WRONG(fixture_take_results, fixture_give_results),
   DX_E_EXISTS,
   "^cannot open directory '/.*/results': Not a directory; move or rename the "
   "existing file, or fix ResultsDir$",
   LOCAL("this computer cannot store the chart"),
   DX_NOTE_LOCAL, false, NULL},
  {"the disk is full", POST, WRONG(fill_disk, free_disk), DX_E_SPACE,
   "^less than [0-9]+ MiB are free in directory '/.*'; free space there; the "
   "job then resumes automatically$",
   LOCAL("the disk of this computer is full"), DX_NOTE_LOCAL, false,
   "^less than [0-9]+ MiB are free in directory '/.*'"},
  {"the disk fails", POST, WRONG(fail_syncs, stop_failing_syncs),
   DX_E_UNSYNCED,
   "^cannot fsync the directory of 'job\\.json': Input/output error; check the "
   "disk$",
   LOCAL("this computer cannot store the chart"), DX_NOTE_LOCAL, false, NULL},
};
/* clang-format on */

/* ---- what is told ---- */

static const struct cause *cause; /* NULL: it is over */
static char told[8192];           /* by hello */

static void has_no_secret(const char *text)
{
  if (strstr(text, MARK) != NULL || strstr(text, "X-Amz-") != NULL)
    fail_msg("%s: told to everybody: %s", cause != NULL ? cause->name : "",
             text);
}

static void on_log(enum dx_log_level level, const char *line)
{
  (void)level;
  has_no_secret(line);
}

/* To compile a pattern takes long, and most texts are those of a second ago. */
static void matches(const struct cause *c, const char *text,
                    const char *pattern)
{
  static const char *last_pattern;
  static char last_text[4096];
  const char *at, *whole = pattern;
  char full[1024] = "";
  regex_t re;

  has_no_secret(text);
  if (pattern == last_pattern && strcmp(text, last_text) == 0)
    return;
  while ((at = strstr(pattern, "AT")) != NULL) {
    (void)snprintf(full + strlen(full), sizeof(full) - strlen(full), "%.*s%s",
                   (int)(at - pattern), pattern, server.authority);
    pattern = at + 2;
  }
  (void)snprintf(full + strlen(full), sizeof(full) - strlen(full), "%s",
                 pattern);
  assert_int_equal(regcomp(&re, full, REG_EXTENDED | REG_NOSUB), 0);
  if (regexec(&re, text, 0, NULL, 0) != 0)
    fail_msg("%s: '%s', not '%s'", c->name, text, full);
  regfree(&re);
  last_pattern = whole;
  (void)snprintf(last_text, sizeof(last_text), "%s", text);
}

static bool by_cause(const struct fixture_call *call,
                     struct fixture_response *ret)
{
  bool connects_only = call->kind == PUT && call->source == 0;

  if (cause == NULL || cause->meet == NULL ||
      (call->kind != cause->call &&
       (call->kind != DX_CALL_HELLO || cause->call == PUT)) ||
      (connects_only && real.was_sent))
    return false;
  ret->real = &real;
  ret->not_sent = !real.was_sent;
  return true;
}

static void tell(void *ctx, const char *line)
{
  size_t len = strlen(told);

  (void)ctx;
  (void)snprintf(told + len, sizeof(told) - len, "%s\n", line);
}

/* Returns the line of its error; NULL: it succeeds. */
static const char *run_hello(void)
{
  const char *end;

  told[0] = '\0';
  assert_int_equal(dx_engine_hello(fixture.engine, "default", tell, told, &err),
                   DX_OK);
  while ((end = strstr(told, "\nerror E_")) == NULL &&
         strstr(told, "\ndone ") == NULL)
    fixture_run(1000);
  has_no_secret(told);
  return end;
}

/* If the test cannot see what is wrong, it says what the jobs wait for. */
static void check_warning(const struct cause *c, const struct dx_job *job)
{
  const char *text = dx_line(dx_job_problem(job)->text);
  char line[1024];

  (void)snprintf(line, sizeof(line),
                 "\nline warning: 1 job waits, although this test succeeds: "
                 "%.*s",
                 (int)strcspn(text, ";"), text);
  if (run_hello() == NULL && strstr(told, line) == NULL)
    fail_msg("%s: no %s: %s", c->name, line, told);
  if (strstr(told, "run 'docextract hello'") != NULL)
    fail_msg("%s: it refers to itself: %s", c->name, told);
}

static void check_hello(const struct cause *c)
{
  const char *end = run_hello();

  if (end == NULL)
    fail_msg("%s: hello succeeds: %s", c->name, told);
  told[strlen(told) - 1] = '\0';
  matches(c, strchr(end + 7, ' ') + 1, c->hello);
}

static void check_metrics(const struct cause *c, const char *up, bool is_admins)
{
  const struct dx_config config = {.services = &fixture.service,
                                   .service_count = 1};
  char line[100];
  struct dx_buf text = {0};

  assert_int_equal(dx_metrics_text(&config, &fixture.spool, NULL, &text, &err),
                   DX_OK);
  has_no_secret(dx_buf_text(&text));
  (void)snprintf(line, sizeof(line),
                 "\ndocextract_service_up{service=\"default\"} %s\n", up);
  if (strstr(dx_buf_text(&text), line) == NULL)
    fail_msg("%s: no %s", c->name, line);
  (void)snprintf(line, sizeof(line),
                 "\ndocextract_needs_admin_jobs{service=\"default\"} %d\n",
                 is_admins);
  if (strstr(dx_buf_text(&text), line) == NULL)
    fail_msg("%s: no %s", c->name, line);
  dx_buf_release(&text);
}

static void check_sentence(const struct cause *c, const struct dx_job *job)
{
  char text[DX_SENTENCE_BYTES], translated[4 * DX_SENTENCE_BYTES];
  int i;

  dx_job_sentence(job, text);
  has_no_secret(text);
  if (strcmp(text, c->user) != 0)
    fail_msg("%s: '%s', not '%s'", c->name, text, c->user);
  for (i = DX_LANGUAGE_DE; i < DX_LANGUAGE_COUNT; i++) {
    dx_language_use((enum dx_language)i);
    if (!dx_translate(text, translated, sizeof(translated)))
      fail_msg("%s: '%s' for '%s'", c->name, translated, text);
  }
  dx_language_use(DX_LANGUAGE_EN);
}

/* From the first problem on, it is told at any time, between the calls, too. */
static void fall_ill(const struct cause *c, const struct dx_job *job)
{
  int64_t until_ms = fixture.now_ms + ILL_MS;
  bool is_told = false;

  while (fixture.now_ms < until_ms && fixture.ended == 0) {
    const struct dx_problem *problem;

    fixture_drive(fixture.now_ms + S);
    problem = dx_job_problem(job);
    is_told = is_told || problem->code == c->code;
    if (is_told && fixture.ended == 0)
      matches(c, dx_line(problem->text), c->admin);
  }
  if (c->note != DX_NOTE_COUNT && !is_told)
    fail_msg("%s: the problem never became %s; the last one was %s: %s",
             c->name, dx_code_name(c->code),
             dx_code_name(dx_job_problem(job)->code),
             dx_line(dx_job_problem(job)->text));
}

/* It is over: no command is needed. */
static void recover(const struct cause *c)
{
  const struct dx_job *job;
  bool is_patient = c->note == DX_NOTE_ADMIN || c->code == DX_E_GONE ||
                    c->code == DX_E_EXPIRED;
  int64_t until_ms = fixture.now_ms + (is_patient ? 11 * MIN : 90 * S);

  cause = NULL;
  if (c->end != NULL)
    c->end();
  fixture_drive(until_ms);
  job = fixture.jobs[0]; /* it may have been loaded again */
  if (fixture.ended != 1 || dx_job_outcome(job, &err) != DX_OK)
    fail_msg("%s: it does not go on: %s", c->name,
             dx_line(dx_job_problem(job)->text));
  assert_string_equal(dx_line(dx_job_problem(job)->text), "");
  check_metrics(c, "1", false);
}

static void check(const struct cause *c)
{
  bool is_final = c->note == DX_NOTE_COUNT;
  bool is_admins = c->note == DX_NOTE_ADMIN;
  struct dx_job *job;

  assert_int_equal(fixture_close(NULL), 0);
  assert_int_equal(fixture_open(NULL), 0);
  give_token();
  fixture.url_life_s = 900;
  cause = c;
  if (c->meet != NULL)
    receive(c);
  fixture.odd = by_cause;
  job = fixture_named(MARK ".pdf");
  job->title = strdup(MARK " title");
  job->user = strdup(MARK "user");
  job->host = strdup(MARK "host");
  if (c->begin != NULL)
    c->begin();
  job = fixture.jobs[0]; /* it may have been loaded again */
  fall_ill(c, job);
  has_no_secret(fixture.note_text);
  check_sentence(c, job);
  if (is_final) {
    assert_int_equal(dx_job_outcome(job, &err), c->code);
    has_no_secret(err.text);
    matches(c, dx_line(job->submissions[0].reason), c->admin);
    return;
  }
  if (fixture.notes[c->note] == 0)
    fail_msg("%s: no note of kind %d", c->name, (int)c->note);
  assert_true(dx_job_needs_admin(job) == is_admins);
  check_metrics(c, c->is_down ? "0" : "1", is_admins);
  if (c->hello != NULL)
    check_hello(c);
  else if (c->code != DX_E_CONFIG)
    check_warning(c, job);
  recover(c);
}

static void cause_is_told_until_it_is_over(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
    check(&causes[i]);
}

static void make_many_cases(void)
{
  size_t len;
  int i;

  (void)strcpy(many_cases, HTTP("200", "",
                                "{\"results\":{\"status\":\"complete\","
                                "\"case_ids\":[\"" MARK "\""));
  len = strlen(many_cases);
  for (i = 0; i < DX_CASES_MAX; i++)
    len += (size_t)snprintf(many_cases + len, sizeof(many_cases) - len,
                            ",\"c%d\"", i);
  (void)strcpy(many_cases + len, "]}}");
}

static int set_up(void **state)
{
  (void)snprintf(cert_path, sizeof(cert_path), "/tmp/dx-causes-%d.pem",
                 (int)getpid());
  (void)snprintf(other_path, sizeof(other_path), "/tmp/dx-causes-%d-other.pem",
                 (int)getpid());
  dx_log_to(on_log);
  make_many_cases();
  return fixture_open(state);
}

static int tear_down(void **state)
{
  dx_log_to(NULL);
  loopback_close(&server);
  (void)unlink(cert_path);
  (void)unlink(other_path);
  return fixture_close(state);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(cause_is_told_until_it_is_over, set_up,
                                      tear_down),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
