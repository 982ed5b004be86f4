/*
 * result.h - prints a result of the service for people: as a table, or as a
 * page for a browser, which shows every field at any depth. The page is
 * self-contained: no script, no other file, no network. Its
 * Content-Security-Policy enforces this, in case untrusted text is ever printed
 * as markup. Everything is printed to stdout immediately.
 */
#ifndef DX_CLI_RESULT_H
#define DX_CLI_RESULT_H

#include "lib/base/buf.h"
#include "lib/base/json.h"

/*
 * Parses a file for `show`; numbers become strings with the digits of the
 * service. The caller frees *ret_root; its member "results" is printed.
 * E_DOCUMENT if the file is too large to parse, a manifest, or not a result.
 */
enum dx_code result_parse(const struct dx_buf *content,
                          struct dx_json **ret_root,
                          struct dx_err *err) DX_MUST_USE;

void result_print_table(const struct dx_json *results);

void result_begin_page(void);
void result_print_page(const struct dx_json *results);
void result_print_note(const char *text); /* what is missing, and why */
void result_end_page(void);

#endif
