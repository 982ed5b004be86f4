/*
 * test_mime.c - the types of documents are recognized by their bytes.
 */
#include "tests/unit/unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "filter/document.h"

static const char *type_of(const char *bytes, size_t len)
{
  int fd = memfd_create("test", MFD_CLOEXEC);
  const char *type;

  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, len), (ssize_t)len);
  type = document_type_of(fd);
  (void)close(fd);
  return type;
}

static void types_are_recognized_by_their_bytes(void **state)
{
  static const struct {
    const char *bytes;
    size_t len;
    const char *type;
  } cases[] = {
      {"%PDF-1.4\n", 9, "application/pdf"},
      {"a\0b\n%PDF-1.4\n1 0 obj\n", 21, "application/pdf"},
      {"\xEF\xBB\xBF\r\n%PDF-1.7", 13, "application/pdf"},
      {"%PDF", 4, "text/plain"},
      {"\xFF\xD8\xFF\xE0", 4, "image/jpeg"},
      {"\xFF\xD8\0", 3, NULL},
      {"\x89PNG\r\n\x1A\n", 8, "image/png"},
      {"II*", 4, "image/tiff"},
      {"MM\0*", 4, "image/tiff"},
      {"II+", 4, "image/tiff"},
      {"MM\0+", 4, "image/tiff"},
      {"GIF89a", 6, "image/gif"},
      {"GIF87a", 6, "image/gif"},
      {"P4\n8 8\n", 7, "image/x-portable-anymap"},
      {"P1#", 3, "image/x-portable-anymap"},
      {"P1 # by x\r# 4\n4 2 1", 20, "image/x-portable-anymap"},
      {"P6 3\t", 5, "image/x-portable-anymap"},
      {"P6 3 x", 6, "text/plain"},
      {"P1 Jane", 7, "text/plain"},
      {"P14 5 6", 7, "text/plain"},
      {"P7\n", 3, "text/plain"},
      {"PS: call back", 13, "text/plain"},
      {"Patient: Jane", 13, "text/plain"},
      {"\033E text", 7, "text/plain"},
      {"a\0b", 3, NULL},
      {"%!PS-Adobe", 10, NULL},
      {"{\\rtf1 a", 8, NULL},
      {"\004%!PS", 5, NULL},
      {"\033%-12345X@PJL", 13, "text/plain"},
      {"\033@WBC\0", 6, "text/plain"},
      {"WBC 5\r\n\017\033A\0", 11, "text/plain"},
      {"WBC\0\033@", 6, NULL},
      {"BZh\005\033\0", 6, NULL},
      {"#PDF-BANNER\n", 12, NULL},
      {"#CUPS-BANNER\n", 13, NULL},
      {"", 0, NULL},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *type = type_of(cases[i].bytes, cases[i].len);

    if (cases[i].type == NULL
            ? type != NULL
            : type == NULL || strcmp(type, cases[i].type) != 0)
      fail_msg("row %zu: %s", i, type != NULL ? type : "no type");
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_are_recognized_by_their_bytes),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
