/*
 * postscript.h - converts PostScript to PDF with Ghostscript, and decides
 * whether all of it has arrived. PostScript is a program, so its end cannot be
 * recognized by its syntax: the comments of the Document Structuring
 * Conventions tell how many pages it has, or that its end must be there.
 *
 * Ghostscript runs in a sandbox (lib/base/sandbox.h) with limits on memory,
 * processor time, and output. It gets none of the environment, and can write
 * only to its output and to a directory of its own.
 *
 * What cannot be detected: PostScript without such comments that was cut
 * between two pages, or, if it is a figure, between two of its drawings.
 *
 * Source: Adobe Technical Note 5001, "PostScript Language Document Structuring
 * Conventions", version 3.0.
 */
#ifndef DX_FILTER_POSTSCRIPT_H
#define DX_FILTER_POSTSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/task.h"

#define POSTSCRIPT_LOOK_BYTES 8192 /* enough for postscript_begins() */

/* True if the bytes begin like PostScript, perhaps behind a Ctrl-D or the
 * commands of a printer (PJL), or like EPS with a preview (DOS EPS); *ret_start
 * is where it begins. */
bool postscript_begins(const void *bytes, size_t len, size_t *ret_start);

/* For run_isolated(): what the comments of the document, from its offset, show.
 * INCOMPLETE, or NONE with the least number of pages, from 1. */
enum dx_reason postscript_check(const struct pdf_task *task,
                                struct pdf_done *ret_done);

/*
 * Converts the document of the task, from `start`, to a PDF in task->out_fd,
 * with no more than limit_ms for Ghostscript. temp_dir: where its directory is
 * created. Copies that the document requests have no effect. Returns NONE,
 * or
 *   INCOMPLETE  the end, or a page, is missing
 *   POSTSCRIPT  Ghostscript reports an error, which `why` names
 *   TROUBLE     Ghostscript is not installed, or there is no temporary
 *               directory; `why` has more
 * or a reason of isolate.h. After a SIGTERM, which stays pending until the
 * temporary directory is empty, this process ends.
 */
enum dx_reason postscript_to_pdf(const struct pdf_task *task, size_t start,
                                 const char *temp_dir, int64_t limit_ms,
                                 struct pdf_done *ret_done);

#endif
