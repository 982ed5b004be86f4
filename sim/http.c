/*
 * http.c - what both ports have in common: a request from its arrival to its
 * answer, the faults that befall it, and its line in the log.
 */
#include "sim/http.h"

#include "sim/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADER_BYTES 512
#define FOREVER (-1)

bool sim_request_is_done(const struct sim_request *r)
{
  switch (r->fault.action) {
  case SIM_ACT_STATUS:
  case SIM_ACT_DROP:
  case SIM_ACT_GARBAGE:
  case SIM_ACT_BODY:
  case SIM_ACT_HANG:
  case SIM_ACT_REDIRECT:
    return false;
  default:
    return true;
  }
}

const char *sim_request_header(const struct sim_request *r, const char *name)
{
  return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static void request_free(struct sim_request *r)
{
  r->port->end(r);
  sim_fault_free(&r->fault);
  sim_buf_free(&r->names);
  sim_buf_free(&r->body);
  free(r->path);
  free(r->method);
  free(r);
}

static void fill_line(struct sim_request *r, const char *version)
{
  const char *coding = sim_request_header(r, "Transfer-Encoding");

  r->line.at_ns = sim_mono_ns();
  r->line.method = r->method;
  r->line.path = r->path;
  r->line.http = strncmp(version, "HTTP/", 5) == 0 ? version + 5 : version;
  r->line.content_type = sim_request_header(r, "Content-Type");
  r->line.auth = sim_request_header(r, "Authorization") != NULL;
  r->line.expect = sim_request_header(r, "Expect") != NULL;
  r->line.chunked = coding != NULL && strcasecmp(coding, "chunked") == 0;
}

/* Starts a request whose headers have arrived. NULL: no memory. */
static struct sim_request *request_new(const struct sim_listener *l,
                                       struct MHD_Connection *connection,
                                       const char *url, const char *method,
                                       const char *version)
{
  struct sim_request *r = calloc(1, sizeof(*r));

  if (r == NULL)
    return NULL;
  r->service = l->service;
  r->port = l->port;
  r->connection = connection;
  r->upload.fd = -1;
  r->path = strdup(url);
  r->method = strdup(method);
  if (r->path == NULL || r->method == NULL) {
    request_free(r);
    return NULL;
  }
  fill_line(r, version);
  r->line.call = r->port->classify(method, url);
  sim_faults_next(l->service->faults, r->line.call, &r->line.n, &r->fault);
  r->line.fault = sim_action_word(r->fault.action);
  r->port->begin(r);
  return r;
}

/* Waits; ends early when the program ends or, if asked for, the client. */
static void wait_ms(const struct sim_request *r, int64_t ms, bool for_client)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  int fd = for_client && info != NULL ? info->connect_fd : -1;
  struct pollfd p[2] = {{r->service->stop_fd, POLLIN, 0}, {fd, POLLRDHUP, 0}};
  int64_t end = sim_mono_ms() + ms;

  for (;;) {
    int64_t left = ms == FOREVER ? FOREVER : end - sim_mono_ms();

    if (ms != FOREVER && left <= 0)
      return;
    if (poll(p, 2, (int)left) != 0 && errno != EINTR)
      return;
    if (p[0].revents != 0 || p[1].revents != 0)
      return;
  }
}

/* The fault's "Name: value" in two; `name` has HEADER_BYTES bytes. */
static void split_header(const struct sim_fault *f, char *name,
                         struct sim_answer *a)
{
  size_t n = f->text == NULL ? 0 : strcspn(f->text, ":");

  if (n == 0 || n >= HEADER_BYTES)
    return;
  memcpy(name, f->text, n);
  name[n] = '\0';
  a->header = name;
  a->value = f->text + n + strspn(f->text + n, ": ");
}

/* The answer the script gives in place of the call's own. */
static void answer_fault(struct sim_request *r, char *name,
                         struct sim_answer *a)
{
  switch (r->fault.action) {
  case SIM_ACT_STATUS:
  case SIM_ACT_AFTER_STATUS:
    r->port->error(a, r->fault.code);
    split_header(&r->fault, name, a);
    break;
  case SIM_ACT_REDIRECT:
    r->port->error(a, MHD_HTTP_TEMPORARY_REDIRECT);
    a->header = "Location";
    a->value = r->fault.text;
    break;
  case SIM_ACT_GARBAGE:
    a->status = MHD_HTTP_OK;
    a->type = "text/html";
    sim_buf_str(&a->body, "<html><body>Maintenance</body></html>\n");
    break;
  case SIM_ACT_BODY:
    a->status = MHD_HTTP_OK;
    a->type = "application/json";
    if (r->fault.text != NULL)
      sim_buf_str(&a->body, r->fault.text);
    break;
  default:
    break;
  }
}

