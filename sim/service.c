/*
 * service.c - the simulated service and its object storage: sources and cases,
 * in memory, and the calls of both ports.
 *
 * Source: doc/service-interface.md, "Endpoints".
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "sim/sim.h"

#include <err.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define FILES_MAX 1000
#define NAME_BYTES_MAX 1024u
#define RATE_MAX 1000
#define JSON_TYPE "application/json"

struct file {
  struct source *source;
  const char *type;
  char *url;       /* for its upload; ends with `uri` */
  const char *uri; /* path and query */
  int64_t expires_at_s;
  bool arrived;
};

struct source {
  struct source *next;
  char id[SIM_ID_BYTES];
  int64_t arrived_at_ms; /* the last file; 0: not yet, or not read yet */
  bool unreadable;
  cJSON *cases; /* an array of results */
  size_t n_files;
  size_t n_arrived;
  struct file files[];
};

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static struct source *newest;

int64_t sim_server_s(void)
{
  return (int64_t)time(NULL) + sim_service.options.skew_s;
}

const char *sim_call_header(const struct sim_request *r, const char *name)
{
  return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* ---- responses ---- */

/* Worded like the errors of common object storages. */
static void put_refuse(struct sim_request *r, unsigned status, const char *code,
                       const char *message)
{
  r->response.status = status;
  r->response.type = "application/xml";
  r->response.body =
      sim_text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<Error><Code>%s</Code><Message>%s</Message></Error>\n",
               code, message);
}

void sim_call_fail(struct sim_request *r, unsigned status)
{
  struct sim_response *a = &r->response;

  a->status = status;
  if (status == MHD_HTTP_NO_CONTENT || status == MHD_HTTP_NOT_MODIFIED ||
      (r->is_storage && status < 300))
    return;
  if (r->is_storage) {
    put_refuse(r, status, status < 500 ? "RequestError" : "InternalError",
               "We encountered a problem. Please try again.");
    return;
  }
  a->type = JSON_TYPE;
  a->body = sim_text("{\"status\":%u}", status);
}

/* Responds with `results`, which it frees, in the envelope. */
static void call_succeed(struct sim_request *r, unsigned status, cJSON *results)
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

/* ---- create ---- */

/* NULL: the type of the file, or its name, is not accepted. */
static const char *create_type_of(const cJSON *file)
{
  static const char *const accepted[] = {"application/pdf", "image/jpeg",
                                         "image/png"};
  size_t len = strlen(sim_text_of(file, "file_name"));

  for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++)
    if (len > 0 && len <= NAME_BYTES_MAX &&
        strcmp(sim_text_of(file, "content_type"), accepted[i]) == 0)
      return accepted[i];
  return NULL;
}

static bool create_is_valid(const cJSON *files)
{
  int n = cJSON_GetArraySize(files);
  const cJSON *file;

  cJSON_ArrayForEach(file, files)
  {
    if (create_type_of(file) == NULL)
      return false;
  }
  return cJSON_IsArray(files) && n > 0 && n <= FILES_MAX;
}

/* Adds a file of the request to a source, and its URL to the response. */
static void create_add_file(struct source *src, const cJSON *json, cJSON *urls)
{
  struct file *file = &src->files[src->n_files++];
  time_t now = (time_t)sim_server_s();
  long long lifetime_s = sim_service.options.url_lifetime_s;
  cJSON *url = cJSON_CreateObject();
  char *object =
      sim_text("images/%s/SOURCE_FILES/%s_%zu", src->id, src->id, src->n_files);
  /* Random: a URL is valid if it was given out. */
  char signature[SIM_ID_BYTES], date[32];
  struct tm tm;

  sim_id_new(signature);
  (void)strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
  file->source = src;
  file->type = create_type_of(json);
  file->expires_at_s = now + lifetime_s;
  file->url =
      sim_text("%s/%s?X-Amz-Date=%s&X-Amz-Expires=%lld"
               "&X-Amz-Signature=%s",
               sim_service.storage_url, object, date, lifetime_s, signature);
  file->uri = file->url + strlen(sim_service.storage_url);
  (void)cJSON_AddStringToObject(url, "url", file->url);
  (void)cJSON_AddStringToObject(url, "object_name", object);
  (void)cJSON_AddStringToObject(url, "file_name",
                                sim_text_of(json, "file_name"));
  (void)cJSON_AddItemToArray(urls, url);
  free(object);
}

