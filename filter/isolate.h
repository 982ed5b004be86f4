/*
 * isolate.h - parses a document in a child process, in a sandbox and with
 * limits: a document that crashes the parser, takes it over, or exhausts its
 * resources affects only itself.
 *
 * The child has the descriptors of its task and no others, can open none
 * (sandbox.h), leaves no core dump, and cannot be traced. Its limits of memory,
 * processor time, and output grow with the size of the document (doc/policy.md,
 * "Documents"). The parent limits the elapsed time, and does not trust what the
 * child returns.
 */
#ifndef DX_FILTER_ISOLATE_H
#define DX_FILTER_ISOLATE_H

#include <stdint.h>

#include "filter/task.h"

/* AddressSanitizer needs terabytes of address space: with it, memory is not
 * limited. */
#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define ISOLATE_SANITIZED
#elif defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer)
#define ISOLATE_SANITIZED
#endif
#endif

/* Runs in the child. Its output to stdout, by stdio or directly, is written to
 * task->out_fd, whose number there is STDOUT_FILENO. */
typedef enum dx_reason isolated_work(const struct pdf_task *task,
                                     struct pdf_done *ret_done);

/*
 * Runs the work, and waits. Returns its reason, or
 *   SANDBOX      the kernel has no seccomp; the work was not run. Not with
 *                task->sandbox_optional: then it runs, and a warning is logged
 *   TOO_COMPLEX  it reached a limit of memory or processor time, or of output
 *   TOO_LARGE    it wrote more than task->most_bytes (if > 0)
 *   TOO_SLOW     limit_ms have passed
 *   DAMAGED      it crashed, or returned what makes no sense
 *   TROUBLE      no child process can be started, this computer has less memory
 *                than the limit, or what was written to stdout was not stored
 * *ret_done is what the work returned with its reason; zero if it did not
 * return.
 */
enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done);

#endif
