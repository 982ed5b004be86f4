/*
 * policy.h - the constants of doc/policy.md, "Numbers", that several modules or
 * their tests use; the others are in the files that use them. Values that the
 * administrator can change are rows in lib/config/directives.def.
 */
#ifndef DX_POLICY_H
#define DX_POLICY_H

/* Waits between tries: U(.5,1) * min(60 s, 2^n s); doc/policy.md, "Classes". */
#define DX_BACKOFF_FIRST_MS 1000
#define DX_BACKOFF_MAX_MS 60000
#define DX_DOWN_AFTER_TRIES 3         /* in a row: the service counts as down */
#define DX_RETRY_AFTER_MAX_MS 3600000 /* longer ones are reduced to it */

/* Tokens (doc/policy.md, "Tokens", "Classes"). */
#define DX_TOKEN_COMMAND_S 10
#define DX_TOKEN_MAX_BYTES 65536
#define DX_CLOCK_SKEW_S 30 /* above: sign with the server's time */

/* HTTP (doc/policy.md, "Timeouts"). */
#define DX_CONNECT_TIMEOUT_MS 10000
#define DX_API_TIMEOUT_MS 60000
#define DX_RESPONSE_MAX_BYTES 1048576     /* status responses */
#define DX_RESULTS_MAX_BYTES 4294967296LL /* of one job */

/* What is waited for: the source, then its cases. */
enum dx_phase { DX_PHASE_SOURCE, DX_PHASE_EXTRACT, DX_PHASE_COUNT };

/* Retry interval of a job that waits for the administrator (doc/policy.md,
 * "Classes"). */
#define DX_ADMIN_RETRY_MS 600000

/* Local errors (doc/policy.md, "Classes"). */
#define DX_LOCAL_RETRY_MS 60000

/* The filters and the backend of a print job are started together. */
#define DX_SEAL_WAIT_MS 60000

/* Limits for one document (doc/policy.md, "Documents"). */
#ifndef DX_PARSE_CPU_S    /* tests build with a short one */
#define DX_PARSE_CPU_S 25 /* of each filter, plus 1 s */
#endif
#define DX_PARSE_CPU_BYTES 262144            /* per this many of the document */
#define DX_PARSE_FILE_BYTES 1073741824LL     /* that it writes, plus */
#define DX_PARSE_FILE_FACTOR 16              /* this many times its size */
#define DX_PROGRAM_MEMORY_BYTES 2147483648LL /* of a program that converts */
#define DX_PAGES_MAX 1000000                 /* of one document */
#define DX_FILTER_LIMIT_MS 900000            /* without a configuration */

/* Large documents. Measured with 512 MiB: smaller buffers cause more context
 * switches, larger ones exceed the processor's cache. */
#define DX_STREAM_BYTES 262144 /* read at once */
#define DX_PIPE_BYTES 1048576  /* the limit of Linux without privileges */

/* Jobs. */
#define DX_DOCUMENTS_MAX 1000         /* entries of one bundle */
#define DX_PRINT_JOBS_MAX 100         /* of one job */
#define DX_CASES_MAX 10000            /* of one source; more are invalid */
#define DX_JOURNAL_MAX_BYTES 33554432 /* half of it for cases */
#define DX_TEMP_MIN_MS 600000         /* not written to: abandoned */
#define DX_SWEEP_GAP_MS 3600000       /* between two sweeps of one spool */
#define DX_TURN_MS 50                 /* of work before calls are handled */
#define DX_ASK_CUPSD_MS 1000          /* a print job's state; cupsd is local */
#define DX_ASK_AGAIN_MS 1000          /* the print job is held, or no answer */
/* Until cupsd is asked again about a print job that no backend attends; doubles
 * up to the maximum. */
#define DX_WATCH_FIRST_MS 1000
#define DX_WATCH_MAX_MS 60000

/* The status socket (doc/policy.md, "Status socket"). */
#define DX_STATUS_REQUEST_MS 10000   /* for the whole request to arrive */
#define DX_STATUS_REPLY_MS 30000     /* for a client to take some bytes */
#define DX_STATUS_RECENT_MS 86400000 /* `jobs`: finished within this time */

/* The control socket (doc/architecture.md, "The control socket"). */
#define DX_CHANNEL_BACKLOG_BYTES 262144 /* not read by the other end */
#define DX_CHANNEL_FIRST_MS 10000       /* from there to the first line */
#define DX_ALIVE_MS 5000                /* between two `alive` */
#define DX_SILENT_MS 12000              /* a backend that says nothing hangs */
#define DX_CONTROL_CLIENTS_MAX 2048     /* one for each print job under way */

/* OnResult (doc/policy.md, "Results"). */
#define DX_ON_RESULT_S 60           /* for one run */
#define DX_ON_RESULT_TERM_MS 5000   /* from SIGTERM to SIGKILL */
#define DX_ON_RESULT_FIRST_MS 10000 /* before the second run, doubling */
#define DX_ON_RESULT_MAX_MS 3600000 /* between two runs, at most */
#define DX_ON_RESULT_SAID_BYTES 200 /* of its standard error, the last ones */

#endif
