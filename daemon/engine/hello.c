/*
 * hello.c - `docextract hello`: performs the steps of a job, one after the
 * other; the first step that fails is reported, with advice. One call is made;
 * the steps after it report how far it got.
 */
#include "daemon/engine/engine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/user.h"

struct hello {
  LIST_ENTRY(hello) link;
  struct dx_engine *engine;
  struct service_state *svc;
  dx_hello_tell *tell;
  void *ctx; /* of tell */
  struct dx_token token;
  const char *token_text;
  struct dx_http_call *call; /* NULL: waits for its slot */
  struct slot slot;
  int64_t due_ms;   /* of that slot, as it was announced */
  char peer[280];   /* the host to connect to */
  bool has_proxy;   /* it is the proxy */
  bool is_ready;    /* the request could be sent */
  char detail[256]; /* of a step that succeeded */
  const struct dx_http_response *response; /* valid until the call ends */
  struct dx_err err;                       /* its meaning */
  char *greeting;
};

/* The result of a step. If a step after the call fails, *err is h->err at
 * first. */
#define DETAIL(h, ...) \
  (void)snprintf((h)->detail, sizeof((h)->detail), __VA_ARGS__)

__attribute__((format(printf, 2, 3))) static void
hello_tell(const struct hello *h, const char *format, ...)
{
  char line[DX_CHANNEL_LINE_BYTES];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  h->tell(h->ctx, line);
}

