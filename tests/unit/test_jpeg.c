/*
 * test_jpeg.c - JPEGs that libjpeg writes: complete, damaged, and with
 * metadata.
 */
#include "tests/unit/bytes.h"

#include <stdio.h>

#include <jpeglib.h>

#include "filter/codecs.h"
#include "filter/exif.h"

/* ---- images ---- */

enum scans { ONE_SCAN, PROGRESSIVE, SCAN_EACH };

struct image {
  const char *name;
  int width, height, components;
  enum scans scans;
  int restart; /* MCU rows */
  bool subsampled, arithmetic;
};

/* Small, as every prefix of each is checked. */
static const struct image images[] = {
    {"gray", 49, 31, 1, ONE_SCAN, 0, false, false},
    {"one pixel", 1, 1, 1, ONE_SCAN, 0, false, false},
    {"color", 49, 31, 3, ONE_SCAN, 0, true, false},
    {"all colors", 32, 32, 3, ONE_SCAN, 0, false, false},
    {"CMYK", 35, 25, 4, ONE_SCAN, 0, false, false},
    {"restarts", 49, 31, 3, ONE_SCAN, 1, true, false},
    {"scans", 49, 31, 3, SCAN_EACH, 0, true, false},
    {"progressive", 49, 31, 3, PROGRESSIVE, 0, true, false},
    {"progressive gray", 17, 100, 1, PROGRESSIVE, 0, false, false},
    {"progressive restarts", 49, 31, 3, PROGRESSIVE, 1, true, false},
    {"progressive CMYK", 35, 25, 4, PROGRESSIVE, 0, false, false},
};
#define IMAGES (sizeof(images) / sizeof(images[0]))

