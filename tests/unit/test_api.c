/*
 * test_api.c - the status table of doc/policy.md, written out again; requests
 * as they are sent; responses that are not what they should be.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/config/config.h"
#include "lib/spool/sentence.h"
#include "daemon/service/api.h"
#include "tests/unit/fake_http.h"

/* One letter per call, in the order create, put, source, extract:
 * S success  N not yet  T transient  R rate  A token  B rejected  D refused  C
 * config X gone  W cannot be right  Q ask the source */
static const struct {
  int from, to;
  const char *letters;
} table[] = {
    {200, 200, "SSSS"}, {201, 201, "SQNW"}, {202, 202, "SQNN"},
    {204, 204, "TQNN"}, {300, 399, "CTCC"}, {400, 400, "BTWW"},
    {401, 401, "AXAA"}, {403, 403, "AXAA"}, {404, 404, "CXXX"},
    {410, 410, "CXXX"}, {405, 406, "CTCC"}, {411, 411, "CTCC"},
    {414, 414, "CTCC"}, {431, 431, "CTCC"}, {501, 501, "CTCC"},
    {505, 505, "CTCC"}, {408, 408, "TTTT"}, {425, 425, "TTTT"},
    {409, 409, "BTNN"}, {423, 423, "BTNN"}, {413, 413, "LLWW"},
    {415, 415, "DDWW"}, {422, 422, "DDWW"}, {429, 429, "RTRR"},
    {402, 402, "BTWW"}, {418, 418, "BTWW"}, {451, 451, "BTWW"},
    {600, 999, "BTWW"}, {500, 500, "TTTT"}, {502, 504, "TTTT"},
    {507, 599, "TTTT"},
};

static char letter_of(enum dx_code code)
{
  switch (code) {
  case DX_OK:
    return 'S';
  case DX_E_NOT_YET:
    return 'N';
  case DX_E_SERVER:
    return 'T';
  case DX_E_RATE:
    return 'R';
  case DX_E_TOKEN:
    return 'A';
  case DX_E_TOO_BIG:
    return 'L';
  case DX_E_REFUSED:
    return 'D';
  case DX_E_PROTOCOL:
    return 'C';
  case DX_E_GONE:
    return 'X';
  case DX_E_UNEXPECTED:
    return 'W';
  case DX_E_UNCLEAR:
    return 'Q';
  case DX_E_REJECTED:
    return 'B';
  default:
    return '?';
  }
}

static struct dx_http_response response_of(int status, const char *body)
{
  struct dx_http_response response;

  memset(&response, 0, sizeof(response));
  response.status = status;
  response.body = body;
  response.body_len = strlen(body);
  response.date_ms = -1;
  response.retry_after_ms = -1;
  return response;
}

static void every_status_has_the_code_of_the_policy(void **state)
{
  struct dx_err err;
  size_t i;
  int call, status;

  (void)state;
  for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
    for (status = table[i].from; status <= table[i].to; status++)
      for (call = DX_CALL_CREATE; call <= DX_CALL_EXTRACT; call++) {
        struct dx_http_response response = response_of(status, "");
        char got =
            letter_of(dx_judge((enum dx_call_kind)call, &response, &err));

        if (got != table[i].letters[call])
          fail_msg("%d to call %d: %c, not %c", status, call, got,
                   table[i].letters[call]);
      }
}

static void a_503_with_retry_after_limits_the_rate(void **state)
{
  struct dx_http_response response = response_of(503, "");
  struct dx_err err;

  (void)state;
  response.retry_after_ms = 0;
  assert_int_equal(dx_judge(DX_CALL_SOURCE, &response, &err), DX_E_RATE);
  assert_int_equal(dx_judge(DX_CALL_PUT, &response, &err), DX_E_SERVER);
  response.status = 500;
  assert_int_equal(dx_judge(DX_CALL_SOURCE, &response, &err), DX_E_SERVER);
}

static void expired_url_is_not_retried(void **state)
{
  struct dx_http_response response =
      response_of(403, "<Error><Message>Request has expired</Message></Error>");
  struct dx_err err;

  (void)state;
  assert_int_equal(dx_judge(DX_CALL_PUT, &response, &err), DX_E_EXPIRED);
  response.status = 400;
  assert_int_equal(dx_judge(DX_CALL_PUT, &response, &err), DX_E_EXPIRED);
  response.status = 500;
  assert_int_equal(dx_judge(DX_CALL_PUT, &response, &err), DX_E_SERVER);
}

static void failed_transfer_keeps_its_class(void **state)
{
  static const struct {
    enum dx_code code;
    enum dx_class cls;
  } rows[] = {
      {DX_E_NET, DX_CL_TRANSIENT}, {DX_E_RESPONSE, DX_CL_TRANSIENT},
      {DX_E_CERT, DX_CL_CONFIG},   {DX_E_PROTOCOL, DX_CL_CONFIG},
      {DX_E_URL, DX_CL_CONFIG},    {DX_E_SPACE, DX_CL_LOCAL},
      {DX_E_NOMEM, DX_CL_LOCAL},
  };
  struct dx_err err;
  size_t i;
  int call;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (call = 0; call < DX_CALL_KIND_COUNT; call++) {
      struct dx_http_response response = response_of(0, "");

      (void)dx_fail(&response.err, rows[i].code, 0, "what happened");
      assert_int_equal(dx_judge((enum dx_call_kind)call, &response, &err),
                       rows[i].code);
      assert_int_equal(dx_class_of(err.code), rows[i].cls);
      assert_string_equal(err.text, "what happened");
    }
}

