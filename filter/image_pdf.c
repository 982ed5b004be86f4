/*
 * image_pdf.c - four objects for each page: the page, its content, the image,
 * and the image's length, which is known only after it. Before the first page
 * that has it, a color profile. Object 1 is the list of pages, the last one the
 * catalog.
 *
 * Numbers are written without floating point: libcups may have set a locale
 * with a decimal comma.
 */
#include "filter/image_pdf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"

#define DPI_DEFAULT 300.0
#define SIDE_MIN_IN 0.05 /* of what can be a page */
#define SIDE_MAX_IN 200.0
#define POINT_MIN 300 /* hundredths of a point: what viewers accept */
#define XREF_LINE "%010" PRId64 " 00000 n \n"
#define PROFILE_HEADER_BYTES 128

static bool image_pdf_put(struct image_pdf *pdf, const void *bytes, size_t len)
{
  pdf->size += (int64_t)len;
  pdf->failed =
      pdf->failed || pdf->size > pdf->task->most_bytes ||
      dx_fs_write_all(pdf->task->out_fd, bytes, len, "document", NULL) != DX_OK;
  return !pdf->failed;
}

__attribute__((format(printf, 2, 3))) static void
image_pdf_print(struct image_pdf *pdf, const char *format, ...)
{
  char text[512]; /* nothing is longer */
  va_list args;
  int len;

  va_start(args, format);
  len = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  (void)image_pdf_put(pdf, text, (size_t)len);
}

static void image_pdf_begin_object(struct image_pdf *pdf)
{
  if (pdf->objects == 0) {
    image_pdf_print(pdf, "%%PDF-1.4\n%%\xE2\xE3\xCF\xD3\n"); /* not text */
    pdf->objects = 1; /* written at the end */
  }
  dx_buf_printf(&pdf->offsets, XREF_LINE, pdf->size);
  image_pdf_print(pdf, "%zu 0 obj\n", ++pdf->objects);
}

/* ---- a page ---- */

uint64_t image_pdf_row_bytes(const struct image_pdf_page *page)
{
  uint64_t bits =
      (uint64_t)page->width * (unsigned)page->components * (unsigned)page->bits;

  return (bits + 7) / 8;
}

static bool image_pdf_can_be_side(double pixels, double dpi)
{
  return dpi > 0 && pixels / dpi >= SIDE_MIN_IN && pixels / dpi <= SIDE_MAX_IN;
}

/* The sides in hundredths of a point; pixels are square unless the resolution
 * makes sense. */
static void image_pdf_measure(const struct image_pdf_page *page, int sides[2])
{
  double w = page->width, h = page->height, x = page->x_dpi, y = page->y_dpi;

  if (!image_pdf_can_be_side(w, x) || !image_pdf_can_be_side(h, y)) {
    x = (w > h ? w : h) / SIDE_MAX_IN;
    x = y = x > DPI_DEFAULT ? x : DPI_DEFAULT;
  }
  sides[0] = (int)(w * 7200.0 / x + 0.5);
  sides[1] = (int)(h * 7200.0 / y + 0.5);
  if (sides[0] < POINT_MIN)
    sides[0] = POINT_MIN;
  if (sides[1] < POINT_MIN)
    sides[1] = POINT_MIN;
}

/* Pages that follow each other share a profile. */
static bool image_pdf_put_profile(struct image_pdf *pdf)
{
  const struct image_pdf_page *page = &pdf->page;
  uLong crc;

  if (page->profile_len < PROFILE_HEADER_BYTES ||
      memcmp((const char *)page->profile + 16,
             page->components == 1 ? "GRAY" : "RGB ", 4) != 0)
    return false;
  crc = crc32(0, page->profile, page->profile_len);
  if (pdf->profile == 0 || pdf->profile_crc != crc) {
    image_pdf_begin_object(pdf);
    image_pdf_print(pdf, "<</N %d/Length %" PRIu32 ">>\nstream\n",
                    page->components, page->profile_len);
    (void)image_pdf_put(pdf, page->profile, page->profile_len);
    image_pdf_print(pdf, "\nendstream\nendobj\n");
    pdf->profile = pdf->objects;
    pdf->profile_crc = crc;
  }
  return true;
}

