/*
 * isolate.h - parses a document in a child process, in a sandbox and with
 * limits: a document that crashes the parser, takes it over, or exhausts its
 * resources affects only itself.
 *
 * The child has the descriptors of its task and no others, can open none
 * (sandbox.h), leaves no core dump, and cannot be traced. Its limits of memory,
 * processor time, and output grow with the size of the document (doc/policy.md,
 * "Documents"). The parent limits the elapsed time, and does not trust what the
 * child returns: the document must begin like one of the type that is sent.
 */
#ifndef DX_FILTER_ISOLATE_H
#define DX_FILTER_ISOLATE_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

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

/* The resource limits of a child process. */
struct isolate_limits {
  rlim_t memory_bytes, cpu_s, file_bytes;
};

/* Limits this process, which is the child. False if that fails. */
bool isolate_limit(const struct isolate_limits *limits);

/* Blocks SIGCHLD and SIGTERM, for isolate_wait(), before the child is started.
 * The caller restores *ret_old. */
void isolate_block(sigset_t *ret_old);

/*
 * Waits for a child process for at most limit_ms, and kills it then, or after a
 * SIGTERM, which stays pending. NONE if it has ended by itself, with
 * *ret_status its exit status; else a reason, as run_isolated() has it.
 */
enum dx_reason isolate_wait(pid_t child, int64_t limit_ms,
                            const struct isolate_limits *limits,
                            int64_t most_bytes, int *ret_status);

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
 *   DAMAGED      it crashed, returned what makes no sense, or wrote a document
 *                that does not begin like one of its type
 *   TROUBLE      no child process can be started, this computer has less memory
 *                than the limit, or what was written to stdout was not stored
 * *ret_done is what the work returned with its reason; zero if it did not
 * return.
 */
enum dx_reason run_isolated(isolated_work *work, const struct pdf_task *task,
                            int64_t limit_ms, struct pdf_done *ret_done);

#endif
