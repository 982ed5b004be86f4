/*
 * result.h - a result of the service as people read it, whatever it is printed
 * as. The service decides which fields there are, so nothing here knows more
 * than the shape of a measurement and the fields of a patient.
 *
 * Results come from dx_json_parse_exact(): numbers are texts with the digits of
 * the service. All of it is text from outside, to be escaped by whoever prints
 * it. Ownership: texts are borrowed from the result.
 */
#ifndef DX_CLI_RESULT_H
#define DX_CLI_RESULT_H

#include "lib/base/buf.h"
#include "lib/base/json.h"

/* Of a measurement; the field is its name. */
enum {
  RESULT_FIELD,
  RESULT_VALUE,
  RESULT_UNIT,
  RESULT_MIN,
  RESULT_MAX,
  RESULT_COLUMNS
};

struct result_row {
  const char *text[RESULT_COLUMNS]; /* "" for what is not there */
};

/*
 * Parses what `show` prints of a file; *ret_root is the caller's to free.
 * E_DOCUMENT if it is too large for that, a manifest, or something else.
 */
enum dx_code result_parse(const struct dx_buf *content,
                          struct dx_json **ret_root,
                          struct dx_err *err) DX_MUST_USE;

/* The fields of a patient, in the order in which people write them. */
#define RESULT_PATIENT_FIELDS 4
extern const char *const result_patient[RESULT_PATIENT_FIELDS];

/* The first of these members that is not the patient's; NULL: none is. */
const struct dx_json *result_next_row(const struct dx_json *member);

/* True if there is no value in the case: only null, "", and nothing. */
bool result_is_empty(const struct dx_json *results);

/* A value in one line; for an object or array, only where it can be seen. */
const char *result_text(const struct dx_json *json);

/* An object with a value is a measurement; anything else is a value itself. */
struct result_row result_row(const struct dx_json *member);

/* Where the value is: "low", "high", or "" if it is within its range, or if
 * that cannot be said. */
const char *result_mark(const struct result_row *row);

#endif