/* Services at BaseURLs on this computer and elsewhere. */
static char local_host[] = "127.0.0.1", remote_host[] = "a.example";
static const struct dx_service local = {.host = local_host};
static const struct dx_service remote = {.host = remote_host};

#define URL "https://s.example/o?X-Amz-Date=20260131T120000Z&X-Amz-Expires=60"

static void created_source_has_an_id_and_a_url_for_each_file(void **state)
{
  static const struct {
    const char *body;
    size_t files;
    enum dx_code code;
  } rows[] = {
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":\"" URL "\"}]}}",
       1, DX_OK},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":\"" URL "\"}]}}",
       2, DX_E_RESPONSE},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[]}}", 1, DX_E_RESPONSE},
      {"{\"results\":{\"id\":\"\",\"upload_urls\":[{\"url\":\"" URL "\"}]}}", 1,
       DX_E_RESPONSE},
      {"{\"results\":{\"id\":7,\"upload_urls\":[{\"url\":\"" URL "\"}]}}", 1,
       DX_E_RESPONSE},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":5}]}}", 1,
       DX_E_RESPONSE},
      {"{\"results\":{\"id\":\"a\\u0000\",\"upload_urls\":[{\"url\":"
       "\"" URL "\"}]}}",
       1, DX_E_UNEXPECTED},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":\"" URL "\"}]}} x",
       1, DX_E_RESPONSE},
      {"", 1, DX_E_RESPONSE},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":"
       "\"http://s.example/o\"}]}}",
       1, DX_E_URL},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":"
       "\"https://u:p@s.example/o\"}]}}",
       1, DX_E_URL},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":"
       "\"file:///etc/passwd\"}]}}",
       1, DX_E_URL},
      {"{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":"
       "\"http://127.0.0.1:9/o\"}]}}",
       1, DX_OK},
  };
  struct dx_created created;
  struct dx_err err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_http_response response = response_of(201, rows[i].body);
    enum dx_code got =
        dx_read_create(&response, &local, rows[i].files, &created, &err);

    if (got != rows[i].code)
      fail_msg("%s: %s", rows[i].body, dx_code_name(got));
    assert_true((got == DX_OK) == (created.source_id != NULL));
    dx_created_release(&created);
  }
}

static void source_reports_its_status(void **state)
{
  static const struct {
    const char *body;
    enum dx_code code;
    enum dx_source_status status;
    size_t cases;
  } rows[] = {
      {"{\"results\":{\"status\":\"pending_upload\",\"case_ids\":null}}", DX_OK,
       DX_SOURCE_PENDING, 0},
      {"{\"results\":{\"status\":\"processing\"}}", DX_OK, DX_SOURCE_PROCESSING,
       0},
      {"{\"results\":{\"status\":\"complete\",\"case_ids\":[\"a\",\"b\"]}}",
       DX_OK, DX_SOURCE_COMPLETE, 2},
      {"{\"results\":{\"status\":\"complete\",\"case_ids\":[]}}", DX_OK,
       DX_SOURCE_COMPLETE, 0},
      {"{\"results\":{\"status\":\"failed\"}}", DX_OK, DX_SOURCE_FAILED, 0},
      {"{\"results\":{\"status\":\"sleeping\"}}", DX_OK, DX_SOURCE_UNKNOWN, 0},
      {"{\"results\":{\"status\":\"complete\",\"case_ids\":null}}",
       DX_E_RESPONSE, DX_SOURCE_PENDING, 0},
      {"{\"results\":{\"status\":\"complete\",\"case_ids\":[1]}}",
       DX_E_RESPONSE, DX_SOURCE_PENDING, 0},
      {"{\"results\":{\"status\":1}}", DX_E_RESPONSE, DX_SOURCE_PENDING, 0},
      {"[]", DX_E_RESPONSE, DX_SOURCE_PENDING, 0},
      {"<html>", DX_E_RESPONSE, DX_SOURCE_PENDING, 0},
  };
  struct dx_source source;
  struct dx_err err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_http_response response = response_of(200, rows[i].body);

    assert_int_equal(dx_read_source(&response, "S1", &source, &err),
                     rows[i].code);
    if (rows[i].code == DX_OK) {
      assert_int_equal(source.status, rows[i].status);
      assert_int_equal(source.case_count, rows[i].cases);
    }
    dx_source_release(&source);
  }
}

static void status_of_another_source_is_rejected(void **state)
{
  static const struct {
    const char *fields;
    enum dx_code code;
  } rows[] = {
      {"\"case_ids\":[]", DX_OK},
      {"\"id\":null,\"case_ids\":[]", DX_OK},
      {"\"id\":\"S1\",\"case_ids\":[\"a\",\"A\"]", DX_OK},
      {"\"id\":\"S2\",\"case_ids\":[]", DX_E_UNEXPECTED},
      {"\"id\":\"\",\"case_ids\":[]", DX_E_UNEXPECTED},
      {"\"id\":1,\"case_ids\":[]", DX_E_UNEXPECTED},
      {"\"id\":\"S1\\u0000\",\"case_ids\":[]", DX_E_UNEXPECTED},
      {"\"case_ids\":[\"a\",\"b\",\"a\"]", DX_E_UNEXPECTED},
      {"\"case_ids\":[\"a\",\"a\\u0000\"]", DX_E_UNEXPECTED},
      {"\"case_ids\":[\"a\\u0000\"]", DX_E_UNEXPECTED},
  };
  struct dx_source source;
  struct dx_err err;
  char body[128];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_http_response response;
    enum dx_code got;

    (void)snprintf(body, sizeof(body),
                   "{\"results\":{\"status\":\"complete\",%s}}",
                   rows[i].fields);
    response = response_of(200, body);
    got = dx_read_source(&response, "S1", &source, &err);
    if (got != rows[i].code)
      fail_msg("%s: %s", body, dx_code_name(got));
    assert_true(got == DX_OK || source.case_ids == NULL);
    dx_source_release(&source);
  }
}

