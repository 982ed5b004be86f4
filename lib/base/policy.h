/*
 * policy.h - all constants that the administrator cannot change, with units and
 * reasons. Those that they can change are rows in config.c.
 */
#ifndef DX_POLICY_H
#define DX_POLICY_H

/* Waits between tries: U(.5,1) * min(60 s, 2^n s); doc/policy.md, "Classes". */
#define DX_BACKOFF_FIRST_MS 1000
#define DX_BACKOFF_MAX_MS 60000
#define DX_DOWN_AFTER_TRIES 5 /* in a row: the service counts as down */
#define DX_DOWN_FIRST_MS 5000 /* doubling */
#define DX_DOWN_MAX_MS 300000
#define DX_RETRY_AFTER_MAX_MS 3600000 /* longer ones are reduced to it */

/* Tokens (doc/policy.md, "Tokens", "Classes"). */
#define DX_TOKEN_TRIES 3
#define DX_TOKEN_TRY_2_MS 5000    /* after the first refusal */
#define DX_TOKEN_TRY_3_MS 25000   /* after the second: 30 s in all */
#define DX_TOKEN_IAT_BACK_S 60    /* clocks differ */
#define DX_TOKEN_RENEW_PERCENT 80 /* of its life */
#define DX_TOKEN_COMMAND_S 10
#define DX_TOKEN_LIFE_MS 300000 /* if the token does not specify it */
#define DX_TOKEN_MAX_BYTES 65536
#define DX_CLOCK_SKEW_S 30        /* above: sign with the server's time */
#define DX_CLOCK_SKEW_MAX_S 86400 /* above: ignore the server's time */

/* Registering and uploading (doc/policy.md, "Exactly once", "Uploads"). */
#define DX_LOST_CREATES_MAX 3 /* orphans a submission may leave */
#define DX_START_OVER_MAX 3   /* after status "failed" */
#define DX_START_OVER_1_MS 5000
#define DX_START_OVER_2_MS 30000
#define DX_START_OVER_3_MS 120000
#define DX_REREGISTRATIONS_MAX 3    /* sources whose URL expired */
#define DX_REREGISTER_GAP_MS 60000  /* between the two GETs, and after a PUT */
#define DX_REREGISTER_WAIT_MS 30000 /* between registrations */
#define DX_REFUSED_PUT_TRIES 3      /* then a refusal is final */
#define DX_REFUSED_PUT_GAP_MS 10000
#define DX_CONFLICT_TRIES 3       /* 409, 423 on POST */
#define DX_STUCK_MS 600000        /* all PUT, still pending: PUT again once */
#define DX_URL_LIFETIME_MS 900000 /* if the URL does not specify it */
#define DX_URL_MARGIN_MS 30000    /* no PUT begins with less time left */
#define DX_FILES_LATE_MS 60000    /* a counter of files may lag */
#define DX_GONE_WAIT_MS 60000     /* a new source or case may appear late */
#define DX_PUT_PROGRESS_BYTES 1048576 /* after sending more: n = 0 */

/* HTTP (doc/policy.md, "Timeouts"). */
#define DX_CONNECT_TIMEOUT_MS 10000
#define DX_API_TIMEOUT_MS 60000
#define DX_STALL_S 30
#define DX_RESPONSE_MAX_BYTES 1048576    /* status responses */
#define DX_HEADERS_MAX_BYTES 262144      /* of one response, interim ones too */
#define DX_RESULT_MAX_BYTES 1073741824LL /* the maximum of MaxResultSize */
#define DX_RESULTS_MAX_BYTES 4294967296LL /* of one job */
#define DX_SHOW_MAX_BYTES 8388608         /* of a result shown as a table */
#define DX_UPLOAD_BUFFER_BYTES 65536L
#define DX_UPLOAD_STEP_BYTES 65536 /* at least, within DX_API_TIMEOUT_MS */
#define DX_URL_MAX_BYTES 8192      /* of a signed URL */
#define DX_PUTS_AT_ONCE 4          /* uploads of one process */

/* doc/policy.md, "Rate limit". */
#define DX_RATE_CALLS 9        /* at most, in any DX_RATE_WINDOW_MS */
#define DX_RATE_WINDOW_MS 1005 /* a second, because clocks are rounded */
#define DX_RATE_ARRIVE_MS 100  /* time that a call takes, at most */
#define DX_RATE_LATE_MS 100    /* calls after a late one catch up */
/* After refused calls (429): found by simulation, tests/bench/hosts.c. */
#define DX_RATE_CUT 0.7         /* of the rate remains */
#define DX_RATE_CUT_GAP_MS 1000 /* between two cuts */
#define DX_RATE_GROWTH 0.1      /* per second, each second */
#define DX_RATE_MIN 0.05        /* per second */
#define DX_CALLS_AT_ONCE 16     /* to one host; 8 a second, 2 s each */

