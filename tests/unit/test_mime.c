/*
 * test_mime.c - the types of documents are recognized by their bytes.
 */
#include "tests/unit/unit.h"

#include "lib/job/mime.h"

static void types_are_recognized_by_their_bytes(void **state)
{
  static const struct {
    const char *bytes;
    size_t len;
    const char *type;
  } cases[] = {
      {"%PDF-1.4\n", 9, "application/pdf"},
      {"\xEF\xBB\xBF\r\n%PDF-1.7", 13, "application/pdf"},
      {"%PDF", 4, NULL},
      {"\xFF\xD8\xFF\xE0", 4, "image/jpeg"},
      {"\xFF\xD8", 2, NULL},
      {"\x89PNG\r\n\x1A\n", 8, "image/png"},
      {"\x89PNG\r\n\x1A", 7, NULL},
      {"II*", 4, "image/tiff"},
      {"MM\0*", 4, "image/tiff"},
      {"II+", 4, "image/tiff"},
      {"MM\0+", 4, "image/tiff"},
      {"II*", 3, NULL},
      {"GIF89a", 6, NULL},
      {"", 0, NULL},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *type = dx_mime_of_bytes(cases[i].bytes, cases[i].len);

    if (cases[i].type == NULL)
      assert_null(type);
    else
      assert_string_equal(type, cases[i].type);
  }
}

static void a_pdf_begins_within_the_first_1024_bytes(void **state)
{
  char bytes[2048];

  (void)state;
  memset(bytes, ' ', sizeof(bytes));
  memcpy(bytes + 1019, "%PDF-", 5);
  assert_non_null(dx_mime_of_bytes(bytes, sizeof(bytes)));
  memcpy(bytes + 1019, " %PDF-", 6);
  assert_null(dx_mime_of_bytes(bytes, sizeof(bytes)));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_are_recognized_by_their_bytes),
      cmocka_unit_test(a_pdf_begins_within_the_first_1024_bytes),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
