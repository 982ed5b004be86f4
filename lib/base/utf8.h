/*
 * utf8.h - well-formed characters, and those that are not safe to store or
 * print.
 *
 * Text from outside (titles, file names, fields of a bundle) must be checked
 * here before it is used as text. RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF.
 *
 * Blocking: never. Errors: none.
 */
#ifndef DX_UTF8_H
#define DX_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The length (1 to 4) of the well-formed character at the beginning of the
 * NUL-terminated text, 0 if there is none there or the text is at its end.
 * *ret_char (may be NULL) is its code point, only written on success.
 */
size_t dx_utf8_char(const char *text, uint32_t *ret_char);

/*
 * True for what must not reach a terminal or a log: besides control characters
 * (C0, DEL, C1), the invisible format characters, which hide text or reverse
 * its order (U+202E), and the separators of lines and paragraphs.
 */
bool dx_utf8_is_hidden(uint32_t character);

/* Replaces each of those, and each invalid byte, with '?'. */
void dx_utf8_make_plain(char *text);

/*
 * The same, but keeps invisible format characters, which some languages need in
 * stored text. The result is_plain().
 */
void dx_utf8_make_valid(char *text);

/* True if the whole text is well-formed and without control characters. */
bool dx_utf8_is_plain(const char *text);

/* Copies a text into `size` bytes; a longer one is truncated after a whole
 * character. */
void dx_utf8_copy(char *to, size_t size, const char *text);

#endif
