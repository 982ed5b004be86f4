/*
 * text.h - writes text as PDF pages whose text can be read back: plain text
 * files, and the values of form fields. todocextract(7), "Text files",
 * describes the layout. In addition:
 *
 * - VT, NEL, U+2028, and U+2029 end a line. Other white space is a blank.
 * - The width of a character in columns is that of wcwidth().
 * - Numbers, and , . : / + - % # $ run from left to right: pdftotext treats
 * them and the direction of a page in the same way, so that it returns each
 * line in logical order. It may return columns one after the other, but not
 * with `-layout`.
 *
 * It is a module, docextract-text.so, because the libraries that it needs
 * (cairo, FreeType, fontconfig, fribidi) take 3 ms of processor time to load, a
 * third of the time for a PDF with one page.
 *
 * The same text, options, and fonts give the same bytes. Memory: four bytes for
 * each byte of the text, and the fonts that are used.
 *
 * Ownership: descriptors and strings are borrowed for the call. Blocking: as
 * long as the document takes. Errors: a reason of bundle.h.
 */
#ifndef DX_FILTER_TEXT_H
#define DX_FILTER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/options.h"
#include "filter/task.h"
#include "lib/print/text_encoding.h"

#define TEXT_PAGES_MAX 20000

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
  /* Maps the fonts of this computer, for a process that cannot open them: up to
   * 32, DejaVu Sans Mono and those that fontconfig recommends for characters
   * that it does not have. Only needed fonts are read. Sets LC_CTYPE. False if
   * there are none. Call it once, before the other two. */
  bool (*open_fonts)(void);

  /* Prepares to_pdf() to read text in this encoding, instead of AUTO. False if
   * the C library does not have it. */
  bool (*open_encoding)(enum dx_text_encoding encoding);

  /* Writes the pages that are chosen, and sets ret_done->pages. EMPTY: nothing
   * but white space; NO_PAGES: none is chosen; CHARACTERS: ret_done->why names
   * the first one; ENCODING, CODES: it names the line; TOO_COMPLEX: over
   * TEXT_PAGES_MAX pages, or too many marks; TROUBLE. options->text.wrong and
   * .encoding are for the caller. */
  enum dx_reason (*to_pdf)(const unsigned char *bytes, size_t len,
                           const struct options *options, int out_fd,
                           struct pdf_done *ret_done);

  /* Writes one page for each value, as large as its box. Nothing is cut: text
   * that does not fit is made smaller. CHARACTERS, TOO_COMPLEX (it would be
   * smaller than 0.1 points), TROUBLE; the value is values[ret_done->pages]. */
  enum dx_reason (*values_to_pdf)(const struct text_value *values, size_t count,
                                  int out_fd, struct pdf_done *ret_done);
};

/* What text.c exports. */
extern const struct text_module docextract_text;

/* text_module.c: loads the module, from the directory of this program (where it
 * was built) or from its installed place, and opens the fonts. NULL if either
 * fails. */
const struct text_module *text_module(void);

#endif
