/*
 * filename.h - the file names that are sent to the service, valid on every
 * system. Titles can contain any bytes: slashes, quotes, invalid UTF-8.
 *
 * Ownership: fills the caller's memory. Blocking: never. Errors: none.
 */
#ifndef DX_FILENAME_H
#define DX_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/print/bundle.h"

/*
 * Makes a name from the title: slashes become '-'; question marks, control
 * characters, and bytes that are not UTF-8 become ' '. A known extension is
 * replaced by that of `type`, since the document was converted. At most 255
 * bytes, truncated at a character; "document" if nothing is left.
 */
void dx_filename_from_title(const char *title, const char *type,
                            char name[DX_NAME_BYTES]);

/* "document-3.pdf": reveals nothing. */
void dx_filename_neutral(size_t number, const char *type,
                         char name[DX_NAME_BYTES]);

/* True if it has a known extension; names that programs generate have none. */
bool dx_filename_is_real(const char *name);

#endif
