/*
 * name.c - file names from titles; knows nothing of jobs.
 */
#include "filter/name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "lib/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* What people print from. An ending that is not here is part of the title:
 * "Dr. Smith" ends in none. */
static const char *const endings[] = {
    ".pdf", ".jpg", ".jpeg", ".jpe",  ".png", ".gif",  ".tif",  ".tiff",
    ".bmp", ".svg", ".webp", ".ps",   ".eps", ".txt",  ".text", ".csv",
    ".log", ".md",  ".htm",  ".html", ".xml", ".rtf",  ".odt",  ".ods",
    ".odp", ".odg", ".doc",  ".docx", ".xls", ".xlsx", ".ppt",  ".pptx"};

/* Adds what fits whole. */
static void add(char *name, size_t *len, size_t room, const char *bytes,
                size_t count)
{
  if (*len + count > room)
    return;
  memcpy(name + *len, bytes, count);
  *len += count;
}

/* The title with its characters made safe, at most `room` bytes. */
static size_t copy_safe(const char *title, char *name, size_t room)
{
  size_t len = 0;
  uint32_t c;

  while (*title != '\0' && len < room) {
    size_t count = dx_utf8_char(title, &c);

    if (count == 0)
      add(name, &len, room, REPLACEMENT, sizeof(REPLACEMENT) - 1);
    else if (c == '/' || c == '\\')
      add(name, &len, room, "-", 1);
    else if (dx_utf8_is_control(c))
      add(name, &len, room, " ", 1);
    else
      add(name, &len, room, title, count);
    title += count > 0 ? count : 1;
  }
  return len;
}

/* The length without blanks at the end and without the endings of types. */
static size_t length_of_stem(const char *name, size_t len)
{
  bool again = true;
  size_t i;

  while (again) {
    again = false;
    while (len > 0 && name[len - 1] == ' ')
      len--;
    for (i = 0; i < sizeof(endings) / sizeof(endings[0]) && !again; i++) {
      size_t size = strlen(endings[i]);

      again =
          len >= size && strncasecmp(name + len - size, endings[i], size) == 0;
      if (again)
        len -= size;
    }
  }
  return len;
}

/* Cuts to at most `room` bytes, at a character. */
static size_t cut(const char *name, size_t len, size_t room)
{
  if (len <= room)
    return len;
  while (room > 0 && ((unsigned char)name[room] & 0xC0) == 0x80)
    room--;
  return room;
}

void name_from_title(const char *title, const char *extension,
                     char name[DX_NAME_BYTES])
{
  char safe[4 * DX_NAME_BYTES]; /* an ending may stand behind the cut */
  const char *stem = safe;
  size_t len = copy_safe(title, safe, sizeof(safe));

  len = length_of_stem(safe, len);
  while (len > 0 && (*stem == ' ' || *stem == '.')) { /* no hidden files */
    stem++;
    len--;
  }
  len = cut(stem, len, DX_NAME_BYTES - 1 - strlen(extension));
  if (len == 0) {
    stem = "document";
    len = strlen(stem);
  }
  memcpy(name, stem, len);
  memcpy(name + len, extension, strlen(extension) + 1);
}