static enum dx_code check_result(const char *text, size_t len,
                                 bool *ret_is_empty, struct dx_err *err)
{
  FILE *in = fmemopen((char *)(uintptr_t)text, len, "r");
  const struct dx_http_response response = {.status = 200};
  enum dx_code code =
      dx_check_result(in, &response, "S1", "C1", ret_is_empty, err);

  (void)fclose(in);
  return code;
}

static void result_of_another_case_is_rejected(void **state)
{
  static const struct {
    const char *fields;
    enum dx_code code;
  } rows[] = {
      {"", DX_OK},
      {",\"id\":\"C1\",\"source_id\":\"S1\"", DX_OK},
      {",\"id\":null,\"source_id\":null", DX_OK},
      {",\"id\":\"C2\"", DX_E_UNEXPECTED},
      {",\"id\":\"C1\",\"source_id\":\"S2\"", DX_E_UNEXPECTED},
      {",\"source_id\":\"S1\\u0000\"", DX_E_UNEXPECTED},
      {",\"id\":{}", DX_E_UNEXPECTED},
      {",\"id\":\"\\u00431\",\"source\\u005fid\":\"S1\"", DX_OK},
      {",\"id\":\"\\u0043\\u0032\"", DX_E_UNEXPECTED},
      {",\"id\":\"C1\\ud800\"", DX_E_UNEXPECTED},
      {",\"id\":\"C1\",\"id\":\"C1\"", DX_E_UNEXPECTED},
      {",\"id\":\"C1\",\"id\":\"C2\"", DX_E_UNEXPECTED},
      {",\"id\":\"C1\",\"i\\u0064\":\"C2\"", DX_E_UNEXPECTED},
      {",\"x\":{\"id\":\"C2\"}", DX_OK},
      {",\"x\":[{\"id\":\"C2\"}],\"id\":\"C1\"", DX_OK},
      {"},\"id\":\"C2\",\"x\":{\"id\":\"C2\"", DX_OK},
      {",\"status\":\"complete\"", DX_E_RESPONSE},
      {"},\"results\":{\"id\":\"C1\"", DX_E_RESPONSE},
  };
  struct dx_err err;
  char body[128];
  bool is_empty;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    (void)snprintf(body, sizeof(body),
                   "{\"results\":{\"status\":\"complete\"%s}}", rows[i].fields);
    if (check_result(body, strlen(body), &is_empty, &err) != rows[i].code)
      fail_msg("%s", body);
  }
}

static void result_without_a_value_is_empty(void **state)
{
  static const struct {
    const char *fields;
    bool is_empty;
  } rows[] = {
      {"", true},
      {",\"medical_data\":null", true},
      {",\"medical_data\":{}", true},
      {",\"medical_data\":{\"D1\":{}},\"case_name\":\"Case 1\"", true},
      {",\"medical_data\":{\"D1\":{\"patient_mrn\":null}}", true},
      {",\"medical_data\":{\"D1\":{\"patient_mrn\":\"17\"}}", false},
      {",\"medical_data\":{\"D1\":{},\"D2\":{\"wbc_count\":{\"value\":7}}}",
       false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_err err;
    char body[256];
    bool is_empty;

    (void)snprintf(body, sizeof(body),
                   "{\"results\":{\"status\":\"complete\"%s}}", rows[i].fields);
    assert_int_equal(check_result(body, strlen(body), &is_empty, &err), DX_OK);
    if (is_empty != rows[i].is_empty)
      fail_msg("%s", body);
  }
}

static void only_complete_results_are_accepted(void **state)
{
  static const char good[] = "{\"status\":200,\"results\":{\"status\":"
                             "\"complete\",\"medical_data\":{}}}\n";
  static const char marked[] =
      "\xef\xbb\xbf{\"results\":{\"status\":\"complete\"}}";
  static const char *const bad[] = {
      "",
      "{}",
      "{\"results\":{\"status\":\"processing\"}}",
      "{\"results\":{\"status\":\"complete\"}",
      "{\"results\":{\"status\":\"complete\"}}{}",
      "{\"results\":[{\"status\":\"complete\"}]}",
      "[{\"results\":{\"status\":\"complete\"}}]",
      "{\"results\":{\"status\":\"complete\",\"value\":01}}",
      "\xbb\xbf{\"results\":{\"status\":\"complete\"}}",
      "{\"status\":\"complete\"}",
  };
  struct dx_err err;
  bool is_empty;
  size_t i;

  (void)state;
  assert_int_equal(check_result(good, strlen(good), &is_empty, &err), DX_OK);
  assert_int_equal(check_result(marked, strlen(marked), &is_empty, &err),
                   DX_OK);
  /* a NUL */
  assert_int_equal(check_result(good, strlen(good) + 1, &is_empty, &err),
                   DX_E_RESPONSE);
  for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_int_equal(check_result(bad[i], strlen(bad[i]), &is_empty, &err),
                     DX_E_RESPONSE);
}

/* ---- requests ---- */

static struct dx_http_request sent; /* its strings may be freed */
static char sent_method[8], sent_url[256], sent_bearer[32], sent_body[512];
static char sent_type[64], sent_ca[32], sent_proxy[32], sent_login[32];

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *r,
                                  struct dx_http_call **ret, struct dx_err *err)
{
  (void)http;
  (void)ret;
  (void)err;
  sent = *r;
  (void)snprintf(sent_method, sizeof(sent_method), "%s", r->method);
  (void)snprintf(sent_url, sizeof(sent_url), "%s", r->url);
  (void)snprintf(sent_bearer, sizeof(sent_bearer), "%s",
                 r->bearer != NULL ? r->bearer : "-");
  (void)snprintf(sent_body, sizeof(sent_body), "%.*s", (int)r->body_len,
                 r->body != NULL ? r->body : "");
  (void)snprintf(sent_type, sizeof(sent_type), "%s",
                 r->content_type != NULL ? r->content_type : "-");
  (void)snprintf(sent_ca, sizeof(sent_ca), "%s", r->ca_file ? r->ca_file : "-");
  (void)snprintf(sent_proxy, sizeof(sent_proxy), "%s",
                 r->proxy ? r->proxy : "-");
  (void)snprintf(sent_login, sizeof(sent_login), "%s",
                 r->proxy_login ? r->proxy_login : "-");
  return DX_OK;
}

