/*
 * log.h - what docextractd tells: lines on stderr, with journald's levels when
 * journald reads them. The only place of the daemon that prints.
 *
 * No titles, names, tokens or signed URLs, at any level.
 */
#ifndef DX_DAEMON_LOG_H
#define DX_DAEMON_LOG_H

#include <stdbool.h>

#include "lib/base/log.h"

/* Makes this the library's sink too. verbose: debug lines are printed. */
void log_start(bool verbose);
void log_line(enum dx_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