static void write_log(struct sim_request *r, unsigned status)
{
  r->logged = true;
  r->line.status = status;
  r->line.source_id = r->source_id[0] == '\0' ? NULL : r->source_id;
  r->line.names = r->names.len == 0 ? NULL : r->names.data;
  sim_log_write(r->service->log, &r->line);
}

/* Ends the connection in the middle of a body that promised more. */
static ssize_t cut_short(void *cls, uint64_t pos, char *buf, size_t max)
{
  const struct sim_buf *body = cls;
  size_t half = body->len / 2;
  size_t n;

  if (pos >= half)
    return MHD_CONTENT_READER_END_WITH_ERROR;
  n = half - (size_t)pos < max ? half - (size_t)pos : max;
  memcpy(buf, body->data + pos, n);
  return (ssize_t)n;
}

static void free_short(void *cls)
{
  sim_buf_free(cls);
  free(cls);
}

static struct MHD_Response *short_response(struct sim_answer *a)
{
  struct sim_buf *body = malloc(sizeof(*body));

  if (body == NULL)
    return NULL;
  if (a->body.len == 0) { /* an empty answer cannot be cut */
    a->status = MHD_HTTP_OK;
    sim_buf_str(&a->body, "{\"status\":200}");
  }
  *body = a->body;
  a->body = (struct sim_buf){0};
  return MHD_create_response_from_callback(body->len, 4096, cut_short, body,
                                           free_short);
}

static struct MHD_Response *whole_response(struct sim_answer *a)
{
  size_t len = a->body.len;
  char *body = sim_buf_take(&a->body);
  struct MHD_Response *response;

  if (body == NULL)
    return NULL;
  response = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);
  if (response == NULL)
    free(body);
  return response;
}

static void add_headers(const struct sim_request *r, const struct sim_answer *a,
                        struct MHD_Response *response)
{
  char date[SIM_HTTP_DATE_BYTES];

  sim_http_date(sim_server_s(r->service->options->skew_s), date);
  (void)MHD_add_response_header(response, "Date", date);
  if (a->type != NULL)
    (void)MHD_add_response_header(response, "Content-Type", a->type);
  if (a->header != NULL && a->value != NULL)
    (void)MHD_add_response_header(response, a->header, a->value);
}

static enum MHD_Result send_answer(struct sim_request *r, struct sim_answer *a)
{
  bool cut = r->fault.action == SIM_ACT_SHORT;
  struct MHD_Response *response = cut ? short_response(a) : whole_response(a);
  enum MHD_Result result;

  sim_buf_free(&a->body);
  if (response == NULL)
    return MHD_NO;
  add_headers(r, a, response);
  write_log(r, a->status);
  result = MHD_queue_response(r->connection, a->status, response);
  MHD_destroy_response(response);
  return result;
}

/* MHD ends the connection when a handler says MHD_NO. */
static enum MHD_Result close_silently(struct sim_request *r,
                                      struct sim_answer *a)
{
  sim_buf_free(&a->body);
  write_log(r, 0);
  return MHD_NO;
}

/* The whole request is there: do it, as far as the script lets us. */
static enum MHD_Result finish(struct sim_request *r)
{
  char name[HEADER_BYTES];
  struct sim_answer a = {0};

  if (r->fault.action == SIM_ACT_DELAY)
    wait_ms(r, r->fault.delay_ms, false);
  if (r->fault.action == SIM_ACT_HANG)
    wait_ms(r, FOREVER, true);
  if (sim_request_is_done(r))
    r->port->perform(r, &a);
  if (r->fault.action == SIM_ACT_AFTER_STATUS) {
    sim_buf_free(&a.body);
    a = (struct sim_answer){0};
  }
  answer_fault(r, name, &a);
  switch (r->fault.action) {
  case SIM_ACT_CLOSE:
  case SIM_ACT_DROP:
  case SIM_ACT_HANG:
    return close_silently(r, &a);
  default:
    return send_answer(r, &a);
  }
}

enum MHD_Result sim_http_handle(void *cls, struct MHD_Connection *connection,
                                const char *url, const char *method,
                                const char *version, const char *data,
                                size_t *len, void **con_cls)
{
  struct sim_request *r = *con_cls;

  if (r == NULL) {
    r = request_new(cls, connection, url, method, version);
    *con_cls = r;
    if (r == NULL)
      return MHD_NO;
    return r->answer_now ? finish(r) : MHD_YES;
  }
  if (*len > 0) {
    size_t n = *len;

    *len = 0;
    r->line.bytes += n;
    return r->port->piece(r, data, n) ? MHD_YES : MHD_NO;
  }
  return finish(r);
}

void sim_http_completed(void *cls, struct MHD_Connection *connection,
                        void **con_cls, enum MHD_RequestTerminationCode code)
{
  struct sim_request *r = *con_cls;

  (void)cls;
  (void)connection;
  (void)code;
  if (r == NULL)
    return;
  if (!r->logged) /* the client went before all was there */
    write_log(r, 0);
  request_free(r);
  *con_cls = NULL;
}
