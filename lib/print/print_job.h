/*
 * print_job.h - queries to cupsd: the state of a print job (IPP
 * Get-Job-Attributes), the ids of others (Get-Jobs), the device URI of a queue
 * (Get-Printer-Attributes); and the identity of a cupsd process.
 *
 * Job ids are reused, and a client may choose the job-uuid: only both of them
 * and the time of creation identify a job (doc/cups.md).
 *
 * For docextractd, which must not wait, a query has two functions: one adds the
 * request, the other reads the response (daemon/cupsd.h). Backends call the
 * functions that send a request and wait.
 *
 * Blocking: functions with timeout_ms, at most that long; the others read
 * /proc. Errors: none; if cupsd does not answer, the answer is NONE.
 */
#ifndef DX_PRINT_JOB_H
#define DX_PRINT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buf.h"
#include "lib/base/words.h"

/* cupsd's answer about the print job: name, word for logs and the control
 * socket. OTHER_QUEUE, NOT_OURS, and CHANGED need another query, about the
 * queue. */
#define DX_ANSWERS(X)                                                          \
  X(DX_ANSWER_NOT_ASKED, "not-asked")     /* its backend attends */            \
  X(DX_ANSWER_OTHER_QUEUE, "other-queue") /* or section, of this spool */      \
  X(DX_ANSWER_NOT_OURS, "not-ours")       /* moved to a printer of others */   \
  X(DX_ANSWER_CHANGED, "changed") /* its queue was given another device URI */ \
  X(DX_ANSWER_CANCELED, "canceled")                                            \
  X(DX_ANSWER_OVER, "over")       /* also if pending, but not listed */        \
  X(DX_ANSWER_ACTIVE, "active")   /* pending or processing */                  \
  X(DX_ANSWER_HELD, "held")       /* or stopped */                             \
  X(DX_ANSWER_HIDDEN, "hidden")   /* exists; the rest is private */            \
  X(DX_ANSWER_NONE, "none")       /* cupsd did not answer */                   \
  X(DX_ANSWER_UNKNOWN, "unknown") /* cupsd does not know it */

enum dx_answer { DX_ANSWERS(DX_NAME_OF_ROW) DX_ANSWER_COUNT };

/* Where cupsd has the print job, compared with the journal. */
enum dx_place {
  DX_PLACE_SAME,    /* in the same queue; or in a class, or not known */
  DX_PLACE_CHANGED, /* in the same queue, which is no longer of this spool */
  DX_PLACE_OTHER,   /* in another queue, or with another section, of it */
  DX_PLACE_NOT_OURS /* at another printer */
};

/*
 * The answer about a job that is in this state (CANCELED, OVER, ACTIVE, HELD)
 * at this place. A job that was moved to another printer completes there, so
 * that place counts first. The other places matter only until the job is over.
 */
enum dx_answer dx_answer_at(enum dx_answer state, enum dx_place place);

const char *dx_answer_word(enum dx_answer answer);
/* DX_ANSWER_COUNT for any other word. */
enum dx_answer dx_answer_by_word(const char *word);

#define DX_QUEUE_BYTES 128 /* cupsd accepts names of up to 127 */

/*
 * A print job, as far as cupsd reports it. cupsd returns what print clients
 * have written: an attribute counts only with its type, one value, and a
 * bounded length. Otherwise it is not reported.
 */
struct dx_print_job {
  enum dx_answer answer;
  bool has_state;     /* cupsd reports a state of a job with this id */
  bool may_run_again; /* it is not over, or can be printed again; true if that
                         is hidden */
  bool filter_failed; /* in this run, for any document */
  int documents; /* that have arrived, job sheets included; 0: not reported */
  int64_t time_at_creation;
  char queue[DX_QUEUE_BYTES]; /* "": not reported. For a class, the member that
                                 got the job, if any */
  bool is_class;              /* `queue` is a class */
};

/* True if cupsd knows the job and its state. */
bool dx_print_job_is_known(const struct dx_print_job *job);

