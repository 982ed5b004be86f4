/*
 * lines.c - the syntax of CUPS's configuration files, which is also that of
 * docextract.conf: cuts text into lines, and lines into names and values.
 *
 * cupsFileGetConf() of libcups reads the same (tests/unit/test_config.c
 * compares the two), but truncates long lines silently, and needs libcups, with
 * its twenty libraries, in every program.
 */
#include "lib/config/config_internal.h"

#include <string.h>

#define BLANKS " \t\n\v\f\r"

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

  if (hash != NULL && hash > line && hash[-1] == '\\') {
    memmove(hash - 1, hash, strlen(hash) + 1);
  } else if (hash != NULL) {
    *hash = '\0';
    cut_blanks(line);
  }
}

char *dx_config_next_line(char **text, int *line, char **ret_value)
{
  char *name, *end, *value;
  size_t len;

  do { /* a line ends with CR, LF, or both */
    if (**text == '\0')
      return NULL;
    ++*line;
    name = *text;
    end = name + strcspn(name, "\r\n");
    *text = end + (end[0] == '\r' && end[1] == '\n') + (end[0] != '\0');
    *end = '\0';
    cut_comment(name);
    name += strspn(name, BLANKS);
  } while (*name == '\0');
  end = name + strcspn(name, BLANKS);
  value = end + strspn(end, BLANKS);
  len = strlen(value);
  *end = '\0';
  *ret_value = NULL;
  if (len == 0 || (name[0] == '<' && value[len - 1] != '>'))
    return name;
  if (name[0] == '<') /* a section */
    value[len - 1] = '\0';
  cut_blanks(value);
  *ret_value = value;
  return name;
}