static struct bytes make(const struct image *image)
{
  static const jpeg_scan_info each[3] = {
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  struct jpeg_compress_struct c;
  struct jpeg_error_mgr errors;
  struct bytes jpeg = {0};
  unsigned long len = 0;
  unsigned seed = 1;
  unsigned char row[4 * 256], *at = row;
  int i;

  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  jpeg_mem_dest(&c, &jpeg.at, &len);
  c.image_width = (JDIMENSION)image->width;
  c.image_height = (JDIMENSION)image->height;
  c.input_components = image->components;
  c.in_color_space = image->components == 1   ? JCS_GRAYSCALE
                     : image->components == 3 ? JCS_RGB
                                              : JCS_CMYK;
  jpeg_set_defaults(&c);
  if (!image->subsampled)
    c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1;
  c.restart_in_rows = image->restart;
  c.arith_code = image->arithmetic;
  if (image->scans == PROGRESSIVE)
    jpeg_simple_progression(&c);
  if (image->scans == SCAN_EACH) {
    c.scan_info = each;
    c.num_scans = 3;
  }
  jpeg_start_compress(&c, TRUE);
  while (c.next_scanline < c.image_height) {
    for (i = 0; i < image->width * image->components; i++) {
      seed = seed * 1103515245 + 12345;
      row[i] = (unsigned char)((unsigned)i * 3 + (seed >> 16) % 64);
    }
    (void)jpeg_write_scanlines(&c, &at, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  jpeg.len = len;
  return jpeg;
}

/* In memory of exactly that size, so that a sanitizer sees what is read behind
 * it. */
static enum dx_reason check(const void *bytes, size_t len,
                            struct jpeg_info *ret_info, const char **ret_why)
{
  unsigned char *copy = malloc(len > 0 ? len : 1);
  enum dx_reason reason;

  assert_non_null(copy);
  memcpy(copy, bytes, len);
  reason = jpeg_check(copy, len, ret_info, ret_why);
  free(copy);
  return reason;
}

static enum dx_reason reason_of(const void *bytes, size_t len)
{
  struct jpeg_info info;
  const char *why;

  return check(bytes, len, &info, &why);
}

static void clean_into(struct bytes *clean, const void *bytes, size_t len,
                       bool keep_orientation)
{
  struct dx_buf copy = {0};

  jpeg_clean(bytes, len, keep_orientation, &copy);
  take_copy(clean, &copy);
}

/* Everything but what is needed for pixels was added by libjpeg: JFIF. */
static size_t entropy_of(struct bytes jpeg)
{
  size_t i;

  for (i = 2; jpeg.at[i + 1] != 0xDA; i += 2)
    i += (size_t)jpeg.at[i + 2] << 8 | jpeg.at[i + 3];
  return i;
}

static void complete_images_are_accepted(void **state)
{
  struct bytes clean = new_bytes();
  struct jpeg_info info;
  const char *why;
  size_t i;

  (void)state;
  assert_non_null(clean.at);
  for (i = 0; i < IMAGES; i++) {
    struct bytes jpeg = make(&images[i]);

    assert_int_equal(check(jpeg.at, jpeg.len, &info, &why), DX_REASON_NONE);
    assert_int_equal(info.width, images[i].width);
    assert_int_equal(info.height, images[i].height);
    assert_int_equal(info.components, images[i].components);
    clean_into(&clean, jpeg.at, jpeg.len, true);
    assert_int_equal(clean.len, jpeg.len);
    assert_memory_equal(clean.at, jpeg.at, jpeg.len);
    free(jpeg.at);
  }
  free(clean.at);
}

/* Only EOI may be missing. */
static void every_truncation_is_detected(void **state)
{
  unsigned char *cut = malloc(MAX_BYTES);
  struct jpeg_info info;
  const char *why;
  size_t i, len;

  (void)state;
  assert_non_null(cut);
  for (i = 0; i < IMAGES; i++) {
    struct bytes jpeg = make(&images[i]);

    for (len = 0; len < jpeg.len - 2; len++) {
      assert_int_equal(reason_of(jpeg.at, len), DX_REASON_DAMAGED);
      memcpy(cut, jpeg.at, len);
      memcpy(cut + len, "\xFF\xD9", 2);
      assert_int_equal(check(cut, len + 2, &info, &why), DX_REASON_DAMAGED);
      if (len > entropy_of(jpeg) + 16 && images[i].scans == ONE_SCAN &&
          images[i].restart == 0)
        assert_string_equal(why, "an image ends early");
    }
    assert_int_equal(reason_of(jpeg.at, jpeg.len - 1), DX_REASON_NONE);
    assert_int_equal(reason_of(jpeg.at, jpeg.len - 2), DX_REASON_NONE);
    free(jpeg.at);
  }
  free(cut);
}

static void wrong_restart_marker_is_detected(void **state)
{
  struct bytes jpeg = make(&images[5]);
  unsigned char *marker = memmem(jpeg.at, jpeg.len, "\xFF\xD0", 2);

  (void)state;
  assert_non_null(marker);
  marker[1] = 0xD3;
  assert_int_equal(reason_of(jpeg.at, jpeg.len), DX_REASON_DAMAGED);
  free(jpeg.at);
}

/* Where each scan begins, and, last, EOI. */
static size_t find_scans(struct bytes jpeg, size_t *begins)
{
  size_t i, count = 0;

  for (i = 0; i + 1 < jpeg.len; i++)
    if (jpeg.at[i] == 0xFF && (jpeg.at[i + 1] == 0xDA || i + 2 == jpeg.len))
      begins[count++] = i;
  return count - 1;
}

static void missing_scan_is_detected(void **state)
{
  static const size_t which[] = {6, 7, 8};
  size_t i, k, begins[32];

  (void)state;
  for (i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
    struct bytes jpeg = make(&images[which[i]]);
    size_t scans = find_scans(jpeg, begins);

    assert_true(scans >= 3);
    for (k = 0; k < scans; k++) {
      unsigned char *less = malloc(jpeg.len);
      size_t len = begins[k], after = jpeg.len - begins[k + 1];

      assert_non_null(less);
      memcpy(less, jpeg.at, len);
      memcpy(less + len, jpeg.at + begins[k + 1], after);
      assert_int_equal(reason_of(less, len + after), DX_REASON_DAMAGED);
      free(less);
    }
    free(jpeg.at);
  }
}

/* A code of ones only is invalid. */
static void invalid_code_is_damage(void **state)
{
  struct image large = images[0];
  struct jpeg_info info;
  const char *why;
  struct bytes jpeg;
  size_t i;

  (void)state;
  large.width = large.height = 250; /* more than libjpeg looks ahead */
  jpeg = make(&large);
  for (i = entropy_of(jpeg) + 1000; i < entropy_of(jpeg) + 1032; i += 2)
    memcpy(jpeg.at + i, "\xFF\0", 2);
  assert_int_equal(check(jpeg.at, jpeg.len, &info, &why), DX_REASON_DAMAGED);
  assert_string_equal(why, "an image has invalid data");
  free(jpeg.at);
}

static void flipped_bits_do_not_crash(void **state)
{
  size_t i, k;

  (void)state;
  for (i = 0; i < IMAGES; i++) {
    struct bytes jpeg = make(&images[i]);

    for (k = 0; k < jpeg.len; k += 7) {
      jpeg.at[k] ^= (unsigned char)(1 << k % 8);
      (void)reason_of(jpeg.at, jpeg.len);
      jpeg.at[k] ^= (unsigned char)(1 << k % 8);
    }
    free(jpeg.at);
  }
}

/* The byte `offset` of the frame header: precision, height, width. */
static enum dx_reason with_frame(const struct image *image, size_t offset,
                                 const char *bytes, size_t len)
{
  struct bytes jpeg = make(image);
  enum dx_reason reason;
  size_t i = 0;

  while (jpeg.at[i] != 0xFF || (jpeg.at[i + 1] & 0xF4) != 0xC0)
    i++;
  memcpy(jpeg.at + i + offset, bytes, len);
  reason = reason_of(jpeg.at, jpeg.len);
  free(jpeg.at);
  return reason;
}

static void unsupported_types_are_reported(void **state)
{
  struct image arithmetic = images[2];

  (void)state;
  arithmetic.arithmetic = true;
  assert_int_equal(with_frame(&arithmetic, 0, "", 0), DX_REASON_UNKNOWN);
  assert_int_equal(with_frame(&images[2], 4, "\x0C", 1), DX_REASON_UNKNOWN);
  assert_int_equal(with_frame(&images[2], 1, "\xC7", 1), DX_REASON_UNKNOWN);
  assert_int_equal(with_frame(&images[2], 5, "\0\0", 2), DX_REASON_DAMAGED);
  assert_int_equal(with_frame(&images[7], 5, "\xFF\xDC\xFF\xDC", 4),
                   DX_REASON_TOO_COMPLEX);
  assert_int_equal(with_frame(&images[8], 5, "\x50\0\x50\0", 4),
                   DX_REASON_TOO_COMPLEX);
  assert_int_equal(with_frame(&images[2], 5, "\xFF\xDC\xFF\xDC", 4),
                   DX_REASON_DAMAGED);
}

/* A small file in which each scan costs as much as the whole image. */
static void many_scans_are_too_complex(void **state)
{
  unsigned char *bomb = malloc(MAX_BYTES);
  struct bytes jpeg = make(&images[8]);
  size_t begins[32], len, scan;

  (void)state;
  assert_non_null(bomb);
  (void)find_scans(jpeg, begins);
  memcpy(bomb, jpeg.at, begins[1]);
  for (len = 0; bomb[len] != 0xFF || bomb[len + 1] != 0xC2; len++)
    ;
  memcpy(bomb + len + 5, "\x20\0\x20\0", 4);
  scan = begins[1] - begins[0];
  for (len = begins[1]; len + scan < MAX_BYTES; len += scan)
    memcpy(bomb + len, jpeg.at + begins[0], scan);
  assert_int_equal(reason_of(bomb, len), DX_REASON_TOO_COMPLEX);
  free(jpeg.at);
  free(bomb);
}

/* ---- metadata ---- */

static void add_segment(struct bytes *b, int marker, const char *text,
                        size_t len)
{
  unsigned char head[4] = {0xFF, (unsigned char)marker,
                           (unsigned char)((len + 2) / 256),
                           (unsigned char)(len + 2)};

  add(b, head, sizeof(head));
  add(b, text, len);
}

#define TEXT(text) text, sizeof(text) - 1
/* Orientation 6, and a name. */
#define EXIF_BIG                                                    \
  "Exif\0\0MM\0*\0\0\0\x08\0\x02\x01\x0F\0\x02\0\0\0\x08\0\0\0\x30" \
  "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0SECRETgps"
#define EXIF_LITTLE                                                 \
  "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x08\0\0\0" \
  "\0\0\0\0SECRETgps"

/* The first image with every kind of metadata in front of it; what follows it
 * is another image. */
static struct bytes with_metadata(const struct image *image, const char *exif,
                                  size_t exif_len)
{
  struct bytes jpeg = make(image), b = new_bytes();
  size_t from = 2;

  assert_non_null(b.at);
  add(&b, "\xFF\xD8", 2);
  if (jpeg.at[3] == 0xE0) {
    add_segment(&b, 0xE0, TEXT("JFIF\0\x01\x02\x01\0\x48\0\x48\x01\x02SECRET"));
    from = 20;
  }
  add_segment(&b, 0xE0, TEXT("JFXX\0\x10SECRET"));
  add_segment(&b, 0xE1, exif, exif_len);
  add_segment(&b, 0xE1, TEXT("http://ns.adobe.com/xap/1.0/\0SECRET"));
  add_segment(&b, 0xE2, TEXT("MPF\0SECRET"));
  add(&b, "\xFF\xFF\xFF", 3);
  add_segment(&b, 0xE2, TEXT("ICC_PROFILE\0\x01\x01profile"));
  add_segment(&b, 0xED, TEXT("Photoshop 3.0\0SECRET"));
  add_segment(&b, 0xEF, TEXT("SECRET"));
  add_segment(&b, 0xFE, TEXT("SECRET"));
  add(&b, jpeg.at + from, jpeg.len - from);
  add(&b, jpeg.at, jpeg.len / 2);
  add(&b, "SECRET", 6);
  free(jpeg.at);
  return b;
}

static unsigned char *pixels_of(struct bytes jpeg, size_t *ret_len)
{
  struct jpeg_decompress_struct d;
  struct jpeg_error_mgr errors;
  unsigned char *pixels, *row;

  d.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&d);
  jpeg_mem_src(&d, jpeg.at, jpeg.len);
  (void)jpeg_read_header(&d, TRUE);
  (void)jpeg_start_decompress(&d);
  *ret_len =
      (size_t)d.output_width * d.output_height * (size_t)d.output_components;
  pixels = malloc(*ret_len);
  assert_non_null(pixels);
  for (row = pixels; d.output_scanline < d.output_height;
       row += d.output_width * (size_t)d.output_components)
    (void)jpeg_read_scanlines(&d, &row, 1);
  (void)jpeg_finish_decompress(&d);
  jpeg_destroy_decompress(&d);
  return pixels;
}

/* 1 if it has no EXIF. */
static int orientation_of(struct bytes jpeg)
{
  const unsigned char *exif = memmem(jpeg.at, jpeg.len, "Exif\0", 6);
  unsigned char clean[EXIF_CLEAN_BYTES];

  return exif == NULL
             ? 1
             : exif_clean(exif + 6, (size_t)(jpeg.at + jpeg.len - exif - 6),
                          clean);
}

/* Only the first EXIF counts; of JFIF, neither a thumbnail nor its length is
 * copied. */
static void copy_has_no_second_orientation(void **state)
{
  static const char jfif[14 + 300] = "JFIF\0\x01\x02\0\0\x01\0\x01\x0A\x0A";
  struct bytes jpeg = make(&images[0]), b = new_bytes(), clean = new_bytes();
  struct jpeg_info info;
  const char *why;

  (void)state;
  add(&b, "\xFF\xD8", 2);
  add_segment(&b, 0xE0, jfif, sizeof(jfif));
  add_segment(&b, 0xE1, TEXT("Exif\0\0MM\0*\0\0\0\x08\0\0"));
  add_segment(&b, 0xE1, TEXT(EXIF_BIG));
  add(&b, jpeg.at + 20, jpeg.len - 20);
  clean_into(&clean, b.at, b.len, true);
  assert_int_equal(orientation_of(clean), 1);
  assert_int_equal(check(clean.at, clean.len, &info, &why), DX_REASON_NONE);
  assert_true(clean.len < jpeg.len + 10);
  free(jpeg.at);
  free(b.at);
  free(clean.at);
}

static void copy_contains_only_pixels_and_profile(void **state)
{
  struct bytes clean = new_bytes();
  struct jpeg_info info;
  const char *why;
  size_t i, keep, len, clean_len;

  (void)state;
  assert_non_null(clean.at);
  for (i = 0; i < 2 * IMAGES; i++) {
    struct bytes jpeg = i % 2 == 0
                            ? with_metadata(&images[i / 2], TEXT(EXIF_BIG))
                            : with_metadata(&images[i / 2], TEXT(EXIF_LITTLE));
    unsigned char *pixels = pixels_of(jpeg, &len);
    int orientation = i % 2 == 0 ? 6 : 8;

    assert_int_equal(check(jpeg.at, jpeg.len, &info, &why), DX_REASON_NONE);
    for (keep = 0; keep < 2; keep++) {
      unsigned char *clean_pixels;

      clean_into(&clean, jpeg.at, jpeg.len, keep == 1);
      assert_null(memmem(clean.at, clean.len, "SECRET", 6));
      assert_non_null(memmem(clean.at, clean.len, "profile", 7));
      assert_int_equal(memmem(clean.at, clean.len,
                              "JFIF\0\x01\x02\x01\0\x48\0\x48\0\0", 14) != NULL,
                       images[i / 2].components != 4);
      assert_int_equal(memmem(clean.at, clean.len, "Adobe", 5) != NULL,
                       images[i / 2].components == 4);
      assert_int_equal(check(clean.at, clean.len, &info, &why), DX_REASON_NONE);
      assert_int_equal(orientation_of(clean), keep == 1 ? orientation : 1);
      clean_pixels = pixels_of(clean, &clean_len);
      assert_int_equal(clean_len, len);
      assert_memory_equal(clean_pixels, pixels, len);
      free(clean_pixels);
    }
    free(pixels);
    free(jpeg.at);
  }
  free(clean.at);
}

static void copy_gets_a_missing_end_marker(void **state)
{
  struct bytes clean = new_bytes(), jpeg = make(&images[2]);
  struct bytes two = new_bytes();
  size_t cut;

  (void)state;
  assert_non_null(clean.at);
  for (cut = 1; cut <= 2; cut++) {
    clean_into(&clean, jpeg.at, jpeg.len - cut, false);
    assert_int_equal(clean.len, jpeg.len);
    assert_memory_equal(clean.at, jpeg.at, jpeg.len);
  }
  /* and another image follows */
  assert_non_null(two.at);
  add(&two, jpeg.at, jpeg.len - 2);
  add(&two, jpeg.at, jpeg.len);
  assert_int_equal(reason_of(two.at, two.len), DX_REASON_NONE);
  clean_into(&clean, two.at, two.len, false);
  assert_int_equal(clean.len, jpeg.len);
  assert_memory_equal(clean.at, jpeg.at, jpeg.len);
  free(two.at);
  free(jpeg.at);
  free(clean.at);
}

/* In some PDFs there is a line feed. */
static void bytes_before_the_image_are_dropped(void **state)
{
  struct bytes clean = new_bytes(), jpeg = make(&images[2]);
  unsigned char *late = malloc(jpeg.len + 1);
  struct jpeg_info info;
  const char *why;

  (void)state;
  assert_non_null(clean.at);
  assert_non_null(late);
  late[0] = '\n';
  memcpy(late + 1, jpeg.at, jpeg.len);
  assert_int_equal(check(late, jpeg.len + 1, &info, &why), DX_REASON_NONE);
  clean_into(&clean, late, jpeg.len + 1, false);
  assert_int_equal(clean.len, jpeg.len);
  assert_memory_equal(clean.at, jpeg.at, jpeg.len);
  free(late);
  free(jpeg.at);
  free(clean.at);
}

/* A number at the end must not lead to what follows. */
static void exif_ends_where_it_ends(void **state)
{
  static const unsigned char exif[] = "MM\0\0\1\x01\x12\0\3\0\0\0\1\0\6\0\0";
  size_t at = 3; /* of the number of entries, which is 1 */

  (void)state;
  assert_int_equal(exif_value(exif, sizeof(exif) - 1, at, 0x0112), 6);
  assert_int_equal(exif_value(exif, at + 1, at, 0x0112), 0);
}

/* Whatever EXIF claims. */
static void orientation_is_read_within_bounds(void **state)
{
  static const char big[] = EXIF_BIG;
  size_t len = sizeof(big) - 1 - 6, cut, i;
  unsigned value;

  (void)state;
  for (cut = 0; cut <= len; cut++)
    for (i = 0; i < cut; i++)
      for (value = 0; value < 256; value += 51) {
        unsigned char *exif = malloc(cut), clean[EXIF_CLEAN_BYTES];
        int orientation;

        assert_non_null(exif);
        memcpy(exif, big + 6, cut);
        exif[i] = (unsigned char)value;
        orientation = exif_clean(exif, cut, clean);
        assert_in_range(orientation, 1, 8);
        assert_int_equal(clean[19], orientation);
        free(exif);
      }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(complete_images_are_accepted),
      cmocka_unit_test(every_truncation_is_detected),
      cmocka_unit_test(wrong_restart_marker_is_detected),
      cmocka_unit_test(missing_scan_is_detected),
      cmocka_unit_test(invalid_code_is_damage),
      cmocka_unit_test(flipped_bits_do_not_crash),
      cmocka_unit_test(unsupported_types_are_reported),
      cmocka_unit_test(many_scans_are_too_complex),
      cmocka_unit_test(copy_has_no_second_orientation),
      cmocka_unit_test(copy_contains_only_pixels_and_profile),
      cmocka_unit_test(copy_gets_a_missing_end_marker),
      cmocka_unit_test(bytes_before_the_image_are_dropped),
      cmocka_unit_test(exif_ends_where_it_ends),
      cmocka_unit_test(orientation_is_read_within_bounds),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
