/*
 * test_text.c - plain text and values of forms as PDF pages, through the module
 * and in the sandbox that they are made in, and read back with pdftotext.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/text.h"
#include "lib/base/sandbox.h"

#define OUTPUT_BYTES 1000000
#define MISSING "no font has the character "

struct result {
  enum dx_reason reason;
  struct pdf_done done;
};

static const struct text_module *module;
static struct result *result; /* shared with the child */
static char output[OUTPUT_BYTES];
static int pdf = -1;

static const struct options usual = {
    .text = {612, 792, 9, 9, 0, 0, 10, 6, DX_TEXT_AUTO, NULL}};

/* Makes the file `pdf` and *result in a child. */
static void make_pdf(const char *bytes, size_t len,
                     const struct options *options,
                     const struct text_value *values, size_t count)
{
  int status;
  pid_t child;

  if (pdf >= 0)
    (void)close(pdf);
  pdf = memfd_create("pdf", 0);
  assert_true(pdf >= 0);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (dx_sandbox_enter() == 0)
      _exit(1);
    result->reason =
        values != NULL
            ? module->values_to_pdf(values, count, pdf, &result->done)
            : module->to_pdf((const unsigned char *)bytes, len, options, pdf,
                             &result->done);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static enum dx_reason print_text(const char *text)
{
  make_pdf(text, strlen(text), &usual, NULL, 0);
  return result->reason;
}

/* What a program prints about the PDF, in `output`. */
static const char *run_poppler(const char *program)
{
  char command[100];
  FILE *pipe;
  size_t n;

  (void)snprintf(command, sizeof(command), "%s /proc/%d/fd/%d %s", program,
                 (int)getpid(), pdf,
                 strncmp(program, "pdftotext", 9) == 0 ? "-" : "");
  pipe = popen(command, "r");
  assert_non_null(pipe);
  n = fread(output, 1, sizeof(output) - 1, pipe);
  output[n] = '\0';
  assert_int_equal(pclose(pipe), 0);
  return output;
}

/* Without white space, control characters, and U+200E to U+202E. */
static char *bare(char *text)
{
  char *from, *to = text;

  for (from = text; *from != '\0'; from++)
    if (strncmp(from, "\u200E", 2) == 0 &&
        ((from[2] & 0xFF) == 0x8E || (from[2] & 0xFF) == 0x8F ||
         ((from[2] & 0xFF) >= 0xAA && (from[2] & 0xFF) <= 0xAE)))
      from += 2;
    else if ((unsigned char)*from > ' ' && *from != 0x7F)
      *to++ = *from;
  *to = '\0';
  return text;
}

static void assert_bare(char *actual, const char *expected)
{
  char *want = bare(strdup(expected));

  assert_string_equal(bare(actual), want);
  free(want);
}

static void assert_reads(const char *program, const char *expected)
{
  (void)run_poppler(program);
  assert_bare(output, expected);
}

/* Splits the output, and returns the next page of it. */
static char *next_page(char **rest, const char *end)
{
  char *page = *rest, *at = strstr(page, end);

  assert_non_null(at);
  *at = '\0';
  *rest = at + strlen(end);
  return page;
}

/* The smallest and the largest x or y of all words of pdftotext's text. */
static void read_edges(const char *text, const char *least, const char *most,
                       double edges[2])
{
  const char *at;
  double d;

  edges[0] = 1e9;
  edges[1] = -1e9;
  for (at = text; (at = strstr(at, least)) != NULL; at++) {
    d = strtod(at + strlen(least), NULL);
    edges[0] = d < edges[0] ? d : edges[0];
  }
  for (at = text; (at = strstr(at, most)) != NULL; at++) {
    d = strtod(at + strlen(most), NULL);
    edges[1] = d > edges[1] ? d : edges[1];
  }
}

static void find_edges(const char *least, const char *most, double edges[2])
{
  (void)run_poppler("pdftotext -bbox");
  read_edges(output, least, most, edges);
}

/* The text that is extracted, and the missing part. */
static const struct {
  const char *text;
  const char *expected;
} texts[] = {
    {"Patient: Anna Muster\nDOB: 1970-01-01\n", NULL},
    {"Łukasz Żółć, José ½ µg/dl 37.5 °C", NULL},
    {"αβγ Ωμέγα\nКириллица Дж\n", NULL},
    {"│ a ┌──┐ ╔═╗ █▓▒░ └──┘ │\n", NULL},
    /* letters with one mark and with several, and a mark alone */
    {"e\u0301 A\u0301 o\u0323 a\u0323\u0302 A\u030A\n", NULL},
    {"\u0301 alone", NULL},
    {"soft\u00ADhyphen zero\u200Bwidth a\uFE0F z", "soft\u00ADhyphenzero"
                                                   "\u200Bwidtha\uFE0Fz"},
    {"\uFEFFmark of the beginning", "mark of the beginning"},
    /* Windows-1252, of which Latin-1 is a part */
    {"Jos\xE9 \xA1\xAD\xFF", "José ¡\u00ADÿ"},
    {"\x80 \x93quoted\x94 \x9F", "€ “quoted” Ÿ"},
    {"\xC3 \xC0\xAF", "Ã À¯"},
    {"A\xC3", "AÃ"},
    /* ends of lines, tabs, other white space */
    {"a\rb\r\nc\vd\xC2\x85"
     "e\u2028f\tg\u3000h\u00A0i",
     "abcdefghi"},
    /* a hyphen is not removed at the end of a line */
    {"Rh: -\nK: 4\n-----\nz: \n", NULL},
    /* overstrikes */
    {"N\bNa\bam\bme\be _\bx y\b_ _\b_\b_ z", "Namexy_z"},
    {"__\b\bab ab\b\b__ 12\b\b12 12\b\b12\b\b12", "abab1212"},
    {"   \b\b\babc \bx", "abcx"},
    {"😀\b😀😷\b\b😷 __\b\b😀 😷\b\b__x", "😀😷😀😷x"},
    {"\b\bx\bx", "x"},
    {"e\u0301\b_f", "e\u0301f"},
    /* control characters */
    {"\x02"
     "abcd\x0F\x0E\x12\x14\x03\x1A",
     "abcd"},
    /* MLLP */
    {"\x0BMSH|^~\\&|A\rPID|1\r\x1C\r", "MSH|^~\\&|APID|1"},
    /* colors, and resets of a printer that prints nothing else */
    {"\x1B[1;31mHigh\x1B[0m 5.40\x1B[m \x1B[38:5:1mx", "High5.40x"},
    {"\x1B@WBC 5.40\x1B"
     "E",
     "WBC5.40"},
    {"\r\n\x1B"
     "E\x1B@\x0FWBC 5.40\r\n\f\x1B@\x1B"
     "E\r\n\x1A",
     "WBC5.40"},
    {"x\u202Babc\u202C y\u2067def\u2069 z", "xabcydefz"},
    /* right to left: letters, vowels, both directions, punctuation */
    {"שלום עולם\n", NULL},
    {"שָׁלוֹם", NULL},
    {"מטופל: 12345, גיל 45.\nName: משה (abc)!\n", NULL},
    {"Name: שלום, next \"עולם\" 5 mg %7\n", NULL},
    {"English text, more than the rest\nשלום, עולם (abc) 12.5 mg?\n", NULL},
    {"עברית ארוכה יותר מכל השאר כאן\nabc! שלום 5 mg (def).\n", NULL},
    {"مرحبا بالعالم لا 123\n", NULL},
    {"مُحَمَّد abc ٣٤٥\n", NULL},
};

static void characters_are_extracted_in_order(void **state)
{
  const char *expected;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    if (print_text(texts[i].text) != DX_REASON_NONE)
      fail_msg("row %zu: %s", i, texts[i].text);
    expected = texts[i].expected != NULL ? texts[i].expected : texts[i].text;
    assert_reads("pdftotext", expected);
    assert_reads("pdftotext -layout", expected);
  }
}

