/*
 * test_pdf_file.c - the header, the end, and the objects of a PDF are found in
 * its bytes.
 */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "filter/pdf_file.h"

#define BINARY "%\xE2\xE3\xCF\xD3\n"
#define OBJECT "1 0 obj\n<< >>\nendobj\n"

/* -1: it is no PDF; else where it begins. */
static int begin_of(const char *text)
{
  size_t start;

  return pdf_file_is(text, strlen(text), &start) ? (int)start : -1;
}

static void assert_begins(const char *before, const char *pdf)
{
  char text[4096];

  (void)snprintf(text, sizeof(text), "%s%s", before, pdf);
  assert_int_equal(begin_of(text), strlen(before));
}

static void pdf_begins_at_its_header(void **state)
{
  static const char *const before[] = {
      "",
      "\r\n",
      "\xEF\xBB\xBF",
      "junk",
      "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n",
      "\033%-12345X@PJL JOB\r\n@PJL ENTER LANGUAGE=PDF\r\n",
      "From: a@example.com\nSubject: %PDF-1.4, and 3 objects\n\n",
      "The format is called %PDF-1.7\n\n"};
  static const char *const headers[] = {"%PDF-1.7\n", "%PDF-1.4 \r",
                                        "%PDF-2.0\r\n" BINARY,
                                        "%PDF-1.3\n" BINARY "\n% a comment\n"};
  char far[3000];
  size_t b, h;

  (void)state;
  for (h = 0; h < sizeof(headers) / sizeof(headers[0]); h++) {
    char pdf[256];

    (void)snprintf(pdf, sizeof(pdf), "%s" OBJECT, headers[h]);
    for (b = 0; b < sizeof(before) / sizeof(before[0]); b++)
      assert_begins(before[b], pdf);
    memset(far, '\n', sizeof(far) - 1);
    far[sizeof(far) - 1] = '\0';
    assert_begins(far, pdf);
    memset(far, 'x', sizeof(far) - 1);
    assert_begins(far, pdf);
  }
}

static void pdf_with_a_damaged_header_is_not_text(void **state)
{
  static const char *const headers[] = {"%PDF1.7\n",
                                        "%PDF 1.7\n",
                                        "%PDF-1,7\n",
                                        "%PDF-\n",
                                        "%PDF-1.7%\xE2\xE3\xCF\xD3\n",
                                        "%PDF-1.7 created by",
                                        "%PDF"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
    char pdf[256];

    (void)snprintf(pdf, sizeof(pdf), "%s\n" OBJECT, headers[i]);
    assert_begins("", pdf);
    assert_begins("HTTP/1.1 200 OK\r\n\r\n", pdf);
  }
  /* The header is lost, or the file was cut in the first object. */
  assert_int_equal(begin_of("PDF-1.7\n" OBJECT "startxref\n30\n%%EOF\n"), 0);
  assert_int_equal(begin_of("%!PS PDF-1.4\n" OBJECT "startxref\n30\n"), 0);
  assert_int_equal(begin_of("%PDF-1.7\n1 0 o"), 0);
  assert_int_equal(begin_of("%PDF-1.7\n" BINARY), 0);
  assert_int_equal(begin_of("HTTP\n\n%PDF-1.7\n" BINARY "12"), 6);
  assert_int_equal(begin_of("%PDF-1.7\ndamaged\n%%EOF\n"), 0);
  /* All line ends are lost. */
  assert_int_equal(begin_of("%PDF-1.7 1 0 obj << >> endobj"), 0);
}

