/*
 * text_encoding.c - the words of text_encoding.h.
 */
#include "lib/print/text_encoding.h"

#include <strings.h>

DX_WORDS(text_encoding, DX_TEXT_ENCODINGS)

enum dx_text_encoding dx_text_encoding_by_word(const char *word)
{
  int i = 0;

  while (i < DX_TEXT_ENCODING_COUNT &&
         strcasecmp(word, text_encoding_words[i]) != 0)
    i++;
  return (enum dx_text_encoding)i;
}
