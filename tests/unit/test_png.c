/*
 * test_png.c - PNGs that libpng writes: complete, damaged, and with metadata.
 */
#include "tests/unit/bytes.h"

#include <png.h>
#include <zlib.h>

#include "filter/codecs.h"

/* ---- images ---- */

struct image {
  uint32_t width, height;
  int bits, type, interlace;
};

static const struct image images[] = {
    {1, 1, 1, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE},
    {37, 23, 2, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE},
    {37, 23, 16, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_INTERLACE_ADAM7},
    {37, 23, 4, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE},
    {37, 23, 8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_ADAM7},
    {37, 23, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE},
    {19, 11, 16, PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE},
    {1, 1, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7},
    {2, 9, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7},
    {9, 2, 1, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_ADAM7},
};
#define IMAGES (sizeof(images) / sizeof(images[0]))

static void write_bytes(png_structp png, png_bytep bytes, size_t len)
{
  add(png_get_io_ptr(png), bytes, len);
}

static struct bytes make(const struct image *image)
{
  png_color palette[16] = {{1, 2, 3}, {4, 5, 6}};
  png_byte alpha[2] = {0, 128};
  struct bytes b = new_bytes();
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  unsigned char row[1024];
  unsigned seed = 1;
  uint32_t y;
  size_t i;
  int pass, passes;

  assert_non_null(info);
  png_set_write_fn(png, &b, write_bytes, NULL);
  png_set_compression_buffer_size(png, 256); /* several IDAT */
  png_set_IHDR(png, info, image->width, image->height, image->bits, image->type,
               image->interlace, PNG_COMPRESSION_TYPE_BASE,
               PNG_FILTER_TYPE_BASE);
  if (image->type == PNG_COLOR_TYPE_PALETTE) {
    png_set_PLTE(png, info, palette, 16);
    png_set_tRNS(png, info, alpha, 2, NULL);
  }
  png_write_info(png, info);
  passes = png_set_interlace_handling(png);
  for (pass = 0; pass < passes; pass++)
    for (y = 0; y < image->height; y++) {
      for (i = 0; i < sizeof(row); i++) {
        seed = seed * 1103515245 + 12345;
        row[i] = (unsigned char)((seed >> 16) & 0x0F);
      }
      png_write_row(png, row);
    }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return b;
}

/* From memory of exactly that size. The copy in *ret_copy, if it is not NULL,
 * is the caller's. */
static enum dx_reason clean(const void *bytes, size_t len,
                            struct bytes *ret_copy)
{
  unsigned char *exact = malloc(len > 0 ? len : 1);
  struct bytes copy = new_bytes();
  struct dx_buf written = {0};
  const char *why = NULL;
  enum dx_reason reason;

  assert_non_null(exact);
  memcpy(exact, bytes, len);
  reason = png_clean(exact, len, &written, &why);
  if (reason == DX_REASON_NONE)
    take_copy(&copy, &written);
  if (reason == DX_REASON_DAMAGED)
    assert_non_null(why);
  if (ret_copy != NULL)
    *ret_copy = copy;
  else
    free(copy.at);
  free(exact);
  return reason;
}

/* The chunk with this type, after `from` bytes; its data begin 8 behind. */
static size_t find(const struct bytes *b, const char *type, size_t from)
{
  size_t i;

  for (i = 8; i < b->len; i += 12 + png_get_uint_32(b->at + i))
    if (i >= from && memcmp(b->at + i + 4, type, 4) == 0)
      return i;
  return b->len;
}

static void correct_crc(const struct bytes *b, size_t chunk)
{
  uint32_t len = png_get_uint_32(b->at + chunk);

  png_save_uint_32(b->at + chunk + 8 + len,
                   (uint32_t)crc32(0, b->at + chunk + 4, len + 4));
}

static void whole_images_are_copied_as_they_are(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < IMAGES; i++) {
    struct bytes png = make(&images[i]), copy;

    assert_int_equal(clean(png.at, png.len, &copy), DX_REASON_NONE);
    assert_int_equal(copy.len, png.len);
    assert_memory_equal(copy.at, png.at, png.len);
    free(copy.at);
    free(png.at);
  }
}

