/*
 * hello_steps.c - the child of a `hello`: takes the steps that a job would
 * take, one after the other; the first that fails is named, with what to do.
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
#include <sys/time.h>
#include <unistd.h>

#include "daemon/reach.h"
#include "daemon/service/api.h"
#include "daemon/service/token.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/user.h"
#include "lib/base/utf8.h"
#include "lib/control/channel.h"
#include "lib/spool/results.h"

/* After this long without a result, says what it is waiting for. */
#define PATIENCE_MS 2000
#define PATIENCE_LEAST_MS 300 /* for a step that begins late */
#define TURN_MS 1000
#define GREETING_MAX 400 /* characters that are told of it */
#define CLIENT_MS 10000  /* one that does not read for so long is gone */

struct steps {
  const struct dx_config *config;
  const struct dx_service *service;
  int parent_fd;
  struct dx_token *token;
  const char *token_text;
  struct reach reach;
  struct dx_http *http;
  int64_t slot_ms;
  char detail[256]; /* of a step that succeeded */
  /* the response */
  bool has_response;
  enum dx_code meaning; /* what the response means */
  struct dx_err err;
  int status;
  bool was_sent;
  int64_t off_ms; /* their clock minus ours; 0 if unknown */
  char *greeting;
};

__attribute__((format(printf, 2, 3))) static void
detail(struct steps *s, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  (void)vsnprintf(s->detail, sizeof(s->detail), format, args);
  va_end(args);
}

/* ---- what the client is told ---- */

static struct dx_channel client = DX_CHANNEL_NONE;

/* One line: a verb and its text. */
__attribute__((format(printf, 2, 3))) static void tell(const char *verb,
                                                       const char *format, ...)
{
  char text[DX_CHANNEL_LINE_BYTES];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (dx_channel_send(&client, NULL, "%s%s%s", verb, text[0] != '\0' ? " " : "",
                      text) != DX_OK ||
      !dx_channel_drain(&client, CLIENT_MS))
    _exit(1); /* the client is gone, or does not read */
}

static void tell_parent(const struct steps *s, struct hello_request request)
{
  (void)!send(s->parent_fd, &request, sizeof(request), MSG_NOSIGNAL);
}

static int64_t ask_parent(const struct steps *s, struct hello_request request)
{
  int64_t answer;

  tell_parent(s, request);
  if (recv(s->parent_fd, &answer, sizeof(answer), 0) != (ssize_t)sizeof(answer))
    _exit(1); /* nobody wants to know any more */
  return answer;
}

/* ---- a slow step says what it is waiting for ---- */

static char waiting_text[512];
static volatile sig_atomic_t waiting_len;
static int64_t begun_ms;

static void on_alarm(int number)
{
  int saved = errno;

  (void)number;
  (void)!write(client.fd, waiting_text, (size_t)waiting_len);
  errno = saved;
}

static void set_alarm(int64_t ms)
{
  const struct itimerval timer = {
      .it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};

  (void)setitimer(ITIMER_REAL, &timer, NULL);
}

__attribute__((format(printf, 1, 2))) static void
expect_wait(const char *format, ...)
{
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  int64_t left = begun_ms + PATIENCE_MS - dx_monotonic_ms();
  char what[sizeof(waiting_text) - 24];
  va_list args;

  set_alarm(0);
  va_start(args, format);
  (void)vsnprintf(what, sizeof(what), format, args);
  va_end(args);
  dx_utf8_make_plain(what);
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGALRM, &action, NULL);
  waiting_len = snprintf(waiting_text, sizeof(waiting_text),
                         "warn waiting for %s\n", what);
  set_alarm(left > PATIENCE_LEAST_MS ? left : PATIENCE_LEAST_MS);
}

/* ---- the steps ---- */

static enum dx_code advise_writer(struct dx_err *err)
{
  char name[DX_USER_BYTES];

  if (err->code == DX_E_SPACE)
    return dx_fail_advice(err, "free space there");
  if (err->code != DX_E_ACCESS)
    return err->code;
  dx_user_name_of(geteuid(), name);
  return dx_fail_advice(err, "'%s' must be able to write there", name);
}

static enum dx_code step_spool(struct steps *s, struct dx_err *err)
{
  const char *path = s->config->spool_dir;
  enum dx_code code;

  expect_wait("the disk of SpoolDir '%s'", path);
  detail(s, "%s", path);
  code = dx_fs_probe(path, err);
  return code == DX_OK ? code : advise_writer(err);
}

/* A key may be there and still be unreadable to docextractd. */
static enum dx_code advise_token(struct dx_err *err)
{
  char name[DX_USER_BYTES];

