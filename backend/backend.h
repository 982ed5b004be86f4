/*
 * backend.h - declarations shared by the files of the backend. The backend
 * receives and stores a print job, follows it while docextractd processes it,
 * and reports to cupsd.
 *
 * Order: arguments, wait until everything on this computer is ready, seal,
 * receive until EOF of stdin, query cupsd, store, attend, end. Every exit goes
 * through backend_end(): before EOF the backend must not exit with a failure,
 * because cupsd would abort a job with several documents. Between EOF and the
 * commit it must not wait, except for an answer of cupsd, because cupsd would
 * consider the job completed if the backend were killed.
 */
#ifndef DX_BACKEND_H
#define DX_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/config/config.h"
#include "lib/control/channel.h"
#include "lib/print/print_job.h"
#include "lib/spool/sentence.h"
#include "lib/spool/spool.h"

#define BACKEND_ASK_MS 10000 /* for cupsd to answer about the print job */

struct backend {
  /* arguments and environment; borrowed */
  const char *job_id, *user, *title, *options;
  bool is_raw;               /* printed raw: no filter has run */
  char *uuid, *host, *queue; /* NULL: not known */
  char service[DX_SECTION_BYTES];
  char seal[DX_SEAL_BYTES]; /* of the entries of this run */
  /* set while running */
  struct dx_err entered;      /* the error of dx_user_enter(), or DX_OK */
  struct dx_print_job before; /* what cupsd answered at the start */
  struct dx_config *config;
  const struct dx_service *conf; /* the section of this queue */
  struct dx_spool spool;         /* not open before */
  struct dx_job *job;
  pid_t cupsd;      /* our parent process at the start */
  int in_fd;        /* bundles are read from here */
  bool eof;         /* stdin was read: exiting with a failure is allowed */
  bool silent;      /* timed out without data: no EOF will come */
  char *cupsd_name; /* the cupsd that started this run; NULL: none */
  /* the outcome of the job that was stored */
  bool left;        /* docextractd continues it; durable */
  bool sent;        /* it was uploaded when it was left */
  bool overdue;     /* it was left because of ProcessingLimit */
  bool stuck;       /* it was left because of the service */
  size_t failures;  /* of this queue, after their print jobs had ended */
  size_t undecided; /* other jobs of this queue that need a decision */
  struct dx_err outcome;
  char sentence[DX_SENTENCE_BYTES]; /* for the user who printed; "": none */
};

/* ---- arguments.c ---- */

/*
 * Sets the name of the service from the device URI (NULL: none). Only
 * docextract://SERVICE is accepted: users who can add queues must not be able
 * to choose where tokens are sent. E_CONFIG.
 */
enum dx_code backend_read_uri(struct backend *b, const char *uri,
                              struct dx_err *err) DX_MUST_USE;
/* Reads the 6 or 7 arguments of a backend, borrowed, and PRINTER. E_NOMEM. */
enum dx_code backend_read_arguments(struct backend *b, int argc, char **argv,
                                    struct dx_err *err) DX_MUST_USE;
/* NULL is not an error; false only when out of memory. */
bool backend_copy(const char *text, char **ret_text);

/* Adds the documents that cupsd counts but that did not arrive, because their
 * type bypassed the filter, or cupsd was killed. */
enum dx_code backend_add_missing(struct dx_job *job, int expected,
                                 struct dx_err *err) DX_MUST_USE;
/*
 * A converter that fails midway leaves a valid PDF with only the first pages.
 * cupsd does not report which document failed, so all are refused. Exception:
 * if there are several, those that were printed as PDF or image were not
 * converted.
 */
void backend_refuse_halves(struct dx_job *job);
/* Sets the file names that are sent to the service: according to FileNames, and
 * the names of the files if cupsd knows all of them. */
void backend_name_documents(const struct backend *b);
/* Does not count job sheets. */
size_t backend_count_documents(const struct dx_job *job);

/* ---- term.c: SIGTERM ---- */

/* Catches SIGTERM, ignores SIGPIPE. A second SIGTERM ends the process at once,
 * with the status that is correct at that time (see term_eof()). */
void term_catch(void);
void term_eof(void); /* from now on, exiting with a failure is allowed */
bool term_came(void);
int term_wake_fd(void); /* readable after a SIGTERM */
/* True if cupsd sent a SIGTERM; waits briefly for it, because the SIGTERM of
 * another process may arrive first. */
bool term_is_from_cupsd(void);
void term_die(void) __attribute__((noreturn)); /* killed by the signal */

/* ---- ready.c ---- */

/*
 * Waits until the user of this process, the device URI, the configuration, its
 * section, the spool, the sandbox, and cupsd are as they must be, for at most
 * 45 s; the configuration is read again every 3 s. Sets config, conf, spool,
 * and before, which may be unset after an error. Reports to cupsd what it waits
 * for. E_STOPPED after a SIGTERM; else the first problem that remains.
 */
enum dx_code backend_await_ready(struct backend *b,
                                 struct dx_err *err) DX_MUST_USE;

/* ---- receive.c ---- */

/* Reads all entries into a new job below incoming/. E_STOPPED after a
 * SIGTERM; E_BUNDLE for anything but a complete bundle. */
enum dx_code backend_receive(struct backend *b, struct dx_err *err) DX_MUST_USE;
/* Discards the input up to EOF; returns early on SIGTERM or without data. */
void backend_drain(struct backend *b);

/* ---- attend.c ---- */

/*
 * Follows the stored job. DX_OK: extracted, or left to docextractd (b->left);
 * E_STOPPED: after a SIGTERM, without its cupsd, or if a newer run has the job;
 * else the outcome, as in b->outcome.
 */
enum dx_code backend_attend(struct backend *b, struct dx_err *err) DX_MUST_USE;

/* ---- status.c: the only place that prints ---- */

void status_start(void); /* sets the library's log sink; clears old reasons */
/* Prints a line; prefix: INFO or another prefix of cupsd. */
void status_say(const char *prefix, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports a failure: a text for the user, a log line for the administrator. */
void status_failure(const char *text, const char *log, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports what the print job waits for before its documents are received; NULL:
 * for nothing any more. */
void status_not_ready(const struct dx_err *err);
/* here: not all documents have been uploaded. */
void status_note(const struct dx_note *note, bool here);
/* Reports that docextractd does not respond; NULL: it responds. */
void status_docextractd(const struct dx_err *err);
void status_tick(void); /* to be called at least every 30 minutes */
/* Clears the state reasons, and sets the one of the result, if any, and those
 * of other jobs: that failed after their print jobs had ended, or need a
 * decision. Waits until cupsd has read all lines, at most a second. */
void status_end(enum dx_code code, bool others_failed, bool others_undecided);

/* ---- discover.c, ending.c ---- */

/* Lists one device per service on stdout; returns 0. No network access. After
 * an error, reports *err, and lists a generic device. */
int discover(enum dx_code code, const struct dx_err *err);

/* The only exit: drains stdin, reports the result, deletes patient data, and
 * exits with the status of the code's class. */
void backend_end(struct backend *b, enum dx_code code, const struct dx_err *err)
    __attribute__((noreturn));

#endif
