/*
 * kind.h - PDF, JPEG or PNG, by the first bytes of a file: what a program or
 * a name claims it to be is not asked. Whether the file is whole is not
 * decided here.
 *
 * Ownership: static text. Blocking: never. Errors: NULL is the answer.
 */
#ifndef DX_MIME_H
#define DX_MIME_H

#include <stddef.h>

/* How many of the first bytes are looked at; fewer for a shorter file. */
#define DX_MIME_LOOK_BYTES 1024

/* The MIME type, one of the three that the service takes; NULL for the rest
 * (doc/service-interface.md, "Endpoints"). */
const char *dx_mime_of_bytes(const void *bytes, size_t len);

#endif
