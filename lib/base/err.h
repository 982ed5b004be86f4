/*
 * err.h - error codes and their classes.
 *
 * A function that can fail returns an enum dx_code and takes a struct dx_err as
 * its last argument. The code identifies the error; its class determines the
 * response: programs map classes, never codes, to exit statuses. The text can
 * be printed as it is, and never contains a title, a file name chosen by a
 * user, a token or a signed URL.
 *
 * Ownership: plain memory of the caller. Blocking: never.
 */
#ifndef DX_ERR_H
#define DX_ERR_H

#include "lib/base/words.h"

#define DX_ERR_TEXT_BYTES 480 /* with prefix below CUPS_MAX_MESSAGE (2047) */

#define DX_MUST_USE __attribute__((warn_unused_result))

/*
 * class, word: the response (doc/policy.md, "Classes").
 */
#define DX_CLASSES(X)                                                          \
  X(DX_CL_DONE, "done")           /* success */                                \
  X(DX_CL_NOT_YET, "not-yet")     /* poll again, by the schedule */            \
  X(DX_CL_TRANSIENT, "transient") /* retry with backoff, without limit */      \
  X(DX_CL_RATE, "rate")           /* pause the calls of this host */           \
  X(DX_CL_TOKEN, "token")         /* renew the token */                        \
  X(DX_CL_REFUSED, "refused")     /* final for this document or submission */  \
  X(DX_CL_CONFIG, "config")       /* an administrator must act; tried again */ \
  X(DX_CL_GONE, "gone")         /* the source or its URL is no longer there */ \
  X(DX_CL_LOCAL, "local")       /* this machine: disk, memory, descriptors */  \
  X(DX_CL_OVERDUE, "overdue")   /* the time limit has passed */                \
  X(DX_CL_STOPPED, "stopped")   /* the program was asked to stop */            \
  X(DX_CL_INTERNAL, "internal") /* a broken invariant */

enum dx_class { DX_CLASSES(DX_NAME_OF_ROW) DX_CL_COUNT };

