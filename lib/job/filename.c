/*
 * name.c - file names; knows nothing of jobs.
 */
#include "lib/job/filename.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/utf8.h"

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

/* The length of the type's ending that the name has; 0 if it has none. */
static size_t length_of_ending(const char *name, size_t len)
{
  size_t i;

  for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
    size_t size = strlen(endings[i]);

    if (len >= size && strncasecmp(name + len - size, endings[i], size) == 0)
      return size;
  }
  return 0;
}

/* The length without blanks at the end and without the endings of types. */
static size_t length_of_stem(const char *name, size_t len)
{
  size_t ending;

  do {
    while (len > 0 && name[len - 1] == ' ')
      len--;
    ending = length_of_ending(name, len);
    len -= ending;
  } while (ending > 0);
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

const char *dx_filename_extension(const char *type)
{
  if (strcmp(type, "image/jpeg") == 0)
    return ".jpg";
  return strcmp(type, "image/png") == 0 ? ".png" : ".pdf";
}

bool dx_filename_is_real(const char *name)
{
  size_t len = strlen(name), ending = length_of_ending(name, len);

  return ending > 0 && len > ending;
}

void dx_filename_neutral(size_t number, const char *type,
                         char name[DX_NAME_BYTES])
{
  (void)snprintf(name, DX_NAME_BYTES, "document-%zu%s", number,
                 dx_filename_extension(type));
}

void dx_filename_from_title(const char *title, const char *type,
                            char name[DX_NAME_BYTES])
{
  const char *extension = dx_filename_extension(type);
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
