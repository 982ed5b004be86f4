/*
 * coded.h - shared by the files that check coded images without a library:
 * their reasons, and the reader of those formats of which only the structure is
 * checked. Everything is borrowed, and nothing blocks.
 */
#ifndef DX_FILTER_CODED_H
#define DX_FILTER_CODED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/print/bundle.h"

extern const char coded_ends_early[], coded_is_invalid[], coded_is_small[];

/* DAMAGED, and ret_why; NONE if why is NULL. */
enum dx_reason coded_reason(const char *why, const char **ret_why);

/* After the first error, numbers are 0 and nothing is skipped. */
struct coded_input {
  const unsigned char *at, *end;
  const char *why; /* the error; NULL: none so far */
};

/* Sets the error, unless there is one, or `good`. */
void coded_expect(struct coded_input *in, bool good, const char *why);

size_t coded_left(const struct coded_input *in);

void coded_skip(struct coded_input *in, uint64_t len);

/* A big-endian number of up to four bytes. */
uint32_t coded_number(struct coded_input *in, size_t size);

/* Skips to the mark. */
void coded_find(struct coded_input *in, const void *mark, size_t len);

#endif
