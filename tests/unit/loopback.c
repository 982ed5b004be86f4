/*
 * loopback.c - see loopback.h.
 */
#include "tests/unit/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int loopback_open(struct loopback *server)
{
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof(at);

  memset(server, 0, sizeof(*server));
  server->peer = -1;
  server->listener =
      socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bind(server->listener, (struct sockaddr *)&at, len) < 0 ||
      listen(server->listener, 8) < 0 ||
      getsockname(server->listener, (struct sockaddr *)&at, &len) < 0)
    return -1;
  (void)snprintf(server->authority, sizeof(server->authority), "127.0.0.1:%u",
                 ntohs(at.sin_port));
  return 0;
}

static void hang_up(struct loopback *server)
{
  SSL_free(server->session);
  server->session = NULL;
  if (server->peer >= 0)
    (void)close(server->peer);
  server->peer = -1;
}

void loopback_stop_listening(struct loopback *server)
{
  if (server->listener >= 0)
    (void)close(server->listener);
  server->listener = -1;
}

void loopback_close(struct loopback *server)
{
  hang_up(server);
  SSL_CTX_free(server->tls);
  server->tls = NULL;
  loopback_stop_listening(server);
}

/* Continues a handshake; true when it is complete. */
static bool is_tls_ready(struct loopback *server)
{
  if (server->session == NULL) {
    server->session = SSL_new(server->tls);
    assert_true(server->session != NULL &&
                SSL_set_fd(server->session, server->peer) == 1);
  }
  ERR_clear_error();
  return SSL_is_init_finished(server->session) ||
         SSL_accept(server->session) == 1;
}

/* Reads what has arrived, and responds to it. */
static void serve(struct loopback *server, const char *response,
                  enum loopback_manner manner)
{
  const struct linger now = {1, 0};
  char bytes[4096];
  ssize_t n;

  if (server->tls != NULL && !is_tls_ready(server))
    return;
  n = server->tls != NULL ? SSL_read(server->session, bytes, sizeof(bytes))
                          : read(server->peer, bytes, sizeof(bytes));
  if (n == 0 || (n < 0 && server->tls == NULL && errno != EAGAIN))
    hang_up(server);
  if (n <= 0)
    return;
  if (server->tls != NULL)
    (void)SSL_write(server->session, response, (int)strlen(response));
  else
    (void)send(server->peer, response, strlen(response), MSG_NOSIGNAL);
  if (manner == RESET)
    (void)setsockopt(server->peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  if (manner != KEEP)
    hang_up(server);
}

void loopback_turn(struct loopback *server, const char *response,
                   enum loopback_manner manner)
{
  const int room =
      262144; /* for a whole response: the client does not read it meanwhile */
  int next =
      accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

  if (next >= 0) {
    hang_up(server);
    server->peer = next;
    (void)setsockopt(next, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
  }
  if (server->peer >= 0)
    serve(server, response, manner);
}

void loopback_begin_tls(struct loopback *server, const char *name, int from,
                        int to, const char *path)
{
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = X509_new();
  X509_NAME *subject = X509_get_subject_name(cert);
  X509_EXTENSION *ext =
      X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, name);
  FILE *file = fopen(path, "we");

  assert_true(key != NULL && cert != NULL && ext != NULL && file != NULL);
  X509_set_version(cert, X509_VERSION_3);
  (void)X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                   (const unsigned char *)"test", -1, -1, 0);
  (void)X509_set_issuer_name(cert, subject);
  (void)X509_gmtime_adj(X509_getm_notBefore(cert), from * 86400L);
  (void)X509_gmtime_adj(X509_getm_notAfter(cert), to * 86400L);
  (void)X509_set_pubkey(cert, key);
  (void)X509_add_ext(cert, ext, -1);
  assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
  assert_int_equal(PEM_write_X509(file, cert), 1);
  (void)fclose(file);
  SSL_CTX_free(server->tls);
  server->tls = SSL_CTX_new(TLS_server_method());
  assert_true(server->tls != NULL &&
              SSL_CTX_use_certificate(server->tls, cert) == 1 &&
              SSL_CTX_use_PrivateKey(server->tls, key) == 1);
  X509_EXTENSION_free(ext);
  X509_free(cert);
  EVP_PKEY_free(key);
}
