/*
 * mime.c - the signatures of the types.
 */
#include "lib/print/mime.h"

#include <stdbool.h>
#include <string.h>

/* The first bytes of types other than text and PDF. */
static const struct {
  const char *type;
  const char *bytes;
  size_t len;
} signatures[] = {{DX_MIME_JPEG, "\xFF\xD8\xFF", 3},
                  {DX_MIME_PNG, "\x89PNG\r\n\x1A\n", 8},
#define X(name, type, bytes) {type, bytes, sizeof(bytes) - 1},
                  DX_MIME_PICTURES(X)
#undef X
};

/* Viewers accept the header anywhere in the first 1024 bytes. But a text may
 * quote one: if anything but line ends is before it, more of a PDF must follow.
 */
static bool mime_is_pdf(const char *bytes, size_t len)
{
  const char *header = memmem(bytes, len, "%PDF-", 5), *c;
  size_t rest;

  if (header == NULL)
    return false;
  for (c = bytes; c < header; c++)
    if (strchr("\r\n\xEF\xBB\xBF", *c) == NULL)
      break;
  rest = len - (size_t)(header - bytes);
  if (c == header || memmem(header, rest, " obj", 4) != NULL)
    return true;
  for (; rest > 0; rest--)
    if ((unsigned char)header[rest - 1] >= 0x80)
      return true;
  return false;
}

/* PostScript and CUPS's banners are not text, but instructions to a printer. */
static bool mime_is_text(const char *bytes, size_t len)
{
  static const char *const others[] = {"%!", "\004%!", "\033%-12345X",
                                       "#PDF-BANNER", "#CUPS-BANNER"};
  size_t i;

  for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    if (len >= strlen(others[i]) &&
        memcmp(bytes, others[i], strlen(others[i])) == 0)
      return false;
  return len > 0 && memchr(bytes, '\0', len) == NULL;
}

const char *dx_mime_of_bytes(const void *from, size_t len)
{
  const char *bytes = from;
  size_t i;

  if (len > DX_MIME_LOOK_BYTES)
    len = DX_MIME_LOOK_BYTES;
  for (i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
    if (signatures[i].len > 0 && len >= signatures[i].len &&
        memcmp(bytes, signatures[i].bytes, signatures[i].len) == 0)
      return signatures[i].type;
  if (mime_is_pdf(bytes, len))
    return DX_MIME_PDF;
  if (len >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
      strchr(" \t\r\n#", bytes[2]) != NULL)
    return DX_MIME_PNM;
  return mime_is_text(bytes, len) ? DX_MIME_TEXT : NULL;
}
