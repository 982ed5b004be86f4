/*
 * windows1252.c - where the characters of Windows-1252 are not written: a table
 * of classes, and the characters with rules of their own.
 */
#include "filter/windows1252.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define RUN_MAX 3 /* bytes above 7F in a row that are not equal */

/* Classes of the bytes from 80. U, L: a capital or small letter. S: a symbol.
 * J: a symbol that may be between letters. x: no character. */
static const char windows1252_classes[] =
    "SxSSSJSSSSUSUxUx" /* 80: €x‚ƒ„…†‡ ˆ‰Š‹ŒxŽx */
    "xJJSSSJJSSLSLxLU" /* 90: x‘’“”•–— ˜™š›œxžŸ */
    "JSSSSSSSSSJJSJSS" /* A0: nbsp ¡¢£¤¥¦§ ¨©ª«¬ shy ®¯ */
    "JSSSJJSJSSJJSSSS" /* B0: °±²³´µ¶· ¸¹º»¼½¾¿ */
    "UUUUUUUUUUUUUUUU"
    "UUUUUUUSUUUUUUUL" /* D0: Ð..Ö×Ø..Þß */
    "LLLLLLLLLLLLLLLL"
    "LLLLLLLSLLLLLLLL"; /* F0: ð..ö÷ø..ÿ */

static char class_of(int ch)
{
  if (ch >= 0x80)
    return windows1252_classes[ch - 0x80];
  return isupper(ch) ? 'U' : islower(ch) ? 'L' : '\0';
}

static bool is_letter(int ch)
{
  return class_of(ch) == 'U' || class_of(ch) == 'L';
}

/* A byte and its neighbors; blanks before the beginning and behind the end. */
struct place {
  const unsigned char *bytes;
  size_t len, at;
  size_t first_quote, last_quote; /* where \xBB is; len, 0: nowhere */
};

static int at(const struct place *p, int distance)
{
  size_t i = p->at + (size_t)distance; /* before the beginning: very large */

  return i < p->len ? p->bytes[i] : ' ';
}

/* "m", "cm", and so on end before the byte, or a digit. */
static bool follows_measure(const struct place *p)
{
  if (isdigit(at(p, -1)))
    return true;
  return at(p, -1) == 'm' &&
         (!is_letter(at(p, -2)) ||
          (strchr("cdkm", at(p, -2)) != NULL && !is_letter(at(p, -3))));
}

/* The rest of "µmol", "µg", and so on begins behind the byte. */
static bool precedes_unit(const struct place *p)
{
  static const char *const units[] = {"mol", "kat", "l", "L", "g",
                                      "m",   "s",   "U", "IU"};
  size_t i;
  int k;

  for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
    for (k = 0; units[i][k] != '\0' && at(p, k + 1) == units[i][k];)
      k++;
    if (units[i][k] == '\0' && !is_letter(at(p, k + 1)))
      return true;
  }
  return false;
}

static bool is_white(int ch)
{
  return strchr(" \t\r\n", ch) != NULL; /* or NUL */
}

/* A number is before the byte, perhaps with a blank between them. */
static bool is_behind_number(const struct place *p)
{
  return isdigit(at(p, -1)) || (is_white(at(p, -1)) && isdigit(at(p, -2)));
}

/* A number follows, perhaps behind a blank. */
static bool precedes_number(const struct place *p)
{
  return isdigit(at(p, 1)) || (is_white(at(p, 1)) && isdigit(at(p, 2)));
}

static bool is_line_end(int ch)
{
  return ch == '\n' || ch == '\r';
}

/* A digit is before this byte, in the same line. */
static bool is_behind_digit_of_line(const struct place *p)
{
  int distance = -1;

  while (p->at >= (size_t)-distance && !is_line_end(at(p, distance)) &&
         !isdigit(at(p, distance)))
    distance--;
  return isdigit(at(p, distance)) != 0;
}

/* The byte is at both ends of its line: a vertical line of DOS. */
static bool is_frame_of_line(const struct place *p)
{
  size_t end = p->at + 1;

  if (p->at > 0 && !is_line_end(at(p, -1)))
    return false;
  while (end < p->len && !is_line_end(p->bytes[end]))
    end++;
  while (p->bytes[end - 1] == ' ')
    end--;
  return end - 1 > p->at && p->bytes[end - 1] == at(p, 0);
}

/* The C or F of a temperature follows. */
static bool is_scale(const struct place *p)
{
  return (at(p, 1) == 'C' || at(p, 1) == 'F') && !is_letter(at(p, 2));
}

/* The second character of "n°", for "number". */
static bool is_in_number_sign(const struct place *p)
{
  return (at(p, -1) == 'n' || at(p, -1) == 'N') && !is_letter(at(p, -2)) &&
         !is_letter(at(p, 1));
}

