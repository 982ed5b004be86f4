/*
 * test_hello.c - `docextract hello` as docextractd runs it: the output for the
 * client, the slot of the call, the effect of its response, and the host that
 * it connects to.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/engine/engine.h"
#include "daemon/service/signed_url.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/history.h"
#include "lib/base/policy.h"

static char dir[TEMP_DIR_BYTES];
static int dirfd_ = -1, listen_fd = -1;
static int port;
static struct dx_config *config;
static struct dx_spool spool = {.dirfd = -1, .history_dirfd = -1};
static struct dx_http *http;
static struct dx_engine *engine;
static int stop_ends[2]; /* readable: docextractd is to stop */
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
  struct dx_err err;

  (void)state;
  if (temp_dir_make(dir) < 0 || open_port() < 0 ||
      pipe2(stop_ends, O_CLOEXEC) < 0)
    return -1;
  dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  http = dx_http_new();
  told[0] = '\0';
  return dirfd_ >= 0 && http != NULL &&
                 dx_spool_open(dir, &spool, &err) == DX_OK
             ? 0
             : -1;
}

static int stop(void **state)
{
  (void)state;
  if (server > 0) {
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
  }
  server = 0;
  dx_engine_free(&engine);
  dx_http_free(&http);
  dx_config_free(&config);
  dx_spool_close(&spool);
  (void)close(stop_ends[0]);
  (void)close(stop_ends[1]);
  (void)close(listen_fd);
  (void)close(dirfd_);
  return temp_dir_remove(dir);
}

/* Also starts the engine. */
static void configure(const char *token)
{
  char text[1024], path[64];
  struct dx_err err;

  (void)snprintf(text, sizeof(text),
                 "SpoolDir %s\n<Service s>\nBaseURL http://127.0.0.1:%d/v1\n"
                 "APIRate 4\nResultsDir %s/results\n%s\n</Service>\n",
                 dir, port, dir, token);
  (void)snprintf(path, sizeof(path), "%s/conf", dir);
  assert_int_equal(dx_fs_write(dirfd_, "token", "abc", 3, 0600, false, NULL),
                   DX_OK);
  assert_int_equal(
      dx_fs_write(dirfd_, "conf", text, strlen(text), 0600, false, NULL),
      DX_OK);
  if (dx_config_load(path, &config, NULL, &err) != DX_OK)
    fail_msg("%s", err.text);
  engine = dx_engine_new(config, &spool, http, stop_ends[0]);
  assert_non_null(engine);
}

static void configure_file(void)
{
  char token[80];

  (void)snprintf(token, sizeof(token), "Token file\nTokenFile %s/token", dir);
  configure(token);
}

/* A service that says this to the first request of each connection, and nothing
 * more, in a process of its own. */
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
  }
}

static void tell(void *ctx, const char *line)
{
  size_t len = strlen(told);

  assert_ptr_equal(ctx, dir);
  (void)snprintf(told + len, sizeof(told) - len, "%s\n", line);
}

static void begin(void)
{
  struct dx_err err;

  assert_int_equal(dx_engine_hello(engine, "s", tell, dir, &err), DX_OK);
}

static void has(const char *line)
{
  if (strstr(told, line) == NULL)
    fail_msg("no '%s' in: %s", line, told);
}

static bool is_over(void)
{
  return strstr(told, "\ndone ") != NULL || strstr(told, "\nerror ") != NULL;
}

static void turn(int64_t most_ms)
{
  int64_t wait_ms = dx_engine_turn(engine) - dx_monotonic_ms();
  struct dx_err err;

  wait_ms = wait_ms < 0 ? 0 : wait_ms < most_ms ? wait_ms : most_ms;
  assert_int_equal(dx_http_run(http, wait_ms, NULL, 0, &err), DX_OK);
}

static void run_until(bool (*condition)(void))
{
  while (!condition())
    turn(100);
}

/* response: NULL: there is no service. */
static void say_hello(const char *response)
{
  if (response != NULL)
    serve(response);
  else
    (void)shutdown(listen_fd, SHUT_RDWR);
  begin();
  run_until(is_over);
}

static const char ok[] =
    "HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\n"
    "{\"status\":200,\"results\":{\"auth_info\":\"Hi\\u001b\"}}";

static void success_is_reported_and_ends_an_outage(void **state)
{
  struct dx_pause pause = {.until_ms = 1,
                           .is_down = 1}; /* over, but not the outage */
  int64_t begin_ms = dx_monotonic_ms();

  (void)state;
  dx_pause_write(spool.history_dirfd, "127.0.0.1", port, &pause);
  configure_file();
  say_hello(ok);
  dx_pause_read(spool.history_dirfd, "127.0.0.1", port, &pause);
  assert_int_equal(pause.is_down, 0);
  assert_true(dx_monotonic_ms() - begin_ms >= 250); /* the first slot */
  has("step ok spool           /");
  has("\nstep ok token           from TokenFile\n");
  has("\nstep ok connection      127.0.0.1 port ");
  has("\nstep ok token accepted  yes\nline Hi\033\n");
  assert_string_equal(told + strlen(told) - 7, "\ndone \n");
  told[0] = '\0';
  begin();
  run_until(is_over);
  assert_true(dx_monotonic_ms() - begin_ms >= 500); /* and the second one */
  has("\ndone \n");                                 /* on a new connection */
}