  if (err->sys_errno == ENOENT)
    return dx_fail_advice(err, "put it there, or fix the path");
  if (err->sys_errno != EACCES)
    return err->code;
  dx_user_name_of(geteuid(), name);
  return dx_fail_advice(
      err, "docextractd runs as '%s', which must be able to use it", name);
}

/* Until a TokenCommand has ended: dying meanwhile would leave it behind. */
static void block_term(bool is_blocked)
{
  sigset_t term;

  (void)sigemptyset(&term);
  (void)sigaddset(&term, SIGTERM);
  (void)sigprocmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &term, NULL);
}

static enum dx_code step_token(struct steps *s, struct dx_err *err)
{
  const struct dx_service *service = s->service;
  const struct dx_token_source_info *source =
      dx_token_source_info(service->token);
  enum dx_code code;

  if (source->limit_s > 0)
    expect_wait("%s, at most %d s", source->directive, source->limit_s);
  s->token = dx_token_new(service);
  if (s->token == NULL)
    return dx_fail_nomem(err);
  if (service->token == DX_TOKEN_KEY)
    detail(s, "signed with %s, key id %s",
           dx_algorithm_name(service->token_algorithm),
           service->token_key_id != NULL ? service->token_key_id : "none");
  else
    detail(s, "from %s", source->directive);
  dx_token_wake_by(s->token, s->parent_fd);
  block_term(true);
  code = dx_token_get(s->token, 0, &s->token_text, err);
  block_term(false);
  return code == DX_OK ? code : advise_token(err);
}

static enum dx_code step_name(struct steps *s, struct dx_err *err)
{
  enum dx_code code;

  reach_begin(s->service, &s->reach);
  expect_wait(
      "the name servers to resolve '%s', as long as /etc/resolv.conf says",
      s->reach.host);
  code = reach_resolve(&s->reach, err);
  detail(s, "%s%s is %s", s->reach.proxy ? "proxy " : "", s->reach.host,
         s->reach.address);
  return code;
}

static enum dx_code step_connection(struct steps *s, struct dx_err *err)
{
  enum dx_code code;

  expect_wait("a connection to '%s' port %d, at most %d s for each address",
              s->reach.host, s->reach.port, DX_CONNECT_TIMEOUT_MS / 1000);
  code = reach_connect(&s->reach, err);
  detail(s, "%s port %d", s->reach.address, s->reach.port);
  return code;
}

/* ---- the call ---- */

/* This call counts toward the rate limit, which the parent keeps. Returns how
 * long to wait. */
static int64_t take_slot(struct steps *s)
{
  s->slot_ms =
      ask_parent(s, (struct hello_request){.kind = HELLO_ASKS_FOR_SLOT});
  return s->slot_ms - dx_monotonic_ms();
}

static enum dx_code wait_for_slot(struct steps *s, struct dx_err *err)
{
  int64_t left = take_slot(s);
  enum dx_code code = DX_OK;

  if (left > 0)
    expect_wait("the end of the pause after an outage or status 429, %" PRId64
                " s",
                (left + 500) / 1000);
  for (; code == DX_OK && left > 0; left = s->slot_ms - dx_monotonic_ms())
    code = dx_http_run(s->http, left, NULL, 0, err);
  return code;
}

/* Connecting may have taken so long that the slot has passed. */
static int64_t on_ready(void *ctx)
{
  struct steps *s = ctx;
  int64_t left = s->slot_ms - dx_monotonic_ms();

  if (-left > DX_RATE_LIMIT_LATE_MS)
    left = take_slot(s);
  return left > 0 ? left : 0;
}

static void on_done(void *ctx, const struct dx_http_response *response)
{
  struct steps *s = ctx;

  s->has_response = true;
  s->meaning = dx_read_hello(response, &s->greeting, &s->err);
  s->status = response->status;
  s->was_sent = response->was_sent;
  if (response->date_ms >= 0)
    s->off_ms = response->date_ms - dx_wall_ms();
  (void)ask_parent(
      s, (struct hello_request){.kind = HELLO_HAS_RESPONSE,
                                .meaning = s->meaning,
                                .retry_after_ms = response->retry_after_ms});
}

static enum dx_code call_service(struct steps *s, struct dx_err *err)
{
  const struct dx_api api = {s->http, s->service, s->token_text, on_ready};
  struct dx_http_call *call;
  enum dx_code code = wait_for_slot(s, err);

  if (code == DX_OK) {
    expect_wait("the response of '%s', at most %d s", s->service->host,
                DX_API_TIMEOUT_MS / 1000);
    code = dx_api_hello(&api, on_done, s, &call, err);
  }
  while (code == DX_OK && !s->has_response)
    code = dx_http_run(s->http, TURN_MS, NULL, 0, err);
  return code;
}

