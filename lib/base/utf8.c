/*
 * utf8.c - the well-formed byte sequences of RFC 3629.
 */
#include "lib/base/utf8.h"

#include <string.h>

size_t dx_utf8_char(const char *text, uint32_t *ret_char)
{
  static const struct {
    unsigned char mask, lead;
    uint32_t least;
  } forms[] = {{0x80, 0, 1},
               {0xE0, 0xC0, 0x80},
               {0xF0, 0xE0, 0x800},
               {0xF8, 0xF0, 0x10000}};
  const unsigned char *bytes = (const unsigned char *)text;
  size_t follow = 0, i;
  uint32_t c;

  while (follow < 4 && (bytes[0] & forms[follow].mask) != forms[follow].lead)
    follow++;
  if (follow == 4)
    return 0;
  c = bytes[0] & ~forms[follow].mask & 0xFFu;
  for (i = 1; i <= follow; i++) {
    if ((bytes[i] & 0xC0) != 0x80)
      return 0;
    c = c << 6 | (bytes[i] & 0x3F);
  }
  if (c < forms[follow].least || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
    return 0;
  if (ret_char != NULL)
    *ret_char = c;
  return follow + 1;
}

static bool is_control(uint32_t character)
{
  return character < 0x20 || (character >= 0x7F && character <= 0x9F);
}

bool dx_utf8_is_hidden(uint32_t character)
{
  static const struct {
    uint32_t first, last;
  } hidden[] = {
      {0xAD, 0xAD},       {0x61C, 0x61C},     {0x180E, 0x180E},
      {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
      {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0x1BCA0, 0x1BCA3},
      {0x1D173, 0x1D17A}, {0xE0000, 0xE007F},
  };
  size_t i;

  for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
    if (character >= hidden[i].first && character <= hidden[i].last)
      return true;
  return is_control(character);
}

/* In place: a character is never shorter than a '?'. */
static void replace(char *text, bool (*is_unwanted)(uint32_t character))
{
  const char *from = text;

  while (*from != '\0') {
    uint32_t c = 0;
    size_t len = dx_utf8_char(from, &c);

    if (len == 0 || is_unwanted(c)) {
      *text++ = '?';
    } else {
      memmove(text, from, len);
      text += len;
    }
    from += len > 0 ? len : 1;
  }
  *text = '\0';
}

void dx_utf8_make_plain(char *text)
{
  replace(text, dx_utf8_is_hidden);
}

void dx_utf8_make_valid(char *text)
{
  replace(text, is_control);
}

bool dx_utf8_is_plain(const char *text)
{
  uint32_t c;
  size_t len;

  while (*text != '\0') {
    len = dx_utf8_char(text, &c);
    if (len == 0 || is_control(c))
      return false;
    text += len;
  }
  return true;
}

void dx_utf8_copy(char *to, size_t size, const char *text)
{
  size_t len = strlen(text);

  if (len >= size)
    for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80;)
      len--;
  memcpy(to, text, len);
  to[len] = '\0';
}
