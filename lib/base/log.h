/*
 * log.h - the only way for the library to report what it does.
 *
 * lib/ never prints; it passes a line to the sink that the program set.
 * Permitted content: method, host, path with ids, status, times, sizes. Never:
 * tokens, query strings, bodies, titles, names of people or files
 * (doc/policy.md, "Logs").
 *
 * Threads: one thread. Blocking: as long as the sink.
 */
#ifndef DX_LOG_H
#define DX_LOG_H

enum dx_log_level { DX_LOG_DEBUG, DX_LOG_INFO, DX_LOG_WARNING, DX_LOG_ERROR };

typedef void dx_log_sink(enum dx_log_level level, const char *line);

/* Sets the sink; NULL, the initial state, discards every line. */
void dx_log_to(dx_log_sink *sink);

/* One line, without a newline. Control characters become '?'. A line about a
 * job is logged with dx_job_log() or dx_submission_log(), which name it. */
#define DX_LOG_LINE_BYTES 1024
void dx_log(enum dx_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