/* How many pixels of the page are dark. */
static size_t ink_of(const char *text)
{
  size_t i, n = 0;

  assert_int_equal(print_text(text), DX_REASON_NONE);
  (void)run_poppler("pdftoppm -r 72 -gray");
  for (i = 20; i < (size_t)612 * 792; i++) /* behind the header */
    n += (unsigned char)output[i] < 128;
  return n;
}

static void what_is_underlined_keeps_its_line(void **state)
{
  size_t plain = ink_of("WBC <5.40"), less_or_equal = ink_of("WBC <\b_5.40");

  (void)state;
  assert_true(less_or_equal > plain);
  assert_int_equal(ink_of("WBC _\b<5.40"), less_or_equal);
  assert_true(ink_of("_\bW_\bB_\bC_\b _\b<5.40") > less_or_equal);
  assert_int_equal(ink_of("<\b<"), ink_of("<"));
  assert_int_equal(ink_of("_\b_"), ink_of("_"));
}

/* Also with a line of the message. */
static const struct {
  const char *text, *why;
} overstrikes[] = {
    {"\nWBC 5.40\b\b\b\b9.99", "line 2 has characters printed over others"},
    {"x\b\b\b\b\b\by", "line 1 has characters printed over others"},
    {"5.40X\b \b", "line 1 has characters printed over others"},
    {"7\b_\b1", "line 1 has characters printed over others"},
    {"a\r\nb\r\n😀\b😷", "line 3 has characters printed over others"},
    {"__\b\b😀\b/", "line 1 has characters printed over others"},
    {"a\b/", "line 1 has characters printed over others"},
};

