/*
 * document.h - one document of any type that the driver names becomes a PDF,
 * JPEG, or PNG that can be sent. Its bytes determine its type.
 *
 * Blocking: as long as the document takes. Ownership: borrowed.
 */
#ifndef DX_FILTER_DOCUMENT_H
#define DX_FILTER_DOCUMENT_H

#include "filter/pdf.h"

/* One of lib/print/mime.h; NULL if it cannot be sent. */
const char *document_type_of(int fd);

/* The type that it is sent as. */
const char *document_sent_as(const char *type);

/*
 * For run_isolated(): converts the document of the task to the one that is
 * sent, in out_fd. Returns a reason of bundle.h, with details in *ret_done.
 */
enum dx_reason document_convert(const struct pdf_task *task,
                                struct pdf_done *ret_done);

#endif
