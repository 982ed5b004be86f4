/*
 * reading.h - reads the bytes of a text file as characters: its encoding, and
 * what printers would obey instead of printing it. todocextract(7), "Text
 * files", has the rules.
 *
 * Ownership: the caller's memory. Blocking: reading_open() loads a module of
 * the C library. Errors: a reason of bundle.h.
 */
#ifndef DX_FILTER_READING_H
#define DX_FILTER_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "filter/task.h"
#include "lib/print/text_encoding.h"

/* Prepares to read text in this encoding, for a process that cannot open files.
 * False if the C library does not have it. Call it before the other two. */
bool reading_open(enum dx_text_encoding encoding);

/*
 * Reads a text file in the encoding that was opened, into `chars`, which has
 * room for `len` of them. Resets of the printer and colors are removed; all
 * other control characters are kept. ENCODING, CODES: `why` names the line, by
 * reading_line().
 */
enum dx_reason reading_file(const char *bytes, size_t len, wchar_t *chars,
                            size_t *ret_count, char why[PDF_WHY_BYTES]);

/* The same for UTF-8 that is not a file, of which nothing is refused or
 * removed; what is not valid is read as Windows-1252. */
void reading_value(const char *utf8, size_t len, wchar_t *chars,
                   size_t *ret_count);

/* The number of the line, from 1, that follows these characters. LF, CR, CR LF,
 * and what else reading_ends_line() end a line. */
size_t reading_line(const wchar_t *chars, size_t count);

static inline bool reading_ends_line(wchar_t ch)
{
  return ch == '\n' || ch == '\r' || ch == '\v' || ch == 0x85 || ch == 0x2028 ||
         ch == 0x2029;
}

#endif