static void overstrike_that_cannot_be_read_is_refused(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(overstrikes) / sizeof(overstrikes[0]); i++) {
    assert_int_equal(print_text(overstrikes[i].text), DX_REASON_CODES);
    assert_string_equal(result->done.why, overstrikes[i].why);
  }
}

/* test_reading.c has the rules. */
static void reason_of_a_refusal_has_its_line(void **state)
{
  (void)state;
  assert_int_equal(print_text("a\nWBC \x1B"
                              "45.40\x1B"
                              "5"),
                   DX_REASON_CODES);
  assert_string_equal(result->done.why, "line 2 has a printer command");
  assert_int_equal(print_text("a\nM\x81ller"), DX_REASON_ENCODING);
  assert_string_equal(result->done.why, "the encoding of line 2 is unknown");
}

static void text_is_read_in_the_selected_encoding(void **state)
{
  (void)state;
  assert_true(module->open_encoding(DX_TEXT_CP850));
  assert_int_equal(print_text("M\x81ller"), DX_REASON_NONE);
  assert_reads("pdftotext", "Müller");
  assert_true(module->open_encoding(DX_TEXT_SHIFT_JIS));
  assert_int_equal(print_text("a\n\x8A"), DX_REASON_ENCODING);
  assert_string_equal(result->done.why,
                      "line 2 is not valid in the encoding 'Shift_JIS'");
  assert_true(module->open_encoding(DX_TEXT_AUTO));
  make_pdf("\xFF\xFEJ\0\xE9\0", 6, &usual, NULL, 0);
  assert_int_equal(result->reason, DX_REASON_NONE);
  assert_reads("pdftotext", "Jé");
}

static void white_space_keeps_its_meaning(void **state)
{
  (void)state;
  assert_int_equal(print_text("1234567890\r\na\tb\r\nc\vd\xC2\x85"
                              "e\u2028f\rg\u00A0h"),
                   DX_REASON_NONE);
  assert_non_null(strstr(run_poppler("pdftotext -layout"),
                         "1234567890\na       b\nc\nd\ne\nf\ng h\n"));
}

