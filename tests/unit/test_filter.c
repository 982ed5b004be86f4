/*
 * test_filter.c - the parts of the filter that can be tested without a
 * document: names, images, options. The filter is tested by
 * tests/filter/filter_test.sh.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>

#include "filter/image.h"
#include "filter/options.h"
#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "lib/job/filename.h"

/* Names */

#define PDF "application/pdf"
#define FFFD "\xEF\xBF\xBD" /* U+FFFD, the replacement character */

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
    {"caf\xE9", PDF, "caf" FFFD ".pdf"},
    {"\xC0\xAF", PDF, FFFD FFFD ".pdf"},
    {"\xE0\x80\xAF", PDF, FFFD FFFD FFFD ".pdf"}, /* overlong */
    {"\xF0\x80\x80\xAF", PDF, FFFD FFFD FFFD FFFD ".pdf"},
    {"\xED\xA0\x80", PDF, FFFD FFFD FFFD ".pdf"}, /* a surrogate */
    {"\xF4\x90\x80\x80", PDF, FFFD FFFD FFFD FFFD ".pdf"},
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

static void real_name_has_a_known_extension(void **state)
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

static void neutral_name_reveals_only_place_and_type(void **state)
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

/* Images */

static int file_of(const void *bytes, size_t len)
{
  int fd = memfd_create("test", MFD_CLOEXEC);

  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, len), (ssize_t)len);
  return fd;
}

static bool jpeg_is_whole(const void *bytes, size_t len)
{
  int fd = file_of(bytes, len);
  bool whole = image_jpeg_is_whole(fd);

  (void)close(fd);
  return whole;
}

static bool png_is_whole(const void *bytes, size_t len)
{
  int fd = file_of(bytes, len);
  bool whole = image_png_is_whole(fd);

  (void)close(fd);
  return whole;
}

#define SOI "\xFF\xD8"
#define APP1 "\xFF\xE1\x00\x06\xFF\xD9!!" /* contains an EOI marker */
#define SOF "\xFF\xC2\x00\x0B\x08\x00\x01\x00\x01\x01\x01\x11\x00"
#define DHT "\xFF\xC4\x00\x04\x00\x00"
#define SOS "\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00"
#define SCAN "\x12\xFF\x00\x34\xFF\xD0\x56" /* a stuffed byte, a restart */
#define EOI "\xFF\xD9"
#define JPEG SOI APP1 SOF DHT SOS SCAN "\xFF\xFF" DHT SOS SCAN EOI

static void jpeg_needs_its_end(void **state)
{
  static const char jpeg[] = JPEG;
  size_t len;

  (void)state;
  for (len = 0; len < sizeof(jpeg) - 1; len++)
    assert_false(jpeg_is_whole(jpeg, len));
  assert_true(jpeg_is_whole(jpeg, sizeof(jpeg) - 1));
}

static void jpeg_may_have_trailing_bytes(void **state)
{
  static const char jpeg[] = JPEG "\0\0\0SEFT";

  (void)state;
  assert_true(jpeg_is_whole(jpeg, sizeof(jpeg) - 1));
}

static void jpeg_needs_frame_and_scan(void **state)
{
  static const char no_frame[] = SOI SOS SCAN EOI;
  static const char no_scan[] = SOI SOF EOI;
  static const char short_segment[] = SOI SOF "\xFF\xE1\x00\x01" SOS SCAN EOI;
  static const char two_starts[] = SOI SOF SOI SOS SCAN EOI;

  (void)state;
  assert_false(jpeg_is_whole(no_frame, sizeof(no_frame) - 1));
  assert_false(jpeg_is_whole(no_scan, sizeof(no_scan) - 1));
  assert_false(jpeg_is_whole(short_segment, sizeof(short_segment) - 1));
  assert_false(jpeg_is_whole(two_starts, sizeof(two_starts) - 1));
}

static void add_number(struct dx_buf *buf, uint32_t number)
{
  const unsigned char bytes[] = {
      (unsigned char)(number >> 24), (unsigned char)(number >> 16),
      (unsigned char)(number >> 8), (unsigned char)number};

  dx_buf_add(buf, bytes, sizeof(bytes));
}

static void add_chunk(struct dx_buf *buf, const char *type, size_t len)
{
  size_t start = buf->len + 4;

  add_number(buf, (uint32_t)len);
  dx_buf_puts(buf, type);
  while (len-- > 0)
    dx_buf_puts(buf, "d");
  add_number(buf, (uint32_t)crc32(0, (const Bytef *)buf->data + start,
                                  (uInt)(buf->len - start)));
}

/* With `data` bytes, which can exceed the window of the reader. */
static void make_png(struct dx_buf *buf, size_t data)
{
  dx_buf_add(buf, "\x89PNG\r\n\x1A\n", 8);
  add_chunk(buf, "IHDR", 13);
  add_chunk(buf, "tEXt", 5);
  add_chunk(buf, "IDAT", data);
  add_chunk(buf, "IEND", 0);
}

static void png_needs_its_end(void **state)
{
  struct dx_buf buf = {0};
  size_t len;

  (void)state;
  make_png(&buf, 40);
  for (len = 0; len < buf.len; len++)
    assert_false(png_is_whole(buf.data, len));
  assert_true(png_is_whole(buf.data, buf.len));
  dx_buf_puts(&buf, "a tail");
  assert_true(png_is_whole(buf.data, buf.len));
  dx_buf_release(&buf);
}

/* Every byte is covered by a checksum or the structure. */
static void png_with_any_changed_byte_is_damaged(void **state)
{
  struct dx_buf buf = {0};
  size_t i;

  (void)state;
  make_png(&buf, 40);
  for (i = 0; i < buf.len; i++) {
    buf.data[i] ^= 1;
    assert_false(png_is_whole(buf.data, buf.len));
    buf.data[i] ^= 1;
  }
  dx_buf_release(&buf);
}

