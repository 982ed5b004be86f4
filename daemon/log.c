/*
 * log.c - lines on stderr, with levels for journald.
 */
#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

static bool is_verbose, is_journal;

static void print_line(enum dx_log_level level, const char *line)
{
  static const char *const levels[] = {SD_DEBUG, SD_INFO, SD_WARNING, SD_ERR};

  if (level == DX_LOG_DEBUG && !is_verbose)
    return;
  fprintf(stderr, "%s%s\n", is_journal ? levels[level] : "", line);
}

void log_start(bool verbose)
{
  is_verbose = verbose;
  is_journal = getenv("JOURNAL_STREAM") != NULL;
  (void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
  dx_log_to(print_line);
}

void log_line(enum dx_log_level level, const char *format, ...)
{
  char line[1024];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  print_line(level, line);
}