/* True if cupsd reports a state, but not what identifies the job, or how many
 * documents it has: its client has written something else. For the job of a
 * backend that cupsd is running. */
bool dx_print_job_is_unusable(const struct dx_print_job *job);

/*
 * Asks the cupsd of CUPS_SERVER, or the system's, as `user`, the owner of the
 * job: with JobPrivateValues, cupsd hides the job from others. The wait also
 * ends when `stops` (NULL: never) returns true.
 */
void dx_print_job_ask(const char *cups_id, const char *uuid, const char *user,
                      int timeout_ms, bool (*stops)(void),
                      struct dx_print_job *ret_job);

/* True if a print job waits in this queue or class of queues; a held job does
 * not count. False if cupsd does not answer. */
bool dx_print_job_waits(const char *queue, bool is_class, int timeout_ms);

/* ---- the two halves: adds a request to `bytes`; reads a response ---- */

bool dx_print_job_request(const char *cups_id, const char *user,
                          struct dx_buf *bytes);
void dx_print_job_read(const char *bytes, size_t len, const char *uuid,
                       struct dx_print_job *ret_job);

/* A queue; a value that is missing is "" or 0. */
struct dx_queue {
  char name[DX_QUEUE_BYTES];
  char uri[128];     /* of its device; cut if it is longer */
  const char *state; /* "idle", "processing", "stopped", "unknown"; static */
  char reasons[256]; /* keywords, separated by blanks */
  bool is_accepting;
  int jobs;
};
typedef void dx_queues_each(void *ctx, const struct dx_queue *queue);

/* Asks for all queues, and waits. False if cupsd does not answer. */
bool dx_queues_ask(int timeout_ms, dx_queues_each *each, void *ctx);

/* One queue, or, with NULL, all. False if the response is not a list. */
bool dx_queues_request(const char *queue, struct dx_buf *bytes);
bool dx_queues_read(const char *bytes, size_t len, dx_queues_each *each,
                    void *ctx);

/*
 * A part of the list of print jobs that are not over: at most `limit`, from the
 * `index`-th on, counted from 1. cupsd sorts them by priority, then by id, so
 * that first-job-id would not divide the list into pages.
 */
bool dx_print_jobs_request(int index, int limit, struct dx_buf *bytes);

/* Calls `each` for every job: id, 0 if it is not reported; state, an
 * ipp_jstate_t, 0 if it is not reported. False if the response is not a whole
 * list; *ret_refused: because cupsd refuses it. */
typedef void dx_print_jobs_each(void *ctx, int id, int state);
bool dx_print_jobs_read(const char *bytes, size_t len, dx_print_jobs_each *each,
                        void *ctx, bool *ret_refused);

/*
 * Asks for all print jobs that are not over, and waits. A value that is not
 * reported is "" or 0. False if cupsd does not answer.
 */
struct dx_listed_job {
  int id;
  int state; /* ipp_jstate_t */
  int64_t time_at_creation;
  char uuid[64];
  char queue[DX_QUEUE_BYTES]; /* or class of queues */
};
typedef void dx_print_jobs_listed(void *ctx, const struct dx_listed_job *job);
bool dx_print_jobs_ask(int timeout_ms, dx_print_jobs_listed *each, void *ctx);

/* ---- which cupsd ---- */

/* Where cupsd is: `host` is a name, an address, or the path of a socket. */
#define DX_CUPSD_HOST_BYTES 256
struct dx_cupsd_address {
  char host[DX_CUPSD_HOST_BYTES];
  int port; /* 0: a socket */
};
void dx_cupsd_address(struct dx_cupsd_address *ret_address);

/* "PID STARTTIME BOOTID" of the cupsd that is our parent; the caller
 * frees it; NULL when out of memory. */
char *dx_cupsd_name(pid_t cupsd);

/* True if that process no longer runs. False if that cannot be determined. */
bool dx_cupsd_is_gone(const char *name);

#endif
