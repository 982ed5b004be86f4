/*
 * test_filter.c - the parts of the filter that can be tested without a
 * document: names, options, and what one filter hands over to the other. The
 * filter is tested by tests/filter/filter_test.sh.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/handover.h"
#include "filter/options.h"
#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "lib/spool/filename.h"

/* Names */

#define PDF "application/pdf"

static const struct {
  const char *title;
  const char *type;
  const char *name;
} names[] = {
    {"chart", PDF, "chart.pdf"},
    {"chart.pdf", PDF, "chart.pdf"},
    {"chart.PDF", PDF, "chart.pdf"},
    {"chart.odt", PDF, "chart.pdf"},
    {"chart.pdf.txt", PDF, "chart.pdf"},
    {"scan.jpeg", "image/jpeg", "scan.jpg"},
    {"scan.png", PDF, "scan.pdf"},
    {"Dr. Smith", PDF, "Dr. Smith.pdf"},
    {"Labs 3.5", PDF, "Labs 3.5.pdf"},
    {"10/03/2026 labs", PDF, "10-03-2026 labs.pdf"},
    {"a\\b", PDF, "a-b.pdf"},
    {"../../etc/passwd", PDF, "-..-etc-passwd.pdf"},
    {"..", PDF, "document.pdf"},
    {"", PDF, "document.pdf"},
    {" ", "image/png", "document.png"},
    {".pdf", PDF, "document.pdf"},
    {".hidden", PDF, "hidden.pdf"},
    {"two\nlines\x7F", PDF, "two lines.pdf"},
    {"B\xC3\xBCro \xF0\x9F\xA9\xBA.doc", PDF,
     "B\xC3\xBCro \xF0\x9F\xA9\xBA.pdf"},
    {"M\xFCller", PDF, "M ller.pdf"},
    {"which?", PDF, "which.pdf"},
    {"\xC0\xAFx", PDF, "x.pdf"},
    {"a\xE0\x80\xAFz", PDF, "a   z.pdf"}, /* overlong */
    {"a\xED\xA0\x80z", PDF, "a   z.pdf"}, /* a surrogate */
    {"a\xF4\x90\x80\x80z", PDF, "a    z.pdf"},
    {"a\xC2\x85z", PDF, "a z.pdf"},
    {"$(reboot) 'x' \"y\"", PDF, "$(reboot) 'x' \"y\".pdf"},
};

static void title_becomes_a_name(void **state)
{
  char name[DX_NAME_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    dx_filename_from_title(names[i].title, names[i].type, name);
    assert_string_equal(name, names[i].name);
  }
}

/* At any length: complete characters, at most 255 bytes. */
static void long_title_is_truncated_at_a_character(void **state)
{
  char title[2000], name[DX_NAME_BYTES];
  size_t shift, i;

  (void)state;
  for (shift = 0; shift < 4; shift++) {
    memset(title, 'x', shift);
    for (i = shift; i + 4 < sizeof(title); i += 4)
      memcpy(title + i, "\xF0\x9F\xA9\xBA", 4);
    title[i] = '\0';
    dx_filename_from_title(title, PDF, name);
    assert_true(strlen(name) <= 255 && strlen(name) > 250);
    assert_true(dx_utf8_is_plain(name));
    assert_string_equal(name + strlen(name) - 4, ".pdf");
  }
}

static void long_title_loses_its_extension_first(void **state)
{
  char title[300], name[DX_NAME_BYTES];

  (void)state;
  memset(title, 'x', 251);
  memcpy(title + 251, ".odt", 5);
  dx_filename_from_title(title, PDF, name);
  assert_int_equal(strlen(name), 255);
  assert_string_equal(name + 250, "x.pdf");
}

static void file_name_has_a_known_extension(void **state)
{
  static const char *const real[] = {"a.pdf", "Labs 3.ODS", "x.y.jpeg"};
  static const char *const made[] = {"",        ".pdf",  "lu1234abc.tmp",
                                     "(stdin)", "chart", "pdf"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(real) / sizeof(real[0]); i++)
    assert_true(dx_filename_is_real(real[i]));
  for (i = 0; i < sizeof(made) / sizeof(made[0]); i++)
    assert_false(dx_filename_is_real(made[i]));
}

static void neutral_name_contains_only_number_and_type(void **state)
{
  char name[DX_NAME_BYTES];

  (void)state;
  dx_filename_neutral(12, "image/jpeg", name);
  assert_string_equal(name, "document-12.jpg");
  dx_filename_neutral(1, "image/png", name);
  assert_string_equal(name, "document-1.png");
  dx_filename_neutral(2, PDF, name);
  assert_string_equal(name, "document-2.pdf");
}

