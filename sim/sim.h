/*
 * sim.h - declarations shared by the files of docextract-sim, the simulator of
 * the service.
 *
 * Each connection has a thread. Functions that several threads call lock their
 * data. A request belongs to one thread. Functions that main() calls to start
 * print an error, and end the program.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <cjson/cJSON.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- options.c: the command line ---- */

#define SIM_CLAIMS_MAX 16

/* The strings point into argv. */
struct sim_options {
  int64_t api_port;
  int64_t storage_port;
  const char *ready_file;
  const char *tls_cert;
  const char *tls_key;
  const char *storage_tls; /* both in one file; NULL: as the service's */
  const char *key_file;
  const char *algorithm;
  const char *key_id;
  const char *claims[SIM_CLAIMS_MAX]; /* NAME=VALUE */
  size_t n_claims;
  const char *token_file;
  int64_t skew_s;
  int64_t source_time_ms;
  int64_t case_time_ms;
  int64_t rate; /* API calls in any second; 0: no limit */
  int64_t url_lifetime_s;
  const char *data_dir;
  const char *log_file;
  const char *fault_script;
};

/* Exits after printing help, version, or a usage error. */
void sim_options_parse(int argc, char **argv, struct sim_options *ret);

/* ---- util.c: memory, clock, IDs, JSON and files ---- */

#define SIM_ID_LEN 26
#define SIM_ID_BYTES (SIM_ID_LEN + 1)

/* Returns new memory unchanged; NULL ends the program. */
void *sim_new(void *memory);

/* Formats a new text. */
__attribute__((format(printf, 1, 2))) char *sim_text(const char *format, ...);

/* The monotonic clock; for waits and for the log. */
int64_t sim_now_ms(void);

/* A new ID: a ULID. */
void sim_id_new(char ret_id[SIM_ID_BYTES]);

/* Returns a string member; "" if it is missing or not a string. */
const char *sim_text_of(const cJSON *json, const char *name);

/* Reads a file of at most this size and puts a NUL after it. The caller frees
 * the result. */
#define SIM_FILE_BYTES_MAX 1048576u
char *sim_read_file(const char *path, size_t *ret_len);

/* ---- token.c: checking tokens ---- */

/* Loads the key or the token. */
void sim_token_load(void);

/*
 * Checks an Authorization header, which may be NULL, at the server's time
 * `now_s`. Returns NULL if the token is valid, otherwise the reason, which
 * contains no part of the token. A signed token must have the algorithm of the
 * options, an exp at most 30 s in the past, an iat at most 30 s in the future,
 * at most an hour between the two, a jti, and the required key ID and claims.
 */
const char *sim_token_error(const char *header, int64_t now_s);

/* ---- extract.c: the contents of a file ---- */

/*
 * Adds the `results` of each case in the file at `path` to the array *cases.
 * Within a case, pages with another medical record number form another
 * document. An image is a case with one document without values. Returns false
 * if the file cannot be read. Blocking: runs pdftotext for at most a minute.
 */
bool sim_extract(const char *path, const char *content_type,
                 const char *source_id, cJSON *cases);

/* ---- fault.c: the fault script ---- */

/* The calls in the log and in fault scripts. */
enum sim_call {
  SIM_CREATE,
  SIM_PUT,
  SIM_SOURCE,
  SIM_EXTRACT,
  SIM_HELLO,
  SIM_CONNECT, /* these two: a connection, before its first request */
  SIM_CONNECT_STORAGE,
  SIM_OTHER,
  SIM_CALL_COUNT
};

/* Their words; for SIM_CALL_COUNT, "any". */
extern const char *const sim_call_words[SIM_CALL_COUNT + 1];

/* name, word, type of the argument */
#define SIM_ACTIONS(X)                    \
  X(STATUS, "status", STATUS)             \
  X(AFTER_STATUS, "after-status", STATUS) \
  X(HEADER, "header", HEADER)             \
  X(BODY, "body", TEXT)                   \
  X(GARBAGE, "garbage", NONE)             \
  X(EMPTY, "empty", NONE)                 \
  X(EDIT, "edit", EDIT)                   \
  X(WORD, "word", TEXT)                   \
  X(DELAY, "delay", MS)                   \
  X(DRIP, "drip", MS)                     \
  X(SHORT, "short", NONE)                 \
  X(CLOSE, "close", NONE)                 \
  X(DROP, "drop", NONE)                   \
  X(CUT, "cut", BYTES)                    \
  X(KEEP, "keep", NONE)                   \
  X(RESET, "reset", NONE)                 \
  X(HANG, "hang", NONE)