static enum dx_code take_nothing(void *ctx, const char *bytes, size_t len,
                                 struct dx_err *err)
{
  (void)ctx;
  (void)bytes;
  (void)len;
  (void)err;
  return DX_OK;
}

static void requests_have_the_documented_form(void **state)
{
  char base[] = "https://a.example/x";
  struct dx_service service = {.base_url = base, .host = remote_host};
  struct dx_http_call *call = NULL;
  const struct dx_api api = {
      .service = &service, .token = "TOKEN", .call = &call};
  const struct dx_api_file files[] = {{"application/pdf", "a \"b\".pdf"},
                                      {"image/png", "\xc3\xa9.png"}};
  struct dx_err err;

  (void)state;
  assert_int_equal(dx_api_create(&api, files, 2, &err), DX_OK);
  assert_string_equal(sent_method, "POST");
  assert_string_equal(sent_url, "https://a.example/x/v1/source");
  assert_string_equal(sent_bearer, "TOKEN");
  assert_string_equal(sent_body,
                      "{\"files\":[{\"content_type\":\"application/pdf\","
                      "\"file_name\":\"a \\\"b\\\".pdf\"},{\"content_type\":"
                      "\"image/png\",\"file_name\":\"\xc3\xa9.png\"}]}");
  assert_int_equal(sent.timeout_ms, 60000);
  assert_int_equal(dx_api_call(&api, DX_CALL_SOURCE, "a/../b?c", NULL, &err),
                   DX_OK);
  assert_string_equal(sent_url, "https://a.example/x/v1/source/a%2F..%2Fb%3Fc");
  assert_int_equal(dx_api_call(&api, DX_CALL_SOURCE, "..", NULL, &err), DX_OK);
  assert_string_equal(sent_url, "https://a.example/x/v1/source/%2E%2E");
  assert_int_equal(dx_api_call(&api, DX_CALL_EXTRACT, "c1", take_nothing, &err),
                   DX_OK);
  assert_string_equal(sent_url,
                      "https://a.example/x/v1/patient_case/c1/extract");
  assert_int_equal(dx_api_call(&api, DX_CALL_HELLO, NULL, NULL, &err), DX_OK);
  assert_string_equal(sent_url, "https://a.example/x/auth/hello");
  assert_string_equal(sent_body, "");
  /* A proxy may forward it only when it has all of it. */
  assert_int_equal(dx_api_put(&api, "https://s.example/o", "image/png", 9,
                              20 << 20, NULL, &err),
                   DX_OK);
  assert_int_equal(sent.stall_s, 140);
  assert_int_equal(dx_api_put(&api, "https://s.example/o?sig=1", "image/png", 9,
                              5, NULL, &err),
                   DX_OK);
  assert_string_equal(sent_method, "PUT");
  assert_string_equal(sent_bearer, "-");
  assert_int_equal(
      dx_api_put(&api, "http://s.example/o", "image/png", 9, 5, NULL, &err),
      DX_E_URL);
}

/* ---- what no table lists ---- */

static bool is_listed(int status)
{
  size_t i;

  for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
    if (status >= table[i].from && status <= table[i].to)
      return true;
  return false;
}

static void status_without_a_rule_is_not_a_success(void **state)
{
  int call, status;

  (void)state;
  for (status = 0; status <= 999; status++)
    for (call = 0; call < DX_CALL_KIND_COUNT; call++) {
      struct dx_http_response response = response_of(status, "");
      enum dx_code got = dx_judge((enum dx_call_kind)call, &response, NULL);

      assert_true(got >= DX_OK && got < DX_CODE_COUNT);
      if (!is_listed(status))
        assert_int_not_equal(got, DX_OK);
    }
}

static void every_failure_has_a_message_of_its_class(void **state)
{
  int call, status;

  (void)state;
  for (status = 200; status <= 599; status++)
    for (call = 0; call < DX_CALL_KIND_COUNT; call++) {
      struct dx_http_response response = response_of(status, "PATIENT DATA");
      struct dx_err err = {DX_OK, 0, ""};
      enum dx_code got = dx_judge((enum dx_call_kind)call, &response, &err);

      if (got == DX_OK || got == DX_E_NOT_YET)
        continue;
      if (err.text[0] == '\0' || err.code != got)
        fail_msg("%d: '%s' (%s)", status, err.text, dx_code_name(err.code));
      assert_null(strstr(err.text, "PATIENT")); /* never quotes the body */
      /* `docextract jobs` prints both, one after the other. */
      if (strstr(err.text, dx_code_rows[got].sentence) != NULL)
        fail_msg("%s: %s", dx_code_rows[got].sentence, err.text);
    }
}

