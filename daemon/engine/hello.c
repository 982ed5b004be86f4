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
#include "daemon/service/signed_url.h"

#define JOBS_WAIT "warning: %zu %s, although this test succeeds: "

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
  int64_t due_ms; /* of that slot, as it was announced */
  char peer[280]; /* the host to connect to */
  bool has_proxy; /* it is the proxy */
  bool is_ready;  /* the request could be sent */
  char storage[DX_ORIGIN_BYTES];
};

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

/* The end of a step; the rest is its result if it succeeded. Returns is_ok. */
__attribute__((format(printf, 4, 5))) static bool
hello_step(const struct hello *h, const char *name, bool is_ok,
           const char *format, ...)
{
  char result[256];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(result, sizeof(result), format, args);
  va_end(args);
  if (is_ok)
    hello_tell(h, "step ok %-14s  %s", name, result);
  else
    hello_tell(h, "step FAILED %s", name);
  return is_ok;
}

static void hello_free(struct hello *h)
{
  LIST_REMOVE(h, link);
  dx_http_cancel(&h->call);
  engine_release_slot(&h->slot, NULL);
  dx_token_forget(&h->token);
  free(h);
}

/* The length of a text without a reference to this command. */
static int hello_text_length(const char *text)
{
  static const char see_hello[] = "; run 'docextract hello'";
  size_t len = strlen(text), tail = strlen(see_hello);

  if (len >= tail && strcmp(text + len - tail, see_hello) == 0)
    len -= tail;
  return (int)len;
}

/* Calls that the test does not make may fail. */
static void hello_warn_of_jobs(const struct hello *h)
{
  const struct dx_problem *problem = NULL;
  const char *text;
  const struct dx_drive *drive;
  size_t count = 0;
  int len;

  TAILQ_FOREACH (drive, &h->engine->drives, link) {
    const struct dx_problem *p = dx_job_problem(drive->job);

    if (dx_job_is_final(drive->job) || p->text == NULL ||
        strcmp(drive->job->service, h->svc->service->name) != 0)
      continue;
    count++;
    if (problem == NULL || dx_problem_needs_admin(p))
      problem = p;
  }
  if (problem == NULL)
    return;
  text = dx_line(problem->text);
  len = hello_text_length(text);
  hello_tell(h, "line " JOBS_WAIT "%.*s%s", count,
             count == 1 ? "job waits" : "jobs wait", len, text,
             text[len] != '\0' ? "; ask the operator of the service" : "");
}

/* Whether documents would be sent, although all steps have succeeded. */
static enum dx_code hello_check_sending(const struct hello *h, bool has_results,
                                        struct dx_err *err)
{
  const struct dx_err *denial = &h->svc->denial[CALLS_CREATE];

  if (!has_results)
    return dx_fail(err, DX_E_IO, 0,
                   "results cannot be written; see the warning");
  if (dx_breaker_is_open(&h->svc->rejected[CALLS_CREATE]))
    return dx_fail(err, denial->code, 0,
                   "the service rejects documents, although this test "
                   "succeeds: %.*s; then run: docextract retry --all",
                   hello_text_length(denial->text), denial->text);
  return DX_OK;
}

/* Warns of a later failure, although the service may respond now. err: why a
 * step failed. */
static void hello_end(struct hello *h, enum dx_code code,
                      const struct dx_err *err)
{
  const char *dir = h->svc->service->results_dir;
  struct dx_err results_err, sending_err;
  bool has_results;

  EXPECT(h, "the disk of ResultsDir '%s'", dir);
  has_results = dx_results_prepare(dir, &results_err) == DX_OK;
  if (!has_results) {
    (void)dx_user_advise_writer(&results_err);
    hello_tell(h, "line " DX_HELLO_NO_RESULTS ", so nothing will be sent: %s",
               results_err.text);
  }
  if (code == DX_OK && has_results) /* else the jobs wait for that */
    hello_warn_of_jobs(h);
  if (code == DX_OK) {
    code = hello_check_sending(h, has_results, &sending_err);
    err = &sending_err;
  }
  if (code == DX_OK)
    hello_tell(h, "done ");
  else
    hello_tell(h, "error %s %s", dx_code_name(code), err->text);
  hello_free(h);
}

/* ---- the steps before the call ---- */

static enum dx_code hello_check_spool(const struct hello *h, struct dx_err *err)
{
  const char *path = h->engine->config->spool_dir;

