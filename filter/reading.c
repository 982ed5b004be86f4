/*
 * reading.c - the encodings of the C library, Windows-1252 and UTF-16, and the
 * commands for printers.
 */
#include "filter/reading.h"

#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "filter/windows1252.h"

#define DC1 0x11
#define DC3 0x13
#define SUB 0x1A
#define ESC 0x1B
#define FS 0x1C
#define DEL 0x7F
#define LRO 0x202D
#define RLO 0x202E
#define NO_ICONV ((iconv_t)(intptr_t)-1)

static const char *const words[] = {DX_TEXT_ENCODINGS(DX_WORD_OF_ROW)};
static iconv_t utf8_iconv = NO_ICONV, selected_iconv = NO_ICONV;
static enum dx_text_encoding selected; /* AUTO: no selected_iconv */

bool reading_open(enum dx_text_encoding encoding)
{
  static const char *const names[] = {DX_TEXT_ENCODINGS(DX_TEXT_OF_ROW)};

  if (utf8_iconv == NO_ICONV)
    utf8_iconv = iconv_open("WCHAR_T", "UTF-8");
  if (selected_iconv != NO_ICONV)
    (void)iconv_close(selected_iconv);
  selected_iconv = NO_ICONV;
  selected = encoding;
  if (encoding != DX_TEXT_AUTO)
    selected_iconv = iconv_open("WCHAR_T", names[encoding]);
  return utf8_iconv != NO_ICONV &&
         (encoding == DX_TEXT_AUTO || selected_iconv != NO_ICONV);
}

/* ---- encodings: after the first error, nothing is read ---- */

static bool read_by_iconv(iconv_t from, const char *bytes, size_t len,
                          wchar_t *chars, size_t *ret_count)
{
  char *at = (char *)(uintptr_t)bytes, *to = (char *)chars;
  size_t room = len * sizeof(*chars);

  (void)iconv(from, NULL, NULL, NULL, NULL);
  (void)iconv(from, &at, &len, &to, &room);
  *ret_count = (size_t)(to - (char *)chars) / sizeof(*chars);
  return len == 0;
}