static void a_503_without_retry_after_is_transient(void **state)
{
  struct dx_http_response response = response_of(503, "");
  int call;

  (void)state;
  for (call = 0; call < DX_CALL_KIND_COUNT; call++) {
    enum dx_call_kind kind = (enum dx_call_kind)call;

    response.retry_after_ms = -1;
    assert_int_equal(dx_judge(kind, &response, NULL), DX_E_SERVER);
    response.retry_after_ms = 5000;
    assert_int_equal(dx_judge(kind, &response, NULL),
                     kind == DX_CALL_PUT ? DX_E_SERVER : DX_E_RATE);
  }
}

static void only_the_storage_reports_expired_urls(void **state)
{
  static const int statuses[] = {400, 401, 403};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
    struct dx_http_response response =
        response_of(statuses[i], "<Code>ExpiredToken</Code>");
    int call;

    assert_int_equal(dx_judge(DX_CALL_PUT, &response, NULL), DX_E_EXPIRED);
    for (call = 0; call < DX_CALL_KIND_COUNT; call++)
      if (call != DX_CALL_PUT)
        assert_int_not_equal(dx_judge((enum dx_call_kind)call, &response, NULL),
                             DX_E_EXPIRED);
    response = response_of(statuses[i], "<Code>AccessDenied</Code>");
    assert_int_not_equal(dx_judge(DX_CALL_PUT, &response, NULL), DX_E_EXPIRED);
  }
}

/* What an administrator is told when s.example:8443 responds to an upload. */
static const struct {
  int status;
  const char *body;
  enum dx_code code;
  const char *text;
} storage_errors[] = {
    {403, "<?xml version=\"1.0\"?>\n<Error><Code>SignatureDoesNotMatch</Code>",
     DX_E_GONE,
     "the storage rejected the upload: the signature of the upload URL is "
     "wrong (s.example:8443: 403 SignatureDoesNotMatch)"},
    {403, "<Code>AccessDenied</Code><Message>Request has expired</Message>",
     DX_E_EXPIRED,
     "the upload URL has expired (s.example:8443: 403 AccessDenied)"},
    {403, "<Code>AccessDenied</Code><Message>Access Denied</Message>",
     DX_E_GONE,
     "the storage rejected the upload: it denies access (s.example:8443: 403 "
     "AccessDenied)"},
    {400, "<Code>ExpiredToken</Code><Message>Invalid argument.</Message>",
     DX_E_EXPIRED,
     "the upload URL has expired (s.example:8443: 400 ExpiredToken)"},
    {403, "<Code>RequestTimeTooSkewed</Code>", DX_E_GONE,
     "the storage rejected the upload: the clocks of the service and of the "
     "storage differ (s.example:8443: 403 RequestTimeTooSkewed)"},
    {503, "<Code>SlowDown</Code>", DX_E_SERVER,
     "the storage failed: it requests fewer uploads (s.example:8443: 503 "
     "SlowDown)"},
    {403, "<Code>InvalidAccessKeyId</Code>", DX_E_GONE,
     "the storage rejected the upload: it does not know the key of the "
     "upload URL (s.example:8443: 403 InvalidAccessKeyId)"},
    {404, "<Code>NoSuchBucket</Code>", DX_E_GONE,
     "the storage rejected the upload: it does not have the bucket of the "
     "upload URL (s.example:8443: 404 NoSuchBucket)"},
    {400, "<Code>EntityTooLarge</Code>", DX_E_TOO_BIG,
     "the storage rejected the upload: the document is too large "
     "(s.example:8443: 400 EntityTooLarge)"},
    {413, "", DX_E_TOO_BIG,
     "the storage rejected the upload: the document is too large "
     "(s.example:8443: 413)"},
    {400, "<Code>AuthorizationQueryParametersError</Code>", DX_E_SERVER,
     "the storage rejected the upload: the upload URL is not valid "
     "(s.example:8443: 400 AuthorizationQueryParametersError)"},
    {403,
     "<Code>AuthenticationFailed</Code><AuthenticationErrorDetail>"
     "Signature not valid in the specified time frame: Start",
     DX_E_EXPIRED,
     "the upload URL has expired (s.example:8443: 403 AuthenticationFailed)"},
    {403, "<Code>AuthenticationFailed</Code>", DX_E_GONE,
     "the storage rejected the upload (s.example:8443: 403 "
     "AuthenticationFailed)"},
    {401, "<html><h1>Unauthorized</h1><p>401 Unauthorized: Temp URL invalid",
     DX_E_GONE, "the storage rejected the upload (s.example:8443: 401)"},
    {403, "{\"error\":\"this URL has expired\"}", DX_E_EXPIRED,
     "the upload URL has expired (s.example:8443: 403)"},
    {403, "<!DOCTYPE HTML><p>Your session has expired", DX_E_GONE,
     "the storage rejected the upload (s.example:8443: 403)"},
    {403, "<Code>SignatureDoesNotMatch</Code><StringToSign>expired", DX_E_GONE,
     "the storage rejected the upload: the signature of the upload URL is "
     "wrong (s.example:8443: 403 SignatureDoesNotMatch)"},
    {500, "<Code>InternalError</Code>", DX_E_SERVER,
     "the storage failed (s.example:8443: 500 InternalError)"},
    {307, "<Code>TemporaryRedirect</Code>", DX_E_SERVER,
     "the storage redirects the upload, which is not followed "
     "(s.example:8443: 307 TemporaryRedirect)"},
    {200, "<Error><Code>InternalError</Code></Error>", DX_E_UNCLEAR,
     "the storage did not confirm the upload (s.example:8443: 200 "
     "InternalError)"},
    {200, "", DX_OK, ""},
    {202, "", DX_E_UNCLEAR,
     "the storage did not confirm the upload (s.example:8443: 202)"},
    /* not a code */
    {403, "<Code>Ann Ahrens</Code>", DX_E_GONE,
     "the storage rejected the upload (s.example:8443: 403)"},
    {403, "<Code></Code>", DX_E_GONE,
     "the storage rejected the upload (s.example:8443: 403)"},
    {403, "<Code>AccessDenied", DX_E_GONE,
     "the storage rejected the upload (s.example:8443: 403)"},
    {403,
     "<Code>a123456789012345678901234567890123456789012345678901234567890123"
     "4</Code>",
     DX_E_GONE, "the storage rejected the upload (s.example:8443: 403)"},
};

