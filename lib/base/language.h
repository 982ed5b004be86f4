/*
 * language.h - the language of what users read: sentences about print jobs, and
 * the labels of `docextract show` and of notifications.
 *
 * Every text is composed in English, and is stored and sent in English: in
 * journals, on sockets, and in bundles. Only the program that shows a text
 * translates it, as a whole, with dx_translate(). Therefore a text may have
 * been composed by another program or version, for readers of any language.
 * Error details, logs, JSON, and the words of states are not translated.
 *
 * The catalogs are po/LANGUAGE.po, compiled into the programs, because systems
 * without the locale of the language have to show it, too. `msgid` is a text,
 * or a pattern with "%s" for each of its parts, which keep their order. A text
 * that fits a pattern is translated by translating its parts. The first row
 * that fits applies: first come those that join sentences, and last those that
 * begin with a part, which could be all that precedes. All catalogs have the
 * same rows.
 *
 * Ownership: the caller's buffers, and static memory. Blocking: never.
 */
#ifndef DX_LANGUAGE_H
#define DX_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/words.h"

/* Name, word of the directive Language. AUTO is of docextract 1.0: English. */
#define DX_LANGUAGES(X)       \
  X(DX_LANGUAGE_AUTO, "auto") \
  X(DX_LANGUAGE_EN, "en")     \
  X(DX_LANGUAGE_DE, "de")     \
  X(DX_LANGUAGE_ES, "es")     \
  X(DX_LANGUAGE_FR, "fr")     \
  X(DX_LANGUAGE_JA, "ja")

enum dx_language { DX_LANGUAGES(DX_NAME_OF_ROW) DX_LANGUAGE_COUNT };

const char *dx_language_word(enum dx_language language);

/* The language of a locale, "de_AT.UTF-8", or of a word; EN for any other. */
enum dx_language dx_language_of(const char *locale);

/* The language of LC_ALL, LC_MESSAGES, or LANG, whichever is set first. */
enum dx_language dx_language_of_user(void);

/* The language of this process for the functions below; AUTO and EN: English,
 * as it is at the beginning. */
void dx_language_use(enum dx_language language);

/*
 * Translates a text; parts that are in no catalog remain in English. If the
 * result does not fit into `size` bytes, it is truncated after a whole
 * character. False if a part remained in English, except for numbers and names
 * in quotes.
 */
bool dx_translate(const char *english, char *text, size_t size);

/* The row of this text, without patterns: for labels. Static memory, or
 * `english` itself. */
const char *dx_label(const char *english);

#endif
