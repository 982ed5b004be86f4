/*
 * tiff.c - reads TIFF with libtiff, with a memory limit. Messages are counted,
 * not printed: they may quote the document. Errors that libtiff does not detect
 * are checked here.
 *
 * Every page is decoded completely, and the document is refused if anything of
 * a page is missing. Nothing is lost: a page that is one JPEG stays a JPEG,
 * everything else is compressed without loss, with at most 8 bits per color, on
 * white where it is transparent. A color profile stays, other metadata go.
 * Reduced images, masks and subordinate directories are not pages.
 */
#include "filter/image_pdf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tiffio.h>

#include "filter/codecs.h"
#include "filter/options.h"

/* At once; A4 at 600 dpi in one strip of a palette takes 133 MiB. */
#define MEMORY_MAX (256 << 20)
#define DIRECTORIES_MAX 10000

struct tiff_work {
  struct image_pdf *pdf;
  TIFF *tiff;
  int errors;
  int warnings;
  bool is_too_complex;
  uint16_t compression, photometric, samples; /* of its tags */
};

static bool tiff_begins(const char *text, const char *beginning)
{
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

static int tiff_count_error(TIFF *tiff, void *work, const char *module,
                            const char *format, va_list args)
{
  struct tiff_work *w = work;

  (void)tiff;
  (void)module;
  (void)args;
  w->errors++;
  if (tiff_begins(format, "Memory allocation of ")) /* MEMORY_MAX */
    w->is_too_complex = true;
  return 1; /* handled, not printed */
}

/*
 * If a tag is past the end of the file, libtiff only warns, and ignores it,
 * which changes the colors if it is the palette. If a length is wrong, it only
 * warns, and reads the data that follow. Two warnings are harmless.
 */
static int tiff_count_warning(TIFF *tiff, void *work, const char *module,
                              const char *format, va_list args)
{
  struct tiff_work *w = work;

  if (tiff_begins(format, "IO error") || tiff_begins(format, "Bogus \"Strip") ||
      tiff_begins(format, "Wrong \"Strip"))
    return tiff_count_error(tiff, w, module, format, args);
  if (!tiff_begins(format, "Old-style LZW codes") &&
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

/* True if all strips or tiles are in the file. */
static bool tiff_has_strips(struct tiff_work *w)
{
  uint32_t i, count = TIFFIsTiled(w->tiff) ? TIFFNumberOfTiles(w->tiff)
                                           : TIFFNumberOfStrips(w->tiff);

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
           w->compression == COMPRESSION_JPEG));
}

static bool tiff_convert_rows(struct tiff_work *w)
{
  struct image_pdf *pdf = w->pdf;
  bool ok;
  uint32_t y;

  if (w->photometric == PHOTOMETRIC_YCBCR)
    (void)TIFFSetField(w->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  ok = TIFFScanlineSize64(w->tiff) == pdf->row_bytes;
  for (y = 0; y < pdf->page.height && ok; y++) {
    ok = TIFFReadScanline(w->tiff, pdf->row, y, 0) == 1 && tiff_goes_well(w);
    image_pdf_add_row(pdf);
  }
  return ok;
}

/*
 * A page that is one JPEG is copied. Its tables, which may be in a tag of their
 * own with markers around them, belong after the strip's first marker. If it
 * does not match the tags, libtiff decodes it. The same is true for RGB: in a
 * PDF, three colors are read as YCbCr. pdf.c removes its metadata.
 */
static enum dx_reason tiff_copy_jpeg(struct tiff_work *w)
{
  struct image_pdf_page *page = &w->pdf->page;
  struct dx_buf *jpeg = &w->pdf->image;
  const unsigned char *strip = w->pdf->bytes + TIFFGetStrileOffset(w->tiff, 0);
  uint64_t len = TIFFGetStrileByteCount(w->tiff, 0);
  unsigned char *tables = NULL;
  enum dx_reason reason;
  struct jpeg_info info;
  uint32_t tables_len = 0;

  if (w->compression != COMPRESSION_JPEG || page->bits != 8 ||
      w->photometric == PHOTOMETRIC_RGB || TIFFNumberOfStrips(w->tiff) != 1 ||
      len < 4)
    return DX_REASON_NONE;
  (void)TIFFGetField(w->tiff, TIFFTAG_JPEGTABLES, &tables_len, &tables);
  dx_buf_add(jpeg, strip, 2);
  if (tables_len > 4)
    dx_buf_add(jpeg, tables + 2, tables_len - 4);
  dx_buf_add(jpeg, strip + 2, (size_t)len - 2);
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

/* ---- any other page ---- */

/* Converts in bands of the rows that libtiff decodes at once. Its colors are
 * premultiplied by the opacity. */
static bool tiff_convert_pixels(struct tiff_work *w)
{
  struct image_pdf *pdf = w->pdf;
  uint32_t width = pdf->page.width, height = pdf->page.height, band = 0, x, y;
  uint32_t *pixels, *pixel = NULL;
  TIFFRGBAImage image;
  char text[1024];
  uint64_t size;
  bool ok;

  if (!TIFFRGBAImageBegin(&image, w->tiff, 1, text))
    return false;
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
      uint32_t white = 255 - TIFFGetA(*pixel);

      pdf->row[3 * x] = (unsigned char)(TIFFGetR(*pixel) + white);
      pdf->row[3 * x + 1] = (unsigned char)(TIFFGetG(*pixel) + white);
      pdf->row[3 * x + 2] = (unsigned char)(TIFFGetB(*pixel) + white);
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

static enum dx_reason tiff_convert_page(struct tiff_work *w)
{
  struct image_pdf_page *page = &w->pdf->page;
  enum dx_reason reason;
  char text[1024];
  bool plain;

  tiff_read_tags(w);
  plain = tiff_has_plain_rows(w);
  if (!tiff_is_allowed(w->compression) ||
      (!plain && TIFFRGBAImageOK(w->tiff, text) != 1))
    return DX_REASON_TYPE;
  page->components = plain ? w->samples : 3;
  page->bits = plain ? page->bits : 8;
  page->inverted = plain && w->photometric == PHOTOMETRIC_MINISWHITE;
  reason = image_pdf_begin_page(w->pdf);
  w->warnings = 0; /* those about tags are ignored */
  w->pdf->why = "a part of its image is missing";
  if (reason == DX_REASON_NONE && (!tiff_goes_well(w) || !tiff_has_strips(w)))
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

/* libtiff reports the end of the list of pages and an error the same way,
 * unless it is asked first. */
static enum dx_reason tiff_convert_all(struct tiff_work *w)
{
  struct image_pdf *pdf = w->pdf;
  enum dx_reason reason = DX_REASON_NONE;
  int directories = 0, number = 0;

  for (;;) {
    uint32_t type = 0;

    /* A smaller version and a mask are not pages. libtiff does not read
     * SubfileType, the older tag for that (TIFF 5). */
    (void)TIFFGetField(w->tiff, TIFFTAG_SUBFILETYPE, &type);
    if (!TIFFIsBigTIFF(w->tiff) &&
        jpeg_exif_number(pdf->bytes, pdf->len, TIFFCurrentDirOffset(w->tiff),
                         TIFFTAG_OSUBFILETYPE) == OFILETYPE_REDUCEDIMAGE)
      type = FILETYPE_REDUCEDIMAGE;
    if ((type & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0 &&
        options_choose(pdf->task->options, ++number)) {
      pdf->number = number;
      reason = tiff_convert_page(w);
    }
    if (reason != DX_REASON_NONE || TIFFLastDirectory(w->tiff) != 0)
      return reason;
    pdf->number = 0;
    if (++directories == DIRECTORIES_MAX)
      return DX_REASON_TOO_COMPLEX;
    w->errors = 0;
    if (TIFFReadDirectory(w->tiff) != 1) {
      pdf->why = "its list of pages is damaged";
      return DX_REASON_DAMAGED;
    }
  }
}

enum dx_reason image_pdf_tiff(struct image_pdf *pdf)
{
  struct tiff_work w = {.pdf = pdf};
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  TIFFCodec *codecs = TIFFGetConfiguredCODECs(), *c;
  enum dx_reason reason = DX_REASON_DAMAGED;
  int fd = pdf->task->in_fd;

  if (options == NULL || lseek(fd, 0, SEEK_SET) != 0)
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
  w.tiff = TIFFFdOpenExt(fd, "", "rm", options); /* not mapped twice */
  TIFFOpenOptionsFree(options);
  if (w.tiff != NULL) {
    reason = tiff_convert_all(&w);
    TIFFCleanup(w.tiff); /* leaves the descriptor open */
  }
  return reason;
}
