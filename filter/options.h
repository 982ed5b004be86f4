/*
 * options.h - what the person chose in the print dialog, or the queue's PPD
 * says for those who chose nothing.
 *
 * A choice that does not exist is refused: to go on with another one could
 * glue cases together, or tear them apart.
 *
 * Ownership: fills the caller's memory. Blocking: reads the PPD.
 */
#ifndef DX_FILTER_OPTIONS_H
#define DX_FILTER_OPTIONS_H

#include <stdbool.h>

#define OPTIONS_EVERY_MAX 1000 /* pages; the PPD says so too */

struct options {
  bool together; /* DocumentGrouping */
  int every;     /* CaseSeparators: pages of a case; 0: none */
};

/*
 * Reads the PPD at ppd_path (may be NULL) and the job's options, as cupsd
 * gives them. NULL, or what is wrong in a plain clause; *ret_options then
 * holds what could be read.
 */
const char *options_read(const char *ppd_path, const char *text,
                         struct options *ret_options);

#endif
