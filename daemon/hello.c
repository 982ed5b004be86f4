/*
 * hello.c - the parent of a `hello`: starts the child, gives it its slots, and
 * learns from its response. The steps are hello_steps.c's.
 */
#include "daemon/hello.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/policy.h"

/* ---- the child ---- */

/* Leaves stdin, stdout, stderr and these two. */
static void close_others(int a, int b)
{
  unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);

  if (low > 3)
    (void)close_range(3, low - 1, 0);
  if (high > low + 1)
    (void)close_range(low + 1, high - 1, 0);
  (void)close_range(high + 1, ~0U, 0);
}

_Noreturn static void run_child(const struct dx_config *config,
                                const struct dx_service *service, int client_fd,
                                int fd)
{
  sigset_t none;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)sigemptyset(&none); /* docextractd reads its signals */
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  close_others(client_fd, fd);
  hello_run(config, service, client_fd, fd);
  _exit(0);
}

/* ---- the parent ---- */

static const struct dx_service *choose(const struct dx_config *config,
                                       const char *name, struct dx_err *err)
{
  const struct dx_service *service =
      name == NULL && config->service_count == 1
          ? &config->services[0]
          : dx_config_service(config, name != NULL ? name : "default");

  if (service == NULL)
    (void)dx_fail(err, DX_E_CONFIG, 0,
                  name != NULL ? "docextractd has not loaded a configuration "
                                 "with that service"
                               : "choose a service with --service NAME");
  return service;
}

struct hello *hello_start(const struct dx_config *config, const char *name,
                          int client_fd, struct dx_err *err)
{
  const struct dx_service *service = choose(config, name, err);
  struct hello *hello;
  int ends[2];

  if (service == NULL)
    return NULL;
  hello = calloc(1, sizeof(*hello));
  if (hello != NULL)
    hello->service = strdup(service->name);
  if (hello == NULL || hello->service == NULL) {
    free(hello);
    (void)dx_fail_nomem(err);
    return NULL;
  }
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    goto failed;
  hello->pid = fork();
  if (hello->pid == 0)
    run_child(config, service, client_fd, ends[1]);
  (void)close(ends[1]);
  if (hello->pid > 0) {
    hello->fd = ends[0];
    return hello;
  }
  (void)close(ends[0]);

failed:
  (void)dx_fail_sys(err, errno, "start", "hello");
  free(hello->service);
  free(hello);
  return NULL;
}

static void answer(struct hello *hello, const struct hello_request *request,
                   struct dx_rate_limit *limit)
{
  int64_t at_ms = 0, wait = request->retry_after_ms;

  if (request->kind == HELLO_IS_DONE) {
    hello->was_told = true;
    return;
  }
  if (request->kind == HELLO_ASKS_FOR_SLOT)
    at_ms = dx_rate_limit_book_any(limit);
  else if (request->meaning == DX_OK)
    dx_rate_limit_up(limit);
  else if (request->meaning == DX_E_RATE)
    dx_rate_limit_block(
        limit, wait > DX_BACKOFF_FIRST_MS ? wait : DX_BACKOFF_FIRST_MS);
  (void)!send(hello->fd, &at_ms, sizeof(at_ms), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool hello_turn(struct hello *hello, struct dx_rate_limit *limit)
{
  struct hello_request request;
  ssize_t n;

  if (limit == NULL)
    hello_stop(hello);
  while ((n = recv(hello->fd, &request, sizeof(request), MSG_DONTWAIT)) ==
         (ssize_t)sizeof(request))
    if (limit != NULL || request.kind == HELLO_IS_DONE)
      answer(hello, &request, limit);
  hello->has_ended =
      n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  return !hello->has_ended;
}

void hello_stop(struct hello *hello)
{
  (void)shutdown(hello->fd, SHUT_WR); /* ends the wait for a TokenCommand */
  (void)kill(hello->pid, SIGTERM);
}

bool hello_end(struct hello **hello_at)
{
  struct hello *hello = *hello_at;
  bool was_told;

  if (hello == NULL)
    return true;
  if (!hello->has_ended)
    hello_stop(hello);
  while (waitpid(hello->pid, NULL, hello->has_ended ? 0 : WNOHANG) < 0 &&
         errno == EINTR)
    ;
  (void)close(hello->fd);
  was_told = hello->was_told;
  free(hello->service);
  free(hello);
  *hello_at = NULL;
  return was_told;
}
