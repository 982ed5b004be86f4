/*
 * apart.h - libqpdf in a process of its own: a PDF that crashes it, or keeps it
 * busy without end, costs that document only. What is done with a PDF lives in
 * pdf.c.
 */
#ifndef DX_FILTER_APART_H
#define DX_FILTER_APART_H

#include <stdint.h>

#include "filter/pdf.h"

typedef enum dx_reason apart_work(const struct pdf_task *task,
                                  struct pdf_done *ret_done);

/*
 * Runs pdf_rewrite() or pdf_check(), and waits. The reason of the work, or
 * TOO_SLOW, DAMAGED (it crashed), TROUBLE (there is no room for a process).
 * *ret_done only with NONE.
 */
enum dx_reason run_apart(apart_work *work, const struct pdf_task *task,
                         int64_t limit_ms, struct pdf_done *ret_done);

#endif