static void every_truncation_is_detected(void **state)
{
  size_t i, len;

  (void)state;
  for (i = 0; i < IMAGES; i++) {
    struct bytes png = make(&images[i]);

    for (len = 0; len < png.len; len++)
      assert_int_equal(clean(png.at, len, NULL), DX_REASON_DAMAGED);
    free(png.at);
  }
}

static void every_flipped_byte_is_detected(void **state)
{
  size_t i, k;

  (void)state;
  for (i = 0; i < IMAGES; i++) {
    struct bytes png = make(&images[i]);

    for (k = 0; k < png.len; k++) {
      png.at[k] ^= 0x41;
      assert_int_equal(clean(png.at, png.len, NULL), DX_REASON_DAMAGED);
      png.at[k] ^= 0x41;
    }
    free(png.at);
  }
}

/* The checksum of the chunk is right, that of the compressed data is not. */
static void checksum_of_compressed_data_is_verified(void **state)
{
  size_t i, k, chunk;

  (void)state;
  for (i = 0; i < IMAGES; i++) {
    struct bytes png = make(&images[i]);

    chunk = find(&png, "IDAT", 0);
    for (; chunk < png.len; chunk = find(&png, "IDAT", chunk + 1))
      for (k = 0; k < png_get_uint_32(png.at + chunk); k++) {
        png.at[chunk + 8 + k] ^= 0xFF;
        correct_crc(&png, chunk);
        assert_int_equal(clean(png.at, png.len, NULL), DX_REASON_DAMAGED);
        png.at[chunk + 8 + k] ^= 0xFF;
        correct_crc(&png, chunk);
      }
    free(png.at);
  }
}

/* Bytes behind the compressed data, in the same chunk or in one more. */
static void chunk_of_data_may_be_padded(void **state)
{
  static const char *const paddings[] = {"\0\0\0\0", "\xFF\xFF\xFF\xFF",
                                         "\x78\x9C\x03\0"};
  size_t i, k;

  (void)state;
  for (i = 0; i < IMAGES; i++)
    for (k = 0; k < 3; k++) {
      struct bytes png = make(&images[i]), b = new_bytes(), copy;
      size_t chunk = 0, last = 0, len;

      while ((chunk = find(&png, "IDAT", chunk + 1)) < png.len)
        last = chunk;
      len = png_get_uint_32(png.at + last);
      add(&b, png.at, last + 8 + len);
      add(&b, paddings[k], 4);
      add(&b, "crc?", 4);
      png_save_uint_32(b.at + last, (uint32_t)len + 4);
      correct_crc(&b, last);
      add(&b, png.at + png.len - 12, 12);
      assert_int_equal(clean(b.at, b.len, &copy), DX_REASON_NONE);
      assert_int_equal(copy.len, b.len);
      free(copy.at);
      /* In the place of the last bytes of the data, it is a hole. */
      memcpy(b.at + last + 8 + len - 4, paddings[k], 4);
      correct_crc(&b, last);
      assert_int_equal(clean(b.at, b.len, NULL), DX_REASON_DAMAGED);
      free(b.at);
      free(png.at);
    }
}

static void size_must_match_the_data(void **state)
{
  size_t i;
  int more;

  (void)state;
  for (i = 1; i < IMAGES; i++)
    for (more = -1; more <= 1; more += 2) {
      struct bytes png = make(&images[i]);

      if (images[i].height > 1) {
        png_save_uint_32(png.at + 20, images[i].height + (uint32_t)more);
        correct_crc(&png, 8);
        assert_int_equal(clean(png.at, png.len, NULL), DX_REASON_DAMAGED);
      }
      free(png.at);
    }
}

