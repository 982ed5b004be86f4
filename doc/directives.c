/*
 * directives.c - prints the list of all directives for docextract.conf(5),
 * in mdoc, from the rows in lib/config/directives.def. Run while building only;
 * what a directive means is said in its row, not here.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/config/config.h"

#define LINE_CHARACTERS 78 /* mandoc complains of more than 80 */

/* Text of a row becomes lines of mdoc: nothing in it may be a macro, and a
 * sentence begins a line. */
static void print_text(const char *text)
{
  size_t column = 0;
  bool ended = false;

  while (*text != '\0') {
    size_t len = strcspn(text, " ");
    bool fresh = column == 0 || ended || column + 1 + len > LINE_CHARACTERS;

    if (fresh && column > 0)
      (void)putchar('\n');
    else if (!fresh)
      (void)putchar(' ');
    if (fresh && (*text == '.' || *text == '\''))
      (void)fputs("\\&", stdout);
    column = fresh ? len : column + 1 + len;
    ended = text[len - 1] == '.';
    for (; len > 0; len--, text++)
      (void)(*text == '\\' ? fputs("\\e", stdout) : putchar(*text));
    text += strspn(text, " ");
  }
  (void)putchar('\n');
}

static void print_words(const char *words)
{
  char text[256] = "Possible values: ";
  size_t used = strlen(text);

  while (*words != '\0' && used < sizeof(text)) {
    size_t len = strcspn(words, " ");
    bool last = words[len] == '\0' || words[len + 1] == '\0';

    used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s%s",
                             (int)len, words, last ? "." : ", ");
    words += len + (words[len] != '\0');
  }
  print_text(text);
}

static void print_directive(const struct dx_directive *d)
{
  printf(".It Ic %s Ar %s\n", d->name, d->type);
  print_text(d->help);
  if (d->words != NULL)
    print_words(d->words);
  if (d->fallback != NULL && d->least != NULL)
    printf("Default %s, range %s to %s.\n", d->fallback, d->least, d->most);
  else if (d->fallback != NULL)
    printf("Default %s.\n", d->fallback);
}

static void print_list(const char *title, bool in_general)
{
  const struct dx_directive *d;
  size_t i;

  printf(".Ss %s\n.Bl -tag -width Ds\n", title);
  for (i = 0; (d = dx_directive(i)) != NULL; i++)
    if (in_general ? d->in_general : d->in_service)
      print_directive(d);
  printf(".El\n");
}

int main(void)
{
  print_list("Global directives", true);
  print_list("Directives of a service", false);
  return fflush(stdout) == 0 ? 0 : 1;
}
