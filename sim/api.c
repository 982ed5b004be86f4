/*
 * api.c - the service's own port: create, source, extract, hello.
 */
#include "sim/api.h"

#include "sim/clock.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_BYTES_MAX (1u << 20)
#define DRAIN_BYTES_MAX (64u << 20)
#define NAME_BYTES_MAX 1024u
#define JSON_TYPE "application/json"

/* A path is `before` + id + `after`; without an id `after` is NULL. */
struct endpoint {
  enum sim_call call;
  const char *method;
  const char *before;
  const char *after;
};

static const struct endpoint endpoints[] = {
    {SIM_CREATE, "POST", "/v1/source", NULL},
    {SIM_SOURCE, "GET", "/v1/source/", ""},
    {SIM_EXTRACT, "GET", "/v1/patient_case/", "/extract"},
    {SIM_HELLO, "POST", "/auth/hello", NULL},
};

#define N_ENDPOINTS (sizeof(endpoints) / sizeof(endpoints[0]))

/*
 * The id in `path` if the endpoint is there, else NULL; an empty string for
 * those without one. *ret_len is its length.
 */
static const char *match_path(const struct endpoint *e, const char *path,
                              size_t *ret_len)
{
  size_t before = strlen(e->before);
  size_t after = e->after == NULL ? 0 : strlen(e->after);
  size_t len = strlen(path);

  if (strncmp(path, e->before, before) != 0)
    return NULL;
  if (e->after == NULL)
    return path[before] == '\0' ? path + before : NULL;
  if (len <= before + after || strcmp(path + len - after, e->after) != 0)
    return NULL;
  *ret_len = len - before - after;
  return path + before;
}

static const struct endpoint *find_endpoint(const char *path)
{
  size_t len = 0;

  for (size_t i = 0; i < N_ENDPOINTS; i++)
    if (match_path(&endpoints[i], path, &len) != NULL)
      return &endpoints[i];
  return NULL;
}

static enum sim_call classify(const char *method, const char *path)
{
  const struct endpoint *e = find_endpoint(path);

  return e != NULL && strcmp(method, e->method) == 0 ? e->call : SIM_OTHER;
}

/* The id in the path; "" when it cannot be one. */
static void path_id(const struct sim_request *r, char ret[SIM_ID_BYTES])
{
  const struct endpoint *e = find_endpoint(r->path);
  const char *id;
  size_t len = 0;

  ret[0] = '\0';
  id = e == NULL ? NULL : match_path(e, r->path, &len);
  if (id == NULL || len != SIM_ID_LEN)
    return;
  memcpy(ret, id, len);
  ret[len] = '\0';
  if (!sim_id_valid(ret))
    ret[0] = '\0';
}

static void error(struct sim_answer *a, unsigned status)
{
  a->status = status;
  if (status == MHD_HTTP_NO_CONTENT || status == MHD_HTTP_NOT_MODIFIED)
    return;
  a->type = JSON_TYPE;
  sim_buf_addf(&a->body, "{\"status\":%u}", status);
}

static void begin(struct sim_request *r)
{
  r->limited = !sim_rate_take(r->service->rate, r->line.at_ns);
  if (r->line.call == SIM_SOURCE)
    path_id(r, r->source_id);
}

static bool piece(struct sim_request *r, const char *data, size_t len)
{
  if (r->body.len <= BODY_BYTES_MAX)
    sim_buf_add(&r->body, data, len);
  return r->line.bytes <= DRAIN_BYTES_MAX;
}

/* Begins the envelope; its results follow. */
static void open_envelope(struct sim_answer *a, unsigned status)
{
  a->status = status;
  a->type = JSON_TYPE;
  sim_buf_addf(&a->body, "{\"status\":%u,\"results\":", status);
}

static void close_envelope(const struct sim_request *r, struct sim_answer *a)
{
  int64_t us = (sim_mono_ns() - r->line.at_ns) / 1000;

  sim_buf_addf(&a->body,
               ",\"debug_info\":{\"delta\":\"%" PRId64 ".%03dms\","
               "\"version\":\"docextract-sim %s\"}}",
               us / 1000, (int)(us % 1000), sim_version());
}