static void missing_chunk_is_detected(void **state)
{
  static const char *const types[] = {"IHDR", "PLTE", "IDAT", "IEND"};
  struct bytes png = make(&images[3]), less = new_bytes();
  size_t i, chunk;

  (void)state;
  assert_true(find(&png, "IDAT", find(&png, "IDAT", 0) + 1) < png.len);
  for (i = 0; i < 4; i++)
    for (chunk = find(&png, types[i], 0); chunk < png.len;
         chunk = find(&png, types[i], chunk + 1)) {
      size_t end = chunk + 12 + png_get_uint_32(png.at + chunk);

      less.len = 0;
      add(&less, png.at, chunk);
      add(&less, png.at + end, png.len - end);
      assert_int_equal(clean(less.at, less.len, NULL), DX_REASON_DAMAGED);
    }
  free(less.at);
  free(png.at);
}

static void large_sides_are_too_complex(void **state)
{
  struct image wide = {1000000, 1, 1, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE};
  struct bytes png = make(&images[1]);

  (void)state;
  png_save_uint_32(png.at + 16, wide.width + 1);
  correct_crc(&png, 8);
  assert_int_equal(clean(png.at, png.len, NULL), DX_REASON_TOO_COMPLEX);
  free(png.at);
}

/* ---- metadata ---- */

static void add_chunk(struct bytes *b, const char *type, const char *data,
                      size_t len)
{
  size_t begin = b->len;
  unsigned char number[4];

  png_save_uint_32(number, (uint32_t)len);
  add(b, number, 4);
  add(b, type, 4);
  add(b, data, len);
  add(b, number, 4);
  correct_crc(b, begin);
}

#define TEXT(text) text, sizeof(text) - 1
#define ORIENTATION(value)                                                    \
  TEXT("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0" value "\0\0\0\0\0\0\0" \
       "SECRETgps")

static struct bytes with_metadata(const struct bytes *png, const char *exif,
                                  size_t exif_len)
{
  struct bytes b = new_bytes();

  add(&b, png->at, 8 + 25);
  add_chunk(&b, "gAMA", TEXT("\0\0\xB1\x8F"));
  add_chunk(&b, "cHRM", TEXT("chromaticities: 8 x 4 bytes, yes"));
  add_chunk(&b, "sRGB", TEXT("\0"));
  add_chunk(&b, "sBIT", TEXT("\x04"));
  add_chunk(&b, "bKGD", TEXT("\0\0"));
  add_chunk(&b, "cICP", TEXT("\x01\x0D\0\x01"));
  add_chunk(&b, "iCCP", TEXT("profile\0\0x"));
  add_chunk(&b, "pHYs", TEXT("\0\0\x0B\x13\0\0\x0B\x13\x01"));
  add_chunk(&b, "tEXt", TEXT("Author\0SECRET"));
  add_chunk(&b, "zTXt", TEXT("SECRET\0\0x"));
  add_chunk(&b, "iTXt", TEXT("XML:com.adobe.xmp\0\0\0\0\0SECRET"));
  add_chunk(&b, "tIME", TEXT("\x07\xEA\x01\x01\x01\x01\x01"));
  add_chunk(&b, "eXIf", exif, exif_len);
  add_chunk(&b, "acTL", TEXT("\0\0\0\x01\0\0\0\0"));
  add_chunk(&b, "prVt", TEXT("SECRET"));
  add(&b, png->at + 33, png->len - 33 - 12);
  add_chunk(&b, "fdAT", TEXT("\0\0\0\x01SECRET"));
  add_chunk(&b, "tEXt", TEXT("Title\0SECRET"));
  add(&b, png->at + png->len - 12, 12);
  add(&b, "SECRET", 6);
  return b;
}

