/*
 * test_pictures.c - GIF and PNM become a PDF with the same pixels. TIFF is
 * tested by tests/filter/tiff_test.sh.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gif_lib.h>
#include <zlib.h>

#include "filter/image_pdf.h"

/* giflib 5.2.2 loses the colors of an image that ends early. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
  return "leak:libgif";
}

static int file_of(const void *bytes, size_t len)
{
  int fd = memfd_create("picture", 0);

  assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
  return fd;
}

/* The pixels of the image in the PDF, as bytes: the colors, or bits as stored.
 * Returns how many. */
static size_t pixels_of(int fd, unsigned char *pixels, size_t room)
{
  static char pdf[65536];
  ssize_t len = pread(fd, pdf, sizeof(pdf), 0);
  const char *at = memmem(pdf, (size_t)len, "/Subtype/Image", 14);
  const char *stream = strstr(at, "stream\n") + 7;
  uLongf size = room;
  size_t columns = (size_t)atoi(strstr(at, "/Width ") + 7), i;
  size_t step = strstr(at, "/DeviceRGB") != NULL ? 3 : 1;

  assert_int_equal(uncompress(pixels, &size, (const unsigned char *)stream,
                              (uLong)(pdf + len - stream)),
                   Z_OK);
  if (strstr(at, "/Predictor 2") != NULL)
    for (i = 0; i < size; i++)
      if (i % (columns * step) >= step)
        pixels[i] = (unsigned char)(pixels[i] + pixels[i - step]);
  return size;
}

/* Expects the reason, and if it is NONE, the pixels. */
static void expect(image_pdf_source *source, const void *bytes, size_t len,
                   enum dx_reason reason, const void *pixels, size_t count)
{
  unsigned char got[4096];
  struct pdf_done done;
  struct pdf_task task = {.spare_fd = file_of("", 0)};

  assert_int_equal(image_pdf_make(&task, bytes, len, source, &done), reason);
  if (reason == DX_REASON_NONE) {
    assert_int_equal(done.pages, 1);
    assert_int_equal(pixels_of(task.spare_fd, got, sizeof(got)), count);
    assert_memory_equal(got, pixels, count);
  }
  if (reason == DX_REASON_DAMAGED)
    assert_true(done.why[0] != '\0');
  (void)close(task.spare_fd);
}

#define BYTES(text) text, sizeof(text) - 1

/* ---- PNM ---- */

#define PGM "P5\n# of two\n3 2\n255\n123456"

