/* exif.c - see exif.h. */
#include "filter/exif.h"

#include <string.h>

#define ROW_BYTES 12
#define TAG_ORIENTATION 0x0112

static bool exif_is_big(const unsigned char *exif)
{
  return exif[0] == 'M';
}

uint32_t exif_number(const unsigned char *p, size_t size, bool big_endian)
{
  uint32_t number = 0;
  size_t i;

  for (i = 0; i < size; i++)
    number = number << 8 | p[big_endian ? i : size - 1 - i];
  return number;
}

uint64_t exif_directory(const unsigned char *exif, size_t len)
{
  if (len < 8 ||
      (memcmp(exif, "MM\0*", 4) != 0 && memcmp(exif, "II*\0", 4) != 0))
    return 0;
  return exif_number(exif + 4, 4, exif_is_big(exif));
}

const unsigned char *exif_find(const unsigned char *exif, size_t len,
                               uint64_t at, uint32_t tag, unsigned types)
{
  uint32_t count, type;
  bool big;

  if (at == 0 || len < 2 || at > len - 2)
    return NULL;
  big = exif_is_big(exif);
  count = exif_number(exif + at, 2, big);
  for (at += 2; count > 0 && len - at >= ROW_BYTES; count--, at += ROW_BYTES) {
    type = exif_number(exif + at + 2, 2, big);
    if (exif_number(exif + at, 2, big) == tag && type < 32 &&
        (types & 1U << type) != 0)
      return exif + at;
  }
  return NULL;
}

uint32_t exif_value(const unsigned char *exif, size_t len, uint64_t at,
                    uint32_t tag)
{
  const unsigned char *row =
      exif_find(exif, len, at, tag, EXIF_SHORT | EXIF_LONG);
  bool is_short, big;

  if (row == NULL)
    return 0;
  big = exif_is_big(exif);
  is_short = 1U << exif_number(row + 2, 2, big) == EXIF_SHORT;
  return exif_number(row + 8, is_short ? 2 : 4, big);
}

int exif_clean(const unsigned char *exif, size_t len,
               unsigned char ret_exif[EXIF_CLEAN_BYTES])
{
  static const char clean[EXIF_CLEAN_BYTES] =
      "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x01";
  uint32_t orientation =
      exif_value(exif, len, exif_directory(exif, len), TAG_ORIENTATION);

  memcpy(ret_exif, clean, sizeof(clean));
  if (orientation < 1 || orientation > 8)
    return 1;
  ret_exif[19] = (unsigned char)orientation;
  return (int)orientation;
}
