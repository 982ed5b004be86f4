/*
 * isolate.h - runs libqpdf in a child process: a PDF that crashes it, or keeps
 * it busy forever, affects only that document. What is done with a PDF lives in
 * pdf.c.
 */
#ifndef DX_FILTER_ISOLATE_H
#define DX_FILTER_ISOLATE_H

#include <stdint.h>

#include "filter/pdf.h"

typedef enum dx_reason isolated_work(const struct pdf_task *task,
                                     struct pdf_done *ret_done);

/*
 * Runs pdf_rewrite() or pdf_check(), and waits. Returns its reason, or
 * TOO_SLOW, DAMAGED (it crashed), TROUBLE (no child process can be started).
 * Sets *ret_done only with NONE.
 */
enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done);

#endif
