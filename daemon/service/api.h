/*
 * api.h - the five calls of the service: sends them, and interprets the
 * responses.
 *
 * dx_api_*() start a call on a struct dx_http; `done` passes the response to
 * the matching dx_read_*(), whose code is the meaning of the response. These
 * functions do not wait, retry, or keep state; the engine does.
 *
 * Ownership: results of dx_read_*() belong to the caller, who frees them with
 * the matching release function. Errors: E_NOMEM; dx_api_put(): also those of
 * dx_signed_url_check().
 * Source: doc/service-interface.md, "Endpoints"; doc/policy.md,
 * "Status table".
 */
#ifndef DX_API_H
#define DX_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/service/http.h"

enum dx_call_kind {
  DX_CALL_CREATE,
  DX_CALL_PUT,
  DX_CALL_SOURCE,
  DX_CALL_EXTRACT,
  DX_CALL_HELLO,
  DX_CALL_KIND_COUNT
};

/*
 * The meaning of a response, except for its JSON: the status table of
 * doc/policy.md. Fills *err with a message for the user unless it returns DX_OK
 * or E_NOT_YET. Pure. The readers below call it first.
 */
enum dx_code dx_judge(enum dx_call_kind call,
                      const struct dx_http_response *response,
                      struct dx_err *err) DX_MUST_USE;

struct dx_service;

/* Everything a call needs besides its own arguments; borrowed. */
struct dx_api {
  struct dx_http *http;
  const struct dx_service *service;
  const char *token;    /* for this call */
  dx_http_ready *ready; /* called before the request is sent; may be NULL */
  dx_http_done *done;
  dx_http_log *log;           /* see dx_http_request */
  void *ctx;                  /* for all callbacks */
  struct dx_http_call **call; /* set by the start; valid until the call ends */
};

/* Calls hello, get source, or get extract. id: of the source or case; NULL for
 * hello. sink: receives the body of a 200; NULL: kept in memory. */
enum dx_code dx_api_call(const struct dx_api *api, enum dx_call_kind kind,
                         const char *id, dx_http_sink *sink,
                         struct dx_err *err) DX_MUST_USE;

struct dx_api_file {
  const char *type;
  const char *name; /* UTF-8 */
};

enum dx_code dx_api_create(const struct dx_api *api,
                           const struct dx_api_file *files, size_t count,
                           struct dx_err *err) DX_MUST_USE;

/* fd: the document, `bytes` long; must stay open until the call ends. */
enum dx_code dx_api_put(const struct dx_api *api, const char *url,
                        const char *type, int fd, int64_t bytes,
                        dx_http_progress *progress,
                        struct dx_err *err) DX_MUST_USE;

/* Only connects to the storage of an origin (dx_storage_last()), with TLS;
 * sends nothing. The response has no status. */
enum dx_code dx_api_reach(const struct dx_api *api, const char *origin,
                          struct dx_err *err) DX_MUST_USE;

/* ---- reading responses; for upload and get extract, use dx_judge() ---- */

/* True for a page of a proxy, load balancer, or web filter. body: not NULL. */
bool dx_is_web_page(const char *body);

/* ret_greeting: the caller frees it; NULL unless DX_OK. */
enum dx_code dx_read_hello(const struct dx_http_response *response,
                           char **ret_greeting, struct dx_err *err) DX_MUST_USE;

struct dx_created {
  char *source_id;
  char **urls; /* one per file, in file order */
  size_t count;
  int64_t lifetime_ms; /* of the URL that expires first, from now on */
};
void dx_created_release(struct dx_created *created);

/* count: of the registered files. E_URL if dx_signed_url_check() rejects a
 * URL; E_UNEXPECTED if the id contains a NUL. */
enum dx_code dx_read_create(const struct dx_http_response *response,
                            const struct dx_service *service, size_t count,
                            struct dx_created *ret_created,
                            struct dx_err *err) DX_MUST_USE;

enum dx_source_status {
  DX_SOURCE_PENDING,
  DX_SOURCE_PROCESSING,
  DX_SOURCE_COMPLETE,
  DX_SOURCE_FAILED,
  DX_SOURCE_UNKNOWN /* an unknown word: treated as not yet */
};

struct dx_source {
  enum dx_source_status status;
  int64_t expected; /* files; -1: unknown */
  int64_t uploaded;
  char **case_ids; /* only when complete */
  size_t case_count;
};
void dx_source_release(struct dx_source *source);

/* DX_OK for any status, including failed; E_UNEXPECTED if the response is for
 * another source, lists a case twice, or has a NUL in the id of a case. */
enum dx_code dx_read_source(const struct dx_http_response *response,
                            const char *source_id, struct dx_source *ret_source,
                            struct dx_err *err) DX_MUST_USE;

/* Checks a whole result in `in`, the body of the response, in constant memory
 * (doc/policy.md, "Results"). E_RESPONSE if it is not JSON, or results.status
 * is not "complete"; E_UNEXPECTED if it is the result of another case or
 * source. ret_is_empty: results.medical_data has no values. */
enum dx_code dx_check_result(FILE *in, const struct dx_http_response *response,
                             const char *source_id, const char *case_id,
                             bool *ret_is_empty,
                             struct dx_err *err) DX_MUST_USE;

#endif
