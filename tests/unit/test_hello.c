/*
 * test_hello.c - `docextract hello` as docextractd runs it: the output for the
 * client, the slot of the call, the effect of its response, and the host that
 * it connects to.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/hello.h"
#include "lib/base/clock.h"
#include "lib/base/history.h"
#include "lib/base/policy.h"

#define WAIT_MS 20000 /* longer than anything here takes */

static char dir[TEMP_DIR_BYTES];
static int dirfd_ = -1, listen_fd = -1;
static int port;
static struct dx_config *config;
static struct dx_rate_limit limit;
static int ends[2]; /* of the client's connection */
static char told[8192];
static pid_t server; /* 0: none */

static int open_port(void)
{
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t len = sizeof(address);

  listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listen_fd, (struct sockaddr *)&address, len) < 0 ||
      listen(listen_fd, 8) < 0 ||
      getsockname(listen_fd, (struct sockaddr *)&address, &len) < 0)
    return -1;
  port = ntohs(address.sin_port);
  return 0;
}

static int start(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0 || open_port() < 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) <
          0)
    return -1;
  dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  dx_rate_limit_init(&limit, -1, "127.0.0.1", port);
  told[0] = '\0';
  return dirfd_ >= 0 ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  if (server > 0) {
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
  }
  server = 0;
  dx_config_free(&config);
  (void)close(ends[0]);
  (void)close(ends[1]);
  (void)close(listen_fd);
  (void)close(dirfd_);
  return temp_dir_remove(dir);
}

static void configure(const char *token)
{
  char text[1024], path[64];
  struct dx_err err;

  (void)snprintf(text, sizeof(text),
                 "SpoolDir %s\n<Service s>\nBaseURL http://127.0.0.1:%d/v1\n"
                 "ResultsDir %s/results\n%s\n</Service>\n",
                 dir, port, dir, token);
  (void)snprintf(path, sizeof(path), "%s/conf", dir);
  assert_int_equal(dx_fs_replace(dirfd_, "token", "abc", 3, 0600, NULL), DX_OK);
  assert_int_equal(
      dx_fs_replace(dirfd_, "conf", text, strlen(text), 0600, NULL), DX_OK);
  if (dx_config_load(path, &config, &err) != DX_OK)
    fail_msg("%s", err.text);
}

static void configure_file(void)
{
  char token[80];

  (void)snprintf(token, sizeof(token), "Token file\nTokenFile %s/token", dir);
  configure(token);
}

static void read_client(void)
{
  size_t len = strlen(told);
  ssize_t n = read(ends[0], told + len, sizeof(told) - 1 - len);

  told[len + (n > 0 ? (size_t)n : 0)] = '\0';
}

/* A service that says this to each request, in a process of its own. */
static void serve(const char *response)
{
  char request[4096];

  server = fork();
  if (server != 0)
    return;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    int fd = accept(listen_fd, NULL, NULL);

    if (fd >= 0 && read(fd, request, sizeof(request)) > 0)
      (void)!write(fd, response, strlen(response));
    (void)close(fd);
  }
}

static bool wait_for(struct hello *hello)
{
  struct pollfd p = {.fd = hello->fd, .events = POLLIN};

  assert_int_equal(poll(&p, 1, WAIT_MS), 1);
  return hello_turn(hello, &limit);
}

/* response: NULL: there is no service. */
static void say_hello(const char *response)
{
  struct dx_err err;
  struct hello *hello;

  if (response != NULL)
    serve(response);
  else
    (void)shutdown(listen_fd, SHUT_RDWR);
  hello = hello_start(config, "s", ends[1], &err);
  assert_non_null(hello);
  assert_string_equal(hello->service, "s");
  while (wait_for(hello))
    ;
  assert_true(hello_end(&hello));
  read_client();
}

static void has(const char *line)
{
  if (strstr(told, line) == NULL)
    fail_msg("no '%s' in: %s", line, told);
}