static const struct {
  const char *bytes;
  size_t len;
  enum dx_reason reason;
  const char *pixels;
  size_t count;
} pnms[] = {
    {BYTES("P1 3 2 1 0 1 0 1 0"), DX_REASON_NONE, BYTES("\xFF\0\xFF\0\xFF\0")},
    {BYTES("P1\n3 2\n101#x\n010\n"), DX_REASON_NONE,
     BYTES("\xFF\0\xFF\0\xFF\0")},
    {BYTES("P2 3 1 15 1 2 15"), DX_REASON_NONE, BYTES("\x11\x22\xFF")},
    {BYTES("P2 2 1 2 1 2"), DX_REASON_NONE, BYTES("\x80\xFF")},
    {BYTES("P2 1 1#x\r255 7"), DX_REASON_NONE, BYTES("\7")},
    {BYTES("P2 2 1 65535 0 65535"), DX_REASON_NONE, BYTES("\0\xFF")},
    {BYTES("P2 2 1 255 0000000001 2"), DX_REASON_NONE, BYTES("\1\2")},
    {BYTES("P3 1 2 255 1 2 3\n4 5 6"), DX_REASON_NONE, BYTES("\1\2\3\4\5\6")},
    {BYTES("P4 9 2\nabcd"), DX_REASON_NONE, BYTES("abcd")},
    {BYTES(PGM), DX_REASON_NONE, BYTES("123456")},
    {BYTES("P5 2 1 510\n\0\2\1\xFE"), DX_REASON_NONE, BYTES("\1\xFF")},
    {BYTES("P6 2 1 255\n123456\n"), DX_REASON_NONE, BYTES("123456")},
    {BYTES(PGM "garbage"), DX_REASON_NONE, BYTES("123456")},
    {BYTES(PGM PGM), DX_REASON_IMAGES, NULL, 0},
    {BYTES(PGM "\n" PGM PGM), DX_REASON_IMAGES, NULL, 0},
    {BYTES("P1 1 1 1 P1 1 1 0"), DX_REASON_IMAGES, NULL, 0},
    {BYTES("P2 3 1 15 1 2 16"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P3 1 1 255 1 2"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P4 9 2\nabc"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P5 1 1 256\n\1\1"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P5 99999999 1 255\n1"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P5 0 1 255\n1"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P5 1 1 0\n1"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P5 1 1 255"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P7 1 1 255\n1"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P1 Patient"), DX_REASON_DAMAGED, NULL, 0},
    {BYTES("P1"), DX_REASON_DAMAGED, NULL, 0},
};

static void pnm_with_one_image_keeps_its_pixels(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(pnms) / sizeof(pnms[0]); i++)
    expect(image_pdf_pnm, pnms[i].bytes, pnms[i].len, pnms[i].reason,
           pnms[i].pixels, pnms[i].count);
}

/* ---- GIF ---- */

#define GIF_HEAD "GIF89a\1\0\1\0\x80\0\0\xFF\xFF\xFF\1\2\3"
#define GIF_NOTE "\x21\xFE\2hi\0"
#define GIF_IMAGE "\x2C\0\0\0\0\1\0\1\0\0\2\2\x4C\1\0"
#define GIF_NO_END "\x2C\0\0\0\0\1\0\1\0\0\2\1\x0C\0"
#define GIF_EMPTY "\x21\xFE\0"
#define GIF_OWN_COLORS       \
  "\x2C\0\0\0\0\1\0\1\0\x80" \
  "123456\2\2\x4C\1\0"
#define GIF_UNNAMED_COLOR "\x2C\0\0\0\0\1\0\1\0\0\2\2\x5C\1\0" /* 3 of 2 */

static const struct {
  const char *bytes;
  size_t len;
  enum dx_reason reason;
  const char *pixels;
} gifs[] = {
    {BYTES(GIF_HEAD GIF_IMAGE ";"), DX_REASON_NONE, "\1\2\3"},
    {BYTES(GIF_HEAD GIF_IMAGE), DX_REASON_NONE, "\1\2\3"}, /* no trailer */
    {BYTES(GIF_HEAD GIF_NOTE GIF_OWN_COLORS GIF_NOTE ";"), DX_REASON_NONE,
     "456"},
    /* Right of its screen, and below. */
    {BYTES(GIF_HEAD "\x2C\1\0\0\0\1\0\1\0\0\2\2\x4C\1\0;"), DX_REASON_NONE,
     "\xFF\xFF\xFF\1\2\3"},
    {BYTES(GIF_HEAD "\x2C\0\0\1\0\1\0\1\0\0\2\2\x4C\1\0;"), DX_REASON_NONE,
     "\xFF\xFF\xFF\1\2\3"},
    {BYTES(GIF_HEAD GIF_IMAGE ";" GIF_IMAGE), DX_REASON_NONE, "\1\2\3"},
    {BYTES(GIF_HEAD GIF_IMAGE GIF_NOTE GIF_IMAGE ";"), DX_REASON_IMAGES, NULL},
    {BYTES(GIF_HEAD GIF_IMAGE GIF_IMAGE GIF_IMAGE), DX_REASON_IMAGES, NULL},
    /* Empty comments. */
    {BYTES(GIF_HEAD GIF_EMPTY GIF_IMAGE ";"), DX_REASON_NONE, "\1\2\3"},
    {BYTES(GIF_HEAD GIF_NOTE GIF_EMPTY GIF_OWN_COLORS GIF_EMPTY ";"),
     DX_REASON_NONE, "456"},
    {BYTES(GIF_HEAD GIF_IMAGE GIF_EMPTY GIF_IMAGE ";"), DX_REASON_IMAGES, NULL},
    {BYTES(GIF_HEAD GIF_EMPTY ";"), DX_REASON_DAMAGED, NULL},
    {BYTES(GIF_HEAD "\x21\xFE" GIF_IMAGE ";"), DX_REASON_DAMAGED, NULL},
    /* No end code; and no pixel. */
    {BYTES(GIF_HEAD GIF_NO_END ";"), DX_REASON_NONE, "\1\2\3"},
    {BYTES(GIF_HEAD "\x2C\0\0\0\0\1\0\1\0\0\2\1\x2C\0;"), DX_REASON_DAMAGED,
     NULL},
    {BYTES(GIF_HEAD "\x2C\0\0\0\0\1\0\1\0\0\2\0;"), DX_REASON_DAMAGED, NULL},
    {BYTES(GIF_HEAD ";"), DX_REASON_DAMAGED, NULL},
    {BYTES(GIF_HEAD GIF_IMAGE "?"), DX_REASON_DAMAGED, NULL},
    {BYTES(GIF_HEAD GIF_IMAGE "\x2C\0"), DX_REASON_DAMAGED, NULL},
    {BYTES(GIF_HEAD GIF_UNNAMED_COLOR ";"), DX_REASON_DAMAGED, NULL},
    {BYTES("GIF89a\xFF\xFF\xFF\xFF\x80\0\0\xFF\xFF\xFF\1\2\3" GIF_IMAGE ";"),
     DX_REASON_TOO_COMPLEX, NULL},
    {BYTES("GIF89a"), DX_REASON_DAMAGED, NULL},
};

static void gif_with_one_image_keeps_its_pixels(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(gifs) / sizeof(gifs[0]); i++)
    expect(image_pdf_gif, gifs[i].bytes, gifs[i].len, gifs[i].reason,
           gifs[i].pixels, gifs[i].pixels != NULL ? strlen(gifs[i].pixels) : 0);
}

