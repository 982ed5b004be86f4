/*
 * fuzz_options.c - the options of a print job, with the PPD of the driver.
 */
#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <stdlib.h>

#include "filter/options.h"

#define PPD "ppd/docextract.ppd" /* of the build directory */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *text = fuzz_rest(&in);
  struct options options;
  const char *wrong = options_read(PPD, "", &options);

  HOLDS(wrong == NULL && !options.together && options.every == 0);
  if (options_read(PPD, text, &options) == NULL)
    HOLDS(options.every >= 0 && options.every <= OPTIONS_EVERY_MAX);
  HOLDS(options.range_count >= 0 && options.range_count <= OPTIONS_RANGES_MAX);
  (void)options_choose(&options, 1);
  (void)options_choose(&options, INT_MAX);
  free(text);
  return 0;
}
