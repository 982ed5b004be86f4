/*
 * api.c - requests, responses, and the status table; the only file that
 * contains the paths and field names of the service.
 */
#include "daemon/service/api.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/config/config.h"
#include "daemon/service/signed_url.h"

#define PROXY_LOGIN_MAX_BYTES 4096
/* A second: a proxy may forward an upload only when it has all of it. */
#define DX_UPLOAD_FORWARD_BYTES 262144
#define ASKS_FOR_PASSWORD                                                   \
  "a proxy between this computer and the service requires a password; set " \
  "Proxy and ProxyPasswordFile"
#define WEB_PAGE "it is a web page, from a proxy, load balancer, or web filter"

static const struct {
  const char *word;
  const char *method;
  const char *path, *rest; /* before the id, and after it */
} calls[DX_CALL_KIND_COUNT] = {
    [DX_CALL_CREATE] = {"create source", "POST", "/v1/source", ""},
    [DX_CALL_PUT] = {"upload", "PUT", NULL, NULL}, /* to a signed URL */
    [DX_CALL_SOURCE] = {"get source", "GET", "/v1/source/", ""},
    [DX_CALL_EXTRACT] = {"get extract", "GET", "/v1/patient_case/", "/extract"},
    [DX_CALL_HELLO] = {"hello", "POST", "/auth/hello", ""},
};

/* ---- the status table (doc/policy.md, "Status table") ---- */

/* clang-format off */
struct row {
  int from, to;                               /* first and last status */
  enum dx_code of[DX_CALL_KIND_COUNT]; /* in the order of the enum */
};

/* For an upload, E_SERVER, E_GONE, E_TOO_BIG, and E_REFUSED all mean: try the
 * same URL again. The engine counts the last three, and limits their number. */
