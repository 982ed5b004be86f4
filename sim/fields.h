/*
 * fields.h - finds patient and laboratory values in the text of a page, as
 * `pdftotext -layout` prints it: two or more blanks separate columns.
 *
 * Values are taken literally; numbers keep every digit.
 */
#ifndef SIM_FIELDS_H
#define SIM_FIELDS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Whether the page separates cases. */
bool sim_fields_separator(const char *page);

/*
 * The values that were found, with the names of the interface; the first of
 * a kind counts. Cuts `page` into lines. The caller frees the result.
 */
cJSON *sim_fields_read(char *page);

#endif
