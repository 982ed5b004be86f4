/*
 * print_job.h - what cupsd knows about a print job: IPP Get-Job-Attributes; and
 * whether others wait behind it: Get-Jobs.
 *
 * Job ids repeat, and a client may choose the job-uuid: only both together
 * identify the job (doc/cups.md).
 *
 * Blocking: at most timeout_ms, whatever cupsd does. Errors: none; a
 * cupsd that cannot be asked is a state of its own.
 */
#ifndef DX_PRINT_JOB_H
#define DX_PRINT_JOB_H

#include <stdbool.h>
#include <stdint.h>

/* What its state means to whoever wants to drive the job: name, word for logs
 */
#define DX_PRINT_JOB_STATES(X)                                             \
  X(NOBODY, "not available") /* cupsd cannot be asked: nothing is known */ \
  X(UNKNOWN, "unknown")      /* cupsd has no such job (any more) */        \
  X(WAITING, "waiting")      /* pending or processing: a backend comes */  \
  X(HELD, "held")            /* a person holds it, or its queue stopped */ \
  X(CANCELED, "canceled")    /* a person does not want it */               \
  X(OVER, "over")            /* completed or aborted: no backend comes */

enum dx_print_job_state {
#define X(name, word) DX_PJ_##name,
  DX_PRINT_JOB_STATES(X)
#undef X
      DX_PJ_COUNT
};

const char *dx_print_job_word(enum dx_print_job_state state);

struct dx_print_job {
  enum dx_print_job_state state;
  bool filter_failed; /* in this run, for any document */
  int documents;      /* job sheets included; 0: not reported */
  int64_t time_at_creation;
};

/* True if cupsd knows the job. */
bool dx_print_job_is_known(const struct dx_print_job *job);

/*
 * Asks the cupsd of CUPS_SERVER, or the system's. `connected` (may be NULL) is
 * called with the descriptor of the connection, and with -1 at its end, so that
 * a signal handler can end the wait.
 */
void dx_print_job_ask(const char *cups_id, const char *uuid, int timeout_ms,
                      void (*connected)(int fd), struct dx_print_job *ret_job);

/* Whether a print job waits for its turn in this queue, or class of queues; one
 * that is held does not. False if cupsd cannot be asked. */
bool dx_print_job_waits(const char *queue, bool is_class, int timeout_ms);

#endif
