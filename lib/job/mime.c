/*
 * kind.c - the first bytes of the three types, and nothing else of them.
 */
#include "lib/job/mime.h"

#include <string.h>

const char *dx_mime_of_bytes(const void *bytes, size_t len)
{
  if (len > DX_MIME_LOOK_BYTES)
    len = DX_MIME_LOOK_BYTES;
  if (len >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0)
    return "image/jpeg";
  if (len >= 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0)
    return "image/png";
  /* Readers of PDF agree on "anywhere in the first 1024 bytes". */
  if (memmem(bytes, len, "%PDF-", 5) != NULL)
    return "application/pdf";
  return NULL;
}
