/*
 * whole.h - is a PDF complete: all pages, with everything that they draw? For
 * pdf.c.
 *
 * The result does not depend on how much libqpdf repairs, which differs from
 * version to version: the PDF is read without recovery, and the page tree is
 * counted here before libqpdf can change it. Damage to what no page draws
 * (bookmarks, links, tags) is only a defect.
 *
 * Blocking: reads every object that a page draws, but no stream data.
 */
#ifndef DX_FILTER_WHOLE_H
#define DX_FILTER_WHOLE_H

#include <stdbool.h>

#include <qpdf/qpdf-c.h>

#include "lib/job/bundle.h"

/*
 * pdf: just read, with recovery off. DX_REASON_NONE if it is complete; DAMAGED
 * if the page tree, a page, its content, a resource or the appearance of an
 * annotation is lost; TROUBLE if out of memory. *ret_pages: pages of the tree;
 * *ret_defects: libqpdf found damage, whether it matters or not.
 */
enum dx_reason whole_pages(qpdf_data pdf, int *ret_pages, bool *ret_defects);

#endif