/* Reads one file entry; false when it is not as the interface has it. */
static bool read_entry(const cJSON *entry, struct sim_file_spec *ret)
{
  static const char *const types[] = {"application/pdf", "image/jpeg",
                                      "image/png"};
  const char *type = cJSON_GetStringValue(
      cJSON_GetObjectItemCaseSensitive(entry, "content_type"));
  const char *name = cJSON_GetStringValue(
      cJSON_GetObjectItemCaseSensitive(entry, "file_name"));

  if (type == NULL || name == NULL || *name == '\0' ||
      strlen(name) > NAME_BYTES_MAX)
    return false;
  *ret = (struct sim_file_spec){type, name};
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (strcmp(type, types[i]) == 0)
      return true;
  return false;
}

/* The entries of the request, borrowed from `json`; 0 when it is wrong. */
static size_t read_entries(const cJSON *json,
                           struct sim_file_spec ret[SIM_FILES_MAX])
{
  const cJSON *files = cJSON_GetObjectItemCaseSensitive(json, "files");
  const cJSON *entry;
  size_t n = 0;

  if (!cJSON_IsArray(files))
    return 0;
  cJSON_ArrayForEach(entry, files)
  {
    if (n == SIM_FILES_MAX || !read_entry(entry, &ret[n]))
      return 0;
    n++;
  }
  return n;
}

static void add_url(const struct sim_request *r, const char *id, size_t n,
                    const struct sim_file_spec *file, struct sim_buf *b)
{
  const struct sim_service *s = r->service;
  struct sim_buf url = {0};
  struct sim_buf path = {0};

  sim_buf_addf(&path, "/images/%s/SOURCE_FILES/%s_%zu", id, id, n);
  if (!path.failed) {
    sim_buf_addf(&url, "%s%s", s->storage_url, path.data);
    sim_sign_add(&s->signer, path.data, file->content_type,
                 sim_server_s(s->options->skew_s), s->options->url_lifetime_s,
                 &url);
  }
  if (!url.failed && !path.failed) {
    sim_buf_addf(b, "%s{\"url\":", n == 1 ? "" : ",");
    sim_buf_json(b, url.data);
    sim_buf_addf(b, ",\"object_name\":\"%s\",\"file_name\":", path.data + 1);
    sim_buf_json(b, file->file_name);
    sim_buf_str(b, "}");
  } else {
    b->failed = true;
  }
  sim_buf_free(&url);
  sim_buf_free(&path);
}

/* Notes what the log wants to know about the files. */
static void note_files(struct sim_request *r, const struct sim_file_spec *files,
                       size_t n)
{
  r->line.files = n;
  if (!r->service->options->log_names)
    return;
  for (size_t i = 0; i < n; i++) {
    sim_buf_str(&r->names, i == 0 ? "[" : ",");
    sim_buf_json(&r->names, files[i].file_name);
  }
  sim_buf_str(&r->names, "]");
  if (r->names.failed)
    r->names.len = 0;
}

static enum sim_fate fate_of(const struct sim_request *r)
{
  if (r->fault.action == SIM_ACT_FAILED)
    return SIM_FATE_FAILED;
  return r->fault.action == SIM_ACT_STUCK ? SIM_FATE_STUCK : SIM_FATE_NORMAL;
}

static void create_source(struct sim_request *r, struct sim_answer *a,
                          const struct sim_file_spec *files, size_t n)
{
  char id[SIM_ID_BYTES];

  note_files(r, files, n);
  if (sim_store_create(r->service->store, files, n, fate_of(r), id) !=
      SIM_FOUND) {
    error(a, MHD_HTTP_SERVICE_UNAVAILABLE);
    return;
  }
  memcpy(r->source_id, id, sizeof(id));
  open_envelope(a, MHD_HTTP_CREATED);
  sim_buf_addf(&a->body, "{\"id\":\"%s\",\"upload_urls\":[", id);
  for (size_t i = 0; i < n; i++)
    add_url(r, id, i + 1, &files[i], &a->body);
  sim_buf_str(&a->body, "]}");
  close_envelope(r, a);
}

static bool is_json(const char *content_type)
{
  size_t n = strlen(JSON_TYPE);

  return content_type != NULL && strncasecmp(content_type, JSON_TYPE, n) == 0 &&
         strchr("; ", content_type[n]) != NULL; /* the NUL is found, too */
}

