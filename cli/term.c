/*
 * term.c - output to terminals: color and widths. Also the only functions that
 * print untrusted text.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

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

size_t cli_count_columns(const char *text)
{
  size_t columns = 0, len;
  uint32_t c;
  int width;

  for (; *text != '\0'; text += len > 0 ? len : 1) {
    len = dx_utf8_char(text, &c);
    width = len == 0 || dx_utf8_is_hidden(c) ? 1 : wcwidth((wchar_t)c);
    columns += width >= 0 ? (size_t)width : 1; /* the C library has no width */
  }
  return columns;
}
