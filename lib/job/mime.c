/*
 * mime.c - the signatures of the types.
 */
#include "lib/job/mime.h"

#include <string.h>

const char *dx_mime_of_bytes(const void *bytes, size_t len)
{
  if (len > DX_MIME_LOOK_BYTES)
    len = DX_MIME_LOOK_BYTES;
  if (len >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0)
    return DX_MIME_JPEG;
  if (len >= 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0)
    return DX_MIME_PNG;
  /* Both byte orders, and the variant for large files. */
  if (len >= 4 &&
      (memcmp(bytes, "II*", 4) == 0 || memcmp(bytes, "II+", 4) == 0 ||
       memcmp(bytes, "MM\0*", 4) == 0 || memcmp(bytes, "MM\0+", 4) == 0))
    return DX_MIME_TIFF;
  /* PDF viewers accept the header anywhere in the first 1024 bytes. */
  if (memmem(bytes, len, "%PDF-", 5) != NULL)
    return DX_MIME_PDF;
  return NULL;
}
