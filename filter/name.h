/*
 * name.h - the title of a print job becomes a file name that every system
 * can store. Titles hold anything: slashes, quotes, other people's encodings.
 *
 * Ownership: fills the caller's memory. Blocking: never. Errors: none.
 */
#ifndef DX_FILTER_NAME_H
#define DX_FILTER_NAME_H

#include "lib/bundle.h"

/*
 * Makes a name from the title: slashes become '-', control characters ' ',
 * bytes that are no UTF-8 U+FFFD. The ending of a file type is replaced by
 * `extension` (".pdf"): the bytes are no longer what it said. At most 255
 * bytes, cut at a character; "document" if nothing is left.
 */
void name_from_title(const char *title, const char *extension,
                     char name[DX_NAME_BYTES]);

#endif
