/*
 * result.h - a result of the service as people read it: as a table, or as a
 * page for a browser, which shows every field, however deep. The page needs
 * nothing but itself: no script, no other file, no network, and it says so to
 * the browser (Content-Security-Policy), in case a text should ever get through
 * as markup. Everything goes to stdout as it comes.
 */
#ifndef DX_CLI_RESULT_H
#define DX_CLI_RESULT_H

#include "lib/base/buf.h"
#include "lib/base/json.h"

/*
 * Parses what `show` prints of a file: numbers become texts with the digits of
 * the service. *ret_root is the caller's to free; its member "results" is what
 * is printed. E_DOCUMENT if it is too large for that, a manifest, or something
 * else.
 */
enum dx_code result_parse(const struct dx_buf *content,
                          struct dx_json **ret_root,
                          struct dx_err *err) DX_MUST_USE;

void result_print_table(const struct dx_json *results);

void result_begin_page(void);
void result_print_page(const struct dx_json *results);
void result_print_note(const char *text); /* what is not on the page, and why */
void result_end_page(void);

#endif