  EXPECT(h, "the disk of SpoolDir '%s'", path);
  return hello_step(h, "spool", dx_fs_probe(path, err) == DX_OK, "%s", path)
             ? DX_OK
             : dx_user_advise_writer(err);
}

static enum dx_code hello_get_token(struct hello *h, struct dx_err *err)
{
  const struct dx_service *service = h->svc->service;
  const struct dx_token_source_info *source = &dx_token_sources[service->token];
  char name[DX_USER_BYTES];
  bool is_ok;

  if (source->limit_s > 0)
    EXPECT(h, "%s, at most %d s", source->directive, source->limit_s);
  else
    EXPECT(h, "%s", source->directive);
  h->token =
      (struct dx_token){.service = service, .stop_fd = h->engine->stop_fd};
  is_ok = dx_token_get(&h->token, 0, &h->token_text, err) == DX_OK;
  if (service->token == DX_TOKEN_KEY)
    (void)hello_step(h, "token", is_ok, "signed with %s, key id %s",
                     dx_algorithm_names[service->token_algorithm],
                     engine_key_id(service->token_key_id));
  else
    (void)hello_step(h, "token", is_ok, "from %s", source->directive);
  if (is_ok)
    return DX_OK;
  if (err->sys_errno == ENOENT)
    return dx_fail_advice(err, "put it there, or fix the path");
  if (err->sys_errno != EACCES) /* else it exists, but cannot be read */
    return err->code;
  dx_user_name_of(geteuid(), name);
  return dx_fail_advice(
      err, "docextractd runs as '%s', which must be able to use it", name);
}

/* ---- the steps after the call ---- */

static bool is_https(const struct hello *h)
{
  return strncmp(h->svc->service->base_url, "https:", 6) == 0;
}

/* False: the difference is small enough. */
static bool is_clock_off(const struct dx_http_response *response,
                         char ret_text[128])
{
  int64_t off_ms = response->date_ms - dx_wall_ms();

  (void)snprintf(
      ret_text, 128, DX_HELLO_CLOCK "%lld s %s that of the service; correct it",
      (llabs(off_ms) + 500) / 1000, off_ms > 0 ? "behind" : "ahead of");
  return response->date_ms >= 0 && llabs(off_ms) > DX_CLOCK_SKEW_S * 1000;
}

/* Whether there was a connection; if not, there is no response (E_NET). err:
 * the meaning of the response. */
static enum dx_code
hello_check_connection(const struct hello *h,
                       const struct dx_http_response *response,
                       struct dx_err *err)
{
  const char *host = h->has_proxy ? "the proxy" : h->svc->service->host;
  const char *address = response->address;
  int e = response->err.sys_errno;

  if (!hello_step(h, "name", response->was_resolved, "%s%s%s", host,
                  address[0] != '\0' ? " is " : "", address))
    return h->has_proxy /* the message names it */
               ? dx_fail_advice(err, "check Proxy")
               : dx_fail(err, DX_E_NET, 0,
                         "cannot resolve %s; check BaseURL and the name "
                         "servers of this computer",
                         host);
  if (!hello_step(h, "connection", response->was_connected, "%s port %d",
                  address, response->port))
    return h->has_proxy
               ? dx_fail_advice(err, "check Proxy and the firewall")
               : dx_fail(err, DX_E_NET, e,
                         "cannot connect to %s: %s; check BaseURL and the "
                         "firewall, or set Proxy",
                         h->peer, strerror(e != 0 ? e : ETIMEDOUT));
  if (response->proxy_status != 0) {
    (void)hello_step(h, "proxy", false, "%s", "");
    return err->code; /* the message names the proxy, and says what to do */
  }
  if (!is_https(h))
    (void)hello_step(h, "certificate", true,
                     "none: plain HTTP to this computer");
  else if (!hello_step(h, "certificate", h->is_ready, "trusted"))
    return err->code == DX_E_CERT /* the message contains advice */
               ? err->code
               : dx_fail_advice(
                     err, "check that %sthe port of BaseURL supports HTTPS",
                     h->has_proxy ? "Proxy is right, and " : "");
  return DX_OK;
}

