/*
 * tiff.c - reads TIFF with libtiff, with a memory limit. Messages are counted,
 * not printed: they may quote the document. Errors that libtiff does not detect
 * are checked here.
 *
 * Every page is decoded completely, and the document is refused if anything of
 * a page is missing. Nothing is lost: a page that is one JPEG stays a JPEG,
 * everything else is compressed without loss, with at most 8 bits per color, on
 * white where it is transparent. A color profile stays, other metadata go.
 * Thumbnails, masks and subordinate directories are not pages.
 */
#include "filter/image_pdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

#include "filter/codecs.h"
#include "filter/exif.h"
#include "filter/options.h"

/* At once; A4 at 600 dpi in one strip of a palette takes 133 MiB. */
#define MEMORY_MAX (256 << 20)
#define DIRECTORIES_MAX 10000

#define FAX_RTC_ROWS 6       /* of the code that ends a page */
#define THUMBNAIL_SHAPE 0.02 /* its sides may differ from those of the page */

/* An image of the file. */
struct tiff_image {
  uint32_t width, height;
  bool is_page, is_reduced; /* neither: a mask, or a preview */
};

struct tiff_work {
  struct image_pdf *pdf;
  TIFF *tiff;
  uint64_t at; /* in the file */
  int errors;
  int warnings;
  int bad_rows; /* messages about rows of group 3 */
  bool is_fax;  /* count those */
  bool is_length_missing;
  bool is_too_complex;
  uint16_t compression, photometric, samples; /* of its tags */
};

