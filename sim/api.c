/*
 * api.c - the port of the service: create, source, extract, hello.
 *
 * Source: doc/service-interface.md, "Endpoints".
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "sim/request.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_BYTES_MAX (1u << 20)
#define DRAIN_BYTES_MAX (64u << 20)
#define FILES_MAX 1000
#define NAME_BYTES_MAX 1024u
#define RATE_MAX 1000
#define JSON_TYPE "application/json"

static const struct endpoint {
  enum sim_call call;
  const char *method;
  const char
      *before; /* the ID in the path; the whole path if `after` is NULL */
  const char *after;
  const char *allow;
} endpoints[] = {
    {SIM_CREATE, "POST", "/v1/source", NULL, "Allow: POST"},
    {SIM_SOURCE, "GET", "/v1/source/", "", "Allow: GET"},
    {SIM_EXTRACT, "GET", "/v1/patient_case/", "/extract", "Allow: GET"},
    {SIM_HELLO, "POST", "/auth/hello", NULL, "Allow: POST"},
};

/* Fills ret_id; "" if there is none, or if it cannot be an ID. */
static bool match_path(const struct endpoint *e, const char *path,
                       char ret_id[SIM_ID_BYTES])
{
  size_t before = strlen(e->before);
  size_t id_len;

  ret_id[0] = '\0';
  if (e->after == NULL)
    return strcmp(path, e->before) == 0;
  if (strncmp(path, e->before, before) != 0 ||
      strlen(path) <= before + strlen(e->after) ||
      strcmp(path + strlen(path) - strlen(e->after), e->after) != 0)
    return false;
  id_len = strlen(path) - before - strlen(e->after);
  if (id_len == SIM_ID_LEN) {
    memcpy(ret_id, path + before, SIM_ID_LEN);
    ret_id[SIM_ID_LEN] = '\0';
  }
  return true;
}

static const struct endpoint *find_endpoint(const char *path,
                                            char ret_id[SIM_ID_BYTES])
{
  for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
    if (match_path(&endpoints[i], path, ret_id))
      return &endpoints[i];
  return NULL;
}

static enum sim_call classify(const char *method, const char *path)
{
  char unused[SIM_ID_BYTES];
  const struct endpoint *e = find_endpoint(path, unused);

  return e != NULL && strcmp(method, e->method) == 0 ? e->call : SIM_OTHER;
}

/* Whether no more than `limit` calls are let through in any second. */
static bool within_rate(size_t limit, int64_t now_ms)
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

static void begin(struct sim_request *r)
{
  r->over_rate = !within_rate((size_t)r->service->options.rate, r->at_ms);
  if (r->call == SIM_SOURCE)
    (void)find_endpoint(r->path, r->source_id);
  if (r->call == SIM_CREATE)
    r->body_stream = open_memstream(&r->body, &r->body_len);
}

static bool receive(struct sim_request *r, const char *data, size_t len)
{
  if (r->body_stream != NULL && r->bytes <= BODY_BYTES_MAX)
    (void)fwrite(data, 1, len, r->body_stream);
  return r->bytes <= DRAIN_BYTES_MAX;
}

static void end(struct sim_request *r)
{
  if (r->body_stream != NULL)
    (void)fclose(r->body_stream);
  free(r->body);
}

static void error(struct sim_response *a, unsigned status)
{
  a->status = status;
  if (status == MHD_HTTP_NO_CONTENT || status == MHD_HTTP_NOT_MODIFIED)
    return;
  a->type = JSON_TYPE;
  if (asprintf(&a->body, "{\"status\":%u}", status) < 0)
    a->body = NULL;
}

/* Puts `results`, which it takes over, in the envelope. */
static void succeed(const struct sim_request *r, struct sim_response *a,
                    unsigned status, cJSON *results)
{
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

static const char *find_type(const char *type)
{
  static const char *const accepted[] = {"application/pdf", "image/jpeg",
                                         "image/png"};

  for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++)
    if (strcmp(type, accepted[i]) == 0)
      return accepted[i];
  return NULL;
}

/* Collects the types of the files; returns 0 if the request is invalid. */
static size_t read_types(const cJSON *files, const char *types[FILES_MAX])
{
  const cJSON *file;
  size_t n = 0;

  if (!cJSON_IsArray(files) || cJSON_GetArraySize(files) > FILES_MAX)
    return 0;
  cJSON_ArrayForEach(file, files)
  {
    const char *name = sim_text_of(file, "file_name");

    types[n] = find_type(sim_text_of(file, "content_type"));
    if (*name == '\0' || strlen(name) > NAME_BYTES_MAX || types[n] == NULL)
      return 0;
    n++;
  }
  return n;
}

