/*
 * backend.h - what the parts of the backend share. The backend receives,
 * stores, drives and reports; what a job needs next is the engine's.
 *
 * Order of a life: arguments, receive to stdin's EOF, ask cupsd, store,
 * drive, end. Every way out goes through backend_end(): before EOF no failing
 * exit is allowed, because cupsd aborts a job of several documents then.
 */
#ifndef DX_BACKEND_H
#define DX_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"
#include "lib/engine/engine.h"
#include "lib/job/job.h"
#include "lib/job/spool.h"

struct backend {
  /* arguments and environment; borrowed */
  const char *job_id, *user, *title, *options;
  const char *file;          /* NULL for stdin */
  char *uuid, *host, *queue; /* NULL: not known */
  char service[65];
  /* made on the way */
  struct dx_config *config;
  const struct dx_service *conf; /* our section */
  struct dx_spool spool;
  struct dx_job *job;
  bool spool_is_open;
  int in_fd;          /* bundles come from here; -1 after its end */
  bool eof;           /* everything was read: failing exits are allowed */
  bool silent;        /* nothing came for too long: there will be no EOF */
  bool nothing_new;   /* all of it was extracted by an earlier run */
  bool handed_over;   /* docextractd has it, from us or an earlier run */
  bool handed_before; /* that was an earlier run */
};

/* ---- term.c: SIGTERM ---- */

/* Catches SIGTERM, ignores SIGPIPE. A second SIGTERM ends the process at
 * once, in the way that is right at that moment (see term_eof()). */
void term_catch(void);
void term_eof(void); /* from now on a failing exit is allowed */
bool term_came(void);
int term_wake_fd(void); /* readable after a SIGTERM */
/* SIGTERM also ends this connection, for those who wait deep in a library;
 * one that came before ends it now. -1: none any more. */
void term_ends(int fd);
/* Waits a little for cupsd's own when somebody else's came first. */
bool term_is_from_cupsd(void);
void term_die(void) __attribute__((noreturn)); /* of the signal itself */

/* ---- receive.c ---- */

/* Reads all entries into a new job below incoming/. E_STOPPED after a
 * SIGTERM; E_BUNDLE for what is not a whole bundle. */
enum dx_code backend_receive(struct backend *b, struct dx_err *err) DX_MUST_USE;
/* Reads to EOF and throws away; returns early on SIGTERM or silence. */
void backend_drain(struct backend *b);

/* ---- names.c ---- */

/* Gives the documents the file names that the service is told: as FileNames
 * says, and those of the files where cupsd knows all of them. */
void backend_name_documents(const struct backend *b);

/* ---- cupsjob.c ---- */

struct cups_job {
  bool known;
  bool is_canceled;
  bool filter_failed; /* one of this run, of any document */
  int documents;      /* 0: not said */
  int64_t time_at_creation;
};

/* Asks cupsd about our job; not known if it cannot be asked, or has another
 * job of this number by now. Waits at most timeout_ms, and if it heeds SIGTERM
 * not after that. */
void cups_job_ask(const struct backend *b, int timeout_ms, bool heeds_term,
                  struct cups_job *ret_job);

/* ---- status.c: the only place that prints ---- */

void status_start(void); /* sets the library's log sink; clears old reasons */
void status_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void status_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void status_keep(void); /* the last words stay with a job that ends well */
void status_pages(int pages);
void status_note(void *ctx, struct dx_job *job, const struct dx_note *note);
void status_tick(void); /* to be called at least every 30 minutes */
/* Clears what was set on the way, and sets the reason of the end, if any. */
void status_end(enum dx_class cls);

/* ---- discover.c, ending.c ---- */

/* Lists one device per service on stdout; 0. No network. */
int discover(void);

/* The one way out: drains stdin, tells the outcome, keeps no patient data,
 * and ends the process with the status of the code's class. */
void backend_end(struct backend *b, enum dx_code code, const struct dx_err *err)
    __attribute__((noreturn));

/* The exit status for a class; the one table. */
int backend_exit_status(enum dx_class cls);

#endif