static void error_of_the_storage_is_named(void **state)
{
  struct dx_http_response response;
  struct dx_err err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(storage_errors) / sizeof(storage_errors[0]); i++) {
    response = response_of(storage_errors[i].status, storage_errors[i].body);
    (void)strcpy(response.host, "s.example:8443");
    err = (struct dx_err){DX_OK, 0, ""};
    assert_int_equal(dx_judge(DX_CALL_PUT, &response, &err),
                     storage_errors[i].code);
    assert_string_equal(err.text, storage_errors[i].text);
  }
}

static void web_page_is_named(void **state)
{
  static const char *const pages[] = {"<html><body>Maintenance",
                                      "<!DOCTYPE html PUBLIC",
                                      "\xEF\xBB\xBF \r\n<HTML>"};
  static const char page[] = "it is a web page";
  size_t i;
  int call, status;

  (void)state;
  for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
    struct dx_http_response response = response_of(201, pages[i]);
    struct dx_created created;
    struct dx_source source;
    struct dx_err err;
    char *greeting;
    bool is_empty;

    for (status = 400; status < 600; status++)
      for (call = 0; call < DX_CALL_KIND_COUNT; call++) {
        response.status = status;
        if (call != DX_CALL_PUT &&
            dx_judge((enum dx_call_kind)call, &response, &err) != DX_E_NOT_YET)
          assert_non_null(strstr(err.text, page));
      }
    response.status = 201;
    assert_int_equal(dx_read_create(&response, &local, 1, &created, &err),
                     DX_E_RESPONSE);
    assert_non_null(strstr(err.text, page));
    response.status = 200;
    assert_int_equal(dx_read_source(&response, "a", &source, &err),
                     DX_E_RESPONSE);
    assert_non_null(strstr(err.text, page));
    assert_int_equal(dx_read_hello(&response, &greeting, &err), DX_E_RESPONSE);
    assert_non_null(strstr(err.text, page));
    assert_int_equal(check_result(pages[i], strlen(pages[i]), &is_empty, &err),
                     DX_E_RESPONSE);
    assert_non_null(strstr(err.text, page));
  }
}

