/*
 * sim.h - docextract-sim, the simulator of the service: what its files know of
 * each other.
 *
 * Each connection has a thread, and so has each source that is read. What is
 * called from several has a lock inside, except for what belongs to a request.
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

/* ---- util.c: clock, IDs, JSON and files ---- */

#define SIM_ID_LEN 26
#define SIM_ID_BYTES (SIM_ID_LEN + 1)

/* The monotonic clock; for waits and for the log. */
int64_t sim_now_ms(void);

/* A new ID: a ULID. */
void sim_id_new(char ret_id[SIM_ID_BYTES]);

/* Returns a string member; "" if it is missing or not a string. */
const char *sim_text_of(const cJSON *json, const char *name);

/*
 * Reads a file of at most 64 KiB and puts a NUL after it. The caller frees
 * the result. Returns NULL after printing the reason.
 */
char *sim_read_file(const char *path, size_t *ret_len);

/* ---- token.c: who may call ---- */

/* Loads the key or the token. Returns false after printing the reason. */
bool sim_token_load(void);

/*
 * Checks an Authorization header, which may be NULL, at the server's time
 * `now_s`. Returns NULL if it is good, else what is wrong, without any part
 * of the token. A signed token must have the algorithm given at start, an exp
 * with 30 s of leeway, an iat at most 30 s ahead, at most an hour between the
 * two, a jti, and the key ID and claims that are required.
 */
const char *sim_token_error(const char *header, int64_t now_s);

/* ---- extract.c: what a file says ---- */

/*
 * Adds the `results` of each case in the file at `path` to the array *cases.
 * Within a case, pages with another medical record number form another
 * document. A picture is a case of one document without values. Returns false
 * if the file cannot be read. Blocking: runs pdftotext, which is given a
 * minute.
 */
bool sim_extract(const char *path, const char *content_type,
                 const char *source_id, cJSON *cases);

/* fields.c: whether the page, as `pdftotext -layout` prints it, separates
 * cases. */
bool sim_fields_separator(const char *page);

/*
 * The values on a page, taken literally, with the names of the interface; the
 * first of a kind counts. Cuts `page` into lines. The caller frees the result.
 */
cJSON *sim_fields_read(char *page);

/* ---- store.c: sources and cases, in memory ---- */

/* Once, before the other calls. */
bool sim_store_open(void);

/*
 * Registers a source with n files of these types, which are kept by
 * reference. Returns false if out of memory.
 */
bool sim_store_create(const char *const *types, size_t n,
                      char ret_id[SIM_ID_BYTES]);

/* Notes that the n-th file, counted from 1, has arrived. After the last one a
 * thread extracts the cases; the state is then a matter of the clock. */
void sim_store_file_arrived(const char *id, size_t n);

/*
 * The `results` of a source, which the caller frees; `word` replaces its status
 * unless NULL. Returns NULL if there is no such source.
 */
cJSON *sim_store_source(const char *id, const char *word);

/*
 * The `results` of a case: returns 200 and fills *ret, which the caller frees;
 * 204 while it is being processed, or 404. Unless 404, ret_source_id names its
 * source.
 */
unsigned sim_store_case(const char *id, cJSON **ret,
                        char ret_source_id[SIM_ID_BYTES]);

/* ---- fault.c: which calls go wrong, and how ---- */

/* The calls, as the log and fault scripts name them. */
enum sim_call {
  SIM_CREATE,
  SIM_PUT,
  SIM_SOURCE,
  SIM_EXTRACT,
  SIM_HELLO,
  SIM_OTHER,
  SIM_CALL_COUNT
};

/* "create" and so on; of SIM_CALL_COUNT, "any". */
extern const char *const sim_call_words[SIM_CALL_COUNT + 1];