static void call_create(struct sim_request *r)
{
  const char *type = sim_call_header(r, "Content-Type");
  size_t len;
  const cJSON *files, *file;
  cJSON *json = NULL, *results, *urls;
  char *body = NULL;
  struct source *src;

  if (r->bytes > SIM_FILE_BYTES_MAX) {
    sim_call_fail(r, MHD_HTTP_CONTENT_TOO_LARGE);
    return;
  }
  if (r->body_path != NULL && type != NULL &&
      strncasecmp(type, JSON_TYPE, strlen(JSON_TYPE)) == 0) {
    body = sim_read_file(r->body_path, &len);
    json = cJSON_ParseWithOpts(body, NULL, 1);
  }
  files = cJSON_GetObjectItemCaseSensitive(json, "files");
  if (!create_is_valid(files)) {
    sim_call_fail(r, MHD_HTTP_BAD_REQUEST);
  } else {
    src = sim_new(calloc(1, sizeof(*src) + (size_t)cJSON_GetArraySize(files) *
                                               sizeof(src->files[0])));
    sim_id_new(src->id);
    memcpy(r->source_id, src->id, SIM_ID_BYTES);
    r->names = cJSON_CreateArray();
    results = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(results, "id", src->id);
    urls = cJSON_AddArrayToObject(results, "upload_urls");
    cJSON_ArrayForEach(file, files)
    {
      create_add_file(src, file, urls);
      (void)cJSON_AddItemToArray(
          r->names, cJSON_CreateString(sim_text_of(file, "file_name")));
    }
    (void)pthread_mutex_lock(&store_lock);
    src->next = newest;
    newest = src;
    (void)pthread_mutex_unlock(&store_lock);
    call_succeed(r, MHD_HTTP_CREATED, results);
  }
  cJSON_Delete(json);
  free(body);
}

/* ---- upload ---- */

/* The file that is uploaded to this path and query; NULL: there is none. */
static struct file *put_find_file(const char *uri)
{
  struct file *file = NULL;

  (void)pthread_mutex_lock(&store_lock);
  for (struct source *src = newest; src != NULL && file == NULL;
       src = src->next)
    for (size_t i = 0; i < src->n_files && file == NULL; i++)
      if (strcmp(src->files[i].uri, uri) == 0)
        file = &src->files[i];
  (void)pthread_mutex_unlock(&store_lock);
  return file;
}

static char *put_path(const struct file *file)
{
  return sim_text("%s/%s_%zd", sim_service.data_dir, file->source->id,
                  file - file->source->files + 1);
}

/* Notes that the file has arrived. After the last one, extracts the cases; the
 * status then changes with time. */
static void put_arrived(struct file *file)
{
  struct source *src = file->source;
  int64_t arrived_at_ms = sim_now_ms();
  bool is_last = false, good = true;
  cJSON *cases;

  (void)pthread_mutex_lock(&store_lock);
  /* PUT is idempotent: if a file arrives again, nothing changes. */
  if (!file->arrived) {
    file->arrived = true;
    is_last = ++src->n_arrived == src->n_files;
  }
  (void)pthread_mutex_unlock(&store_lock);
  if (!is_last)
    return;
  /* Only this thread changes a source whose files have all arrived. */
  cases = cJSON_CreateArray();
  for (size_t i = 0; good && i < src->n_files; i++) {
    char *path = put_path(&src->files[i]);

    good = sim_extract(path, src->files[i].type, src->id, cases);
    free(path);
  }
  (void)pthread_mutex_lock(&store_lock);
  src->cases = cases;
  src->unreadable = !good;
  src->arrived_at_ms = arrived_at_ms;
  (void)pthread_mutex_unlock(&store_lock);
}

/* Moves the body to its place. */
static void put_store(struct sim_request *r, struct file *file)
{
  char *path = put_path(file);

  memcpy(r->source_id, file->source->id, SIM_ID_BYTES);
  if (rename(r->body_path, path) != 0) {
    warn("cannot store an upload");
    sim_call_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR);
  } else {
    *r->body_path = '\0';
    put_arrived(file);
    r->response.status = MHD_HTTP_OK;
  }
  free(path);
}

