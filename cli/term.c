/*
 * term.c - output to terminals: color, a line that is overwritten, a screen
 * that is redrawn. Also the only functions that print untrusted text.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "lib/base/utf8.h"

static bool is_line_open; /* the cursor is after a line to overwrite */

bool cli_is_live(void)
{
  const char *term = getenv("TERM");

  return isatty(STDOUT_FILENO) == 1 && term != NULL && term[0] != '\0' &&
         strcmp(term, "dumb") != 0;
}

void cli_print_word(const char *word, bool is_good)
{
  const char *no = getenv("NO_COLOR"); /* no-color.org: set, and not empty */
  bool has_color = cli_is_live() && (no == NULL || no[0] == '\0');

  printf("%s%s%s",
         !has_color ? ""
         : is_good  ? "\033[32m"
                    : "\033[31m",
         word, has_color ? "\033[0m" : "");
}

void cli_line(const char *format, ...)
{
  bool live = cli_is_live();
  va_list args;

  if (live)
    (void)fputs(is_line_open ? "\r\033[K" : "", stdout);
  va_start(args, format);
  (void)vprintf(format, args);
  va_end(args);
  (void)fputs(live ? "" : "\n", stdout);
  (void)fflush(stdout);
  is_line_open = live;
}

void cli_line_end(void)
{
  if (is_line_open)
    (void)putchar('\n');
  (void)fflush(stdout);
  is_line_open = false;
}

/* The length of the first character of a text, and its width on a terminal. It
 * is 1 for hidden ones, which are printed as '?', and if the C library has no
 * widths. */
static size_t term_measure(const char *text, size_t *ret_columns)
{
  uint32_t c = 0;
  size_t len = dx_utf8_char(text, &c);
  int columns = len == 0 || dx_utf8_is_hidden(c) ? 1 : wcwidth((wchar_t)c);

  *ret_columns = columns >= 0 ? (size_t)columns : 1;
  return len > 0 ? len : 1;
}

size_t cli_print_character(const char *text)
{
  uint32_t c;
  size_t len = dx_utf8_char(text, &c);

  if (len == 0 || dx_utf8_is_hidden(c))
    (void)putchar('?');
  else
    (void)fwrite(text, len, 1, stdout);
  return len > 0 ? len : 1;
}

void cli_print_plain(const char *text, size_t columns)
{
  size_t width;

  while (*text != '\0') {
    (void)term_measure(text, &width);
    if (width > columns)
      break;
    columns -= width;
    text += cli_print_character(text);
  }
}

void cli_print_bytes(const char *bytes, size_t len)
{
  const char *at = bytes, *end = bytes + len;

  if (isatty(STDOUT_FILENO) != 1) {
    (void)fwrite(bytes, len, 1, stdout);
    return;
  }
  while (at < end)
    if (*at == '\n' || *at == '\t') {
      (void)putchar(*at++);
    } else if (*at == '\0') {
      (void)putchar('?');
      at++;
    } else {
      at += cli_print_character(at);
    }
}

size_t cli_count_columns(const char *text)
{
  size_t count = 0, width;

  for (; *text != '\0'; count += width)
    text += term_measure(text, &width);
  return count;
}