/* Letters that are where the symbols of DOS code pages are written. */
static bool is_symbol_of_dos(const struct place *p)
{
  int before = at(p, -1), after = at(p, 1);
  bool follows_number = isdigit(before) || is_white(before);

  switch (at(p, 0)) {
  case 0xAB: /* ½; it may close what \xBB has opened, or open itself */
    return p->first_quote > p->at &&
           ((isdigit(before) && !isdigit(after)) || p->last_quote < p->at);
  case 0xAC: /* ¼ */
    return (isdigit(before) && !isdigit(after)) ||
           (is_white(before) && after == ' ' && islower(at(p, 2)));
  case 0xBA: /* ║ */
    return is_frame_of_line(p);
  case 0xE6: /* µ; in Danish, "æg" is an egg */
    return (follows_number || before == '/' || before == '(') &&
           precedes_unit(p) &&
           (!is_white(before) || is_behind_number(p) || after != 'g' ||
            at(p, 2) == '/');
  case 0xF8: /* ° */
    return (isdigit(before) && !is_letter(after)) || is_in_number_sign(p) ||
           ((follows_number || before == '(') && is_scale(p));
  case 0xB3: /* ° of HP Roman-8, │ */
    return ((follows_number || before == '(') && is_scale(p)) ||
           is_frame_of_line(p);
  case 0xF1: /* ± */
  case 0xF2: /* ≥ */
  case 0xFE: /* ± of HP Roman-8 */
    return (follows_number || before == '(') && precedes_number(p);
  case 0xF3: /* ≤, ¾, µ of HP Roman-8; in Spanish, "or" between two numbers */
    return ((follows_number || before == '(') && isdigit(after)) ||
           (isdigit(before) && !is_letter(after)) ||
           (is_white(before) && precedes_number(p) &&
            !is_behind_digit_of_line(p)) ||
           (precedes_unit(p) &&
            (is_behind_number(p) || before == '/' || before == '(' ||
             (is_white(before) && (at(p, 2) == '/' || at(p, 2) == 'o'))));
  case 0xFB: /* ¹ */
    return isdigit(before);
  case 0xFC: /* ³ */
  case 0xFD: /* ² */
    return follows_measure(p) && !is_letter(after);
  default:
    return false;
  }
}

/* The letters ä, ö, ü, and é of HP Roman-8, capital letters in Windows-1252. */
static bool is_letter_of_hp(const struct place *p)
{
  return strchr("\xCC\xCE\xCF\xC8", at(p, 0)) != NULL &&
         class_of(at(p, -1)) == 'U' && islower(at(p, 1));
}

/* Symbols and letters of the Macintosh. */
static bool is_of_macintosh(const struct place *p)
{
  int before = at(p, -1), after = at(p, 1);

  switch (at(p, 0)) {
  case 0x8A: /* ä */
  case 0x8C: /* å */
  case 0x8E: /* é */
    return class_of(before) == 'L' ||
           (class_of(before) == 'U' && class_of(after) == 'L');
  case 0x9F: /* ü */
    return class_of(before) == 'L' || class_of(after) == 'L';
  case 0xA1: /* ° */
    return isdigit(before) ||
           ((is_white(before) || before == '(') && is_scale(p));
  case 0xA7: /* ß */
    return class_of(before) == 'L';
  case 0xB2: /* ≤ */
  case 0xB3: /* ≥ */
    return (is_white(before) || before == '(') && precedes_number(p);
  case 0xD0: /* – */
  case 0xD1: /* — */
    return is_behind_number(p) && precedes_number(p);
  default:
    return false;
  }
}

/* A symbol in two bytes of a Chinese, Japanese, or Korean encoding, such as ≤.
 * In Windows-1252, ¡ and © may be before a word that begins with such a byte.
 */
static bool is_symbol_of_two_bytes(const struct place *p)
{
  struct place next = *p;
  int first = at(p, 0), second = at(p, 1);

  next.at++;
  if (first == 0xA3 && second == 'g') /* µ of Big5 */
    return precedes_unit(&next);
  if (first < 0xA1 || first > 0xA9 || second < 0xA1 || second == first ||
      second == 0xBB)
    return false;
  return (first != 0xA1 && first != 0xA9) || !is_letter(at(p, 2)) ||
         is_scale(&next);
}

static bool is_continuation(int ch) /* not a blank, and not a quotation mark */
{
  return ch >= 0x80 && ch < 0xC0 && ch != 0xA0 && ch != 0xAB && ch != 0xBB;
}

/* The bytes of a character in UTF-8 that do not occur together otherwise: then
 * the text is UTF-8, and a part of it is damaged. */
