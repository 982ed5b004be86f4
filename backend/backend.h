/*
 * backend.h - what the files of the backend share. The backend receives and
 * stores a print job, follows it at docextractd, which drives it, and reports
 * to cupsd.
 *
 * Order: arguments, wait for space, seal, receive up to EOF of stdin, query
 * cupsd, store, attend, end. Every exit goes through backend_end(): before EOF
 * the backend must not exit with a failure, because cupsd would abort a job
 * with several documents. Between EOF and the commit it must not wait: if it
 * were killed, cupsd would call the job completed.
 */
#ifndef DX_BACKEND_H
#define DX_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/config/config.h"
#include "lib/control/note.h"
#include "lib/spool/sentence.h"
#include "lib/spool/spool.h"

struct backend {
  /* arguments and environment; borrowed */
  const char *job_id, *user, *title, *options;
  bool is_raw;               /* a file that passed through no filter */
  char *uuid, *host, *queue; /* NULL: not known */
  char service[65];
  char seal[DX_SEAL_BYTES]; /* of the entries of this run */
  /* set while running */
  struct dx_config *config;
  const struct dx_service *conf; /* the section of this queue */
  struct dx_spool spool;         /* {-1, -1} before */
  struct dx_job *job;
  pid_t cupsd;      /* our parent, as long as it lives */
  int in_fd;        /* bundles are read from here; -1 after EOF */
  bool eof;         /* everything was read: exiting with a failure is allowed */
  bool silent;      /* no data for too long: there will be no EOF */
  char *cupsd_name; /* which cupsd started this run; NULL: none */
  /* the outcome of the job that was stored */
  bool attended;
  bool left;       /* docextractd goes on with it, durably */
  bool sent;       /* when it was left */
  bool overdue;    /* so it was left */
  size_t failures; /* of this queue, after their print jobs had ended */
  struct dx_err outcome;
  char sentence[DX_SENTENCE_BYTES]; /* for the user who printed; "": none */
};

/* ---- arguments.c ---- */

/* The configuration; the caller frees it. */
enum dx_code backend_read_config(struct dx_config **ret_config,
                                 struct dx_err *err) DX_MUST_USE;
/*
 * Sets the name of the service from the device URI (NULL: none),
 * docextract://SERVICE and nothing else: a user who may add queues must not be
 * able to choose where tokens are sent. E_CONFIG.
 */
enum dx_code backend_read_uri(struct backend *b, const char *uri,
                              struct dx_err *err) DX_MUST_USE;
/* Reads the 6 or 7 arguments of a backend, borrowed, and PRINTER. E_NOMEM. */
enum dx_code backend_read_arguments(struct backend *b, int argc, char **argv,
                                    struct dx_err *err) DX_MUST_USE;
/* A text that is missing (NULL) is no error; false only when out of memory. */
bool backend_copy(const char *text, char **ret_text);

/* ---- term.c: SIGTERM ---- */

/* Catches SIGTERM, ignores SIGPIPE. A second SIGTERM ends the process at once,
 * with the status that is correct at that time (see term_eof()). */
void term_catch(void);
void term_eof(void); /* from now on exiting with a failure is allowed */
bool term_came(void);
int term_wake_fd(void); /* readable after a SIGTERM */
/* SIGTERM also shuts down this connection, on which a library waits; at once if
 * it has been received already. -1: no connection. */
void term_ends(int fd);
/* Waits briefly for the SIGTERM of cupsd if another process's came first. */
bool term_is_from_cupsd(void);
void term_die(void) __attribute__((noreturn)); /* killed by the signal */

/* ---- receive.c ---- */

/* Reads all entries into a new job below incoming/. E_STOPPED after a
 * SIGTERM; E_BUNDLE for anything but a complete bundle. */
enum dx_code backend_receive(struct backend *b, struct dx_err *err) DX_MUST_USE;
/* Discards the input up to EOF; returns early on SIGTERM or without data. */
void backend_drain(struct backend *b);

/* ---- names.c ---- */

/* Sets the file names that are sent to the service: as configured by FileNames,
 * and those of the files if cupsd knows all of them. */
void backend_name_documents(const struct backend *b);
/* Without the sheets of cupsd. */
size_t backend_count_documents(const struct dx_job *job);

/* ---- attend.c ---- */

/*
 * Follows the job that was stored: DX_OK if it was extracted, or left to
 * docextractd (b->left); E_STOPPED after a SIGTERM, without its cupsd, or when
 * a newer run has the job; else what it ended with, as in b->outcome.
 */
enum dx_code backend_attend(struct backend *b, struct dx_err *err) DX_MUST_USE;

/* ---- status.c: the only place that prints ---- */

void status_start(void); /* sets the library's log sink; clears old reasons */
/* A line; prefix: INFO or another that cupsd knows. */
void status_say(const char *prefix, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A failure: the text for the user who printed, and the line of the log for the
 * administrator. */
void status_failure(const char *text, const char *log, ...)
    __attribute__((format(printf, 2, 3)));
/* here: the chart is not with the service yet. */
void status_note(const struct dx_note *note, bool here);
/* docextractd does not respond: why, and what to do; NULL: it responds. */
void status_docextractd(const struct dx_err *err);
void status_tick(void); /* to be called at least every 30 minutes */
/* Clears the state reasons, and sets that of the result, if any, and that of
 * jobs that failed after their print jobs had ended. Waits until cupsd has read
 * all lines, at most a second. */
void status_end(enum dx_code code, bool others_failed);

/* ---- discover.c, ending.c ---- */

/* Lists one device per service on stdout; 0. No network. On an error, reports
 * *err, and lists only that there is such a device. */
int discover(enum dx_code code, const struct dx_err *err);

/* The only exit: drains stdin, reports the result, deletes patient data, and
 * exits with the status of the code's class. */
void backend_end(struct backend *b, enum dx_code code, const struct dx_err *err)
    __attribute__((noreturn));

#endif
