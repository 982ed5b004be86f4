/*
 * term.c - output to terminals: color and widths. Also the only functions that
 * print untrusted text.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "lib/base/nearest.h"
#include "lib/base/utf8.h"

void cli_print_word(const char *word, bool is_good)
{
  const char *term = getenv("TERM");
  const char *no = getenv("NO_COLOR"); /* no-color.org: set, and not empty */
  bool has_color = isatty(STDOUT_FILENO) == 1 && term != NULL &&
                   term[0] != '\0' && strcmp(term, "dumb") != 0 &&
                   (no == NULL || no[0] == '\0');

  printf("%s%s%s",
         !has_color ? ""
         : is_good  ? "\033[32m"
                    : "\033[31m",
         word, has_color ? "\033[0m" : "");
}

size_t cli_print_character(const char *text)
{
  uint32_t c = 0;
  size_t len = dx_utf8_char(text, &c);

  if (len == 0 || dx_utf8_is_hidden(c))
    (void)putchar('?');
  else
    (void)fwrite(text, len, 1, stdout);
  return len > 0 ? len : 1;
}

void cli_print_plain(const char *text)
{
  while (*text != '\0')
    text += cli_print_character(text);
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

/* Of the first character; *ret_len: its bytes. */
static size_t term_columns(const char *text, size_t *ret_len)
{
  uint32_t c = 0;
  size_t len = dx_utf8_char(text, &c);
  int width = len == 0 || dx_utf8_is_hidden(c) ? 1 : wcwidth((wchar_t)c);

  *ret_len = len > 0 ? len : 1;
  return width >= 0 ? (size_t)width : 1; /* the C library has no width */
}

size_t cli_count_columns(const char *text)
{
  size_t columns = 0, len;

  for (; *text != '\0'; text += len)
    columns += term_columns(text, &len);
  return columns;
}

size_t cli_fitting_bytes(const char *text, size_t columns)
{
  size_t bytes = 0, used = 0, len;

  if (cli_count_columns(text) <= columns)
    return strlen(text);
  while ((used += term_columns(text + bytes, &len)) < columns)
    bytes += len;
  return bytes;
}

void cli_print_line(const char *text)
{
  size_t bytes = strlen(text), at = 0;
  struct winsize size;

  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    bytes = cli_fitting_bytes(text, size.ws_col);
  while (at < bytes)
    at += cli_print_character(text + at);
  printf("%s\n", text[bytes] != '\0' ? "\u2026" : "");
}

int cli_print_unknown(const char *what, const struct dx_nearest *nearest)
{
  int column =
      fprintf(stderr, "docextract: unknown %s '%s'", what, nearest->word);

  if (nearest->found == NULL)
    return column;
  fprintf(stderr, "; did you mean '%s'?\n", nearest->found);
  return 0;
}