static void host_of_the_service_is_named(void **state)
{
  static const struct {
    int status;
    const char *text;
  } rows[] = {
      {401, "the service rejected the token (a.example: 401)"},
      {429, "the service requests fewer calls (a.example: 429)"},
      {404, "the server at BaseURL does not respond like the service "
            "(a.example: 404 to 'create source')"},
      {413, "too large for the service (a.example: 413)"},
      {500, "the service responded with 500 to 'create source' (a.example)"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_http_response response = response_of(rows[i].status, "");
    struct dx_err err;

    (void)strcpy(response.host, "a.example");
    (void)!dx_judge(DX_CALL_CREATE, &response, &err);
    assert_string_equal(err.text, rows[i].text);
  }
}

/* ---- greetings, lists, and long values ---- */

static void missing_greeting_is_accepted(void **state)
{
  static const struct {
    int status;
    const char *body;
    enum dx_code code;
  } rows[] = {
      {200, "{\"results\":{\"auth_info\":\"hello\"}}", DX_OK},
      {200, "{\"results\":{\"auth_info\":\"\"}}", DX_OK},
      {200, "{\"results\":{\"auth_info\":1}}", DX_E_RESPONSE},
      {200, "{\"results\":{}}", DX_E_RESPONSE},
      {200, "{\"results\":{\"auth_info\":\"hello\"}", DX_E_RESPONSE},
      {200, "", DX_E_RESPONSE},
      {204, "", DX_E_RESPONSE},
      {401, "{\"results\":{\"auth_info\":\"hello\"}}", DX_E_TOKEN},
      {404, "", DX_E_PROTOCOL},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_http_response response =
        response_of(rows[i].status, rows[i].body);
    static char untouched[] = "x";
    char *greeting = untouched;

    assert_int_equal(dx_read_hello(&response, &greeting, NULL), rows[i].code);
    assert_ptr_not_equal(greeting, untouched);
    assert_true((greeting != NULL) == (rows[i].code == DX_OK));
    free(greeting);
  }
}

/* A complete source with that many cases; caller frees. */
static char *with_cases(size_t count)
{
  struct dx_buf text = {0};
  size_t i;

  dx_buf_puts(&text, "{\"results\":{\"status\":\"complete\",\"case_ids\":[");
  for (i = 0; i < count; i++)
    dx_buf_printf(&text, "%s\"c%zu\"", i > 0 ? "," : "", i);
  dx_buf_puts(&text, "]}}");
  return dx_buf_take(&text);
}

static void too_many_cases_are_rejected(void **state)
{
  char *most = with_cases(DX_CASES_MAX);
  char *more = with_cases(DX_CASES_MAX + 1);
  struct dx_http_response response = response_of(200, most);
  struct dx_source source;

  (void)state;
  assert_int_equal(dx_read_source(&response, "S1", &source, NULL), DX_OK);
  assert_int_equal(source.case_count, DX_CASES_MAX);
  dx_source_release(&source);
  response = response_of(200, more);
  assert_int_equal(dx_read_source(&response, "S1", &source, NULL),
                   DX_E_RESPONSE);
  assert_int_equal(source.case_count, 0);
  free(most);
  free(more);
}

static void ids_are_neither_empty_nor_too_long(void **state)
{
  static char name[5000];
  size_t lengths[] = {0, 1, 4096, 4097}, i;

  (void)state;
  for (i = 0; i < 4; i++) {
    char body[5200];
    struct dx_http_response response;
    struct dx_created created;
    struct dx_source source;
    enum dx_code want = i == 1 || i == 2 ? DX_OK : DX_E_RESPONSE;

    memset(name, 'i', sizeof(name));
    name[lengths[i]] = '\0';
    (void)snprintf(body, sizeof(body),
                   "{\"results\":{\"id\":\"%s\",\"upload_urls\":[{\"url\":"
                   "\"" URL "\"}]}}",
                   name);
    response = response_of(201, body);
    assert_int_equal(dx_read_create(&response, &remote, 1, &created, NULL),
                     want);
    dx_created_release(&created);
    (void)snprintf(body, sizeof(body),
                   "{\"results\":{\"status\":\"complete\",\"case_ids\":[\"%s\""
                   "]}}",
                   name);
    response = response_of(200, body);
    assert_int_equal(dx_read_source(&response, "S1", &source, NULL), want);
    dx_source_release(&source);
  }
}

static void counts_of_another_type_are_ignored(void **state)
{
  struct dx_http_response response =
      response_of(200, "{\"results\":{\"status\":\"pending_upload\","
                       "\"expected_file_count\":\"2\","
                       "\"uploaded_file_count\":1.5}}");
  struct dx_source source;

  (void)state;
  assert_int_equal(dx_read_source(&response, "S1", &source, NULL), DX_OK);
  assert_int_equal(source.expected, -1);
  assert_int_equal(source.uploaded, -1);
  response = response_of(200, "{\"results\":{\"status\":\"pending_upload\","
                              "\"expected_file_count\":2,"
                              "\"uploaded_file_count\":1}}");
  assert_int_equal(dx_read_source(&response, "S1", &source, NULL), DX_OK);
  assert_int_equal(source.expected, 2);
  assert_int_equal(source.uploaded, 1);
}

static void
the_shortest_lifetime_counts_and_one_foreign_url_spoils_all(void **state)
{
  struct dx_http_response response =
      response_of(201, "{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":"
                       "\"https://s.example/1\"},{\"url\":\"" URL "\"}]}}");
  struct dx_created created;

  (void)state;
  response.date_ms = dx_parse_time("2026-01-31T12:00:20Z");
  assert_int_equal(dx_read_create(&response, &remote, 2, &created, NULL),
                   DX_OK);
  assert_int_equal(created.count, 2);
  assert_string_equal(created.urls[0], "https://s.example/1"); /* in order */
  assert_string_equal(created.urls[1], URL);
  assert_int_equal(created.lifetime_ms, 40000);
  dx_created_release(&created);
  response =
      response_of(201, "{\"results\":{\"id\":\"a\",\"upload_urls\":[{\"url\":"
                       "\"https://s.example/1\"},{\"url\":"
                       "\"http://s.example/2\"}]}}");
  assert_int_equal(dx_read_create(&response, &remote, 2, &created, NULL),
                   DX_E_URL);
  assert_null(created.urls);
  assert_null(created.source_id);
}

/* ---- more requests ---- */

static void never_done(void *ctx, const struct dx_http_response *response)
{
  (void)ctx;
  (void)response;
}

static void every_request_has_its_limits(void **state)
{
  char base[] = "https://a.example", ca[] = "/ca.pem", proxy[] = "http://p:1";
  struct dx_service service = {.base_url = base,
                               .host = remote_host,
                               .ca_file = ca,
                               .storage_ca_file = "/storage.pem",
                               .proxy = proxy};
  struct dx_http_call *call = NULL;
  int ctx = 0, i;
  const struct dx_api api = {.service = &service,
                             .token = "TOKEN",
                             .done = never_done,
                             .ctx = &ctx,
                             .call = &call};
  const struct dx_api_file file = {"image/png", "a.png"};

  (void)state;
  for (i = 0; i < DX_CALL_KIND_COUNT; i++) {
    enum dx_code codes[] = {
        i != 0 ? DX_OK : dx_api_create(&api, &file, 1, NULL),
        i != 1 ? DX_OK
               : dx_api_put(&api, "https://s.example/o", "image/png", 9, 5,
                            NULL, NULL),
        i != 2 ? DX_OK : dx_api_call(&api, DX_CALL_SOURCE, ".", NULL, NULL),
        i != 3 ? DX_OK
               : dx_api_call(&api, DX_CALL_EXTRACT, "..", take_nothing, NULL),
        i != 4 ? DX_OK : dx_api_call(&api, DX_CALL_HELLO, NULL, NULL, NULL)};

    assert_int_equal(codes[i], DX_OK);
    assert_string_equal(sent_ca, i == 1 ? "/storage.pem" : ca);
    assert_string_equal(sent_proxy, proxy);
    assert_ptr_equal(sent.done, never_done);
    assert_ptr_equal(sent.ctx, &ctx);
    /* Long transfers are limited by stalling, not by time. */
    assert_int_equal(sent.timeout_ms, i == 1 || i == 3 ? 0 : 60000);
    assert_int_equal(sent.stall_s, 60);
    assert_int_equal(sent.body_fd, i == 1 ? 9 : -1);
    assert_int_equal(sent.body_bytes, i == 1 ? 5 : 0);
    assert_true(sent.sink == (i == 3 ? take_nothing : NULL));
    assert_int_equal(sent.scope, i == 1 ? DX_SCOPE_NETWORK : DX_SCOPE_LINK);
    assert_string_equal(sent_bearer, i == 1 ? "-" : "TOKEN");
    assert_string_equal(sent_type, i == 0   ? "application/json"
                                   : i == 1 ? "image/png"
                                            : "-");
    if (i == 2)
      assert_string_equal(sent_url, "https://a.example/v1/source/%2E");
    if (i == 3) {
      assert_string_equal(sent_url,
                          "https://a.example/v1/patient_case/%2E%2E/extract");
    }
  }
}

/* The password as it is now, or why not. */
static void proxy_gets_the_line_of_its_file(void **state)
{
  static const struct {
    const char *content, *login;
  } rows[] = {
      {"ann:secret\n", "ann:secret"},
      {"ann:se:cret", "ann:se:cret"},
      {"ann:secret\r\n", "ann:secret"},
      {"ann:", "ann:"},
      {"ann:\n", "ann:"},
      {":secret\n", NULL},
      {"ann\n", NULL},
      {"", NULL},
      {"ann:a\nbob:b\n", NULL},
      {"ann:\xC3\xA4 b\n", "ann:\xC3\xA4 b"},
  };
  char base[] = "https://a.example";
  char path[] = "/tmp/dx-unit-XXXXXX";
  struct dx_service service = {.base_url = base,
                               .host = remote_host,
                               .proxy = "http://p:1",
                               .proxy_password_file = path};
  struct dx_http_call *call = NULL;
  const struct dx_api api = {
      .service = &service, .token = "TOKEN", .call = &call};
  struct dx_err err;
  size_t i;
  int fd = mkstemp(path);

  (void)state;
  assert_true(fd >= 0);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ssize_t len = (ssize_t)strlen(rows[i].content);
    enum dx_code code;

    assert_true(ftruncate(fd, 0) == 0 &&
                pwrite(fd, rows[i].content, (size_t)len, 0) == len);
    code = dx_api_call(&api, DX_CALL_HELLO, NULL, NULL, &err);
    if (code != (rows[i].login != NULL ? DX_OK : DX_E_PROXY))
      fail_msg("'%s': %s", rows[i].content, dx_code_name(code));
    if (rows[i].login != NULL)
      assert_string_equal(sent_login, rows[i].login);
    else
      assert_null(strstr(err.text, "secret"));
  }
  assert_int_equal(
      dx_api_put(&api, "https://s.example/o", "image/png", 9, 5, NULL, NULL),
      DX_OK);
  assert_string_equal(sent_login, "ann:\xC3\xA4 b");
  (void)close(fd);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(dx_api_call(&api, DX_CALL_HELLO, NULL, NULL, &err),
                   DX_E_PROXY);
  assert_non_null(strstr(err.text, "ProxyPasswordFile cannot be used"));
  service.proxy_password_file = NULL;
  assert_int_equal(dx_api_call(&api, DX_CALL_HELLO, NULL, NULL, &err), DX_OK);
  assert_string_equal(sent_login, "-");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_the_code_of_the_policy),
      cmocka_unit_test(a_503_with_retry_after_limits_the_rate),
      cmocka_unit_test(expired_url_is_not_retried),
      cmocka_unit_test(failed_transfer_keeps_its_class),
      cmocka_unit_test(created_source_has_an_id_and_a_url_for_each_file),
      cmocka_unit_test(source_reports_its_status),
      cmocka_unit_test(status_of_another_source_is_rejected),
      cmocka_unit_test(result_of_another_case_is_rejected),
      cmocka_unit_test(result_without_a_value_is_empty),
      cmocka_unit_test(only_complete_results_are_accepted),
      cmocka_unit_test(requests_have_the_documented_form),
      cmocka_unit_test(status_without_a_rule_is_not_a_success),
      cmocka_unit_test(every_failure_has_a_message_of_its_class),
      cmocka_unit_test(a_503_without_retry_after_is_transient),
      cmocka_unit_test(only_the_storage_reports_expired_urls),
      cmocka_unit_test(error_of_the_storage_is_named),
      cmocka_unit_test(web_page_is_named),
      cmocka_unit_test(host_of_the_service_is_named),
      cmocka_unit_test(proxy_gets_the_line_of_its_file),
      cmocka_unit_test(missing_greeting_is_accepted),
      cmocka_unit_test(too_many_cases_are_rejected),
      cmocka_unit_test(ids_are_neither_empty_nor_too_long),
      cmocka_unit_test(counts_of_another_type_are_ignored),
      cmocka_unit_test(
          the_shortest_lifetime_counts_and_one_foreign_url_spoils_all),
      cmocka_unit_test(every_request_has_its_limits),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
