/*
 * fuzz_http.c - the bytes that a server sends, headers first, through libcurl.
 * The server is this process, on the loopback.
 */
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/policy.h"
#include "daemon/service/api.h"

#define SINK_BYTES 4096
#define WAIT_MS 1000

struct response {
  bool is_done;
  size_t sunk_bytes;
};

/* Accepts SINK_BYTES, then no more. */
static enum dx_code sink(void *ctx, const char *bytes, size_t len,
                         struct dx_err *err)
{
  struct response *r = ctx;

  (void)bytes;
  HOLDS(r->sunk_bytes <= SINK_BYTES);
  r->sunk_bytes += len;
  return r->sunk_bytes <= SINK_BYTES
             ? DX_OK
             : dx_fail(err, DX_E_RESPONSE, 0, "the sink is full");
}

static void on_done(void *ctx, const struct dx_http_response *response)
{
  struct response *r = ctx;
  struct dx_err err;

  HOLDS(response->status >= 0 && response->status <= 599);
  HOLDS(response->retry_after_ms >= -1 &&
        response->retry_after_ms <= DX_RETRY_AFTER_MAX_MS);
  HOLDS(response->body_len <= DX_RESPONSE_MAX_BYTES &&
        response->body[response->body_len] == '\0');
  (void)!dx_judge(DX_CALL_EXTRACT, response, &err);
  HOLDS(r->sunk_bytes <= SINK_BYTES || response->err.code != DX_OK);
  r->is_done = true;
}

/* A port of the loopback that listens; its URL. */
static int listen_at(char *url, size_t size)
{
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof(at);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  HOLDS(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 &&
        listen(fd, 8) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &len) == 0);
  (void)snprintf(url, size, "http://127.0.0.1:%u/", ntohs(at.sin_port));
  return fd;
}

/* Sends all data to a client, and then closes the connection. */
static void serve(int listener, const uint8_t *data, size_t size)
{
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

  if (fd < 0)
    return;
  (void)!send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)shutdown(fd, SHUT_WR);
  (void)close(fd);
}

static void call(struct dx_http *http, int listener, const char *url,
                 const uint8_t *data, size_t size)
{
  struct response response = {0};
  struct dx_http_call *running = NULL;
  const struct dx_http_request request = {.method = "GET",
                                          .url = url,
                                          .body_fd = -1,
                                          .sink = sink,
                                          .timeout_ms = WAIT_MS,
                                          .scope = DX_SCOPE_HOST,
                                          .done = on_done,
                                          .ctx = &response};

  HOLDS(dx_http_start(http, &request, &running, NULL) == DX_OK);
  while (!response.is_done) {
    HOLDS(dx_http_run(http, WAIT_MS, &listener, 1, NULL) == DX_OK);
    serve(listener, data, size);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct dx_http *http; /* until the process ends */
  static char url[64];
  static int listener = -1;

  if (http == NULL) {
    http = dx_http_new();
    listener = listen_at(url, sizeof(url));
  }
  HOLDS(http != NULL);
  call(http, listener, url, data, size);
  return 0;
}
