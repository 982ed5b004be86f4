/*
 * channel.h - docextractd's control socket: the protocol between docextractd
 * and a backend or the command, and both ends of the connection. Requests to
 * the status socket (status.h) have the same form.
 *
 * SpoolDir/docextractd.sock, a Unix stream socket of the spool's owner, 0600.
 * Lines of at most DX_CHANNEL_LINE_BYTES with the newline, UTF-8 without
 * control characters: a verb, words of printable ASCII, and, if the tables
 * below specify it, a text, which is the rest of the line and may be empty;
 * separated by one blank. docextractd first sends a greeting or `error`. Then
 * the client sends a verb within DX_CHANNEL_FIRST_MS, and both continue until
 * either closes. A line that is not in the tables ends the connection.
 *
 * Ownership: the caller owns struct dx_channel; dx_channel_close() may be
 * called at any time, also for DX_CHANNEL_NONE. Blocking: only
 * dx_channel_open() and dx_channel_await(), at most for their timeouts. No
 * signal is raised.
 */
#ifndef DX_CHANNEL_H
#define DX_CHANNEL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

#define DX_CHANNEL_VERSION 2
#define DX_CHANNEL_NAME "docextractd.sock" /* in SpoolDir */
#define DX_CHANNEL_LINE_BYTES 2048         /* with the newline */
#define DX_CHANNEL_WORDS 8

#define DX_NOT_RUNNING "docextractd is not running"

/* What a client sends: verb, its word, number of words after it, has a text.
 * KEY: of the job. RUN: names the receipt. */
#define DX_CLIENT_VERBS(X)                                                   \
  X(DX_VERB_ATTEND, "attend", 2, false) /* KEY RUN: follow the job */        \
  /* Every DX_ALIVE_MS, from a backend, and to all clients that attend. A */ \
  /* backend that is silent for DX_SILENT_MS is disconnected. */             \
  X(DX_VERB_ALIVE, "alive", 0, false)                                        \
  X(DX_VERB_LEAVE, "leave", 0, false) /* backend exits, job continues */     \
  /* After SIGTERM, at once: nothing more is sent */                         \
  X(DX_VERB_STOPPING, "stopping", 0, false)                                  \
  X(DX_VERB_ENDED, "ended", 1, false)   /* ANSWER: of cupsd after SIGTERM */ \
  X(DX_VERB_HELLO, "hello", 0, true)    /* SERVICE: test it */               \
  X(DX_VERB_RETRY, "retry", 1, true)    /* KEY [SERVICE] */                  \
  X(DX_VERB_CANCEL, "cancel", 1, false) /* KEY */                            \
  X(DX_VERB_PURGE, "purge", 1, false)   /* KEY */                            \
  X(DX_VERB_SEEN, "seen", 0, false)     /* acknowledges failures */

/* What docextractd sends. CODE: dx_code_name(). */
#define DX_SERVER_VERBS(X)                                                     \
  X(DX_VERB_NOTE, "note", 6, true)                                             \
  /* KIND CODE HERE DONE TOTAL AGE_MS TEXT */                                  \
  /* PROTOCOL VERSION, and what another version adds */                        \
  X(DX_VERB_GREETING, "docextractd", 2, true)                                  \
  X(DX_VERB_LEFT, "left", 0, false) /* `leave` is durable */                   \
  X(DX_VERB_GONE, "gone", 0, false) /* `ended` is durable, or superseded */    \
  /* N M: jobs of this queue that failed after their print jobs had ended, */  \
  /* and that need a decision */                                               \
  X(DX_VERB_FAILURES, "failures", 2, false)                                    \
  X(DX_VERB_SENTENCE, "sentence", 0, true) /* for the user who printed */      \
  /* CODE TEXT: the outcome, for the administrator; OK: extracted. After */    \
  /* `leave`: of a document that has failed; the others go on */               \
  X(DX_VERB_END, "end", 1, true)                                               \
  /* ok|FAILED NAME: a step of hello; a result may follow two blanks */        \
  X(DX_VERB_STEP, "step", 1, true)                                             \
  X(DX_VERB_LINE, "line", 0, true) /* for stdout */                            \
  X(DX_VERB_WARN, "warn", 0, true) /* for stderr */                            \
  X(DX_VERB_SLOW, "slow", 0, true) /* the same, if the next line takes long */ \
  X(DX_VERB_DONE, "done", 0, true) /* the request succeeded */                 \
  X(DX_VERB_ERROR, "error", 1, true) /* CODE TEXT: it failed */

/* The requests of the status socket. */
#define DX_STATUS_VERBS(X)                                      \
  X(DX_VERB_JOBS, "jobs", 0, true)   /* [all] */                \
  X(DX_VERB_SHOW, "show", 2, false)  /* KEY NAME of a result */ \
  X(DX_VERB_WATCH, "watch", 0, true) /* [SINCE] */              \
  X(DX_VERB_METRICS, "metrics", 0, false)

/* Those of clients come before DX_VERB_NOTE (docextractd also sends `alive`),
 * and those of the status socket from DX_VERB_JOBS on. */
enum dx_verb {
  DX_CLIENT_VERBS(DX_NAME_OF_ROW) DX_SERVER_VERBS(DX_NAME_OF_ROW)
      DX_STATUS_VERBS(DX_NAME_OF_ROW) DX_VERB_COUNT
};

/* A line. words and text point into `line`: never copy the struct. */
struct dx_message {
  enum dx_verb verb;
  char *words[DX_CHANNEL_WORDS]; /* without the verb */
  size_t count;                  /* of words, as the table says */
  const char *text;              /* "" when there is none */
  char line[DX_CHANNEL_LINE_BYTES];
};