static void png_larger_than_the_window_is_read(void **state)
{
  struct dx_buf buf = {0};

  (void)state;
  make_png(&buf, 200000);
  assert_true(png_is_whole(buf.data, buf.len));
  assert_false(png_is_whole(buf.data, buf.len - 1));
  dx_buf_release(&buf);
}

static void png_needs_data(void **state)
{
  struct dx_buf buf = {0};

  (void)state;
  dx_buf_add(&buf, "\x89PNG\r\n\x1A\n", 8);
  add_chunk(&buf, "IHDR", 13);
  add_chunk(&buf, "IEND", 0);
  assert_false(png_is_whole(buf.data, buf.len));
  dx_buf_release(&buf);
}

/* GIF and PNM */

#define GIF_HEAD "GIF89a\1\0\1\0\x80\0\0\xFF\xFF\xFF\0\0\0"
#define GIF_NOTE "\x21\xFE\2hi\0"
#define GIF_IMAGE "\x2C\0\0\0\0\1\0\1\0\0\2\2\x4C\1\0"
#define GIF_OWN_COLORS       \
  "\x2C\0\0\0\0\1\0\1\0\x80" \
  "123456\2\2\x4C\1\0"
#define PGM "P5\n# of two\n3 2\n255\n123456"

#define BYTES(text) text, sizeof(text) - 1

static const struct {
  const char *bytes;
  size_t len;
  int images;
} gifs[] = {
    {BYTES(GIF_HEAD GIF_IMAGE ";"), 1},
    {BYTES(GIF_HEAD GIF_IMAGE), 1}, /* many have no trailer */
    {BYTES(GIF_HEAD GIF_NOTE GIF_OWN_COLORS GIF_NOTE ";"), 1},
    {BYTES(GIF_HEAD GIF_IMAGE ";" GIF_IMAGE), 1},
    {BYTES(GIF_HEAD GIF_IMAGE GIF_NOTE GIF_IMAGE ";"), 2},
    {BYTES(GIF_HEAD GIF_IMAGE GIF_IMAGE GIF_IMAGE ";"), 2},
    {BYTES(GIF_HEAD ";"), 0},
    {BYTES(GIF_HEAD GIF_IMAGE "?"), 0},
    {BYTES(""), 0},
};

static const struct {
  const char *bytes;
  size_t len;
  int images;
} pnms[] = {
    {BYTES("P1 3 2 1 0 1 0 1 0"), 1},
    {BYTES("P1\n3 2\n101#x\n010\n"), 1},
    {BYTES("P2 3 1 15 1 2 15"), 1},
    {BYTES("P3 1 1 255 1 2 3\n"), 1},
    {BYTES("P4 9 2\nabcd"), 1},
    {BYTES(PGM), 1},
    {BYTES("P5 3 2 256\n112233445566"), 1},
    {BYTES("P6 1 2 255\n123456\n"), 1},
    {BYTES(PGM PGM), 2},
    {BYTES(PGM "\n" PGM PGM), 2},
    {BYTES("P1 1 1 1 P1 1 1 0"), 2},
    {BYTES(PGM "P5 3"), 0},
    {BYTES("P2 3 1 15 1 2 16"), 0},
    {BYTES("P3 1 1 255 1 2"), 0},
    {BYTES("P4 9 2\nabc"), 0},
    {BYTES("P5 99999999 1 255\n1"), 0},
    {BYTES("P5 0 1 255\n1"), 0},
    {BYTES("P1 Patient"), 0},
    {BYTES(""), 0},
};

static void images_of_a_gif_are_counted(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(gifs) / sizeof(gifs[0]); i++) {
    int fd = file_of(gifs[i].bytes, gifs[i].len);

    assert_int_equal(image_gif_count(fd), gifs[i].images);
    (void)close(fd);
  }
}

static void gif_needs_all_of_its_image(void **state)
{
  static const char gif[] = GIF_HEAD GIF_NOTE GIF_OWN_COLORS;
  size_t len;

  (void)state;
  for (len = 0; len < sizeof(gif) - 1; len++) {
    int fd = file_of(gif, len);

    assert_int_equal(image_gif_count(fd), 0);
    (void)close(fd);
  }
}

static void images_of_a_pnm_are_counted(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(pnms) / sizeof(pnms[0]); i++) {
    int fd = file_of(pnms[i].bytes, pnms[i].len);

    assert_int_equal(image_pnm_count(fd), pnms[i].images);
    (void)close(fd);
  }
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
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(title_becomes_a_name),
      cmocka_unit_test(long_title_is_truncated_at_a_character),
      cmocka_unit_test(long_title_loses_its_extension_first),
      cmocka_unit_test(real_name_has_a_known_extension),
      cmocka_unit_test(neutral_name_reveals_only_place_and_type),
      cmocka_unit_test(jpeg_needs_its_end),
      cmocka_unit_test(jpeg_may_have_trailing_bytes),
      cmocka_unit_test(jpeg_needs_frame_and_scan),
      cmocka_unit_test(png_needs_its_end),
      cmocka_unit_test(png_with_any_changed_byte_is_damaged),
      cmocka_unit_test(png_larger_than_the_window_is_read),
      cmocka_unit_test(png_needs_data),
      cmocka_unit_test(images_of_a_gif_are_counted),
      cmocka_unit_test(gif_needs_all_of_its_image),
      cmocka_unit_test(images_of_a_pnm_are_counted),
      cmocka_unit_test(job_option_overrides_the_default_of_the_queue),
      cmocka_unit_test(missing_ppd_is_an_error),
      cmocka_unit_test(without_a_queue_there_are_no_options),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
