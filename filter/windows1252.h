/*
 * windows1252.h - whether a text that names no encoding can be Windows-1252.
 * Every byte of another encoding is a character in Windows-1252, too, but not
 * one that stands where people write it: the degree sign of CP850 is "ø", which
 * does not precede a C. doc/policy.md, "Encodings of text", has what was
 * measured.
 *
 * Ownership: borrows. Blocking: never. Errors: none.
 */
#ifndef DX_FILTER_WINDOWS1252_H
#define DX_FILTER_WINDOWS1252_H

#include <stddef.h>

/* Returns the offset of the first byte that is not plausible where it is; `len`
 * if there is none. */
size_t windows1252_doubt(const unsigned char *bytes, size_t len);

#endif
