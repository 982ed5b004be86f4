/*
 * print_job.h - what cupsd knows about a print job: IPP Get-Job-Attributes; who
 * else is in the queue: Get-Jobs; where the queue leads:
 * Get-Printer-Attributes. And which cupsd it is.
 *
 * Job ids repeat, and a client may choose the job-uuid: only both together with
 * the time of creation identify the job (doc/cups.md).
 *
 * Each question has two halves, the bytes of the request and what a response
 * says, for docextractd, which sends them without waiting (daemon/cupsd.h).
 * Backends call those that ask, and wait.
 *
 * Blocking: those that ask, at most timeout_ms, whatever cupsd does; the others
 * read /proc. Errors: none; a cupsd that cannot be asked is a state of its own.
 */
#ifndef DX_PRINT_JOB_H
#define DX_PRINT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buf.h"

/* What cupsd says about the print job: name, word for logs and the control
 * socket. The first four are found by asking more, about the queue. A printer
 * of others is looked at before the state: a job that was moved to paper is
 * completed there. Another queue of this spool only counts while the job is
 * active: one that was canceled there is canceled. */
#define DX_ANSWERS(X)                                                          \
  X(NOT_ASKED, "not-asked")     /* its backend answers that no SIGTERM came */ \
  X(OTHER_QUEUE, "other-queue") /* moved to another queue of this spool */     \
  X(NOT_OURS, "not-ours")       /* moved to a printer of others */             \
  X(CHANGED, "changed")         /* its queue was given another device URI */   \
  X(CANCELED, "canceled")                                                      \
  X(OVER, "over")       /* also if pending, but not listed */                  \
  X(ACTIVE, "active")   /* pending or processing */                            \
  X(HELD, "held")       /* or stopped */                                       \
  X(HIDDEN, "hidden")   /* exists; the rest is private */                      \
  X(NONE, "none")       /* cupsd did not answer */                             \
  X(UNKNOWN, "unknown") /* cupsd does not know it */

enum dx_answer {
#define X(name, word) DX_ANSWER_##name,
  DX_ANSWERS(X)
#undef X
      DX_ANSWER_COUNT
};

const char *dx_answer_word(enum dx_answer answer);
/* DX_ANSWER_COUNT for any other word. */
enum dx_answer dx_answer_by_word(const char *word);

#define DX_QUEUE_BYTES 128 /* cupsd takes names of up to 127 */

struct dx_print_job {
  enum dx_answer answer;
  bool filter_failed; /* in this run, for any document */
  int documents;      /* job sheets included; 0: not reported */
  int64_t time_at_creation;
  char queue[DX_QUEUE_BYTES]; /* "": not reported. Of a class, the member that
                                 the job was given to, if it was */
  bool is_class;              /* `queue` is a class */
};

/* True if cupsd knows the job and its state. */
bool dx_print_job_is_known(const struct dx_print_job *job);

/*
 * Asks the cupsd of CUPS_SERVER, or the system's, in the name of `user`, the
 * job's owner: with JobPrivateValues, others are told nothing. `connected` (may
 * be NULL) is called with the descriptor of the connection, and with -1 at its
 * end, so that a signal handler can end the wait.
 */
void dx_print_job_ask(const char *cups_id, const char *uuid, const char *user,
                      int timeout_ms, void (*connected)(int fd),
                      struct dx_print_job *ret_job);

/* Whether a print job waits for its turn in this queue, or class of queues; one
 * that is held does not. False if cupsd cannot be asked. */
bool dx_print_job_waits(const char *queue, bool is_class, int timeout_ms);

/* ---- the two halves: adds a request to `bytes`; reads a response ---- */

bool dx_print_job_request(const char *cups_id, const char *user,
                          struct dx_buf *bytes);
void dx_print_job_read(const char *bytes, size_t len, const char *uuid,
                       struct dx_print_job *ret_job);

/* The device URI of a queue; false if the response has none. */
bool dx_queue_request(const char *queue, struct dx_buf *bytes);
bool dx_queue_read(const char *bytes, size_t len, struct dx_buf *uri);

/*
 * The print jobs that cupsd has, from a job id on. It lists no more than 500 of
 * all at once, by id; those that are not over come by priority.
 */
enum dx_print_jobs { DX_PRINT_JOBS_ALL, DX_PRINT_JOBS_NOT_OVER };

struct dx_listed_job {
  int id;
  const char *uuid;   /* NULL: hidden; valid until `each` returns */
  bool may_run_again; /* it is not over, or can be printed again; true if that
                         is hidden */
};

bool dx_print_jobs_request(enum dx_print_jobs which, int from,
                           struct dx_buf *bytes);

/* Calls `each` for every job. False if the response is not a whole list. */
bool dx_print_jobs_read(const char *bytes, size_t len,
                        void (*each)(void *ctx,
                                     const struct dx_listed_job *job),
                        void *ctx);

/* ---- which cupsd ---- */

/* Where cupsd is: `host` is a name, an address, or the path of a socket. */
#define DX_CUPSD_HOST_BYTES 256
struct dx_cupsd_address {
  char host[DX_CUPSD_HOST_BYTES];
  int port; /* 0: a socket */
};
void dx_cupsd_address(struct dx_cupsd_address *ret_address);

/* "ADDRESS PID STARTTIME BOOTID" of the cupsd that is our parent; the caller
 * frees it; NULL when out of memory. */
char *dx_cupsd_name(pid_t cupsd);

/* True if that process no longer runs. False where that cannot be told. */
bool dx_cupsd_is_gone(const char *name);

#endif
