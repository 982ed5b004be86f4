/*
 * filename.h - the file names that the service is told, such that every system
 * can store them. Titles hold anything: slashes, quotes, other people's
 * encodings.
 *
 * Ownership: fills the caller's memory. Blocking: never. Errors: none.
 */
#ifndef DX_FILENAME_H
#define DX_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/job/bundle.h"

/* The ending for a type of the service, ".pdf" for everything else. */
const char *dx_filename_extension(const char *type);

/*
 * Makes a name from the title: slashes become '-', control characters ' ',
 * bytes that are no UTF-8 U+FFFD. The ending of a file type is replaced by
 * that of `type`: the bytes are no longer what it said. At most 255 bytes,
 * cut at a character; "document" if nothing is left.
 */
void dx_filename_from_title(const char *title, const char *type,
                            char name[DX_NAME_BYTES]);

/* "document-3.pdf": says nothing of anybody. */
void dx_filename_neutral(size_t number, const char *type,
                         char name[DX_NAME_BYTES]);

/* True if it ends as files of people do; programs make up names without. */
bool dx_filename_is_real(const char *name);

#endif