/* When to poll (doc/policy.md, "Poll schedule"). Found by simulation with
 * lognormal times, tests/bench/lag.c. M: their median, SPREAD: the standard
 * deviation of their logarithm. */
/* What is waited for: the source, then its cases. */
enum dx_phase { DX_PHASE_SOURCE, DX_PHASE_EXTRACT, DX_PHASE_COUNT };
#define DX_POLL_TIMES 200           /* remembered of each phase */
#define DX_POLL_KNOWN_FROM 5        /* times; fewer are not used */
#define DX_POLL_FIRST_MS 2000       /* few documents are done earlier */
#define DX_POLL_FIRST_SPREADS 1.33  /* below the median; a tenth is earlier */
#define DX_POLL_STEP_PART 0.18      /* of M, times the root of SPREAD */
#define DX_POLL_STEP_MIN_MS 1000    /* all jobs share the rate limit */
#define DX_POLL_STEP_MAX_MS 20000   /* a user is waiting */
#define DX_POLL_JITTER 0.05         /* of the step: jobs do not poll together */
#define DX_POLL_OVERDUE_SPREADS 1.5 /* above M, whose prediction was bad */
#define DX_POLL_GROWTH 1.25         /* of the step, when overdue or M unknown */
#define DX_POLL_MAX_MS 60000        /* to which the step grows */
#define DX_POLL_BLIND_MAX_MS 15000  /* M unknown: at first to this only, */
#define DX_POLL_BLIND_MS 300000     /* for this long: most are done by then */
#define DX_POLL_BLIND_JITTER 0.1    /* of the step, which is a guess */
/* Predicting M and SPREAD from the last "not yet" and the first "done" of other
 * documents. */
#define DX_POLL_NARROW 1.6     /* done/not yet: up to this, use the middle */
#define DX_POLL_EARLIER 0.5    /* of the first poll, if that found it done */
#define DX_POLL_HALF_LIFE 14.0 /* in times: services change their speed */
#define DX_POLL_SPREAD 0.6     /* while little has been seen */
#define DX_POLL_SPREAD_MIN 0.1 /* times are known only to one step */
#define DX_POLL_SPREAD_MAX 1.0 /* more: it changed, or there are two */
#define DX_POLL_SPREAD_OF_MAD 1.4826 /* by the median deviation */
#define DX_POLL_LINE_FROM 10         /* times with pages, for a line */
#define DX_POLL_LINE_PART 0.9        /* of the spread, at most, with the line */
#define DX_POLL_PAGES_MAX 99999
#define DX_POLL_MEDIAN_MAX_MS 86400000 /* a file with more is damaged */

/* Retry interval of a job that waits for the administrator (doc/policy.md,
 * "Classes"). */
#define DX_ADMIN_RETRY_MS 600000
#define DX_OVERDUE_POLL_MS 3600000

/* Local errors (doc/policy.md, "Print jobs"). */
#define DX_LOCAL_RETRY_MS 60000
#define DX_PROBE_BYTES 65536
#define DX_PROBE_FREE_BYTES (64LL * 1024 * 1024)

/* A print job (doc/policy.md, "Print jobs"). */
#ifndef DX_TOGGLE_MS         /* tests build with a short one */
#define DX_TOGGLE_MS 1500000 /* 25 min; MaxJobTime may be 30 */
#endif
#ifndef DX_SILENCE_MS       /* tests build with a short one */
#define DX_SILENCE_MS 60000 /* nothing on stdin, beyond the filter's time */
#endif

/* The filters and the backend of a print job are started together. */
#define DX_SEAL_WAIT_MS 60000

/* Limits for one document (doc/policy.md, "Documents"). */
#define DX_PARSE_MEMORY_BYTES 469762048LL /* plus this many times its size, */
#define DX_PARSE_MEMORY_FACTOR 16
#define DX_PARSE_MEMORY_MAX_BYTES 2147483648LL /* but no more */
#ifndef DX_PARSE_CPU_S    /* tests build with a short one */
#define DX_PARSE_CPU_S 25 /* of each filter, plus 1 s */
#endif
#define DX_PARSE_CPU_BYTES 1048576       /* per this many of the document */
#define DX_CONTENT_BYTES 1073741824LL    /* unpacked, on all pages, plus */
#define DX_CONTENT_FACTOR 256            /* this many times its size */
#define DX_PARSE_FILE_BYTES 1073741824LL /* that it writes, plus */
#define DX_PARSE_FILE_FACTOR 16          /* this many times its size */
#define DX_PAGES_MAX 1000000             /* of one document */
#define DX_FILTER_LIMIT_MS 900000        /* without a configuration */
#define DX_FILTER_SPARE_MS                          \
  60000 /* beyond FilterTimeLimit, for all the rest \
         */

