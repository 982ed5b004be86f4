/*
 * hello.c - the child process of a `hello` performs the steps of a job, one
 * after the other; the first step that fails is reported, with advice. The
 * parent assigns slots of the rate limit, and updates it from the response.
 */
#include "daemon/hello.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/service/api.h"
#include "daemon/service/token.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/user.h"
#include "lib/control/channel.h"
#include "lib/spool/results.h"

#define PAUSE_MS 2000 /* for a longer one, the connection is closed */
#define TURN_MS 1000
#define CLIENT_MS 10000 /* timeout of a client that does not read */

/* From the child to its parent. The response is an int64_t: the time of the
 * slot (monotonic); 0 after a response was evaluated. */
struct hello_request {
  bool is_response;       /* false: requests a slot */
  enum dx_code meaning;   /* of the response */
  int64_t retry_after_ms; /* -1: none */
};

struct steps {
  const struct dx_config *config;
  const struct dx_service *service;
  int parent_fd;
  struct dx_token *token;
  const char *token_text;
  bool has_proxy;
  char peer[280]; /* the host to connect to */
  struct dx_http *http;
  int64_t slot_ms;  /* monotonic; 0: none yet */
  char detail[256]; /* of a step that succeeded */
  /* the call */
  bool is_ready; /* the request could be sent */
  bool has_response;
  struct dx_http_response response; /* without its body */
  enum dx_code meaning;             /* what the response means */
  struct dx_err err;
  int64_t off_ms; /* clock of the service minus ours; 0 if unknown */
  char *greeting;
};

/* The result of a step. */
#define DETAIL(s, ...) \
  (void)snprintf((s)->detail, sizeof((s)->detail), __VA_ARGS__)

/* ---- messages to the client ---- */

static struct dx_channel client = DX_CHANNEL_NONE;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
  enum dx_code code;
  va_list args;

  va_start(args, format);
  code = dx_channel_send_list(&client, NULL, format, args);
  va_end(args);
  if (code != DX_OK || !dx_channel_drain(&client, CLIENT_MS))
    _exit(1); /* the client is gone, or does not read */
}

/* What the client prints if the next line takes long. */
#define EXPECT(what, ...) tell("slow waiting for " what, ##__VA_ARGS__)

static int64_t ask_parent(const struct steps *s, struct hello_request request)
{
  int64_t answer;

  (void)!send(s->parent_fd, &request, sizeof(request), MSG_NOSIGNAL);
  if (recv(s->parent_fd, &answer, sizeof(answer), 0) != (ssize_t)sizeof(answer))
    _exit(1); /* the test was canceled */
  return answer;
}

/* ---- the steps ---- */

static bool is_https(const struct steps *s)
{
  return strncmp(s->service->base_url, "https:", 6) == 0;
}

static enum dx_code step_spool(struct steps *s, struct dx_err *err)
{
  const char *path = s->config->spool_dir;
  enum dx_code code;

  EXPECT("the disk of SpoolDir '%s'", path);
  DETAIL(s, "%s", path);
  code = dx_fs_probe(path, err);
  return code == DX_OK ? code : dx_user_advise_writer(err);
}

static enum dx_code step_token(struct steps *s, struct dx_err *err)
{
  const struct dx_service *service = s->service;
  const struct dx_token_source_info *source = &dx_token_sources[service->token];
  char name[DX_USER_BYTES];
  enum dx_code code;
  sigset_t term;

  if (source->limit_s > 0)
    EXPECT("%s, at most %d s", source->directive, source->limit_s);
  s->token = dx_token_new(service);
  if (s->token == NULL)
    return dx_fail_nomem(err);
  if (service->token == DX_TOKEN_KEY)
    DETAIL(s, "signed with %s, key id %s",
           dx_algorithm_names[service->token_algorithm],
           service->token_key_id != NULL ? service->token_key_id : "none");
  else
    DETAIL(s, "from %s", source->directive);
  dx_token_wake_by(s->token, s->parent_fd);
  /* SIGTERM would leave a TokenCommand running. */
  (void)sigemptyset(&term);
  (void)sigaddset(&term, SIGTERM);
  (void)sigprocmask(SIG_BLOCK, &term, NULL);
  code = dx_token_get(s->token, 0, &s->token_text, err);
  (void)sigprocmask(SIG_UNBLOCK, &term, NULL);
  if (code == DX_OK)
    return code;
  if (err->sys_errno == ENOENT)
    return dx_fail_advice(err, "put it there, or fix the path");
  if (err->sys_errno != EACCES) /* else it exists, but cannot be read */
    return code;
  dx_user_name_of(geteuid(), name);
  return dx_fail_advice(
      err, "docextractd runs as '%s', which must be able to use it", name);
}

/* ---- the call ---- */

/* This call counts toward the rate limit, which the parent manages. For a long
 * pause the connection is closed: the results of earlier steps are known. */