enum sim_action {
#define X(name, word, arg) SIM_ACT_##name,
  SIM_ACTIONS(X)
#undef X
      SIM_ACT_COUNT
};

/* The faults of one call. */
struct sim_fault {
  /* "" without an argument; NULL: no such action */
  const char *arg[SIM_ACT_COUNT];
  const char *word; /* of the first action, for the log; or NULL */
  char *script;     /* which has the arguments; freed by the caller */
};

/* Ends the program if the script (see docextract-sim(1)) is invalid. */
void sim_script_check(void);

/*
 * Counts a call and finds its faults: those of all lines that match; if several
 * have the same action, the first. The script is read for each call; while a
 * line is invalid, this is printed, and there are no faults. *ret_n is the
 * number of the call among calls of this kind, from 1. *ret_fault is zero
 * before.
 */
void sim_script_next(enum sim_call call, uint64_t *ret_n,
                     struct sim_fault *ret_fault);

/* The number at the start of a status, delay, or cut; 0 if there is no such
 * action. */
unsigned sim_fault_number(const struct sim_fault *f, enum sim_action action);

/* For MHD_start_daemon(): counts a connection, and refuses it if the script
 * says so. cls: as for the handlers below. */
enum MHD_Result sim_fault_accept(void *cls, const struct sockaddr *address,
                                 socklen_t len);

/*
 * Applies `edit`, "/REGEX/TEXT/", to the first match in *body, if there is one;
 * `body` and *body may be NULL. Returns false if `edit` does not have this
 * form.
 */
bool sim_fault_edit(const char *edit, char **body);

/* ---- request.c: a request from its arrival to its response ---- */

/* The data of all handlers. */
struct sim_service {
  struct sim_options options;
  const char *storage_url; /* without a slash at the end */
  char *data_dir;
  int log_fd;  /* -1: no log */
  int stop_fd; /* becomes readable to end all waits */
};

struct sim_response {
  unsigned status;
  char *body; /* NULL: none; freed when it is sent */
  size_t len; /* of the body that is sent */
  const char *type;
  char header[64]; /* "Name: value", or "" */
};

struct sim_request {
  bool is_storage; /* it came to the port of the object storage */
  struct MHD_Connection *connection;
  int64_t at_ms, at_s; /* its arrival; by the service's wall clock */
  char *uri;           /* path and query, as received */
  char *path;
  enum sim_call call;
  uint64_t n; /* among calls of this kind, from 1 */
  struct sim_fault fault;
  char id[SIM_ID_BYTES];        /* in the path; "": none */
  const char *allow;            /* the method for this path; NULL: none */
  char source_id[SIM_ID_BYTES]; /* "": unknown */
  uint64_t bytes;               /* of the body, so far */
  char *body_path; /* its temporary file; NULL: none, "": renamed */
  int body_fd;     /* -1: none */
  cJSON *names;    /* create: of the files; NULL: invalid */
  const char *token_error;
  bool over_rate;
  bool logged;
  struct sim_response response;
};

/* The service that main() starts, and that handles all requests. */
extern struct sim_service sim_service;

/* The handlers for MHD_start_daemon(); cls is NULL for the service, and not for
 * the object storage. */
void *sim_request_begin(void *cls, const char *uri,
                        struct MHD_Connection *connection);
enum MHD_Result sim_request_handle(void *cls, struct MHD_Connection *connection,
                                   const char *url, const char *method,
                                   const char *version, const char *data,
                                   size_t *len, void **con_cls);
void sim_request_completed(void *cls, struct MHD_Connection *connection,
                           void **con_cls,
                           enum MHD_RequestTerminationCode code);

/* ---- service.c: the calls of both ports ---- */

/* The service's wall clock: seconds since 1970, with the skew. */
int64_t sim_server_s(void);

/* The value of a request header, or NULL. */
const char *sim_call_header(const struct sim_request *r, const char *name);

/* Finds out what is called, from path and method, and counts it for the rate
 * limit. */
void sim_call_find(struct sim_request *r, const char *method);

/* Performs the call: creates the response. */
void sim_call_perform(struct sim_request *r);

/* The connection of an upload was lost: keeps what has arrived as the file, if
 * the script says so. */
void sim_call_lost(struct sim_request *r);

/* Creates an error response without details. */
void sim_call_fail(struct sim_request *r, unsigned status);

#endif
