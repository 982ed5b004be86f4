/*
 * nearest.h - the word of a list that was probably meant by a mistyped one.
 *
 *     struct dx_nearest nearest = {.word = typed};
 *     for each word of the list: dx_nearest_try(&nearest, word);
 *     nearest.found
 *
 * Ownership: words are borrowed. Nothing blocks or fails.
 */
#ifndef DX_BASE_NEAREST_H
#define DX_BASE_NEAREST_H

#include <stddef.h>

#define DX_NEAREST_MAX 32 /* bytes of a word that is compared */

struct dx_nearest {
  const char *word;  /* as typed */
  const char *found; /* the nearest so far; NULL: none is near */
  size_t distance;   /* of found */
};

/* A word is near if at most a third of its letters, and at least one, were
 * forgotten, added, replaced, or swapped with the next one. Upper and lower
 * case are the same. */
void dx_nearest_try(struct dx_nearest *nearest, const char *candidate);

#endif
