/*
 * html.h - results as one page for a browser. It needs nothing but itself: no
 * script, no other file, no network, and it says so to the browser
 * (Content-Security-Policy), in case a text should ever get through as markup.
 *
 * Calling sequence: html_begin(); html_case() and html_note() as often as
 * needed; html_end(). Everything goes to stdout as it comes, and memory does
 * not grow with it.
 */
#ifndef DX_CLI_HTML_H
#define DX_CLI_HTML_H

#include "lib/base/json.h"

void html_begin(void);
void html_end(void);

/* The object "results" of a result (cli/result.h). Unlike the table, it shows
 * every field, however deep. */
void html_case(const struct dx_json *results);

/* What is not on the page, and why. */
void html_note(const char *text);

#endif
