/*
 * image_pdf.c - writes three objects for each page: image, content, and page. A
 * color profile is before the first page that uses it. The last two objects are
 * the list of pages and the catalog.
 *
 * Numbers are written without floating point: libcups may have set a locale
 * with a decimal comma.
 */
#include "filter/image_pdf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fs.h"

#define SIDE_MAX_PX 1000000
#define PAGE_BYTES_MAX (1LL << 30) /* unpacked; in color, A1 at 600 dpi */
#define DPI_DEFAULT 300.0
#define SIDE_MIN_IN 0.05 /* of a page */
#define SIDE_MAX_IN 200.0
#define POINT_MIN 300 /* hundredths of a point: what viewers accept */
#define PROFILE_HEADER_BYTES 128

static void image_pdf_write(struct image_pdf *pdf, const void *bytes,
                            size_t len)
{
  pdf->size += (int64_t)len;
  pdf->failed = pdf->failed || dx_fs_write_all(pdf->task->spare_fd, bytes, len,
                                               "document", NULL) != DX_OK;
}

/* Writes an object: pdf->dict and, if it is a stream, the bytes. Returns its
 * number. */
static size_t image_pdf_put(struct image_pdf *pdf, const void *bytes,
                            size_t len)
{
  const char *end = bytes != NULL ? "\nendstream\nendobj\n" : "\nendobj\n";
  struct dx_buf text = {0};

  dx_buf_printf(&pdf->offsets, "%010" PRId64 " 00000 n \n", pdf->size);
  dx_buf_printf(&text, "%zu 0 obj\n<<%s", ++pdf->objects,
                dx_buf_text(&pdf->dict));
  if (bytes != NULL)
    dx_buf_printf(&text, "/Length %zu>>\nstream\n", len);
  else
    dx_buf_puts(&text, ">>");
  pdf->failed = pdf->failed || pdf->dict.failed || text.failed;
  image_pdf_write(pdf, dx_buf_text(&text), text.len);
  image_pdf_write(pdf, bytes, len);
  image_pdf_write(pdf, end, strlen(end));
  dx_buf_release(&text);
  dx_buf_release(&pdf->dict);
  return pdf->objects;
}

/* ---- a page ---- */

enum dx_reason image_pdf_begin_page(struct image_pdf *pdf)
{
  const struct image_pdf_page *page = &pdf->page;
  uint64_t row_bits =
      (uint64_t)page->width * (unsigned)(page->components * page->bits);
  uint64_t row_bytes = (row_bits + 7) / 8;

  if (page->width == 0 || page->height == 0)
    return DX_REASON_DAMAGED;
  if (page->width > SIDE_MAX_PX || page->height > SIDE_MAX_PX ||
      row_bytes * page->height > PAGE_BYTES_MAX)
    return DX_REASON_TOO_COMPLEX;
  free(pdf->row);
  pdf->row_bytes = (size_t)row_bytes;
  pdf->row = calloc(1, pdf->row_bytes); /* libtiff sets no bits of padding */
  pdf->image.len = 0;
  (void)deflateReset(&pdf->z);
  return pdf->row != NULL ? DX_REASON_NONE : DX_REASON_TROUBLE;
}

static void image_pdf_pack(struct image_pdf *pdf, size_t len, int mode)
{
  unsigned char packed[16384];

  pdf->z.next_in = pdf->row;
  pdf->z.avail_in = (uInt)len;
  do {
    pdf->z.next_out = packed;
    pdf->z.avail_out = sizeof(packed);
    (void)deflate(&pdf->z, mode);
    dx_buf_add(&pdf->image, packed, sizeof(packed) - pdf->z.avail_out);
  } while (pdf->z.avail_out == 0);
}

void image_pdf_add_row(struct image_pdf *pdf)
{
  size_t step = (size_t)pdf->page.components, i;

  if (pdf->page.bits == 8) /* predictor 2: differences to the left neighbor */
    for (i = pdf->row_bytes; i-- > step;)
      pdf->row[i] = (unsigned char)(pdf->row[i] - pdf->row[i - step]);
  image_pdf_pack(pdf, pdf->row_bytes, Z_NO_FLUSH);
}

/* Consecutive pages share a profile. */
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
    dx_buf_printf(&pdf->dict, "/N %d", page->components);
    pdf->profile = image_pdf_put(pdf, page->profile, page->profile_len);
    pdf->profile_crc = crc;
  }
  return true;
}

static size_t image_pdf_put_image(struct image_pdf *pdf)
{
  const struct image_pdf_page *page = &pdf->page;
  bool has_profile = image_pdf_put_profile(pdf);
  struct dx_buf *dict = &pdf->dict;

  dx_buf_printf(dict,
                "/Type/XObject/Subtype/Image/Width %" PRIu32 "/Height %" PRIu32
                "/BitsPerComponent %d",
                page->width, page->height, page->bits);
  if (has_profile)
    dx_buf_printf(dict, "/ColorSpace[/ICCBased %zu 0 R]", pdf->profile);
  else
    dx_buf_printf(dict, "/ColorSpace/Device%s",
                  page->components == 1 ? "Gray" : "RGB");
  if (page->inverted)
    dx_buf_puts(dict, "/Decode[1 0]");
  if (page->is_jpeg)
    dx_buf_puts(dict, "/Filter/DCTDecode");
  else
    dx_buf_printf(dict,
                  "/Filter/FlateDecode/DecodeParms<</Predictor %d/Colors %d"
                  "/BitsPerComponent %d/Columns %" PRIu32 ">>",
                  page->bits == 8 ? 2 : 1, page->components, page->bits,
                  page->width);
  return image_pdf_put(pdf, dx_buf_text(&pdf->image), pdf->image.len);
}

