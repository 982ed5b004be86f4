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
#define DX_STATES(X)                                                          \
  X(DX_ST_STORED, "stored", false)         /* only in the spool */            \
  X(DX_ST_REGISTERED, "registered", false) /* a source without files */       \
  X(DX_ST_UPLOADED, "uploaded", false)     /* every PUT succeeded */          \
  X(DX_ST_PROCESSING, "processing", false) /* by the service */               \
  X(DX_ST_COMPLETE, "complete", false)     /* cases known; results follow */  \
  X(DX_ST_EXTRACTED, "extracted", true)    /* results and manifest are in     \
                                              the results directory */        \
  X(DX_ST_FAILED, "failed", true)          /* not extracted by the service */ \
  X(DX_ST_REFUSED, "refused", true)        /* never sent to the service */    \
  X(DX_ST_CANCELED, "canceled", true)      /* by a user */                    \
  X(DX_ST_EXPIRED, "expired", true)        /* KeepUnfinished has passed */

/* name, word for logs and the printed table */
#define DX_EVENTS(X)                                             \
  X(DX_EV_ACCEPTED, "source created")                            \
  X(DX_EV_PUT_ALL, "every file uploaded")                        \
  X(DX_EV_SEEN_PENDING, "source is pending_upload")              \
  X(DX_EV_SEEN_PROCESSING, "source is processing")               \
  X(DX_EV_SEEN_COMPLETE, "source is complete")                   \
  X(DX_EV_SEEN_FAILED, "source is failed")                       \
  X(DX_EV_PUT_AGAIN, "files missing for too long")               \
  X(DX_EV_REREGISTER, "URL or source is gone before the upload") \
  X(DX_EV_DELIVERED, "every result and the manifest delivered")  \
  X(DX_EV_FAIL, "given up")                                      \
  X(DX_EV_REFUSE, "document refused or missing")                 \
  X(DX_EV_CANCEL, "canceled by a user")                          \
  X(DX_EV_EXPIRE, "kept for too long")                           \
  X(DX_EV_RETRY, "asked to try again")                           \
  X(DX_EV_VERIFY, "asked to try again, after an upload")

enum dx_state { DX_STATES(DX_NAME_OF_ROW) DX_ST_COUNT };

enum dx_event { DX_EVENTS(DX_NAME_OF_ROW) DX_EV_COUNT };

const char *dx_state_word(enum dx_state state);
const char *dx_event_word(enum dx_event event);
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
