/*
 * filename.c - makes file names, independent of jobs.
 */
#include "lib/spool/filename.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/utf8.h"

/* Extensions of documents that are printed. Any other is part of the title:
 * "Dr. Smith" has none. */
static const char *const extensions[] = {
    ".pdf", ".jpg", ".jpeg", ".jpe",  ".png", ".gif",  ".tif",  ".tiff",
    ".bmp", ".svg", ".webp", ".ps",   ".eps", ".txt",  ".text", ".csv",
    ".log", ".md",  ".htm",  ".html", ".xml", ".rtf",  ".odt",  ".ods",
    ".odp", ".odg", ".doc",  ".docx", ".xls", ".xlsx", ".ppt",  ".pptx"};

/* The title with its characters made safe. */
static void copy_safe(const char *title, char *name, size_t size)
{
  dx_utf8_copy(name, size, title);
  dx_utf8_make_valid(name); /* '?' is not valid everywhere, either */
  for (; *name != '\0'; name++)
    if (*name == '/' || *name == '\\')
      *name = '-';
    else if (*name == '?')
      *name = ' ';
}

/* The length of the name's extension; 0 if it has none that is known. */
static size_t length_of_extension(const char *name, size_t len)
{
  size_t i;

  for (i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
    size_t size = strlen(extensions[i]);

    if (len >= size && strncasecmp(name + len - size, extensions[i], size) == 0)
      return size;
  }
  return 0;
}

/* Of a type that the service accepts; ".pdf" for any other. */
static const char *extension_of(const char *type)
{
  if (strcmp(type, DX_MIME_JPEG) == 0)
    return ".jpg";
  return strcmp(type, DX_MIME_PNG) == 0 ? ".png" : ".pdf";
}

bool dx_filename_is_real(const char *name)
{
  size_t len = strlen(name), extension = length_of_extension(name, len);

  return extension > 0 && len > extension;
}

void dx_filename_neutral(size_t number, const char *type,
                         char name[DX_NAME_BYTES])
{
  (void)snprintf(name, DX_NAME_BYTES, "document-%zu%s", number,
                 extension_of(type));
}

void dx_filename_from_title(const char *title, const char *type,
                            char name[DX_NAME_BYTES])
{
  const char *extension = extension_of(type);
  char safe[4 * DX_NAME_BYTES]; /* an extension may follow the cut */
  char *stem = safe;
  size_t cut, len;

  copy_safe(title, safe, sizeof(safe));
  len = strlen(safe);
  do { /* trailing blanks and extensions */
    while (len > 0 && safe[len - 1] == ' ')
      len--;
    cut = length_of_extension(safe, len);
    len -= cut;
  } while (cut > 0);
  safe[len] = '\0';
  while (*stem == ' ' || *stem == '.') /* no hidden files */
    stem++;
  dx_utf8_copy(name, DX_NAME_BYTES - strlen(extension),
               *stem != '\0' ? stem : "document");
  memcpy(name + strlen(name), extension, strlen(extension) + 1);
}