static int64_t on_ready(void *ctx)
{
  struct steps *s = ctx;
  int64_t left;

  s->is_ready = true;
  if (dx_monotonic_ms() - s->slot_ms > DX_RATE_LIMIT_LATE_MS)
    s->slot_ms = ask_parent(s, (struct hello_request){.is_response = false});
  left = s->slot_ms - dx_monotonic_ms();
  if (left > PAUSE_MS)
    return -1;
  EXPECT("the response of '%s', at most %d s", s->service->host,
         DX_API_TIMEOUT_MS / 1000);
  return left > 0 ? left : 0;
}

static void on_done(void *ctx, const struct dx_http_response *response)
{
  struct steps *s = ctx;

  s->has_response = true;
  s->response = *response;
  s->response.body = NULL;
  if (response->code == DX_E_NOT_SENT)
    return;
  s->meaning = dx_read_hello(response, &s->greeting, &s->err);
  if (response->date_ms >= 0)
    s->off_ms = response->date_ms - dx_wall_ms();
  (void)ask_parent(
      s, (struct hello_request){.is_response = true,
                                .meaning = s->meaning,
                                .retry_after_ms = response->retry_after_ms});
}

static enum dx_code try_call(struct steps *s, struct dx_err *err)
{
  struct dx_http_call *call;
  const struct dx_api api = {s->http, s->service, s->token_text, on_ready,
                             on_done, s,          &call};
  int64_t left = s->slot_ms - dx_monotonic_ms();
  enum dx_code code = DX_OK;

  s->is_ready = s->has_response = false;
  if (left > 0)
    EXPECT("the end of the pause after an outage or status 429, %" PRId64 " s",
           (left + 500) / 1000);
  for (; code == DX_OK && left > 0; left = s->slot_ms - dx_monotonic_ms())
    code = dx_http_run(s->http, left, NULL, 0, err);
  EXPECT("a connection to %s, at most %d s", s->peer,
         DX_CONNECT_TIMEOUT_MS / 1000);
  if (code == DX_OK)
    code = dx_api_call(&api, DX_CALL_HELLO, NULL, NULL, err);
  while (code == DX_OK && !s->has_response)
    code = dx_http_run(s->http, TURN_MS, NULL, 0, err);
  return code;
}

/* Makes the call; this and the following steps report how far it got. */
static enum dx_code step_name(struct steps *s, struct dx_err *err)
{
  const char *host = s->service->host;
  enum dx_code code;

  (void)snprintf(s->peer, sizeof(s->peer), "%s port %d", host,
                 s->service->port);
  s->has_proxy = s->service->proxy != NULL && is_https(s);
  if (s->has_proxy)
    host = strcpy(s->peer, "the proxy");
  s->http = dx_http_new();
  if (s->http == NULL)
    return dx_fail_nomem(err);
  do
    code = try_call(s, err);
  while (code == DX_OK && s->response.code == DX_E_NOT_SENT);
  if (code != DX_OK)
    return code;
  DETAIL(s, "%s%s%s", host, s->response.address[0] != '\0' ? " is " : "",
         s->response.address);
  if (s->response.was_resolved)
    return DX_OK;
  *err = s->err;
  if (err->code != DX_E_NET)
    return err->code;
  return dx_fail(err, DX_E_NET, 0,
                 "cannot resolve %s; check %s and the name servers of this "
                 "computer",
                 host, s->has_proxy ? "Proxy" : "BaseURL");
}

static enum dx_code step_connection(struct steps *s, struct dx_err *err)
{
  int e = s->response.err.sys_errno;

  DETAIL(s, "%s port %d", s->response.address, s->response.port);
  if (s->response.was_connected)
    return DX_OK;
  *err = s->err;
  if (err->code != DX_E_NET)
    return err->code;
  return dx_fail(err, DX_E_NET, e, "cannot connect to %s: %s; check %s",
                 s->peer, strerror(e != 0 ? e : ETIMEDOUT),
                 s->has_proxy ? "Proxy and the firewall"
                              : "BaseURL and the firewall, or set Proxy");
}

static enum dx_code step_certificate(struct steps *s, struct dx_err *err)
{
  DETAIL(s, "%s",
         is_https(s) ? "trusted" : "none: plain HTTP to this computer");
  if (!is_https(s) || s->is_ready)
    return DX_OK;
  *err = s->err;
  if (err->code == DX_E_CERT)
    return err->code; /* the message contains advice */
  return dx_fail_advice(err, "check that the port of BaseURL speaks HTTPS");
}

static enum dx_code step_response(struct steps *s, struct dx_err *err)
{
  if (s->meaning == DX_OK || s->meaning == DX_E_TOKEN) {
    DETAIL(s, "status %d", s->response.status);
    return DX_OK;
  }
  *err = s->err;
  if (dx_class_of(s->meaning) == DX_CL_CONFIG || s->meaning == DX_E_REFUSED)
    return dx_fail_advice(err, "check BaseURL");
  if (s->meaning == DX_E_RATE)
    return dx_fail_advice(err, "try again later, or lower APIRate");
  return dx_fail_advice(err, "try again later; print jobs wait until then");
}

