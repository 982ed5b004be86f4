/*
 * storage.c - the port of the object storage: accepts PUT to signed URLs.
 *
 * A file is written to disk while it is received, under a hidden name, and then
 * renamed. Memory use does not depend on its size.
 *
 * Source: doc/service-interface.md, "Endpoints".
 */
#include "sim/sim.h"

#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Worded like the errors of common object storages. */
static void storage_refuse(struct sim_response *a, unsigned status,
                           const char *code, const char *message)
{
  a->status = status;
  a->type = "application/xml";
  a->body = sim_text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<Error><Code>%s</Code><Message>%s</Message></Error>\n",
                     code, message);
}

static enum sim_call storage_classify(struct sim_request *r, const char *method)
{
  (void)r;
  return strcmp(method, "PUT") == 0 ? SIM_PUT : SIM_OTHER;
}

static void storage_error(struct sim_response *a, unsigned status)
{
  a->status = status;
  if (status >= 300 && status != MHD_HTTP_NOT_MODIFIED)
    storage_refuse(a, status, status < 500 ? "RequestError" : "InternalError",
                   "We encountered a problem. Please try again.");
}

static const char *storage_query_value(const struct sim_request *r,
                                       const char *name)
{
  const char *value =
      MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);

  return value == NULL ? "" : value;
}

/* Sets source and index of an accepted upload. */
static void storage_check_upload(struct sim_request *r)
{
  const char *type = sim_request_header(r, "Content-Type");
  const char *date = storage_query_value(r, "X-Amz-Date");
  const char *expires = storage_query_value(r, "X-Amz-Expires");
  char *url = sim_store_url(r->path, date, expires,
                            storage_query_value(r, "X-Amz-Signature"));
  const struct sim_file *file;
  char id[SIM_ID_BYTES] = "";
  struct sim_response *refusal = &r->response;

  (void)sscanf(r->path, "/images/%26[^/]/SOURCE_FILES/%*26c_%zu", id,
               &r->upload.index);
  file = sim_store_file(id, r->upload.index);
  if (sim_request_header(r, "Authorization") != NULL)
    storage_refuse(refusal, MHD_HTTP_BAD_REQUEST, "InvalidArgument",
                   "Only one auth mechanism allowed");
  else if (sim_request_header(r, "Content-Length") == NULL)
    storage_refuse(refusal, MHD_HTTP_LENGTH_REQUIRED, "MissingContentLength",
                   "You must provide the Content-Length HTTP header");
  else if (file == NULL || type == NULL || strcmp(file->type, type) != 0 ||
           strcmp(file->url, url) != 0)
    storage_refuse(refusal, MHD_HTTP_FORBIDDEN, "SignatureDoesNotMatch",
                   "The request signature does not match");
  else if (sim_server_s() >= file->expires_at_s)
    storage_refuse(refusal, MHD_HTTP_FORBIDDEN, "AccessDenied",
                   "Request has expired");
  else
    memcpy(r->source_id, id, SIM_ID_BYTES);
  free(url);
}

static void storage_fail_upload(struct sim_request *r)
{
  warn("cannot store an upload");
  storage_refuse(&r->response, MHD_HTTP_INTERNAL_SERVER_ERROR, "InternalError",
                 "We encountered an internal error. Please try again.");
}

static void storage_begin(struct sim_request *r)
{
  struct sim_upload *u = &r->upload;

  if (r->call != SIM_PUT || !sim_fault_performs(&r->fault))
    return;
  storage_check_upload(r);
  if (r->response.status != 0)
    return;
  u->tmp = sim_text("%s/.put-XXXXXX", sim_service.data_dir);
  u->fd = mkostemp(u->tmp, O_CLOEXEC);
  if (u->fd < 0)
    storage_fail_upload(r);
}

/* If the upload is refused, reads the rest of the body, so that the client sees
 * the response. */
static void storage_receive(struct sim_request *r, const char *data, size_t len)
{
  ssize_t n;

  for (; r->upload.fd >= 0 && r->response.status == 0 && len > 0;
       data += n, len -= (size_t)n)
    if ((n = write(r->upload.fd, data, len)) < 0) {
      storage_fail_upload(r);
      return;
    }
}

static void storage_perform(struct sim_request *r)
{
  struct sim_upload *u = &r->upload;
  char *path;

  if (r->call != SIM_PUT) {
    storage_refuse(&r->response, MHD_HTTP_METHOD_NOT_ALLOWED,
                   "MethodNotAllowed", "The specified method is not allowed");
    r->response.header = "Allow: PUT";
  }
  if (r->response.status != 0)
    return;
  path = sim_text(SIM_FILE, sim_service.data_dir, r->source_id, u->index);
  if (rename(u->tmp, path) != 0) {
    storage_fail_upload(r);
  } else {
    free(u->tmp);
    u->tmp = NULL;
    sim_store_file_arrived(r->source_id, u->index);
    r->response.status = MHD_HTTP_OK;
  }
  free(path);
}

const struct sim_port sim_storage_port = {storage_classify, storage_begin,
                                          storage_receive, storage_perform,
                                          storage_error};
