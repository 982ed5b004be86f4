/*
 * hello.c - `docextract hello`: takes the steps that a job would take, one
 * after the other; the first that fails is named, with what to do.
 */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cupsd.h"
#include "cli/reach.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/sandbox.h"
#include "daemon/service/api.h"
#include "daemon/service/rate_limit.h"
#include "daemon/service/token.h"

/* After this long without a result, prints what it is waiting for. */
#define PATIENCE_MS 2000
#define PATIENCE_LEAST_MS 300 /* for a step that begins late */
#define TURN_MS 1000
#define GREETING_MAX 400 /* characters that are printed of it */

struct hello {
  struct cli *cli;
  const struct dx_service *service;
  int cupsd_conf_fd; /* opened with the caller's rights; -1: none */
  bool is_owner;     /* warnings can be checked */
  unsigned sandbox_layers;
  struct dx_token *token;
  const char *token_text;
  struct reach reach;
  struct dx_rate_limit *rate_limit;
  struct dx_http *http;
  char detail[256]; /* of a step that succeeded */
  /* the response */
  bool has_response;
  enum dx_code meaning; /* what the response means */
  struct dx_err err;
  int status;
  bool was_sent;
  int64_t off_ms; /* their clock minus ours; 0 if unknown */
  int64_t retry_after_ms;
  char *greeting;
};

__attribute__((format(printf, 2, 3))) static void
detail(struct hello *h, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  (void)vsnprintf(h->detail, sizeof(h->detail), format, args);
  va_end(args);
}

/* ---- a slow step says what it is waiting for ---- */

static char waiting_text[512];
static volatile sig_atomic_t waiting_len;
static int64_t begun_ms;

static void on_alarm(int number)
{
  int saved = errno;

  (void)number;
  (void)!write(STDERR_FILENO, waiting_text, (size_t)waiting_len);
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
  char what[sizeof(waiting_text) - 16];
  va_list args;

  set_alarm(0);
  va_start(args, format);
  (void)vsnprintf(what, sizeof(what), format, args);
  va_end(args);
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGALRM, &action, NULL);
  waiting_len =
      snprintf(waiting_text, sizeof(waiting_text), "waiting for %s\n", what);
  set_alarm(left > PATIENCE_LEAST_MS ? left : PATIENCE_LEAST_MS);
}

/* ---- the steps ---- */

static enum dx_code step_configuration(struct hello *h, struct dx_err *err)
{
  enum dx_code code = cli_load(h->cli, err);

  if (code == DX_OK)
    code = cli_service(h->cli, &h->service, err);
  if (code != DX_OK)
    return code;
  h->cupsd_conf_fd = cupsd_open(h->cli->config_path, "cupsd.conf");
  detail(h, "%s, service '%s'", h->cli->config_path, h->service->name);
  return DX_OK;
}

/* There is no way back: tried in a process of its own. */
unsigned cli_sandbox_layers(void)
{
  pid_t child = fork(), ended;
  int status = 0;

  if (child == 0)
    _exit((int)dx_sandbox_enter());
  do
    ended = child > 0 ? waitpid(child, &status, 0) : -1;
  while (ended < 0 && errno == EINTR && child > 0);
  return ended > 0 && WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}

static enum dx_code step_sandbox(struct hello *h, struct dx_err *err)
{
  h->sandbox_layers = cli_sandbox_layers();
  if ((h->sandbox_layers & DX_SANDBOX_SECCOMP) == 0 &&
      h->service->sandbox == DX_SANDBOX_IS_REQUIRED)
    return dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
  detail(h, "%s%s", dx_sandbox_text(h->sandbox_layers),
         h->service->sandbox == DX_SANDBOX_IS_OPTIONAL
             ? "; Sandbox optional is set"
             : "");
  return DX_OK;
}

/* Backends may not be able to read what root can. */
static enum dx_code step_user(struct hello *h, struct dx_err *err)
{
  char name[DX_USER_BYTES];
  const char *spool_dir = h->cli->config->spool_dir;
  enum dx_code code = cli_check_owner(
      spool_dir, cupsd_open(h->cli->config_path, "cups-files.conf"), err);

  if (code == DX_OK)
    code = cli_become_owner(spool_dir, err);
  if (code != DX_OK)
    return code;
  code = cli_load(h->cli, err);
  if (code == DX_OK)
    code = cli_service(h->cli, &h->service, err);
  cli_user_name(name);
  if (code != DX_OK)
    return cli_advise(
        err, "backends run as '%s', which must be able to read it", name);
  h->is_owner = true;
  detail(h, "%s, the owner of SpoolDir%s", name,
         dx_user() == NULL ? ", as whom the filters of all printers run" : "");
  return DX_OK;
}

static enum dx_code step_spool(struct hello *h, struct dx_err *err)
{
  const char *path = h->cli->config->spool_dir;
  enum dx_code code;

