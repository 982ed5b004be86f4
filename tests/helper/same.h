/*
 * same.h - does a PDF print the same as another one? For tests: what a filter
 * sends is compared with the document, by poppler, which shares no code with
 * the filter. Nothing of filter/ is used here.
 *
 * For each page two things are compared, as they are printed, that is, with
 * the annotations that have the Print flag and without the others:
 *
 * - the words that poppler extracts, in order, whatever white space is between
 *   them;
 * - a rendering in poppler's print mode, 72 dpi, at most SAME_SIDE_MAX pixels
 *   on a side. Contents that were not changed are equal to the bit. An
 *   appearance that becomes content gets there through one matrix more, in
 *   decimal numbers, so its edges may be anti-aliased differently: a pixel may
 *   differ by SAME_PIXEL_MAX of 255, a block of 8 x 8 pixels by SAME_BLOCK_MAX
 *   on the average. The smallest full stop of a text (0.5 pixels in black)
 *   differs from paper by more than 100.
 *
 * Where poppler does not do what ISO 32000-1 says about printing, a copy of the
 * document is changed first, with libqpdf: layers get their print state,
 * and links, popups, and icons of notes, files and sounds without an
 * appearance, of which nothing is printed, go. An annotation without a
 * /Subtype, which poppler leaves out and other viewers draw, gets one.
 *
 * Fields whose value has no appearance, or one that does not count because of
 * NeedAppearances, are drawn by the filter, and differently: inside of such a
 * field only its characters count, outside everything as above, but the words
 * of such a page in any order.
 *
 * Blocking: renders each page twice. Memory: both documents and two pages.
 */
#ifndef DX_HELPER_SAME_H
#define DX_HELPER_SAME_H

#include <stdbool.h>
#include <stddef.h>

#define SAME_SIDE_MAX 1000 /* pixels */
#define SAME_PIXEL_MAX 48  /* of 255, in one of three colors */
#define SAME_BLOCK_MAX 2

enum same {
  SAME,
  SAME_UNREADABLE,  /* poppler cannot read the first one: nothing is known */
  SAME_OTHER_PAGES, /* number, size, or poppler cannot read the second one */
  SAME_OTHER_WORDS,
  SAME_OTHER_PIXELS,
  SAME_NO_VALUE /* a value that should have been drawn is not in its field */
};

struct same_bytes {
  const void *bytes;
  size_t len;
};

struct same_result {
  int page;      /* of the second document, from 1; 0: all */
  char why[256]; /* may contain words of the document */
};

/*
 * pages: of the first document, from 1, in the order of the second one; NULL:
 * all. At most `most` of them are compared, evenly spread, with the last; their
 * number always is. *ret_result is set unless SAME is returned.
 */
enum same same_pages(struct same_bytes before, struct same_bytes after,
                     const int *pages, int count, int most,
                     struct same_result *ret_result);

/* "words": for a table. */
const char *same_word(enum same same);

#endif