void sim_call_lost(struct sim_request *r)
{
  struct file *file = put_find_file(r->uri);

  if (r->fault.arg[SIM_ACT_KEEP] != NULL && file != NULL &&
      r->body_path != NULL && *r->body_path != '\0' && r->bytes > 0)
    put_store(r, file);
}

static void call_put(struct sim_request *r)
{
  struct file *file = put_find_file(r->uri);
  const char *type = sim_call_header(r, "Content-Type");

  if (sim_call_header(r, "Authorization") != NULL) {
    put_refuse(r, MHD_HTTP_BAD_REQUEST, "InvalidArgument",
               "Only one auth mechanism allowed");
  } else if (sim_call_header(r, "Content-Length") == NULL) {
    put_refuse(r, MHD_HTTP_LENGTH_REQUIRED, "MissingContentLength",
               "You must provide the Content-Length HTTP header");
  } else if (file == NULL || type == NULL || strcmp(file->type, type) != 0) {
    put_refuse(r, MHD_HTTP_FORBIDDEN, "SignatureDoesNotMatch",
               "The request signature does not match");
  } else if (r->at_s >= file->expires_at_s) {
    put_refuse(r, MHD_HTTP_FORBIDDEN, "AccessDenied", "Request has expired");
  } else {
    put_store(r, file);
  }
}

/* ---- polls ---- */

static bool source_is_processed(const struct source *src, int64_t more_ms)
{
  return src->arrived_at_ms != 0 &&
         sim_now_ms() >=
             src->arrived_at_ms + sim_service.options.source_time_ms + more_ms;
}

static void call_source(struct sim_request *r)
{
  const char *word = r->fault.arg[SIM_ACT_WORD];
  const struct source *src;
  const cJSON *result;
  cJSON *json = NULL, *ids;

  (void)pthread_mutex_lock(&store_lock);
  for (src = newest; src != NULL && strcmp(src->id, r->id) != 0;)
    src = src->next;
  if (src != NULL) {
    json = cJSON_CreateObject();
    if (word == NULL)
      word = src->n_arrived < src->n_files  ? "pending_upload"
             : !source_is_processed(src, 0) ? "processing"
             : src->unreadable              ? "failed"
                                            : "complete";
    (void)cJSON_AddStringToObject(json, "id", src->id);
    (void)cJSON_AddStringToObject(json, "status", word);
    (void)cJSON_AddNumberToObject(json, "expected_file_count",
                                  (double)src->n_files);
    (void)cJSON_AddNumberToObject(json, "uploaded_file_count",
                                  (double)src->n_arrived);
    if (strcmp(word, "complete") != 0) {
      (void)cJSON_AddNullToObject(json, "case_ids");
    } else {
      ids = cJSON_AddArrayToObject(json, "case_ids");
      cJSON_ArrayForEach(result, src->cases)
      {
        (void)cJSON_AddItemToArray(
            ids, cJSON_Duplicate(cJSON_GetObjectItem(result, "id"), 0));
      }
    }
  }
  (void)pthread_mutex_unlock(&store_lock);
  if (json != NULL)
    call_succeed(r, MHD_HTTP_OK, json);
  else
    sim_call_fail(r, MHD_HTTP_NOT_FOUND);
}

/* The caller holds the lock. Cases can be found only when their source is
 * complete. */
static const cJSON *extract_find_case(const char *id, const struct source **ret)
{
  const cJSON *result;

  for (*ret = newest; *ret != NULL; *ret = (*ret)->next)
    if (!(*ret)->unreadable && source_is_processed(*ret, 0))
      cJSON_ArrayForEach(result, (*ret)->cases)
      {
        if (strcmp(cJSON_GetObjectItem(result, "id")->valuestring, id) == 0)
          return result;
      }
  return NULL;
}