void image_pdf_begin_page(struct image_pdf *pdf,
                          const struct image_pdf_page *page)
{
  /* From the unit square that an image is to one turned and mirrored. */
  static const char *const turns[] = {
      "1 0 0 1 0 0",   "1 0 0 1 0 0",  "-1 0 0 1 1 0",
      "-1 0 0 -1 1 1", "1 0 0 -1 0 1", "0 -1 -1 0 1 1",
      "0 -1 1 0 0 1",  "0 1 1 0 0 0",  "0 1 -1 0 1 0"};
  char space[48], content[128];
  int sides[2], w, h, len;

  pdf->page = *page;
  if (image_pdf_put_profile(pdf))
    (void)snprintf(space, sizeof(space), "[/ICCBased %zu 0 R]", pdf->profile);
  else
    (void)snprintf(space, sizeof(space), "/Device%s",
                   page->components == 1 ? "Gray" : "RGB");
  image_pdf_measure(page, sides);
  w = sides[page->orientation > 4]; /* on its side */
  h = sides[page->orientation <= 4];
  image_pdf_begin_object(pdf);
  dx_buf_printf(&pdf->kids, "%zu 0 R\n", pdf->objects);
  image_pdf_print(
      pdf,
      "<</Type/Page/Parent 1 0 R/MediaBox[0 0 %d.%02d %d.%02d]/Contents "
      "%zu 0 R/Resources<</XObject<</I %zu 0 R>>>>>>\nendobj\n",
      w / 100, w % 100, h / 100, h % 100, pdf->objects + 1, pdf->objects + 2);
  image_pdf_begin_object(pdf);
  len = snprintf(content, sizeof(content),
                 "%d.%02d 0 0 %d.%02d 0 0 cm\n%s cm\n/I Do\n", w / 100, w % 100,
                 h / 100, h % 100, turns[page->orientation]);
  image_pdf_print(pdf, "<</Length %d>>\nstream\n%sendstream\nendobj\n", len,
                  content);
  image_pdf_begin_object(pdf);
  image_pdf_print(pdf,
                  "<</Type/XObject/Subtype/Image/Width %" PRIu32
                  "/Height %" PRIu32
                  "/BitsPerComponent %d/ColorSpace%s%s/Length %zu 0 R",
                  page->width, page->height, page->bits, space,
                  page->inverted ? "/Decode[1 0]" : "", pdf->objects + 1);
  if (page->is_jpeg)
    image_pdf_print(pdf, "/Filter/DCTDecode>>\nstream\n");
  else
    image_pdf_print(pdf,
                    "/Filter/FlateDecode/DecodeParms<</Predictor %d/Colors %d"
                    "/BitsPerComponent %d/Columns %" PRIu32 ">>>>\nstream\n",
                    page->bits == 8 ? 2 : 1, page->components, page->bits,
                    page->width);
  pdf->stream_at = pdf->size;
  if (!page->is_jpeg && deflateInit(&pdf->z, Z_BEST_SPEED) != Z_OK)
    pdf->failed = true;
}

static void image_pdf_pack(struct image_pdf *pdf, unsigned char *bytes,
                           size_t len, int mode)
{
  unsigned char packed[16384];

  pdf->z.next_in = bytes;
  pdf->z.avail_in = (uInt)len;
  do {
    pdf->z.next_out = packed;
    pdf->z.avail_out = sizeof(packed);
    pdf->failed = pdf->failed || deflate(&pdf->z, mode) == Z_STREAM_ERROR;
  } while (image_pdf_put(pdf, packed, sizeof(packed) - pdf->z.avail_out) &&
           pdf->z.avail_out == 0);
}

