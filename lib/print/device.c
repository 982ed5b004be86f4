/*
 * device.c - the parser of device URIs.
 */
#include "lib/print/device.h"

#include <stdio.h>
#include <string.h>

bool dx_section_of_uri(const char *uri, char ret_section[DX_SECTION_BYTES])
{
  int end = 0;

  if (uri != NULL &&
      sscanf(uri, DX_DEVICE_SCHEME "%64[a-zA-Z0-9_.-]%n", ret_section, &end) ==
          1 &&
      (uri[end] == '\0' || strcmp(uri + end, "/") == 0))
    return true;
  ret_section[0] = '\0';
  return false;
}
