/*
 * api.c - the port of the service: create, source, extract, hello.
 *
 * Source: doc/service-interface.md, "Endpoints".
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "sim/sim.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_BYTES_MAX (1u << 20)
#define FILES_MAX 1000
#define NAME_BYTES_MAX 1024u
#define RATE_MAX 1000
#define JSON_TYPE "application/json"

static const struct endpoint {
  enum sim_call call;
  const char *method;
  const char *path; /* "?*" stands for an ID */
  const char *allow;
} endpoints[] = {
    {SIM_CREATE, "POST", "/v1/source", "Allow: POST"},
    {SIM_SOURCE, "GET", "/v1/source/?*", "Allow: GET"},
    {SIM_EXTRACT, "GET", "/v1/patient_case/?*/extract", "Allow: GET"},
    {SIM_HELLO, "POST", "/auth/hello", "Allow: POST"},
};

/* Also sets the ID from the path, if it has the length of an ID. */
static enum sim_call api_classify(struct sim_request *r, const char *method)
{
  for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
    const struct endpoint *e = &endpoints[i];

    if (fnmatch(e->path, r->path, 0) != 0)
      continue;
    if (strlen(r->path) + 2 == strlen(e->path) + SIM_ID_LEN)
      memcpy(r->id, r->path + strcspn(e->path, "?"), SIM_ID_LEN);
    r->allow = e->allow;
    return strcmp(method, e->method) == 0 ? e->call : SIM_OTHER;
  }
  return SIM_OTHER;
}

/* True if the call is one of at most `limit` calls in any second. */
static bool api_within_rate(size_t limit, int64_t now_ms)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int64_t last_ms[RATE_MAX]; /* of the last `limit` calls */
  static size_t oldest;
  bool within;

  if (limit == 0)
    return true;
  (void)pthread_mutex_lock(&lock);
  within = last_ms[oldest] == 0 || now_ms - last_ms[oldest] >= 1000;
  if (within) {
    last_ms[oldest] = now_ms;
    oldest = (oldest + 1) % limit;
  }
  (void)pthread_mutex_unlock(&lock);
  return within;
}

static void api_begin(struct sim_request *r)
{
  r->over_rate = !api_within_rate((size_t)sim_service.options.rate, r->at_ms);
  if (r->call == SIM_SOURCE)
    memcpy(r->source_id, r->id, SIM_ID_BYTES);
  if (r->call == SIM_CREATE)
    r->body_stream = open_memstream(&r->body, &r->body_len);
}

static void api_receive(struct sim_request *r, const char *data, size_t len)
{
  if (r->body_stream != NULL && r->bytes <= BODY_BYTES_MAX)
    (void)fwrite(data, 1, len, r->body_stream);
}

static void api_error(struct sim_response *a, unsigned status)
{
  a->status = status;
  if (status == MHD_HTTP_NO_CONTENT || status == MHD_HTTP_NOT_MODIFIED)
    return;
  a->type = JSON_TYPE;
  a->body = sim_text("{\"status\":%u}", status);
}

/* Responds with `results`, which it frees, in the envelope. */
static void api_succeed(struct sim_request *r, unsigned status, cJSON *results)
{
  struct sim_response *a = &r->response;
  cJSON *json = cJSON_CreateObject();
  cJSON *debug;
  char delta[32];

  (void)snprintf(delta, sizeof(delta), "%lldms",
                 (long long)(sim_now_ms() - r->at_ms));
  (void)cJSON_AddNumberToObject(json, "status", status);
  (void)cJSON_AddItemToObject(json, "results", results);
  debug = cJSON_AddObjectToObject(json, "debug_info");
  (void)cJSON_AddStringToObject(debug, "delta", delta);
  (void)cJSON_AddStringToObject(debug, "version",
                                "docextract-sim " PACKAGE_VERSION);
  a->status = status;
  a->type = JSON_TYPE;
  a->body = cJSON_PrintUnformatted(json);
  cJSON_Delete(json);
}

/* Collects the types of the files; returns their number, or 0 if the request is
 * invalid. */
