/*
 * result.c - reading a result of the service for people.
 */
#include "cli/result.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/policy.h"

/* True even without any data. */
static bool is_result(const struct dx_json *results)
{
  const char *status = dx_json_string(dx_json_get(results, "status"));

  return dx_json_get(results, "medical_data") != NULL ||
         (status != NULL && strcmp(status, "complete") == 0);
}

enum dx_code result_parse(const struct dx_buf *content,
                          struct dx_json **ret_root, struct dx_err *err)
{
  struct dx_json *root;
  enum dx_code code = DX_E_DOCUMENT;

  if (content->len > DX_SHOW_MAX_BYTES) /* parsed, it is forty times as big */
    return dx_fail(err, code, 0,
                   "the result is larger than %d MiB, too large for a table; "
                   "print it with --json",
                   DX_SHOW_MAX_BYTES / 1048576);
  root = dx_json_parse_exact(dx_buf_text(content), content->len, err);
  if (root == NULL && err->code != DX_E_RESPONSE)
    return err->code;
  if (is_result(dx_json_get(root, "results"))) {
    *ret_root = root;
    return DX_OK;
  }
  if (dx_json_get(root, "outcome") != NULL)
    (void)dx_fail(err, code, 0,
                  "this is the manifest of a job; its results are in the "
                  "other files with this prefix");
  else
    (void)dx_fail(err, code, 0, "this is not a result of the service");
  dx_json_free(&root);
  return code;
}

const char *const result_patient[RESULT_PATIENT_FIELDS] = {
    "patient_first_name", "patient_last_name", "patient_mrn", "patient_dob"};

static bool is_of_patient(const char *name)
{
  size_t i;

  for (i = 0; i < RESULT_PATIENT_FIELDS; i++)
    if (strcmp(name, result_patient[i]) == 0)
      return true;
  return false;
}

const struct dx_json *result_next_row(const struct dx_json *member)
{
  while (member != NULL && is_of_patient(dx_json_name(member)))
    member = dx_json_next(member);
  return member;
}

/* True for a value, and for an object or array that contains one. A result is
 * at most DX_JSON_DEPTH_MAX deep. */
static bool has_value(const struct dx_json *json)
{
  const struct dx_json *child;
  const char *text = dx_json_string(json);
  bool yes;

  if (text != NULL || dx_json_bool(json, &yes))
    return text == NULL || text[0] != '\0';
  child =
      dx_json_is_array(json) ? dx_json_first(json) : dx_json_first_member(json);
  while (child != NULL && !has_value(child))
    child = dx_json_next(child);
  return child != NULL;
}

bool result_is_empty(const struct dx_json *results)
{
  const struct dx_json *data = dx_json_get(results, "medical_data");

  return dx_json_first_member(data) == NULL || !has_value(data);
}

const char *result_text(const struct dx_json *json)
{
  const char *text = dx_json_string(json);
  bool yes;

  if (text != NULL)
    return text;
  if (dx_json_bool(json, &yes))
    return yes ? "true" : "false";
  return json == NULL ? "" : dx_json_is_null(json) ? "-" : "(see --json)";
}

struct result_row result_row(const struct dx_json *member)
{
  const struct dx_json *value = dx_json_get(member, "value");
  const struct dx_json *range = dx_json_get(member, "range");

  if (value == NULL)
    return (struct result_row){
        {dx_json_name(member), result_text(member), "", "", ""}};
  return (struct result_row){
      {dx_json_name(member), result_text(value),
       result_text(dx_json_get(member, "measurement_unit")),
       result_text(dx_json_get(range, "min")),
       result_text(dx_json_get(range, "max"))}};
}

static bool is_less(const char *a, const char *b)
{
  return dx_json_is_number(a) && dx_json_is_number(b) &&
         strtold(a, NULL) < strtold(b, NULL);
}

const char *result_mark(const struct result_row *row)
{
  if (is_less(row->text[RESULT_VALUE], row->text[RESULT_MIN]))
    return "low";
  return is_less(row->text[RESULT_MAX], row->text[RESULT_VALUE]) ? "high" : "";
}
