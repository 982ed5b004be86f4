/*
 * result_check.c - the few fields of a result that matter here.
 */
#include "daemon/service/result_check.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json_scan.h"

/* RESULTS only serves to refuse a body that has two of them. */
enum { RESULTS, STATUS, ID, SOURCE_ID, DATA, FIELD_COUNT };

struct dx_result_check {
  struct dx_json_scan scan;
  struct dx_json_field fields[FIELD_COUNT];
};

struct dx_result_check *dx_result_check_new(void)
{
  static const char *const paths[FIELD_COUNT] = {
      [RESULTS] = "results",
      [STATUS] = "results.status",
      [ID] = "results.id",
      [SOURCE_ID] = "results.source_id",
      [DATA] = "results.medical_data"};
  struct dx_result_check *check = calloc(1, sizeof(*check));
  size_t i;

  if (check == NULL)
    return NULL;
  for (i = 0; i < FIELD_COUNT; i++)
    check->fields[i].path = paths[i];
  dx_json_scan_begin(&check->scan, check->fields, FIELD_COUNT);
  return check;
}

void dx_result_check_free(struct dx_result_check **check)
{
  free(*check);
  *check = NULL;
}

static enum dx_code not_json(struct dx_err *err)
{
  return dx_fail(err, DX_E_RESPONSE, 0,
                 "cannot understand the response to 'get extract'");
}

enum dx_code dx_result_check_add(struct dx_result_check *check,
                                 const char *bytes, size_t len,
                                 struct dx_err *err)
{
  return dx_json_scan_add(&check->scan, bytes, len) ? DX_OK : not_json(err);
}

/* An absent field is accepted. */
static bool is_about(const struct dx_json_field *field, const char *id)
{
  return field->seen == DX_JSON_ABSENT || field->seen == DX_JSON_NULL ||
         (field->seen == DX_JSON_STRING && strcmp(field->text, id) == 0);
}

enum dx_code dx_result_check_end(const struct dx_result_check *check,
                                 const char *source_id, const char *case_id,
                                 struct dx_err *err)
{
  const struct dx_json_field *fields = check->fields;

  if (!dx_json_scan_is_whole(&check->scan) ||
      fields[RESULTS].seen == DX_JSON_TWICE ||
      fields[STATUS].seen != DX_JSON_STRING ||
      strcmp(fields[STATUS].text, "complete") != 0)
    return not_json(err);
  if (!is_about(&fields[ID], case_id))
    return dx_fail(err, DX_E_UNEXPECTED, 0,
                   "the response to 'get extract' is about another case");
  if (!is_about(&fields[SOURCE_ID], source_id))
    return dx_fail(err, DX_E_UNEXPECTED, 0,
                   "the response to 'get extract' is about a case of another "
                   "source");
  return DX_OK;
}

bool dx_result_check_is_empty(const struct dx_result_check *check)
{
  return check->fields[DATA].values == 0;
}
