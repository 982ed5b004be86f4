/*
 * request.c - handles a request: receives it, applies its faults, responds, and
 * logs it.
 */
#include "sim/sim.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FOREVER (-1)

/*
 * Appends a line for each request, in one write(), before its response is sent,
 * so that a client that has the response finds the line.
 */
static void request_log(struct sim_request *r, unsigned status)
{
  const char *coding = sim_call_header(r, "Transfer-Encoding");
  cJSON *line;
  char *json, *text;
  size_t len;

  if (sim_service.log_fd < 0 || r->logged)
    return;
  r->logged = true;
  line = cJSON_CreateObject();
  (void)cJSON_AddNumberToObject(line, "t", (double)r->at_ms / 1000);
  (void)cJSON_AddStringToObject(line, "call", sim_call_words[r->call]);
  (void)cJSON_AddNumberToObject(line, "n", (double)r->n);
  (void)cJSON_AddStringToObject(line, "path", r->path);
  (void)cJSON_AddNumberToObject(line, "status", status);
  if (r->source_id[0] != '\0')
    (void)cJSON_AddStringToObject(line, "source_id", r->source_id);
  if (r->call == SIM_CREATE)
    (void)cJSON_AddNumberToObject(line, "files", cJSON_GetArraySize(r->names));
  if (r->names != NULL)
    (void)cJSON_AddItemReferenceToObject(line, "names", r->names);
  (void)cJSON_AddNumberToObject(line, "bytes", (double)r->bytes);
  if (r->fault.word != NULL)
    (void)cJSON_AddStringToObject(line, "fault", r->fault.word);
  if (r->token_error != NULL)
    (void)cJSON_AddStringToObject(line, "token_error", r->token_error);
  (void)cJSON_AddBoolToObject(line, "auth",
                              sim_call_header(r, "Authorization") != NULL);
  (void)cJSON_AddBoolToObject(line, "expect",
                              sim_call_header(r, "Expect") != NULL);
  (void)cJSON_AddBoolToObject(
      line, "chunked", coding != NULL && strcasecmp(coding, "chunked") == 0);
  json = sim_new(cJSON_PrintUnformatted(line));
  text = sim_text("%s\n", json);
  len = strlen(text);
  if (write(sim_service.log_fd, text, len) != (ssize_t)len)
    warn("cannot write to the log");
  free(text);
  free(json);
  cJSON_Delete(line);
}

/* Waits; ends early if the program stops or, with for_client, if the client
 * disconnects. */
static void request_wait(const struct sim_request *r, int64_t ms,
                         bool for_client)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  int fd = for_client && info != NULL ? info->connect_fd : -1;
  struct pollfd p[2] = {{sim_service.stop_fd, POLLIN, 0}, {fd, POLLRDHUP, 0}};

  while (poll(p, 2, (int)ms) < 0 && errno == EINTR)
    continue;
}

/* Before the connection is closed: the script may require a reset. */
static void request_prepare_end(const struct sim_request *r)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  const struct sockaddr none = {.sa_family = AF_UNSPEC};

  /* SO_LINGER has no effect, because MHD calls shutdown() first. */
  if (r->fault.arg[SIM_ACT_RESET] != NULL && info != NULL)
    (void)connect(info->connect_fd, &none, sizeof(none));
}

/* Writes a part of the body to its file, so that the use of memory does not
 * depend on its size. MHD_NO closes the connection. */
static enum MHD_Result request_store_body(struct sim_request *r,
                                          const char *data, size_t len)
{
  uint64_t rest = r->fault.arg[SIM_ACT_CUT] != NULL
                      ? sim_fault_number(&r->fault, SIM_ACT_CUT) - r->bytes
                      : UINT64_MAX;
  bool is_cut = len > rest;
  ssize_t n = 0;

  if (is_cut) {
    len = rest;
    request_prepare_end(r);
  }
  r->bytes += len;
  if (!r->is_storage && r->bytes > SIM_FILE_BYTES_MAX)
    return MHD_YES;
  if (r->body_path == NULL) {
    r->body_path = sim_text("%s/.put-XXXXXX", sim_service.data_dir);
    r->body_fd = mkostemp(r->body_path, O_CLOEXEC);
  }
  for (; r->body_fd >= 0 && n >= 0 && len > 0; data += n, len -= (size_t)n)
    n = write(r->body_fd, data, len);
  if (r->body_fd >= 0 && n >= 0)
    return is_cut ? MHD_NO : MHD_YES;
  warn("cannot store a request");
  return MHD_NO;
}