static void gif_needs_all_of_its_image(void **state)
{
  static const char gif[] = GIF_HEAD GIF_NOTE GIF_OWN_COLORS;
  size_t len;

  (void)state;
  for (len = 1; len < sizeof(gif) - 1; len++)
    expect(image_pdf_gif, gif, len, DX_REASON_DAMAGED, NULL, 0);
}

struct written {
  unsigned char bytes[1024];
  size_t len;
};

static int write_gif(GifFileType *gif, const GifByteType *bytes, int len)
{
  struct written *w = gif->UserData;

  memcpy(w->bytes + w->len, bytes, (size_t)len);
  w->len += (size_t)len;
  return len;
}

/* Each row y has the color y; color 2 is transparent. */
static void gif_has_a_white_background(void **state)
{
  static const int order[] = {0, 8, 4, 2, 6, 1, 3, 5, 7};
  const GraphicsControlBlock control = {.TransparentColor = 2};
  struct written w = {.len = 0};
  unsigned char expected[4 * 10 * 3], extension[4];
  ColorMapObject *map = GifMakeMapObject(16, NULL);
  GifFileType *gif;
  int error, interlaced, i, x;

  (void)state;
  memset(expected, 255, sizeof(expected));
  for (i = 0; i < 16; i++)
    map->Colors[i] = (GifColorType){(GifByteType)i, 100, (GifByteType)(2 * i)};
  for (i = 0; i < 9; i++)
    for (x = 1; x < 4 && i != 2; x++)
      memcpy(expected + 3 * (4 * (i + 1) + x), &map->Colors[i], 3);
  for (interlaced = 0; interlaced < 2; interlaced++) {
    w.len = 0;
    gif = EGifOpen(&w, write_gif, &error);
    assert_non_null(gif);
    EGifSetGifVersion(gif, true);
    assert_int_equal(EGifPutScreenDesc(gif, 4, 10, 4, 0, map), GIF_OK);
    (void)EGifGCBToExtension(&control, extension);
    assert_int_equal(
        EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, extension), GIF_OK);
    assert_int_equal(EGifPutImageDesc(gif, 1, 1, 3, 9, interlaced == 1, NULL),
                     GIF_OK);
    for (i = 0; i < 9; i++) {
      GifPixelType row[3];

      memset(row, interlaced ? order[i] : i, sizeof(row));
      assert_int_equal(EGifPutLine(gif, row, 3), GIF_OK);
    }
    assert_int_equal(EGifCloseFile(gif, &error), GIF_OK);
    expect(image_pdf_gif, w.bytes, w.len, DX_REASON_NONE, expected,
           sizeof(expected));
  }
  GifFreeMapObject(map);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pnm_with_one_image_keeps_its_pixels),
      cmocka_unit_test(gif_with_one_image_keeps_its_pixels),
      cmocka_unit_test(gif_needs_all_of_its_image),
      cmocka_unit_test(gif_has_a_white_background),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