/* What the service responded. err: the meaning of the response. */
static enum dx_code
hello_check_response(const struct hello *h,
                     const struct dx_http_response *response,
                     const char *greeting, struct dx_err *err)
{
  bool is_ok = err->code == DX_OK;
  char clock[128];
  bool is_off = is_clock_off(response, clock);

  if (!hello_step(h, "response", is_ok || err->code == DX_E_TOKEN, "status %d",
                  response->status))
    return dx_fail_advice(
        err, "%s",
        err->code == DX_E_REJECTED
            ? "check BaseURL, or ask the operator of the service"
        : dx_class_of(err->code) == DX_CL_CONFIG || err->code == DX_E_REFUSED
            ? "check BaseURL"
        : err->code == DX_E_RATE
            ? "try again later, or lower APIRate"
            : "try again later; print jobs wait until then");
  if (!hello_step(h, "token accepted", is_ok, "yes"))
    return dx_fail_advice(
        err, "%s",
        is_off ? clock
        : dx_is_web_page(response->body)
            ? "it must let requests to BaseURL pass unchanged"
            : dx_token_sources[h->svc->service->token].advice);
  hello_tell(h, "line %s", greeting);
  if (is_off)
    hello_tell(h, "line warning: %s", clock);
  return DX_OK;
}

/* ---- the storage ---- */

static void hello_storage_done(void *ctx,
                               const struct dx_http_response *response)
{
  struct hello *h = ctx;
  bool has_tls = strncmp(h->storage, "https:", 6) == 0;

  struct dx_err err = response->err;

  h->call = NULL;
  if (!hello_step(h, "storage", err.code == DX_OK, "%s%s", response->host,
                  has_tls ? ", certificate trusted" : "")) {
    /* The next upload may be to another one. */
    (void)dx_fail(&err, err.code, err.sys_errno,
                  "the storage of the last upload: %s", response->err.text);
    if (response->was_resolved && !response->was_connected &&
        err.code == DX_E_NET)
      (void)dx_fail_advice(&err, h->has_proxy
                                     ? "check Proxy and the firewall"
                                     : "check the firewall, or set Proxy");
  }
  hello_end(h, err.code, &err);
}

/* Connects to the host of the last upload URL, if there was one. */
static void hello_check_storage(struct hello *h)
{
  const struct dx_api api = {
      h->engine->http, h->svc->service, NULL, NULL, hello_storage_done, NULL, h,
      &h->call};
  struct dx_err err = {.code = DX_OK};

  if (dx_storage_last(h->svc->host->limit.history_dirfd, h->svc->service->name,
                      h->storage)) {
    EXPECT(h, "a connection to the storage, at most %d s",
           DX_CONNECT_TIMEOUT_MS / 1000);
    if (dx_api_reach(&api, h->storage, &err) == DX_OK)
      return;
    (void)hello_step(h, "storage", false, "%s", "");
  }
  hello_end(h, err.code, &err);
}

/* ---- the call ---- */

static bool hello_ready(void *ctx)
{
  struct hello *h = ctx;

  h->is_ready = engine_leave_in_slot(&h->slot, NULL);
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
  struct dx_err err = {.code = DX_OK};
  char *greeting = NULL;
  enum dx_code code;

  h->call = NULL;
  engine_release_slot(&h->slot, response);
  if (response->err.code == DX_E_NOT_SENT)
    return; /* waits for the next slot */
  code = dx_read_hello(response, &greeting, &err);
  if (code == DX_OK)
    dx_rate_limit_up(limit);
  else if (code == DX_E_RATE)
    dx_rate_limit_refused(limit, h->svc->service->api_rate, slot_ms,
                          response->retry_after_ms);
  code = hello_check_connection(h, response, &err);
  if (code == DX_OK)
    code = hello_check_response(h, response, greeting, &err);
  free(greeting);
  if (code == DX_OK)
    hello_check_storage(h);
  else
    hello_end(h, code, &err);
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
                                            hello_done, NULL, h, &h->call},
                     DX_CALL_HELLO, NULL, NULL, &err);
  if (code != DX_OK)
    hello_end(h, code, &err);
}

/* ---- the interface ---- */

enum dx_code dx_engine_hello(struct dx_engine *engine, const char *service,
                             dx_hello_tell *tell, void *ctx, struct dx_err *err)
{
  struct service_state *svc = engine_service_named(engine, service);
  struct dx_err step_err;
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
  if (hello_check_spool(h, &step_err) != DX_OK ||
      hello_get_token(h, &step_err) != DX_OK)
    hello_end(h, step_err.code, &step_err);
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