/* Options */

/* A PPD like ours, with these defaults. Removed by the caller. */
static void make_ppd(char path[], const char *grouping, const char *separators)
{
  int fd;
  FILE *file;

  (void)strcpy(path, "/var/tmp/test_filter.XXXXXX");
  fd = mkstemp(path);
  assert_true(fd >= 0);
  file = fdopen(fd, "w");
  assert_non_null(file);
  (void)fprintf(file,
                "*PPD-Adobe: \"4.3\"\n*FormatVersion: \"4.3\"\n"
                "*FileVersion: \"1.0\"\n*LanguageVersion: English\n"
                "*LanguageEncoding: ISOLatin1\n*PCFileName: \"X.PPD\"\n"
                "*Product: \"(x)\"\n*PSVersion: \"(3010.000) 0\"\n"
                "*Manufacturer: \"x\"\n*ModelName: \"x\"\n"
                "*ShortNickName: \"x\"\n*NickName: \"x\"\n"
                "*OpenUI *DocumentGrouping: PickOne\n"
                "*DefaultDocumentGrouping: %s\n"
                "*DocumentGrouping Separate: \"\"\n"
                "*DocumentGrouping Together: \"\"\n"
                "*CloseUI: *DocumentGrouping\n"
                "*OpenUI *CaseSeparators: PickOne\n"
                "*DefaultCaseSeparators: %s\n"
                "*CaseSeparators None: \"\"\n"
                "*CaseSeparators Every1: \"\"\n"
                "*CaseSeparators Every10: \"\"\n"
                "*CloseUI: *CaseSeparators\n"
                "*OpenUI *PageSize: PickOne\n"
                "*DefaultPageSize: Letter\n"
                "*PageSize Letter: \"\"\n*PageSize A4: \"\"\n"
                "*CloseUI: *PageSize\n"
                "*PaperDimension Letter: \"612 792\"\n"
                "*PaperDimension A4: \"595 842\"\n"
                "*ImageableArea Letter: \"0 0 612 792\"\n"
                "*ImageableArea A4: \"0 0 595 842\"\n"
                "*CustomCaseSeparators True: \"pop\"\n"
                "*ParamCustomCaseSeparators Pages: 1 int 1 1000\n",
                grouping, separators);
  assert_int_equal(fclose(file), 0);
}

static const struct {
  const char *grouping; /* of the PPD */
  const char *separators;
  const char *text; /* of the job */
  bool wrong;
  bool together;
  int every;
} jobs[] = {
    {"Separate", "None", "", false, false, 0},
    {"Separate", "None", "copies=3 page-ranges=1-2", false, false, 0},
    {"Separate", "None", "DocumentGrouping=Together", false, true, 0},
    {"Separate", "None", "documentgrouping=together", false, true, 0},
    {"Together", "Every10", "", false, true, 10},
    {"Together", "Every10", "DocumentGrouping=Separate CaseSeparators=None",
     false, false, 0},
    {"Separate", "Custom.7", "", false, false, 7},
    {"Separate", "None", "CaseSeparators=Every1", false, false, 1},
    {"Separate", "None", "CaseSeparators=Custom.1000", false, false, 1000},
    {"Separate", "None", "CaseSeparators={Pages=12}", false, false, 12},
    {"Separate", "None", "CaseSeparators=Custom.1001", true, false, 1001},
    {"Separate", "None", "CaseSeparators=Custom.0", true, false, 0},
    {"Separate", "None", "CaseSeparators=Custom.many", true, false, 0},
    {"Separate", "None", "CaseSeparators=Every7", true, false, 0},
    {"Separate", "Every10", "CaseSeparators=Every7", true, false, 0},
    {"Separate", "None", "DocumentGrouping=Some", true, false, 0},
};

static void job_option_overrides_the_default_of_the_queue(void **state)
{
  struct options options;
  char path[64];
  const char *wrong;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
    make_ppd(path, jobs[i].grouping, jobs[i].separators);
    wrong = options_read(path, jobs[i].text, &options);
    (void)unlink(path);
    if ((wrong != NULL) != jobs[i].wrong ||
        options.together != jobs[i].together || options.every != jobs[i].every)
      fail_msg("'%s': %s, %d", jobs[i].text, wrong, options.every);
  }
}

static const char *read_options(const char *text, struct options *options)
{
  char path[64];
  const char *wrong;

  make_ppd(path, "Separate", "None");
  wrong = options_read(path, text, options);
  (void)unlink(path);
  return wrong;
}

#define RANGES "'page-ranges' is not a list of pages"
#define SET "'page-set' has no such choice"