static void words_are_not_split(void **state)
{
  (void)state;
  assert_int_equal(print_text("Sodium\t\t140 mmol/l Ab\ncde\u0301f g"),
                   DX_REASON_NONE);
  (void)run_poppler("pdftotext -layout");
  assert_non_null(strstr(output, "   140 mmol/l Ab\n"));
  assert_non_null(strstr(output, "cde\u0301f "));
  assert_int_equal(print_text("שלום עולם"), DX_REASON_NONE);
  assert_non_null(strstr(run_poppler("pdftotext"), "שלום עולם"));
  assert_int_equal(print_text("حامض أبيض أحمد"), DX_REASON_NONE);
  assert_non_null(strstr(run_poppler("pdftotext"), "حامض أبيض أحمد"));
  assert_int_equal(print_text("שלום עולם - abc - def"), DX_REASON_NONE);
  assert_non_null(strstr(run_poppler("pdftotext"), "- abc - def"));
}

/* At words; a word longer than a line is divided. */
static void long_lines_are_wrapped(void **state)
{
  char text[3001], expected[3001];
  double edges[2];
  size_t i;

  (void)state;
  for (i = 0; i < 3000; i++)
    text[i] = i < 2000 && i % 7 == 6 ? ' ' : (char)('a' + i % 26);
  text[3000] = '\0';
  (void)strcpy(expected, text);
  assert_int_equal(print_text(text), DX_REASON_NONE);
  assert_reads("pdftotext", expected);
  find_edges("xMin=\"", "xMax=\"", edges);
  assert_true(edges[0] >= 8.9 && edges[1] <= 603.1);
  assert_int_equal(print_text("12345678 12345678 12345678 12345678 12345678 "
                              "12345678 12345678 12345678 12345678 12345"),
                   DX_REASON_NONE);
  (void)run_poppler("pdftotext -layout");
  assert_non_null(strstr(output, "12345678\n12345\n"));
}

/* A word that is longer than a line is divided between the fields of HL7 and
 * tables, then before a number; whatever column the line ends in. */
static void values_are_not_divided(void **state)
{
  static const char *const values[] = {"|1.2e-10|",
                                       "|5'000|",
                                       "|10*3/uL|",
                                       "|E11.9|",
                                       "|H5.40|",
                                       "|\u2264"
                                       "5.4|",
                                       "|5\u2013"
                                       "10|",
                                       "~10^3/uL&",
                                       "a5.40b"};
  char text[200], *end;
  size_t i;
  int before;

  (void)state;
  for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
    for (before = 72; before < 83; before++) {
      memset(text, 'a', (size_t)before);
      (void)snprintf(text + before, sizeof(text) - (size_t)before, "%sb",
                     values[i]);
      assert_int_equal(print_text(text), DX_REASON_NONE);
      (void)snprintf(text, sizeof(text), "%s", values[i] + 1);
      end = text + strlen(text) - 1;
      *end = '\0';
      if (strstr(run_poppler("pdftotext"), text) == NULL)
        fail_msg("%d, %s: %s", before, values[i], output);
    }
}

static int pages_of(const char *text)
{
  int pages = -1;
  const char *line;

  assert_int_equal(print_text(text), DX_REASON_NONE);
  line = strstr(run_poppler("pdfinfo"), "Pages:");
  assert_non_null(line);
  pages = atoi(line + 6);
  assert_int_equal(pages, result->done.pages);
  return pages;
}

static void form_feeds_and_full_pages_end_a_page(void **state)
{
  char text[400] = "";
  int i;

  (void)state;
  assert_int_equal(pages_of("a\fb\f"), 2);
  assert_int_equal(pages_of("\fa\f\fb\n\n\n"), 4);
  for (i = 0; i < 66; i++)
    (void)strcat(text, "x\n");
  assert_int_equal(pages_of(text), 1);
  (void)strcat(text, "\fy\n");
  assert_int_equal(pages_of(text), 2);
  (void)strcpy(strstr(text, "\f"), "y\n");
  assert_int_equal(pages_of(text), 2);
}

