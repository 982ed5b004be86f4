/*
 * options.h - the options of the print job, or the defaults of the queue's PPD:
 * the two of our own, and those of CUPS that choose pages.
 *
 * An unknown choice is an error: using another one instead could join or split
 * cases.
 *
 * Ownership: fills the caller's memory. Blocking: reads the PPD.
 */
#ifndef DX_FILTER_OPTIONS_H
#define DX_FILTER_OPTIONS_H

#include <stdbool.h>

#define OPTIONS_EVERY_MAX 1000 /* pages; the same limit as in the PPD */
#define OPTIONS_RANGES_MAX 100 /* of pages */

struct page_range {
  int first, last;
};

struct options {
  bool together; /* DocumentGrouping */
  int every;     /* CaseSeparators: pages of a case; 0: none */
  struct page_range ranges[OPTIONS_RANGES_MAX]; /* page-ranges */
  int range_count;                              /* 0: all pages */
  bool no_even, no_odd;                         /* page-set */
};

/*
 * Reads the PPD at ppd_path and the job's options as passed by cupsd. ppd_path
 * NULL: there is no queue (docextract submit), and no options. Returns NULL, or
 * a plain clause that says what is wrong; *ret_options then contains what could
 * be read.
 */
const char *options_read(const char *ppd_path, const char *text,
                         struct options *ret_options);

/* Is the page, from 1, to be sent? For what pdftopdf, which leaves pages out of
 * PDFs, does not get to see: images. */
bool options_choose(const struct options *options, int page);

#endif
