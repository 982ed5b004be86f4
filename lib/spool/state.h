/*
 * state.h - the states of a submission and the one table of their transitions.
 * Pure: no files, no clock, no network.
 *
 * A submission is one source of the service. The words are stored in journals
 * and must not change; the numbers may change with every build. Transitions
 * that are not in the table are rejected (doc/architecture.md, "Jobs";
 * doc/service-interface.md, "Source status").
 */
#ifndef DX_STATE_H
#define DX_STATE_H

#include <stdbool.h>

#include "lib/base/err.h"

/* name, word in the journal, true if final: nothing happens automatically */
#define DX_STATES(X)                                                        \
  X(STORED, "stored", false)         /* only in the spool */                \
  X(REGISTERED, "registered", false) /* the source exists, without files */ \
  X(UPLOADED, "uploaded", false)     /* every PUT succeeded */              \
  X(PROCESSING, "processing", false) /* the service is working on it */     \
  X(COMPLETE, "complete", false)     /* cases are known; results follow */  \
  X(EXTRACTED, "extracted", true)    /* all results and the manifest are in \
                                        the results directory */            \
  X(FAILED, "failed", true)          /* the service did not extract it */   \
  X(REFUSED, "refused", true)        /* never sent to the service */        \
  X(CANCELED, "canceled", true)      /* by a user */                        \
  X(EXPIRED, "expired", true)        /* KeepUnfinished has passed */

/* name, word for logs and the printed table */
#define DX_EVENTS(X)                                       \
  X(ACCEPTED, "source created")                            \
  X(PUT_ALL, "every file uploaded")                        \
  X(SEEN_PENDING, "source is pending_upload")              \
  X(SEEN_PROCESSING, "source is processing")               \
  X(SEEN_COMPLETE, "source is complete")                   \
  X(SEEN_FAILED, "source is failed")                       \
  X(PUT_AGAIN, "files missing for too long")               \
  X(REREGISTER, "URL or source is gone before the upload") \
  X(DELIVERED, "every result and the manifest delivered")  \
  X(FAIL, "given up")                                      \
  X(REFUSE, "document refused or missing")                 \
  X(CANCEL, "canceled by a user")                          \
  X(EXPIRE, "kept for too long")                           \
  X(RETRY, "asked to try again")                           \
  X(VERIFY, "asked to try again, after an upload")

enum dx_state {
#define X(name, word, final) DX_ST_##name,
  DX_STATES(X)
#undef X
      DX_ST_COUNT
};

enum dx_event {
#define X(name, word) DX_EV_##name,
  DX_EVENTS(X)
#undef X
      DX_EV_COUNT
};

const char *dx_state_word(enum dx_state state);
const char *dx_event_word(enum dx_event event);
enum dx_state dx_state_by_word(const char *word); /* DX_ST_COUNT: none */
bool dx_state_is_final(enum dx_state state);

/* True if no action is needed: extracted, canceled, expired. A failed or
 * refused submission needs a user. */
bool dx_state_is_settled(enum dx_state state);

/* True as soon as the service may have pages of it: the content of such a
 * submission never changes. */
bool dx_state_is_sent(enum dx_state state);

/*
 * The state after `event` in state `from`. E_STATE if the table does not list
 * it; *ret_to is unchanged then.
 */
enum dx_code dx_state_next(enum dx_state from, enum dx_event event,
                           enum dx_state *ret_to,
                           struct dx_err *err) DX_MUST_USE;

#endif