static void only_chosen_pages_are_written(void **state)
{
  struct options options = usual;

  (void)state;
  options.range_count = 1;
  options.ranges[0] = (struct page_range){2, 3};
  make_pdf("one\ftwo\fthree\ffour", 18, &options, NULL, 0);
  assert_int_equal(result->reason, DX_REASON_NONE);
  assert_int_equal(result->done.pages, 2);
  assert_reads("pdftotext", "two three");
  options.ranges[0] = (struct page_range){7, 9};
  make_pdf("one\ftwo", 7, &options, NULL, 0);
  assert_int_equal(result->reason, DX_REASON_NO_PAGES);
}

static void white_space_is_empty(void **state)
{
  (void)state;
  assert_int_equal(print_text(""), DX_REASON_EMPTY);
  assert_int_equal(print_text(" \t\r\n\f\u3000\u00A0\f"), DX_REASON_EMPTY);
  assert_int_equal(print_text("\uFEFF\x01"), DX_REASON_EMPTY);
}

static void character_without_a_font_is_reported(void **state)
{
  (void)state;
  assert_int_equal(print_text("a\nb \U0010FFFDz"), DX_REASON_CHARACTERS);
  assert_string_equal(result->done.why, MISSING "U+10FFFD");
  assert_int_equal(print_text("\U0010FFFC"), DX_REASON_CHARACTERS);
  assert_string_equal(result->done.why, MISSING "U+10FFFC");
}

/* A file of `count` bytes with an "x" at either end. */
static enum dx_reason print_many(char byte, size_t count)
{
  char *text = malloc(count + 1);

  assert_non_null(text);
  memset(text, byte, count);
  text[0] = text[count - 1] = 'x';
  text[count] = '\0';
  (void)print_text(text);
  free(text);
  return result->reason;
}

static void size_is_limited(void **state)
{
  char text[20001] = "x";
  size_t i;

  (void)state;
  assert_int_equal(print_many('\f', 1000000), DX_REASON_TOO_COMPLEX);
  assert_int_equal(print_many('\f', 1000), DX_REASON_NONE);
  assert_int_equal(print_many('\n', 20000000), DX_REASON_TOO_COMPLEX);
  assert_int_equal(print_many('\t', 1000000), DX_REASON_NONE);
  assert_int_equal(print_many('\b', 1000000), DX_REASON_NONE);
  for (i = 1; i + 2 < sizeof(text); i += 2)
    memcpy(text + i, "\u0301", 2);
  assert_int_equal(print_text(text), DX_REASON_TOO_COMPLEX);
  (void)strcpy(text + 8191, "\t"); /* where the limit of a line is reached */
  assert_int_equal(print_text(text), DX_REASON_TOO_COMPLEX);
}

static void as_many_pages_are_written_as_the_limit_says(void **state)
{
  struct options options = usual;
  char text[TEXT_PAGES_MAX + 1];

  (void)state;
  memset(text, '\f', sizeof(text));
  text[TEXT_PAGES_MAX - 1] = 'x';
  options.range_count = 1;
  options.ranges[0] = (struct page_range){TEXT_PAGES_MAX, TEXT_PAGES_MAX};
  make_pdf(text, TEXT_PAGES_MAX, &options, NULL, 0);
  assert_int_equal(result->reason, DX_REASON_NONE);
  assert_int_equal(result->done.pages, 1);
  text[TEXT_PAGES_MAX - 1] = '\f';
  text[TEXT_PAGES_MAX] = 'x';
  make_pdf(text, TEXT_PAGES_MAX + 1, &options, NULL, 0);
  assert_int_equal(result->reason, DX_REASON_TOO_COMPLEX);
}

static void backspaces_end_at_the_margin(void **state)
{
  double edges[2];

  (void)state;
  assert_int_equal(print_text("\b\babc"), DX_REASON_NONE);
  find_edges("xMin=\"", "xMax=\"", edges);
  assert_true(edges[0] > 8.9);
}

