/*
 * request.h - a request from its arrival to its response, the faults that
 * happen to it, and its line in the log. Both ports have this in common.
 *
 * Each connection has a thread, so a handler may wait without holding up
 * another. A wait also ends when `stop_fd` becomes readable.
 */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include "sim/fault.h"
#include "sim/options.h"
#include "sim/store.h"
#include "sim/token.h"
#include "sim/util.h"

#include <microhttpd.h>
#include <stdio.h>

#define SIM_SIGNING_KEY_BYTES 32

/* What handlers need. Belongs to main(). */
struct sim_service {
  struct sim_options options;
  struct sim_store *store;
  struct sim_script *script;
  struct sim_token *token;
  unsigned char signing_key[SIM_SIGNING_KEY_BYTES];
  const char *storage_url; /* without a slash at the end */
  char *data_dir;
  int log_fd; /* -1: no log */
  int stop_fd;
};

struct sim_response {
  unsigned status;
  char *body; /* NULL: none; freed when it is sent */
  const char *type;
  const char *header; /* "Name: value", or NULL */
};

/* An upload on its way to the disk. */
struct sim_upload {
  int fd;    /* -1: none */
  char *tmp; /* its hidden name; NULL once it has its place */
  size_t index;
  const struct sim_refusal *refusal;
};

struct sim_request {
  struct sim_service *service;
  const struct sim_port *port;
  struct MHD_Connection *connection;
  int64_t at_ms;
  enum sim_call call;
  uint64_t n; /* among calls of this kind, from 1 */
  struct sim_fault fault;
  char *path;
  char source_id[SIM_ID_BYTES]; /* "": unknown */
  uint64_t bytes;               /* of the body, so far */
  cJSON *names;                 /* create: of the files; NULL: invalid */
  const char *token_error;
  bool over_rate;
  bool respond_now; /* without waiting for the body */
  bool logged;
  FILE *body_stream; /* create: writes to `body` */
  char *body;
  size_t body_len;
  struct sim_upload upload; /* put */
};

/* What distinguishes the two ports. */
struct sim_port {
  struct sim_service *service;
  enum sim_call (*classify)(const char *method, const char *path);
  void (*begin)(struct sim_request *r);
  /* Takes a part of the body; false closes the connection. */
  bool (*receive)(struct sim_request *r, const char *data, size_t len);
  void (*perform)(struct sim_request *r, struct sim_response *response);
  /* An error response with no details. */
  void (*error)(struct sim_response *response, unsigned status);
  void (*end)(struct sim_request *r); /* releases what the others took */
};

extern const struct sim_port sim_api_port;
extern const struct sim_port sim_storage_port;

/* The URL for the upload of the n-th file; the caller frees it. */
char *sim_storage_url(const struct sim_service *s, const char *source_id,
                      size_t n, const char *content_type);

/* The service's wall clock: seconds since 1970, with the skew. */
int64_t sim_server_s(const struct sim_service *s);

/* The value of a request header, or NULL. */
const char *sim_request_header(const struct sim_request *r, const char *name);

/* The handlers for MHD_start_daemon(); cls is a struct sim_port. */
enum MHD_Result sim_request_handle(void *cls, struct MHD_Connection *connection,
                                   const char *url, const char *method,
                                   const char *version, const char *data,
                                   size_t *len, void **con_cls);
void sim_request_completed(void *cls, struct MHD_Connection *connection,
                           void **con_cls,
                           enum MHD_RequestTerminationCode code);

#endif
