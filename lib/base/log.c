/*
 * log.c - formats a line and passes it to the sink.
 */
#include "lib/base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/utf8.h"

static dx_log_sink *current_sink;

void dx_log_to(dx_log_sink *sink)
{
  current_sink = sink;
}

void dx_log(enum dx_log_level level, const char *format, ...)
{
  char line[DX_LOG_LINE_BYTES];
  va_list args;

  if (current_sink == NULL)
    return;
  va_start(args, format);
  (void)vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  dx_utf8_make_plain(line);
  current_sink(level, line);
}