  expect_wait("the disk of SpoolDir '%s'", path);
  code = cli_check_spool(h->cli->config, err);
  if (code == DX_OK)
    code = dx_spool_open(path, &h->cli->spool, err);
  if (code == DX_OK)
    code = dx_fs_probe(path, err);
  detail(h, "%s", path);
  return code;
}

/* A key may be there and still be unreadable to the backends. */
static enum dx_code advise_token(struct dx_err *err)
{
  char name[DX_USER_BYTES];

  if (err->sys_errno == ENOENT)
    return cli_advise(err, "put it there, or fix the path");
  if (err->sys_errno != EACCES)
    return err->code;
  cli_user_name(name);
  return cli_advise(err, "backends run as '%s', which must be able to use it",
                    name);
}

static enum dx_code step_token(struct hello *h, struct dx_err *err)
{
  const struct dx_service *s = h->service;
  const struct dx_token_source_info *source = dx_token_source_info(s->token);
  enum dx_code code;

  if (source->limit_s > 0)
    expect_wait("%s, at most %d s", source->directive, source->limit_s);
  h->token = dx_token_new(s);
  if (h->token == NULL)
    return dx_fail_nomem(err);
  if (s->token == DX_TOKEN_KEY)
    detail(h, "signed with %s, key id %s",
           dx_algorithm_name(s->token_algorithm),
           s->token_key_id != NULL ? s->token_key_id : "none");
  else
    detail(h, "from %s", source->directive);
  code = dx_token_get(h->token, 0, &h->token_text, err);
  return code == DX_OK ? code : advise_token(err);
}

static enum dx_code step_name(struct hello *h, struct dx_err *err)
{
  enum dx_code code;

  reach_begin(h->service, &h->reach);
  expect_wait(
      "the name servers to resolve '%s', as long as /etc/resolv.conf says",
      h->reach.host);
  code = reach_resolve(&h->reach, err);
  detail(h, "%s%s is %s", h->reach.proxy ? "proxy " : "", h->reach.host,
         h->reach.address);
  return code;
}

static enum dx_code step_connection(struct hello *h, struct dx_err *err)
{
  enum dx_code code;

  expect_wait("a connection to '%s' port %d, at most %d s for each address",
              h->reach.host, h->reach.port, DX_CONNECT_TIMEOUT_MS / 1000);
  code = reach_connect(&h->reach, err);
  detail(h, "%s port %d", h->reach.address, h->reach.port);
  return code;
}

/* Waits for a slot: this call counts toward the shared rate limit. */
static enum dx_code wait_for_slot(struct hello *h, struct dx_err *err)
{
  int64_t since = dx_monotonic_ms();
  struct dx_slot slot = {false, 0};
  bool is_announced = false;
  enum dx_code code = DX_OK;

  while (code == DX_OK) {
    int64_t left;

    if (!slot.booked)
      slot = dx_rate_limit_book(h->rate_limit, DX_URGENT,
                                dx_monotonic_ms() - since);
    left = slot.at_ms - dx_monotonic_ms();
    if (left > 0 && !is_announced) {
      is_announced = true;
      expect_wait(
          "the end of the pause after an outage or status 429, %" PRId64 " s",
          (left + (slot.booked ? 0 : DX_RATE_LIMIT_AHEAD_MAX_MS) + 500) / 1000);
    }
    if (slot.booked && left <= 0)
      break;
    code = dx_http_run(h->http, left > 0 ? left : 0, NULL, 0, err);
  }
  return code;
}

static void on_done(void *ctx, const struct dx_http_response *response)
{
  struct hello *h = ctx;

  h->has_response = true;
  h->meaning = dx_read_hello(response, &h->greeting, &h->err);
  h->status = response->status;
  h->was_sent = response->was_sent;
  h->retry_after_ms = response->retry_after_ms;
  if (response->date_ms >= 0)
    h->off_ms = response->date_ms - dx_wall_ms();
}

static enum dx_code call_service(struct hello *h, struct dx_err *err)
{
  const struct dx_api api = {h->http, h->service, h->token_text, NULL};
  struct dx_http_call *call;
  enum dx_code code = wait_for_slot(h, err);

  if (code == DX_OK) {
    expect_wait("the response of '%s', at most %d s", h->service->host,
                DX_API_TIMEOUT_MS / 1000);
    code = dx_api_hello(&api, on_done, h, &call, err);
  }
  while (code == DX_OK && !h->has_response)
    code = dx_http_run(h->http, TURN_MS, NULL, 0, err);
  if (code == DX_OK && h->meaning == DX_OK)
    dx_rate_limit_up(h->rate_limit);
  if (code == DX_OK && h->meaning == DX_E_RATE)
    dx_rate_limit_block(h->rate_limit, h->retry_after_ms > DX_BACKOFF_FIRST_MS
                                           ? h->retry_after_ms
                                           : DX_BACKOFF_FIRST_MS);
  return code;
}