static void call_extract(struct sim_request *r)
{
  const struct source *src;
  const cJSON *result;
  cJSON *copy = NULL;

  (void)pthread_mutex_lock(&store_lock);
  result = extract_find_case(r->id, &src);
  if (result != NULL) {
    memcpy(r->source_id, src->id, SIM_ID_BYTES);
    if (source_is_processed(src, sim_service.options.case_time_ms))
      copy = cJSON_Duplicate(result, 1);
  }
  (void)pthread_mutex_unlock(&store_lock);
  if (copy != NULL)
    call_succeed(r, MHD_HTTP_OK, copy);
  else
    sim_call_fail(r, result != NULL ? MHD_HTTP_NO_CONTENT : MHD_HTTP_NOT_FOUND);
}

static void call_hello(struct sim_request *r)
{
  cJSON *results = cJSON_CreateObject();

  (void)cJSON_AddStringToObject(
      results, "auth_info",
      "Hello, this is docextract-sim, a simulator for trials and tests.");
  call_succeed(r, MHD_HTTP_OK, results);
}

/* ---- all calls ---- */

/* True if the call is one of at most `rate` calls in any second. */
static bool call_is_within_rate(int64_t now_ms)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int64_t last_ms[RATE_MAX]; /* of the last calls */
  static size_t oldest;
  size_t limit = (size_t)sim_service.options.rate;
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

static void call_other(struct sim_request *r)
{
  sim_call_fail(r, r->allow == NULL ? MHD_HTTP_NOT_FOUND
                                    : MHD_HTTP_METHOD_NOT_ALLOWED);
  if (r->allow != NULL)
    (void)snprintf(r->response.header, sizeof(r->response.header), "Allow: %s",
                   r->allow);
}

const char *const sim_call_words[SIM_CALL_COUNT + 1] = {
    "create",          "put",   "source", "extract", "hello", "connect",
    "connect-storage", "other", "any"};

static const struct {
  bool is_storage;
  const char *method;
  const char *path; /* "?*" stands for an ID */
  void (*perform)(struct sim_request *r);
} calls[SIM_OTHER + 1] = {
    [SIM_CREATE] = {false, "POST", "/v1/source", call_create},
    [SIM_PUT] = {true, "PUT", "*", call_put},
    [SIM_SOURCE] = {false, "GET", "/v1/source/?*", call_source},
    [SIM_EXTRACT] = {false, "GET", "/v1/patient_case/?*/extract", call_extract},
    [SIM_HELLO] = {false, "POST", "/auth/hello", call_hello},
    /* never found: of connections */
    [SIM_CONNECT] = {false, "", "", NULL},
    [SIM_CONNECT_STORAGE] = {true, "", "", NULL},
    [SIM_OTHER] = {false, NULL, NULL, call_other},
};

void sim_call_find(struct sim_request *r, const char *method)
{
  unsigned i = 0;

  while (i < SIM_OTHER && (calls[i].is_storage != r->is_storage ||
                           fnmatch(calls[i].path, r->path, 0) != 0))
    i++;
  r->over_rate = !r->is_storage && !call_is_within_rate(r->at_ms);
  r->call = SIM_OTHER;
  if (i == SIM_OTHER)
    return;
  r->allow = calls[i].method;
  if (strcmp(method, r->allow) == 0)
    r->call = (enum sim_call)i;
  if (!r->is_storage &&
      strlen(r->path) + 2 == strlen(calls[i].path) + SIM_ID_LEN)
    memcpy(r->id, r->path + strcspn(calls[i].path, "?"), SIM_ID_LEN);
  if (r->call == SIM_SOURCE)
    memcpy(r->source_id, r->id, SIM_ID_BYTES);
}

void sim_call_perform(struct sim_request *r)
{
  if (r->over_rate) {
    sim_call_fail(r, MHD_HTTP_TOO_MANY_REQUESTS);
    (void)strcpy(r->response.header, "Retry-After: 1");
    return;
  }
  if (!r->is_storage)
    r->token_error =
        sim_token_error(sim_call_header(r, "Authorization"), sim_server_s());
  if (r->token_error != NULL) {
    sim_call_fail(r, MHD_HTTP_UNAUTHORIZED);
    (void)strcpy(r->response.header, "WWW-Authenticate: Bearer");
    return;
  }
  calls[r->call].perform(r);
}