static bool is_high(unsigned unit) /* the first half of a pair */
{
  return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(unsigned unit)
{
  return unit >= 0xDC00 && unit < 0xE000;
}

static bool read_utf16(const unsigned char *bytes, size_t len, wchar_t *chars,
                       size_t *ret_count)
{
  size_t high = bytes[0] == 0xFE ? 0 : 1, i;
  unsigned unit, lead = 0;

  for (*ret_count = 0, i = 2; i + 1 < len; i += 2) {
    unit = bytes[i + high] * 256u + bytes[i + 1 - high];
    if (unit == 0 || is_low(unit) != (lead != 0))
      return false;
    if (!is_high(unit))
      chars[(*ret_count)++] =
          (wchar_t)(lead == 0
                        ? unit
                        : 0x10000 + (lead - 0xD800) * 0x400 + (unit - 0xDC00));
    lead = is_high(unit) ? unit : 0;
  }
  return i == len && lead == 0;
}

static void read_windows1252(const unsigned char *bytes, size_t len,
                             wchar_t *chars)
{
  static const uint16_t windows[] = {
      0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
      0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
      0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
      0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
  size_t i;

  for (i = 0; i < len; i++)
    chars[i] = bytes[i] >= 0x80 && bytes[i] < 0xA0 ? windows[bytes[i] - 0x80]
                                                   : bytes[i];
}

/* What is valid in the encoding, but not a character of a text: a surrogate, a
 * noncharacter, such as a byte order mark of the other order, or a control
 * character, which another encoding has letters for. */
static bool read_characters(const wchar_t *chars, size_t *count,
                            bool is_unicode)
{
  size_t i;

  for (i = 0; i < *count; i++)
    if (chars[i] >= 0x80 &&
        ((chars[i] < 0xA0 && (chars[i] != 0x85 || !is_unicode)) ||
         (chars[i] >= 0xD800 && chars[i] < 0xE000) ||
         (chars[i] >= 0xFDD0 && chars[i] < 0xFDF0) ||
         (chars[i] & 0xFFFE) == 0xFFFE || chars[i] > 0x10FFFF)) {
      *count = i;
      return false;
    }
  return true;
}

/* Text that has characters of UTF-8, and is valid in it, is not in another
 * encoding, although its bytes are often valid there: 5 µg would be 5 ┬Ág in
 * CP850. Then *ret_count is where the first of these characters is. */
static bool is_unselected_utf8(const char *bytes, size_t len, wchar_t *chars,
                               size_t *ret_count)
{
  if (selected == DX_TEXT_AUTO || selected == DX_TEXT_UTF_8 ||
      !read_by_iconv(utf8_iconv, bytes, len, chars, ret_count) ||
      *ret_count == len || chars[0] == 0xFEFF)
    return false;
  for (*ret_count = 0; chars[*ret_count] < 0x80;)
    ++*ret_count;
  return true;
}

/* Returns NULL, or the name of the encoding in which the text is not valid; ""
 * if none is selected. A byte order mark has precedence over a selection. */
static const char *read_encoded(const char *bytes, size_t len, wchar_t *chars,
                                size_t *count)
{
  const unsigned char *b = (const unsigned char *)bytes;
  bool is_marked = len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0, valid;
  bool is_utf8 =
      is_marked || selected == DX_TEXT_AUTO || selected == DX_TEXT_UTF_8;
  const char *name = is_utf8 ? "UTF-8" : words[selected];

  if (dx_text_is_utf16(bytes, len)) {
    name = "UTF-16";
    valid = read_utf16(b, len, chars, count);
  } else {
    valid = read_by_iconv(is_utf8 ? utf8_iconv : selected_iconv, bytes, len,
                          chars, count);
    if (!valid && selected == DX_TEXT_AUTO && !is_marked) {
      *count = windows1252_doubt(b, len);
      read_windows1252(b, *count, chars);
      return *count == len ? NULL : "";
    }
  }
  valid = read_characters(chars, count, name[0] == 'U') && valid;
  return valid ? NULL : name;
}

size_t reading_line(const wchar_t *chars, size_t count)
{
  size_t i, line = 1;

  for (i = 0; i < count; i++)
    line += reading_ends_line(chars[i]) &&
            !(chars[i] == '\n' && i > 0 && chars[i - 1] == '\r');
  return line;
}

/* ---- commands for printers ---- */

/* Nothing that is printed; not a command. */
static bool is_blank(wchar_t ch)
{
  return (ch <= ' ' && ch != ESC) || ch == 0xFEFF;
}

/* ESC E and ESC @. */
static bool is_reset(const wchar_t *chars, size_t count)
{
  return chars[0] == ESC && count >= 2 && (chars[1] == 'E' || chars[1] == '@');
}

/* Numbers between ESC [ and m that leave the text as it is: not those that hide
 * it (8), cross it out (9), choose another font (10 to 20), or raise it (73).
 */
static bool is_style(long number)
{
  return number <= 7 || (number >= 21 && number <= 49) || number == 58 ||
         number == 59 || (number >= 90 && number <= 107);
}

/* The length of ESC [ ... m; 0: it is something else, or changes the text. The
 * numbers after 38, 48, and 58 are those of a color; so are all behind ":". */
static size_t color_length(const wchar_t *chars, size_t count)
{
  enum { KIND = -1 };
  int left = 0; /* numbers of the color; KIND: the next tells how many */
  bool is_part = false;
  size_t n = 2;
  long number;

  if (chars[0] != ESC || count < 3 || chars[1] != '[')
    return 0;
  for (;; n++) {
    for (number = 0; n < count && chars[n] >= '0' && chars[n] <= '9'; n++)
      number = number < 1000 ? number * 10 + (chars[n] - '0') : number;
    if (is_part)
      left = 0;
    else if (left == KIND)
      left = number == 5 ? 1 : number == 2 ? 3 : 0;
    else if (left > 0)
      left--;
    else if (number == 38 || number == 48 || number == 58)
      left = KIND;
    else if (!is_style(number))
      return 0;
    if (n == count || (chars[n] != ';' && chars[n] != ':'))
      break;
    is_part = chars[n] == ':';
  }
  return n < count && chars[n] == 'm' ? n + 1 : 0;
}

/* STX, ETX, and others, which frame a transmission; a checksum may follow. */
static bool is_frame(wchar_t ch)
{
  return (ch > 0 && ch < '\a') || ch == 0x10 || (ch >= 0x15 && ch <= 0x17);
}

/*
 * True for control characters that begin a command, delete a line or character,
 * change the order of characters, or separate values: without them, other
 * values remain. MLLP ends a message with FS and CR; other frames may begin and
 * end a line, of which something was printed before (is_begun).
 */
static bool is_command(const wchar_t *chars, size_t count, bool is_begun)
{
  size_t i = 0;

  while (i < count && is_frame(chars[i]))
    i++;
  if (i > 0)
    return is_begun && i < count && chars[i] > ' ';
  switch (chars[0]) {
  case 0x18: /* CAN, EM; on screens of DOS, arrows up and down */
  case 0x19:
  case ESC:
  case 0x1D: /* GS, RS, US */
  case 0x1E:
  case 0x1F:
  case DEL:
  case LRO:
  case RLO:
    return true;
  case FS:
    return count > 1 && chars[1] != '\r' && chars[1] != '\n';
  default:
    return false;
  }
}

/* Removes resets before all that is printed on a page, and after the last one,
 * and colors. False if another command follows the first *count characters,
 * which remain: also text that printers ignore (between DC3 and DC1), or
 * programs of DOS (after SUB).
 */
static bool remove_commands(wchar_t *chars, size_t *count)
{
  size_t end = *count, i, n, len = *count;
  bool is_ignored = false, is_begun = false; /* a line is */
  bool is_printed = false;                   /* a page is */

  while (end > 0 && (is_blank(chars[end - 1]) ||
                     (end > 1 && is_reset(chars + end - 2, 2))))
    end -= is_blank(chars[end - 1]) ? 1 : 2;
  for (*count = i = 0; i < len; i += n) {
    n = color_length(chars + i, len - i);
    if ((!is_printed || i >= end) && is_reset(chars + i, len - i))
      n = 2;
    if (n > 0)
      continue;
    if (chars[i] == DC3 || chars[i] == DC1)
      is_ignored = chars[i] == DC3;
    if (is_command(chars + i, len - i, is_begun) ||
        (is_ignored && !is_blank(chars[i])) || (chars[i] == SUB && i < end))
      return false;
    is_printed = chars[i] != '\f' && (is_printed || !is_blank(chars[i]));
    is_begun = !reading_ends_line(chars[i]) && (is_begun || chars[i] > ' ');
    chars[(*count)++] = chars[i];
    n = 1;
  }
  return true;
}

/* ---- texts ---- */

enum dx_reason reading_file(const char *bytes, size_t len, wchar_t *chars,
                            size_t *ret_count, char why[PDF_WHY_BYTES])
{
  bool is_utf8 = is_unselected_utf8(bytes, len, chars, ret_count);
  const char *wrong =
      is_utf8 ? words[selected] : read_encoded(bytes, len, chars, ret_count);

  /* Of two reasons, this one: it is why the rest looks like another encoding.
   */
  if (!remove_commands(chars, ret_count)) {
    (void)snprintf(why, PDF_WHY_BYTES, "line %zu has a printer command",
                   reading_line(chars, *ret_count));
    return DX_REASON_CODES;
  }
  if (wrong == NULL)
    return DX_REASON_NONE;
  (void)snprintf(why, PDF_WHY_BYTES,
                 is_utf8 ? "line %zu is in UTF-8, not in '%s'"
                 : wrong[0] != '\0'
                     ? "line %zu is not valid in the encoding '%s'"
                     : "the encoding of line %zu is unknown%s",
                 reading_line(chars, *ret_count), wrong);
  return DX_REASON_ENCODING;
}

void reading_value(const char *utf8, size_t len, wchar_t *chars,
                   size_t *ret_count)
{
  if (read_by_iconv(utf8_iconv, utf8, len, chars, ret_count))
    return;
  read_windows1252((const unsigned char *)utf8, len, chars);
  *ret_count = len;
}