static const struct {
  const char *text;   /* of the job */
  const char *chosen; /* of the pages 1 to 6; NULL: none of these */
  const char *word;   /* what is wrong, or which options choose */
} choices[] = {
    {"", "111111", NULL},
    {"page-set=all", "111111", NULL},
    {"page-ranges=2-3,5", "011010", "'page-ranges'"},
    {"page-ranges=5,1-2,2", "110010", "'page-ranges'"},
    {"page-ranges=-2,5-", "110011", "'page-ranges'"},
    {"page-ranges=7-9", "000000", "'page-ranges'"},
    {"page-ranges=2-4294967298", "011111", "'page-ranges'"},
    {"page-set=odd", "101010", "'page-set'"},
    {"page-ranges=2-4 page-set=even", "010100", "'page-ranges' and 'page-set'"},
    /* the last one of two counts */
    {"page-ranges=1 page-ranges=3", "001000", "'page-ranges'"},
    {"page-ranges=abc PAGE-RANGES=3", "001000", "'page-ranges'"},
    {"page-set=odd page-set=even", "010101", "'page-set'"},
    /* no sense */
    {"page-ranges=3-1", NULL, RANGES},
    {"page-ranges=abc", NULL, RANGES},
    {"page-ranges=", NULL, RANGES},
    {"page-ranges", NULL, RANGES},
    {"page-ranges=0", NULL, RANGES},
    {"page-ranges=1,", NULL, RANGES},
    {"page-ranges=1-2-3", NULL, RANGES},
    {"page-ranges=3 page-ranges=3-1", NULL, RANGES},
    {"page-set=", NULL, SET},
    {"page-set=first", NULL, SET},
};

static void pages_are_selected_or_the_option_is_reported(void **state)
{
  struct options options;
  char chosen[7] = "";
  const char *wrong, *word;
  size_t i;
  int page;

  (void)state;
  for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
    wrong = read_options(choices[i].text, &options);
    if (choices[i].chosen == NULL) {
      assert_non_null(wrong);
      assert_string_equal(wrong, choices[i].word);
      continue;
    }
    assert_null(wrong);
    for (page = 1; page <= 6; page++)
      chosen[page - 1] = options_choose(&options, page) ? '1' : '0';
    assert_string_equal(chosen, choices[i].chosen);
    word = options_choosing(&options);
    assert_string_equal(word != NULL ? word : "",
                        choices[i].word != NULL ? choices[i].word : "");
  }
}

static void page_ranges_are_limited(void **state)
{
  struct options options;
  char text[300] = "page-ranges=1";
  int i;

  (void)state;
  for (i = 1; i < OPTIONS_RANGES_MAX; i++)
    (void)strcat(text, ",1");
  assert_null(read_options(text, &options));
  (void)strcat(text, ",1");
  assert_string_equal(read_options(text, &options), RANGES);
}

static const struct {
  const char *text;
  double width, height, left, top, cpi, lpi;
  const char *wrong; /* the option that it names */
} layouts[] = {
    {"", 612, 792, 9, 0, 10, 6, NULL},
    {"media=A4 cpi=12 lpi=8", 595, 842, 9, 0, 12, 8, NULL},
    {"PageSize=A4 page-left=72 page-top=36.5", 595, 842, 72, 36.5, 10, 6, NULL},
    {"landscape", 792, 612, 9, 0, 10, 6, NULL},
    {"landscape=false orientation-requested=4", 612, 792, 9, 0, 10, 6, NULL},
    {"landscape=off orientation-requested=4", 612, 792, 9, 0, 10, 6, NULL},
    {"orientation-requested=5", 792, 612, 9, 0, 10, 6, NULL},
    {"orientation-requested=6", 612, 792, 9, 0, 10, 6, NULL},
    {"cpi=0", 612, 792, 9, 0, 0, 6, "'cpi'"},
    {"cpi=ten", 612, 792, 9, 0, 0, 6, "'cpi'"},
    {"cpi=10x", 612, 792, 9, 0, 10, 6, "'cpi'"},
    {"cpi=nan", 612, 792, 9, 0, 0, 6, "'cpi'"},
    {"lpi=101", 612, 792, 9, 0, 10, 0, "'lpi'"},
    {"page-left=-1", 612, 792, 0, 0, 10, 6, "'page-left'"},
    {"page-left=300 page-right=310", 612, 792, 0, 0, 10, 6, "no room"},
    {"page-top=390 page-bottom=400", 612, 792, 0, 0, 10, 6, "no room"},
};

