/*
 * words.h - enums that are lists of rows X(NAME, word, text, ...); the words
 * are for journals, sockets, and logs.
 *
 *   enum dx_backend { DX_BACKENDS(DX_NAME_OF_ROW) DX_BACKEND_COUNT };
 *
 * DX_WORDS(backend, DX_BACKENDS) defines dx_backend_word(), which returns the
 * word of a value; DX_BY_WORD(backend), after it, defines dx_backend_by_word(),
 * which returns the value of a word, or the enum's COUNT for any other word.
 * dx_word_index() does that for any list of words.
 */
#ifndef DX_WORDS_H
#define DX_WORDS_H

#include <stddef.h>
#include <string.h>

#define DX_NAME_OF_ROW(name, ...) name,
#define DX_WORD_OF_ROW(name, word, ...) word,
#define DX_TEXT_OF_ROW(name, word, text, ...) text,

#define DX_WORDS(name, rows)                                        \
  static const char *const name##_words[] = {rows(DX_WORD_OF_ROW)}; \
                                                                    \
  const char *dx_##name##_word(enum dx_##name value)                \
  {                                                                 \
    return name##_words[value];                                     \
  }

#define DX_BY_WORD(name)                                            \
  enum dx_##name dx_##name##_by_word(const char *word)              \
  {                                                                 \
    return (enum dx_##name)dx_word_index(                           \
        name##_words, sizeof(name##_words) / sizeof(char *), word); \
  }

/* The index of the word (may be NULL); `count` if it is not in the list. */
static inline size_t dx_word_index(const char *const *words, size_t count,
                                   const char *word)
{
  size_t i = 0;

  while (i < count && (word == NULL || strcmp(word, words[i]) != 0))
    i++;
  return i;
}

#endif
