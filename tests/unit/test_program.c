/*
 * test_program.c - the name of the program that made a document: nothing but
 * what looks like one.
 */
#include "filter/program.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
  const char *text, *name;
} names[] = {
    {"GPL Ghostscript 9.55.0", "GPL Ghostscript 9.55.0"},
    {"Skia/PDF m113", "Skia/PDF m113"},
    {"macOS Version 13.4 (Build 22F66) Quartz PDFContext",
     "macOS Version 13.4 (Build 22F66) Quartz PDFContext"},
    {"Microsoft\xC2\xAE Word 2016", "Microsoft Word 2016"},
    {"iText\xE2\x84\xA2 5.5.13 \xC2\xA9 Group", "iText 5.5.13 Group"},
    {"TCPDF 6.3.5 (http://www.tcpdf.org)", "TCPDF 6.3.5"},
    {"Scan  2 \t", "Scan 2"},
    {"Scan 2\n3", "Scan"},
    {"Scan", "Scan"},
    /* Who the document is about, or when they were born. */
    {"Viewer of Roe, Jane", "Viewer of"},
    {"Chart 004711", "Chart"},
    {"Chart 07.03.1967", "Chart"},
    {"Chart 1967-03-07", "Chart"},
    {"M\xC3\xBCller Jos\xC3\xA9", ""},
    {"Word f\xC3\xBCr 365", "Word"},
    {"1967", ""},
    {"", ""},
    {" Scan", ""},
    {"(Scan)", ""},
    {"Scan %s", "Scan"},
    {"Scan\x1B[2J", ""},
    {"a\"b", ""},
    /* 60 bytes, and one more. */
    {"aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee ffffffffff",
     "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee ffffffffff"},
    {"aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffffff",
     "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee"},
};

static void name_of_a_program_is_copied_and_nothing_else(void **state)
{
  char name[DX_PROGRAM_BYTES], again[DX_PROGRAM_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(names); i++) {
    program_name(names[i].text, strlen(names[i].text), name);
    assert_string_equal(name, names[i].name);
    program_name(name, sizeof(name), again);
    assert_string_equal(again, name);
  }
}

/* The text may have no end. */
static void text_ends_where_its_length_says(void **state)
{
  static const char text[] = {'S', 'c', 'a', 'n'};
  char name[DX_PROGRAM_BYTES];

  (void)state;
  program_name(text, sizeof(text), name);
  assert_string_equal(name, "Scan");
  program_name(text, 0, name);
  assert_string_equal(name, "");
}

#define BYTES(text) text, sizeof(text) - 1
#define IFD "\0\1\1\x31\0\2\0\0\0\7\0\0\0\x1A\0\0\0\0Scan 2"

static const struct {
  const char *bytes;
  size_t len;
  const char *name;
} pictures[] = {
    {BYTES("MM\0\x2A\0\0\0\x08" IFD "\0"), "Scan 2"},
    {BYTES("II\x2A\0\x08\0\0\0\1\0\x31\1\2\0\3\0\0\0S2\0\0\0\0\0\0"), "S2"},
    {BYTES("MM\0\x2A\0\0\0\x08" IFD), ""},            /* cut */
    {BYTES("MM\0\x2A\xFF\xFF\xFF\xFF" IFD "\0"), ""}, /* beyond the end */
    {BYTES("MM\0\x2A\0\0\0\x08\xFF\xFF\1\x31"), ""},  /* too many rows */
    {BYTES("MM\0\x2A\0\0\0\x08\0\1\1\x31\0\2\xFF\xFF\xFF\xFF\0\0\0\1"), ""},
    {BYTES("MM\0\x2A\0\0\0\x08\0\1\1\x31\0\3\0\0\0\7\0\0\0\0"), ""},
    {BYTES("\xFF\xD8\xFF\xE0\0\4ab\xFF\xE1\0\x29"
           "Exif\0\0MM\0\x2A\0\0\0\x08" IFD "\0"),
     "Scan 2"},
    {BYTES("\xFF\xD8\xFF\xE1\xFF\xFF"
           "Exif\0\0MM\0\x2A\0\0\0\x08" IFD "\0"),
     ""},
    {BYTES("\xFF\xD8\xFF\xE1\0\x08"
           "Exif\0\0"),
     ""},
    {BYTES("\xFF\xD8\xFF\xE0\0\0\0\0\0\0"), ""},
    {BYTES("\x89PNG\r\n\x1A\n\0\0\0\1tIMEx----\0\0\0\x0FtEXtSoftware\0Scan 2"
           "----"),
     "Scan 2"},
    {BYTES("\x89PNG\r\n\x1A\n\0\0\0\x0FtEXtSoftware\0Scan 2---"), ""},
    {BYTES("\x89PNG\r\n\x1A\n\0\0\0\x0CtEXtAuthor\0Anna R----"), ""},
    {BYTES("\x89PNG\r\n\x1A\n\xFF\xFF\xFF\xFFtEXtSoftware\0"), ""},
    {BYTES("GIF89a\1\0\1\0"), ""},
    {BYTES("MM"), ""},
};

static void pictures_name_their_software(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(pictures); i++) {
    /* On the heap, for AddressSanitizer. */
    unsigned char *copy = malloc(pictures[i].len);
    char name[DX_PROGRAM_BYTES] = "before";

    assert_non_null(copy);
    memcpy(copy, pictures[i].bytes, pictures[i].len);
    program_of_picture(copy, pictures[i].len, name);
    if (strcmp(name, pictures[i].name) != 0)
      fail_msg("picture %zu: '%s'", i, name);
    free(copy);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(name_of_a_program_is_copied_and_nothing_else),
      cmocka_unit_test(text_ends_where_its_length_says),
      cmocka_unit_test(pictures_name_their_software),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
