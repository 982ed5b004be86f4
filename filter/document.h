/*
 * document.h - one document of any type that the driver names becomes a PDF,
 * JPEG, or PNG that can be sent, with everything that its chosen pages show and
 * nothing else; or a reason why it cannot be sent. Its bytes determine its
 * type. The steps are in doc/architecture.md, "Life of a document".
 *
 * Memory of a PDF grows with the number of objects and the largest stream, not
 * with the document. A hostile document can make a library use all memory and
 * processor time, or crash: the caller runs this in a process with limits
 * (isolate.h).
 *
 * Ownership: descriptors and strings are borrowed for the call.
 * Blocking: as long as the document takes. Errors: a reason of bundle.h.
 */
#ifndef DX_FILTER_DOCUMENT_H
#define DX_FILTER_DOCUMENT_H

#include "filter/task.h"

#define DX_MIME_TEXT "text/plain"

/* The MIME type of the document, by its first bytes, or, of a PDF, by its
 * header and first object: one that the service accepts, one of image_pdf.h,
 * text, or NULL. Text is content that is of no other type, and is UTF-16 with a
 * byte order mark, has no NUL, or has commands for a printer. Whether the
 * document is whole is not checked. */
const char *document_type_of(int fd);

/* The type that it is sent as. */
const char *document_sent_as(const char *type);

/* True if the bytes begin like a document of `type`, which is one that
 * document_sent_as() returns. */
#define DOCUMENT_BEGIN_BYTES 8 /* enough for all of them */
bool document_begins_as(const char *type, const void *bytes, size_t len);

/* For run_isolated(): converts the document of the task to the one that is
 * sent, in out_fd. */
enum dx_reason document_convert(const struct pdf_task *task,
                                struct pdf_done *ret_done);

#endif