/* Makes the call; the following steps look at its response. */
static enum dx_code step_certificate(struct hello *h, struct dx_err *err)
{
  bool tls = strncmp(h->service->base_url, "https:", 6) == 0;
  enum dx_code code;

  h->http = dx_http_new();
  h->rate_limit = dx_rate_limit_new(h->cli->spool.rate_dirfd, h->service->host,
                                    h->service->port, h->service->api_rate);
  if (h->http == NULL || h->rate_limit == NULL)
    return dx_fail_nomem(err);
  code = call_service(h, err);
  if (code != DX_OK)
    return code;
  detail(h, "%s", tls ? "trusted" : "none: plain HTTP to this computer");
  if (!tls || h->status != 0 || h->was_sent)
    return DX_OK;
  *err = h->err;
  if (err->code == DX_E_CERT)
    return err->code; /* the message says what to do */
  return cli_advise(err, "check that the port of BaseURL speaks HTTPS");
}

static enum dx_code step_response(struct hello *h, struct dx_err *err)
{
  if (h->meaning == DX_OK || h->meaning == DX_E_TOKEN) {
    detail(h, "status %d", h->status);
    return DX_OK;
  }
  *err = h->err;
  if (dx_class_of(h->meaning) == DX_CL_CONFIG || h->meaning == DX_E_REFUSED)
    return cli_advise(err, "check BaseURL");
  if (h->meaning == DX_E_RATE)
    return cli_advise(err, "try again later, or lower APIRate");
  return cli_advise(err, "try again later; print jobs wait until then");
}

static bool is_clock_off(const struct hello *h)
{
  return llabs(h->off_ms) > DX_CLOCK_SKEW_S * 1000;
}

static void describe_clock(const struct hello *h, char text[128])
{
  (void)snprintf(text, 128,
                 "the clock of this computer is %lld s %s that of the "
                 "service; correct it",
                 (llabs(h->off_ms) + 500) / 1000,
                 h->off_ms > 0 ? "behind" : "ahead of");
}

static enum dx_code step_token_accepted(struct hello *h, struct dx_err *err)
{
  char clock[128];

  if (h->meaning == DX_OK) {
    detail(h, "yes");
    return DX_OK;
  }
  *err = h->err;
  describe_clock(h, clock);
  return cli_advise(err, "%s",
                    is_clock_off(h)
                        ? clock
                        : dx_token_source_info(h->service->token)->advice);
}

/* ---- all of them ---- */

static const struct {
  const char *name;
  enum dx_code (*run)(struct hello *, struct dx_err *);
} steps[] = {
    {"configuration", step_configuration},
    {"sandbox", step_sandbox},
    {"user", step_user},
    {"spool", step_spool},
    {"token", step_token},
    {"name", step_name},
    {"connection", step_connection},
    {"certificate", step_certificate},
    {"response", step_response},
    {"token accepted", step_token_accepted},
};

static void print_step(bool good, const char *name, const char *text)
{
  printf("%s%-6s%s %-14s%s%s\n", cli_color(good ? CLI_GREEN : CLI_RED),
         good ? "ok" : "FAILED", cli_color(CLI_PLAIN), name,
         text[0] != '\0' ? "  " : "", text);
}

static enum dx_code run_steps(struct hello *h, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sizeof(steps) / sizeof(steps[0]); i++) {
    expect_wait("%s", steps[i].name);
    code = steps[i].run(h, err);
    set_alarm(0);
    print_step(code == DX_OK, steps[i].name, code == DX_OK ? h->detail : "");
  }
  return code;
}

enum dx_code verb_hello(struct cli *cli, struct dx_err *err)
{
  struct hello h = {.cli = cli, .cupsd_conf_fd = -1};
  enum dx_code code;
  char clock[128];

  begun_ms = dx_monotonic_ms();
  code = run_steps(&h, err);
  if (code == DX_OK) {
    (void)cli_print_plain(h.greeting, GREETING_MAX);
    (void)putchar('\n');
  }
  if (code == DX_OK && (h.sandbox_layers & DX_SANDBOX_SECCOMP) == 0)
    hello_warn(DX_SANDBOX_OPTIONAL);
  if (code == DX_OK && is_clock_off(&h)) {
    describe_clock(&h, clock);
    hello_warn("%s", clock);
  }
  if (h.is_owner) {
    expect_wait("the disk of ResultsDir '%s'", h.service->results_dir);
    hello_warn_all(cli, h.service, h.cupsd_conf_fd);
    set_alarm(0);
  } else if (h.cupsd_conf_fd >= 0) {
    (void)close(h.cupsd_conf_fd);
  }
  free(h.greeting);
  reach_end(&h.reach);
  dx_rate_limit_free(&h.rate_limit);
  dx_http_free(&h.http);
  dx_token_free(&h.token);
  return code;
}