/* What the client prints if the next line takes long. */
#define EXPECT(h, what, ...) \
  hello_tell(h, "slow waiting for " what, ##__VA_ARGS__)

static void hello_free(struct hello *h)
{
  LIST_REMOVE(h, link);
  dx_http_cancel(&h->call);
  engine_release_slot(&h->slot);
  dx_token_forget(&h->token);
  free(h->greeting);
  free(h);
}

/* ---- the steps ---- */

static bool is_https(const struct hello *h)
{
  return strncmp(h->svc->service->base_url, "https:", 6) == 0;
}

static enum dx_code step_spool(struct hello *h, struct dx_err *err)
{
  const char *path = h->engine->config->spool_dir;
  enum dx_code code;

  EXPECT(h, "the disk of SpoolDir '%s'", path);
  DETAIL(h, "%s", path);
  code = dx_fs_probe(path, err);
  return code == DX_OK ? code : dx_user_advise_writer(err);
}

static enum dx_code step_token(struct hello *h, struct dx_err *err)
{
  const struct dx_service *service = h->svc->service;
  const struct dx_token_source_info *source = &dx_token_sources[service->token];
  char name[DX_USER_BYTES];
  enum dx_code code;

  if (source->limit_s > 0)
    EXPECT(h, "%s, at most %d s", source->directive, source->limit_s);
  h->token =
      (struct dx_token){.service = service, .stop_fd = h->engine->stop_fd};
  if (service->token == DX_TOKEN_KEY)
    DETAIL(h, "signed with %s, key id %s",
           dx_algorithm_names[service->token_algorithm],
           service->token_key_id != NULL ? service->token_key_id : "none");
  else
    DETAIL(h, "from %s", source->directive);
  code = dx_token_get(&h->token, 0, &h->token_text, err);
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

static enum dx_code step_name(struct hello *h, struct dx_err *err)
{
  const char *host = h->has_proxy ? "the proxy" : h->svc->service->host;
  const char *address = h->response->address;

  DETAIL(h, "%s%s%s", host, address[0] != '\0' ? " is " : "", address);
  if (h->response->was_resolved)
    return DX_OK;
  if (err->code != DX_E_NET)
    return err->code;
  return dx_fail(err, DX_E_NET, 0,
                 "cannot resolve %s; check %s and the name servers of this "
                 "computer",
                 host, h->has_proxy ? "Proxy" : "BaseURL");
}

static enum dx_code step_connection(struct hello *h, struct dx_err *err)
{
  int e = h->response->err.sys_errno;

  DETAIL(h, "%s port %d", h->response->address, h->response->port);
  if (h->response->was_connected)
    return DX_OK;
  if (err->code != DX_E_NET)
    return err->code;
  return dx_fail(err, DX_E_NET, e, "cannot connect to %s: %s; check %s",
                 h->peer, strerror(e != 0 ? e : ETIMEDOUT),
                 h->has_proxy ? "Proxy and the firewall"
                              : "BaseURL and the firewall, or set Proxy");
}

static enum dx_code step_certificate(struct hello *h, struct dx_err *err)
{
  DETAIL(h, "%s",
         is_https(h) ? "trusted" : "none: plain HTTP to this computer");
  if (!is_https(h) || h->is_ready)
    return DX_OK;
  if (err->code == DX_E_CERT)
    return err->code; /* the message contains advice */
  return dx_fail_advice(err, "check that the port of BaseURL supports HTTPS");
}

static enum dx_code step_response(struct hello *h, struct dx_err *err)
{
  if (err->code == DX_OK || err->code == DX_E_TOKEN) {
    DETAIL(h, "status %d", h->response->status);
    return DX_OK;
  }
  if (dx_class_of(err->code) == DX_CL_CONFIG || err->code == DX_E_REFUSED)
    return dx_fail_advice(err, "check BaseURL");
  if (err->code == DX_E_RATE)
    return dx_fail_advice(err, "try again later, or lower APIRate");
  return dx_fail_advice(err, "try again later; print jobs wait until then");
}

/* False: the difference is small enough. */
static bool is_clock_off(const struct hello *h, char ret_text[128])
{
  int64_t off_ms = h->response->date_ms - dx_wall_ms();

  (void)snprintf(
      ret_text, 128, DX_HELLO_CLOCK "%lld s %s that of the service; correct it",
      (llabs(off_ms) + 500) / 1000, off_ms > 0 ? "behind" : "ahead of");
  return h->response->date_ms >= 0 && llabs(off_ms) > DX_CLOCK_SKEW_S * 1000;
}

static enum dx_code step_token_accepted(struct hello *h, struct dx_err *err)
{
  char clock[128];

  if (err->code == DX_OK) {
    DETAIL(h, "yes");
    return DX_OK;
  }
  return dx_fail_advice(err, "%s",
                        is_clock_off(h, clock)
                            ? clock
                            : dx_token_sources[h->svc->service->token].advice);
}

static const struct {
  const char *name;
  enum dx_code (*run)(struct hello *, struct dx_err *);
} steps[] = {
    {"spool", step_spool},
    {"token", step_token},
    {"name", step_name}, /* the first one after the call */
    {"connection", step_connection},
    {"certificate", step_certificate},
    {"response", step_response},
    {"token accepted", step_token_accepted},
};
#define STEP_AFTER_CALL 2
#define STEP_COUNT (sizeof(steps) / sizeof(steps[0]))

/* Also prints the greeting, and warns of later failures, although the service
 * responds now. err: why a step failed. */
static void hello_end(struct hello *h, enum dx_code code,
                      const struct dx_err *err)
{
  const char *dir = h->svc->service->results_dir;
  struct dx_err results_err;
  char clock[128];

  if (code == DX_OK)
    hello_tell(h, "line %s", h->greeting);
  if (code == DX_OK && is_clock_off(h, clock))
    hello_tell(h, "line warning: %s", clock);
  EXPECT(h, "the disk of ResultsDir '%s'", dir);
  if (dx_results_prepare(dir, &results_err) != DX_OK) {
    (void)dx_user_advise_writer(&results_err);
    hello_tell(h, "line " DX_HELLO_NO_RESULTS ", so nothing will be sent: %s",
               results_err.text);
  }
  if (code == DX_OK)
    hello_tell(h, "done ");
  else
    hello_tell(h, "error %s %s", dx_code_name(code), err->text);
  hello_free(h);
}

/* Performs the steps before `end`; false if one failed. */
static bool hello_run(struct hello *h, size_t first, size_t end)
{
  enum dx_code code = DX_OK;
  struct dx_err err = h->err;
  size_t step;

  for (step = first; code == DX_OK && step < end; step++) {
    EXPECT(h, "%s", steps[step].name);
    code = steps[step].run(h, &err);
    if (code == DX_OK)
      hello_tell(h, "step ok %-14s  %s", steps[step].name, h->detail);
    else
      hello_tell(h, "step FAILED %s", steps[step].name);
  }
  if (code != DX_OK || end == STEP_COUNT)
    hello_end(h, code, &err);
  return code == DX_OK;
}

/* ---- the call ---- */

static bool hello_ready(void *ctx)
{
  struct hello *h = ctx;

  h->is_ready = engine_leave_in_slot(&h->slot);
  if (h->is_ready)
    EXPECT(h, "the response of '%s', at most %d s", h->svc->service->host,
           DX_API_TIMEOUT_MS / 1000);
  return h->is_ready;
}

static void hello_done(void *ctx, const struct dx_http_response *response)
{
  struct hello *h = ctx;
  struct dx_rate_limit *limit = &h->svc->host->limit;
  double slot_ms = h->slot.ms;

  h->call = NULL;
  engine_end_in_slot(&h->slot, response);
  engine_release_slot(&h->slot);
  if (response->err.code == DX_E_NOT_SENT)
    return; /* waits for the next slot */
  h->response = response;
  if (dx_read_hello(response, &h->greeting, &h->err) == DX_OK)
    dx_rate_limit_up(limit);
  else if (h->err.code == DX_E_RATE)
    dx_rate_limit_refused(limit, h->svc->service->api_rate, slot_ms,
                          response->retry_after_ms);
  (void)hello_run(h, STEP_AFTER_CALL, STEP_COUNT);
}

struct hello *engine_hello_waits(struct dx_engine *engine,
                                 const struct host *host, int64_t due_ms)
{
  int64_t left = due_ms - dx_monotonic_ms();
  struct hello *h = LIST_FIRST(&engine->hellos);

  while (h != NULL && (h->svc->host != host || h->call != NULL))
    h = LIST_NEXT(h, link);
  if (h != NULL && left >= 1000 && due_ms > h->due_ms) {
    h->due_ms = due_ms;
    EXPECT(h,
           "the end of the pause after an outage or status 429, %" PRId64 " s",
           (left + 500) / 1000);
  }
  return h;
}

void engine_hello_call(struct hello *h)
{
  struct dx_err err;
  enum dx_code code;

  EXPECT(h, "a connection to %s, at most %d s", h->peer,
         DX_CONNECT_TIMEOUT_MS / 1000);
  engine_take_slot(&h->slot, h->svc);
  code = dx_api_call(&(const struct dx_api){h->engine->http, h->svc->service,
                                            h->token_text, hello_ready,
                                            hello_done, h, &h->call},
                     DX_CALL_HELLO, NULL, NULL, &err);
  if (code != DX_OK)
    hello_end(h, code, &err);
}

/* ---- the interface ---- */

enum dx_code dx_engine_hello(struct dx_engine *engine, const char *service,
                             dx_hello_tell *tell, void *ctx, struct dx_err *err)
{
  struct service_state *svc = engine_service_named(engine, service);
  struct hello *h;

  if (svc == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "docextractd has not loaded a configuration with that "
                   "service");
  h = calloc(1, sizeof(*h));
  if (h == NULL)
    return dx_fail_nomem(err);
  h->engine = engine;
  h->svc = svc;
  h->tell = tell;
  h->ctx = ctx;
  h->has_proxy = svc->service->proxy != NULL && is_https(h);
  if (h->has_proxy)
    (void)strcpy(h->peer, "the proxy");
  else
    (void)snprintf(h->peer, sizeof(h->peer), "%s port %d", svc->service->host,
                   svc->service->port);
  LIST_INSERT_HEAD(&engine->hellos, h, link);
  (void)hello_run(h, 0, STEP_AFTER_CALL);
  return DX_OK;
}

void dx_engine_cancel_hello(struct dx_engine *engine, const void *ctx)
{
  struct hello *h = LIST_FIRST(&engine->hellos), *next;

  for (; h != NULL; h = next) {
    next = LIST_NEXT(h, link);
    if (ctx == NULL || h->ctx == ctx)
      hello_free(h);
  }
}