/* Makes the call; the following steps look at its response. */
static enum dx_code step_certificate(struct steps *s, struct dx_err *err)
{
  bool tls = strncmp(s->service->base_url, "https:", 6) == 0;
  enum dx_code code;

  s->http = dx_http_new();
  if (s->http == NULL)
    return dx_fail_nomem(err);
  code = call_service(s, err);
  if (code != DX_OK)
    return code;
  detail(s, "%s", tls ? "trusted" : "none: plain HTTP to this computer");
  if (!tls || s->status != 0 || s->was_sent)
    return DX_OK;
  *err = s->err;
  if (err->code == DX_E_CERT)
    return err->code; /* the message says what to do */
  return dx_fail_advice(err, "check that the port of BaseURL speaks HTTPS");
}

static enum dx_code step_response(struct steps *s, struct dx_err *err)
{
  if (s->meaning == DX_OK || s->meaning == DX_E_TOKEN) {
    detail(s, "status %d", s->status);
    return DX_OK;
  }
  *err = s->err;
  if (dx_class_of(s->meaning) == DX_CL_CONFIG || s->meaning == DX_E_REFUSED)
    return dx_fail_advice(err, "check BaseURL");
  if (s->meaning == DX_E_RATE)
    return dx_fail_advice(err, "try again later, or lower APIRate");
  return dx_fail_advice(err, "try again later; print jobs wait until then");
}

static bool is_clock_off(const struct steps *s)
{
  return llabs(s->off_ms) > DX_CLOCK_SKEW_S * 1000;
}

static void describe_clock(const struct steps *s, char text[128])
{
  (void)snprintf(
      text, 128, DX_HELLO_CLOCK "%lld s %s that of the service; correct it",
      (llabs(s->off_ms) + 500) / 1000, s->off_ms > 0 ? "behind" : "ahead of");
}

static enum dx_code step_token_accepted(struct steps *s, struct dx_err *err)
{
  char clock[128];

  if (s->meaning == DX_OK) {
    detail(s, "yes");
    return DX_OK;
  }
  *err = s->err;
  describe_clock(s, clock);
  return dx_fail_advice(err, "%s",
                        is_clock_off(s)
                            ? clock
                            : dx_token_source_info(s->service->token)->advice);
}

/* ---- all of them ---- */

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
    expect_wait("%s", steps[i].name);
    code = steps[i].run(s, err);
    set_alarm(0);
    if (code == DX_OK)
      tell("line", DX_HELLO_OK "%-14s  %s", steps[i].name, s->detail);
    else
      tell("line", DX_HELLO_FAILED "%s", steps[i].name);
  }
  return code;
}

/* Ends after that many characters. */
static void cut(char *text, size_t most)
{
  size_t len;

  dx_utf8_make_plain(text);
  while (most-- > 0 && (len = dx_utf8_char(text, NULL)) > 0)
    text += len;
  *text = '\0';
}

/* What will go wrong later although the service responds now. */
static void warn_of_results(const struct steps *s)
{
  struct dx_err err;

  enum dx_code code;

  expect_wait("the disk of ResultsDir '%s'", s->service->results_dir);
  code = dx_results_prepare(s->service->results_dir, &err);
  set_alarm(0);
  if (code == DX_OK)
    return;
  (void)advise_writer(&err);
  tell("line", DX_HELLO_NO_RESULTS ", so nothing will be sent: %s", err.text);
}

static void tell_more(const struct steps *s, enum dx_code code)
{
  char clock[128];

  if (code == DX_OK) {
    cut(s->greeting, GREETING_MAX);
    tell("line", "%s", s->greeting);
  }
  if (code == DX_OK && is_clock_off(s)) {
    describe_clock(s, clock);
    tell("line", "warning: %s", clock);
  }
  warn_of_results(s);
}

void hello_run(const struct dx_config *config, const struct dx_service *service,
               int client_fd, int fd)
{
  struct steps s = {.config = config, .service = service, .parent_fd = fd};
  struct dx_err err;
  enum dx_code code;

  client.fd = client_fd;
  begun_ms = dx_monotonic_ms();
  code = take_steps(&s, &err);
  tell_more(&s, code);
  if (code == DX_OK)
    tell("done", "%s", "");
  else
    tell("error", "%s %s", dx_code_name(code), err.text);
  tell_parent(&s, (struct hello_request){.kind = HELLO_IS_DONE});
  free(s.greeting);
  reach_end(&s.reach);
  dx_http_free(&s.http);
  dx_token_free(&s.token);
}
