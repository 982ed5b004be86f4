/*
 * backend.h - what the files of the backend share. The backend receives and
 * stores a print job, runs the engine, and reports to cupsd; what a job needs
 * next is decided by the engine.
 *
 * Order: arguments, receive up to EOF of stdin, query cupsd, store, run, end.
 * Every exit goes through backend_end(): before EOF the backend must not exit
 * with a failure, because cupsd would abort a job with several documents.
 */
#ifndef DX_BACKEND_H
#define DX_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"
#include "daemon/engine/engine.h"
#include "lib/spool/job.h"
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
  struct dx_spool spool;
  struct dx_job *job;
  bool spool_is_open;
  pid_t cupsd;      /* our parent, as long as it lives */
  int in_fd;        /* bundles are read from here; -1 after EOF */
  bool eof;         /* everything was read: exiting with a failure is allowed */
  bool silent;      /* no data for too long: there will be no EOF */
  bool nothing_new; /* everything was extracted by an earlier run */
  bool handed_over; /* docextractd has the job, from this or an earlier run */
  bool handed_before;     /* from an earlier run */
  bool uploaded;          /* before it was handed over */
  bool has_outcome;       /* the error is what became of the job */
  char key[DX_KEY_BYTES]; /* of the job that was handed over */
  bool announces;         /* OnResult is to be run for a job that ended here */
};

/* ---- arguments.c ---- */

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

/* ---- queue.c: who waits behind us ---- */

/* True if our documents are uploaded and another print job waits. Asks cupsd
 * only now and then: to be called at least every DX_QUEUE_LOOK_MS. */
bool queue_is_wanted(const struct backend *b);

/* ---- adopt.c: jobs that lost their driver ---- */

/* Looks for such jobs of our service now and then, and gives them to the
 * engine. */
void adopt_look(struct backend *b, struct dx_engine *engine);
/* To be called for every job that ended; ignores ours. */
void adopt_ended(struct backend *b, struct dx_job *job);
/* Lets go of the rest, after the engine has. */
void adopt_release(void);

/* ---- announce.c: OnResult ---- */

/* Runs what is due where docextractd does not run, in a process that cupsd does
 * not wait for. To be called with the spool closed. */
void announce_detached(const struct backend *b);

/* ---- status.c: the only place that prints ---- */

void status_start(void); /* sets the library's log sink; clears old reasons */
void status_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void status_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Why a print job ends: for the log of the administrator, and for the person
 * who printed. */
void status_failure(const char *log, const char *text);
void status_keep(void); /* a completed job keeps its last message */
void status_pages(int pages);
void status_note(void *ctx, struct dx_job *job, const struct dx_note *note);
void status_tick(void); /* to be called at least every 30 minutes */
/* Clears the state reasons, and sets that of the result, if any, and that of
 * jobs that failed after their print jobs had ended. */
void status_end(enum dx_code code, bool others_failed);

/* ---- discover.c, ending.c ---- */

/* Lists one device per service on stdout; 0. No network. On an error, reports
 * *err, and lists only that there is such a device. */
int discover(enum dx_code code, const struct dx_err *err);

/* The only exit: drains stdin, reports the result, deletes patient data, and
 * exits with the status of the code's class. */
void backend_end(struct backend *b, enum dx_code code, const struct dx_err *err)
    __attribute__((noreturn));

/* The exit status of a class; the only table. */
int backend_exit_status(enum dx_class cls);

#endif
