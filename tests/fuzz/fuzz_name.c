/*
 * fuzz_name.c - names from outside: a title or the name of a file, then an id
 * of a source and one of a case.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "lib/spool/filename.h"
#include "lib/spool/results.h"

#define SAFE                                             \
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
  "0123456789-_%~."

static void check_file_name(const char *title)
{
  char name[DX_NAME_BYTES];

  dx_filename_from_title(title, DX_MIME_PDF, name);
  HOLDS(dx_utf8_is_plain(name) && dx_filename_is_real(name));
  HOLDS(strpbrk(name, "/\\") == NULL && name[0] != '.' &&
        strlen(name) > strlen(".pdf"));
}

static void check_result_name(const char *source_id, const char *case_id)
{
  char *name = dx_result_name(source_id, case_id);

  HOLDS(name != NULL && name[0] != '.' && name[0] != '\0');
  HOLDS(strspn(name, SAFE) == strlen(name) && strlen(name) <= 255);
  free(name);
}

/* What was encoded stands for the same bytes. */
static void check_percent(const char *text)
{
  struct dx_buf buf = {0};
  unsigned byte;
  const char *at;

  dx_buf_percent(&buf, text, "");
  for (at = dx_buf_text(&buf); *at != '\0'; at++, text++) {
    byte = (unsigned char)*at;
    if (*at == '%') {
      HOLDS(sscanf(at + 1, "%2x", &byte) == 1);
      at += 2;
    }
    HOLDS(byte == (unsigned char)*text);
  }
  HOLDS(*text == '\0');
  dx_buf_release(&buf);
}

static void check_copy(const char *text)
{
  char copy[8];

  dx_utf8_copy(copy, sizeof(copy), text);
  HOLDS(strlen(copy) < sizeof(copy));
  HOLDS(!dx_utf8_is_plain(text) || dx_utf8_is_plain(copy));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *title = fuzz_line(&in);
  char *source_id = fuzz_line(&in);
  char *case_id = fuzz_line(&in);

  check_file_name(title);
  if (source_id[0] != '\0' && case_id[0] != '\0')
    check_result_name(source_id, case_id);
  check_copy(title);
  check_percent(title);
  free(title);
  free(source_id);
  free(case_id);
  return 0;
}