static void text_about_pdf_is_text(void **state)
{
  static const char *const texts[] = {
      "",
      "%PDF",
      "no PDF at all, but 1 0 obj\n",
      "%PDF-1.7 is the format; I have 2 objections.\n",
      "%PDF-1.7\nI have 2 0 objections.\n",
      "%PDF-1.7\n1 0 obj is the first of its objects.\n",
      "%PDF-1.7\n100 mg of it, 2 0 objects\n",
      "It begins with %PDF-1.4.\n",
      "It begins with\n%PDF-1.4\n",
      "It begins with %PDF-1.4, then there is\n1 0 obj\n<< >>\n",
      "The object\n1 0 obj\n<< >>\nendobj\nis near its startxref.\n"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
    assert_int_equal(begin_of(texts[i]), -1);
}

static void end_is_behind_the_last_table(void **state)
{
#define END "startxref\n30\n"
  static const struct {
    const char *text;
    enum pdf_file_end end;
  } cases[] = {
      {OBJECT END "%%EOF\n", PDF_FILE_ENDS},
      {OBJECT END "%%EOF", PDF_FILE_ENDS},
      {OBJECT "startxref 30%%EOF", PDF_FILE_ENDS},
      {OBJECT END "%%EOF\n<html>12 an object</html>", PDF_FILE_ENDS},
      {OBJECT END "%%EOF\r\n0\r\n\r\n", PDF_FILE_ENDS}, /* HTTP, chunked */
      {OBJECT END "%%EOF\n--part 12", PDF_FILE_ENDS},
      {OBJECT END "%%EOF\n" OBJECT "startxref\n90\n%%EOF", PDF_FILE_ENDS},
      {OBJECT END, PDF_FILE_UNMARKED},
      {OBJECT END "%%EO", PDF_FILE_UNMARKED},
      {OBJECT END "%EOF\n", PDF_FILE_UNMARKED},
      {OBJECT "startxref\n30 \r\n", PDF_FILE_UNMARKED},
      {OBJECT "startxref\n30", PDF_FILE_CUT},
      {OBJECT "startxref\n3X\n%%EOF\n", PDF_FILE_CUT},
      {OBJECT "startxref\n", PDF_FILE_CUT},
      {OBJECT "startxref\n%%EOF\n", PDF_FILE_CUT},
      {OBJECT, PDF_FILE_CUT},
      {OBJECT "%%EOF\n", PDF_FILE_CUT},
      /* A newer version is cut. */
      {OBJECT END "%%EOF\n" OBJECT, PDF_FILE_CUT},
      {OBJECT END "%%EOF\n\n1 0 obj <<", PDF_FILE_CUT},
      {OBJECT END "%%EOF\n1 0 ob", PDF_FILE_CUT},
      {OBJECT END "%%EOF\n1 0 ", PDF_FILE_CUT},
      {OBJECT END "%%EOF\n12", PDF_FILE_CUT},
      {OBJECT END "12", PDF_FILE_CUT},
      {OBJECT END "%%EOF\nxref\n0 1\n", PDF_FILE_CUT}};
  size_t i, len;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *text = cases[i].text;

    assert_int_equal(pdf_file_end(text, strlen(text), &len), cases[i].end);
    if (cases[i].end != PDF_FILE_CUT)
      assert_true(text[len - 1] == '0' && text[len - 2] > '0');
  }
}

/* NULL: nothing is to be corrected. */
static void assert_fixed(const char *text, const char *expected)
{
  size_t len = strlen(text);
  char *fixed = pdf_file_fix_offsets(text, len);

  if (expected == NULL)
    assert_null(fixed);
  else
    assert_memory_equal(fixed, expected, len);
  free(fixed);
}