/* code, class */
#define DX_CODES(X)                                                          \
  X(DX_OK, DX_CL_DONE)                /* success */                          \
  X(DX_E_ARG, DX_CL_INTERNAL)         /* invalid argument */                 \
  X(DX_E_STATE, DX_CL_INTERNAL)       /* event not possible in this state */ \
  X(DX_E_NOMEM, DX_CL_LOCAL)          /* out of memory */                    \
  X(DX_E_IO, DX_CL_LOCAL)             /* input or output failed */           \
  X(DX_E_UNSYNCED, DX_CL_LOCAL)       /* done, but perhaps not durable */    \
  X(DX_E_SPACE, DX_CL_LOCAL)          /* disk or quota is full */            \
  X(DX_E_ACCESS, DX_CL_LOCAL)         /* permission denied */                \
  X(DX_E_FDS, DX_CL_LOCAL)            /* too many open files */              \
  X(DX_E_BUSY, DX_CL_LOCAL)           /* held by another process */          \
  X(DX_E_NOT_FOUND, DX_CL_LOCAL)      /* not found */                        \
  X(DX_E_EXISTS, DX_CL_LOCAL)         /* exists already */                   \
  X(DX_E_DAMAGED, DX_CL_LOCAL)        /* damaged file */                     \
  X(DX_E_CONFIG, DX_CL_CONFIG)        /* invalid configuration */            \
  X(DX_E_CERT, DX_CL_CONFIG)          /* certificate not trusted */          \
  X(DX_E_PROXY, DX_CL_CONFIG)         /* proxy refused the connection */     \
  X(DX_E_PROTOCOL, DX_CL_CONFIG)      /* not the extraction service */       \
  X(DX_E_URL, DX_CL_CONFIG)           /* upload URL not permitted */         \
  X(DX_E_REJECTED, DX_CL_CONFIG)      /* not by what the document is */      \
  X(DX_E_KEY, DX_CL_TOKEN)            /* cannot get a token */               \
  X(DX_E_TOKEN, DX_CL_TOKEN)          /* token refused */                    \
  X(DX_E_NET, DX_CL_TRANSIENT)        /* no connection */                    \
  X(DX_E_RESPONSE, DX_CL_TRANSIENT)   /* response not understood */          \
  X(DX_E_SERVER, DX_CL_TRANSIENT)     /* server error */                     \
  X(DX_E_UNCLEAR, DX_CL_TRANSIENT)    /* outcome unknown */                  \
  X(DX_E_UNEXPECTED, DX_CL_TRANSIENT) /* unexpected response */              \
  X(DX_E_RATE, DX_CL_RATE)            /* too many calls */                   \
  X(DX_E_NOT_YET, DX_CL_NOT_YET)      /* not ready yet */                    \
  X(DX_E_NOT_SENT, DX_CL_NOT_YET)     /* not sent after all */               \
  X(DX_E_DOCUMENT, DX_CL_REFUSED)     /* document refused */                 \
  X(DX_E_MISSING, DX_CL_REFUSED)      /* documents are missing */            \
  X(DX_E_TOO_MANY, DX_CL_REFUSED)     /* too many documents in one job */    \
  X(DX_E_CHANGED, DX_CL_REFUSED)  /* document differs from what was sent */  \
  X(DX_E_TAKEN, DX_CL_REFUSED)    /* another file has its name */            \
  X(DX_E_BUNDLE, DX_CL_REFUSED)   /* bundle truncated or damaged */          \
  X(DX_E_RAW, DX_CL_REFUSED)      /* not written by the filter */            \
  X(DX_E_TOO_BIG, DX_CL_REFUSED)  /* too large for the service */            \
  X(DX_E_REFUSED, DX_CL_REFUSED)  /* refused by the service */               \
  X(DX_E_FAILED, DX_CL_REFUSED)   /* extraction failed */                    \
  X(DX_E_GONE, DX_CL_GONE)        /* no longer exists on the service */      \
  X(DX_E_EXPIRED, DX_CL_GONE)     /* the upload URL has expired */           \
  X(DX_E_OVERDUE, DX_CL_OVERDUE)  /* took longer than permitted */           \
  X(DX_E_CANCELED, DX_CL_REFUSED) /* canceled */                             \
  X(DX_E_DENIED, DX_CL_CONFIG)    /* not visible with the key in use */      \
  X(DX_E_JOB, DX_CL_REFUSED)      /* not possible with this job */           \
  X(DX_E_STOPPED, DX_CL_STOPPED)  /* stopped */

enum dx_code { DX_CODES(DX_NAME_OF_ROW) DX_CODE_COUNT };

struct dx_err {
  enum dx_code code;
  int sys_errno; /* 0 when no system call was involved */
  char text[DX_ERR_TEXT_BYTES];
};

/*
 * Fills *err (may be NULL) with a message and returns `code`, so that a caller
 * can write `return dx_fail(...)`. Longer texts are truncated after a whole
 * character.
 */
enum dx_code dx_fail(struct dx_err *err, enum dx_code code, int sys_errno,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * The same for a failed system call: "cannot STEP 'SUBJECT': strerror".
 * Picks the code from errno: E_SPACE, E_ACCESS, E_FDS, E_NOMEM, E_NOT_FOUND,
 * E_EXISTS, else E_IO.
 */
enum dx_code dx_fail_sys(struct dx_err *err, int sys_errno, const char *step,
                         const char *subject);

/* Appends advice to the message, unless it contains that already: "what failed;
 * advice". Returns its code. */
enum dx_code dx_fail_advice(struct dx_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "out of memory"; returns DX_E_NOMEM. */
enum dx_code dx_fail_nomem(struct dx_err *err);

/* The class of a code. Every code has exactly one. */
enum dx_class dx_class_of(enum dx_code code);

/* The words of codes ("E_SPACE", without prefix) and classes ("local"), which
 * must not change. Never NULL. */
const char *dx_code_name(enum dx_code code);
const char *dx_class_word(enum dx_class cls);

/* Finds a code by its name; DX_CODE_COUNT when there is none. */
enum dx_code dx_code_by_name(const char *name);

#endif