#define V(create, put, source, extract, hello)                           \
  {DX_##create, DX_##put, DX_##source, DX_##extract, DX_##hello}

/* The first row that contains the status applies. For 503 and for expired URLs,
 * the status is not sufficient: see dx_judge(). */
static const struct row rows[] = {
  /*           create      put        source        extract       hello */
  {200, 200, V(OK,         OK,        OK,           OK,           OK)},
  {201, 201, V(OK,         E_UNCLEAR, E_NOT_YET,    E_UNEXPECTED, OK)},
  {202, 202, V(OK,         E_UNCLEAR, E_NOT_YET,    E_NOT_YET,    OK)},
  {204, 204, V(E_SERVER,   E_UNCLEAR, E_NOT_YET,    E_NOT_YET,    OK)},
  {203, 299, V(E_SERVER,   E_UNCLEAR, E_NOT_YET,    E_UNEXPECTED, E_SERVER)},
  {300, 399, V(E_PROTOCOL, E_SERVER,  E_PROTOCOL,   E_PROTOCOL,   E_PROTOCOL)},
  {400, 400, V(E_REJECTED, E_SERVER,  E_UNEXPECTED, E_UNEXPECTED, E_REJECTED)},
  {401, 401, V(E_TOKEN,    E_GONE,    E_TOKEN,      E_TOKEN,      E_TOKEN)},
  {403, 403, V(E_TOKEN,    E_GONE,    E_TOKEN,      E_TOKEN,      E_TOKEN)},
  {404, 404, V(E_PROTOCOL, E_GONE,    E_GONE,       E_GONE,       E_PROTOCOL)},
  {410, 410, V(E_PROTOCOL, E_GONE,    E_GONE,       E_GONE,       E_PROTOCOL)},
  {405, 406, V(E_PROTOCOL, E_SERVER,  E_PROTOCOL,   E_PROTOCOL,   E_PROTOCOL)},
  {411, 411, V(E_PROTOCOL, E_SERVER,  E_PROTOCOL,   E_PROTOCOL,   E_PROTOCOL)},
  {414, 414, V(E_PROTOCOL, E_SERVER,  E_PROTOCOL,   E_PROTOCOL,   E_PROTOCOL)},
  {431, 431, V(E_PROTOCOL, E_SERVER,  E_PROTOCOL,   E_PROTOCOL,   E_PROTOCOL)},
  {501, 501, V(E_PROTOCOL, E_SERVER,  E_PROTOCOL,   E_PROTOCOL,   E_PROTOCOL)},
  {505, 505, V(E_PROTOCOL, E_SERVER,  E_PROTOCOL,   E_PROTOCOL,   E_PROTOCOL)},
  {408, 408, V(E_SERVER,   E_SERVER,  E_SERVER,     E_SERVER,     E_SERVER)},
  {425, 425, V(E_SERVER,   E_SERVER,  E_SERVER,     E_SERVER,     E_SERVER)},
  {409, 409, V(E_REJECTED, E_SERVER,  E_NOT_YET,    E_NOT_YET,    E_SERVER)},
  {423, 423, V(E_REJECTED, E_SERVER,  E_NOT_YET,    E_NOT_YET,    E_SERVER)},
  {413, 413, V(E_TOO_BIG,  E_TOO_BIG, E_UNEXPECTED, E_UNEXPECTED, E_REFUSED)},
  {415, 415, V(E_REFUSED,  E_REFUSED, E_UNEXPECTED, E_UNEXPECTED, E_REFUSED)},
  {422, 422, V(E_REFUSED,  E_REFUSED, E_UNEXPECTED, E_UNEXPECTED, E_REFUSED)},
  {429, 429, V(E_RATE,     E_SERVER,  E_RATE,       E_RATE,       E_RATE)},
  {500, 599, V(E_SERVER,   E_SERVER,  E_SERVER,     E_SERVER,     E_SERVER)},
  /* Only the statuses above are about the document. The only input of a GET is
   * an id from the service, so the failure may be temporary. */
  {  0, 999, V(E_REJECTED, E_SERVER,  E_UNEXPECTED, E_UNEXPECTED, E_REJECTED)},
};
/* clang-format on */

/* ---- bodies of errors ---- */

#define CODE_BYTES 65 /* of a storage's <Code>, with NUL */
#define CODE_WITHIN_BYTES 4096

bool dx_is_web_page(const char *body)
{
  static const char *const begins[] = {"<!doctype html", "<html"};
  size_t i;

  if (strncmp(body, "\xEF\xBB\xBF", 3) == 0)
    body += 3;
  body += strspn(body, " \t\r\n");
  for (i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
    if (strncasecmp(body, begins[i], strlen(begins[i])) == 0)
      return true;
  return false;
}

/* The <Code> of an error document of S3, Azure, Google, or Swift; "" if there
 * is none that consists of letters and digits. */
static void storage_code(const struct dx_http_response *response,
                         char code[CODE_BYTES])
{
  const char *at = strstr(response->body, "<Code>");
  size_t len;

  code[0] = '\0';
  if (at == NULL || at - response->body > CODE_WITHIN_BYTES)
    return;
  at += strlen("<Code>");
  len = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                   "0123456789");
  if (len < CODE_BYTES && strncmp(at + len, "</Code>", 7) == 0)
    (void)snprintf(code, CODE_BYTES, "%.*s", (int)len, at);
}

/* Whether a refusal of the storage, with this <Code>, means that the URL has
 * expired. Only then is another URL of use. */
static bool is_expired(const char *body, const char *code)
{
  if (code[0] == '\0') /* a storage of another kind */
    return strcasestr(body, "expired") != NULL && !dx_is_web_page(body);
  return strcmp(code, "ExpiredToken") == 0 || /* of Google, or of the signer */
         (strcmp(code, "AccessDenied") == 0 &&
          strcasestr(body, "expired") != NULL) ||
         (strcmp(code, "AuthenticationFailed") == 0 && /* of Azure */
          strstr(body, "not valid in the specified time frame") != NULL);
}

/* What the codes mean that an administrator can act upon, or report. */
static const char *storage_reason(const char *code)
{
  static const struct {
    const char *code, *reason;
  } meanings[] = {
      {"AccessDenied", ": it denies access"},
      {"AuthorizationQueryParametersError", ": the upload URL is not valid"},
      {"InvalidAccessKeyId", ": it does not know the key of the upload URL"},
      {"NoSuchBucket", ": it does not have the bucket of the upload URL"},
      {"RequestTimeTooSkewed",
       ": the clocks of the service and of the storage differ"},
      {"SignatureDoesNotMatch", ": the signature of the upload URL is wrong"},
      {"SlowDown", ": it requests fewer uploads"},
  };
  size_t i;

  for (i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
    if (strcmp(meanings[i].code, code) == 0)
      return meanings[i].reason;
  return "";
}

/* ---- judging ---- */

/* "HOST: STATUS", or "STATUS" if the host is not known. */
#define FROM "%s%s%d"
#define FROM_ARGS(response) \
  (response)->host, (response)->host[0] != '\0' ? ": " : "", (response)->status

static enum dx_code fail_storage(enum dx_code code,
                                 const struct dx_http_response *response,
                                 const char *name, struct dx_err *err)
{
  const char *blank = name[0] != '\0' ? " " : "";
  const char *what = "rejected the upload";

  if (code == DX_E_EXPIRED)
    return dx_fail(err, code, 0, "the upload URL has expired (" FROM "%s%s)",
                   FROM_ARGS(response), blank, name);
  if (code == DX_E_UNCLEAR)
    what = "did not confirm the upload";
  else if (response->status >= 500)
    what = "failed";
  else if (response->status < 400)
    what = "redirects the upload, which is not followed";
  return dx_fail(err, code, 0, "the storage %s%s (" FROM "%s%s)", what,
                 code == DX_E_TOO_BIG ? ": the document is too large"
                                      : storage_reason(name),
                 FROM_ARGS(response), blank, name);
}

static enum dx_code judge_put(enum dx_code code,
                              const struct dx_http_response *response,
                              struct dx_err *err)
{
  int status = response->status;
  char name[CODE_BYTES];

  storage_code(response, name);
  /* An error document instead of a confirmation. */
  if (code == DX_OK && (name[0] != '\0' || dx_is_web_page(response->body)))
    code = DX_E_UNCLEAR;
  else if (status == 400 && strcmp(name, "EntityTooLarge") == 0)
    code = DX_E_TOO_BIG;
  else if ((status == 400 || status == 401 || status == 403) &&
           is_expired(response->body, name))
    code = DX_E_EXPIRED;
  if (code == DX_OK)
    return DX_OK;
  (void)fail_storage(code, response, name, err);
  /* An error may be a web page of the storage itself. */
  return err != NULL && code == DX_E_UNCLEAR && dx_is_web_page(response->body)
             ? dx_fail_advice(err, WEB_PAGE)
             : code;
}

enum dx_code dx_judge(enum dx_call_kind call,
                      const struct dx_http_response *response,
                      struct dx_err *err)
{
  int status = response->status;
  const struct row *row = rows;
  const char *on = response->host;
  enum dx_code code;

  if (response->err.code != DX_OK)
    return dx_fail(err, response->err.code, response->err.sys_errno, "%s",
                   response->err.text);
  while (status < row->from || status > row->to)
    row++;
  code = row->of[call];
  if (call == DX_CALL_PUT)
    return judge_put(code, response, err);
  if (status == 503 && response->retry_after_ms >= 0)
    code = DX_E_RATE;
  switch (code) {
  case DX_OK:
  case DX_E_NOT_YET:
    return code;
  case DX_E_RATE:
    (void)dx_fail(err, code, 0, "the service requests fewer calls (" FROM ")",
                  FROM_ARGS(response));
    break;
  case DX_E_TOKEN:
    (void)dx_fail(err, code, 0, "the service rejected the token (" FROM ")",
                  FROM_ARGS(response));
    break;
  case DX_E_TOO_BIG:
    (void)dx_fail(err, code, 0, "too large for the service (" FROM ")",
                  FROM_ARGS(response));
    break;
  case DX_E_PROTOCOL:
    (void)dx_fail(err, code, 0,
                  "the server at BaseURL does not respond like the service "
                  "(" FROM " to '%s')",
                  FROM_ARGS(response), calls[call].word);
    break;
  default:
    (void)dx_fail(err, code, 0, "the service responded with %d to '%s'%s%s%s",
                  status, calls[call].word, on[0] != '\0' ? " (" : "", on,
                  on[0] != '\0' ? ")" : "");
  }
  if (err != NULL && status == 407)
    (void)dx_fail_advice(err, ASKS_FOR_PASSWORD);
  return err != NULL && dx_is_web_page(response->body)
             ? dx_fail_advice(err, WEB_PAGE)
             : code;
}

/* ---- requests ---- */

/* Reads the only line of ProxyPasswordFile, which may have changed. */
static enum dx_code read_proxy_login(const char *path, struct dx_buf *ret,
                                     struct dx_err *err)
{
  struct dx_err why;
  enum dx_code code =
      dx_fs_read(AT_FDCWD, path, PROXY_LOGIN_MAX_BYTES, ret, &why);
  size_t len, colon;

  if (code == DX_E_NOMEM || code == DX_E_FDS)
    return dx_fail(err, code, why.sys_errno, "%s", why.text);
  if (code != DX_OK)
    return dx_fail(err, DX_E_PROXY, why.sys_errno,
                   "the ProxyPasswordFile cannot be used: %s", why.text);
  len = strcspn(dx_buf_text(ret), "\r\n");
  colon = strcspn(dx_buf_text(ret), ":");
  if (colon == 0 || colon >= len ||
      len + strspn(dx_buf_text(ret) + len, "\r\n") != ret->len)
    return dx_fail(err, DX_E_PROXY, 0,
                   "the ProxyPasswordFile '%s' must have one line, "
                   "user:password",
                   path);
  ret->data[len] = '\0';
  return DX_OK;
}

/* Adds what all calls have in common to the request, and starts it. If it has
 * no URL, it is a call of the API. */
static enum dx_code api_start(const struct dx_api *api, enum dx_call_kind kind,
                              const char *id, struct dx_http_request *request,
                              struct dx_err *err)
{
  const struct dx_service *service = api->service;
  struct dx_buf url = {0}, login = {0};
  enum dx_code code = DX_OK;

  request->method = calls[kind].method;
  request->stall_s += DX_API_TIMEOUT_MS / 1000;
  request->to_storage = kind == DX_CALL_PUT;
  request->ca_file = dx_ca_file(service, request->to_storage);
  request->proxy = service->proxy;
  request->done = api->done;
  request->log = api->log;
  request->ready = api->ready;
  request->ctx = api->ctx;
  if (request->url == NULL) {
    dx_buf_puts(&url, service->base_url);
    dx_buf_puts(&url, calls[kind].path);
    if (id != NULL && (strcmp(id, ".") == 0 || strcmp(id, "..") == 0))
      dx_buf_puts(&url, id[1] == '\0' ? "%2E" : "%2E%2E");
    else if (id != NULL)
      dx_buf_percent(&url, id, ".~");
    dx_buf_puts(&url, calls[kind].rest);
    if (!dx_buf_ok(&url))
      code = dx_fail_nomem(err);
    request->url = dx_buf_text(&url);
    request->body_fd = -1;
    request->scope = DX_SCOPE_LINK; /* the administrator configured the host */
    request->bearer = api->token;
    request->is_fresh = kind == DX_CALL_HELLO; /* tests the connection, too */
    if (request->sink == NULL)
      request->timeout_ms = DX_API_TIMEOUT_MS;
  }
  if (code == DX_OK && service->proxy != NULL &&
      service->proxy_password_file != NULL) {
    code = read_proxy_login(service->proxy_password_file, &login, err);
    request->proxy_login = dx_buf_text(&login);
  }
  if (code == DX_OK)
    code = dx_http_start(api->http, request, api->call, err);
  dx_buf_release(&login);
  dx_buf_release(&url);
  return code;
}

enum dx_code dx_api_call(const struct dx_api *api, enum dx_call_kind kind,
                         const char *id, dx_http_sink *sink, struct dx_err *err)
{
  struct dx_http_request request = {.sink = sink};

  return api_start(api, kind, id, &request, err);
}

enum dx_code dx_api_create(const struct dx_api *api,
                           const struct dx_api_file *files, size_t count,
                           struct dx_err *err)
{
  struct dx_http_request request = {0};
  struct dx_json_out body = {0};
  enum dx_code code;
  size_t i;

  dx_json_open(&body, NULL, '{');
  dx_json_open(&body, "files", '[');
  for (i = 0; i < count; i++) {
    dx_json_open(&body, NULL, '{');
    dx_json_put_string(&body, "content_type", files[i].type);
    dx_json_put_string(&body, "file_name", files[i].name);
    dx_json_close(&body, '}');
  }
  dx_json_close(&body, ']');
  dx_json_close(&body, '}');
  request.content_type = "application/json";
  request.body = dx_buf_text(&body.text);
  request.body_len = body.text.len;
  code = dx_buf_ok(&body.text)
             ? api_start(api, DX_CALL_CREATE, NULL, &request, err)
             : dx_fail_nomem(err);
  dx_buf_release(&body.text);
  return code;
}

/* A call to a storage, if its URL is permitted. */
static enum dx_code api_start_storage(const struct dx_api *api,
                                      struct dx_http_request *request,
                                      struct dx_err *err)
{
  enum dx_code code =
      dx_signed_url_check(request->url, api->service, &request->scope, err);

  return code == DX_OK ? api_start(api, DX_CALL_PUT, NULL, request, err) : code;
}

enum dx_code dx_api_put(const struct dx_api *api, const char *url,
                        const char *type, int fd, int64_t bytes,
                        dx_http_progress *progress, struct dx_err *err)
{
  struct dx_http_request request = {.url = url,
                                    .content_type = type,
                                    .body_fd = fd,
                                    .body_bytes = bytes,
                                    .stall_s =
                                        (int)(bytes / DX_UPLOAD_FORWARD_BYTES),
                                    .progress = progress};

  return api_start_storage(api, &request, err);
}

enum dx_code dx_api_reach(const struct dx_api *api, const char *origin,
                          struct dx_err *err)
{
  struct dx_http_request request = {.url = origin,
                                    .body_fd = -1,
                                    .timeout_ms = DX_API_TIMEOUT_MS,
                                    .only_connects = true,
                                    .is_fresh = true};

  return api_start_storage(api, &request, err);
}

/* ---- responses ---- */

/* A success with an invalid body, or out of memory: the caller clears errno
 * before parsing. body: its beginning. */
static enum dx_code api_not_understood(enum dx_call_kind call,
                                       const struct dx_http_response *response,
                                       const char *body, struct dx_err *err)
{
  if (errno == ENOMEM)
    return dx_fail_nomem(err);
  (void)dx_fail(err, DX_E_RESPONSE, 0,
                "cannot understand the response to '%s' (" FROM ")",
                calls[call].word, FROM_ARGS(response));
  return err != NULL && dx_is_web_page(body) ? dx_fail_advice(err, WEB_PAGE)
                                             : DX_E_RESPONSE;
}

/* The body is valid, but belongs to another request, or to none. */
static enum dx_code no_sense(enum dx_call_kind call,
                             const struct dx_http_response *response,
                             const char *why, struct dx_err *err)
{
  return dx_fail(err, DX_E_UNEXPECTED, 0, "the response to '%s' %s (" FROM ")",
                 calls[call].word, why, FROM_ARGS(response));
}

/* Ids with a NUL can differ although they look the same. */
static bool has_nul(const char *id)
{
  return strstr(id, DX_JSON_NUL) != NULL;
}

static bool is_id(const char *id)
{
  return id != NULL && id[0] != '\0' && strlen(id) <= 4096;
}

/* Parses the body. The caller frees *ret_root, which contains the result. */
static const struct cJSON *results_of(const struct dx_http_response *response,
                                      struct cJSON **ret_root)
{
  errno = 0;
  *ret_root = dx_json_parse(response->body, response->body_len, NULL);
  return dx_json_get(*ret_root, "results");
}

/* Copies the strings of an array, or the string `member` of each of its
 * objects; the caller frees the list, whatever the result. False if one is
 * missing, or when out of memory. */
static bool copy_strings(const struct cJSON *array, const char *member,
                         char ***ret_list, size_t *ret_count)
{
  const struct cJSON *item = dx_json_first(array);

  *ret_list = calloc(dx_json_count(array) + 1, sizeof(**ret_list));
  for (; *ret_list != NULL && item != NULL; item = dx_json_next(item)) {
    const char *text =
        dx_json_string(member != NULL ? dx_json_get(item, member) : item);
    char *copy = text != NULL ? strdup(text) : NULL;

    if (copy == NULL)
      return false;
    (*ret_list)[(*ret_count)++] = copy;
  }
  return *ret_list != NULL;
}

static void free_strings(char **list, size_t count)
{
  while (list != NULL && count-- > 0) {
    if (list[count] != NULL)
      explicit_bzero(list[count], strlen(list[count]));
    free(list[count]);
  }
  free(list);
}

enum dx_code dx_read_hello(const struct dx_http_response *response,
                           char **ret_greeting, struct dx_err *err)
{
  enum dx_code code = dx_judge(DX_CALL_HELLO, response, err);
  struct cJSON *root = NULL;
  const char *greeting;

  *ret_greeting = NULL;
  if (code != DX_OK)
    return code;
  greeting =
      dx_json_string(dx_json_get(results_of(response, &root), "auth_info"));
  *ret_greeting = greeting != NULL ? strdup(greeting) : NULL;
  if (*ret_greeting == NULL)
    code = api_not_understood(DX_CALL_HELLO, response, response->body, err);
  dx_json_free(&root);
  return code;
}

void dx_created_release(struct dx_created *created)
{
  free(created->source_id);
  free_strings(created->urls, created->count);
  memset(created, 0, sizeof(*created));
}

enum dx_code dx_read_create(const struct dx_http_response *response,
                            const struct dx_service *service, size_t count,
                            struct dx_created *ret_created, struct dx_err *err)
{
  enum dx_code code = dx_judge(DX_CALL_CREATE, response, err);
  struct cJSON *root = NULL;
  const struct cJSON *results;
  const char *id;
  enum dx_scope scope;
  size_t i;

  memset(ret_created, 0, sizeof(*ret_created));
  if (code != DX_OK)
    return code;
  results = results_of(response, &root);
  id = dx_json_string(dx_json_get(results, "id"));
  ret_created->source_id = is_id(id) ? strdup(id) : NULL;
  ret_created->lifetime_ms = INT64_MAX;
  if (ret_created->source_id == NULL ||
      !copy_strings(dx_json_get(results, "upload_urls"), "url",
                    &ret_created->urls, &ret_created->count) ||
      ret_created->count != count)
    code = api_not_understood(DX_CALL_CREATE, response, response->body, err);
  else if (has_nul(id))
    code = no_sense(DX_CALL_CREATE, response, "has a NUL in its id", err);
  for (i = 0; code == DX_OK && i < count; i++) {
    const char *url = ret_created->urls[i];
    int64_t lifetime_ms = dx_signed_url_lifetime_ms(url, response->date_ms);

    if (lifetime_ms < ret_created->lifetime_ms)
      ret_created->lifetime_ms = lifetime_ms;
    code = dx_signed_url_check(url, service, &scope, err);
  }
  if (code != DX_OK)
    dx_created_release(ret_created);
  dx_json_free(&root);
  return code;
}

void dx_source_release(struct dx_source *source)
{
  free_strings(source->case_ids, source->case_count);
  memset(source, 0, sizeof(*source));
}

static int compare_ids(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum dx_code check_cases(const struct dx_source *source,
                                const struct dx_http_response *response,
                                struct dx_err *err)
{
  char **sorted = calloc(source->case_count + 1, sizeof(*sorted));
  enum dx_code code = DX_OK;
  size_t i;

  if (sorted == NULL)
    return dx_fail_nomem(err);
  for (i = 0; i < source->case_count; i++)
    sorted[i] = source->case_ids[i];
  qsort(sorted, source->case_count, sizeof(*sorted), compare_ids);
  for (i = 0; code == DX_OK && i < source->case_count; i++)
    if (!is_id(sorted[i]))
      code = api_not_understood(DX_CALL_SOURCE, response, "", err);
    else if (has_nul(sorted[i]))
      code = no_sense(DX_CALL_SOURCE, response, "has a NUL in the id of a case",
                      err);
    else if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0)
      code = no_sense(DX_CALL_SOURCE, response, "lists a case twice", err);
  free(sorted);
  return code;
}

enum dx_code dx_read_source(const struct dx_http_response *response,
                            const char *source_id, struct dx_source *ret_source,
                            struct dx_err *err)
{
  enum dx_code code = dx_judge(DX_CALL_SOURCE, response, err);
  static const char *const words[] = {"pending_upload", "processing",
                                      "complete", "failed"};
  const struct cJSON *results, *id, *cases;
  struct cJSON *root = NULL;
  const char *word;

  memset(ret_source, 0, sizeof(*ret_source));
  if (code != DX_OK)
    return code;
  results = results_of(response, &root);
  id = dx_json_get(results, "id"); /* may be absent */
  cases = dx_json_get(results, "case_ids");
  word = dx_json_string(dx_json_get(results, "status"));
  ret_source->status =
      (enum dx_source_status)dx_word_index(words, DX_SOURCE_UNKNOWN, word);
  if (!dx_json_int(dx_json_get(results, "expected_file_count"),
                   &ret_source->expected))
    ret_source->expected = -1;
  if (!dx_json_int(dx_json_get(results, "uploaded_file_count"),
                   &ret_source->uploaded))
    ret_source->uploaded = -1;
  if (ret_source->status == DX_SOURCE_COMPLETE &&
      dx_json_count(cases) > DX_CASES_MAX)
    code = dx_fail(err, DX_E_RESPONSE, 0,
                   "the source has more than %d cases (" FROM ")", DX_CASES_MAX,
                   FROM_ARGS(response));
  else if (word == NULL || (ret_source->status == DX_SOURCE_COMPLETE &&
                            (!dx_json_is_array(cases) ||
                             !copy_strings(cases, NULL, &ret_source->case_ids,
                                           &ret_source->case_count))))
    code = api_not_understood(DX_CALL_SOURCE, response, response->body, err);
  else if (id != NULL && !dx_json_is_null(id) &&
           (dx_json_string(id) == NULL ||
            strcmp(dx_json_string(id), source_id) != 0))
    code = no_sense(DX_CALL_SOURCE, response, "is for another source", err);
  else
    code = check_cases(ret_source, response, err);
  if (code != DX_OK)
    dx_source_release(ret_source);
  dx_json_free(&root);
  return code;
}

/* ---- checking a result ---- */

/* If a name occurs several times, JSON decoders differ in which one they
 * use. */
static size_t count_members(const struct cJSON *object, const char *name)
{
  const struct cJSON *member = dx_json_first_member(object);
  size_t count = 0;

  for (; member != NULL; member = dx_json_next(member))
    count += strcmp(dx_json_name(member), name) == 0;
  return count;
}

/* An absent field is accepted. */
static bool is_about(const struct cJSON *results, const char *name,
                     const char *id)
{
  const struct cJSON *member = dx_json_get(results, name);
  const char *text = dx_json_string(member);

  return member == NULL ||
         (count_members(results, name) == 1 &&
          (text != NULL ? strcmp(text, id) == 0 : dx_json_is_null(member)));
}

/* Reads the beginning once more. */
static enum dx_code not_a_result(FILE *in,
                                 const struct dx_http_response *response,
                                 struct dx_err *err)
{
  int e = errno;
  char body[64] = "";

  rewind(in);
  (void)!fread(body, 1, sizeof(body) - 1, in);
  errno = e;
  return api_not_understood(DX_CALL_EXTRACT, response, body, err);
}

enum dx_code dx_check_result(FILE *in, const struct dx_http_response *response,
                             const char *source_id, const char *case_id,
                             bool *ret_is_empty, struct dx_err *err)
{
  struct dx_buf outline = {0};
  struct cJSON *root = NULL;
  const struct cJSON *results;
  const char *status;
  int64_t values = 0;
  enum dx_code code = DX_OK;

  errno = 0;
  if (dx_json_scan(in, false, &outline))
    root = dx_json_parse(outline.data, outline.len, NULL);
  results = dx_json_get(root, "results");
  status = dx_json_string(dx_json_get(results, "status"));
  if (count_members(root, "results") != 1 || status == NULL ||
      strcmp(status, "complete") != 0 || count_members(results, "status") != 1)
    code = not_a_result(in, response, err);
  else if (!is_about(results, "id", case_id))
    code = no_sense(DX_CALL_EXTRACT, response, "is for another case", err);
  else if (!is_about(results, "source_id", source_id))
    code = no_sense(DX_CALL_EXTRACT, response,
                    "is for a case of another source", err);
  (void)dx_json_int(dx_json_first(dx_json_get(results, "medical_data")),
                    &values);
  *ret_is_empty = values == 0 && count_members(results, "medical_data") < 2;
  dx_json_free(&root);
  dx_buf_release(&outline);
  return code;
}
