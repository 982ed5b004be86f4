/*
 * permission.h - whether the documents of a print job may still be sent after
 * changes that a user made to it in CUPS (doc/policy.md). Pure: no files, no
 * clock, no network.
 *
 * docextractd calls dx_permission() before each step that cannot be undone: the
 * create of a source, the first byte of an upload. The input is the journal
 * (struct dx_print), the state of the backend, and the last answer of cupsd.
 * dx_print_learn() selects what is journaled. It is journaled before it has any
 * effect, because cupsd does not keep it.
 */
#ifndef DX_PERMISSION_H
#define DX_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/print/print_job.h"
#include "lib/spool/state.h"

/* How long cupsd may hide a print job, or not answer, before the administrator
 * must decide. */
#define DX_UNCLEAR_LIMIT_MS (24 * 60 * 60 * INT64_C(1000))

/* The state of the backend of the last run: name, word in the journal. */
#define DX_BACKENDS(X)                                                \
  X(DX_BACKEND_NONE, "none")       /* submitted: no print job */      \
  X(DX_BACKEND_ATTENDS, "attends") /* connected */                    \
  X(DX_BACKEND_LEFT, "left")       /* sent `leave`, to exit early */  \
  X(DX_BACKEND_HELD, "held")       /* the same, but a document has    \
                           failed: CUPS holds the print job */        \
  X(DX_BACKEND_ENDED, "ended")     /* by itself or by SIGTERM */      \
  X(DX_BACKEND_BROKEN, "broken")   /* its connection broke, or it was \
                           silent too long */

enum dx_backend { DX_BACKENDS(DX_NAME_OF_ROW) DX_BACKEND_COUNT };

/* The last final answer about the print job: name, word in the journal. */
#define DX_FINALS(X)                                                     \
  X(DX_FINAL_NONE, "none")                                               \
  X(DX_FINAL_CANCELED, "canceled") /* or moved to a printer of others */ \
  X(DX_FINAL_OVER, "over")         /* completed or aborted */

enum dx_final { DX_FINALS(DX_NAME_OF_ROW) DX_FINAL_COUNT };

#define DX_KEY_BYTES 33 /* 32 hex digits and NUL */
#define DX_RUN_BYTES 17 /* 16 hex digits (time, random) and NUL */

/*
 * What is known about the print job whose backend committed the documents. A
 * submitted job has only a run.
 */
struct dx_print {
  char key[DX_KEY_BYTES]; /* dx_spool_key() of the print job; "" before the
                             commit */
  char run[DX_RUN_BYTES]; /* names the receipt; "" before the commit */
  char *cupsd; /* which cupsd started the run (dx_cupsd_name()); NULL: none */
  enum dx_backend backend; /* the state of the last run's backend */
  enum dx_final final;     /* the last final answer of cupsd */
  bool known_later;        /* a later cupsd has known the print job */
  bool decided;   /* the administrator decided to send; until the next run */
  bool undecided; /* the administrator must decide */
  int64_t unclear_ms; /* wall: since when cupsd has hidden the print job or not
                         answered; 0: neither */
};

/* name, word for logs */
#define DX_PERMISSIONS(X)                                        \
  X(DX_MAY_SEND, "send")                                         \
  X(DX_MAY_WAIT, "wait")                                         \
  X(DX_MAY_CANCEL, "cancel") /* the job is canceled here, too */ \
  /* the same, but what was sent is fetched and delivered */     \
  X(DX_MAY_CANCEL_UNSENT, "cancel what was not sent")            \
  X(DX_MAY_ASK, "the administrator decides")

enum dx_permission { DX_PERMISSIONS(DX_NAME_OF_ROW) };

struct dx_permission_facts {
  /* The backend is BROKEN if it should attend and is not connected. */
  struct dx_print print;
  bool stopping; /* it attends, and has got SIGTERM: `ended` follows */
  enum dx_answer answer;
  bool cupsd_gone; /* the cupsd that started the run no longer runs */
  int64_t now_ms;  /* wall clock */
};

/* Pure. */
enum dx_permission dx_permission(const struct dx_permission_facts *facts);

/* With DX_MAY_CANCEL_UNSENT: true if a submission goes on. is_put: all its
 * documents were uploaded, or may have been. Pure. */
bool dx_permission_keeps(enum dx_state state, bool is_put);

/* True if cupsd must be asked (NOT_ASKED would mean to wait). False for a job
 * without a print job. Permanently false once the backend has left and the
 * print job was over. */
bool dx_permission_needs_answer(const struct dx_permission_facts *facts);

/*
 * Stores the parts of an answer that must be journaled. A final answer applies
 * only while cupsd does not know the job; a current answer takes precedence.
 * Returns true if anything changed: then write the journal before acting on it.
 */
bool dx_print_learn(struct dx_print *print, enum dx_answer answer,
                    bool cupsd_gone, int64_t now_ms);

/* Begins a new run of the print job: its backend attends, and knowledge and
 * decisions about earlier runs are discarded. run and cupsd stay as they are.
 */
void dx_print_begin(struct dx_print *print);

const char *dx_permission_word(enum dx_permission permission);

const char *dx_backend_word(enum dx_backend backend);

#endif
