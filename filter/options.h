/*
 * options.h - the options of the print job, or the defaults of the queue's PPD:
 * our own, those of CUPS that choose pages, and those that lay out plain text.
 * No other option changes what is sent.
 *
 * An unusable value is an error: using another one instead could join or split
 * cases, or send pages that were not chosen. If an option occurs twice, the
 * last one is used (cupsParseOptions()).
 *
 * Units: points (1/72 inch). Ownership: fills the caller's memory. Blocking:
 * reads the PPD.
 */
#ifndef DX_FILTER_OPTIONS_H
#define DX_FILTER_OPTIONS_H

#include <stdbool.h>

#include "lib/print/text_encoding.h"

#define OPTIONS_EVERY_MAX 1000 /* pages; the same limit as in the PPD */
#define OPTIONS_RANGES_MAX 100 /* of pages */

struct page_range {
  int first, last;
};

/* Plain text only. Without options: Letter, 10 characters and 6 lines per inch,
 * and margins that leave 80 columns on A4 and 66 lines on Letter, which is what
 * programs that print text expect. */
struct options_text {
  double width, height; /* of the page as it is read: PageSize, media, and
                           landscape or orientation-requested */
  double left, right, top, bottom; /* page-left, page-right ...: margins */
  double cpi, lpi;                 /* characters and lines per inch */
  enum dx_text_encoding encoding;  /* TextEncoding */
  const char *wrong; /* NULL, or a clause as of options_read(): only plain text
                        must then be refused */
};

struct options {
  bool together; /* DocumentGrouping */
  int every;     /* CaseSeparators: pages of a case; 0: none */
  struct page_range ranges[OPTIONS_RANGES_MAX]; /* page-ranges */
  int range_count;                              /* 0: all pages */
  bool no_even, no_odd;                         /* page-set */
  double page_width, page_height;               /* PageSize or media */
  struct options_text text;
};

/*
 * Reads the PPD at ppd_path and the job's options as passed by cupsd. ppd_path
 * NULL: there is no queue (docextract submit), and no option but TextEncoding.
 * Returns NULL, or
 * a plain clause that describes the mistake; *ret_options then contains the
 * valid options.
 */
const char *options_read(const char *ppd_path, const char *text,
                         struct options *ret_options);

/* The options that choose pages, for the message that no page is left:
 * "'page-ranges'", "'page-set'", "'page-ranges' and 'page-set'", or NULL if
 * neither is set. */
const char *options_choosing(const struct options *options);

/* Whether the page, from 1, is chosen. Inline because the text module, which is
 * not linked with libcups, needs it, too. */
static inline bool options_choose(const struct options *options, int page)
{
  bool chosen = options->range_count == 0;
  int i;

  for (i = 0; i < options->range_count && !chosen; i++)
    chosen =
        page >= options->ranges[i].first && page <= options->ranges[i].last;
  return chosen && !(page % 2 == 0 ? options->no_even : options->no_odd);
}

#endif