bool image_pdf_add_row(struct image_pdf *pdf, unsigned char *row)
{
  size_t len = (size_t)image_pdf_row_bytes(&pdf->page);
  size_t step = (size_t)pdf->page.components, i;

  if (pdf->page.bits == 8) /* predictor 2: differences to the left neighbor */
    for (i = len; i-- > step;)
      row[i] = (unsigned char)(row[i] - row[i - step]);
  image_pdf_pack(pdf, row, len, Z_NO_FLUSH);
  return !pdf->failed;
}

bool image_pdf_add_jpeg(void *pdf, const void *bytes, size_t len)
{
  return image_pdf_put(pdf, bytes, len);
}

void image_pdf_end_page(struct image_pdf *pdf)
{
  int64_t length;

  if (!pdf->page.is_jpeg) {
    image_pdf_pack(pdf, NULL, 0, Z_FINISH);
    (void)deflateEnd(&pdf->z);
  }
  length = pdf->size - pdf->stream_at;
  image_pdf_print(pdf, "\nendstream\nendobj\n");
  image_pdf_begin_object(pdf);
  image_pdf_print(pdf, "%" PRId64 "\nendobj\n", length);
  pdf->pages++;
}

/* ---- the whole ---- */

static void image_pdf_end(struct image_pdf *pdf)
{
  struct dx_buf *offsets = &pdf->offsets, *kids = &pdf->kids;
  int64_t pages, table;

  image_pdf_begin_object(pdf);
  image_pdf_print(pdf, "<</Type/Catalog/Pages 1 0 R>>\nendobj\n");
  pages = pdf->size;
  image_pdf_print(pdf, "1 0 obj\n<</Type/Pages/Count %zu/Kids[", pdf->pages);
  pdf->failed = pdf->failed || !dx_buf_ok(kids) || !dx_buf_ok(offsets);
  (void)image_pdf_put(pdf, dx_buf_text(kids), kids->len);
  image_pdf_print(pdf, "]>>\nendobj\n");
  table = pdf->size;
  image_pdf_print(pdf, "xref\n0 %zu\n0000000000 65535 f \n" XREF_LINE,
                  pdf->objects + 1, pages);
  (void)image_pdf_put(pdf, dx_buf_text(offsets), offsets->len);
  image_pdf_print(pdf,
                  "trailer\n<</Size %zu/Root %zu 0 R>>\nstartxref\n%" PRId64
                  "\n%%%%EOF\n",
                  pdf->objects + 1, pdf->objects, table);
}

enum dx_reason image_pdf_make(const struct pdf_task *task,
                              const unsigned char *bytes, size_t len,
                              image_pdf_source *source,
                              struct pdf_done *ret_done)
{
  struct image_pdf pdf = {.task = task,
                          .bytes = bytes,
                          .len = len,
                          .number = 1,
                          .why = "its image ends early or cannot be read"};
  enum dx_reason reason = source(&pdf);

  if (reason == DX_REASON_NONE && pdf.pages == 0)
    reason = DX_REASON_NO_PAGES;
  if (reason == DX_REASON_NONE)
    image_pdf_end(&pdf);
  (void)deflateEnd(&pdf.z); /* of a page that was not ended */
  dx_buf_release(&pdf.offsets);
  dx_buf_release(&pdf.kids);
  if (pdf.failed)
    reason =
        pdf.size > task->most_bytes ? DX_REASON_TOO_LARGE : DX_REASON_TROUBLE;
  *ret_done = (struct pdf_done){0};
  if (reason == DX_REASON_NONE)
    ret_done->pages = (int)pdf.pages;
  else
    ret_done->page = pdf.number;
  if (reason == DX_REASON_DAMAGED)
    (void)snprintf(ret_done->why, sizeof(ret_done->why), "%s", pdf.why);
  return reason;
}
