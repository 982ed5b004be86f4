/*
 * lines.c - cuts text into lines, and lines into names and values.
 */
#include "lib/config/lines.h"

#include <string.h>

#define BLANKS " \t\n\v\f\r"

/* Cuts off the line that *text begins with, whose end is CR, LF, or both, and
 * moves on to the next; NULL if there is none. */
static char *cut_line(char **text)
{
  char *line = *text;
  char *end = line + strcspn(line, "\r\n");

  if (*line == '\0')
    return NULL;
  *text = end + (end[0] == '\r' && end[1] == '\n') + (end[0] != '\0');
  *end = '\0';
  return line;
}

static void cut_blanks(char *text)
{
  size_t len = strlen(text);

  while (len > 0 && strchr(BLANKS, text[len - 1]) != NULL)
    text[--len] = '\0';
}

/* Only the first '#' is special: it begins a comment, or is the character
 * itself if it is written as "\#". */
static void cut_comment(char *line)
{
  char *hash = strchr(line, '#');

  if (hash == NULL)
    return;
  if (hash > line && hash[-1] == '\\') {
    memmove(hash - 1, hash, strlen(hash) + 1);
    return;
  }
  *hash = '\0';
  cut_blanks(line);
}

/* Cuts the value off its name, and the '>' off the value of a section, where it
 * is required; NULL if there is no value. */
static char *cut_value(char *name)
{
  char *end = name + strcspn(name, BLANKS);
  char *value = end + strspn(end, BLANKS);
  size_t len = strlen(value);

  *end = '\0';
  if (len == 0 || (name[0] == '<' && value[len - 1] != '>'))
    return NULL;
  if (name[0] == '<')
    value[len - 1] = '\0';
  cut_blanks(value);
  return value;
}

char *dx_config_next_line(char **text, int *line, char **ret_value)
{
  char *name;

  while ((name = cut_line(text)) != NULL) {
    ++*line;
    cut_comment(name);
    name += strspn(name, BLANKS);
    if (*name == '\0')
      continue;
    *ret_value = cut_value(name);
    return name;
  }
  return NULL;
}
