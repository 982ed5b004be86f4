/* coded.c - see coded.h. */
#include "filter/coded.h"

#include <string.h>

const char coded_ends_early[] = "an image ends early";
const char coded_is_invalid[] = "an image has invalid data";
const char coded_is_small[] = "an image is smaller than it should be";

enum dx_reason coded_reason(const char *why, const char **ret_why)
{
  if (why != NULL)
    *ret_why = why;
  return why == NULL ? DX_REASON_NONE : DX_REASON_DAMAGED;
}

void coded_expect(struct coded_input *in, bool good, const char *why)
{
  if (!good && in->why == NULL)
    in->why = why;
}

size_t coded_left(const struct coded_input *in)
{
  return (size_t)(in->end - in->at);
}

void coded_skip(struct coded_input *in, uint64_t len)
{
  coded_expect(in, len <= coded_left(in), coded_ends_early);
  if (in->why == NULL)
    in->at += len;
}

uint32_t coded_number(struct coded_input *in, size_t size)
{
  const unsigned char *at = in->at;
  uint32_t number = 0;

  coded_skip(in, size);
  while (in->why == NULL && at < in->at)
    number = number << 8 | *at++;
  return number;
}

void coded_find(struct coded_input *in, const void *mark, size_t len)
{
  const unsigned char *found = memmem(in->at, coded_left(in), mark, len);

  coded_skip(in, found != NULL ? (uint64_t)(found - in->at) : UINT64_MAX);
}