static void offset_before_a_table_is_that_of_the_table(void **state)
{
#define BLANKS "%PDF-1.7\n  \r\nxref 0 1\ntrailer" /* the table is at 13 */
  static const struct {
    const char *text, *fixed; /* NULL: it is not changed */
  } cases[] = {{BLANKS "<</Prev 11>>startxref\n0\n",
                BLANKS "<</Prev 13>>startxref\n0\n"},
               {BLANKS "<</Prev\n12/A>>startxref 0",
                BLANKS "<</Prev\n13/A>>startxref 0"},
               {BLANKS "<<>>startxref\n11\n", BLANKS "<<>>startxref\n13\n"},
               {BLANKS "<<>>startxref 13 trailer<</Prev 12>>startxref 11",
                BLANKS "<<>>startxref 13 trailer<</Prev 13>>startxref 13"},
               {BLANKS "<</Prev 13>>startxref 13", NULL},
               {BLANKS "<</Prev 14>>startxref 7", NULL},
               {BLANKS "<</Prev 8>>startxref 9", NULL}, /* one digit less */
               {BLANKS "<</Prev 011>>startxref 0", NULL},
               {BLANKS "<</Prev 99>>startxref 99999999999", NULL},
               {BLANKS "<</Prev 11>>", NULL},
               {BLANKS "<<>>startxref", NULL},
               {"%PDF-1.7\n/Prev 11 0 R startxref 11\n  xref", NULL}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    assert_fixed(cases[i].text, cases[i].fixed);
}

/* With object 1 at 9. */
static void table_that_counts_from_1_begins_with_object_0(void **state)
{
#define TABLE(numbers, first, second)                      \
  "%PDF-1.7\n1 0 obj<<>>endobj\nxref\n" numbers "\n" first \
  " 65535 f \n" second " 00000 n \ntrailer<<>>startxref\n27\n"
#define ZERO "0000000000"
#define NINE "0000000009"
  static const char fixed_table[] = TABLE("0 2", ZERO, NINE);
  static const struct {
    const char *text;
    bool is_fixed;
  } cases[] = {{TABLE("1 2", ZERO, NINE), true},
               {TABLE("0 2", ZERO, NINE), false},
               {TABLE("2 2", ZERO, NINE), false},
               {TABLE("11 2", ZERO, NINE), false},
               {TABLE("1 2", "0000000001", NINE), false},
               {TABLE("1 2", ZERO, "0000000010"), false}, /* another object */
               {"%PDF-1.7\nxref\n1", false},
               {"%PDF-1.7\nxref\n1 ", false},
               {"%PDF-1.7\nxref\n1 2\n" ZERO " 65535 f", false}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    assert_fixed(cases[i].text, cases[i].is_fixed ? fixed_table : NULL);
}

static void each_copy_of_an_object_is_counted(void **state)
{
  static const char text[] = "1 0 obj<<>>endobj 2 0 obj\n3 0 R 3 0 object\n"
                             "4 0 obj/a endobj\n2 5 obj 77 0 obj 99999999999 0 "
                             "obj 5 obj";
  static const int counts[] = {0, 1, 2, 0, 1, 0};
  struct pdf_file_copies copies[6] = {{0}};
  size_t start, i;

  (void)state;
  pdf_file_count(text, sizeof(text) - 1, copies, 6);
  for (i = 0; i < 6; i++)
    assert_int_equal(copies[i].count, counts[i]);
  assert_int_equal(copies[1].last, 0);
  assert_memory_equal(text + copies[2].last, "2 5 obj", 7);
  assert_true(pdf_file_has_object(text, sizeof(text) - 1, 0, 1, 0, &start));
  assert_true(pdf_file_has_object(text, sizeof(text) - 1, 17, 2, 0, &start));
  assert_int_equal(start, 18);
  assert_false(pdf_file_has_object(text, sizeof(text) - 1, 0, 1, 1, &start));
  assert_false(pdf_file_has_object(text, sizeof(text) - 1, 0, 2, 0, &start));
  assert_false(pdf_file_has_object(text, sizeof(text) - 1, 1, 1, 0, &start));
  assert_false(pdf_file_has_object(text, sizeof(text) - 1, 9999, 1, 0, &start));
  assert_false(pdf_file_has_object(text, sizeof(text) - 1, -1, 1, 0, &start));
}

static void object_without_its_header_is_a_gap(void **state)
{
#define FIRST "%PDF-1.7\n" OBJECT "xref\ntrailer<<>>\n" END "%%EOF\n"
  static const struct {
    const char *text;
    bool has_gap;
  } cases[] = {{FIRST, false},
               {FIRST "1 0 obX\n<< >>\nendobj\n", false}, /* behind the end */
               {FIRST OBJECT END "%%EOF\n", false},
               {FIRST "% a comment\n" OBJECT OBJECT END, false},
               {FIRST "1 0 obX\n<< >>\nendobj\n" END, true},
               {FIRST "X 0 obj\n<< >>\nendobj\n" END, true},
               {FIRST OBJECT "<< >>\nendobj\n" END, true},
               {FIRST OBJECT "xre\ntrailer<<>>\n" END, true}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    assert_int_equal(pdf_file_has_gap(cases[i].text, strlen(cases[i].text)),
                     cases[i].has_gap);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pdf_begins_at_its_header),
      cmocka_unit_test(pdf_with_a_damaged_header_is_not_text),
      cmocka_unit_test(text_about_pdf_is_text),
      cmocka_unit_test(end_is_behind_the_last_table),
      cmocka_unit_test(offset_before_a_table_is_that_of_the_table),
      cmocka_unit_test(table_that_counts_from_1_begins_with_object_0),
      cmocka_unit_test(each_copy_of_an_object_is_counted),
      cmocka_unit_test(object_without_its_header_is_a_gap),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