static cJSON *upload_url(const struct sim_request *r, const cJSON *file,
                         size_t n)
{
  cJSON *entry = cJSON_CreateObject();
  char *url = sim_storage_url(r->service, r->source_id, n,
                              sim_text_of(file, "content_type"));
  char object[3 * SIM_ID_BYTES + 24];

  (void)snprintf(object, sizeof(object), "images/%s/SOURCE_FILES/%s_%zu",
                 r->source_id, r->source_id, n);
  (void)cJSON_AddStringToObject(entry, "url", url == NULL ? "" : url);
  (void)cJSON_AddStringToObject(entry, "object_name", object);
  (void)cJSON_AddStringToObject(entry, "file_name",
                                sim_text_of(file, "file_name"));
  free(url);
  return entry;
}

static void create_source(struct sim_request *r, struct sim_response *a,
                          const cJSON *files)
{
  const char *types[FILES_MAX];
  size_t n_files = read_types(files, types);
  size_t n = 0;
  const cJSON *file;
  cJSON *results;
  cJSON *urls;

  if (n_files == 0) {
    error(a, MHD_HTTP_BAD_REQUEST);
    return;
  }
  if (!sim_store_create(r->service->store, types, n_files, r->source_id)) {
    error(a, MHD_HTTP_SERVICE_UNAVAILABLE);
    return;
  }
  r->names = cJSON_CreateArray();
  results = cJSON_CreateObject();
  (void)cJSON_AddStringToObject(results, "id", r->source_id);
  urls = cJSON_AddArrayToObject(results, "upload_urls");
  cJSON_ArrayForEach(file, files)
  {
    (void)cJSON_AddItemToArray(urls, upload_url(r, file, ++n));
    (void)cJSON_AddItemToArray(
        r->names, cJSON_CreateString(sim_text_of(file, "file_name")));
  }
  succeed(r, a, MHD_HTTP_CREATED, results);
}

static void do_create(struct sim_request *r, struct sim_response *a)
{
  const char *type = sim_request_header(r, "Content-Type");
  cJSON *json = NULL;

  if (r->bytes > BODY_BYTES_MAX) {
    error(a, MHD_HTTP_CONTENT_TOO_LARGE);
    return;
  }
  if (r->body_stream != NULL && fflush(r->body_stream) == 0 && type != NULL &&
      strncasecmp(type, JSON_TYPE, strlen(JSON_TYPE)) == 0)
    json = cJSON_ParseWithOpts(r->body, NULL, 1);
  create_source(r, a, cJSON_GetObjectItemCaseSensitive(json, "files"));
  cJSON_Delete(json);
}

static void do_source(struct sim_request *r, struct sim_response *a)
{
  cJSON *results = sim_store_source(r->service->store, r->source_id,
                                    r->fault.arg[SIM_ACT_WORD]);

  if (results != NULL)
    succeed(r, a, MHD_HTTP_OK, results);
  else
    error(a, MHD_HTTP_NOT_FOUND);
}

static void do_extract(struct sim_request *r, struct sim_response *a)
{
  char id[SIM_ID_BYTES];
  cJSON *results = NULL;
  unsigned status;

  (void)find_endpoint(r->path, id);
  status = sim_store_case(r->service->store, id, &results, r->source_id);
  if (status == MHD_HTTP_OK)
    succeed(r, a, status, results);
  else
    error(a, status);
}

static void do_hello(struct sim_request *r, struct sim_response *a)
{
  cJSON *results = cJSON_CreateObject();

  (void)cJSON_AddStringToObject(
      results, "auth_info",
      "Hello, this is docextract-sim, a simulator for trials and tests.");
  succeed(r, a, MHD_HTTP_OK, results);
}

static void do_other(struct sim_request *r, struct sim_response *a)
{
  char unused[SIM_ID_BYTES];
  const struct endpoint *e = find_endpoint(r->path, unused);

  error(a, e == NULL ? MHD_HTTP_NOT_FOUND : MHD_HTTP_METHOD_NOT_ALLOWED);
  a->header = e == NULL ? NULL : e->allow;
}

static void perform(struct sim_request *r, struct sim_response *a)
{
  static void (*const calls[])(struct sim_request *, struct sim_response *) = {
      [SIM_CREATE] = do_create, [SIM_PUT] = do_other,
      [SIM_SOURCE] = do_source, [SIM_EXTRACT] = do_extract,
      [SIM_HELLO] = do_hello,   [SIM_OTHER] = do_other,
  };

  if (r->over_rate) {
    error(a, MHD_HTTP_TOO_MANY_REQUESTS);
    a->header = "Retry-After: 1";
    return;
  }
  r->token_error =
      sim_token_error(r->service->token, sim_request_header(r, "Authorization"),
                      sim_server_s(r->service));
  if (r->token_error != NULL) {
    error(a, MHD_HTTP_UNAUTHORIZED);
    a->header = "WWW-Authenticate: Bearer";
    return;
  }
  calls[r->call](r, a);
}

const struct sim_port sim_api_port = {NULL,    classify, begin, receive,
                                      perform, error,    end};
