/*
 * fuzz_response.c - what the service responds to each call. The first line is
 * the number of the call, the second the status, the third Retry-After, the
 * fourth Date; then comes the body.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/config/config.h"
#include "daemon/service/api.h"
#include "daemon/service/signed_url.h"

static void read_create(const struct dx_http_response *response)
{
  char host[] = "api.example.com";
  const struct dx_service service = {.host = host};
  struct dx_created created;
  struct dx_err err;
  size_t i;

  if (dx_read_create(response, &service, 2, &created, &err) != DX_OK)
    return;
  HOLDS(created.count == 2 && created.source_id[0] != '\0' &&
        created.lifetime_ms >= 0);
  for (i = 0; i < created.count; i++)
    HOLDS(strlen(created.urls[i]) <= DX_URL_MAX_BYTES);
  dx_created_release(&created);
}

static void read_source(const struct dx_http_response *response)
{
  struct dx_source source;
  struct dx_err err;

  if (dx_read_source(response, "src_1", &source, &err) != DX_OK)
    return;
  HOLDS(source.case_count <= DX_CASES_MAX);
  HOLDS(source.case_count == 0 || source.status == DX_SOURCE_COMPLETE);
  dx_source_release(&source);
}

static void read_hello(const struct dx_http_response *response)
{
  struct dx_err err;
  char *greeting = NULL;

  if (dx_read_hello(response, &greeting, &err) == DX_OK)
    HOLDS(greeting != NULL);
  free(greeting);
}

static void check_result(const struct dx_http_response *response)
{
  FILE *in =
      fmemopen((char *)(uintptr_t)response->body, response->body_len, "r");
  bool is_empty;
  struct dx_err err;

  (void)!dx_check_result(in, response, "src_1", "case_1", &is_empty, &err);
  (void)fclose(in);
}

static void read_as(enum dx_call_kind call,
                    const struct dx_http_response *response)
{
  struct dx_err err;

  (void)!dx_judge(call, response, &err);
  switch (call) {
  case DX_CALL_CREATE:
    read_create(response);
    break;
  case DX_CALL_PUT:
    (void)!dx_judge(DX_CALL_PUT, response, &err);
    break;
  case DX_CALL_SOURCE:
    read_source(response);
    break;
  case DX_CALL_EXTRACT:
    (void)!dx_judge(DX_CALL_EXTRACT, response, &err);
    check_result(response);
    break;
  default:
    read_hello(response);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  struct dx_http_response response = {.err.code = DX_OK};
  enum dx_call_kind call =
      (enum dx_call_kind)fuzz_number(&in, DX_CALL_KIND_COUNT);
  char *retry_after, *date, *body;

  response.status = (int)fuzz_number(&in, 1000);
  retry_after = fuzz_line(&in);
  date = fuzz_line(&in);
  response.date_ms = dx_parse_time(date);
  response.retry_after_ms = dx_retry_after_ms(retry_after, response.date_ms);
  response.body_len = in.left;
  body = fuzz_rest(&in);
  response.body = body;
  read_as(call, &response);
  free(retry_after);
  free(date);
  free(body);
  return 0;
}
