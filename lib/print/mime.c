/*
 * mime.c - the signatures of the types.
 */
#include "lib/print/mime.h"

#include <stdbool.h>
#include <string.h>

struct mime_bytes {
  const char *at;
  size_t len;
};

static bool mime_begins(struct mime_bytes b, const char *signature, size_t len)
{
  return b.len >= len && memcmp(b.at, signature, len) == 0;
}

static bool mime_has_high_byte(struct mime_bytes b)
{
  size_t i;

  for (i = 0; i < b.len; i++)
    if ((unsigned char)b.at[i] >= 0x80)
      return true;
  return false;
}

/* Viewers accept the header anywhere in the first 1024 bytes. But a text may
 * quote one: behind anything but line ends, more of a PDF must follow. */
static bool mime_is_pdf(struct mime_bytes b)
{
  const char *header = memmem(b.at, b.len, "%PDF-", 5), *c;
  struct mime_bytes rest;

  if (header == NULL)
    return false;
  for (c = b.at; c < header; c++)
    if (strchr("\r\n\xEF\xBB\xBF", *c) == NULL)
      break;
  rest = (struct mime_bytes){header, b.len - (size_t)(header - b.at)};
  return c == header || memmem(rest.at, rest.len, " obj", 4) != NULL ||
         mime_has_high_byte(rest);
}

static bool mime_is_tiff(struct mime_bytes b)
{
  /* both byte orders, and the variant for large files */
  return mime_begins(b, "II*", 4) || mime_begins(b, "II+", 4) ||
         mime_begins(b, "MM\0*", 4) || mime_begins(b, "MM\0+", 4);
}

static bool mime_is_pnm(struct mime_bytes b)
{
  return b.len >= 3 && b.at[0] == 'P' && b.at[1] >= '1' && b.at[1] <= '6' &&
         strchr(" \t\r\n#", b.at[2]) != NULL;
}

/* PostScript and CUPS's banners are instructions to a printer, even where they
 * arrive as text. */
static bool mime_is_text(struct mime_bytes b)
{
  return b.len > 0 && memchr(b.at, '\0', b.len) == NULL &&
         !mime_begins(b, "%!", 2) && !mime_begins(b, "\004%!", 3) &&
         !mime_begins(b, "\033%-12345X", 9) &&
         !mime_begins(b, "#PDF-BANNER", 11) &&
         !mime_begins(b, "#CUPS-BANNER", 12);
}

const char *dx_mime_of_bytes(const void *bytes, size_t len)
{
  struct mime_bytes b = {bytes,
                         len < DX_MIME_LOOK_BYTES ? len : DX_MIME_LOOK_BYTES};

  if (mime_begins(b, "\xFF\xD8\xFF", 3))
    return DX_MIME_JPEG;
  if (mime_begins(b, "\x89PNG\r\n\x1A\n", 8))
    return DX_MIME_PNG;
  if (mime_is_tiff(b))
    return DX_MIME_TIFF;
  if (mime_begins(b, "GIF87a", 6) || mime_begins(b, "GIF89a", 6))
    return DX_MIME_GIF;
  if (mime_is_pdf(b))
    return DX_MIME_PDF;
  if (mime_is_pnm(b))
    return DX_MIME_PNM;
  return mime_is_text(b) ? DX_MIME_TEXT : NULL;
}