static bool image_pdf_can_be_side(double pixels, double dpi)
{
  return dpi > 0 && pixels / dpi >= SIDE_MIN_IN && pixels / dpi <= SIDE_MAX_IN;
}

void image_pdf_end_page(struct image_pdf *pdf)
{
  /* Matrices that rotate and mirror the unit square of an image. */
  static const char *const turns[] = {
      "1 0 0 1 0 0",   "1 0 0 1 0 0",  "-1 0 0 1 1 0",
      "-1 0 0 -1 1 1", "1 0 0 -1 0 1", "0 -1 -1 0 1 1",
      "0 -1 1 0 0 1",  "0 1 1 0 0 0",  "0 1 -1 0 1 0"};
  double width = pdf->page.width, height = pdf->page.height;
  double x = pdf->page.x_dpi, y = pdf->page.y_dpi; /* square if implausible */
  int orientation = pdf->page.orientation, w, h, len;
  int sides[2]; /* in hundredths of a point */
  size_t image, content;
  char text[128];

  if (!pdf->page.is_jpeg)
    image_pdf_pack(pdf, 0, Z_FINISH);
  image = image_pdf_put_image(pdf);
  if (!image_pdf_can_be_side(width, x) || !image_pdf_can_be_side(height, y))
    x = y = fmax(fmax(width, height) / SIDE_MAX_IN, DPI_DEFAULT);
  sides[0] = (int)fmax(width * 7200.0 / x + 0.5, POINT_MIN);
  sides[1] = (int)fmax(height * 7200.0 / y + 0.5, POINT_MIN);
  w = sides[orientation > 4]; /* on its side */
  h = sides[orientation <= 4];
  len = snprintf(text, sizeof(text), "%d.%02d 0 0 %d.%02d 0 0 cm\n%s cm\n/I Do",
                 w / 100, w % 100, h / 100, h % 100, turns[orientation]);
  content = image_pdf_put(pdf, text, (size_t)len);
  dx_buf_printf(&pdf->dict,
                "/Type/Page/MediaBox[0 0 %d.%02d %d.%02d]/Contents %zu 0 R"
                "/Resources<</XObject<</I %zu 0 R>>>>",
                w / 100, w % 100, h / 100, h % 100, content, image);
  dx_buf_printf(&pdf->kids, "%zu 0 R\n", image_pdf_put(pdf, NULL, 0));
  pdf->pages++;
}

/* ---- the whole ---- */

enum dx_reason image_pdf_make(const struct pdf_task *task,
                              const unsigned char *bytes, size_t len,
                              image_pdf_source *source,
                              struct pdf_done *ret_done)
{
  static const char head[] = "%PDF-1.4\n%\xE2\xE3\xCF\xD3\n"; /* not text */
  struct image_pdf pdf = {.task = task,
                          .bytes = bytes,
                          .len = len,
                          .number = 1,
                          .why = "its image ends early or cannot be read"};
  enum dx_reason reason = DX_REASON_TROUBLE;
  struct dx_buf table = {0};
  size_t root;

  image_pdf_write(&pdf, head, sizeof(head) - 1);
  if (deflateInit(&pdf.z, Z_BEST_SPEED) == Z_OK)
    reason = source(&pdf);
  if (reason == DX_REASON_NONE && pdf.pages == 0)
    reason = DX_REASON_NO_PAGES;
  if (reason == DX_REASON_NONE) {
    dx_buf_printf(&pdf.dict, "/Type/Pages/Count %zu/Kids[%s]", pdf.pages,
                  dx_buf_text(&pdf.kids));
    dx_buf_printf(&pdf.dict, "/Type/Catalog/Pages %zu 0 R",
                  image_pdf_put(&pdf, NULL, 0));
    root = image_pdf_put(&pdf, NULL, 0);
    dx_buf_printf(&table,
                  "xref\n0 %zu\n0000000000 65535 f \n%s"
                  "trailer\n<</Size %zu/Root %zu 0 R>>\nstartxref\n%" PRId64
                  "\n%%%%EOF\n",
                  root + 1, dx_buf_text(&pdf.offsets), root + 1, root,
                  pdf.size);
    image_pdf_write(&pdf, dx_buf_text(&table), table.len);
  }
  if (pdf.failed || pdf.image.failed || pdf.offsets.failed || pdf.kids.failed ||
      table.failed)
    reason = DX_REASON_TROUBLE;
  *ret_done = (struct pdf_done){
      .pages = (int)pdf.pages, .page = pdf.number, .in_image = 1};
  if (reason == DX_REASON_DAMAGED)
    (void)snprintf(ret_done->why, sizeof(ret_done->why), "%s", pdf.why);
  (void)deflateEnd(&pdf.z);
  free(pdf.row);
  dx_buf_release(&pdf.image);
  dx_buf_release(&pdf.offsets);
  dx_buf_release(&pdf.kids);
  dx_buf_release(&table);
  return reason;
}
