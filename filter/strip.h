/*
 * strip.h - reduces a PDF to what its pages draw: what is not in the list of
 * allowed.h is removed. For pdf.c.
 *
 * What a viewer prints is not changed: pages, layers, annotations with their
 * appearance, form values. Everything else goes, whether it is harmful or not:
 * scripts, actions, links, attached files, bookmarks, tags, metadata; and with
 * them what only they lead to, such as pages that were not selected.
 *
 * Each object is visited once, as one kind: the work is linear in their number,
 * however deep or circular they are. A reference to an object that was visited
 * as another kind is removed; no honest PDF has any. Memory: 16 bytes per
 * object, and what is still to be visited. Reads no stream data.
 */
#ifndef DX_FILTER_STRIP_H
#define DX_FILTER_STRIP_H

#include <qpdf/qpdf-c.h>

#include "lib/job/bundle.h"

/*
 * pdf: one that whole_pages() found complete. DX_REASON_NONE, and in
 * *ret_removed how many entries were removed; DAMAGED if a page is used as
 * something else; TROUBLE if out of memory. Errors of libqpdf are left to the
 * caller.
 */
enum dx_reason strip_pdf(qpdf_data pdf, int *ret_removed);

#endif