/* Large documents. Measured with 512 MiB: smaller buffers cause more context
 * switches, larger ones exceed the processor's cache. */
#define DX_STREAM_BYTES 262144     /* read at once */
#define DX_PIPE_BYTES 1048576      /* the limit of Linux without privileges */
#define DX_WRITEBACK_BYTES 8388608 /* passed to the disk at once */

/* Jobs. */
#define DX_DOCUMENTS_MAX 1000 /* entries of one bundle */
#define DX_PRINT_JOBS_MAX 100 /* of one job */
#define DX_CASES_MAX 10000    /* of one source; more are invalid */
#define DX_JOURNAL_MAX_BYTES 16777216
#define DX_JOURNAL_LATE_MS 1000   /* to collect changes that need no fsync */
#define DX_HISTORY_LATE_MS 1000   /* the same for counters */
#define DX_INCOMING_MIN_MS 60000  /* age at which the sweep removes it */
#define DX_TEMP_MIN_MS 600000     /* not written to: abandoned */
#define DX_SWEEP_GAP_MS 3600000   /* between two sweeps of one spool */
#define DX_SWEEP_JUMP_MS 86400000 /* more: clock jump, or host was off */
#define DX_SWEEP_MS 2000          /* of one sweep, at most */
#define DX_RECEIPTS_LOOK_MS 30000 /* between two scans of received/ */
#define DX_TURN_MS 50             /* of work before calls are handled */
#define DX_ASK_CUPSD_MS 1000      /* a print job's state; cupsd is local */
#define DX_ASK_AGAIN_MS 1000      /* the print job is held, or no answer */
#define DX_MAY_MS 1000            /* for a backend to answer whether to send */
#define DX_ALIVE_MS 5000          /* between two lines to each attendant */
#ifndef DX_ALIVE_LIMIT_MS         /* tests build with a short one */
#define DX_ALIVE_LIMIT_MS 30000   /* without any line: docextractd hangs */
#endif
/* Until cupsd is asked again about a print job that no backend attends; doubles
 * up to the maximum. */
#define DX_WATCH_FIRST_MS 1000
#define DX_WATCH_MAX_MS 60000
/* Print jobs that CUPS has not received completely. */
#ifndef DX_TRANSFER_LOOK_MS        /* tests build with a short one */
#define DX_TRANSFER_LOOK_MS 60000  /* between two lists of print jobs */
#define DX_TRANSFER_STALL_MS 60000 /* without a further document */
#endif
#define DX_TRANSFER_STALE_MS 300000 /* not seen: docextractd does not run */
#ifndef DX_IDLE_MS                  /* tests build with a short one */
#define DX_IDLE_MS 600000 /* until docextractd, started on demand, exits */
#endif
#define DX_QUEUE_LOOK_MS 2000 /* for another print job; until `leave` again */

/* The status socket (doc/policy.md, "Status socket"). */
#define DX_STATUS_CLIENTS_MAX 256     /* connections, of all users, */
#define DX_STATUS_USER_CLIENTS_MAX 16 /* and of one that is not root */
#define DX_STATUS_REQUEST_MS 10000    /* for the whole request to arrive */
#define DX_STATUS_REPLY_MS 30000      /* for a client to take some bytes */
#define DX_STATUS_BACKLOG_BYTES \
  262144                             /* not yet read by a client that watches */
#define DX_STATUS_RECENT_MS 86400000 /* `jobs`: finished within this time */

/* The control socket (doc/architecture.md, "The control socket"). */
#define DX_CHANNEL_BACKLOG_BYTES 262144 /* not read by the other end */
#define DX_CHANNEL_GREETING_MS 5000     /* to connect, and be greeted */
#define DX_CHANNEL_FIRST_MS 10000       /* from there to the first line */
#define DX_CONTROL_CLIENTS_MAX 2048     /* one for each print job under way */
#define DX_START_MS 5000                /* to start docextractd on demand */

/* OnResult (doc/policy.md, "Results"). */
#define DX_ON_RESULT_S 60            /* for one run */
#define DX_ON_RESULT_TERM_MS 5000    /* from SIGTERM to SIGKILL */
#define DX_ON_RESULT_FIRST_MS 10000  /* before the second run, doubling */
#define DX_ON_RESULT_MAX_MS 900000   /* between two runs, at most */
#define DX_ON_RESULT_FOR_MS 86400000 /* no run starts later */

#endif
