/*
 * text.h - writes text as PDF pages whose text can be read back: plain text
 * files, and the values of form fields.
 *
 * It is a module, docextract-text.so, because the libraries that it needs
 * (cairo, FreeType, fontconfig, fribidi) cost 3 ms of processor time, a third
 * of what a PDF of one page costs altogether.
 *
 * - The bytes are UTF-8 or, if they are not valid UTF-8, Windows-1252, which
 *   is Latin-1 with letters and quotation marks at 0x80 to 0x9F.
 * - LF, CR, CR LF, VT, NEL, U+2028, and U+2029 end a line, FF a page. A tab
 *   goes to the next multiple of 8 columns. Other white space is a blank.
 * - What follows a backspace is printed over the previous character. The same
 *   character again, and a '_' over or under another one, are printed once;
 *   of two others both are kept, the earlier one first.
 * - Other control characters, those that control the direction of text, and
 *   U+FEFF are dropped. Every other character comes back, in order.
 * - A character takes the columns that wcwidth() tells; a combining mark is
 *   drawn over its letter. A word that does not fit on a line begins the next
 *   one; one that is longer than a line is continued there.
 * - Right to left: a page (or value) that has more such letters than others
 *   runs from right to left, any other from left to right, and so do the parts
 *   of a line that has both. Numbers, and , . : / + - % # $ are parts from left
 *   to right. pdftotext judges pages in the same way, so that it gives back
 *   each line in logical order. It may give back columns one after the other;
 *   `pdftotext -layout` does not.
 *
 * The same text, options, and fonts give the same bytes. Memory: the text of
 * one page, and the fonts that are used.
 *
 * Ownership: descriptors and strings are borrowed for the call. Blocking: as
 * long as the document takes. Errors: a reason of bundle.h. What writes PDFs is
 * for a process that ends afterwards: fonts stay in memory, and the locale of
 * the thread changes.
 */
#ifndef DX_FILTER_TEXT_H
#define DX_FILTER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/options.h"
#include "lib/job/bundle.h"

#define TEXT_FONTS_MAX 32
#define TEXT_PAGES_MAX 20000

struct text_fonts; /* opaque: files that are open */

struct text_done {
  int pages;        /* that were written */
  char missing[32]; /* with CHARACTERS: the first one, as "U+12345" */
};

struct text_value {
  const char *utf8;
  double width, height; /* of the box, points */
  double size;          /* of the font, at most; 0: what fits */
  bool multiline;
  int comb;      /* cells with one character in each; 0: none */
  int align;     /* 0: left, 1: center, 2: right */
  double rgb[3]; /* 0 to 1 */
};

struct text_module {
  /* Opens the fonts of this computer, for a process that cannot: DejaVu Sans
   * Mono, and what fontconfig recommends for characters that it does not have.
   * NULL if there are none. Files are read when they are needed. */
  struct text_fonts *(*fonts_open)(void);
  void (*fonts_free)(struct text_fonts **fonts);
  /* The descriptors that must stay open, and their number. Borrowed. */
  size_t (*fonts_fds)(const struct text_fonts *fonts, const int **ret_fds);

  /* Writes the pages that are chosen. EMPTY: nothing but white space; NO_PAGES:
   * none is chosen; CHARACTERS; TOO_COMPLEX: over TEXT_PAGES_MAX pages, or too
   * many marks; TROUBLE. options->text.wrong is for the caller. */
  enum dx_reason (*to_pdf)(const unsigned char *bytes, size_t len,
                           const struct options *options,
                           const struct text_fonts *fonts, int out_fd,
                           struct text_done *ret_done);

  /* Writes one page for each value, as large as its box. Nothing is cut: text
   * that does not fit is made smaller. CHARACTERS, TOO_COMPLEX (it would be
   * smaller than 0.1 points), TROUBLE; the value is values[ret_done->pages]. */
  enum dx_reason (*values_to_pdf)(const struct text_value *values, size_t count,
                                  const struct text_fonts *fonts, int out_fd,
                                  struct text_done *ret_done);
};

/* What text.c exports. */
extern const struct text_module docextract_text;

/* text_module.c: loads the module, from the directory of this program (where it
 * was built) or from its installed place. NULL if it cannot be loaded. */
const struct text_module *text_module(void);

#endif