static void do_create(struct sim_request *r, struct sim_answer *a)
{
  struct sim_file_spec *files = calloc(SIM_FILES_MAX, sizeof(*files));
  cJSON *json = NULL;
  size_t n = 0;

  sim_buf_str(&r->body, ""); /* data is no longer NULL */
  if (files == NULL || r->body.failed) {
    error(a, MHD_HTTP_SERVICE_UNAVAILABLE);
  } else if (r->body.len > BODY_BYTES_MAX) {
    error(a, MHD_HTTP_CONTENT_TOO_LARGE);
  } else {
    if (is_json(r->line.content_type))
      json = cJSON_ParseWithLengthOpts(r->body.data, r->body.len + 1, NULL, 1);
    n = json == NULL ? 0 : read_entries(json, files);
    if (n == 0)
      error(a, MHD_HTTP_BAD_REQUEST);
    else
      create_source(r, a, files, n);
  }
  cJSON_Delete(json);
  free(files);
}

static void do_source(struct sim_request *r, struct sim_answer *a)
{
  const char *word = r->fault.action == SIM_ACT_WORD ? r->fault.text : NULL;

  if (r->fault.action == SIM_ACT_FORGET)
    sim_store_forget(r->service->store, r->source_id);
  open_envelope(a, MHD_HTTP_OK);
  if (sim_store_describe(r->service->store, r->source_id, word, &a->body) ==
      SIM_FOUND) {
    close_envelope(r, a);
    return;
  }
  sim_buf_free(&a->body);
  error(a, MHD_HTTP_NOT_FOUND);
}

static void do_extract(struct sim_request *r, struct sim_answer *a)
{
  enum sim_found found;
  char id[SIM_ID_BYTES];

  path_id(r, id);
  if (r->fault.action == SIM_ACT_FORGET)
    sim_store_forget(r->service->store, id);
  open_envelope(a, MHD_HTTP_OK);
  found = sim_store_extract(r->service->store, id, &a->body, r->source_id);
  if (found == SIM_FOUND) {
    close_envelope(r, a);
    return;
  }
  sim_buf_free(&a->body);
  a->type = NULL;
  error(a, found == SIM_NOT_YET ? MHD_HTTP_NO_CONTENT : MHD_HTTP_NOT_FOUND);
}

static void do_hello(struct sim_request *r, struct sim_answer *a)
{
  open_envelope(a, MHD_HTTP_OK);
  sim_buf_str(&a->body, "{\"auth_info\":\"Hello, this is docextract-sim, a "
                        "stand-in for trying and testing.\"}");
  close_envelope(r, a);
}

static void do_other(struct sim_request *r, struct sim_answer *a)
{
  const struct endpoint *e = find_endpoint(r->path);

  error(a, e == NULL ? MHD_HTTP_NOT_FOUND : MHD_HTTP_METHOD_NOT_ALLOWED);
  if (e != NULL) {
    a->header = "Allow";
    a->value = e->method;
  }
}

static void perform(struct sim_request *r, struct sim_answer *a)
{
  static void (*const calls[SIM_CALL_COUNT])(struct sim_request *,
                                             struct sim_answer *) = {
      [SIM_CREATE] = do_create, [SIM_PUT] = do_other,
      [SIM_SOURCE] = do_source, [SIM_EXTRACT] = do_extract,
      [SIM_HELLO] = do_hello,   [SIM_OTHER] = do_other,
  };

  if (r->limited) {
    error(a, MHD_HTTP_TOO_MANY_REQUESTS);
    a->header = "Retry-After";
    a->value = "1";
    return;
  }
  r->line.why =
      sim_token_wrong(r->service->token, sim_request_header(r, "Authorization"),
                      sim_server_s(r->service->options->skew_s));
  if (r->line.why != NULL) {
    error(a, MHD_HTTP_UNAUTHORIZED);
    a->header = "WWW-Authenticate";
    a->value = "Bearer";
    return;
  }
  calls[r->line.call](r, a);
}

static void end(struct sim_request *r)
{
  (void)r; /* nothing of its own */
}

const struct sim_port sim_api_port = {classify, begin, piece,
                                      perform,  error, end};
