/*
 * isolate.h - runs libqpdf in a child process, in a sandbox and with limits: a
 * PDF that crashes it, takes it over, or asks too much of it affects only that
 * document. What is done with a PDF is in pdf.c.
 *
 * The child has the descriptors of its task and no others, can open none
 * (sandbox.h), leaves no core dump, and cannot be traced. Its limits of memory
 * and processor time grow with the size of the document (doc/policy.md,
 * "Documents"); at either limit the child ends, and the document is refused.
 */
#ifndef DX_FILTER_ISOLATE_H
#define DX_FILTER_ISOLATE_H

#include <stdint.h>

#include "filter/pdf.h"

typedef enum dx_reason isolated_work(const struct pdf_task *task,
                                     struct pdf_done *ret_done);

/*
 * Runs pdf_rewrite() or pdf_check(), and waits. Returns its reason, or
 *   TOO_COMPLEX  it reached a limit of memory or processor time
 *   TOO_SLOW     limit_ms have passed, or all documents of the job together
 *                have taken DX_JOB_TIME_FACTOR times that (budget.h)
 *   DAMAGED      it crashed
 *   TROUBLE      no child process can be started, or this computer has less
 *                memory than the limit
 * Sets *ret_done only with NONE.
 */
enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done);

#endif
