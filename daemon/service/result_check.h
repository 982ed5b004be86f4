/*
 * result_check.h - whether what streams past is the result that was asked for:
 * one whole JSON value, complete, of this case and source. No byte of it is
 * changed or kept.
 *
 * Calling sequence: new, add for each piece, end once, free.
 * Ownership: dx_result_check_free() takes NULL and sets NULL.
 * Blocking: never.
 * Source: doc/policy.md, "Results".
 */
#ifndef DX_RESULT_CHECK_H
#define DX_RESULT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct dx_result_check;

struct dx_result_check *dx_result_check_new(void); /* NULL: out of memory */
void dx_result_check_free(struct dx_result_check **check);

/* E_RESPONSE as soon as it can no longer become JSON. */
enum dx_code dx_result_check_add(struct dx_result_check *check,
                                 const char *bytes, size_t len,
                                 struct dx_err *err) DX_MUST_USE;

/* E_RESPONSE if it is not whole, or results.status is not "complete";
 * E_UNEXPECTED if it is the result of another case or source. */
enum dx_code dx_result_check_end(const struct dx_result_check *check,
                                 const char *source_id, const char *case_id,
                                 struct dx_err *err) DX_MUST_USE;

/* True if results.medical_data has no value: nothing was found in the case. Ask
 * only after the end. */
bool dx_result_check_is_empty(const struct dx_result_check *check);

#endif