/* False: the difference is small enough. */
static bool is_clock_off(const struct steps *s, char ret_text[128])
{
  (void)snprintf(
      ret_text, 128, DX_HELLO_CLOCK "%lld s %s that of the service; correct it",
      (llabs(s->off_ms) + 500) / 1000, s->off_ms > 0 ? "behind" : "ahead of");
  return llabs(s->off_ms) > DX_CLOCK_SKEW_S * 1000;
}

static enum dx_code step_token_accepted(struct steps *s, struct dx_err *err)
{
  char clock[128];

  if (s->meaning == DX_OK) {
    DETAIL(s, "yes");
    return DX_OK;
  }
  *err = s->err;
  return dx_fail_advice(err, "%s",
                        is_clock_off(s, clock)
                            ? clock
                            : dx_token_sources[s->service->token].advice);
}

/* ---- all steps ---- */

static const struct {
  const char *name;
  enum dx_code (*run)(struct steps *, struct dx_err *);
} steps[] = {
#define X(function, name) {name, step_##function},
    DX_HELLO_STEPS(X)
#undef X
};

static enum dx_code take_steps(struct steps *s, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sizeof(steps) / sizeof(steps[0]); i++) {
    EXPECT("%s", steps[i].name);
    code = steps[i].run(s, err);
    if (code == DX_OK)
      tell("line " DX_HELLO_OK "%-14s  %s", steps[i].name, s->detail);
    else
      tell("line " DX_HELLO_FAILED "%s", steps[i].name);
  }
  return code;
}

/* Prints the greeting, and warns of later failures, although the service
 * responds now. */
static void tell_more(const struct steps *s, enum dx_code code)
{
  struct dx_err err;
  char clock[128];

  if (code == DX_OK)
    tell("line %s", s->greeting);
  if (code == DX_OK && is_clock_off(s, clock))
    tell("line warning: %s", clock);
  EXPECT("the disk of ResultsDir '%s'", s->service->results_dir);
  if (dx_results_prepare(s->service->results_dir, &err) == DX_OK)
    return;
  (void)dx_user_advise_writer(&err);
  tell("line " DX_HELLO_NO_RESULTS ", so nothing will be sent: %s", err.text);
}

/* Frees only the token, which is wiped: the process exits. */
_Noreturn static void run_child(const struct dx_config *config,
                                const struct dx_service *service, int client_fd,
                                int fd)
{
  struct steps s = {.config = config, .service = service, .parent_fd = fd};
  struct dx_err err;
  enum dx_code code;

  dx_process_begin_child(client_fd, fd);
  client.fd = client_fd;
  code = take_steps(&s, &err);
  tell_more(&s, code);
  if (code == DX_OK)
    tell("done");
  else
    tell("error %s %s", dx_code_name(code), err.text);
  dx_token_free(&s.token);
  _exit(0);
}

/* ---- the parent ---- */

struct hello *hello_start(const struct dx_config *config, const char *name,
                          int client_fd, struct dx_err *err)
{
  const struct dx_service *service = dx_config_service(config, name);
  struct hello *hello;
  int ends[2] = {-1, -1};

  if (service == NULL) {
    (void)dx_fail(err, DX_E_CONFIG, 0,
                  "docextractd has not loaded a configuration with that "
                  "service");
    return NULL;
  }
  hello = calloc(1, sizeof(*hello) + strlen(service->name) + 1);
  if (hello == NULL) {
    (void)dx_fail_nomem(err);
    return NULL;
  }
  hello->rate = service->api_rate;
  memcpy(hello->service, service->name, strlen(service->name) + 1);
  hello->pid = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0
                   ? fork()
                   : -1;
  if (hello->pid == 0)
    run_child(config, service, client_fd, ends[1]);
  hello->fd = ends[0];
  if (hello->pid < 0) {
    (void)dx_fail_sys(err, errno, "start", "hello");
    (void)close(ends[0]);
    free(hello);
    hello = NULL;
  }
  (void)close(ends[1]);
  return hello;
}

static void answer(struct hello *hello, const struct hello_request *request,
                   struct dx_rate_limit *limit)
{
  int64_t at_ms = 0, wait = request->retry_after_ms;

  if (!request->is_response)
    at_ms = dx_rate_limit_book(limit, hello->rate);
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
    if (limit != NULL)
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
  int status = 1;

  if (hello == NULL)
    return true;
  if (!hello->has_ended)
    hello_stop(hello);
  while (waitpid(hello->pid, &status, hello->has_ended ? 0 : WNOHANG) < 0 &&
         errno == EINTR)
    ;
  (void)close(hello->fd);
  free(hello);
  *hello_at = NULL;
  return status == 0;
}