static size_t api_read_types(const cJSON *files, const char *types[FILES_MAX])
{
  static const char *const accepted[] = {"application/pdf", "image/jpeg",
                                         "image/png"};
  const cJSON *file;
  size_t n = 0;

  if (!cJSON_IsArray(files) || cJSON_GetArraySize(files) > FILES_MAX)
    return 0;
  cJSON_ArrayForEach(file, files)
  {
    const char *name = sim_text_of(file, "file_name");

    types[n] = NULL;
    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++)
      if (strcmp(sim_text_of(file, "content_type"), accepted[i]) == 0)
        types[n] = accepted[i];
    if (*name == '\0' || strlen(name) > NAME_BYTES_MAX || types[n++] == NULL)
      return 0;
  }
  return n;
}

static void api_create(struct sim_request *r)
{
  const char *type = sim_request_header(r, "Content-Type");
  const char *types[FILES_MAX];
  size_t n_files, n = 0;
  const cJSON *files, *file;
  const struct sim_file *stored;
  cJSON *json = NULL, *results, *urls, *url;

  if (r->bytes > BODY_BYTES_MAX) {
    api_error(&r->response, MHD_HTTP_CONTENT_TOO_LARGE);
    return;
  }
  if (r->body_stream != NULL && fflush(r->body_stream) == 0 && type != NULL &&
      strncasecmp(type, JSON_TYPE, strlen(JSON_TYPE)) == 0)
    json = cJSON_ParseWithOpts(r->body, NULL, 1);
  files = cJSON_GetObjectItemCaseSensitive(json, "files");
  n_files = api_read_types(files, types);
  if (n_files == 0) {
    api_error(&r->response, MHD_HTTP_BAD_REQUEST);
  } else {
    sim_store_create(types, n_files, r->source_id);
    r->names = cJSON_CreateArray();
    results = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(results, "id", r->source_id);
    urls = cJSON_AddArrayToObject(results, "upload_urls");
    cJSON_ArrayForEach(file, files)
    {
      const char *name = sim_text_of(file, "file_name");

      stored = sim_store_file(r->source_id, ++n);
      url = cJSON_CreateObject();
      (void)cJSON_AddStringToObject(url, "url", stored->url);
      (void)cJSON_AddStringToObject(url, "object_name", stored->object);
      (void)cJSON_AddStringToObject(url, "file_name", name);
      (void)cJSON_AddItemToArray(urls, url);
      (void)cJSON_AddItemToArray(r->names, cJSON_CreateString(name));
    }
    api_succeed(r, MHD_HTTP_CREATED, results);
  }
  cJSON_Delete(json);
}

static void api_perform(struct sim_request *r)
{
  struct sim_response *a = &r->response;
  cJSON *results = NULL;
  unsigned status;

  if (r->over_rate) {
    api_error(a, MHD_HTTP_TOO_MANY_REQUESTS);
    a->header = "Retry-After: 1";
    return;
  }
  r->token_error =
      sim_token_error(sim_request_header(r, "Authorization"), sim_server_s());
  if (r->token_error != NULL) {
    api_error(a, MHD_HTTP_UNAUTHORIZED);
    a->header = "WWW-Authenticate: Bearer";
    return;
  }
  switch (r->call) {
  case SIM_CREATE:
    api_create(r);
    break;
  case SIM_SOURCE:
    results = sim_store_source(r->source_id, r->fault.arg[SIM_ACT_WORD]);
    if (results != NULL)
      api_succeed(r, MHD_HTTP_OK, results);
    else
      api_error(a, MHD_HTTP_NOT_FOUND);
    break;
  case SIM_EXTRACT:
    status = sim_store_case(r->id, &results, r->source_id);
    if (status == MHD_HTTP_OK)
      api_succeed(r, status, results);
    else
      api_error(a, status);
    break;
  case SIM_HELLO:
    results = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(
        results, "auth_info",
        "Hello, this is docextract-sim, a simulator for trials and tests.");
    api_succeed(r, MHD_HTTP_OK, results);
    break;
  default:
    api_error(a, r->allow == NULL ? MHD_HTTP_NOT_FOUND
                                  : MHD_HTTP_METHOD_NOT_ALLOWED);
    a->header = r->allow;
  }
}

const struct sim_port sim_api_port = {api_classify, api_begin, api_receive,
                                      api_perform, api_error};