static bool tiff_begins(const char *text, const char *beginning)
{
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* An empty tag is not missed: libtiff reads those of the image differently. Nor
 * is the orientation of a program that writes 0 for it: it is the usual one. */
static int tiff_count_error(TIFF *tiff, void *work, const char *module,
                            const char *format, va_list args)
{
  struct tiff_work *w = work;
  char text[256] = "";

  (void)tiff;
  if (w->is_fax && tiff_begins(module, "Fax3Decode")) {
    w->bad_rows++;
    return 1;
  }
  if (tiff_begins(format, "%s: Bad value "))
    (void)vsnprintf(text, sizeof(text), format, args);
  if (tiff_begins(format, "%s: Null count for ") ||
      strstr(text, " 0 for \"Orientation\" tag") != NULL)
    return 1;
  w->errors++;
  if (tiff_begins(format, "Memory allocation of ")) /* MEMORY_MAX */
    w->is_too_complex = true;
  return 1; /* handled, not printed */
}

/*
 * If a tag is past the end of the file, libtiff only warns, and ignores it,
 * which changes the colors if it is the palette. If a length is wrong, it only
 * warns, and reads the data that follow. Three warnings are harmless.
 */
static int tiff_count_warning(TIFF *tiff, void *work, const char *module,
                              const char *format, va_list args)
{
  struct tiff_work *w = work;

  if (tiff_begins(format, "IO error") || tiff_begins(format, "Wrong \"Strip") ||
      (w->is_fax && tiff_begins(module, "Fax3Decode")))
    return tiff_count_error(tiff, w, module, format, args);
  if (tiff_begins(format, "Bogus \"Strip"))
    w->is_length_missing = true;
  else if (!tiff_begins(format, "Old-style LZW codes") &&
           !tiff_begins(format, "Assuming 8-bit colormap") &&
           !tiff_begins(format, "JPEG strip size exceeds expected"))
    w->warnings++;
  return 1;
}

/* After the first error or warning, libtiff would continue for all rows that
 * the tags specify. */
static bool tiff_goes_well(const struct tiff_work *w)
{
  return w->errors == 0 && w->warnings == 0;
}

/* ---- the file ---- */

/* In memory: libtiff would ask for the size of a descriptor, which the sandbox
 * does not permit. And it refuses uncompressed tiles that it cannot map, unless
 * their size is a multiple of 1024. */
static int tiff_map(thandle_t work, void **ret_bytes, toff_t *ret_len)
{
  const struct tiff_work *w = work;

  *ret_bytes = (void *)(uintptr_t)w->pdf->bytes; /* is not changed */
  *ret_len = w->pdf->len;
  return 1;
}

static void tiff_unmap(thandle_t work, void *bytes, toff_t len)
{
  (void)work;
  (void)bytes;
  (void)len;
}

static tmsize_t tiff_read(thandle_t work, void *bytes, tmsize_t len)
{
  struct tiff_work *w = work;
  uint64_t left = w->at < w->pdf->len ? w->pdf->len - w->at : 0;

  if ((uint64_t)len > left)
    len = (tmsize_t)left;
  memcpy(bytes, w->pdf->bytes + w->at, (size_t)len);
  w->at += (uint64_t)len;
  return len;
}

static tmsize_t tiff_do_not_write(thandle_t work, void *bytes, tmsize_t len)
{
  (void)work;
  (void)bytes;
  (void)len;
  return 0;
}

static toff_t tiff_seek(thandle_t work, toff_t offset, int whence)
{
  struct tiff_work *w = work;

  w->at = offset + (whence == SEEK_CUR   ? w->at
                    : whence == SEEK_END ? w->pdf->len
                                         : 0);
  return w->at;
}

static toff_t tiff_size(thandle_t work)
{
  return ((struct tiff_work *)work)->pdf->len;
}

static int tiff_close(thandle_t work)
{
  (void)work;
  return 0;
}

/* ---- encodings ---- */

/* The encodings of scanners and fax. */
static bool tiff_is_allowed(uint16_t compression)
{
  static const uint16_t allowed[] = {
      COMPRESSION_NONE,          COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,
      COMPRESSION_CCITTFAX4,     COMPRESSION_LZW,      COMPRESSION_JPEG,
      COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS, COMPRESSION_DEFLATE};
  size_t i;

  for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
    if (allowed[i] == compression)
      return true;
  return false;
}

static int tiff_do_nothing(TIFF *tiff, int scheme)
{
  (void)tiff;
  (void)scheme;
  return 1;
}

/* True if the length of the only strip is 0: it goes on to the end of the data.
 * libtiff calculates a length also if another one cannot be right. */
static bool tiff_has_no_length(const struct tiff_work *w)
{
  uint64_t directory = TIFFCurrentDirOffset(w->tiff);
  uint64_t at = TIFFGetStrileOffset(w->tiff, 0);

  if (w->compression != COMPRESSION_NONE)
    return true; /* then libtiff does not judge */
  if (TIFFIsBigTIFF(w->tiff) ||
      exif_value(w->pdf->bytes, w->pdf->len, directory,
                 TIFFTAG_STRIPBYTECOUNTS) != 0)
    return false;
  return at > directory || TIFFGetStrileByteCount(w->tiff, 0) <= directory - at;
}

/* True if all strips or tiles are in the file. */
static bool tiff_has_strips(struct tiff_work *w)
{
  uint32_t i, count = TIFFIsTiled(w->tiff) ? TIFFNumberOfTiles(w->tiff)
                                           : TIFFNumberOfStrips(w->tiff);

  if (w->is_length_missing && !tiff_has_no_length(w))
    return false;
  for (i = 0; i < count; i++) {
    uint64_t at = TIFFGetStrileOffset(w->tiff, i);
    uint64_t len = TIFFGetStrileByteCount(w->tiff, i);

    if (at == 0 || at > w->pdf->len || len == 0 || len > w->pdf->len - at)
      return false;
  }
  w->pdf->why = "its image ends early or cannot be read";
  return true;
}

/* ---- a page of plain rows ---- */

static uint16_t tiff_tag(TIFF *tiff, uint32_t name)
{
  uint16_t value = 0;

  return TIFFGetFieldDefaulted(tiff, name, &value) == 1 ? value : 0;
}

/* True if rows can be used unchanged: gray, or RGB, to which libtiff converts
 * the YCbCr of a JPEG while it reads rows. */
static bool tiff_has_plain_rows(const struct tiff_work *w)
{
  int bits = w->pdf->page.bits;

  if (TIFFIsTiled(w->tiff) != 0)
    return false;
  if (w->samples == 1)
    return w->photometric <= PHOTOMETRIC_MINISBLACK &&
           (bits == 1 || bits == 2 || bits == 4 || bits == 8);
  return w->samples == 3 && bits == 8 &&
         tiff_tag(w->tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_CONTIG &&
         (w->photometric == PHOTOMETRIC_RGB ||
          (w->photometric == PHOTOMETRIC_YCBCR &&
           (w->compression == COMPRESSION_JPEG ||
            w->compression == COMPRESSION_OJPEG)));
}

/* The bad rows of a page of group 3; -1 if there are too many, or it ends
 * early. */
static int64_t tiff_count_bad(struct tiff_work *w)
{
  struct image_pdf *pdf = w->pdf;
  uint32_t height = pdf->page.height, rows = height, options = 0, y, bad;
  int64_t total = 0;

  (void)TIFFGetFieldDefaulted(w->tiff, TIFFTAG_ROWSPERSTRIP, &rows);
  (void)TIFFGetField(w->tiff, TIFFTAG_GROUP3OPTIONS, &options);
  for (y = 0; y < height && total >= 0; y += rows) {
    uint32_t strip = TIFFComputeStrip(w->tiff, y, 0);
    size_t len = (size_t)TIFFGetStrileByteCount(w->tiff, strip);
    struct ccitt_parms fax = {.k = (options & GROUP3OPT_2DENCODING) != 0,
                              .columns = pdf->page.width,
                              .rows = height - y < rows ? height - y : rows,
                              .needs_eols = true};
    struct dx_buf copy = {0};

    rows = fax.rows;
    dx_buf_add(&copy, pdf->bytes + TIFFGetStrileOffset(w->tiff, strip), len);
    if (dx_buf_ok(&copy) &&
        tiff_tag(w->tiff, TIFFTAG_FILLORDER) == FILLORDER_LSB2MSB)
      TIFFReverseBits((uint8_t *)copy.data, (tmsize_t)len);
    if (dx_buf_ok(&copy) &&
        ccitt_check((const unsigned char *)copy.data, len, &fax, &bad,
                    &pdf->why) == DX_REASON_NONE)
      total += bad;
    else
      total = -1;
    dx_buf_release(&copy);
  }
  return total;
}

/*
 * libtiff reports bad rows of group 3, may skip the row behind each, and then
 * lacks rows at the end, which become white. It also reports the code that ends
 * a page. Nothing else may be behind its reports.
 */
static bool tiff_convert_fax(struct tiff_work *w)
{
  struct image_pdf *pdf = w->pdf;
  int64_t reported = 0, lost = 0, bad;
  uint32_t y;

  w->is_fax = true;
  for (y = 0; y < pdf->page.height && w->errors == 0; y++) {
    w->bad_rows = 0;
    if (TIFFReadScanline(w->tiff, pdf->row, y, 0) != 1) {
      memset(pdf->row, w->photometric == PHOTOMETRIC_MINISWHITE ? 0 : 255,
             pdf->row_bytes);
      lost++;
    }
    reported += w->bad_rows > 0;
    image_pdf_add_row(pdf);
  }
  w->is_fax = false;
  if (!tiff_goes_well(w))
    return false;
  if (reported + lost == 0)
    return true;
  bad = tiff_count_bad(w);
  return bad >= 0 && lost <= bad && reported <= 2 * bad + FAX_RTC_ROWS;
}

static bool tiff_convert_rows(struct tiff_work *w)
{
  struct image_pdf *pdf = w->pdf;
  bool ok;
  uint32_t y;

  if (w->photometric == PHOTOMETRIC_YCBCR)
    (void)TIFFSetField(w->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  ok = TIFFScanlineSize64(w->tiff) == pdf->row_bytes;
  if (ok && w->compression == COMPRESSION_CCITTFAX3)
    return tiff_convert_fax(w);
  for (y = 0; y < pdf->page.height && ok; y++) {
    ok = TIFFReadScanline(w->tiff, pdf->row, y, 0) == 1 && tiff_goes_well(w);
    image_pdf_add_row(pdf);
  }
  return ok;
}

/* Checks the JPEG of a page. If it does not match the tags, it is not used. */
static enum dx_reason tiff_match_jpeg(struct tiff_work *w)
{
  struct image_pdf_page *page = &w->pdf->page;
  struct dx_buf *jpeg = &w->pdf->image;
  struct jpeg_info info;
  enum dx_reason reason;

  if (!dx_buf_ok(jpeg))
    return DX_REASON_TROUBLE;
  reason = jpeg_check((const unsigned char *)jpeg->data, jpeg->len, &info,
                      &w->pdf->why);
  page->is_jpeg = reason == DX_REASON_NONE && info.width == page->width &&
                  info.height == page->height &&
                  info.components == page->components;
  if (!page->is_jpeg)
    jpeg->len = 0;
  return reason;
}

/* Old-style JPEG (TIFF 6, section 22): if two tags point to a complete JPEG, as
 * old scanner programs write it, that is copied. If tags point only to its
 * tables, the page is not read: programs disagree on what they mean. */
static enum dx_reason tiff_copy_old_jpeg(struct tiff_work *w)
{
  const unsigned char *bytes = w->pdf->bytes;
  uint64_t directory = TIFFCurrentDirOffset(w->tiff);
  uint64_t strip = TIFFGetStrileOffset(w->tiff, 0), len = w->pdf->len;
  uint64_t at = exif_value(bytes, len, directory, TIFFTAG_JPEGIFOFFSET);
  uint64_t size = exif_value(bytes, len, directory, TIFFTAG_JPEGIFBYTECOUNT);
  enum dx_reason reason;

  if (at == 0 || at >= len || TIFFIsBigTIFF(w->tiff))
    return DX_REASON_TYPE;
  if (size == 0 || size > len - at)
    size = len - at;
  if (strip != 0 && (strip < at || strip - at >= size))
    return DX_REASON_TYPE;
  dx_buf_add(&w->pdf->image, bytes + at, size);
  reason = tiff_match_jpeg(w);
  return reason == DX_REASON_NONE && !w->pdf->page.is_jpeg ? DX_REASON_TYPE
                                                           : reason;
}

/*
 * A page that is one JPEG is copied. Its tables, which may be in a tag of their
 * own with markers around them, belong after the strip's first marker. If it
 * does not match the tags, libtiff decodes it. The same is true for RGB: in a
 * PDF, three colors are read as YCbCr. pdf.c removes its metadata.
 */
static enum dx_reason tiff_copy_jpeg(struct tiff_work *w)
{
  const struct image_pdf_page *page = &w->pdf->page;
  struct dx_buf *jpeg = &w->pdf->image;
  const unsigned char *strip = w->pdf->bytes + TIFFGetStrileOffset(w->tiff, 0);
  uint64_t len = TIFFGetStrileByteCount(w->tiff, 0);
  unsigned char *tables = NULL;
  uint32_t tables_len = 0;

  if (w->compression == COMPRESSION_OJPEG)
    return tiff_copy_old_jpeg(w);
  if (w->compression != COMPRESSION_JPEG || page->bits != 8 ||
      w->photometric == PHOTOMETRIC_RGB || TIFFNumberOfStrips(w->tiff) != 1 ||
      len < 4)
    return DX_REASON_NONE;
  (void)TIFFGetField(w->tiff, TIFFTAG_JPEGTABLES, &tables_len, &tables);
  dx_buf_add(jpeg, strip, 2);
  if (tables_len > 4)
    dx_buf_add(jpeg, tables + 2, tables_len - 4);
  dx_buf_add(jpeg, strip + 2, (size_t)len - 2);
  return tiff_match_jpeg(w);
}

/* ---- any other page ---- */

/* True if there are other samples beside gray, or an index of a palette, that
 * libtiff does not read right: it skips too few of them at the edge of tiles,
 * does not invert their planes, and ignores the opacity of 16 bits and of a
 * palette. */
static bool tiff_is_misread(const struct tiff_work *w)
{
  if (w->samples == 1 || (w->photometric > PHOTOMETRIC_MINISBLACK &&
                          w->photometric != PHOTOMETRIC_PALETTE))
    return false;
  return w->photometric == PHOTOMETRIC_PALETTE || w->pdf->page.bits != 8 ||
         TIFFIsTiled(w->tiff) != 0 ||
         tiff_tag(w->tiff, TIFFTAG_PLANARCONFIG) != PLANARCONFIG_CONTIG;
}

/* True if samples are unsigned. libtiff reads all others as if they were, so
 * that half of the grays change places with the other half. */
static bool tiff_has_unsigned(const struct tiff_work *w)
{
  uint16_t format = tiff_tag(w->tiff, TIFFTAG_SAMPLEFORMAT);

  return format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
}

/* True if there is a sample whose tag says that it is the opacity. libtiff
 * takes any fourth one for it, such as the infrared of a scanner. */
static bool tiff_has_opacity(const struct tiff_work *w)
{
  const uint16_t *kinds;
  uint16_t count = 0;

  return TIFFGetField(w->tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) == 1 &&
         count > 0 && kinds[0] != EXTRASAMPLE_UNSPECIFIED;
}

/* libtiff says that it cannot convert some pixels only when it would begin,
 * such as CMYK with 16 bits. It can then not convert them even if they are
 * whole. */
static bool tiff_has_known_pixels(struct tiff_work *w)
{
  TIFFRGBAImage image;
  char text[1024];

  if (TIFFRGBAImageOK(w->tiff, text) != 1)
    return false;
  if (!TIFFRGBAImageBegin(&image, w->tiff, 1, text))
    return !tiff_begins(text, "Sorry");
  TIFFRGBAImageEnd(&image);
  return true;
}

/* libtiff multiplies colors by their opacity, but not gray. */
static bool tiff_is_premultiplied(const TIFFRGBAImage *image)
{
  return image->photometric > PHOTOMETRIC_MINISBLACK ||
         image->alpha != EXTRASAMPLE_UNASSALPHA;
}

static unsigned char tiff_on_white(uint32_t color, uint32_t opacity,
                                   bool is_premultiplied)
{
  if (!is_premultiplied)
    color = (color * opacity + 127) / 255;
  return (unsigned char)(color < opacity ? color + 255 - opacity : 255);
}

/* Converts in bands of the rows that libtiff decodes at once. */
static bool tiff_convert_pixels(struct tiff_work *w)
{
  struct image_pdf *pdf = w->pdf;
  uint32_t width = pdf->page.width, height = pdf->page.height, band = 0, x, y;
  uint32_t *pixels, *pixel = NULL;
  TIFFRGBAImage image;
  char text[1024];
  uint64_t size;
  bool ok, multiplied, has_opacity = tiff_has_opacity(w);

  if (!TIFFRGBAImageBegin(&image, w->tiff, 1, text))
    return false;
  multiplied = tiff_is_premultiplied(&image);
  image.req_orientation = image.orientation; /* the page will be rotated */
  (void)TIFFGetFieldDefaulted(
      w->tiff, TIFFIsTiled(w->tiff) ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP,
      &band);
  if (band == 0 || band > height)
    band = height;
  size = (uint64_t)band * width * sizeof(*pixels);
  pixels = size <= MEMORY_MAX ? malloc((size_t)size) : NULL;
  ok = pixels != NULL;
  w->is_too_complex = !ok;
  for (y = 0; y < height && ok; y++) {
    if (y % band == 0) {
      pixel = pixels;
      image.row_offset = (int)y;
      ok = TIFFRGBAImageGet(&image, pixels, width,
                            height - y < band ? height - y : band) == 1 &&
           tiff_goes_well(w);
    }
    for (x = 0; x < width && ok; x++, pixel++) {
      uint32_t opacity = has_opacity ? TIFFGetA(*pixel) : 255;

      pdf->row[3 * x] = tiff_on_white(TIFFGetR(*pixel), opacity, multiplied);
      pdf->row[3 * x + 1] =
          tiff_on_white(TIFFGetG(*pixel), opacity, multiplied);
      pdf->row[3 * x + 2] =
          tiff_on_white(TIFFGetB(*pixel), opacity, multiplied);
    }
    image_pdf_add_row(pdf);
  }
  free(pixels);
  TIFFRGBAImageEnd(&image);
  return ok;
}

/* ---- all pages ---- */

/* Without a unit, the resolution only determines the shape of a pixel. A
 * profile of inks is not valid for the colors that libtiff converts them to. */
static void tiff_read_tags(struct tiff_work *w)
{
  struct image_pdf_page *page = &w->pdf->page;
  uint16_t unit = tiff_tag(w->tiff, TIFFTAG_RESOLUTIONUNIT);
  float x = 0, y = 0, scale = 1;

  *page = (struct image_pdf_page){
      .bits = tiff_tag(w->tiff, TIFFTAG_BITSPERSAMPLE),
      .orientation = tiff_tag(w->tiff, TIFFTAG_ORIENTATION)};
  if (page->orientation > ORIENTATION_LEFTBOT)
    page->orientation = 0;
  w->compression = tiff_tag(w->tiff, TIFFTAG_COMPRESSION);
  w->samples = tiff_tag(w->tiff, TIFFTAG_SAMPLESPERPIXEL);
  w->photometric = UINT16_MAX;
  (void)TIFFGetField(w->tiff, TIFFTAG_PHOTOMETRIC, &w->photometric);
  (void)TIFFGetField(w->tiff, TIFFTAG_IMAGEWIDTH, &page->width);
  (void)TIFFGetField(w->tiff, TIFFTAG_IMAGELENGTH, &page->height);
  (void)TIFFGetField(w->tiff, TIFFTAG_XRESOLUTION, &x);
  (void)TIFFGetField(w->tiff, TIFFTAG_YRESOLUTION, &y);
  if (unit == RESUNIT_CENTIMETER)
    scale = 2.54F;
  else if (unit == RESUNIT_NONE && x > 0)
    scale = 300 / x;
  page->x_dpi = (double)(x * scale);
  page->y_dpi = (double)(y * scale);
  if (w->photometric != PHOTOMETRIC_SEPARATED)
    (void)TIFFGetField(w->tiff, TIFFTAG_ICCPROFILE, &page->profile_len,
                       &page->profile);
}

/* True if the colors of a palette are missing. libtiff then reads its indexes
 * as gray: a page of 16 colors would be black. */
static bool tiff_lacks_palette(const struct tiff_work *w)
{
  return !TIFFIsBigTIFF(w->tiff) && w->photometric != PHOTOMETRIC_PALETTE &&
         exif_value(w->pdf->bytes, w->pdf->len, TIFFCurrentDirOffset(w->tiff),
                    TIFFTAG_PHOTOMETRIC) == PHOTOMETRIC_PALETTE;
}

static enum dx_reason tiff_convert_page(struct tiff_work *w)
{
  struct image_pdf_page *page = &w->pdf->page;
  enum dx_reason reason;
  bool plain, old_jpeg;

  tiff_read_tags(w);
  plain = tiff_has_plain_rows(w);
  old_jpeg = plain && w->compression == COMPRESSION_OJPEG;
  if ((!tiff_is_allowed(w->compression) && !old_jpeg) ||
      !tiff_has_unsigned(w) ||
      (!plain && (tiff_is_misread(w) || !tiff_has_known_pixels(w))))
    return DX_REASON_TYPE;
  page->components = plain ? w->samples : 3;
  page->bits = plain ? page->bits : 8;
  page->inverted = plain && w->photometric == PHOTOMETRIC_MINISWHITE;
  reason = image_pdf_begin_page(w->pdf);
  w->warnings = 0; /* those about tags are ignored */
  w->pdf->why = "a part of its image is missing";
  if (reason == DX_REASON_NONE &&
      (!tiff_goes_well(w) || tiff_lacks_palette(w) ||
       (!old_jpeg && !tiff_has_strips(w))))
    reason = DX_REASON_DAMAGED;
  if (reason == DX_REASON_NONE && plain)
    reason = tiff_copy_jpeg(w);
  if (reason == DX_REASON_NONE && !page->is_jpeg &&
      !(plain ? tiff_convert_rows(w) : tiff_convert_pixels(w)))
    reason = DX_REASON_DAMAGED;
  if (reason == DX_REASON_NONE)
    image_pdf_end_page(w->pdf);
  return w->is_too_complex ? DX_REASON_TOO_COMPLEX : reason;
}

static struct tiff_image tiff_read_image(struct tiff_work *w)
{
  struct tiff_image image = {0};
  uint32_t type = 0;
  uint16_t subordinate;
  const uint64_t *ifds;

  (void)TIFFGetField(w->tiff, TIFFTAG_IMAGEWIDTH, &image.width);
  (void)TIFFGetField(w->tiff, TIFFTAG_IMAGELENGTH, &image.height);
  /* libtiff does not read SubfileType, the older tag for that (TIFF 5). */
  (void)TIFFGetField(w->tiff, TIFFTAG_SUBFILETYPE, &type);
  if (!TIFFIsBigTIFF(w->tiff) &&
      exif_value(w->pdf->bytes, w->pdf->len, TIFFCurrentDirOffset(w->tiff),
                 TIFFTAG_OSUBFILETYPE) == OFILETYPE_REDUCEDIMAGE)
    type |= FILETYPE_REDUCEDIMAGE;
  if ((type & FILETYPE_REDUCEDIMAGE) != 0 &&
      TIFFGetField(w->tiff, TIFFTAG_SUBIFD, &subordinate, &ifds) == 1)
    type = FILETYPE_MASK; /* a preview of what is there, as in a raw photo */
  if ((type & FILETYPE_MASK) == 0) {
    image.is_reduced = (type & FILETYPE_REDUCEDIMAGE) != 0;
    image.is_page = !image.is_reduced;
  }
  return image;
}

static bool tiff_is_thumbnail(const struct tiff_image *small,
                              const struct tiff_image *page)
{
  double across = (double)small->width * page->height;
  double down = (double)small->height * page->width;

  return small->width < page->width && small->height < page->height &&
         across >= down * (1 - THUMBNAIL_SHAPE) &&
         across <= down * (1 + THUMBNAIL_SHAPE);
}

/* Images that are marked as reduced are pages unless they are thumbnails of the
 * page before or after them: some programs mark pages. */
static void tiff_find_pages(struct tiff_image *images, int count)
{
  const struct tiff_image *before = NULL;
  int i, after;

  for (i = 0; i < count; i++) {
    if (images[i].is_reduced) {
      for (after = i + 1; after < count && !images[after].is_page;)
        after++;
      images[i].is_page =
          !(before != NULL && tiff_is_thumbnail(&images[i], before)) &&
          !(after < count && tiff_is_thumbnail(&images[i], &images[after]));
    }
    if (images[i].is_page)
      before = &images[i];
  }
}

/* Forgets messages about another one. */
static void tiff_forget(struct tiff_work *w)
{
  w->errors = w->warnings = 0;
  w->is_length_missing = false;
}

/* Returns how many images could be read; the caller frees them. The first one
 * becomes the current one again. */
static int tiff_list(struct tiff_work *w, struct tiff_image **ret_images)
{
  struct dx_buf images = {0};
  int count = 0;

  do {
    struct tiff_image image = tiff_read_image(w);

    dx_buf_add(&images, &image, sizeof(image));
    count++;
  } while (count <= DIRECTORIES_MAX && TIFFLastDirectory(w->tiff) == 0 &&
           TIFFReadDirectory(w->tiff) == 1);
  *ret_images = (struct tiff_image *)(void *)images.data;
  if (!dx_buf_ok(&images))
    return -1;
  tiff_find_pages(*ret_images, count);
  if (count > 1) {
    tiff_forget(w);
    (void)TIFFSetDirectory(w->tiff, 0);
  }
  return count;
}

/* libtiff reports the end of the list of pages and an error the same way,
 * unless it is asked first. */
static enum dx_reason tiff_convert_pages(struct tiff_work *w,
                                         const struct tiff_image *images,
                                         int count)
{
  struct image_pdf *pdf = w->pdf;
  enum dx_reason reason = DX_REASON_NONE;
  int i, number = 0;

  for (i = 0;; i++) {
    if (images[i].is_page && options_choose(pdf->task->options, ++number)) {
      pdf->number = number;
      reason = tiff_convert_page(w);
    }
    if (reason != DX_REASON_NONE || TIFFLastDirectory(w->tiff) != 0)
      return reason;
    pdf->number = 0;
    if (i + 1 == DIRECTORIES_MAX)
      return DX_REASON_TOO_COMPLEX;
    tiff_forget(w);
    if (TIFFReadDirectory(w->tiff) != 1 || i + 1 == count) {
      pdf->why = "its list of pages is damaged";
      return DX_REASON_DAMAGED;
    }
  }
}

static enum dx_reason tiff_convert_all(struct tiff_work *w)
{
  struct tiff_image *images = NULL;
  int count = tiff_list(w, &images);
  enum dx_reason reason =
      count > 0 ? tiff_convert_pages(w, images, count) : DX_REASON_TROUBLE;

  free(images);
  return reason;
}

enum dx_reason image_pdf_tiff(struct image_pdf *pdf)
{
  struct tiff_work w = {.pdf = pdf};
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  TIFFCodec *codecs = TIFFGetConfiguredCODECs(), *c;
  enum dx_reason reason = DX_REASON_DAMAGED;

  if (options == NULL)
    return DX_REASON_TROUBLE;
  /* libtiff would initialize any codec while it reads the tags, also of
   * thumbnails: all others are replaced. */
  for (c = codecs; c != NULL && c->name != NULL; c++)
    if (!tiff_is_allowed(c->scheme) &&
        TIFFFindCODEC(c->scheme)->init != tiff_do_nothing)
      (void)TIFFRegisterCODEC(c->scheme, c->name, tiff_do_nothing);
  _TIFFfree(codecs);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, MEMORY_MAX);
  TIFFOpenOptionsSetErrorHandlerExtR(options, tiff_count_error, &w);
  TIFFOpenOptionsSetWarningHandlerExtR(options, tiff_count_warning, &w);
  w.tiff =
      TIFFClientOpenExt("", "r", &w, tiff_read, tiff_do_not_write, tiff_seek,
                        tiff_close, tiff_size, tiff_map, tiff_unmap, options);
  TIFFOpenOptionsFree(options);
  if (w.tiff != NULL) {
    reason = tiff_convert_all(&w);
    TIFFClose(w.tiff);
  }
  return reason;
}
