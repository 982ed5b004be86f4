/*
 * permission.h - what a user did to the print job, and whether its documents
 * may therefore still be sent (doc/policy.md). Pure: no files, no clock, no
 * network.
 *
 * docextractd asks dx_permission() before each step that cannot be taken back:
 * the create of a source, the first byte of an upload. What it knows is the
 * journal (struct dx_print), how the backend stands, and what cupsd last said.
 * dx_print_learn() says what of that is journaled, and it is journaled before
 * anything follows from it: cupsd forgets.
 */
#ifndef DX_PERMISSION_H
#define DX_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/print/print_job.h"

/* So long cupsd may hide a print job, or not answer, until the administrator
 * decides. */
#define DX_UNCLEAR_LIMIT_MS (24 * 60 * 60 * INT64_C(1000))

/* How the backend of the last run stands: name, word in the journal. */
#define DX_BACKENDS(X)                                      \
  X(NONE, "none")       /* submitted: no print job */       \
  X(ATTENDS, "attends") /* connected, and answers */        \
  X(LEFT, "left")       /* told cupsd that it is done */    \
  X(ENDED, "ended")     /* by itself or by SIGTERM */       \
  X(BROKEN, "broken")   /* its connection broke, or it does \
                           not answer */

enum dx_backend {
#define X(name, word) DX_BACKEND_##name,
  DX_BACKENDS(X)
#undef X
      DX_BACKEND_COUNT
};

/* The last final answer about the print job: name, word in the journal. */
#define DX_FINALS(X)                                            \
  X(NONE, "none")                                               \
  X(CANCELED, "canceled") /* or moved to a printer of others */ \
  X(OVER, "over")         /* completed or aborted */

enum dx_final {
#define X(name, word) DX_FINAL_##name,
  DX_FINALS(X)
#undef X
      DX_FINAL_COUNT
};

/* name, word for logs */
#define DX_PERMISSIONS(X)                                 \
  X(SEND, "send")                                         \
  X(WAIT, "wait")                                         \
  X(CANCEL, "cancel") /* the job is canceled here, too */ \
  X(ASK, "the administrator decides")

enum dx_permission {
#define X(name, word) DX_MAY_##name,
  DX_PERMISSIONS(X)
#undef X
};

struct dx_permission_facts {
  enum dx_answer answer;
  /* Of one that attends: BROKEN if it does not answer now, ENDED if it says
   * that SIGTERM came. */
  enum dx_backend backend;
  enum dx_final final;
  bool cupsd_gone;  /* the cupsd that started the run no longer runs */
  bool known_later; /* a later one than that has known the job */
  bool decided;     /* the administrator decided to send */
  int64_t unclear_for_ms;
};

struct dx_print; /* job.h */

/* Pure. */
enum dx_permission dx_permission(const struct dx_permission_facts *facts);

/* True if only cupsd's answer tells (NOT_ASKED would mean to wait). False for a
 * job without print job, and for good once the backend has left and the print
 * job was over. */
bool dx_permission_needs_answer(const struct dx_permission_facts *facts);

/* The facts of a print job at the time `now_ms` (wall clock). */
struct dx_permission_facts dx_print_facts(const struct dx_print *print,
                                          enum dx_answer answer,
                                          bool cupsd_gone, int64_t now_ms);

/*
 * Takes over what of an answer must be remembered. A final answer counts while
 * cupsd does not know the job, never against what it says now. Returns true if
 * that changed something: the journal is then written before anything is done
 * about it.
 */
bool dx_print_learn(struct dx_print *print, enum dx_answer answer,
                    bool cupsd_gone, int64_t now_ms);

/* A new run of the print job: its backend attends, and nothing that was known,
 * or decided, about an earlier run counts. run and cupsd stay as they are. */
void dx_print_begin(struct dx_print *print);

const char *dx_permission_word(enum dx_permission permission);

const char *dx_backend_word(enum dx_backend backend);
const char *dx_final_word(enum dx_final final);

#endif
