/*
 * term.c - output to terminals: color, a line that is overwritten, a screen
 * that is redrawn. Also the only functions that print untrusted text.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "lib/base/utf8.h"

#define LINE_BYTES 4096

static bool is_line_open;   /* the cursor is after a line to overwrite */
static size_t line_columns; /* its width; it may take several rows */

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
  struct winsize size = {0};
  char text[LINE_BYTES];
  size_t rows = 0;
  va_list args;

  if (live && is_line_open) { /* to its first row */
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    if (size.ws_col > 0 && line_columns > 0)
      rows = (line_columns - 1) / size.ws_col;
    for (; rows > 0; rows--)
      (void)fputs("\r\033[K\033[A", stdout);
    (void)fputs("\r\033[K", stdout);
  }
  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  printf("%s%s", text, live ? "" : "\n");
  (void)fflush(stdout);
  is_line_open = live;
  line_columns = cli_count_columns(text);
}

void cli_line_end(void)
{
  if (is_line_open)
    (void)putchar('\n');
  (void)fflush(stdout);
  is_line_open = false;
}

/* Prints the first character of a text, if wanted; '?' for a hidden one.
 * Returns its length, and reduces *columns by its width, which is 1 if the C
 * library has no widths. 0 if it is wider than that. */
static size_t term_character(const char *text, bool is_wanted, size_t *columns)
{
  uint32_t c = 0;
  size_t len = dx_utf8_char(text, &c);
  bool is_hidden = len == 0 || dx_utf8_is_hidden(c);
  int width = is_hidden ? 1 : wcwidth((wchar_t)c);

  if (width < 0)
    width = 1;
  if ((size_t)width > *columns)
    return 0;
  *columns -= (size_t)width;
  if (is_wanted && is_hidden)
    (void)putchar('?');
  else if (is_wanted)
    (void)fwrite(text, len, 1, stdout);
  return len > 0 ? len : 1;
}

size_t cli_print_character(const char *text)
{
  size_t columns = SIZE_MAX;

  return term_character(text, true, &columns);
}

void cli_print_plain(const char *text, size_t columns)
{
  size_t len = 1;

  for (; *text != '\0' && len > 0; text += len)
    len = term_character(text, true, &columns);
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
  size_t left = SIZE_MAX;

  while (*text != '\0')
    text += term_character(text, false, &left);
  return SIZE_MAX - left;
}