/* name, word, what follows it */
#define SIM_ACTIONS(X)                    \
  X(STATUS, "status", STATUS)             \
  X(AFTER_STATUS, "after-status", STATUS) \
  X(HEADER, "header", HEADER)             \
  X(BODY, "body", TEXT)                   \
  X(GARBAGE, "garbage", NONE)             \
  X(EDIT, "edit", EDIT)                   \
  X(WORD, "word", TEXT)                   \
  X(DELAY, "delay", MS)                   \
  X(DRIP, "drip", MS)                     \
  X(SHORT, "short", NONE)                 \
  X(CLOSE, "close", NONE)                 \
  X(DROP, "drop", NONE)                   \
  X(HANG, "hang", NONE)

enum sim_action {
#define X(name, word, arg) SIM_ACT_##name,
  SIM_ACTIONS(X)
#undef X
      SIM_ACT_COUNT
};

/* What happens to one call. */
struct sim_fault {
  char *arg[SIM_ACT_COUNT]; /* "" without an argument; NULL: no such action */
  const char *word;         /* of the first action, for the log; or NULL */
};

/* Loads the script, see docextract-sim(1), which is read again when it changes;
 * a version with a wrong line is reported on standard error and ignored.
 * Returns false after printing the reason. */
bool sim_script_load(void);

/*
 * Counts a call and finds its faults: those of all lines that match; of two
 * with the same action, the first. *ret_n is its number among calls of this
 * kind, from 1. The caller releases *ret_fault.
 */
void sim_script_next(enum sim_call call, uint64_t *ret_n,
                     struct sim_fault *ret_fault);

/* Whether the call itself is carried out. */
bool sim_fault_performs(const struct sim_fault *f);

/* The number that a status or a delay begins with; 0 without that action. */
unsigned sim_fault_number(const struct sim_fault *f, enum sim_action action);

/*
 * Applies `edit`, "/REGEX/TEXT/", to the first match in *body, if there is
 * one; `body` and *body may be NULL. Returns false if it is not of this form.
 */
bool sim_fault_edit(const char *edit, char **body);

void sim_fault_release(struct sim_fault *f);

/* ---- request.c: a request from its arrival to its response ---- */

#define SIM_SIGNING_KEY_BYTES 32

/* What handlers need. */
struct sim_service {
  struct sim_options options;
  unsigned char signing_key[SIM_SIGNING_KEY_BYTES];
  const char *storage_url; /* without a slash at the end */
  char *data_dir;
  int log_fd;  /* -1: no log */
  int stop_fd; /* readable: no handler waits any longer */
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
  const struct sim_port *port;
  struct MHD_Connection *connection;
  int64_t at_ms;
  enum sim_call call;
  uint64_t n; /* among calls of this kind, from 1 */
  struct sim_fault fault;
  char *path;
  char id[SIM_ID_BYTES];        /* in the path; "": none */
  const char *allow;            /* the header if the method is wrong */
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
  enum sim_call (*classify)(struct sim_request *r, const char *method);
  void (*begin)(struct sim_request *r);
  /* Takes a part of the body; false closes the connection. */
  bool (*receive)(struct sim_request *r, const char *data, size_t len);
  void (*perform)(struct sim_request *r, struct sim_response *response);
  /* An error response with no details. */
  void (*error)(struct sim_response *response, unsigned status);
};

extern const struct sim_port sim_api_port, sim_storage_port;

/* The URL for the upload of the n-th file; the caller frees it. */
char *sim_storage_url(const char *source_id, size_t n,
                      const char *content_type);

/* The service's wall clock: seconds since 1970, with the skew. */
int64_t sim_server_s(void);

/* The value of a request header, or NULL. */
const char *sim_request_header(const struct sim_request *r, const char *name);

/* What main() starts; every request is of this service. */
extern struct sim_service sim_service;

/* The handlers for MHD_start_daemon(); cls is a struct sim_port. */
enum MHD_Result sim_request_handle(void *cls, struct MHD_Connection *connection,
                                   const char *url, const char *method,
                                   const char *version, const char *data,
                                   size_t *len, void **con_cls);
void sim_request_completed(void *cls, struct MHD_Connection *connection,
                           void **con_cls,
                           enum MHD_RequestTerminationCode code);

#endif
