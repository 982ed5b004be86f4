/*
 * tiff.c - libtiff, with a memory limit and its messages counted, not printed:
 * they may quote the document.
 */
#include "filter/tiff.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tiffio.h>

#include "filter/image_pdf.h"
#include "filter/options.h"

/* For a page, at once; one in color, A4 at 600 dpi, takes 133 MiB. */
#define MEMORY_MAX (256 << 20)
#define SIDE_MAX_PX 1000000
#define DPI_DEFAULT 300.0
#define SIDE_MIN_IN 0.05 /* of what can be a page */
#define SIDE_MAX_IN 200.0

struct conversion {
  const struct pdf_task *task;
  TIFF *tiff;
  struct image_pdf *pdf;
  int errors;
  int warnings;
  bool is_too_complex;
  struct image_pdf_page page;
};

/* What the tags of a page say; 0 where there is neither a tag nor a default. */
struct tags {
  uint16_t compression, photometric, bits, samples, planar, format;
};

static int count_error(TIFF *tiff, void *conversion, const char *module,
                       const char *format, va_list args)
{
  struct conversion *c = conversion;

  (void)tiff;
  (void)module;
  (void)args;
  c->errors++;
  if (strncmp(format, "Memory allocation of ", 21) == 0) /* MEMORY_MAX */
    c->is_too_complex = true;
  return 1; /* handled: not passed on */
}

/* If a tag lies past the end of a truncated file, libtiff goes on without it,
 * in other colors if it is the palette. */
static int count_warning(TIFF *tiff, void *conversion, const char *module,
                         const char *format, va_list args)
{
  struct conversion *c = conversion;

  if (strncmp(format, "IO error", 8) == 0)
    return count_error(tiff, c, module, format, args);
  c->warnings++;
  return 1;
}

static TIFFOpenOptions *new_options(struct conversion *c)
{
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();

  if (options != NULL) {
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, MEMORY_MAX);
    TIFFOpenOptionsSetErrorHandlerExtR(options, count_error, c);
    TIFFOpenOptionsSetWarningHandlerExtR(options, count_warning, c);
  }
  return options;
}

/* After the first complaint libtiff would go on for as many rows as the tags
 * claim. */
static bool goes_well(const struct conversion *c)
{
  return c->errors == 0 && c->warnings == 0 &&
         image_pdf_size(c->pdf) <= c->task->most_bytes;
}

/* What a page needs at once. */
static void *get_memory(struct conversion *c, uint64_t len)
{
  c->is_too_complex = c->is_too_complex || len > MEMORY_MAX;
  return len > 0 && len <= MEMORY_MAX ? malloc((size_t)len) : NULL;
}

/* ---- tags ---- */

static uint16_t tag(TIFF *tiff, uint32_t name)
{
  uint16_t value = 0;

  return TIFFGetFieldDefaulted(tiff, name, &value) == 1 ? value : 0;
}

static bool is_page(TIFF *tiff)
{
  uint32_t type = 0;

  (void)TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &type);
  return (type & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0;
}

static struct tags read_tags(TIFF *tiff)
{
  struct tags t = {.compression = tag(tiff, TIFFTAG_COMPRESSION),
                   .photometric = UINT16_MAX,
                   .bits = tag(tiff, TIFFTAG_BITSPERSAMPLE),
                   .samples = tag(tiff, TIFFTAG_SAMPLESPERPIXEL),
                   .planar = tag(tiff, TIFFTAG_PLANARCONFIG),
                   .format = tag(tiff, TIFFTAG_SAMPLEFORMAT)};

  (void)TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &t.photometric);
  return t;
}

static bool can_be_side(double pixels, double dpi)
{
  return dpi > 0 && pixels / dpi >= SIDE_MIN_IN && pixels / dpi <= SIDE_MAX_IN;
}

/* Without a unit, only the shape of a pixel counts; a page whose sides make no
 * sense has square pixels. */
static void read_resolution(TIFF *tiff, struct image_pdf_page *page)
{
  uint16_t unit = tag(tiff, TIFFTAG_RESOLUTIONUNIT);
  double scale = unit == RESUNIT_CENTIMETER ? 2.54 : 1;
  float x = 0, y = 0;

  (void)TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x);
  (void)TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &y);
  if (unit == RESUNIT_NONE && x > 0)
    scale = DPI_DEFAULT / (double)x;
  page->x_dpi = (double)x * scale;
  page->y_dpi = (double)y * scale;
  if (!can_be_side(page->width, page->x_dpi) ||
      !can_be_side(page->height, page->y_dpi)) {
    double longest = page->width > page->height ? page->width : page->height;

    page->x_dpi = longest / SIDE_MAX_IN;
    if (page->x_dpi < DPI_DEFAULT)
      page->x_dpi = DPI_DEFAULT;
    page->y_dpi = page->x_dpi;
  }
}