/* An option that only lays out text does not refuse other documents. */
static void text_layout_options_are_parsed(void **state)
{
  struct options options;
  const struct options_text *t = &options.text;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
    assert_null(read_options(layouts[i].text, &options));
    assert_true(t->width == layouts[i].width && t->height == layouts[i].height);
    if (layouts[i].wrong != NULL) {
      assert_non_null(t->wrong);
      assert_non_null(strstr(t->wrong, layouts[i].wrong));
    } else {
      assert_null(t->wrong);
      assert_true(t->left == layouts[i].left && t->top == layouts[i].top &&
                  t->cpi == layouts[i].cpi && t->lpi == layouts[i].lpi);
    }
  }
}

static void missing_ppd_is_an_error(void **state)
{
  struct options options;

  (void)state;
  assert_non_null(options_read("/nonexistent", "", &options));
}

/* docextract submit */
static void without_a_queue_there_are_no_options(void **state)
{
  struct options options = {.together = true, .every = 7};

  (void)state;
  assert_null(options_read(NULL, "CaseSeparators=Every3", &options));
  assert_false(options.together);
  assert_int_equal(options.every, 0);
  assert_true(options.text.width > 0 && options.text.cpi > 0);
}

/* What todocextract-check hands over */

#define SEAL "0123456789abcdef0123456789abcdef"

/* Sets the name of the file. */
static void hand_over(int dirfd, enum dx_reason reason, int page,
                      char name[NAME_MAX + 1])
{
  const struct pdf_done done = {.page = page, .why = "a part is missing"};
  struct dx_temp temp = DX_TEMP_NONE;

  assert_true(handover_begin(&temp, dirfd, SEAL));
  (void)snprintf(name, NAME_MAX + 1, "%s", temp.name);
  assert_int_equal(write(temp.fd, "document", 8), 8);
  assert_true(handover_give(&temp, reason, &done));
}

/* Others can write to that directory, and Ghostscript can write that file. */
static void only_what_was_handed_over_is_taken(void **state)
{
  char dir[TEMP_DIR_BYTES], name[NAME_MAX + 1];
  struct pdf_done done;
  enum dx_reason reason;
  int dirfd, fd;

  (void)state;
  assert_int_equal(temp_dir_make(dir), 0);
  dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(dirfd >= 0);
  hand_over(dirfd, DX_REASON_NONE, 0, name);
  assert_true(handover_take(dirfd, SEAL, &reason, &done, &fd));
  assert_int_equal(reason, DX_REASON_NONE);
  assert_int_equal(close(fd), 0);
  assert_false(handover_take(dirfd, SEAL, &reason, &done, &fd));
  hand_over(dirfd, DX_REASON_DAMAGED, 3, name);
  assert_true(handover_take(dirfd, SEAL, &reason, &done, &fd));
  assert_int_equal(reason, DX_REASON_DAMAGED);
  assert_int_equal(done.page, 3);
  assert_int_equal(fd, -1);
  hand_over(dirfd, DX_REASON_DAMAGED, -1, name);
  assert_true(handover_take(dirfd, SEAL, &reason, &done, &fd));
  assert_int_equal(reason, DX_REASON_TROUBLE);
  assert_int_equal(done.page, 0);
  hand_over(dirfd, DX_REASON_NONE, 0, name);
  assert_int_equal(renameat(dirfd, name, dirfd, "other"), 0);
  assert_int_equal(symlinkat("other", dirfd, name), 0);
  assert_false(handover_take(dirfd, SEAL, &reason, &done, &fd));
  assert_int_equal(renameat(dirfd, "other", dirfd, name), 0);
  if (geteuid() == 0) { /* else no file can be given away */
    assert_int_equal(fchownat(dirfd, name, 65534, (gid_t)-1, 0), 0);
    assert_true(handover_take(dirfd, SEAL, &reason, &done, &fd));
    assert_int_equal(reason, DX_REASON_TROUBLE);
    assert_int_equal(fd, -1);
  }
  assert_int_equal(close(dirfd), 0);
  assert_int_equal(temp_dir_remove(dir), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(title_becomes_a_name),
      cmocka_unit_test(long_title_is_truncated_at_a_character),
      cmocka_unit_test(long_title_loses_its_extension_first),
      cmocka_unit_test(file_name_has_a_known_extension),
      cmocka_unit_test(neutral_name_contains_only_number_and_type),
      cmocka_unit_test(job_option_overrides_the_default_of_the_queue),
      cmocka_unit_test(pages_are_selected_or_the_option_is_reported),
      cmocka_unit_test(page_ranges_are_limited),
      cmocka_unit_test(text_layout_options_are_parsed),
      cmocka_unit_test(missing_ppd_is_an_error),
      cmocka_unit_test(without_a_queue_there_are_no_options),
      cmocka_unit_test(only_what_was_handed_over_is_taken),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
