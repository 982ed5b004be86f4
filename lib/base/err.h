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

#define DX_ERR_TEXT_BYTES 480 /* with prefix below CUPS_MAX_MESSAGE (2047) */

#define DX_MUST_USE __attribute__((warn_unused_result))

/*
 * class, word: the response (doc/policy.md, "Classes").
 */
#define DX_CLASSES(X)                                                        \
  X(DONE, "done")           /* success */                                    \
  X(NOT_YET, "not-yet")     /* poll again, by the schedule */                \
  X(TRANSIENT, "transient") /* retry with backoff, without limit */          \
  X(RATE, "rate")           /* pause the calls of this host */               \
  X(TOKEN, "token")         /* renew the token; three tries */               \
  X(REFUSED, "refused")     /* final for this document or submission */      \
  X(CONFIG, "config")       /* final for the queue: an administrator acts */ \
  X(GONE, "gone")           /* the source or its URL is no longer there */   \
  X(LOCAL, "local")         /* this machine: disk, memory, descriptors */    \
  X(OVERDUE, "overdue")     /* the time limit has passed */                  \
  X(STOPPED, "stopped")     /* the program was asked to stop */              \
  X(INTERNAL, "internal")   /* a broken invariant */

enum dx_class {
#define X(name, word) DX_CL_##name,
  DX_CLASSES(X)
#undef X
      DX_CL_COUNT
};

/* code, class */
#define DX_CODES(X)                                                    \
  X(OK, DONE)                /* success */                             \
  X(E_ARG, INTERNAL)         /* invalid argument */                    \
  X(E_STATE, INTERNAL)       /* event not possible in this state */    \
  X(E_NOMEM, LOCAL)          /* out of memory */                       \
  X(E_IO, LOCAL)             /* input or output failed */              \
  X(E_UNSYNCED, LOCAL)       /* done, but perhaps not durable */       \
  X(E_SPACE, LOCAL)          /* disk or quota is full */               \
  X(E_ACCESS, LOCAL)         /* permission denied */                   \
  X(E_FDS, LOCAL)            /* too many open files */                 \
  X(E_BUSY, LOCAL)           /* held by another process */             \
  X(E_NOT_FOUND, LOCAL)      /* not found */                           \
  X(E_EXISTS, LOCAL)         /* exists already */                      \
  X(E_DAMAGED, LOCAL)        /* damaged file */                        \
  X(E_CONFIG, CONFIG)        /* invalid configuration */               \
  X(E_CERT, CONFIG)          /* certificate not trusted */             \
  X(E_PROTOCOL, CONFIG)      /* not the extraction service */          \
  X(E_KEY, TOKEN)            /* cannot get a token */                  \
  X(E_TOKEN, TOKEN)          /* token refused */                       \
  X(E_NET, TRANSIENT)        /* no connection */                       \
  X(E_RESPONSE, TRANSIENT)   /* response not understood */             \
  X(E_SERVER, TRANSIENT)     /* server error */                        \
  X(E_CONFLICT, TRANSIENT)   /* conflict; the service is busy */       \
  X(E_UNCLEAR, TRANSIENT)    /* outcome unknown */                     \
  X(E_UNEXPECTED, TRANSIENT) /* unexpected response */                 \
  X(E_RATE, RATE)            /* too many calls */                      \
  X(E_NOT_YET, NOT_YET)      /* not ready yet */                       \
  X(E_NOT_SENT, NOT_YET)     /* not sent in time */                    \
  X(E_DOCUMENT, REFUSED)     /* document refused */                    \
  X(E_MISSING, REFUSED)      /* documents are missing */               \
  X(E_INCOMPLETE, REFUSED)   /* the last document did not arrive */    \
  X(E_TOO_MANY, REFUSED)     /* too many documents in one job */       \
  X(E_CHANGED, REFUSED)      /* document differs from what was sent */ \
  X(E_TAKEN, REFUSED)        /* another file has its name */           \
  X(E_BUNDLE, REFUSED)       /* bundle truncated or damaged */         \
  X(E_RAW, REFUSED)          /* not written by the filter */           \
  X(E_TOO_BIG, REFUSED)      /* too large for the service */           \
  X(E_REFUSED, REFUSED)      /* refused by the service */              \
  X(E_FAILED, REFUSED)       /* extraction failed */                   \
  X(E_GONE, GONE)            /* no longer exists on the service */     \
  X(E_EXPIRED, GONE)         /* the upload URL has expired */          \
  X(E_OVERDUE, OVERDUE)      /* took longer than permitted */          \
  X(E_CANCELED, REFUSED)     /* canceled */                            \
  X(E_DENIED, REFUSED)       /* not visible with the key in use */     \
  X(E_JOB, REFUSED)          /* not possible with this job */          \
  X(E_STOPPED, STOPPED)      /* stopped */

enum dx_code {
#define X(name, class) DX_##name,
  DX_CODES(X)
#undef X
      DX_CODE_COUNT
};

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

/* Appends advice to the message: "what failed; advice". Returns its code.
 */
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