static void a_good_response_is_told_and_ends_an_outage(void **state)
{
  static const char ok[] =
      "HTTP/1.1 200 OK\r\nContent-Length: 49\r\nConnection: close\r\n\r\n"
      "{\"status\":200,\"results\":{\"auth_info\":\"Hi\\u001b\"}}";
  struct dx_pause pause = {1, DX_DOWN_FIRST_MS}; /* over, but not the outage */
  int64_t begin = dx_monotonic_ms();

  (void)state;
  configure_file();
  dx_pause_write(dirfd_, "127.0.0.1", port, &pause);
  dx_rate_limit_init(&limit, dirfd_, "127.0.0.1", port);
  dx_rate_limit_hold(&limit, 2);
  say_hello(ok);
  dx_pause_read(dirfd_, "127.0.0.1", port, &pause);
  assert_int_equal(pause.down_ms, 0);
  /* the first slot, and it was taken */
  assert_true(dx_monotonic_ms() - begin >= 500);
  assert_true(dx_rate_limit_next_ms(&limit) >= begin + 625);
  has("line ok     spool           /");
  has("\nline ok     token           from TokenFile\n");
  has("\nline ok     connection      127.0.0.1 port ");
  has("\nline ok     token accepted  yes\nline Hi?\n");
  assert_string_equal(told + strlen(told) - 6, "\ndone\n");
}

static void a_pause_is_for_everybody(void **state)
{
  (void)state;
  configure_file();
  say_hello("HTTP/1.1 429 Slow\r\nRetry-After: 30\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n");
  has("\nline FAILED response\n");
  has("\nerror E_RATE ");
  assert_true(limit.pause.until_ms > dx_monotonic_ms() + 20000);
}

static void a_failed_step_is_the_last(void **state)
{
  (void)state;
  configure_file();
  (void)unlinkat(dirfd_, "token", 0);
  say_hello(NULL);
  has("\nline FAILED token\n");
  has("\nerror E_KEY ");
  assert_null(strstr(told, "connection"));
}

static void who_cannot_write_results_is_told(void **state)
{
  (void)state;
  configure_file();
  assert_int_equal(dx_fs_replace(dirfd_, "results", "", 0, 0600, NULL), DX_OK);
  say_hello(NULL);
  has("\nline FAILED connection\n");
  has("\nline warning: results cannot be written, so nothing will be sent: ");
  has("\nerror E_NET cannot connect to 127.0.0.1 port ");
}

static void a_stopped_one_ends_and_so_does_its_command(void **state)
{
  struct hello *hello;
  char command[80];
  int64_t begin;

  (void)state;
  (void)snprintf(command, sizeof(command),
                 "Token command\nTokenCommand /bin/sleep 1000");
  configure(command);
  hello = hello_start(config, "s", ends[1], NULL);
  assert_non_null(hello);
  while (strstr(told, "ok     spool") == NULL) {
    struct pollfd p = {.fd = ends[0], .events = POLLIN};

    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    read_client();
  }
  begin = dx_monotonic_ms();
  hello_stop(hello);
  while (wait_for(hello))
    ;
  assert_true(dx_monotonic_ms() - begin < 5000);
  (void)hello_end(&hello);
  assert_null(hello);
}

static void an_unknown_service_is_an_error(void **state)
{
  struct dx_err err;

  (void)state;
  configure_file();
  assert_null(hello_start(config, "x", ends[1], &err));
  assert_int_equal(err.code, DX_E_CONFIG);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
  const struct CMUnitTest tests[] = {
      CASE(a_good_response_is_told_and_ends_an_outage),
      CASE(a_pause_is_for_everybody),
      CASE(a_failed_step_is_the_last),
      CASE(who_cannot_write_results_is_told),
      CASE(a_stopped_one_ends_and_so_does_its_command),
      CASE(an_unknown_service_is_an_error),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
