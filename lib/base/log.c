/*
 * log.c - formats a line and hands it to the sink; knows no destination.
 */
#include "lib/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static dx_log_sink *current_sink;

void dx_log_to(dx_log_sink *sink)
{
  current_sink = sink;
}

void dx_log(enum dx_log_level level, const char *format, ...)
{
  char line[1024];
  char *p;
  va_list args;

  if (current_sink == NULL)
    return;
  va_start(args, format);
  (void)vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  for (p = line; *p != '\0'; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f)
      *p = '?';
  current_sink(level, line);
}