static void copy_contains_only_colors_and_resolution(void **state)
{
  static const char *const kept[] = {"gAMA", "cICP", "iCCP", "pHYs",
                                     "cHRM", "sRGB", "sBIT", "bKGD"};
  size_t i, k;

  (void)state;
  for (i = 0; i < IMAGES; i++) {
    struct bytes png = make(&images[i]), copy, again;
    struct bytes all = with_metadata(&png, ORIENTATION("\x01"));

    assert_int_equal(clean(all.at, all.len, &copy), DX_REASON_NONE);
    assert_null(memmem(copy.at, copy.len, "SECRET", 6));
    for (k = 0; k < 8; k++)
      assert_true(find(&copy, kept[k], 0) < copy.len);
    assert_int_equal(copy.len,
                     png.len + 8 * 12 + 4 + 4 + 10 + 9 + 32 + 1 + 1 + 2);
    assert_memory_equal(copy.at, png.at, 33);
    assert_memory_equal(copy.at + copy.len - (png.len - 33), png.at + 33,
                        png.len - 33);
    assert_int_equal(clean(copy.at, copy.len, &again), DX_REASON_NONE);
    assert_int_equal(again.len, copy.len);
    free(again.at);
    free(copy.at);
    free(all.at);
    free(png.at);
  }
}

/* Of what is not kept, the checksum may be wrong, but not the length. */
static void checksum_of_what_is_removed_does_not_matter(void **state)
{
  static const struct {
    const char *type;
    bool matters;
  } cases[] = {
      {"tEXt", false}, {"zTXt", false}, {"iTXt", false}, {"tIME", false},
      {"acTL", false}, {"prVt", false}, {"fdAT", false}, {"gAMA", true},
      {"cHRM", true},  {"sRGB", true},  {"sBIT", true},  {"bKGD", true},
      {"cICP", true},  {"iCCP", true},  {"pHYs", true},  {"eXIf", true},
      {"PLTE", true},  {"tRNS", true},  {"IDAT", true},  {"IEND", true}};
  struct bytes png = make(&images[3]), copy;
  struct bytes all = with_metadata(&png, ORIENTATION("\x06"));
  size_t i, chunk, end;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    chunk = find(&all, cases[i].type, 0);
    assert_true(chunk < all.len);
    end = chunk + 8 + png_get_uint_32(all.at + chunk);
    all.at[end] ^= 1;
    assert_int_equal(clean(all.at, all.len, &copy),
                     cases[i].matters ? DX_REASON_DAMAGED : DX_REASON_NONE);
    if (!cases[i].matters) {
      assert_null(memmem(copy.at, copy.len, "SECRET", 6));
      assert_true(find(&copy, cases[i].type, 0) == copy.len);
    }
    free(copy.at);
    all.at[end] ^= 1;
    all.at[chunk + 3] ^= 1;
    assert_int_equal(clean(all.at, all.len, NULL), DX_REASON_DAMAGED);
    all.at[chunk + 3] ^= 1;
  }
  free(all.at);
  free(png.at);
}

static void orientation_is_kept(void **state)
{
  struct bytes png = make(&images[5]), copy;
  struct bytes all = with_metadata(&png, ORIENTATION("\x06"));
  size_t exif;

  (void)state;
  assert_int_equal(clean(all.at, all.len, &copy), DX_REASON_NONE);
  assert_null(memmem(copy.at, copy.len, "SECRET", 6));
  exif = find(&copy, "eXIf", 0);
  assert_true(exif < copy.len);
  assert_int_equal(png_get_uint_32(copy.at + exif), 26);
  assert_memory_equal(copy.at + exif + 8, "MM\0*\0\0\0\x08\0\x01\x01\x12", 12);
  assert_int_equal(copy.at[exif + 8 + 19], 6);
  free(copy.at);
  assert_int_equal(clean(all.at, all.len - 6, &copy), DX_REASON_NONE);
  free(copy.at);
  free(all.at);
  free(png.at);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_images_are_copied_as_they_are),
      cmocka_unit_test(every_truncation_is_detected),
      cmocka_unit_test(every_flipped_byte_is_detected),
      cmocka_unit_test(checksum_of_compressed_data_is_verified),
      cmocka_unit_test(chunk_of_data_may_be_padded),
      cmocka_unit_test(size_must_match_the_data),
      cmocka_unit_test(missing_chunk_is_detected),
      cmocka_unit_test(large_sides_are_too_complex),
      cmocka_unit_test(copy_contains_only_colors_and_resolution),
      cmocka_unit_test(checksum_of_what_is_removed_does_not_matter),
      cmocka_unit_test(orientation_is_kept),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
