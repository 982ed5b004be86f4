/*
 * storage.c - the object storage: takes the PUT of a signed address.
 */
#include "sim/storage.h"

#include "sim/clock.h"
#include "sim/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A refused body is read up to here, so that the client sees the answer. */
#define DRAIN_BYTES_MAX (64u << 20)

static enum sim_call classify(const char *method, const char *path)
{
  (void)path;
  return strcmp(method, "PUT") == 0 ? SIM_PUT : SIM_OTHER;
}

/* Errors look like those of the common object storages. */
static void answer_xml(struct sim_answer *a, unsigned status, const char *code,
                       const char *message)
{
  a->status = status;
  if (status == MHD_HTTP_NO_CONTENT || status == MHD_HTTP_NOT_MODIFIED)
    return;
  a->type = "application/xml";
  sim_buf_addf(&a->body,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<Error><Code>%s</Code><Message>%s</Message></Error>\n",
               code, message);
}

static void error(struct sim_answer *a, unsigned status)
{
  if (status < 300) {
    a->status = status;
    return;
  }
  answer_xml(a, status, status < 500 ? "RequestError" : "InternalError",
             "We encountered a problem. Please try again.");
}

static void refuse(struct sim_request *r, unsigned status, const char *code,
                   const char *message)
{
  r->upload.refused = status;
  r->upload.code = code;
  r->upload.message = message;
}

/* Finds source and file in /images/<id>/SOURCE_FILES/<id>_<n>. */
static bool read_path(const char *path, struct sim_upload *u)
{
  char *again = NULL;
  char id[SIM_ID_BYTES];
  bool same;

  if (sscanf(path, "/images/%26[0-9A-Z]/SOURCE_FILES/%*26[0-9A-Z]_%zu", id,
             &u->index) != 2 ||
      asprintf(&again, "/images/%s/SOURCE_FILES/%s_%zu", id, id, u->index) < 0)
    return false;
  same = sim_id_valid(id) && strcmp(path, again) == 0;
  free(again);
  if (same)
    memcpy(u->source_id, id, sizeof(id));
  return same;
}

static const char *query_value(const struct sim_request *r, const char *name)
{
  return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND,
                                     name);
}

static void check_signature(struct sim_request *r)
{
  const struct sim_query query = {query_value(r, "X-Amz-Date"),
                                  query_value(r, "X-Amz-Expires"),
                                  query_value(r, "X-Amz-Signature")};

  switch (sim_sign_check(&r->service->signer, r->path, r->line.content_type,
                         &query, sim_server_s(r->service->options->skew_s))) {
  case SIM_SIGN_GOOD:
    break;
  case SIM_SIGN_WRONG:
    refuse(r, MHD_HTTP_FORBIDDEN, "SignatureDoesNotMatch",
           "The request signature does not match");
    break;
  case SIM_SIGN_EXPIRED:
    refuse(r, MHD_HTTP_FORBIDDEN, "AccessDenied", "Request has expired");
    break;
  }
}

/* Looks at the headers; what is wrong is noted as the refusal. */
static void check_upload(struct sim_request *r, uint64_t length)
{
  const struct sim_options *o = r->service->options;

  if (r->line.auth)
    refuse(r, MHD_HTTP_BAD_REQUEST, "InvalidArgument",
           "Only one auth mechanism allowed");
  else if (sim_request_header(r, "Content-Length") == NULL)
    refuse(r, MHD_HTTP_LENGTH_REQUIRED, "MissingContentLength",
           "You must provide the Content-Length HTTP header");
  else
    check_signature(r);
  if (r->upload.refused != 0)
    return;
  if (!sim_store_has_file(r->service->store, r->upload.source_id,
                          r->upload.index))
    refuse(r, MHD_HTTP_NOT_FOUND, "NoSuchKey",
           "The specified key does not exist");
  else if (o->max_size > 0 && length > (uint64_t)o->max_size)
    refuse(r, MHD_HTTP_CONTENT_TOO_LARGE, "EntityTooLarge",
           "Your proposed upload exceeds the maximum allowed size");
}

static void refuse_disk(struct sim_request *r)
{
  (void)fprintf(stderr, "docextract-sim: cannot store an upload: %s\n",
                strerror(errno));
  refuse(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "InternalError",
         "We encountered an internal error. Please try again.");
}

static void open_upload(struct sim_request *r)
{
  struct sim_upload *u = &r->upload;

  if (asprintf(&u->tmp, "%s/.put-XXXXXX", r->service->data_dir) < 0) {
    u->tmp = NULL;
    refuse_disk(r);
    return;
  }
  u->fd = mkostemp(u->tmp, O_CLOEXEC);
  if (u->fd >= 0)
    return;
  refuse_disk(r);
  free(u->tmp);
  u->tmp = NULL;
}

static void begin(struct sim_request *r)
{
  const char *text = sim_request_header(r, "Content-Length");
  uint64_t length = text == NULL ? 0 : strtoull(text, NULL, 10);

  if (r->line.call != SIM_PUT || !sim_request_is_done(r))
    return;
  if (read_path(r->path, &r->upload))
    memcpy(r->source_id, r->upload.source_id, sizeof(r->source_id));
  check_upload(r, length);
  if (r->upload.refused == 0)
    open_upload(r);
  r->answer_now =
      r->upload.refused != 0 && (r->line.expect || length > DRAIN_BYTES_MAX);
}

static bool piece(struct sim_request *r, const char *data, size_t len)
{
  if (r->upload.fd < 0) /* the script or a refusal: read and forget */
    return r->upload.refused == 0 || r->line.bytes <= DRAIN_BYTES_MAX;
  if (!sim_write_all(r->upload.fd, data, len)) {
    refuse_disk(r);
    (void)close(r->upload.fd);
    r->upload.fd = -1;
  }
  return true;
}

/* Gives the file its place and tells the store; false on disk trouble. */
static bool keep_file(struct sim_request *r)
{
  struct sim_upload *u = &r->upload;
  char *path = NULL;
  bool kept;

  if (asprintf(&path, "%s/%s_%zu", r->service->data_dir, u->source_id,
               u->index) < 0)
    return false;
  kept = rename(u->tmp, path) == 0;
  free(path);
  if (!kept)
    return false;
  free(u->tmp);
  u->tmp = NULL;
  sim_store_arrived(r->service->store, u->source_id, u->index);
  return true;
}

static void perform(struct sim_request *r, struct sim_answer *a)
{
  const struct sim_upload *u = &r->upload;

  if (r->line.call != SIM_PUT) {
    answer_xml(a, MHD_HTTP_METHOD_NOT_ALLOWED, "MethodNotAllowed",
               "The specified method is not allowed");
    a->header = "Allow";
    a->value = "PUT";
    return;
  }
  if (u->refused == 0 && r->fault.action != SIM_ACT_LOSE && !keep_file(r))
    refuse_disk(r);
  if (u->refused != 0)
    answer_xml(a, u->refused, u->code, u->message);
  else
    a->status = MHD_HTTP_OK;
}

static void end(struct sim_request *r)
{
  struct sim_upload *u = &r->upload;

  if (u->fd >= 0)
    (void)close(u->fd);
  if (u->tmp != NULL)
    (void)unlink(u->tmp);
  free(u->tmp);
}

const struct sim_port sim_storage_port = {classify, begin, piece,
                                          perform,  error, end};
