/*
 * language.c - the catalogs, and the search for the rows that make up a text.
 */
#include "lib/base/language.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/base/words.h"

#define RESULT_BYTES 2048
#define SEARCHES_MAX 1000 /* a hostile text could need any number */

struct language_row {
  const char *english, *text;
};
#include "lib/base/catalogs.inc" /* of po/, by lib/local.mk */

DX_WORDS(language, DX_LANGUAGES)

static const struct language_row *language_rows; /* NULL: English */

enum dx_language dx_language_of(const char *locale)
{
  int i;

  for (i = DX_LANGUAGE_DE; i < DX_LANGUAGE_COUNT; i++)
    if (strncmp(locale, language_words[i], 2) == 0 &&
        !isalpha((unsigned char)locale[2]))
      return (enum dx_language)i;
  return DX_LANGUAGE_EN;
}

enum dx_language dx_language_of_user(void)
{
  static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
  const char *value;
  size_t i;

  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    value = getenv(names[i]);
    if (value != NULL && value[0] != '\0')
      return dx_language_of(value);
  }
  return DX_LANGUAGE_EN;
}

void dx_language_use(enum dx_language language)
{
  static const struct language_row *const catalogs[DX_LANGUAGE_COUNT] = {
      [DX_LANGUAGE_DE] = language_de,
      [DX_LANGUAGE_ES] = language_es,
      [DX_LANGUAGE_FR] = language_fr,
      [DX_LANGUAGE_JA] = language_ja};

  language_rows = catalogs[language];
}

const char *dx_label(const char *english)
{
  const struct language_row *row = language_rows;

  for (; row != NULL && row->english != NULL; row++)
    if (strcmp(row->english, english) == 0)
      return row->text;
  return english;
}

/* ---- texts of several parts ---- */

struct translation {
  char text[RESULT_BYTES];
  size_t len;
  int searches; /* that are left */
};

static void translation_add(struct translation *t, const char *text, size_t len)
{
  if (len >= sizeof(t->text) - t->len)
    len = sizeof(t->text) - t->len - 1;
  memcpy(t->text + t->len, text, len);
  t->len += len;
}

/* In UTF-8, the letters from a with grave to thorn have the lead byte C3; their
 * capitals are 0x20 before them. */
static void translation_capitalize(char *text)
{
  bool is_accented = (unsigned char)text[0] == 0xC3;

  if (is_accented && (unsigned char)text[1] >= 0xA0)
    text[1] = (char)(text[1] - 0x20);
  else if (!is_accented)
    text[0] = (char)toupper((unsigned char)text[0]);
}

/* A number, also in hexadecimal, the name of a print job, or a name in quotes.
 */
static bool translation_is_name(const char *text, size_t len)
{
  char last = text[len - 1];

  if (text[0] == '\'')
    return len > 2 && memchr(text + 1, '\'', len - 1) == text + len - 1;
  return strspn(text, "0123456789ABCDEF") >= len ||
         ((isdigit((unsigned char)last) || last == '%') &&
          memchr(text, ' ', len) == NULL);
}

static bool translation_of(struct translation *t, const char *text, size_t len,
                           bool is_partial);

/* Adds the translation of the text, if the rest of a row fits. is_partial: its
 * last part may remain in English. */
static bool translation_by(struct translation *t, const char *english,
                           const char *translated, const char *text, size_t len,
                           bool is_partial)
{
  size_t same = strcspn(english, "%"), put = strcspn(translated, "%");
  size_t before, next, n;

  if (same > len || strncmp(english, text, same) != 0)
    return false;
  translation_add(t, translated, put);
  if (english[same] == '\0')
    return same == len;
  english += same + 2;
  translated += put + 2;
  next = strcspn(english, "%");
  before = t->len;
  n = same + 1;
  if (n + next > len)
    return false;
  if (english[next] == '\0') /* the rest of the row is that of the text */
    n = len - next;
  for (; n + next <= len; n++) {
    if (strncmp(english, text + n, next) == 0 &&
        translation_of(t, text + same, n - same,
                       is_partial && same > 0 && english[0] == '\0') &&
        translation_by(t, english, translated, text + n, len - n, is_partial))
      return true;
    t->len = before;
  }
  return false;
}

/* The first row that fits. A clause may begin a sentence. */
static bool translation_search(struct translation *t, const char *text,
                               size_t len, bool is_partial)
{
  const struct language_row *row;
  size_t before = t->len;

  for (row = language_rows; row->english != NULL; row++) {
    size_t capital = row->english[0] != text[0] &&
                     toupper((unsigned char)row->english[0]) == text[0];

    if (translation_by(t, row->english + capital, row->text, text + capital,
                       len - capital, is_partial)) {
      if (capital > 0)
        translation_capitalize(t->text + before);
      return true;
    }
    t->len = before;
  }
  return false;
}

static bool translation_of(struct translation *t, const char *text, size_t len,
                           bool is_partial)
{
  if (t->searches-- > 0 && translation_search(t, text, len, false))
    return true;
  if (!translation_is_name(text, len) &&
      (!is_partial || translation_search(t, text, len, true)))
    return is_partial;
  translation_add(t, text, len);
  return true;
}

bool dx_translate(const char *english, char *text, size_t size)
{
  struct translation t = {.searches = SEARCHES_MAX};
  size_t len = strlen(english);
  bool is_complete = true;

  if (language_rows != NULL && len > 0) {
    is_complete = translation_of(&t, english, len, false);
    if (!is_complete) {
      t = (struct translation){.searches = SEARCHES_MAX};
      (void)translation_of(&t, english, len, true);
    }
    t.text[t.len] = '\0';
    english = t.text;
  }
  dx_utf8_copy(text, size, english);
  return is_complete;
}