/* ---- rows that can be taken as they are ---- */

static bool is_gray(const struct tags *t)
{
  return t->samples == 1 &&
         (t->photometric == PHOTOMETRIC_MINISWHITE ||
          t->photometric == PHOTOMETRIC_MINISBLACK) &&
         (t->bits == 1 || t->bits == 2 || t->bits == 4 || t->bits == 8);
}

/* YCbCr only where libtiff converts it while it reads rows. */
static bool is_rgb(const struct tags *t)
{
  return t->samples == 3 && t->bits == 8 && t->planar == PLANARCONFIG_CONTIG &&
         (t->photometric == PHOTOMETRIC_RGB ||
          (t->photometric == PHOTOMETRIC_YCBCR &&
           t->compression == COMPRESSION_JPEG));
}

static bool has_plain_rows(TIFF *tiff, const struct tags *t)
{
  return TIFFIsTiled(tiff) == 0 && t->compression != COMPRESSION_OJPEG &&
         (t->format == SAMPLEFORMAT_UINT || t->format == SAMPLEFORMAT_VOID) &&
         (is_gray(t) || is_rgb(t));
}

/* In a PDF, a JPEG with three colors is taken to be YCbCr. */
static bool is_whole_jpeg(TIFF *tiff, const struct tags *t)
{
  return t->compression == COMPRESSION_JPEG && t->bits == 8 &&
         t->photometric != PHOTOMETRIC_RGB && TIFFNumberOfStrips(tiff) == 1;
}

static enum image_pdf_coding coding_of(TIFF *tiff, const struct tags *t)
{
  if (t->bits == 1)
    return IMAGE_PDF_G4;
  return is_whole_jpeg(tiff, t) ? IMAGE_PDF_JPEG : IMAGE_PDF_ROWS;
}

/* ---- group 4 ---- */

/* libtiff as an encoder: it writes a file with one strip, of which only the
 * strip is used. It follows the header, and is written from beginning to end.
 */
struct g4 {
  struct image_pdf *pdf;
  TIFF *tiff;
  uint64_t at;
  bool ended;
};

#define TIFF_HEADER_BYTES 8
#define G4_BUFFER_BYTES 65536 /* libtiff's default: the size of the image */

static tmsize_t g4_read(thandle_t g4, void *bytes, tmsize_t len)
{
  (void)g4;
  (void)bytes;
  (void)len;
  return -1;
}

static tmsize_t g4_write(thandle_t handle, void *bytes, tmsize_t len)
{
  struct g4 *g4 = handle;

  if (g4->at >= TIFF_HEADER_BYTES && !g4->ended)
    image_pdf_add(g4->pdf, bytes, (size_t)len);
  g4->at += (uint64_t)len;
  return len;
}

static toff_t g4_seek(thandle_t handle, toff_t offset, int whence)
{
  struct g4 *g4 = handle;

  return whence == SEEK_SET ? offset : g4->at;
}

static toff_t g4_size(thandle_t handle)
{
  struct g4 *g4 = handle;

  return g4->at;
}

static int g4_close(thandle_t g4)
{
  (void)g4;
  return 0;
}

