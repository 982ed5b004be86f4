/*
 * program.c - what looks like the name of a program, and where pictures have
 * it.
 */
#include "filter/program.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "filter/exif.h"

#define TAG_SOFTWARE 305

/* ---- names ---- */

/* The length of a trademark or copyright sign in UTF-8; 0: none is there. */
static size_t program_sign(const char *text, size_t len)
{
  static const char *const signs[] = {"\xC2\xAE", "\xC2\xA9", "\xE2\x84\xA2"};
  size_t i;

  for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
    if (len >= strlen(signs[i]) &&
        memcmp(text, signs[i], strlen(signs[i])) == 0)
      return strlen(signs[i]);
  return 0;
}

/* Also counts the numbers of the word so far, and the digits of the last and of
 * the longest one. */
struct program_word {
  int numbers, digits, longest;
};

static bool program_takes(struct program_word *word, char c)
{
  if (isdigit((unsigned char)c)) {
    word->numbers += word->digits == 0;
    word->digits++;
    if (word->longest < word->digits)
      word->longest = word->digits;
  } else {
    word->digits = 0;
  }
  return word->longest < (word->numbers > 1 ? 4 : 5) && (c & 0x80) == 0 &&
         (isalnum((unsigned char)c) || (c != '\0' && strchr(".+-_/&()", c)));
}

void program_name(const char *text, size_t len, char name[DX_PROGRAM_BYTES])
{
  struct program_word word = {0};
  size_t i = 0, used = 0, whole = 0; /* whole: with complete words only */

  while (i < len && used < DX_PROGRAM_BYTES - 1) {
    size_t sign = program_sign(text + i, len - i);

    i += sign;
    if (sign > 0)
      continue;
    if (text[i] == '\0')
      break;
    if (text[i] == ' ' && used > 0) {
      whole = used;
      word = (struct program_word){0};
      if (name[used - 1] != ' ')
        name[used++] = ' ';
    } else if (program_takes(&word, text[i]) &&
               (used > 0 || isalpha((unsigned char)text[i]))) {
      name[used++] = text[i];
    } else {
      break;
    }
    i++;
  }
  if (i == len || text[i] == ' ' || text[i] == '\0')
    whole = used;
  while (whole > 0 && name[whole - 1] == ' ')
    whole--;
  name[whole] = '\0';
}

/* ---- pictures ---- */

/* Also the format of the Exif data of a JPEG. */
static void program_of_tiff(const unsigned char *bytes, size_t len, char *name)
{
  bool big = len > 0 && bytes[0] == 'M';
  const unsigned char *row = exif_find(bytes, len, exif_directory(bytes, len),
                                       TAG_SOFTWARE, EXIF_ASCII);
  size_t count, from;

  if (row == NULL)
    return;
  count = exif_number(row + 4, 4, big);
  from = count <= 4 ? (size_t)(row + 8 - bytes) : exif_number(row + 8, 4, big);
  if (from <= len && count <= len - from)
    program_name((const char *)bytes + from, count, name);
}

static void program_of_jpeg(const unsigned char *bytes, size_t len, char *name)
{
  size_t at = 2;

  while (at + 4 <= len && bytes[at] == 0xFF && bytes[at + 1] != 0xDA) {
    size_t size = exif_number(bytes + at + 2, 2, true);

    if (size < 2 || size > len - at - 2)
      return;
    if (bytes[at + 1] == 0xE1 && size >= 16 &&
        memcmp(bytes + at + 4, "Exif\0", 6) == 0) {
      program_of_tiff(bytes + at + 10, size - 8, name);
      return;
    }
    at += 2 + size;
  }
}

static void program_of_png(const unsigned char *bytes, size_t len, char *name)
{
  static const char key[] = "tEXtSoftware"; /* and NUL */
  size_t at = 8;

  while (at + 12 <= len) {
    size_t size = exif_number(bytes + at, 4, true);

    if (size > len - at - 12)
      return;
    if (size >= sizeof(key) - 4 &&
        memcmp(bytes + at + 4, key, sizeof(key)) == 0) {
      program_name((const char *)bytes + at + 4 + sizeof(key),
                   size - (sizeof(key) - 4), name);
      return;
    }
    at += 12 + size;
  }
}

void program_of_picture(const unsigned char *bytes, size_t len,
                        char name[DX_PROGRAM_BYTES])
{
  name[0] = '\0';
  if (len < 8)
    return;
  if (memcmp(bytes, "II", 2) == 0 || memcmp(bytes, "MM", 2) == 0)
    program_of_tiff(bytes, len, name);
  else if (memcmp(bytes, "\xFF\xD8", 2) == 0)
    program_of_jpeg(bytes, len, name);
  else if (memcmp(bytes, "\x89PNG", 4) == 0)
    program_of_png(bytes, len, name);
}