static void same_text_gives_the_same_bytes(void **state)
{
  struct stat first, second;
  char *a, *b;
  int old;

  (void)state;
  assert_int_equal(print_text("a é שלום e\u0301\fz"), DX_REASON_NONE);
  old = dup(pdf);
  assert_null(strstr(run_poppler("pdfinfo"), "Date"));
  assert_int_equal(print_text("a é שלום e\u0301\fz"), DX_REASON_NONE);
  assert_int_equal(fstat(old, &first), 0);
  assert_int_equal(fstat(pdf, &second), 0);
  assert_int_equal(first.st_size, second.st_size);
  a = mmap(NULL, (size_t)first.st_size, PROT_READ, MAP_PRIVATE, old, 0);
  b = mmap(NULL, (size_t)first.st_size, PROT_READ, MAP_PRIVATE, pdf, 0);
  assert_memory_equal(a, b, (size_t)first.st_size);
  (void)close(old);
}

static void page_margins_and_pitches_are_honored(void **state)
{
  struct options options = usual;
  double edges[2];
  char text[500] = "";
  int i;

  (void)state;
  for (i = 0; i < 60; i++)
    (void)strcat(text, i % 12 == 11 ? "xxxx\n" : "abcd ");
  options.text = (struct options_text){842, 595, 72, 36,           144,
                                       18,  20,  12, DX_TEXT_AUTO, NULL};
  make_pdf(text, strlen(text), &options, NULL, 0);
  assert_int_equal(result->reason, DX_REASON_NONE);
  assert_non_null(strstr(run_poppler("pdfinfo"), "842 x 595"));
  find_edges("xMin=\"", "xMax=\"", edges);
  assert_true(fabs(edges[0] - 72) < 0.1 &&
              fabs(edges[1] - (72 + 59 * 3.6)) < 0.1);
  read_edges(output, "yMin=\"", "yMin=\"", edges); /* five lines of 6 points */
  assert_true(fabs(edges[0] - 144) < 2 && fabs(edges[1] - edges[0] - 24) < 0.1);
  assert_non_null(strstr(run_poppler("pdftotext"), "abcd abcd"));
}

/* Values */

static void print_value(struct text_value v)
{
  make_pdf(NULL, 0, NULL, &v, 1);
  assert_int_equal(result->reason, DX_REASON_NONE);
  assert_int_equal(result->done.pages, 1);
}

/* Each value has a page of its own size. */
static void value_fits_its_box(void **state)
{
  static const char *const texts_of_values[] = {
      "x", "Łukasz Żółć", "שלום עולם", "a very long value that has no room",
      "several words, line\nand paragraphs\r\fof a note, with more of it and "
      "still more than there is room for at its size"};
  static const double sizes[][2] = {{200, 20}, {50, 40}, {20, 300}};
  struct text_value values[5 * 3 * 4];
  double edges[2];
  size_t i, n = sizeof(values) / sizeof(values[0]);
  char *rest, *page;

  (void)state;
  for (i = 0; i < n; i++)
    values[i] = (struct text_value){.utf8 = texts_of_values[i / 12],
                                    .width = sizes[i / 4 % 3][0],
                                    .height = sizes[i / 4 % 3][1],
                                    .size = i % 4 < 2 ? 12 : 0,
                                    .align = (int)(i % 4) % 3,
                                    .multiline = i % 2 != 0};
  make_pdf(NULL, 0, NULL, values, n);
  assert_int_equal(result->reason, DX_REASON_NONE);
  assert_int_equal(result->done.pages, n);
  (void)run_poppler("pdftotext");
  rest = output;
  for (i = 0; i < n; i++)
    assert_bare(next_page(&rest, "\f"), values[i].utf8);
  (void)run_poppler("pdftotext -bbox");
  rest = output;
  for (i = 0; i < n; i++) {
    page = next_page(&rest, "</page>");
    read_edges(page, "xMin=\"", "xMax=\"", edges);
    assert_true(edges[0] >= 0 && edges[1] <= values[i].width);
    read_edges(page, "yMin=\"", "yMax=\"", edges);
    assert_true(edges[0] >= -0.5 && edges[1] <= values[i].height + 0.5);
  }
}

