/*
 * http.h - what both ports have in common: a request from its arrival to its
 * answer, the faults that befall it, and its line in the log.
 *
 * Each port runs one thread per connection, so a handler may wait (a delay, a
 * hang, a slow disk) without holding up anybody else. A wait also ends when
 * `stop_fd` becomes readable.
 *
 * A port gives four functions: what call a request is, what to do when its
 * headers are there, with a piece of its body, and at its end.
 */
#ifndef SIM_HTTP_H
#define SIM_HTTP_H

#include "sim/buf.h"
#include "sim/call.h"
#include "sim/fault.h"
#include "sim/id.h"
#include "sim/log.h"
#include "sim/options.h"
#include "sim/rate.h"
#include "sim/sign.h"
#include "sim/store.h"
#include "sim/token.h"

#include <microhttpd.h>

/* Everything a handler needs. Borrowed from main() while the ports run. */
struct sim_service {
  const struct sim_options *options;
  struct sim_store *store;
  struct sim_faults *faults;
  struct sim_log *log;
  struct sim_rate *rate;
  struct sim_token *token;
  struct sim_signer signer;
  const char *storage_url; /* without a slash at its end */
  const char *data_dir;
  int stop_fd;
};

struct sim_answer {
  unsigned status;
  struct sim_buf body; /* released when the answer is sent */
  const char *type;    /* of the body; NULL: no body */
  const char *header;  /* one more header; NULL: none */
  const char *value;
};

/* An upload on its way to the disk. */
struct sim_upload {
  int fd;    /* -1: none */
  char *tmp; /* its hidden name; NULL once it has its place */
  char source_id[SIM_ID_BYTES];
  size_t index;     /* of the file in its source, from 1 */
  unsigned refused; /* status of the refusal; 0: it is welcome */
  const char *code; /* of the refusal, in the words of object storages */
  const char *message;
};

struct sim_request {
  struct sim_service *service;
  const struct sim_port *port;
  struct MHD_Connection *connection;
  struct sim_log_line line; /* its strings live as long as the request */
  struct sim_fault fault;
  bool limited;    /* too many calls in this second */
  bool answer_now; /* do not wait for the body */
  bool logged;
  char *path;
  char *method;
  char source_id[SIM_ID_BYTES]; /* for the log; empty: unknown */
  struct sim_buf names;         /* for the log */
  struct sim_buf body;          /* API calls */
  struct sim_upload upload;     /* PUTs */
};

struct sim_port {
  enum sim_call (*classify)(const char *method, const char *path);
  void (*begin)(struct sim_request *r);
  /* false: close the connection */
  bool (*piece)(struct sim_request *r, const char *data, size_t len);
  void (*perform)(struct sim_request *r, struct sim_answer *a);
  void (*error)(struct sim_answer *a, unsigned status); /* a plain one */
  void (*end)(struct sim_request *r); /* releases what begin() took */
};

/* Cls of a port's daemon. */
struct sim_listener {
  struct sim_service *service;
  const struct sim_port *port;
};

/* Whether the script wants the call itself to be done. */
bool sim_request_is_done(const struct sim_request *r);

/* The value of a request header; NULL when there is none. */
const char *sim_request_header(const struct sim_request *r, const char *name);

/* The handlers for MHD_start_daemon(); cls is a struct sim_listener. */
enum MHD_Result sim_http_handle(void *cls, struct MHD_Connection *connection,
                                const char *url, const char *method,
                                const char *version, const char *data,
                                size_t *len, void **con_cls);
void sim_http_completed(void *cls, struct MHD_Connection *connection,
                        void **con_cls, enum MHD_RequestTerminationCode code);

#endif
