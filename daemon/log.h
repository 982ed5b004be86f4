/*
 * log.h - the log of docextractd: lines on stderr, with journald's levels if
 * journald reads them. Nothing else in the daemon prints.
 *
 * No titles, names, tokens or signed URLs, at any level.
 */
#ifndef DX_DAEMON_LOG_H
#define DX_DAEMON_LOG_H

#include <stdbool.h>

#include "lib/base/log.h"

/* Makes this the library's log too. verbose: prints debug lines. */
void log_start(bool verbose);
void log_line(enum dx_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