static void value_is_aligned(void **state)
{
  struct text_value v = {"abc", 200, 20, 10, false, 0, 0, {0, 0, 0}};
  double edges[2];

  (void)state;
  print_value(v);
  find_edges("xMin=\"", "xMax=\"", edges);
  assert_true(edges[0] < 3);
  v.align = 1;
  print_value(v);
  find_edges("xMin=\"", "xMax=\"", edges);
  assert_true(fabs(edges[0] + edges[1] - 200) < 0.5);
  v.align = 2;
  print_value(v);
  find_edges("xMin=\"", "xMax=\"", edges);
  assert_true(edges[1] > 197 && edges[1] < 200);
  v.multiline = true;
  v.utf8 = "abc\nlonger";
  v.height = 40;
  print_value(v);
  find_edges("xMax=\"", "xMax=\"", edges);
  assert_true(edges[0] > 192 && edges[1] - edges[0] < 0.5);
}

/* Also one that is longer than its comb. */
static void comb_has_a_character_in_each_cell(void **state)
{
  struct text_value v = {"123", 100, 20, 10, false, 5, 0, {0, 0, 0}};
  double edges[2];

  (void)state;
  print_value(v);
  assert_reads("pdftotext", "123");
  find_edges("xMin=\"", "xMin=\"", edges);
  assert_true(fabs(edges[1] - edges[0] - 2 * 96.0 / 5) < 0.5);
  v.utf8 = "1234567890";
  print_value(v);
  assert_reads("pdftotext", "1234567890");
}

static void value_without_a_font_is_reported(void **state)
{
  const struct text_value v[] = {
      {"abc", 100, 20, 10, false, 0, 0, {0, 0, 0}},
      {"\U0010FFFC", 100, 20, 10, false, 0, 0, {0, 0, 0}}};

  (void)state;
  make_pdf(NULL, 0, NULL, v, 2);
  assert_int_equal(result->reason, DX_REASON_CHARACTERS);
  assert_string_equal(result->done.why, MISSING "U+10FFFC");
  assert_int_equal(result->done.pages, 1); /* the value with this index */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(characters_are_extracted_in_order),
      cmocka_unit_test(what_is_underlined_keeps_its_line),
      cmocka_unit_test(overstrike_that_cannot_be_read_is_refused),
      cmocka_unit_test(reason_of_a_refusal_has_its_line),
      cmocka_unit_test(text_is_read_in_the_selected_encoding),
      cmocka_unit_test(white_space_keeps_its_meaning),
      cmocka_unit_test(words_are_not_split),
      cmocka_unit_test(long_lines_are_wrapped),
      cmocka_unit_test(values_are_not_divided),
      cmocka_unit_test(form_feeds_and_full_pages_end_a_page),
      cmocka_unit_test(only_chosen_pages_are_written),
      cmocka_unit_test(white_space_is_empty),
      cmocka_unit_test(character_without_a_font_is_reported),
      cmocka_unit_test(size_is_limited),
      cmocka_unit_test(as_many_pages_are_written_as_the_limit_says),
      cmocka_unit_test(backspaces_end_at_the_margin),
      cmocka_unit_test(same_text_gives_the_same_bytes),
      cmocka_unit_test(page_margins_and_pitches_are_honored),
      cmocka_unit_test(value_fits_its_box),
      cmocka_unit_test(value_is_aligned),
      cmocka_unit_test(comb_has_a_character_in_each_cell),
      cmocka_unit_test(value_without_a_font_is_reported),
  };

  module = text_module();
  result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (module == NULL || result == MAP_FAILED)
    return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
