/*
 * options.h - the options of the print job, or the defaults of the queue's PPD.
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

struct options {
  bool together; /* DocumentGrouping */
  int every;     /* CaseSeparators: pages of a case; 0: none */
};

/*
 * Reads the PPD at ppd_path (may be NULL) and the job's options as passed by
 * cupsd. Returns NULL, or a plain clause that says what is wrong; *ret_options
 * then contains what could be read.
 */
const char *options_read(const char *ppd_path, const char *text,
                         struct options *ret_options);

#endif
