/*
 * program.h - the name of the program that made a document, as the document
 * states it. It tells the administrator which program to look at if a document
 * is refused. It is text from an untrusted file, so it is read only in the
 * confined child (isolate.h), and the parent checks it again.
 *
 * Ownership: everything is the caller's. Blocking: never. Errors: "" if there
 * is no such name.
 */
#ifndef DX_FILTER_PROGRAM_H
#define DX_FILTER_PROGRAM_H

#include <stddef.h>

#include "lib/print/bundle.h"

/*
 * Copies the beginning of a text that looks like the name of a program: whole
 * words of letters, digits, and . + - _ / & ( ), of which the first begins with
 * a letter. A number of more than four digits, or of four digits beside others,
 * could be one of a patient, or a date, and ends the name. The result for a
 * name is the name itself.
 */
void program_name(const char *text, size_t len, char name[DX_PROGRAM_BYTES]);

/* The same for "Software" of a TIFF, PNG, or JPEG (Exif) file. */
void program_of_picture(const unsigned char *bytes, size_t len,
                        char name[DX_PROGRAM_BYTES]);

#endif