/* Parses a line of `len` bytes, without newline. E_ARG: not in the tables. */
enum dx_code dx_message_parse(const char *line, size_t len,
                              struct dx_message *ret_message,
                              struct dx_err *err) DX_MUST_USE;

/* Parses word i as a decimal number, "-" allowed. False if it is not one. */
bool dx_message_number(const struct dx_message *message, size_t i,
                       int64_t *ret_number);

/* The code and text of END or ERROR, into *err; E_RESPONSE if the code is
 * unknown. */
enum dx_code dx_message_outcome(const struct dx_message *message,
                                struct dx_err *err);

/* `docextract report` looks for these in a LINE of hello. */
#define DX_HELLO_CLOCK "the clock of this computer is "
#define DX_HELLO_NO_RESULTS "warning: results cannot be written"

/* ---- notes ---- */

/* Progress notes of the engine about a job; kind, word. */
#define DX_NOTES(X)                                                          \
  X(DX_NOTE_UPLOADING, "uploading") /* done of total bytes, all documents */ \
  X(DX_NOTE_WAITING, "waiting")     /* for the extraction; since_ms */       \
  X(DX_NOTE_OVERDUE, "overdue")     /* ProcessingLimit has passed */         \
  X(DX_NOTE_DOWN, "down") /* the service is unreachable; since_ms, text */   \
  X(DX_NOTE_UP, "up")     /* it is reachable again */                        \
  X(DX_NOTE_UNEXPECTED, "unexpected") /* an invalid response; text */        \
  X(DX_NOTE_PAUSED, "paused")         /* rate limit of the service */        \
  X(DX_NOTE_TOKEN, "token") /* refused or not available; text; retried */    \
  X(DX_NOTE_ADMIN, "admin") /* an administrator must act; text; retried */   \
  X(DX_NOTE_LOCAL, "local") /* a failure here; text; retried each minute */  \
  X(DX_NOTE_LOCAL_OVER, "local-over")

enum dx_note_kind { DX_NOTES(DX_NAME_OF_ROW) DX_NOTE_COUNT };

struct dx_note {
  enum dx_note_kind kind;
  int64_t done, total;
  int64_t since_ms;  /* monotonic; 0: unknown */
  enum dx_code code; /* of the failure; DX_OK when there is none */
  const char *text;  /* its text, for the administrator; "" */
};

/* Formats the line `note`, without its newline. here: not all documents have
 * been uploaded. The text is borrowed. */
void dx_note_format(const struct dx_note *note, bool here,
                    char line[DX_CHANNEL_LINE_BYTES]);

/* Parses a message with the verb NOTE; the text belongs to the message.
 * E_RESPONSE. */
enum dx_code dx_note_parse(const struct dx_message *message,
                           struct dx_note *ret_note, bool *ret_here,
                           struct dx_err *err) DX_MUST_USE;

/* ---- one end of a connection ---- */

struct dx_channel {
  int fd; /* nonblocking; -1: none */
  char in[DX_CHANNEL_LINE_BYTES];
  size_t in_len;
  struct dx_buf out; /* not sent yet */
};
/* An end with a nonblocking descriptor, which it then owns. */
#define DX_CHANNEL_OF(descriptor) \
  {                               \
    .fd = (descriptor)            \
  }
#define DX_CHANNEL_NONE DX_CHANNEL_OF(-1)

/*
 * Connects to docextractd and reads its greeting, within
 * DX_CHANNEL_GREETING_MS. spool_dir is for messages. E_NOT_FOUND: docextractd
 * is not listening. E_BUSY: no greeting, because it is exiting; try again.
 * E_STATE: version mismatch; the text names both versions. E_ACCESS; or the
 * error that docextractd returned.
 */
enum dx_code dx_channel_open(int spool_dirfd, const char *spool_dir,
                             struct dx_channel *ret_channel,
                             struct dx_err *err) DX_MUST_USE;
void dx_channel_close(struct dx_channel *channel);

/* True if the other end has sent something that was not received yet, or has
 * disconnected. */
bool dx_channel_has_unread(const struct dx_channel *channel);

/* True while data is unsent: `fd` must be polled for writing, too. */
bool dx_channel_is_behind(const struct dx_channel *channel);

/*
 * Sends a line, given without its newline: "attend %s %s". A long line is
 * truncated; control characters and invalid bytes are replaced with '?'. Bytes
 * that the socket does not accept are sent by later calls. If the other end has
 * closed, only dx_channel_read() reports it, after the lines that it sent.
 * E_NET: it is DX_CHANNEL_BACKLOG_BYTES behind; E_NOMEM.
 */
enum dx_code dx_channel_send(struct dx_channel *channel, struct dx_err *err,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum dx_code dx_channel_send_list(struct dx_channel *channel,
                                  struct dx_err *err, const char *format,
                                  va_list args)
    __attribute__((format(printf, 3, 0)));
/* Sends unsent bytes, without blocking. */
void dx_channel_flush(struct dx_channel *channel);

/*
 * Reads the next line. E_NOT_YET: none is complete; E_NET: the connection was
 * closed or lost; E_RESPONSE: not in the tables. When the descriptor can be
 * read, call it until E_NOT_YET.
 */
enum dx_code dx_channel_read(struct dx_channel *channel,
                             struct dx_message *ret_message,
                             struct dx_err *err) DX_MUST_USE;
/* The same, but waits for a line until the timeout; -1: forever. */
enum dx_code dx_channel_await(struct dx_channel *channel, int timeout_ms,
                              struct dx_message *ret_message,
                              struct dx_err *err) DX_MUST_USE;

/* The address of a socket: by the descriptor of its directory, because the path
 * may be longer than an address; or by its path, if that is AT_FDCWD. */
struct sockaddr_un;
void dx_channel_address(int dirfd, const char *name,
                        struct sockaddr_un *ret_address);

#endif