static void storage_of_the_last_upload_is_tested(void **state)
{
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t len = sizeof(at);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char url[80], line[128];

  (void)state;
  (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/o?sig=secret", port);
  dx_storage_note(spool.history_dirfd, "s", url);
  configure_file();
  say_hello("HTTP/1.1 200 OK\r\nContent-Length: 46\r\n\r\n"
            "{\"status\":200,\"results\":{\"auth_info\":\"Hello\"}}");
  (void)snprintf(line, sizeof(line), "\nstep ok storage         127.0.0.1:%d\n",
                 port);
  has(line);
  has("\ndone \n");
  /* Nothing listens at a port that is only bound. */
  assert_true(bind(fd, (struct sockaddr *)&at, len) == 0 &&
              getsockname(fd, (struct sockaddr *)&at, &len) == 0);
  (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/o?sig=secret",
                 ntohs(at.sin_port));
  dx_storage_note(spool.history_dirfd, "s", url);
  told[0] = '\0';
  begin();
  run_until(is_over);
  has("\nstep FAILED storage\n");
  (void)snprintf(line, sizeof(line),
                 "\nerror E_NET the storage of the last upload: cannot connect "
                 "to '127.0.0.1:%d': Connection refused",
                 ntohs(at.sin_port));
  has(line);
  assert_null(strstr(told, "secret"));
  (void)close(fd);
}

static bool a_pause_is_told(void)
{
  return strstr(told, "slow waiting for the end of the pause after an outage "
                      "or status 429, ") != NULL;
}

static void rate_limit_response_pauses_all_calls(void **state)
{
  int64_t begin_ms = dx_monotonic_ms();
  struct dx_pause pause;

  (void)state;
  configure_file();
  say_hello("HTTP/1.1 429 Slow\r\nRetry-After: 30\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n");
  has("\nstep FAILED response\n");
  has("\nerror E_RATE ");
  dx_pause_read(spool.history_dirfd, "127.0.0.1", port, &pause);
  assert_true(pause.until_ms >= begin_ms + 30000);
  told[0] = '\0';
  begin();
  run_until(a_pause_is_told);
  assert_null(strstr(told, "slow waiting for a connection"));
}

static void test_ends_at_the_first_failed_step(void **state)
{
  (void)state;
  configure_file();
  (void)unlinkat(dirfd_, "token", 0);
  say_hello(NULL);
  has("\nstep FAILED token\n");
  has("\nerror E_KEY ");
  assert_null(strstr(told, "connection"));
}

/* A file is in the place of ResultsDir. */
static void configure_unwritable_results(void)
{
  configure_file();
  assert_int_equal(dx_fs_write(dirfd_, "results", "", 0, 0600, false, NULL),
                   DX_OK);
}

static void unwritable_results_are_reported(void **state)
{
  (void)state;
  configure_unwritable_results();
  say_hello(NULL);
  has("\nstep FAILED connection\n");
  has("\nline warning: results cannot be written, so nothing will be sent: ");
  has("\nerror E_NET cannot connect to 127.0.0.1 port ");
}

/* All steps succeed. */
static void unwritable_results_are_an_error(void **state)
{
  (void)state;
  configure_unwritable_results();
  say_hello(ok);
  has("\nstep ok token accepted");
  has("\nline warning: results cannot be written, so nothing will be sent: ");
  has("\nerror E_IO results cannot be written; see the warning\n");
}

static void stop_ends_the_wait_for_a_command(void **state)
{
  (void)state;
  configure("Token command\nTokenCommand /bin/sleep 1000");
  assert_int_equal(write(stop_ends[1], "", 1), 1);
  begin();
  has("\nstep FAILED token\n");
  has("\nerror E_STOPPED ");
}

static bool is_connecting(void)
{
  return strstr(told, "slow waiting for the response of '127.0.0.1'") != NULL;
}

/* Its client is gone. */
static void canceled_test_sends_nothing_more(void **state)
{
  int turns;

  (void)state;
  configure_file();
  begin(); /* nothing accepts the connection */
  run_until(is_connecting);
  dx_engine_cancel_hello(engine, dir);
  told[0] = '\0';
  for (turns = 0; turns < 10; turns++)
    turn(10);
  assert_string_equal(told, "");
}

static void unknown_service_is_an_error(void **state)
{
  struct dx_err err;

  (void)state;
  configure_file();
  assert_int_equal(dx_engine_hello(engine, "x", tell, dir, &err), DX_E_CONFIG);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
  const struct CMUnitTest tests[] = {
      CASE(success_is_reported_and_ends_an_outage),
      CASE(storage_of_the_last_upload_is_tested),
      CASE(rate_limit_response_pauses_all_calls),
      CASE(test_ends_at_the_first_failed_step),
      CASE(unwritable_results_are_reported),
      CASE(unwritable_results_are_an_error),
      CASE(stop_ends_the_wait_for_a_command),
      CASE(canceled_test_sends_nothing_more),
      CASE(unknown_service_is_an_error),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