static bool is_utf8(const struct place *p)
{
  int first = at(p, 0), second = at(p, 1);

  if (first == 0xC2 && is_white(second) &&
      (is_behind_number(p) || precedes_number(p)))
    return true; /* the second byte is lost, of the sign of degrees or so */
  if (first == 0xE2 && is_continuation(second) && is_continuation(at(p, 2)))
    return true; /* ≤, –, ’, and other symbols */
  return (first == 0xC2 &&
          (second == 0xB0 || second == 0xB1 || second == 0xB2 ||
           second == 0xB3 || second == 0xB5 || second == 0xBD)) ||
         (first == 0xC3 && second > 0xA0 && second < 0xC0 && second != 0xAB &&
          second != 0xAE && second != 0xBB);
}

/* Characters that are at one place of a word only. */
static bool is_misplaced(const struct place *p)
{
  int before = at(p, -1), after = at(p, 1);
  bool follows = is_letter(before), precedes = is_letter(after);

  switch (at(p, 0)) {
  case 0x82: /* ‚ */
  case 0x84: /* „ */
    return follows && !precedes;
  case 0x83: /* ƒ */
  case 0x88: /* ˆ */
  case 0x89: /* ‰ */
  case 0x98: /* ˜ */
  case 0xA2: /* ¢ */
    return follows || precedes;
  case 0x9B: /* ›; a command of printers, ESC [ with 8 bits */
    return isdigit(after);
  case 0x95: /* • */
  case 0xA1: /* ¡ */
  case 0xA3: /* £ */
  case 0xA4: /* ¤ */
  case 0xA5: /* ¥ */
    return follows;
  case 0x87: /* ‡ */
  case 0x99: /* ™ */
    return precedes;
  case 0x8A: /* Š */
  case 0x8C: /* Œ */
  case 0x8E: /* Ž */
  case 0x9A: /* š */
  case 0x9C: /* œ */
  case 0x9E: /* ž */
    return (!follows && !precedes) || isdigit(before) ||
           (class_of(at(p, 0)) == 'L' && isupper(after));
  default:
    return false;
  }
}

/* In Irish, "h", "n", and "t" may be before a capital vowel. */
static bool is_behind_prefix(const struct place *p)
{
  return strchr("\xC1\xC9\xCD\xD3\xDA", at(p, 0)) != NULL &&
         strchr("hnt", at(p, -1)) != NULL && !is_letter(at(p, -2));
}

static bool is_doubtful(const struct place *p)
{
  int before = at(p, -1), after = at(p, 1), distance = 1;

  switch (class_of(at(p, 0))) {
  case 'x':
    return true;
  case 'S':
    while (class_of(after) == 'S') /* the last of several */
      after = at(p, ++distance);
    if (is_letter(before) && is_letter(after))
      return true;
    break;
  case 'U':
    if (class_of(before) == 'L' && !is_behind_prefix(p))
      return true;
    break;
  default:
    break;
  }
  return is_misplaced(p) || is_symbol_of_dos(p) || is_letter_of_hp(p) ||
         is_of_macintosh(p) || is_symbol_of_two_bytes(p) || is_utf8(p);
}

/* A word of three letters ends before the byte, none of which is in ASCII. With
 * the umlauts of a German test page, it is plausible. */
static bool is_word_of_another_script(const struct place *p)
{
  int i, umlauts = 0;

  for (i = -3; i < 0; i++) {
    if (!is_letter(at(p, i)) || at(p, i) < 0x80)
      return false;
    umlauts += strchr("\xC4\xD6\xDC\xDF\xE4\xF6\xFC", at(p, i)) != NULL;
  }
  return umlauts < 3 && !is_letter(at(p, 0)) && !is_letter(at(p, -4));
}

size_t windows1252_doubt(const unsigned char *bytes, size_t len)
{
  const unsigned char *first = memchr(bytes, 0xBB, len);
  const unsigned char *last = memrchr(bytes, 0xBB, len);
  struct place p = {bytes, len, 0, len, 0};
  size_t run = 0; /* bytes above 7F before this one */
  int words = 0;
  bool equal = true;

  if (first != NULL) {
    p.first_quote = (size_t)(first - bytes);
    p.last_quote = (size_t)(last - bytes);
  }
  for (; p.at < len; p.at++) {
    int ch = bytes[p.at];

    if (run == 3 && !equal && is_word_of_another_script(&p) && ++words == 2)
      return p.at;
    if (ch < 0x80 || ch == 0xA0 || ch == 0xAB || ch == 0xBB) {
      run = 0;
      equal = true;
      if (ch < 0x80)
        continue;
    } else {
      equal = equal && (run == 0 || ch == bytes[p.at - 1]);
      run++;
    }
    if ((run > RUN_MAX && !equal) || is_doubtful(&p))
      return p.at;
  }
  return len;
}