static bool g4_begin(struct g4 *g4, struct conversion *c)
{
  TIFFOpenOptions *options = new_options(c);

  *g4 = (struct g4){.pdf = c->pdf};
  if (options != NULL)
    g4->tiff = TIFFClientOpenExt("", "w", g4, g4_read, g4_write, g4_seek,
                                 g4_close, g4_size, NULL, NULL, options);
  TIFFOpenOptionsFree(options);
  return g4->tiff != NULL &&
         TIFFWriteBufferSetup(g4->tiff, NULL, G4_BUFFER_BYTES) == 1 &&
         TIFFSetField(g4->tiff, TIFFTAG_IMAGEWIDTH, c->page.width) &&
         TIFFSetField(g4->tiff, TIFFTAG_IMAGELENGTH, c->page.height) &&
         TIFFSetField(g4->tiff, TIFFTAG_ROWSPERSTRIP, c->page.height) &&
         TIFFSetField(g4->tiff, TIFFTAG_BITSPERSAMPLE, 1) &&
         TIFFSetField(g4->tiff, TIFFTAG_SAMPLESPERPIXEL, 1) &&
         TIFFSetField(g4->tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
         TIFFSetField(g4->tiff, TIFFTAG_COMPRESSION, COMPRESSION_CCITTFAX4);
}

static bool g4_end(struct g4 *g4)
{
  bool ok = g4->tiff != NULL && TIFFFlushData(g4->tiff) == 1;

  g4->ended = true; /* the directory is not used */
  if (g4->tiff != NULL)
    TIFFClose(g4->tiff);
  return ok;
}

/* ---- a page of plain rows ---- */

static uint64_t row_bytes(const struct image_pdf_page *page)
{
  uint64_t samples = (uint64_t)page->width * (uint64_t)page->components;

  return (samples * (uint64_t)page->bits + 7) / 8;
}

/* Reads all rows; a JPEG only to see whether it can be decoded. */
static bool read_rows(struct conversion *c, struct g4 *g4)
{
  uint64_t len = TIFFScanlineSize64(c->tiff);
  unsigned char *row = get_memory(c, len);
  bool ok = row != NULL && len == row_bytes(&c->page);
  uint32_t y;

  for (y = 0; y < c->page.height && ok; y++) {
    ok = TIFFReadScanline(c->tiff, row, y, 0) == 1 && goes_well(c);
    if (ok && g4 != NULL)
      ok = TIFFWriteScanline(g4->tiff, row, y, 0) == 1;
    else if (ok && c->page.coding == IMAGE_PDF_ROWS)
      image_pdf_add(c->pdf, row, (size_t)len);
  }
  free(row);
  return ok;
}

static bool convert_bilevel(struct conversion *c)
{
  struct g4 g4;
  bool ok = g4_begin(&g4, c) && read_rows(c, &g4);

  return g4_end(&g4) && ok;
}

/* The tables, which may be in a tag of their own, belong after the strip's
 * first marker; they have markers of their own around them. */
static bool copy_jpeg(struct conversion *c)
{
  uint64_t len = TIFFGetStrileByteCount(c->tiff, 0);
  unsigned char *strip = get_memory(c, len);
  unsigned char *tables = NULL;
  uint32_t tables_len = 0;
  bool ok = strip != NULL && len > 2 &&
            TIFFReadRawStrip(c->tiff, 0, strip, (tmsize_t)len) == (tmsize_t)len;

  if (ok) {
    image_pdf_add(c->pdf, strip, 2);
    if (TIFFGetField(c->tiff, TIFFTAG_JPEGTABLES, &tables_len, &tables) == 1 &&
        tables_len > 4)
      image_pdf_add(c->pdf, tables + 2, tables_len - 4);
    image_pdf_add(c->pdf, strip + 2, (size_t)len - 2);
  }
  free(strip);
  return ok;
}

static bool convert_rows(struct conversion *c, const struct tags *t)
{
  c->page.components = t->samples;
  c->page.bits = t->bits;
  c->page.inverted = t->photometric == PHOTOMETRIC_MINISWHITE;
  c->page.coding = coding_of(c->tiff, t);
  if (t->photometric == PHOTOMETRIC_YCBCR)
    (void)TIFFSetField(c->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  image_pdf_begin_page(c->pdf, &c->page);
  switch (c->page.coding) {
  case IMAGE_PDF_G4:
    return convert_bilevel(c);
  case IMAGE_PDF_JPEG:
    return read_rows(c, NULL) && copy_jpeg(c);
  default:
    return read_rows(c, NULL);
  }
}

/* ---- any other page ---- */

/* From libtiff's pixels, whose colors are multiplied by their opacity. */
static void add_rows(struct conversion *c, const uint32_t *pixels,
                     unsigned char *row, uint32_t count)
{
  uint32_t x, y;

  for (y = 0; y < count; y++) {
    for (x = 0; x < c->page.width; x++) {
      uint32_t pixel = *pixels++, white = 255 - TIFFGetA(pixel);

      row[3 * x] = (unsigned char)(TIFFGetR(pixel) + white);
      row[3 * x + 1] = (unsigned char)(TIFFGetG(pixel) + white);
      row[3 * x + 2] = (unsigned char)(TIFFGetB(pixel) + white);
    }
    image_pdf_add(c->pdf, row, 3 * (size_t)c->page.width);
  }
}

/* Rows that libtiff decodes at once. */
static uint32_t rows_at_once(const struct conversion *c)
{
  uint32_t rows = 0;

  (void)TIFFGetFieldDefaulted(
      c->tiff, TIFFIsTiled(c->tiff) ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP,
      &rows);
  return rows == 0 || rows > c->page.height ? c->page.height : rows;
}

static bool read_bands(struct conversion *c, TIFFRGBAImage *image,
                       uint32_t rows)
{
  uint32_t width = c->page.width, y;
  uint32_t *pixels = get_memory(c, (uint64_t)rows * width * sizeof(*pixels));
  unsigned char *row = get_memory(c, 3 * (uint64_t)width);
  bool ok = pixels != NULL && row != NULL;

  for (y = 0; y < c->page.height && ok; y += rows) {
    uint32_t left = c->page.height - y, count = left < rows ? left : rows;

    image->row_offset = (int)y;
    ok = TIFFRGBAImageGet(image, pixels, width, count) == 1 && goes_well(c);
    if (ok)
      add_rows(c, pixels, row, count);
  }
  free(row);
  free(pixels);
  return ok;
}

static bool convert_pixels(struct conversion *c)
{
  uint32_t rows = rows_at_once(c);
  TIFFRGBAImage image;
  char text[1024];
  bool ok;

  if (!TIFFRGBAImageBegin(&image, c->tiff, 1, text))
    return false;
  image.req_orientation = image.orientation; /* the page will be turned */
  c->page.components = 3;
  c->page.bits = 8;
  c->page.coding = IMAGE_PDF_ROWS;
  image_pdf_begin_page(c->pdf, &c->page);
  ok = read_bands(c, &image, rows);
  TIFFRGBAImageEnd(&image);
  return ok;
}

/* ---- all pages ---- */

static enum dx_reason convert_page(struct conversion *c)
{
  struct tags t = read_tags(c->tiff);
  char text[1024];
  bool plain = has_plain_rows(c->tiff, &t), ok;

  c->page = (struct image_pdf_page){0};
  (void)TIFFGetField(c->tiff, TIFFTAG_IMAGEWIDTH, &c->page.width);
  (void)TIFFGetField(c->tiff, TIFFTAG_IMAGELENGTH, &c->page.height);
  c->page.orientation = tag(c->tiff, TIFFTAG_ORIENTATION);
  if (c->page.orientation < 1 || c->page.orientation > 8)
    c->page.orientation = ORIENTATION_TOPLEFT;
  read_resolution(c->tiff, &c->page);
  if (TIFFIsCODECConfigured(t.compression) != 1 ||
      (!plain && TIFFRGBAImageOK(c->tiff, text) != 1))
    return DX_REASON_TYPE;
  if (c->page.width > SIDE_MAX_PX || c->page.height > SIDE_MAX_PX)
    return DX_REASON_TOO_COMPLEX;
  c->warnings = 0; /* those about tags do not matter */
  ok = plain ? convert_rows(c, &t) : convert_pixels(c);
  if (ok)
    image_pdf_end_page(c->pdf);
  if (image_pdf_size(c->pdf) > c->task->most_bytes)
    return DX_REASON_TOO_LARGE;
  if (c->is_too_complex)
    return DX_REASON_TOO_COMPLEX;
  return ok && goes_well(c) ? DX_REASON_NONE : DX_REASON_DAMAGED;
}

/* libtiff reports the end of the list of pages and an error the same way,
 * unless it is asked first. */
static enum dx_reason convert_all(struct conversion *c, int *ret_pages)
{
  enum dx_reason reason = DX_REASON_NONE;
  int number = 0;
  bool more = true;

  *ret_pages = 0;
  while (more && reason == DX_REASON_NONE) {
    if (is_page(c->tiff) && options_choose(c->task->options, ++number)) {
      reason = convert_page(c);
      ++*ret_pages;
    }
    more = TIFFLastDirectory(c->tiff) == 0;
    if (more && reason == DX_REASON_NONE && TIFFReadDirectory(c->tiff) != 1)
      reason = DX_REASON_DAMAGED;
  }
  return reason == DX_REASON_NONE && *ret_pages == 0 ? DX_REASON_NO_PAGES
                                                     : reason;
}

static TIFF *open_tiff(struct conversion *c)
{
  TIFFOpenOptions *options = new_options(c);
  TIFF *tiff = NULL;

  if (options != NULL && lseek(c->task->in_fd, 0, SEEK_SET) == 0)
    tiff = TIFFFdOpenExt(c->task->in_fd, "", "r", options);
  TIFFOpenOptionsFree(options);
  return tiff;
}

enum dx_reason tiff_to_pdf(const struct pdf_task *task,
                           struct pdf_done *ret_done)
{
  struct conversion c = {.task = task, .pdf = image_pdf_new(task->out_fd)};
  enum dx_reason reason = DX_REASON_TROUBLE;
  int pages = 0;

  if (c.pdf != NULL) {
    c.tiff = open_tiff(&c);
    reason = c.tiff != NULL ? convert_all(&c, &pages) : DX_REASON_DAMAGED;
    if (reason == DX_REASON_NONE && !image_pdf_end(c.pdf))
      reason = DX_REASON_TROUBLE;
  }
  if (c.tiff != NULL)
    TIFFCleanup(c.tiff); /* leaves the descriptor open */
  image_pdf_free(&c.pdf);
  if (reason == DX_REASON_NONE)
    *ret_done = (struct pdf_done){.pages = pages};
  return reason;
}