static void request_drop_body(struct sim_request *r)
{
  if (r->body_fd >= 0)
    (void)close(r->body_fd);
  if (r->body_path != NULL)
    (void)unlink(r->body_path);
  free(r->body_path);
  r->body_path = NULL;
  r->body_fd = -1;
}

/* A body that is cut off halfway, or sent byte by byte. */
static ssize_t response_send_slowly(void *cls, uint64_t pos, char *buf,
                                    size_t max)
{
  const struct sim_request *r = cls;
  size_t n = r->response.len / 2 - (size_t)pos;

  if (r->fault.arg[SIM_ACT_DRIP] != NULL) {
    request_wait(r, sim_fault_number(&r->fault, SIM_ACT_DRIP), true);
    n = 1;
  } else if (n == 0) {
    request_prepare_end(r);
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
  n = n < max ? n : max;
  memcpy(buf, r->response.body + pos, n);
  return (ssize_t)n;
}

/* Adds "Name: value"; adds nothing if `text` is NULL or "". */
static void response_add_header(struct MHD_Response *response, const char *text)
{
  char *name = text == NULL ? NULL : strdup(text);
  char *value = name == NULL ? NULL : strstr(name, ": ");

  if (value != NULL) {
    *value = '\0';
    (void)MHD_del_response_header(response, name,
                                  MHD_get_response_header(response, name));
    (void)MHD_add_response_header(response, name, value + 2);
  }
  free(name);
}

/* Replaces the response of the call, or parts of it, as the script
 * specifies. */
static void response_apply_fault(struct sim_request *r)
{
  struct sim_response *a = &r->response;
  const char *const *arg = r->fault.arg;
  const char *body = arg[SIM_ACT_GARBAGE] != NULL
                         ? "<html><body>Maintenance</body></html>\n"
                         : arg[SIM_ACT_BODY];
  unsigned status = sim_fault_number(&r->fault, SIM_ACT_STATUS);

  if (status == 0)
    status = sim_fault_number(&r->fault, SIM_ACT_AFTER_STATUS);
  if (status != 0) {
    free(a->body);
    *a = (struct sim_response){0};
    sim_call_fail(r, status);
  }
  if (body != NULL) {
    free(a->body);
    a->body = strdup(body);
    a->type = strncmp(body, "<?xml", 5) == 0 || strncmp(body, "<Error>", 7) == 0
                  ? "application/xml"
              : *body == '<' ? "text/html"
                             : "application/json";
    a->status = status != 0 ? status : MHD_HTTP_OK;
  }
  if (arg[SIM_ACT_EMPTY] != NULL) {
    free(a->body);
    a->body = NULL;
    a->status = status != 0 ? status : MHD_HTTP_OK;
  }
  if (arg[SIM_ACT_EDIT] != NULL)
    (void)sim_fault_edit(arg[SIM_ACT_EDIT], &a->body);
  if (arg[SIM_ACT_SHORT] != NULL && a->body == NULL) {
    a->status = MHD_HTTP_OK; /* an empty body cannot be cut */
    a->body = strdup("{\"status\":200}");
  }
}

/* The script may prevent it. */
static bool request_is_performed(const struct sim_fault *f)
{
  return f->arg[SIM_ACT_AFTER_STATUS] != NULL ||
         (f->arg[SIM_ACT_STATUS] == NULL && f->arg[SIM_ACT_BODY] == NULL &&
          f->arg[SIM_ACT_GARBAGE] == NULL && f->arg[SIM_ACT_EMPTY] == NULL &&
          f->arg[SIM_ACT_DROP] == NULL && f->arg[SIM_ACT_HANG] == NULL);
}

/* Performs the request, unless the script prevents it, and responds. */
static enum MHD_Result request_respond(struct sim_request *r)
{
  const char *const *arg = r->fault.arg;
  const char *status = arg[SIM_ACT_STATUS] != NULL ? arg[SIM_ACT_STATUS]
                                                   : arg[SIM_ACT_AFTER_STATUS];
  struct sim_response *a = &r->response;
  char date[64];
  struct tm tm;
  time_t now;
  struct MHD_Response *response;
  enum MHD_Result result;

  if (arg[SIM_ACT_DELAY] != NULL)
    request_wait(r, sim_fault_number(&r->fault, SIM_ACT_DELAY), false);
  if (arg[SIM_ACT_HANG] != NULL)
    request_wait(r, FOREVER, true);
  if (request_is_performed(&r->fault))
    sim_call_perform(r);
  request_drop_body(r);
  response_apply_fault(r);
  if (arg[SIM_ACT_CLOSE] != NULL || arg[SIM_ACT_DROP] != NULL ||
      arg[SIM_ACT_HANG] != NULL) {
    request_log(r, 0);
    request_prepare_end(r);
    return MHD_NO; /* closes the connection */
  }
  a->len = a->body == NULL ? 0 : strlen(a->body);
  if (a->len > 0 && (arg[SIM_ACT_DRIP] != NULL || arg[SIM_ACT_SHORT] != NULL))
    response = MHD_create_response_from_callback(a->len, 4096,
                                                 response_send_slowly, r, NULL);
  else
    response = MHD_create_response_from_buffer(a->len, a->body,
                                               MHD_RESPMEM_PERSISTENT);
  response = sim_new(response);
  now = (time_t)sim_server_s();
  (void)strftime(date, sizeof(date), "Date: %a, %d %b %Y %H:%M:%S GMT",
                 gmtime_r(&now, &tm));
  response_add_header(response, date);
  if (a->type != NULL)
    (void)MHD_add_response_header(response, "Content-Type", a->type);
  response_add_header(response, a->header);
  if (status != NULL)
    response_add_header(response, status + strspn(status, "0123456789 "));
  response_add_header(response, arg[SIM_ACT_HEADER]);
  request_log(r, a->status);
  result = MHD_queue_response(r->connection, a->status, response);
  MHD_destroy_response(response);
  return result;
}

void *sim_request_begin(void *cls, const char *uri,
                        struct MHD_Connection *connection)
{
  struct sim_request *r = sim_new(calloc(1, sizeof(*r)));

  r->is_storage = cls != NULL;
  r->connection = connection;
  r->uri = sim_new(strdup(uri));
  r->body_fd = -1;
  return r;
}

/* Called when the headers have arrived. */
static enum MHD_Result request_start(struct sim_request *r, const char *url,
                                     const char *method)
{
  r->at_ms = sim_now_ms();
  r->at_s = sim_server_s();
  r->path = sim_new(strdup(url));
  sim_call_find(r, method);
  sim_script_next(r->call, &r->n, &r->fault);
  return r->call == SIM_PUT ? request_store_body(r, NULL, 0) /* may be empty */
                            : MHD_YES;
}

enum MHD_Result sim_request_handle(void *cls, struct MHD_Connection *connection,
                                   const char *url, const char *method,
                                   const char *version, const char *data,
                                   size_t *len, void **con_cls)
{
  struct sim_request *r = *con_cls;
  size_t n = *len;

  (void)cls;
  (void)connection;
  (void)version;
  if (r->path == NULL)
    return request_start(r, url, method);
  if (n == 0)
    return request_respond(r);
  *len = 0;
  return request_store_body(r, data, n);
}

void sim_request_completed(void *cls, struct MHD_Connection *connection,
                           void **con_cls, enum MHD_RequestTerminationCode code)
{
  struct sim_request *r = *con_cls;

  (void)cls;
  (void)connection;
  if (r == NULL)
    return;
  if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK && r->path != NULL)
    sim_call_lost(r);
  request_drop_body(r);
  if (r->path != NULL)
    request_log(r, 0); /* if not logged yet: the client disconnected */
  free(r->response.body);
  free(r->fault.script);
  cJSON_Delete(r->names);
  free(r->path);
  free(r->uri);
  free(r);
  *con_cls = NULL;
}
